"""The names of the formats."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Format"]


class Format(StrEnum):
    """The format of a text, given by its prefix (Compact Protocol v2 "Format Detection").

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
    """Plain text that is not a message; ``decode(..., fallback=True)`` returns it unchanged."""
