"""Compression: v2 section 5 "Compressed" (zlib, RFC 1950), v4 section 1 (gzip for `Z`, RFC 1952)
and section 4 (zstd for `S` and `D`, RFC 8878).

A payload is exactly one zlib stream, one gzip member or one zstd frame; a byte more or less is
DecompressionFailed. Output never exceeds `max_size`: a zstd frame with a larger content size is
refused by its header, every other stream when it is about to exceed the limit.
"""

from __future__ import annotations

import sys
import zlib

import zstandard

from .errors import DecompressionFailed, EncodeError, OutputTooLarge

LEVEL = 4
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_DICTIONARY_MAGIC = b"\x37\xa4\x30\xec"
# Largest window of a zstd frame that is read, unless max_size is larger: zstd's own limit.
LARGEST_WINDOW = 2**27


def compress_zlib(data: bytes) -> bytes:
    return zlib.compress(data, LEVEL)


def compress_gzip(data: bytes) -> bytes:
    """One member with neither time nor name nor system, so that the bytes depend on the data
    only."""
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    header = GZIP_MAGIC + b"\x08\x00" + bytes(4) + b"\x00\x03"
    body = compressor.compress(data) + compressor.flush()
    trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) % 2**32).to_bytes(4, "little")
    return header + body + trailer


def decompress_zlib_or_gzip(data: bytes, max_size: int) -> bytes:
    """Decompress; the first bytes identify the format."""
    wbits = 31 if data.startswith(GZIP_MAGIC) else 15
    decompressor = zlib.decompressobj(wbits)
    try:
        # One byte more than allowed is enough to detect the excess.
        output = decompressor.decompress(data, min(max_size + 1, sys.maxsize))
    except zlib.error as error:
        raise DecompressionFailed(str(error)) from None
    if len(output) > max_size:
        raise OutputTooLarge(max_size)
    if not decompressor.eof:
        raise DecompressionFailed("the compressed data is cut off")
    if decompressor.unused_data:
        raise DecompressionFailed("unexpected bytes after the compressed data")
    return output


def zstd_header(frame: bytes) -> tuple[int, int | None]:
    """The dictionary id (0: none) and the content size (None: not given); RFC 8878 section
    3.1.1.1."""
    if not frame.startswith(ZSTD_MAGIC):
        raise DecompressionFailed("not a zstd frame")
    if len(frame) < 5:
        raise DecompressionFailed("the zstd frame is cut off in its header")
    descriptor = frame[4]
    size_flag = descriptor >> 6
    single_segment = descriptor >> 5 & 1
    if descriptor >> 3 & 1:
        raise DecompressionFailed("the zstd frame uses a reserved bit")
    id_bytes = (0, 1, 2, 4)[descriptor & 3]
    size_bytes = (single_segment, 2, 4, 8)[size_flag]

    id_start = 5 if single_segment else 6  # the window byte precedes it
    size_start = id_start + id_bytes
    end = size_start + size_bytes
    if len(frame) < end:
        raise DecompressionFailed("the zstd frame is cut off in its header")
    dictionary_id = int.from_bytes(frame[id_start:size_start], "little")
    if size_bytes == 0:
        return dictionary_id, None
    size = int.from_bytes(frame[size_start:end], "little")
    return dictionary_id, size + 256 if size_bytes == 2 else size


def decompress_zstd(frame: bytes, max_size: int, dictionary: bytes | None = None) -> bytes:
    _, claimed_size = zstd_header(frame)
    if claimed_size is not None and claimed_size > max_size:
        raise OutputTooLarge(max_size)
    output = bytearray()
    try:
        decompressor = zstandard.ZstdDecompressor(
            dict_data=None if dictionary is None else zstandard.ZstdCompressionDict(dictionary),
            max_window_size=min(max(LARGEST_WINDOW, max_size), 2**31),
        ).decompressobj()
        for position in range(len(frame)):
            # A byte of input gives at most one block, which is 128 KiB.
            output += decompressor.decompress(frame[position : position + 1])
            if len(output) > max_size:
                raise OutputTooLarge(max_size)
            if decompressor.eof:
                if position + 1 < len(frame):
                    raise DecompressionFailed("unexpected bytes after the zstd frame")
                return bytes(output)
    except zstandard.ZstdError as error:
        raise DecompressionFailed(str(error)) from None
    raise DecompressionFailed("the zstd frame is cut off")


def compress_zstd(data: bytes, dictionary: bytes | None = None) -> bytes:
    """One frame with its content size and the id of its dictionary, without a checksum."""
    try:
        return zstandard.ZstdCompressor(
            dict_data=None if dictionary is None else zstandard.ZstdCompressionDict(dictionary),
            write_content_size=True,
            write_checksum=False,
            write_dict_id=True,
        ).compress(data)
    except zstandard.ZstdError as error:
        raise EncodeError(str(error)) from None


def zstd_dictionary_id(dictionary: bytes) -> int:
    """The id of a zstd dictionary, 0 if it has none; RFC 8878 section 5."""
    if len(dictionary) < 8 or not dictionary.startswith(ZSTD_DICTIONARY_MAGIC):
        return 0
    return int.from_bytes(dictionary[4:8], "little")
