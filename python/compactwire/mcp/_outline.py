"""The outer members of JSON-RPC messages that are too long, or nested too deeply, to be read.

Source: RFC 8259. Only the object of a message, and the array of a batch, are checked in full; of
what is inside of them, that its strings end, its brackets match, and nothing else stands there than
numbers and literals are made of.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["outline"]

_BATCH = re.compile(rb"[ \t\r\n]*\[")
# What stands between strings and brackets.
_PLAIN = re.compile(rb"[ \t\r\n,:0-9eE+.\-truefalsn]*")
_LONG_NUMBER = re.compile(rb'("(?:[^"\\]|\\.)*")|[0-9eE+.\-]{1000,}', re.DOTALL)
# Up to the end of a string, or over a part of it: a group that is repeated takes memory each time.
_IN_STRING = re.compile(rb'[^"\\]*+(?:(")|(?:\\.[^"\\]*+){1,1000}+)', re.DOTALL)
_CLOSES = {ord("{"): ord("}"), ord("["): ord("]")}

# Bytes of the outer members without what is nested, and strings and brackets of the whole.
_MAX_OUTER, _MAX_STEPS = 1 << 20, 4_000_000
# The members that tell whether a message is a request or an answer.
_KINDS = {"method", "result", "error"}
# Brackets that may stand in strings of the members at the end.
_MAX_IN_STRINGS = 8


def outline(text: bytes) -> dict[str, Any] | list[Any] | None:
    """The message or batch with null for each nested value; without recursion, in linear time.

    None if it is not JSON. After the limit of steps, this is not known: then the members of a
    message at its beginning and its end, if they tell its id and its kind, and otherwise an empty
    list.
    """
    kept: list[bytes] = []
    closing = bytearray()
    at = begun = 0
    level = 2 if _BATCH.match(text) else 1
    for _ in range(_MAX_STEPS):
        at = _after_plain(text, at)
        if at == len(text):
            return None if closing else _read([*kept, text[begun:]])
        if text[at] == ord('"'):
            at = _after_string(text, at)
            if at == 0:
                return None
            continue
        if text[at] in _CLOSES:
            if len(closing) == level:
                kept += [text[begun:at], b"null"]
            closing.append(_CLOSES[text[at]])
        elif not closing or text[at] != closing.pop():
            return None
        elif len(closing) == level:
            begun = at + 1
        at += 1
    is_in_member = level == 1 < len(closing)
    return _both_ends(kept, text) if is_in_member else []


def _both_ends(kept: list[bytes], text: bytes) -> dict[str, Any] | list[Any]:
    """The members of an object before and after those with many strings and brackets."""
    at = text.rfind(b"}")
    ends = [b"}"]
    for _ in range(_MAX_IN_STRINGS):
        at = max(text.rfind(bracket, 0, at) for bracket in (b"}", b"]"))
        if len(text) - at > _MAX_OUTER:
            break
        ends.append(text[at + 1 :])
    for end in reversed(ends):
        message = _read([*kept, end])
        if isinstance(message, dict) and "id" in message and _KINDS & message.keys():
            return message
    return []


def _after_plain(text: bytes, at: int) -> int:
    found = _PLAIN.match(text, at)
    return found.end() if found else at


def _after_string(text: bytes, at: int) -> int:
    """The position after the string that begins here; 0 if it does not end."""
    end = text.find(b'"', at + 1)
    if text.find(b"\\", at + 1, end) < 0 <= end:
        return end + 1  # Many times as fast, and the usual case of a long text: base64.
    at += 1
    while found := _IN_STRING.match(text, at):
        at = found.end()
        if found[1]:
            return at
    return 0


def _read(kept: list[bytes]) -> dict[str, Any] | list[Any] | None:
    if sum(map(len, kept)) > _MAX_OUTER:
        return []
    outer = _LONG_NUMBER.sub(lambda found: found[1] or b"null", b"".join(kept))
    try:
        message = json.loads(outer.decode(errors="replace"))
    except ValueError:
        return None
    return message if isinstance(message, dict | list) else None
