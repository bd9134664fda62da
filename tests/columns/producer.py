"""A producer of columns, and a reader of results, by ctypes and without any Arrow library.

Source: the Arrow C data and stream interfaces, and their PyCapsule interface.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
# Not `c_char_p`, which ctypes cannot free when a callback returns it.
Message = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
NULLABLE = 2
EIO = 5


class Schema(ctypes.Structure):
    """`struct ArrowSchema`."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


class Array(ctypes.Structure):
    """`struct ArrowArray`."""

    _fields_ = (
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.POINTER(ctypes.c_void_p)),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


class Stream(ctypes.Structure):
    """`struct ArrowArrayStream`."""

    _fields_ = (
        ("get_schema", Call),
        ("get_next", Call),
        ("get_last_error", Message),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype = ctypes.c_void_p
pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


@Release
def _release_schema(schema: int) -> None:
    Schema.from_address(schema).release = None


@Release
def _release_array(array: int) -> None:
    Array.from_address(array).release = None


@Release
def _release_stream(stream: int) -> None:
    Stream.from_address(stream).release = None


def _address(callback: Any) -> int | None:
    return ctypes.cast(callback, ctypes.c_void_p).value


class Column:
    """Chunks of texts. `fields` are set in each array instead of what is right."""

    def __init__(
        self,
        *chunks: Sequence[str | bytes | None],
        format: bytes = b"u",
        offsets: Sequence[int] | None = None,
        fields: dict[str, Any] | None = None,
        error: str | None = None,
        shift: int = 0,
    ) -> None:
        self.format, self.fields, self.error, self.shift = format, fields or {}, error, shift
        self.alive: list[Any] = []
        self.chunks = [self._buffers(chunk, offsets) for chunk in chunks]

    def _buffers(
        self, texts: Sequence[str | bytes | None], offsets: Sequence[int] | None
    ) -> tuple[int, list[bytes]]:
        data = [b"" if t is None else t.encode() if isinstance(t, str) else t for t in texts]
        valid = bytearray((len(texts) + 7) // 8)
        for row, text in enumerate(texts):
            valid[row // 8] |= (text is not None) << row % 8
        ends = [0]
        for text in data:
            ends.append(ends[-1] + len(text))
        ends = ends if offsets is None else list(offsets)
        return len(texts), [
            bytes(valid),
            b"".join(e.to_bytes(4, "little", signed=True) for e in ends),
            b"".join(data),
        ]

    def fill_schema(self, schema: Schema) -> None:
        schema.format, schema.name, schema.flags = self.format, b"", NULLABLE
        schema.release = _address(_release_schema)

    def fill_array(self, array: Array, length: int, buffers: Iterable[bytes]) -> None:
        before = bytes(self.shift)
        held = [ctypes.create_string_buffer(before + one, len(one) + 16) for one in buffers]
        places = [ctypes.addressof(buffer) + self.shift for buffer in held]
        pointers = (ctypes.c_void_p * len(held))(*places)
        self.alive += [held, pointers]
        array.length, array.null_count, array.n_buffers = length, -1, len(held)
        array.buffers = pointers
        array.release = _address(_release_array)
        for name, value in self.fields.items():
            setattr(array, name, value)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        rest = iter(self.chunks)
        message = ctypes.create_string_buffer((self.error or "").encode())

        @Call
        def get_schema(_: int, out: int) -> int:
            self.fill_schema(Schema.from_address(out))
            return 0

        @Call
        def get_next(_: int, out: int) -> int:
            chunk = next(rest, None)
            if chunk is not None:
                self.fill_array(Array.from_address(out), *chunk)
            elif self.error:
                return EIO
            else:
                ctypes.memset(out, 0, ctypes.sizeof(Array))
            return 0

        @Message
        def get_last_error(_: int) -> int:
            return ctypes.addressof(message)

        stream = Stream(get_schema, get_next, get_last_error, _address(_release_stream), None)
        self.alive += [stream, get_schema, get_next, get_last_error]
        return _new(ctypes.addressof(stream), b"arrow_array_stream", None)


class OneArray:
    """A column of one chunk that is offered as an array only."""

    def __init__(self, chunk: Sequence[str | bytes | None], **options: Any) -> None:
        self.column = Column(chunk, **options)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        schema, array = Schema(), Array()
        self.column.fill_schema(schema)
        self.column.fill_array(array, *self.column.chunks[0])
        self.column.alive += [schema, array]
        return (
            _new(ctypes.addressof(schema), b"arrow_schema", None),
            _new(ctypes.addressof(array), b"arrow_array", None),
        )


def texts(column: Any) -> list[str | None]:
    """The rows of a column of texts, read from its stream."""
    return [None if row is None else row.decode() for row in binaries(column)]


def binaries(column: Any) -> list[bytes | None]:
    """The rows of a column of texts or bytes, read from its stream."""
    capsule = column.__arrow_c_stream__()
    address = pointer(capsule, b"arrow_array_stream")
    stream = Stream.from_address(address)
    rows: list[bytes | None] = []
    while True:
        array = Array()
        assert stream.get_next(address, ctypes.addressof(array)) == 0
        if not array.release:
            return rows
        rows += _rows(array)
        Release(array.release)(ctypes.addressof(array))


def _rows(array: Array) -> list[bytes | None]:
    valid, ends, data = (array.buffers[at] for at in range(3))
    offsets = (ctypes.c_int32 * (array.length + 1)).from_address(ends)
    bits = ctypes.string_at(valid, (array.length + 7) // 8) if valid else None
    found: list[bytes | None] = []
    for row in range(array.length):
        if bits is not None and not bits[row // 8] >> row % 8 & 1:
            found.append(None)
            continue
        start, end = offsets[row], offsets[row + 1]
        found.append(ctypes.string_at((data or 0) + start, end - start) if end > start else b"")
    return found
