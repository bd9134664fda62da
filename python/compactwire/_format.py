"""The names of what a text can be."""

from __future__ import annotations

from enum import Enum

__all__ = ["Format"]


class Format(str, Enum):
    """What a text is, by its first characters (Compact Protocol v2 "Format Detection").

    Members are strings: ``Format.DSL == "dsl"``.
    """

    VERBOSE = "verbose"
    DSL = "dsl"
    BINARY = "binary"
    BASE85 = "base85"
    ZLIB = "zlib"
    ZSTD = "zstd"
    DICTIONARY = "dictionary"
    DELTA = "delta"
    TOOL = "tool"
    SYSTEM = "system"
    REQUEST = "request"
    GCF = "gcf"
    RAW = "raw"
    """Plain text that a decoder took as it was (``fallback=True``)."""

    def __str__(self) -> str:
        """Give the name, as in an f-string."""
        return self.value
