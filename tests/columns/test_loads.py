"""`arrow.gcf_loads`: tables come back from GCF, exactly or with an error that names the value."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import arrow, gcf
from tests.columns import needed
from tests.columns.test_tables import FLAT, IDS, MOMENTS, NESTED, columns

pa = needed("pyarrow")


def back(table: Any, **options: Any) -> Any:
    return pa.chunked_array(arrow.gcf_loads(gcf.dumps(table), **options))


UNION = pa.sparse_union([pa.field("a", pa.int64())])


@pytest.mark.parametrize("columns", [FLAT, NESTED, MOMENTS], ids=["flat", "nested", "moments"])
def test_a_table_comes_back_with_its_schema(columns: dict[str, Any]) -> None:
    table = pa.table(columns)
    # A flattened object of nulls is null, and a named zone is written in UTC.
    found = back(table, schema=table.schema)
    assert found.type == pa.struct(table.schema)
    assert found.to_pylist() == table.to_pylist()


def leaves() -> list[Any]:
    """A column of each type of the table in docs/columns.md, and some nulls."""
    moment, day = datetime(2026, 11, 22, 14, 50, 0, 500_000), date(2026, 11, 22)
    values: dict[Any, list[Any]] = {
        pa.bool_(): [True, False],
        **{kind: [0, 127] for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
        **{kind: [0, 255] for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
        **{kind: [0.5, -3.0] for kind in (pa.float16(), pa.float32(), pa.float64())},
        **{kind: ["a", ""] for kind in (pa.string(), pa.large_string(), pa.string_view())},
        pa.null(): [],
        pa.date32(): [day],
        pa.date64(): [day],
        **{pa.time32(unit): [time(1, 2, 3)] for unit in ("s", "ms")},
        **{pa.time64(unit): [time(1, 2, 3, 4)] for unit in ("us", "ns")},
        **{
            pa.timestamp(unit, zone): [moment.replace(microsecond=0)]
            for unit in ("s", "ms", "us", "ns")
            for zone in (None, "UTC", "+05:30", "Europe/Berlin")
        },
        pa.decimal32(5, 2): [Decimal("1.10")],
        pa.decimal64(9, 2): [Decimal("1.10")],
        pa.decimal128(9, -2): [Decimal(1100)],
        pa.decimal128(9, -3): [Decimal("0E+3")],
        pa.decimal256(50, 2): [Decimal("1.10")],
        # These have no values in GCF.
        pa.binary(): [],
        pa.large_binary(): [],
        pa.binary_view(): [],
        pa.binary(3): [],
        pa.duration("us"): [],
        pa.month_day_nano_interval(): [],
    }
    plain = [pa.array([*some, None, *some], kind) for kind, some in values.items()]
    encoded = [
        # pyarrow has no encoder for all of these types.
        pa.DictionaryArray.from_arrays(pa.array([0, None, 0], pa.int8()), column.slice(0, 1))
        for column in plain
        if column.null_count < len(column)
    ]
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3], pa.int32()), pa.nulls(1, pa.int64()))
    storage = pa.array(['{"a":1}', None])
    extensions = [IDS, BOOL8, pa.ExtensionArray.from_storage(pa.json_(), storage)]
    return [*plain, *encoded, *extensions, runs]


BOOL8 = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8()))


def within(column: Any) -> dict[str, Any]:
    """A column as the content of columns of each nested type."""
    count = len(column)
    ends = list(range(count + 1))
    keys = pa.array([f"key {n}" for n in range(count)])
    starts, sizes = ends[:-1], [1] * count
    return {
        "plain": column,
        "list": pa.ListArray.from_arrays(ends, column),
        "large": pa.LargeListArray.from_arrays(ends, column),
        "view": pa.ListViewArray.from_arrays(starts, sizes, column),
        "large_view": pa.LargeListViewArray.from_arrays(starts, sizes, column),
        "fixed": pa.FixedSizeListArray.from_arrays(column, 1),
        "map": pa.MapArray.from_arrays(ends, keys, column),
        "keyed": pa.MapArray.from_arrays(ends, keys.dictionary_encode(), column),
        "struct": pa.StructArray.from_arrays([column], ["a"]),
    }


@pytest.mark.parametrize("column", leaves(), ids=lambda column: str(column.type))
def test_a_column_of_each_type_comes_back_equal(column: Any) -> None:
    for kind, nested in within(column).items():
        table = pa.table({"c": nested}).replace_schema_metadata({"made": "here"})
        found = pa.table(arrow.gcf_loads(gcf.dumps(table), schema=table.schema))
        found.validate(full=True)
        assert found.schema.equals(table.schema, check_metadata=True), kind
        assert found.equals(table), kind


@given(st.sampled_from(leaves()), st.data())
def test_a_column_of_any_nesting_comes_back_equal(column: Any, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(0, 3))):
        column = data.draw(st.sampled_from([*within(column).values()]))
    if data.draw(st.booleans()):
        column = pa.concat_arrays([column, pa.nulls(1, column.type)])
    table = pa.table({"c": column})
    found = pa.table(arrow.gcf_loads(gcf.dumps(table), schema=table.schema))
    found.validate(full=True)
    assert found.equals(table)


def test_columns_of_polars_come_back_equal() -> None:
    pl = needed("polars")
    values = ["b", "a", None, "b"]
    frame = pl.DataFrame(
        {
            "category": pl.Series(values, dtype=pl.Categorical),
            "enum": pl.Series(values, dtype=pl.Enum(["c", "b", "a"])),
            "bytes": pl.Series([None] * 4, dtype=pl.Binary),
            "duration": pl.Series([None] * 4, dtype=pl.Duration),
            "array": pl.Series([[1, 2]] * 4, dtype=pl.Array(pl.Int64, 2)),
        }
    )
    rows = arrow.gcf_loads(gcf.dumps(frame), schema=frame.schema)
    found = pl.Series(rows).struct.unnest()
    assert found.equals(frame)
    assert found.schema == frame.schema


def test_a_dictionary_has_each_value_once() -> None:
    kind = pa.dictionary(pa.int8(), pa.list_(pa.int64()))
    column = pa.DictionaryArray.from_arrays(
        pa.array([n % 2 for n in range(300)], pa.int8()), pa.array([[1], [2, 3]])
    )
    found = back(column, schema=kind).combine_chunks()
    assert found.dictionary.to_pylist() == [[1], [2, 3]]
    assert found.indices.equals(column.indices)


def test_nulls_of_a_size_are_limited() -> None:
    with pytest.raises(cw.GcfError, match="max_expansion") as caught:
        arrow.gcf_loads(gcf.dumps([None] * 10), schema=pa.binary(100_000_000))
    assert caught.value.code == "limit_exceeded"


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
        ([{"a": 1, "b\0": 2}], None, "unsupported_type", '$[0]["b\\0"]'),
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
        (["2016-12-31T23:59:60"], pa.timestamp("s"), "out_of_range", "$[0]"),
        (["2016-12-31T23:59:60Z"], pa.timestamp("ns", "UTC"), "out_of_range", "$[0]"),
        (["12:59:60"], pa.time32("s"), "out_of_range", "$[0]"),
        (["23:59:60.5"], pa.time64("us"), "out_of_range", "$[0]"),
        (["12:59:00.1234567891"], pa.time64("ns"), "out_of_range", "$[0]"),
        (["2026-11-22T00:00:00.0000000001"], pa.timestamp("s"), "out_of_range", "$[0]"),
        (["1.234"], pa.decimal128(9, 2), "out_of_range", "$[0]"),
        ([{"a": 1, "b": 2}], pa.struct([("a", pa.int64())]), "unsupported_type", "$[0].b"),
        (
            [{"a": {"b": ["x"]}}],
            pa.schema([("a", pa.struct([("b", pa.list_(pa.int8()))]))]),
            "unsupported_type",
            "$[0].a.b[0]",
        ),
        ([[1, 2, 3]], pa.list_(pa.int64(), 2), "unsupported_type", "$[0]"),
        (["x"], pa.binary(), "unsupported_type", "$[0]"),
        (
            [{"a": 1}, {"a": "x"}],
            pa.schema([("a", pa.duration("s"))]),
            "unsupported_type",
            "$[0].a",
        ),
        ([{"a": None}], pa.schema([("a", UNION)]), "unsupported_type", "$[*].a"),
        (
            {"r": [{"a": [None]}]},
            pa.schema([("a", pa.list_(UNION))]),
            "unsupported_type",
            "$.r[*].a[*]",
        ),
        (
            [{"a": {"b": None}}],
            pa.schema([("a", pa.map_(pa.utf8(), UNION))]),
            "unsupported_type",
            "$[*].a.*",
        ),
        ([{"b": 1}], pa.map_(pa.int8(), pa.int8()), "unsupported_type", "$[0].b"),
        ([{"a": 1}], pa.schema([("a", pa.int8()), ("a", pa.int8())]), "duplicate_key", "$[*]"),
        (["x"], pa.field("a", pa.uuid()), "out_of_range", "$[0]"),
        ([True, 1], pa.field("a", pa.bool8()), "unsupported_type", "$[1]"),
        ([*range(129)], pa.dictionary(pa.int8(), pa.int64()), "out_of_range", "$[128]"),
        ([1, "x"], pa.dictionary(pa.int8(), pa.int64()), "unsupported_type", "$[1]"),
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
        ([{"a": 1, "b": 1}, {"b": 2}], pa.schema([STRICT, ("b", pa.int64())]), "$[1].a"),
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
    pytest.importorskip("pyarrow", "22")  # Before, `to_pylist` leaves maps in maps as lists.
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
