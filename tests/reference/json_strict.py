"""JSON as sessions read and write it: RFC 8259, restricted to texts that lose nothing.

A duplicate member name, a lone surrogate, a number beyond a double, an integer of more than 4300
digits, and containers nested more than 128 deep are errors. The standard library parses the text;
this module checks what that parser accepts.

    >>> read_json(' {"b": 1, "a": [2.50]}|rest')
    ({'b': 1, 'a': [2.5]}, 22)
    >>> write_json({"b": 1, "a": [2.50]})
    '{"a":[2.5],"b":1}'
"""

from __future__ import annotations

import json
import math
from typing import Any

from .errors import EncodeError, InvalidFormat
from .values import is_unicode

MAX_DEPTH = 128
BLANK = " \t\n\r"


def read_json(text: str) -> tuple[Any, int]:
    """The value at the start of `text`, and the position after it."""
    start = len(text) - len(text.lstrip(BLANK))
    try:
        value, end = DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise InvalidFormat(f"not JSON: {error}") from None
    if _depth(value) > MAX_DEPTH:
        raise InvalidFormat(f"nested deeper than {MAX_DEPTH}")
    if not all(is_unicode(found) for found in _texts(value)):
        raise InvalidFormat("a lone surrogate in the JSON")
    return value, end


def read_whole_json(text: str) -> Any:
    value, end = read_json(text)
    if text[end:].strip(BLANK):
        raise InvalidFormat("unexpected characters after the JSON value")
    return value


def write_json(value: Any) -> str:
    """The canonical text: members sorted, no white space, UTF-8."""
    try:
        text = json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
    except (ValueError, RecursionError) as error:
        raise EncodeError(str(error)) from None
    if not is_unicode(text):
        raise EncodeError("a lone surrogate")
    try:
        read_whole_json(text)
    except InvalidFormat as error:
        raise EncodeError(str(error)) from None
    return text


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is there twice")
    return members


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("the number is too large for a double")
    return value


def _not_json(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# `int` itself refuses more than 4300 digits.
DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_float=_float, parse_constant=_not_json)


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while any(isinstance(one, (dict, list)) for one in level):
        depth += 1
        level = [inner for one in level for inner in _inside(one)]
    return depth


def _texts(value: Any) -> list[str]:
    found, left = [], [value]
    while left:
        one = left.pop()
        left += _inside(one)
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            found += one
    return found
