"""Requests of sessions, and deltas."""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Callable

import compactwire as cw

from .harness import TEXT, Case

Message = list[str]


def size(frames: Message) -> int:
    return sum(map(len, frames))


def request(context: str, deltas: str) -> Message:
    """The two frames of a context and of a request that changes it."""
    return [f"REQ|1|||null|D|F|{context}", f"REQ|1|||null|{deltas}"]


# Inputs, by the parameter that grows


def overwrites(count: int) -> Message:
    """Edits of the end of a long text; a search from its start for each would be quadratic."""
    return request("a" * 20 * count, "|".join([f"D|R|{19 * count}|xy"] * count))


def empty_overwrites(count: int) -> Message:
    return request("é" * 10 * count, "|".join([f"D|R|{9 * count}|"] * count))


def long_overwrites(count: int) -> Message:
    """Each edit changes the length in bytes, so that the bytes after it move."""
    return request("a" * 20 * count, "|".join(f"D|R|{n}|é" for n in range(count)))


def additions(count: int) -> Message:
    return request("a" * 20 * count, "|".join(["D|+|xy"] * count))


def wholes(count: int) -> Message:
    return request("a" * 20 * count, "|".join(["D|F|xy", "D|+|z"] * count))


def mixed(count: int) -> Message:
    return request("a" * 20 * count, "|".join(["D|+|xy", f"D|R|{20 * count}|z"] * count))


def packed(count: int) -> Message:
    delta = "D|Z|" + cw.encode_base85(zlib.compress(b"D|R|1|xy"))
    return request("a" * 20 * count, "|".join([delta] * count))


def contexts(count: int) -> Message:
    return request("a" * 20 * count, "D|+|" + "b" * 20 * count)


def tools(count: int) -> Message:
    return [*(f'TOOL|def|{{"name":{n}}}' for n in range(count)), "REQ|1|||null"]


def prompts(count: int) -> Message:
    return [*(f"SYS|full|prompt {n}" for n in range(count)), "REQ|1|||null"]


def unknown_references(count: int) -> Message:
    return [*(f"TOOL|ref|t_{n:08x}" for n in range(count)), "REQ|1|||null"]


def long_args(count: int) -> Message:
    return [f"REQ|1|||{json.dumps(list(range(count)))}"]


# Calls


def decode(frames: Message) -> object:
    """Decodes a context and a request, or all frames as one request."""
    session = cw.Session()
    if frames[0].startswith("REQ"):
        return [session.decode_request([frame]) for frame in frames]
    return session.decode_request(frames)


def send(frames: Message) -> object:
    """Encodes the contexts, packs them, and copies the session."""
    ours, theirs = cw.Session(), cw.Session()
    for pack in (False, True):
        for context in frames:
            theirs.decode_request(ours.encode_request(context=context, pack=pack))
    return pickle.loads(pickle.dumps(ours)), pickle.loads(pickle.dumps(theirs))


def deltas(frames: Message) -> object:
    """`apply_delta` and `DeltaStream`."""
    old, new = frames
    stream = cw.DeltaStream(old)
    stream.apply(cw.DeltaStream(old).push(new))
    stream.apply(f"D|R|{len(new) - 1}|x")
    return cw.apply_delta(old, cw.encode_delta(old, new))


MESSAGES: dict[str, tuple[Callable[[int], Message], int, int]] = {
    "overwrites": (overwrites, 400, 20_000),
    "empty overwrites": (empty_overwrites, 400, 20_000),
    "long overwrites": (long_overwrites, 400, 20_000),
    "additions": (additions, 400, 20_000),
    "wholes": (wholes, 200, 15_000),
    "mixed": (mixed, 200, 12_000),
    "packed edits": (packed, 100, 10_000),
    "contexts": (contexts, 2000, 20_000),
    "tools": (tools, 400, 40_000),
    "prompts": (prompts, 400, 40_000),
    "unknown references": (unknown_references, 400, 40_000),
    "long arguments": (long_args, 1000, 100_000),
}

CASES = [
    *(
        Case(f"decode_request, {name}", decode, make, first, large, TEXT, size)
        for name, (make, first, large) in MESSAGES.items()
    ),
    Case("encode_request, contexts", send, contexts, 4000, 20_000, TEXT, size),
    Case("deltas, contexts", deltas, contexts, 4000, 20_000, TEXT, size),
]
