"""JSON-RPC messages as a transport sees them: which ids they have, and which they answer.

Source: JSON-RPC 2.0, with the ids that the Model Context Protocol allows.
"""

from __future__ import annotations

import codecs
import json
import math

from ._outline import outline
from ._spans import Edit, apply, members, skip_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "SUBSCRIPTION",
    "Key",
    "cancelled_id",
    "each",
    "id_key",
    "is_answer",
    "is_error",
    "is_message",
    "is_utf8",
    "read_message",
    "with_id",
]

Key = tuple[type, object]

# A request whose answer is a stream of notifications, which the server usually never ends.
SUBSCRIPTION = "subscriptions/listen"

_PART = 1 << 16


def read_message(text: bytes, limit: int | None = None) -> tuple[Any, bool]:
    """The message or batch, or None if the text is neither; and True.

    If the message has more bytes than the limit, or Python cannot read its JSON: what its outline
    tells, and False. That is an empty list for a batch if it is too long to tell what is in it.
    """
    if limit is None or len(text) <= limit:
        try:
            message = json.loads(text.decode(errors="replace"))
        except json.JSONDecodeError:
            return None, True
        except (ValueError, RecursionError, MemoryError):
            pass  # An int of 4,300 digits, or nested too deeply.
        else:
            return message if is_message(message) else None, True
    found = outline(text)
    return found if found == [] or is_message(found) else None, False


def is_message(value: object) -> bool:
    """Whether a value is a JSON-RPC message, or a batch with one at least.

    A host can do nothing with another value, and some hosts end the connection: it would answer no
    request. What else a message must have is for the host to judge.
    """
    return any("method" in one or is_answer(one) for one in each(value))


def is_answer(message: dict[str, Any]) -> bool:
    """Whether the message answers a request, or tells that one could not be read."""
    if "method" in message:
        return False
    answers = "id" in message and ("result" in message or "error" in message)
    return answers or isinstance(message.get("error"), dict)


def each(message: object) -> list[dict[str, Any]]:
    """The messages of a batch, or the one."""
    found = message if isinstance(message, list) else [message]
    return [one for one in found if isinstance(one, dict)]


def id_key(identity: object) -> Key | None:
    """1 and "1" are two ids; None if JSON-RPC does not allow this one, as True.

    2 and 2.0 are one: where all numbers are doubles, a server writes 2 for the 2.0 of a host. The
    key has the id as it was given.
    """
    if type(identity) is str:
        return str, identity
    is_number = type(identity) is int or (type(identity) is float and math.isfinite(identity))
    return (float, identity) if is_number else None


def cancelled_id(message: dict[str, Any]) -> Key | None:
    """The id of the request that is cancelled."""
    params = message.get("params")
    return id_key(params.get("requestId")) if isinstance(params, dict) else None


def is_error(message: Any) -> bool:
    """Whether the message is the error response to a request."""
    error = message.get("error") if isinstance(message, dict) and "method" not in message else None
    return isinstance(error, dict) and type(error.get("code")) is int


def is_utf8(text: bytes) -> bool:
    """Whether a text is UTF-8, without a copy, which may be four times as long."""
    decode = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for at in range(0, len(text), _PART):
            decode(text[at : at + _PART])
        decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def with_id(text: bytes, message: dict[str, Any], identity: object) -> bytes:
    """The error with the id of the request that it answers."""
    whole = text.decode(errors="replace")
    try:
        found = members(whole, skip_space(whole, 0))
    except ValueError:  # A key occurs twice.
        return json.dumps({**message, "id": identity}).encode()
    said = json.dumps(identity)
    if "id" in found:
        return apply(whole, [Edit(found["id"].value, found["id"].end, said)]).encode()
    start = skip_space(whole, 0) + 1
    return apply(whole, [Edit(start, start, f'"id":{said},')]).encode()
