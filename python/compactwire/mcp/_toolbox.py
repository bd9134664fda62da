"""What the tools of `compactwire mcp serve` do, without the protocol."""

from __future__ import annotations

import contextlib
import functools
import sys

from .. import cad, gcf
from .._cad_tool import create_cad_compact
from .._core import estimate_tokens, shrink
from .._expanded import as_json
from .._lines import SUFFIXES, are_values, as_array, rows_in, shrink_rows
from .._texts import one_line, short_line
from ..errors import CompactWireError
from ._claims import verified
from ._definitions import MAX_TEXT, ToolError, checked, definitions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .._core import Shrunk
    from ._roots import Roots

__all__ = ["Toolbox"]

# Bytes of a CAD document: while the core makes its objects, no other thread runs.
_MAX_CAD = 2 << 20
# Bytes of a value that its text does not spell out, such as constants.
_MAX_EXPANSION = 1 << 26
_MAX_ERRORS = 5
_BOM = "\ufeff"

_TEXTS = (".gcf", ".json", ".txt")
_DOCUMENTS = (".json", ".vcad", ".vcadc", ".vcadb")


class Toolbox:
    """The tools over these roots."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._tools: dict[str, Callable[[dict[str, str]], str]] = {
            "compress": self._compress,
            "expand": self._expand,
            "stats": self._stats,
            "create_cad_compact": self._create,
            "cad_convert": self._convert,
            "verify_claim": functools.partial(verified, roots),
        }

    def definitions(self) -> list[dict[str, Any]]:
        """Name, description and input schema of each tool."""
        return definitions(files=bool(self._roots.paths))

    def call(self, name: str, arguments: object) -> str:
        """Run a tool and return its answer.

        Raises
        ------
        ToolError
            The call failed, for whatever reason.
        """
        known = short_line(name)
        try:
            given = checked(name, arguments)
            return self._tools[name](given)
        except ToolError as error:
            raise ToolError(f"{known}: {error}") from None
        except (OSError, ValueError) as error:
            raise ToolError(f"{known}: {one_line(str(error))}") from None
        except (MemoryError, RecursionError) as error:
            said = "not enough memory; pass less at once, or use the command `compactwire`"
            raise ToolError(f"{known}: {said}") from error
        except Exception as error:  # A bug must not end the server, nor show a traceback.
            said = f"{type(error).__name__}: {short_line(str(error), 500)}"
            raise ToolError(
                f"{known}: this is a bug of compactwire, please report: {said}"
            ) from error

    def _compress(self, given: dict[str, str]) -> str:
        text, name = self._input(given)
        with _naming(name):
            shrunk = _shrunk(text.removeprefix(_BOM), given)
        result = text if shrunk.format == "text" else shrunk.text
        if "to" not in given:
            return _answer(result)
        self._write(given, result.encode(), _TEXTS)
        why = f"; nothing was saved: {_REASONS[shrunk.reason]}" if shrunk.reason else ""
        before, after = shrunk.tokens_before, shrunk.tokens_after
        said = f"{before:,} to {after:,} tokens (estimated), format {shrunk.format}{why}"
        return f"{_shown(given['to'])} written from {name}: {said}"

    def _expand(self, given: dict[str, str]) -> str:
        text, name = self._input(given)
        result = _json(text, name, given)
        if "to" not in given:
            return _answer(result)
        self._write(given, result.encode(), (".json",))
        return f"{_shown(given['to'])} written from {name}: {len(result):,} characters of JSON"

    def _stats(self, given: dict[str, str]) -> str:
        text, name = self._input(given)
        compact = _json(text, name, given)
        best = shrink(compact, max_size=sys.maxsize)
        try:
            written = gcf.from_json(
                compact, constant_columns=True, group_values=True, list_columns=True, matrices=True
            )
        except CompactWireError:
            written = None  # Numbers or nesting that GCF does not have.
        if best.format == "gcf":
            written = best.text
        forms = {"as it is": text, "json": compact, "gcf": written}
        counts = {form: estimate_tokens(one) for form, one in forms.items() if one is not None}
        lines = [f"{form:<8} {count:>10,}" for form, count in counts.items()]
        if written is None:
            lines.append("gcf      cannot hold this value")
        cheapest = min(counts, key=lambda form: counts[form])
        saved = 1 - counts[cheapest] / max(counts["as it is"], 1)
        fewer = f", {saved:.0%} fewer than as it is" if saved else ""
        lines.append(f"cheapest: {cheapest}{fewer} (estimated tokens)")
        return "\n".join(lines)

    def _create(self, given: dict[str, str]) -> str:
        form: Any = given.get("format", "summary")
        answer = create_cad_compact(given["compact"], format=form, all_errors=True)
        if not answer["ok"]:
            raise ToolError(_problems(answer))
        said = answer.get("compact")
        if said is None:
            said = _compact_json(answer.get("document", answer.get("summary")))
        if "to" not in given:
            return _answer(said)
        written = self._converted(given, given["compact"])
        return f"{written}\n{said}" if form == "summary" else written

    def _convert(self, given: dict[str, str]) -> str:
        source = self._roots.read(given["path"], limit=_MAX_CAD)
        with _naming(f"path: {_shown(given['path'])}"):
            return self._converted(given, source)

    def _converted(self, given: dict[str, str], source: str | bytes) -> str:
        """Write a CAD document in the form that the suffix of `to` names."""
        suffix = _suffix(given, _DOCUMENTS)
        document = cad.loads(source, max_expansion=_MAX_EXPANSION)
        form = "JSON"
        if suffix == ".vcadb":
            form, data = "binary", cad.to_binary(document)
        elif suffix == ".vcadc":
            # 0.1 has only the shape; 0.2 has everything.
            dialect: Any = "0.2" if cad.losses(document) else "0.1"
            form = f"compact text {dialect}"
            data = (cad.to_compact(document, dialect) + "\n").encode()
        else:
            data = (cad.dumps(document) + "\n").encode()
        self._write(given, data, _DOCUMENTS)
        nodes = len(document["nodes"])
        return f"{_shown(given['to'])} written: {form}, {nodes:,} nodes, {len(data):,} bytes"

    def _input(self, given: dict[str, str]) -> tuple[str, str]:
        """The text of `path` or `text`, and its name in messages."""
        if ("path" in given) == ("text" in given):
            raise ToolError("give either `path` or `text`")
        if "text" in given:
            return given["text"], "text"
        name = _shown(given["path"])
        data = self._roots.read(given["path"])
        try:
            return data.decode(), name
        except UnicodeDecodeError as error:
            said = f"not UTF-8 from byte {error.start:,} on, so it is no text that can be shrunk"
            raise ToolError(f"path: {name}: {said}") from None

    def _write(self, given: dict[str, str], data: bytes, suffixes: tuple[str, ...]) -> None:
        self._roots.write(given["to"], data, suffix=_suffix(given, suffixes))


_REASONS = {
    "size": "the text is too long",
    "not-json": "the text is not JSON",
    "depth": "the JSON is nested too deeply",
    "number": "a number has more digits than GCF keeps",
    "verify": "GCF would not have come back the same",
    "no-gain": "no form is shorter",
}


def _suffix(given: dict[str, str], suffixes: tuple[str, ...]) -> str:
    """The suffix of `to`. Only files of data are written: no scripts, no configuration."""
    for suffix in suffixes:
        if given["to"].lower().endswith(suffix):
            return suffix
    raise ToolError(f"to: {_shown(given['to'])} must end in one of {', '.join(suffixes)}")


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    """Errors in data say which input they are in."""
    try:
        yield
    except CompactWireError as error:
        raise ToolError(f"{name}: {one_line(str(error))}") from None


def _are_lines(given: dict[str, str]) -> bool:
    """Whether the name of the input says that it is JSON Lines."""
    return given.get("path", "").lower().endswith(SUFFIXES)


def _shrunk(text: str, given: dict[str, str]) -> Shrunk:
    data = text.encode()
    rows = as_array(data) if _are_lines(given) else rows_in(data)
    if rows:
        return shrink_rows(text, rows.decode(), max_size=sys.maxsize)
    return shrink(text, max_size=sys.maxsize)


def _json(text: str, name: str, given: dict[str, str]) -> str:
    """JSON of a text in GCF or JSON; of JSON Lines, an array."""
    bare = text.removeprefix(_BOM)
    with _naming(name):
        if not bare.startswith("GCF "):
            data = bare.encode()
            if _are_lines(given) or are_values(data):
                bare = as_array(data).decode()
        return as_json(bare, max_expansion=_MAX_EXPANSION)


def _problems(answer: dict[str, Any]) -> str:
    """The errors in a CAD text, the first few of them."""
    errors = answer.get("errors") or [answer["error"]]
    lines = []
    for error in errors[:_MAX_ERRORS]:
        where = f"{error['path']}: " if "path" in error else f"line {error.get('line')}: "
        hint = f" (did you mean {error['suggestion']}?)" if error.get("suggestion") else ""
        source = f" in {short_line(error['source'])!r}" if "source" in error else ""
        lines.append(one_line(f"{where}{error['message']}{source}{hint}"))
    if len(errors) > _MAX_ERRORS:
        lines.append(f"and {len(errors) - _MAX_ERRORS} more")
    return "\n".join(lines)


def _compact_json(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _answer(text: str) -> str:
    if len(text) > MAX_TEXT:
        said = f"the answer has {len(text):,} characters; the limit is {MAX_TEXT:,}"
        raise ToolError(f"{said}: name a file for it with `to`, or pass less")
    return text


def _shown(path: str) -> str:
    return short_line(path, 200)
