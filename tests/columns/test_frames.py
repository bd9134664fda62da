"""Columns of pandas whose values Arrow would change are an error; others are written as rows."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pytest

import compactwire as cw
from compactwire import _frames, analysis, arrow, gcf
from compactwire.analysis.sources import to_arrow
from tests.columns import needed
from tests.strategies.growth import assert_linear

pandas, numpy = needed("pandas"), needed("numpy")
pyarrow, polars, duckdb, narwhals = (
    needed(name) for name in ("pyarrow", "polars", "duckdb", "narwhals")
)

DAY, NOON = datetime.date(2026, 11, 22), datetime.datetime(2026, 11, 22, 12)
DAY_S = datetime.datetime(2026, 11, 22, tzinfo=datetime.UTC)
EAST = datetime.timezone(datetime.timedelta(hours=5))


class OwnFrame(pandas.DataFrame):
    """A frame of a program, with another constructor, as that of GeoPandas is one."""

    def __init__(self, *data: Any) -> None:
        super().__init__(*data)


class OwnSeries(pandas.Series):
    """A series of a program."""

    def __init__(self, *data: Any) -> None:
        super().__init__(*data, dtype=object)


class Key(str):
    """A key that equals no other of the same text."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


CHANGED: list[tuple[list[Any], str]] = [
    ([pandas.Timestamp("2026"), 1.5], r"values of several types \(float, str\)"),
    ([DAY, NOON], r"values of several types \(date, datetime\)"),
    ([decimal.Decimal("1.10"), 1], r"values of several types \(int, str\)"),
    ([True, 1], r"values of several types \(bool, int\)"),
    ([[1], ["a"]], r"values of several types \(int, str\)"),
    ([{"a": 1}, {"b": 2}], "dicts with different keys"),
    ([{"a": 1}, {}], "dicts with different keys"),
    ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], "dicts with different keys, or in another order"),
    ([{"a": {"b": 1}}, {"a": {"c": 1}}], "dicts with different keys"),
    ([[{"a": 1}], [{"b": 1}]], "dicts with different keys"),
    ([{1}], "values of the type set, which a column cannot have"),
    ([decimal.Decimal("NaN")], "values of the type Decimal"),
    ([{b"a": 1}], "dicts with keys that Arrow would change"),
    ([{"a\0b": 1}], "dicts with keys that Arrow would change"),
    ([{Key("a"): 1, Key("a"): 2}], "dicts with keys that Arrow would change"),
    (
        [decimal.Decimal("1.10"), decimal.Decimal("NaN")],
        r"values of several types \(Decimal, str\)",
    ),
]

KEPT: list[list[Any]] = [
    ["a", None, float("nan")],
    ["a", pandas.NA],
    [1, 2.5, None],
    [True, None],
    [[1, 2], [3], []],
    [{"a": 1, "b": None}, None, {"a": 2, "b": ["x"]}],
    [NOON, None, NOON],
    [DAY, pandas.NaT],
    [decimal.Decimal("1.10"), decimal.Decimal("2.20")],
    [decimal.Decimal("1E+3"), decimal.Decimal(2)],
    [None, None],
    [],
]


def frame(values: list[Any]) -> Any:
    return pandas.DataFrame({"n": range(len(values)), "a": pandas.Series(values, dtype=object)})


@pytest.mark.parametrize(("values", "problem"), CHANGED)
@pytest.mark.parametrize("write", [gcf.dumps, cw.shrink, arrow.encode])
def test_values_that_arrow_would_change_are_an_error(
    write: Any, values: list[Any], problem: str
) -> None:
    given = frame(values) if write is not arrow.encode else frame(values)["a"]
    with pytest.raises(cw.UnsupportedValue, match=f"the column 'a'.* has {problem}") as caught:
        write(given)
    path = "$[*].a" if write is not arrow.encode else "$[*]"
    assert (caught.value.code, caught.value.path) == ("unsupported_type", path)


def test_the_path_of_a_column_begins_with_that_of_its_frame() -> None:
    value = {"reports": [1, frame([1, "x"])]}
    for write, root in (
        (gcf.dumps, "$"),
        (cw.shrink, "$"),
        (lambda value: cw.encode_tool_call("t", value), "arguments"),
    ):
        with pytest.raises(cw.UnsupportedValue) as caught:
            write(value)
        assert caught.value.path == f"{root}.reports[1][*].a"


def test_a_column_without_an_arrow_type_is_named() -> None:
    with pytest.raises(cw.UnsupportedValue, match="cannot be read as Arrow") as caught:
        gcf.dumps(frame([2**64]))
    assert caught.value.path == "$[*].a"


@pytest.mark.parametrize("names", [["a", "b", "a"], [1, "b", "1"]])
def test_two_columns_of_one_name_are_an_error(names: list[Any]) -> None:
    data = pandas.DataFrame([[1, 2, 3]], columns=names)
    with pytest.raises(cw.GcfError, match=f"two columns have the name '{names[0]}'") as caught:
        gcf.dumps(data)
    assert (caught.value.code, caught.value.path) == ("duplicate_key", f"$[*].{names[0]}")


class Color(enum.Enum):
    RED = "red"
    BLUE = 2


@pytest.mark.filterwarnings("ignore:The DataFrame has column names of mixed type")
def test_a_column_whose_name_is_a_function_is_not_another_one() -> None:
    # pandas calls a function in df[...] with the frame: here, len is the column 1.
    for values in ([2, 3, (4,)], [DAY_S, 3, 4]):
        for cls in (pandas.DataFrame, OwnFrame):
            frame = cls(pandas.DataFrame([values], columns=[len, 1, int]))
            names = [str(len), "1", str(int)]
            rows = [dict(zip(names, values, strict=True))]
            assert gcf.loads(gcf.dumps(frame)) == gcf.loads(gcf.dumps(rows, types="common"))
            assert list(frame.columns) == [len, 1, int]


@dataclasses.dataclass
class Point:
    x: int
    color: Color


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int


ONLY_COMMON: dict[str, list[Any]] = {
    "enum": [Color.RED, None, Color.RED],
    "UUID": [uuid.UUID(int=5), uuid.UUID(int=6)],
    "UUID in lists": [[uuid.UUID(int=5)], [], None],
    "UUID in dicts": [{"id": uuid.UUID(int=5)}, {"id": uuid.UUID(int=6)}],
    "UUID and text": [uuid.UUID(int=5), "x"],
    "dataclass": [Point(1, Color.RED), Point(2, Color.RED)],
    "decimals of several scales": [decimal.Decimal("1.1"), decimal.Decimal("1"), None],
    "decimals in lists": [[decimal.Decimal("1.10"), decimal.Decimal(2)], [], None],
    "decimals in dicts": [{"a": decimal.Decimal(2)}, {"a": decimal.Decimal("1.10")}],
}


@pytest.mark.parametrize("name", ONLY_COMMON)
@pytest.mark.parametrize("filtered", [False, True])
def test_objects_that_only_common_types_have_are_written_alike(name: str, filtered: bool) -> None:
    values = ONLY_COMMON[name]
    data = frame(values)
    if filtered:
        data.index = pandas.RangeIndex(5, 5 + len(values))
    before = data.copy()
    assert gcf.dumps(data) == gcf.dumps(data.to_dict("records"), types="common")
    assert gcf.dumps(data["a"]) == gcf.dumps(data["a"].tolist(), types="common")
    pandas.testing.assert_frame_equal(data, before)


class Items(list[Any]):
    """A list with elements that its own methods hide."""

    def __iter__(self) -> Any:
        return iter(())


class Amount(int):
    def __int__(self) -> int:
        return 0


NANOSECONDS = pandas.Timestamp("2020-01-01 00:00:00.123456789")

# Values that Arrow would change, and that are written as `types="common"` writes them.
WRITTEN: dict[str, list[Any]] = {
    "ordered dicts of one key": [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
    "a dict and a counter": [{"a": 1}, collections.Counter("a")],
    "keys of a subclass": [{numpy.str_("a"): 1}, {"a": 2}],
    "keys that equal no other": [{Key("a"): 1, Key("b"): 2}],
    "nanoseconds": [NANOSECONDS, None],
    "nanoseconds in a zone": [NANOSECONDS.tz_localize("UTC")],
    "a year of five digits": [pandas.Timestamp(numpy.datetime64("20000-01-01", "s"))],
    "time in a zone": [datetime.time(1, 2, tzinfo=datetime.UTC)],
    "datetimes in several zones": [NOON, NOON.replace(tzinfo=EAST)],
    "date and nanoseconds": [DAY, NANOSECONDS],
    "negative zero": [decimal.Decimal("-0")],
    "negative zero with a scale": [decimal.Decimal("-0.00"), decimal.Decimal("1.00")],
    "array of decimals": [numpy.array([decimal.Decimal("1.5"), decimal.Decimal("1.50")])],
    "array of two dimensions": [numpy.array([[1, 2], [3, 4]])],
    "array and list": [numpy.array([1, 2]), [3]],
    "list of a subclass": [Items([1]), Items([2, 3])],
    "float32": [numpy.float32(0.1), numpy.float32(2)],
    "float32 and float": [numpy.float32(0.1), 0.5],
    "numpy text and text": [numpy.str_("a"), "b"],
    "numpy boolean and boolean": [numpy.bool_(True), False],
    "year of numpy": [numpy.datetime64("2020")],
    "int of a subclass": [Amount(5)],
}

# Values that are an error, because no Arrow type keeps all of them.
REFUSED: dict[str, list[Any]] = {
    "ordered dicts": [collections.OrderedDict(a=1), collections.OrderedDict(b=2)],
    "ordered dicts of another order": [
        collections.OrderedDict(a=1, b=2),
        collections.OrderedDict(b=2, a=1),
    ],
    "default dicts": [collections.defaultdict(int, a=1), collections.defaultdict(int, b=2)],
    "counters": [collections.Counter("aab"), collections.Counter("c")],
    "array of dicts": [numpy.array([{"a": 1}, {"b": 2}])],
    "list of a subclass with a set": [Items([{1}])],
    "named tuple": [collections.namedtuple("Pair", "x y")(1, NANOSECONDS)],
    "bytes": [b"a"],
    "timedelta": [datetime.timedelta(1)],
    "keys that are bytes": [{b"a": 1}],
    "key that contains NUL": [{"a\0b": 1}],
}

NESTINGS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "at the top": lambda values: values,
    "in a list": lambda values: [values],
    "in lists": lambda values: [[one] for one in values],
    "in tuples": lambda values: [(one,) for one in values],
    "in dicts": lambda values: [{"k": one} for one in values],
    "in lists in dicts": lambda values: [{"k": [one]} for one in values],
    "in ordered dicts": lambda values: [collections.OrderedDict(k=one) for one in values],
    "in arrays": lambda values: [object_array(one) for one in values],
}


def object_array(value: Any) -> Any:
    array = numpy.empty(1, dtype=object)
    array[0] = value
    return array


def outcome(write: Callable[[], str]) -> str | None:
    """The text that is written, or None for an error."""
    try:
        return write()
    except cw.UnsupportedValue:
        return None


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("name", WRITTEN | REFUSED)
def test_no_value_is_changed_without_an_error(name: str, nesting: str) -> None:
    values = NESTINGS[nesting]((WRITTEN | REFUSED)[name])
    text = outcome(lambda: gcf.dumps(frame(values)))
    rows = [{"n": n, "a": one} for n, one in enumerate(values)]
    assert text in (None, outcome(lambda: gcf.dumps(rows, types="common")))
    if nesting == "at the top":
        assert (text is None) == (name in REFUSED)


def test_members_of_an_enum_with_values_of_several_types_are_an_error() -> None:
    with pytest.raises(cw.UnsupportedValue, match=r"values of several types \(int, str\)"):
        gcf.dumps(frame([Color.RED, Color.BLUE]))


def test_columns_of_which_other_values_are_written_take_linear_time() -> None:
    def wide(count: int) -> Any:
        return pandas.DataFrame({f"c{n}": [uuid.UUID(int=n)] for n in range(count)})

    assert_linear(_frames.readable, wide, 2_000)


def test_columns_that_are_dropped_meanwhile_leave_the_others_as_they_are() -> None:
    data = pandas.DataFrame({"first": [1], "odd": [None], "last": [3]}, dtype=object)

    class Own(enum.Enum):
        ONE = "one"

        @property
        def value(self) -> Any:
            if "first" in data.columns:
                del data["first"]
            return "one"

    data["odd"] = [Own.ONE]
    assert gcf.loads(gcf.dumps(data)) == [{"first": 1, "odd": "one", "last": 3}]
    assert list(data.columns) == ["odd", "last"]


def test_periods_are_an_error() -> None:
    column = pandas.Series(pandas.period_range("2026", periods=2, freq="D"), name="when")
    with pytest.raises(cw.CompactWireError, match="the column 'when' has periods"):
        gcf.dumps(column)


PERIODS = [pandas.Period("2026"), pandas.Period("2027")]
MIXED = [pandas.Timestamp("2026"), 1.5]


def test_sparse_values_are_an_error_that_says_how_to_make_others() -> None:
    column = pandas.Series(pandas.arrays.SparseArray([0, 0, 1]), name="rare")
    for data in (column, column.to_frame()):
        with pytest.raises(cw.UnsupportedValue, match=r"has sparse values.*sparse\.to_dense"):
            gcf.dumps(data)
    assert gcf.loads(gcf.dumps(column.sparse.to_dense())) == [0, 0, 1]


@pytest.mark.parametrize("values", [PERIODS, MIXED], ids=["periods", "several types"])
def test_categories_and_indexes_that_arrow_would_change_are_an_error(values: list[Any]) -> None:
    rows = {"a": [1, 2]}
    two_levels = pandas.MultiIndex.from_arrays([values, [1, 2]], names=["p", "a"])
    for frame, column in [
        (pandas.DataFrame({"c": pandas.Categorical(values)}), "c"),
        (pandas.DataFrame(rows, index=pandas.Index(values)), "__index_level_0__"),
        (pandas.DataFrame(rows, index=pandas.Index(values, name="p")), "p"),
        (pandas.DataFrame(rows, index=pandas.Index(values, name="a")), "__index_level_0__"),
        (pandas.DataFrame(rows, index=pandas.CategoricalIndex(values)), "__index_level_0__"),
        (pandas.DataFrame(rows, index=two_levels), "p"),
    ]:
        with pytest.raises(cw.UnsupportedValue, match=r"has (periods|values of several)") as caught:
            gcf.dumps(frame)
        assert caught.value.path == f"$[*].{column}"


def test_categories_and_indexes_that_only_common_types_have_are_written() -> None:
    values = [uuid.UUID(int=1), decimal.Decimal("1.10")]
    index = pandas.MultiIndex.from_arrays([values, [1, 2]], names=["p", "q"])
    frame = pandas.DataFrame({"c": pandas.Categorical(values)}, index=index)
    texts = [str(value) for value in values]
    assert gcf.loads(gcf.dumps(frame)) == [
        {"c": text, "p": text, "q": n} for n, text in enumerate(texts, 1)
    ]
    assert gcf.loads(gcf.dumps(frame.reset_index("q", drop=True))) == [
        {"c": text, "p": text} for text in texts
    ]


@pytest.mark.parametrize(
    "values",
    [[(numpy.int64(1), numpy.int64(2)), (3, 4)], [Frozen(1), Frozen(2)]],
    ids=["tuples", "dataclasses"],
)
def test_a_level_that_would_have_lists_or_dicts_is_an_error(values: list[Any]) -> None:
    level = pandas.Index(values, dtype=object, tupleize_cols=False, name="k")
    frame = pandas.DataFrame({"v": [5, 6]}, index=pandas.MultiIndex.from_arrays([level, [7, 8]]))
    for call in (gcf.dumps, cw.shrink, to_arrow):
        with pytest.raises(cw.UnsupportedValue, match=r"'k', .* lists or dicts, .*reset_index"):
            call(frame)
    plain = pandas.DataFrame({"v": [5, 6]}, index=level)
    found = gcf.loads(gcf.dumps(frame.reset_index()))
    assert [row["k"] for row in found] == [row["k"] for row in gcf.loads(gcf.dumps(plain))]


ZONED = pandas.DatetimeIndex([NOON, NOON.replace(year=2027)])


@pytest.mark.parametrize(
    ("zone", "texts"),
    [
        ("UTC", ["2026-11-22T12:00:00Z", "2027-11-22T12:00:00Z"]),
        ("Asia/Tokyo", ["2026-11-22T03:00:00Z", "2027-11-22T03:00:00Z"]),
        (EAST, ["2026-11-22T12:00:00+05:00", "2027-11-22T12:00:00+05:00"]),
    ],
)
def test_categories_that_are_times_in_a_zone_keep_it(zone: Any, texts: list[str]) -> None:
    categories = pandas.Categorical([*ZONED.tz_localize(zone), None])
    series = pandas.Series(categories)
    frame = pandas.DataFrame({"a": series, "b": [1, 2, 3]})
    written = [{"a": text, "b": n} for n, text in enumerate([*texts, None], 1)]
    for data, expected in (
        (series, [*texts, None]),
        (frame, written),
        (frame.set_index("a"), written),
        (frame.set_index(["a", "b"]), written),
    ):
        assert gcf.loads(gcf.dumps(data)) == expected
        # pyarrow gets no such categories: before version 25, it drops their zone.
        found, _ = _frames.readable(data)
        assert "dictionary" not in str(pyarrow.chunked_array(found).type)


@pytest.mark.filterwarnings("ignore:The DataFrame has non-str index name")
@pytest.mark.parametrize("names", [["p", "q"], [1, 0]])
@pytest.mark.parametrize("kind", ["int64", "uint64"])
@pytest.mark.parametrize("others", [["a", "b", "c"], [uuid.UUID(int=n) for n in range(3)]])
def test_integers_of_a_level_are_kept_beside_missing_ones(
    others: list[Any], kind: str, names: list[Any]
) -> None:
    # `get_level_values` has floats, of which the first is 2**53.
    levels = [numpy.array([2**53 + 1, 5], dtype=kind), others]
    index = pandas.MultiIndex(levels, codes=[[0, 1, -1], [0, 1, 2]], names=names)
    numbers = [2**53 + 1, 5, None]
    rows = [[number, str(other)] for number, other in zip(numbers, others, strict=True)]
    assert gcf.loads(gcf.dumps([index], types="common")) == [rows]
    frame = pandas.DataFrame({"v": ["x", "y", "z"]}, index=index)
    found = gcf.loads(gcf.dumps(frame))
    assert [list(row.values()) for row in found] == [
        ["x", *rows[0]],
        ["y", *rows[1]],
        ["z", *rows[2]],
    ]
    assert list(found[0]) == ["v", *map(str, names)]
    assert frame.index is index


def test_integers_beside_floats_are_kept_or_an_error() -> None:
    missing = float("nan")
    for value in (2**53 + 1, -(2**60)):
        frame = pandas.DataFrame({"c": pandas.Series([value, missing], dtype=object)})
        assert gcf.loads(gcf.dumps(frame)) == [{"c": value}, {"c": None}]
        frame = pandas.DataFrame({"c": pandas.Series([value, 0.5], dtype=object)})
        with pytest.raises(cw.UnsupportedValue, match=str(value)) as caught:
            gcf.dumps(frame)
        assert caught.value.path == "$[*].c"


def test_values_that_are_nested_too_deep_are_an_error() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(cw.CompactWireError, match="nested too deep"):
        gcf.dumps(frame([value]))


@pytest.mark.parametrize("values", KEPT)
def test_other_values_are_written_as_those_of_rows(values: list[Any]) -> None:
    def is_missing(value: Any) -> bool:
        return value is pandas.NA or value is pandas.NaT or value != value

    rows = [{"n": n, "a": None if is_missing(one) else one} for n, one in enumerate(values)]
    assert gcf.loads(gcf.dumps(frame(values))) == gcf.loads(gcf.dumps(rows, types="common"))


BY_NAME = pandas.Series([2, 1], index=pandas.Index(["a", "b"], name="k"), name="n")


@pytest.mark.parametrize(
    ("write", "path"),
    [
        (gcf.dumps, "$"),
        (cw.shrink, "$"),
        (lambda value: cw.shrink({"by k": [value]}), '$["by k"][0]'),
        (lambda value: gcf.dumps([value], types="common"), "$[0]"),
        (lambda value: cw.encode_tool_call("tool", {"n": value}), "arguments.n"),
    ],
)
def test_a_series_that_would_lose_its_index_is_an_error(write: Any, path: str) -> None:
    filtered = pandas.Series([1, 2, 3, 4])[[0, 1, 3]]
    for series in (BY_NAME, filtered):
        with pytest.raises(
            cw.UnsupportedValue, match=r"lose its index; pass reset_index\(\)"
        ) as error:
            write(series)
        assert error.value.path == path


def test_what_the_error_about_an_index_advises_is_written() -> None:
    assert gcf.loads(gcf.dumps(BY_NAME.reset_index())) == [{"k": "a", "n": 2}, {"k": "b", "n": 1}]
    assert gcf.loads(gcf.dumps(BY_NAME.to_dict())) == {"a": 2, "b": 1}
    assert gcf.loads(gcf.dumps(BY_NAME.tolist())) == [2, 1]


def test_the_labels_of_a_series_are_not_its_attributes() -> None:
    for label in ("columns", "dtypes", "items", "name"):
        for values in (["x"], [None], [NOON]):
            series = pandas.Series(values, index=[label], dtype=object)
            with pytest.raises(cw.UnsupportedValue, match="would lose its index"):
                gcf.dumps(series)
            assert pyarrow.chunked_array(arrow.encode(series.map(str))).null_count == 0
            assert to_arrow(series).to_pylist() == values


def test_a_series_without_labels_is_an_array() -> None:
    assert gcf.loads(gcf.dumps(pandas.Series([2, 1]))) == [2, 1]
    assert gcf.loads(gcf.dumps(pandas.Series([3, 2, 1])[1:])) == [2, 1]


def test_a_column_of_rows_has_no_index() -> None:
    assert len(arrow.encode(pandas.Series(["a", "b"], index=[5, 7]))) == 2


def test_what_the_error_about_a_column_advises_is_written() -> None:
    data = frame([decimal.Decimal("1.10"), 2, None])
    data["f"] = [1.0, float("nan"), 2.0]
    rows = data.astype(object).where(data.notna(), None).to_dict("records")
    assert [row["a"] for row in gcf.loads(gcf.dumps(rows, types="common"))] == ["1.10", 2, None]
    values = data["a"].astype(object).where(data["a"].notna(), None).tolist()
    assert gcf.loads(gcf.dumps(values, types="common")) == ["1.10", 2, None]


def test_rows_of_a_frame_without_missing_values_are_written_as_the_frame() -> None:
    data = pandas.DataFrame(
        {
            "text": ["x", None, float("nan")],
            "float": [1.0, float("nan"), 2.0],
            "int": pandas.array([1, None, 2], dtype="Int64"),
            "time": pandas.to_datetime(["2026", None, "2027"]),
        }
    )
    rows = data.astype(object).where(data.notna(), None).to_dict("records")
    assert gcf.dumps(rows, types="common") == gcf.dumps(data)


@pytest.mark.parametrize(("values", "problem"), CHANGED[:6])
def test_a_class_that_is_derived_from_one_of_pandas_is_treated_alike(
    values: list[Any], problem: str
) -> None:
    for data in (OwnFrame(frame(values)), OwnSeries(values)):
        with pytest.raises(cw.UnsupportedValue, match=problem):
            gcf.dumps(data)
        with pytest.raises(cw.UnsupportedValue, match=problem):
            to_arrow(data)
    kept = [decimal.Decimal("1.1"), decimal.Decimal("1.10"), None]
    assert gcf.loads(gcf.dumps(OwnSeries(kept))) == ["1.1", "1.10", None]
    assert gcf.dumps(OwnFrame(frame(kept))) == gcf.dumps(frame(kept))
    with pytest.raises(cw.UnsupportedValue, match="would lose its index"):
        gcf.dumps(OwnSeries(BY_NAME))


ARROW: dict[str, tuple[list[Any], Any]] = {
    "nanoseconds": ([1, None], pyarrow.time64("ns")),
    "times of a zone in lists": (
        [[DAY_S], []],
        pyarrow.list_(pyarrow.timestamp("s", "Asia/Tokyo")),
    ),
    "times of a zone in structs": (
        [{"a": DAY_S}],
        pyarrow.struct({"a": pyarrow.timestamp("s", "Asia/Tokyo")}),
    ),
    "maps": ([[("a", 1)]], pyarrow.map_(pyarrow.string(), pyarrow.int8())),
    "float32 in lists": ([[0.1]], pyarrow.list_(pyarrow.float32())),
    "numbers": ([1, None], pyarrow.int8()),
}


@pytest.mark.parametrize("name", ARROW)
def test_an_array_of_arrow_is_written_as_the_series_of_its_values(name: str) -> None:
    values, kind = ARROW[name]
    series = pandas.Series(values, dtype=pandas.ArrowDtype(kind))
    expected = gcf.loads(gcf.dumps({"x": series}, types="common"))
    for array in (series.array, pandas.Index(series.array)):
        assert gcf.loads(gcf.dumps({"x": array}, types="common")) == expected
        assert (
            json.loads(str(cw.shrink({"x": array}, types="common", formats=["json"]))) == expected
        )


# Two times that differ in their nanoseconds, which objects of Python do not have.
NANOSECONDS = pandas.array(
    [3_600_000_000_001, 7_200_000_000_002], dtype=pandas.ArrowDtype(pyarrow.time64("ns"))
)


@pytest.mark.parametrize("values", [NANOSECONDS, pandas.interval_range(0, 2).array])
def test_categories_and_levels_of_a_column_s_types_are_written_as_the_series(values: Any) -> None:
    expected = gcf.loads(gcf.dumps(pandas.Series(values)))
    for same in (pandas.Categorical(values), pandas.CategoricalIndex(values)):
        assert gcf.loads(gcf.dumps({"x": same}, types="common")) == {"x": expected}
    for level in (values, pandas.CategoricalIndex(values)):
        index = pandas.MultiIndex.from_arrays([level, ["a", "b"]])
        found = gcf.loads(gcf.dumps({"x": index}, types="common"))
        assert found == {"x": [[expected[0], "a"], [expected[1], "b"]]}


@pytest.mark.parametrize("values", [NANOSECONDS, pandas.interval_range(0, 2).array])
def test_a_series_without_columns_of_arrow_as_in_pandas_2_loses_no_value(
    monkeypatch: pytest.MonkeyPatch, values: Any
) -> None:
    expected = gcf.loads(gcf.dumps(pandas.DataFrame({"x": values})))
    written = [row["x"] for row in expected]
    monkeypatch.delattr(pandas.Series, "__arrow_c_stream__", raising=False)
    for same in (values, pandas.Index(values), pandas.Categorical(values)):
        assert gcf.loads(gcf.dumps({"x": same}, types="common")) == {"x": written}
        cells = pandas.DataFrame({"x": pandas.Series([same], dtype=object)})
        assert gcf.loads(gcf.dumps(cells)) == [{"x": written}]
    index = pandas.MultiIndex.from_arrays([pandas.CategoricalIndex(values), ["a", "b"]])
    found = gcf.loads(gcf.dumps({"x": index}, types="common"))
    assert found == {"x": [[written[0], "a"], [written[1], "b"]]}


def test_an_array_without_a_type_of_arrow_is_an_error_as_in_pandas_2(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zone = datetime.timezone(datetime.timedelta(seconds=30))  # Arrow has offsets of whole minutes.
    days = pandas.date_range("2026-11-22", periods=2, tz=zone)
    values = pandas.arrays.IntervalArray.from_breaks(days)
    monkeypatch.delattr(pandas.Series, "__arrow_c_stream__", raising=False)
    for same in (values, pandas.MultiIndex.from_arrays([values])):
        with pytest.raises(cw.UnsupportedValue, match="is not a JSON type"):
            gcf.dumps({"x": same}, types="common")


def test_intervals_with_pandas_2_and_without_pyarrow_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(pandas.Series, "__arrow_c_stream__", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(cw.UnsupportedValue, match="is not a JSON type"):
        gcf.dumps({"x": pandas.interval_range(0, 2).array}, types="common")


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "+05:30"])
@pytest.mark.parametrize("year", [-1199, 1, 33658])
def test_a_level_of_times_of_arrow_beyond_the_years_of_python_keeps_them(
    year: int, zone: str
) -> None:
    # pandas 2 ends the process if it makes objects of them, or makes other years of them.
    moment = numpy.datetime64(f"{year:05}-01-02", "s")
    times = pyarrow.array([int(moment.astype(int)), None], pyarrow.timestamp("s", zone))
    level = pandas.arrays.ArrowExtensionArray(times)
    for values in (level, pandas.CategoricalIndex(level)):
        index = pandas.MultiIndex.from_arrays([values, [7, 8]])
        first, second = gcf.loads(gcf.dumps([index], types="common"))[0]
        assert second == [None, 8]
        assert first[0].startswith(f"{year:04}-01-02T")


def test_a_level_with_bytes_is_an_error_at_its_place_or_converted() -> None:
    values = pandas.array([b"a"], dtype=pandas.ArrowDtype(pyarrow.binary()))
    index = pandas.MultiIndex.from_arrays([values])
    with pytest.raises(cw.UnsupportedValue) as error:
        gcf.dumps({"x": index}, types="common")
    assert error.value.path == "$.x[0][0]"
    text = gcf.dumps({"x": index}, types="common", default=bytes.decode)
    assert gcf.loads(text) == {"x": [["a"]]}
    with pytest.raises(cw.UnsupportedValue, match="which a column cannot have") as error:
        gcf.dumps({"x": pandas.Series([values], dtype=object)})
    assert error.value.path == "$.x[*]"


@pytest.mark.parametrize("values", [NANOSECONDS, pandas.interval_range(0, 2)])
def test_an_array_of_arrow_in_a_column_of_objects_is_written_as_its_values(values: Any) -> None:
    array = pandas.array([1, None], dtype=pandas.ArrowDtype(pyarrow.int8()))
    assert gcf.loads(gcf.dumps(pandas.Series([array], dtype=object))) == [[1, None]]
    expected = gcf.loads(gcf.dumps(pandas.Series(values)))
    assert gcf.loads(gcf.dumps(pandas.Series([values], dtype=object))) == [expected]


def test_intervals_are_written_as_those_of_a_series() -> None:
    index = pandas.interval_range(0, 2)
    expected = gcf.loads(gcf.dumps({"x": pandas.Series(index)}, types="common"))
    assert gcf.loads(gcf.dumps({"x": index}, types="common")) == expected
    assert gcf.loads(gcf.dumps({"x": index.array}, types="common")) == expected


INSIDE = pyarrow.list_(pyarrow.struct({"a\0b": pyarrow.int8()}))

IN_INDEX = pandas.Index(
    pandas.array([{"a\0b": 1}], dtype=pandas.ArrowDtype(pyarrow.struct({"a\0b": pyarrow.int64()})))
)

CUT: dict[str, Any] = {
    "column of pandas": pandas.DataFrame({"a\0b": [1]}),
    "column of bytes": pandas.DataFrame([[1]], columns=[b"a\0b"]),
    "index of bytes": pandas.DataFrame({"a": [1]}, index=pandas.Index(["x"], name=b"a\0b")),
    "index of pandas": pandas.DataFrame({"a": [1]}, index=pandas.Index(["x"], name="a\0b")),
    "type of an index": pandas.DataFrame({"a": [1]}, index=IN_INDEX),
    "type of categories": pandas.Series(pandas.Categorical.from_codes([0], categories=IN_INDEX)),
    "type of pandas": pandas.Series([None], dtype=pandas.ArrowDtype(INSIDE)),
    "column of pyarrow": pyarrow.table({"a\0b": [1]}),
    "type of pyarrow": pyarrow.array([None], INSIDE),
    "map of pyarrow": pyarrow.array([None], pyarrow.map_(pyarrow.string(), INSIDE)),
    "dictionary of pyarrow": pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0]), pyarrow.array([{"a\0b": 1}])
    ),
    "column of Polars": polars.DataFrame({"a\0b": [1]}),
    "type of Polars": polars.Series([[{"a\0b": 1}]]),
    "series of Polars": polars.Series("a\0b", ["x"]),
    "column of DuckDB": duckdb.sql('select 1 as "a\0b"'),
}


@pytest.mark.parametrize("name", CUT)
def test_a_name_that_arrow_would_cut_is_an_error(name: str) -> None:
    problem = "Arrow would end the name 'a\\\\x00b' before its U\\+0000"
    # First without the library, because Polars ends the process.
    with pytest.raises(cw.UnsupportedValue, match=problem):
        to_arrow(CUT[name])
    with pytest.raises(cw.UnsupportedValue, match=problem):
        gcf.dumps(CUT[name])


def test_other_objects_of_arrow_are_not_searched_for_names() -> None:
    class Own:
        """Has a method of Arrow, and attributes that mean something else."""

        num_fields = 1

        @property
        def schema(self) -> Any:
            return self

        def __arrow_c_stream__(self, requested: Any = None) -> Any:
            return pyarrow.table({"x": [1]}).__arrow_c_stream__(requested)

    for module in ("mine", "my_duckdb_tools", None):
        own = type("Own", (Own,), {"__module__": module})()
        assert to_arrow(own) is not None
        assert gcf.loads(gcf.dumps(own)) == [{"x": 1}]
        frame = type("Frame", (polars.DataFrame,), {"__module__": module})({"x": [1]})
        assert gcf.loads(gcf.dumps(frame)) == [{"x": 1}]


@pytest.mark.parametrize(
    "data",
    [
        pandas.DataFrame({"schema": ["x"]}, index=["metadata"]).rename_axis("i"),
        duckdb.sql("select {'metadata': 'x'} as schema"),
    ],
    ids=["pandas", "DuckDB"],
)
def test_a_column_named_schema_is_no_schema(data: Any) -> None:
    rows = gcf.loads(gcf.dumps(data))
    (batch,) = analysis.batches(data)
    assert [json.loads(text) for text in batch.column("text").to_pylist()] == rows


def test_a_name_in_a_type_of_duckdb_is_an_error() -> None:
    with pytest.raises(cw.UnsupportedValue, match="before its U"):
        gcf.dumps(duckdb.sql('select [struct_pack("a\0b" := 1)] as s'))
    assert gcf.loads(gcf.dumps(duckdb.sql("select {'a': 1} as s"))) == [{"s": {"a": 1}}]


@pytest.mark.parametrize(
    "value", ["{}", "[{{'x': {}}}]", "MAP{{'x': {}}}", "array_value({})", "row('x', {})"]
)
@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ("340282366920938463463374607431768211455::UHUGEINT", "UHUGEINT"),
        ("TIMETZ '01:02:03+02'", "TIME WITH TIME ZONE"),
    ],
)
def test_values_that_duckdb_changes_are_an_error(value: str, part: str, kind: str) -> None:
    # Arrow would have the number -1, and the time without its zone.
    relation = duckdb.sql(f"select 1 as id, {value.format(part)} as v")
    for call in (gcf.dumps, cw.shrink, arrow.encode):
        with pytest.raises(
            cw.UnsupportedValue, match=f"'v' has values of the type {kind}"
        ) as error:
            call(relation)
        assert error.value.path == "$[*].v"
    assert gcf.loads(gcf.dumps(duckdb.sql("select {'UHUGEINT': 1::HUGEINT} as s"))) == [
        {"s": {"UHUGEINT": "1"}}
    ]


@pytest.mark.parametrize("kind", ["TIMESTAMP_NS", "TIMESTAMPTZ_NS"])
@pytest.mark.parametrize(
    "value",
    [
        "{}",
        "[NULL, {}]",
        "[[{{'a''\"b': {}}}]]",
        "MAP{{'x': [{}]}}",
        "array_value({})",
        "row(1, {})",
    ],
)
def test_an_infinite_time_of_nanoseconds_of_duckdb_is_an_error(value: str, kind: str) -> None:
    # Arrow would have a time of the year 2262 or 1677.
    rest = """ as "v""'", 'infinity' as t union all select 2, NULL, NULL"""
    query = f"select 1 as id, {value}{rest}"
    for infinite in ("infinity", "-infinity"):
        relation = duckdb.sql(query.format(f"'{infinite}'::{kind}"))
        for call in (gcf.dumps, cw.shrink, to_arrow):
            with pytest.raises(duckdb.Error, match="has an infinite time of nanoseconds"):
                call(relation)
    text = "2262-04-11T23:47:16.854775806"
    found = gcf.loads(gcf.dumps(duckdb.sql(query.format(f"'{text}'::{kind}"))))
    assert text in str(found[0]["v\"'"])
    assert [found[0]["id"], found[0]["t"], *found[1].values()] == [1, "infinity", 2, None, None]


def test_fields_of_duckdb_that_differ_in_case_or_have_no_name_are_checked() -> None:
    names = ["", "a", "A"]
    for infinite in names:
        last = {name: 2**63 - 1 if name == infinite else 7 for name in names}
        kind = pyarrow.struct([(name, pyarrow.timestamp("ns")) for name in names])
        table = pyarrow.table({"s": pyarrow.array([None, last], kind)})
        with pytest.raises(duckdb.Error, match="'s' has an infinite time of nanoseconds"):
            gcf.dumps(duckdb.from_arrow(table))
    table = pyarrow.table({"s": pyarrow.array([dict.fromkeys(names, 7)], kind)})
    (row,) = gcf.loads(gcf.dumps(duckdb.from_arrow(table)))
    assert list(row["s"].values()) == ["1970-01-01T00:00:00.000000007"] * 3


def test_objects_of_polars_are_not_their_addresses() -> None:
    objects = polars.Series("a", ["x", {1: 2}], dtype=polars.Object)
    calls = (gcf.dumps, cw.shrink, arrow.encode, arrow.detect, arrow.count_tokens, to_arrow)
    for call in calls:
        for data, path in (
            (objects, "$[*]"),
            (polars.DataFrame({"id": [1, 2], "o": objects}), "$[*].o"),
        ):
            with pytest.raises(cw.UnsupportedValue, match="Polars passes objects of") as error:
                call(data)
            assert error.value.path == path


def wrapped(native: Any) -> Any:
    return narwhals.from_native(native, allow_series=True)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (pandas.DataFrame({"a": pandas.period_range("2026", periods=2)}), "has periods"),
        (pandas.Series([pandas.Timestamp("2026"), 1.5]), "values of several types"),
        (polars.DataFrame({"a\0b": [1]}), "Arrow would end the name"),
        (polars.Series([{1: 2}], dtype=polars.Object), "Polars passes objects"),
    ],
)
def test_data_of_narwhals_is_checked_as_that_of_the_library_below_it(
    data: Any, problem: str
) -> None:
    # `to_arrow` first: it checks in Python what would end the process in Polars.
    for call in (to_arrow, gcf.dumps):
        with pytest.raises(cw.UnsupportedValue, match=problem):
            call(wrapped(data))


def test_data_of_narwhals_is_written_as_that_of_the_library_below_it() -> None:
    times = pandas.Series([pandas.Timestamp("2026-11-22 00:00:00.000000001")], dtype=object)
    for data in (times, times.to_frame("x"), polars.DataFrame({"x": [1]}), polars.Series([1])):
        assert gcf.dumps(wrapped(data)) == gcf.dumps(data)


def test_a_series_of_narwhals_is_a_column_as_in_pandas_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pandas.Series, "__arrow_c_stream__", raising=False)
    messages = pandas.Series(["RES|OK||0|x"], index=[7])
    assert pyarrow.chunked_array(arrow.detect(wrapped(messages))).to_pylist() == ["dsl"]
    assert gcf.loads(gcf.dumps(wrapped(messages))) == ["RES|OK||0|x"]


@pytest.mark.parametrize(
    "schema",
    [polars.Schema({"a\0b": polars.Int8()}), pyarrow.schema({"a\0b": pyarrow.int8()})],
)
def test_a_schema_with_a_name_that_arrow_would_cut_is_an_error(schema: Any) -> None:
    with pytest.raises(cw.UnsupportedValue, match="Arrow would end the name"):
        arrow.gcf_loads("GCF profile=generic\n## [1]{a}\n1\n", schema=schema)


@pytest.mark.filterwarnings("ignore:The DataFrame has non-str index name")
@pytest.mark.parametrize("names", [[1, "z"], [1, 0], [1, 2], [True, None], [numpy.int64(1), "z"]])
def test_a_level_whose_name_is_the_number_of_another_is_kept(names: list[Any]) -> None:
    # pandas and pyarrow take the number 1 for this name.
    for first in (["p", "q"], [DAY, DAY_S.date()]):
        index = pandas.MultiIndex.from_arrays([first, [7, 8]], names=names)
        rows = [[str(text), number] for text, number in zip(first, [7, 8], strict=True)]
        assert gcf.loads(gcf.dumps([index], types="common")) == [rows]
        frame = pandas.DataFrame({"v": ["a", "b"]}, index=index)
        found = gcf.loads(gcf.dumps(frame))
        assert [list(row.values()) for row in found] == [["a", *rows[0]], ["b", *rows[1]]]
        assert list(found[0]) == [
            "v",
            *(
                f"__index_level_{at}__" if name is None else str(name)
                for at, name in enumerate(names)
            ),
        ]
        assert list(frame.index.names) == names


def test_an_index_is_the_column_of_its_values() -> None:
    for values in ([1, 2], ["a", None], [uuid.UUID(int=1)], [NOON, None], NANOSECONDS):
        index, series = pandas.Index(values, name="columns"), pandas.Series(values)
        assert to_arrow(index).equals(to_arrow(series))
        assert analysis.measure(index).equals(analysis.measure(series))


@pytest.mark.parametrize(
    "years", [range(2000, 2003), range(2000, 2006, 2), range(3), [2000, 2001, 2005]]
)
def test_an_index_with_a_name_becomes_a_column_whatever_its_values(years: Any) -> None:
    table = pandas.DataFrame({"year": list(years), "n": [7, 8, 9]})
    frame = table.set_index("year")
    expected = [{"n": n, "year": year} for year, n in zip(years, [7, 8, 9], strict=True)]
    assert gcf.loads(gcf.dumps(frame)) == expected
    assert cw.expand(cw.shrink(frame).text) == expected
    assert gcf.loads(gcf.dumps(frame[:0])) == []
    numbered = pandas.DataFrame({0: list(years), 1: [7, 8, 9]}).set_index(0, drop=False)
    rows = [{"0": y, "1": n, "__index_level_0__": y} for y, n in zip(years, [7, 8, 9], strict=True)]
    assert gcf.loads(gcf.dumps(numbered)) == rows
    # An array of the values would lose the keys.
    with pytest.raises(cw.UnsupportedValue, match="would lose its index"):
        gcf.dumps({"a": frame["n"]})
    assert gcf.dumps({"a": table["n"]}) == gcf.dumps({"a": [7, 8, 9]})


def index_of(*levels: Any, names: Any = ("year", "kind")) -> Any:
    return pandas.MultiIndex.from_arrays(levels, names=names)


@pytest.mark.parametrize(
    "index",
    [
        index_of(range(2000, 2006, 2), list("abc")),
        index_of(range(3), range(3)),
        index_of([5, 5, 5], list("abc")),
        pandas.MultiIndex.from_product([range(3), ["a"]], names=["year", "kind"]),
        pandas.DataFrame({"kind": list("abc")}, index=pandas.RangeIndex(3, name="year"))
        .set_index("kind", append=True)
        .index,
    ],
    ids=range(5),
)
def test_levels_that_are_ranges_become_columns(index: Any) -> None:
    frame = pandas.DataFrame({"n": [7, 8, 9]}, index=index)
    expected = [{"n": n, "year": y, "kind": k} for n, (y, k) in zip([7, 8, 9], index, strict=True)]
    assert gcf.loads(gcf.dumps(frame)) == expected
    assert cw.expand(cw.shrink(frame).text) == expected
    assert type(frame.index) is type(index)


@pytest.mark.parametrize(
    "call",
    [analysis.batches, analysis.measure, analysis.compare, to_arrow],
    ids=lambda it: it.__name__,
)
def test_an_index_of_several_levels_is_no_column(call: Any) -> None:
    index = pandas.MultiIndex.from_tuples([(1, 3), (2, 4)])
    with pytest.raises(cw.CompactWireError, match=r"pass index\.to_frame\(index=False\)"):
        list(call(index))
    assert gcf.loads(gcf.dumps(index.to_frame(index=False))) == [{"0": 1, "1": 3}, {"0": 2, "1": 4}]
