"""MessagePack layouts: v2 section 3 "MessagePack Structure" and v4 section 4 "MessagePack Schema".

    [1, "OK", "G3", tokens, result]
    [2, status, model, tokens, result]      integers for status and model
    [3, status, model, result]              tokens is 0
    [3, status, model, tokens, result]
    {"v": 1, "s": "OK", "m": "C45", "t": tokens, "r": result}

The reader below accepts exactly these, in any integer and string encoding of MessagePack, with
nothing after them. Arrays have exactly these lengths; the longer one of layout 3 may have 0 tokens.
Keys of the map are strings, in any order, without duplicates; all five are required; other keys are
skipped with their values. Everything else is InvalidMsgpack. The library does the writing.
"""

from __future__ import annotations

import msgpack  # type: ignore[import-untyped]

from .errors import InvalidMsgpack, excerpt
from .values import MAX_TOKENS, MODELS_V2, STATUSES, Response, Version, status_from, status_text

MAX_DEPTH = 128


class _Reader:
    """A reader of MessagePack data; github.com/msgpack/msgpack `spec.md` is the table of first
    bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def peek(self) -> int:
        """The first byte of the next value."""
        if self.position == len(self.data):
            raise InvalidMsgpack("the data ends where a value should begin", len(self.data))
        return self.data[self.position]

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.position:
            raise InvalidMsgpack("the data ends within a value", len(self.data))
        taken = self.data[self.position : self.position + count]
        self.position += count
        return taken

    def take_number(self, count: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(count), "big", signed=signed)

    def found(self, expected: str) -> InvalidMsgpack:
        """The error for a next value that is not the `expected` one."""
        found = _type_of(self.peek())
        return InvalidMsgpack(f"expected {expected}, found {found}", self.position)

    def integer(self, what: str) -> int:
        first = self.peek()
        if first <= 0x7F:
            return self.take_number(1)
        if first >= 0xE0:
            return self.take_number(1, signed=True)
        if 0xCC <= first <= 0xCF:
            self.take(1)
            return self.take_number(2 ** (first - 0xCC))
        if 0xD0 <= first <= 0xD3:
            self.take(1)
            return self.take_number(2 ** (first - 0xD0), signed=True)
        raise self.found(f"an integer for {what}")

    def text(self, what: str) -> str:
        start = self.position
        first = self.peek()
        if 0xA0 <= first <= 0xBF:
            length = self.take_number(1) - 0xA0
        elif 0xD9 <= first <= 0xDB:
            self.take(1)
            length = self.take_number(2 ** (first - 0xD9))
        else:
            raise self.found(f"text for {what}")
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidMsgpack(f"the text of {what} is not UTF-8", start) from None

    def array_length(self) -> int | None:
        """The length of the array that starts here, None if the next value is not an array."""
        return self._container_length(0x90, 0xDC)

    def map_length(self) -> int | None:
        return self._container_length(0x80, 0xDE)

    def _container_length(self, short: int, long: int) -> int | None:
        first = self.peek()
        if short <= first <= short + 0x0F:
            return self.take_number(1) - short
        if first in (long, long + 1):
            self.take(1)
            return self.take_number(2 if first == long else 4)
        return None

    def skip(self) -> None:
        """Skip one value with its content, nested at most 128 arrays or maps deep."""
        left = [1]  # the number of values still to come: outside, and in each open container
        while left:
            if left[-1] == 0:
                left.pop()
                continue
            left[-1] -= 1
            start = self.position
            inside = self._skip_one()
            if inside is not None:
                if len(left) > MAX_DEPTH:
                    raise InvalidMsgpack(f"nested deeper than {MAX_DEPTH}", start)
                left.append(inside)

    def _skip_one(self) -> int | None:
        """Skip one scalar, or the head of a container; return the number of values in it."""
        start = self.position
        length = self.array_length()
        if length is not None:
            return length
        length = self.map_length()
        if length is not None:
            return 2 * length

        first = self.take_number(1)
        if (
            first <= 0x7F or first >= 0xE0 or first in (0xC0, 0xC2, 0xC3)
        ):  # small integers, nil, false, true
            pass
        elif 0xA0 <= first <= 0xBF:  # short text
            self.take(first - 0xA0)
        elif 0xC4 <= first <= 0xC6:  # bytes
            self.take(self.take_number(2 ** (first - 0xC4)))
        elif 0xC7 <= first <= 0xC9:  # extension: the length does not count its type
            self.take(self.take_number(2 ** (first - 0xC7)) + 1)
        elif first == 0xCA:
            self.take(4)
        elif first == 0xCB:
            self.take(8)
        elif 0xCC <= first <= 0xCF:  # unsigned
            self.take(2 ** (first - 0xCC))
        elif 0xD0 <= first <= 0xD3:  # signed
            self.take(2 ** (first - 0xD0))
        elif 0xD4 <= first <= 0xD8:  # extension of 1, 2, 4, 8 or 16 bytes
            self.take(2 ** (first - 0xD4) + 1)
        elif 0xD9 <= first <= 0xDB:  # text
            self.take(self.take_number(2 ** (first - 0xD9)))
        else:
            raise InvalidMsgpack("no value begins with the byte 0xC1", start)
        return None


def _type_of(first: int) -> str:
    """The kind of value that starts with this byte."""
    if first <= 0x7F or first >= 0xE0 or 0xCC <= first <= 0xD3:
        return "an integer"
    if first <= 0x8F or first in (0xDE, 0xDF):
        return "a map"
    if first <= 0x9F or first in (0xDC, 0xDD):
        return "an array"
    if first <= 0xBF or 0xD9 <= first <= 0xDB:
        return "text"
    if 0xC4 <= first <= 0xC6:
        return "bytes"
    if 0xC7 <= first <= 0xC9 or 0xD4 <= first <= 0xD8:
        return "an extension"
    return {0xC0: "nil", 0xC1: "the byte 0xC1", 0xC2: "false", 0xC3: "true"}.get(first, "a float")


def decode_msgpack(data: bytes) -> Response:
    """The response in `data`, in any layout; `format` is not set."""
    reader = _Reader(data)
    length = reader.array_length()
    if length is not None:
        response = _read_array(reader, length)
    else:
        length = reader.map_length()
        if length is None:
            raise reader.found("an array or a map")
        response = _read_map(reader, length)
    if reader.position != len(data):
        raise InvalidMsgpack("unexpected bytes after the response", reader.position)
    return response


def _read_array(reader: _Reader, length: int) -> Response:
    if length == 0:
        raise InvalidMsgpack("the array is empty", 0)
    start = reader.position
    version = reader.integer("the version")
    allowed = {1: (5,), 2: (5,), 3: (4, 5)}
    if version not in allowed:
        raise InvalidMsgpack(f"unknown version {version}", start)
    if length not in allowed[version]:
        raise InvalidMsgpack(f"an array of version {version} has not {length} elements", 0)

    if version == 1:
        status = _read_status(reader)
        model = reader.text("the model")
    else:
        status = _read_choice(reader, "the status", STATUSES)
        model = _read_choice(reader, "the model", MODELS_V2)
    tokens = _read_tokens(reader) if length == 5 else 0
    result = reader.text("the result")
    known: dict[int, Version] = {1: 1, 2: 2, 3: 3}
    return Response(result, model, status, tokens, version=known[version])


def _read_map(reader: _Reader, length: int) -> Response:
    seen: set[str] = set()
    status = model = result = ""
    tokens = 0
    for _ in range(length):
        start = reader.position
        key = reader.text("a key")
        if key in seen:
            raise InvalidMsgpack(f"the key {excerpt(key)} is there twice", start)
        seen.add(key)
        start = reader.position
        if key == "v":
            version = reader.integer("the version")
            if version != 1:
                raise InvalidMsgpack(f"unknown version {version} of the map", start)
        elif key == "s":
            status = _read_status(reader)
        elif key == "m":
            model = reader.text("the model")
        elif key == "t":
            tokens = _read_tokens(reader)
        elif key == "r":
            result = reader.text("the result")
        else:
            reader.skip()
    for key in ("v", "s", "m", "t", "r"):
        if key not in seen:
            raise InvalidMsgpack(f"the key {key!r} is missing", 0)
    return Response(result, model, status, tokens, version="map")


def _read_status(reader: _Reader) -> str:
    start = reader.position
    text = reader.text("the status")
    status = status_from(text)
    if status is None:
        raise InvalidMsgpack(f"unknown status {excerpt(text)}", start)
    return status


def _read_choice(reader: _Reader, what: str, names: tuple[str, ...]) -> str:
    start = reader.position
    number = reader.integer(what)
    if not 0 <= number < len(names):
        raise InvalidMsgpack(f"{number} is no integer for {what}", start)
    return names[number]


def _read_tokens(reader: _Reader) -> int:
    start = reader.position
    tokens = reader.integer("the tokens")
    if not 0 <= tokens <= MAX_TOKENS:
        raise InvalidMsgpack("the tokens must be from 0 to 2^63-1", start)
    return tokens


def encode_msgpack(response: Response, version: Version, protocol: int) -> bytes:
    """Layouts 2 and 3 fall back to 1 for a model without an integer."""
    status, model, tokens = response.status, response.model, response.tokens
    value: list[object] | dict[str, object]
    if version == "map":
        value = {
            "v": 1,
            "s": status_text(status, protocol),
            "m": model,
            "t": tokens,
            "r": response.result,
        }
    elif version == 1 or model not in MODELS_V2:
        value = [1, status_text(status, protocol), model, tokens, response.result]
    else:
        value = [version, STATUSES.index(status), MODELS_V2.index(model)]
        if version == 2 or tokens != 0:
            value.append(tokens)
        value.append(response.result)
    data = msgpack.packb(value)
    assert isinstance(data, bytes)
    return data


def read_texts(data: bytes) -> list[str]:
    """An array of strings, with nothing after it."""
    reader = _Reader(data)
    length = reader.array_length()
    if length is None:
        raise reader.found("an array")
    texts = [reader.text("a frame") for _ in range(length)]
    if reader.position != len(data):
        raise InvalidMsgpack("unexpected bytes after the array", reader.position)
    return texts
