"""Columns of pandas whose values Arrow would change are an error; others are written as rows."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

import compactwire as cw
from compactwire import arrow, gcf
from tests.columns import needed

pandas, numpy = needed("pandas"), needed("numpy")
needed("pyarrow")

DAY, NOON = datetime.date(2026, 11, 22), datetime.datetime(2026, 11, 22, 12)
EAST = datetime.timezone(datetime.timedelta(hours=5))

CHANGED: list[tuple[list[Any], str]] = [
    ([pandas.Timestamp("2026"), 1.5], r"values of several types \(Timestamp, float\)"),
    ([DAY, NOON], r"values of several types \(date, datetime\)"),
    ([decimal.Decimal("1.10"), 1], r"values of several types \(Decimal, int\)"),
    ([True, 1], r"values of several types \(bool, int\)"),
    ([[1], ["a"]], r"values of several types \(int, str\)"),
    ([NOON, NOON.replace(tzinfo=EAST)], "times of several zones"),
    ([{"a": 1}, {"b": 2}], "dicts with different keys"),
    ([{"a": 1}, {}], "dicts with different keys"),
    ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], "dicts with different keys, or in another order"),
    ([{"a": {"b": 1}}, {"a": {"c": 1}}], "dicts with different keys"),
    ([[{"a": 1}], [{"b": 1}]], "dicts with different keys"),
    ([{1}], "sets"),
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
    with pytest.raises(cw.CompactWireError, match=f"the column 'a' has {problem}"):
        write(frame(values) if write is not arrow.encode else frame(values)["a"])


def test_periods_are_an_error() -> None:
    column = pandas.Series(pandas.period_range("2026", periods=2, freq="D"), name="when")
    with pytest.raises(cw.CompactWireError, match="the column 'when' has periods"):
        gcf.dumps(column)


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
