"""Structured content beside a text: whether both say the same, and how a host writes it.

Numbers are compared by value, and the order of keys does not count.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal

from .._expanded import as_json
from ._spans import unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_STRING_OR_NUMBER = re.compile(r'"(?:[^"\\]++|\\.)*+"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?')
# An integer of so many digits is the same as a double.
_EXACT_DIGITS = 15
# How the texts begin that `shrink` writes in GCF, and bytes that they may be written out to: more
# than the structured content that they are compared with has.
_GCF, _MAX_EXPANSION = "GCF ", 1 << 22

# What reading and comparing may raise: neither JSON nor GCF, nested too deeply, an exponent beyond
# `decimal`.
_UNREADABLE = (ValueError, RecursionError, ArithmeticError)


def carries(text: str, structured: str) -> bool:
    """Whether the text of a tool result says all that its structured content, a JSON text, says.

    This is so if both are the same value, or if the structured content is an object with one
    member, whose value is the same as the text or is the text itself: servers wrap a value that is
    not an object like this, under a name such as "result". A text in GCF says what it was made
    from: a server may shrink its texts itself.
    """
    try:
        whole = _read(structured)
        values = (
            [whole, *whole.values()] if isinstance(whole, dict) and len(whole) == 1 else [whole]
        )
        if any(isinstance(value, str) and value == text for value in values):
            return True
        if in_gcf(text):
            text = as_json(text, max_expansion=_MAX_EXPANSION)
        said = _read(text)
        return any(_same(said, value) for value in values)
    except _UNREADABLE:
        return False


def in_gcf(text: str) -> bool:
    """Whether a text is in GCF, if it is data at all."""
    return text.startswith(_GCF)


def as_hosts_write(structured: str) -> list[str]:
    """Structured content as hosts give it to a model: no white space, no needless escapes.

    The first text has the numbers of Python. The second one, if it differs, has those of
    `JSON.stringify`, to which all numbers are doubles: `1` for `1.0`. A lone surrogate, which UTF-8
    does not have, is an escape. The list is empty if Python reads or writes no such value.
    """
    try:
        value = json.loads(structured)
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except _UNREADABLE:
        return []
    text = text.encode(errors="backslashreplace").decode()
    script = _STRING_OR_NUMBER.sub(_as_script_writes, text)
    return [text] if script == text else [text, script]


def _as_script_writes(match: re.Match[str]) -> str:
    """A number as ECMAScript writes it (Number::toString); a string as it is."""
    text = match[0]
    if text[0] == '"' or (text.lstrip("-").isdigit() and len(text) <= _EXACT_DIGITS):
        return "0" if text == "-0" else text
    number = float(text)
    if math.isinf(number):
        return "null"
    if not number:
        return "0"
    # The digits of `repr` are the shortest ones that give this double, as in ECMAScript.
    _, found, exponent = Decimal(repr(number)).normalize().as_tuple()
    sign, digits, point = "-" * (number < 0), "".join(map(str, found)), len(found) + int(exponent)
    if 0 < point <= 21:
        whole = digits[:point].ljust(point, "0")
        return f"{sign}{whole}.{digits[point:]}".rstrip(".")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{point - 1:+d}"


def _read(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, parse_constant=_refuse, object_pairs_hook=unique)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


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
