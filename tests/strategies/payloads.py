"""Graph payloads from the JSON objects of vectors."""

from __future__ import annotations

from typing import Any

import compactwire as cw
from compactwire import gcf

SYMBOL = {"qualifiedName": "qualified_name"}
EDGE = {"edgeType": "edge_type"}
PAYLOAD = {"tokenBudget": "token_budget", "tokensUsed": "tokens_used", "packRoot": "pack_root"}


def renamed(members: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in members.items()}


def payload_of(members: dict[str, Any]) -> gcf.Payload:
    fields = renamed(members, PAYLOAD)
    fields["symbols"] = [renamed(symbol, SYMBOL) for symbol in members["symbols"]]
    fields["edges"] = [renamed(edge, EDGE) for edge in members.get("edges") or ()]
    return gcf.Payload(**fields)


def delta_of(members: dict[str, Any]) -> gcf.DeltaPayload:
    names = {
        "baseRoot": "base_root",
        "newRoot": "new_root",
        "removedEdges": "removed_edges",
        "addedEdges": "added_edges",
        "deltaTokens": "delta_tokens",
        "fullTokens": "full_tokens",
    }
    fields = renamed(members, names)
    for name in ("removed", "added"):
        fields[name] = [renamed(symbol, SYMBOL) for symbol in fields.get(name) or ()]
    for name in ("removed_edges", "added_edges"):
        fields[name] = [renamed(edge, EDGE) for edge in fields.get(name) or ()]
    return gcf.DeltaPayload(**fields)


def as_sets(payload: gcf.Payload) -> tuple[set[gcf.Symbol], set[gcf.Edge]]:
    return set(payload.symbols), set(payload.edges)


def without_unchanged(payload: gcf.Payload) -> gcf.Payload:
    edges = [
        edge.__replace__(status="") if edge.status == "unchanged" else edge
        for edge in payload.edges
    ]
    return payload.__replace__(edges=edges)


def check_session(calls: list[dict[str, Any]]) -> None:
    """Sends the payloads of a vector through two sessions, and compares every text and result."""
    ours, theirs = cw.Session(), cw.Session()
    for call in calls:
        payload = payload_of(call["input"])
        assert ours.encode_graph(payload) == call["expected"]
        decoded = theirs.decode_graph(call["expected"])
        assert isinstance(decoded, gcf.Payload)
        names = [(symbol.kind, symbol.qualified_name) for symbol in decoded.symbols]
        assert set(names) == {(symbol.kind, symbol.qualified_name) for symbol in payload.symbols}
        assert set(decoded.edges) == set(without_unchanged(payload).edges)
