"""What a version has written, which every later version must read: wires, pickles, states, a store.

    python -m tests.package.kept > tests/vectors/kept/0.1.0.json

writes the file of a version. It is written anew until that version is released, and never after: a
later version gets a file of its own, and `test_kept.py` reads all of them.
"""

from __future__ import annotations

import base64
import itertools
import json
import pickle
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import compactwire as cw
from compactwire import cad, gcf, wire
from compactwire.turns import Sender, SQLiteSessionStore, Turn
from tests.vectors import OWN

FOLDER = OWN / "kept"

RESPONSES = {
    "short": cw.Response("The answer is 42.", model="C45", tokens=150),
    "long": cw.Response("It does not handle an empty list: é, 東京. " * 9, model="C45", tokens=7),
}
ARGUMENTS = {"q": "Lem", "pages": [1, 2.5, None, True], "note": "an empty list " * 20}
ROWS = [{"id": n, "state": "open", "by": "ann" if n < 9 else "bob"} for n in range(20)]
LISTS = [{"id": n, "tags": ["bug", f"area-{n % 4}"]} for n in range(20)]
MATRIX = {"columns": ["a", "b"], "rows": [[n, f"part {n}"] for n in range(20)]}
KEYED = gcf.KeyedSet([{"id": 1, "n": "a"}, {"id": 2, "n": "b"}], key="id")
DELTA = gcf.KeyedDelta(
    key="id", base_root="a", new_root="b", fields=["id", "n"], changed=[{"id": 1, "n": "c"}]
)
GRAPH = gcf.Payload(
    tool="context",
    symbols=[gcf.Symbol(name, "function", 0.5, "lsp_resolved") for name in ("app.main", "app.run")],
    edges=[gcf.Edge("app.main", "app.run", "calls")],
)
PART = cad.from_compact("C 10 20 30\nY 2 40\nD 0 1")
TOOL = {"name": "search", "description": "Search the web.", "schema": {"type": "object"}}
CHAT = [{"role": "user", "content": f"Question {n}: who wrote Solaris?"} for n in range(6)]


class Wire(NamedTuple):
    """A wire format: how a value is written and read."""

    write: Callable[[], str | bytes]
    read: Callable[[Any], Any]
    value: Any


FORMATS = ("verbose", "binary", "base85", "zlib", "zstd", "dictionary")


def responses() -> dict[str, Wire]:
    """Responses in every format."""
    cases = itertools.product(RESPONSES.items(), (*FORMATS, "dsl"), (2, 4))
    options: Any
    found: dict[str, Wire] = {}
    for (name, response), form, protocol in cases:
        options = {"format": form, "protocol": protocol}
        name = f"response {name} {form} {protocol}"
        text = partial(cw.encode, response, **options)
        data = partial(cw.encode_bytes, response, **options)
        found[name] = Wire(text, cw.decode, response)
        found[f"{name} bytes"] = Wire(data, cw.decode, response)
    return found


def tool_calls() -> dict[str, Wire]:
    """A tool call in every format."""
    call = cw.ToolCall("search", ARGUMENTS)
    form: Any
    found: dict[str, Wire] = {}
    for form in FORMATS:
        text = partial(cw.encode_tool_call, "search", ARGUMENTS, format=form)
        data = partial(cw.encode_tool_call_bytes, "search", ARGUMENTS, format=form)
        found[f"tool call {form}"] = Wire(text, cw.decode_tool_call, call)
        found[f"tool call {form} bytes"] = Wire(data, cw.decode_tool_call, call)
    return found


def wires() -> dict[str, Wire]:
    """Every wire format with a value, by its name."""
    found = responses() | tool_calls()
    for name, value in {"rows": ROWS, "lists": LISTS, "matrix": MATRIX}.items():
        small = partial(gcf.dumps, value, constant_columns=True, list_columns=True, matrices=True)
        found[f"shrink {name}"] = Wire(small, cw.expand, value)
        found[f"gcf {name}"] = Wire(partial(gcf.dumps, value), gcf.loads, value)
    return found | {
        "delta": Wire(
            lambda: cw.encode_delta("a" * 99, "a" * 99 + "b" * 99),
            lambda delta: cw.apply_delta("a" * 99, delta),
            "a" * 99 + "b" * 99,
        ),
        "graph": Wire(lambda: gcf.encode(GRAPH), gcf.decode, GRAPH),
        "gcb": Wire(lambda: wire.encode_gcb(GRAPH), wire.decode_gcb, GRAPH),
        "graph json": Wire(lambda: wire.encode_json(GRAPH), wire.decode_json, GRAPH),
        "cad": Wire(lambda: cad.to_compact(PART), cad.from_compact, PART),
        "cad binary": Wire(lambda: cad.to_binary(PART), cad.from_binary, PART),
    }


def values() -> dict[str, Any]:
    """Objects that have a pickle and are equal to their copies."""
    sender, receiver = cw.Session(), cw.Session()
    request = receiver.decode_request(sender.encode_request(**turn(1)))
    return {
        "Response": RESPONSES["long"],
        "ToolCall": cw.ToolCall("search", ARGUMENTS, context="talk"),
        "Request": request,
        "SessionStats": sender.stats,
        # With the estimates of the version that wrote it.
        "Shrunk": cw.Shrunk(cw.shrink(ROWS).text, format="gcf", tokens_before=249, tokens_after=72),
        "Dictionary": cw.Dictionary.default(),
        "KeyedSet": KEYED,
        "KeyedDelta": DELTA,
        "Payload": GRAPH,
        "Turn": Turn(3, ("a", b"b")),
    }


def turn(count: int) -> dict[str, Any]:
    """The arguments of a request with so many messages."""
    return {"tool": TOOL, "system": "Be brief.", "args": [count], "messages": CHAT[:count]}


class Exchange(NamedTuple):
    """A conversation that goes on: its next request has four messages."""

    sender: Sender
    """The sender, after three turns."""
    receiver: cw.Session
    """The receiver of the same frames, without a store."""
    turns: list[Turn]
    """The turns that it sent."""
    store: bytes
    """The file of the store that answered them with the number of their messages."""


def exchange() -> Exchange:
    """Sends three turns: plain, packed as text, packed as bytes."""
    sender, receiver = Sender(), cw.Session()
    turns: list[Turn] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with SQLiteSessionStore(path) as store:

            def deliver(turn: Turn) -> str | bytes:
                turns.append(turn)
                receiver.decode_request(turn.frames)
                return store.answer("one", turn, lambda request: f"{len(request.messages or [])}")

            for count, pack in enumerate((False, True, "bytes"), 1):
                sender.send(deliver, **turn(count), pack=pack)
        return Exchange(sender, receiver, turns, path.read_bytes())


def stored(data: str | bytes) -> str | dict[str, str]:
    """A text or bytes as JSON."""
    return data if isinstance(data, str) else {"base64": base64.b64encode(data).decode()}


def restored(entry: Any) -> Any:
    """The reverse of `stored`."""
    return base64.b64decode(entry["base64"]) if isinstance(entry, dict) else entry


def record() -> dict[str, dict[str, Any]]:
    """What this version writes."""
    sent = exchange()
    exchanged = {
        "sender": pickle.dumps(sent.sender, 2),
        "receiver": pickle.dumps(sent.receiver, 2),
        "sender state": sent.sender.session.to_bytes(),
        "receiver state": sent.receiver.to_bytes(),
        "last turn": pickle.dumps(sent.turns[-1], 2),
        "store": zlib.compress(sent.store, 9),
    }
    return {
        "wires": {name: stored(one.write()) for name, one in wires().items()},
        "pickles": {name: stored(pickle.dumps(one, 2)) for name, one in values().items()},
        "exchange": {name: stored(data) for name, data in exchanged.items()},
    }


if __name__ == "__main__":
    json.dump(record(), sys.stdout, ensure_ascii=False, indent=0)
    print()
