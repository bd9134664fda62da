"""Records of CSV, as lists of cells."""

from __future__ import annotations

import csv
import io
import os
import threading
from collections.abc import Iterable, Iterator
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

# The characters of a file that `delimiter_of` needs.
START = 1 << 16
_DELIMITERS = (",", ";", "\t", "|")
_LARGEST_LIMIT = (1 << 31) - 1  # of a C long of 32 bits


class _Limit:
    """The limit of the module `csv` for a cell, which applies to the whole process.

    It is only raised, and lowered afterwards unless another thread has set it meanwhile.
    """

    def __init__(self) -> None:
        # Reentrant, because the handler of a signal may read a file.
        self._lock = threading.RLock()
        self._usual: int | None = None
        """The limit of the process while a thread has raised it."""

    def next(self, reader: Iterator[list[str]], needed: int) -> list[str] | None:
        """The next record with a limit of `needed`, or the higher one that is set."""
        with self._lock:
            before, outer = csv.field_size_limit(), self._usual
            if needed <= before:
                return next(reader, None)
            self._usual = before if outer is None else outer
            try:
                csv.field_size_limit(needed)
                return next(reader, None)
            finally:
                self._usual = outer
                # The limit is lowered first: Ctrl-C may be raised after each call.
                found = csv.field_size_limit(before)
                if found != needed:
                    csv.field_size_limit(found)

    def after_fork(self) -> None:
        """Undo in a child what a thread that it does not have will not undo."""
        self._lock = threading.RLock()
        if self._usual is not None:
            csv.field_size_limit(self._usual)
            self._usual = None


_LIMIT = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIMIT.after_fork)


def delimiter_of(start: str, kind: str) -> str:
    """Return the delimiter of a file of the kind "csv" or "tsv" that starts with this text.

    That of CSV is the comma, unless the header has none, and has as many cells of another delimiter
    as the first record.
    """
    if kind == "tsv":
        return "\t"
    for delimiter in _DELIMITERS:
        widths = _widths(start, delimiter)
        if widths[:1] > [1] and (delimiter == "," or len(set(widths)) == 1):
            return delimiter
    return ","


def read_table(text: str, kind: str) -> list[dict[str, str]]:
    """Read a file of the kind "csv" or "tsv" as rows of strings.

    Raises
    ------
    ValueError
        As `read_records`, or a record does not have as many cells as the header.
    """
    file, delimiter = io.StringIO(text, newline=""), delimiter_of(text[:START], kind)
    records = read_records(file, delimiter, max(len(text), 1))
    _, header = next(records, (0, []))
    return [_row(cells, header, line) for line, cells in records]


def _row(cells: list[str], header: list[str], line: int) -> dict[str, str]:
    if len(cells) != len(header):
        raise ValueError(
            f"line {line}: expected {len(header)} cells, as in the header, found {len(cells)}; "
            "correct the record, or put cells with a delimiter in quotes"
        )
    return dict(zip(header, cells, strict=True))


def _widths(start: str, delimiter: str) -> list[int]:
    """Return the number of cells of the header and of the first record."""
    reader = csv.reader(io.StringIO(start, newline=""), delimiter=delimiter)
    records = iter(lambda: _next(reader, START), None)
    return [len(cells) for cells in islice(filter(None, records), 2)]


def read_records(file: TextIO, delimiter: str, max_record: int) -> Iterator[tuple[int, list[str]]]:
    """Read the header and the records, each with the number of its last line.

    Blank lines are skipped, unless there is one column: a blank line is then its empty cell. A
    record may have more or fewer cells than the header.

    Raises
    ------
    ValueError
        The text is not CSV, two columns have one name, or a record has more than `max_record`
        characters; the message says in which line.
    """
    # The characters of this record, and the lines so far: the reader does not count the last one
    # if it is too long.
    length = line_num = 0

    def lines() -> Iterator[str]:
        nonlocal length, line_num
        while line := file.readline(max_record + 1):
            length, line_num = length + len(line), line_num + 1
            if length > max_record:
                raise csv.Error(f"a record of more than {max_record:,} characters")
            yield line

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    header: list[str] = []
    try:
        while (cells := _next(reader, max_record)) is not None:
            length = 0
            if not header:
                _check_header(cells, reader.line_num)
                header = cells
            elif not cells and len(header) == 1:
                cells = [""]
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(
            f"line {line_num}: invalid CSV: {error}; "
            'a cell with a delimiter, quote or line break is "quoted", and a quote in it doubled'
        ) from None


def _next(reader: Iterator[list[str]], max_record: int) -> list[str] | None:
    return _LIMIT.next(reader, min(max_record, _LARGEST_LIMIT))


def _check_header(names: Iterable[str], line: int) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"line {line}: two columns are named {name!r}; rename one")
        seen.add(name)
