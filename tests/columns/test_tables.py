"""`gcf.dumps` of tables: the text of `to_pylist()` under `types="common"`, byte for byte."""

from __future__ import annotations

import ctypes
import io
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import gcf
from tests.columns import needed
from tests.columns.producer import NULLABLE, Schema, pointer

pa = needed("pyarrow")

N = range(40)
FLAT = {
    "id": pa.array(N, pa.int64()),
    "name": pa.array([f"item {n}" for n in N], pa.string_view()),
    "city": pa.array([["Oslo", "Bern"][n % 2] for n in N]).dictionary_encode(),
    "price": pa.array([n * 0.25 for n in N], pa.float32()),
    "half": pa.array([None if n % 3 else n * 0.5 for n in N], pa.float16()),
    "stock": pa.array([None if n % 5 == 0 else n for n in N], pa.uint16()),
    "paid": pa.array([n % 2 == 0 for n in N]),
    "nothing": pa.nulls(len(N)),
}
NESTED = {
    "id": pa.array(N, pa.int8()),
    "who": pa.array([{"name": f"n{n}", "age": n} for n in N]),
    "tags": pa.array([["a", "b"][: n % 3] for n in N], pa.large_list(pa.utf8())),
    "pair": pa.array([[n, n + 1] for n in N], pa.list_(pa.int64(), 2)),
    "lines": pa.array([[{"sku": f"s{k}", "n": k} for k in range(n % 4)] for n in N]),
    "map": pa.array([[(f"k{n % 2}", n)] for n in N], pa.map_(pa.utf8(), pa.int64())),
}
MOMENTS = {
    "date32": pa.array([date(2026, 11, 22), date(1, 1, 1), date(9999, 12, 31), None]),
    "date64": pa.array(
        [date(2026, 11, 22), None, date(1969, 1, 1), date(2000, 2, 29)], pa.date64()
    ),
    "time": pa.array([time(14, 50), time(14, 50, 0, 500_000), time(0, 0, 0, 1), None]),
    "seconds": pa.array([time(1, 2, 3), None, time(0), time(23, 59, 59)], pa.time32("s")),
    "naive": pa.array(
        [
            datetime(2026, 11, 22, 14, 50),
            datetime(1, 1, 1),
            datetime(2026, 1, 2, 3, 4, 5, 600_000),
            None,
        ]
    ),
    "utc": pa.array([datetime(2026, 11, 22, 14, 50, tzinfo=UTC)] * 4, pa.timestamp("ms", "UTC")),
    "east": pa.array(
        [datetime(2026, 11, 22, 23, 50, 0, 1, timezone(timedelta(hours=5, minutes=30)))] * 4,
        pa.timestamp("us", "+05:30"),
    ),
    "west": pa.array([datetime(1960, 1, 1, tzinfo=UTC)] * 4, pa.timestamp("s", "-03:00")),
    "money": pa.array(
        [Decimal("1.10"), Decimal("-0.05"), None, Decimal("12345.00")], pa.decimal128(9, 2)
    ),
    "large": pa.array([Decimal(10) ** 40, Decimal(0), None, Decimal(-7)], pa.decimal256(50, 0)),
}


IDS = pa.array([bytes(range(16)), None, bytes(15) + b"\x01", b"\xff" * 16], pa.uuid())
FLAGS = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None, -5], pa.int8()))
EXTENSIONS = {
    "id": IDS,
    "flag": FLAGS,
    "ids": pa.ListArray.from_arrays([0, 2, 2, 3, 4], IDS),
    "flags": pa.FixedSizeListArray.from_arrays(pa.concat_arrays([FLAGS] * 2), 2),
    "struct": pa.StructArray.from_arrays([IDS, FLAGS], ["id", "flag"]),
    "map": pa.MapArray.from_arrays([0, 1, 2, 3, 4], pa.array(list("abcd")), IDS),
}


def of(columns: dict[str, Any]) -> Any:
    return pa.table(columns)


def expected(table: Any, **options: Any) -> str:
    return gcf.dumps(table.to_pylist(maps_as_pydicts="strict"), types="common", **options)


TABLES = {
    "flat": of(FLAT),
    "nested": of(NESTED),
    "moments": of(MOMENTS),
    "extensions": of(EXTENSIONS),
    "flat extensions": of({"id": IDS, "flag": FLAGS}).slice(1, 3),
    "empty": of(FLAT).slice(0, 0),
    "one row": of(NESTED).slice(3, 1),
    "slice": of({**FLAT, **NESTED}).slice(7, 20),
    "chunks": pa.concat_tables([of(FLAT).slice(0, 3), of(FLAT).slice(0, 0), of(FLAT).slice(3)]),
    "no columns": of({}),
    "path names": pa.table({"a>b": [1, 2], "": ["x", "y"], '"q"': [None, 1.5]}),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_the_array_of_its_rows(name: str) -> None:
    table = TABLES[name]
    text = gcf.dumps(table)
    assert text == expected(table)
    assert gcf.dumps_bytes(table) == text.encode()
    assert gcf.dumps({"rows": table, "n": 1}) == gcf.dumps(
        {"rows": table.to_pylist(maps_as_pydicts="strict"), "n": 1}, types="common"
    )


@pytest.mark.parametrize(
    "options",
    [
        {"flatten": False},
        {"constant_columns": True},
        {"group_values": True},
        {"list_columns": True},
    ],
    ids=str,
)
def test_options_mean_what_they_mean_for_rows(options: dict[str, Any]) -> None:
    for table in TABLES.values():
        assert gcf.dumps(table, **options) == expected(table, **options)


def test_a_column_is_an_array_and_a_file_takes_a_table() -> None:
    assert gcf.dumps(FLAT["stock"]) == gcf.dumps(FLAT["stock"].to_pylist())
    file = io.StringIO()
    gcf.dump(TABLES["nested"], file)
    assert file.getvalue() == expected(TABLES["nested"])


def test_functions_of_values_take_tables() -> None:
    table = TABLES["flat"]
    assert cw.shrink(table).text == cw.shrink(table.to_pylist()).text
    call = cw.decode_tool_call(
        cw.encode_tool_call("report", {"rows": table.select(["id", "name"])})
    )
    assert call.arguments == {"rows": table.select(["id", "name"]).to_pylist()}


@pytest.mark.parametrize("types", ["json", "common"])
@pytest.mark.parametrize("made", [pa.table({"n": [1]}), pa.array([1]), pa.chunked_array([[1]])])
def test_default_may_return_a_table(made: Any, types: Any) -> None:
    """It is written in place of the object, and not passed to `default=` again."""
    asked: list[object] = []

    def default(value: object) -> Any:
        asked.append(value)
        return made

    other = object()
    value, expected = {"a": [other], "b": 1}, {"a": [made.to_pylist()], "b": 1}
    for dumps in (gcf.dumps, gcf.dumps_bytes):
        assert gcf.loads(dumps(value, default=default, types=types)) == expected
    call = cw.encode_tool_call("show", value, default=default, types=types)
    assert cw.decode_tool_call(call).arguments == expected
    shrunk = cw.shrink(value, default=default, types=types)
    assert cw.expand(shrunk.text) == expected
    frames = cw.Session().encode_request(args=value, default=default, types=types)
    assert cw.Session().decode_request(frames).args == expected
    assert asked == [other] * 5


def test_an_index_of_pandas_is_a_column_unless_it_is_a_range() -> None:
    pandas = needed("pandas")
    frame = pandas.DataFrame({"x": [1, 2, 3, 4]})
    rows = [{"x": 1}, {"x": 3}, {"x": 4}]
    filtered = frame[frame.x != 2]
    assert gcf.loads(gcf.dumps(frame[2:])) == rows[1:]
    assert gcf.loads(gcf.dumps(filtered.reset_index(drop=True))) == rows
    for index, name in ((None, "__index_level_0__"), ("n", "n")):
        found = [row | {name: row["x"] - 1} for row in rows]
        assert gcf.loads(gcf.dumps(filtered.rename_axis(index))) == found


def test_a_series_of_pandas_is_an_array() -> None:
    # Before version 3, it is no column.
    pandas = pytest.importorskip("pandas", "3", reason="NOT RUN: pandas is not installed")
    assert gcf.loads(gcf.dumps(pandas.Series([1, 3, 4]))) == [1, 3, 4]


def test_nanoseconds_are_kept() -> None:
    column = pa.array([1_763_822_400_000_000_001, 1_763_822_400_500_000_000], pa.timestamp("ns"))
    assert gcf.loads(gcf.dumps(column)) == [
        "2025-11-22T14:40:00.000000001",
        "2025-11-22T14:40:00.5",
    ]


def test_an_empty_dictionary_below_null_structs_is_null() -> None:
    type = pa.struct([("c", pa.dictionary(pa.int8(), pa.utf8()))])
    table = pa.table({"id": [1], "o": pa.array([None], type)})
    assert gcf.dumps(table) == expected(table)


def test_nulls_in_a_column_that_should_have_none_are_nulls() -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    table = pa.table([pa.array([1, None])], schema=schema)
    assert gcf.dumps(table) == expected(table)


def test_nulls_in_values_that_should_have_none_are_nulls() -> None:
    def required(name: str) -> Any:
        return pa.field(name, pa.int64(), nullable=False)

    rows = pa.StructArray.from_arrays([pa.array([1, None])], fields=[required("a")])
    texts, offsets = pa.array(["x", "y"]), pa.array([0, 1, 2], pa.int32())
    for values, item in ((rows, pa.field("value", rows.type)), (rows.field(0), required("value"))):
        maps = pa.MapArray.from_arrays(offsets, texts, values, pa.map_(pa.utf8(), item))
        first, second = values.to_pylist()
        assert gcf.loads(gcf.dumps(maps)) == [{"x": first}, {"y": second}]
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 1]), rows)
    assert gcf.loads(gcf.dumps(dictionary)) == [{"a": 1}, {"a": None}]


@pytest.mark.parametrize("part", ["entries", "keys"])
def test_a_producer_may_say_that_parts_of_maps_can_be_null(part: str) -> None:
    class Producer:
        """As DuckDB 1.1 says it of keys."""

        def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
            schema, array = pa.array(
                [[("k", 1)], None], pa.map_("utf8", "int8")
            ).__arrow_c_array__()
            entries = first_child(Schema.from_address(pointer(schema, b"arrow_schema")))
            (entries if part == "entries" else first_child(entries)).flags |= NULLABLE
            return schema, array

    def first_child(schema: Schema) -> Schema:
        return Schema.from_address(ctypes.c_void_p.from_address(schema.children).value or 0)

    assert gcf.loads(gcf.dumps(Producer())) == [{"k": 1}, None]


def test_maps_with_dictionary_encoded_keys_and_maps_of_nothing() -> None:
    keys = pa.map_(pa.dictionary(pa.int8(), pa.utf8()), pa.int64())
    entries = pa.StructArray.from_arrays(
        [pa.array(["a", "b"]).dictionary_encode().cast(keys.key_type), pa.array([1, 2])],
        names=["key", "value"],
    )
    column = pa.MapArray.from_arrays([0, 2], entries.field(0), entries.field(1))
    assert gcf.loads(gcf.dumps(column)) == [{"a": 1, "b": 2}]
    empty = pa.array([[]], pa.map_(pa.int64(), pa.int64()))
    assert gcf.loads(gcf.dumps(empty)) == [{}]


def test_a_null_key_of_a_map_is_named() -> None:
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["a", None]))
    column = pa.MapArray.from_arrays([0, 2], keys, pa.array([1, 2]))
    with pytest.raises(cw.UnsupportedValue, match="a key of the map is null") as caught:
        gcf.dumps(column)
    assert caught.value.path == "$[0]"


def runs(ends: list[int], values: Any, type: Any = None) -> Any:
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, type or pa.int64()), values)


def of_no_size(rows: int, valid: bytes | None = None) -> Any:
    """Byte strings of no bytes."""
    buffers = [valid and pa.py_buffer(valid), pa.py_buffer(b"")]
    return pa.Array.from_buffers(pa.binary(0), rows, buffers)


def union(values: list[Any]) -> Any:
    types, offsets = pa.array([0] * len(values), pa.int8()), pa.array(range(len(values)))
    return pa.UnionArray.from_dense(types, offsets.cast(pa.int32()), [pa.array(values, pa.utf8())])


NOTHING = pa.array([None], pa.utf8())


@pytest.mark.parametrize("ends", [pa.int16(), pa.int32(), pa.int64()])
@pytest.mark.parametrize(
    "values",
    [
        NOTHING,
        pa.nulls(1),
        pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), NOTHING),
        runs([1], NOTHING),
        union([None]),
    ],
    ids=["texts", "nulls", "dictionary", "runs", "union"],
)
def test_run_end_encoded_nulls_are_null(ends: Any, values: Any) -> None:
    column = runs([3], values, ends)
    for some in (column.slice(1), pa.table({"c": column.slice(1)}).column(0)):
        assert gcf.loads(gcf.dumps(some)) == [None, None]
    assert gcf.loads(gcf.dumps({"a": [pa.table({"c": column})]})) == {"a": [[{"c": None}] * 3]}


@pytest.mark.parametrize("zone", ["+99:99", "+1:-70"])
def test_an_offset_that_no_day_has_is_like_a_name(zone: str) -> None:
    column = pa.array([0], pa.int64()).cast(pa.timestamp("s", zone))
    assert gcf.loads(gcf.dumps(column)) == ["1970-01-01T00:00:00Z"]


def test_a_time_beyond_the_day_is_named() -> None:
    with pytest.raises(cw.UnsupportedValue, match="not a time of day"):
        gcf.dumps(pa.array([86_400], pa.int32()).cast(pa.time32("s")))


@pytest.mark.parametrize("more", [1, -1, 43_200_000])
def test_a_date_with_a_part_of_a_day_is_named(more: int) -> None:
    day = 86_400_000
    for milliseconds, text in ((0, "1970-01-01"), (-day, "1969-12-31")):
        dates = [
            pa.array([at], pa.int64()).view(pa.date64())
            for at in (milliseconds, milliseconds + more)
        ]
        assert gcf.loads(gcf.dumps(dates[0])) == [text]
        with pytest.raises(cw.UnsupportedValue, match="not a whole day"):
            gcf.dumps(dates[1])


def test_a_map_is_an_object_where_to_pylist_has_pairs() -> None:
    maps = pa.array([[("a", 1), ("b", 2)], [("a", 3)]], pa.map_(pa.utf8(), pa.int64()))
    for data in (maps, pa.table({"m": maps})):
        written = gcf.loads(gcf.dumps(data))
        assert written == data.to_pylist(maps_as_pydicts="strict") != data.to_pylist()


def test_a_named_zone_is_written_in_utc() -> None:
    moment = datetime(2026, 7, 1, 12, tzinfo=UTC)
    column = pa.array([moment], pa.timestamp("us", "Europe/Berlin"))
    assert gcf.loads(gcf.dumps(column)) == ["2026-07-01T12:00:00Z"]


@pytest.mark.parametrize(
    ("column", "code", "path"),
    [
        (pa.array([1, 2**63], pa.uint64()), "out_of_range", "$[1].c"),
        (pa.array([1.0, float("nan")]), "not_finite", "$[1].c"),
        (pa.array([1.0, float("-inf")], pa.float32()), "not_finite", "$[1].c"),
        (pa.array([None, b"x"]), "unsupported_type", "$[1].c"),
        (pa.array([timedelta(1)]), "unsupported_type", "$[0].c"),
        (pa.array([[(1, 2)]], pa.map_(pa.int64(), pa.int64())), "unsupported_type", "$[0].c"),
        (pa.array([2**62], pa.timestamp("s")), "out_of_range", "$[0].c"),
        (pa.array([-800_000], pa.date32()), "out_of_range", "$[0].c"),
        (pa.array([[[None, b"x"]]]), "unsupported_type", "$[0].c[0][1]"),
        (runs([2, 3], pa.array([None, "x"])), "unsupported_type", "$[2].c"),
        (union([None, "x"]), "unsupported_type", "$[1].c"),
        (runs([2**28], pa.array(["x"])), "unsupported_type", "$[0].c"),
        (of_no_size(2**28), "unsupported_type", "$[0].c"),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_written_is_named_with_its_place(
    column: Any, code: str, path: str
) -> None:
    for obj, place in (
        (pa.table({"c": column}), path),
        ([pa.table({"c": column})], f"$[0]{path[1:]}"),
    ):
        with pytest.raises(cw.UnsupportedValue) as caught:
            gcf.dumps(obj)
        assert (caught.value.code, caught.value.path) == (code, place)


def test_binary_columns_of_nulls_are_nulls() -> None:
    table = pa.table({"id": [1, 2], "c": pa.nulls(2, pa.binary())})
    assert gcf.dumps(table) == expected(table)


def test_two_columns_of_one_name_are_refused() -> None:
    twice = pa.table([[1, 2], [3, 4]], names=["a", "a"])
    for obj in (twice, [twice]):
        with pytest.raises(cw.GcfError, match='two columns have the name "a"; rename') as caught:
            gcf.dumps(obj)
        assert caught.value.code == "duplicate_key"
    keys = pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.utf8(), pa.int64()))
    with pytest.raises(cw.GcfError) as caught:
        gcf.dumps(pa.table({"c": keys}))
    assert caught.value.code == "duplicate_key"


SCALARS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.utf8(): st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    pa.bool_(): st.booleans(),
    pa.timestamp("us"): st.datetimes(),
    pa.date32(): st.dates(),
    pa.decimal128(12, 3): st.decimals(-(10**8), 10**8, places=3),
}
NAMES = st.text(st.sampled_from('ab>|,"é '), max_size=4)


@st.composite
def columns(draw: st.DrawFn, depth: int = 2) -> tuple[Any, Any]:
    """A type, and a strategy for its values."""
    nested = ["scalar", "list", "struct", "map"]
    kind = draw(st.sampled_from(nested if depth else ["scalar"]))
    if kind == "scalar":
        type, values = draw(st.sampled_from(list(SCALARS.items())))
    elif kind == "list":
        inner, elements = draw(columns(depth - 1))
        type, values = pa.list_(inner), st.lists(elements, max_size=3)
    elif kind == "map":
        inner, elements = draw(columns(depth - 1))
        type = pa.map_(pa.utf8(), inner)
        values = st.dictionaries(NAMES, elements, max_size=3).map(lambda keys: [*keys.items()])
    else:
        names = draw(st.lists(NAMES, unique=True, min_size=1, max_size=3))
        fields = {name: draw(columns(depth - 1)) for name in names}
        type = pa.struct([(name, inner) for name, (inner, _) in fields.items()])
        values = st.fixed_dictionaries({name: some for name, (_, some) in fields.items()})
    return type, values | st.none() if draw(st.booleans()) else values


@given(st.data())
def test_any_table(data: st.DataObject) -> None:
    pytest.importorskip("pyarrow", "22")  # Before, `to_pylist` leaves maps in maps as lists.
    names = data.draw(st.lists(NAMES, unique=True, max_size=4))
    fields = {name: data.draw(columns()) for name in names}
    count = data.draw(st.integers(0, 6))
    arrays = [
        pa.array(data.draw(st.lists(values, min_size=count, max_size=count)), type)
        for type, values in fields.values()
    ]
    table = pa.table(arrays, names=list(fields))
    cut = data.draw(st.integers(0, count))
    table = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    assert gcf.dumps(table) == expected(table)
    rows = table.to_pylist(maps_as_pydicts="strict")
    assert gcf.dumps([table]) == gcf.dumps([rows], types="common")


def views(rows: int, length: int, values: Any) -> Any:
    """A list view whose rows all have the same elements."""
    starts, lengths = pa.array([0] * rows, pa.int32()), pa.array([length] * rows, pa.int32())
    return pa.ListViewArray.from_arrays(starts, lengths, values)


def shared(rows: int, value: Any) -> Any:
    """A dictionary-encoded column of one value."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int8()), pa.array([value]))


def text_views(rows: int, text: str) -> Any:
    view = len(text).to_bytes(4, "little") + text[:4].encode() + bytes(8)
    buffers = [None, pa.py_buffer(view * rows), pa.py_buffer(text.encode())]
    return pa.Array.from_buffers(pa.string_view(), rows, buffers)


def tagged(column: Any, extension: str) -> Any:
    field = pa.field("a", column.type, metadata={"ARROW:extension:name": extension})
    return pa.Table.from_arrays([column], schema=pa.schema([field]))


def large_list(elements: Any) -> Any:
    return pa.LargeListArray.from_arrays(pa.array([0, len(elements)], pa.int64()), elements)


ENDLESS = 2**40
# Columns of a few bytes.
WITHOUT_MEMORY = {
    "nulls": pa.Array.from_buffers(pa.null(), ENDLESS, [None]),
    "runs of null": runs([ENDLESS], NOTHING),
    "runs of a value": runs([ENDLESS], pa.array(["x"])),
    "no size": of_no_size(ENDLESS),
    "no size, tagged": tagged(of_no_size(ENDLESS), "arrow.uuid"),
    "lists of no size": pa.FixedSizeListArray.from_arrays(of_no_size(ENDLESS), 1),
}


@pytest.mark.parametrize("name", WITHOUT_MEMORY)
def test_rows_without_memory_are_limited(name: str) -> None:
    column = WITHOUT_MEMORY[name]
    columns = [column]
    if not isinstance(column, pa.Table):
        columns += [pa.StructArray.from_arrays([column], ["a"]), large_list(column)]
    for some in columns:
        for call in (gcf.dumps, lambda some: gcf.dumps({"a": [some]}), common):
            with pytest.raises(cw.CompactWireError, match="too many rows without memory"):
                call(some)


def common(value: Any) -> object:
    return cw.shrink(value, types="common")


@pytest.mark.parametrize(
    "column",
    [
        views(20_000, 2_000, pa.array([1] * 2_000)),
        views(300, 300, views(300, 300, pa.array(["x"] * 300))),
        pa.table({"a": views(2_000, 2_000, shared(2_000, "x" * 100))}),
        pa.table({"a": shared(10_000, "x" * 100_000)}),
        shared(1_000, {"a": "x" * 1_000_000}),
        pa.chunked_array([shared(1_000, "x" * 100_000)] * 10),
        text_views(10_000, "x" * 100_000),
        pa.nulls(20_000_000),
        runs([20_000_000], NOTHING),
        of_no_size(20_000_000, bytes(2_500_000)),
        views(20_000, 2_000, pa.nulls(2_000)),
        pa.array([[{"x" * 100_000: 1}]] * 10_000),
    ],
    ids=[
        "list view",
        "nested",
        "in a table",
        "dictionary",
        "structs",
        "chunks",
        "views",
        "nulls",
        "runs",
        "nulls of no size",
        "list view of nulls",
        "names",
    ],
)
def test_a_table_that_repeats_its_cells_is_bounded(column: Any) -> None:
    for value in (column, {"a": [column]}):
        with pytest.raises(cw.GcfError, match="far larger than the table") as caught:
            gcf.dumps(value)
        assert caught.value.code == "limit_exceeded"


def test_the_tables_of_a_value_are_bounded_together() -> None:
    # The bytes of 256 MiB that are not free are for all of them.
    table = pa.table({"a": shared(1_000, "x" * 200_000)})
    assert len(gcf.dumps_bytes([table])) > 200_000_000
    with pytest.raises(cw.GcfError, match="far larger than the table") as caught:
        gcf.dumps_bytes([table, table])
    assert caught.value.code == "limit_exceeded"
    # What is free stays so for each.
    assert gcf.dumps([pa.array([1, 2])] * 3) == gcf.dumps([[1, 2]] * 3)


def test_cells_may_be_shared_within_the_bound() -> None:
    nested = views(3, 2, views(4, 3, pa.array([1, None, 2])))
    for column in (nested, views(9, 2, shared(2, "x" * 99)), text_views(9, "x" * 99)):
        assert gcf.dumps(column) == gcf.dumps(column.to_pylist())
    assert len(gcf.dumps(shared(1_000_000, "x" * 200))) > 200_000_000
    # The elements of a null row are not written.
    unused = pa.array([0] * 50_000, pa.int32()), pa.array([2_000] * 50_000, pa.int32())
    mask = pa.array([True] * 50_000)
    column = pa.ListViewArray.from_arrays(*unused, pa.array([1] * 2_000), mask=mask)
    assert gcf.dumps(column) == gcf.dumps([None] * 50_000)


def test_a_map_of_very_many_keys_is_checked_too() -> None:
    keys = [f"key {n}" for n in range(100_000)]
    for extra in ([], ["key 7"]):
        row = [(key, 1) for key in keys + extra]
        column = pa.array([row], pa.map_(pa.utf8(), pa.int8()))
        if not extra:
            assert gcf.dumps(column) == gcf.dumps([dict(row)])
            continue
        with pytest.raises(cw.GcfError) as caught:
            gcf.dumps(column)
        assert caught.value.code == "duplicate_key"
