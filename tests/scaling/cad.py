"""CAD documents as text, JSON, bytes and hybrids."""

from __future__ import annotations

import json
import warnings
from collections import deque
from typing import Any

from compactwire import cad

from .harness import Case

SECOND = "# vcad 0.2\n"
BINARY = 800
"""Bytes of memory for each byte of a binary document: one byte can be a node."""


def leb128(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


# Inputs, by the parameter that grows


def spheres(count: int) -> str:
    return "S 1\n" * count


def chain(count: int) -> str:
    return "S 1\n" + "".join(f"T {node} 0 0 1\n" for node in range(count))


def segments(count: int) -> str:
    return "SK 0 0 0 1 0 0 0 1 0\n" + "L 0 0 1 1\n" * count + "END"


def errors(count: int) -> str:
    return "cube 1\n" * count


def sketch_errors(count: int) -> str:
    return "SK 0 0 0 1 0 0 0 1 0\nC 1 1 1\n" * count


def long_word(count: int) -> str:
    return "x" * count


def id_ranges(count: int) -> str:
    ids = " ".join(map(str, range(2 * count, 0, -2)))
    return f"{SECOND}IDS {ids}\n" + "S 1\n" * count


def names(count: int) -> str:
    return SECOND + 'S 1 "a"\n' * count + "T $a 0 0 1"


def materials(count: int) -> str:
    return SECOND + "".join(f"M m{i} 0 0 0 0 1\n" for i in range(count))


def roots(count: int) -> str:
    return SECOND + "S 1\n" + "ROOT 0 a\n" * count


def kept(count: int) -> str:
    return SECOND + "".join(f"XF /a{i} 0\n" for i in range(count))


def kept_steps(count: int) -> str:
    return SECOND + "XF /" + "a/" * count + " 0"


def unknown_fields(count: int) -> str:
    """Unknown fields below a long key, which a pointer to each field would repeat."""
    fields = {f"x{i}": 0 for i in range(count)}
    return json.dumps({"nodes": {}, "materials": {"k" * 8 * count: fields}})


def named_nodes(count: int) -> str:
    """Nodes whose ids are names."""
    nodes = {f"n{i}": {"op": {"type": "Empty"}} for i in range(count)}
    return json.dumps({"nodes": nodes})


def inline_operations(count: int) -> str:
    op = {"type": "Shell", "thickness": 1, "child": {"type": "Empty"}}
    return json.dumps({"nodes": {str(i): {"op": op} for i in range(count)}})


def reversed_chain(count: int) -> str:
    """Each node uses the next, so that all are sorted."""
    shell = {"type": "Shell", "thickness": 1}
    nodes = {str(i): {"op": {**shell, "child": i + 1}} for i in range(count)}
    return json.dumps({"nodes": {**nodes, str(count): {"op": {"type": "Empty"}}}})


def ring(count: int) -> str:
    shell = {"type": "Shell", "thickness": 1}
    nodes = {str(i): {"op": {**shell, "child": (i + 1) % count}} for i in range(count)}
    return json.dumps({"nodes": nodes})


def long_number(count: int) -> str:
    return '{"nodes":{"0":{"op":{"type":"Sphere","segments":0,"radius":' + "9" * count + "}}}}"


def empty_nodes(count: int) -> bytes:
    return b"\x89VCB\x01\0" + leb128(count) + b"\0" + b"\4" * count + bytes(4)


def repeated_string(count: int) -> bytes:
    """A string of the table that every node has as its name."""
    table = leb128(1) + leb128(5 * count) + b"x" * 5 * count
    return b"\x89VCB\x01" + table + leb128(count) + b"\0" + b"\x24\0" * count + bytes(4)


def hybrid(count: int) -> str:
    return json.dumps({"compact": spheres(count), "roots": [{"root": 0, "material": "m"}] * count})


# Calls


def repaired(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cad.loads(text, repair=True)


def streamed(text: str) -> object:
    chunks = (text[start : start + 100] for start in range(0, len(text), 100))
    return deque(cad.iter_compact(chunks), maxlen=0)


def keep(text: str) -> str:
    return cad.to_compact(text, "0.2", unknown="keep")


def for_vcad(text: str) -> str:
    return cad.to_compact(text, target="vcad", lossy=True)


CASES = [
    *(
        Case(f"from_compact: {make.__name__}", cad.from_compact, make, size, large)
        for make, size, large in (
            (spheres, 500, 250_000),
            (chain, 500, 60_000),
            (segments, 500, 100_000),
            (long_word, 20_000, 1_000_000),
            (id_ranges, 500, 80_000),
            (names, 500, 120_000),
            (materials, 500, 50_000),
            (roots, 500, 110_000),
            (kept, 500, 70_000),
            (kept_steps, 5_000, 500_000),
        )
    ),
    *(
        Case(f"check: {make.__name__}", lambda text: cad.check(text, limit=10**9), make, 200, large)
        for make, large in ((errors, 5_000), (sketch_errors, 5_000), (spheres, 250_000))
    ),
    Case("check: long_word", cad.check, long_word, 20_000, 1_000_000),
    Case("iter_compact", streamed, spheres, 500, 250_000),
    Case("keep: unknown_fields", keep, unknown_fields, 500, 40_000),
    Case("repair: named_nodes", repaired, named_nodes, 300, 25_000),
    Case("repair: inline_operations", repaired, inline_operations, 200, 10_000),
    Case("canonical: long_number", cad.canonical, long_number, 20_000, 1_000_000),
    Case("canonical: ring", cad.canonical, ring, 300, 15_000),
    *(
        Case(f"{call.__name__}: reversed_chain", call, reversed_chain, 300, 15_000)
        for call in (cad.to_compact, cad.to_binary, cad.dumps, cad.to_hybrid, for_vcad)
    ),
    Case("from_hybrid", cad.from_hybrid, hybrid, 300, 25_000),
    Case("from_binary: empty_nodes", cad.from_binary, empty_nodes, 2_000, 1_000_000, BINARY),
    # Refused: the strings would have 700 GB.
    Case("from_binary: repeated_string", cad.from_binary, repeated_string, 50, 140_000, BINARY),
]
