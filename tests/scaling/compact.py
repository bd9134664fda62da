"""Messages of the compact protocol: responses and tool calls."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from typing import Any

import compactwire as cw

from .harness import TEXT, Case

FORMATS = ["verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary"]

# Results, by the parameter that grows: their length


def plain(size: int) -> str:
    """Text that compression cannot make much shorter."""
    return random.Random(size).randbytes(size // 2).hex()


def escaped(size: int) -> str:
    """Each character is an escape of six in JSON."""
    return "\x01" * size


def languages(size: int) -> str:
    return "한국어 русский ελληνικά " * (size // 24)


# Tool calls, by the number of values


def numbers(count: int) -> Any:
    return list(range(count))


def records(count: int) -> Any:
    return [{f"key {n}": n} for n in range(count)]


def one_object(count: int) -> Any:
    return {f"key {n}": None for n in range(count)}


def texts(count: int) -> Any:
    return [f"text number {n}" for n in range(count)]


def deep(count: int) -> Any:
    value: Any = 1
    for _ in range(100):
        value = [value]
    return [value] * (count // 100)


ARGUMENTS = [numbers, records, one_object, texts, deep]


def call_of(format: str, make: Callable[[int], Any]) -> Callable[[int], str]:
    return lambda count: cw.encode_tool_call("tool", make(count), format=format)


def message_of(format: str, make: Callable[[int], str]) -> Callable[[int], str]:
    return lambda size: cw.encode(cw.Response(make(size)), format=format)


def writer(format: str) -> Callable[[str], object]:
    return lambda result: cw.encode(cw.Response(result), format=format)


def call_writer(format: str) -> Callable[[Any], object]:
    return lambda arguments: cw.encode_tool_call("tool", arguments, format=format)


def read(wire: str) -> object:
    return cw.decode(wire), cw.inspect(wire)


# Messages that our writers do not produce


def unknown_members(count: int) -> str:
    """The most unknown members, with a value that is read and dropped."""
    members = ",".join(f'"x{n}":{list(range(count // 500))}' for n in range(500))
    return f'{{"result":"r",{members}}}'


def empty_elements(count: int) -> str:
    """A compressed call; each byte of its arguments is a value."""
    arguments = b"\xdd" + count.to_bytes(4, "big") + b"\xc0" * count
    message = b"\x83\xa1v\x01\xa1n\xa1t\xa1a" + arguments
    return "Z" + cw.encode_base85(zlib.compress(message))


def as_json(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


SIZES = (40_000, 1_000_000)
# Up to 16, 128 and 256 KiB, zstd takes other parameters, whose steps for each byte differ by a
# factor of eight. These sizes are above.
ZSTD_SIZES = (320_000, 1_000_000)
COUNTS = (2000, 40_000)

RESULTS: list[tuple[str, Callable[[int], str]]] = [
    *((format, plain) for format in FORMATS),
    ("verbose", escaped),
    ("dsl", languages),
    ("binary", languages),
]


def sizes_of(format: str) -> tuple[int, int]:
    return ZSTD_SIZES if format == "zstd" else SIZES


cw.encode("", format="dictionary")  # The dictionary is prepared by its first use.

CASES = [
    *(
        Case(f"encode, {format}: {make.__name__}", writer(format), make, *sizes_of(format), TEXT)
        for format, make in [*RESULTS, ("smallest", plain), ("smallest", escaped)]
    ),
    *(
        Case(
            f"decode, {format}: {make.__name__}", read, message_of(format, make), *sizes_of(format)
        )
        for format, make in RESULTS
    ),
    *(
        Case(
            f"encode_tool_call, {format}: {make.__name__}",
            call_writer(format),
            make,
            *COUNTS,
            size_of=as_json,
        )
        for format in ("verbose", "smallest")
        for make in ARGUMENTS
    ),
    *(
        Case(
            f"decode_tool_call, {format}: {make.__name__}",
            cw.decode_tool_call,
            call_of(format, make),
            *COUNTS,
        )
        for format in ("verbose", "binary")
        for make in ARGUMENTS
    ),
    Case("decode: unknown members", read, unknown_members, 20_000, 150_000),
    Case("decode_tool_call: empty elements", cw.decode_tool_call, empty_elements, 20_000, 500_000),
]
