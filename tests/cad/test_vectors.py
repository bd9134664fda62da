"""Our own vectors of the CAD IR: each document, text, byte and error exactly."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from compactwire import cad
from tests.reference import cad as reference
from tests.strategies.documents import assembled, same
from tests.vectors import OWN, load

FOLDER = OWN / "cad"

Case = dict[str, Any]

HINT = ' (unknown="keep" keeps it, in load, loads, and to_compact with dialect 0.2)'

READING = ("read-0.1-invalid", "read-0.1-valid", "read-0.2-invalid", "read-0.2-valid")
FILES = (*READING, "binary", "hybrid", "numbers", "target", "write")
CASES: dict[str, list[Case]] = {name: load(FOLDER / f"{name}.json") for name in FILES}


def cases(*names: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{name}: {case.get('name', number)}")
        for name in names
        for number, case in enumerate(CASES[name])
    ]


def fields(error: Exception) -> dict[str, object]:
    facts = vars(error)
    return {key: facts[key] for key in ("line", "column", "path", "message") if key in facts}


def test_every_file_is_read() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(FILES)
    assert all(CASES.values())


@pytest.mark.parametrize("case", cases(*READING))
def test_read_text_has_its_document_or_error(case: Case) -> None:
    text, dialect = case["compact"], case["dialect"]
    if case["error"] is None:
        assert same(cad.from_compact(text, dialect), cad.canonical(case["document"]))
        assert same(cad.canonical(cad.from_compact(text.encode(), dialect)), cad.loads(
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
def test_a_stream_has_the_same_document_or_error(case: Case, size: int) -> None:
    data = case["compact"].encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    items = cad.iter_compact(chunks, case["dialect"])
    if case["error"] is None:
        assert same(assembled(items), cad.canonical(case["document"]))
        return
    with pytest.raises(cad.CompactParseError) as caught:
        assembled(items)
    assert fields(caught.value) == case["error"]


@pytest.mark.parametrize("case", cases(*READING))
def test_the_reference_has_the_same_document_or_error(case: Case) -> None:
    if case["error"] is None:
        assert same(
            cad.canonical(reference.read(case["compact"], case["dialect"])),
            cad.canonical(case["document"]),
        )
        return
    with pytest.raises(reference.ReadError):
        reference.read(case["compact"], case["dialect"])


@pytest.mark.parametrize("case", cases("write"))
def test_written_text_has_its_text_or_error(case: Case) -> None:
    options = {"names": case["names"], "lossy": case["lossy"]}
    for document in (case["document"], json.dumps(case["document"])):
        if case["error"] is None:
            assert cad.to_compact(document, case["dialect"], **options) == case["compact"]
            continue
        with pytest.raises(cad.DocumentError) as caught:
            cad.to_compact(document, case["dialect"], **options)
        assert fields(caught.value) == case["error"]
        text = str(caught.value).removesuffix(HINT)
        assert text == "{path}: {message}".format(**case["error"])


@pytest.mark.parametrize("case", cases("target"))
def test_text_for_vcad_has_its_text_or_error(case: Case) -> None:
    options = {key: case[key] for key in ("target", "names", "lossy")}
    for document in (case["document"], json.dumps(case["document"])):
        if case["error"] is None:
            text = cad.to_compact(document, **options)
            assert text == case["compact"]
            for read in (cad.from_compact, reference.read, reference.read_as_vcad):
                assert same(cad.canonical(read(text)), cad.canonical(case["read"]))
        else:
            with pytest.raises(cad.DocumentError) as caught:
                cad.to_compact(document, **options)
            assert fields(caught.value) == case["error"]
        if case["losses"] is None:
            with pytest.raises(cad.DocumentError):
                cad.losses(document, "0.2", target="vcad")
        else:
            assert cad.losses(document, "0.2", target="vcad") == case["losses"]


@pytest.mark.parametrize("case", cases("hybrid"))
def test_a_hybrid_has_its_document_or_error(case: Case) -> None:
    for read, hybrid in (
        (cad.from_hybrid, case["hybrid"]),
        (cad.from_hybrid, json.dumps(case["hybrid"])),
        (cad.loads, json.dumps(case["hybrid"], indent=1).encode()),
    ):
        if case["error"] is None:
            assert same(read(hybrid), cad.canonical(case["document"]))
            continue
        with pytest.raises((cad.CompactParseError, cad.DocumentError)) as caught:
            read(hybrid)
        assert fields(caught.value) == case["error"]


@pytest.mark.parametrize("case", cases("binary"))
def test_binary_round_trips_exactly(case: Case) -> None:
    data = bytes.fromhex(case["hex"])
    if case["document"] is None:
        with pytest.raises(cad.BinaryError) as caught:
            cad.from_binary(data)
        assert 0 <= caught.value.offset <= len(data)
        return
    assert cad.to_binary(case["document"]) == data
    assert same(cad.from_binary(data), cad.canonical(case["document"]))
    assert same(cad.loads(data), cad.canonical(case["document"]))


@pytest.mark.parametrize("case", cases("numbers"))
def test_numbers_round_trip_exactly(case: Case) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(case["bits"]))
    document = cad.from_compact(f"S {case['text']}")
    radius = document["nodes"]["0"]["op"]["radius"]
    assert struct.pack(">d", radius) == struct.pack(">d", number)
    document["nodes"]["0"]["op"]["radius"] = number
    assert cad.to_compact(document) == f"S {case['text']}"
