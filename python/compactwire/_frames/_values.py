"""Python values in a column of objects: which of them Arrow keeps, and what it would change.

pandas and pyarrow choose one type for all values of such a column: beside a `Timestamp`, the number
1.5 becomes a date; dicts get the keys of all others. `plain` gives what `types="common"` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time
from itertools import chain
from typing import Any

from .._types import common, values_of

# Values that are null in a column of any type.
_NULLS = {"NoneType", "NAType", "NaTType"}

# Types whose objects Arrow keeps as they are. An object of a subclass may not be: Arrow drops the
# nanoseconds of a Timestamp, and gives a Counter the keys of all others. GCF has no bytes, but a
# column of messages may.
_KEPT = {type(None), bool, int, float, str, bytes, bytearray, memoryview, date}

# Types whose objects Arrow keeps if they have no zone: it drops that of a time.
_WITHOUT_ZONE = {datetime, time}

_ARROW = _KEPT | _WITHOUT_ZONE | {list, tuple, dict}

# How to read a value of a subclass as `gcf.dumps` does, without the methods of the subclass.
_SCALARS: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    bool: bool,
    int: int.__int__,
    float: float.__float__,
}

# Arrow has one type for both, and refuses integers that it would round.
_NUMBERS = {int, float}


def are_kept(values: Iterable[Any]) -> bool:
    """Whether Arrow keeps each of the values as it is, if all have one type."""
    found = list(values)
    return set(map(type, found)) <= _KEPT or all(map(_is_kept, found))


def _is_kept(value: Any) -> bool:
    kind = type(value)
    if kind in (list, tuple):
        return are_kept(value)
    if kind is dict:
        return all(type(key) is str for key in value) and are_kept(value.values())
    if kind in _WITHOUT_ZONE:
        return value.tzinfo is None
    return kind in _KEPT or kind.__name__ in _NULLS


def plain(value: Any) -> Any:
    """A value as `types="common"` writes it, or itself if it does not."""
    if isinstance(value, dict):
        return _plain_dict(value)
    if isinstance(value, list | tuple):
        base: Any = list if isinstance(value, list) else tuple
        return [plain(one) for one in base.__iter__(value)]
    for kind, read in _SCALARS.items():
        if isinstance(value, kind):
            return read(value)
    written = common(value)
    if written is NotImplemented:
        return value
    if hasattr(written, "__arrow_c_stream__"):
        values = values_of(written)
        return value if values is None else values
    return plain(written)


def _plain_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    """The members of a dict; the dict itself if two of its keys have one text."""
    members = {
        str.__str__(key) if isinstance(key, str) else key: plain(one)
        for key, one in dict.items(value)
    }
    return members if len(members) == dict.__len__(value) else value


def changed_by_arrow(values: Iterable[Any]) -> str | None:
    """Say what Arrow would change in the values of a column."""
    found = list(values)
    types = {one for one in set(map(type, found)) if one.__name__ not in _NULLS}
    if float in types and len(types) > 1 and all(one != one for one in found if type(one) is float):
        types.remove(float)  # Each NaN is a null.
    if len(types) > 1 and types != _NUMBERS:
        names = ", ".join(sorted(one.__name__ for one in types))
        return f"values of several types ({names}), of which Arrow would change some"
    if unknown := types - _ARROW:
        return f"values of the type {unknown.pop().__name__}, which a column cannot have"
    if dict in types:
        return _changed_in_dicts([one for one in found if type(one) is dict])
    if types & {list, tuple}:
        return changed_by_arrow(
            chain.from_iterable(one for one in found if type(one) in (list, tuple))
        )
    return None


def _changed_in_dicts(dicts: list[dict[Any, Any]]) -> str | None:
    keys = list(dicts[0])
    if any(type(key) is not str or "\0" in key for one in dicts for key in one):
        return "dicts with keys that Arrow would change: those that are not str, or contain \\0"
    if any(list(one) != keys for one in dicts):
        return "dicts with different keys, or in another order, which Arrow would make alike"
    members: Iterator[Iterable[Any]] = ([one[key] for one in dicts] for key in keys)
    return next(filter(None, map(changed_by_arrow, members)), None)
