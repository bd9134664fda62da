"""Graphs: texts, GCB, JSON, deltas and streams."""

from __future__ import annotations

import pickle
import struct
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from compactwire import Session, gcf, wire

from .harness import TEXT, Case

HEAD = "GCF profile=graph"


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def gcb(names: Iterable[str], edges: Iterable[tuple[int, int]]) -> bytes:
    """GCB of these symbols, and of edges between them by position."""
    symbols = [
        varint(len(name.encode()))
        + name.encode()
        + struct.pack("<BfBBB4f", 1, 0.5, 1, 0, 0, 0, 0, 0, 0)
        for name in names
    ]
    lines = [varint(source) + varint(target) + b"\x01\x00" for source, target in edges]
    counts = varint(len(symbols)) + varint(len(lines))
    return b"GCB1\x01\x00\x00\x00" + counts + b"".join(symbols) + b"".join(lines)


# Inputs, by the parameter that grows


def names(count: int) -> list[str]:
    return [f"pkg/module.Type{n}" for n in range(count)]


def text(symbols: Iterable[str], edges: Iterable[str] = ()) -> str:
    return "\n".join([HEAD, *symbols, "## edges", *edges, ""])


def symbol_lines(count: int) -> list[str]:
    return [f"@{n} fn {name} 0.50 lsp" for n, name in enumerate(names(count))]


def symbols(count: int) -> str:
    return text(symbol_lines(count))


def groups(count: int) -> str:
    lines = symbol_lines(count)
    return text(f"## distance_{n}\n{line}" for n, line in enumerate(lines))


def sparse_ids(count: int) -> str:
    return text(f"@{7 * n + 3} fn {name} 0.50 lsp" for n, name in enumerate(names(count)))


def edges(count: int) -> str:
    return text(symbol_lines(100), (f"@{n % 100}<@{n % 97} calls" for n in range(count)))


def locations(count: int) -> str:
    places = (f"@{n} file{n}.rs {n + 1} 1" for n in range(count))
    return text(symbol_lines(count), ["## loc", *places])


def unknown_groups(count: int) -> str:
    return text(f"## group{n}" for n in range(count))


def long_name(count: int) -> str:
    """A name as long as all edges that have it at both ends."""
    return text([f"@0 fn {'n' * 9 * count} 0.50 lsp"], ["@0<@0 calls"] * count)


def gcb_symbols(count: int) -> bytes:
    return gcb(names(count), [])


def gcb_edges(count: int) -> bytes:
    return gcb(names(100), ((n % 100, n % 97) for n in range(count)))


def gcb_long_name(count: int) -> bytes:
    return gcb(["n" * 4 * count], [(0, 0)] * count)


def gcb_twins(count: int) -> bytes:
    """As `gcb_long_name`, with two other symbols that share a name."""
    return gcb(["n" * 4 * count, "a", "a"], [(0, 0)] * count)


def gcb_long_names(count: int) -> bytes:
    """Edges whose text is a thousand times as long."""
    return gcb(["n" * 4000, "m" * 4000], [(0, 1)] * count)


def json_symbols(count: int) -> str:
    return wire.encode_json(wire.decode_gcb(gcb_symbols(count)), compact=True)


def json_edges(count: int) -> str:
    return wire.encode_json(wire.decode_gcb(gcb_edges(count)), compact=True)


def delta(count: int) -> str:
    roots = " delta=true base_root=sha256:" + "0" * 64 + " new_root=sha256:" + "1" * 64
    removed = (f"fn {name}" for name in names(count))
    added = (f"@{n} fn {name}x 0.50 lsp 0" for n, name in enumerate(names(count)))
    more = (f"{name} -> {name} calls" for name in names(count))
    sections = ["## removed", *removed, "## added", *added, "## edges_added", *more]
    return "\n".join([HEAD + roots, *sections, ""])


# Calls


def read(payload: gcf.Payload) -> object:
    """Every string of a payload, kept."""
    ends = [(edge.source, edge.target, edge.edge_type) for edge in payload.edges]
    return ends, [(symbol.qualified_name, symbol.kind) for symbol in payload.symbols]


def decoded(text: str) -> Any:
    with warnings.catch_warnings():
        # Unknown groups are reported, up to some number.
        warnings.simplefilter("ignore")
        return gcf.decode(text)


def of_text(call: Callable[[Any], object]) -> Callable[[str], object]:
    return lambda text: call(decoded(text))


def of_gcb(call: Callable[[Any], object]) -> Callable[[bytes], object]:
    return lambda data: call(wire.decode_gcb(data, lossy={"duplicates"}))


def size_written(write: Callable[[bytes], Any]) -> Callable[[bytes], int]:
    return lambda data: len(write(data))


def changed(payload: gcf.Payload) -> object:
    base = gcf.snapshot(payload)
    new = gcf.snapshot(payload.__replace__(symbols=payload.symbols[1:], edges=()))
    made = gcf.diff(base, new)
    return gcf.apply_delta(base, gcf.encode_delta(made))


def added_edges(payload: gcf.Payload) -> str:
    roots = [f"sha256:{digit * 64}" for digit in "01"]
    return gcf.encode_delta(gcf.DeltaPayload("t", *roots, added_edges=payload.edges))


def compared(payload: gcf.Payload) -> object:
    return hash(payload), payload == pickle.loads(pickle.dumps(payload))


def streamed(payload: gcf.Payload) -> str:
    pieces: list[str] = []
    with gcf.GraphStreamEncoder(pieces.append) as stream:
        for symbol in payload.symbols:
            stream.write_symbol(symbol)
        for edge in payload.edges:
            stream.write_edge(edge)
    return "".join(pieces)


def in_session(text: str) -> object:
    ours, theirs = Session(), Session()
    payload = decoded(text)
    for _ in range(2):
        theirs.decode_graph(ours.encode_graph(payload))
    return pickle.loads(pickle.dumps(theirs)), pickle.loads(pickle.dumps(ours))


SHAPES: dict[str, tuple[Callable[[int], str], int, int]] = {
    "symbols": (symbols, 200, 20_000),
    "groups": (groups, 200, 20_000),
    "sparse ids": (sparse_ids, 200, 20_000),
    "edges": (edges, 400, 60_000),
    "locations": (locations, 200, 12_000),
    "unknown groups": (unknown_groups, 400, 60_000),
    "edges of a long name": (long_name, 500, 40_000),
}
BYTES: dict[str, tuple[Callable[[int], bytes], int, int]] = {
    "symbols": (gcb_symbols, 200, 20_000),
    "edges": (gcb_edges, 1000, 200_000),
    "edges of a long name": (gcb_long_name, 2000, 100_000),
    "edges of a long name beside twins": (gcb_twins, 2000, 100_000),
}
# Names that exceed `max_expansion`: the call must fail before it writes them.
TOO_LONG = (gcb_long_name, 10_000, 100_000)

CASES = [
    *(
        case
        for name, (make, size, large) in SHAPES.items()
        for case in (
            Case(f"decode, {name}", of_text(read), make, size, large),
            Case(f"encode, {name}", of_text(gcf.encode), make, size, large),
            Case(f"sessions, {name}", in_session, make, size, large),
        )
    ),
    *(
        case
        for name, (make, size, large) in BYTES.items()
        for case in (
            Case(f"decode_gcb, {name}", of_gcb(read), make, size, large),
            Case(f"encode_gcb, {name}", of_gcb(wire.encode_gcb), make, size, large),
            Case(f"encode of GCB, {name}", of_gcb(gcf.encode), make, size, large),
            Case(f"pickle, hash and equality, {name}", of_gcb(compared), make, size, large),
        )
    ),
    *(
        Case(f"{call.__name__}, names too long", of_gcb(call), *TOO_LONG)
        for call in (wire.encode_json, gcf.pack_root, gcf.snapshot, changed, gcf.respond)
    ),
    *(
        Case(f"{call.__name__}, symbols", of_gcb(call), gcb_symbols, 200, 20_000)
        for call in (wire.encode_json, gcf.pack_root, changed, gcf.respond, streamed)
    ),
    *(
        Case(f"{call.__name__}, edges", of_gcb(call), gcb_edges, 1000, 100_000)
        for call in (wire.encode_json, gcf.pack_root, changed, gcf.respond, streamed)
    ),
    *(
        Case(
            f"{call.__name__}, long names",
            of_gcb(call),
            gcb_long_names,
            500,
            12_000,
            factor=3,
            size_of=size_written(of_gcb(call)),
        )
        for call in (wire.encode_json, added_edges)
    ),
    # A search of all groups for each symbol shows only in as many.
    Case("streamed, groups", of_text(streamed), groups, 4_000, 20_000),
    Case("decode_json, symbols", wire.decode_json, json_symbols, 100, 5_000),
    Case("decode_json, edges", wire.decode_json, json_edges, 200, 9_000),
    Case("decode, delta", gcf.decode, delta, 200, 6_000),
    Case("count_tokens", gcf.count_tokens, symbols, 200, 20_000, TEXT),
]
