"""Finds columns of pandas whose values Arrow would change.

A column of Python objects has no type, so pandas and pyarrow choose one for all values: beside a
`Timestamp`, the number 1.5 becomes a date; dicts get the keys of all others. A typed column keeps
its values, apart from periods, which become numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from .errors import CompactWireError

# Values that are null in a column of any type.
_NULLS = {"NoneType", "NAType", "NaTType"}

# Arrow has one type for both, and refuses integers that it would round.
_NUMBERS = {int, float}


def check(data: Any, /) -> None:
    """Raise an error for a DataFrame or Series of pandas whose values Arrow would change.

    Raises
    ------
    CompactWireError
        A column of Python objects has values of several types, sets, dicts that differ in their
        keys or the order of these, or times of several zones; or a column has periods.
    """
    for name, column in data.items() if hasattr(data, "columns") else [(data.name, data)]:
        kind = str(column.dtype)
        problem = None
        if kind == "object":
            try:
                problem = _problem(column.tolist())
            except RecursionError:
                problem = "values that are nested too deep"
        elif kind.startswith("period"):
            problem = "periods, which Arrow would write as numbers"
        if problem is not None:
            raise CompactWireError(
                f"the column {name!r} has {problem}; give its values one type, or pass Python "
                "values: those of to_dict('records') of a DataFrame, or tolist() of a Series"
            )


def _problem(values: Iterable[Any]) -> str | None:
    """Say what Arrow would change in the values of a column."""
    found = list(values)
    types = {one for one in set(map(type, found)) if one.__name__ not in _NULLS}
    if float in types and len(types) > 1 and all(one != one for one in found if type(one) is float):
        types.remove(float)  # Each NaN is a null.
    if len(types) > 1 and types != _NUMBERS:
        names = ", ".join(sorted(one.__name__ for one in types))
        return f"values of several types ({names}), of which Arrow would change some"
    if dict in types:
        return _problem_of_dicts([one for one in found if type(one) is dict])
    if types & {set, frozenset}:
        return "sets, which Arrow would write as lists"
    if any(hasattr(one, "tzinfo") for one in types) and len(_zones(found)) > 1:
        return "times of several zones, of which Arrow would keep one"
    if types & {list, tuple}:
        return _problem(chain.from_iterable(one for one in found if type(one) in (list, tuple)))
    return None


def _problem_of_dicts(dicts: list[dict[Any, Any]]) -> str | None:
    keys = list(dicts[0])
    if any(list(one) != keys for one in dicts):
        return "dicts with different keys, or in another order, which Arrow would make alike"
    members: Iterator[Iterable[Any]] = ([one[key] for one in dicts] for key in keys)
    return next(filter(None, map(_problem, members)), None)


def _zones(values: list[Any]) -> set[str]:
    return {str(one.tzinfo) for one in values if one == one and hasattr(one, "tzinfo")}
