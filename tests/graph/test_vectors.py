"""Our own vectors of graph payloads: sessions and deltas of the graph profile, and GCB."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compactwire import gcf, wire
from tests.strategies.payloads import as_sets, check_session, payload_of, without_unchanged
from tests.vectors import OWN, load


def named(path: Path) -> str:
    return str(path.relative_to(OWN))


SESSIONS = sorted((OWN / "graph" / "session").glob("*.json"))


@pytest.mark.parametrize("path", SESSIONS, ids=named)
def test_a_session_declares_each_symbol_once(path: Path) -> None:
    check_session(load(path)["calls"])


DELTAS = sorted((OWN / "graph" / "delta").glob("*.json"))


@pytest.mark.parametrize("path", DELTAS, ids=named)
def test_a_delta_between_snapshots_equals_the_vector(path: Path) -> None:
    fixture = load(path)
    base, new = payload_of(fixture["base"]), payload_of(fixture["new"])
    assert gcf.pack_root(base) == fixture["base_root"]
    assert gcf.pack_root(new) == fixture["new_root"]
    delta = gcf.diff(base, new)
    tokens = {name: fixture[name] for name in ("delta_tokens", "full_tokens")}
    with_tokens = delta.__replace__(tool=fixture["tool"], **tokens)
    assert gcf.encode_delta(with_tokens) == fixture["expected"]
    assert as_sets(gcf.apply_delta(base, fixture["expected"])) == as_sets(new)


GOLDEN = sorted((OWN / "wire").glob("*.json"))
LOSSY = sorted((OWN / "wire" / "lossy").glob("*.json"))
MALFORMED = sorted((OWN / "wire" / "malformed").glob("*.json"))
COMPAT = {"dangling_zero"}


@pytest.mark.parametrize("path", GOLDEN, ids=named)
def test_gcb_bytes_equal_the_vector(path: Path) -> None:
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
def test_lossy_payloads_are_refused_unless_allowed(path: Path) -> None:
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
def test_malformed_gcb_is_refused(path: Path) -> None:
    fixture = load(path)
    with pytest.raises(wire.WireError) as caught:
        wire.decode_gcb(bytes.fromhex(fixture["gcb_hex"]))
    assert caught.value.code == fixture["expected_error"]
    assert caught.value.offset is not None


def test_every_graph_vector_is_there() -> None:
    assert (len(SESSIONS), len(DELTAS)) == (8, 6)
    assert (len(GOLDEN), len(LOSSY), len(MALFORMED)) == (18, 8, 16)
