"""The conformance vectors of the CAD IR: authored cases and real documents, each exactly.

They lie outside the repository: in `$COMPACTWIRE_VECTORS/cad`, by default `../shared/vectors/cad`
beside it. Every file is read, and every case in it.
"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from compactwire import cad
from tests.reference import cad as reference

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = ROOT.parent / "shared" / "vectors"
FOLDER = Path(os.environ.get("COMPACTWIRE_VECTORS", DEFAULT)) / "cad"

if not FOLDER.is_dir():
    pytest.skip(
        f"NO CONFORMANCE VECTORS: {FOLDER} is absent, nothing was compared with them "
        "(COMPACTWIRE_VECTORS names the folder that holds cad/)",
        allow_module_level=True,
    )

Case = dict[str, Any]

READING = ("read-0.1-invalid", "read-0.1-valid", "read-0.2-invalid", "read-0.2-valid")
FILES = (*READING, "binary", "hybrid", "numbers", "write")
CASES: dict[str, list[Case]] = {
    name: json.loads((FOLDER / "cases" / f"{name}.json").read_text("utf-8")) for name in FILES
}
MANIFEST: list[Case] = json.loads((FOLDER / "real" / "MANIFEST.json").read_text("utf-8"))[
    "documents"
]
INSIDE = [entry for entry in MANIFEST if entry["in_model"]]
OUTSIDE = [entry for entry in MANIFEST if not entry["in_model"]]


def cases(*names: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{name}: {case.get('name', number)}")
        for name in names
        for number, case in enumerate(CASES[name])
    ]


def real(entry: Case) -> Any:
    return json.loads((FOLDER / "real" / entry["name"]).read_text("utf-8"))


def exact(value: Any) -> Any:
    """Tell -0 from 0 and True from 1, but not 50 from 50.0."""
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, bool | str | None):
        return (type(value).__name__, value)
    return struct.pack(">d", value) if abs(value) < 2**53 else value


def same(left: Any, right: Any) -> bool:
    return bool(exact(left) == exact(right))


def fields(error: Exception) -> dict[str, object]:
    facts = vars(error)
    return {key: facts[key] for key in ("line", "column", "path", "message") if key in facts}


def test_every_file_is_read() -> None:
    assert sorted(path.stem for path in (FOLDER / "cases").iterdir()) == sorted(FILES)
    there = {path.name for path in (FOLDER / "real").iterdir()} - {"MANIFEST.json"}
    assert there == {entry["name"] for entry in MANIFEST}
    assert all(CASES.values())
    assert INSIDE
    assert OUTSIDE


@pytest.mark.parametrize("case", cases(*READING))
def test_reading_gives_the_document_or_the_error(case: Case) -> None:
    text, dialect = case["compact"], case["dialect"]
    if case["error"] is None:
        assert same(cad.from_compact(text, dialect), cad.canonical(case["document"]))
        assert same(cad.canonical(cad.from_compact(text.encode(), dialect)), cad.load(
            json.dumps(case["document"])
        ))  # fmt: skip
        assert cad.check(text, dialect=dialect) == []
        return
    with pytest.raises(cad.CompactParseError) as caught:
        cad.from_compact(text, dialect)
    assert fields(caught.value) == case["error"]
    line, column, message = (case["error"][key] for key in ("line", "column", "message"))
    assert str(caught.value) == f"line {line}, column {column}: {message}"
    assert fields(cad.check(text, dialect=dialect)[0]) == case["error"]


@pytest.mark.parametrize("case", cases(*READING))
@pytest.mark.parametrize("size", [1, 7])
def test_streaming_gives_the_same(case: Case, size: int) -> None:
    data = case["compact"].encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    items = cad.iter_compact(chunks, case["dialect"])
    if case["error"] is None:
        assert same(assembled(items), cad.canonical(case["document"]))
        return
    with pytest.raises(cad.CompactParseError) as caught:
        assembled(items)
    assert fields(caught.value) == case["error"]


def assembled(items: Any) -> Any:
    nodes, rest = {}, None
    for kind, item in items:
        assert rest is None
        if kind == "node":
            nodes[str(item["id"])] = item
        else:
            rest = item
    assert rest is not None
    return {**rest, "nodes": nodes}


@pytest.mark.parametrize("case", cases(*READING))
def test_the_reference_reads_the_same(case: Case) -> None:
    if case["error"] is None:
        assert same(
            cad.canonical(reference.read(case["compact"], case["dialect"])),
            cad.canonical(case["document"]),
        )
        return
    with pytest.raises(reference.Mistake):
        reference.read(case["compact"], case["dialect"])


@pytest.mark.parametrize("case", cases("write"))
def test_writing_gives_the_text_or_the_error(case: Case) -> None:
    options = {"names": case["names"], "lossy": case["lossy"]}
    for document in (case["document"], json.dumps(case["document"])):
        if case["error"] is None:
            assert cad.to_compact(document, case["dialect"], **options) == case["compact"]
            continue
        with pytest.raises(cad.DocumentError) as caught:
            cad.to_compact(document, case["dialect"], **options)
        assert fields(caught.value) == case["error"]
        assert str(caught.value) == "{path}: {message}".format(**case["error"])


@pytest.mark.parametrize("case", cases("hybrid"))
def test_a_hybrid_gives_the_document_or_the_error(case: Case) -> None:
    for read, hybrid in (
        (cad.from_hybrid, case["hybrid"]),
        (cad.from_hybrid, json.dumps(case["hybrid"])),
        (cad.load, json.dumps(case["hybrid"], indent=1).encode()),
    ):
        if case["error"] is None:
            assert same(read(hybrid), cad.canonical(case["document"]))
            continue
        with pytest.raises((cad.CompactParseError, cad.DocumentError)) as caught:
            read(hybrid)
        assert fields(caught.value) == case["error"]


@pytest.mark.parametrize("case", cases("binary"))
def test_bytes_give_the_document_and_it_gives_them(case: Case) -> None:
    data = bytes.fromhex(case["hex"])
    if case["document"] is None:
        with pytest.raises(cad.BinaryError) as caught:
            cad.from_binary(data)
        assert 0 <= caught.value.offset <= len(data)
        return
    assert cad.to_binary(case["document"]) == data
    assert same(cad.from_binary(data), cad.canonical(case["document"]))
    assert same(cad.load(data), cad.canonical(case["document"]))


@pytest.mark.parametrize("case", cases("numbers"))
def test_numbers_are_written_and_read_exactly(case: Case) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(case["bits"]))
    document = cad.from_compact(f"S {case['text']}")
    radius = document["nodes"]["0"]["op"]["radius"]
    assert struct.pack(">d", radius) == struct.pack(">d", number)
    document["nodes"]["0"]["op"]["radius"] = number
    assert cad.to_compact(document) == f"S {case['text']}"


@pytest.mark.parametrize("entry", INSIDE, ids=lambda entry: entry["name"])
def test_a_real_document_survives_every_trip(entry: Case) -> None:
    document = real(entry)
    canonical = cad.canonical(document)
    text = cad.to_compact(document, "0.2")
    binary = cad.to_binary(document)
    assert same(cad.from_compact(text), canonical)
    assert same(cad.canonical(reference.read(text)), canonical)
    assert same(cad.from_binary(binary), canonical)
    assert same(cad.from_hybrid(cad.to_hybrid(document)), canonical)
    assert same(cad.load(cad.dumps(document)), canonical)
    assert same(assembled(cad.iter_compact([text])), canonical)
    assert len(binary) < len(text.encode())
    assert cad.losses(document, "0.2") == []


@pytest.mark.parametrize("entry", INSIDE, ids=lambda entry: entry["name"])
def test_a_real_document_keeps_its_shape_in_the_first_dialect(entry: Case) -> None:
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
    """An Empty becomes the cube without size."""
    if op["type"] == "Empty":
        return {"type": "Cube", "size": {"x": 0, "y": 0, "z": 0}}
    return {key: value for key, value in op.items() if value is not None}


def renumbered(op: Any, place: dict[int, int]) -> Any:
    refs = ("child", "left", "right", "sketch")
    return {key: place[value] if key in refs else value for key, value in op.items()}


def writing_order(document: Any) -> list[int]:
    """Smallest id first, after what it uses, the root last: by the book, and slowly."""
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
def test_a_real_document_outside_the_model_survives_where_it_is_kept(entry: Case) -> None:
    document = real(entry)
    text = cad.to_compact(document, "0.2", unknown="keep")
    again = cad.from_compact(text)
    assert same(again, reference.read(text))
    assert {key: again[key] for key in document} == document


def test_binary_is_at_most_70_percent_of_the_text() -> None:
    texts = sum(len(cad.to_compact(real(entry), "0.2").encode()) for entry in INSIDE)
    binaries = sum(len(cad.to_binary(real(entry))) for entry in INSIDE)
    assert binaries <= 0.7 * texts
