"""A slow, obvious reference of the Compact Protocol, written from its specification.

Specification: Compact Protocol v2.0 (part 1, "Streaming Delta Protocol", part 2) and v4 (sections 1
to 4, 8 and 11). Where they leave a choice, `docs/design.md` says what is correct.
Property tests compare compactwire with this package in both directions. It therefore imports
nothing of compactwire, only the standard library, `msgpack` (to write) and `zstandard`, and prefers
simple code over fast code.

All modules follow these principles:

* Text is Unicode without lone surrogates; anything else is `InvalidFormat` when decoding and
  `EncodeError` when encoding.
* Ignored content (unknown JSON members and MessagePack keys) must be well-formed and nested at most
  128 deep; nothing else about it is checked.
* `max_size` bounds the output of every decompression. A decompression that would exceed it is
  stopped.
"""

from .base85 import decode_base85, encode_base85
from .deltas import apply_delta, encode_delta
from .errors import (
    DecodeError,
    DecompressionFailed,
    DictionaryNotFound,
    EmptyResponse,
    EncodeError,
    InvalidBase64,
    InvalidBase85Char,
    InvalidBase85Length,
    InvalidBase85Value,
    InvalidFormat,
    InvalidMsgpack,
    InvalidPrefix,
    MissingField,
    OutputTooLarge,
    ReferenceError_,
    UnknownReference,
)
from .responses import decode, detect, encode
from .sessions import Request, Session
from .values import Dictionary, Response, Version

__all__ = [
    "DecodeError",
    "DecompressionFailed",
    "Dictionary",
    "DictionaryNotFound",
    "EmptyResponse",
    "EncodeError",
    "InvalidBase64",
    "InvalidBase85Char",
    "InvalidBase85Length",
    "InvalidBase85Value",
    "InvalidFormat",
    "InvalidMsgpack",
    "InvalidPrefix",
    "MissingField",
    "OutputTooLarge",
    "ReferenceError_",
    "Request",
    "Response",
    "Session",
    "UnknownReference",
    "Version",
    "apply_delta",
    "decode",
    "decode_base85",
    "detect",
    "encode",
    "encode_base85",
    "encode_delta",
]
