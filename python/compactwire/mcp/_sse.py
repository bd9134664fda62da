"""Reads a stream of server-sent events as its bytes arrive.

Source: WHATWG HTML, section 9.2.6. Unlike there, an event without data is reported, too: the
Model Context Protocol uses such events to set an id and a delay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ._messages import is_utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Event", "EventTooLongError", "Events"]

_BREAK = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"

# An id is sent back in a header, where only these characters arrive as they are.
_ID = re.compile(rb"[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?")
_RETRY = re.compile(rb"[0-9]{1,9}")

# No known type of event is as long. The rest of a type is not kept, as it is not counted.
_LONGEST_KIND = 128


class EventTooLongError(Exception):
    """An event is longer than the limit."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event; `data` is UTF-8 with a line feed between its lines.

    `kind` has the first 128 bytes of a longer type. `id` is None where the event sets none, and ""
    where none can be sent back; `retry` is in milliseconds.
    """

    data: bytes
    kind: str = "message"
    id: str | None = None
    retry: int | None = None


class Events:
    """The events of one stream, of at most `limit` bytes each."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()
        self._after_return = False
        self._first = True
        self._clear()

    def _clear(self) -> None:
        # Each line with a line feed: a list of short lines would take many times their size.
        self._data = bytearray()
        self._kind = "message"
        self._id: str | None = None
        self._retry: int | None = None
        self._size = 0

    @property
    def size(self) -> int:
        """The bytes that are kept of an event that has not ended."""
        return self._size + len(self._line)

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The events that end in this part of the stream.

        Raises
        ------
        EventTooLongError
            If an event is longer than the limit. The rest of the stream cannot be read.
        """
        if self._after_return and chunk[:1] == b"\n":
            chunk = chunk[1:]  # The second half of a line break.
            self._after_return = False
        if chunk:
            self._after_return = chunk.endswith(b"\r")
        *whole, rest = _BREAK.split(chunk)
        for part in whole:
            self._grow(part)
            if self._first:
                self._first = False
                if self._line.startswith(_BOM):
                    del self._line[: len(_BOM)]
            event = self._take()
            self._line.clear()
            if event is not None:
                yield event
            del event  # It may be long, and so may the next one.
        self._grow(rest)

    def _grow(self, part: bytes) -> None:
        if self.size + len(part) > self._limit:
            raise EventTooLongError
        self._line += part

    def _take(self) -> Event | None:
        """Note the line; an empty one ends the event."""
        line = self._line
        if not line:
            return self._ended()
        colon = line.find(b":")
        name = line if colon < 0 else line[:colon]
        start = len(name) + 1
        start += line[start : start + 1] == b" "
        if name == b"data":
            self._data += memoryview(line)[start:]
            self._data += b"\n"
            self._size += max(len(line) - start, 0) + 1
            return None
        value = bytes(memoryview(line)[start:])
        if name == b"event":
            self._kind = value[:_LONGEST_KIND].decode(errors="replace") or "message"
        elif name == b"id":
            self._id = value.decode("ascii") if _ID.fullmatch(value) else ""
        elif name == b"retry" and _RETRY.fullmatch(value):
            self._retry = int(value)
        return None

    def _ended(self) -> Event | None:
        empty = not self._data and self._id is None and self._retry is None
        data = bytes(memoryview(self._data)[:-1])
        if not is_utf8(data):  # The standard replaces other bytes by U+FFFD.
            data = data.decode(errors="replace").encode()
        event = Event(data, self._kind, self._id, self._retry)
        self._clear()
        return None if empty else event
