"""Columns of Arrow: functions of rows, tables as GCF, and GCF as tables."""

from __future__ import annotations

import string
from collections.abc import Callable
from itertools import islice
from typing import Any

import compactwire as cw
from compactwire import arrow, gcf
from tests.columns.producer import Column

from .gcf import constants
from .harness import Case

# Values, by the parameter that grows


def rows(count: int) -> Any:
    return [{"id": n, "name": f"row {n}", "paid": n % 2 == 0} for n in range(count)]


def fields(count: int) -> Any:
    return [{f"field {n}": n for n in range(count)}] * 2


def lists(count: int) -> Any:
    return [{"tags": ["a", "b"][: n % 3]} for n in range(count)]


def one_list(count: int) -> Any:
    return [{"numbers": list(range(count))}]


def misfit(count: int) -> Any:
    return [*range(count), "text"]


VALUES = [rows, fields, lists, one_list, misfit]


# Columns


def column(make: Callable[[int], Any]) -> Callable[[int], Any]:
    return lambda count: arrow.gcf_loads(gcf.dumps(make(count)))


def texts(count: int) -> Any:
    return arrow.encode(Column([f"answer number {n}" for n in range(count)]))


def chunks(count: int) -> Any:
    return arrow.encode(Column(*([f"answer number {n}"] for n in range(count))))


def size(column: Any) -> int:
    """The length of the text; `nbytes` would grow in leaps, like the buffers."""
    return len(gcf.dumps(column))


def one_row(count: int) -> str:
    """One row of empty cells in columns whose names are as short as they can be."""
    signs = string.ascii_letters
    names = (a + b + c for a in signs for b in signs + string.digits for c in signs + string.digits)
    columns = ",".join(islice(names, count))
    return f"GCF profile=generic\n## [1]{{{columns}}}\n{'|' * (count - 1)}\n"


def with_constants(text: str) -> int:
    """The text and its expansion, at least 18 bytes for each cell, as shares of their bound."""
    return 96 * len(text) + 18 * text.count("=1") * text.count("\n1")


def text(make: Callable[[int], Any]) -> Callable[[int], str]:
    return lambda count: gcf.dumps(make(count))


def one_array(column: arrow.Column) -> object:
    return column.__arrow_c_array__()


FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "decode": arrow.decode,
    "decode, report": lambda column: arrow.decode(column, errors="report"),
    "encode": lambda column: arrow.encode(column, format="base85"),
    "count_tokens": arrow.count_tokens,
    "gcf.dumps": gcf.dumps,
}

CASES = [
    *(
        Case(f"{name}: {make.__name__}", call, make, 1_000, 10_000, size_of=size)
        for name, call in FUNCTIONS.items()
        for make in (texts, chunks)
    ),
    *(
        # Begins larger than the others: with 1,000 chunks, a third of its steps is not theirs.
        Case(f"as one array: {make.__name__}", one_array, make, 2_000, 10_000, size_of=size)
        for make in (texts, chunks)
    ),
    *(
        Case(f"gcf.dumps: {make.__name__}", gcf.dumps, column(make), 500, 10_000, size_of=size)
        for make in (rows, fields, lists, one_list)
    ),
    *(
        Case(f"gcf_loads: {make.__name__}", arrow.gcf_loads, text(make), 500, 10_000)
        for make in VALUES
    ),
    # 1.6 KB for each column, and its text is only a short name.
    Case("gcf_loads: one row", arrow.gcf_loads, one_row, 5_000, 190_000, factor=384),
    Case(
        "gcf_loads: constants",
        arrow.gcf_loads,
        constants,
        100,
        3_000,
        factor=4,
        size_of=with_constants,
    ),
    Case(
        "gcf.dumps of a table in a value: rows",
        lambda column: cw.shrink({"rows": column}),
        column(rows),
        500,
        5_000,
        size_of=size,
    ),
]
