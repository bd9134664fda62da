"""Slow readers of compact CAD text: one from the specification, one that reads as vcad does."""

from __future__ import annotations

import heapq
import json
import math
import re
from collections.abc import Iterator
from typing import Any

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)
HEADER = re.compile(r"\s*#\s*vcad\s+([0-9]\S*)(?:\s+(x[0-9]+))?\s*")
SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
MODES = {"hidden": False, "shown": True}
PRESETS = (
    "studio", "warehouse", "apartment", "park", "city", "dawn", "night", "sunset", "forest",
    "neutral",
)  # fmt: skip
TONES = ["none", "reinhard", "cineon", "acesFilmic", "agX", "neutral"]

# Each operation by its opcode: its type, and the kind and name of each argument. The kinds: n is a
# number, 3 a vector, u an integer, ? an optional integer, o a solid, f a flat shape, " a string.
OPS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "C": ("Cube", [("3", "size")]),
    "Y": ("Cylinder", [("n", "radius"), ("n", "height"), ("?", "segments")]),
    "S": ("Sphere", [("n", "radius"), ("?", "segments")]),
    "K": ("Cone", [("n", "radius_bottom"), ("n", "radius_top"), ("n", "height"),
                   ("?", "segments")]),
    "U": ("Union", [("o", "left"), ("o", "right")]),
    "D": ("Difference", [("o", "left"), ("o", "right")]),
    "I": ("Intersection", [("o", "left"), ("o", "right")]),
    "T": ("Translate", [("o", "child"), ("3", "offset")]),
    "R": ("Rotate", [("o", "child"), ("3", "angles")]),
    "X": ("Scale", [("o", "child"), ("3", "factor")]),
    "LP": ("LinearPattern", [("o", "child"), ("3", "direction"), ("u", "count"),
                             ("n", "spacing")]),
    "CP": ("CircularPattern", [("o", "child"), ("3", "axis_origin"), ("3", "axis_dir"),
                               ("u", "count"), ("n", "angle_deg")]),
    "SK": ("Sketch2D", [("3", "origin"), ("3", "x_dir"), ("3", "y_dir")]),
    "E": ("Extrude", [("f", "sketch"), ("3", "direction")]),
    "V": ("Revolve", [("f", "sketch"), ("3", "axis_origin"), ("3", "axis_dir"),
                      ("n", "angle_deg")]),
    "SH": ("Shell", [("o", "child"), ("n", "thickness")]),
    "FI": ("Fillet", [("o", "child"), ("n", "radius")]),
    "CH": ("Chamfer", [("o", "child"), ("n", "distance")]),
    "EMPTY": ("Empty", []),
    "TX": ("Text2D", [("3", "origin"), ("3", "x_dir"), ("3", "y_dir"), ("n", "height"),
                      ('"', "text"), ('"', "font")]),
    "STEP": ("step_import", [('"', "path")]),
}  # fmt: skip
LATER = {"FI", "CH", "EMPTY", "TX", "STEP"}
ATTRIBUTES = {
    "E": {"twist": "twist_angle", "taper": "scale_end"},
    "TX": {"align": "alignment", "letter": "letter_spacing", "line": "line_spacing"},
}
JOINTS = {"JFIX": "Fixed", "JREV": "Revolute", "JSLD": "Slider", "JCYL": "Cylindrical",
          "JBAL": "Ball"}  # fmt: skip
LIGHTS: dict[str, tuple[str, list[str], list[str]]] = {
    "LDIR": ("Directional", ["direction"], []),
    "LPNT": ("Point", ["position"], ["distance"]),
    "LSPT": ("Spot", ["position", "direction"], ["angle", "penumbra"]),
    "LAREA": ("Area", ["position", "direction"], ["width", "height"]),
}
EFFECTS = {
    "AO": ("ambientOcclusion", "intensity", "radius"),
    "BLOOM": ("bloom", "intensity", "threshold"),
    "VIG": ("vignette", "offset", "darkness"),
}
COUNTS: dict[str, tuple[int, ...]] = {
    "M": (6, 7, 8), "@MAT": (6, 7, 8), "ROOT": (2, 3), "PDEF": (3, 4), "INST": (12, 13),
    "JFIX": (9,), "JBAL": (9,), "JCYL": (12,), "JREV": (12, 14), "JSLD": (12, 14), "GROUND": (1,),
    "ENV": (2,), "BG": (1, 4, 7), "LDIR": (8, 9), "LPNT": (8, 9), "LSPT": (11, 12, 13),
    "LAREA": (13,), "AO": (3,), "BLOOM": (3,), "VIG": (3,), "TONE": (1,), "EXP": (1,),
    "CAM": (7, 8, 9), "VER": (1,), "PMAT": (2,), "HAVE": (1,), "IDS": tuple(range(1, 9999)),
}  # fmt: skip
DIRECTIVE_ATTRIBUTES = {
    **{key: {"key"} for key in ("M", "@MAT", "PDEF")},
    **{key: {"name", "state"} for key in JOINTS},
    **{key: {"enabled", "shadow"} for key in LIGHTS},
}
ONCE = {"GROUND", "VER", "IDS", "ENV", "BG", "AO", "BLOOM", "VIG", "TONE", "EXP"}


class ReadError(Exception):
    """The text is not a document."""


class Quoted(str):
    """A quoted string: the same text as a word, but another token."""


def check(right: object, why: str = "") -> None:
    if not right:
        raise ReadError(why)


def read(text: str, dialect: str = "auto") -> dict[str, Any]:
    """The document of a text."""
    lines = text.removeprefix("\ufeff").split("\n")
    if dialect == "auto":
        dialect = header(lines)
    reader = Reader(second=dialect == "0.2")
    for line in lines:
        reader.line(line)
    return reader.document()


def header(lines: list[str]) -> str:
    first = next((line for line in lines if line.strip(SPACE)), "")
    match = HEADER.fullmatch(first)
    if match is None:
        return "0.1"
    versions = {("0.1", None): "0.1", ("0.2", None): "0.2", ("0.2", "x1"): "0.2"}
    found = versions.get((match[1], match[2]))
    check(found, "unsupported version")
    return found or ""


def words(line: str) -> list[str]:
    """The words of a line, up to the comment."""
    for space in SPACE:
        line = line.replace(space, " ")
    return line.partition("#")[0].split()


def tokens(line: str) -> Iterator[str]:
    """Split a line of dialect 0.2; in directives, `#` begins a comment only as a whole word."""
    at, directive, first = 0, False, True
    while True:
        while at < len(line) and line[at] in SPACE:
            at += 1
        if at == len(line):
            return
        if line[at] == "#" and (not directive or at + 1 == len(line) or line[at + 1] in SPACE):
            return
        start = at
        while at < len(line) and line[at] not in SPACE and line[at] != '"':
            if line[at] == "#" and not directive:
                break
            at += 1
        word = line[start:at]
        if at < len(line) and line[at] == '"':
            check(not word or re.fullmatch("[a-z]+=", word, re.ASCII), "quote inside a word")
            end = at + 1
            while end < len(line) and line[end] != '"':
                end += 2 if line[end] == "\\" else 1
            check(end < len(line), "unterminated string")
            value = Quoted(re.sub(r"\\(.)", escape, line[at + 1 : end], flags=re.DOTALL))
            at = end + 1
            check(at == len(line) or line[at] in SPACE or line[at] == "#", "no space")
            yield Attribute(word[:-1], value) if word else value
        else:
            yield word
        if first:
            directive = word in COUNTS and word != ""
            first = False


def escape(match: re.Match[str]) -> str:
    return {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}.get(match[1], match[0])


class Attribute(str):
    """A key and a quoted value."""

    value: Quoted

    def __new__(cls, key: str, value: Quoted) -> Attribute:
        self = super().__new__(cls, f'{key}="{value}"')
        self.key = key
        self.value = value
        return self

    key: str


def number(token: str) -> float:
    check(type(token) is str and NUMBER.fullmatch(token), f"invalid number {token}")
    value = float(token)
    check(math.isfinite(value), "out of range")
    return value


def vector(args: list[str]) -> dict[str, float]:
    return dict(zip("xyz", map(number, args), strict=False))


def integer(token: str) -> int:
    check(type(token) is str and token.isascii() and token.isdigit(), f"invalid integer {token}")
    check(len(token.lstrip("0")) < 11 and int(token) < 2**32, "out of range")
    return int(token)


def optional(token: str) -> float | None:
    return None if blank(token) else number(token)


def blank(token: str) -> bool:
    return type(token) is str and token == "_"


def string(token: str) -> str:
    check(isinstance(token, Quoted), "expected a string")
    return str(token)


def flag(token: str) -> bool:
    check(type(token) is str and token in ("0", "1"), f"invalid flag {token}")
    return token == "1"


def present(**fields: object) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


class Reader:
    """Reads a text line by line."""

    def __init__(self, *, second: bool) -> None:
        self.second = second
        self.nodes: list[dict[str, Any]] = []
        self.labels: dict[str, int] = {}
        self.names: dict[str, list[int]] = {}
        self.sketch: list[Any] | None = None
        self.ids: list[int] | None = None
        self.once: set[str] = set()
        self.no_roots = False
        self.rest: dict[str, Any] = {"version": "0.1", "materials": {}, "part_materials": {}}
        self.roots: list[dict[str, Any]] = []
        self.extra: list[tuple[str, Any]] = []

    def line(self, line: str) -> None:
        if self.second and self.sketch is None and re.match(rf"[{SPACE}]*XF([{SPACE}]|$)", line):
            self.extra.append(extra(line.strip(SPACE)[2:].strip(SPACE)))
            return
        found = list(tokens(line)) if self.second else words(line)
        if not found:
            return
        if self.sketch is not None:
            self.segment(found)
            return
        label = None
        if found[0].startswith("$") and type(found[0]) is str:
            label = found[0][1:]
            check(NAME.fullmatch(label) and label not in self.labels, "label")
            check(len(found) > 2 and found[1] == "=", "expected =")
            found = found[2:]
        opcode, *args = found
        check(type(opcode) is str, "unknown opcode")
        if opcode in OPS and (self.second or opcode not in LATER):
            self.node(opcode, args, label)
        else:
            check(label is None, "only a node can be named")
            check(opcode in COUNTS and (self.second or opcode == "@MAT"), f"unknown {opcode}")
            self.directive(opcode, args)

    def segment(self, found: list[str]) -> None:
        opcode, *args = found
        counts = {"L": 4, "A": 7, "END": 0}
        check(type(opcode) is str and counts.get(opcode) == len(args), "sketch")
        assert self.sketch is not None
        if opcode == "END":
            self.sketch = None
            return
        at = list(map(number, args[:6]))
        segment: dict[str, Any] = {
            "type": "Line" if opcode == "L" else "Arc",
            "start": {"x": at[0], "y": at[1]},
            "end": {"x": at[2], "y": at[3]},
        }
        if opcode == "A":
            segment |= {"center": {"x": at[4], "y": at[5]}, "ccw": flag(args[6])}
        self.sketch.append(segment)

    def node(self, opcode: str, args: list[str], label: str | None) -> None:
        type_name, fields = OPS[opcode]
        sizes = {"3": 3, "?": 0}
        least = sum(sizes.get(kind, 1) for kind, _ in fields)
        op: dict[str, Any] = {"type": type_name}
        name = None
        if self.second:
            args, attributes = split(args, least, set(ATTRIBUTES.get(opcode, ())))
            for key, value in attributes.items():
                field = ATTRIBUTES[opcode][key]
                if key == "align":
                    check(value in ("left", "center", "right"), "align")
                op[field] = str(value) if key == "align" else number(value)
            if len(args) > least and isinstance(args[-1], Quoted):
                name = str(args.pop())
        most = least + sum(kind == "?" for kind, _ in fields)
        check(least <= len(args) <= most, f"{opcode} expects {least} to {most} args")
        rest = list(args)
        for kind, field in fields:
            if kind == "3":
                op[field] = vector([rest.pop(0) for _ in range(3)])
            elif kind == "?":
                op[field] = integer(rest.pop(0)) if rest else 0
            else:
                op[field] = self.argument(kind, rest.pop(0))
        if type_name == "Text2D":
            op.setdefault("alignment", "left")
        number_of = len(self.nodes)
        if label is not None:
            self.labels[label] = number_of
        if name is not None:
            self.names.setdefault(name, []).append(number_of)
        self.nodes.append({"name": label if name is None else name, "op": op})
        if opcode == "SK":
            self.sketch = op["segments"] = []

    def argument(self, kind: str, token: str) -> Any:
        if kind == "n":
            return number(token)
        if kind == "u":
            return integer(token)
        if kind == '"':
            return string(token)
        target = self.reference(token)
        flat = self.nodes[target]["op"]["type"] in ("Sketch2D", "Text2D")
        check(flat == (kind == "f"), "wrong kind")
        return target

    def reference(self, token: str) -> int:
        check(type(token) is str, "invalid node reference")
        if token.startswith("$"):
            check(NAME.fullmatch(token[1:]), "invalid node reference")
            if token[1:] in self.labels:
                return self.labels[token[1:]]
            found = self.names.get(token[1:], []) if self.second else []
            check(len(found) == 1, f"name {token}")
            return found[0]
        check(token.isascii() and token.isdigit(), "invalid node reference")
        digits = token.lstrip("0") or "0"
        check(len(digits) < 20 and int(digits) < len(self.nodes), "missing node")
        return int(digits)

    def directive(self, opcode: str, args: list[str]) -> None:
        counts = COUNTS[opcode]
        if opcode in ("@MAT", "IDS"):
            check(not self.nodes, "before the first node")
        known = DIRECTIVE_ATTRIBUTES.get(opcode, set()) if self.second else set()
        args, attributes = split(args, counts[0], known, strict=True)
        if opcode == "INST" and len(args) > 3 and blank(args[3]):
            counts = (4, 5)
        if opcode == "ROOT" and len(args) == 1 and blank(args[0]):
            counts = (1,)
        check(len(args) in counts, f"{opcode} args")
        if opcode in ONCE:
            check(opcode not in self.once, "already given")
            self.once.add(opcode)
        if opcode in JOINTS:
            self.joint(opcode, args, attributes)
        elif opcode in LIGHTS:
            self.light(opcode, args, attributes)
        elif opcode in EFFECTS:
            name, *numbers = EFFECTS[opcode]
            values = dict(zip(numbers, map(optional, args[1:]), strict=True))
            self.post()[name] = {"enabled": flag(args[0]), **present(**values)}
        else:
            getattr(self, "do_" + opcode.strip("@").lower())(args, attributes)

    def do_m(self, args: list[str], attributes: dict[str, str]) -> None:
        key = str(attributes.get("key", args[0]))
        check(key not in self.rest["materials"], "already defined")
        color, (metallic, roughness) = map(number, args[1:4]), map(number, args[4:6])
        density = None
        if len(args) > 6:
            density = optional(args[6]) if self.second else number(args[6])
        self.rest["materials"][key] = present(
            name=str(args[0]), color=list(color), metallic=metallic, roughness=roughness,
            density=density, friction=number(args[7]) if len(args) > 7 else None,
        )  # fmt: skip

    do_mat = do_m

    def do_root(self, args: list[str], _: object) -> None:
        check(not self.no_roots, "only ROOT")
        if len(args) == 1:
            check(not self.roots, "only ROOT")
            self.no_roots = True
            return
        visible = None
        if len(args) == 3:
            check(type(args[2]) is str and args[2] in MODES, "expected hidden or shown")
            visible = MODES[args[2]]
        node = self.reference(args[0])
        self.roots.append(present(root=node, material=str(args[1]), visible=visible))

    def do_pdef(self, args: list[str], attributes: dict[str, str]) -> None:
        parts = self.rest.setdefault("partDefs", {})
        key = str(attributes.get("key", args[0]))
        check(key not in parts, "already defined")
        parts[key] = present(
            id=str(args[0]), name=None if blank(args[1]) else string(args[1]),
            root=self.reference(args[2]),
            defaultMaterial=str(args[3]) if len(args) > 3 else None,
        )  # fmt: skip

    def do_inst(self, args: list[str], _: object) -> None:
        name = None if blank(args[2]) else string(args[2])
        transform, rest = None, args[4:]
        if not blank(args[3]):
            parts = ("translation", "rotation", "scale")
            transform = {part: vector(args[3 + 3 * i : 6 + 3 * i]) for i, part in enumerate(parts)}
            rest = args[12:]
        self.rest.setdefault("instances", []).append(present(
            id=str(args[0]), partDefId=str(args[1]), name=name, transform=transform,
            material=str(rest[0]) if rest else None,
        ))  # fmt: skip

    def joint(self, opcode: str, args: list[str], attributes: dict[str, str]) -> None:
        kind: dict[str, Any] = {"type": JOINTS[opcode]}
        if len(args) > 9:
            kind["axis"] = vector(args[9:12])
        if len(args) > 12:
            kind["limits"] = [number(args[12]), number(args[13])]
        name = attributes.get("name")
        joint = present(
            id=str(args[0]), name=None if name is None else str(name),
            childInstanceId=str(args[2]), parentAnchor=vector(args[3:6]),
            childAnchor=vector(args[6:9]), kind=kind,
            state=number(attributes["state"]) if "state" in attributes else 0,
        )  # fmt: skip
        joint["parentInstanceId"] = None if blank(args[1]) else str(args[1])
        self.rest.setdefault("joints", []).append(joint)

    def do_ground(self, args: list[str], _: object) -> None:
        self.rest["groundInstanceId"] = str(args[0])

    def scene(self) -> dict[str, Any]:
        found: dict[str, Any] = self.rest.setdefault("scene", {})
        return found

    def post(self) -> dict[str, Any]:
        found: dict[str, Any] = self.scene().setdefault("postProcessing", {})
        return found

    def do_env(self, args: list[str], _: object) -> None:
        preset = type(args[0]) is str and args[0] in PRESETS
        source = {"type": "Preset", "preset": args[0]} if preset else {
            "type": "Custom", "url": str(args[0])
        }  # fmt: skip
        self.scene()["environment"] = {**source, **present(intensity=optional(args[1]))}

    def do_bg(self, args: list[str], _: object) -> None:
        kinds = {"solid": 4, "gradient": 7, "env": 1, "transparent": 1}
        check(kinds.get(str(args[0])) == len(args), "background")
        numbers = list(map(number, args[1:]))
        self.scene()["background"] = {
            "solid": {"type": "Solid", "color": numbers},
            "gradient": {"type": "Gradient", "top": numbers[:3], "bottom": numbers[3:]},
            "env": {"type": "Environment"},
            "transparent": {"type": "Transparent"},
        }[str(args[0])]

    def light(self, opcode: str, args: list[str], attributes: dict[str, str]) -> None:
        type_name, vectors, numbers = LIGHTS[opcode]
        kind: dict[str, Any] = {"type": type_name}
        rest = args[5:]
        for name in vectors:
            kind[name], rest = vector(rest[:3]), rest[3:]
        shadow = None
        if opcode == "LDIR" and rest:
            check(type(rest[0]) is str and rest == ["shadow"], "expected shadow")
            shadow, rest = True, []
        for name, token in zip(numbers, rest, strict=False):
            if not (blank(token) and name == "angle"):
                kind[name] = number(token)
        if "shadow" in attributes:
            check(shadow is None, "repeats shadow")
            shadow = flag(attributes["shadow"])
        enabled = attributes.get("enabled", "1")
        self.scene().setdefault("lights", []).append(present(
            id=str(args[0]), kind=kind, color=list(map(number, args[1:4])),
            intensity=number(args[4]), enabled=None if blank(enabled) else flag(enabled),
            castShadow=shadow,
        ))  # fmt: skip

    def do_tone(self, args: list[str], _: object) -> None:
        check(args[0] in TONES, "unknown tone mapping")
        self.post()["toneMapping"] = str(args[0])

    def do_exp(self, args: list[str], _: object) -> None:
        self.post()["exposure"] = number(args[0])

    def do_cam(self, args: list[str], _: object) -> None:
        rest = args[7:]
        fov = None
        if rest and not (len(rest) == 1 and isinstance(rest[0], Quoted)):
            fov = optional(rest.pop(0))
        self.scene().setdefault("cameraPresets", []).append(present(
            id=str(args[0]), name=string(rest[0]) if rest else None, position=vector(args[1:4]),
            target=vector(args[4:7]), fov=fov,
        ))  # fmt: skip

    def do_ver(self, args: list[str], _: object) -> None:
        self.rest["version"] = string(args[0])

    def do_pmat(self, args: list[str], _: object) -> None:
        check(str(args[0]) not in self.rest["part_materials"], "already defined")
        self.rest["part_materials"][str(args[0])] = str(args[1])

    def do_ids(self, args: list[str], _: object) -> None:
        self.ids = []
        for token in args:
            match = re.fullmatch("([0-9]+)(?:-([0-9]+))?", token, re.ASCII)
            check(type(token) is str and match, "invalid id range")
            assert match is not None
            start, end = int(match[1]), int(match[2] or match[1])
            check(start <= end < 2**64, "invalid id range")
            check(end - start < 10**7, "more than this reader holds")
            self.ids += range(start, end + 1)
        check(len(set(self.ids)) == len(self.ids), "repeats")

    def do_have(self, args: list[str], _: object) -> None:
        what = str(args[0])
        places: dict[str, tuple[str, Any]] = {
            "parts": ("partDefs", {}), "instances": ("instances", []), "joints": ("joints", []),
        }  # fmt: skip
        inside = {"lights": ("lights", []), "cameras": ("cameraPresets", [])}
        check(what in ("scene", "post", *places, *inside), "HAVE knows no")
        if what in places:
            self.rest.setdefault(*places[what])
        elif what in inside:
            self.scene().setdefault(*inside[what])
        elif what == "post":
            self.post()
        else:
            self.scene()

    def document(self) -> dict[str, Any]:
        """The document that was read."""
        check(self.sketch is None, "sketch has no END")
        ids = list(range(len(self.nodes))) if self.ids is None else self.ids
        check(len(ids) == len(self.nodes), "IDS lists")
        roots = self.roots
        if not roots and not self.no_roots and self.nodes:
            materials = self.rest["materials"]
            if self.second and not materials:
                materials["default"] = {
                    "name": "default", "color": [0.8] * 3, "metallic": 0, "roughness": 0.5,
                }  # fmt: skip
            roots = [{"root": len(ids) - 1, "material": next(iter(materials), "default")}]
        for shown in (*roots, *self.rest.get("partDefs", {}).values()):
            shown["root"] = ids[shown["root"]]
        nodes = {}
        for place, node in enumerate(self.nodes):
            op = {
                key: ids[value] if key in ("child", "left", "right", "sketch") else value
                for key, value in node["op"].items()
            }
            nodes[str(ids[place])] = {"id": ids[place], "name": node["name"], "op": op}
        whole: Any = {**self.rest, "nodes": nodes, "roots": roots}
        for pointer, value in self.extra:
            whole = put(whole, pointer, value)
        return dict(whole)


def extra(rest: str) -> tuple[str, Any]:
    """Read a pointer and the JSON that fills the line."""
    match = re.match(rf'"((?:[^"\\]|\\.)*)"(?=[{SPACE}])|[^{SPACE}"]+(?=[{SPACE}])', rest)
    check(match, "pointer and JSON")
    assert match is not None
    quoted = match[0].startswith('"')
    pointer = re.sub(r"\\(.)", escape, match[1], flags=re.DOTALL) if quoted else match[0]
    check(re.fullmatch("(/([^~]|~[01])*)?", pointer, re.DOTALL), "invalid pointer")
    try:
        value = json.loads(rest[match.end() :].strip(SPACE), object_pairs_hook=members)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise ReadError("invalid JSON after the pointer") from None
    check(depth(value) + pointer.count("/") <= 128, "too deep")
    return pointer, value


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    check(len(found) == len(pairs), "duplicate key")
    return found


def depth(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth, inside), default=0) if isinstance(value, dict | list) else 0


def put(whole: Any, pointer: str, value: Any) -> Any:
    """Set the value at a pointer of RFC 6901."""
    if not pointer:
        check(isinstance(value, dict), "pointer does not match")
        return value
    *path, last = (step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/"))
    at = whole
    for step in path:
        at = at[place(at, step)]
    at[place(at, last, new=True)] = value
    return whole


def place(at: Any, step: str, *, new: bool = False) -> Any:
    if isinstance(at, dict):
        check(new or step in at, "pointer does not match")
        return step
    check(isinstance(at, list) and re.fullmatch("0|[1-9][0-9]*", step), "pointer does not match")
    check(len(step) < 10 and int(step) < len(at), "pointer does not match")
    return int(step)


def split(
    args: list[str], least: int, known: set[str], *, strict: bool = False
) -> tuple[list[str], dict[str, str]]:
    """Separate attributes, which follow the required arguments."""
    rest, attributes = [], {}
    for place, token in enumerate(args):
        if isinstance(token, Attribute):
            key, value = token.key, token.value
        else:
            key, _, bare = token.partition("=")
            value = bare  # type: ignore[assignment]
            is_key = type(token) is str and "=" in token and re.fullmatch("[a-z]+", key, re.ASCII)
            key = key if is_key else ""
        if place >= least and key in known:
            check(key not in attributes, "repeats")
            attributes[key] = value
        else:
            check(not (strict and isinstance(token, Attribute)), "has no such attribute")
            rest.append(token)
    return rest, attributes


# Syntax that the public program does not support, or supports without optional arguments.
NOT_IN_VCAD = {"EMPTY", "TX", "STEP", "@MAT", "VER", "PMAT", "IDS", "HAVE", "XF"}


def read_as_vcad(text: str) -> dict[str, Any]:
    """The document that the public program vcad makes of a text, as observed."""
    reader = VcadReader(second=True)
    for line in text.split("\n"):
        reader.line(line)
    return reader.document()


class VcadReader(Reader):
    """Reads lines as the public program does, as far as its behaviour is known."""

    def line(self, line: str) -> None:
        line = line.strip()
        if line.startswith("#"):
            check(self.sketch is None, "a comment in a sketch")
            return
        found = list(tokens_of_vcad(line))
        if not found:
            return
        if self.sketch is not None:
            self.segment(found)
            return
        opcode, *args = found
        check(opcode not in NOT_IN_VCAD, f"unknown {opcode}")
        if opcode in OPS:
            least = sum({"3": 3, "?": 0}.get(kind, 1) for kind, _ in OPS[opcode][1])
            name = args.pop() if args and isinstance(args[-1], Quoted) else None
            check(len(args) == least, f"{opcode} args")
            self.node(opcode, args if name is None else [*args, name], None)
            return
        check(opcode in COUNTS, f"unknown {opcode}")
        # `_` means an absent value only as the parent of a joint; elsewhere it is a string.
        parent = 1 if opcode in JOINTS else None
        args = [Quoted(arg) if arg == "_" and i != parent else arg for i, arg in enumerate(args)]
        # Surplus arguments are ignored, and with them attributes.
        most = max(count for count in COUNTS[opcode] if count <= max(len(args), COUNTS[opcode][0]))
        check(opcode != "GROUND" or len(args) == 1, "GROUND args")
        self.directive(opcode, args[:most])


def tokens_of_vcad(line: str) -> Iterator[str]:
    """Split a line as the public program does."""
    check(line.rpartition('"')[0].isascii(), "positions of characters are used as those of bytes")
    while line := line.lstrip():
        if not line.startswith('"'):
            word = line.split(maxsplit=1)[0]
            check('"' not in word, "a quote inside a word")
            yield word
            line = line[len(word) :]
            continue
        # A quote after a backslash never ends a string.
        closing = re.search(r'(?<!\\)"', line[1:])
        raw = line[: closing.end() + 1] if closing else line
        inside = raw[1:].removesuffix('"')
        yield Quoted(re.sub(r'\\(["\\])', r"\1", inside))
        line = line[len(raw) :]


def renumbered(document: dict[str, Any]) -> dict[str, Any]:
    """A canonical document with new ids: the positions of the nodes in writing order."""
    nodes = document["nodes"]
    uses = {
        int(key): {node["op"][name] for name in REFERENCES if name in node["op"]}
        for key, node in nodes.items()
    }
    new: dict[int, int] = {}
    ready = [id_ for id_, used in uses.items() if not used]
    heapq.heapify(ready)
    while ready:
        id_ = heapq.heappop(ready)
        new[id_] = len(new)
        for user, used in uses.items():
            if id_ in used:
                used.remove(id_)
                if not used:
                    heapq.heappush(ready, user)
    again = json.loads(json.dumps(document))
    again["nodes"] = {}
    for old, id_ in new.items():
        node = json.loads(json.dumps(nodes[str(old)]))
        node["id"] = id_
        for name in REFERENCES & node["op"].keys():
            node["op"][name] = new[node["op"][name]]
        again["nodes"][str(id_)] = node
    for shown in (*again["roots"], *again.get("partDefs", {}).values()):
        shown["root"] = new[shown["root"]]
    return dict(again)


REFERENCES = {"child", "left", "right", "sketch"}
