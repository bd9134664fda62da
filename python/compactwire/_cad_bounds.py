"""Estimates the cost of drawing a document before any geometry is created.

manifold3d is a C++ library that aborts the process if numbers overflow or memory runs out. Each
node is therefore first approximated by boxes, with an upper bound of triangles for each. A boolean
operation is charged for every pair of triangles in boxes that overlap.
"""

from __future__ import annotations

from .errors import DocumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# The segments of a round shape that does not say how many it has, and of an arc: enough to look
# round in an image.
SEGMENTS = 64
# The copies of a pattern that are drawn.
MAX_COPIES = 1000
# A larger solid is not hollowed out, because a shell is the most expensive operation.
MAX_SHELL_TRIANGLES = 2000
# The largest number in a document, and distance of a point from the origin, in its units: far below
# the numbers that overflow in manifold3d.
MAX_REACH = 1e9
# Numbers that are closer to 0 count as 0.
_SPECK = 1e-12
# With the next two limits, the most expensive document of the tests takes a gigabyte and a minute.
MAX_TRIANGLES = 200_000
# The estimated work: about one step for each pair of triangles that boolean operations compare.
MAX_STEPS = 1_000_000

# An extrusion is cut into slices: one for so many degrees of its twist, and these for a taper.
_DEGREES_PER_SLICE = 5
_TAPER_SLICES = 20

_REFS = ("child", "left", "right", "sketch")

# A solid that is not convex counts as one convex part, and one more for each of so many triangles.
_TRIANGLES_PER_PART = 16


def xyz(vector: dict[str, float]) -> tuple[float, float, float]:
    return vector["x"], vector["y"], vector["z"]


def without_specks(value: Any) -> Any:
    """Copy a value with numbers near 0 replaced by 0, because manifold3d would divide by them."""
    if isinstance(value, dict):
        return {key: without_specks(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_specks(item) for item in value]
    return 0.0 if isinstance(value, float) and abs(value) < _SPECK else value


def unit(np: Any, vector: dict[str, float]) -> Any:
    array = np.array(xyz(vector), float)
    length = np.linalg.norm(array)
    return array / length if length > 0 else array


def turn(np: Any, axis: Any, degrees: float) -> Any:
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.radians(degrees)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def in_order(nodes: Any, root: int, done: dict[int, Any]) -> Iterator[tuple[int, Any]]:
    """Yield the nodes below a root that are not in `done`, operands first; the caller adds each."""
    waiting = [root]
    while waiting:
        top = waiting[-1]
        op = nodes[str(top)]["op"]
        refs = [op[key] for key in _REFS if key in op]
        missing = [ref for ref in refs if ref not in done]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if top not in done:
            yield top, op


def slices(twist: float, scale: float) -> int:
    """Return the slices of an extrusion that turns by `twist` degrees and scales its end."""
    return int(abs(twist) / _DEGREES_PER_SLICE) + (_TAPER_SLICES if scale != 1 else 0)


def refuse(path: str, what: str, limit: float) -> DocumentError:
    message = f"too large to draw: {what}, more than {limit:,.0f}"
    return DocumentError(f"{path}: {message}", path=path, message=message)


class Boxes:
    """Boxes as centers and half sizes, with the number of triangles and of convex parts of each."""

    def __init__(self, center: Any, half: Any, triangles: Any, convex_parts: Any) -> None:
        self.center, self.half, self.triangles, self.convex_parts = (
            center,
            half,
            triangles,
            convex_parts,
        )

    def moved(self, np: Any, turns: Any, offsets: Any) -> Boxes:
        """Copy the boxes once per matrix and offset."""
        center = np.einsum("kij,nj->kni", turns, self.center) + offsets[:, None]
        half = np.einsum("kij,nj->kni", np.abs(turns), self.half)
        count = len(turns)
        triangles, convex_parts = np.tile(self.triangles, count), np.tile(self.convex_parts, count)
        return Boxes(center.reshape(-1, 3), half.reshape(-1, 3), triangles, convex_parts)


class Bounds:
    """Adds up the cost of nodes, each once, and raises a `DocumentError` above a limit."""

    def __init__(self, np: Any, nodes: dict[str, Any]) -> None:
        self.np = np
        self.nodes = nodes
        self.done: dict[int, Boxes] = {}
        self.costs: dict[int, float] = {}
        self.steps = 0.0
        self.shown = 0.0
        self.triangles = 0.0

    def count(self, root: int, path: str, transform: Any = None) -> None:
        """Add the cost of a part. Parts are evaluated one by one and drawn together."""
        for node, op in in_order(self.nodes, root, self.done):
            place = f"node {node}"
            self._check_numbers(place, {key: op[key] for key in op if key not in _REFS})
            bound: Callable[[str, Any], Boxes] = getattr(self, "do_" + op["type"].lower())
            before = self.steps
            self.done[node] = self._check(place, bound(place, op))
            # The total counts a node as often as it is used, because manifold3d evaluates it as
            # often. Its own cost is computed only once.
            below = sum(self.costs[op[key]] for key in _REFS if key in op)
            copies = min(op.get("count", 1), MAX_COPIES)
            self.costs[node] = self.steps - before + below * copies
            self._limit_steps(place, self.costs[node])
        boxes = self.done[root]
        if transform is not None:
            self._check_numbers(path, transform)
            boxes = self._scaled(boxes, transform["scale"])
            boxes = self._rotated(boxes, transform["rotation"])
            boxes = self._check(path, self._offset(boxes, transform["translation"]))
        self.shown += self.costs[root]
        self._limit_steps(path, self.shown)
        self.triangles += boxes.triangles.sum()
        if self.triangles > MAX_TRIANGLES:
            raise refuse(path, f"{self.triangles:,.0f} triangles up to here", MAX_TRIANGLES)

    def _check_numbers(self, path: str, value: Any) -> None:
        waiting = [value]
        while waiting:
            top = waiting.pop()
            if isinstance(top, dict):
                waiting += top.values()
            elif isinstance(top, list):
                waiting += top
            elif isinstance(top, int | float) and abs(top) > MAX_REACH:
                raise refuse(path, f"the number {top:g}", MAX_REACH)

    def _check(self, path: str, boxes: Boxes) -> Boxes:
        self._spend(path, len(boxes.center) / 2)
        reach = (self.np.abs(boxes.center) + boxes.half).max()
        if not reach <= MAX_REACH:
            raise refuse(path, f"it reaches {reach:g} from the origin", MAX_REACH)
        if (triangles := boxes.triangles.sum()) > MAX_TRIANGLES:
            raise refuse(path, f"{triangles:,.0f} triangles", MAX_TRIANGLES)
        return boxes

    def _spend(self, path: str, steps: float) -> None:
        self.steps += steps
        self._limit_steps(path, self.steps)

    def _limit_steps(self, path: str, steps: float) -> None:
        if steps > MAX_STEPS:
            raise refuse(path, f"{steps:,.0f} steps up to here", MAX_STEPS)

    def _cross(self, path: str, left: Boxes, right: Boxes) -> None:
        """Add the cost of a boolean operation, from the triangles in boxes that overlap."""
        np = self.np
        self._spend(path, len(left.center) * len(right.center) / 64)
        for start in range(0, len(left.center), 64):
            part = slice(start, start + 64)
            apart = np.abs(left.center[part, None] - right.center)
            touch = (apart <= left.half[part, None] + right.half).all(axis=2)
            first = left.triangles[part] @ touch @ right.convex_parts
            self._spend(path, first + left.convex_parts[part] @ touch @ right.triangles)

    def _box(self, center: Any, half: Any, triangles: float, *, convex: bool = False) -> Boxes:
        np = self.np
        convex_parts = 1 if convex else 1 + triangles / _TRIANGLES_PER_PART
        rows = np.array([center], float), np.abs(np.array([half], float))
        return Boxes(*rows, np.array([float(triangles)]), np.array([float(convex_parts)]))

    def do_cube(self, _: str, op: Any) -> Boxes:
        half = self.np.array(xyz(op["size"])) / 2
        return self._box(half, half, 12, convex=True)

    def do_cylinder(self, _: str, op: Any) -> Boxes:
        return self._round(op, op["radius"])

    def do_cone(self, _: str, op: Any) -> Boxes:
        return self._round(op, max(abs(op["radius_bottom"]), abs(op["radius_top"])))

    def _round(self, op: Any, radius: float) -> Boxes:
        half = op["height"] / 2
        triangles = 4 * (op["segments"] or SEGMENTS)
        return self._box((0, 0, half), (radius, radius, half), triangles, convex=True)

    def do_sphere(self, _: str, op: Any) -> Boxes:
        triangles = (max(4, op["segments"] or SEGMENTS) + 3) ** 2 / 2
        return self._box((0, 0, 0), [op["radius"]] * 3, triangles, convex=True)

    def do_empty(self, *_: Any) -> Boxes:
        # Every operand takes time, even an empty one.
        return self._box((0, 0, 0), (0, 0, 0), 1, convex=True)

    def do_step_import(self, *_: Any) -> Boxes:
        return self.do_empty()

    def do_union(self, path: str, op: Any) -> Boxes:
        left, right = self.done[op["left"]], self.done[op["right"]]
        self._cross(path, left, right)
        pairs = zip(vars(left).values(), vars(right).values(), strict=True)
        return Boxes(*(self.np.concatenate(pair) for pair in pairs))

    do_difference = do_union
    do_intersection = do_union

    def do_translate(self, _: str, op: Any) -> Boxes:
        return self._offset(self.done[op["child"]], op["offset"])

    def do_rotate(self, _: str, op: Any) -> Boxes:
        return self._rotated(self.done[op["child"]], op["angles"])

    def do_scale(self, _: str, op: Any) -> Boxes:
        return self._scaled(self.done[op["child"]], op["factor"])

    def _offset(self, boxes: Boxes, offset: Any) -> Boxes:
        return boxes.moved(self.np, self.np.eye(3)[None], self.np.array([xyz(offset)]))

    def _rotated(self, boxes: Boxes, angles: Any) -> Boxes:
        np = self.np
        x, y, z = (
            turn(np, axis, angle) for axis, angle in zip(np.eye(3), xyz(angles), strict=True)
        )
        return boxes.moved(np, (z @ y @ x)[None], np.zeros((1, 3)))

    def _scaled(self, boxes: Boxes, factor: Any) -> Boxes:
        return boxes.moved(self.np, self.np.diag(xyz(factor))[None], self.np.zeros((1, 3)))

    def do_linearpattern(self, path: str, op: Any) -> Boxes:
        np = self.np
        count = self._copies(path, op)
        offsets = np.outer(np.arange(count), unit(np, op["direction"]) * op["spacing"])
        return self._pattern(path, op, np.tile(np.eye(3), (count, 1, 1)), offsets)

    def do_circularpattern(self, path: str, op: Any) -> Boxes:
        np = self.np
        axis, origin = unit(np, op["axis_dir"]), np.array(xyz(op["axis_origin"]))
        count = self._copies(path, op)
        turns = np.array([turn(np, axis, op["angle_deg"] * i / op["count"]) for i in range(count)])
        turns = turns.reshape(-1, 3, 3)
        return self._pattern(path, op, turns, origin - turns @ origin)

    def _copies(self, path: str, op: Any) -> int:
        count: int = min(op["count"], MAX_COPIES)
        triangles = self.done[op["child"]].triangles.sum() * count
        if triangles > MAX_TRIANGLES:
            raise refuse(path, f"{triangles:,.0f} triangles", MAX_TRIANGLES)
        return count

    def _pattern(self, path: str, op: Any, turns: Any, offsets: Any) -> Boxes:
        if not len(turns):
            return self.do_empty()
        copies = self.done[op["child"]].moved(self.np, turns, offsets)
        self._cross(path, copies, copies)
        return copies

    def do_shell(self, path: str, op: Any) -> Boxes:
        child = self.done[op["child"]]
        triangles = child.triangles.sum()
        # By measurement, a shell takes up to 200 times as long as a boolean operation.
        self._spend(path, 200 * min(triangles, MAX_SHELL_TRIANGLES))
        center, half = self._hull(child)
        return self._box(center, half, triangles * 8)

    def _hull(self, boxes: Boxes) -> tuple[Any, Any]:
        low, high = (boxes.center - boxes.half).min(0), (boxes.center + boxes.half).max(0)
        return (low + high) / 2, (high - low) / 2

    def do_fillet(self, _: str, op: Any) -> Boxes:
        return self.done[op["child"]]

    do_chamfer = do_fillet

    def do_sketch2d(self, path: str, op: Any) -> Boxes:
        np = self.np
        points = len(op["segments"]) + SEGMENTS * sum(s["type"] == "Arc" for s in op["segments"])
        self._spend(path, points)
        ends = [
            [
                [segment[key][axis] for axis in "xy"]
                for key in ("start", "end", "center")
                if key in segment
            ]
            for segment in op["segments"]
        ]
        edges = [_edge(np, points) for points in ends]
        if not edges:
            return self.do_empty()
        centers, halves = (
            np.pad(np.array(rows), ((0, 0), (0, 1))) for rows in zip(*edges, strict=True)
        )
        weights = [SEGMENTS if s["type"] == "Arc" else 1 for s in op["segments"]]
        flat = Boxes(centers, halves, np.array(weights, float) / 2, np.ones(len(edges)))
        self._cross(path, flat, flat)
        center, half = self._hull(flat)
        return self._flat(op, np.abs(center) + half, points)

    def do_text2d(self, path: str, op: Any) -> Boxes:
        # A letter has dozens of points, and its width is at most twice its height.
        points = 100 * len(op["text"])
        self._spend(path, points)
        reach = 2 * abs(op["height"]) * (len(op["text"]) + 1)
        return self._flat(op, (reach, reach), points)

    def _flat(self, op: Any, reach: Any, points: int) -> Boxes:
        np = self.np
        x, y = (np.abs(np.array(xyz(op[key]), float)) for key in ("x_dir", "y_dir"))
        return self._box(xyz(op["origin"]), reach[0] * x + reach[1] * y, 4 * points + 1)

    def do_extrude(self, path: str, op: Any) -> Boxes:
        flat, scale_end = self._sketch(path, op), op.get("scale_end", 1.0)
        direction = self.np.array(xyz(op["direction"]), float) / 2
        twist = op.get("twist_angle", 0.0)
        # A twisted shape turns about its origin.
        half = self.np.linalg.norm(flat.half) * self.np.ones(3) if twist else flat.half[0]
        half = half * max(1.0, scale_end) + self.np.abs(direction)
        layers = 1 + slices(self.np.degrees(twist), scale_end)
        triangles = flat.triangles[0] * (1 + layers / 2)
        return self._box(flat.center[0] + direction, half, triangles)

    def do_revolve(self, path: str, op: Any) -> Boxes:
        np, flat = self.np, self._sketch(path, op)
        origin = np.array(xyz(op["axis_origin"]), float)
        away = np.linalg.norm(flat.center[0] - origin) + np.linalg.norm(flat.half)
        return self._box(origin, [away] * 3, flat.triangles[0] * SEGMENTS / 2)

    def _sketch(self, path: str, op: Any) -> Boxes:
        kind = self.nodes[str(op["sketch"])]["op"]["type"]
        if kind not in ("Sketch2D", "Text2D"):
            message = f"node {op['sketch']} is a {kind}, not a sketch"
            raise DocumentError(f"{path}: {message}", path=path, message=message)
        return self.done[op["sketch"]]


def _edge(np: Any, points: list[list[float]]) -> tuple[Any, Any]:
    """Return the box of a line, or of the whole circle of an arc: its start, end and center."""
    array = np.array(points, float)
    if len(points) > 2:
        radius = np.linalg.norm(array[:2] - array[2], axis=1).max()
        return array[2], np.array([radius, radius])
    low, high = array.min(0), array.max(0)
    return (low + high) / 2, (high - low) / 2
