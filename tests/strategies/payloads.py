"""Graphs of vectors, and the check of their sessions."""

from __future__ import annotations

from typing import Any

import compactwire as cw
from compactwire import gcf
from compactwire.conformance._graph import as_sets, delta_of, payload_of, without_unchanged

__all__ = ["as_sets", "check_session", "delta_of", "payload_of", "without_unchanged"]


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
