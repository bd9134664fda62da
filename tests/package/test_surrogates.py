"""A lone surrogate in an argument, valid in Python but not in UTF-8, is an ordinary error."""

from __future__ import annotations

import ast
import io
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis, arrow, cad, claims, gcf, wire
from tests.columns.producer import Column
from tests.package.test_options import BASE, NEXT, PAYLOAD, SET, SOURCES, WORDS
from tests.strategies.claims import ITEMS, SEED

PACKAGE = Path(cw.__file__).parent
LONE = "a\ud800b"
KEY = claims.SigningKey.from_seed(SEED)
ROWS = [{"a": 1, "b": 2}]

Call = Callable[[Any], object]


def stream(write: Callable[[gcf.StreamEncoder], object]) -> None:
    write(gcf.StreamEncoder(io.StringIO()))


def store(write: Callable[[gcf.SQLiteStore, Any], object]) -> None:
    with gcf.SQLiteStore() as opened:
        write(opened, opened.add_node("a", "function"))


def keyed_delta(**given: Any) -> gcf.KeyedDelta:
    root = "0" * 64
    return gcf.KeyedDelta(
        **{"key": "id", "base_root": root, "new_root": root, "fields": ["id"], **given}
    )


def edge(**given: Any) -> gcf.Edge:
    return gcf.Edge(**{"source": "a", "target": "b", "edge_type": "calls", **given})


def verify(**given: Any) -> cw.ClaimReport:
    return cw.verify_claim(**{"bundle": "a", "receipts": None, "claim": "b", **given})


def block() -> object:
    return types.SimpleNamespace(tokens_used=0, token_budget=0, symbols=[])


def bundle(**given: Any) -> object:
    names = {"run_id": "r", "job_id": "j", "message_id": "m", "items": ITEMS}
    return claims.build_bundle(**{"out_dir": PACKAGE / "none" / "x", **names, **given})


# By function and parameter: a call with a text.
CALLS: dict[str, Call] = {
    "Response.__new__ result": cw.Response,
    "Response.__new__ model": lambda v: cw.Response("", v),
    "Response.__new__ model_name": lambda v: cw.Response("", model_name=v),
    "Response.__new__ reasoning_effort": lambda v: cw.Response("", reasoning_effort=v),
    "encode response": cw.encode,
    "encode_bytes response": cw.encode_bytes,
    "encode_tool_call_bytes name": lambda v: cw.encode_tool_call_bytes(v, {}),
    "encode_tool_call_bytes context": lambda v: cw.encode_tool_call_bytes("t", {}, context=v),
    "Dictionary.train samples": lambda v: cw.Dictionary.train([v]),
    "Dictionary.train content_type": lambda v: cw.Dictionary.train(["a" * 99], content_type=v),
    "Dictionary.train model": lambda v: cw.Dictionary.train(["a" * 99], model=v),
    "Dictionary.load file": cw.Dictionary.load,
    "Dictionary.load name": lambda v: cw.Dictionary.load("none", name=v),
    "Dictionary.from_bytes name": lambda v: cw.Dictionary.from_bytes(b"", name=v),
    "Dictionary.save path": cw.Dictionary.default().save,
    "encode_delta old": lambda v: cw.encode_delta(v, ""),
    "encode_delta new": lambda v: cw.encode_delta("", v),
    "apply_delta old": lambda v: cw.apply_delta(v, "D|F|"),
    "DeltaStream.__new__ content": cw.DeltaStream,
    "DeltaStream.push content": cw.DeltaStream("").push,
    "Request.__new__ system": lambda v: cw.Request(system=v),
    "Request.__new__ context": lambda v: cw.Request(context=v),
    "Session.encode_request system": lambda v: cw.Session().encode_request(system=v),
    "Session.encode_request context": lambda v: cw.Session().encode_request(context=v),
    "Session.decode_graph text": cw.Session().decode_graph,
    "Session.encode_keyed tool": lambda v: cw.Session().encode_keyed(SET, tool=v),
    "Session.decode_keyed text": cw.Session().decode_keyed,
    "Session.forget ids": cw.Session().forget,
    "Shrunk.__new__ text": lambda v: cw.Shrunk(v, format="text", tokens_before=1, tokens_after=1),
    "estimate_tokens text": cw.estimate_tokens,
    "gcf_loads text": arrow.gcf_loads,
    "decode fields": lambda v: arrow.decode(Column(), fields=[v]),
    "shrink tokenizer": lambda v: cw.shrink("[1]", tokenizer=v),
    "shrink_messages tokenizer": lambda v: cw.shrink_messages([], tokenizer=v),
    "ToolCall.__new__ name": lambda v: cw.ToolCall(v, {}),
    "ToolCall.__new__ context": lambda v: cw.ToolCall("t", {}, context=v),
    "encode_tool_call name": lambda v: cw.encode_tool_call(v, {}),
    "encode_tool_call context": lambda v: cw.encode_tool_call("t", {}, context=v),
    "apply_delta delta": lambda v: (cw.apply_delta("", v), gcf.apply_delta(BASE, v)),
    "iter_compact source": lambda v: list(cad.iter_compact(v)),
    "load file": cad.load,
    "create_cad_compact compact": cad.create_cad_compact,
    "Check.__new__ id": lambda v: claims.Check(v, "passed", "text"),
    "Check.__new__ status": lambda v: claims.Check("1", v, "text"),
    "Check.__new__ text": lambda v: claims.Check("1", "passed", v),
    "Problem.__new__ code": lambda v: claims.Problem(v, "m", "p", None, "c"),
    "Problem.__new__ message": lambda v: claims.Problem("c", v, "p", None, "c"),
    "Problem.__new__ phase": lambda v: claims.Problem("c", "m", v, None, "c"),
    "Problem.__new__ path": lambda v: claims.Problem("c", "m", "p", v, "c"),
    "Problem.__new__ check": lambda v: claims.Problem("c", "m", "p", None, v),
    "SigningKey.from_hex seed": claims.SigningKey.from_hex,
    "SigningKey.load path": claims.SigningKey.load,
    "SigningKey.load_hex path": claims.SigningKey.load_hex,
    "SigningKey.save path": KEY.save,
    "verify_claim bundle": lambda v: verify(bundle=v),
    "verify_claim receipts": lambda v: verify(receipts=v),
    "verify_claim claim": lambda v: verify(claim=v),
    "verify_claim trust_policy": lambda v: verify(trust_policy=v),
    "verify_claim merkle_attestation": lambda v: verify(merkle_attestation=v),
    "build_bundle out_dir": lambda v: bundle(out_dir=v),
    "build_bundle run_id": lambda v: bundle(run_id=v),
    "build_bundle job_id": lambda v: bundle(job_id=v),
    "build_bundle message_id": lambda v: bundle(message_id=v),
    "build_bundle items": lambda v: bundle(items=[{"kind": v, "ref": "a", "text": "b"}]),
    "sign_receipt validator_id": lambda v: claims.sign_receipt({}, KEY, v),
    "sign_receipt build_id": lambda v: claims.sign_receipt({}, KEY, "v", v),
    "write_receipt folder": lambda v: claims.write_receipt(v, {}),
    "merkle_attestation validator_id": lambda v: claims.merkle_attestation([], KEY, v),
    "merkle_attestation build_id": lambda v: claims.merkle_attestation([], KEY, "v", v),
    "merkle_root hashes": lambda v: claims.merkle_root([v]),
    "make_claim bundle_dir": lambda v: claims.make_claim({}, v),
    "make_claim notes": lambda v: claims.make_claim({}, "none", notes=v),
    "write_json path": lambda v: claims.write_json(v, {}),
    "parse_json data": claims.parse_json,
    "dumps_grouped key": lambda v: gcf.dumps_grouped(ROWS, v, "b"),
    "dumps_grouped group": lambda v: gcf.dumps_grouped(ROWS, "a", v),
    "loads text": lambda v: (gcf.loads(v), cad.loads(v)),
    "dump file": lambda v: gcf.dump(1, v),
    "iter_rows source": gcf.iter_rows,
    "iter_rows path": lambda v: gcf.iter_rows(io.StringIO(""), v),
    "from_json text": gcf.from_json,
    "to_json text": gcf.to_json,
    "KeyedSet.__new__ key": lambda v: gcf.KeyedSet(ROWS, key=v),
    "KeyedSet.__new__ fields": lambda v: gcf.KeyedSet(ROWS, key="a", fields=["a", v]),
    "KeyedSet.__new__ name": lambda v: gcf.KeyedSet(ROWS, key="a", name=v),
    "KeyedSet.encode tool": lambda v: SET.encode(tool=v),
    "KeyedDelta.__new__ key": lambda v: keyed_delta(key=v),
    "KeyedDelta.__new__ base_root": lambda v: keyed_delta(base_root=v),
    "KeyedDelta.__new__ new_root": lambda v: keyed_delta(new_root=v),
    "KeyedDelta.__new__ fields": lambda v: keyed_delta(fields=["id", v]),
    "KeyedDelta.encode tool": lambda v: SET.delta(NEXT).encode(tool=v),
    "KeyedSnapshots.respond peer_root": lambda v: gcf.KeyedSnapshots().respond(SET, v),
    "KeyedSnapshots.respond tool": lambda v: gcf.KeyedSnapshots().respond(SET, None, tool=v),
    "KeyedProducer.__new__ tool": lambda v: gcf.KeyedProducer(SET, tool=v),
    "StreamEncoder.kv key": lambda v: stream(lambda encoder: encoder.kv(v, 1)),
    "StreamEncoder.list name": lambda v: stream(lambda encoder: encoder.list(v, [1])),
    "StreamEncoder.begin_array name": lambda v: stream(lambda e: e.begin_array(v, ["a"])),
    "StreamEncoder.begin_array fields": lambda v: stream(lambda e: e.begin_array("a", [v])),
    "StreamEncoder.begin_keyed_map name": lambda v: stream(lambda e: e.begin_keyed_map(v, ["a"])),
    "StreamEncoder.begin_keyed_map fields": lambda v: stream(lambda e: e.begin_keyed_map("a", [v])),
    "StreamEncoder.begin_keyed_map label": lambda v: stream(
        lambda e: e.begin_keyed_map("a", ["a"], label=v)
    ),
    "read_keyed text": gcf.read_keyed,
    "read_keyed_delta text": gcf.read_keyed_delta,
    "receive_keyed text": lambda v: gcf.receive_keyed(v, SET),
    "Location.__new__ file": lambda v: gcf.Location(v, 1, 1),
    "Symbol.__new__ qualified_name": lambda v: gcf.Symbol(v, "type"),
    "Symbol.__new__ kind": lambda v: gcf.Symbol("a", v),
    "Symbol.__new__ provenance": lambda v: gcf.Symbol("a", "type", provenance=v),
    "Symbol.__new__ signature": lambda v: gcf.Symbol("a", "type", signature=v),
    "Edge.__new__ source": lambda v: edge(source=v),
    "Edge.__new__ target": lambda v: edge(target=v),
    "Edge.__new__ edge_type": lambda v: edge(edge_type=v),
    "Edge.__new__ status": lambda v: edge(status=v),
    "Payload.__new__ tool": gcf.Payload,
    "Payload.__new__ pack_root": lambda v: gcf.Payload(pack_root=v),
    "DeltaPayload.__new__ tool": gcf.DeltaPayload,
    "DeltaPayload.__new__ base_root": lambda v: gcf.DeltaPayload(base_root=v),
    "DeltaPayload.__new__ new_root": lambda v: gcf.DeltaPayload(new_root=v),
    "Unchanged.__new__ tool": lambda v: gcf.Unchanged(tool=v),
    "Unchanged.__new__ pack_root": lambda v: gcf.Unchanged(pack_root=v),
    "GraphStreamEncoder.__new__ tool": lambda v: gcf.GraphStreamEncoder(print, tool=v),
    "GraphStreamEncoder.__new__ pack_root": lambda v: gcf.GraphStreamEncoder(print, pack_root=v),
    "decode text": gcf.decode,
    "respond peer_root": lambda v: gcf.respond(PAYLOAD, v),
    "count_tokens text": lambda v: (gcf.count_tokens(v), analysis.count_tokens(v)),
    "decode_gcb lossy": lambda v: wire.decode_gcb(wire.encode_gcb(PAYLOAD), lossy=[v]),
    "decode_json text": wire.decode_json,
    "from_context_block tool": lambda v: gcf.from_context_block(block(), v),
    "SQLiteStore.__init__ path": gcf.SQLiteStore,
    "SQLiteStore.add_node qualified_name": lambda v: store(lambda s, _: s.add_node(v, "type")),
    "SQLiteStore.add_node kind": lambda v: store(lambda s, _: s.add_node("a", v)),
    "SQLiteStore.add_node signature": lambda v: store(lambda s, _: s.add_node("a", "b", v)),
    "SQLiteStore.add_edge edge_type": lambda v: store(lambda s, node: s.add_edge(node, node, v)),
    "GcbCodec.__init__ lossy": lambda v: wire.GcbCodec(lossy=[v]).encode(PAYLOAD),
    "GcfCodec.decode data": wire.GcfCodec().decode,
    "JsonCodec.decode data": wire.JsonCodec().decode,
    "get name": wire.get,
    "encode_with name": lambda v: wire.encode_with(v, PAYLOAD),
    "decode_with name": lambda v: wire.decode_with(v, b""),
    "decode_with data": lambda v: wire.decode_with("json", v),
    "recommend formats": lambda v: analysis.recommend([1], formats=[v]),
    "recommend tokenizer": lambda v: analysis.recommend([1], tokenizer=v),
    "compare formats": lambda v: analysis.compare([1], formats=[v]),
    "batches column": lambda v: analysis.batches([], column=v),
    "held_out column": lambda v: analysis.held_out([], column=v),
    "measure column": lambda v: analysis.measure([], column=v),
    "measure formats": lambda v: analysis.measure([], formats=[v]),
    "measure tokenizer": lambda v: analysis.measure([], tokenizer=v),
    "sample column": lambda v: analysis.sample([], 1, column=v),
    "compare tokenizer": lambda v: analysis.compare([1], tokenizer=v),
    "compare_sessions tokenizer": lambda v: analysis.compare_sessions([{}], tokenizer=v),
    "count_tokens tokenizer": lambda v: analysis.count_tokens("a", v),
    "read_corpus folder": analysis.read_corpus,
}
# The name of a codec is any str; the title of a figure is drawn by matplotlib.
FREE = {"GcfCodec.__init__ name", "GcbCodec.__init__ name", "JsonCodec.__init__ name", "plot title"}

# The only input of a reader or writer: its errors need not name it.
INPUT = {"text", "data", "old", "new", "content", "response", "delta", "compact", "result"}
# These accept any str.
ACCEPTED = {"Shrunk.__new__ text", "estimate_tokens text", "create_cad_compact compact"}
# The error is about a part of the argument, or uses another word for it.
WORD = {"name": "name|codec", "folder": "folder"}


def parameters() -> Iterator[str]:
    """The parameters of public functions that take a text, a path, or several."""
    for path in [*SOURCES, PACKAGE / "_codecs.py"]:
        public = set(analysis.__all__) if path.parent.name == "analysis" else None
        if path.name == "_chat.py":  # The adapters use other functions of this module.
            public = set(cw.__all__)
        for owner in ast.parse(path.read_text(encoding="utf-8")).body:
            inside = owner.body if isinstance(owner, ast.ClassDef) and public is None else [owner]
            prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
            for function in inside:
                if not isinstance(function, ast.FunctionDef) or prefix.startswith("_"):
                    continue
                if function.name.startswith("_") and function.name not in ("__new__", "__init__"):
                    continue
                if public is not None and function.name not in public:
                    continue
                found = function.args
                all_ = [*found.posonlyargs, *found.args, *found.kwonlyargs, found.vararg]
                for one in all_:
                    kind = ast.unparse(one.annotation) if one and one.annotation else ""
                    kind = re.sub(r"Callable\[.*|(Mapping|dict)\[str, \S*|list\[str\]", "", kind)
                    if one and re.search(r"\bstr\b|_Path\b", kind):
                        yield f"{prefix}{function.name} {one.arg}"


def test_every_parameter_is_tested() -> None:
    assert set(parameters()) - set(CALLS) - set(WORDS) - FREE == set()


@pytest.mark.parametrize("parameter", CALLS)
def test_a_lone_surrogate_is_an_error_that_names_the_argument(parameter: str) -> None:
    name = parameter.split()[-1]
    if parameter in ACCEPTED:
        CALLS[parameter](LONE)
        return
    with pytest.raises((cw.CompactWireError, NotADirectoryError)) as info:
        CALLS[parameter](LONE)
    caught = info.value
    if isinstance(caught, cw.UnsupportedValue):
        assert caught.code == "invalid_surrogate"
    assert str(caught).isprintable()
    said = f"{caught} {vars(caught)}"
    assert name in INPUT or re.search(WORD.get(name, name.removesuffix("s")), said), said


@pytest.mark.parametrize("option", WORDS)
def test_a_lone_surrogate_is_an_unknown_word(option: str) -> None:
    with pytest.raises(cw.CompactWireError) as caught:
        WORDS[option](LONE)
    assert isinstance(caught.value, cw.OptionError | cw.EncodeError)
    name = option.split()[-1].removesuffix("s")
    assert re.search(f"{name}|expected|known", str(caught.value))
