"""Signing keys: files, seeds, and secrets that are not shown."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import claims
from tests.strategies.claims import SEED


def test_a_key_is_saved_and_loaded(tmp_path: Path) -> None:
    key = claims.generate_key()
    key.save(tmp_path / "key")
    assert claims.SigningKey.load(tmp_path / "key").public_key == key.public_key
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        claims.generate_key().save(tmp_path / "key")
    (tmp_path / "long").write_text("ab" * 5000)
    with pytest.raises(cw.EncodeError, match="not more than 256 bytes") as info:
        claims.SigningKey.load(tmp_path / "long")
    assert "abab" not in str(info.value)
    if os.name == "posix":
        os.mkfifo(tmp_path / "fifo")
        for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
            with pytest.raises(cw.EncodeError, match="a key is in a regular file"):
                claims.SigningKey.load(path)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_seed_may_be_any_bytes_object(kind: Callable[[bytes], Any]) -> None:
    assert claims.SigningKey(kind(SEED)).seed() == SEED
    with pytest.raises(ValueError, match="seed: a seed has 32 bytes, not 33"):
        claims.SigningKey(kind(SEED + b"x"))
    for wrong in ("x" * 32, None, 7, [1] * 32):
        with pytest.raises(TypeError, match="seed must be bytes"):
            claims.SigningKey(wrong)  # type: ignore[arg-type]
