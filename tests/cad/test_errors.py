"""Errors of the CAD readers that no vector covers: message, line, column, path."""

from __future__ import annotations

from typing import Any

import pytest

from compactwire import cad
from tests.reference import cad as reference

SECOND = "# vcad 0.2\n"
ERRORS = [
    ("IDS 1-2\nIDS 3\nC 1 1 1\nS 1", 3, 1, "IDS is already given on line 2"),
    ("GROUND a\nGROUND b", 3, 1, "GROUND is already given on line 2"),
    ("GROUND a\nGROUND", 3, 1, "GROUND expects 1 args, got 0"),
    ('VER "a"\nVER "b"', 3, 1, "VER is already given on line 2"),
    ("IDS 5 3-9\nC 1 1 1", 2, 7, "IDS repeats id 5"),
    ("IDS 1-3 2", 2, 9, "IDS repeats id 2"),
    ("IDS 5 1 1 5", 2, 9, "IDS repeats id 1"),
    ("IDS 3 4 1-5", 2, 9, "IDS repeats id 3"),
    ("IDS 8 1-3 5-6 2-5", 2, 15, "IDS repeats id 2"),
    ("IDS 0-18446744073709551615 7", 2, 28, "IDS repeats id 7"),
    ("IDS 1 1 2-1", 2, 7, "IDS repeats id 1"),
    ("IDS 1 2-1 1", 2, 7, 'invalid id range "2-1"'),
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


@pytest.mark.parametrize(("text", "line", "column", "message"), ERRORS)
def test_an_error_in_a_text_has_line_and_column(
    text: str, line: int, column: int, message: str
) -> None:
    with pytest.raises(cad.CompactParseError) as caught:
        cad.from_compact(SECOND + text)
    error = caught.value
    assert (error.line, error.column, error.message) == (line, column, message)
    with pytest.raises(reference.ReadError):
        reference.read(SECOND + text)


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [(b"\xff", 1, 1), (b"C 1 1 1\nS \xe9", 2, 3), (b"\xef\xbb\xbf# \xc3\xa9\xc3", 1, 4)],
)
def test_invalid_utf8_has_line_and_column(data: bytes, line: int, column: int) -> None:
    for read in (cad.from_compact, lambda data: list(cad.iter_compact([data]))):
        with pytest.raises(cad.CompactParseError) as caught:
            read(data)
        error = caught.value
        assert (error.line, error.column, error.message) == (line, column, "invalid UTF-8")


def test_a_lone_surrogate_has_line_and_column() -> None:
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
def test_an_error_in_a_document_has_a_path(document: Any, path: str, message: str) -> None:
    for write in (cad.canonical, cad.to_compact, cad.to_binary, cad.to_hybrid, cad.dumps):
        with pytest.raises(cad.DocumentError) as caught:
            write(document)
        assert (caught.value.path, caught.value.message) == (path, message)


@pytest.mark.parametrize("document", [document for document, *_ in FAULTS])
def test_an_error_that_keep_avoids_names_it(document: Any) -> None:
    try:
        cad.to_compact(document, "0.2", unknown="keep")
    except cad.DocumentError as error:
        assert "keep" not in str(error)  # noqa: PT017
        return
    for write in (
        cad.canonical, cad.to_compact, cad.to_binary, cad.to_hybrid, cad.dumps,
        lambda document: cad.to_compact(document, target="vcad"),
    ):  # fmt: skip
        with pytest.raises(cad.DocumentError, match='unknown="keep" keeps it'):
            write(document)


@pytest.mark.parametrize("text", ["", "{", "nothing", '{"nodes":{}} 1', '{"a":1e999}', b"\xff"])
def test_invalid_json_is_a_document_error(text: Any) -> None:
    with pytest.raises(cad.DocumentError, match="document: invalid JSON: "):
        cad.canonical(text)


def test_a_range_of_ids_is_not_expanded() -> None:
    text = SECOND + "IDS 0-18446744073709551614 18446744073709551615\n"
    with pytest.raises(cad.CompactParseError, match="18446744073709551616 ids but 0 nodes"):
        cad.from_compact(text)


def test_what_the_comparison_of_a_key_raises_is_raised() -> None:
    class Key(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            raise KeyboardInterrupt

    document = cad.from_compact("C 1 1 1")
    node = document["nodes"]["0"]
    del node["name"]
    node[Key("name")] = "part"
    with pytest.raises(KeyboardInterrupt):
        cad.to_compact(document)
