"""Compressed and encoded messages, built without compactwire, and a small dictionary for them."""

from __future__ import annotations

import base64
import functools
import random
import zlib
from collections.abc import Callable
from typing import Any

import zstandard

import compactwire as cw
from tests.reference.compression import compress_gzip

SMALL_ID = 70_000


def train_small_dictionary() -> bytes:
    """A zstd dictionary with an id, small enough to be loaded for every message."""
    generator = random.Random(2)
    words = [f"word{number}" for number in range(400)]
    samples: list[bytes | bytearray | memoryview] = [
        " ".join(generator.choices(words, k=60)).encode() for _ in range(500)
    ]
    return zstandard.train_dictionary(4096, samples, dict_id=SMALL_ID).as_bytes()


SMALL_BYTES = train_small_dictionary()
SMALL = cw.Dictionary.from_bytes(SMALL_BYTES, name="small")


@functools.cache
def _compressor(**options: Any) -> Any:
    dictionary = options.pop("dictionary")
    return zstandard.ZstdCompressor(
        dict_data=dictionary and zstandard.ZstdCompressionDict(dictionary), **options
    )


def zstd(
    data: bytes,
    *,
    content_size: bool = True,
    checksum: bool = False,
    dictionary: bytes | None = None,
    dictionary_id: bool = True,
) -> bytes:
    """One zstd frame, made by a library that compactwire does not use."""
    compressor = _compressor(
        dictionary=dictionary,
        write_content_size=content_size,
        write_checksum=checksum,
        write_dict_id=dictionary_id,
    )
    frame: bytes = compressor.compress(data)
    return frame


def container(name: bytes, size: int, frame: bytes) -> bytes:
    """The old dictionary container: magic, original size, length of the name, name, frame."""
    return b"ZDCT" + size.to_bytes(4, "big") + bytes([len(name)]) + name + frame


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "zlib": lambda data: zlib.compress(data, 4),
    "gzip": compress_gzip,
    "zstd": zstd,
    "zstd without size": lambda data: zstd(data, content_size=False),
    "zstd with checksum": lambda data: zstd(data, checksum=True),
    "dictionary": lambda data: zstd(data, dictionary=SMALL_BYTES),
    "container by id": lambda data: container(
        b"any", len(data), zstd(data, dictionary=SMALL_BYTES)
    ),
    "container by name": lambda data: container(
        b"small", len(data), zstd(data, dictionary=SMALL_BYTES, dictionary_id=False)
    ),
}
"""Every way of the protocol to compress a MessagePack value."""

PREFIXES = {"z": "Z", "g": "Z", "zs": "S", "d": "D", "c": "D"}


def prefix_of(packer: str) -> str:
    return PREFIXES.get(packer[:2]) or PREFIXES[packer[0]]
