"""Signing keys: files with a marker, explicit seeds, and secrets that are not shown."""

from __future__ import annotations

import copy
import os
import pickle
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import claims
from tests.strategies.claims import KEY, SEED

TAG = "compactwire-secret-key-v1"
LINE = f"{TAG} {SEED.hex()} {KEY.public_key}\n"


def test_a_key_file_begins_with_a_marker(tmp_path: Path) -> None:
    path = tmp_path / "key"
    KEY.save(path)
    assert path.read_text() == LINE
    assert claims.SigningKey.load(path).seed() == SEED
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        claims.generate_key().save(path)
    path.write_text(f"\t{LINE.strip()}\r\n\n")
    assert claims.SigningKey.load(path).seed() == SEED


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (KEY.public_key, "may be a public key; a secret key begins with compactwire-secret-key-v1"),
        (SEED.hex() + "\n", "convert it: compactwire claim key --from-hex OLD -o NEW"),
        (KEY.public_key.upper(), "may be a public key"),
        ("", "expected a secret key, one line"),
        (f"{TAG} {SEED.hex()}", "expected a secret key, one line"),
        (f"{TAG} {KEY.public_key}", "expected a secret key, one line"),
        (f"{LINE}{TAG}", "expected a secret key, one line"),
        (LINE.replace("-v1", "-v2"), "expected a secret key, one line"),
        (f"{TAG} {KEY.public_key} {KEY.public_key}", "its public key is not that of its secret"),
        (f"{TAG} {'02' * 32} {KEY.public_key}", "its public key is not that of its secret"),
        ("ab" * 5000, "more than the 256 bytes of a key file"),
    ],
)
def test_a_file_that_is_no_secret_key_is_refused(
    content: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text(content)
    with pytest.raises(cw.EncodeError, match=message) as info:
        claims.SigningKey.load(tmp_path / "key")
    for shown in ("0101", "abab", KEY.public_key[:8]):
        assert shown not in str(info.value)


@given(
    data=st.binary(max_size=200)
    | st.text(alphabet="0123456789abcdef \n", max_size=200).map(str.encode)
)
def test_only_a_saved_key_is_loaded(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any-key"
    path.write_bytes(data)
    with pytest.raises(cw.EncodeError):
        claims.SigningKey.load(path)


@given(at=st.integers(0, len(LINE) - 2), mask=st.integers(1, 255))
def test_a_damaged_key_file_is_refused(
    at: int, mask: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    damaged = bytearray(LINE.encode())
    damaged[at] ^= mask
    path = tmp_path_factory.getbasetemp() / "damaged-key"
    path.write_bytes(damaged)
    if damaged.split(b" ")[0] == TAG.encode() and damaged.lower().split() == LINE.encode().split():
        assert claims.SigningKey.load(path).seed() == SEED
        return
    with pytest.raises(cw.EncodeError):
        claims.SigningKey.load(path)


@pytest.mark.skipif(os.name != "posix", reason="needs FIFOs and devices")
def test_a_key_is_read_from_a_regular_file_only(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
        for load in (claims.SigningKey.load, claims.SigningKey.load_hex):
            with pytest.raises(cw.EncodeError, match="found something that is not a regular file"):
                load(path)


def test_bare_digits_are_read_on_request(tmp_path: Path) -> None:
    path = tmp_path / "old"
    for text in (SEED.hex(), f" {SEED.hex().upper()}\r\n"):
        path.write_text(text)
        assert claims.SigningKey.load_hex(path).seed() == SEED
        assert claims.SigningKey.from_hex(text).seed() == SEED
    for text in ("", "01", "01" * 33, "0g" * 32, "\u0661" * 64, LINE):
        path.write_text(text, encoding="utf-8")
        for refuse in (
            lambda: claims.SigningKey.load_hex(path),
            lambda text=text: claims.SigningKey.from_hex(text),
        ):
            with pytest.raises(cw.EncodeError, match="a seed of 64 hexadecimal digits") as info:
                refuse()
            assert "0101" not in str(info.value)
    with pytest.raises(cw.EncodeError):
        claims.SigningKey.from_hex("\ud800" * 64)
    with pytest.raises(TypeError, match="seed must be a str, not bytes"):
        claims.SigningKey.from_hex(SEED)  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [(), (SEED,), (SEED.hex(),), (SEED, SEED)])
def test_the_constructor_names_the_functions_that_make_a_key(arguments: tuple[Any, ...]) -> None:
    anything: Any = claims.SigningKey
    with pytest.raises(
        TypeError, match=r"made by generate_key\(\), SigningKey.load\(path\), from_"
    ):
        anything(*arguments)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_seed_may_be_any_bytes_object(kind: Callable[[bytes], Any]) -> None:
    assert claims.SigningKey.from_seed(kind(SEED)).seed() == SEED
    with pytest.raises(ValueError, match="seed: a seed has 32 bytes, not 33"):
        claims.SigningKey.from_seed(kind(SEED + b"x"))
    for wrong in ("x" * 32, None, 7, [1] * 32):
        with pytest.raises(TypeError, match="seed must be bytes"):
            claims.SigningKey.from_seed(wrong)  # type: ignore[arg-type]


def test_a_key_does_not_show_its_secret() -> None:
    assert repr(KEY) == f"<SigningKey public_key={KEY.public_key}>"
    assert SEED.hex() not in repr(KEY) + str(KEY) + str(vars(type(KEY)))
    assert KEY.seed() == SEED
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leak(KEY)
    with pytest.raises(ValueError, match="32 bytes, not 31") as info:
        claims.SigningKey.from_seed(SEED[1:])
    assert SEED[1:].hex() not in str(info.value)
    one, other = claims.generate_key(), claims.generate_key()
    assert one.seed() != other.seed()
    assert claims.SigningKey.from_seed(one.seed()).public_key == one.public_key
