"""`measure`: the size of each row in each format, for data of any size.

Rows are encoded by the functions of `compactwire.arrow` where one exists, a whole batch per call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from compactwire import Response, arrow

from .._texts import real
from ..errors import OptionError
from .candidates import JSON, PRETTY, PROTOCOL, Candidate, Kind, candidates, text_of
from .comparison import check_known, listed
from .corpus import parse
from .extra import need
from .measured import same
from .sources import Reading, RowKind, Rows, rows_of
from .tokens import Counter, counter

if TYPE_CHECKING:
    import pyarrow as pa

_KINDS: dict[str, Kind] = {"text": "response", "json": "value"}
_NO_SEED = bytes(8)


def measure(
    source: Any,
    /,
    *,
    column: str | None = None,
    kind: RowKind = "auto",
    formats: Iterable[str | Candidate] | None = None,
    tokenizer: str | Counter | None = "o200k_base",
    token_fraction: float = 1.0,
) -> pa.Table:
    """Measure each row of a source in each format: bytes, tokens and whether it comes back.

    For a source larger than memory, measure the batches one by one:
    ``merge(summarize(measure(batch)) for batch in batches(source))``.

    Parameters
    ----------
    source, column, kind
        As in `batches`; or a batch of it.
    formats : iterable of str or Candidate, optional
        The formats, as in `compare`; by default all of the kind: those of responses for texts,
        those of values for JSON.
    tokenizer : str, callable or None
        As in `compare`; None counts no tokens.
    token_fraction : float
        The part of the rows whose tokens are counted, from 0 to 1. The hash of a row decides, so
        that the same rows are counted however they are partitioned.

    Returns
    -------
    pyarrow.Table
        For each row of the source that is not null, a row per format: ``row`` (its index in the
        source, from 0), ``format``, ``bytes`` (UTF-8), ``json_bytes``, ``pretty_bytes`` (as
        compact and as indented JSON), ``tokens``, ``json_tokens`` (null where they are not
        counted), ``round_trip`` (whether the row came back equal) and ``error`` (the class of the
        error of a row that cannot be read, written or read back). There are no times: `compare`
        measures them on a sample.

    Raises
    ------
    TypeError, CompactWireError, OSError, ImportError
        As `batches`; or a format or the tokenizer is unknown. A row that fails is no error.

    Examples
    --------
    >>> import pyarrow
    >>> texts = pyarrow.array(["The answer is 42.", None])
    >>> table = measure(texts, formats=["dsl"])
    >>> table.select(["row", "format", "bytes", "json_bytes", "tokens", "round_trip"]).to_pylist()
    [{'row': 0, 'format': 'dsl', 'bytes': 27, 'json_bytes': 66, 'tokens': 12, 'round_trip': True}]
    """
    token_fraction = real("token_fraction", token_fraction)
    if not 0 <= token_fraction <= 1:
        message = f"token_fraction must be from 0 to 1, not {token_fraction}"
        raise OptionError(message, option="token_fraction")
    reading = Reading(column, kind)
    # Before the tokenizer, whose error names a smaller extra.
    pa = need("pyarrow", "pyarrow")
    how = _How(
        None if formats is None else listed(formats),
        None if tokenizer is None else counter(tokenizer),
        int(token_fraction * (1 << 64)),
    )
    tables, first = [measured_schema().empty_table()], 0
    check_known(how.formats, {"response", "value"})
    for rows in rows_of(source, reading):
        check_known(how.formats, {_KINDS[rows.kind]})
        tables.append(_row_after_row(list(_measured(rows, first, how))))
        first += len(rows.texts)
    return pa.concat_tables(tables)


@dataclass(frozen=True)
class _How:
    formats: list[str | Candidate] | None
    count: Counter | None
    threshold: int
    """Tokens are counted of rows whose hash is less."""


@dataclass(frozen=True)
class _Encoded:
    """The rows of a batch in one format; None where a row failed."""

    texts: list[Any]
    whole: list[bool]
    errors: list[str | None]


@dataclass(frozen=True)
class _Parsed:
    """The rows of a batch that are not null, and their JSON forms; None where a row failed."""

    places: list[int]
    values: list[Any]
    json: list[Any]
    pretty: list[Any]
    errors: list[str | None]


def measured_schema() -> pa.Schema:
    """The schema of the table that `measure` returns."""
    pa = need("pyarrow", "pyarrow")
    sizes = ("bytes", "json_bytes", "pretty_bytes", "tokens", "json_tokens")
    return pa.schema(
        [("row", pa.int64()), ("format", pa.string())]
        + [(name, pa.int64()) for name in sizes]
        + [("round_trip", pa.bool_()), ("error", pa.string())]
    )


def _measured(rows: Rows, first: int, how: _How) -> Iterator[pa.Table]:
    """Measure a batch: a table per format."""
    kind = _KINDS[rows.kind]
    known = candidates(kind)
    parsed = _parsed(rows, known)
    counted = [
        how.count is not None and _hash(rows.texts[place] or "") < how.threshold
        for place in parsed.places
    ]
    json_tokens = _tokens(parsed.json, counted, how.count)
    shared = {
        "row": [first + place for place in parsed.places],
        "json_bytes": _sizes(parsed.json),
        "pretty_bytes": _sizes(parsed.pretty),
        "json_tokens": json_tokens,
    }
    for item in list(known.values()) if how.formats is None else how.formats:
        candidate = known[item] if isinstance(item, str) else item
        ours = isinstance(item, str) or how.formats is None
        found = _encoded(candidate, ours, kind, parsed)
        tokens = (
            json_tokens
            if ours and candidate.name == JSON
            else _tokens(found.texts, counted, how.count)
        )
        columns = {
            **shared,
            "format": [candidate.name] * len(parsed.places),
            "bytes": _sizes(found.texts),
            "tokens": tokens,
            "round_trip": found.whole,
            "error": found.errors,
        }
        yield need("pyarrow", "pyarrow").table(columns, schema=measured_schema())


def _row_after_row(tables: list[pa.Table]) -> pa.Table:
    """Join the tables of the formats so that the formats of a row follow each other."""
    pa = need("pyarrow", "pyarrow")
    rows = tables[0].num_rows
    order = [place + row for row in range(rows) for place in range(0, rows * len(tables), rows)]
    return pa.concat_tables(tables).take(pa.array(order, pa.int64()))


def _hash(text: str) -> int:
    return int.from_bytes(sha256(_NO_SEED + text.encode()).digest()[:8], "big")


def _sizes(texts: Iterable[str | bytes | None]) -> list[int | None]:
    return [
        None if text is None else len(text.encode() if isinstance(text, str) else text)
        for text in texts
    ]


def _tokens(
    texts: Sequence[str | bytes | None], counted: list[bool], count: Counter | None
) -> list[int | None]:
    return [
        count(text) if count and chosen and isinstance(text, str) else None
        for text, chosen in zip(texts, counted, strict=True)
    ]


def _parsed(rows: Rows, known: dict[str, Candidate]) -> _Parsed:
    found = _Parsed([], [], [], [], [])
    read: Callable[[str], Any] = Response if rows.kind == "text" else parse
    for place, (text, error) in enumerate(zip(rows.texts, rows.errors, strict=True)):
        if text is None and error is None:
            continue
        value: Any = None
        json: Any = None
        pretty: Any = None
        if text is not None:
            try:
                value = read(text)
                json, pretty = known[JSON].encode(value), known[PRETTY].encode(value)
                json.encode()  # Not possible for a lone surrogate.
            except MemoryError:  # It says nothing about the row.
                raise
            except Exception as failure:  # The row failed: a result to report.
                value = json = pretty = None
                error = type(failure).__name__
        found.places.append(place)
        found.values.append(value)
        found.json.append(json)
        found.pretty.append(pretty)
        found.errors.append(error)
    return found


_UNLIMITED = 1 << 62
"""For `max_expansion`: the messages were just made of texts that are in memory."""


# Formats ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ColumnFormat:
    """The functions of columns of a format; both report errors."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    result: str
    """The field of `decode` that has the text."""


def _column_format(name: str, kind: Kind) -> _ColumnFormat | None:
    if name in PROTOCOL:
        decode = partial(
            arrow.decode, fields=("result",), max_expansion=_UNLIMITED, errors="report"
        )
        encode = partial(arrow.encode, format=cast("Any", name), errors="report")
        return _ColumnFormat(encode, decode, "result")
    if name == "gcf" and kind == "value":
        return _ColumnFormat(
            partial(arrow.gcf_from_json, errors="report"),
            partial(arrow.gcf_to_json, max_expansion=_UNLIMITED, errors="report"),
            "value",
        )
    return None


def _encoded(candidate: Candidate, ours: bool, kind: Kind, parsed: _Parsed) -> _Encoded:
    """Encode a batch: by functions of columns, or row by row."""
    functions = _column_format(candidate.name, kind) if ours else None
    if functions is None:
        return _row_by_row(candidate, parsed)
    plain = kind == "response"
    sent = [value and value.result for value in parsed.values] if plain else parsed.json
    texts, refused = _reported(functions.encode(_column(sent)), "value")
    back, failed = _reported(functions.decode(_column(texts)), functions.result)
    whole = [
        text is not None and (text == put or (not plain and same(parse(text), value)))
        for text, put, value in zip(back, sent, parsed.values, strict=True)
    ]
    reasons = zip(parsed.errors, refused, failed, strict=True)
    return _Encoded(texts, whole, [one or two or three for one, two, three in reasons])


def _column(texts: Sequence[str | None]) -> pa.Array:
    pa = need("pyarrow", "pyarrow")
    return pa.array(texts, pa.large_string())


def _reported(column: Any, field: str) -> tuple[list[str | None], list[str | None]]:
    """Return the texts and the errors of a result with errors="report"."""
    found = need("pyarrow", "pyarrow").chunked_array(column)
    part = need("pyarrow.compute", "pyarrow").struct_field
    return part(found, field).to_pylist(), part(found, "error").to_pylist()


def _row_by_row(candidate: Candidate, parsed: _Parsed) -> _Encoded:
    found = _Encoded([], [], [])
    for value, json, reason in zip(parsed.values, parsed.json, parsed.errors, strict=True):
        text, whole, error = (None, False, reason) if json is None else _one(candidate, value)
        found.texts.append(text)
        found.whole.append(whole)
        found.errors.append(error)
    return found


def _one(candidate: Candidate, value: Any) -> tuple[str | bytes | None, bool, str | None]:
    text = None
    try:
        text = text_of(candidate, value)
        return text, same(candidate.decode(text), value), None
    except MemoryError:  # It says nothing about the format.
        raise
    except Exception as error:  # Any other exception of a format is a result to report.
        return text, False, type(error).__name__
