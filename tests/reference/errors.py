"""Errors: v2 "Error Types" and v4 section 8, with the names of `compactwire.errors`.

`kind` is the name of the class as text. Details are attributes; those that a kind does not have are
`None`. Positions count characters from 0 in the payload after the prefix, offsets count bytes from
0 in the MessagePack data.
"""

from __future__ import annotations


def excerpt(text: str) -> str:
    """At most 40 characters of the input, for a message."""
    return repr(text if len(text) <= 40 else text[:39] + "\N{HORIZONTAL ELLIPSIS}")


class ReferenceError_(ValueError):
    """The base of all errors of this package, in either direction."""

    char: str | None = None
    position: int | None = None
    length: int | None = None
    limit: int | None = None
    field: str | None = None
    offset: int | None = None
    id: int | str | None = None
    ids: tuple[str, ...] | None = None

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def kind(self) -> str:
        return type(self).__name__


class EncodeError(ReferenceError_):
    """The requested format cannot carry the value."""


class DecodeError(ReferenceError_):
    """The base of all errors about a text that was received."""


class EmptyResponse(DecodeError):
    def __init__(self) -> None:
        super().__init__("the response is empty")


class InvalidPrefix(DecodeError):
    def __init__(self, char: str) -> None:
        super().__init__(f"no format begins with {char!r}")
        self.char = char


class InvalidFormat(DecodeError):
    pass


class MissingField(DecodeError):
    def __init__(self, field: str) -> None:
        super().__init__(f"the member {field!r} is missing")
        self.field = field


class InvalidBase64(DecodeError):
    """`position` is the first character after which no continuation is valid."""

    def __init__(self, position: int) -> None:
        super().__init__(f"not Base64 at position {position}")
        self.position = position


class InvalidBase85Char(DecodeError):
    def __init__(self, char: str, position: int) -> None:
        super().__init__(f"{char!r} at position {position} is not a Base85 character")
        self.char = char
        self.position = position


class InvalidBase85Length(DecodeError):
    """`length` is the length of the whole payload."""

    def __init__(self, length: int) -> None:
        super().__init__(f"no Base85 text has {length} characters")
        self.length = length


class InvalidBase85Value(DecodeError):
    """`position` is the position of the group's first character."""

    def __init__(self, position: int) -> None:
        super().__init__(f"the Base85 group at position {position} is above 2^32-1")
        self.position = position


class DecompressionFailed(DecodeError):
    pass


class OutputTooLarge(DecodeError):
    def __init__(self, limit: int) -> None:
        super().__init__(f"the decompressed data is larger than {limit} bytes")
        self.limit = limit


class InvalidMsgpack(DecodeError):
    """`offset` is the start of the wrong value, or the end of truncated data."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class DictionaryNotFound(DecodeError):
    """`id` is the frame's dictionary id (0: it has none), or the name in an old container."""

    def __init__(self, id: int | str) -> None:
        super().__init__(f"the dictionary {id!r} is not among those given")
        self.id = id


class UnknownReference(DecodeError):
    """`ids` are the ids that the sender must forget: first the unknown ones, of which `id` is the
    first, then those that the refused frames defined."""

    ids: tuple[str, ...]

    def __init__(self, unknown: list[str], undone: list[str]) -> None:
        super().__init__(f"unknown {', '.join(unknown)}")
        self.id = unknown[0]
        self.ids = (*unknown, *(id for id in undone if id not in unknown))
