"""`types="common"`: what is written in place of objects that JSON does not have.

The table is in `docs/shrink.md`. Every function with `types=` writes every member of it alike.
"""

from __future__ import annotations

import dataclasses
import enum
import gc
import importlib
import inspect
import io
import json
import weakref
from collections import namedtuple
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import gcf
from tests.package.calls import CALLS


class Color(enum.Enum):
    RED = "red"
    DAY = date(2026, 1, 1)


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Cached:
    value: int
    _cache: dict[str, int]


@dataclasses.dataclass
class Point:
    x: int
    color: Color


@dataclasses.dataclass(slots=True, frozen=True)
class Slotted:
    at: time
    points: list[Point]


Pair = namedtuple("Pair", "left right")


class Named(NamedTuple):
    id: UUID
    level: Level


class Model:
    """Has the methods of a pydantic model."""

    model_fields: ClassVar[dict[str, Any]] = {}

    def model_dump(self) -> dict[str, Any]:
        return {"at": date(2026, 11, 22)}


def pydantic_model() -> Any:
    pydantic = importlib.import_module("pydantic")
    inner = pydantic.create_model("Inner", at=(datetime, ...))
    outer = pydantic.create_model("Outer", id=(UUID, ...), parts=(list[inner], ...))
    return outer(id=UUID(int=5), parts=[{"at": datetime(2026, 11, 22, tzinfo=UTC)}])


def numpy(make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: make(importlib.import_module("numpy"))


def pandas(make: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: make(importlib.import_module("pandas"))


EASTERN = timezone(timedelta(hours=-5))
NO_PANDAS = "NOT RUN: pandas is not installed"

# The value, or a function that makes it from an optional package; and the JSON of it.
TABLE: dict[str, tuple[Any, str]] = {
    "datetime": (datetime(2026, 11, 22, 14, 50), '"2026-11-22T14:50:00"'),
    "datetime with a fraction": (
        datetime(2026, 11, 22, 14, 50, 0, 500_000),
        '"2026-11-22T14:50:00.5"',
    ),
    "datetime in UTC": (datetime(2026, 11, 22, 14, 50, tzinfo=UTC), '"2026-11-22T14:50:00Z"'),
    "datetime in UTC with a fraction": (
        datetime(2026, 11, 22, 14, 50, 0, 120, tzinfo=UTC),
        '"2026-11-22T14:50:00.00012Z"',
    ),
    "datetime in a zone": (
        datetime(2026, 11, 22, 14, 50, 0, 10, tzinfo=EASTERN),
        '"2026-11-22T14:50:00.00001-05:00"',
    ),
    "date": (date(2026, 11, 22), '"2026-11-22"'),
    "time": (time(14, 50, 0, 500_000), '"14:50:00.5"'),
    "time in UTC": (time(14, 50, tzinfo=UTC), '"14:50:00Z"'),
    "UUID": (UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
    "Decimal": (Decimal("1.10"), '"1.10"'),
    "Decimal with an exponent": (Decimal("1E+3"), '"1000"'),
    "Enum": (Color.RED, '"red"'),
    "Enum of a date": (Color.DAY, '"2026-01-01"'),
    "IntEnum": (Level.LOW, "1"),
    "dataclass": (Point(1, Color.RED), '{"x":1,"color":"red"}'),
    "dataclass with slots": (
        Slotted(time(1), [Point(2, Color.RED)]),
        '{"at":"01:00:00","points":[{"x":2,"color":"red"}]}',
    ),
    "dataclass with a private field": (Cached(1, {}), '{"value":1}'),
    "namedtuple": (Pair(1, date(2026, 1, 1)), '[1,"2026-01-01"]'),
    "NamedTuple": (
        Named(UUID(int=5), Level.LOW),
        '["00000000-0000-0000-0000-000000000005",1]',
    ),
    "model": (Model(), '{"at":"2026-11-22"}'),
    "pydantic model": (
        pydantic_model,
        '{"id":"00000000-0000-0000-0000-000000000005","parts":[{"at":"2026-11-22T00:00:00Z"}]}',
    ),
    "numpy array of variable-width strings": (
        numpy(lambda np: np.array(["a", "bc"], dtype=np.dtypes.StringDType())),
        '["a","bc"]',
    ),
    "pandas Index": (pandas(lambda pd: pd.Index([1, 2])), "[1,2]"),
    "pandas Index of dates": (
        pandas(lambda pd: pd.DatetimeIndex(["2026-01-01"])),
        '["2026-01-01T00:00:00"]',
    ),
    "pandas MultiIndex": (pandas(lambda pd: pd.MultiIndex.from_tuples([(1, "a")])), '[[1,"a"]]'),
    "pandas array": (pandas(lambda pd: pd.array([1, None])), "[1,null]"),
    "pandas array of floats": (
        pandas(lambda pd: pd.array([1.5, None], dtype="Float64")),
        "[1.5,null]",
    ),
    "pandas Categorical": (pandas(lambda pd: pd.Categorical(["a", "b", "a"])), '["a","b","a"]'),
    "Shrunk": (cw.shrink("text"), '"text"'),
    "numpy int": (numpy(lambda np: np.int64(5)), "5"),
    "numpy uint8": (numpy(lambda np: np.uint8(5)), "5"),
    "numpy float32": (numpy(lambda np: np.float32(0.1)), "0.1"),
    "numpy float16": (numpy(lambda np: np.float16(0.1)), "0.099975586"),
    "numpy array of float32": (
        numpy(lambda np: np.array([[0.1, 1e-8], [3.4e38, 0.5]], dtype="f4")),
        "[[0.1,1e-8],[3.4e38,0.5]]",
    ),
    "numpy float64": (numpy(lambda np: np.float64(0.1)), "0.1"),
    "numpy bool": (numpy(lambda np: np.bool_(True)), "true"),
    "numpy str": (numpy(lambda np: np.str_("a")), '"a"'),
    "numpy array": (numpy(lambda np: np.arange(6).reshape(2, 3)), "[[0,1,2],[3,4,5]]"),
    "numpy array of objects": (
        numpy(lambda np: np.array([None, "a", UUID(int=5)], dtype=object)),
        '[null,"a","00000000-0000-0000-0000-000000000005"]',
    ),
    "numpy datetime64": (
        numpy(lambda np: np.datetime64("2026-11-22T14:50:00.100", "ns")),
        '"2026-11-22T14:50:00.1"',
    ),
    "numpy NaT": (numpy(lambda np: np.datetime64("NaT", "D")), "null"),
    "numpy array of dates": (
        numpy(lambda np: np.array(["2026-11-22", "NaT"], dtype="M8[D]")),
        '["2026-11-22",null]',
    ),
    "numpy array of dates of the other byte order": (
        numpy(lambda np: np.array(["2026-11-22", "NaT"], dtype=np.dtype("M8[D]").newbyteorder())),
        '["2026-11-22",null]',
    ),
    "numpy array that hides a date": (
        numpy(lambda np: np.ma.array(np.array(["2026-11-22", "2026"], "M8[D]"), mask=[0, 1])),
        '["2026-11-22",null]',
    ),
    "pandas Timestamp": (
        pandas(lambda pd: pd.Timestamp("2026-11-22T14:50:00.000000120", tz="UTC")),
        '"2026-11-22T14:50:00.00000012Z"',
    ),
    "pandas NaT": (pandas(lambda pd: pd.NaT), "null"),
    "pandas NA": (pandas(lambda pd: pd.NA), "null"),
}


def dump(value: Any, **options: Any) -> str:
    with io.StringIO() as file:
        gcf.dump(value, file, **options)
        return file.getvalue()


def grouped(value: Any, **options: Any) -> Any:
    rows = [{"id": 1, "of": value}, {"id": 2, "of": value}]
    return gcf.loads(gcf.dumps_grouped(rows, "id", "of", **options))[0]["of"]


def requested(value: Any, *, pack: Any = False, **options: Any) -> Any:
    request = cw.Session().encode_request(args=[value], tool={"a": value}, pack=pack, **options)
    read = cw.Session().decode_request(request)
    assert read.tool["a"] == read.args[0]
    return read.args[0]


def called(value: Any, format: Any, encode: Any = cw.encode_tool_call, **options: Any) -> Any:
    wire = encode("f", {"a": value}, format=format, **options)
    return cw.decode_tool_call(wire).arguments["a"]


# By the name of the function: how it writes a value, and what its reader gives back.
WRITERS: dict[str, list[Callable[..., Any]]] = {
    "shrink": [lambda value, **o: cw.expand(cw.shrink([value], **o))[0]],
    "dumps": [lambda value, **o: gcf.loads(gcf.dumps({"a": value}, **o))["a"]],
    "dumps_bytes": [lambda value, **o: gcf.loads(gcf.dumps_bytes([value], **o))[0]],
    "dump": [lambda value, **o: gcf.loads(dump([{"a": value}], **o))[0]["a"]],
    "dumps_grouped": [grouped],
    "encode_tool_call": [
        lambda value, format=format, **o: called(value, format, **o)
        for format in ("verbose", "binary", "base85", "zlib", "zstd", "dictionary", "auto")
    ],
    "encode_tool_call_bytes": [
        lambda value, **o: called(value, "binary", cw.encode_tool_call_bytes, **o)
    ],
    "Session.encode_request": [
        requested,
        lambda value, **o: requested(value, pack="bytes", **o),
        lambda value, **o: requested(value, pack=True, **o),
    ],
}


def made(name: str) -> Any:
    """The value of a row of the table; skips the test if its package is not installed."""
    value = TABLE[name][0]
    if not inspect.isfunction(value):
        return value
    try:
        return value()
    except ModuleNotFoundError as error:
        pytest.skip(f"NOT RUN: {error.name} is not installed, for {name}")


def test_every_function_with_types_is_tested() -> None:
    found = set()
    for module, names in CALLS.items():
        for name in names:
            entry = getattr(module, name)
            methods = vars(entry).items() if inspect.isclass(entry) else []
            functions = [(name, entry), *((f"{name}.{inner}", one) for inner, one in methods)]
            for full, function in functions:
                try:
                    parameters = inspect.signature(function).parameters
                except (TypeError, ValueError):
                    continue
                if "types" in parameters:
                    found.add(full)
    assert found == set(WRITERS)


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("function", WRITERS)
def test_common_types_are_written_alike(function: str, name: str) -> None:
    value, read = made(name), json.loads(TABLE[name][1])
    if function == "dumps_grouped" and isinstance(read, list | dict):
        return  # It takes scalars only.
    expected = json.dumps(read, sort_keys=True)
    for write in WRITERS[function]:
        written = write(value, types="common")
        # As JSON, because 1 equals True.
        assert json.dumps(written, sort_keys=True) == expected
    # `types="json"`, the default of the others, refuses the value.
    if not isinstance(value, str | int | float | tuple):
        options = {} if function != "shrink" else {"types": "json"}
        for write in WRITERS[function]:
            with pytest.raises(cw.UnsupportedValue):
                write(value, **options)


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "Etc/GMT+5", "-05:00", "fixed"])
def test_times_of_pandas_in_a_zone_are_written_alike(zone: str | None) -> None:
    pd = pytest.importorskip("pandas", "3", reason=NO_PANDAS)  # Before, a Series is no column.
    pytest.importorskip("pyarrow", reason="NOT RUN: pyarrow is not installed")
    index = pd.DatetimeIndex(
        ["2026-01-01T00:00:00.5", "NaT", "2026-07-01T00:00:00.000000001"],
        tz=EASTERN if zone == "fixed" else zone,
        name="at",
    )
    series = cw.expand(cw.shrink(pd.Series(index)).text)
    assert series[1] is None
    for same in (index, index.array, pd.CategoricalIndex(index)):
        assert cw.expand(cw.shrink(same).text) == series
    frame = pd.DataFrame({"n": [1, 2, 3]}, index=index)
    assert [row["at"] for row in cw.expand(cw.shrink(frame).text)] == series
    levels = pd.MultiIndex.from_arrays([index, frame["n"]])
    assert cw.expand(cw.shrink(levels).text) == [[at, n + 1] for n, at in enumerate(series)]
    # Without a type for all, each keeps its offset: they are times like any others.
    times = index.dropna().astype(object)
    for same in (times, times.array, pd.Series(times)):
        assert cw.expand(cw.shrink(same).text) == [_iso(one) for one in times]


def test_a_categorical_of_objects_is_written_as_the_series_of_its_values() -> None:
    pd = pytest.importorskip("pandas", "3", reason=NO_PANDAS)  # Before, a Series is no column.
    pytest.importorskip("pyarrow", reason="NOT RUN: pyarrow is not installed")
    times = pd.Index([pd.Timestamp("2026-01-01", tz="Asia/Tokyo")], dtype=object)
    values = pd.Categorical.from_codes([0, -1], categories=times)
    expected = ["2026-01-01T00:00:00+09:00", None]
    assert cw.expand(cw.shrink(pd.Series(values)).text) == expected
    assert cw.expand(cw.shrink(values).text) == expected


def test_an_array_of_times_in_a_local_year_below_1_is_written_in_utc() -> None:
    # pandas 2 ends the process if it makes objects of such an array.
    pd = pytest.importorskip("pandas", reason="NOT RUN: pandas is not installed")
    numpy = pytest.importorskip("numpy")
    times = pd.DatetimeIndex(numpy.array(["0001-01-01"], "M8[s]")).tz_localize("UTC")
    index = times.tz_convert("America/New_York")
    for same in (index, index.array, pd.CategoricalIndex(index)):
        assert cw.expand(cw.shrink(same).text) == ["0001-01-01T00:00:00Z"]


def test_a_time_whose_local_year_python_does_not_have_is_written_in_utc() -> None:
    pd = pytest.importorskip("pandas", reason="NOT RUN: pandas is not installed")
    first, last = pd.Timestamp("0001-01-01T00:30Z"), pd.Timestamp("9999-12-31T23:30Z")
    local = [first.tz_convert("America/New_York"), first.tz_convert("-05:00")]
    local.append(last.tz_convert("Asia/Tokyo"))
    expected = ["0001-01-01T00:30:00Z", "0001-01-01T00:30:00Z", "9999-12-31T23:30:00Z"]
    assert list(map(_iso, [first, first, last])) == list(map(_iso, local)) == expected
    assert cw.expand(cw.shrink(pd.Index(local, dtype=object)).text) == expected


def _iso(moment: Any) -> str:
    text: str = json.loads(cw.shrink([moment], formats=["json"]).text)[0]
    return text


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_hidden_elements_of_numpy_are_null_in_any_shape() -> None:
    numpy = pytest.importorskip("numpy")
    array, masked = numpy.ma.array, numpy.ma.masked_array
    for kind, value in (("M8[D]", "2026-11-22"), ("f4", 0.5), ("U3", "abc"), ("O", 1)):
        alone = numpy.array(value, dtype=kind)
        assert cw.expand(cw.shrink([array(alone), array(alone, mask=True)]).text) == [value, None]
        matrix = masked(numpy.matrix([[value, value]], dtype=kind), mask=[[True, False]])
        for same in (matrix, masked(matrix, hard_mask=True)):
            assert cw.expand(cw.shrink([same]).text) == [[[None, value]]]


def test_a_float32_has_its_digits_where_numpy_writes_texts_as_an_old_version() -> None:
    numpy = pytest.importorskip("numpy")
    values = numpy.array([16777217, 1 / 3, 0.1], dtype="float32")
    expected = gcf.dumps([values, values[1]], types="common")
    with numpy.printoptions(legacy="1.13"):
        assert gcf.dumps([values, values[1]], types="common") == expected
        assert numpy.get_printoptions()["legacy"] == "1.13"


def test_a_float32_is_written_with_the_digits_that_give_it_back() -> None:
    numpy = pytest.importorskip("numpy")
    bits = numpy.random.default_rng(5).integers(0, 2**32, 2000, dtype="u4")
    values = bits.view("f4")
    values = values[numpy.isfinite(values)]
    written = cw.expand(cw.shrink(values).text)
    assert (numpy.array(written).astype("f4") == values).all()
    assert [cw.expand(cw.shrink([one]).text)[0] for one in values[:50]] == written[:50]
    orjson = pytest.importorskip("orjson")
    assert written == orjson.loads(orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY))


@pytest.mark.parametrize("function", WRITERS)
def test_default_converts_what_the_table_does_not(function: str) -> None:
    for write in WRITERS[function]:
        assert write(timedelta(days=1), types="common", default=lambda one: one.days) == 1
        assert write(date(2026, 1, 1), types="common", default=repr) == "2026-01-01"
        assert write(date(2026, 1, 1), types="json", default=lambda _: "d") == "d"
        assert write(timedelta(days=2), types="common", default=lambda _: Color.RED) == "red"
        with pytest.raises(cw.OptionError, match="types must be 'common' or 'json'"):
            write(1, types="all")


class OwnDate(date):
    def isoformat(self) -> str:
        return "of the subclass"


ZONES = st.sampled_from([None, UTC, timezone(timedelta(hours=2)), timezone(timedelta(0), "UTC")])
MOMENTS = st.one_of(
    st.datetimes(timezones=ZONES),
    st.builds(datetime, *[st.just(1)] * 6, st.sampled_from([0, 10, 500_000, 999_999]), ZONES),
    st.dates(),
    st.times(timezones=ZONES),
    st.builds(OwnDate, *[st.just(1)] * 3),
)


@given(st.lists(MOMENTS, min_size=1))
def test_times_are_written_as_python_writes_them(moments: list[Any]) -> None:
    def written(one: Any) -> str:
        text: str = one.isoformat()
        head, _, fraction = text.partition(".")
        digits = fraction[: len(fraction) - len(fraction.lstrip("0123456789"))]
        kept = digits.rstrip("0")
        text = head + ("." + kept if kept else "") + fraction[len(digits) :]
        return text.replace("+00:00", "Z")

    expected = list(map(written, moments))
    assert gcf.loads(gcf.dumps(moments, types="common")) == expected
    assert cw.expand(cw.shrink(moments).text) == expected
    rows = [{"id": 1, "at": one} for one in moments]
    found = gcf.loads(gcf.dumps(rows, types="common"))
    assert [row["at"] for row in found] == expected


class Proxy:
    """Says that it is the object that it stands for, as a `LocalProxy` does."""

    def __init__(self, target: Any) -> None:
        self._target = target

    @property
    def __class__(self) -> Any:  # type: ignore[misc]  # The class of a proxy cannot be set.
        return type(self._target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


def test_a_proxy_is_written_as_what_it_stands_for() -> None:
    proxies = [Proxy(date(2026, 1, 1)), Proxy(Color.RED), Proxy(time(1)), Proxy(Color.RED)]
    assert gcf.loads(gcf.dumps(proxies, types="common")) == ["2026-01-01", "red", "01:00:00", "red"]


def test_a_class_may_become_a_dataclass_after_it_was_refused() -> None:
    class Later:
        x: int = 5

    with pytest.raises(cw.UnsupportedValue):
        gcf.dumps([Later()], types="common")
    dataclasses.dataclass(Later)
    assert gcf.loads(gcf.dumps([Later(), Later()], types="common")) == [{"x": 5}, {"x": 5}]


def test_classes_that_were_written_do_not_pile_up() -> None:
    references = []
    for _ in range(600):
        made = dataclasses.make_dataclass("Made", ["x"])
        references.append(weakref.ref(made))
        assert gcf.loads(gcf.dumps(made(1), types="common")) == {"x": 1}
    del made
    gc.collect()
    assert sum(one() is not None for one in references) <= 256


def test_shrink_alone_has_common_types_by_default() -> None:
    assert cw.shrink([date(2026, 1, 1)]).text == '["2026-01-01"]'


@pytest.mark.parametrize(
    "value",
    [b"bytes", {1, 2}, 1j, timedelta(1), object(), Color, Point, Decimal("NaN")],
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_unsupported(value: Any) -> None:
    with pytest.raises(cw.UnsupportedValue) as raised:
        cw.shrink({"a": [value]})
    assert raised.value.path == "$.a[0]"


def test_the_error_of_a_decimal_that_is_not_finite_says_so() -> None:
    for write in (gcf.dumps, cw.shrink):
        with pytest.raises(cw.UnsupportedValue, match="as NaN is not a finite number"):
            write([Decimal("NaN")], types="common")


def test_the_error_of_nan_says_what_to_use_instead() -> None:
    for write in (gcf.dumps, cw.shrink, partial(cw.encode_tool_call, "tool")):
        with pytest.raises(cw.UnsupportedValue, match=r"NaN is not a .*number; use null or a"):
            write({"a": float("nan")})


def test_numpy_types_that_json_cannot_have_are_unsupported() -> None:
    numpy = pytest.importorskip("numpy")
    values = (
        numpy.complex128(1),
        numpy.timedelta64(1, "s"),
        numpy.bytes_(b"a"),
        numpy.float32("nan"),
        numpy.longdouble("0.1"),
        numpy.array([0.1], dtype=numpy.longdouble),
    )
    for value in values:
        with pytest.raises(cw.UnsupportedValue) as raised:
            cw.shrink([value])
        assert raised.value.code in ("unsupported_type", "not_finite")


@pytest.mark.parametrize("function", WRITERS)
def test_the_error_names_the_type_that_is_left_after_a_conversion(function: str) -> None:
    odd = enum.Enum("odd", {"ONE": {1, 2}})
    for write in WRITERS[function]:
        with pytest.raises(cw.UnsupportedValue, match="set is not a JSON type") as raised:
            write(odd.ONE, types="common")
        assert raised.value.code == "unsupported_type"


@pytest.mark.parametrize("at", [0, 1, 40], ids=str)
def test_gcf_writes_common_types_at_any_place(at: int) -> None:
    moment = datetime(2026, 11, 22, 14, 50, tzinfo=UTC)
    rows: list[Any] = [{"a": 1, "b": "x"} for _ in range(50)]
    rows[at] = {"a": moment, "b": Point(1, Color.RED)}
    plain = list(rows)
    plain[at] = {"a": "2026-11-22T14:50:00Z", "b": {"x": 1, "color": "red"}}
    text = gcf.dumps(plain)
    assert gcf.dumps(rows, types="common") == text
    assert gcf.dumps(plain, types="common") == text
    assert gcf.dumps_bytes(rows, types="common") == text.encode()
    assert dump(rows, types="common") == text
    ids = [{"id": UUID(int=n), "of": n // 2} for n in range(4)]
    ids_as_text = [{**row, "id": str(row["id"])} for row in ids]
    expected = gcf.dumps_grouped(ids_as_text, "id", "of")
    assert gcf.dumps_grouped(ids, "id", "of", types="common") == expected


@pytest.mark.parametrize("text", ["1e999999999", "-1e-999999999", "0e999999999", "1e10001"])
def test_an_exponent_does_not_become_gigabytes_of_zeros(text: str) -> None:
    number = Decimal(text)
    for write in (gcf.dumps, cw.shrink):
        with pytest.raises(cw.UnsupportedValue, match="at most 10,000 zeros") as caught:
            write({"a": number}, types="common")
        assert caught.value.path == "$.a"
    # The message names the options that would convert it, which takes a conversion.
    with pytest.raises(cw.UnsupportedValue, match=r"convert it with default= \(at"):
        gcf.dumps({"a": number})
    assert gcf.loads(gcf.dumps({"a": number}, types="common", default=str)) == {"a": str(number)}
    largest = Decimal("1e10000")
    assert gcf.loads(gcf.dumps(largest, types="common")) == "1" + "0" * 10_000


@dataclasses.dataclass(slots=True)
class Unset:
    x: int
    y: int = dataclasses.field(init=False)


@dataclasses.dataclass
class UnsetWithoutSlots:
    x: int
    y: int = dataclasses.field(init=False)


@pytest.mark.parametrize("function", WRITERS)
@pytest.mark.parametrize("made", [Unset, UnsetWithoutSlots])
def test_a_field_of_a_dataclass_without_a_value_is_unsupported(function: str, made: Any) -> None:
    if function == "dumps_grouped":
        return  # It takes scalars only.
    message = rf"the field 'y' of {made.__name__} has no value; set it"
    for write in WRITERS[function]:
        with pytest.raises(cw.UnsupportedValue, match=message) as raised:
            write({"a": [made(1)]}, types="common")
        assert raised.value.code == "unsupported_type"
        assert str(raised.value.path).endswith(".y")


def test_default_does_not_get_a_field_without_a_value() -> None:
    with pytest.raises(cw.UnsupportedValue, match="has no value"):
        cw.shrink([Unset(1)], default=str)


def test_an_index_of_pandas_is_written_as_a_series_of_it() -> None:
    pandas = pytest.importorskip("pandas", "3", reason=NO_PANDAS)  # Before, a Series is no column.
    for values in ([1.5, None], ["a", None], pandas.to_datetime(["2026-01-01", None], utc=True)):
        index = pandas.Index(values)
        series = pandas.Series(index)
        assert gcf.dumps({"a": index}, types="common") == gcf.dumps({"a": series}, types="common")


def test_the_error_of_an_array_names_the_type_of_its_items() -> None:
    numpy = pytest.importorskip("numpy")
    with pytest.raises(cw.UnsupportedValue, match=r"\$\.a: ndarray .* default=.* complex128"):
        cw.shrink({"a": numpy.array([1j])})
