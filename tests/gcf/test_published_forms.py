"""Our vectors of forms beyond GCF 3.6, published and our own, and of texts that are refused.

A case has `name` and `operation`: `decode` and `error` give `input` to `loads`, `encode` to
`dumps`, `encode-grouped` to `dumps_grouped`. `peer` is what gcf-python 2.8 does with the case.
"""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from compactwire import gcf
from tests.reference import gcf as reference
from tests.strategies.gcf import same
from tests.vectors import OWN, load

FOLDER = OWN / "gcf" / "published"
CASES = [case for path in sorted(FOLDER.glob("*.json")) for case in load(path)]


def cases(operation: str) -> Any:
    found = [case for case in CASES if case["operation"] == operation]
    return pytest.mark.parametrize("case", found, ids=lambda case: case["name"])


@cases("decode")
def test_a_published_text_is_read_by_every_reader(case: Any) -> None:
    text, expected, options = case["input"], case["expected"], case.get("options", {})
    assert same(gcf.loads(text, **options), expected)
    assert same(gcf.loads(text.encode(), **options), expected)
    assert same(gcf.load(io.StringIO(text), **options), expected)
    assert same(json.loads(gcf.to_json(text, **options)), expected)
    assert same(rows(text, **options), expected)
    if options:
        assert same(reference.loads(text, **options), expected)


def rows(text: str, **options: bool) -> Any:
    """The value of a text, read row by row in pieces of one character."""
    found = list(gcf.iter_rows(Characters(text), **options))
    return found if text.split("\n")[1].startswith("## [") else dict(found)


class Characters:
    """A file that returns one character at a time."""

    def __init__(self, text: str) -> None:
        self.left = iter(text)

    def read(self, _size: int) -> str:
        return next(self.left, "")


@cases("error")
def test_an_invalid_text_is_refused_by_every_reader(case: Any) -> None:
    options = case.get("options", {})
    for read in (gcf.loads, gcf.to_json, rows):
        with pytest.raises(gcf.GcfError) as caught:
            read(case["input"], **options)
        assert caught.value.code == case["expectedError"]
        assert caught.value.line is not None
    if options:
        with pytest.raises((AssertionError, ValueError)):
            reference.loads(case["input"], **options)


@cases("encode")
def test_a_value_is_written_as_published(case: Any) -> None:
    options = case.get("options", {})
    assert gcf.dumps(case["input"], **options) == case["expected"]
    assert gcf.dumps_bytes(case["input"], **options) == case["expected"].encode()
    assert gcf.from_json(json.dumps(case["input"]), **options) == case["expected"]
    written = io.StringIO()
    gcf.dump(case["input"], written, **options)
    assert written.getvalue() == case["expected"]
    extensions = "list_columns" in options or "matrices" in options
    assert same(gcf.loads(case["expected"], extensions=extensions), case["input"], order=False)


@cases("encode-grouped")
def test_rows_are_grouped_as_published(case: Any) -> None:
    options = {name: case[name] for name in ("key", "group", "reorder") if name in case}
    assert gcf.dumps_grouped(case["input"], **options) == case["expected"]
    expected = case.get("decoded", case["input"])
    assert same(gcf.loads(case["expected"]), expected, order=False)
    assert same(rows(case["expected"]), expected, order=False)


@cases("encode-grouped-error")
def test_grouping_that_would_change_the_rows_is_refused(case: Any) -> None:
    with pytest.raises(gcf.GcfError) as caught:
        gcf.dumps_grouped(case["input"], key=case["key"], group=case["group"])
    assert caught.value.code == case["expectedError"]
    assert caught.value.path is not None


@cases("keyed-delta-error")
def test_an_invalid_keyed_delta_is_refused(case: Any) -> None:
    with pytest.raises(gcf.GcfError) as caught:
        gcf.read_keyed_delta(case["input"])
    assert caught.value.code == case["expectedError"]


def test_every_case_is_there() -> None:
    assert len(CASES) == 202
