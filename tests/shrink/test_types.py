"""`types="common"`: what is written in place of objects that JSON does not have."""

from __future__ import annotations

import dataclasses
import enum
import io
from collections import namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

import pytest

import compactwire as cw
from compactwire import gcf


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: int
    color: Color


Pair = namedtuple("Pair", "left right")


class Model:
    """Has the methods of a pydantic model."""

    model_fields: ClassVar[dict[str, Any]] = {}

    def model_dump(self) -> dict[str, Any]:
        return {"at": date(2026, 11, 22)}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 11, 22, 14, 50), '"2026-11-22T14:50:00"'),
        (datetime(2026, 11, 22, 14, 50, 0, 500_000), '"2026-11-22T14:50:00.5"'),
        (datetime(2026, 11, 22, 14, 50, tzinfo=UTC), '"2026-11-22T14:50:00Z"'),
        (datetime(2026, 11, 22, 14, 50, 0, 120, tzinfo=UTC), '"2026-11-22T14:50:00.00012Z"'),
        (
            datetime(2026, 11, 22, 14, 50, 0, 10, tzinfo=timezone(timedelta(hours=-5))),
            '"2026-11-22T14:50:00.00001-05:00"',
        ),
        (date(2026, 11, 22), '"2026-11-22"'),
        (time(14, 50, 0, 500_000), '"14:50:00.5"'),
        (time(14, 50, tzinfo=UTC), '"14:50:00Z"'),
        (UUID(int=5), '"00000000-0000-0000-0000-000000000005"'),
        (Decimal("1.10"), '"1.10"'),
        (Decimal("1E+3"), '"1000"'),
        (Color.RED, '"red"'),
        (Level.LOW, "1"),
        (Point(1, Color.RED), '{"x":1,"color":"red"}'),
        (Pair(1, date(2026, 1, 1)), '[1,"2026-01-01"]'),
        (Model(), '{"at":"2026-11-22"}'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_common_types_are_written(value: Any, expected: str) -> None:
    assert cw.shrink([value]).text == f"[{expected}]"


def test_numpy_values_are_written() -> None:
    numpy = pytest.importorskip("numpy")
    for value, expected in [
        (numpy.int64(5), "5"),
        (numpy.float32(0.5), "0.5"),
        (numpy.bool_(True), "true"),
        (numpy.str_("a"), '"a"'),
        (numpy.arange(6).reshape(2, 3), "[[0,1,2],[3,4,5]]"),
        (numpy.array([None, "a"], dtype=object), '[null,"a"]'),
        (numpy.datetime64("2026-11-22T14:50:00.100", "ns"), '"2026-11-22T14:50:00.1"'),
        (numpy.datetime64("NaT"), "null"),
        (numpy.array(["2026-11-22", "NaT"], dtype="M8[D]"), '["2026-11-22",null]'),
    ]:
        assert cw.shrink([value]).text == f"[{expected}]", repr(value)


def test_pandas_timestamps_keep_their_nanoseconds() -> None:
    pandas = pytest.importorskip("pandas")
    moment = pandas.Timestamp("2026-11-22T14:50:00.000000120", tz="UTC")
    assert cw.shrink([moment, pandas.NaT]).text == '["2026-11-22T14:50:00.00000012Z",null]'


@pytest.mark.parametrize(
    "value",
    [b"bytes", {1, 2}, 1j, timedelta(1), object(), Color, Point, Decimal("NaN"), float("nan")],
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_an_error_with_their_path(value: Any) -> None:
    with pytest.raises(cw.EncodeError) as raised:
        cw.shrink({"a": [value]})
    assert raised.value.field == "$.a[0]"


def test_numpy_types_that_json_cannot_have_are_an_error() -> None:
    numpy = pytest.importorskip("numpy")
    for value in (numpy.complex128(1), numpy.timedelta64(1, "s"), numpy.bytes_(b"a")):
        with pytest.raises(cw.EncodeError):
            cw.shrink([value])


def test_default_converts_what_the_table_does_not() -> None:
    value = [timedelta(days=1), date(2026, 1, 1)]
    shrunk = cw.shrink(value, default=lambda found: found.days)
    assert shrunk.text == '[1,"2026-01-01"]'
    with pytest.raises(cw.EncodeError, match="timedelta"):
        cw.shrink(value, default=lambda _: NotImplemented)


def test_strict_types_leave_dates_to_default() -> None:
    with pytest.raises(cw.EncodeError, match="date"):
        cw.shrink([date(2026, 1, 1)], types="json")
    assert cw.shrink([date(2026, 1, 1)], types="json", default=str).text == '["2026-01-01"]'


@pytest.mark.parametrize("at", [0, 1, 40], ids=str)
def test_gcf_writes_common_types_as_shrink_does(at: int) -> None:
    moment = datetime(2026, 11, 22, 14, 50, tzinfo=UTC)
    rows: list[Any] = [{"a": 1, "b": "x"} for _ in range(50)]
    rows[at] = {"a": moment, "b": Point(1, Color.RED)}
    plain = list(rows)
    plain[at] = {"a": "2026-11-22T14:50:00Z", "b": {"x": 1, "color": "red"}}
    text = gcf.dumps(plain)
    assert gcf.dumps(rows, types="common") == text
    assert gcf.dumps(plain, types="common") == text
    assert gcf.dumps_bytes(rows, types="common") == text.encode()
    with io.StringIO() as file:
        gcf.dump(rows, file, types="common")
        assert file.getvalue() == text
    ids = [{"id": UUID(int=n), "of": n // 2} for n in range(4)]
    ids_as_text = [{**row, "id": str(row["id"])} for row in ids]
    expected = gcf.dumps_grouped(ids_as_text, "id", "of")
    assert gcf.dumps_grouped(ids, "id", "of", types="common") == expected


def test_gcf_names_the_options_for_other_types() -> None:
    for options in ({}, {"types": "json"}):
        with pytest.raises(gcf.GcfError, match=r'types="common" or default= \(at \$\[0\]\)'):
            gcf.dumps([date(2026, 1, 1)], **options)
    assert gcf.loads(gcf.dumps([timedelta(1)], types="common", default=str)) == ["1 day, 0:00:00"]
    with pytest.raises(cw.OptionError, match="types must be"):
        gcf.dumps([], types="all")  # type: ignore[arg-type]
