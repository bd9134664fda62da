"""The definitions of the tools of `compactwire mcp serve`, and whether arguments follow them."""

from __future__ import annotations

from .._texts import short_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["MAX_TEXT", "TOOLS", "ToolError", "checked", "definitions"]

# Characters of a text that a model passes or is given: more would fill its context.
MAX_TEXT = 1 << 20

_CAD = """\
Make a CAD part: one operation per line, nodes count from 0, references are numbers of earlier \
nodes; mm, degrees.
C w h d: cube. Y r h: cylinder. S r: sphere. K r1 r2 h: cone
U a b, D a b, I a b: union, a minus b, intersection
T n x y z, R, X: move, rotate, scale
LP n dx dy dz count spacing, CP n ox oy oz ax ay az count angle: copies in a row, round an axis
SK ox oy oz xx xy xz yx yy yz, then L x1 y1 x2 y2, A x1 y1 x2 y2 cx cy ccw, END: sketch, one node
E n dx dy dz: extrude. V n ox oy oz ax ay az angle: revolve. SH n thickness: hollow
The last node is the part. A plate with a hole:
C 50 30 5
Y 3 10
T 1 10 15 0
D 0 2"""


def _tool(name: str, about: str, *arguments: str, **more: dict[str, Any]) -> dict[str, Any]:
    """A definition. An argument is a text; one whose name ends in "?" may be left out."""
    names = {argument.removesuffix("?"): {"type": "string"} for argument in arguments}
    schema: dict[str, Any] = {"type": "object", "properties": {**names, **more}}
    needed = [argument for argument in arguments if not argument.endswith("?")]
    if needed:
        schema["required"] = needed
    return {"name": name, "description": about, "inputSchema": schema}


TOOLS = (
    _tool(
        "compress",
        "Rewrite JSON or JSON Lines in the form with the fewest tokens, without loss. Prefer "
        "`path`: a `text` costs you output tokens. `to` (.gcf, .json, .txt) writes a file.",
        *("path?", "text?", "to?"),
    ),
    _tool(
        "expand",
        "The JSON of what `compress` wrote. Give `path` or `text`; `to`: a .json file.",
        *("path?", "text?", "to?"),
    ),
    _tool(
        "stats",
        "Tokens of JSON (Lines) as it is, compact, and as GCF. Give `path` or `text`.",
        *("path?", "text?"),
    ),
    _tool(
        "create_cad_compact",
        _CAD,
        *("compact", "to?"),
        format={"enum": ["summary", "json", "hybrid", "vcad"]},
    ),
    _tool(
        "cad_convert",
        "Convert a CAD file to .vcad or .json (JSON), .vcadc (compact text) or .vcadb (binary).",
        *("path", "to"),
    ),
    _tool(
        "verify_claim",
        "Check a compression claim. `bundle` and `receipts` are folders, `policy` a trust policy. "
        "Code 0: true, 1: not true, 2: invalid input.",
        *("bundle", "receipts", "claim", "policy?"),
    ),
)
_NO_FILES = " No --root: no files."


class ToolError(ValueError):
    """A call failed; the message says what, where, and what to do."""


def definitions(*, files: bool) -> list[dict[str, Any]]:
    """Name, description and input schema of each tool; without files, each says so."""
    if files:
        return [dict(tool) for tool in TOOLS]
    return [{**tool, "description": tool["description"] + _NO_FILES} for tool in TOOLS]


def checked(name: str, arguments: object) -> dict[str, str]:
    """The arguments, if they are those of the tool's schema."""
    schemas = {tool["name"]: tool["inputSchema"] for tool in TOOLS}
    if name not in schemas:
        raise ToolError(f"no such tool; there are {', '.join(schemas)}")
    schema = schemas[name]
    properties = schema["properties"]
    if not isinstance(arguments, dict):
        raise ToolError("the arguments must be an object")
    given = {key: value for key, value in arguments.items() if value is not None}
    for key, value in given.items():
        if key not in properties:
            raise ToolError(
                f"unknown argument {short_line(key)}; there are {', '.join(properties)}"
            )
        choices = properties[key].get("enum")
        if choices and value not in choices:
            raise ToolError(f"{key}: must be one of {', '.join(choices)}")
        _check_text(key, value)
    for key in schema.get("required", ()):
        if key not in given:
            raise ToolError(f"the argument {key} is missing")
    return given


def _check_text(key: str, value: object) -> None:
    if not isinstance(value, str):
        raise ToolError(f"{key}: must be a string, not {type(value).__name__}")
    if len(value) > MAX_TEXT:
        said = f"has {len(value):,} characters; the limit is {MAX_TEXT:,}: pass a `path`"
        raise ToolError(f"{key}: {said}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        said = f"lone surrogate at character {error.start:,}, which UTF-8 cannot represent"
        raise ToolError(f"{key}: {said}") from None
