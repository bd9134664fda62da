"""Comparisons that say what differed, and equality of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._texts import short_line
from ..analysis.measured import same

if TYPE_CHECKING:
    from collections.abc import Callable

_SHOWN = 80


class DiffersError(Exception):
    """A vector does not hold: the message says what differed."""


def equal(
    what: str, found: object, expected: object, equals: Callable[[Any, Any], bool] | None = None
) -> None:
    """Compare a result with what the vector says.

    Raises
    ------
    DiffersError
        They are not equal; the message shows both where they begin to differ.
    """
    if equals(found, expected) if equals else found == expected:
        return
    left, right = (each if isinstance(each, str) else repr(each) for each in (expected, found))
    start = next(
        (n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )
    place = f" from character {start} on" if start else ""
    one, other = (repr(short_line(each[start:], _SHOWN)) for each in (left, right))
    raise DiffersError(f"{what}: expected {one}, found {other}{place}")


def fails(what: str, call: Callable[[], object], error: type[Exception]) -> Any:
    """Return the error that a call raises.

    Raises
    ------
    DiffersError
        It raises none, or another one.
    MemoryError
        There is too little memory for the call.
    """
    try:
        found = call()
    except error as caught:
        return caught
    except MemoryError:
        raise
    except Exception as caught:
        name = type(caught).__name__
        raise DiffersError(f"{what}: expected {error.__name__}, found {name}: {caught}") from None
    shown = short_line(repr(found), _SHOWN)
    raise DiffersError(f"{what}: expected {error.__name__}, found no error but {shown}")


def has_code(what: str, call: Callable[[], object], error: type[Exception], code: str) -> None:
    """Check that a call raises an error with this code, or with this phrase in its message."""
    caught = fails(what, call, error)
    if code != caught.code and code not in str(caught):
        raise DiffersError(f"{what}: expected the error {code}, found {caught}")


def same_document(left: Any, right: Any) -> bool:
    """Whether CAD documents are equal: as values, but `-0.0` differs from `0.0`."""
    return same(left, right) and _zeros(left) == _zeros(right)


def _zeros(value: Any) -> Any:
    """The value with only its zeros, as texts, so that their signs count."""
    if isinstance(value, dict):
        return {key: _zeros(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_zeros(element) for element in value]
    return repr(value) if value == 0 and isinstance(value, float) else None
