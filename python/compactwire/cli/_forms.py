"""The input of ``compactwire stats``, the forms it measures, and the Python that makes them.

The formats are those of `compactwire.analysis`, with the options of GCF, the input as it is, and
messages as bytes.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import compactwire as cw
from compactwire import cad, gcf

from .._csv import START, delimiter_of
from .._lines import check_value
from ..analysis.candidates import PROTOCOL, Candidate, candidates, compact, kind_of, prepared
from ._rows import BOM, as_json, judge_of, kind_by_content, kind_by_name
from ._shell import read, source_name, utf8

if TYPE_CHECKING:
    from ..analysis.candidates import Kind, Reader

_INPUT, _JSON = "input", "json"
# The text of an input, without a byte order mark; see `_opened`.
_TEXT = '{}.decode("utf-8-sig")'
_COMPACT = 'compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))'
_CARRIED = {
    "base85": 'cw.encode(compact, format="base85")',
    "zstd": 'cw.encode(compact, format="zstd")',
    "dictionary": 'cw.encode(compact, format="dictionary")',
    "bytes": "cw.encode_bytes(compact)",
    "packed": "cw.Session().encode_request(args=value, pack=True)",
    "packed-bytes": 'cw.Session().encode_request(args=value, pack="bytes")',
}
_DUMPED = {
    _JSON: "compact",
    "json-pretty": "json.dumps(value, ensure_ascii=False, indent=2)",
    "gcf": "gcf.dumps(value)",
}
_OPTIONS = {
    "gcf-constants": {"constant_columns": True},
    "gcf-groups": {"constant_columns": True, "group_values": True},
    "gcf-lists": {"constant_columns": True, "list_columns": True, "matrices": True},
}
_PYTHON: dict[Kind, dict[str, str]] = {
    "response": {
        **{name: f'cw.encode(text, format="{name}")' for name in PROTOCOL},
        "bytes": "cw.encode_bytes(text)",
    },
    "value": {
        "shrink": "cw.shrink(value).text",
        **_DUMPED,
        **{
            name: f"gcf.dumps(value, {', '.join(f'{key}=True' for key in options)})"
            for name, options in _OPTIONS.items()
        },
        **_CARRIED,
    },
    "cad": {
        **_DUMPED,
        "cad-0.1": "cad.to_compact(value)",
        "cad-0.2": 'cad.to_compact(value, dialect="0.2")',
        "cad-binary": "cad.to_binary(value)",
        **_CARRIED,
    },
    "graph": {
        _JSON: "wire.encode_json(value, compact=True)",
        "json-pretty": "wire.encode_json(value)",
        "gcf": "gcf.encode(value)",
        "gcb": "wire.encode_gcb(value)",
    },
}


class Input(NamedTuple):
    """An input, parsed; and the Python that reads it."""

    kind: str
    content: Kind
    value: Any
    raw: str | bytes
    """The input as it is: bytes if it is not text."""
    setup: list[str]

    @property
    def baseline(self) -> str:
        """The format that the others are compared with."""
        return _INPUT if self.content == "response" else _JSON

    @property
    def python(self) -> dict[str, str]:
        """The expression for each format, after the lines of `setup`."""
        return {_INPUT: "", **_PYTHON[self.content]}


def forms(given: Input) -> list[Candidate]:
    """Return the formats of an input: first the input as it is."""
    value, raw = given.value, given.raw
    reader: Reader = "model" if isinstance(raw, str) else "program"
    known = candidates(given.content) | _more(given.content)
    names = list(_PYTHON[given.content])
    if isinstance(value, str):
        # `shrink` takes a str for a text, not for a value.
        names.remove("shrink")
    as_it_is = Candidate(_INPUT, lambda _: raw, lambda _: value, reader)
    return [as_it_is, *(known[name] for name in names)]


def _more(content: Kind) -> dict[str, Candidate]:
    if content == "response":
        found = [Candidate("bytes", cw.encode_bytes, cw.decode, "program")]
    else:
        found = [
            Candidate("shrink", lambda value: cw.shrink(value).text, cw.expand),
            *(_with(name, options) for name, options in _OPTIONS.items()),
            Candidate("bytes", _bytes, lambda data: json.loads(cw.decode(data).result), "program"),
            Candidate("packed-bytes", _packed, _unpacked, "program"),
        ]
    return {candidate.name: candidate for candidate in found}


def _with(name: str, options: dict[str, Any]) -> Candidate:
    return Candidate(
        name,
        lambda value: gcf.dumps(value, **options),
        lambda text: gcf.loads(text, extensions=True),
    )


def _bytes(value: Any) -> bytes:
    return cw.encode_bytes(compact(value))


def _packed(value: Any) -> bytes:
    return cw.Session().encode_request(args=value, pack="bytes")


def _unpacked(data: bytes) -> Any:
    return cw.Session().decode_request(data).args


def read_input(path: str, kind: str, limit: int, max_expansion: int) -> Input:
    """Read a file, or standard input for "-"; `kind` "auto" looks at suffix and content.

    Raises
    ------
    OSError
        The file cannot be read, or is larger than the limit.
    ValueError
        Its content is not of its kind; the message says where.
    """
    if kind == "auto":
        kind = kind_by_name(path)
    # A document may be binary.
    data = read(path, limit, None if kind == "vcad" else judge_of(kind, path))
    if kind:
        return _parsed(data, kind, path, max_expansion)
    kind = kind_by_content(data)
    try:
        return _parsed(data, kind, path, max_expansion)
    except cw.CompactWireError as error:
        hint = f"it was taken for {kind}; --input names another format, such as text"
        raise ValueError(f"{source_name(path)}: {error}; {hint}") from None


def _parsed(data: bytes, kind: str, path: str, max_expansion: int) -> Input:
    if kind == "vcad":
        return _document(data, path)
    data = data.removeprefix(BOM)
    if kind == "text":
        text = utf8(data, source_name(path))
        setup = ["import compactwire as cw", *_opened(path, "text = " + _TEXT)]
        return Input(kind, "response", cw.Response(text), text, setup)
    if kind == "gcf":
        return _gcf(utf8(data, source_name(path)), path, max_expansion)
    text = utf8(data, source_name(path))
    value = _value(as_json(data, kind, source_name(path)))
    content: Kind = "cad" if kind == _JSON and kind_of(value) == "cad" else "value"
    modules = "cad, gcf" if content == "cad" else "gcf"
    setup = ["import json, compactwire as cw", f"from compactwire import {modules}"]
    if kind in ("csv", "tsv"):
        setup += _loading_rows(path, delimiter_of(text[:START], kind))
    else:
        setup += _loading(path, kind, content)
    return Input(kind, content, prepared(value, content), text, [*setup, _COMPACT])


def _value(data: bytes) -> Any:
    check_value(data)
    return json.loads(data)


def _gcf(text: str, path: str, max_expansion: int) -> Input:
    setup = ["import json, compactwire as cw", "from compactwire import gcf, wire"]
    if text.startswith("GCF profile=graph"):
        payload = gcf.decode(text)
        if not isinstance(payload, gcf.Payload):
            raise ValueError(f"{source_name(path)}: a change of a graph; measure a whole graph")
        return Input(
            "gcf", "graph", payload, text, [*setup, *_opened(path, f"value = gcf.decode({_TEXT})")]
        )
    value = gcf.loads(text, extensions=True, max_expansion=max_expansion)
    setup += [*_opened(path, f"value = gcf.loads({_TEXT}, extensions=True)"), _COMPACT]
    return Input("gcf", "value", value, text, setup)


def _document(data: bytes, path: str) -> Input:
    value = cad.canonical(cad.loads(data))
    raw: str | bytes = data
    with contextlib.suppress(UnicodeDecodeError):
        raw = data.decode()
    setup = ["import json, compactwire as cw", "from compactwire import cad, gcf"]
    setup += [*_opened(path, "value = cad.canonical(cad.loads({}))"), _COMPACT]
    return Input("vcad", "cad", value, raw, setup)


def _loading(path: str, kind: str, content: Kind) -> list[str]:
    """The lines of Python that read the value of a file."""
    if content == "cad":
        return _opened(path, "value = cad.canonical(json.loads({}))")
    if kind == "jsonl":
        # A byte order mark before an empty line is not JSON.
        lines = rf'{_TEXT}.split("\n")'
        return _opened(path, f"value = [json.loads(line) for line in {lines} if line.strip()]")
    return _opened(path, "value = json.loads({})")


def _loading_rows(path: str, delimiter: str) -> list[str]:
    option = "" if delimiter == "," else f', delimiter="{delimiter}"'.replace("\t", r"\t")
    # The reader takes a blank line at the beginning for a header without names.
    text = _opened(path, rf'text = {_TEXT}.lstrip("\r\n")')
    rows = f'value = list(csv.DictReader(io.StringIO(text, newline=""){option}))'
    return ["import csv, io", *text, rows]


def _opened(path: str, line: str) -> list[str]:
    """A line of Python that begins with the bytes of the input."""
    if path == "-":
        return ["import sys", line.format("sys.stdin.buffer.read()")]
    return ["from pathlib import Path", line.format(f"Path({path!r}).read_bytes()")]
