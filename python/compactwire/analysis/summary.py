"""Summaries of measurements that merge: whole numbers only, so that every partitioning agrees.

A summary has the columns ``format, what, bin, count, total``. Merging is ``group by format, what,
bin`` with the sums of ``count`` and ``total``, which every engine has.

| what | bin | count | total |
|---|---|---|---|
| ``inputs`` | 0 | rows | 0 |
| ``bytes`` | of the bytes | rows of these sizes | their bytes |
| ``share`` | of bytes * 1,000,000 // json_bytes | rows of these shares | 0 |
| ``json_bytes``, ``pretty_bytes`` | 0 | rows with ``bytes`` | their bytes as JSON |
| ``tokens``, ``json_tokens`` | 0 | rows that are counted in both | their tokens |
| ``round_trip`` | 0 | rows that came back equal | 0 |
| ``error:`` and a class | 0 | rows that failed with it | 0 |

A number below 256 is its own bin. Above, a bin is the exponent of a number and the 7 bits after the
highest; its lower edge is at most 1/128 less than any number in it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .._texts import iterated
from ..errors import CompactWireError
from .candidates import JSON, PRETTY, candidates
from .comparison import checked_price
from .extra import need
from .producers import raise_of_producer
from .rows import measured_schema

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# The bits of a number, after the highest, that decide its bin.
_BITS = 7
_PPM = 1_000_000
# The largest int64 of Arrow.
_MOST = (1 << 63) - 1
# The bits of the lower half of a number whose sum is computed in two halves.
_HALF = 32
_KEYS = ["format", "what", "bin"]
# How many summaries are held while many are merged.
_AT_ONCE = 64
_QUANTILES = (0.05, 0.5, 0.95)
_ERROR = "error:"


def summarize(table: pa.Table, /) -> pa.Table:
    """Summarize a table of `measure`: a few hundred rows, whatever its length.

    Parameters
    ----------
    table : Arrow table
        The result of `measure`, or some of its rows.

    Returns
    -------
    pyarrow.Table
        ``format``, ``what``, ``bin``, ``count``, ``total``; see `merge`.

    Raises
    ------
    TypeError
        It is no table of Arrow.
    CompactWireError
        A column of `measure` is missing; the message names it.
    OverflowError
        A sum passes 2^63 - 1.

    Examples
    --------
    >>> import pyarrow
    >>> from compactwire.analysis import measure
    >>> table = measure(pyarrow.array(["yes", "no"]), formats=["dsl"], tokenizer=None)
    >>> summarize(table).filter(pyarrow.compute.field("what") == "bytes").to_pylist()[0]
    {'format': 'dsl', 'what': 'bytes', 'bin': 12, 'count': 1, 'total': 12}
    """
    schema = measured_schema()
    schema = schema.remove(schema.get_field_index("row"))
    return merge(_parts(_table(table, schema, "table", "measure")))


def merge(tables: Iterable[pa.Table], /) -> pa.Table:
    """Merge summaries; the result does not depend on their order or number.

    Parameters
    ----------
    tables : iterable of Arrow table
        Results of `summarize`, or of `merge`. They are read one after the other.

    Returns
    -------
    pyarrow.Table
        The sums of ``count`` and ``total`` for each ``format``, ``what`` and ``bin``, sorted.

    Raises
    ------
    TypeError
        An item is no table of Arrow.
    CompactWireError
        A column is missing; the message names it.
    OverflowError
        A sum passes 2^63 - 1.

    Examples
    --------
    >>> merge([]).num_rows
    0
    """
    pa = need("pyarrow", "pyarrow")
    if hasattr(tables, "__arrow_c_stream__"):
        raise TypeError("tables must be a list of tables, not one table")
    found = _schema().empty_table()
    rest = enumerate(iterated("tables", tables, "tables of Arrow"))
    while some := list(itertools.islice(rest, _AT_ONCE)):
        given = [_summary(one, f"tables[{at}]") for at, one in some]
        found = _summed(pa.concat_tables([found, *given]))
    return found


def report(summary: pa.Table, /, *, price: float | None = None) -> pd.DataFrame:
    """Return the figures of a summary, one row per format.

    Parameters
    ----------
    summary : Arrow table
        The result of `summarize` or `merge`.
    price : float, optional
        The price of a million tokens, for the column ``price``, in any currency.

    Returns
    -------
    DataFrame
        ``format``; ``inputs`` (rows), ``failed`` (not read, written or read back) and ``lossy``
        (read back, but not equal); ``bytes`` and ``bytes_vs_json``, a ratio of sums over the rows
        that could be written; ``counted`` (rows whose tokens are counted), ``tokens`` and
        ``tokens_vs_json``, a ratio of their sums; ``price`` (of the counted tokens, if given);
        ``bytes_p05``, ``bytes_p50``, ``bytes_p95`` and ``share_p05``, ``share_p50``,
        ``share_p95``: quantiles of the bytes, and of the share of compact JSON, of single rows, at
        most 1/128 too small; and ``errors``, the failures by class, most frequent first.

    Raises
    ------
    TypeError, CompactWireError, OverflowError, ImportError
        As `merge`; or the price is negative.

    Examples
    --------
    >>> report(merge([])).columns[:4].tolist()
    ['format', 'inputs', 'failed', 'lossy']
    """
    pandas = need("pandas", "pandas")
    per_token = None if price is None else checked_price(price) / 1e6
    found: dict[str, dict[str, dict[int, tuple[int, int]]]] = {}
    for row in _summed(_summary(summary, "summary")).to_pylist():
        bins = found.setdefault(row["format"], {}).setdefault(row["what"], {})
        bins[row["bin"]] = (row["count"], row["total"])
    lines = [_line(name, found[name], per_token) for name in sorted(found, key=_place)]
    columns = list(_line("", {}, per_token))
    types = dict.fromkeys(("bytes", "tokens", "bytes_p05", "bytes_p50", "bytes_p95"), "Int64")
    frame: pd.DataFrame = pandas.DataFrame(lines, columns=columns).astype(types)
    return frame


def _table(table: Any, schema: pa.Schema, argument: str, maker: str) -> pa.Table:
    """Return the columns of a table with these types, which an engine may have changed."""
    given = type(table).__name__
    message = f"{argument} must be a table of Arrow that {maker}() returned, not {given}"
    if not hasattr(table, "__arrow_c_stream__"):
        raise TypeError(message)
    pa = need("pyarrow", "pyarrow")
    try:
        found = pa.table(table)
    except pa.ArrowException as error:  # A column.
        raise_of_producer(table, error)
        raise TypeError(f"{message}: {error}") from None
    for name in schema.names:
        if found.column_names.count(name) != 1:
            what = "two columns" if name in found.column_names else "no column"
            message = f"the table has {what} {name!r}: pass the result of {maker}()"
            raise CompactWireError(message)
    try:
        return found.select(schema.names).cast(schema)
    except MemoryError:  # That of pyarrow is an `ArrowException`, too.
        raise
    except pa.ArrowException as error:
        message = f"the table has other values than those of {maker}(): {error}"
        raise CompactWireError(message) from error


def _summary(table: Any, argument: str) -> pa.Table:
    found = _table(table, _schema(), argument, "summarize")
    compute = need("pyarrow.compute", "pyarrow")
    largest = {"bin": bin_of(_MOST), "count": _MOST, "total": _MOST}
    for name in found.column_names:
        if found[name].null_count:
            raise CompactWireError(f"the column {name!r} has nulls; summarize() makes none")
        bounds = compute.min_max(found[name]).as_py() if name in largest and len(found) else {}
        for value in bounds.values():
            if not 0 <= value <= largest[name]:
                raise CompactWireError(
                    f"the column {name!r} has {value}; summarize() makes numbers from 0 to"
                    f" {largest[name]}"
                )
    return found


def _schema() -> pa.Schema:
    pa = need("pyarrow", "pyarrow")
    numbers = {"bin": pa.int32(), "count": pa.int64(), "total": pa.int64()}
    return pa.schema({"format": pa.string(), "what": pa.string(), **numbers})


# Sums ---------------------------------------------------------------------------------------------


def _summed(table: pa.Table) -> pa.Table:
    """Group by format, what and bin, and add up; sorted."""
    pa = need("pyarrow", "pyarrow")
    compute = need("pyarrow.compute", "pyarrow")
    halves = {
        f"{name} {part}": half
        for name in ("count", "total")
        for part, half in _halves(compute, table[name])
    }
    grouped = pa.table({**{key: table[key] for key in _KEYS}, **halves})
    groups = grouped.group_by(_KEYS, use_threads=False)
    grouped = groups.aggregate([(name, "sum") for name in halves])
    sums = {name: _joined(grouped, name) for name in ("count", "total")}
    found = pa.table({**{key: grouped[key] for key in _KEYS}, **sums}).cast(_schema())
    return found.sort_by([(key, "ascending") for key in _KEYS]).combine_chunks()


def _halves(compute: Any, column: Any) -> Iterator[tuple[str, Any]]:
    """Cut numbers in halves, whose sums cannot pass 64 bits: the sum of Arrow does not check."""
    yield "high", compute.shift_right(column, _HALF)
    yield "low", compute.bit_wise_and(column, (1 << _HALF) - 1)


def _joined(table: Any, name: str) -> list[int]:
    high, low = (table[f"{name} {part}_sum"].to_pylist() for part in ("high", "low"))
    sums = [(one << _HALF) + two for one, two in zip(high, low, strict=True)]
    _check_sums(name, sums)
    return sums


def _check_sums(name: str, sums: Iterable[int]) -> None:
    if any(one > _MOST for one in sums):
        raise OverflowError(f"a sum of {name} passes 2^63 - 1: make several summaries")


def _parts(table: Any) -> Iterator[Any]:
    """The rows of a summary, before they are added up."""
    compute = need("pyarrow.compute", "pyarrow")
    written = table.filter(compute.is_valid(table["bytes"]))
    yield _part(table, "inputs")
    yield _part(written, "bytes", compute.cast(written["bytes"], "int64"), binned=True)
    yield _part(written, "json_bytes", written["json_bytes"])
    yield _part(written, "pretty_bytes", written["pretty_bytes"])
    positive = written.filter(compute.greater(written["json_bytes"], 0))
    yield _part(positive, "share", _shares(positive), binned=True, summed=False)
    both = compute.and_(compute.is_valid(table["tokens"]), compute.is_valid(table["json_tokens"]))
    counted = table.filter(both)
    yield _part(counted, "tokens", counted["tokens"])
    yield _part(counted, "json_tokens", counted["json_tokens"])
    yield _part(table.filter(table["round_trip"]), "round_trip")
    failed = table.filter(compute.is_valid(table["error"]))
    names = compute.binary_join_element_wise(_ERROR, failed["error"].cast("string"), "")
    yield _part(failed, names)


def _part(
    table: Any, what: Any, values: Any = None, *, binned: bool = False, summed: bool = True
) -> Any:
    pa = need("pyarrow", "pyarrow")
    compute = need("pyarrow.compute", "pyarrow")
    rows = table.num_rows
    names = pa.repeat(pa.scalar(what), rows) if isinstance(what, str) else what
    zeros = pa.repeat(pa.scalar(0, pa.int64()), rows)
    bins = _bins(values) if binned else zeros
    columns = {
        "format": table["format"],
        "what": names,
        "bin": bins,
        "count": pa.repeat(pa.scalar(1, pa.int64()), rows),
        "total": compute.fill_null(values, 0) if summed and values is not None else zeros,
    }
    return pa.table(columns).cast(_schema())


def _shares(table: Any) -> list[int]:
    pairs = zip(table["bytes"].to_pylist(), table["json_bytes"].to_pylist(), strict=True)
    return [size * _PPM // json for size, json in pairs]


def _bins(values: Any) -> list[int]:
    found = values if isinstance(values, list) else values.to_pylist()
    return [bin_of(value) for value in found]


# Bins ---------------------------------------------------------------------------------------------


def bin_of(value: int) -> int:
    """Return the bin of a number, 0 or more."""
    shift = max(0, value.bit_length() - _BITS - 1)
    return (shift << _BITS) + (value >> shift)


def edge_of(number: int) -> int:
    """Return the least number of a bin."""
    shift = max(0, (number >> _BITS) - 1)
    return (number - (shift << _BITS)) << shift


def _quantile(bins: dict[int, tuple[int, int]], part: float) -> int | None:
    """Return the lower edge of the bin in which this part of the rows ends."""
    left = part * sum(count for count, _ in bins.values())
    for number in sorted(bins):
        left -= bins[number][0]
        if left <= 0:
            return edge_of(number)
    return None


# Report -------------------------------------------------------------------------------------------


def _place(name: str) -> tuple[int, str]:
    """The order of `compare`; formats of the caller come last."""
    known = [JSON, PRETTY, *candidates("response"), *candidates("value")]
    return (known.index(name) if name in known else len(known), name)


def _line(
    name: str, whats: dict[str, dict[int, tuple[int, int]]], per_token: float | None
) -> dict[str, Any]:
    counts = {what: sum(count for count, _ in bins.values()) for what, bins in whats.items()}
    totals = {what: sum(total for _, total in bins.values()) for what, bins in whats.items()}
    _check_sums("count", counts.values())
    _check_sums("total", totals.values())
    errors = {what.removeprefix(_ERROR): counts[what] for what in counts if what.startswith(_ERROR)}
    inputs, failed = counts.get("inputs", 0), sum(errors.values())
    line: dict[str, Any] = {
        "format": name,
        "inputs": inputs,
        "failed": failed,
        "lossy": inputs - failed - counts.get("round_trip", 0),
        "bytes": totals.get("bytes", 0),
        "bytes_vs_json": _ratio(totals, "bytes"),
        "counted": counts.get("tokens", 0),
        "tokens": totals.get("tokens"),
        "tokens_vs_json": _ratio(totals, "tokens"),
    }
    if per_token is not None:
        line["price"] = totals["tokens"] * per_token if "tokens" in totals else None
    for what, scale in (("bytes", 1), ("share", _PPM)):
        for part in _QUANTILES:
            edge = _quantile(whats.get(what, {}), part)
            line[f"{what}_p{part * 100:02.0f}"] = (
                edge if edge is None or scale == 1 else edge / scale
            )
    ordered = sorted(errors.items(), key=lambda one: (-one[1], one[0]))
    line["errors"] = ", ".join(f"{kind}: {count}" for kind, count in ordered)
    return line


def _ratio(totals: dict[str, int], unit: str) -> float | None:
    base = totals.get(f"json_{unit}")
    return totals[unit] / base if base else None
