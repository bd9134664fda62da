"""A user without permission to read everything."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """Run as a user without permission to read everything; root becomes the user `nobody`."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@contextlib.contextmanager
def guarded_lake(mode: int) -> Iterator[Path]:
    """A folder with the folders `a` and `b`, each with a file `1.jsonl`; `b` has this mode.

    Not inside pytest's own folder, which only one user may read.
    """
    with tempfile.TemporaryDirectory() as name:
        lake = Path(name)
        lake.chmod(0o755)
        for folder in ("a", "b"):
            (lake / folder).mkdir()
            (lake / folder / "1.jsonl").write_text('{"x": 1}\n', encoding="utf-8")
        (lake / "b").chmod(mode)
        yield lake
        (lake / "b").chmod(0o755)
