"""Input of rows, JSON Lines and CSV, as one JSON text, so that commands read one format."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import TYPE_CHECKING

from compactwire import gcf

from .._csv import read_table
from .._lines import SUFFIXES, are_rows, as_array
from ._shell import FIRST, first_text, naming, read, source_name, utf8

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

BOM = b"\xef\xbb\xbf"

# How a JSON value begins; nothing, if there is only white space so far.
_BEGINNINGS = {b"", *(bytes([byte]) for byte in b'{["-0123456789tfn')}

KINDS = {**dict.fromkeys(SUFFIXES, "jsonl"), ".csv": "csv", ".tsv": "tsv"}
ROWS = ("jsonl", "csv", "tsv")

_SUFFIXES = {
    **KINDS,
    ".json": "json",
    ".gcf": "gcf",
    **dict.fromkeys((".txt", ".md", ".rst", ".log"), "text"),
    **dict.fromkeys((".vcad", ".vcadc", ".vcadb"), "vcad"),
}


def kind_by_name(path: str) -> str:
    """The kind of a file by its suffix; empty for another suffix and for standard input."""
    return _SUFFIXES.get(PurePath(path).suffix.lower(), "")


def kind_by_content(data: bytes) -> str:
    """The kind of a content whose name does not tell it."""
    text = data.removeprefix(BOM).lstrip(b" \t\r\n")
    if text.startswith(b"GCF profile="):
        return "gcf"
    if text[:1] not in (b"{", b"["):
        return "text"
    return "jsonl" if are_rows(text) else "json"


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
    if kind == "json":
        return _only_value(path)
    if kind == "jsonl":
        return _first_value(path)
    return first_gcf if kind == "gcf" else first_line(source_name(path))


def first_line(name: str) -> Callable[[bytes], object]:
    """For `read`: the first bytes are text, and not those of a device such as /dev/zero."""
    is_text = first_text(name)

    def judge(first: bytes) -> None:
        is_text(first)
        if not first[:FIRST].strip(b"\0"):
            raise ValueError(f"{name}: not text: the first {FIRST} bytes are NUL")

    return judge


def first_gcf(first: bytes) -> None:
    """For `read`: the first bytes begin GCF."""
    if b"GCF" not in first:
        gcf.to_json(first)


def _first_value(path: str) -> Callable[[bytes], object]:
    """For `read`: the first bytes begin a JSON value."""
    is_text = first_text(source_name(path))

    def judge(first: bytes) -> None:
        is_text(first)
        if not may_be_value(first):
            with naming(path):
                gcf.from_json(first.removeprefix(BOM))

    return judge


def may_be_value(first: bytes) -> bool:
    """Whether the first bytes of a content may begin a JSON value."""
    return first.removeprefix(BOM).lstrip(b" \t\r\n")[:1] in _BEGINNINGS


def _only_value(path: str) -> Callable[[bytes], object]:
    """For `read`: the first bytes begin a JSON value, and nothing follows it."""
    begins = _first_value(path)

    def judge(first: bytes) -> None:
        begins(first)
        try:
            gcf.from_json(first.removeprefix(BOM))
        except gcf.GcfError as error:
            # Other errors may come from the cut.
            if error.code == "trailing_characters":
                raise

    return judge


def as_json(data: bytes, kind: str, name: str) -> bytes:
    """Convert the content of the file of this name to JSON."""
    if kind == "json":
        return data
    if kind == "jsonl":
        return as_array(data)
    text = utf8(data, name)
    try:
        rows = read_table(text, kind)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return json.dumps(rows, ensure_ascii=False).encode()
