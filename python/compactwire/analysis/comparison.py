"""`compare`: a table with one row per input and format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from compactwire import Response, gcf

from .._texts import iterated, real, shown
from ..errors import CompactWireError, OptionError
from .candidates import JSON, PRETTY, Candidate, Kind, candidates, kind_of, prepared
from .corpus import Corpus
from .extra import need
from .measured import Measured, measure
from .progress import Show, watched
from .sources import opened
from .timing import Budget
from .tokens import Counter, counter, name_of

if TYPE_CHECKING:
    import pandas as pd

# The columns in their order. Where not all of them fit, pandas prints the first and the last ones.
_TYPES = {
    "format": None,
    "bytes": "Int64",
    "tokens": "Int64",
    "bytes_vs_json": "float64",
    "tokens_vs_json": "float64",
    "bytes_vs_pretty": "float64",
    "tokens_vs_pretty": "float64",
    "price": "float64",
    **{
        f"{way}_seconds{part}": "float64"
        for way in ("encode", "decode")
        for part in ("", "_low", "_high")
    },
    "kind": None,
    "note": None,
    "reader": None,
    "round_trip": "bool",
    "input": None,
}


def compare(
    value: Any,
    /,
    *,
    formats: Iterable[str | Candidate] | None = None,
    tokenizer: str | Counter = "o200k_base",
    seconds: float = 0.5,
    price: float | None = None,
    progress: bool | Show | None = None,
) -> pd.DataFrame:
    """Measure an input in each format: bytes, tokens and time.

    Parameters
    ----------
    value : Response, str, value of JSON, gcf.Payload, CAD document, list of messages, Corpus, \
            DataFrame, Arrow table or column, list or iterator of these, or path-like
        The input. A `str` is the result of a response. Each item of a list of `Response` and `str`
        (or of `gcf.Payload`) is an input of its own; any other list is one value. A `Corpus` has
        named inputs. CAD documents are measured in their canonical form. A DataFrame or table is
        one value, the list of its rows; each row of a column of texts is a message. Several of
        these, such as the batches of `batches`, are joined. A `pathlib.Path` is a file, a folder
        (as in `read_corpus`) or a pattern; each file is an input. For data larger than memory, use
        `measure` and `summarize`.
    formats : iterable of str or Candidate, optional
        The formats, in the order of the table; by default all that can represent the input.
        Responses: the seven of the Compact Protocol. Values: "gcf"; "base85", "zstd" and
        "dictionary" of their compact JSON; "packed", the first request of a `Session`. Graph
        payloads: "gcf", "gcb". CAD documents: those of values, and "cad-0.1", "cad-0.2",
        "cad-binary". All kinds: "json" and "json-pretty". A `Candidate` is a format of your own.
    tokenizer : str or callable
        An encoding of bpe-openai, the name of a model that uses one, such as "gpt-4o", or your own
        function from `str` to `int`.
    seconds : float
        How long to measure times in the whole call, in seconds; 0 leaves the times out. All inputs
        share it. The first input is always timed; inputs for which the time does not suffice have
        no times.
    price : float, optional
        The price of a million tokens, for the column ``price``, in any currency.
    progress : bool or callable, optional
        Whether to show the progress in a line on standard error; by default on a terminal, if the
        call takes long. A function is called with a `Progress` before each input and at the end.

    Returns
    -------
    DataFrame
        One row per input and format: ``format``, ``bytes`` (UTF-8), ``tokens`` (missing for formats
        whose output is bytes), ``bytes_vs_json``, ``tokens_vs_json`` (0.4 is 40% of compact JSON),
        ``bytes_vs_pretty``, ``tokens_vs_pretty`` (of indented JSON), ``price`` (of the tokens, if
        one is given), ``encode_seconds``, ``decode_seconds`` (medians of interleaved rounds) with
        ``_low`` and ``_high`` (quartiles), ``kind``, ``note`` (why the input did not come back),
        ``reader`` ("model" where a language model can read it), ``round_trip`` (whether the input
        came back equal; numbers by value) and ``input`` (its name).
        ``frame.attrs["tokenizer"]`` names the tokenizer.

    Raises
    ------
    TypeError
        The input is of a type that cannot be compared.
    CompactWireError
        A format is unknown or named twice, a corpus is empty, a value contains itself or is nested
        too deep, a number is out of range, a file does not match its suffix, a row cannot be read,
        there is no row with a text, or a `str` is the name or pattern of a file.
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
    seconds = _finite("seconds", seconds)
    pandas = need("pandas", "pandas")
    count = counter(tokenizer)
    per_token = None if price is None else checked_price(price) / 1e6
    wanted = None if formats is None else listed(formats)
    # Check all inputs before measuring any, so that an invalid one does not end a long run.
    todo = [_ready(name, item) for name, item in named(value).items()]
    check_known(wanted, {kind for _, kind, _ in todo})
    rows: list[dict[str, Any]] = []
    budget = Budget(seconds, len(todo))
    for name, kind, item in watched(todo, progress):
        rows += _rows(name, kind, item, wanted, count, budget)
    columns = [name for name in _TYPES if name != "price" or per_token is not None]
    types = {name: _TYPES[name] for name in columns if _TYPES[name]}
    for row in rows if per_token is not None else ():
        row["price"] = None if row["tokens"] is None else row["tokens"] * per_token
    frame: pd.DataFrame = pandas.DataFrame(rows, columns=columns).astype(types)
    frame.attrs["tokenizer"] = name_of(tokenizer)
    return frame


def checked_price(price: float) -> float:
    """Return the price of a million tokens, which is 0 or more."""
    return _finite("price", price)


def _finite(name: str, value: float) -> float:
    number = real(name, value)
    if not 0 <= number < math.inf:  # Also true for NaN.
        raise OptionError(f"{name} must be 0 or more and finite, not {number}", option=name)
    return number


def named(value: Any) -> Mapping[str, Any]:
    """Return the inputs by name: those of a corpus, the messages of a list, or a single one."""
    value = opened(value)
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


def listed(formats: Iterable[str | Candidate]) -> list[str | Candidate]:
    """Return the formats of a call, none of which occurs twice."""
    if isinstance(formats, str):
        raise TypeError(f"formats must be a list, such as [{formats!r}]")
    listed = list(iterated("formats", formats, "str or Candidate"))
    if not listed:
        message = "formats is empty: pass at least one, or omit it for all formats"
        raise OptionError(message, option="formats")
    names = [item.name if isinstance(item, Candidate) else item for item in listed]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"duplicate format {shown(name)}", option="formats")
    return listed


def check_known(wanted: list[str | Candidate] | None, kinds: set[Kind]) -> None:
    """Raise an error for a format that no input of these kinds has."""
    known = {name for kind in kinds for name in candidates(kind)}
    for at, item in enumerate(wanted or []):
        if isinstance(item, str) and item not in known:
            message = (
                f"unknown format {shown(str(item))} for {' and '.join(sorted(kinds))};"
                f" expected {', '.join(sorted(known))}, or your own Candidate"
            )
            raise OptionError(message, option="formats")
        if not isinstance(item, str | Candidate):
            found = type(item).__name__
            raise TypeError(f"formats[{at}] must be a str or a Candidate, not {found}")


def _rows(
    name: str,
    kind: Kind,
    value: Any,
    wanted: list[str | Candidate] | None,
    count: Counter,
    budget: Budget,
) -> list[dict[str, Any]]:
    known = candidates(kind)
    bases = [known[JSON], known[PRETTY]]
    if wanted is None:
        chosen = list(known.values())
    else:
        found = [known.get(item) if isinstance(item, str) else item for item in wanted]
        chosen = [candidate for candidate in found if candidate]
    measured = measure(value, chosen, count, budget)
    json, pretty = measure(value, bases, count)
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
