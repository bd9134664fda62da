"""GCF against two others: the published package, and a reader written from the specification.

`HYPOTHESIS_PROFILE=long pytest tests/test_gcf_differential.py` runs 10^5 examples of each property.
What the package does otherwise is listed in the tests, with the section that decides.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import gcf as peer
from compactwire import gcf

from .conftest import outcome
from .gcf_values import NAMES, scalars, values
from .reference import gcf as reference


def same(left: Any, right: Any, *, order: bool = True) -> bool:
    """Whether two values are one: type, order of members, numeric value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    if isinstance(left, dict) and isinstance(right, dict):
        if order and list(left) != list(right):
            return False
        return left.keys() == right.keys() and all(
            same(left[key], right[key], order=order) for key in left
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(
            same(a, b, order=order) for a, b in zip(left, right, strict=True)
        )
    return type(left) is type(right) and bool(left == right)


@given(values)
def test_what_is_written_is_read_back(value: Any) -> None:
    for options in ({}, {"flatten": False}, {"constant_columns": True}):
        text = gcf.dumps(value, **options)
        back = gcf.loads(text)
        assert same(back, value, order=False), text
        assert same(back, gcf.loads(text.encode()))
        assert same(back, reference.loads(text)), text
        # Rows have the order of their columns now, and keep it.
        assert same(back, gcf.loads(gcf.dumps(back)))


@given(values)
def test_every_way_to_the_text_gives_the_same(value: Any) -> None:
    text = gcf.dumps(value)
    assert gcf.from_json(json.dumps(value)) == text
    assert gcf.dumps([value, Other()], default=lambda _: 1) == gcf.dumps([value, 1])
    assert same(json.loads(gcf.to_json(text)), gcf.loads(text))


class Other:
    """An object that needs `default=`."""


def has_gt_in_a_shared_array(value: Any) -> bool:
    """Whether objects within arrays have a `>` name: the package shares schemas it cannot read."""
    return ">" in json.dumps(value)


def reorders(value: Any) -> bool:
    """Whether objects of a column have the same keys in another order: the package flattens."""
    if isinstance(value, list):
        return any(map(reorders, value)) or columns_reorder(value)
    if isinstance(value, dict):
        return any(map(reorders, value.values())) or columns_reorder(list(value.values()))
    return False


def columns_reorder(rows: list[Any]) -> bool:
    seen: dict[frozenset[str], list[str]] = {}
    for row in rows:
        for cell in row.values() if isinstance(row, dict) else ():
            if isinstance(cell, dict) and seen.setdefault(frozenset(cell), list(cell)) != list(
                cell
            ):
                return True
    return False


def has_later_null(value: Any) -> bool:
    """Whether a column of objects has a null: inline in the package, not in 7.4.5.1."""
    if isinstance(value, list):
        cells = [row for row in value if isinstance(row, dict)]
    elif isinstance(value, dict):
        cells = [row for row in value.values() if isinstance(row, dict)]
    else:
        return False
    names = {name for row in cells for name in row}
    mixed = any(
        any(isinstance(row.get(name), dict) for row in cells)
        and any(row.get(name, 0) is None for row in cells)
        for name in names
    )
    inner = value if isinstance(value, list) else list(value.values())
    return mixed or any(map(has_later_null, inner))


def excused(value: Any) -> bool:
    return has_gt_in_a_shared_array(value) or reorders(value) or has_later_null(value)


@given(values)
def test_the_package_writes_the_same(value: Any) -> None:
    assume(not excused(value))
    assert gcf.dumps(value, constant_columns=True) == peer.encode_generic(value)


@given(values)
def test_the_package_reads_what_is_written(value: Any) -> None:
    assume(">" not in json.dumps(value))
    assert same(peer.decode_generic(gcf.dumps(value)), value, order=False)


@given(values, st.randoms(use_true_random=False))
def test_a_mutated_text_is_read_alike_or_refused(value: Any, chance: random.Random) -> None:
    text = mutated(gcf.dumps(value), chance)
    try:
        ours = gcf.loads(text)
    except gcf.GcfError:
        return
    try:
        theirs = reference.loads(text)
    except (ValueError, AssertionError, IndexError, KeyError, AttributeError, TypeError):
        # The reference is no validator, and stricter than tolerant readers must be.
        return
    assert same(ours, theirs, order=False), text


def mutated(text: str, chance: random.Random) -> str:
    pieces = [
        "|",
        ",",
        '"',
        "^",
        "~",
        "-",
        " ",
        "\n",
        "@0 ",
        "## ",
        ".",
        "[1]",
        "[0]",
        "{a}",
        "=",
        ">",
        "1",
        "\\",
    ]
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len("GCF profile=generic\n"), len(text) + 1)
        drop = chance.choice([0, 0, 1, 1, 3])
        text = text[:at] + chance.choice([*pieces, ""]) + text[at + drop :]
    return text


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), scalars, min_size=1), min_size=1))
def test_a_text_that_was_cut_off_is_never_read_as_less(value: Any) -> None:
    data = gcf.dumps(value).encode()
    rows = data.index(b"\n## [") + 1
    for end in range(data.index(b"\n", rows) + 1):
        outcome(gcf.loads, data[:end])
    for end in (at + 1 for at in range(rows, len(data) - 1) if data[at] == ord("\n")):
        with pytest.raises(gcf.GcfError):
            gcf.loads(data[:end])


@pytest.mark.parametrize(
    ("value", "theirs"),
    [
        ([{"a": {"x": 1, "y": 2}}, {"a": {"y": 1, "x": 2}}], '"a>x"'),
        ([{"a": float("nan")}], "0"),
    ],
    ids=["keys in another order are flattened", "NaN is 0"],
)
def test_the_package_still_differs_where_we_say(value: Any, theirs: str) -> None:
    assert theirs in peer.encode_generic(value)
