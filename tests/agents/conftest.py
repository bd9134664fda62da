"""Warnings of the frameworks are not ours to mend; both libraries of HTTP run the same tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents import TEXT, needed


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(params=["httpx", "httpx2"])
def library(request: pytest.FixtureRequest) -> Any:
    return needed(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with rows as JSON."""
    (tmp_path / "rows.json").write_text(TEXT, encoding="utf-8")
    return tmp_path
