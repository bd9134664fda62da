"""Requests, tools and helpers of the tests of sessions."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any

import hypothesis.strategies as st

import compactwire as cw
from tests.reference.json_strict import write_json
from tests.strategies import messages

# The SHA-256 of both starts with f2b40b95.
COLLIDING: tuple[dict[str, Any], dict[str, Any]] = ({"name": "tool_4082"}, {"name": "tool_23155"})
COLLIDING_ID = "t_f2b40b95"

# How often one request is refused if nothing else is lost, by whether it is packed, as documented.
MOST_REFUSALS = {False: 2, True: 3}


def check_of(*texts: str, replaced: str = "") -> str:
    """The check of a request: the tools as JSON, the prompt, the context, the context replaced."""
    hashes = b"".join(hashlib.sha256(text.encode()).digest() for text in texts)
    base = hashlib.sha256(replaced.encode()).digest()[:4] if replaced else b""
    return "c_" + hashlib.sha256(hashes + base).hexdigest()[:8]


def tools_of(tool: Any) -> list[Any]:
    if tool is None:
        return []
    return [tool] if isinstance(tool, dict) else list(tool)


def expected_content(
    *,
    tool: Any = None,
    system: str | None = None,
    args: Any = None,
    context: str | None = None,
    **_: Any,
) -> tuple[list[str], str | None, str, str | None]:
    """The content of a request as text, in which 1, 1.0 and True differ."""
    return [write_json(one) for one in tools_of(tool)], system, write_json(args), context


def content_of(request: cw.Request) -> tuple[list[str], str | None, str, str | None]:
    return expected_content(
        tool=request.tools, system=request.system, args=request.args, context=request.context
    )


def plain_json(
    *,
    tool: Any = None,
    system: str | None = None,
    args: Any = None,
    context: str | None = None,
    **_: Any,
) -> bytes:
    """The request as compact JSON, without absent members."""
    tools = tools_of(tool)
    members: dict[str, Any] = {"args": args}
    if tools:
        members["tool"] = tools[0] if len(tools) == 1 else tools
    if system is not None:
        members["system"] = system
    if context is not None:
        members["context"] = context
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode()


def texts_of(frames: list[str] | str) -> list[str]:
    return [frames] if isinstance(frames, str) else frames


def request_or_error(receiver: cw.Session, frames: Any) -> cw.Request | cw.CompactWireError:
    """The decoded request, or the error."""
    try:
        return receiver.decode_request(frames)
    except cw.CompactWireError as error:
        return error


def deliver(
    sender: cw.Session, receiver: cw.Session, *, resync: bool = False, **request: Any
) -> int:
    """Delivers a request, repeated with what the receiver lacks; returns the number of refusals."""
    for refused in range(MOST_REFUSALS[bool(request.get("pack"))] + 1):
        frames = sender.encode_request(**request)
        try:
            decoded = receiver.decode_request(frames, resync=resync)
        except cw.UnknownReference as error:
            sender.forget(*error.ids)
        else:
            assert content_of(decoded) == expected_content(**request)
            return refused
    raise AssertionError("a request was refused too often")


SEARCH = {"name": "search", "schema": {"type": "object"}}
SEARCH_JSON = '{"name":"search","schema":{"type":"object"}}'


def id_of(letter: str, content: str) -> str:
    return f"{letter}_{hashlib.sha256(content.encode()).hexdigest()[:8]}"


SEARCH_ID = id_of("t", SEARCH_JSON)
HELPFUL = "You are a helpful assistant..."
HELPFUL_ID = id_of("s", HELPFUL)


def pair(**options: Any) -> tuple[cw.Session, cw.Session]:
    return cw.Session(**options), cw.Session(**options)


def packed_delta(delta: str) -> str:
    return "D|Z|" + cw.encode_base85(zlib.compress(delta.encode()))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | messages.SHORT_TEXTS
    | st.sampled_from(("|D|", "D|F|", "|D|+|", "t_00000000,", "\x7f")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(messages.SHORT_TEXTS, inner, max_size=4)
    ),
    max_leaves=12,
)
TOOLS = st.dictionaries(messages.SHORT_TEXTS, JSON, max_size=4)
