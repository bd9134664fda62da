"""GCF against two other implementations: the package gcf-python, and our reference reader and
writer, which are written from the specification.

`HYPOTHESIS_PROFILE=long pytest tests/gcf/test_differential.py` runs 10^5 examples of each property.
Each known deviation of the package has a name; any other difference fails. The installed version is
the newest 2.x; for an older one, which does not know constant columns, run

    python -m pip install --target older gcf-python==2.7.1
    PYTHONPATH=older python -m pytest tests/gcf/test_differential.py
"""

from __future__ import annotations

import json
import random
from importlib.metadata import version
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gcf as peer
from compactwire import gcf
from tests.reference import gcf as reference
from tests.reference import gcf_writer
from tests.strategies.gcf import NAMES, canonical, groupable, same, scalars, values
from tests.strategies.outcomes import result_or_error

PEER_HAS_CONSTANTS = tuple(int(part) for part in version("gcf-python").split(".")[:2]) >= (2, 8)
PUBLISHED: list[dict[str, bool]] = [
    {},
    {"flatten": False},
    {"constant_columns": True},
    {"group_values": True},
    {"constant_columns": True, "group_values": True},
]
# Ours alone, with other options.
EXTENSIONS: list[dict[str, bool]] = [
    {"list_columns": True},
    {"list_columns": True, "constant_columns": True, "group_values": True},
    {"list_columns": True, "flatten": False, "matrices": True},
    {"matrices": True},
]
OPTIONS = PUBLISHED + EXTENSIONS


@given(values)
def test_written_text_is_read_back(value: Any) -> None:
    for options in OPTIONS:
        text = gcf.dumps(value, **options)
        reading = {"extensions": True} if options in EXTENSIONS else {}
        back = gcf.loads(text, **reading)
        assert same(back, value, order=False), text
        assert same(back, gcf.loads(text.encode(), **reading))
        assert same(back, reference.loads(text, **reading)), text
        # After reading, rows have the order of their columns, and keep it.
        assert same(back, gcf.loads(gcf.dumps(back)))


@given(values)
def test_every_writer_produces_the_same_text(value: Any) -> None:
    text = gcf.dumps(value)
    assert gcf.from_json(json.dumps(value)) == text
    assert gcf.dumps([value, Other()], default=lambda _: 1) == gcf.dumps([value, 1])
    assert same(json.loads(gcf.to_json(text)), gcf.loads(text))


@given(groupable())
def test_rows_with_groups_are_written_as_short_as_possible(table: Any) -> None:
    rows, _, _ = table
    for constants in (False, True):
        text = gcf.dumps(rows, constant_columns=constants, group_values=True)
        assert text == gcf_writer.dumps(rows, constant_columns=constants, group_values=True)
        assert len(text.encode()) <= len(gcf.dumps(rows, constant_columns=constants).encode())
        assert same(gcf.loads(text), rows, order=False)
        assert same(gcf.loads(text), reference.loads(text))


@given(groupable(), st.booleans())
def test_grouped_rows_come_back_in_their_order_or_are_refused(table: Any, reorder: bool) -> None:
    rows, key, group = table
    expected = gcf_writer.dumps_grouped(rows, key, group, reorder=reorder)
    if expected is None:
        with pytest.raises(gcf.GcfError, match="invalid_grouping"):
            gcf.dumps_grouped(rows, key, group)
        return
    text = gcf.dumps_grouped(rows, key, group, reorder=reorder)
    assert text == expected
    back = gcf.loads(text)
    assert same(back, reference.loads(text))
    if not reorder:
        assert same(back, rows, order=False)
    else:
        by_identity = {canonical(row[key]): row for row in rows}
        assert len(back) == len(rows)
        assert all(same(row, by_identity[canonical(row[key])], order=False) for row in back)
    assert same(back, json.loads(gcf.to_json(text)))


@pytest.mark.skipif(not PEER_HAS_CONSTANTS, reason="only newer versions group")
@given(groupable())
def test_gcf_python_groups_the_same_rows_to_the_same_bytes(table: Any) -> None:
    rows, key, group = table
    text = gcf.dumps_grouped(rows, key, group, reorder=True)
    assert same(peer.decode_generic(text), gcf.loads(text))
    cells = [cell for row in rows for cell in row.values()]
    # The package writes other digits of these doubles.
    if not any(isinstance(cell, float) and 1e-6 <= abs(cell) < 1e-4 for cell in cells):
        assert peer.encode_generic_grouped(rows, key, group) == text


@given(groupable(), st.randoms(use_true_random=False))
def test_a_mutated_grouped_text_is_read_the_same_or_refused(
    table: Any, chance: random.Random
) -> None:
    rows, key, group = table
    text = mutated(gcf.dumps_grouped(rows, key, group, reorder=True), chance)
    assert_read_as_by_the_reference(text)


class Other:
    """An object that needs `default=`."""


@given(values)
def test_the_reference_writer_produces_the_same_text(value: Any) -> None:
    for options in OPTIONS:
        assert gcf.dumps(value, **options) == gcf_writer.dumps(value, **options)


@given(values)
def test_gcf_python_writes_the_same_except_for_known_deviations(value: Any) -> None:
    """The reference writer with these deviations must produce the same bytes for every value."""
    text = peer.encode_generic(value)
    assert text == gcf_writer.dumps(
        value, constant_columns=PEER_HAS_CONSTANTS, deviations=gcf_writer.DEVIATIONS
    )


@given(values)
def test_gcf_python_reads_written_text(value: Any) -> None:
    for options in PUBLISHED if PEER_HAS_CONSTANTS else PUBLISHED[:2]:
        assert same(peer.decode_generic(gcf.dumps(value, **options)), value, order=False)


DEVIATIONS: dict[str, Any] = {
    gcf_writer.REORDERS: [{"a": {"x": 1, "y": 2}}, {"a": {"y": 1, "x": 2}}],
    gcf_writer.OWN_NAME: [{"a": {"x": {"y": 1}, "a": None}}],
    gcf_writer.INLINE_NULL: [{"a": {"x>": 1, "y": 2, "z": 3}}, {"a": None}],
    gcf_writer.ROUNDS: 2.9731544936355413e-06,
    gcf_writer.SPARSE_TABLES: [{f"c{n}": n} for n in range(70)],
    gcf_writer.SHARED_PATHS: [{"a": [{"x>": 1, "y": 2}]}, {"a": [{"x>": 3, "y": 4}]}],
}


@pytest.mark.parametrize("quirk", sorted(gcf_writer.DEVIATIONS))
def test_each_known_deviation_still_exists(quirk: str) -> None:
    value = DEVIATIONS[quirk]
    text = gcf_writer.dumps(value, deviations=frozenset({quirk}))
    assert peer.encode_generic(value) == text != gcf.dumps(value)


@given(values, st.randoms(use_true_random=False))
def test_a_mutated_text_is_read_the_same_or_refused(value: Any, chance: random.Random) -> None:
    assert_read_as_by_the_reference(mutated(gcf.dumps(value), chance))
    for options in EXTENSIONS:
        text = mutated(gcf.dumps(value, **options), chance)
        assert_read_as_by_the_reference(text, extensions=True)


def assert_read_as_by_the_reference(text: str, **options: bool) -> None:
    """The reference must agree with what we accept, unless it refuses the text."""
    try:
        ours = gcf.loads(text, **options)
    except gcf.GcfError:
        return
    try:
        theirs = reference.loads(text, **options)
    except (ValueError, AssertionError, IndexError, KeyError, AttributeError, TypeError):
        # The reference does not validate everything, and is stricter than tolerant readers must be.
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
        "@",
        " [1]",
        " group=a",
        "[]",
        ",~",
        "{[2]}",
    ]
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len("GCF profile=generic\n"), len(text) + 1)
        drop = chance.choice([0, 0, 1, 1, 3])
        text = text[:at] + chance.choice([*pieces, ""]) + text[at + drop :]
    return text


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), scalars, min_size=1), min_size=1))
def test_a_truncated_text_is_never_read_as_a_smaller_value(value: Any) -> None:
    data = gcf.dumps(value).encode()
    rows = data.index(b"\n## [") + 1
    for end in range(data.index(b"\n", rows) + 1):
        result_or_error(gcf.loads, data[:end])
    for end in (at + 1 for at in range(rows, len(data) - 1) if data[at] == ord("\n")):
        with pytest.raises(gcf.GcfError):
            gcf.loads(data[:end])
