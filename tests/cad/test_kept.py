"""`unknown="keep"`: what is not in the model is written as lines `XF` and read back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compactwire import cad
from tests.strategies.documents import survives


def test_dialect_0_1_refuses_kept_values() -> None:
    with pytest.raises(cad.CompactParseError) as caught:
        cad.from_compact("XF /a 1")
    assert caught.value.message == "unknown opcode XF"
    assert caught.value.suggestion is None
    for options in ({}, {"lossy": True, "dialect": "0.2"}):
        with pytest.raises(ValueError, match='unknown="keep"'):
            cad.to_compact({"nodes": {}}, unknown="keep", **options)  # type: ignore[arg-type]


def test_kept_values_are_restored_at_their_pointer() -> None:
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
def test_a_value_that_is_not_json_is_not_kept(wrong: Any, path: str) -> None:
    with pytest.raises(cad.DocumentError) as caught:
        cad.to_compact(wrong, "0.2", unknown="keep")
    assert caught.value.path == path


def test_the_depth_of_kept_values_is_limited() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(cad.DocumentError, match="nested more than 128 levels"):
        cad.to_compact({"nodes": {}, "a": deep}, "0.2", unknown="keep")
    lines = ["# vcad 0.2", "XF /a [0]"]
    lines += ["XF /a" + "/0" * level + " [0]" for level in range(1, 200)]
    with pytest.raises(cad.CompactParseError, match="line 129, column 261: invalid JSON after"):
        cad.from_compact("\n".join(lines))


def test_a_hybrid_has_no_xf_lines() -> None:
    hybrid = {"compact": "# vcad 0.2\nXF /a 1"}
    with pytest.raises(cad.CompactParseError, match="line 2, column 4: XF is not allowed in a hyb"):
        cad.from_hybrid(hybrid)


def test_loads_keeps_content_of_json_and_hybrids() -> None:
    document = {"nodes": {"0": {"op": {"type": "Torus"}}}, "units": "mm", "joints": 7}
    with pytest.raises(cad.DocumentError, match='unknown="keep"'):
        cad.loads(json.dumps(document))
    kept = cad.loads(json.dumps(document), unknown="keep")
    assert survives(document, kept)
    hybrid = {"compact": "S 1", "units": "mm", "roots": 5, "scene": {"fog": 1}}
    with pytest.raises(cad.DocumentError, match='unknown="keep"'):
        cad.loads(json.dumps(hybrid))
    kept = cad.loads(json.dumps(hybrid), unknown="keep")
    assert (kept["units"], kept["roots"], kept["scene"]) == ("mm", 5, {"fog": 1})
    assert kept["nodes"]["0"]["op"]["type"] == "Sphere"
    repaired = '{"nodes": {"a": {"op": {"type": "Torus"}}}}'
    with pytest.warns(UserWarning, match="assigned id 0"):
        assert (
            cad.loads(repaired, unknown="keep", repair=True)["nodes"]["0"]["op"]["type"] == "Torus"
        )
    with pytest.raises(ValueError, match="unknown must be 'error' or 'keep'"):
        cad.loads("S 1", unknown="x")  # type: ignore[arg-type]


def test_many_unknown_fields_below_a_long_key_are_kept_whole() -> None:
    material = {"name": "m", "color": [0, 0, 0], "metallic": 0, "roughness": 0}
    fields = {f"x{i}": i for i in range(500)}
    for section in ("materials", "partDefs"):
        key = "k" * 5000
        document = {"nodes": {}, section: {key: {**material, **fields}}}
        text = cad.to_compact(document, "0.2", unknown="keep")
        assert len(text) < 3 * len(json.dumps(document))
        assert survives(document, cad.from_compact(text))


def test_values_are_kept_in_the_order_in_which_their_owners_are_written() -> None:
    parts = {key: {"id": key, "root": 0, "more": None} for key in "cab"}
    solid = {"type": "Cube", "size": {"x": 1, "y": 1, "z": 1}}
    document = {"nodes": {"0": {"op": solid}}, "partDefs": parts}
    text = cad.to_compact(document, "0.2", unknown="keep")
    pointers = [line.split()[1] for line in text.splitlines() if line.startswith("XF ")]
    assert pointers == ["/partDefs/a/more", "/partDefs/b/more", "/partDefs/c/more"]
    assert cad.to_compact(cad.loads(text), "0.2", unknown="keep") == text
