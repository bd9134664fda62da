"""The fixtures of keyed sets, by the product: pack roots, deltas, producers; and their own texts.

They lie outside the repository, as those of `test_gcf_vectors.py`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from compactwire import gcf

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT.parent / "shared" / "vectors"
VECTORS = Path(os.environ.get("COMPACTWIRE_VECTORS", DEFAULT))
EXTRA = VECTORS / "gcf-extra" / "generic-delta"

if not EXTRA.is_dir():
    pytest.skip(
        f"NO CONFORMANCE VECTORS: {EXTRA} is absent, nothing was compared with them "
        "(COMPACTWIRE_VECTORS names the folder that holds gcf/ and gcf-extra/)",
        allow_module_level=True,
    )


def load(path: Path) -> dict[str, Any]:
    fixture: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return fixture


def fixtures(operation: str) -> list[Any]:
    paths = sorted((VECTORS / "gcf").rglob("*.json"))
    found = [(path, load(path)) for path in paths]
    return [
        pytest.param(fixture, id=f"{path.parent.name}/{path.stem}")
        for path, fixture in found
        if fixture["operation"] == operation
    ]


def keyed_set(given: dict[str, Any]) -> gcf.KeyedSet:
    return gcf.KeyedSet(
        given["rows"], key=given["key"], fields=given["fields"], name=given.get("name", "rows")
    )


def keyed_delta(given: dict[str, Any], new_root: str) -> gcf.KeyedDelta:
    return gcf.KeyedDelta(
        key=given["key"],
        fields=given.get("fields", ()),
        base_root=given["baseRoot"],
        new_root=new_root,
        added=given.get("added", ()),
        changed=given.get("changed", ()),
        removed=given.get("removed", ()),
    )


@pytest.mark.parametrize("fixture", fixtures("generic-pack-root"))
def test_a_root_is_the_published_one(fixture: dict[str, Any]) -> None:
    assert keyed_set(fixture["input"]).root == fixture["expected"]


@pytest.mark.parametrize("fixture", fixtures("generic-delta"))
def test_a_delta_is_written_as_published(fixture: dict[str, Any]) -> None:
    given = fixture["input"]
    delta = keyed_delta(given, given["newRoot"])
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
    delta = keyed_delta(given["delta"], given["expectedNewRoot"])
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


@pytest.mark.parametrize("path", sorted(EXTRA.glob("*.json")), ids=lambda path: str(path.stem))
def test_a_diff_is_the_recorded_one(path: Path) -> None:
    fixture = load(path)
    base, new = keyed_set(fixture["base"]), keyed_set(fixture["new"])
    assert (base.root, new.root) == (fixture["base_root"], fixture["new_root"])
    assert base.encode(tool=fixture["tool"]) == fixture["base_full"]
    assert new.encode(tool=fixture["tool"]) == fixture["new_full"]
    delta = base.delta(new)
    assert delta is not None
    assert delta.encode(tool=fixture["tool"]) == fixture["expected"]
    parts = (fixture["added"], fixture["changed"], fixture["removed"])
    assert (delta.added, delta.changed, delta.removed) == parts
    assert gcf.receive_keyed(fixture["expected"], base) == new
    for side in ("base", "new"):
        assert gcf.read_keyed(fixture[f"{side}_full"]) == keyed_set(fixture[side])
    kept = gcf.KeyedSnapshots()
    size = lambda text: len(text.encode())  # noqa: E731
    kept.respond(base, None, tool=fixture["tool"], count_tokens=size)
    answer = kept.respond(new, base.root, tool=fixture["tool"], count_tokens=size)
    assert (answer == fixture["expected"]) is fixture["worth_it"]


def test_every_fixture_of_keyed_sets_is_there() -> None:
    operations = ("pack-root", "delta", "delta-verify", "delta-decode", "delta-session")
    assert [len(fixtures(f"generic-{name}")) for name in operations] == [3, 2, 3, 1, 2]
    assert len(list(EXTRA.glob("*.json"))) == 7
