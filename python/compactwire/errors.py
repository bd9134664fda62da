"""The exceptions of compactwire.

All are `CompactWireError`, which is a `ValueError`. The text of an exception says
what is wrong, where, and what to do; the same facts are attributes. Positions and offsets count
from 0 in the payload, behind the format's prefix.

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
    "OutputTooLarge",
    "UnknownCodec",
    "UnknownReference",
    "WireError",
]


class CompactWireError(ValueError):
    """Every error of this package."""

    message: str
    """What is wrong, where, and what to do."""

    def __init__(self, message: str = "", /, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.__dict__.update(facts)


class EncodeError(CompactWireError):
    """A value cannot be written: the format cannot carry it, or it is out of range."""

    field: str
    """The field that is to blame."""


class DecodeError(CompactWireError):
    """A text is not what it should be."""


class EmptyResponse(DecodeError):
    """The message is empty, or nothing but white space."""


class InvalidPrefix(DecodeError):
    """No format begins with this character."""

    char: str
    """The character."""


class InvalidFormat(DecodeError):
    """The format is known, and the text is not in it."""


class MissingField(DecodeError):
    """A verbose message lacks a required member."""

    field: str
    """Its name."""


class InvalidBase64(DecodeError):
    """The payload is not Base64."""

    position: int
    """Where it breaks, in characters."""


class InvalidBase85Char(DecodeError):
    """A character is not in the Base85 alphabet."""

    char: str
    """The character."""
    position: int
    """Where it stands, in characters."""


class InvalidBase85Length(DecodeError):
    """Base85 leaves one character over; the text was probably cut off."""

    length: int
    """The length of the payload, in characters."""


class InvalidBase85Value(DecodeError):
    """Five characters of Base85 mean a number above 2^32 - 1."""

    position: int
    """Where the five begin, in characters."""


class DecompressionFailed(DecodeError):
    """The payload is not one whole compressed stream."""


class OutputTooLarge(DecodeError):
    """Decompressed, the message would be larger than ``max_size``."""

    limit: int
    """The limit, in bytes."""


class InvalidMsgpack(DecodeError):
    """The MessagePack value is not a response."""

    offset: int
    """Where the offending value stands, in bytes of the decompressed message."""


class DictionaryNotFound(DecodeError):
    """The message was compressed with a dictionary that is not at hand."""

    id: int | str
    """The dictionary's id; its name where an old container has no id."""


class UnknownReference(DecodeError):
    """A request relies on something that the session does not have.

    Something was lost, came twice or out of order, or one side started anew. The sender gives `ids`
    to its ``Session.forget`` and writes the request again.
    """

    id: str
    """The first reference that is unknown."""
    ids: tuple[str, ...]
    """All that the sender must forget: tools ``t_…``, prompts ``s_…``, a context ``c_…``.

    First what is unknown, then what the refused frames themselves defined: it was refused too.
    """


class CompactParseError(DecodeError):
    """A compact CAD text has a mistake. CAD IR "Error Handling"."""

    line: int
    """The line, from 1."""
    column: int
    """The column in characters, from 1."""
    message: str
    """What is wrong, without the place."""
    suggestion: str | None
    """The opcode that was probably meant, where the one that is there does not exist."""


class DocumentError(CompactWireError):
    """A CAD document is not in the model, or cannot be written in a dialect."""

    path: str
    """Which part of it: ``node 7``, ``roots[0].visible``, ``document``."""
    message: str
    """What is wrong with it, without the place."""


class BinaryError(DecodeError):
    """Bytes are not a binary CAD document."""

    offset: int
    """Where they break, in bytes from 0."""
    message: str
    """What is wrong there, without the place."""


class GcfError(CompactWireError):
    """A value cannot be written as GCF, or a text is none."""

    code: str
    """What kind of error, a name of the specification: ``count_mismatch``, ``not_finite``."""
    line: int | None
    """The line of the text, from 1; None where no text is read."""
    column: int | None
    """The column in it, in characters from 1."""
    path: str | None
    """The way to the value, as ``$.orders[3].total``; None where no value is written."""


class ClaimRejected(CompactWireError):
    """A compression claim does not verify, or is about something that could not."""

    code: str
    """The specification's error code, such as ``METRIC_MISMATCH``."""
    phase: str
    """The specification's phase, such as ``Metric``."""
    check: str | None
    """The id of the check that failed; None where a producer refused."""
    path: str | None
    """Which input, by its role, such as ``claim.json``; None for none."""
    exit_code: int
    """1: the claim is not true. 2: the input cannot be judged. 3: a bug in this program."""


class WireError(GcfError):
    """A payload cannot be written as GCB or JSON, or what was read is none."""

    code: str
    """What kind of error: ``gcb_truncated``, ``gcb_pack_root``, ``invalid_member``."""
    line: None
    """Of GCF only."""
    column: None
    """Of GCF only."""
    path: str | None
    """The way to the value, as ``$.symbols[3].kind``; None where it is an offset that tells."""
    offset: int | None
    """Where what is read is wrong, in bytes from 0; None where it is a path that tells."""


class DuplicateCodec(CompactWireError):
    """The registry has a codec of this name."""

    name: str
    """The name."""


class UnknownCodec(CompactWireError):
    """The registry has no codec of this name."""

    name: str
    """The name."""
    available: tuple[str, ...]
    """The names that there are, sorted."""
