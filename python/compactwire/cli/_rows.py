"""Input of rows, JSON Lines and CSV, as one JSON text, so that commands read one format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import PurePath
from typing import TYPE_CHECKING

import compactwire as cw
from compactwire import gcf

from ._shell import first_text, naming, read, source_name, utf8

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

BOM = b"\xef\xbb\xbf"

# How a JSON value begins; nothing, if there is only white space so far.
_BEGINNINGS = {b"", *(bytes([byte]) for byte in b'{["-0123456789tfn')}

# Errors for values that GCF cannot write, while other formats can.
UNWRITABLE = {"limit_exceeded", "out_of_range"}

KINDS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}


def add_kind(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the format of the input."""
    parser.add_argument(
        "--input",
        choices=("auto", "json", "jsonl", "csv", "tsv"),
        default="auto",
        help="the format of the input: auto goes by the suffix .jsonl, .ndjson, .csv or .tsv, "
        "and is JSON otherwise; cells of CSV and TSV become strings (default: %(default)s)",
    )


def read_json(path: str, kind: str, limit: int) -> bytes:
    """Read a file, or standard input for "-", as JSON; rows become an array."""
    if kind == "auto":
        kind = KINDS.get(PurePath(path).suffix.lower(), "json")
    # Some editors add a byte order mark.
    data = read(path, limit, judge_of(kind, path)).removeprefix(BOM)
    return as_json(data, kind, source_name(path))


def judge_of(kind: str, path: str) -> Callable[[bytes], object]:
    """For `read`: the first bytes are those of a file of this kind."""
    if kind in ("json", "jsonl"):
        return _first_value(path)
    return first_gcf if kind == "gcf" else first_text(source_name(path))


def first_gcf(first: bytes) -> None:
    """For `read`: the first bytes begin GCF."""
    if b"GCF" not in first:
        gcf.to_json(first)


def _first_value(path: str) -> Callable[[bytes], object]:
    """For `read`: the first bytes begin a JSON value."""
    is_text = first_text(source_name(path))

    def judge(first: bytes) -> None:
        is_text(first)
        if first.removeprefix(BOM).lstrip(b" \t\r\n")[:1] not in _BEGINNINGS:
            with naming(path):
                gcf.from_json(first.removeprefix(BOM))

    return judge


def as_json(data: bytes, kind: str, name: str) -> bytes:
    """Convert the content of the file of this name to JSON."""
    if kind == "json":
        return data
    if kind == "jsonl":
        return _array(data)
    rows = _table(utf8(data, name), name, "\t" if kind == "tsv" else ",")
    return json.dumps(rows, ensure_ascii=False).encode()


def _array(data: bytes) -> bytes:
    """Join the values, one per line, to an array; numbers keep their spelling."""
    values = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip(b" \t\r"):
            continue
        try:
            # Each line is checked by itself: `1,2` would become two values of the array.
            check_value(line)
        except cw.CompactWireError:
            # Again with the lines before it, so that the error has the line of the file.
            gcf.from_json(b"\n" * (number - 1) + line)
            raise
        values.append(line)
    return b"[" + b",\n".join(values) + b"]"


def check_value(text: bytes) -> None:
    """Raise the error of a text that is not a JSON value."""
    try:
        gcf.from_json(text)
    except gcf.GcfError as error:
        if error.code not in UNWRITABLE:
            raise
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            raise error from None


def _table(text: str, name: str, delimiter: str) -> list[dict[str, str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    # The limit for a field applies to the whole process, so it is restored afterwards. Here it is
    # not needed: the size of the whole input is limited already.
    before = csv.field_size_limit(max(len(text), 1))
    try:
        # The reader returns a blank line as a row without cells.
        header = next(filter(None, reader), [])
        if twice := sorted({one for one in header if header.count(one) > 1}):
            raise ValueError(
                f"{name}: line {reader.line_num}: two columns are named {twice[0]!r}; rename one"
            )
        return [_row(row, header, f"{name}: line {reader.line_num}") for row in reader if row]
    except csv.Error as error:
        raise ValueError(
            f"{name}: line {reader.line_num}: invalid CSV: {error}; "
            'a cell with a delimiter, quote or line break is "quoted", and a quote in it doubled'
        ) from None
    finally:
        csv.field_size_limit(before)


def _row(row: list[str], header: list[str], place: str) -> dict[str, str]:
    if len(row) != len(header):
        raise ValueError(
            f"{place}: expected {len(header)} cells, as in the header, found {len(row)}; "
            "correct the record; cells are separated by commas (--input csv) or tabs (--input tsv)"
        )
    return dict(zip(header, row, strict=True))
