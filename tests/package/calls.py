"""Calls of every public function and class, on valid input, and on invalid input, which is refused.

A new public name that is not in `CALLS` fails `test_leaks.py`.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
import tempfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import compactwire as cw
from compactwire import arrow, cad, claims, errors, gcf, wire
from tests.scaling.graph import gcb
from tests.strategies.claims import BUILD, ITEMS, KEY, SEED, chain, entry

Call = Callable[[], object]

FOLDER = Path(tempfile.gettempdir())
TEXT = "A text that is long enough to be compressed. " * 20
BAD = "~not valid~" * 50

EXPECTED = (errors.CompactWireError, TypeError, ValueError, OSError)
"""The exceptions that a call on invalid input may raise."""


def refused(call: Call) -> Call:
    """A call that must raise; others must not."""

    def run() -> None:
        try:
            call()
        except EXPECTED:
            return
        raise AssertionError("nothing was raised")

    return run


def both(function: Callable[[Any], object], good: Any, bad: Any) -> list[Call]:
    return [lambda: function(good), refused(lambda: function(bad))]


# Inputs

RESPONSE = cw.Response(TEXT, "C4", tokens=9)
WIRES: list[str | bytes] = [
    encode(RESPONSE, format=format)
    for format in ("verbose", "dsl", "zlib", "zstd")
    for encode in (cw.encode, cw.encode_bytes)
]
VALUE: Any = {"rows": [{"a": n, "b": f"text {n}", "c": [n, None, 1.5]} for n in range(20)]}
SET = gcf.KeyedSet([{"id": n, "a": f"x{n}"} for n in range(20)], key="id")
NEXT = gcf.KeyedSet([{"id": n, "a": f"x{n}"} for n in range(1, 21)], key="id")
NAMES = [f"pkg.Type{n}" for n in range(20)]
PAYLOAD = wire.decode_gcb(gcb([*NAMES, "n" * 999], [(n, 20) for n in range(20)]))
BASE, NEW = gcf.snapshot(PAYLOAD), gcf.snapshot(PAYLOAD.__replace__(edges=()))
DELTA = gcf.diff(BASE, NEW)
with tempfile.TemporaryDirectory() as folder:
    MANIFEST = claims.build_bundle(Path(folder, "bundle"), "run", "job", "message", ITEMS)
CHAIN = chain(MANIFEST, 2)
ROWS = [{"id": n, "a": f"x{n % 2}"} for n in range(20)]
BLOCK = SimpleNamespace(tokens_used=1, token_budget=2, symbols=[])
PART = cad.from_compact("# vcad 0.2\nM steel 0.5 0.5 0.5 1 0.2\nC 50 30 5\nROOT 0 steel")


def tool_turns() -> None:
    ours, theirs = cw.Session(), cw.Session()
    for pack in (False, True, "bytes"):
        frames: Any = ours.encode_request(  # type: ignore[call-overload]
            tool={"name": "t"}, context=TEXT, pack=pack
        )
        theirs.decode_request(frames)
        theirs.decode_graph(ours.encode_graph(PAYLOAD))
        theirs.decode_keyed(ours.encode_keyed(SET))
    pickle.loads(pickle.dumps(copy.copy(theirs)))


def lost_turn() -> None:
    ours = cw.Session()
    ours.encode_request(system=TEXT, context=TEXT)
    cw.Session().decode_request(ours.encode_request(system=TEXT, context=TEXT + "!"))


def delta_stream() -> None:
    stream = cw.DeltaStream(TEXT)
    stream.apply(cw.DeltaStream(TEXT).push(TEXT + "more"))
    refused(lambda: stream.apply("D|R|99999|x"))()


def graph_stream() -> None:
    pieces: list[str] = []
    with gcf.GraphStreamEncoder(pieces.append, session=cw.Session()) as stream:
        for symbol in PAYLOAD.symbols:
            stream.write_symbol(symbol)
        for edge in PAYLOAD.edges:
            stream.write_edge(edge)
        refused(lambda: stream.write_symbol(PAYLOAD.symbols[0]))()


def row_stream() -> None:
    out = io.BytesIO()
    with gcf.StreamEncoder(out) as stream:
        stream.begin_array("a", ["x"])
        stream.row([1])
        refused(lambda: stream.row([1, 2]))()


def keyed_snapshots() -> None:
    snapshots = gcf.KeyedSnapshots()
    snapshots.respond(SET, None)
    snapshots.respond(NEXT, SET.root)


def keyed_producer() -> None:
    producer = gcf.KeyedProducer(SET)
    producer.full()
    producer.push(NEXT)


def store() -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = gcf.SQLiteStore(Path(folder, "graph.db"))
        made.close()


def whole_claim() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = claims.build_bundle(folder / "bundle", "run", "job", "message", ITEMS)
        receipts = chain(manifest, 2)
        signed = claims.sign_receipt(receipts[0], KEY, "v", BUILD)
        claims.write_receipt(folder / "receipts", receipts[0])
        claims.write_json(folder / "claim.json", claims.make_claim(manifest, folder / "bundle"))
        report = cw.verify_claim(folder / "bundle", folder / "receipts", folder / "claim.json")
        report.to_dict(), report.to_json(), list(report.checks), signed
        merkle = claims.sign_merkle(receipts[:1], KEY, "v", BUILD)
        claims.verify_merkle_signature(merkle)
        claims.make_trust_policy([entry(KEY, "v")])


def written(write: Callable[[Path, Any], object], name: str, value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, name), value)


def codec() -> None:
    wire.encode_with("json", PAYLOAD)
    wire.decode_with("json", wire.encode_json(PAYLOAD))


def rows() -> None:
    text = gcf.dumps(VALUE["rows"])
    list(gcf.iter_rows(io.StringIO(text)))
    refused(lambda: list(gcf.iter_rows(io.BytesIO(text.encode() + b"\xff"))))()


GRAPH = {
    "Components": both(wire.Components, 1.0, "x"),
    "DeltaPayload": [lambda: pickle.loads(pickle.dumps(DELTA)), lambda: DELTA.removed_edges],
    "Edge": both(lambda name: repr(hash(wire.Edge("a", "b", name))), "calls", "\ud800"),
    "Location": both(lambda name: wire.Location(name, 1, 2), "f.rs", "\ud800"),
    "Payload": both(
        lambda edges: pickle.loads(pickle.dumps(wire.Payload("t", edges=edges))),
        [{"source": "a" * 99, "target": "b", "edge_type": "calls"}],
        [{"source": 1, "target": "b", "edge_type": "calls"}],
    ),
    "Symbol": both(lambda name: repr(hash(wire.Symbol(name, "type"))), "a", "\ud800"),
}
CLAIMS = [
    whole_claim,
    # The report says that the files are missing.
    lambda: cw.verify_claim(FOLDER / "none", None, FOLDER / "none"),
]

CALLS: dict[Any, dict[str, list[Call]]] = {
    cw: {
        "ClaimReport": CLAIMS,
        "DeltaStream": [delta_stream],
        "Dictionary": both(cw.Dictionary.from_bytes, cw.Dictionary.default().to_bytes(), b"ZDCT|"),
        "Format": both(cw.Format, "zstd", "none"),
        "Inspection": both(lambda wire: repr(cw.inspect(wire)), WIRES[3], BAD),
        "Request": both(lambda args: repr(cw.Request(args=args)), VALUE, {1, 2}),
        "Response": both(lambda text: repr(hash(cw.Response(text))), TEXT, "\ud800"),
        "Session": [tool_turns, refused(lost_turn)],
        "SessionStats": both(lambda n: repr(cw.SessionStats(messages=n)), 1, -1),
        "Shrunk": [lambda: pickle.loads(pickle.dumps(cw.shrink(TEXT)))],
        "ToolCall": both(lambda args: repr(cw.ToolCall("t", args)), VALUE, {1, 2}),
        "apply_delta": both(lambda delta: cw.apply_delta(TEXT, delta), "D|R|7|x", "D|R|9999|x"),
        "decode": [
            *(lambda wire=wire: cw.decode(wire) for wire in WIRES),
            refused(lambda: cw.decode(BAD)),
        ],
        "decode_base85": both(cw.decode_base85, cw.encode_base85(TEXT.encode()), BAD),
        "decode_tool_call": both(cw.decode_tool_call, cw.encode_tool_call("t", VALUE), BAD),
        "detect": both(cw.detect, WIRES[0], BAD),
        "encode": both(cw.encode, RESPONSE, {"x": 1}),
        "encode_bytes": both(cw.encode_bytes, RESPONSE, {"x": 1}),
        "encode_base85": both(cw.encode_base85, TEXT.encode(), 1),
        "encode_delta": both(lambda new: cw.encode_delta(TEXT, new), TEXT + "!", "\ud800"),
        "encode_tool_call": both(lambda args: cw.encode_tool_call("t", args), VALUE, {1, 2}),
        "encode_tool_call_bytes": both(partial(cw.encode_tool_call_bytes, "t"), VALUE, {1, 2}),
        "estimate_tokens": both(cw.estimate_tokens, TEXT, 1),
        "expand": both(cw.expand, cw.shrink([VALUE] * 20), TEXT),
        "inspect": both(cw.inspect, WIRES[2], BAD),
        "shrink": [
            lambda: cw.shrink([VALUE] * 20),
            lambda: cw.shrink(json.dumps([VALUE] * 20)),
            *both(cw.shrink, TEXT, {"a": {1, 2}}),
        ],
        "shrink_messages": both(
            cw.shrink_messages, [{"role": "tool", "content": json.dumps([VALUE] * 20)}], 1
        ),
        "verify_claim": CLAIMS,
    },
    gcf: {
        **GRAPH,
        "GraphStreamEncoder": [graph_stream],
        "KeyedDelta": [
            lambda: repr(hash(SET.delta(NEXT))),
            lambda: pickle.loads(pickle.dumps(SET.delta(NEXT))),
        ],
        "KeyedProducer": [keyed_producer],
        "KeyedSet": both(lambda rows: gcf.KeyedSet(rows, key="id"), [{"id": 1}], [{"x": 1}]),
        "KeyedSnapshots": [keyed_snapshots],
        "SQLiteStore": [store],
        "StreamEncoder": [row_stream],
        "Unchanged": both(gcf.decode, gcf.encode_unchanged(BASE), "GCF profile=graph unchanged"),
        "apply_delta": both(lambda base: gcf.apply_delta(base, DELTA), BASE, NEW),
        "count_tokens": both(gcf.count_tokens, TEXT, "\ud800"),
        "decode": both(gcf.decode, gcf.encode(PAYLOAD), "GCF profile=graph\n@0 x"),
        "diff": [
            lambda: gcf.diff(BASE, NEW),
            refused(lambda: gcf.diff(BASE, NEW, max_expansion=1)),
        ],
        "dump": both(lambda value: gcf.dump(value, io.StringIO()), VALUE, {1, 2}),
        "dumps": both(gcf.dumps, VALUE, {"a": {1, 2}}),
        "dumps_bytes": both(gcf.dumps_bytes, VALUE, {"a": {1, 2}}),
        "dumps_grouped": both(
            lambda group: gcf.dumps_grouped(ROWS, "id", group, reorder=True), "a", 1
        ),
        "encode": both(lambda how: gcf.encode(PAYLOAD, dangling=how), "error", "x"),
        "encode_delta": both(gcf.encode_delta, DELTA, gcf.DeltaPayload()),
        "encode_unchanged": both(gcf.encode_unchanged, BASE, PAYLOAD),
        "from_context_block": both(lambda block: gcf.from_context_block(block, "t"), BLOCK, 1),
        "from_json": both(gcf.from_json, '{"a":[1,2]}', '{"a":'),
        "iter_rows": [rows],
        "load": both(lambda text: gcf.load(io.StringIO(text)), gcf.dumps(VALUE), BAD),
        "loads": both(gcf.loads, gcf.dumps(VALUE), gcf.dumps(VALUE) + BAD),
        "pack_root": both(lambda limit: gcf.pack_root(PAYLOAD, max_expansion=limit), 1 << 20, 0),
        "read_keyed": both(gcf.read_keyed, SET.encode(), BAD),
        "read_keyed_delta": both(gcf.read_keyed_delta, SET.delta(NEXT).encode(), BAD),
        "receive_keyed": both(lambda text: gcf.receive_keyed(text, None), SET.encode(), BAD),
        "respond": both(
            lambda base: gcf.respond(NEW, BASE.pack_root, snapshots={BASE.pack_root: base}), BASE, 1
        ),
        "snapshot": both(lambda limit: gcf.snapshot(PAYLOAD, max_expansion=limit), 1 << 20, 0),
        "to_json": both(gcf.to_json, gcf.dumps(VALUE), gcf.dumps(VALUE) + BAD),
    },
    wire: {
        **GRAPH,
        "GcbCodec": both(wire.GcbCodec().decode, wire.encode_gcb(PAYLOAD), b"GCB1"),
        "GcfCodec": both(wire.GcfCodec().decode, gcf.encode(PAYLOAD), BAD),
        "JsonCodec": both(wire.JsonCodec().decode, wire.encode_json(PAYLOAD), BAD),
        "decode_gcb": both(wire.decode_gcb, wire.encode_gcb(PAYLOAD), b"GCB1\x01\x00"),
        "decode_json": both(wire.decode_json, wire.encode_json(PAYLOAD), '{"symbols":[1]}'),
        "decode_with": [codec],
        "encode_gcb": both(wire.encode_gcb, PAYLOAD, BASE),
        "encode_json": both(
            lambda limit: wire.encode_json(PAYLOAD, max_expansion=limit), 1 << 20, 0
        ),
        "encode_with": [codec],
        "get": both(wire.get, "gcb", "none"),
        "list": [wire.list],
        "list_names": [wire.list_names],
        "register": [
            refused(lambda: wire.register(wire.GcbCodec())),
            refused(lambda: wire.register(1)),
        ],  # type: ignore[arg-type]
    },
    cad: {
        "CompactIterator": both(lambda text: list(cad.iter_compact([text])), "C 1 2 3", BAD),
        "Preview": [lambda: cad.Preview],
        "canonical": both(cad.canonical, PART, {"nodes": 1}),
        "check": [lambda: cad.check("C 1 2 3"), lambda: cad.check(BAD)],
        "create_cad_compact": [
            lambda: cad.create_cad_compact("C 1 2 3"),
            lambda: cad.create_cad_compact(BAD),
        ],
        "dumps": both(cad.dumps, PART, {"nodes": 1}),
        "from_binary": both(cad.from_binary, cad.to_binary(PART), b"x"),
        "from_compact": both(cad.from_compact, "C 1 2 3", BAD),
        "from_hybrid": both(cad.from_hybrid, cad.to_hybrid(PART), {"nodes": 1}),
        "iter_compact": both(lambda text: list(cad.iter_compact([text])), "C 1 2 3", BAD),
        "load": both(lambda text: cad.load(io.StringIO(text)), cad.dumps(PART), BAD),
        "loads": both(cad.loads, cad.dumps(PART), BAD),
        "losses": both(lambda part: cad.losses(part, "0.1"), PART, {"nodes": 1}),
        # Drawing needs an optional package, and is Python code.
        "preview": [],
        "to_binary": both(cad.to_binary, PART, {"nodes": 1}),
        "to_compact": both(cad.to_compact, PART, {"nodes": 1}),
        "to_hybrid": both(cad.to_hybrid, PART, {"nodes": 1}),
    },
    claims: {
        "Check": both(lambda id: repr(hash(claims.Check(id, "ok", "text"))), "1", 1),
        "ClaimReport": CLAIMS,
        "Problem": both(lambda code: repr(claims.Problem(code, "m", "p", None, "c")), "1", 1),
        "SigningKey": both(claims.SigningKey.from_seed, SEED, b"short"),
        "build_bundle": CLAIMS,
        "canonical_json": both(claims.canonical_json, VALUE, {"a": {1, 2}}),
        "estimate_tokens": both(claims.estimate_tokens, 9, -1),
        "generate_key": [claims.generate_key],
        "make_claim": CLAIMS,
        "make_receipt": both(claims.make_receipt, MANIFEST, {}),
        "make_trust_policy": both(claims.make_trust_policy, [], [1]),
        "merkle_attestation": both(lambda c: claims.merkle_attestation(c, KEY), CHAIN, [1]),
        "merkle_root": both(claims.merkle_root, ["0" * 64] * 9, ["x"]),
        "parse_json": both(claims.parse_json, b'{"a":[1,2]}', b'{"a":'),
        "sign_merkle": both(lambda c: claims.sign_merkle(c, KEY, "v", BUILD), CHAIN, [1]),
        "sign_receipt": both(lambda r: claims.sign_receipt(r, KEY, "v", BUILD), CHAIN[0], {}),
        "verify_claim": CLAIMS,
        "verify_merkle_signature": both(
            claims.verify_merkle_signature, claims.sign_merkle(CHAIN, KEY, "v", BUILD), {}
        ),
        "write_json": both(partial(written, claims.write_json, "x"), {}, {1, 2}),
        "write_receipt": both(partial(written, claims.write_receipt, ""), CHAIN[0], {}),
    },
}


def calls_of_arrow(pyarrow: Any) -> dict[str, list[Call]]:
    """The functions of `compactwire.arrow`, on columns of pyarrow."""
    texts, wires = pyarrow.array([TEXT, None]), pyarrow.array(map(str, WIRES[::2]))
    json_texts, gcf_texts = (pyarrow.array([write(VALUE)]) for write in (json.dumps, gcf.dumps))
    parts, bad = pyarrow.array([cad.dumps(PART)]), pyarrow.array([BAD])

    def column() -> None:
        made = arrow.encode(texts)
        made.__arrow_c_schema__(), made.__arrow_c_array__(), made.__arrow_c_stream__()

    return {
        "Column": [column],
        "cad_from_binary": both(arrow.cad_from_binary, arrow.cad_to_binary(parts), bad),
        "cad_from_compact": both(arrow.cad_from_compact, pyarrow.array(["C 1 2 3"]), bad),
        "cad_to_binary": both(arrow.cad_to_binary, parts, bad),
        "cad_to_compact": both(arrow.cad_to_compact, parts, bad),
        "count_tokens": both(arrow.count_tokens, texts, 1),
        "decode": both(arrow.decode, wires, bad),
        "detect": both(arrow.detect, wires, 1),
        "encode": both(arrow.encode, texts, 1),
        "gcf_from_json": both(arrow.gcf_from_json, json_texts, bad),
        "gcf_loads": both(arrow.gcf_loads, gcf.dumps(ROWS), BAD),
        "gcf_to_json": both(arrow.gcf_to_json, gcf_texts, bad),
        "inspect": both(arrow.inspect, wires, bad),
    }


# With the producer of `tests.columns`, the callbacks of ctypes would keep memory.
ARROW = calls_of_arrow(import_module("pyarrow")) if find_spec("pyarrow") else {}

ALL: dict[str, Call] = {
    f"{module.__name__}.{name} {number}": call
    for module, names in {**CALLS, arrow: ARROW}.items()
    for name, calls in names.items()
    for number, call in enumerate(calls)
}
