"""The published conformance fixtures of GCF: those of keyed sets, their deltas and producers."""

from __future__ import annotations

from typing import Any

import pytest

import gcf as peer
from compactwire import gcf
from compactwire.conformance._gcf import delta_of, keyed_set
from tests.vectors import load, published

FOLDER = published("gcf")


def fixtures(operation: str) -> list[Any]:
    found = [(path, load(path)) for path in sorted(FOLDER.rglob("*.json"))]
    return [
        pytest.param(fixture, id=f"{path.parent.name}/{path.stem}")
        for path, fixture in found
        if fixture["operation"] == operation
    ]


@pytest.mark.parametrize("fixture", fixtures("generic-pack-root"))
def test_a_pack_root_equals_the_published_one(fixture: dict[str, Any]) -> None:
    assert keyed_set(fixture["input"]).root == fixture["expected"]


@pytest.mark.parametrize("fixture", fixtures("generic-delta"))
def test_a_delta_is_written_as_published(fixture: dict[str, Any]) -> None:
    given = fixture["input"]
    delta = delta_of(given, given["newRoot"])
    sizes = (given["deltaTokens"], given["fullTokens"]) if "fullTokens" in given else None
    text = delta.encode(tool=given.get("tool", ""), sizes=sizes)
    assert text == fixture["expected"]
    read = gcf.read_keyed_delta(text)
    assert (read.added, read.changed, read.removed) == (delta.added, delta.changed, delta.removed)


@pytest.mark.parametrize("fixture", fixtures("generic-delta-verify"))
def test_a_delta_is_applied_or_refused_as_published(fixture: dict[str, Any]) -> None:
    given = fixture["input"]
    base = keyed_set(given["base"])
    before = base.rows
    delta = delta_of(given["delta"], given["expectedNewRoot"])
    if "expectedError" in fixture:
        with pytest.raises(gcf.GcfError, match=fixture["expectedError"]):
            base.apply(delta)
    else:
        assert base.apply(delta).root == fixture["expected"]
    assert base.rows == before


@pytest.mark.parametrize("fixture", fixtures("generic-delta-decode"))
def test_a_delta_is_read_as_published(fixture: dict[str, Any]) -> None:
    given = fixture["input"]
    made = gcf.receive_keyed(given["wire"], keyed_set(given["base"]))
    assert made.root == fixture["expected"] == given["expectedNewRoot"]


@pytest.mark.parametrize("fixture", fixtures("generic-delta-session"))
def test_a_producer_anchors_as_published(fixture: dict[str, Any]) -> None:
    given, expected = fixture["input"], fixture["expected"]
    policy = given["policy"]
    by_size = policy["mode"] == "sizeGuard"
    producer = gcf.KeyedProducer(
        keyed_set(given["base"]),
        tool=given["tool"],
        fixed_n=None if by_size else policy["n"],
        size_guard=by_size,
    )
    assert producer.full() == expected["initialFull"]
    held = gcf.receive_keyed(expected["initialFull"], None)
    for update, emission in zip(given["updates"], expected["emissions"], strict=True):
        new = keyed_set(update)
        assert producer.push(new) == (emission["wire"], emission["isFull"])
        held = gcf.receive_keyed(emission["wire"], held)
        assert held == new


def test_every_fixture_of_keyed_sets_is_there() -> None:
    operations = ("pack-root", "delta", "delta-verify", "delta-decode", "delta-session")
    assert [len(fixtures(f"generic-{name}")) for name in operations] == [3, 2, 3, 1, 2]


@pytest.mark.parametrize("key", ["order-id", "a.b", "1a", "a:b", "a,b", "a}", "_x"])
def test_a_delta_that_removes_rows_is_read_whatever_characters_its_identity_has(key: str) -> None:
    rows = [{key: 1, "x": 1}, {key: 2, "x": 2}]
    sets = [peer.GenericSet(key, [key, "x"], some, "rows") for some in (rows, rows[1:])]
    text = peer.encode_generic_delta(peer.diff_generic_sets(*sets))
    assert gcf.read_keyed_delta(text).removed == [1]
    base = gcf.KeyedSet(rows, key=key, name="rows")
    assert gcf.receive_keyed(text, base).rows == rows[1:]


def test_a_set_with_integers_beyond_doubles_has_another_root_in_gcf_python() -> None:
    """As docs/gcf.md says of the readers of keyed sets."""
    for integer, is_read in ((2**53 - 1, True), (2**53 + 1, False)):
        rows = [{"id": integer, "x": 1}]
        text = peer.encode_generic_full(
            peer.GenericSet(name="", key="id", fields=["id", "x"], rows=rows), ""
        )
        if is_read:
            assert gcf.read_keyed(text).rows == rows
        else:
            with pytest.raises(gcf.GcfError, match="root_mismatch"):
                gcf.read_keyed(text)
