"""Structured content beside a text: whether both say the same, and what a host makes of it.

Numbers are compared by value, and the order of keys does not count.
"""

from __future__ import annotations

import json
from decimal import Decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What reading and comparing may raise: not JSON, nested too deeply, an exponent beyond `decimal`.
_UNREADABLE = (ValueError, RecursionError, ArithmeticError)


def carries(text: str, structured: str) -> bool:
    """Whether the text of a tool result says all that its structured content, a JSON text, says.

    This is so if both are the same value, or if the structured content is an object with one
    member, whose value is the same as the text or is the text itself: servers wrap a value that is
    not an object like this, under a name such as "result".
    """
    try:
        whole = _read(structured)
        values = (
            [whole, *whole.values()] if isinstance(whole, dict) and len(whole) == 1 else [whole]
        )
        if any(isinstance(value, str) and value == text for value in values):
            return True
        said = _read(text)
        return any(_same(said, value) for value in values)
    except _UNREADABLE:
        return False


def as_hosts_write(structured: str) -> str | None:
    """Structured content as hosts give it to a model: no white space, no needless escapes.

    None if it cannot be written so, because Python reads or writes no such value.
    """
    try:
        value = json.loads(structured)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except _UNREADABLE:
        return None
    return text


def _read(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_constant=_refuse, object_pairs_hook=_unique)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate key")
    return found


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return (
            isinstance(b, dict)
            and a.keys() == b.keys()
            and all(_same(value, b[key]) for key, value in a.items())
        )
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    # A bool is an int, and equal to 0 or 1.
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    return bool(a == b)
