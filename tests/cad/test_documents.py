"""The CAD formats beyond their vectors: any document, hostile input, and the whole API."""

from __future__ import annotations

import copy
import gc
import io
import json
import pickle
import re
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import cad
from tests.reference import cad as reference
from tests.strategies.cad import NEARLY_TEXTS, damaged, documents
from tests.strategies.messages import share

BRACKET = """\
# Bracket with mounting holes
C 100 50 10                    # 0: base plate
Y 5 15                         # 1: hole template
T 1 20 25 0                    # 2: position hole 1
T 1 80 25 0                    # 3: position hole 2
D 0 2                          # 4: cut first hole
D 4 3                          # 5: cut second hole

# Add stiffener rib
SK 0 0 0 1 0 0 0 1 0           # 6: sketch on XY plane
L 0 0 100 0
L 100 0 100 20
L 100 20 0 20
L 0 20 0 0
END
E 6 0 0 5                      # 7: extrude 5mm
T 7 0 -10 10                   # 8: position rib
U 5 8                          # 9: union rib to bracket
"""
LONG_CHAIN = 1_000_000


def exact(value: Any) -> str:
    """Tell -0.0 from 0.0, and 1 from True, but not 50 from 50.0; the order of members is free."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key!r}:{exact(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(exact, value)) + "]"
    if isinstance(value, int) and not isinstance(value, bool) and int(float(value)) == value:
        return repr(float(value))
    return repr(value)


def assembled(items: Any) -> Any:
    nodes = {}
    extras = []
    for kind, item in items:
        if kind == "end":
            whole: Any = {**item, "nodes": nodes}
            for extra in extras:
                whole = reference.put(whole, extra["pointer"], extra["value"])
            return whole
        if kind == "extra":
            extras.append(item)
            continue
        nodes[str(item["id"])] = item
    raise AssertionError("no end")


def canonical(document: Any) -> Any:
    """Give the canonical form; what is not in the model stays as it is."""
    try:
        return cad.canonical(document)
    except cad.DocumentError:
        return document


DEFAULTS: dict[str, Any] = {
    "version": "0.1", "materials": {}, "part_materials": {}, "roots": [], "name": None,
    "parentInstanceId": None, "alignment": "left",
}  # fmt: skip


def survives(before: Any, after: Any, key: str = "") -> bool:
    """Whether nothing is lost: null may be absent, and what is absent may be spelled out."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        if isinstance(before, list) and isinstance(after, list):
            return len(before) == len(after) and all(map(survives, before, after))
        return exact(before) == exact(after)
    new = {name: after[name] for name in after.keys() - before.keys()}
    gone = [before[name] for name in before.keys() - after.keys()]
    null = {name for name in before.keys() & after.keys() if before[name] is None}
    new |= {name: after[name] for name in null if after[name] is not None}
    spelled = set(new)
    if "op" in before and str(new.get("id")) == key:
        del new["id"]
    return (
        all(value is None for value in gone)
        and all(name in DEFAULTS and DEFAULTS[name] == value for name, value in new.items())
        and all(
            survives(before[name], after[name], name)
            for name in (before.keys() & after.keys()) - spelled
        )
    )


def outcome(call: Any) -> Any:
    try:
        return exact(call())
    except cw.CompactWireError as error:
        return type(error), vars(error)


# Any document -------------------------------------------------------------------------------------


@given(documents())
def test_every_document_survives_every_form(document: Any) -> None:
    canonical = cad.canonical(document)
    wanted = exact(canonical)
    assert exact(cad.canonical(canonical)) == wanted
    assert exact(cad.from_compact(cad.to_compact(document, "0.2"))) == wanted
    assert exact(cad.from_binary(cad.to_binary(document))) == wanted
    assert exact(cad.from_hybrid(cad.to_hybrid(document))) == wanted
    assert exact(cad.load(cad.dumps(document))) == wanted
    assert exact(cad.canonical(json.loads(cad.dumps(document)))) == wanted
    assert cad.losses(document, "0.2") == []


@given(documents())
def test_json_text_is_read_as_the_dict_is(document: Any) -> None:
    text = json.dumps(document)
    assert exact(cad.canonical(text)) == exact(cad.canonical(document))
    assert cad.to_binary(text.encode()) == cad.to_binary(document)
    assert exact(cad.load(text)) == exact(cad.canonical(document))


@given(documents())
def test_the_reference_reads_what_is_written(document: Any) -> None:
    text = cad.to_compact(document, "0.2")
    try:
        read = reference.read(text)
    except reference.Mistake as mistake:
        # The one thing that the reference does not hold is a wide range of ids.
        assert "more than this reader holds" in str(mistake)  # noqa: PT017
        return
    assert exact(cad.canonical(read)) == exact(cad.canonical(document))


@given(damaged())
def test_any_object_survives_where_it_is_kept(document: Any) -> None:
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
def test_a_repaired_document_is_the_one_that_was_meant(document: Any, data: st.DataObject) -> None:
    wanted = cad.canonical(document)
    broken = break_it(copy.deepcopy(wanted), data.draw(st.randoms(use_true_random=False)))
    with warnings.catch_warnings(record=True) as mended:
        warnings.simplefilter("always")
        assert exact(cad.load(json.dumps(broken), repair=True)) == exact(wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cad.load(json.dumps(wanted), repair=True) == wanted
        if not mended:
            assert exact(broken) == exact(wanted)
        else:
            with pytest.raises(UserWarning, match=re.escape(str(mended[0].message))):
                cad.load(json.dumps(broken), repair=True)


def break_it(document: Any, random: Any) -> Any:
    """Write ids as texts, keys that are no ids, snake case."""

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
def test_the_first_dialect_carries_the_shape_or_names_what_it_cannot(document: Any) -> None:
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


@share(0.5)
@given(documents(), st.integers(1, 9), st.booleans())
def test_a_stream_gives_what_the_text_gives(document: Any, size: int, text_chunks: bool) -> None:
    text: Any = cad.to_compact(document, "0.2")
    data = text if text_chunks else text.encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert exact(assembled(cad.iter_compact(chunks))) == exact(cad.canonical(document))


@given(NEARLY_TEXTS, st.sampled_from(("auto", "0.1", "0.2")))
def test_text_is_taken_or_refused_as_the_reference_does(text: str, dialect: Any) -> None:
    try:
        wanted = exact(canonical(reference.read(text, dialect)))
    except reference.Mistake:
        with pytest.raises(cad.CompactParseError) as caught:
            cad.from_compact(text, dialect)
        error = caught.value
        assert vars(cad.check(text, dialect=dialect)[0]) == vars(error)
        line = text.split("\n")[error.line - 1]
        assert 1 <= error.column <= len(line) + 1
    else:
        assert exact(canonical(cad.from_compact(text, dialect))) == wanted
        assert cad.check(text, dialect=dialect) == []
    whole = outcome(lambda: cad.from_compact(text, dialect))
    if not (isinstance(whole, tuple) and whole[1]["message"].startswith("pointer ")):
        assert outcome(lambda: assembled(cad.iter_compact([text], dialect))) == whole
    assert outcome(lambda: cad.from_compact("\ufeff" + text, dialect)) == whole


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_a_document_or_an_error(data: bytes, magic: bool) -> None:
    data = b"\x89VCB\x01" * magic + data
    for read in (cad.load, cad.from_binary, cad.from_compact, cad.canonical, cad.from_hybrid):
        assert outcome(lambda read=read: read(data))
    assert isinstance(cad.check(data), list)


@share(0.2)
@given(documents(most=5))
def test_a_cut_is_never_a_document_of_another_shape(document: Any) -> None:
    data = cad.to_binary(document)
    for end in range(len(data)):
        with pytest.raises(cad.BinaryError) as caught:
            cad.from_binary(data[:end])
        assert 0 <= caught.value.offset <= end
    with pytest.raises(cad.BinaryError, match="data after the end"):
        cad.from_binary(data + b"\0")


@share(0.2)
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


# The specification's examples ---------------------------------------------------------------------


def test_the_bracket_of_the_specification_is_read_as_its_comments_say() -> None:
    document = cad.from_compact(BRACKET)
    ops = [node["op"]["type"] for node in document["nodes"].values()]
    assert ops == [
        "Cube", "Cylinder", "Translate", "Translate", "Difference", "Difference", "Sketch2D",
        "Extrude", "Translate", "Union",
    ]  # fmt: skip
    assert document["roots"] == [{"root": 9, "material": "default"}]
    bare = [line.split("#")[0].rstrip() for line in BRACKET.split("\n")]
    assert cad.to_compact(document) == "\n".join(line for line in bare if line)


def test_whole_numbers_are_int_and_minus_zero_is_not() -> None:
    document = cad.from_compact("C 50 0.5 -0")
    size = document["nodes"]["0"]["op"]["size"]
    assert [type(size[key]) for key in "xyz"] == [int, float, float]
    assert str(size["z"]) == "-0.0"


# Messages that no vector has ----------------------------------------------------------------------

SECOND = "# vcad 0.2\n"
MISTAKES = [
    ("IDS 1-2\nIDS 3\nC 1 1 1\nS 1", 3, 1, "IDS is already given on line 2"),
    ("GROUND a\nGROUND b", 3, 1, "GROUND is already given on line 2"),
    ("GROUND a\nGROUND", 3, 1, "GROUND expects 1 args, got 0"),
    ('VER "a"\nVER "b"', 3, 1, "VER is already given on line 2"),
    ("IDS 5 3-9\nC 1 1 1", 2, 1, "IDS repeats id 5"),
    ("IDS 0-18446744073709551615\nC 1 1 1", 2, 1,
     "IDS lists 18446744073709551616 ids but 1 nodes are defined"),
    ("IDS 1-99999999999999999999", 2, 5, 'invalid id range "1-99999999999999999999"'),
    ("BG", 2, 1, "BG expects at least 1 args, got 0"),
    ("BG solid 1 2", 2, 1, "BG expects 4 args, got 3"),
    ("BG env 1", 2, 8, "BG expects 1 args, got 2"),
    ("C 1 1 1\nROOT 0 m\nROOT _", 4, 6, "ROOT _ must be the only ROOT"),
    ("C 1 1 1\nROOT _\nROOT _", 4, 6, "ROOT _ must be the only ROOT"),
    ("INST i p _ _ m x", 2, 16, "INST expects 12 or 13 args, got 6"),
    ("INST i p name 0 0 0 0 0 0 1 1 1", 2, 10, 'expected a string, got "name"'),
    ("JREV j a b 0 0 0 0 0 0 0 0 1 5", 2, 1, "JREV expects 12 or 14 args, got 13"),
    ("AO 2 _ _", 2, 4, 'invalid flag "2", expected 0 or 1'),
    ("LDIR l 1 1 1 1 0 0 1 enabled=2", 2, 22, 'invalid flag "2", expected 0 or 1'),
    ("LDIR l 1 1 1 1 0 0 1 shadow=1 shadow=1", 2, 31, "LDIR repeats shadow="),
    ("JFIX j _ a 0 0 0 0 0 0 state=x", 2, 24, 'invalid number "x"'),
    ('ROOT 0 m key="x"', 2, 10, "ROOT has no key="),
    ('C 1 1 1 "a"b', 2, 12, "expected a space after a string"),
    ('M a"', 2, 4, "unexpected quote inside a word"),
    ('TX 0 0 0 1 0 0 0 1 0 8 "a" "b" align=middle', 2, 32, 'invalid value "middle" for align'),
    ("$a = ROOT 0 m", 2, 6, "only a node can be named, got ROOT"),
    ("SK 0 0 0 1 0 0 0 1 0\nROOT 0 m", 3, 1, "expected L, A or END in sketch, got ROOT"),
    ("CAM c 0 0 0 1 1 1 30 name", 2, 22, 'expected a string, got "name"'),
    ("M a 0 0 0 0 1 key=k\nM b 0 0 0 0 1 key=k", 3, 15, 'material "k" is already defined'),
    ("XF", 2, 1, "XF expects 2 args, got 0"),
    ("XF /a # b", 2, 7, "invalid JSON after the pointer"),
    ("XF a 1", 2, 4, 'invalid pointer "a"'),
    ("XF /~2 1", 2, 4, 'invalid pointer "/~2"'),
    ("XF # 1", 2, 4, 'invalid pointer "#"'),
    ('XF "/a"1', 2, 8, "expected a space after a string"),
    ('XF /a"b" 1', 2, 6, "unexpected quote inside a word"),
    ("XF /a [1,]", 2, 7, "invalid JSON after the pointer"),
    ('XF /a {"b":1,"b":1}', 2, 7, "invalid JSON after the pointer"),
    ("XF /a NaN", 2, 7, "invalid JSON after the pointer"),
    ("XF /a " + "[" * 128 + "]" * 128, 2, 7, "invalid JSON after the pointer"),
    ("XF /nodes/0/op 1", 2, 4, 'pointer "/nodes/0/op" does not match the document'),
    ("XF /roots/0 1", 2, 4, 'pointer "/roots/0" does not match the document'),
    ("XF /version/0 1", 2, 4, 'pointer "/version/0" does not match the document'),
    ('XF "" [1]', 2, 4, 'pointer "" does not match the document'),
    ("$a = XF /a 1", 2, 6, "only a node can be named, got XF"),
    ("SK 0 0 0 1 0 0 0 1 0\nXF /a 1", 3, 1, "expected L, A or END in sketch, got XF"),
    ("PMAT a b\nPMAT a c", 3, 6, 'part "a" is already defined'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), MISTAKES)
def test_a_mistake_is_told_with_its_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(cad.CompactParseError) as caught:
        cad.from_compact(SECOND + text)
    error = caught.value
    assert (error.line, error.column, error.message) == (line, column, message)
    with pytest.raises(reference.Mistake):
        reference.read(SECOND + text)


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [(b"\xff", 1, 1), (b"C 1 1 1\nS \xe9", 2, 3), (b"\xef\xbb\xbf# \xc3\xa9\xc3", 1, 4)],
)
def test_what_is_not_utf8_is_told_with_its_place(data: bytes, line: int, column: int) -> None:
    for read in (cad.from_compact, lambda data: list(cad.iter_compact([data]))):
        with pytest.raises(cad.CompactParseError) as caught:
            read(data)
        error = caught.value
        assert (error.line, error.column, error.message) == (line, column, "invalid UTF-8")


def test_a_lone_surrogate_is_told_with_its_place() -> None:
    for read in (cad.from_compact, lambda text: list(cad.iter_compact([text]))):
        with pytest.raises(cad.CompactParseError) as caught:
            read("C 1 1 1\nS \ud800")
        assert (caught.value.line, caught.value.column) == (2, 3)
    with pytest.raises(cad.CompactParseError, match="line 1, column 1: unknown opcode Q"):
        cad.from_compact("Q\nS \ud800")


FAULTS: list[tuple[Any, str, str]] = [
    ({}, "document", 'missing field "nodes"'),
    ([], "document", "expected an object"),
    ({"nodes": []}, "document.nodes", "expected an object"),
    ({"nodes": {"01": {}}}, "node 01", "node keys must be unsigned integers"),
    ({"nodes": {"18446744073709551616": {}}}, "node 18446744073709551616",
     "node keys must be unsigned integers"),
    ({"nodes": {1: {}}}, "node ?", "node keys must be unsigned integers"),
    ({"nodes": {"1": 2}}, "node 1", "expected an object"),
    ({"nodes": {"1": {}}}, "node 1", 'missing field "op"'),
    ({"nodes": {"1": {"op": 3}}}, "node 1.op", "expected an object"),
    ({"nodes": {"1": {"op": {}}}}, "node 1", 'missing field "type"'),
    ({"nodes": {"1": {"op": {"type": "Cube"}}}}, "node 1", 'missing field "size"'),
    ({"nodes": {"1": {"op": {"type": "Cube", "size": {"x": 1, "y": 2}}}}}, "node 1.size",
     'missing field "z"'),
    ({"nodes": {"1": {"op": {"type": "Shell", "child": 9, "thickness": 1}}}}, "node 1",
     "child references node 9, which does not exist"),
    ({"nodes": {"1": {"op": {"type": "Shell", "child": 1.0, "thickness": 1}}}}, "node 1.child",
     "expected a node id"),
    ({"nodes": {"1": {"op": {"type": "Shell", "child": 1, "thickness": 1}}}}, "node 1",
     "cycle 1 -> 1"),
    ({"nodes": {"1": {"op": {"type": "Sphere", "radius": float("nan"), "segments": 0}}}},
     "node 1.radius", "expected a finite number"),
    ({"nodes": {"1": {"op": {"type": "Sphere", "radius": 10**400, "segments": 0}}}},
     "node 1.radius", "expected a finite number"),
    ({"nodes": {"1": {"op": {"type": "Sphere", "radius": 1, "segments": -1}}}},
     "node 1.segments", "expected an unsigned 32-bit integer"),
    ({"nodes": {}, "roots": {}}, "document.roots", "expected an array"),
    ({"nodes": {}, "roots": [{"root": 0, "material": "m"}]}, "roots[0]",
     "root references node 0, which does not exist"),
    ({"nodes": {}, "materials": {"a": {"name": "a", "color": [0, 1], "metallic": 0,
                                       "roughness": 0}}},
     'material "a".color', "expected an array of 3 numbers"),
    ({"nodes": {}, "instances": [{"id": "i", "partDefId": "p", "transform": {}}]},
     "instances[0].transform", 'missing field "translation"'),
    ({"nodes": {}, "scene": {"lights": [{"kind": {"type": "Sun"}}]}}, "scene.lights[0].kind",
     'unknown type "Sun"'),
    ({"nodes": {}, "scene": {"environment": {"type": "Preset", "preset": "moon"}}},
     "scene.environment.preset", "expected an environment preset"),
    ({"nodes": {}, "scene": {"postProcessing": {"toneMapping": 1}}},
     "scene.postProcessing.toneMapping", "expected a tone mapping"),
    ({"nodes": {}, "scene": {"postProcessing": {"bloom": {"enabled": 1}}}},
     "scene.postProcessing.bloom.enabled", "expected true or false"),
    ({"nodes": {}, "version": 1}, "document.version", "expected a string"),
    ({"nodes": {}, "version": "\ud800"}, "document.version", "expected a string"),
    ({"nodes": {}, "compact": ""}, "document", 'unknown field "compact"'),
    ('{"nodes":{},"nodes":{}}', "document", 'duplicate key "nodes"'),
]  # fmt: skip


@pytest.mark.parametrize(("document", "path", "message"), FAULTS)
def test_a_fault_of_a_document_is_told_with_its_path(
    document: Any, path: str, message: str
) -> None:
    for write in (cad.canonical, cad.to_compact, cad.to_binary, cad.to_hybrid, cad.dumps):
        with pytest.raises(cad.DocumentError) as caught:
            write(document)
        assert (caught.value.path, caught.value.message) == (path, message)


@pytest.mark.parametrize("text", ["", "{", "nothing", '{"nodes":{}} 1', '{"a":1e999}', b"\xff"])
def test_what_is_no_json_is_told(text: Any) -> None:
    with pytest.raises(cad.DocumentError, match="document: invalid JSON: "):
        cad.canonical(text)


# What is not in the model -------------------------------------------------------------------------


def test_the_first_dialect_does_not_know_what_is_kept() -> None:
    with pytest.raises(cad.CompactParseError) as caught:
        cad.from_compact("XF /a 1")
    assert caught.value.message == "unknown opcode XF"
    assert caught.value.suggestion is None
    for options in ({}, {"lossy": True, "dialect": "0.2"}):
        with pytest.raises(ValueError, match="unknown='keep'"):
            cad.to_compact({"nodes": {}}, unknown="keep", **options)  # type: ignore[arg-type]


def test_what_is_kept_is_written_where_it_belongs() -> None:
    sphere = {"type": "Sphere", "radius": 1, "segments": 0}
    document = {
        "nodes": {
            "0": {"op": sphere | {"hue": 1.0}},
            "1": {"op": {"type": "Torus"}},
            "2": {"op": {"type": "Shell", "child": "0", "thickness": 1}, "a/b": "#"},
            "3": {"id": 9, "op": sphere},
            "4": {"op": {"type": "Extrude", "sketch": 1, "direction": {"x": 0, "y": 0, "z": 1}}},
            "5": {"op": {"type": "Fillet", "child": 6, "radius": 1}},
            "6": {"op": {"type": "Fillet", "child": 5, "radius": 1}},
        },
        "roots": [{"root": 2, "material": "m", "layer": None}],
        "materials": {"m": {"color": "red"}},
        "scene": {"lights": 5},
        "a b": [],
    }
    text = cad.to_compact(document, "0.2", unknown="keep")
    assert [line for line in text.split("\n") if line.startswith("XF")] == [
        "XF /nodes/0/op/hue 1.0",
        'XF /nodes/1/op {"type":"Torus"}',
        'XF /nodes/2/op {"type":"Shell","child":"0","thickness":1}',
        'XF /nodes/2/a~1b "#"',
        'XF /nodes/3 {"id":9,"op":{"type":"Sphere","radius":1,"segments":0}}',
        'XF /nodes/4/op {"type":"Extrude","sketch":1,"direction":{"x":0,"y":0,"z":1}}',
        'XF /materials {"m":{"color":"red"}}',
        "XF /roots/0/layer null",
        'XF /scene {"lights":5}',
        'XF "/a b" []',
        'XF /nodes/5/op {"type":"Fillet","child":6,"radius":1}',
        'XF /nodes/6/op {"type":"Fillet","child":5,"radius":1}',
    ]
    assert survives(document, cad.from_compact(text))


def test_an_object_without_nodes_is_kept_whole() -> None:
    text = cad.to_compact({"a": 1.0, "roots": None}, "0.2", unknown="keep")
    assert text == '# vcad 0.2 x1\nXF "" {"a":1.0,"roots":null}'
    assert cad.from_compact(text) == {"a": 1.0, "roots": None}


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ([], "document"),
        ({"nodes": {}, "a": [float("nan")]}, "document.a[0]"),
        ({"nodes": {}, "a": {1: 2}}, "document.a"),
        ({"nodes": {}, "a": {1}}, "document.a"),
        ({"nodes": {}, "a": "\ud800"}, "document.a"),
    ],
)
def test_what_json_does_not_have_is_not_kept(wrong: Any, path: str) -> None:
    with pytest.raises(cad.DocumentError) as caught:
        cad.to_compact(wrong, "0.2", unknown="keep")
    assert caught.value.path == path


def test_the_depth_of_what_is_kept_is_bounded() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(cad.DocumentError, match="nested more than 128 levels"):
        cad.to_compact({"nodes": {}, "a": deep}, "0.2", unknown="keep")
    lines = ["# vcad 0.2", "XF /a [0]"]
    lines += ["XF /a" + "/0" * level + " [0]" for level in range(1, 200)]
    with pytest.raises(cad.CompactParseError, match="line 129, column 261: invalid JSON after"):
        cad.from_compact("\n".join(lines))


def test_many_kept_values_take_no_longer_than_few() -> None:
    nodes = {str(i): {"op": {"type": "Torus", "i": i}} for i in range(50_000)}
    text = timed(lambda: cad.to_compact({"nodes": nodes}, "0.2", unknown="keep"), 20)
    again = timed(lambda: cad.from_compact(text), 20)
    assert survives({"nodes": nodes}, again)


def test_a_hybrid_has_no_lines_of_json() -> None:
    hybrid = {"compact": "# vcad 0.2\nXF /a 1"}
    with pytest.raises(cad.CompactParseError, match="line 2, column 4: XF is not allowed in a hyb"):
        cad.from_hybrid(hybrid)


def test_a_repair_tells_what_it_did() -> None:
    document = {
        "nodes": {
            "b\0": {"id": "b\0", "op": {"type": "Shell", "thickness": 1, "child": "a"}},
            "a": {"op": {"type": "Shell", "thickness": 2, "child": {"type": "Empty"}}},
        },
        "roots": [{"root": "b\0", "material": "m"}],
    }
    with pytest.warns(UserWarning, match=" is ") as mended:
        read = cad.load(json.dumps(document), repair=True)
    assert [str(warning.message) for warning in mended] == [
        "node b\\0: its id is 0 now",
        "node a: its id is 1 now",
        'node 0.child: "a" is 1 now',
        "node 1.child: its operation is node 2 now",
        'roots[0].root: "b\\0" is 0 now',
    ]
    assert [node["op"].get("child") for node in read["nodes"].values()] == [1, 2, None]
    assert mended[0].filename == __file__
    with pytest.raises(cad.DocumentError):
        cad.load(json.dumps(document))
    with pytest.raises(cad.DocumentError, match="node 1: id 2 does not match its key"):
        cad.load('{"nodes":{"1":{"id":2,"op":{}},"2":{"op":{"type":"Empty"}}}}', repair=True)
    assert cad.load("S 1", repair=True) == cad.from_compact("S 1")


def test_a_repair_makes_nothing_mean_another_thing() -> None:
    sphere = {"type": "Sphere", "radius": 5, "segments": 0}
    move = {"type": "Translate", "child": 0, "offset": {"x": 0, "y": 0, "z": 0}}
    for document, message in [
        # The nodes of a hybrid are its text.
        ({"compact": "C 1 1 1", "roots": [{"root": sphere, "material": "m"}]},
         "roots[0].root: expected a node id"),
        ({"compact": "C 1 1 1", "partDefs": {"p": {"id": "p", "root": sphere}}},
         'partDefs "p".root: expected a node id'),
        ({"nodes": {"01": {"op": sphere}, "02": {"op": move}}},
         "node 01: node keys must be unsigned integers"),
        ({"nodes": {"a": {"op": sphere}, "b": {"op": move}}},
         "node a: node keys must be unsigned integers"),
    ]:  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(cad.DocumentError, match=f"^{re.escape(message)}$"):
                cad.load(json.dumps(document), repair=True)


@pytest.mark.parametrize("ids", [{1: 0, 2: 1, 3: 2}, {0: 1, 1: 2, 2: 3}, {1: 2, 2: 1}])
def test_a_repair_follows_ids_that_are_keys_of_others(ids: dict[int, int]) -> None:
    nodes = {
        str(key): {"id": id_, "name": f"was {key}", "op": {"type": "Empty"}}
        for key, id_ in ids.items()
    }
    with pytest.warns(UserWarning, match="its key is its id"):
        read = cad.load(json.dumps({"nodes": nodes}), repair=True)
    assert {key: node["name"] for key, node in read["nodes"].items()} == {
        str(id_): f"was {key}" for key, id_ in ids.items()
    }


def test_what_was_mended_is_told_before_the_error_that_is_left() -> None:
    document = {"nodes": {"plate": {"op": {"type": "Sphere", "radius": 1}}}}
    with (
        pytest.warns(UserWarning, match="node plate: its id is 0 now"),
        pytest.raises(cad.DocumentError, match='node 0: missing field "segments"'),
    ):
        cad.load(json.dumps(document), repair=True)


# Checking -----------------------------------------------------------------------------------------


def test_all_mistakes_come_in_one_answer() -> None:
    text = "C 1 2\ncube 1 2 3\n$a = Y 1\nT $a 1 2 3\nU 0 1\nD 4 9\nfoo\nSH 6 x\n"
    errors = cad.check(text)
    assert [(error.line, error.message) for error in errors] == [
        (1, "C expects 3 args, got 2"),
        (2, "unknown opcode cube"),
        (3, "Y expects 2 or 3 args, got 1"),
        (6, "node 9 referenced but only 5 nodes defined"),
        (7, "unknown opcode foo"),
        (8, 'invalid number "x"'),
    ]
    assert [error.suggestion for error in errors] == [None, "C", None, None, None, None]
    assert len(cad.check("Q\n" * 1000)) == 100
    assert len(cad.check("Q\n" * 1000, limit=3)) == 3
    assert cad.check("Q", limit=0) == []
    assert len(cad.check("Q\n" * 1000, limit=2**70)) == 1000
    with pytest.raises(ValueError, match="must be 0 or more"):
        cad.check("Q", limit=-1)


def test_a_sketch_without_end_is_one_mistake() -> None:
    text = "SK 0 0 0 1 0 0 0 1 0\nL 0 0 1 0\nl 0 0 1 1\nE 0 0 0 5\nC 1 1 1\n"
    assert [(error.line, error.message) for error in cad.check(text)] == [
        (3, "expected L, A or END in sketch, got l"),
        (4, "expected L, A or END in sketch, got E"),
    ]
    assert [error.suggestion for error in cad.check(text)] == ["L", None]


SKETCH = "SK 0 0 0 1 0 0 0 1 0\n"


@pytest.mark.parametrize(
    ("text", "mistakes"),
    [
        # The END follows: the sketch goes on.
        (SKETCH + "L 0 0 1 0\nC 1 1 1\nL 1 0 1 1\nL 1 1 0 0\nEND\nE 0 0 0 5\nT 1 0 0 0",
         [(3, "expected L, A or END in sketch, got C")]),
        (SKETCH + "XF /a 1\nL 0 0 1 0\nEND\nE 0 0 0 5",
         [(2, "expected L, A or END in sketch, got XF")]),
        (SKETCH + "$a = C 1 1 1\nEND\nT $a 0 0 0",
         [(2, "expected L, A or END in sketch, got $a")]),
        # It belongs to another sketch: an END is missing.
        (SKETCH + "L 0 0 1 0\nE 0 0 0 5\n" + SKETCH + "END\nE 2 0 0 5",
         [(3, "expected L, A or END in sketch, got E")]),
        (SKETCH + SKETCH + "END\nE 1 0 0 5",
         [(2, "expected L, A or END in sketch, got SK")]),
        ("$a C 1 1 1\nT $a 0 0 0", [(1, "expected = after $a")]),
        ("$a= C 1 1 1\nT $a 0 0 0", [(1, 'invalid name "$a="')]),
        ("$a =C 1 1 1\nT $a 0 0 0", [(1, "expected = after $a")]),
        ("$a=C 1 1 1\nT $a 0 0 0", [(1, 'invalid name "$a=C"')]),
        ("$a = 5\nT $a 0 0 0", [(1, "unknown opcode 5")]),
    ],
)  # fmt: skip
def test_one_mistake_is_told_once(text: str, mistakes: list[tuple[int, str]]) -> None:
    errors = cad.check(text, dialect="0.2" if "XF" in text else "auto")
    assert [(error.line, error.message) for error in errors] == mistakes


def test_all_pointers_that_lead_nowhere_are_found() -> None:
    text = "# vcad 0.2\nXF /a/b 1\nXF /c 1\nXF /d/e 1\n"
    assert [(error.line, error.message) for error in cad.check(text)] == [
        (2, 'pointer "/a/b" does not match the document'),
        (4, 'pointer "/d/e" does not match the document'),
    ]
    assert len(cad.check(text, limit=1)) == 1


def test_many_mistakes_in_a_sketch_take_no_longer_than_few() -> None:
    text = SKETCH + "C 1 1 1\n" * 100_000 + "END\n" + (SKETCH + "C 1 1 1\n") * 100_000
    assert len(timed(lambda: cad.check(text, limit=10**6), 60)) == 200_000


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [("c 1 2 3", "C"), ("C50 30 5", "C"), ("cube(1,2,3)", "C"), ("Translate 0 1 2 3", "T"),
     ("lp 0", "LP"), ("CYL 1 2", "Y"), ("@mat a", "@MAT"), ("Q 1", None), ("// note", None)],
)  # fmt: skip
def test_an_unknown_opcode_suggests_what_was_meant(line: str, suggestion: str | None) -> None:
    with pytest.raises(cad.CompactParseError) as caught:
        cad.from_compact(line)
    assert caught.value.suggestion == suggestion


# The tool -----------------------------------------------------------------------------------------


def test_the_tool_answers_with_the_document_or_the_mistake() -> None:
    assert cad.create_cad_compact("S 1") == {"ok": True, "document": cad.from_compact("S 1")}
    assert cad.create_cad_compact(BRACKET, format="summary") == {
        "ok": True,
        "summary": {
            "nodes": 10,
            "roots": 1,
            "ops": {"Cube": 1, "Cylinder": 1, "Translate": 3, "Difference": 2, "Sketch2D": 1,
                    "Extrude": 1, "Union": 1},
        },
    }  # fmt: skip
    hybrid = cad.create_cad_compact("S 1", format="hybrid")["document"]
    assert hybrid["compact"] == "# vcad 0.2\nS 1"
    answer = cad.create_cad_compact("S 1\r\nsphere 2\r\nT 9 0 0 0")
    mistake = {"line": 2, "column": 1, "message": "unknown opcode sphere", "source": "sphere 2"}
    assert answer == {"ok": False, "error": mistake}
    answer = cad.create_cad_compact("S 1\nsphere 2\nT 9 0 0 0", all_errors=True)
    assert [error["line"] for error in answer["errors"]] == [2, 3]
    assert answer["errors"][0] == {**mistake, "suggestion": "S"}
    assert not cad.create_cad_compact("S \ud800")["ok"]
    for data in (b"S 1", b"S", None):
        with pytest.raises(TypeError, match="compact must be a str, not"):
            cad.create_cad_compact(data)  # type: ignore[arg-type]
    text = '# vcad 0.2\nEMPTY\nXF /nodes/0/op {"type":"Torus"}'
    document = cad.create_cad_compact(text)["document"]
    assert document["nodes"]["0"]["op"] == {"type": "Torus"}
    for form in ("hybrid", "summary"):
        assert cad.create_cad_compact(text, format=form)["error"] == {  # type: ignore[arg-type]
            "line": 3, "column": 1, "message": 'node 0: unknown op type "Torus"',
            "source": 'XF /nodes/0/op {"type":"Torus"}',
        }  # fmt: skip
    assert json.loads(json.dumps(cad.TOOL)) == cad.TOOL


def test_the_example_of_the_tool_is_right_and_its_table_is_whole() -> None:
    description = cad.TOOL["description"]
    example = description.split("two holes:\n")[1]
    assert cad.create_cad_compact(example)["ok"]
    table = set(re.findall(r"^([A-Z]+)\b", description, re.M)) | {"D", "I"}
    wanted = "C Y S K U D I T R X LP CP SK L A END E V SH"
    assert table >= set(wanted.split(" "))


def test_the_description_of_the_tool_is_short() -> None:
    tokenizers = pytest.importorskip("bpe_openai")
    encoding = tokenizers.get_encoding("o200k_base")
    assert len(encoding.encode_ordinary(cad.TOOL["description"])) < 600


# Sizes --------------------------------------------------------------------------------------------


def timed(call: Any, seconds: float) -> Any:
    start = time.perf_counter()
    result = call()
    assert time.perf_counter() - start < seconds
    return result


def test_a_chain_of_a_million_nodes_converts_in_both_directions() -> None:
    text = "C 1 1 1\n" + "\n".join(f"T {i} 0 0 1" for i in range(LONG_CHAIN - 1))
    document = timed(lambda: cad.from_compact(text), 60)
    assert len(document["nodes"]) == LONG_CHAIN
    assert timed(lambda: cad.to_compact(document), 60) == text
    second = timed(lambda: cad.to_compact(document, "0.2"), 60)
    data = timed(lambda: cad.to_binary(document), 60)
    document.clear()
    assert timed(lambda: cad.to_binary(cad.from_compact(second)), 90) == data
    assert timed(lambda: cad.to_compact(cad.from_binary(data)), 90) == text


def test_a_backward_chain_and_a_wide_fan_are_no_slower() -> None:
    count = 200_000
    nodes: dict[str, Any] = {
        str(i): {"op": {"type": "Shell", "child": i + 1, "thickness": 1}} for i in range(count)
    }
    nodes[str(count)] = {"op": {"type": "Empty"}}
    document = {"nodes": nodes, "roots": [{"root": 0, "material": "default"}]}
    text = timed(lambda: cad.to_compact(document), 30)
    assert text.startswith("C 0 0 0\nSH 0 1\nSH 1 1\n")
    fan = {"0": {"op": {"type": "Empty"}}} | {
        str(i): {"op": {"type": "Shell", "child": 0, "thickness": 1}} for i in range(count, 1, -1)
    }
    timed(lambda: cad.to_binary({"nodes": fan}), 30)
    ring = {
        str(i): {"op": {"type": "Shell", "child": (i + 1) % count, "thickness": 1}}
        for i in range(count)
    }
    with pytest.raises(cad.DocumentError, match="cycle 0 -> 1 -> 2") as caught:
        timed(lambda: cad.to_compact({"nodes": ring}), 30)
    assert len(str(caught.value)) < 2000


def test_ids_stay_ranges() -> None:
    text = SECOND + "IDS 0-18446744073709551614 18446744073709551615\n"
    with pytest.raises(cad.CompactParseError, match="18446744073709551616 ids but 0 nodes"):
        cad.from_compact(text)


def test_a_line_may_be_as_long_as_the_stream_says() -> None:
    line = "C 1 1 1 #" + "x" * 91
    assert len(list(cad.iter_compact([line], max_line=100))) == 2
    for chunks in ([line + "x\n"], list(line + "x"), [line + "x"]):
        with pytest.raises(cad.CompactParseError) as caught:
            list(cad.iter_compact(["S 1\n", *chunks], max_line=100))
        assert str(caught.value) == "line 2, column 1: line is longer than 100 bytes"
    assert len(cad.from_compact(line + "x" * 2_000_000)["nodes"]) == 1


def test_a_stream_takes_little_memory() -> None:
    resource = pytest.importorskip("resource")
    if sys.platform != "linux":
        pytest.skip("ru_maxrss is in other units")
    chunk = "C 1 2 3\n" + "T 0 1.5 2.5 3\n" * 4000 + "U 0 1\n"
    size, chunks = 0, 0

    def many() -> Any:
        nonlocal size, chunks
        while size < 20_000_000:
            size += len(chunk)
            chunks += 1
            yield chunk

    for _ in zip(range(10_000), cad.iter_compact(many()), strict=False):
        pass
    size = chunks = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    nodes = sum(1 for kind, _ in cad.iter_compact(many()) if kind == "node")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert nodes == 4002 * chunks
    assert grown * 1024 < 64 * 2**20 + 2 * nodes


# The API ------------------------------------------------------------------------------------------


def test_a_stream_takes_paths_files_and_chunks(tmp_path: Path) -> None:
    path = tmp_path / "part.vcadc"
    path.write_text(BRACKET, encoding="utf-8")
    wanted = cad.from_compact(BRACKET)
    with path.open("rb") as binary, path.open(encoding="utf-8") as text:
        for source in (path, str(path), binary, text, io.BytesIO(BRACKET.encode()),
                       BRACKET.encode(), bytearray(BRACKET.encode()), memoryview(BRACKET.encode()),
                       [bytearray(BRACKET.encode())], [BRACKET], iter(BRACKET)):  # fmt: skip
            assert assembled(cad.iter_compact(source)) == wanted  # type: ignore[arg-type]
    with path.open("rb") as binary:
        list(cad.iter_compact(binary))
        assert not binary.closed
    with pytest.raises(FileNotFoundError) as caught:
        cad.iter_compact(tmp_path / "none")
    assert caught.value.filename == str(tmp_path / "none")
    with pytest.raises(IsADirectoryError) as inside:
        list(cad.iter_compact(tmp_path))
    assert inside.value.filename == str(tmp_path)

    class Bytes:
        def __fspath__(self) -> bytes:
            return bytes(path)

    assert assembled(cad.iter_compact(Bytes())) == wanted  # type: ignore[call-overload]
    half = cad.iter_compact(path)
    assert next(half)[0] == "node"
    del half
    with pytest.raises(TypeError):
        cad.iter_compact(5)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="a chunk must be bytes or str"):
        list(cad.iter_compact([object()]))  # type: ignore[list-item]


def test_nodes_come_before_a_late_error_and_nothing_after() -> None:
    items = cad.iter_compact(["C 1 1 1\nS 1\n", "Q\nS 1\n"])
    assert [next(items)[1]["id"], next(items)[1]["id"]] == [0, 1]
    with pytest.raises(cad.CompactParseError):
        next(items)
    assert list(items) == []


def test_a_stream_has_one_reader_at_a_time() -> None:
    asked, answered = threading.Event(), threading.Event()

    def chunks() -> Any:
        yield "C 1 1 1\nT 0"
        asked.set()
        answered.wait(60)
        yield " 0 0 1\n"

    items = cad.iter_compact(chunks())
    seen = [next(items)]
    reader = threading.Thread(target=lambda: seen.extend(items))
    reader.start()
    try:
        assert asked.wait(60)
        with pytest.raises(ValueError, match="already executing"):
            next(items)
    finally:
        answered.set()
        reader.join()
    assert [kind for kind, _ in seen] == ["node", "node", "end"]

    def inside() -> Any:
        yield next(again)

    again = cad.iter_compact(inside())
    with pytest.raises(ValueError, match="already executing"):
        next(again)


def test_an_error_of_the_source_comes_through() -> None:
    def chunks() -> Any:
        yield "C 1 1 1\nS"
        raise OSError("gone")

    items = cad.iter_compact(chunks())
    assert next(items)[0] == "node"
    with pytest.raises(OSError, match="gone"):
        next(items)


@pytest.mark.parametrize("before", ["\ufeff", "\u00a0 ", "\ufeff\u2003\n"])
def test_json_begins_behind_a_mark_and_white_space(before: str) -> None:
    document = cad.from_compact(BRACKET)
    for text in (before + cad.dumps(document), (before + cad.dumps(document)).encode()):
        assert cad.canonical(text) == cad.load(text) == document
        assert cad.to_binary(text) == cad.to_binary(document)
        assert cad.to_compact(text, "0.2", unknown="keep") == cad.to_compact(document, "0.2")
    assert cad.from_hybrid(before + json.dumps(cad.to_hybrid(document))) == document


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**64 + 1, 10**40])
def test_an_integer_that_no_double_holds_is_refused(number: int) -> None:
    document = {"nodes": {"0": {"op": {"type": "Sphere", "radius": number, "segments": 0}}}}
    for form in (document, json.dumps(document)):
        with pytest.raises(cad.DocumentError, match=r"^node 0\.radius: expected a number that a d"):
            cad.to_binary(form)
        # What is kept is kept exactly.
        kept = cad.from_compact(cad.to_compact(form, "0.2", unknown="keep"))
        assert kept["nodes"]["0"]["op"]["radius"] == number


@pytest.mark.parametrize("number", [2**53 + 2, -(2**63), 2**64, 10**22, 2.0**60, 2.0**69, 1.5e20])
def test_an_integer_that_a_double_holds_is_read_however_it_is_written(number: float) -> None:
    document = {"nodes": {"0": {"op": {"type": "Sphere", "radius": number, "segments": 0}}}}
    for form in (document, json.dumps(document), cad.dumps(document)):
        assert cad.canonical(form)["nodes"]["0"]["op"]["radius"] == number


def test_load_goes_by_content() -> None:
    document = cad.from_compact(BRACKET)
    hybrid = json.dumps(cad.to_hybrid(document))
    for source in (
        BRACKET,
        "\ufeff" + BRACKET,
        cad.dumps(document),
        " \n" + hybrid,
        "\ufeff" + hybrid,
        cad.to_binary(document),
        cad.to_compact(document, "0.2"),
    ):
        data = source if isinstance(source, bytes) else source.encode()
        for form in (data, bytearray(data), memoryview(data)):
            assert cad.load(form)["nodes"].keys() == document["nodes"].keys()


@pytest.mark.parametrize("name", ["0.3", "", "AUTO", "auto "])
def test_an_unknown_choice_is_a_value_error(name: Any) -> None:
    for call in (
        lambda: cad.from_compact("", name),
        lambda: cad.check("", dialect=name),
        lambda: cad.iter_compact([], name),
        lambda: cad.to_compact({"nodes": {}}, name),
        lambda: cad.losses({"nodes": {}}, name),
        lambda: cad.to_compact({"nodes": {}}, unknown=name),
        lambda: cad.create_cad_compact("", format=name),
    ):
        with pytest.raises(ValueError, match="must be"):
            call()


@pytest.mark.parametrize("wrong", [None, 5, [], object()])
def test_what_is_no_text_is_a_type_error(wrong: Any) -> None:
    for call in (cad.from_compact, cad.from_binary, cad.load, cad.check):
        with pytest.raises(TypeError):
            call(wrong)
    with pytest.raises(TypeError):
        cad.from_binary("text")  # type: ignore[arg-type]
    with pytest.raises(cad.DocumentError, match="document: expected an object"):
        cad.canonical(wrong)


def test_losses_are_named() -> None:
    document = cad.from_compact("S 1\nT 0 1 0 0")
    assert cad.losses(document, "0.1") == []
    everything = copy.deepcopy(document)
    everything["nodes"]["5"] = {"name": "n", "op": {"type": "Empty"}}
    everything |= {
        "version": "2", "materials": {"a": {"name": "a", "color": [0, 0, 0], "metallic": 0,
                                            "roughness": 0}},
        "part_materials": {"p": "a"}, "roots": [{"root": 0, "material": "a", "visible": True}],
        "instances": [], "scene": {}, "extra": 1,
    }  # fmt: skip
    assert cad.losses(everything, "0.1") == [
        "assembly", "ids", "materials", "names", "ops", "part_materials", "root_material", "roots",
        "scene", "unknown", "version", "visibility",
    ]  # fmt: skip
    assert cad.losses(everything, "0.2") == ["unknown"]


def test_many_threads_may_read_one_dict_and_one_stream() -> None:
    document = cad.from_compact("S 1\n" + "\n".join(f"T {i} 0 0 1" for i in range(2000)))
    text = cad.to_compact(document)
    stream = cad.iter_compact([text[i : i + 100] for i in range(0, len(text), 100)])
    found: list[Any] = []
    wrong: list[Any] = []

    def work() -> None:
        for kind, item in stream:
            found.append(item["id"] if kind == "node" else "end")
        if cad.to_compact(document) != text:
            wrong.append("text")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(found) == 2002
    assert {item for item in found if item != "end"} == set(range(2001))


def test_no_python_code_runs_while_a_dict_is_read() -> None:
    class Number(int):
        def change(self, *_: object) -> Any:
            document["nodes"].clear()
            return 7

        __float__ = __index__ = __int__ = __eq__ = __str__ = __repr__ = change
        __hash__ = int.__hash__

    sphere = {"type": "Sphere", "radius": Number(10**22), "segments": 0}
    document: dict[str, Any] = {"nodes": {"0": {"op": sphere}, "1": {"op": {"type": "Empty"}}}}
    read = cad.canonical(document)
    assert list(document["nodes"]) == list(read["nodes"]) == ["0", "1"]
    assert read["nodes"]["0"]["op"]["radius"] == 10**22


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_as_it_was(on: bool) -> None:
    text = "S 1\n" * 2000
    try:
        (gc.enable if on else gc.disable)()
        document = cad.from_compact(text)
        assert gc.isenabled() == on
        assert cad.from_binary(cad.to_binary(document)) == document
        with pytest.raises(cad.CompactParseError):
            cad.from_compact(text + "Q")
        assert gc.isenabled() == on
    finally:
        gc.enable()


def test_documents_share_nothing_that_can_be_changed() -> None:
    text = "C 1 2 3\nT 0 4 5 6"
    first = cad.from_compact(text)
    first["nodes"]["0"]["op"]["size"] |= {"x": 9, "more": 9}
    del first["nodes"]["1"]["op"]["child"]
    first["nodes"]["1"].clear()
    second = cad.from_compact(text)
    assert second["nodes"]["0"]["op"] == {"type": "Cube", "size": {"x": 1, "y": 2, "z": 3}}
    assert cad.to_compact(second) == text
    assert list(second["nodes"]["0"]["op"]["size"]) == ["x", "y", "z"]


def test_errors_travel_with_their_place() -> None:
    with pytest.raises(cad.CompactParseError) as caught:
        cad.from_compact("q")
    again = pickle.loads(pickle.dumps(caught.value))
    assert vars(again) == vars(caught.value)
    assert str(again) == "line 1, column 1: unknown opcode q"
