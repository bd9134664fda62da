"""JSON Lines, a JSON value per line: whether a text is that, and its values as one array.

Source: https://jsonlines.org; empty lines are passed over.
"""

from __future__ import annotations

from . import gcf
from ._core import expand, shrink
from .errors import CompactWireError, InvalidFormat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._core import Shrunk

__all__ = [
    "SUFFIXES",
    "are_rows",
    "are_values",
    "as_array",
    "check_value",
    "rows_in",
    "shrink_rows",
]

SUFFIXES = (".jsonl", ".ndjson")

# As for `expand`.
_MAX_DEPTH = 256
_SPACE = b" \t\r\n"


def as_array(data: bytes) -> bytes:
    """Join the values, one per line, to an array; numbers keep their spelling.

    Raises
    ------
    GcfError
        A line is not a JSON value; the message says which.
    """
    # One after the other: a list of short lines would take fifty times their size.
    array = bytearray()
    for number, line in enumerate(_each(data), 1):
        if not line.strip(b" \t\r"):
            continue
        try:
            # Each line is checked by itself: `1,2` would become two values of the array.
            check_value(line)
        except InvalidFormat as error:
            raise InvalidFormat(f"line {number}: {error}") from None
        except CompactWireError:
            # Parsed again after that many empty lines, so that the error has the line of the file.
            gcf.from_json(b"\n" * (number - 1) + line, max_depth=_MAX_DEPTH)
            raise
        array += b",\n" if array else b"["
        array += line
    array += b"]" if array else b"[]"
    return bytes(array)


def _each(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        if end < 0:
            end = len(data)
        yield data[at:end]
        at = end + 1


def are_rows(content: bytes) -> bool:
    """Whether the first two lines are arrays or objects, so that the content may be JSON Lines."""
    lines = content.lstrip(_SPACE).split(b"\n", 2)[:2]
    return len(lines) == 2 and all(map(_is_container, lines))


def are_values(content: bytes) -> bool:
    """Whether the first of several lines is a JSON value, so that the content is not one value."""
    first, _, rest = content.strip(_SPACE).partition(b"\n")
    return rest != b"" and _is_value(first)


def rows_in(content: bytes) -> bytes:
    """The values of JSON Lines as an array; nothing if that is not what the content is.

    Lines that only begin as JSON Lines, such as those of a log, are text.
    """
    if not are_rows(content):
        return b""
    try:
        return as_array(content)
    except CompactWireError:
        return b""


def check_value(text: bytes) -> None:
    """Raise the error of a text that is not a JSON value."""
    try:
        gcf.from_json(text, max_depth=_MAX_DEPTH)
    except gcf.GcfError as error:
        if error.code != "out_of_range":
            raise
        # An integer beyond 64 bits, which JSON has. What follows has not been read.
        expand(text.decode())


def shrink_rows(text: str, rows: str, **options: Any) -> Shrunk:
    """The rows, which are an array, as GCF if that has fewer tokens than the text, or the text."""
    lines, array = shrink(text, **{**options, "formats": ()}), shrink(rows, **options)
    if array.format == "gcf" and array.tokens_after < lines.tokens_before:
        return array.__replace__(tokens_before=lines.tokens_before)
    return lines


def _is_value(line: bytes) -> bool:
    try:
        check_value(line)
    except CompactWireError:
        return False
    return True


def _is_container(line: bytes) -> bool:
    return _is_value(line) and line.lstrip()[:1] in (b"{", b"[")
