"""The published conformance fixtures of GCF: graph texts, deltas, sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compactwire import gcf
from tests.strategies.payloads import as_sets, check_session, delta_of, payload_of
from tests.vectors import load, published

FOLDER = published("gcf")


def named(path: Path) -> str:
    return str(path.relative_to(FOLDER))


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


GRAPH = [path for path in sorted(FOLDER.rglob("*.json")) if is_graph(path)]
TEXTS = [path for path in GRAPH if load(path)["operation"] != "session"]


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_a_fixture_holds(path: Path) -> None:
    fixture = load(path)
    CHECKS[fixture["operation"]](fixture)


SESSIONS = [path for path in GRAPH if path not in TEXTS]


@pytest.mark.parametrize("path", SESSIONS, ids=named)
def test_a_session_declares_each_symbol_once(path: Path) -> None:
    check_session(load(path)["calls"])


def test_every_fixture_of_graphs_is_there() -> None:
    assert (len(GRAPH), len(SESSIONS)) == (26, 2)
