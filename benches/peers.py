"""The peers: the same work with the fastest libraries on PyPI.

Contexts are reused and the level is ours (3), so that the comparison is fair. The peers use the
Base85 of the standard library (RFC 1924 order): the same work with another alphabet.
"""

from __future__ import annotations

import base64

import ormsgpack
import zstandard

import compactwire as cw

LEVEL = 3
_compressor = zstandard.ZstdCompressor(level=LEVEL)
_decompressor = zstandard.ZstdDecompressor()


def message(response: cw.Response) -> dict[str, object]:
    """Give the map of Compact Protocol v4."""
    return {
        "v": 1,
        "s": response.status,
        "m": response.model,
        "t": response.tokens,
        "r": response.result,
    }


def pack(response: cw.Response) -> bytes:
    """Write the map as MessagePack."""
    return ormsgpack.packb(message(response))


def compress(data: bytes) -> bytes:
    """Bare zstd."""
    return _compressor.compress(data)


def decompress(data: bytes) -> bytes:
    """Bare zstd."""
    return _decompressor.decompress(data)


def encode_zstd(fields: dict[str, object]) -> str:
    """Write an S message by hand."""
    return "S" + base64.b85encode(_compressor.compress(ormsgpack.packb(fields))).decode()


def decode_zstd(wire: str) -> dict[str, object]:
    """Read an S message by hand."""
    fields = ormsgpack.unpackb(_decompressor.decompress(base64.b85decode(wire[1:])))
    assert isinstance(fields, dict)
    return fields
