"""Candidates: for each kind of input, the formats that can represent it.

A `Candidate` encodes and decodes one format. The rest of the package takes all formats from the
tables here; a caller can pass others (CSV, YAML, their own) as candidates.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from compactwire import (
    CompactWireError,
    DocumentError,
    GcfError,
    Response,
    Session,
    UnsupportedValue,
    cad,
    decode,
    encode,
    gcf,
    shrink,
    wire,
)

from .._texts import check_callable, check_type, shown
from ..errors import OptionError

Reader = Literal["model", "program"]
Kind = Literal["response", "value", "graph", "cad"]

JSON, PRETTY = "json", "json-pretty"
PROTOCOL = {
    "verbose": "model",
    "dsl": "model",
    "binary": "program",
    "base85": "program",
    "zlib": "program",
    "zstd": "program",
    "dictionary": "program",
}
_OPTIONAL = ("model_name", "returncode", "reasoning_effort", "ultrathink")


def is_table(part: object) -> bool:
    """Whether a part of a value is a table or column."""
    return hasattr(part, "__arrow_c_stream__") or hasattr(part, "__arrow_c_array__")


def rows_of(part: object) -> Any:
    """The rows of a table within a value, or the values of a column, as `gcf.dumps` has them."""
    if is_table(part):
        return gcf.loads(gcf.dumps(part))
    raise TypeError(f"Object of type {type(part).__name__} is not JSON serializable")


# Shared encoders: `json.dumps` with options creates one per call, which would distort the times.
_COMPACT = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=rows_of
)
_PRETTY = json.JSONEncoder(ensure_ascii=False, indent=2, allow_nan=False)


@dataclass(frozen=True)
class Candidate:
    """A format: its encode and decode functions, and whether a model can read its output.

    Parameters
    ----------
    name : str
        The name of the format in the table.
    encode : callable
        Returns the text (or bytes) of an input.
    decode : callable
        Returns the input for a text; the result is compared with the input.
    reader : {"model", "program"}
        The reader of the output. A language model can read plain text, but not compressed text.

    Examples
    --------
    >>> import json
    >>> spaced = Candidate("spaced", json.dumps, json.loads)
    >>> spaced.encode([1, 2])
    '[1, 2]'
    """

    name: str
    encode: Callable[[Any], str | bytes]
    decode: Callable[[Any], Any]
    reader: Reader = "model"

    def __post_init__(self) -> None:
        check_type("name", self.name, str)
        check_callable("encode", self.encode)
        check_callable("decode", self.decode)
        check_type("reader", self.reader, str)
        if self.reader not in ("model", "program"):
            message = f"reader must be 'model' or 'program', not {shown(self.reader)}"
            raise OptionError(message, option="reader")


def text_of(candidate: Candidate, value: object) -> str | bytes:
    """Encode an input; raise `TypeError` if the function of the candidate returns another type."""
    text = candidate.encode(value)
    if not isinstance(text, str | bytes):
        raise TypeError(f"encode must return str or bytes, not {type(text).__name__}")
    return text


def compact(value: object) -> str:
    """Return compact JSON: no spaces, and non-ASCII characters unescaped."""
    return _COMPACT.encode(value)


def pretty(value: object) -> str:
    """Return JSON indented by two spaces, as most programs display it."""
    return _PRETTY.encode(value)


def kind_of(value: object) -> Kind:
    """Return the kind of an input.

    Raises
    ------
    TypeError
        The value cannot be compared.
    """
    if isinstance(value, Response | str):
        return "response"
    if isinstance(value, gcf.Payload):
        return "graph"
    if isinstance(value, dict) and value.get("nodes") and "roots" in value:
        try:
            cad.canonical(value)
        except DocumentError:
            return "value"
        return "cad"
    if value is None or isinstance(value, bool | int | float | Mapping | list | tuple):
        return "value"
    raise TypeError(
        f"inputs of type {type(value).__name__} cannot be compared; expected a Response, a text,"
        " a JSON value, a gcf.Payload, a CAD document, a list of messages, a Corpus, a DataFrame or"
        " column, or the pathlib.Path of a file or folder"
    )


def prepared(value: Any, kind: Kind) -> Any:
    """Return the input in the form that the formats accept: strings as responses, tuples as lists.

    Raises
    ------
    GcfError
        JSON cannot represent a part of the value; the message names its path.
    """
    if kind == "response":
        return value if isinstance(value, Response) else Response(value)
    if kind == "value":
        return _json_value(value)
    return cad.canonical(value) if kind == "cad" else value


def candidates(kind: Kind) -> dict[str, Candidate]:
    """Return the formats of a kind by name, the two of JSON first."""
    found = {"response": _responses, "value": _values, "graph": _graphs, "cad": _documents}[kind]()
    return {candidate.name: candidate for candidate in found}


def _responses() -> list[Candidate]:
    formats = [
        Candidate(name, partial(_encode, name), decode, _reader(reader))
        for name, reader in PROTOCOL.items()
    ]
    return [
        Candidate(JSON, lambda response: compact(_fields(response)), _response),
        Candidate(PRETTY, lambda response: pretty(_fields(response)), _response),
        *formats,
    ]


def _values() -> list[Candidate]:
    return [
        Candidate(JSON, compact, json.loads),
        Candidate(PRETTY, pretty, json.loads),
        Candidate("gcf", gcf.dumps, gcf.loads),
        *_programs(),
    ]


def _programs() -> list[Candidate]:
    """Return the formats for programs: compact JSON in a response, or a packed request."""
    carried = [
        Candidate(name, partial(_carry, name), lambda text: json.loads(decode(text).result),
                  "program")
        for name in ("base85", "zstd", "dictionary")
    ]  # fmt: skip
    packed = Candidate("packed", _pack, lambda text: Session().decode_request(text).args, "program")
    return [*carried, packed]


def _graphs() -> list[Candidate]:
    return [
        Candidate(JSON, partial(wire.encode_json, compact=True), wire.decode_json),
        Candidate(PRETTY, wire.encode_json, wire.decode_json),
        Candidate("gcf", gcf.encode, gcf.decode),
        Candidate("gcb", wire.encode_gcb, wire.decode_gcb, "program"),
    ]


def _documents() -> list[Candidate]:
    return [
        Candidate(JSON, compact, json.loads),
        Candidate(PRETTY, pretty, json.loads),
        Candidate("gcf", gcf.dumps, gcf.loads),
        Candidate("cad-0.1", cad.to_compact, cad.from_compact),
        Candidate("cad-0.2", partial(cad.to_compact, dialect="0.2"), cad.from_compact),
        Candidate("cad-binary", cad.to_binary, cad.from_binary, "program"),
        *_programs(),
    ]


def _reader(reader: str) -> Reader:
    return "model" if reader == "model" else "program"


def _encode(name: Any, response: Response) -> str:
    return encode(response, format=name)


def _carry(name: Any, value: object) -> str:
    return encode(Response(compact(value)), format=name)


def _pack(value: object) -> str:
    return Session().encode_request(args=value, pack=True)


def _fields(response: Response) -> dict[str, Any]:
    """Return the fields that are set, as a plain JSON object without any protocol."""
    fields: dict[str, Any] = {
        "status": response.status,
        "model": response.model,
        "tokens": response.tokens,
        "result": response.result,
    }
    for name in _OPTIONAL:
        value = getattr(response, name)
        if value is not None:
            fields[name] = value
    return fields


def _response(text: str) -> Response:
    return Response(**json.loads(text))


def without_options(error: GcfError) -> GcfError:
    """The error for a caller of this package, whose functions do not have the options it names."""
    if not isinstance(error, UnsupportedValue):
        return error
    given = "default= of gcf.dumps, and pass the value that gcf.loads returns"
    return UnsupportedValue(
        str(error).replace("default=", given, 1),
        field=error.field,
        code=error.code,
        path=error.path,
        line=None,
        column=None,
    )


def _is_gcf(value: Any) -> bool:
    """Whether GCF can carry a value; False if only its depth or a number is in the way."""
    try:
        gcf.dumps(value)
    except GcfError as error:
        if error.code not in {"limit_exceeded", "out_of_range"}:
            raise without_options(error) from None
        return False
    return True


def _check_rest(value: Any) -> None:
    """Raise the error of what JSON does not have, which may stand after what GCF does not have."""
    try:
        shrink(value, formats=("json",), tokenizer=len, max_depth=256, types="json")
    except UnsupportedValue as error:
        if error.code != "limit_exceeded":
            raise without_options(error) from None
        compact(value)  # Raises if the value contains itself.
        _check_texts(value)


def _check_texts(value: Any) -> None:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            for key in one:
                if not isinstance(key, str):
                    raise CompactWireError(f"keys must be str, not {type(key).__name__}")
            waiting += one
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, str):
            one.encode()  # Raises for a lone surrogate.


def _json_value(value: Any) -> Any:
    """Return the value after a JSON round trip; a value that JSON would change is an error."""
    try:
        if not _is_gcf(value):
            _check_rest(value)
        return json.loads(compact(value))
    except RecursionError:
        raise CompactWireError("the value is nested too deep for JSON") from None
    except CompactWireError:
        raise
    except (TypeError, ValueError) as error:  # Such as an int with too many digits for Python.
        raise CompactWireError(f"the value cannot be written as JSON: {error}") from error
