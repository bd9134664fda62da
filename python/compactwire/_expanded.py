"""A text that `shrink` returned, as JSON: for what passes JSON on and needs no Python objects."""

from __future__ import annotations

from . import gcf
from ._core import expand, shrink
from .errors import InvalidFormat, UnsupportedValue

__all__ = ["as_json"]

# As for `expand`.
_MAX_DEPTH = 256
# As for `gcf.to_json`.
_MAX_EXPANSION = 1 << 28
# Bytes of UTF-8 that a character needs at most.
_LONGEST = 4


def as_json(text: str, *, max_expansion: int = _MAX_EXPANSION) -> str:
    """Return JSON, of a text in GCF or JSON, in which numbers and strings keep their spelling.

    It has no white space outside of strings, so that it is one line.

    Raises
    ------
    GcfError, InvalidFormat
        The text is neither, or not valid; the message says where.
    """
    if text.lstrip().startswith("GCF "):
        return gcf.to_json(text, extensions=True, max_depth=_MAX_DEPTH, max_expansion=max_expansion)
    size = _LONGEST * len(text)
    # By characters: white space that takes no token goes, too.
    shrunk = shrink(text, formats=("json",), tokenizer=len, max_size=size, max_depth=_MAX_DEPTH)
    if shrunk.reason not in ("", "no-gain"):
        _check_scalar(text)
    return shrunk.text.strip(" \t\r\n")


def _check_scalar(text: str) -> None:
    """Raise the error of a text that is not a number, a string or a word in JSON."""
    try:
        gcf.from_json(text, max_depth=_MAX_DEPTH)
    except UnsupportedValue:
        # An integer beyond the 64 bits of GCF, which JSON has. What follows it has not been read.
        expand(text)
    except gcf.GcfError as error:
        if error.code == "invalid_json":
            raise InvalidFormat(f"neither GCF nor JSON: {error}") from None
        raise
