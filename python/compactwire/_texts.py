"""Checks of arguments, with the same errors as in the core, and text for messages."""

from __future__ import annotations

import os
import reprlib

from .errors import OptionError, UnsupportedValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def check_type(name: str, value: object, expected: type) -> None:
    """Raise `TypeError`, which names the argument, for a value of another type."""
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        kind, found = expected.__name__, type(value).__name__
        raise TypeError(f"{name} must be {'an' if expected is int else 'a'} {kind}, not {found}")


def iterated(name: str, value: Any, items: str) -> Iterator[Any]:
    """The iterator of an iterable; raise `TypeError`, which names the argument, for no iterable."""
    if not hasattr(type(value), "__iter__") and not hasattr(type(value), "__getitem__"):
        raise TypeError(f"{name} must be an iterable of {items}, not {type(value).__name__}")
    return iter(value)


def check_callable(name: str, value: object) -> None:
    """Raise `TypeError`, which names the argument, for an object that cannot be called."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, not {type(value).__name__}")


def check_finished(name: str, result: object, other: str) -> None:
    """Raise `TypeError` for a coroutine: the function `name` is one for the method `other`."""
    if hasattr(result, "__await__"):
        if hasattr(result, "close"):
            result.close()  # Otherwise Python warns that it was never awaited.
        raise TypeError(f"{name} returned a coroutine: use {other}, or a function that waits")


def check_awaitable(name: str, result: object, other: str) -> None:
    """Raise `TypeError` for no coroutine: the function `name` is one for the method `other`."""
    from inspect import isawaitable

    if not isawaitable(result):
        found = type(result).__name__
        raise TypeError(f"{name} must be a coroutine function, but returned {found}: use {other}")


def check_positive(name: str, value: Any) -> None:
    """Raise `TypeError` for no int, which True is not here, and `OptionError` for one below 1."""
    check_type(name, value, int)
    if value < 1:
        raise OptionError(f"{name} must be 1 or more, not {shown(value)}", option=name)


def real(name: str, value: Any) -> float:
    """A number as a float, infinite beyond its range; `TypeError` for an argument that is none."""
    from numbers import Real

    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    number: Any = value  # `Real` has no comparisons with an int.
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def check_path(path: object, name: str = "path") -> None:
    """Raise the errors of a path before a library raises others or takes an int as an open file."""
    if not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"{name} must be a str or path-like, not {type(path).__name__}")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise OptionError(f"{name}: {surrogate(error)}", option=name) from None
    if not encoded:  # `Path` would take it for the working folder.
        raise FileNotFoundError(f"{name} is empty, expected the path of a file or folder")
    if b"\0" in encoded:
        raise OSError(f"{name} contains a NUL byte, at position {encoded.index(0)}")


def check_texts(**fields: object) -> None:
    """Raise `TypeError` for no str, and `UnsupportedValue` for a lone surrogate."""
    for name, text in fields.items():
        check_type(name, text, str)
        try:
            str(text).encode()
        except UnicodeEncodeError as error:
            raise UnsupportedValue(
                f"{name}: {surrogate(error)}",
                code="invalid_surrogate",
                path=name,
                field=name,
                line=None,
                column=None,
            ) from None


def surrogate(error: UnicodeEncodeError) -> str:
    """A description of the lone surrogate, with its position."""
    return f"lone surrogate at position {error.start} cannot be encoded as UTF-8"


def shown(value: object) -> str:
    """`reprlib.repr`, also of an int with more digits than Python prints."""
    try:
        return reprlib.repr(value)
    except ValueError:
        return "a number of thousands of digits"


def one_line(text: str) -> str:
    """Escape line breaks and terminal control characters, which quoted input may contain."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def short_line(text: str, limit: int = 128) -> str:
    """`one_line` of at most `limit` characters of the text, with an ellipsis if it was longer."""
    return one_line(text[:limit]) + ("…" if len(text) > limit else "")
