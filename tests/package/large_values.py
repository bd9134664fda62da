"""Inputs whose single row, key, string or list is large, for the test of too little memory.

The cases of `tests/scaling` grow in many small steps, each of which checks the memory; in these,
most of the memory is taken in one step.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import compactwire as cw
from compactwire import arrow, cad, claims, gcf, wire
from tests.columns.producer import Column
from tests.scaling import claims as scaling
from tests.scaling.harness import Case
from tests.strategies.claims import KEY, OTHER_KEY, entry

Make = Callable[[int], Any]


def case(name: str, call: Callable[[Any], object], make: Make, large: int) -> Case:
    return Case(name, call, make, 100, large)


def wide_row(count: int) -> Any:
    return [{f"key{n}": n for n in range(count)}]


def long_keys(count: int) -> Any:
    return [{f"k{n}" * (count // 2): 1 for n in range(4)}]


def unlike_rows(count: int) -> Any:
    return [{f"a{n}": n for n in range(count)}, {f"b{n}": n for n in range(count)}]


def wide_members(count: int) -> Any:
    return {"a": {"b": wide_row(count)}, "c": wide_row(count)[0]}


def wide_cells(count: int) -> Any:
    return [{"r": {f"key{n}": n for n in range(count)}} for _ in range(3)]


def long_lists(count: int) -> Any:
    return [{"id": 1, "tags": list(range(count))}, {"id": 2, "tags": ["x"] * count}]


def matrix(count: int) -> Any:
    return {"m": [[n, n + 1, n + 2] for n in range(count)]}


def wide_matrix(count: int) -> Any:
    return {"m": [list(range(count))] * 3}


def long_texts(count: int) -> Any:
    return ["é" + "a" * count, "b" * count]


def escapes(count: int) -> Any:
    return ['\n"\\\t' * count]


def wide_escapes(count: int) -> Any:
    return ["\U0001f600é\n" * count]


def empty_lists(count: int) -> Any:
    return [[] for _ in range(count)]


def empty_dicts(count: int) -> Any:
    return [{} for _ in range(count)]


VALUES: list[tuple[Make, int]] = [
    (wide_row, 100_000),
    (long_keys, 500_000),
    (unlike_rows, 50_000),
    (wide_members, 50_000),
    (wide_cells, 50_000),
    (long_lists, 100_000),
    (matrix, 100_000),
    (wide_matrix, 100_000),
    (long_texts, 1_000_000),
    (escapes, 500_000),
    (wide_escapes, 500_000),
    (empty_lists, 300_000),
    (empty_dicts, 300_000),
]


def iter_rows(text: str) -> object:
    return sum(1 for _ in gcf.iter_rows(io.StringIO(text)))


def of_values() -> list[Case]:
    made = []
    for make, large in VALUES:

        def text(size: int, make: Make = make) -> str:
            return json.dumps(make(size), ensure_ascii=False)

        def ascii_text(size: int, make: Make = make) -> str:
            return json.dumps(make(size))

        def table(size: int, make: Make = make) -> str:
            return gcf.dumps(make(size))

        def shrunk(size: int, make: Make = make) -> str:
            return cw.shrink(make(size)).text

        calls: list[tuple[Callable[[Any], object], Make]] = [
            *((call, make) for call in (gcf.dumps, gcf.dumps_bytes, cw.shrink)),
            *((call, text) for call in (gcf.from_json, cw.shrink, cw.expand)),
            *((call, ascii_text) for call in (gcf.from_json, cw.expand)),
            *((call, table) for call in (gcf.loads, gcf.to_json, cw.expand, iter_rows)),
            (cw.expand, shrunk),
        ]
        made += [
            case(f"{call.__name__}, {form.__name__} of {make.__name__}", call, form, large)
            for call, form in calls
        ]
    return made


# Keyed sets and streams


def keyed(count: int, word: str = "x", name: str = "") -> gcf.KeyedSet:
    rows = [{"id": n, "a": f"{word}{n}"} for n in range(count)]
    return gcf.KeyedSet(rows, key="id", name=name)


def with_delta(count: int) -> tuple[gcf.KeyedSet, str]:
    base = keyed(count)
    return base, base.delta(keyed(count, "y")).encode()


def streamed(value: str) -> None:
    encoder = gcf.StreamEncoder(io.StringIO())
    encoder.kv("k", value)
    encoder.list("l", [value])
    encoder.begin_array("rows", ["a"])
    encoder.row([value])
    encoder.close()


def long_text(count: int) -> str:
    return "é" + "x" * count


ROWS: list[Case] = [
    case(
        "KeyedSet, rows",
        lambda rows: gcf.KeyedSet(rows, key="id"),
        lambda count: [{"id": n, "a": f"x{n}"} for n in range(count)],
        50_000,
    ),
    case("KeyedSet, a wide row", lambda rows: gcf.KeyedSet(rows, key="key1"), wide_row, 50_000),
    case(
        "KeyedSet, a long text",
        lambda text: gcf.KeyedSet([{"id": 1, "a": text}], key="id"),
        long_text,
        3_000_000,
    ),
    case("rows of a KeyedSet", lambda keyed: keyed.rows, keyed, 50_000),
    case("encoded KeyedSet", lambda keyed: (keyed.encode(), keyed.root), keyed, 50_000),
    case("equal KeyedSet", lambda keyed: keyed == gcf.read_keyed(keyed.encode()), keyed, 50_000),
    case("pickled KeyedSet", lambda keyed: pickle.loads(pickle.dumps(keyed)), keyed, 50_000),
    case(
        "delta of a KeyedSet",
        lambda pair: pair[0].delta(pair[1]).encode(),
        lambda count: (keyed(count), keyed(count, "y")),
        50_000,
    ),
    case("receive_keyed", lambda pair: gcf.receive_keyed(pair[1], pair[0]), with_delta, 50_000),
    case(
        "removed rows",
        lambda delta: delta.removed,
        lambda count: keyed(count).delta(keyed(1, "y")),
        50_000,
    ),
    case(
        "dumps_grouped",
        lambda rows: gcf.dumps_grouped(rows, "b", "a"),
        lambda count: [{"a": n // 9, "b": n, "c": f"x{n}"} for n in range(count)],
        50_000,
    ),
    case("StreamEncoder, long texts", streamed, long_text, 3_000_000),
]

# Graphs


def parts(count: int) -> tuple[list[gcf.Symbol], list[gcf.Edge]]:
    names = [f"pkg.Type{n}" for n in range(count)]
    symbols = [gcf.Symbol(name, "type", provenance="lsp_resolved") for name in names]
    return symbols, [gcf.Edge(name, names[n // 2], "calls") for n, name in enumerate(names)]


def payload(count: int) -> gcf.Payload:
    symbols, edges = parts(count)
    return gcf.Payload("t", symbols=symbols, edges=edges)


def snapshots(count: int) -> tuple[Any, Any]:
    return gcf.snapshot(payload(9)), gcf.snapshot(payload(count))


def delta_between(pair: tuple[Any, Any]) -> object:
    there, back = gcf.diff(*pair), gcf.diff(*reversed(pair))
    return gcf.encode_delta(there), gcf.encode_delta(back)


def long_edges(size: int) -> tuple[Any, Any]:
    """Two snapshots, of which the second has many edges between long names."""
    name = "n" * size
    first = gcf.Symbol("a", "function", provenance="x")
    edges = [gcf.Edge(name, name, f"calls{at}") for at in range(60)]
    symbols = [first, gcf.Symbol(name, "function", provenance="x")]
    small, large = ([first], []), (symbols, edges)
    payloads = (gcf.Payload("t", symbols=some, edges=ends) for some, ends in (small, large))
    base, new = map(gcf.snapshot, payloads)
    return base, new


def respond(pair: tuple[Any, Any]) -> object:
    base, new = pair
    return gcf.respond(new, base.pack_root, snapshots={base.pack_root: base})


def between_sessions(payload: gcf.Payload) -> object:
    return cw.Session().decode_graph(cw.Session().encode_graph(payload))


GRAPHS: list[Case] = [
    case("Payload", lambda both: gcf.Payload("t", symbols=both[0], edges=both[1]), parts, 30_000),
    case(
        "Payload of dicts",
        lambda symbols: gcf.Payload("t", symbols=symbols),
        lambda count: [{"qualified_name": f"pkg.Type{n}", "kind": "type"} for n in range(count)],
        30_000,
    ),
    case("hash of a Payload", hash, payload, 30_000),
    case("== of a Payload", lambda payload: payload == payload.__replace__(), payload, 30_000),
    case("repr of a Payload", repr, payload, 1000),
    case("pickled Payload", lambda payload: pickle.loads(pickle.dumps(payload)), payload, 30_000),
    case("changed Payload", lambda payload: payload.__replace__(tool="x"), payload, 30_000),
    case("encode, graph", gcf.encode, payload, 30_000),
    case(
        "decode, graph and its parts",
        lambda text: [(list(made.symbols), list(made.edges)) for made in [gcf.decode(text)]],
        lambda count: gcf.encode(payload(count)),
        30_000,
    ),
    case("GCB", lambda made: wire.decode_gcb(wire.encode_gcb(made)), payload, 30_000),
    case("graph as JSON", lambda made: wire.decode_json(wire.encode_json(made)), payload, 30_000),
    case(
        "snapshot, pack_root",
        lambda made: (gcf.snapshot(made), gcf.pack_root(made)),
        payload,
        30_000,
    ),
    case("diff, encode_delta", delta_between, snapshots, 30_000),
    case("respond", respond, snapshots, 30_000),
    case("respond, edges between long names", respond, long_edges, 100_000),
    case("graph of a session", between_sessions, payload, 30_000),
]

# CAD


def cubes(count: int) -> str:
    return "# vcad 0.2\n" + "C 50 30 5\n" * count


def document(count: int) -> Any:
    return cad.from_compact(cubes(count))


DOCUMENTS: list[Case] = [
    case("from_hybrid", cad.from_hybrid, lambda count: cad.to_hybrid(document(count)), 100_000),
    case("to_hybrid", cad.to_hybrid, document, 50_000),
    case("from_compact", cad.from_compact, cubes, 100_000),
    case(
        "from_compact, a long line",
        cad.from_compact,
        lambda count: f"# vcad 0.2\n# {'x' * count}\nC 1 2 3\n",
        900_000,
    ),
    case("cad.loads", cad.loads, lambda count: cad.dumps(document(count)), 30_000),
    case(
        "to_compact, canonical",
        lambda doc: (cad.to_compact(doc), cad.canonical(doc)),
        document,
        50_000,
    ),
    case("binary CAD", lambda doc: cad.from_binary(cad.to_binary(doc)), document, 50_000),
    case("iter_compact", lambda text: sum(1 for _ in cad.iter_compact([text])), cubes, 100_000),
    case("check", cad.check, cubes, 100_000),
    case(
        "check, many errors",
        lambda text: cad.check(text, limit=10**7),
        lambda count: "Q 1\n" * count,
        20_000,
    ),
    case("create_cad_compact", cad.create_cad_compact, cubes, 50_000),
    case(
        "create_cad_compact, many errors",
        cad.create_cad_compact,
        lambda count: "Q 1\n" * count,
        50_000,
    ),
]

# Messages, deltas and sessions


def prose(count: int) -> str:
    return "".join(f"lorem ipsum {n} " for n in range(count))


def wide_prose(count: int) -> str:
    return "é\n" + prose(count)


def records(count: int) -> Any:
    return [{"id": n, "name": f"n{n}", "tags": ["a", f"b{n}"]} for n in range(count)]


def chat(count: int) -> Any:
    return [{"role": "user", "content": f"x{n}"} for n in range(count)]


def request(pack: bool | str = False, **fields: Any) -> Any:
    return cw.Session().encode_request(pack=pack, **fields)


def decode_request(frames: Any) -> cw.Request:
    return cw.Session().decode_request(frames)


def edited(text: str) -> str:
    return f"{text[: len(text) // 2]}edit{text[len(text) // 2 :]}"


def two_turns(text: str) -> object:
    session = cw.Session()
    session.encode_request(context=text)
    return session.encode_request(context=edited(text), pack=True)


def used_session(count: int) -> cw.Session:
    session = cw.Session()
    session.encode_request(context=prose(count))
    return session


def session_with_sets(count: int) -> bytes:
    session = cw.Session()
    for word in ("x", "y"):
        session.encode_keyed(keyed(count, word, name=word))
    return session.to_bytes()


def packed(pack: bool | str) -> Make:
    return lambda count: request(pack, context=prose(count))


def short_delta(count: int) -> str:
    """A delta of a few hundred bytes."""
    return cw.encode_delta("", "é" + "x" * count)


def bytes_of_delta(count: int) -> bytearray:
    return bytearray("D|F|" + "x" * count, "utf-8")


def applied_twice(delta: str) -> object:
    stream = cw.DeltaStream()
    return stream.apply(delta), stream.apply(delta), stream.content


SESSIONS: list[Case] = [
    case(
        "apply_delta, compressed",
        lambda pair: cw.apply_delta(*pair),
        lambda count: ("x", cw.encode_delta("x", prose(count))),
        400_000,
    ),
    case("encode_delta", lambda text: cw.encode_delta(text, edited(text)), prose, 100_000),
    *(
        case(f"decode_request, {pack}", decode_request, packed(pack), 300_000)
        for pack in (False, True, "bytes")
    ),
    case(
        "decode_request of a bytearray",
        decode_request,
        lambda count: bytearray(request(context=prose(count))[0].encode()),
        300_000,
    ),
    case(
        "apply_delta, a short delta",
        lambda delta: cw.apply_delta("x", delta),
        short_delta,
        20_000_000,
    ),
    case("DeltaStream, a short delta", applied_twice, short_delta, 20_000_000),
    case(
        "apply_delta of a bytearray",
        lambda delta: cw.apply_delta("", delta),
        bytes_of_delta,
        2_000_000,
    ),
    case(
        "iter_compact of a bytearray",
        lambda text: sum(1 for _ in cad.iter_compact(text)),
        lambda count: bytearray(cubes(count), "utf-8"),
        100_000,
    ),
    case(
        "args",
        lambda frames: decode_request(frames).args,
        lambda count: request("bytes", args=records(count)),
        30_000,
    ),
    case(
        "hash and == of a request",
        lambda frames: (
            hash(decode_request(frames)),
            decode_request(frames) == decode_request(frames),
        ),
        lambda count: request(args=records(count)),
        30_000,
    ),
    case(
        "messages",
        lambda frames: decode_request(frames).messages,
        lambda count: request(messages=chat(count)),
        30_000,
    ),
    case("encode_request, messages", lambda messages: request(messages=messages), chat, 30_000),
    case(
        "encode_request, context", lambda text: request("bytes", context=text), wide_prose, 300_000
    ),
    case(
        "encode_request, args",
        lambda args: request(args=args, tool={"schema": args}),
        records,
        30_000,
    ),
    case("encode_request, two turns", two_turns, prose, 200_000),
    case(
        "pickled session",
        lambda session: pickle.loads(pickle.dumps(session)),
        used_session,
        200_000,
    ),
    case(
        "a session of keyed sets from bytes to bytes",
        lambda state: cw.Session.from_bytes(state).to_bytes(),
        session_with_sets,
        40_000,
    ),
]

# Value objects with long texts: what Python can do with each, and their constructors


def value_objects(text: str) -> list[Any]:
    """One object of each class that can hold a long text."""
    symbol = gcf.Symbol(text, text, provenance=text, signature=text)
    edge = gcf.Edge(text, text, text, text)
    roots = {"base_root": text, "new_root": text}
    row = {"id": text, "a": text}
    return [
        symbol,
        edge,
        gcf.Payload(text, 0, 0, text, [symbol], [edge]),
        gcf.DeltaPayload(text, text, text, [symbol], [symbol], [edge], [edge]),
        gcf.Location(text, 1, 1),
        gcf.KeyedSet([row], key="id", name=text),
        gcf.KeyedDelta(key="id", fields=["id", "a"], added=[row], removed=[text], **roots),
        cw.Response(text, model=text, model_name=text),
        cw.ToolCall(text, {"a": text}, text),
        cw.Request(
            tool={"a": text}, system=text, args=text, context=json.dumps({"content": text}) + "\n"
        ),
        cw.Shrunk(text, format="text", tokens_before=1, tokens_after=1),
        claims.Check(text, text, text),
        claims.Problem(text, text, text, text, text),
    ]


def attributes(value: Any) -> list[Any]:
    return [
        getattr(value, name)
        for name in dir(type(value))
        if not name.startswith("_") and not callable(getattr(type(value), name))
    ]


def replaced(value: Any) -> list[Any]:
    if not hasattr(value, "_fields"):
        return [value]
    return [value.__replace__(**{name: getattr(value, name)}) for name in value._fields]


def pickled(value: Any) -> object:
    try:
        return pickle.loads(pickle.dumps(value))
    except pickle.PicklingError as error:
        # pickle imports the module of the class again. If that fails for lack of memory, the
        # MemoryError is lost.
        if "import of module" not in str(error):
            raise
        raise MemoryError from error


USES: dict[str, Callable[[Any], object]] = {
    "attributes": attributes,
    "repr": repr,
    "str and format": lambda value: (str(value), f"{value}"),
    "hash": hash,
    "==": lambda value: value == copy.copy(value),
    "copies": lambda value: (copy.copy(value), copy.deepcopy(value)),
    "replaced": replaced,
    "pickle": pickled,
}


def of_objects() -> list[Case]:
    made = [case("constructors", value_objects, long_text, 300_000)]
    for at, example in enumerate(value_objects("x")):

        def one(size: int, at: int = at) -> Any:
            return value_objects(long_text(size))[at]

        made += [
            case(f"{name} of {type(example).__name__}", use, one, 1_000_000)
            for name, use in USES.items()
        ]
    return made


# Long texts in places where a short one is usual


def labels(text: str) -> None:
    encoder = gcf.StreamEncoder(io.StringIO())
    encoder.begin_array(text, [text, "b"])
    encoder.row([text, 1])
    encoder.end()
    encoder.begin_keyed_map(text + "x", [text], label=text + "y")
    encoder.row([text, text])
    encoder.close()


def graph_stream(text: str) -> None:
    encoder = gcf.GraphStreamEncoder(io.StringIO().write, text, pack_root=text)
    encoder.write_symbol(
        gcf.Symbol(text, "type", provenance="x", location=gcf.Location(text, 1, 1))
    )
    encoder.write_edge(gcf.Edge(text, text, "calls"))
    encoder.close()


def xf_list(count: int) -> str:
    return f"# vcad 0.2 x1\nC 1 2 3\nXF /meta {json.dumps(list(range(count)))}\n"


def xf_text(count: int) -> str:
    return f"# vcad 0.2 x1\nC 1 2 3\nXF /meta {json.dumps('x' * count)}\n"


def xf_lines(count: int) -> str:
    return "# vcad 0.2 x1\nC 1 2 3\n" + "".join(f"XF /m{n} 1\n" for n in range(count))


def sketch(count: int) -> str:
    lines = "".join(f"L {n} 0 {n + 1} 0\n" for n in range(count))
    return f"# vcad 0.2\nSK 0 0 0  1 0 0  0 1 0\n{lines}END\nE 0 0 0 10\n"


def definitions(count: int) -> dict[str, Any]:
    text = "é" + "lorem ipsum " * (count // 12)
    return {"tool": [{"name": "a", "description": text}, {"name": "b"}], "system": text}


def many_definitions(count: int) -> dict[str, Any]:
    return {"tool": [{"name": f"tool{n}"} for n in range(count)]}


def defined(fields: dict[str, Any]) -> object:
    return [
        decode_request(cw.Session().encode_request(pack=pack, **fields)) for pack in (False, True)
    ]


def repeated(pack: bool | str) -> Make:
    """A packed request of a few kilobytes whose definitions are long."""
    return lambda count: request(pack, **definitions(count))


def lines_of(line: str) -> Make:
    """A CAD text of so many lines, `#` in which is a number."""
    return lambda count: "\n".join(
        ["# vcad 0.2", "EMPTY", *(line.replace("#", str(n)) for n in range(count))]
    )


def ids_line(count: int) -> str:
    ids = " ".join(str(2 * n) for n in range(count))
    return "\n".join(["# vcad 0.2", f"IDS {ids}", *["EMPTY"] * count])


def iter_compact(text: str) -> object:
    return sum(1 for _ in cad.iter_compact([text]))


TEXTS: list[Case] = [
    case("begin_array, begin_keyed_map", labels, long_text, 1_000_000),
    case("GraphStreamEncoder", graph_stream, lambda count: "x" * count, 1_000_000),
    *(
        case(f"{call.__name__} of {make.__name__}", call, make, large)
        for make, large in ((xf_list, 120_000), (xf_text, 900_000), (xf_lines, 30_000))
        for call in (cad.from_compact, cad.check)
    ),
    *(
        case(
            f"iter_compact of {make.__name__}",
            lambda text: sum(1 for _ in cad.iter_compact([text])),
            make,
            large,
        )
        for make, large in ((xf_list, 120_000), (xf_text, 900_000), (xf_lines, 30_000))
    ),
    *(
        case(f"iter_compact of lines {line}", iter_compact, lines_of(line), 100_000)
        for line in ('S 1 "n#"', "$n# = S 1", "ROOT 0 m", "LDIR l# 1 1 1 1 0 0 1", "INST i# p _ _")
    ),
    case("iter_compact of a line", iter_compact, ids_line, 100_000),
    case("definitions", defined, definitions, 2_000_000),
    case("many definitions", defined, many_definitions, 200),
    case("decode_request of definitions", decode_request, repeated(True), 20_000_000),
    case("decode_request of definitions in bytes", decode_request, repeated("bytes"), 20_000_000),
    case(
        "Dictionary.train",
        lambda samples: cw.Dictionary.train(samples, size=4096, time=0),
        lambda count: [f"lorem {n} ipsum {n * 7} " * 20 for n in range(count)],
        10_000,
    ),
    *(
        case(f"{name} of a sketch", call, sketch, 30_000)
        for name, call in (
            ("from_compact", cad.from_compact),
            ("check", cad.check),
            ("iter_compact", lambda text: sum(1 for _ in cad.iter_compact([text]))),
        )
    ),
    case("loads, long names", gcf.loads, lambda count: gcf.dumps(long_keys(count)), 2_000_000),
]

# Many small objects: each takes too little to be checked by itself.


def many_names(count: int) -> list[str]:
    return [f"n{n}" for n in range(count)]


def wide_tables(names: list[str]) -> None:
    encoder = gcf.StreamEncoder(lambda text: None)
    encoder.begin_array("a", names)
    encoder.end()
    encoder.begin_keyed_map("b", names)


def many_members(names: list[str]) -> None:
    encoder = gcf.StreamEncoder(lambda text: None)
    for name in names:
        encoder.kv(name, 1)
    encoder.begin_keyed_map("a>b", ["x"])
    for name in names:
        encoder.row([name, 1])


def many_streamed(names: list[str]) -> None:
    for session in (None, cw.Session()):
        encoder = gcf.GraphStreamEncoder(lambda text: None, session=session)
        for name in names:
            encoder.write_symbol(gcf.Symbol(name, "function", provenance="x"))
        encoder.close()


def many_symbols(names: list[str]) -> object:
    return [
        (gcf.Symbol(name, "function", provenance="x"), gcf.Edge(name, name, "calls"))
        for name in names
    ]


def many_payloads(count: int) -> list[gcf.Payload]:
    return [
        gcf.Payload(symbols=[gcf.Symbol(f"n{n}", "type", provenance="x")]) for n in range(count)
    ]


def one_session(payloads: list[gcf.Payload]) -> None:
    session = cw.Session()
    for payload in payloads:
        session.encode_graph(payload)


def many_sessions(names: list[str]) -> object:
    sessions = [cw.Session() for _ in names]
    for session in sessions:
        session.encode_request(tool={"name": "a"}, context="b")
    return sessions


def many_messages(names: list[str]) -> object:
    return [cw.decode(cw.encode(cw.Response(name), format="dsl")) for name in names]


SMALL = [
    case("fields of StreamEncoder", wide_tables, many_names, 20_000),
    case("members of StreamEncoder", many_members, many_names, 10_000),
    case("symbols of GraphStreamEncoder", many_streamed, many_names, 5_000),
    case("many symbols of GraphStreamEncoder", many_streamed, many_names, 40_000),
    case("Symbol, Edge", many_symbols, many_names, 5_000),
    case("graphs of one session", one_session, many_payloads, 2_000),
    case("sessions", many_sessions, many_names, 1_000),
    case("messages", many_messages, many_names, 2_000),
]

# Claims; the arguments of the producers are made beforehand, so that only the call is limited.


def bundle_of(items: list[dict[str, Any]]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        return claims.build_bundle(Path(name), "run", "job", "message", items)


def of_long_text(size: int) -> list[dict[str, Any]]:
    return [{"kind": "section", "ref": "a", "text": "é\r\n" * size}]


def of_long_refs(size: int) -> list[dict[str, Any]]:
    return [{"kind": "section", "ref": f"{n}" + "é" * size, "text": "a b c"} for n in range(3)]


def of_many(count: int) -> list[dict[str, Any]]:
    return [{"kind": "symbol", "ref": f"@a:{n}", "text": f"text {n}"} for n in range(count)]


def receipt_of_many(count: int) -> dict[str, Any]:
    return claims.make_receipt(bundle_of(of_many(count)))


def signed_receipt(count: int) -> dict[str, Any]:
    return claims.sign_receipt(receipt_of_many(count), KEY)


def entries(count: int) -> list[dict[str, Any]]:
    keys = (claims.SigningKey.from_seed(n.to_bytes(32, "big")) for n in range(count))
    return [entry(key, f"v{n}") for n, key in enumerate(keys)]


def verify(files: dict[str, bytes]) -> None:
    """The verdict of a true claim does not depend on the memory of the machine."""
    try:
        scaling.verify(files)
    except cw.ClaimRejected as rejected:
        raise AssertionError from rejected


def write_in_folder(write: Callable[[Path, Any], object], value: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        write(Path(name) / "new", value)


CLAIMS = [
    case("merkle_root", claims.merkle_root, lambda count: ["ab" * 32] * count, 100_000),
    case("canonical_json", claims.canonical_json, long_texts, 1_000_000),
    case("canonical_json of records", claims.canonical_json, records, 30_000),
    case("parse_json", claims.parse_json, lambda count: json.dumps(long_texts(count)), 1_000_000),
    case("parse_json of records", claims.parse_json, lambda n: json.dumps(records(n)), 30_000),
    case("build_bundle, a long text", bundle_of, of_long_text, 1_000_000),
    case("build_bundle, long refs", bundle_of, of_long_refs, 300_000),
    case("build_bundle, many items", bundle_of, of_many, 2_000),
    case("make_receipt", claims.make_receipt, lambda count: bundle_of(of_many(count)), 2_000),
    case(
        "sign_receipt",
        lambda receipt: claims.sign_receipt(receipt, KEY, "me"),
        receipt_of_many,
        2_000,
    ),
    case(
        "sign_receipt, one more",
        lambda receipt: claims.sign_receipt(receipt, OTHER_KEY, "me", add=True),
        signed_receipt,
        2_000,
    ),
    case(
        "write_receipt",
        lambda receipt: write_in_folder(claims.write_receipt, receipt),
        signed_receipt,
        2_000,
    ),
    case(
        "merkle_attestation of long receipts",
        lambda receipts: claims.merkle_attestation(receipts, KEY),
        lambda count: [receipt_of_many(count)],
        2_000,
    ),
    case("verify_claim of many receipts", verify, scaling.many_receipts, 600),
    case("verify_claim of many artifacts", verify, scaling.many_artifacts, 600),
    case("make_trust_policy", claims.make_trust_policy, entries, 5_000),
    case(
        "write_json",
        lambda policy: write_in_folder(claims.write_json, policy),
        lambda count: claims.make_trust_policy(entries(count)),
        5_000,
    ),
]

FORMATS = ["dsl", "verbose", "binary", "base85", "zlib", "zstd", "dictionary", "smallest", "auto"]


def of_format(format: Any) -> list[Case]:
    def there_and_back(value: Any) -> object:
        return cw.decode(cw.encode(value, format=format)), cw.decode(
            cw.encode_bytes(value, format=format)
        )

    def call_there_and_back(arguments: Any) -> object:
        return cw.decode_tool_call(cw.encode_tool_call_bytes("t", arguments, format=format))

    made = [
        case(f"encode, decode, {format}", there_and_back, wide_prose, 200_000),
        case(
            f"decode with a fallback, {format}",
            lambda wire: cw.decode(wire, fallback=True),
            lambda count: cw.encode(prose(count), format=format),
            200_000,
        ),
        case(
            f"inspect, {format}",
            cw.inspect,
            lambda count: cw.encode(prose(count), format=format),
            200_000,
        ),
    ]
    if format != "dsl":
        inputs: list[tuple[Make, int]] = [
            (records, 20_000),
            (lambda count: wide_row(count)[0], 60_000),
            (lambda count: {"a": long_text(count)}, 2_000_000),
        ]
        made += [
            case(f"tool call {at}, {format}", call_there_and_back, make, large)
            for at, (make, large) in enumerate(inputs)
        ]
    return made


# Columns whose rows are long


def long_cells(format: Any) -> Make:
    return lambda count: [arrow.encode(Column([prose(count)] * 3), format=format)]


class Shown:
    """A column whose `repr` has its rows: they are written after the call, without its limit."""

    def __init__(self, column: Any) -> None:
        self.column = column

    def __repr__(self) -> str:
        return gcf.dumps(self.column)


def nulls(count: int) -> Any:
    return import_module("pyarrow").nulls(count)


def empty_cells(count: int) -> str:
    return f"GCF profile=generic\n## [{count}]{{a}}\n" + "-\n" * count


def gcf_loads(text: str) -> Shown:
    """A column whose rows take more memory than any other of a field."""
    pyarrow = import_module("pyarrow")
    schema = pyarrow.schema([("a", pyarrow.binary(134))])
    return Shown(arrow.gcf_loads(text, schema=schema))


class Exported:
    """Columns that are exported before the call, which has a limit."""

    def __init__(self, rows: list[Any], metadata: dict[str, str] | None = None) -> None:
        pyarrow = import_module("pyarrow")
        batch = pyarrow.RecordBatch.from_pylist(rows)
        schema = pyarrow.schema([field.with_metadata(metadata) for field in batch.schema])
        self.capsules = batch.cast(schema).__arrow_c_array__()

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.capsules


def many_columns(count: int) -> Exported:
    return Exported([{f"f{n}": n for n in range(count)}])


def many_nested_columns(count: int) -> Exported:
    return Exported([{f"f{n}": [{"a": n}] for n in range(count)}])


def long_metadata(count: int) -> Exported:
    return Exported([{"a": 1}], {"k": "v" * 10 * count})


def much_metadata(count: int) -> Exported:
    return Exported([{"a": [1]}], {f"k{n}": "v" for n in range(count)})


MANY_ROWS = [
    case("dumps with long metadata", gcf.dumps, long_metadata, 200_000),
    case("dumps with much metadata", gcf.dumps, much_metadata, 60_000),
    case("dumps of many columns", gcf.dumps, many_columns, 9_000),
    case("dumps of many nested columns", gcf.dumps, many_nested_columns, 9_000),
    # The bits for nulls take more than a megabyte, below which the reserve has memory.
    case("count_tokens of nulls", lambda rows: Shown(arrow.count_tokens(rows)), nulls, 9_000_000),
    case(
        "decode of nulls",
        lambda rows: Shown(arrow.decode(rows, fields=["tokens"])),
        nulls,
        9_000_000,
    ),
    case("gcf_loads of nulls", gcf_loads, empty_cells, 1_200_000),
]


def of_columns() -> list[Case]:
    uses: dict[str, Callable[[Any], Any]] = {
        "decode": arrow.decode,
        "decode with a fallback": lambda column: arrow.decode(column, fallback=True),
        "decode, skipping": lambda column: arrow.decode(column, errors="null"),
        "inspect": arrow.inspect,
    }
    return [
        case(
            f"{name}, {format}",
            lambda columns, use=use: [Shown(use(column)) for column in columns],
            long_cells(format),
            200_000,
        )
        for name, use in uses.items()
        for format in ("base85", "zlib", "zstd")
    ]


CASES = {
    "values": of_values(),
    "long cells": of_columns(),
    "many rows": MANY_ROWS,
    "rows": ROWS,
    "graphs": GRAPHS,
    "documents": DOCUMENTS,
    "sessions": SESSIONS,
    "objects": of_objects(),
    "texts": TEXTS,
    "small objects": SMALL,
    "files of claims": CLAIMS,
    "messages": [case for format in FORMATS for case in of_format(format)],
}
