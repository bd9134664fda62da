"""Any document round-trips in every form, and any input is a document or an error."""

from __future__ import annotations

import copy
import json
import re
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import cad
from tests.reference import cad as reference
from tests.strategies.cad import NEARLY_TEXTS, containers, damaged, documents
from tests.strategies.documents import assembled, exact, survives
from tests.strategies.profiles import examples
from tests.strategies.twins import Twin


def canonical(document: Any) -> Any:
    """The canonical form, or the document itself if it is outside the model."""
    try:
        return cad.canonical(document)
    except cad.DocumentError:
        return document


def outcome(call: Any) -> Any:
    try:
        return exact(call())
    except cw.CompactWireError as error:
        return type(error), vars(error)


@given(documents())
def test_every_document_round_trips_in_every_form(document: Any) -> None:
    canonical = cad.canonical(document)
    expected = exact(canonical)
    assert exact(cad.canonical(canonical)) == expected
    assert exact(cad.from_compact(cad.to_compact(document, "0.2"))) == expected
    assert exact(cad.from_binary(cad.to_binary(document))) == expected
    assert exact(cad.from_hybrid(cad.to_hybrid(document))) == expected
    assert exact(cad.loads(cad.dumps(document))) == expected
    assert exact(cad.canonical(json.loads(cad.dumps(document)))) == expected
    assert cad.losses(document, "0.2") == []


@given(documents())
def test_json_text_and_dict_give_the_same_document(document: Any) -> None:
    text = json.dumps(document)
    assert exact(cad.canonical(text)) == exact(cad.canonical(document))
    assert cad.to_binary(text.encode()) == cad.to_binary(document)
    assert exact(cad.loads(text)) == exact(cad.canonical(document))


@given(documents() | damaged(), st.sampled_from(("0.1", "0.2")), st.booleans(), st.booleans())
def test_json_text_and_dict_are_written_alike(
    document: Any, dialect: Any, names: bool, lossy: bool
) -> None:
    def written(doc: Any) -> Any:
        return outcome(lambda: cad.to_compact(doc, dialect, names=names, lossy=lossy))

    def reordered(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: reordered(value[key]) for key in reversed(value)}
        return [reordered(item) for item in value] if isinstance(value, list) else value

    # JSON text is read whole; a dict, written while it is read where that is possible.
    expected = written(json.dumps(document))
    assert written(document) == expected
    if not isinstance(expected, tuple):
        assert written(reordered(document)) == expected


@examples(0.5)
@given(documents(), st.booleans(), st.data())
def test_a_member_that_no_lookup_finds_is_neither_dropped_nor_written_twice(
    document: Any, twice: bool, data: st.DataObject
) -> None:
    for write in (cad.dumps, cad.canonical, cad.to_compact, cad.to_binary, cad.to_hybrid):
        plain = outcome(lambda write=write: write(document))
        changed = copy.deepcopy(document)
        objects = [one for one in containers(changed) if isinstance(one, dict) and one]
        found = data.draw(st.sampled_from(objects))
        name = data.draw(st.sampled_from(sorted(found)))
        found[Twin(name)] = found[name] if twice else found.pop(name)
        written = outcome(lambda write=write, changed=changed: write(changed))
        if isinstance(written, tuple):
            error, said = written
            assert error is cad.DocumentError
            assert not (twice and "unknown=" in said["message"])
        else:
            assert not twice
            assert written == plain


@given(documents())
def test_the_reference_reads_written_text(document: Any) -> None:
    text = cad.to_compact(document, "0.2")
    try:
        read = reference.read(text)
    except reference.ReadError as error:
        # The reference refuses only one valid construct: a wide range of ids.
        assert "more than this reader holds" in str(error)  # noqa: PT017
        return
    assert exact(cad.canonical(read)) == exact(cad.canonical(document))


@given(damaged())
def test_any_object_round_trips_with_keep(document: Any) -> None:
    text = cad.to_compact(document, "0.2", unknown="keep")
    again = cad.from_compact(text)
    assert survives(document, again)
    assert cad.check(text) == []
    assert exact(reference.read(text)) == exact(again)
    assert exact(assembled(cad.iter_compact([text]))) == exact(again)
    assert cad.to_compact(again, "0.2", unknown="keep") == text
    assert cad.to_compact(json.dumps(document), "0.2", unknown="keep") == text
    try:
        inside = cad.to_compact(document, "0.2")
    except cad.DocumentError:
        assert "\nXF " in text
    else:
        assert inside == text


@given(documents(), st.data())
def test_repair_restores_a_damaged_document(document: Any, data: st.DataObject) -> None:
    expected = cad.canonical(document)
    broken = break_it(copy.deepcopy(expected), data.draw(st.randoms(use_true_random=False)))
    with warnings.catch_warnings(record=True) as mended:
        warnings.simplefilter("always")
        assert exact(cad.loads(json.dumps(broken), repair=True)) == exact(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cad.loads(json.dumps(expected), repair=True) == expected
        if not mended:
            assert exact(broken) == exact(expected)
        else:
            with pytest.raises(UserWarning, match=re.escape(str(mended[0].message))):
                cad.loads(json.dumps(broken), repair=True)


def break_it(document: Any, random: Any) -> Any:
    """Damage a document: ids as strings, keys that are not ids, snake case."""

    def text(number: Any) -> Any:
        return str(number) if random.random() < 0.5 else number

    def snake(name: str) -> str:
        return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name)

    nodes = {}
    for key, node in document["nodes"].items():
        op = node["op"]
        for ref in {"child", "left", "right", "sketch"} & op.keys():
            op[ref] = text(op[ref])
        node["id"] = text(node["id"])
        nodes["n" + key if random.random() < 0.5 else key] = node
    document["nodes"] = nodes
    for shown in (*document["roots"], *document.get("partDefs", {}).values()):
        shown["root"] = text(shown["root"])
    for joint in document.get("joints", []):
        for name in ("parentInstanceId", "childInstanceId", "parentAnchor", "childAnchor"):
            joint[snake(name) if random.random() < 0.5 else name] = joint.pop(name)
    for instance in document.get("instances", []):
        instance["part_def_id"] = instance.pop("partDefId")
    for name in ("partDefs", "groundInstanceId"):
        if name in document:
            document[snake(name)] = document.pop(name)
    return document


@given(documents())
def test_writing_is_canonical(document: Any) -> None:
    text, data = cad.to_compact(document, "0.2"), cad.to_binary(document)
    again = cad.from_compact(text)
    assert cad.to_compact(again, "0.2") == text
    assert cad.to_binary(again) == data
    assert cad.dumps(again) == cad.dumps(document)
    extension = text.startswith("# vcad 0.2 x1")
    assert extension or text.split("\n")[0] == "# vcad 0.2"


@given(documents())
def test_dialect_0_1_carries_the_shape_or_names_the_loss(document: Any) -> None:
    nodes = document["nodes"]
    lossy = cad.from_compact(cad.to_compact(document, lossy=True))
    assert len(lossy["nodes"]) <= len(nodes)
    try:
        text = cad.to_compact(document)
    except cad.DocumentError as error:
        assert "dialect 0.1" in error.message  # noqa: PT017
        assert {"assembly", "ops", "roots"} & set(cad.losses(document, "0.1"))
        return
    again = cad.from_compact(text)
    changed = set(cad.losses(document, "0.1"))
    assert changed.isdisjoint({"roots", "unknown"})
    canonical = cad.canonical(document)
    assert (exact(again) == exact(canonical)) == (changed == set())
    if changed <= {"names"}:
        for node in canonical["nodes"].values():
            node["name"] = None
        assert exact(again) == exact(canonical)


@examples(0.5)
@given(documents(), st.integers(1, 9), st.booleans())
def test_a_stream_equals_the_whole_text(document: Any, size: int, text_chunks: bool) -> None:
    text: Any = cad.to_compact(document, "0.2")
    data = text if text_chunks else text.encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert exact(assembled(cad.iter_compact(chunks))) == exact(cad.canonical(document))


@given(NEARLY_TEXTS, st.sampled_from(("auto", "0.1", "0.2")))
def test_text_is_accepted_or_refused_like_the_reference(text: str, dialect: Any) -> None:
    try:
        expected = exact(canonical(reference.read(text, dialect)))
    except reference.ReadError:
        with pytest.raises(cad.CompactParseError) as caught:
            cad.from_compact(text, dialect)
        error = caught.value
        assert vars(cad.check(text, dialect=dialect)[0]) == vars(error)
        line = text.split("\n")[error.line - 1]
        assert 1 <= error.column <= len(line) + 1
    else:
        assert exact(canonical(cad.from_compact(text, dialect))) == expected
        assert cad.check(text, dialect=dialect) == []
    whole = outcome(lambda: cad.from_compact(text, dialect))
    if not (isinstance(whole, tuple) and whole[1]["message"].startswith("pointer ")):
        assert outcome(lambda: assembled(cad.iter_compact([text], dialect))) == whole
    assert outcome(lambda: cad.from_compact("\ufeff" + text, dialect)) == whole


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_a_document_or_an_error(data: bytes, magic: bool) -> None:
    data = b"\x89VCB\x01" * magic + data
    for read in (cad.loads, cad.from_binary, cad.from_compact, cad.canonical, cad.from_hybrid):
        assert outcome(lambda read=read: read(data))
    assert isinstance(cad.check(data), list)


@examples(0.2)
@given(documents(most=5))
def test_truncated_bytes_are_an_error(document: Any) -> None:
    data = cad.to_binary(document)
    for end in range(len(data)):
        with pytest.raises(cad.BinaryError) as caught:
            cad.from_binary(data[:end])
        assert 0 <= caught.value.offset <= end
    with pytest.raises(cad.BinaryError, match="unexpected data after the document"):
        cad.from_binary(data + b"\0")


@examples(0.2)
@given(documents(most=5), st.data())
def test_a_changed_byte_is_an_error_or_another_document(document: Any, data: st.DataObject) -> None:
    binary = bytearray(cad.to_binary(document))
    at = data.draw(st.integers(5, len(binary) - 1))
    binary[at] = data.draw(st.integers(0, 255))
    try:
        again = cad.from_binary(bytes(binary))
    except cad.BinaryError:
        return
    assert exact(cad.from_binary(cad.to_binary(again))) == exact(again)
