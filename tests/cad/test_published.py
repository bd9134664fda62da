"""Published CAD documents: each round-trips in every form, or is refused."""

from __future__ import annotations

from typing import Any

import pytest

from compactwire import cad
from tests.reference import cad as reference
from tests.strategies.documents import assembled, same
from tests.vectors import load, published

Case = dict[str, Any]

FOLDER = published("cad/real")
MANIFEST: list[Case] = load(FOLDER / "MANIFEST.json")["documents"]
INSIDE = [entry for entry in MANIFEST if entry["in_model"]]
OUTSIDE = [entry for entry in MANIFEST if not entry["in_model"]]


def real(entry: Case) -> Any:
    return load(FOLDER / entry["name"])


def test_every_document_is_read() -> None:
    there = {path.name for path in FOLDER.iterdir()} - {"MANIFEST.json"}
    assert there == {entry["name"] for entry in MANIFEST}
    assert INSIDE
    assert OUTSIDE


@pytest.mark.parametrize("entry", INSIDE, ids=lambda entry: entry["name"])
def test_a_real_document_round_trips_in_every_form(entry: Case) -> None:
    document = real(entry)
    canonical = cad.canonical(document)
    text = cad.to_compact(document, "0.2")
    binary = cad.to_binary(document)
    assert same(cad.from_compact(text), canonical)
    assert same(cad.canonical(reference.read(text)), canonical)
    assert same(cad.from_binary(binary), canonical)
    assert same(cad.from_hybrid(cad.to_hybrid(document)), canonical)
    assert same(cad.loads(cad.dumps(document)), canonical)
    assert same(assembled(cad.iter_compact([text])), canonical)
    assert len(binary) < len(text.encode())
    assert cad.losses(document, "0.2") == []


@pytest.mark.parametrize("entry", INSIDE, ids=lambda entry: entry["name"])
def test_a_real_document_keeps_its_shape_in_dialect_0_1(entry: Case) -> None:
    document = real(entry)
    if entry["dialect_0_1"] != "ok":
        with pytest.raises(cad.DocumentError) as caught:
            cad.to_compact(document, "0.1")
        assert str(caught.value) == entry["dialect_0_1"]
        return
    again = cad.from_compact(cad.to_compact(document, "0.1"))
    place = {node: number for number, node in enumerate(writing_order(document))}
    assert len(again["nodes"]) == len(document["nodes"])
    for key, node in document["nodes"].items():
        written = again["nodes"][str(place[int(key)])]["op"]
        assert same(cad_op(written), renumbered(cad_op(node["op"]), place))


def cad_op(op: Any) -> Any:
    """The operation, with `Empty` as a cube of size 0, as dialect 0.1 writes it."""
    if op["type"] == "Empty":
        return {"type": "Cube", "size": {"x": 0, "y": 0, "z": 0}}
    return {key: value for key, value in op.items() if value is not None}


def renumbered(op: Any, place: dict[int, int]) -> Any:
    refs = ("child", "left", "right", "sketch")
    return {key: place[value] if key in refs else value for key, value in op.items()}


def writing_order(document: Any) -> list[int]:
    """The order of nodes in a text, found naively: dependencies first, then ids, the root last."""
    nodes = {int(key): node["op"] for key, node in document["nodes"].items()}
    root = document["roots"][0]["root"]
    order: list[int] = []
    while len(order) < len(nodes):
        ready = [
            node
            for node, op in nodes.items()
            if node not in order
            and all(op[key] in order for key in ("child", "left", "right", "sketch") if key in op)
        ]
        order.append(min(ready, key=lambda node: (node == root, node)))
    return order


@pytest.mark.parametrize("entry", OUTSIDE, ids=lambda entry: entry["name"])
def test_a_real_document_outside_the_model_is_refused(entry: Case) -> None:
    document = real(entry)
    for write in (
        cad.canonical,
        cad.dumps,
        cad.to_binary,
        cad.to_hybrid,
        cad.to_compact,
        lambda document: cad.to_compact(document, "0.2"),
    ):
        with pytest.raises(cad.DocumentError):
            write(document)


@pytest.mark.parametrize("entry", OUTSIDE, ids=lambda entry: entry["name"])
def test_a_real_document_outside_the_model_round_trips_with_keep(entry: Case) -> None:
    document = real(entry)
    text = cad.to_compact(document, "0.2", unknown="keep")
    again = cad.from_compact(text)
    assert same(again, reference.read(text))
    assert {key: again[key] for key in document} == document


def test_binary_is_at_most_70_percent_of_the_text() -> None:
    texts = sum(len(cad.to_compact(real(entry), "0.2").encode()) for entry in INSIDE)
    binaries = sum(len(cad.to_binary(real(entry))) for entry in INSIDE)
    assert binaries <= 0.7 * texts


def test_most_real_documents_are_written_for_vcad_if_segments_may_be_lost() -> None:
    without, segments = 0, 0
    for entry in INSIDE:
        document = real(entry)
        losses = set(cad.losses(document, target="vcad")) - {"ids"}
        text = cad.to_compact(document, target="vcad", lossy=sorted(losses))
        read = cad.from_compact(text)
        assert same(cad.canonical(reference.read_as_vcad(text)), read)
        without += losses == set()
        segments += losses == {"segments"}
        if not losses:
            assert same(read, reference.renumbered(cad.canonical(document)))
    assert (without, segments, len(INSIDE)) == (10, 33, 52)
