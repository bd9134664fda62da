"""The vectors of graphs: GCF texts, sessions and deltas, and GCB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compactwire as cw
from compactwire import gcf, wire

from ._compare import DiffersError, equal, fails, has_code

if TYPE_CHECKING:
    from collections.abc import Callable

Case = dict[str, Any]

_NAMES = {
    "addedEdges": "added_edges",
    "baseRoot": "base_root",
    "deltaTokens": "delta_tokens",
    "edgeType": "edge_type",
    "fullTokens": "full_tokens",
    "newRoot": "new_root",
    "packRoot": "pack_root",
    "qualifiedName": "qualified_name",
    "removedEdges": "removed_edges",
    "tokenBudget": "token_budget",
    "tokensUsed": "tokens_used",
}
_LISTS = ("symbols", "edges", "removed", "added", "removed_edges", "added_edges")
_ALL = {"ids", "pack_root", "location", "distance", "precision", "duplicates", "dangling_zero"}


def _fields(members: Case) -> Case:
    fields = {_NAMES.get(name, name): value for name, value in members.items()}
    for name in _LISTS:
        if name in fields:
            fields[name] = [_fields(each) for each in fields[name] or ()]
    return fields


def payload_of(members: Case) -> gcf.Payload:
    """The graph of a vector."""
    return gcf.Payload(**{"symbols": [], "edges": [], **_fields(members)})


def delta_of(members: Case) -> gcf.DeltaPayload:
    """The delta of a vector."""
    return gcf.DeltaPayload(**{"removed": [], "added": [], **_fields(members)})


def as_sets(payload: gcf.Payload) -> tuple[set[gcf.Symbol], set[gcf.Edge]]:
    """The symbols and edges of a graph; their order does not count."""
    return set(payload.symbols), set(payload.edges)


def _graph(payload: object) -> gcf.Payload:
    if not isinstance(payload, gcf.Payload):
        raise DiffersError(f"expected a graph, found a {type(payload).__name__}")
    return payload


def without_unchanged(payload: gcf.Payload) -> gcf.Payload:
    """The graph without the status `unchanged`, which is the default and is not written."""
    edges = [
        edge.__replace__(status="") if edge.status == "unchanged" else edge
        for edge in payload.edges
    ]
    return payload.__replace__(edges=edges)


def encode(case: Case) -> None:
    """A graph and its text."""
    equal("the text", gcf.encode(payload_of(case["input"])), case["expected"])
    again = gcf.encode(_graph(gcf.decode(case["expected"])))
    equal("the text read and written again", again, case["expected"])


def decode(case: Case) -> None:
    """A text and its graph."""
    equal("the graph", gcf.decode(case["input"]), payload_of(case["expected"]))


def refused(case: Case) -> None:
    """A text that is not a graph."""
    code = case["expectedError"]
    has_code("reading", lambda: gcf.decode(case["input"]), gcf.GcfError, code)


def delta(case: Case) -> None:
    """A delta and its text; or the text, and the graphs before and after it."""
    if "expected" in case:
        equal("the text", gcf.encode_delta(delta_of(case["input"])), case["expected"])
        return
    base = payload_of(case["base_snapshot"])
    equal("the pack root of the base", gcf.pack_root(base), case["base_root"])
    after = gcf.apply_delta(base, case["input"])
    equal(
        "the graph after the delta", as_sets(after), as_sets(payload_of(case["expected_snapshot"]))
    )
    equal("the pack root after the delta", gcf.pack_root(after), case["new_root"])


def refused_delta(case: Case) -> None:
    """A delta that does not fit its base."""
    base = payload_of(case["base_snapshot"])
    code = case["expectedError"]
    has_code("applying", lambda: gcf.apply_delta(base, case["input"]), gcf.GcfError, code)


def root(case: Case) -> None:
    """A graph and its pack root."""
    equal("the pack root", gcf.pack_root(payload_of(case["input"])), case["expected"])


def stream(case: Case) -> None:
    """A graph that is written symbol by symbol."""
    given = payload_of(case["input"])
    pieces: list[str] = []
    labeled = case.get("options", {}).get("labeledTrailerCounts", False)
    with gcf.GraphStreamEncoder(
        pieces.append, given.tool, token_budget=given.token_budget, labeled_counts=labeled
    ) as encoder:
        for symbol in given.symbols:
            encoder.write_symbol(symbol)
        for edge in given.edges:
            encoder.write_edge(edge)
    equal("the text", "".join(pieces), case["expected"])
    equal("the graph read back", as_sets(_graph(gcf.decode(case["expected"]))), as_sets(given))


def session(case: Case) -> None:
    """The graphs of a session, and the text of each."""
    ours, theirs = cw.Session(), cw.Session()
    for number, call in enumerate(case["calls"], 1):
        payload = payload_of(call["input"])
        equal(f"the text of call {number}", ours.encode_graph(payload), call["expected"])
        decoded = _graph(theirs.decode_graph(call["expected"]))
        edges = set(without_unchanged(payload).edges)
        equal(f"the edges of call {number}", set(decoded.edges), edges)


def two_graphs(case: Case) -> None:
    """Two graphs, their pack roots, and the delta between them."""
    base, new = payload_of(case["base"]), payload_of(case["new"])
    equal("the pack root of base", gcf.pack_root(base), case["base_root"])
    equal("the pack root of new", gcf.pack_root(new), case["new_root"])
    tokens = {name: case[name] for name in ("delta_tokens", "full_tokens")}
    made = gcf.diff(base, new).__replace__(tool=case["tool"], **tokens)
    equal("the delta", gcf.encode_delta(made), case["expected"])
    after = gcf.apply_delta(base, case["expected"])
    equal("the graph after the delta", as_sets(after), as_sets(new))


def gcb(case: Case) -> None:
    """A graph and its GCB bytes."""
    payload, expected = payload_of(case["payload"]), bytes.fromhex(case["gcb_hex"])
    if case.get("mode") == "compat":
        has_code("writing", lambda: wire.encode_gcb(payload), wire.WireError, "gcb_dangling_edge")
        equal("the bytes", wire.encode_gcb(payload, lossy={"dangling_zero"}), expected)
        return
    equal("the bytes", wire.encode_gcb(payload), expected)
    equal("the graph read back", wire.decode_gcb(expected), without_unchanged(payload))


def gcb_lossy(case: Case) -> None:
    """A graph that GCB cannot carry, and the bytes if the loss is allowed."""
    payload, expected = payload_of(case["payload"]), bytes.fromhex(case["reference_hex"])
    code = case["expected_error"]
    if code is None:
        equal("the bytes", wire.encode_gcb(payload), expected)
        return
    has_code("writing", lambda: wire.encode_gcb(payload), wire.WireError, code)
    if code not in ("gcb_count_range", "gcb_not_finite"):
        equal("the bytes with the loss", wire.encode_gcb(payload, lossy=_ALL), expected)


def gcb_malformed(case: Case) -> None:
    """Bytes that are not GCB."""
    data = bytes.fromhex(case["gcb_hex"])
    caught = fails("reading", lambda: wire.decode_gcb(data), wire.WireError)
    equal("the error", caught.code, case["expected_error"])


CHECKS: dict[str, Callable[[Case], None]] = {
    "decode": decode,
    "delta": delta,
    "delta-verify": refused_delta,
    "encode": encode,
    "error": refused,
    "graph-stream-encode": stream,
    "pack-root": root,
    "session": session,
}
