"""Where the parts of a JSON text are, so that one is replaced and all others keep their bytes.

The functions expect a text that is valid JSON, and a position in it. They raise `ValueError` for an
object that has a key twice, because readers disagree on which member counts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


@dataclass(frozen=True, slots=True)
class Span:
    """A member of an object, or an element of an array, from `start` to `end`.

    `value` is where the value of a member begins; for an element it is `start`.
    """

    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class Edit:
    """The text from `start` to `end` is replaced by `text`."""

    start: int
    end: int
    text: str = ""


def skip_space(text: str, at: int) -> int:
    """The position of the next character that is not white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def value_at(text: str, at: int) -> Any:
    """The value that begins at this position."""
    return _DECODER.raw_decode(text, at)[0]


def exact_value(text: str, at: int) -> Any:
    """The value that begins at this position, None if JSON made of it would say something else.

    This is so for numbers with more digits than a double, and objects that have a key twice.
    """
    try:
        return _EXACT.raw_decode(text, at)[0]
    except (ValueError, ArithmeticError):  # `decimal` does not have each exponent.
        return None


def _exact(number: str) -> float:
    found = float(number)
    if Decimal(number) != Decimal(repr(found)):
        raise ValueError(f"{number} is not a double")
    return found


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object with these members; `ValueError` if it has a key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate key")
    return found


_EXACT = json.JSONDecoder(parse_float=_exact, object_pairs_hook=unique)


def members(text: str, at: int) -> dict[str, Span]:
    """The members of the object that begins at this position, by key."""
    found: dict[str, Span] = {}
    at = skip_space(text, at + 1)
    while text[at] != "}":
        key, colon = _DECODER.raw_decode(text, at)
        value = skip_space(text, skip_space(text, colon) + 1)
        if key in found:
            raise ValueError(f"duplicate key {key!r}")
        found[key] = Span(at, value, _DECODER.raw_decode(text, value)[1])
        at = _after_comma(text, found[key].end)
    return found


def elements(text: str, at: int) -> list[Span]:
    """The elements of the array that begins at this position."""
    found: list[Span] = []
    at = skip_space(text, at + 1)
    while text[at] != "]":
        found.append(Span(at, at, _DECODER.raw_decode(text, at)[1]))
        at = _after_comma(text, found[-1].end)
    return found


def _after_comma(text: str, at: int) -> int:
    at = skip_space(text, at)
    return skip_space(text, at + 1) if text[at] == "," else at


def removal(found: dict[str, Span], key: str) -> Edit:
    """The edit that takes one member out of an object, together with one comma."""
    spans = list(found.values())
    at = list(found).index(key)
    if at > 0:
        return Edit(spans[at - 1].end, spans[at].end)
    return Edit(spans[0].start, spans[1].start if len(spans) > 1 else spans[0].end)


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text after these edits, which do not overlap."""
    parts = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])
