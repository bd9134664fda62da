"""Samples for ``compactwire train`` from files of any size, and what the held-out texts measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import compactwire as cw
from compactwire import CompactWireError

from ._shell import tell

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

# No sample has so many texts.
_UNLIMITED = 1 << 62


@dataclass(frozen=True)
class Size:
    """The bytes of the held-out texts in one format, and their share of compact JSON."""

    bytes: int
    share: float


def sampled(
    paths: Iterable[str], column: str | None, max_bytes: int, *, hold_out: bool
) -> list[str]:
    """Return a sample of the texts of files, in the order of their hashes.

    Raises
    ------
    ValueError
        A file cannot be read, or the extra ``analysis`` is not installed.
    """
    try:
        from compactwire.analysis import sample

        batches = _counted(_batches(paths, column))
        table = sample(batches, _UNLIMITED, max_bytes=max_bytes, hold_out=hold_out)
        texts: list[str] = table["text"].to_pylist()
    except (ImportError, CompactWireError) as error:
        # `kind` is no option of the command.
        message = str(error).removesuffix("; with kind='text', it is one text")
        raise ValueError(message) from error
    return texts


def has_rows(path: Path) -> bool:
    """Whether the rows of the file are texts of their own, by its suffix."""
    from compactwire.analysis.corpus import kind_of_file

    return kind_of_file(path) in ("lines", "csv", "table")


def rows_of(path: Path, column: str | None) -> Iterator[str]:
    """Return the rows of a file; at the end, tell how many could not be read.

    Raises
    ------
    ValueError
        The file cannot be read, or is Parquet and the extra ``analysis`` is not installed.
    """
    from compactwire.analysis.sources import Reading, read_file

    failed: Counter[str] = Counter()
    try:
        for rows, _ in read_file(path, Reading(column)):
            failed.update(error for error in rows.errors if error)
            yield from (text for text in rows.texts if text is not None)
    except ImportError as error:
        raise ValueError(str(error)) from error
    _tell_failed(failed)


def held_out_sizes(
    dictionary: cw.Dictionary, paths: Iterable[str], column: str | None
) -> tuple[Size, Size, Size]:
    """Measure the held-out texts with this dictionary, the built-in one and none.

    Raises
    ------
    ValueError
        No text is held out.
    """
    from compactwire.analysis import Candidate, held_out, measure, merge, report, summarize

    own = Candidate(
        "new",
        partial(cw.encode, format="dictionary", dictionary=dictionary),
        partial(cw.decode, dictionaries=[dictionary]),
        "program",
    )
    parts = (
        summarize(measure(batch, kind="text", formats=[own, "dictionary", "zstd"], tokenizer=None))
        for batch in held_out(_batches(paths, column))
    )
    frame = report(merge(parts)).set_index("format")
    if frame.empty:
        raise ValueError("no text is held out, which is about one of ten: the texts are too few")
    tell(f"held out: {frame.loc['new', 'inputs']:,} texts")
    new, built_in, plain = (
        Size(int(frame.loc[name, "bytes"]), float(frame.loc[name, "bytes_vs_json"]))
        for name in ("new", "dictionary", "zstd")
    )
    return new, built_in, plain


def _batches(paths: Iterable[str], column: str | None) -> Iterator[pa.RecordBatch]:
    from compactwire.analysis.sources import Reading, files, read_file, to_batch

    reading = Reading(column)
    found: list[Path] = [file for path in paths for file in files(path, reading)]
    for file in found:
        for rows, _ in read_file(file, reading):
            yield to_batch(rows)


def _counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pass batches on; at the end, tell how many rows could not be read."""
    failed: Counter[str] = Counter()
    for batch in batches:
        failed.update(batch["error"].drop_null().to_pylist())
        yield batch
    _tell_failed(failed)


def _tell_failed(failed: Counter[str]) -> None:
    if failed:
        counts = ", ".join(f"{name}: {count}" for name, count in sorted(failed.items()))
        tell(f"compactwire: rows that cannot be read are left out: {counts}")
