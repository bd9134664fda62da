"""Both kinds of stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compactwire.turns import MemorySessionStore, SessionStore, SQLiteSessionStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    if request.param == "memory":
        yield MemorySessionStore()
    else:
        with SQLiteSessionStore(tmp_path / "store.db") as sqlite:
            yield sqlite
