"""`compare`: a table with one row per input and format."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from compactwire import Response, gcf

from ..errors import CompactWireError, OptionError
from .candidates import JSON, PRETTY, Candidate, Kind, candidates, kind_of, prepared
from .corpus import Corpus
from .extra import need
from .measure import Measured, measure
from .progress import watched
from .tokens import Counter, counter, name_of

if TYPE_CHECKING:
    import pandas as pd

_TYPES = {
    "bytes": "Int64",
    "tokens": "Int64",
    **{
        f"{unit}_vs_{base}": "float64"
        for unit in ("bytes", "tokens")
        for base in ("json", "pretty")
    },
    **{
        f"{way}_seconds{part}": "float64"
        for way in ("encode", "decode")
        for part in ("", "_low", "_high")
    },
    "round_trip": "bool",
}


def compare(
    value: Any,
    /,
    *,
    formats: Iterable[str | Candidate] | None = None,
    tokenizer: str | Counter = "o200k_base",
    seconds: float = 0.01,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Measure an input in each format: bytes, tokens and time.

    Parameters
    ----------
    value : Response, str, value of JSON, gcf.Payload, CAD document, list of messages, or Corpus
        The input. A `str` is the result of a response. Each item of a list of `Response` and `str`
        (or of `gcf.Payload`) is an input of its own; any other list is one value. A `Corpus` has
        named inputs. CAD documents are measured in their canonical form. Pass a DataFrame as
        ``json.loads(frame.to_json(orient="records", date_format="iso"))``.
    formats : iterable of str or Candidate, optional
        The formats, in the order of the table; by default all that can represent the input.
        Responses: the seven of the Compact Protocol. Values: "gcf"; "base85", "zstd" and
        "dictionary" of their compact JSON; "packed", the first request of a `Session`. Graph
        payloads: "gcf", "gcb". CAD documents: those of values, and "cad-0.1", "cad-0.2",
        "cad-binary". All kinds: "json" and "json-pretty". A `Candidate` is a format of your own.
    tokenizer : str or callable
        An encoding of bpe-openai, or your own function from `str` to `int`.
    seconds : float
        How long to measure encoding and decoding of each format, in seconds; 0 leaves the times
        out. A call that takes longer than this is repeated a few times.
    progress : bool, optional
        Whether to show a progress bar on standard error; by default on a terminal, if the call
        takes long.

    Returns
    -------
    DataFrame
        One row per input and format: ``input``, ``kind``, ``format``, ``reader`` ("model" where a
        language model can read it), ``bytes`` (UTF-8), ``tokens`` (missing for formats whose
        output is bytes), ``bytes_vs_json``, ``bytes_vs_pretty``, ``tokens_vs_json``,
        ``tokens_vs_pretty`` (0.4 is 40% of compact, or of indented, JSON), ``encode_seconds``,
        ``decode_seconds`` (medians of interleaved rounds) with ``_low`` and ``_high`` (quartiles),
        ``round_trip`` (whether the input came back equal; numbers by value) and ``note`` (why it
        did not). ``frame.attrs["tokenizer"]`` names the tokenizer.

    Raises
    ------
    TypeError
        The input is of a type that cannot be compared.
    CompactWireError
        A format is unknown or named twice, a corpus is empty, a value contains itself or is nested
        too deep, or a number is out of range.
    GcfError
        JSON cannot represent a part of the value, such as NaN; the message names its path.
    ImportError
        The extra ``analysis`` is not installed.

    Examples
    --------
    >>> frame = compare("The answer is 42.", formats=["dsl", "base85"], seconds=0)
    >>> frame[["format", "reader", "bytes", "tokens", "round_trip"]]
       format   reader  bytes  tokens  round_trip
    0     dsl    model     27      12        True
    1  base85  program     45      31        True
    """
    if not seconds >= 0:  # Also true for NaN.
        raise OptionError(f"seconds must be 0 or more, not {seconds}", option="seconds")
    pandas = need("pandas", "pandas")
    count = counter(tokenizer)
    wanted = None if formats is None else _listed(formats)
    # Check all inputs before measuring any, so that an invalid one does not end a long run.
    todo = [_ready(name, item) for name, item in named(value).items()]
    _check(wanted, {kind for _, kind, _ in todo})
    rows: list[dict[str, Any]] = []
    for name, kind, item in watched(todo, progress):
        rows += _rows(name, kind, item, wanted, count, seconds)
    columns = ["input", "kind", "format", "reader", *_TYPES, "note"]
    frame: pd.DataFrame = pandas.DataFrame(rows, columns=columns).astype(_TYPES)
    frame.attrs["tokenizer"] = name_of(tokenizer)
    return frame


def named(value: Any) -> Mapping[str, Any]:
    """Return the inputs by name: those of a corpus, the messages of a list, or a single one."""
    if isinstance(value, Corpus):
        if not value:
            raise CompactWireError("the corpus is empty")
        return value
    if isinstance(value, list | tuple) and value:
        for types, name in (((Response, str), "message"), ((gcf.Payload,), "graph")):
            if all(isinstance(item, types) for item in value):
                width = len(str(len(value)))
                return {f"{name} {n:0{width}}": item for n, item in enumerate(value, 1)}
        for place, item in enumerate(value):
            if isinstance(item, Response | gcf.Payload):
                raise TypeError(
                    f"item {place} is a {type(item).__name__}, but others are not: pass a list of"
                    " messages only, of payloads only, or one value; for a mixture, use a Corpus"
                )
    return {kind_of(value): value}


def _ready(name: str, item: Any) -> tuple[str, Kind, Any]:
    try:
        kind = kind_of(item)
        return name, kind, prepared(item, kind)
    except (TypeError, ValueError) as error:
        error.add_note(f"in the input {name!r}")
        raise


def _listed(formats: Iterable[str | Candidate]) -> list[str | Candidate]:
    if isinstance(formats, str):
        raise TypeError(f"formats must be a list, such as [{formats!r}]")
    listed = list(formats)
    if not listed:
        message = "formats is empty: pass at least one, or omit it for all formats"
        raise OptionError(message, option="formats")
    names = [item.name if isinstance(item, Candidate) else item for item in listed]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"duplicate format {reprlib.repr(name)}", option="formats")
    return listed


def _check(wanted: list[str | Candidate] | None, kinds: set[Kind]) -> None:
    known = {name for kind in kinds for name in candidates(kind)}
    for item in wanted or []:
        if isinstance(item, str) and item not in known:
            message = (
                f"unknown format {reprlib.repr(str(item))} for {' and '.join(sorted(kinds))};"
                f" expected {', '.join(sorted(known))}, or your own Candidate"
            )
            raise OptionError(message, option="formats")
        if not isinstance(item, str | Candidate):
            raise TypeError(f"a format must be a str or a Candidate, not {type(item).__name__}")


def _rows(
    name: str,
    kind: Kind,
    value: Any,
    wanted: list[str | Candidate] | None,
    count: Counter,
    seconds: float,
) -> list[dict[str, Any]]:
    known = candidates(kind)
    bases = [known[JSON], known[PRETTY]]
    if wanted is None:
        chosen = list(known.values())
    else:
        found = [known.get(item) if isinstance(item, str) else item for item in wanted]
        chosen = [candidate for candidate in found if candidate]
    measured = measure(value, chosen, count, seconds)
    json, pretty = measure(value, bases, count, 0)
    return [_row(name, kind, item, json, pretty) for item in measured]


def _row(name: str, kind: Kind, item: Measured, json: Measured, pretty: Measured) -> dict[str, Any]:
    row: dict[str, Any] = {
        "input": name,
        "kind": kind,
        "format": item.format,
        "reader": item.reader,
        "bytes": item.bytes,
        "tokens": item.tokens,
        "bytes_vs_json": _share(item.bytes, json.bytes),
        "bytes_vs_pretty": _share(item.bytes, pretty.bytes),
        "tokens_vs_json": _share(item.tokens, json.tokens),
        "tokens_vs_pretty": _share(item.tokens, pretty.tokens),
        "round_trip": item.round_trip,
        "note": item.note,
    }
    for way, timing in (("encode", item.encode), ("decode", item.decode)):
        row[f"{way}_seconds"] = timing and timing.median
        row[f"{way}_seconds_low"] = timing and timing.low
        row[f"{way}_seconds_high"] = timing and timing.high
    return row


def _share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
