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

from ._shell import complain, read_text, source_name, tell, tell_with_errors

if TYPE_CHECKING:
    import pyarrow as pa

    from compactwire.analysis.sources import Rows

SEED = 0
_STDIN = Path("-")
# No sample has so many texts.
_UNLIMITED = 1 << 62


@dataclass(frozen=True)
class Sampling:
    """Which texts of files are samples."""

    column: str | None
    max_bytes: int
    """The bytes of all of them."""
    max_input: int
    """The bytes of a file that is one text."""
    hold_out: bool


@dataclass(frozen=True)
class Size:
    """The bytes of the held-out texts in one format, and their share of compact JSON."""

    bytes: int
    share: float


def files_of(paths: Iterable[str], column: str | None, failed: list[Path]) -> list[Path]:
    """Return the files of paths, folders and patterns.

    Of a folder, hidden files and links are passed over, and with a column files of an unknown kind.
    A path that has no file is reported and added to `failed`.
    """
    from compactwire.analysis.corpus import kind_of_file
    from compactwire.analysis.folders import below, kind_of
    from compactwire.analysis.sources import Reading, files

    def leave_out(error: OSError) -> None:
        complain(error)
        failed.append(Path(error.filename))

    found: list[Path] = []
    for path in map(Path, paths):
        try:
            kind = kind_of(path)
            if kind == "folder":
                every = below(path, leave_out)
                found += [file for file in every if column is None or kind_of_file(file)]
            elif kind is not None or path == _STDIN:
                found.append(path)
            else:
                found += files(path, Reading(kind="text"), leave_out)
        except (OSError, CompactWireError) as error:
            # The command has no option for this hint.
            hint = "; to measure a text, put it into a column"
            complain(ValueError(str(error).removesuffix(hint)))
            failed.append(path)
    return found


def sampled(files: Iterable[Path], how: Sampling, failed: list[Path]) -> list[str]:
    """Return a sample of the texts of files, in the order of their hashes.

    A file that cannot be read to its end is reported, added to `failed` and left out.

    Raises
    ------
    ValueError
        A file is Parquet, and the extra ``analysis`` is not installed.
    """
    from compactwire.analysis.samples import Least

    found = Least(_UNLIMITED, how.max_bytes)
    unreadable: Counter[str] = Counter()
    with_errors: list[str] = []
    for file in files:
        part = Least(_UNLIMITED, how.max_bytes)
        errors: Counter[str] = Counter()
        try:
            for rows in _read(file, how):
                errors.update(filter(None, rows.errors))
                part.add_texts(rows.texts, seed=SEED, hold_out=how.hold_out)
        except ImportError as error:
            raise ValueError(str(error)) from error
        except (OSError, ValueError) as error:
            complain(error)
            failed.append(file)
        else:
            found.merge(part)
            unreadable += errors
            with_errors += [str(file)] if errors else []
    _tell_failed(unreadable)
    tell_with_errors(with_errors)
    return list(found.texts().values())


def held_out_sizes(
    dictionary: cw.Dictionary, files: Iterable[Path], how: Sampling
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
        for batch in held_out(_batches(file, how))
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


def _batches(file: Path, how: Sampling) -> Iterator[pa.RecordBatch]:
    from compactwire.analysis.sources import to_batch

    return map(to_batch, _read(file, how))


def _read(file: Path, how: Sampling) -> Iterator[Rows]:
    """Read the rows of a file, or the file as one text.

    Raises
    ------
    OSError, ValueError
        The file is damaged; or it is one row, which cannot be read.
    """
    from compactwire.analysis.sources import Reading, Rows, read_file

    if how.hold_out and not file.is_file():
        name = source_name(str(file))
        raise CompactWireError(f"{name}: a pipe or device, and --held-out reads each file twice")
    whole = not _has_rows(file)
    if file == _STDIN and how.column is not None:
        raise CompactWireError(
            "standard input: it is one text, and --column needs the suffix of a file, such as"
            " .jsonl"
        )
    if whole and how.column is None:
        # A byte order mark is of the file; the messages to compress begin without one.
        text = read_text(str(file), how.max_input).removeprefix("\ufeff")
        yield Rows("text", [text], [None])
        return
    for rows, _ in read_file(file, Reading(how.column)):
        if whole:
            for error in filter(None, rows.errors):
                raise CompactWireError(f"{file}: {_in_words(error, how.column)}")
        yield rows


def _has_rows(path: Path) -> bool:
    """Whether the rows of the file are texts of their own, by its suffix."""
    from compactwire.analysis.corpus import kind_of_file

    return kind_of_file(path) in ("lines", "csv", "table")


def _in_words(error: str, column: str | None) -> str:
    """What is wrong with a file that is one row, by the class of the error."""
    from compactwire.analysis.sources import MAX_ROW

    if error == UnicodeDecodeError.__name__:
        return "not UTF-8"
    if error == "RowTooLarge":
        return f"larger than {MAX_ROW:,} bytes, the limit of a text"
    return f"expected a JSON object with a text in {column!r}: {error}"


def _tell_failed(failed: Counter[str]) -> None:
    if failed:
        counts = ", ".join(f"{name}: {count}" for name, count in sorted(failed.items()))
        tell(f"compactwire: rows that cannot be read are left out: {counts}")
