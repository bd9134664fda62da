"""Hostile input costs little: input that claims a large size, expands to one, or is large.

Each case runs in a process of its own (`python -m tests.package.test_limits NAME`). Once the input
is ready, its address space may grow by `EXTRA_BYTES`; our error must be raised within `SECONDS`.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import compactwire as cw
from compactwire import gcf
from tests.strategies.outcomes import result_or_error
from tests.strategies.packing import PACKERS, SMALL, SMALL_BYTES, base64_text, container, prefix_of

ROOT = Path(__file__).resolve().parents[2]
MEBI = 1024 * 1024
EXTRA_BYTES = 200 * MEBI
SECONDS = 1.0
BOMB_MEBIBYTES = 100  # the default of max_size is 64
DEEP = 100_000
MANY = 1_000_000

Call = Callable[[], object]


def zeros(compressor: Any) -> bytes:
    """`BOMB_MEBIBYTES` of zeros, never in memory as a whole."""
    chunks = [compressor.compress(b"\0" * MEBI) for _ in range(BOMB_MEBIBYTES)]
    return b"".join(chunks) + bytes(compressor.flush())


def zstd_zeros(*, content_size: bool, dictionary: bool = False) -> bytes:
    data = zstandard.ZstdCompressionDict(SMALL_BYTES) if dictionary else None
    compressor = zstandard.ZstdCompressor(dict_data=data, write_content_size=content_size)
    return zeros(compressor.compressobj(BOMB_MEBIBYTES * MEBI if content_size else -1))


def zlib_zeros() -> bytes:
    return zeros(zlib.compressobj(9))


def gzip_zeros() -> bytes:
    return zeros(zlib.compressobj(9, zlib.DEFLATED, 31))


def windowed(descriptor: int) -> bytes:
    """A bomb without content size whose header sets the window size."""
    frame = zstd_zeros(content_size=False)
    return frame[:5] + bytes([descriptor]) + frame[6:]


def claiming(size: int) -> bytes:
    """A zstd frame of 100 bytes that claims to hold `size` bytes, and holds a few."""
    return b"\x28\xb5\x2f\xfd\xe0" + size.to_bytes(8, "little") + b"\x01\x00\x00" + bytes(84)


def empty_blocks() -> bytes:
    """A zstd frame of 10^6 blocks, each of which could hold 128 KiB and holds nothing."""
    return b"\x28\xb5\x2f\xfd\x00\x38" + bytes(3) * (MANY - 1) + b"\x01\0\0"


def wire(prefix: str, data: bytes, **options: Any) -> Call:
    return text(prefix + cw.encode_base85(data), dictionary=SMALL, **options)


def text(data: str | bytes, function: Callable[..., object] = cw.decode, **options: Any) -> Call:
    return lambda: function(data, **options)


def apply(delta: str) -> str:
    return cw.apply_delta("content", delta)


def delta(operation: str, data: bytes) -> Call:
    return text(f"D|{operation}|{cw.encode_base85(data)}", apply)


def packed(value: bytes) -> Call:
    """A complete response as a map, and an ignored key with this value."""
    return wire("A", b"\x86\xa1v\x01\xa1s\xa2OK\xa1m\xa0\xa1t\x00\xa1r\xa0\xa1x" + value)


def tool_call(value: bytes) -> Call:
    """A compressed call with 10^7 bytes of this value in its arguments."""
    count = 10_000_000 // len(value)
    arguments = b"\xdd" + count.to_bytes(4, "big") + value * count
    message = zstandard.compress(b"\x83\xa1v\x01\xa1n\xa1f\xa1a" + arguments)
    return text("S" + cw.encode_base85(message), cw.decode_tool_call)


def verbose(members: str) -> Call:
    return text('{"model":"G3","returncode":0,"response":"",' + members + "}")


def many_keys(*, equal: bool = False, count: int = MANY) -> bytes:
    """A response as a map with `count` more keys, whose values are 0."""
    pairs = b"".join(b"\xa6%06d\0" % (0 if equal else number) for number in range(count))
    head = b"\xdf" + (count + 5).to_bytes(4, "big")
    return head + b"\xa1v\x01\xa1s\xa2OK\xa1m\xa0\xa1t\x00\xa1r\xa0" + pairs


def hashes() -> str:
    return "#" * 100_000_000


TOO_LARGE, FAILED, MSGPACK = cw.OutputTooLarge, cw.DecompressionFailed, cw.InvalidMsgpack
FORMAT, VALUE = cw.InvalidFormat, cw.InvalidBase85Value
CASES: dict[str, tuple[type[cw.CompactWireError], Callable[[], Call]]] = {
    "zlib bomb": (TOO_LARGE, lambda: wire("Z", zlib_zeros())),
    "gzip bomb": (TOO_LARGE, lambda: wire("Z", gzip_zeros())),
    "zstd bomb": (TOO_LARGE, lambda: wire("S", zstd_zeros(content_size=True))),
    "zstd bomb without size": (TOO_LARGE, lambda: wire("S", zstd_zeros(content_size=False))),
    "dictionary bomb": (
        TOO_LARGE,
        lambda: wire("D", zstd_zeros(content_size=True, dictionary=True)),
    ),
    "dictionary bomb without size": (
        TOO_LARGE,
        lambda: wire("D", zstd_zeros(content_size=False, dictionary=True)),
    ),
    "container bomb": (
        TOO_LARGE,
        lambda: wire("D", container(b"small", 9, zstd_zeros(content_size=True, dictionary=True))),
    ),
    "container that claims 4 GiB": (
        TOO_LARGE,
        lambda: wire("D", container(b"small", 2**32 - 1, zstandard.compress(b""))),
    ),
    "call of 10^7 empty objects": (TOO_LARGE, lambda: tool_call(b"\x80")),
    "call of nested objects": (TOO_LARGE, lambda: tool_call(b"\x81\xa0" * 120 + b"\xc0")),
    "inspected bomb": (TOO_LARGE, lambda: text("Z" + cw.encode_base85(zlib_zeros()), cw.inspect)),
    "delta bomb": (TOO_LARGE, lambda: delta("Z", zlib_zeros())),
    "gzip delta bomb": (TOO_LARGE, lambda: delta("Z", gzip_zeros())),
    "client's full delta bomb": (TOO_LARGE, lambda: delta("ZF", zlib_zeros())),
    "client's append delta bomb": (TOO_LARGE, lambda: delta("Z+", zlib_zeros())),
    "client's replace delta bomb": (TOO_LARGE, lambda: delta("ZR", zlib_zeros())),
    "server's delta bomb": (
        TOO_LARGE,
        lambda: text("D|Z|" + base64_text(gzip_zeros()), apply),
    ),
    "stream of a delta bomb": (
        TOO_LARGE,
        lambda: text("D|Z|" + cw.encode_base85(zlib_zeros()), cw.DeltaStream().apply),
    ),
    "bomb with a window of 2 GiB": (TOO_LARGE, lambda: wire("S", windowed(0xA8))),
    "bomb with a window of 2^41 bytes": (FAILED, lambda: wire("S", windowed(0xF8))),
    "frame that claims 4 GiB": (TOO_LARGE, lambda: wire("S", claiming(2**32))),
    "frame that claims 2^64 - 3 bytes": (TOO_LARGE, lambda: wire("S", claiming(2**64 - 3))),
    "frame that claims 4 GiB, and may": (
        FAILED,
        lambda: wire("S", claiming(2**32), max_size=2**40),
    ),
    "frame that claims 2^64 - 3 bytes, and may": (
        FAILED,
        lambda: wire("S", claiming(2**64 - 3), max_size=2**64),
    ),
    "10^6 empty blocks": (MSGPACK, lambda: wire("S", empty_blocks())),
    "text of 2^32 - 1 bytes": (MSGPACK, lambda: wire("A", b"\x94\x03\0\0\xdb\xff\xff\xff\xff")),
    "array of 2^32 - 1": (MSGPACK, lambda: wire("A", b"\xdd\xff\xff\xff\xff\x03")),
    "map of 2^32 - 1": (MSGPACK, lambda: wire("A", b"\xdf\xff\xff\xff\xff\xa1v\x01")),
    "key of 2^32 - 1 bytes": (MSGPACK, lambda: wire("A", b"\x85\xdb\xff\xff\xff\xff")),
    "ignored text of 2^32 - 1 bytes": (MSGPACK, lambda: packed(b"\xdb\xff\xff\xff\xff")),
    "ignored bytes of 2^32 - 1": (MSGPACK, lambda: packed(b"\xc6\xff\xff\xff\xff")),
    "ignored array of 2^32 - 1": (MSGPACK, lambda: packed(b"\xdd\xff\xff\xff\xff")),
    "ignored map of 2^32 - 1": (MSGPACK, lambda: packed(b"\xdf\xff\xff\xff\xff")),
    "ignored extension of 2^32 - 1 bytes": (MSGPACK, lambda: packed(b"\xc9\xff\xff\xff\xff\1")),
    "deep MessagePack": (MSGPACK, lambda: wire("A", b"\x91" * DEEP + b"\xc0")),
    "deep MessagePack maps": (MSGPACK, lambda: wire("A", b"\x81\xa1x" * DEEP + b"\xc0")),
    "deep ignored arrays": (MSGPACK, lambda: packed(b"\x91" * DEEP + b"\xc0")),
    "deep ignored maps": (MSGPACK, lambda: packed(b"\x81\x01" * DEEP + b"\xc0")),
    "deep JSON": (FORMAT, lambda: text('{"model":' * DEEP + "0" + "}" * DEEP)),
    "deep ignored JSON arrays": (FORMAT, lambda: verbose('"x":' + "[" * DEEP + "]" * DEEP)),
    "deep ignored JSON objects": (
        FORMAT,
        lambda: verbose('"x":' + '{"x":' * DEEP + "0" + "}" * DEEP),
    ),
    "deep JSON in a field": (FORMAT, lambda: verbose('"status":' + "[" * DEEP + "]" * DEEP)),
    "10^6 unknown keys": (MSGPACK, lambda: wire("A", many_keys())),
    "10^6 equal keys": (MSGPACK, lambda: wire("A", many_keys(equal=True))),
    "10^6 unknown JSON members": (
        FORMAT,
        lambda: verbose(",".join(f'"x{number}":0' for number in range(MANY))),
    ),
    "10^6 equal JSON members": (FORMAT, lambda: verbose(",".join(['"x":0'] * MANY))),
    "10^6 equal known JSON members": (FORMAT, lambda: verbose(",".join(['"tokens":0'] * MANY))),
    "100 MB of # after A": (VALUE, lambda: text("A" + hashes())),
    "100 MB of # after Z": (VALUE, lambda: text("Z" + hashes())),
    "100 MB of # after S": (VALUE, lambda: text("S" + hashes())),
    "100 MB of # after D": (VALUE, lambda: text("D" + hashes())),
    "100 MB of # after M": (cw.InvalidBase64, lambda: text("M" + hashes())),
    "100 MB of # after RES|": (FORMAT, lambda: text("RES|" + hashes())),
    "100 MB of # in the tokens": (FORMAT, lambda: text("RES|OK||" + hashes() + "|")),
    "100 MB of # after {": (FORMAT, lambda: text("{" + hashes())),
    "100 MB of # in a delta": (
        VALUE,
        lambda: text("D|Z|" + hashes(), apply),
    ),
    "100 MB of #": (cw.InvalidPrefix, lambda: text(hashes())),
    "100 MB of # detected": (cw.InvalidPrefix, lambda: text(hashes(), cw.detect)),
    "100 MB of # as Base85": (VALUE, lambda: text(hashes(), cw.decode_base85)),
    "100 MB of # as bytes": (VALUE, lambda: text(b"A" + hashes().encode())),
    "100 MB of bars": (FORMAT, lambda: text("RES|" + "|" * 100_000_000)),
    "100 MB of white space": (cw.EmptyResponse, lambda: text(" " * 100_000_000)),
    "2^60 references to a list, in shrink": (MemoryError, lambda: value(cw.shrink)),
    "2^60 references to a list, in GCF": (MemoryError, lambda: value(gcf.dumps)),
}


def value(write: Callable[[Any], object]) -> Callable[[], object]:
    """Write 60 dicts, of which each contains the next one twice, as YAML with aliases can make."""
    nested: Any = [1]
    for _ in range(60):
        nested = {"a": nested, "b": nested}

    def written() -> object:
        try:
            return write(nested)
        except MemoryError as error:
            return type(error)

    return written


def limit_memory() -> None:
    """Limit the growth of the address space to EXTRA_BYTES, if the system supports it."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + EXTRA_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def run(name: str) -> dict[str, Any]:
    call = CASES[name][1]()
    gc.collect()
    limit_memory()
    # The time of this process alone, so that a busy machine changes nothing.
    start = time.process_time()
    found = result_or_error(call)
    seconds = time.process_time() - start
    return {"found": found.__name__ if isinstance(found, type) else "no error", "seconds": seconds}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_hostile_input_costs_little(name: str) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "tests.package.test_limits", name],
        cwd=ROOT,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert child.returncode == 0, child.stderr
    report = json.loads(child.stdout)
    assert report["found"] == CASES[name][0].__name__
    assert report["seconds"] < SECONDS


# The limit itself

RESPONSE = cw.Response("x" * 1000, "C4", tokens=7)
MESSAGE = cw.decode_base85(cw.encode(RESPONSE, format="base85")[1:])
COMPRESSED = {
    name: prefix_of(name) + cw.encode_base85(pack(MESSAGE)) for name, pack in PACKERS.items()
}


@pytest.mark.parametrize("name", COMPRESSED)
def test_max_size_is_exact(name: str) -> None:
    wire = COMPRESSED[name]
    size = dict(cw.inspect(wire, dictionary=SMALL).layers)["msgpack"]
    assert cw.decode(wire, max_size=size, dictionary=SMALL) == RESPONSE
    with pytest.raises(cw.OutputTooLarge) as caught:
        cw.decode(wire, max_size=size - 1, dictionary=SMALL)
    assert caught.value.limit == size - 1


@pytest.mark.parametrize("name", COMPRESSED)
def test_max_size_may_be_0(name: str) -> None:
    with pytest.raises(cw.OutputTooLarge) as caught:
        cw.decode(COMPRESSED[name], max_size=0, dictionary=SMALL)
    assert caught.value.limit == 0


@pytest.mark.parametrize("max_size", [2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**100])
@pytest.mark.parametrize("name", COMPRESSED)
def test_max_size_may_be_huge(name: str, max_size: int) -> None:
    assert cw.decode(COMPRESSED[name], max_size=max_size, dictionary=SMALL) == RESPONSE


def test_a_frame_that_claims_130_gb_is_refused() -> None:
    # There is not enough memory for the claimed size; if there is, the frame holds no response.
    with pytest.raises((MemoryError, cw.InvalidMsgpack)):
        wire("S", empty_blocks(), max_size=2**63)()


@pytest.mark.parametrize("format", ["verbose", "dsl", "binary", "base85"])
def test_max_size_does_not_bound_what_is_not_compressed(format: Any) -> None:
    assert cw.decode(cw.encode(RESPONSE, format=format), max_size=0) == RESPONSE


def test_a_negative_max_size_is_a_value_error() -> None:
    calls: list[Call] = [
        lambda: cw.decode("RES|OK||0|", max_size=-1),
        lambda: cw.inspect("RES|OK||0|", max_size=-1),
        lambda: cw.apply_delta("", "D|F|", max_size=-1),
        lambda: cw.DeltaStream(max_size=-1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="max_size"):
            call()


@pytest.mark.parametrize("operation", ["Z", "ZF", "Z+", "ZR"])
def test_max_size_of_a_delta_is_exact(operation: str) -> None:
    plain = b"D|F|" + b"y" * 996 if operation == "Z" else b"7|" + b"y" * 998
    delta = f"D|{operation}|{cw.encode_base85(zlib.compress(plain))}"
    assert cw.apply_delta("content", delta, max_size=1000).endswith("y" * 996)
    with pytest.raises(cw.OutputTooLarge) as caught:
        cw.apply_delta("content", delta, max_size=999)
    assert caught.value.limit == 999


def test_a_stream_grows_at_most_to_max_size() -> None:
    stream = cw.DeltaStream("한" * 3, max_size=12)
    assert stream.apply("D|+|한") == "한한한한"
    with pytest.raises(cw.OutputTooLarge) as caught:
        stream.apply("D|+|x")
    assert (caught.value.limit, stream.content) == (12, "한한한한")
    assert stream.apply("D|R|3|abc") == "한한한abc"


def test_hundreds_of_unknown_keys_are_ignored() -> None:
    assert wire("A", many_keys(count=900))() == cw.Response("")
    assert verbose(",".join(f'"x{n}":0' for n in range(900)))() == cw.Response("", "G3")


@pytest.mark.parametrize("depth", [1, 64, 127, 128])
def test_ignored_values_may_be_nested_128_deep(depth: int) -> None:
    assert packed(b"\x91" * depth + b"\xc0")() == cw.Response("")
    assert packed(b"\x81\x01" * depth + b"\xc0")() == cw.Response("")
    assert verbose('"x":' + "[" * depth + "]" * depth)() == cw.Response("", "G3")
    assert verbose('"x":' + '{"x":' * depth + "0" + "}" * depth)() == cw.Response("", "G3")


def test_ignored_values_nested_deeper_are_refused() -> None:
    assert result_or_error(packed(b"\x91" * 129 + b"\xc0")) is cw.InvalidMsgpack
    assert result_or_error(packed(b"\x81\x01" * 129 + b"\xc0")) is cw.InvalidMsgpack
    assert result_or_error(verbose('"x":' + "[" * 129 + "]" * 129)) is cw.InvalidFormat


@pytest.mark.parametrize(
    "value",
    ["null", "-0", "1e999", "-1E-999", "9" * 1000, '"\\ud800"', '"\\u0000"', '[{"":[]}]', "{}"],
)
def test_an_ignored_member_may_be_any_json(value: str) -> None:
    assert verbose('"x":' + value)() == cw.Response("", "G3")


@pytest.mark.parametrize(
    "value",
    [
        *(
            b"\xc0",
            b"\xc2",
            b"\xc3",
            b"\x7f",
            b"\xff",
            b"\xcf" + b"\xff" * 8,
            b"\xd3" + b"\x80" * 8,
        ),
        *(b"\xca" + bytes(4), b"\xcb" + bytes(8), b"\xa1\xff", b"\xd9\x01x", b"\xc4\x01x"),
        *(b"\xd4\x01" + bytes(1), b"\xd8\x01" + bytes(16), b"\xc7\x03\x01abc", b"\xc9\0\0\0\0\x01"),
        *(b"\x93\x01\x02\x03", b"\x81\x91\x01\xc4\x00", b"\xdc\x00\x00", b"\xdf\x00\x00\x00\x00"),
    ],
)
def test_an_ignored_key_may_have_any_messagepack_value(value: bytes) -> None:
    assert packed(value)() == cw.Response("")


@pytest.mark.parametrize(
    "value", [b"", b"\xc1", b"\xca\0", b"\xd4\x01", b"\xc7\x03\x01ab", b"\x91"]
)
def test_an_ignored_key_has_a_whole_value(value: bytes) -> None:
    assert result_or_error(packed(value)) is cw.InvalidMsgpack


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1])))
