"""List columns and matrices, which only this package writes and reads, and only on request.

The vectors are in `test_published_forms.py`, the comparisons with the reference in
`test_differential.py`.
"""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given

import gcf as peer
from compactwire import gcf
from tests.strategies.gcf import same, values

HEADER = "GCF profile=generic\n"
ENTITIES = [{"id": n, "names": [f"n{n}", "x"], "at": [n, None], "z": None} for n in range(5)]


@given(values)
def test_a_text_with_extensions_is_never_larger(value: Any) -> None:
    for options in ({}, {"constant_columns": True}, {"flatten": False}, {"group_values": True}):
        plain = gcf.dumps(value, **options)
        for extensions in ({"list_columns": True}, {"matrices": True}):
            text = gcf.dumps(value, **extensions, **options)
            assert len(text.encode()) <= len(plain.encode())


@given(values)
def test_other_readers_refuse_what_they_do_not_know(value: Any) -> None:
    text = gcf.dumps(value, list_columns=True, matrices=True)
    if text == gcf.dumps(value):
        return
    with pytest.raises(gcf.GcfError, match="unsupported_extension"):
        gcf.loads(text)
    with pytest.raises(ValueError, match="field"):
        peer.decode_generic(text)


def test_every_reader_has_the_option() -> None:
    text = gcf.dumps(ENTITIES, list_columns=True)
    assert text.splitlines()[1:3] == ["## [5]{id,names[],at[],z}", "0|n0,x|0,-|-"]
    assert gcf.loads(text, extensions=True) == ENTITIES
    assert gcf.load(io.StringIO(text), extensions=True) == ENTITIES
    assert list(gcf.iter_rows(io.StringIO(text), extensions=True)) == ENTITIES
    json = gcf.to_json(text, extensions=True)
    assert gcf.from_json(json, list_columns=True) == text
    for read in (gcf.loads, gcf.to_json, lambda text: list(gcf.iter_rows(io.StringIO(text)))):
        with pytest.raises(gcf.GcfError, match="extensions=True"):
            read(text)


def test_keyed_sets_have_no_list_columns() -> None:
    text = gcf.KeyedSet([{"id": 1, "t": "a"}], key="id").encode().replace(",t}", ",t[]}")
    with pytest.raises(gcf.GcfError, match="unsupported_extension"):
        gcf.read_keyed(text)
    assert gcf.loads(text, extensions=True) == {"rows": [{"id": 1, "t": ["a"]}]}


def test_a_list_counts_as_a_level() -> None:
    text = HEADER + "## [1]{a[]}\n1,2\n"
    assert gcf.loads(text, extensions=True, max_depth=3) == [{"a": [1, 2]}]
    assert gcf.dumps([{"a": [1, 2]}], list_columns=True, max_depth=3) == text
    for call in (
        lambda: gcf.loads(text, extensions=True, max_depth=2),
        lambda: gcf.dumps([{"a": [1, 2]}], list_columns=True, max_depth=2),
        lambda: list(gcf.iter_rows(io.StringIO(text), extensions=True, max_depth=2)),
    ):
        with pytest.raises(gcf.GcfError, match="limit_exceeded"):
            call()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (" a , b |1", ["a", "b"]),
        ("  |1", []),
        (" - |1", None),
        ("-,-|1", [None, None]),
        (",|1", ["", ""]),
        ('"-"|1', ["-"]),
        ('""|1', [""]),
        ('"a|b" , "c,d"|1', ["a|b", "c,d"]),
        ('a"b|1', ['a"b']),
        ("^{a,b}|1", ["^{a", "b}"]),
        ("true,1.0,01|1", [True, 1, "01"]),
    ],
)
def test_a_cell_is_read_as_a_list(row: str, expected: Any) -> None:
    found = gcf.loads(f"{HEADER}## [1]{{b,a[],c}}\n1|{row}\n", extensions=True)
    assert same(found, [{"b": 1, "a": expected, "c": 1}])


@pytest.mark.parametrize(
    ("row", "code", "column"),
    [
        ("a,~|1", "invalid_missing", 3),
        ("~,a|1", "invalid_missing", 1),
        ("^|1", "invalid_attachment_marker", 1),
        ("a, ^{a} |1", "invalid_attachment_marker", 4),
        ('a,"b" c|1', "trailing_characters", 6),
        ('a,"b|1', "unterminated_quote", 3),
        ("1,9223372036854775808|1", "out_of_range", 3),
        ("a|1|2", "row_width_mismatch", -1),
    ],
)
def test_an_invalid_cell_is_refused_with_its_place(row: str, code: str, column: int) -> None:
    with pytest.raises(gcf.GcfError) as caught:
        gcf.loads(f"{HEADER}## [1]{{b,a[],c}}\n1|{row}\n", extensions=True)
    assert (caught.value.code, caught.value.line, caught.value.column) == (code, 3, column + 2)


def test_an_attachment_of_a_list_column_is_an_orphan() -> None:
    with pytest.raises(gcf.GcfError, match="orphan_attachment"):
        gcf.loads(HEADER + "## [1]{a[],b}\n@0 x|1\n.a [1]: y\n", extensions=True)


def test_lists_are_read_where_the_text_implies_much() -> None:
    """The expansion is counted by a second reader, which must read the extensions, too."""
    rows = [{"a": n, "t": ["x", "y"], "c": "constant " * 50} for n in range(100)]
    text = gcf.dumps(rows, list_columns=True, constant_columns=True)
    for limit in (100 * (3 + 16 + 450) - 16 * len(text), 1 << 20):
        assert gcf.loads(text, extensions=True, max_expansion=limit) == rows
    with pytest.raises(gcf.GcfError, match="limit_exceeded"):
        gcf.loads(text, extensions=True, max_expansion=20_000)


MATRIX = [[1, "a"], [2, "b|c"], [None, ""]]


def test_every_reader_reads_matrices() -> None:
    text = gcf.dumps(MATRIX, matrices=True)
    assert text == HEADER + '## [3]{[2]}\n1|a\n2|"b|c"\n-|""\n'
    assert gcf.loads(text, extensions=True) == MATRIX
    assert list(gcf.iter_rows(io.StringIO(text), extensions=True)) == MATRIX
    nested = gcf.dumps({"a": {"m": MATRIX}, "z": 1}, matrices=True)
    assert list(gcf.iter_rows(io.StringIO(nested), "a", "m", extensions=True)) == MATRIX
    assert gcf.from_json(gcf.to_json(nested, extensions=True), matrices=True) == nested
    for read in (gcf.loads, gcf.to_json, lambda text: list(gcf.iter_rows(io.StringIO(text)))):
        with pytest.raises(gcf.GcfError, match="unsupported_extension: a matrix"):
            read(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("## [1]{[01]}\n1\n", "invalid_count"),
        ("## [1]{[]}\n1\n", "invalid_count"),
        ("## [1]{[2:]}\n1|2\n", "invalid_count"),
        ("## [1]{[2]}x\n1|2\n", "trailing_characters"),
        ("## [1]{[2]} group=a\n1|2\n", "invalid_group_header"),
        ("## [1]{a,[2]}\n1|2\n", "invalid_field_declaration"),
        ("## [1]{[2]\n1|2\n", "invalid_field_declaration"),
        ("## [1]{[2]}\n@0 1|2|3\n", "row_width_mismatch"),
        ("## [1]{[99999999999999999999]}\n1|2\n", "row_width_mismatch"),
        ("## [99999999999]{[1]}\n1\n", "count_mismatch"),
        ("## [2]{[1]}\n1\n  2\n", "invalid_indent"),
        ("## [1]{[1]}\n^{a}\n", "invalid_attachment_marker"),
    ],
)
def test_an_invalid_matrix_is_refused(text: str, code: str) -> None:
    with pytest.raises(gcf.GcfError) as caught:
        gcf.loads(HEADER + text, extensions=True)
    assert caught.value.code == code
    with pytest.raises(gcf.GcfError) as again:
        list(gcf.iter_rows(io.StringIO(HEADER + text), extensions=True))
    assert str(again.value) == str(caught.value)


def test_a_matrix_may_be_empty_deferred_or_begin_with_what_looks_like_an_id() -> None:
    for text, expected in (
        ("## [0]{[2]}\n", []),
        ("## [?]{[2]}\n1|2\n3|4\n##! summary counts=2\n", [[1, 2], [3, 4]]),
        ("## [1]{ [2] } \n@0 k|2\n", [["@0 k", 2]]),
    ):
        assert gcf.loads(HEADER + text, extensions=True) == expected
