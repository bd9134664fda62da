"""`arrow.gcf_loads`: tables come back from GCF, exactly or with an error that names the value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import arrow, gcf
from tests.columns import needed
from tests.columns.test_tables import FLAT, MOMENTS, NESTED, columns

pa = needed("pyarrow")


def back(table: Any, **options: Any) -> Any:
    return pa.chunked_array(arrow.gcf_loads(gcf.dumps(table), **options))


@pytest.mark.parametrize("columns", [FLAT, NESTED, MOMENTS], ids=["flat", "nested", "moments"])
def test_a_table_comes_back_with_its_schema(columns: dict[str, Any]) -> None:
    table = pa.table(columns)
    # A flattened object of nulls is null, and a named zone is written in UTC.
    found = back(table, schema=table.schema)
    assert found.type == pa.struct(table.schema)
    assert found.to_pylist() == table.to_pylist()


@pytest.mark.parametrize(
    ("rows", "type"),
    [
        ([{"a": 1, "b": "x"}, {"a": None}], {"a": pa.int64(), "b": pa.utf8()}),
        ([{"a": 1}, {"a": 2.5}], {"a": pa.float64()}),
        ([{"a": True}, {"a": None}], {"a": pa.bool_()}),
        ([{"a": None}], {"a": pa.null()}),
        ([{"a": [1, None, 2.5]}, {"a": []}], {"a": pa.list_(pa.float64())}),
        (
            [{"a": {"b": [{"c": 1}]}}],
            {"a": pa.struct([("b", pa.list_(pa.struct([("c", pa.int64())])))])},
        ),
    ],
)
def test_types_are_inferred(rows: list[dict[str, Any]], type: dict[str, Any]) -> None:
    for value in (rows, {"rows": rows}):
        found = back(value)
        assert found.type == pa.struct(list(type.items()))
        assert found.to_pylist() == [{name: row.get(name) for name in type} for row in rows]


def test_an_array_of_scalars_is_a_column() -> None:
    assert back([1, None, 3]).to_pylist() == [1, None, 3]
    assert back([]).type == pa.null()


@pytest.mark.parametrize(
    ("value", "schema", "code", "path"),
    [
        ([1, "x"], None, "unsupported_type", "$[1]"),
        ([{"a": 1}, {"a": [1]}], None, "unsupported_type", "$[0].a"),
        ([{"a": 2**53 + 1}, {"a": 0.5}], None, "out_of_range", "$[0].a"),
        (1, None, "unsupported_type", "$"),
        ({"a": [1], "b": [2]}, None, "unsupported_type", "$"),
        ([1, 300], pa.int8(), "out_of_range", "$[1]"),
        ([-1], pa.uint64(), "out_of_range", "$[0]"),
        ([0.1], pa.float32(), "out_of_range", "$[0]"),
        ([2**53 + 1], pa.float64(), "out_of_range", "$[0]"),
        ([1.5], pa.int64(), "unsupported_type", "$[0]"),
        (["x"], pa.date32(), "out_of_range", "$[0]"),
        (["2026-11-22T00:00:00Z"], pa.timestamp("s"), "out_of_range", "$[0]"),
        (["2026-11-22T00:00:00.5"], pa.timestamp("s"), "out_of_range", "$[0]"),
        (["1.234"], pa.decimal128(9, 2), "out_of_range", "$[0]"),
        ([{"a": 1, "b": 2}], pa.struct([("a", pa.int64())]), "unsupported_type", "$[0].b"),
        (
            [{"a": {"b": ["x"]}}],
            pa.schema([("a", pa.struct([("b", pa.list_(pa.int8()))]))]),
            "unsupported_type",
            "$[0].a.b[0]",
        ),
        ([[1, 2, 3]], pa.list_(pa.int64(), 2), "unsupported_type", "$[0]"),
        (["x"], pa.binary(), "unsupported_type", "$"),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_named_with_its_place(
    value: Any, schema: Any, code: str, path: str
) -> None:
    text = gcf.dumps(value)
    with pytest.raises(cw.UnsupportedValue) as caught:
        arrow.gcf_loads(text, schema=schema)
    assert (caught.value.code, caught.value.path) == (code, path)


STRICT = pa.field("a", pa.int64(), nullable=False)


@pytest.mark.parametrize(
    ("value", "schema", "path"),
    [
        ([{"a": 1}, {"a": None}], pa.schema([STRICT]), "$[1].a"),
        ([{"a": 1, "b": 1}, {"b": 2}], pa.schema([STRICT, ("b", pa.int64())]), "$[1]"),
        ([[1], [2, None]], pa.list_(STRICT), "$[1][1]"),
        ([[1, 2], [None, 3]], pa.list_(STRICT, 2), "$[1][0]"),
        ([{"k": 1}, {"l": None}], pa.map_(pa.utf8(), STRICT), "$[1].l"),
    ],
    ids=str,
)
def test_null_where_the_schema_allows_none_is_named_with_its_place(
    value: Any, schema: Any, path: str
) -> None:
    with pytest.raises(cw.UnsupportedValue, match="allows no null") as caught:
        arrow.gcf_loads(gcf.dumps(value), schema=schema)
    assert caught.value.path == path


def test_a_null_row_needs_no_fields() -> None:
    found = arrow.gcf_loads(gcf.dumps([None]), schema=pa.schema([STRICT]))
    assert pa.chunked_array(found).to_pylist() == [None]


def test_rows_of_unlike_fields_are_limited() -> None:
    text = gcf.dumps([{f"field {n}": n} for n in range(500)])
    assert pa.chunked_array(arrow.gcf_loads(text)).to_pylist()[7]["field 7"] == 7
    with pytest.raises(cw.GcfError, match="max_expansion") as caught:
        arrow.gcf_loads(text, max_expansion=0)
    assert caught.value.code == "limit_exceeded"
    lists = pa.list_(pa.int64(), 1_000_000)
    with pytest.raises(cw.GcfError, match="max_expansion"):
        arrow.gcf_loads(gcf.dumps([None] * 100), schema=lists)


def test_text_and_schema_of_another_type_are_refused() -> None:
    schema: Any = "int64"
    with pytest.raises(TypeError, match="__arrow_c_schema__"):
        arrow.gcf_loads("GCF profile=generic\n=1\n", schema=schema)
    with pytest.raises(cw.GcfError) as caught:
        arrow.gcf_loads("hello")
    assert caught.value.line == 1


@given(st.data())
def test_any_table_comes_back(data: st.DataObject) -> None:
    type, values = data.draw(columns())
    rows = data.draw(st.lists(values, max_size=6))
    column = pa.array([{"c": row} for row in rows], pa.struct([("c", type)]))
    # An object of which all flattened leaves are null is read as null.
    text = gcf.dumps(column, flatten=False)
    found = pa.chunked_array(arrow.gcf_loads(text, schema=column.type))
    # As dicts, whose order does not count: GCF writes the keys of objects in rows by column.
    assert found.to_pylist(maps_as_pydicts="strict") == column.to_pylist(maps_as_pydicts="strict")


@pytest.mark.parametrize(
    ("maps", "expected"),
    [
        ([[("a>b", 1), ("c", 2)]], [[("c", 2), ("a>b", 1)]]),
        (
            [[("a", 1), ("b", 2)], [("b", 3), ("a", 4)]],
            [[("a", 1), ("b", 2)], [("a", 4), ("b", 3)]],
        ),
    ],
    ids=["a key that is no column", "another order in another row"],
)
def test_the_keys_of_maps_in_an_array_follow_its_columns(maps: Any, expected: Any) -> None:
    column = pa.array(maps, pa.map_(pa.utf8(), pa.int64()))
    assert back(column, schema=column.type).to_pylist() == expected
