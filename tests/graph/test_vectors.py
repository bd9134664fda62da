"""The published fixtures of graph payloads: GCF's graph profile, deltas, sessions' texts, GCB.

They lie outside the repository: in `$COMPACTWIRE_VECTORS`, by default `../shared/vectors` beside
it.
Every file of a folder that is named here is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import gcf, wire

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("COMPACTWIRE_VECTORS", ROOT.parent / "shared" / "vectors"))

if not (FOLDER / "gcb").is_dir():
    pytest.skip(
        f"NO CONFORMANCE VECTORS: {FOLDER} has no gcb/, nothing was compared with them "
        "(COMPACTWIRE_VECTORS names the folder that holds gcf/, gcf-extra/ and gcb/)",
        allow_module_level=True,
    )


def load(path: Path) -> dict[str, Any]:
    fixture: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return fixture


def named(path: Path) -> str:
    return str(path.relative_to(FOLDER))


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


def check_encode(fixture: dict[str, Any]) -> None:
    assert gcf.encode(payload_of(fixture["input"])) == fixture["expected"]
    decoded = gcf.decode(fixture["expected"])
    assert isinstance(decoded, gcf.Payload)
    assert gcf.encode(decoded) == fixture["expected"]


def check_decode(fixture: dict[str, Any]) -> None:
    assert gcf.decode(fixture["input"]) == payload_of(fixture["expected"])
    assert gcf.decode(fixture["input"].encode()) == payload_of(fixture["expected"])


def check_error(fixture: dict[str, Any]) -> None:
    with pytest.raises(gcf.GcfError) as caught:
        gcf.decode(fixture["input"])
    assert fixture["expectedError"] in (caught.value.code, str(caught.value))


def check_delta(fixture: dict[str, Any]) -> None:
    if "expected" in fixture:
        assert gcf.encode_delta(delta_of(fixture["input"])) == fixture["expected"]
        return
    base = payload_of(fixture["base_snapshot"])
    delta = gcf.decode(fixture["input"])
    assert isinstance(delta, gcf.DeltaPayload)
    assert (delta.base_root, delta.new_root) == (fixture["base_root"], fixture["new_root"])
    assert gcf.pack_root(base) == fixture["base_root"]
    applied = gcf.apply_delta(base, fixture["input"])
    assert as_sets(applied) == as_sets(payload_of(fixture["expected_snapshot"]))
    assert applied.pack_root == gcf.pack_root(applied) == fixture["new_root"]


def check_delta_verify(fixture: dict[str, Any]) -> None:
    base = payload_of(fixture["base_snapshot"])
    with pytest.raises(gcf.GcfError) as caught:
        gcf.apply_delta(base, fixture["input"])
    assert caught.value.code == fixture["expectedError"]
    assert base == payload_of(fixture["base_snapshot"])


def check_pack_root(fixture: dict[str, Any]) -> None:
    assert gcf.pack_root(payload_of(fixture["input"])) == fixture["expected"]


def check_stream(fixture: dict[str, Any]) -> None:
    given = payload_of(fixture["input"])
    pieces: list[str] = []
    labeled = fixture.get("options", {}).get("labeledTrailerCounts", False)
    with gcf.GraphStreamEncoder(
        pieces.append, given.tool, token_budget=given.token_budget, labeled_counts=labeled
    ) as stream:
        for symbol in given.symbols:
            stream.write_symbol(symbol)
        for edge in given.edges:
            stream.write_edge(edge)
    assert "".join(pieces) == fixture["expected"]
    decoded = gcf.decode(fixture["expected"])
    assert isinstance(decoded, gcf.Payload)
    assert as_sets(decoded) == as_sets(given)


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "encode": check_encode,
    "decode": check_decode,
    "error": check_error,
    "delta": check_delta,
    "delta-verify": check_delta_verify,
    "pack-root": check_pack_root,
    "graph-stream-encode": check_stream,
}


def is_graph(path: Path) -> bool:
    fixture = load(path)
    graph = path.parent.name.startswith("graph-") or "profile=graph" in str(fixture.get("input"))
    return fixture["operation"] == "graph-stream-encode" or graph


GRAPH = [path for path in sorted((FOLDER / "gcf").rglob("*.json")) if is_graph(path)]
TEXTS = [path for path in GRAPH if load(path)["operation"] != "session"]


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_a_fixture_holds(path: Path) -> None:
    fixture = load(path)
    CHECKS[fixture["operation"]](fixture)


SESSIONS = [path for path in GRAPH if path not in TEXTS]
SESSIONS += sorted((FOLDER / "gcf-extra" / "graph-session").glob("*.json"))


@pytest.mark.parametrize("path", SESSIONS, ids=named)
def test_a_session_declares_each_symbol_once(path: Path) -> None:
    ours, theirs = cw.Session(), cw.Session()
    for call in load(path)["calls"]:
        payload = payload_of(call["input"])
        assert ours.encode_graph(payload) == call["expected"]
        decoded = theirs.decode_graph(call["expected"])
        assert isinstance(decoded, gcf.Payload)
        names = [(symbol.kind, symbol.qualified_name) for symbol in decoded.symbols]
        assert set(names) == {(symbol.kind, symbol.qualified_name) for symbol in payload.symbols}
        assert set(decoded.edges) == set(without_unchanged(payload).edges)


DELTAS = sorted((FOLDER / "gcf-extra" / "graph-delta").glob("*.json"))


@pytest.mark.parametrize("path", DELTAS, ids=named)
def test_snapshots_are_compared_written_and_applied(path: Path) -> None:
    fixture = load(path)
    base, new = payload_of(fixture["base"]), payload_of(fixture["new"])
    assert gcf.pack_root(base) == fixture["base_root"]
    assert gcf.pack_root(new) == fixture["new_root"]
    delta = gcf.diff(base, new)
    tokens = {name: fixture[name] for name in ("delta_tokens", "full_tokens")}
    told = delta.__replace__(tool=fixture["tool"], **tokens)
    assert gcf.encode_delta(told) == fixture["expected"]
    assert as_sets(gcf.apply_delta(base, fixture["expected"])) == as_sets(new)


GOLDEN = sorted((FOLDER / "gcb").glob("*.json"))
LOSSY = sorted((FOLDER / "gcb" / "lossy").glob("*.json"))
MALFORMED = sorted((FOLDER / "gcb" / "malformed").glob("*.json"))
COMPAT = {"dangling_zero"}


def without_unchanged(payload: gcf.Payload) -> gcf.Payload:
    edges = [
        edge.__replace__(status="") if edge.status == "unchanged" else edge
        for edge in payload.edges
    ]
    return payload.__replace__(edges=edges)


@pytest.mark.parametrize("path", GOLDEN, ids=named)
def test_the_bytes_of_gcb_are_the_golden_ones(path: Path) -> None:
    fixture = load(path)
    payload = gcf.Payload(**fixture["payload"])
    golden = bytes.fromhex(fixture["gcb_hex"])
    assert payload == wire.decode_json(json.dumps(fixture["payload"]))
    if fixture.get("mode") == "compat":
        with pytest.raises(wire.WireError, match="gcb_dangling_edge"):
            wire.encode_gcb(payload)
        assert wire.encode_gcb(payload, lossy=COMPAT) == golden
    else:
        assert wire.encode_gcb(payload) == golden
        assert wire.decode_gcb(golden) == without_unchanged(payload)
    assert wire.encode_gcb(wire.decode_gcb(golden)) == golden


ALL = {"ids", "pack_root", "location", "distance", "precision", "duplicates", "dangling_zero"}


@pytest.mark.parametrize("path", LOSSY, ids=named)
def test_what_gcb_cannot_carry_is_refused_or_given_up(path: Path) -> None:
    fixture = load(path)
    payload = gcf.Payload(**fixture["payload"])
    original = bytes.fromhex(fixture["reference_hex"])
    expected = fixture["expected_error"]
    if expected is None:
        assert wire.encode_gcb(payload) == original
        return
    with pytest.raises(wire.WireError) as caught:
        wire.encode_gcb(payload)
    assert caught.value.code == expected
    assert caught.value.path is not None
    if expected not in ("gcb_count_range", "gcb_not_finite"):
        assert wire.encode_gcb(payload, lossy=ALL) == original


@pytest.mark.parametrize("path", MALFORMED, ids=named)
def test_bytes_that_are_no_gcb_are_refused(path: Path) -> None:
    fixture = load(path)
    with pytest.raises(wire.WireError) as caught:
        wire.decode_gcb(bytes.fromhex(fixture["gcb_hex"]))
    assert caught.value.code == fixture["expected_error"]
    assert caught.value.offset is not None


def test_every_fixture_is_there() -> None:
    assert len(GRAPH) == 26
    assert (len(SESSIONS), len(DELTAS)) == (10, 6)
    assert (len(GOLDEN), len(LOSSY), len(MALFORMED)) == (18, 8, 16)
