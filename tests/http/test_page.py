"""The figures of the page are those of the bench."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches import conversations
from benches.http import figures

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", conversations.NAMES)
def test_the_table_shows_what_the_bench_measures(name: str) -> None:
    found = figures(conversations.load(name))
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith(f"| {name} |")]
    assert len(rows) == 5
    for row, turn in ((rows[1], 0), (rows[2], 1), (rows[4], -1)):
        assert row[3].strip() == f"{found['plain'][turn]:,}"
        assert row[6].strip() == f"{found['session'][turn]:,}"
    assert rows[0][6].strip() == f"{sum(found['session']):,}"
