"""Codecs for graph payloads, by name: GCF for models, GCB for processes, JSON for people.

Source: wire codecs.
"""

from ._codecs import (
    GcbCodec,
    GcfCodec,
    JsonCodec,
    decode_with,
    encode_with,
    get,
    list,
    list_names,
    register,
)
from ._core.graph import Components, DeltaPayload, Edge, Location, Payload, Symbol
from ._core.wire import decode_gcb, decode_json, encode_gcb, encode_json
from .errors import DuplicateCodec, UnknownCodec, WireError

__all__ = [
    "Components",
    "DeltaPayload",
    "DuplicateCodec",
    "Edge",
    "GcbCodec",
    "GcfCodec",
    "JsonCodec",
    "Location",
    "Payload",
    "Symbol",
    "UnknownCodec",
    "WireError",
    "decode_gcb",
    "decode_json",
    "decode_with",
    "encode_gcb",
    "encode_json",
    "encode_with",
    "get",
    "list",
    "list_names",
    "register",
]
