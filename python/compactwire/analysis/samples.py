"""Samples that merge: the texts with the least hashes, from any partitioning.

The order of the hashes is that of no text, so that the least ones are a random sample; and the
least of the whole are among the least of each part. A text counts once, however often it occurs.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from .._texts import check_positive, check_type, iterated, shown
from ..errors import CompactWireError, OptionError
from .extra import need
from .producers import raise_of_producer
from .sources import Reading, Rows, rows_of, to_batch

if TYPE_CHECKING:
    import pyarrow as pa

_KEY_BYTES = 16
_HELD_OUT_BELOW = 26  # Of 256: about a tenth.
_SEEDS = 1 << 64
_NAMES = ("key", "text")
_ORIGIN = b"compactwire.sample"


class _Origin(NamedTuple):
    """How a sample was taken. It is the metadata of its table, which an engine may drop."""

    seed: int
    hold_out: bool
    k: int
    max_bytes: int | None

    def metadata(self) -> dict[bytes, bytes]:
        """The metadata of the table."""
        return {_ORIGIN: json.dumps(self._asdict()).encode()}

    def check_same(self, other: _Origin) -> None:
        """Check that samples of two origins are parts of one."""
        for name in ("seed", "hold_out"):
            mine, found = sorted((getattr(self, name), getattr(other, name)))
            if mine != found:
                raise CompactWireError(
                    f"the samples were taken with {name}={mine} and {name}={found}: they merge only"
                    " if all have the same; take the samples again"
                )

    def check_size(self, rows: int, size: int, k: int, max_bytes: int | None) -> None:
        """Check that a sample of so many rows and bytes lacks no text that the merged one has."""
        if self.k < k and rows >= self.k:
            raise _too_small("k", self.k, k)
        mine, wanted = (math.inf if n is None else n for n in (self.max_bytes, max_bytes))
        if mine < wanted and size >= mine:
            raise _too_small("max_bytes", self.max_bytes, max_bytes)


def _too_small(name: str, found: int | None, wanted: int | None) -> CompactWireError:
    return CompactWireError(
        f"a sample was taken with {name}={found}, and may lack texts of one with {name}={wanted}:"
        f" merge with {name}={found} or less, or take the samples again"
    )


def sample(
    source: Any,
    /,
    k: int,
    *,
    seed: int = 0,
    max_bytes: int | None = None,
    hold_out: bool = True,
    column: str | None = None,
) -> pa.Table:
    """Take a sample of the distinct texts of a source of any size.

    Parameters
    ----------
    source, column
        As in `batches`; or a batch of it.
    k : int
        The maximum number of texts, 1 or more.
    seed : int
        A number from 0 to 2^64 - 1: another seed gives another sample.
    max_bytes : int, optional
        Take no more texts once they have this many bytes together, 1 or more. The memory is that
        of two samples and a batch.
    hold_out : bool
        Whether to leave out the texts that `held_out` names, about a tenth.

    Returns
    -------
    pyarrow.Table
        ``key`` (the hash of seed and text) and ``text``, in the order of the keys. The same
        table results from the whole source and from `merge_samples` of its parts.

    Raises
    ------
    TypeError, CompactWireError, OSError, ImportError
        As `batches`; or a number is out of range.

    Examples
    --------
    >>> import pyarrow
    >>> texts = pyarrow.array([f"text {n % 50}" for n in range(1000)])
    >>> sample(texts, 3)["text"].to_pylist()
    ['text 18', 'text 19', 'text 28']
    """
    k, max_bytes = _checked(k, max_bytes)
    check_type("hold_out", hold_out, bool)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be an int, not {type(seed).__name__}")
    if not 0 <= seed < _SEEDS:
        raise OptionError(f"seed must be from 0 to 2^64 - 1, not {shown(seed)}", option="seed")
    found = Least(k, max_bytes)
    for rows in rows_of(source, Reading(column)):
        found.add_texts(rows.texts, seed=seed, hold_out=hold_out)
    return _table(found.texts(), _Origin(seed, hold_out, k, max_bytes))


def merge_samples(
    tables: Iterable[pa.Table], /, k: int, *, max_bytes: int | None = None
) -> pa.Table:
    """Merge samples of parts; the result is the sample of the whole.

    Parameters
    ----------
    tables : iterable of Arrow table
        Results of `sample` or `merge_samples` with the same `seed` and `hold_out`, with this `k`
        and `max_bytes` or larger ones. They are read one after the other. How a sample was taken
        is in the metadata of its schema; where an engine dropped that, it is not checked.
    k, max_bytes
        As in `sample`.

    Returns
    -------
    pyarrow.Table
        As `sample`.

    Raises
    ------
    TypeError
        An item is no table of Arrow.
    CompactWireError
        A table is no sample, the samples were not taken alike, or a number is out of range.

    Examples
    --------
    >>> merge_samples([], 10).num_rows
    0
    """
    k, max_bytes = _checked(k, max_bytes)
    if hasattr(tables, "__arrow_c_stream__"):
        raise TypeError("tables must be a list of tables, not one table")
    found = Least(k, max_bytes)
    origin: _Origin | None = None
    for at, table in enumerate(iterated("tables", tables, "tables of Arrow")):
        columns = _columns(table, f"tables[{at}]")
        mine, size = _origin(columns), 0
        if mine is not None and origin is not None:
            mine.check_same(origin)
        for row, (key, text) in enumerate(_rows(columns)):
            if key is None or len(key) != _KEY_BYTES or text is None:
                raise _no_sample(
                    f"row {row} of the sample {at} has no key of {_KEY_BYTES} bytes, or no text"
                )
            found.add(key, text)
            size += len(text.encode())
        if mine is not None:
            mine.check_size(columns.num_rows, size, k, max_bytes)
            origin = mine._replace(k=k, max_bytes=max_bytes)
    return _table(found.texts(), origin)


def held_out(source: Any, /, *, column: str | None = None) -> Iterator[pa.RecordBatch]:
    """Read the texts that no sample has, for verifying what is trained on a sample.

    Parameters
    ----------
    source, column
        As in `batches`; or a batch of it.

    Yields
    ------
    pyarrow.RecordBatch
        As `batches`: the texts of which the first byte of the SHA-256 of ``held-out`` and the text
        is below 26, about a tenth.

    Raises
    ------
    TypeError, CompactWireError, OSError, ImportError
        As `batches`.

    Examples
    --------
    >>> import pyarrow
    >>> texts = pyarrow.array([f"text {n}" for n in range(1000)])
    >>> sum(batch.num_rows for batch in held_out(texts))
    105
    """
    return _held_out(source, Reading(column))


def _held_out(source: Any, reading: Reading) -> Iterator[pa.RecordBatch]:
    for rows in rows_of(source, reading):
        chosen: list[str | None] = [text for text in rows.texts if _is_held_out(text)]
        if chosen:
            yield to_batch(Rows(rows.kind, chosen, [None] * len(chosen)))


def _is_held_out(text: str | None) -> bool:
    return text is not None and sha256(b"held-out" + text.encode()).digest()[0] < _HELD_OUT_BELOW


def _checked(k: int, max_bytes: int | None) -> tuple[int, int | None]:
    """Check the limits of a sample, and cut them to what can exist, for the metadata."""
    check_positive("k", k)
    if max_bytes is not None:
        check_positive("max_bytes", max_bytes)
        max_bytes = min(max_bytes, sys.maxsize)
    return min(k, sys.maxsize), max_bytes


class Least:
    """The texts of the least keys: k, or as many as reach the bytes.

    The text that reaches the bytes belongs to the sample: without it, a part would not know where
    the sample of the whole ends.
    """

    def __init__(self, k: int, max_bytes: int | None) -> None:
        self._k, self._max_bytes = k, max_bytes
        self._found: dict[bytes, tuple[str, int]] = {}
        self._bytes = 0
        # The largest key of a sample that is full: later samples have no larger one.
        self._last: bytes | None = None
        self._set_limits()

    def add_texts(self, texts: Iterable[str | None], *, seed: int, hold_out: bool) -> None:
        """Add texts, unless they are null or held out."""
        prefix = seed.to_bytes(8, "big")
        for text in texts:
            if text is not None and not (hold_out and _is_held_out(text)):
                self.add(sha256(prefix + text.encode()).digest()[:_KEY_BYTES], text)

    def merge(self, part: Least) -> None:
        """Add the sample of a part."""
        for key, text in part.texts().items():
            self.add(key, text)

    def add(self, key: bytes, text: str) -> None:
        """Add a text, unless its key is too large."""
        if key in self._found or (self._last is not None and key > self._last):
            return
        size = len(text.encode())
        self._found[key] = text, size
        self._bytes += size
        if len(self._found) >= self._max_count or self._bytes >= self._max_total:
            self._prune()

    def texts(self) -> dict[bytes, str]:
        """The sample, in the order of the keys."""
        self._prune()
        return {key: text for key, (text, _) in self._found.items()}

    def _prune(self) -> None:
        kept: dict[bytes, tuple[str, int]] = {}
        total = 0
        for key in sorted(self._found):
            kept[key] = self._found[key]
            total += kept[key][1]
            if len(kept) == self._k or (self._max_bytes is not None and total >= self._max_bytes):
                self._last = key
                break
        self._found, self._bytes = kept, total
        self._set_limits()

    def _set_limits(self) -> None:
        """Prune again when the sample has doubled, so that the cost is linear in what is added."""
        self._max_count = 2 * self._k
        least = math.inf if self._max_bytes is None else self._max_bytes
        self._max_total = 2 * max(self._bytes, least)


def _columns(table: Any, argument: str) -> pa.Table:
    """The table of a sample, with columns of the right types."""
    found = type(table).__name__
    message = f"{argument} must be a table of Arrow that sample() returned, not {found}"
    if not hasattr(table, "__arrow_c_stream__"):
        raise TypeError(message)
    pa = need("pyarrow", "pyarrow")
    try:
        columns = pa.table(table)
    except pa.ArrowException as error:
        raise_of_producer(table, error)
        raise TypeError(f"{message}: {error}") from None
    for name in _NAMES:
        if columns.column_names.count(name) != 1:
            what = "two columns" if name in columns.column_names else "no column"
            raise _no_sample(f"the table has {what} {name!r}")
    # An engine may have its own types for texts and bytes.
    for name, kinds in zip(_NAMES, ("binary", "string"), strict=True):
        kind = columns[name].type
        tests = [getattr(pa.types, f"is_{size}{kinds}") for size in ("", "large_")]
        tests.append(getattr(pa.types, f"is_{kinds}_view"))
        if name == "key":
            tests.append(pa.types.is_fixed_size_binary)
        if not pa.types.is_null(kind) and not any(test(kind) for test in tests):
            raise _no_sample(f"the column {name!r} has the type {kind}, not {kinds}")
    return columns


def _no_sample(problem: str) -> CompactWireError:
    return CompactWireError(f"{problem}: pass results of sample()")


def _rows(columns: pa.Table) -> Iterator[tuple[bytes | None, str | None]]:
    return zip(*(columns[name].to_pylist() for name in _NAMES), strict=True)


def _origin(table: pa.Table) -> _Origin | None:
    """How a sample was taken, if its metadata says it."""
    text = (table.schema.metadata or {}).get(_ORIGIN)
    if text is None:
        return None
    try:
        origin = _Origin(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        origin = None
    if origin is None or list(map(type, origin[:3])) != [int, bool, int]:
        raise _no_sample(f"the metadata {_ORIGIN.decode()!r} of the table is damaged")
    return origin


def _table(found: dict[bytes, str], origin: _Origin | None) -> pa.Table:
    pa = need("pyarrow", "pyarrow")
    types = (pa.binary(_KEY_BYTES), pa.large_string())
    schema = pa.schema(list(zip(_NAMES, types, strict=True)), origin and origin.metadata())
    return pa.table([list(found), list(found.values())], schema=schema)
