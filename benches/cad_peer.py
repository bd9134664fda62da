"""The peer for CAD: a straightforward reader and writer of dialect 0.1, with the usual checks."""

from __future__ import annotations

from typing import Any

OPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "C": ("Cube", ("size:v",)),
    "Y": ("Cylinder", ("radius:n", "height:n", "segments:?")),
    "S": ("Sphere", ("radius:n", "segments:?")),
    "K": ("Cone", ("radius_bottom:n", "radius_top:n", "height:n", "segments:?")),
    "U": ("Union", ("left:r", "right:r")),
    "D": ("Difference", ("left:r", "right:r")),
    "I": ("Intersection", ("left:r", "right:r")),
    "T": ("Translate", ("child:r", "offset:v")),
    "R": ("Rotate", ("child:r", "angles:v")),
    "X": ("Scale", ("child:r", "factor:v")),
    "LP": ("LinearPattern", ("child:r", "direction:v", "count:u", "spacing:n")),
    "CP": ("CircularPattern",
           ("child:r", "axis_origin:v", "axis_dir:v", "count:u", "angle_deg:n")),
    "SK": ("Sketch2D", ("origin:v", "x_dir:v", "y_dir:v")),
    "E": ("Extrude", ("sketch:r", "direction:v")),
    "V": ("Revolve", ("sketch:r", "axis_origin:v", "axis_dir:v", "angle_deg:n")),
    "SH": ("Shell", ("child:r", "thickness:n")),
}  # fmt: skip
CODES = {name: (code, fields) for code, (name, fields) in OPS.items()}
WIDTH = {"v": 3, "n": 1, "r": 1, "u": 1, "?": 0}


def parse(text: str) -> dict[str, Any]:
    """Read a text."""
    nodes: dict[str, Any] = {}
    sketch: list[Any] | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.split("#")[0].split()
        if not words:
            continue
        code, args = words[0], words[1:]
        if code in ("L", "A", "END"):
            if sketch is None:
                raise ValueError(f"line {number}: {code} outside a sketch")
            if code == "END":
                sketch = None
            else:
                sketch.append(segment(code, [float(arg) for arg in args]))
            continue
        if code not in OPS:
            raise ValueError(f"line {number}: unknown opcode {code}")
        name, fields = OPS[code]
        op: dict[str, Any] = {"type": name}
        expected = sum(WIDTH[field[-1]] for field in fields)
        if not expected <= len(args) <= expected + (fields[-1][-1] == "?"):
            raise ValueError(f"line {number}: {code} expects {expected} args, got {len(args)}")
        at = 0
        for field in fields:
            key, kind = field[:-2], field[-1]
            if kind == "v":
                x, y, z = args[at : at + 3]
                op[key] = {"x": float(x), "y": float(y), "z": float(z)}
                at += 3
            elif kind == "n":
                op[key] = float(args[at])
                at += 1
            elif kind == "r":
                op[key] = reference = int(args[at])
                if reference >= len(nodes):
                    raise ValueError(f"line {number}: node {reference} is not defined")
                at += 1
            else:
                op[key] = int(args[at]) if at < len(args) else 0
                at += 1
        if code == "SK":
            sketch = op["segments"] = []
        node = len(nodes)
        nodes[str(node)] = {"id": node, "name": None, "op": op}
    roots = [{"root": len(nodes) - 1, "material": "default"}] if nodes else []
    return {
        "version": "0.1", "nodes": nodes, "materials": {}, "part_materials": {}, "roots": roots,
    }  # fmt: skip


def segment(code: str, at: list[float]) -> dict[str, Any]:
    """Make a line or an arc."""
    found: dict[str, Any] = {
        "type": "Line" if code == "L" else "Arc",
        "start": {"x": at[0], "y": at[1]},
        "end": {"x": at[2], "y": at[3]},
    }
    if code == "A":
        found |= {"center": {"x": at[4], "y": at[5]}, "ccw": bool(at[6])}
    return found


def write(document: dict[str, Any]) -> str:
    """Write a document whose ids are in order, without names."""
    lines = []
    place: dict[int, int] = {}
    for node in sorted(document["nodes"].values(), key=lambda node: node["id"]):
        place[node["id"]] = len(place)
        op = node["op"]
        code, fields = CODES[op["type"]]
        words = [code]
        for field in fields:
            value, kind = op[field[:-2]], field[-1]
            if kind == "v":
                words += [number(value["x"]), number(value["y"]), number(value["z"])]
            elif kind == "r":
                words.append(str(place[value]))
            elif kind == "n":
                words.append(number(value))
            elif kind == "u" or value:
                words.append(str(value))
        lines.append(" ".join(words))
        if code == "SK":
            lines += map(outline, op["segments"])
            lines.append("END")
    return "\n".join(lines)


def outline(found: dict[str, Any]) -> str:
    """Write a line or an arc."""
    points = [found["start"], found["end"], *([found["center"]] if "center" in found else [])]
    words = [number(point[axis]) for point in points for axis in "xy"]
    if "ccw" in found:
        return " ".join(["A", *words, str(int(found["ccw"]))])
    return " ".join(["L", *words])


def number(value: float) -> str:
    """Write a number without a fraction that is zero."""
    return str(int(value)) if value == int(value) else repr(value)
