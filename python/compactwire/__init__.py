"""What agents say to each other, made small, and proven small.

>>> import compactwire as cw
>>> wire = cw.encode(cw.Response("The answer is 42.", model="C45", tokens=150))
>>> wire
'RES|OK|C45|150|The answer is 42.'
>>> cw.decode(wire)
Response('The answer is 42.', model='C45', tokens=150)
"""

from __future__ import annotations

from . import cad, gcf
from ._core import (
    DeltaStream,
    Dictionary,
    Inspection,
    Request,
    Response,
    Session,
    SessionStats,
    ToolCall,
    __version__,
    apply_delta,
    decode,
    decode_base85,
    decode_tool_call,
    detect,
    encode,
    encode_base85,
    encode_delta,
    encode_tool_call,
    inspect,
)
from ._core.claims import ClaimReport, verify_claim
from ._format import Format
from .errors import (
    BinaryError,
    ClaimRejected,
    CompactParseError,
    CompactWireError,
    DecodeError,
    DecompressionFailed,
    DictionaryNotFound,
    DocumentError,
    DuplicateCodec,
    EmptyResponse,
    EncodeError,
    GcfError,
    InvalidBase64,
    InvalidBase85Char,
    InvalidBase85Length,
    InvalidBase85Value,
    InvalidFormat,
    InvalidMsgpack,
    InvalidPrefix,
    MissingField,
    OutputTooLarge,
    UnknownCodec,
    UnknownReference,
    WireError,
)

__all__ = [
    "BinaryError",
    "ClaimRejected",
    "ClaimReport",
    "CompactParseError",
    "CompactWireError",
    "DecodeError",
    "DecompressionFailed",
    "DeltaStream",
    "Dictionary",
    "DictionaryNotFound",
    "DocumentError",
    "DuplicateCodec",
    "EmptyResponse",
    "EncodeError",
    "Format",
    "GcfError",
    "Inspection",
    "InvalidBase64",
    "InvalidBase85Char",
    "InvalidBase85Length",
    "InvalidBase85Value",
    "InvalidFormat",
    "InvalidMsgpack",
    "InvalidPrefix",
    "MissingField",
    "OutputTooLarge",
    "Request",
    "Response",
    "Session",
    "SessionStats",
    "ToolCall",
    "UnknownCodec",
    "UnknownReference",
    "WireError",
    "__version__",
    "apply_delta",
    "cad",
    "decode",
    "decode_base85",
    "decode_tool_call",
    "detect",
    "encode",
    "encode_base85",
    "encode_delta",
    "encode_tool_call",
    "gcf",
    "inspect",
    "verify_claim",
]
