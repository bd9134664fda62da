"""Graphs against two other implementations: our reference reader and writer, which are written from
the specification, and the package gcf-python.

`HYPOTHESIS_PROFILE=long pytest tests/graph/test_differential.py` runs 10^5 examples of each
property. The package is the installed version, 2.7.1 or newer; all of them write the same graphs.
To run against another: `pip install gcf-python==2.7.1` in an environment of its own.
"""

from __future__ import annotations

import random
import string
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gcf as peer
from compactwire import gcf, wire
from tests.reference import graph as reference
from tests.strategies.graph import carried, payloads


def as_reference(payload: gcf.Payload) -> dict[str, Any]:
    """The payload as the reference represents it."""
    return {
        "tool": payload.tool,
        "tokens_used": payload.tokens_used,
        "token_budget": payload.token_budget,
        "pack_root": payload.pack_root,
        "symbols": [symbol_of(symbol) for symbol in payload.symbols],
        "edges": [edge_of(edge) for edge in payload.edges],
    }


def symbol_of(symbol: gcf.Symbol) -> dict[str, Any]:
    names = ["qualified_name", "kind", "score", "provenance", "distance"]
    location = symbol.location
    place = location and (
        location.file,
        location.line,
        location.column,
        *([] if location.end_line is None else [location.end_line, location.end_column]),
    )
    return {name: getattr(symbol, name) for name in names} | {"location": place}


def edge_of(edge: gcf.Edge) -> tuple[str, ...]:
    return edge.source, edge.target, edge.edge_type, edge.status


def ours(text: str) -> Any:
    """The product's result: kind and content, or code and line of the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = gcf.decode(text)
    except gcf.GcfError as error:
        return error.code, error.line
    if isinstance(found, gcf.Payload):
        return "payload", as_reference(found)
    if isinstance(found, gcf.Unchanged):
        return "unchanged", (found.tool, found.pack_root)
    added = [symbol_of(symbol) for symbol in found.added]
    removed = [(symbol.kind, symbol.qualified_name) for symbol in found.removed]
    edges = [list(map(edge_of, edges)) for edges in (found.removed_edges, found.added_edges)]
    return "delta", (found.tool, found.base_root, found.new_root, removed, added, *edges)


def theirs(text: str) -> Any:
    """The reference's result, in the same form."""
    try:
        what, found = reference.decode(text)
    except reference.Invalid as error:
        return error.code, error.line
    if what == "payload":
        return what, found
    if what == "unchanged":
        return what, (found["tool"], found["pack_root"])
    fields = ["tool", "base_root", "new_root", "removed", "symbols", "removed_edges", "edges"]
    return what, tuple(found[field] for field in fields)


@given(payloads())
def test_the_reference_writer_produces_the_same_text(payload: gcf.Payload) -> None:
    assert gcf.encode(payload) == reference.encode(as_reference(payload))


@given(payloads())
def test_product_and_reference_read_each_other(payload: gcf.Payload) -> None:
    for text in (gcf.encode(payload), reference.encode(as_reference(payload))):
        found = ours(text)
        assert found == theirs(text)
        assert found[0] == "payload"
    assert ours(gcf.encode_unchanged(payload.__replace__(pack_root="x")))[0] == "unchanged"


@given(payloads(exact=True), payloads(exact=True))
def test_deltas_and_roots_equal_the_reference(old: gcf.Payload, new: gcf.Payload) -> None:
    base, goal = gcf.snapshot(old), gcf.snapshot(new)
    assert base.pack_root == reference.root(as_reference(base))
    text = gcf.encode_delta(gcf.diff(base, goal))
    assert text == reference.encode_delta(as_reference(base), as_reference(goal), "tool")
    assert ours(text) == theirs(text)


PIECES = ["@0 ", "@1", "<", "## ", "##! summary ", "targets", "edges", "loc", "[1]", "[?]", "[01]"]
PIECES += [
    "\n",
    "\r\n",
    " ",
    "  ",
    "\t",
    "# ",
    "=",
    "fn",
    "0.50",
    "1.5",
    "->",
    '"',
    "\\",
    "\\u00e9",
]
PIECES += ["\\ud83d\\ude00", "added", "removed", "edges_added", "distance_3", "calls", "-", "é"]
PIECES += ["\u2028", "@0  # previously transmitted\n", "\n\n", "0", "99999999999999999999"]


def mutated(text: str, chance: random.Random) -> str:
    for _ in range(chance.choice([1, 1, 2, 3])):
        lines = text.split("\n")
        at, drop = chance.randrange(len(text) + 1), chance.randint(1, 3)
        which, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        text = chance.choice(
            [
                text[:at] + text[at + drop :],
                text[:at] + chance.choice(PIECES) + text[at:],
                text[:at] + chance.choice(PIECES) + text[at + drop :],
                text[:at] + chance.choice(string.printable) + text[at + 1 :],
                "\n".join([*lines[:which], *lines[which + 1 :]]),
                "\n".join([*lines[:which], lines[other], *lines[which:]]),
            ]
        )
    return text


@given(payloads(), payloads(), st.randoms(use_true_random=False))
def test_a_mutated_text_has_the_same_payload_or_error_as_the_reference(
    payload: gcf.Payload, other: gcf.Payload, chance: random.Random
) -> None:
    base, goal = gcf.snapshot(payload), gcf.snapshot(other)
    delta = gcf.encode_delta(gcf.diff(base, goal))
    for text in (
        gcf.encode(payload),
        gcf.encode(payload),
        delta,
        delta,
        gcf.encode_unchanged(base),
    ):
        for _ in range(4):
            attempt = mutated(text, chance)
            assert ours(attempt) == theirs(attempt), attempt


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GCF profile=graph\n@0 fn a 0.50 x\n## loc\n@0\n", ("invalid_loc_line", 4)),
        ("GCF profile=graph unchanged=true pack_root=x\n\n  a\n", ("invalid_indent", 3)),
        ("GCF profile=graph\n##! summary symbols=0\n  a\n", ("invalid_indent", 3)),
    ],
)
def test_an_invalid_line_has_the_same_error_as_in_the_reference(
    text: str, expected: tuple[str, int]
) -> None:
    assert ours(text) == theirs(text) == expected


def with_signatures(payload: gcf.Payload) -> dict[str, Any]:
    found = as_reference(payload)
    for symbol, members in zip(payload.symbols, found["symbols"], strict=True):
        parts = symbol.components
        values = (parts.blast_radius, parts.confidence, parts.recency, parts.distance)
        members |= {"signature": symbol.signature, "components": values}
        del members["location"]
    return found


@given(carried())
def test_gcb_equals_the_reference_in_both_directions(payload: gcf.Payload) -> None:
    data = wire.encode_gcb(payload)
    assert data == reference.encode_gcb(with_signatures(payload))
    assert wire.decode_gcb(data) == payload
    raw = wire.decode_gcb(data, raw_float32=True)
    assert with_signatures(raw) == reference.decode_gcb(data)


# The package gcf-python. The last test of this file shows its known deviations with graphs;
# the payloads of the other tests avoid them.


def as_theirs(payload: gcf.Payload) -> Any:
    symbols, edges = theirs_of(payload.symbols, payload.edges)
    return peer.Payload(
        tool=payload.tool,
        tokens_used=payload.tokens_used,
        token_budget=payload.token_budget,
        pack_root=payload.pack_root,
        symbols=symbols,
        edges=edges,
    )


def theirs_of(symbols: Any, edges: Any) -> tuple[list[Any], list[Any]]:
    return (
        [
            peer.Symbol(
                qualified_name=s.qualified_name,
                kind=s.kind,
                score=s.score,
                provenance=s.provenance,
                distance=s.distance,
            )
            for s in symbols
        ],
        [
            peer.Edge(source=e.source, target=e.target, edge_type=e.edge_type, status=e.status)
            for e in edges
        ],
    )


def from_theirs(payload: Any) -> dict[str, Any]:
    names = ["qualified_name", "kind", "score", "provenance", "distance"]
    return {
        "tool": payload.tool,
        "tokens_used": payload.tokens_used,
        "token_budget": payload.token_budget,
        "pack_root": payload.pack_root,
        "symbols": [
            {name: getattr(s, name) for name in names} | {"location": None} for s in payload.symbols
        ],
        "edges": [(e.source, e.target, e.edge_type, e.status) for e in payload.edges],
    }


@given(payloads(located=False))
def test_gcf_python_writes_the_same_text(payload: gcf.Payload) -> None:
    assert peer.encode(as_theirs(payload)) == gcf.encode(payload)


@given(payloads(located=False))
def test_gcf_python_reads_the_same(payload: gcf.Payload) -> None:
    text = gcf.encode(payload)
    assert from_theirs(peer.decode(text)) == ours(text)[1]


@given(payloads(located=False, exact=True), payloads(located=False, exact=True))
def test_gcf_python_has_the_same_roots_and_deltas(old: gcf.Payload, new: gcf.Payload) -> None:
    base, goal = gcf.snapshot(old), gcf.snapshot(new)
    assert peer.pack_root(*theirs_of(base.symbols, base.edges)) == base.pack_root
    # Without token counts the package writes `tokens=0 savings=0%`.
    delta = gcf.diff(base, goal).__replace__(delta_tokens=7, full_tokens=40)
    removed, removed_edges = theirs_of(delta.removed, delta.removed_edges)
    added, added_edges = theirs_of(delta.added, delta.added_edges)
    made = peer.DeltaPayload(
        tool=delta.tool,
        base_root=delta.base_root,
        new_root=delta.new_root,
        removed=removed,
        added=added,
        removed_edges=removed_edges,
        added_edges=added_edges,
        delta_tokens=7,
        full_tokens=40,
    )
    text = peer.encode_delta(made)
    assert text == gcf.encode_delta(delta)
    assert gcf.apply_delta(base, text).pack_root == goal.pack_root


def test_each_known_deviation_of_gcf_python_still_exists() -> None:
    """A deviation that a new version of the package has fixed can be removed here."""
    symbol = peer.Symbol(qualified_name="a", kind="type", score=0.5, provenance="lsp")
    assert " tool= " in peer.encode(peer.Payload(symbols=[symbol]))
    assert "tokens=0 savings=0%" in peer.encode_delta(
        peer.DeltaPayload(base_root="a", new_root="b")
    )
    for text in (
        "GCF profile=graph\n@0 fn a 0.5 x\n",
        "GCF profile=graph\n@0 fn a 0.50 x\n@0 fn b 0.50 x\n",
        "GCF profile=graph a=1 a=2\n@0 fn a 0.50 x\n",
    ):
        assert peer.decode(text).symbols
        with pytest.raises(gcf.GcfError):
            gcf.decode(text)
