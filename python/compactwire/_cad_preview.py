"""Renders a document as an image: manifold3d evaluates the geometry, matplotlib draws it.

The extra ``notebook`` installs both. They are imported on the first call.
"""

from __future__ import annotations

from . import _core
from ._cad_bounds import (
    MAX_COPIES,
    MAX_REACH,
    MAX_SHELL_TRIANGLES,
    MAX_TRIANGLES,
    SEGMENTS,
    Bounds,
    in_order,
    refuse,
    slices,
    turn,
    unit,
    without_specks,
    xyz,
)
from ._texts import check_type, real, shown
from .errors import CompactWireError, OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Literal

# The color of a part without a material.
_PLAIN = (0.62, 0.68, 0.76)
# An edge is drawn if its faces meet at more than this angle.
_SHARP_DEGREES = 25.0
# Solids are cut into triangles of about two of so many parts of their largest extent: a face is
# painted whole, in the order of depths.
_PIECES = 60
# The largest height at which letters are outlined.
_LETTER_SIZE = 100.0
# An image of 4096 by 4096, which takes 64 MiB while it is drawn.
_MAX_PIXELS = 1 << 24


class Preview:
    """An image that notebooks display. `notes` lists the parts that it does not show exactly."""

    def __init__(self, data: bytes, kind: Literal["png", "svg"], notes: list[str]) -> None:
        self.data = data
        self.kind = kind
        self.notes = notes

    def __repr__(self) -> str:
        return f"Preview({len(self.data)} bytes of {self.kind}, notes={self.notes!r})"

    def _repr_png_(self) -> bytes | None:
        return self.data if self.kind == "png" else None

    def _repr_svg_(self) -> str | None:
        return self.data.decode() if self.kind == "svg" else None

    def save(self, path: Any) -> None:
        """Write the image to a file; an existing file is replaced once the new one is complete."""
        from ._files import write_file  # It imports pathlib, which is slow.

        write_file(self.data, path)


def preview(
    document: Any,
    /,
    *,
    kind: Literal["png", "svg"] = "png",
    width: int = 640,
    height: int = 480,
    azimuth: float = -55.0,
    elevation: float = 28.0,
) -> Preview:
    """Render a document as an image.

    Parameters
    ----------
    document : dict, str or bytes
        A document, or text or bytes in any format that `load` reads.
    kind : {"png", "svg"}
        The format of the image.
    width, height : int
        In pixels; their product is at most 16,777,216.
    azimuth, elevation : float
        The direction of the camera in degrees: around z from the x axis, and above the xy plane.

    Returns
    -------
    Preview
        The image. Its `notes` list the parts that it does not show exactly: fillets, chamfers,
        imported files, the motion of joints.

    Raises
    ------
    ImportError
        The extra is not installed: ``pip install 'compactwire[notebook]'``.
    CompactWireError
        The document is invalid or too large to draw. The limits are 200,000 triangles, 1e9 for
        the distance from the origin, and a million steps, which are estimated before any geometry
        is created; the message names the node. Also if `kind` is unknown or the size out of range.
    TypeError
        An option has a wrong type.

    Source: an extension of this package.
    """
    if kind not in ("png", "svg"):
        raise OptionError(f"kind must be 'png' or 'svg', not {shown(kind)}", option="kind")
    check_type("width", width, int)
    check_type("height", height, int)
    if not (width > 0 and height > 0 and width * height <= _MAX_PIXELS):
        raise CompactWireError(
            f"width and height: {shown(width)} x {shown(height)} pixels; expected 1 to"
            f" {_MAX_PIXELS} in all"
        )
    azimuth, elevation = real("azimuth", azimuth), real("elevation", elevation)
    if not (abs(azimuth) <= MAX_REACH and abs(elevation) <= MAX_REACH):
        raise CompactWireError("azimuth and elevation: expected degrees from -1e9 to 1e9")
    if not isinstance(document, dict):
        if not isinstance(document, str | bytes | bytearray | memoryview):
            found = type(document).__name__
            raise TypeError(f"document must be a dict, str or bytes, not {found}")
        document = _core.cad.loads(document)
    parts, notes = solids(document)
    data = _draw(parts, kind, width, height, azimuth, elevation)
    return Preview(data, kind, notes)


# Geometry -----------------------------------------------------------------------------------------


def solids(document: dict[str, Any]) -> tuple[list[tuple[Any, tuple[float, ...]]], list[str]]:
    """Evaluate the visible parts: solids with their colors, and notes on what is left out."""
    document = _core.cad.canonical(document)
    evaluator = _Evaluator(without_specks(document["nodes"]))
    materials = document["materials"]

    def color(key: str | None) -> tuple[float, ...]:
        return tuple(materials[key]["color"]) if key in materials else _PLAIN

    shown = [
        (f"roots[{i}]", root["root"], root["material"], None)
        for i, root in enumerate(document["roots"])
        if root.get("visible", True)
    ]
    instances = () if shown else document.get("instances", ())
    for instance in instances:
        definition = document.get("partDefs", {}).get(instance["partDefId"])
        if definition is not None:
            material = instance.get("material", definition.get("defaultMaterial"))
            name = f"instance {instance['id']!r}"
            transform = without_specks(instance.get("transform"))
            shown.append((name, definition["root"], material, transform))
    bounds = Bounds(evaluator.np, evaluator.nodes)
    for path, root, _, transform in shown:
        bounds.count(root, path, transform)
    parts = []
    for _, root, material, transform in shown:
        solid = evaluator.solid(root)
        if transform is not None:
            solid = solid.scale(xyz(transform["scale"])).rotate(xyz(transform["rotation"]))
            solid = solid.translate(xyz(transform["translation"]))
        parts.append((solid, color(material)))
    # manifold3d evaluates lazily, but evaluates a temporary object immediately.
    evaluator.done.clear()
    triangles = 0
    for (solid, _), (path, *_) in zip(parts, shown, strict=True):
        triangles += solid.num_tri()
        if triangles > MAX_TRIANGLES:
            raise refuse(path, f"{triangles:,} triangles up to here", MAX_TRIANGLES)
    if instances and document.get("joints"):
        evaluator.notes.append("joints are not moved")
    return parts, evaluator.notes


class _Evaluator:
    """Evaluates nodes to solids and flat shapes, each once and without recursion."""

    def __init__(self, nodes: dict[str, Any]) -> None:
        try:
            import manifold3d
            import numpy as np
        except ImportError as error:
            raise ImportError(f"{error}: pip install 'compactwire[notebook]'") from error
        self.kernel = manifold3d
        self.np = np
        self.nodes = nodes
        self.done: dict[int, Any] = {}
        self.notes: list[str] = []

    def solid(self, node: int) -> Any:
        """Evaluate a node; a flat shape becomes a thin plate."""
        for top, op in in_order(self.nodes, node, self.done):
            evaluate: Callable[[int, Any], Any] = getattr(self, "do_" + op["type"].lower())
            self.done[top] = evaluate(top, op)
        return self.part(node)

    def part(self, node: int) -> Any:
        result = self.done[node]
        if isinstance(result, _Flat):
            return result.extrude(self, self.np.cross(result.x, result.y) * 0.01)
        return result

    def note(self, node: int, what: str) -> None:
        self.notes.append(f"node {node}: {what}")

    def do_cube(self, _: int, op: Any) -> Any:
        return self.kernel.Manifold.cube(xyz(op["size"]))

    def do_cylinder(self, _: int, op: Any) -> Any:
        return self.cone(op["height"], op["radius"], op["radius"], op)

    def do_cone(self, _: int, op: Any) -> Any:
        return self.cone(op["height"], op["radius_bottom"], op["radius_top"], op)

    def cone(self, height: float, bottom: float, top: float, op: Any) -> Any:
        segments = max(3, op["segments"] or SEGMENTS)
        if bottom <= 0 < top:
            solid = self.kernel.Manifold.cylinder(height, top, bottom, segments)
            return solid.mirror((0, 0, 1)).translate((0, 0, height))
        return self.kernel.Manifold.cylinder(height, bottom, top, segments)

    def do_sphere(self, _: int, op: Any) -> Any:
        return self.kernel.Manifold.sphere(op["radius"], max(4, op["segments"] or SEGMENTS))

    def do_empty(self, *_: Any) -> Any:
        return self.kernel.Manifold()

    def do_union(self, _: int, op: Any) -> Any:
        return self.part(op["left"]) + self.part(op["right"])

    def do_difference(self, _: int, op: Any) -> Any:
        return self.part(op["left"]) - self.part(op["right"])

    def do_intersection(self, _: int, op: Any) -> Any:
        return self.part(op["left"]) ^ self.part(op["right"])

    def do_translate(self, _: int, op: Any) -> Any:
        return self.part(op["child"]).translate(xyz(op["offset"]))

    def do_rotate(self, _: int, op: Any) -> Any:
        return self.part(op["child"]).rotate(xyz(op["angles"]))

    def do_scale(self, _: int, op: Any) -> Any:
        return self.part(op["child"]).scale(xyz(op["factor"]))

    def copies(self, node: int, op: Any, moved: Callable[[int], Any]) -> Any:
        count = min(op["count"], MAX_COPIES)
        if count < op["count"]:
            self.note(node, f"only {count} of {op['count']} copies are drawn")
        copies = [moved(i) for i in range(count)]
        return self.kernel.Manifold.batch_boolean(copies, self.kernel.OpType.Add)

    def do_linearpattern(self, node: int, op: Any) -> Any:
        np = self.np
        child, step = self.part(op["child"]), unit(np, op["direction"]) * op["spacing"]
        return self.copies(node, op, lambda i: child.translate(step * i))

    def do_circularpattern(self, node: int, op: Any) -> Any:
        np = self.np
        child, origin = self.part(op["child"]), np.array(xyz(op["axis_origin"]))
        axis = unit(np, op["axis_dir"])

        def moved(i: int) -> Any:
            matrix = turn(np, axis, op["angle_deg"] * i / op["count"])
            return child.transform(np.column_stack([matrix, origin - matrix @ origin]))

        return self.copies(node, op, moved)

    def do_shell(self, node: int, op: Any) -> Any:
        child, ball = self.part(op["child"]), self.kernel.Manifold.sphere(abs(op["thickness"]), 8)
        if child.num_tri() > MAX_SHELL_TRIANGLES:
            self.note(node, "Shell is drawn solid")
            return child
        return child - child.minkowski_difference(ball)

    def do_fillet(self, node: int, op: Any) -> Any:
        self.note(node, "Fillet is drawn with sharp edges")
        return self.part(op["child"])

    def do_chamfer(self, node: int, op: Any) -> Any:
        self.note(node, "Chamfer is drawn with sharp edges")
        return self.part(op["child"])

    def do_step_import(self, node: int, op: Any) -> Any:
        self.note(node, f"{op['path']!r} is not drawn")
        return self.kernel.Manifold()

    def do_sketch2d(self, _: int, op: Any) -> Any:
        loops: list[list[tuple[float, float]]] = []
        end = None
        for segment in op["segments"]:
            points = list(_outline(segment))
            if points[0] != end:
                loops.append([])
            loops[-1] += points[:-1] if len(points) > 1 else points
            end = points[-1]
        return _Flat(self, op, [loop for loop in loops if len(loop) > 2])

    def do_text2d(self, node: int, op: Any) -> Any:
        from matplotlib.textpath import TextPath

        if not op["text"].strip():
            return _Flat(self, op, [])
        self.note(node, "Text2D is drawn in another font")
        # A curve becomes the more points the larger it is, so large letters are scaled.
        height = op["height"]
        size = max(-_LETTER_SIZE, min(height, _LETTER_SIZE))
        path: Any = TextPath((0, 0), op["text"].replace("$", r"\$"), size=size)
        scale = height / size if size else 1.0
        loops = [[(x * scale, y * scale) for x, y in loop[:-1]] for loop in path.to_polygons()]
        return _Flat(self, op, loops)

    def do_extrude(self, _: int, op: Any) -> Any:
        flat = self.done[op["sketch"]]
        twist = self.np.degrees(op.get("twist_angle", 0.0))
        scale = max(0.0, op.get("scale_end", 1.0))
        return flat.extrude(self, self.np.array(xyz(op["direction"])), twist, scale)

    def do_revolve(self, _: int, op: Any) -> Any:
        np, flat = self.np, self.done[op["sketch"]]
        origin, axis = np.array(xyz(op["axis_origin"])), unit(np, op["axis_dir"])
        loops = [flat.points(loop) - origin for loop in flat.loops]
        if not loops:
            return self.kernel.Manifold()
        away = np.vstack(loops)
        away -= np.outer(away @ axis, axis)
        out = away[np.argmax(np.linalg.norm(away, axis=1))]
        out = out / (np.linalg.norm(out) or 1.0)
        section = self.kernel.CrossSection(
            [np.column_stack([loop @ out, loop @ axis]) for loop in loops],
            self.kernel.FillRule.EvenOdd,
        )
        solid = section.revolve(SEGMENTS, op["angle_deg"])
        return solid.transform(np.column_stack([out, np.cross(axis, out), axis, origin]))


class _Flat:
    """A flat shape in its plane."""

    def __init__(self, evaluator: _Evaluator, op: Any, loops: list[Any]) -> None:
        array = evaluator.np.array
        self.origin, self.x, self.y = (
            array(xyz(op[key]), float) for key in ("origin", "x_dir", "y_dir")
        )
        self.loops = loops

    def points(self, loop: Any) -> Any:
        """Return the points of a loop in space."""
        return [self.origin + x * self.x + y * self.y for x, y in loop]

    def extrude(
        self, evaluator: _Evaluator, direction: Any, twist: float = 0.0, scale: float = 1.0
    ) -> Any:
        if not self.loops:
            return evaluator.kernel.Manifold()
        section = evaluator.kernel.CrossSection(self.loops, evaluator.kernel.FillRule.EvenOdd)
        solid = section.extrude(1.0, slices(twist, scale), twist, (scale, scale))
        return solid.transform(evaluator.np.column_stack([self.x, self.y, direction, self.origin]))


def _outline(segment: Any) -> Iterator[tuple[float, float]]:
    """Yield the points of a segment."""
    import math

    start, end = segment["start"], segment["end"]
    yield start["x"], start["y"]
    if segment["type"] == "Arc":
        center = segment["center"]
        x, y = start["x"] - center["x"], start["y"] - center["y"]
        angle = math.atan2(y, x)
        sweep = math.atan2(end["y"] - center["y"], end["x"] - center["x"]) - angle
        sweep = sweep % math.tau or math.tau
        if not segment["ccw"]:
            sweep -= math.tau
        steps = max(2, int(abs(sweep) / math.tau * SEGMENTS))
        radius = math.hypot(x, y)
        for i in range(1, steps):
            turned = angle + sweep * i / steps
            yield center["x"] + radius * math.cos(turned), center["y"] + radius * math.sin(turned)
    yield end["x"], end["y"]


# Image --------------------------------------------------------------------------------------------


class _Shapes:
    """Faces and edges as polygons on the screen, with their colors and their depths."""

    def __init__(self, np: Any, azimuth: float, elevation: float) -> None:
        turn, tilt = np.radians(azimuth), np.radians(elevation)
        right = np.array([-np.sin(turn), np.cos(turn), 0])
        toward = np.array([np.cos(turn) * np.cos(tilt), np.sin(turn) * np.cos(tilt), np.sin(tilt)])
        up = np.cross(toward, right)
        light = toward * 0.6 + up * 0.9 - right * 0.45
        self._np, self._toward = np, toward
        self._light = light / np.linalg.norm(light)
        self._screen = np.column_stack([right, up])
        self.polygons: list[Any] = []
        self.fills: list[Any] = []
        self.strokes: list[Any] = []
        self.depths: list[float] = []

    def add(self, solid: Any, color: tuple[float, ...], most: int) -> None:
        """Add the visible faces of a solid, and its visible sharp edges."""
        np, toward, screen = self._np, self._toward, self._screen
        points, corners, normals, edges, between = _mesh(np, solid, most)
        seen = normals @ toward > 1e-6
        edges = edges[seen[between].any(axis=1)]
        shade = 0.42 + 0.58 * np.clip(normals[seen] @ self._light, 0, 1)
        faces = np.clip(np.outer(shade, color), 0, 1)
        triangles = points[corners[seen]]
        depths = triangles.mean(axis=1) @ toward
        self.polygons += list(triangles @ screen)
        self.fills += list(faces)
        self.strokes += list(faces)
        self.depths += list(depths)
        self.polygons += list(points[edges] @ screen)
        self.fills += [(0.0, 0.0, 0.0)] * len(edges)
        self.strokes += [tuple(np.clip(np.multiply(color, 0.25), 0, 1))] * len(edges)
        # An edge is drawn after all faces that touch it, whose strokes would cover parts of it.
        nearest = np.full(len(points), -np.inf)
        np.maximum.at(nearest, corners[seen], depths[:, np.newaxis])
        self.depths += list(nearest[edges].max(axis=1))

    def order(self) -> Any:
        """Return the places of the shapes from back to front."""
        # At the depth of a face, the edges that were added after it are in front.
        return self._np.argsort(self.depths, kind="stable")


def _draw(
    parts: list[tuple[Any, tuple[float, ...]]],
    kind: str,
    width: int,
    height: int,
    azimuth: float,
    elevation: float,
) -> bytes:
    """Paint faces and sharp edges from back to front, in orthographic projection."""
    try:
        import io

        import numpy as np
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f"{error}: pip install 'compactwire[notebook]'") from error
    shapes = _Shapes(np, azimuth, elevation)
    for solid, color in parts:
        if not solid.is_empty():
            shapes.add(solid, color, MAX_TRIANGLES // len(parts))
    figure = Figure(figsize=(width / 100, height / 100), dpi=100)
    axes = figure.add_axes((0.03, 0.03, 0.94, 0.94))
    axes.set_aspect("equal")
    axes.set_axis_off()
    order = shapes.order()
    axes.add_collection(
        PolyCollection(
            [shapes.polygons[i] for i in order],
            facecolors=[shapes.fills[i] for i in order],
            edgecolors=[shapes.strokes[i] for i in order],
            linewidths=0.6,
            joinstyle="round",  # the points of thin triangles would reach far beyond them
        )
    )
    axes.autoscale_view()
    out = io.BytesIO()
    # Without a date, so that the same document renders to the same bytes.
    figure.savefig(out, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return out.getvalue()


def _mesh(np: Any, solid: Any, most: int) -> tuple[Any, Any, Any, Any, Any]:
    """Return points, triangles of them with normals, and sharp edges with the triangles beside.

    The triangles are small enough to be painted correctly in order of depth, as far as there are
    no more of them than `most`.
    """
    low, high = np.array(solid.bounding_box()).reshape(2, 3)
    length = max((high - low).max() / (_PIECES / 2), 1e-9)
    mesh = solid.to_mesh()
    corners = np.asarray(mesh.vert_properties)[:, :3][np.asarray(mesh.tri_verts, int)]
    sides = np.sort(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2), axis=1)
    while (
        np.prod(np.ceil(sides[:, 1:] / length), axis=1).sum() > most
        and length < high.max() - low.min()
    ):
        length *= 1.5
    mesh = solid.refine_to_length(length).to_mesh()
    points = np.asarray(mesh.vert_properties)[:, :3]
    # Vertices are duplicated where properties differ; edges need them merged.
    merge = np.arange(len(points))
    merge[np.asarray(mesh.merge_from_vert, int)] = np.asarray(mesh.merge_to_vert, int)
    corners = merge[np.asarray(mesh.tri_verts, int)]
    triangles = points[corners]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    sides = np.vstack([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    owner = np.tile(np.arange(len(corners)), 3)
    order = np.lexsort(np.sort(sides, axis=1).T)
    pairs = order.reshape(-1, 2)
    cosines = np.einsum("ij,ij->i", normals[owner[pairs[:, 0]]], normals[owner[pairs[:, 1]]])
    sharp = cosines < np.cos(np.radians(_SHARP_DEGREES))
    return points, corners, normals, sides[pairs[sharp, 0]], owner[pairs[sharp]]
