"""Samples for ``compactwire train`` from files of any size, and what the held-out texts measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import compactwire as cw
from compactwire import CompactWireError

from ._shell import complain, tell

if TYPE_CHECKING:
    import pyarrow as pa

    from compactwire.analysis.sources import Rows

# No sample has so many texts.
_UNLIMITED = 1 << 62


@dataclass(frozen=True)
class Size:
    """The bytes of the held-out texts in one format, and their share of compact JSON."""

    bytes: int
    share: float


def files_of(paths: Iterable[str], column: str | None, failed: list[Path]) -> list[Path]:
    """Return the files whose texts are sampled.

    A path that has no file, or one of an unknown kind, is reported, added to `failed` and left out.
    """
    from compactwire.analysis.sources import Reading, files

    found: list[Path] = []
    for path in paths:
        try:
            found += files(path, Reading(column))
        except (OSError, CompactWireError) as error:
            # The command has no option for either of these hints.
            message = str(error).removesuffix("; with kind='text', it is one text")
            message = message.removesuffix("; to measure a text, put it into a column")
            complain(ValueError(message))
            failed.append(Path(path))
    return found


def sampled(
    files: list[Path], column: str | None, max_bytes: int, failed: list[Path], *, hold_out: bool
) -> list[str]:
    """Return a sample of the texts of files, in the order of their hashes.

    A file that cannot be read to its end is reported, added to `failed` and left out.

    Raises
    ------
    ValueError
        The extra ``analysis`` is not installed.
    """
    try:
        from compactwire.analysis import merge_samples

        samples = _samples(files, column, max_bytes, failed, hold_out=hold_out)
        table = merge_samples(samples, _UNLIMITED, max_bytes=max_bytes)
        texts: list[str] = table["text"].to_pylist()
    except ImportError as error:
        raise ValueError(str(error)) from error
    return texts


def _samples(
    files: list[Path], column: str | None, max_bytes: int, failed: list[Path], *, hold_out: bool
) -> Iterator[pa.Table]:
    from compactwire.analysis import sample

    unreadable: Counter[str] = Counter()
    for file in files:
        batches = _counted(_batches(file, column), unreadable)
        try:
            found = sample(batches, _UNLIMITED, max_bytes=max_bytes, hold_out=hold_out)
        except (OSError, CompactWireError) as error:
            complain(error)
            failed.append(file)
        else:
            yield found
    _tell_failed(unreadable)


def has_rows(path: Path) -> bool:
    """Whether the rows of the file are texts of their own, by its suffix."""
    from compactwire.analysis.corpus import kind_of_file

    return kind_of_file(path) in ("lines", "csv", "table")


def rows_of(path: Path, column: str | None, limit: int) -> list[str]:
    """Return the rows of a file, and tell how many could not be read.

    The reading ends with the batch that passes `limit` bytes.

    Raises
    ------
    ValueError
        The file cannot be read, or is Parquet and the extra ``analysis`` is not installed.
    """
    failed: Counter[str] = Counter()
    found: list[str] = []
    size = 0
    try:
        for rows in _read(path, column):
            failed.update(error for error in rows.errors if error)
            texts = [text for text in rows.texts if text is not None]
            found += texts
            size += sum(len(text.encode()) for text in texts)
            if size > limit:
                break
    except ImportError as error:
        raise ValueError(str(error)) from error
    _tell_failed(failed)
    return found


def held_out_sizes(
    dictionary: cw.Dictionary, files: list[Path], column: str | None
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
        for file in files
        for batch in held_out(_batches(file, column))
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


def _batches(file: Path, column: str | None) -> Iterator[pa.RecordBatch]:
    from compactwire.analysis.sources import to_batch

    return map(to_batch, _read(file, column))


def _read(file: Path, column: str | None) -> Iterator[Rows]:
    """Read the rows of a file.

    Raises
    ------
    CompactWireError
        The file is damaged; or it is one row, which cannot be read.
    """
    from compactwire.analysis.sources import Reading, read_file

    for rows, _ in read_file(file, Reading(column)):
        if not has_rows(file):
            for error in filter(None, rows.errors):
                raise CompactWireError(f"{file}: {_in_words(error, column)}")
        yield rows


def _in_words(error: str, column: str | None) -> str:
    """What is wrong with a file that is one row, by the class of the error."""
    from compactwire.analysis.sources import MAX_ROW

    if error == UnicodeDecodeError.__name__:
        return "not UTF-8"
    if error == "RowTooLarge":
        return f"larger than {MAX_ROW:,} bytes, the limit of a text"
    return f"expected a JSON object with a text in {column!r}: {error}"


def _counted(
    batches: Iterable[pa.RecordBatch], unreadable: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """Pass batches on, and count the rows that could not be read."""
    for batch in batches:
        unreadable.update(batch["error"].drop_null().to_pylist())
        yield batch


def _tell_failed(failed: Counter[str]) -> None:
    if failed:
        counts = ", ".join(f"{name}: {count}" for name, count in sorted(failed.items()))
        tell(f"compactwire: rows that cannot be read are left out: {counts}")
