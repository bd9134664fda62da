"""Where the test vectors are: our own in this folder, published sets outside the repository.

Our own vectors are always read. Sets that others published are not part of the repository; they
are read from `$COMPACTWIRE_VECTORS`, by default `../shared/vectors` beside the repository, and the
tests that need an absent set are skipped with a message that says so.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

OWN = Path(__file__).resolve().parent
PUBLISHED = Path(
    os.environ.get("COMPACTWIRE_VECTORS", OWN.parents[2] / "shared" / "vectors")
).resolve()


def load(path: Path) -> Any:
    """The value of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def load_lines(path: Path) -> list[Any]:
    """The values of a file that holds one JSON text per line."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def published(name: str) -> Path:
    """The folder of a published set; skips the whole test module where it is absent."""
    folder = PUBLISHED / name
    if not folder.is_dir():
        pytest.skip(
            f"NO PUBLISHED VECTORS: {folder} does not exist, nothing was compared with that set "
            f"(COMPACTWIRE_VECTORS names the folder that holds {name}/)",
            allow_module_level=True,
        )
    return folder
