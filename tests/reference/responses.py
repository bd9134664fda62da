"""Responses: v2 part 1 ("Format Detection", sections 1 to 6), v4 sections 1 to 4 and 8.

This module holds the parts that all formats share: detection, the choice of a format, and the steps

    response <-> MessagePack <-> (compression) <-> Base64 or Base85 <-> text after a prefix
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .base64_strict import decode_base64, encode_base64
from .base85 import decode_base85, encode_base85
from .compression import (
    compress_gzip,
    compress_zlib,
    compress_zstd,
    decompress_zlib_or_gzip,
    decompress_zstd,
)
from .dictionaries import compress_with_dictionary, decompress_with_dictionary
from .dsl import decode_dsl, encode_dsl, fits_dsl
from .errors import EmptyResponse, EncodeError, InvalidFormat, InvalidPrefix, ReferenceError_
from .msgpack_layouts import decode_msgpack, encode_msgpack
from .values import (
    DEFAULT_MAX_SIZE,
    WHITESPACE,
    Dictionary,
    Response,
    Version,
    check_response,
    require_unicode,
    skip_blank,
)
from .verbose import decode_verbose, encode_verbose

# "ASCII whitespace" as the WHATWG's Infra Standard defines the term: no vertical tab.

# In the order in which they are tried.
PREFIXES = (
    ("RES|", "dsl"),
    ("MPK:", "binary"),
    ("A85:", "base85"),
    ("D|", "delta"),
    ("TOOL|", "tool"),
    ("SYS|", "system"),
    ("REQ|", "request"),
    ("GCF ", "gcf"),
    ("{", "verbose"),
    ("M", "binary"),
    ("A", "base85"),
    ("Z", "zlib"),
    ("S", "zstd"),
    ("D", "dictionary"),
)
READ_BY = {
    "delta": "apply_delta",
    "tool": "Session.decode_request",
    "system": "Session.decode_request",
    "request": "Session.decode_request",
    "gcf": "gcf.decode",
}
MSGPACK_FORMATS = ("binary", "base85", "zlib", "zstd", "dictionary")


def _recognize(wire: str) -> tuple[str, str, str]:
    """The format, the prefix, and the text after whitespace and byte order mark."""
    require_unicode(wire)
    # Whitespace may be on both sides of the mark; a second mark is an unknown prefix.
    text = skip_blank(wire)
    if not text:
        raise EmptyResponse
    for prefix, format in PREFIXES:
        if text.startswith(prefix):
            return format, prefix, text
    raise InvalidPrefix(text[0])


def detect(wire: str) -> str:
    format, _, _ = _recognize(wire)
    return format


def decode(
    wire: str,
    *,
    max_size: int = DEFAULT_MAX_SIZE,
    dictionaries: Sequence[Dictionary] = (),
    fallback: bool = False,
) -> Response:
    """The response in `wire`. With `fallback`, a text that cannot be decoded is itself the result
    (v4 section 8)."""
    try:
        return _decode(wire, max_size, dictionaries)
    except ReferenceError_:
        if not fallback:
            raise
        return Response(wire, format="raw")


def _decode(wire: str, max_size: int, dictionaries: Sequence[Dictionary]) -> Response:
    format, prefix, text = _recognize(wire)
    if format in READ_BY:
        raise InvalidFormat(f"this is no response but a {format} text: {READ_BY[format]} reads it")
    if format == "dsl":
        return decode_dsl(text)
    if format == "verbose":
        return decode_verbose(text)

    payload = text.removeprefix(prefix).rstrip(WHITESPACE)
    data = decode_base64(payload) if format == "binary" else decode_base85(payload)
    if format == "zlib":
        data = decompress_zlib_or_gzip(data, max_size)
    elif format == "zstd":
        data = decompress_zstd(data, max_size)
    elif format == "dictionary":
        data = decompress_with_dictionary(data, max_size, dictionaries)
    return replace(decode_msgpack(data), format=format)


def encode(
    response: Response,
    *,
    format: str,
    protocol: int = 4,
    msgpack_version: Version | None = None,
    dictionary: Dictionary | None = None,
) -> str:
    """The text for `response`. `model_name`, `returncode`, `reasoning_effort` and `ultrathink`
    are carried by the verbose format only."""
    if protocol not in (2, 4):
        raise EncodeError("the protocol must be 2 or 4")
    if msgpack_version not in (None, 1, 2, 3, "map"):
        raise EncodeError("the MessagePack version must be 1, 2, 3 or 'map'")
    check_response(response)
    if format == "auto":
        return _encode_auto(response, protocol, msgpack_version, dictionary)
    if format == "verbose":
        return encode_verbose(response, protocol)
    if format == "dsl":
        return encode_dsl(response, protocol)
    if format not in MSGPACK_FORMATS:
        raise EncodeError(f"unknown format {format!r}")

    by_array = protocol == 2 and format in ("binary", "base85", "zlib")
    version = msgpack_version or (3 if by_array else "map")
    data = encode_msgpack(response, version, protocol)
    if format == "binary":
        return "M" + encode_base64(data)
    if format == "base85":
        return "A" + encode_base85(data)
    if format == "zlib":
        return "Z" + encode_base85(compress_zlib(data) if protocol == 2 else compress_gzip(data))
    if format == "zstd":
        return "S" + encode_base85(compress_zstd(data))
    if dictionary is None:
        raise EncodeError("the format 'dictionary' needs a dictionary")
    return "D" + encode_base85(compress_with_dictionary(data, dictionary))


def _encode_auto(
    response: Response,
    protocol: int,
    msgpack_version: Version | None,
    dictionary: Dictionary | None,
) -> str:
    size = len(response.result.encode("utf-8"))
    if size < 50:
        format = "dsl" if fits_dsl(response.model) else "base85"
    elif protocol == 2:
        format = "base85" if size <= 500 else "zlib"
    else:
        format = "base85" if size < 256 else "zstd"
    wire = encode(response, format=format, protocol=protocol, msgpack_version=msgpack_version)
    if protocol == 4 and dictionary is not None and size >= 50:
        with_dictionary = encode(
            response,
            format="dictionary",
            protocol=protocol,
            msgpack_version=msgpack_version,
            dictionary=dictionary,
        )
        if len(with_dictionary) < len(wire):
            return with_dictionary
    return wire
