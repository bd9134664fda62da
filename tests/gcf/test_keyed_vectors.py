"""Our own vectors of keyed sets: pack roots, whole texts, deltas."""

from __future__ import annotations

from pathlib import Path

import pytest

from compactwire import gcf
from compactwire.conformance._gcf import keyed_set
from tests.vectors import OWN, load

DELTAS = sorted((OWN / "gcf" / "generic-delta").glob("*.json"))


@pytest.mark.parametrize("path", DELTAS, ids=lambda path: str(path.stem))
def test_a_delta_equals_the_vector(path: Path) -> None:
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


def test_every_keyed_vector_is_there() -> None:
    assert len(DELTAS) == 7
