"""A value of a wrong type is a `TypeError` or an error of the package, at every public parameter.

An error that the value itself raises may reach the caller.

Every public function, class and method is called with the samples below; then each of its
parameters in turn gets each of the wrong values. A required parameter without a sample fails.

The text of the error names the parameter. PyO3 alone adds the name in a note, which tracebacks show
but `str(error)` does not.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import io
import re
import tempfile
import types
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis, arrow, cad, claims, conformance, gcf, http, savings, turns, wire
from tests.agents import needed
from tests.columns.producer import Column
from tests.package.calls import BASE, DELTA, NEW, NEXT, PART, PAYLOAD, SET, TEXT, VALUE
from tests.strategies.claims import BUILD, ITEMS, SEED, build, chain

MODULES = [cw, gcf, wire, cad, claims, arrow, analysis, conformance, http, savings, turns]
ROWS = [{"a": 1, "b": "x"}]
GRAPH_TEXT = gcf.encode(PAYLOAD)
ROOT = "0" * 64
KEY = claims.SigningKey.from_seed(SEED)

# Objects of this class have every attribute, of a type that no function expects.
Odd = type("Odd", (), {"__getattr__": lambda self, name: object()})


class OwnError(Exception):
    """What the methods of a caller's object raise."""


def raise_own(*_: object) -> Any:
    raise OwnError


# Objects of this class have every method, and each raises.
Failing = type(
    "Failing",
    (),
    dict.fromkeys(
        (
            *("__index__", "__int__", "__float__", "__complex__", "__abs__", "__bool__", "__len__"),
            *("__str__", "__repr__", "__bytes__", "__format__", "__fspath__", "__call__"),
            *("__eq__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__", "__getattr__"),
            *("__iter__", "__next__", "__getitem__", "__contains__", "__enter__", "__buffer__"),
        ),
        raise_own,
    ),
)


def wrong() -> list[Any]:
    return [
        *(None, True, -1, 10**30, 1.5, float("nan"), 1j, object(), Odd(), type, len, lambda: 1),
        *("", "\ud800", "a\0b", b"", b"\xff", bytearray(b"x"), memoryview(b"abcd").cast("i")),
        *([], [None], [object()], [[]], ["\ud800"], (1, 2), {}, {"a": object()}, {1: 2}, {1}),
        *({"\ud800": 1}, range(3), iter([1]), Path("none"), io.StringIO("x"), io.BytesIO(b"x")),
        *(10**5000, -(10**5000), [10**5000], Decimal("NaN"), Decimal("sNaN"), Fraction(10**400)),
        *(Failing(), [Failing()]),
    ]


def block() -> object:
    node = types.SimpleNamespace(qualified_name="a", kind="function", signature="", node_hash="h")
    parts = types.SimpleNamespace(blast_radius=0.0, confidence=0.0, recency=0.0, distance=0.0)
    symbol = types.SimpleNamespace(node=node, score=1.0, provenance="p", distance=0)
    symbol.components = parts
    return types.SimpleNamespace(tokens_used=0, token_budget=0, symbols=[symbol])


def stream() -> gcf.StreamEncoder:
    return gcf.StreamEncoder(io.StringIO())


@cache
def receipts() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        return chain(build(f"{folder}/bundle"), 1)


def rows_measured() -> Any:
    return analysis.measure(Column(["text"]), formats=["dsl"], tokenizer=None)


# Required parameters: by name, or by function and name.
SAMPLES: dict[str, Any] = {
    "after": lambda: 1,
    "holder": str,
    "number": lambda: 1,
    "digest": bytes,
    "answer": str,
    "session": cw.Session,
    "before": lambda: 1,
    "source Saving": lambda: "mcp",
    "unit": lambda: "tokens",
    "summary": lambda: analysis.summarize(rows_measured()),
    "system": lambda: "gcf",
    "vector": str,
    "outcomes": tuple,
    "encode": lambda: str,
    "decode": lambda: str,
    "reader": lambda: "program",
    "done": lambda: 1,
    "total": lambda: 1,
    "seconds": lambda: 1.0,
    "purpose": lambda: "tokens",
    "tokens": lambda: 1,
    "bytes": lambda: 1,
    "figures": list,
    "tokenizer": lambda: "x",
    "why": str,
    "seconds_low": float,
    "seconds_high": float,
    "frame": lambda: None,
    "result": lambda: TEXT,
    "tokens_before": lambda: 2,
    "tokens_after": lambda: 1,
    "line": lambda: 1,
    "column Location": lambda: 1,
    "tool": lambda: "t",
    "notes": list,
    "src": lambda: "C 1 2 3",
    "code": lambda: "1",
    "message": lambda: "m",
    "phase": lambda: "p",
    "check": lambda: "c",
    "id": lambda: "1",
    "status": lambda: "ok",
    "base KeyedProducer": lambda: SET,
    "base receive_keyed": lambda: SET,
    "text decode": lambda: GRAPH_TEXT,
    "text decode_graph": lambda: GRAPH_TEXT,
    "text decode_keyed": SET.encode,
    "text receive_keyed": SET.encode,
    "text read_keyed": SET.encode,
    "text read_keyed_delta": SET.delta(NEXT).encode,  # type: ignore[union-attr]
    "text expand": lambda: cw.shrink(VALUE),
    "text from_json": lambda: "[1]",
    "text loads": lambda: gcf.dumps(VALUE),
    "text to_json": lambda: gcf.dumps(VALUE),
    "text gcf_loads": lambda: gcf.dumps(ROWS),
    "text parse_json": lambda: "[1]",
    "text decode_base85": lambda: cw.encode_base85(b"text"),
    "delta apply_delta": lambda: "D|+|more",
    "delta gcf.apply_delta": lambda: DELTA,
    "base gcf.apply_delta": lambda: BASE,
    "wire decode_tool_call": lambda: cw.encode_tool_call("t", VALUE),
    "data JsonCodec.decode": lambda: wire.encode_json(PAYLOAD),
    "data GcfCodec.decode": lambda: GRAPH_TEXT,
    "data decode_with": lambda: GRAPH_TEXT,
    "data GcbCodec.decode": lambda: wire.encode_gcb(PAYLOAD),
    "data decode_gcb": lambda: wire.encode_gcb(PAYLOAD),
    "text decode_json": lambda: wire.encode_json(PAYLOAD),
    "data Dictionary.from_bytes": cw.Dictionary.default().to_bytes,
    "data Session.from_bytes": cw.Session().to_bytes,
    "data parse_json": lambda: b"[1]",
    "data from_binary": lambda: cad.to_binary(PART),
    "key dumps_grouped": lambda: "a",
    "rows KeyedSet": lambda: [{"id": 1}],
    "source SQLiteStore.add_edge": lambda: types.SimpleNamespace(node_hash="h"),
    "target SQLiteStore.add_edge": lambda: types.SimpleNamespace(node_hash="h"),
    "target StreamEncoder": io.StringIO,
    "value StreamEncoder.kv": lambda: 1,
    "value Format": lambda: "zstd",
    "value compare": lambda: 1,
    "value recommend": lambda: 1,
    "payload encode_unchanged": lambda: BASE,
    "row StreamEncoder.row": list,
    "size Dictionary.train": lambda: 256,
    "samples": lambda: [f"{TEXT} {n}" * 9 for n in range(99)],
    "symbol": lambda: gcf.Symbol("a", "function", 0.5, "lsp"),
    "key sign_merkle": lambda: KEY,
    "seed SigningKey.from_hex": lambda: "01" * 32,
    "app": lambda: lambda scope, receive, send: None,
    "arguments": lambda: VALUE,
    "attestation": lambda: claims.merkle_attestation(receipts(), KEY, "v", BUILD),
    "base": lambda: BASE,
    "base_root": lambda: ROOT,
    "block": block,
    "bundle": lambda: "bundle",
    "bundle_dir": lambda: "bundle",
    "chain": receipts,
    "claim": lambda: "claim.json",
    "codec": wire.GcbCodec,
    "column": lambda: Column(["text"]),
    "compact": lambda: "C 1 2 3",
    "content": lambda: TEXT,
    "conversation": lambda: "one",
    "conversation compare_sessions": lambda: [{"role": "user", "content": "hello"}],
    "data": lambda: b"x",
    "deliver": lambda: lambda turn: None,
    "delta": lambda: "D|+|more",
    "delta KeyedSet.apply": lambda: SET.delta(NEXT),
    "delta encode_delta": lambda: DELTA,
    "doc": lambda: PART,
    "document": lambda: PART,
    "edge": lambda: gcf.Edge("a", "b", "calls"),
    "edge_type": lambda: "calls",
    "entries": list,
    "fields": lambda: ["a"],
    "file": lambda: "none",
    "file Location": lambda: "a.py",
    "folder": lambda: "folder",
    "format": lambda: "text",
    "frames": lambda: cw.Session().encode_request(context=TEXT),
    "group": lambda: "b",
    "hashes": lambda: [ROOT],
    "inner": lambda: needed("httpx").MockTransport(len),
    "inputs": lambda: {"a": VALUE},
    "items": lambda: ITEMS,
    "job_id": lambda: "j",
    "k": lambda: 1,
    "key": lambda: "id",
    "key StreamEncoder.kv": lambda: "a",
    "key merkle_attestation": lambda: KEY,
    "key sign_receipt": lambda: KEY,
    "kind": lambda: "function",
    "last": lambda: 1,
    "manifest": dict,
    "message_id": lambda: "m",
    "messages": list,
    "name": lambda: "a",
    "name get": lambda: "gcf",
    "name encode_with": lambda: "gcf",
    "name decode_with": lambda: "gcf",
    "new": lambda: NEW,
    "new KeyedProducer.push": lambda: NEXT,
    "new KeyedSet.delta": lambda: NEXT,
    "new KeyedSnapshots.respond": lambda: NEXT,
    "new encode_delta": lambda: TEXT,
    "new_root": lambda: ROOT,
    "node": lambda: types.SimpleNamespace(node_hash="h"),
    "obj": lambda: VALUE,
    "obj from_hybrid": lambda: cad.to_hybrid(PART),
    "old": lambda: TEXT,
    "out_dir": lambda: "made",
    "path": lambda: "none",
    "payload": lambda: PAYLOAD,
    "peer_root": lambda: ROOT,
    "qualified_name": lambda: "a",
    "receipt": lambda: receipts()[0],
    "receipts": lambda: None,
    "respond": lambda: lambda request: "answer",
    "response": lambda: TEXT,
    "rows": lambda: ROWS,
    "run_id": lambda: "r",
    "saved": lambda: turns.SavedSession(1, b"", "", cw.Session().to_bytes()),
    "seed": lambda: SEED,
    "set": lambda: SET,
    "size": lambda: 1,
    "source": lambda: io.StringIO(gcf.dumps(ROWS)),
    "source Edge": lambda: "a",
    "table": rows_measured,
    "tables": lambda: [rows_measured()],
    "target": lambda: "b",
    "text": lambda: TEXT,
    "turn": lambda: turns.Turn(1, cw.Session().encode_request(context=TEXT)),
    "value": lambda: VALUE,
    "values": lambda: [1],
    "wire": lambda: cw.encode(TEXT),
    "write": lambda: lambda text: None,
}

# Options of the analysis, which measures for seconds and loads a tokenizer by default.
QUICK: dict[str, Any] = {"seconds": 0.0, "tokenizer": len}

# Objects with methods.
OBJECTS: dict[type, Callable[[], Any]] = {
    cw.DeltaStream: lambda: cw.DeltaStream(TEXT),
    cw.Dictionary: cw.Dictionary.default,
    cw.Session: cw.Session,
    cad.Preview: lambda: cad.Preview(b"", "png", []),
    claims.SigningKey: claims.generate_key,
    gcf.GraphStreamEncoder: lambda: gcf.GraphStreamEncoder(lambda text: None),
    gcf.KeyedDelta: lambda: SET.delta(NEXT),
    gcf.KeyedProducer: lambda: gcf.KeyedProducer(SET),
    gcf.KeyedSet: lambda: SET,
    gcf.KeyedSnapshots: gcf.KeyedSnapshots,
    gcf.SQLiteStore: gcf.SQLiteStore,
    gcf.StreamEncoder: stream,
    wire.GcbCodec: wire.GcbCodec,
    wire.GcfCodec: wire.GcfCodec,
    wire.JsonCodec: wire.JsonCodec,
    turns.MemorySessionStore: turns.MemorySessionStore,
    turns.SQLiteSessionStore: lambda: turns.SQLiteSessionStore(":memory:"),
    turns.Sender: turns.Sender,
    savings.Savings: savings.Savings,
}


def method_of(new: Callable[[], Any], name: str) -> Callable[..., Any]:
    return getattr(new(), name)  # type: ignore[no-any-return]


def surface() -> Iterator[tuple[str, Callable[[], Callable[..., Any]]]]:
    """Every public function, class and method: its name, and how to get at it."""
    for module in MODULES:
        for name in module.__all__:
            entry = getattr(module, name)
            if inspect.isclass(entry) and issubclass(entry, BaseException):
                continue
            if callable(entry):
                yield f"{module.__name__}.{name}", partial(getattr, module, name)
            for made, new in OBJECTS.items():
                if made is entry:
                    for method in dir(made):
                        if not method.startswith("_") and callable(getattr(made, method)):
                            full = f"{module.__name__}.{name}.{method}"
                            yield full, partial(method_of, new, method)


SURFACE = dict(surface())


def close(made: object) -> None:
    """Closes a store: Python 3.13 and later warn of a database that is left open."""
    if isinstance(made, gcf.SQLiteStore | turns.SQLiteSessionStore):
        made.close()


@contextmanager
def entry(name: str) -> Iterator[Callable[..., Any]]:
    """What the surface has under a name, with an object of its own if it is a method."""
    function = SURFACE[name]()
    try:
        yield function
    finally:
        close(getattr(function, "__self__", None))


def parameters(name: str) -> list[inspect.Parameter]:
    with entry(name) as function:
        return list(inspect.signature(function).parameters.values())


def call(name: str, target: str = "", value: object = None) -> object:
    """Calls with samples, but `value` for one parameter."""
    args: list[Any] = []
    options: dict[str, Any] = {}
    for one in parameters(name):
        if one.name == target:
            given = value
        elif one.name in QUICK and ".analysis." in name:
            given = QUICK[one.name]
        elif one.default is not one.empty and one.kind is not one.POSITIONAL_ONLY:
            continue
        elif one.default is not one.empty:
            given = one.default
        elif one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        else:
            given = sample(name, one.name)
        if one.kind is one.VAR_KEYWORD:
            options["context"] = given
        elif one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD):
            options[one.name] = given
        else:
            args.append(given)
    with entry(name) as function:
        result = function(*args, **options)
        close(result)
        return asyncio.run(result) if inspect.iscoroutine(result) else result


def sample(name: str, parameter: str) -> Any:
    """The sample of a parameter: for the method, for the function or class, or for any."""
    for known in (".".join(name.split(".")[-2:]), name.rpartition(".")[2]):
        if f"{parameter} {known}" in SAMPLES:
            return SAMPLES[f"{parameter} {known}"]()
    return SAMPLES[parameter]()


# Python's own error for a word that no member of an enum has.
FOREIGN: dict[str, type[Exception]] = {"compactwire.Format": ValueError}


@pytest.mark.parametrize("name", SURFACE)
def test_a_value_of_a_wrong_type_is_an_error_of_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = (cw.CompactWireError, TypeError, OSError, *filter(None, [FOREIGN.get(name)]))
    ours += (OwnError,)
    monkeypatch.chdir(tmp_path)
    with suppress(*ours):
        call(name)
    for parameter in [one.name for one in parameters(name)]:
        for at, value in enumerate(wrong()):
            if parameter == "seconds" and isinstance(value, int | Fraction) and value > 10**20:
                continue  # The caller may ask for as many.
            # Some calls write files.
            folder = tmp_path / f"{parameter}{at}"
            folder.mkdir()
            monkeypatch.chdir(folder)
            with suppress(*ours):
                call(name, parameter, value)


class Wrong:
    """Objects of this class are of no type that a parameter expects."""


# The items of these generators are checked when they are taken, and a store without leases looks at
# no argument of theirs.
UNCHECKED = {
    *("compactwire.analysis.batches source", "compactwire.analysis.held_out source"),
    *(
        f"compactwire.turns.MemorySessionStore.{method} {parameter}"
        for method in ("lease", "release")
        for parameter in ("conversation", "holder")
    ),
}

# These parameters take any object: the path of the error begins with the value itself.
VALUES = {"value", "values", "obj", "rows", "doc", "document"}
PATH = r"\$|^document"


def is_checked(name: str) -> bool:
    """Whether it checks its arguments: dataclasses, named tuples and abstract classes do not."""
    with entry(name) as made:
        is_record = dataclasses.is_dataclass(made) or hasattr(made, "_field_defaults")
        return not (is_record or inspect.isabstract(made) or made is cad.Preview)


PARAMETERS = [
    (name, one.name)
    for name in SURFACE
    if is_checked(name) and name not in FOREIGN
    for one in parameters(name)
    if not one.name.startswith("_") and one.kind is not one.VAR_KEYWORD
]


def error_of(*arguments: Any) -> str | None:
    """The text of the error of a call with the samples, if there is one."""
    try:
        call(*arguments)
    except (TypeError, cw.CompactWireError, OSError) as error:
        return str(error)
    return None


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_the_error_of_a_wrong_type_names_the_parameter(
    name: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = error_of(name)  # Some samples are not valid content.
    named = rf"\b{parameter}\b" + (f"|{PATH}" if parameter in VALUES else "")
    for value in (Wrong(), [Wrong()], 5):
        message = error_of(name, parameter, value)
        # An int is right for some, and a list for others; a `Wrong` for none.
        assert message or not isinstance(value, Wrong) or f"{name} {parameter}" in UNCHECKED
        assert message in (None, before) or re.search(named, message), (value, message)


@pytest.mark.parametrize("text", ["ab", b"ab", bytearray(b"ab"), memoryview(b"ab")])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda text: cw.shrink([1], formats=text), "formats"),
        (lambda text: cw.Dictionary.train(text), "samples"),
        (lambda text: cw.decode("RES|OK||0|x", dictionaries=text), "dictionaries"),
        (lambda text: gcf.Payload(symbols=text), "symbols"),
        (lambda text: gcf.KeyedSet(text, key="id"), "rows"),
        (
            lambda text: gcf.KeyedDelta(key="id", base_root="", new_root="", removed=text),
            "removed",
        ),
        (lambda text: claims.merkle_root(text), "hashes"),
    ],
)
def test_the_characters_of_a_text_are_not_the_items_of_an_iterable(
    call: Callable[[Any], object], name: str, text: Any
) -> None:
    with pytest.raises(
        TypeError, match=rf"^{name} must be an iterable of .*, not {type(text).__name__}$"
    ):
        call(text)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cw.shrink([1], formats=5), "formats must be an iterable of str, not int"),
        (lambda: cw.shrink([1], default=5), "default must be a function, not int"),
        (lambda: cw.shrink([1], min_saving=True), "min_saving must be a float, not bool"),
        (lambda: gcf.Symbol("a", "type", True), "score must be a float, not bool"),
        (lambda: cw.shrink([1], extensions=5), "extensions must be a bool, not int"),
        (lambda: cw.encode("", dictionary=[]), "dictionary must be a Dictionary or None, not list"),
        (lambda: cw.encode("", protocol="4"), "protocol must be an int or None, not str"),
        (lambda: cw.encode("", protocol=True), "protocol must be an int or None, not bool"),
        (
            lambda: cw.encode("", msgpack_version=1.0),
            "msgpack_version must be 1, 2, 3 or 'map', not float",
        ),
        (
            lambda: cw.encode("", msgpack_version=True),
            "msgpack_version must be 1, 2, 3 or 'map', not bool",
        ),
        (lambda: cw.decode(5), "wire must be str, bytes, bytearray or memoryview, not int"),
        (
            lambda: cw.Session().decode_request(5),
            "frames must be an iterable of str or bytes, not int",
        ),
        (
            lambda: cw.Session().decode_request(["RES|", 5]),
            "frames[1] must be str, bytes, bytearray or memoryview, not int",
        ),
        (
            lambda: cw.Session().decode_request(memoryview(array("I", [1]))),  # type: ignore[arg-type]
            "frames must be a memoryview of bytes, not of items of format I in 1 dimensions; "
            "pass bytes(view)",
        ),
        (lambda: cw.Session().forget(("t_1",)), "each of *ids must be a str, not tuple"),
        (lambda: turns.Turn(1, 5), "frames must be an iterable of str or bytes, not int"),
        (lambda: gcf.Payload(symbols=5), "symbols must be an iterable of Symbol or dict, not int"),
        (lambda: gcf.Payload(symbols=[5]), "symbols[0] must be a Symbol or a dict, not int"),
        (lambda: gcf.KeyedSet(5, key="id"), "rows must be an iterable of dict, not int"),
        (lambda: gcf.GraphStreamEncoder(5), "write must be a function, not int"),
        (lambda: gcf.dumps([1], flatten="no"), "flatten must be a bool, not str"),
        (
            lambda: conformance.run(Path(__file__).parent, max_input="x"),
            "max_input must be an int, not str",
        ),
        (lambda: gcf.encode(5), "payload must be a Payload, not int"),
        (
            lambda: analysis.compare([1], formats=5),
            "formats must be an iterable of str or Candidate, not int",
        ),
    ],
)  # fmt: skip
def test_the_error_of_a_wrong_type_says_what_is_expected_and_what_was_found(
    call: Any, message: str
) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == message
