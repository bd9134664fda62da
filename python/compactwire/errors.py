"""The exceptions of compactwire.

All are subclasses of `CompactWireError`, which is a `ValueError`. The message of an exception says
what is wrong, where, and what to do; the same facts are attributes. Positions and offsets count
from 0 in the payload, after the prefix of the format.

Source: Compact Protocol v2 "Error Types", v4 section 8.
"""

from __future__ import annotations

__all__ = [
    "BinaryError",
    "ClaimRejected",
    "CompactParseError",
    "CompactWireError",
    "DecodeError",
    "DecompressionFailed",
    "DictionaryNotFound",
    "DocumentError",
    "DuplicateCodec",
    "EmptyResponse",
    "EncodeError",
    "GcfError",
    "InvalidBase64",
    "InvalidBase85Char",
    "InvalidBase85Length",
    "InvalidBase85Value",
    "InvalidFormat",
    "InvalidMsgpack",
    "InvalidPrefix",
    "MissingField",
    "NestedTurn",
    "OptionError",
    "OutputTooLarge",
    "TurnConflict",
    "TurnInProgress",
    "UnknownCodec",
    "UnknownReference",
    "UnsupportedValue",
    "WireError",
]


class CompactWireError(ValueError):
    """The base class of all errors of this package."""

    message: str
    """What is wrong, where, and what to do."""
    row: int | None = None
    """The row, from 0, if a function of `compactwire.arrow` raised the error; otherwise None."""

    def __init__(self, message: str = "", /, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.__dict__.update(facts)


class OptionError(CompactWireError):
    """An option or argument has a value that is not allowed; the message lists those that are."""

    option: str
    """The name of the option."""


class EncodeError(CompactWireError):
    """A value cannot be encoded: the format cannot represent it, or it is out of range."""

    field: str
    """The field with the invalid value."""


class DecodeError(CompactWireError):
    """The input of a decoder is invalid."""


class EmptyResponse(DecodeError):
    """The message is empty or consists of white space."""


class InvalidPrefix(DecodeError):
    """The message begins with a character that is not the prefix of a format."""

    char: str
    """The character."""


class InvalidFormat(DecodeError):
    """The message does not conform to the format that its prefix names."""


class MissingField(DecodeError):
    """A verbose message lacks a required member."""

    field: str
    """The name of the member."""


class InvalidBase64(DecodeError):
    """The payload is not Base64."""

    position: int
    """The position of the error, in characters."""


class InvalidBase85Char(DecodeError):
    """A character is outside the Base85 alphabet."""

    char: str
    """The character."""
    position: int
    """The position of the character, in characters."""


class InvalidBase85Length(DecodeError):
    """One character of Base85 is left over; the message was probably truncated."""

    length: int
    """The length of the payload, in characters."""


class InvalidBase85Value(DecodeError):
    """Five characters of Base85 encode a number above 2^32 - 1."""

    position: int
    """The position of the first of the five, in characters."""


class DecompressionFailed(DecodeError):
    """The payload is not exactly one complete compressed stream."""


class OutputTooLarge(DecodeError):
    """The decompressed message would be larger than `max_size`, or a conversation than allowed."""

    limit: int
    """The limit, in bytes."""


class InvalidMsgpack(DecodeError):
    """The MessagePack value is not a response."""

    offset: int
    """The position of the invalid value, in bytes of the decompressed message."""


class DictionaryNotFound(DecodeError):
    """The message was compressed with a dictionary that is not available."""

    id: int | str
    """The id of the dictionary, or its name for an old container without an id."""


class UnknownReference(DecodeError):
    """A request refers to content that the session does not have.

    A request was lost, duplicated or reordered, or one side was restarted. The sender passes `ids`
    to `Session.forget` and encodes the request again.
    """

    id: str
    """The first unknown reference."""
    ids: tuple[str, ...]
    """All references that the sender must forget: tools `t_…`, prompts `s_…`, a context `c_…`.

    First the unknown references, then those that the rejected frames define, and last `b_…`, the
    context that the receiver has.
    """


class CompactParseError(DecodeError):
    """A compact CAD text has an error. Source: CAD IR "Error Handling"."""

    line: int
    """The line, from 1."""
    column: int
    """The column in characters, from 1."""
    message: str
    """What is wrong, without the position."""
    suggestion: str | None
    """For an unknown opcode, the opcode that was probably meant; otherwise None."""


class DocumentError(CompactWireError):
    """A CAD document does not conform to the model, or a dialect cannot represent it."""

    path: str
    """The part of the document: `node 7`, `roots[0].visible`, `document`."""
    message: str
    """What is wrong, without the path."""


class BinaryError(DecodeError):
    """Bytes are not a binary CAD document."""

    offset: int
    """The position of the error, in bytes from 0."""
    message: str
    """What is wrong, without the position."""


class GcfError(CompactWireError):
    """A value cannot be encoded as GCF, or a text is not valid GCF."""

    code: str
    """The error code of the specification, such as `count_mismatch` or `not_finite`."""
    line: int | None
    """The line of the text, from 1; None if the error is not in a text."""
    column: int | None
    """The column, in characters from 1; None if the error is not in a text."""
    path: str | None
    """The path of the value, such as `$.orders[3].total`; None if no value is encoded."""


class UnsupportedValue(EncodeError, GcfError):
    """A part of a value cannot be written: JSON or the format has no such value.

    Every function that takes a value raises this class. The message names the option that would
    convert the part, if there is one: `types="common"` or `default=`.
    """

    code: str
    """`unsupported_type`, `not_finite`, `out_of_range` (of an int), `invalid_surrogate`, or
    `limit_exceeded` for a value that is nested too deeply or contains itself."""
    path: str
    """The path of the part, such as `$.rows[3].when` or `arguments.rows[3].when`."""
    field: str
    """The same path."""
    line: None
    """Always None."""
    column: None
    """Always None."""


class ClaimRejected(CompactWireError):
    """A compression claim was rejected, or would be rejected by verification."""

    code: str
    """The specification's error code, such as `METRIC_MISMATCH`."""
    phase: str
    """The specification's phase, such as `Metric`."""
    check: str | None
    """The id of the failed check; None if a producer raised the error."""
    path: str | None
    """The input by its role, such as `claim.json`; None if no input is at fault."""
    exit_code: int
    """1: the claim is not true. 2: the input is invalid. 3: a bug in this program."""


class WireError(GcfError):
    """A payload cannot be encoded as GCB or JSON, or the input is not valid GCB or JSON."""

    code: str
    """The error code: `gcb_truncated`, `gcb_pack_root`, `invalid_member`."""
    line: None
    """Always None; used by `GcfError` only."""
    column: None
    """Always None; used by `GcfError` only."""
    path: str | None
    """The path of the value, such as `$.symbols[3].kind`; None if `offset` is set."""
    offset: int | None
    """The position of the error, in bytes from 0; None if `path` is set."""


class TurnConflict(CompactWireError):
    """A turn cannot be answered: its number was used before, or is older than the last answer."""

    number: int
    """The number of the turn."""
    last: int
    """The number of the last turn that was answered, for `Sender.go_on`."""


class TurnInProgress(CompactWireError):
    """Another process still answers a turn of the conversation; the turn can be delivered again."""

    conversation: str
    """The id of the conversation."""
    number: int
    """The number of the turn that waited."""


class NestedTurn(CompactWireError):
    """A turn was begun by the function that delivers or answers the turn before it."""

    conversation: str | None
    """The id of the conversation in a store; None if a `Sender` raised the error."""


class DuplicateCodec(CompactWireError):
    """The registry already has a codec with this name."""

    name: str
    """The name."""


class UnknownCodec(CompactWireError):
    """The registry has no codec with this name."""

    name: str
    """The name."""
    available: tuple[str, ...]
    """The known names, sorted."""
