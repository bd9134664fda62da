"""The examples of the page about columns give the output shown; they need pyarrow."""

from __future__ import annotations

import doctest
from pathlib import Path

from tests.columns import needed

needed("pyarrow")

PAGE = Path(__file__).parents[2] / "docs" / "columns.md"


def test_the_examples_give_the_output_shown() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted >= 10
    assert result.failed == 0
