"""Hypothesis strategies: any document of the CAD model, and nearly valid text."""

from __future__ import annotations

import copy
import itertools
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

FINITE = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.one_of(
    st.integers(-1000, 1000),
    st.integers(-100_000, 100_000).map(lambda n: n / 100),
    FINITE,
    st.sampled_from((-0.0, 5e-324, 1e21, 1e-7, 2.0**53, 2.0**53 - 1, 0.1 + 0.2, 1.79e308)),
)
U32 = st.one_of(st.integers(0, 64), st.integers(0, 2**32 - 1))
IDS = st.one_of(st.integers(0, 30), st.integers(0, 2**64 - 1))
TRICKY = st.sampled_from(
    ("", "_", "a b", "#x", "0", "key=v", 'a"b', "\\", "\\n", "\n", "\r", "\t", "\x85", "\u2028",
     "\x00", "\ufeff", "x#", "$a", "hidden", "studio", "default", "end\\", "\u3000", "é", "🙂")
)  # fmt: skip
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(("box", "hole", "default", "arm_2", "steel")),
    TRICKY,
)
NAMES = st.none() | TEXTS
BOOLS = st.booleans()
V2 = st.fixed_dictionaries({"x": NUMBERS, "y": NUMBERS})
V3 = st.fixed_dictionaries({"x": NUMBERS, "y": NUMBERS, "z": NUMBERS})
RGB = st.lists(NUMBERS, min_size=3, max_size=3)


def record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> SearchStrategy[Any]:
    """An object; an optional field is present, absent or null."""
    return st.fixed_dictionaries(
        required, optional={key: st.none() | value for key, value in (optional or {}).items()}
    )


def kind(name: str, fields: dict[str, Any] | None = None, **optional: Any) -> SearchStrategy[Any]:
    return record({"type": st.just(name), **(fields or {})}, optional)


PLANE = {"origin": V3, "x_dir": V3, "y_dir": V3}
AXIS = {"axis_origin": V3, "axis_dir": V3}
SEGMENTS = st.lists(
    kind("Line", {"start": V2, "end": V2})
    | kind("Arc", {"start": V2, "end": V2, "center": V2, "ccw": BOOLS}),
    max_size=5,
)


@st.composite
def chained(draw: DrawFn) -> Any:
    """Segments that each start at the end of the previous one, as in outlines."""
    segments = draw(SEGMENTS)
    for before, after in itertools.pairwise(segments):
        after["start"] = dict(before["end"])
    return segments


LEAVES = (
    kind("Cube", {"size": V3}),
    kind("Cylinder", {"radius": NUMBERS, "height": NUMBERS, "segments": U32}),
    kind("Sphere", {"radius": NUMBERS, "segments": U32}),
    kind("Cone", {"radius_bottom": NUMBERS, "radius_top": NUMBERS, "height": NUMBERS,
                  "segments": U32}),
    kind("Empty"),
    kind("Sketch2D", {**PLANE, "segments": SEGMENTS | chained()}),
    kind("Text2D", {**PLANE, "text": TEXTS, "font": TEXTS, "height": NUMBERS},
         letter_spacing=NUMBERS, line_spacing=NUMBERS,
         alignment=st.sampled_from(("left", "center", "right"))),
    kind("step_import", {"path": TEXTS}),
)  # fmt: skip


def users(solids: SearchStrategy[int], profiles: SearchStrategy[int] | None) -> list[Any]:
    """Operations on other nodes."""
    child = {"child": solids}
    both = {"left": solids, "right": solids}
    ops = [
        kind("Union", both),
        kind("Difference", both),
        kind("Intersection", both),
        kind("Translate", {**child, "offset": V3}),
        kind("Rotate", {**child, "angles": V3}),
        kind("Scale", {**child, "factor": V3}),
        kind("LinearPattern", {**child, "direction": V3, "count": U32, "spacing": NUMBERS}),
        kind("CircularPattern", {**child, **AXIS, "count": U32, "angle_deg": NUMBERS}),
        kind("Shell", {**child, "thickness": NUMBERS}),
        kind("Fillet", {**child, "radius": NUMBERS}),
        kind("Chamfer", {**child, "distance": NUMBERS}),
    ]
    if profiles is not None:
        sketch = {"sketch": profiles}
        ops += [
            kind("Extrude", {**sketch, "direction": V3}, twist_angle=NUMBERS, scale_end=NUMBERS),
            kind("Revolve", {**sketch, **AXIS, "angle_deg": NUMBERS}),
        ]
    return ops


MATERIAL = record(
    {"name": TEXTS, "color": RGB, "metallic": NUMBERS, "roughness": NUMBERS},
    {"density": NUMBERS, "friction": NUMBERS},
)
INSTANCE = record(
    {"id": TEXTS, "partDefId": TEXTS},
    {
        "name": TEXTS,
        "transform": record({"translation": V3, "rotation": V3, "scale": V3}),
        "material": TEXTS,
    },
)
LIMITS = st.lists(NUMBERS, min_size=2, max_size=2)
JOINT = record(
    {
        "id": TEXTS,
        "childInstanceId": TEXTS,
        "parentAnchor": V3,
        "childAnchor": V3,
        "state": NUMBERS,
        "kind": kind("Fixed")
        | kind("Ball")
        | kind("Cylindrical", {"axis": V3})
        | kind("Revolute", {"axis": V3}, limits=LIMITS)
        | kind("Slider", {"axis": V3}, limits=LIMITS),
    },
    {"name": TEXTS, "parentInstanceId": TEXTS},
)
LIGHT = record(
    {
        "id": TEXTS,
        "color": RGB,
        "intensity": NUMBERS,
        "kind": kind("Directional", {"direction": V3})
        | kind("Point", {"position": V3}, distance=NUMBERS)
        | kind("Spot", {"position": V3, "direction": V3}, angle=NUMBERS, penumbra=NUMBERS)
        | kind("Area", {"position": V3, "direction": V3, "width": NUMBERS, "height": NUMBERS}),
    },
    {"enabled": BOOLS, "castShadow": BOOLS},
)
PRESETS = (
    "studio", "warehouse", "apartment", "park", "city", "dawn", "night", "sunset", "forest",
    "neutral",
)  # fmt: skip
TONES = ("none", "reinhard", "cineon", "acesFilmic", "agX", "neutral")
EFFECT = {"enabled": BOOLS}
POST = record(
    {},
    {
        "ambientOcclusion": record(EFFECT, {"intensity": NUMBERS, "radius": NUMBERS}),
        "bloom": record(EFFECT, {"intensity": NUMBERS, "threshold": NUMBERS}),
        "vignette": record(EFFECT, {"offset": NUMBERS, "darkness": NUMBERS}),
        "toneMapping": st.sampled_from(TONES),
        "exposure": NUMBERS,
    },
)
SCENE = record(
    {},
    {
        "environment": kind("Preset", {"preset": st.sampled_from(PRESETS)}, intensity=NUMBERS)
        | kind("Custom", {"url": TEXTS | st.sampled_from(PRESETS)}, intensity=NUMBERS),
        "background": kind("Environment")
        | kind("Transparent")
        | kind("Solid", {"color": RGB})
        | kind("Gradient", {"top": RGB, "bottom": RGB}),
        "lights": st.lists(LIGHT, max_size=2),
        "postProcessing": POST,
        "cameraPresets": st.lists(
            record({"id": TEXTS, "position": V3, "target": V3}, {"name": TEXTS, "fov": NUMBERS}),
            max_size=2,
        ),
    },
)


# A reference to a node: an index modulo the number of nodes that it may name. No strategy depends
# on the nodes: to make strategies for each document takes twice as long as to draw it.
REF = st.integers(0, 30)
# By whether there are solids, and whether there are flat shapes as well.
OPERATIONS = {
    (False, False): st.one_of(LEAVES),
    (False, True): st.one_of(LEAVES),
    (True, False): st.one_of(*LEAVES, *users(REF, None)),
    (True, True): st.one_of(*LEAVES, *users(REF, REF)),
}
# In place of the id of the node is 0.
HEAD = record({}, {"id": st.just(0), "name": NAMES})
REST = record(
    {},
    {
        "version": TEXTS | st.just("0.1"),
        "materials": st.dictionaries(TEXTS, MATERIAL, max_size=2),
        "part_materials": st.dictionaries(TEXTS, TEXTS, max_size=2),
        "roots": st.lists(record({"root": REF, "material": TEXTS}, {"visible": BOOLS}), max_size=3),
        "partDefs": st.dictionaries(
            TEXTS,
            record({"id": TEXTS, "root": REF}, {"name": TEXTS, "defaultMaterial": TEXTS}),
            max_size=2,
        ),
        "instances": st.lists(INSTANCE, max_size=2),
        "joints": st.lists(JOINT, max_size=2),
        "groundInstanceId": TEXTS,
        "scene": SCENE,
    },
)


@st.composite
def documents(draw: DrawFn, *, most: int = 8) -> dict[str, Any]:
    """A document of the model."""
    ids = draw(st.lists(IDS, unique=True, max_size=most) | st.integers(0, most).map(range))
    nodes: dict[str, Any] = {}
    solids: list[int] = []
    profiles: list[int] = []
    for node in ids:
        op = draw(OPERATIONS[bool(solids), bool(profiles)])
        for name in ("child", "left", "right", "sketch"):
            if name in op:
                known = profiles if name == "sketch" else solids
                op[name] = known[op[name] % len(known)]
        (profiles if op["type"] in ("Sketch2D", "Text2D") else solids).append(node)
        head = draw(HEAD)
        if head.get("id") is not None:
            head["id"] = node
        nodes[str(node)] = {"op": op, **head}
    # In any order.
    nodes = {key: nodes[key] for key in draw(st.permutations(list(nodes)))}
    rest = draw(REST)
    roots, parts = rest.get("roots") or [], rest.get("partDefs") or {}
    if not ids:
        roots.clear()
        parts.clear()
    for shown in (*roots, *parts.values()):
        shown["root"] = ids[shown["root"] % len(ids)]
    return {"nodes": nodes, **rest}


JSON = st.recursive(
    st.none() | BOOLS | NUMBERS | TEXTS | st.integers(),
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(TEXTS, inside, max_size=2),
    max_leaves=4,
)


def containers(value: Any) -> list[Any]:
    """Every dict and list within a value."""
    if not isinstance(value, dict | list):
        return []
    inside = list(value.values()) if isinstance(value, dict) else value
    return [value, *itertools.chain.from_iterable(map(containers, inside))]


@st.composite
def damaged(draw: DrawFn) -> dict[str, Any]:
    """A document of the model after changes anywhere: any JSON object."""
    document = copy.deepcopy(draw(documents(most=5)))
    for _ in range(draw(st.integers(1, 4))):
        found = draw(st.sampled_from(containers(document)))
        members = list(found) if isinstance(found, dict) else list(range(len(found)))
        at = draw(st.sampled_from(members)) if members else None
        change = draw(st.sampled_from(("set", "remove", "add")))
        if change == "add" or at is None:
            if isinstance(found, dict):
                found[draw(TEXTS)] = draw(JSON)
            else:
                found.append(draw(JSON))
        elif change == "set":
            found[at] = draw(JSON)
        else:
            del found[at]
    return document


WORDS = st.sampled_from(
    ("C", "Y", "S", "K", "U", "D", "I", "T", "R", "X", "LP", "CP", "SK", "L", "A", "END", "E", "V",
     "SH", "FI", "CH", "EMPTY", "TX", "STEP", "@MAT", "M", "ROOT", "PDEF", "INST", "JFIX", "JREV",
     "JBAL", "JCYL", "JSLD", "GROUND", "ENV", "BG", "LDIR", "LPNT", "LSPT", "LAREA", "AO", "BLOOM",
     "VIG", "TONE", "EXP", "CAM", "VER", "PMAT", "IDS", "HAVE", "$a", "=", "$b", "0", "1", "2",
     "-1", "1.5", "1e3", "_",
     '"a"', '"b c"', "a", "key=k", 'key="k"', "name=n", "state=2", "twist=1",
     "taper=.5", "align=left", "enabled=0", "shadow=1", "enabled=_", "hidden", "shown", "shadow",
     "XF", "/roots", "/nodes/0/op", '{"a":[1.0]}', "null",
     "studio", "solid", "env", "agX", "scene", "1-3", "#", "# c", '"', "\\", "C1", "007")
)  # fmt: skip
LINES = st.lists(WORDS, max_size=14).map(" ".join)
STATEMENTS = st.sampled_from(
    ("C 1 2 3", "Y 1 2", "S 1 8", "U 0 1", "T 0 1 2 3", "SK 0 0 0 1 0 0 0 1 0", "L 0 0 1 1", "END",
     "E 0 0 0 1", "E 0 0 0 1 twist=1 \"e\"", "$a = S 1", "T $a 1 1 1", "# vcad 0.2",
     "# vcad 0.2 x1", "M a 0 0 0 0 1",
     "ROOT 0 a hidden", "ROOT _", "IDS 3 5-7", "PDEF p _ 0", "INST i p _ _",
     "XF /nodes/0/op {\"type\": \"A # b\"}", 'XF "/a b" -0.0 ', "XF /roots/0/root 1",
     "JFIX j _ i 0 0 0 0 0 0 state=1", "HAVE scene", "CAM c 0 0 0 1 1 1", "LDIR l 1 1 1 1 0 0 1")
)  # fmt: skip
NEARLY_TEXTS = st.lists(STATEMENTS | STATEMENTS | LINES, max_size=12).map("\n".join)
"""Compact text, or text with one word changed."""
