"""The tool ``create_cad_compact`` for language models: its definition and its implementation.

Source: CAD IR "For AI Models (MCP)".
"""

from __future__ import annotations

import itertools

from . import _core
from ._texts import check_type, shown
from .errors import CompactParseError, DocumentError, OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Literal

TOOL: dict[str, Any] = {
    "name": "create_cad_compact",
    "description": """\
Create a CAD part from compact text. One operation per line; the first node is 0, and only lines \
that make a node count. References name earlier nodes by number. Lengths in mm, angles in \
degrees. `#` begins a comment.

C w h d                  cube, from the origin
Y r h [segments]         cylinder along z, from z = 0
S r [segments]           sphere
K r_bottom r_top h [segments]  cone
U a b / D a b / I a b    union, a minus b, intersection
T n x y z                move
R n rx ry rz             rotate about x, then y, then z
X n sx sy sz             scale
LP n dx dy dz count spacing           copies in a row
CP n ox oy oz ax ay az count angle    copies round an axis (origin, direction)
SK ox oy oz xx xy xz yx yy yz         begin a sketch: origin, x and y direction; one node
L x1 y1 x2 y2            in a sketch: line
A x1 y1 x2 y2 cx cy ccw  in a sketch: arc with centre, ccw 0 or 1
END                      end the sketch
E sketch dx dy dz        extrude along a vector
V sketch ox oy oz ax ay az angle      revolve round an axis
SH n thickness           hollow out

The last node is the part. Example, a plate with two holes:
C 50 30 5
Y 3 10
T 1 10 15 0
D 0 2
T 1 40 15 0
D 3 4""",
    "inputSchema": {
        "type": "object",
        "properties": {
            "compact": {"type": "string", "description": "The compact text."},
            "dialect": {"enum": ["auto", "0.1", "0.2"], "default": "auto"},
            "format": {"enum": ["json", "hybrid", "summary", "vcad"], "default": "json"},
        },
        "required": ["compact"],
    },
}
"""The name, description and input schema, as tool servers list them."""


def create_cad_compact(
    compact: str,
    dialect: Literal["auto", "0.1", "0.2"] = "auto",
    format: Literal["json", "hybrid", "summary", "vcad"] = "json",
    *,
    all_errors: bool = False,
) -> dict[str, Any]:
    """Convert compact text that a language model wrote, and return errors in it as an answer.

    Parameters
    ----------
    compact : str
        The text.
    dialect : {"auto", "0.1", "0.2"}
        The grammar, as in `from_compact`.
    format : {"json", "hybrid", "summary", "vcad"}
        The form of the answer: the document, the document as a hybrid, counts, or text that the
        public program vcad reads.
    all_errors : bool
        Whether to add `errors`, the list of all errors, with a `suggestion` for unknown opcodes.

    Returns
    -------
    dict
        ``{"ok": True, "document": ...}``, ``{"ok": True, "summary": {"nodes", "roots", "ops"}}``,
        ``{"ok": True, "compact": ...}`` or ``{"ok": False, "error": {"line", "column", "message",
        "source"}}``, where `source` is the line with the error. With format "vcad", a document that
        vcad would misread gives ``{"ok": False, "error": {"path", "message"}}``.

    Raises
    ------
    TypeError, CompactWireError
        `compact` is not a str, or an option has an unknown value.

    Source: CAD IR "For AI Models (MCP)".
    """
    if not isinstance(compact, str):
        raise TypeError(f"compact must be a str, not {type(compact).__name__}")
    check_type("all_errors", all_errors, bool)
    if format not in ("json", "hybrid", "summary", "vcad"):
        message = f"format must be 'json', 'hybrid', 'summary' or 'vcad', not {shown(format)}"
        raise OptionError(message, option="format")
    try:
        document = _core.cad.from_compact(compact, dialect)
    except CompactParseError as error:
        problems = _core.cad.check(compact, dialect=dialect) if all_errors else None
        return _invalid(compact, error, problems)
    if format == "json":
        return {"ok": True, "document": document}
    if format == "vcad":
        try:
            return {"ok": True, "compact": _core.cad.to_compact(document, target="vcad")}
        except DocumentError as error:
            return {"ok": False, "error": {"path": error.path, "message": error.message}}
    try:
        hybrid = _core.cad.to_hybrid(document)
    except DocumentError as error:
        return _outside_model(compact, error)
    if format == "hybrid":
        return {"ok": True, "document": hybrid}
    return {"ok": True, "summary": _summary(document)}


def _split(compact: str) -> Iterator[str]:
    """Yield the lines one by one: a list of short lines takes 25 times the size of the text."""
    start = int(compact.startswith("\ufeff"))
    while (end := compact.find("\n", start)) >= 0:
        yield compact[start:end].removesuffix("\r")
        start = end + 1
    yield compact[start:].removesuffix("\r")


def _lines(compact: str, numbers: set[int]) -> dict[int, str]:
    found = itertools.islice(enumerate(_split(compact), 1), max(numbers))
    return {number: line for number, line in found if number in numbers}


def _invalid(
    compact: str, error: CompactParseError, problems: Iterable[CompactParseError] | None
) -> dict[str, Any]:
    """The answer for an invalid text, with the list of all problems if there is one."""
    listed = None if problems is None else list(problems)
    lines = _lines(compact, {error.line, *(problem.line for problem in listed or ())})
    answer: dict[str, Any] = {"ok": False, "error": _explain(error, lines)}
    if listed is not None:
        answer["errors"] = [
            {**_explain(problem, lines), "suggestion": problem.suggestion} for problem in listed
        ]
    return answer


def _outside_model(compact: str, error: DocumentError) -> dict[str, Any]:
    """The answer for a text whose `XF` lines set values outside the model."""
    numbered = enumerate(_split(compact), 1)
    xf = (place for place in numbered if place[1].split(None, 1)[:1] == ["XF"])
    line, source = next(xf, (1, ""))
    message = f"{error.path}: {error.message}"
    place = {"line": line, "column": 1, "message": message, "source": source}
    return {"ok": False, "error": place}


def _explain(error: CompactParseError, lines: dict[int, str]) -> dict[str, Any]:
    return {
        "line": error.line,
        "column": error.column,
        "message": error.message,
        "source": lines[error.line],
    }


def _summary(document: dict[str, Any]) -> dict[str, Any]:
    ops: dict[str, int] = {}
    for node in document["nodes"].values():
        name = node["op"]["type"]
        ops[name] = ops.get(name, 0) + 1
    return {"nodes": len(document["nodes"]), "roots": len(document["roots"]), "ops": ops}
