"""The figures of the page are those of the bench."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches import conversations
from benches.http import figures, rows

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", conversations.NAMES)
def test_the_table_shows_what_the_bench_measures(name: str) -> None:
    found = [line for line in PAGE.splitlines() if line.startswith(f"| {name} |")]
    shown = [[cell.strip() for cell in line.split("|")[2:-1]] for line in found]
    # What gzip and zstd write depends on the version that is installed.
    assert [(part, plain, session) for part, plain, _, _, session in shown] == [
        (part, f"{sizes['plain']:,}", f"{sizes['session']:,}")
        for part, sizes in rows(figures(conversations.load(name)))
    ]
