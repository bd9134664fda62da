"""Prepares data of pandas for Arrow, and finds columns whose values Arrow would change.

A column of Python objects has no type, so pandas and pyarrow choose one for all values: beside a
`Timestamp`, the number 1.5 becomes a date; dicts get the keys of all others. A typed column keeps
its values, apart from periods, which become numbers. Objects that only `types="common"` knows, such
as those of an enum, are replaced by what it writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from ._types import common, is_unknown_to_arrow
from .errors import GcfError, UnsupportedValue

# Values that are null in a column of any type.
_NULLS = {"NoneType", "NAType", "NaTType"}

# Arrow has one type for both, and refuses integers that it would round.
_NUMBERS = {int, float}

_ADVICE = (
    "give its values one type, or pass Python values: data.astype(object).where(data.notna(), "
    "None), then to_dict('records') of a DataFrame, or tolist() of a Series"
)


class Problem(NamedTuple):
    """Why data of pandas cannot be read as Arrow."""

    code: str
    """The code of the error."""
    column: str | None
    """The name of the column; None for a Series."""
    message: str
    """What is wrong, and what to do."""

    def error(self) -> GcfError:
        """The error for data that is not part of a value."""
        path = "$[*]" if self.column is None else f"$[*].{self.column}"
        facts: dict[str, Any] = {"code": self.code, "path": path, "line": None, "column": None}
        if self.code == "duplicate_key":
            return GcfError(f"{self.message} (at {path})", **facts)
        return UnsupportedValue(f"{path}: {self.message}", field=path, **facts)


def readable(data: Any, /) -> tuple[Any, Problem | None]:
    """Return a DataFrame or Series of pandas as Arrow reads it without changing its values.

    Returns
    -------
    tuple
        The data, with other values in columns of objects that only `types="common"` knows; and the
        problem, if there is one: two columns of one name, a column of values of several types, of
        sets, of dicts that differ in their keys or the order of these, of times of several zones,
        or of periods.
    """
    is_frame = hasattr(data, "columns")
    columns = list(data.items()) if is_frame else [(data.name, data)]
    if is_frame and (duplicate := _duplicate(str(name) for name, _ in columns)) is not None:
        message = f"two columns have the name {duplicate!r}; rename one"
        return data, Problem("duplicate_key", duplicate, message)
    replaced: dict[int, list[Any]] = {}
    for at, (name, column) in enumerate(columns):
        kind, problem = str(column.dtype), None
        if kind == "object":
            try:
                values = column.tolist()
                plain = _plain_column(values)
                if plain is not values:
                    replaced[at] = plain
                problem = _problem(plain)
            except RecursionError:
                problem = "values that are nested too deep"
        elif kind.startswith("period"):
            problem = "periods, which Arrow would write as numbers"
        if problem is not None:
            label = "the column" if name is None else f"the column {name!r}"
            message = f"{label} has {problem}; {_ADVICE}"
            return data, Problem("unsupported_type", str(name) if is_frame else None, message)
    return _with_values(data, replaced, is_frame=is_frame) if replaced else data, None


def refused(data: Any, /) -> str | None:
    """Return the name of the column for which a DataFrame finds no Arrow type, if it is found."""
    for name, column in data.items() if hasattr(data, "columns") else []:
        try:
            column.__arrow_c_stream__()
        except Exception:  # It has none, or an older pandas cannot tell.
            return str(name) if hasattr(column, "__arrow_c_stream__") else None
    return None


def _duplicate(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _with_values(data: Any, replaced: dict[int, list[Any]], *, is_frame: bool) -> Any:
    """A copy of data with other values in some columns, by their places."""
    if not is_frame:
        return data.__class__(replaced[0], index=data.index, name=data.name, dtype=object)
    copy = data.copy(deep=False)
    for at, values in replaced.items():
        column = data.iloc[:, at]
        values = column.__class__(values, index=data.index, dtype=object)
        copy.isetitem(at, values)
    return copy


def _plain_column(values: list[Any]) -> list[Any]:
    """The values of a column as `types="common"` writes them, or the same list if Arrow does."""
    types = {one for one in set(map(type, values)) if one.__name__ not in _NULLS}
    if {one.__name__ for one in types} == {"Decimal"}:
        return _plain_decimals(values)
    if not any(one in (list, tuple, dict) or is_unknown_to_arrow(one) for one in types):
        return values
    plain = [_plain(one) for one in values]
    return values if _are_same(plain, values) else plain


def _plain_decimals(values: list[Any]) -> list[Any]:
    """Decimals as texts if Arrow would give them other digits: those of the longest fraction."""
    exponents = {one.as_tuple().exponent for one in values if type(one).__name__ == "Decimal"}
    if len(exponents) == 1:
        return values
    return [_text(one) if type(one).__name__ == "Decimal" else one for one in values]


def _text(number: Any) -> Any:
    """A decimal as `types="common"` writes it, or itself if it does not."""
    text = common(number)
    return number if text is NotImplemented else text


def _plain(value: Any) -> Any:
    """A value as `types="common"` writes it, or the same object if Arrow writes it alike."""
    if type(value) in (list, tuple):
        elements = [_plain(one) for one in value]
        return value if _are_same(elements, value) else elements
    if type(value) is dict:
        members = {key: _plain(one) for key, one in value.items()}
        return value if _are_same(members.values(), value.values()) else members
    if type(value).__name__ == "Decimal":
        return _text(value)
    return _plain(common(value)) if is_unknown_to_arrow(type(value)) else value


def _are_same(new: Iterable[Any], old: Iterable[Any]) -> bool:
    return all(one is other for one, other in zip(new, old, strict=True))


def lost_index(data: Any, /) -> str | None:
    """Say what to do about the index of a Series of pandas that an array of its values would lose.

    The index of a DataFrame becomes a column. One that is a range is lost in both, as in Arrow.
    """
    if hasattr(data, "columns") or type(data.index).__name__ == "RangeIndex":
        return None
    return (
        f"an array of this {type(data).__name__} would lose its index; pass reset_index() for rows "
        "with it, to_dict() for an object with its keys, or tolist() for the values alone"
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
