"""Compares the reference with the test vectors of the Compact Protocol, with the examples of its
specification (v2 sections 1 to 5, "Usage", "Streaming Delta Protocol"; v4 section 3) and with
hostile input.

    python -m tests.reference.selfcheck

prints how many cases of each file were checked, and ends with an error at the first failure.
"""

from __future__ import annotations

import doctest
import json
import random
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]
import zstandard

from . import base64_strict, base85, deltas, dsl, json_strict, sessions
from .base64_strict import encode_base64
from .base85 import decode_base85, encode_base85
from .compression import compress_gzip, compress_zlib, zstd_header
from .deltas import apply_delta, encode_delta
from .errors import ReferenceError_
from .msgpack_layouts import decode_msgpack
from .responses import decode, detect, encode
from .values import MODELS_V2, MODELS_V4, STATUSES, Dictionary, Response

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "compact"
MEBI = 1024 * 1024


def equal(found: object, expected: object, what: object) -> None:
    if found != expected:
        raise SystemExit(f"{what}:\n  expected {expected!r:.500}\n  found    {found!r:.500}")


def failure(call: Callable[..., object], *arguments: object, **options: object) -> ReferenceError_:
    try:
        value = call(*arguments, **options)
    except ReferenceError_ as error:
        return error
    raise SystemExit(f"an error was expected, found {value!r:.500}")


# The vectors ------------------------------------------------------------------------------------


def check_response(case: dict[str, Any]) -> None:
    wire, expected = case["wire"], Response(**case["response"])
    equal(detect(wire), case["format"], wire)
    found = decode(wire)
    equal(found, expected, wire)
    equal(found.format, case["format"], wire)
    if "encode" in case:
        equal(encode(expected, format=case["format"], **case["encode"]), wire, case)
    for format in ("verbose", "binary", "base85", "zlib", "zstd", "auto"):
        for protocol in (2, 4):
            again = decode(encode(found, format=format, protocol=protocol))
            equal(again.result, expected.result, (format, wire))
            equal((again.model, again.status), (expected.model, expected.status), (format, wire))
            equal(again.tokens, expected.tokens, (format, wire))
    if len(wire) < 200:
        for end in range(len(wire)):
            decode(wire[:end], fallback=True)  # may succeed (a DSL text), must not raise


def check_bad_response(case: dict[str, Any]) -> None:
    wire = case["wire"]
    equal(failure(decode, wire).kind, case["error"], wire[:100])
    equal(decode(wire, fallback=True), Response(wire), wire[:100])


def check_delta(case: dict[str, Any]) -> None:
    content, result = case["content"], case["result"]
    equal(apply_delta(content, case["delta"]), result, case)
    check_delta_between(content, result)
    check_delta_between(result, content)


def check_delta_between(old: str, new: str) -> None:
    delta = encode_delta(old, new)
    equal(apply_delta(old, delta), new, delta)
    equal(apply_delta(old, delta, replace="truncate"), new, delta)
    if delta.startswith("D|R|"):  # other readers count bytes or UTF-16 units
        _, _, digits, text = delta.split("|", 3)
        for encoding, unit in (("utf-8", 1), ("utf-16-le", 2)):
            start, written = int(digits) * unit, text.encode(encoding)
            content = bytearray(old.encode(encoding))
            content[start : start + len(written)] = written
            equal(content.decode(encoding), new, delta)


def check_bad_delta(case: dict[str, Any]) -> None:
    failure(apply_delta, case["content"], case["delta"])


def check_base85(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["bytes"])
    equal(encode_base85(data), case["text"], case["bytes"][:100])
    equal(decode_base85(case["text"]), data, case["text"][:100])


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "bad_deltas.json": check_bad_delta,
    "bad_responses.json": check_bad_response,
    "base85.json": check_base85,
    "deltas.json": check_delta,
    "responses.json": check_response,
}


def check_vectors() -> None:
    # An unread or missing file is an error.
    equal(sorted(path.name for path in VECTORS.glob("*")), sorted(CHECKS), VECTORS)
    for name, check in CHECKS.items():
        cases = json.loads((VECTORS / name).read_text(encoding="utf-8"))
        for case in cases:
            check(case)
        print(f"{name}: {len(cases)}")


# The examples of the specification --------------------------------------------------------------


def check_examples() -> None:
    equal(decode("RES|OK|G3|150|Hello, world!"), Response("Hello, world!", "G3", "OK", 150), "v2")
    limit = Response("API rate limit exceeded", "G3", "ERR", 0)
    equal(decode("RES|ERR|G3|0|API rate limit exceeded"), limit, "v4")
    equal(decode_base85("VPa.s"), b"abcd", "v2")
    broken = failure(decode, "MgqAAKRoZWxsbw==")
    equal((broken.kind, broken.position), ("InvalidBase64", 13), "v2")
    hello = Response("hello", "G3")
    equal(decode("MlAMAAKVoZWxsbw=="), hello, "design")
    equal(encode(hello, format="binary", protocol=2), "MlAMAAKVoZWxsbw==", "design")
    equal(failure(decode_base85, "#####").kind, "InvalidBase85Value", "design")
    spec = {"v": 1, "s": "OK", "m": "C45", "t": 2500, "r": "def process_data(items):"}
    wire = "S" + encode_base85(zstandard.compress(msgpack.packb(spec)))
    equal(decode(wire), Response("def process_data(items):", "C45", "OK", 2500), "v4")
    content = apply_delta("", "D|F|Hello")
    content = apply_delta(content, "D|+|, world!")
    equal(apply_delta(content, "D|R|7|World"), "Hello, World!", "v2")
    equal(apply_delta("abcdef", "D|R|1|x", replace="truncate"), "ax", "design")
    for module in (base85, base64_strict, dsl, deltas, json_strict, sessions):
        equal(doctest.testmod(module).failed, 0, module.__name__)


def check_choices() -> None:
    """Detection, the automatic choice of a format, and the verbose members."""
    equal(detect("\t\n\f\r \ufeff {"), "verbose", "mark")
    equal(failure(detect, " \ufeff\ufeff{").char, "\ufeff", "mark")
    equal(decode(" MlAMAAKVoZWxsbw== \r\n").format, "binary", "whitespace")
    for n, two, four in (
        (49, "dsl", "dsl"),
        (50, "base85", "base85"),
        (255, "base85", "base85"),
        (256, "base85", "zstd"),
        (500, "base85", "zstd"),
        (501, "zlib", "zstd"),
    ):
        response = Response("x" * n, "C4")
        equal(detect(encode(response, format="auto", protocol=2)), two, n)
        equal(detect(encode(response, format="auto", protocol=4)), four, n)
    equal(detect(encode(Response("x", "a|b"), format="auto")), "base85", "auto")
    equal(decode(encode(Response("x", "O4"), format="binary", protocol=2)).version, 1, "fallback")

    for status in STATUSES:
        for returncode in (None, -1, 0, 1, 7):
            implied = 1 if status == "ERR" else 0
            kept = None if returncode == implied else returncode
            response = Response("r", "C4", status, 5, model_name="claude", returncode=returncode)
            expected = Response("r", "C4", status, 5, model_name="claude", returncode=kept)
            for protocol in (2, 4):
                wire = encode(response, format="verbose", protocol=protocol)
                equal(decode(wire), expected, wire)
    for model in ("", *MODELS_V2, *MODELS_V4):
        response = Response("r", model)
        equal(decode(encode(response, format="verbose")), response, model)
    named = Response("r", "G3", model_name="claude")
    equal(failure(encode, named, format="verbose").kind, "EncodeError", "name")


def check_dictionaries() -> None:
    generator = random.Random(2)
    words = [f"word{number}" for number in range(400)]
    texts = [" ".join(generator.choices(words, k=60)) for _ in range(500)]
    samples: list[bytes | bytearray | memoryview[int]] = [text.encode() for text in texts]
    dictionary = zstandard.train_dictionary(4096, samples, dict_id=77).as_bytes()
    response = Response(texts[0], "C45", "PART", 3)
    packed = msgpack.packb({"v": 1, "s": "PARTIAL", "m": "C45", "t": 3, "r": response.result})

    wire = encode(response, format="dictionary", dictionary=dictionary)
    equal(zstd_header(decode_base85(wire[1:])), (77, len(packed)), "header")
    for known in (dictionary, ("words", dictionary)):
        equal(decode(wire, dictionaries=[b"", known]), response, "dictionary")
    missing = failure(decode, wire)
    equal((missing.kind, missing.id), ("DictionaryNotFound", 77), "dictionary")
    equal(
        failure(decode, wire, dictionaries=[dictionary], max_size=99).kind,
        "OutputTooLarge",
        "dictionary",
    )
    equal(detect(encode(response, format="auto", dictionary=dictionary)), "dictionary", "auto")
    equal(failure(decode, "S" + wire[1:]).kind, "DecompressionFailed", "dictionary as S")

    without_id = zstandard.ZstdCompressor(
        dict_data=zstandard.ZstdCompressionDict(dictionary), write_dict_id=False
    ).compress(packed)
    for frame in (without_id, decode_base85(wire[1:])):
        container = b"ZDCT" + len(packed).to_bytes(4, "big") + b"\x05words" + frame
        old = "D" + encode_base85(container)
        named: list[Dictionary] = [("words", dictionary)]
        equal(decode(old, dictionaries=named), response, "container")
        equal(failure(decode, old).kind, "DictionaryNotFound", "container")
        for end in range(len(container)):
            cut = "D" + encode_base85(container[:end])
            failure(decode, cut, dictionaries=named)
    huge = "D" + encode_base85(b"ZDCT\xff\xff\xff\xff\x05words" + without_id)
    equal(failure(decode, huge, dictionaries=named).kind, "OutputTooLarge", "container")
    corrupt = dictionary[:8] + bytes(len(dictionary) - 8)
    error = failure(decode, wire, dictionaries=[corrupt])
    equal(error.kind, "DecompressionFailed", "corrupt dictionary")


# Hostile input ----------------------------------------------------------------------------------


def check_hostile() -> None:
    def kind_of_map(extra: bytes) -> str | None:
        """The error for a valid map with one more key, whose value is `extra`."""
        head = b"\x86\xa1v\x01\xa1s\xa2OK\xa1m\xa0\xa1t\x00\xa1r\xa0\xa1x"
        try:
            decode_msgpack(head + extra)
        except ReferenceError_ as error:
            return error.kind
        return None

    equal(kind_of_map(b"\x91" * 127 + b"\x90"), None, "128 deep")
    equal(kind_of_map(b"\x91" * 128 + b"\x90"), "InvalidMsgpack", "129 deep")
    equal(kind_of_map(b"\x81\x00" * 127 + b"\x80"), None, "128 deep")
    equal(kind_of_map(b"\x81\x00" * 100_000 + b"\x80"), "InvalidMsgpack", "100,000 deep")
    equal(kind_of_map(b"\xdd\xff\xff\xff\xff"), "InvalidMsgpack", "array of 4 Gi")
    equal(kind_of_map(b"\xdb\xff\xff\xff\xff"), "InvalidMsgpack", "text of 4 Gi")
    equal(kind_of_map(b"\xc1"), "InvalidMsgpack", "0xC1")
    for value in (None, True, 1.5, -7, 2**64 - 1, b"x" * 300, ["a" * 70_000], {1: {2: [3]}}):
        equal(kind_of_map(msgpack.packb(value)), None, value)
    for size in (0, 1, 2, 3, 4, 8, 16, 17, 300, 70_000):
        equal(kind_of_map(msgpack.packb(msgpack.ExtType(5, bytes(size)))), None, size)

    verbose = '{"model":"G3","returncode":0,"response":"","x":%s}'
    for depth, expected in ((128, None), (129, "InvalidFormat"), (200_000, "InvalidFormat")):
        wire = verbose % ("[" * depth + "]" * depth)
        if expected is None:
            decode(wire)
        else:
            equal(failure(decode, wire).kind, expected, depth)
    for member in ("NaN", "-Infinity", "01", "1.", "'x'", '"\n"', "[1,]", "{} {}", "\f"):
        equal(failure(decode, verbose % member).kind, "InvalidFormat", member)
    decode(verbose % ("9" * 100_000))
    decode(verbose % '"\\ud800"')
    lone = '{"model":"G3","returncode":0,"response":"\\ud800"}'
    equal(failure(decode, lone).kind, "InvalidFormat", "lone surrogate")
    for tokens in ("9" * 100_000, "0" * 100_000 + str(2**63), "", "1_0", "+1", "²"):
        wire = f"RES|OK||{tokens}|"
        equal(failure(decode, wire).kind, "InvalidFormat", tokens[:40])
    equal(decode("RES|OK||" + "0" * 100_000 + "7|").tokens, 7, "zeros")
    for wire in ("\ud800", "RES|OK|||\udfff"):
        equal(failure(decode, wire).kind, "InvalidFormat", "lone surrogate")


def check_bombs() -> None:
    zeros = bytes(64 * MEBI)
    with_size = zstandard.ZstdCompressor().compress(zeros)
    without_size = zstandard.ZstdCompressor(write_content_size=False).compress(zeros)
    liar = zstandard.ZstdCompressor(write_content_size=True).compress(b"abc" * 100)
    lies = liar[:4] + b"\xe0" + (2**40).to_bytes(8, "little") + liar[7:]
    bombs = [
        "Z" + encode_base85(compress_zlib(zeros)),
        "Z" + encode_base85(compress_gzip(zeros)),
        "S" + encode_base85(with_size),
        "S" + encode_base85(without_size),
        "S" + encode_base85(lies),
    ]
    wide = b"\x28\xb5\x2f\xfd\x00\xf8" + without_size[6:]  # a window of 2^41 bytes
    for bomb in bombs:
        tracemalloc.start()
        start = time.perf_counter()
        error = failure(decode, bomb, max_size=1000)
        seconds = time.perf_counter() - start
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        equal((error.kind, error.limit), ("OutputTooLarge", 1000), bomb[:100])
        equal((peak < 2 * MEBI, seconds < 2), (True, True), (bomb[:100], peak, seconds))
    equal(failure(decode, "S" + encode_base85(wide)).kind, "DecompressionFailed", "window")
    # A delta of exactly max_size bytes is read, one byte more is refused.
    exact = b"D|F|" + bytes(996)
    for packed in (zlib.compress(exact), compress_gzip(exact)):
        delta = "D|Z|" + encode_base85(packed)
        equal(len(apply_delta("", delta, max_size=1000)), 996, "limit")
        equal(failure(apply_delta, "", delta, max_size=999).limit, 999, "limit")
    server = "D|Z|" + encode_base64(compress_gzip(exact))
    equal(failure(apply_delta, "", server, max_size=999).limit, 999, "limit")

    small = msgpack.packb([1, "OK", "G3", 0, "x" * 500])
    for prefix, packed in (
        ("Z", compress_zlib(small)),
        ("Z", compress_gzip(small)),
        ("S", zstandard.ZstdCompressor().compress(small)),
        ("S", zstandard.ZstdCompressor(write_content_size=False).compress(small)),
        ("S", zstandard.ZstdCompressor(write_checksum=True).compress(small)),
    ):
        equal(decode(prefix + encode_base85(packed), max_size=len(small)).result, "x" * 500, prefix)
        changed = [packed[:end] for end in range(len(packed))]
        changed += [packed + b"\x00", packed + packed]
        for data in changed:
            wire = prefix + encode_base85(data)
            equal(failure(decode, wire).kind, "DecompressionFailed", (wire, len(data)))


def check_random() -> None:
    """Changed texts raise only our own errors; Base64, Base85 and MessagePack agree with other
    readers."""
    generator = random.Random(1)
    cases = json.loads((VECTORS / "responses.json").read_text(encoding="utf-8"))
    wires = [case["wire"] for case in cases if len(case["wire"]) < 300]
    for _ in range(20_000):
        wire = list(generator.choice(wires))
        for _ in range(generator.randint(1, 3)):
            place = generator.randrange(len(wire))
            char = chr(generator.choice((generator.randrange(128), generator.randrange(0x3000))))
            wire[place : place + generator.randint(0, 2)] = [char] * generator.randint(0, 2)
            wire = wire or ["M"]
        decode("".join(wire), fallback=True)
    for size in range(70):
        data = generator.randbytes(size)
        equal(decode_base85(encode_base85(data)), data, data)
        equal(base64_strict.decode_base64(encode_base64(data)), data, data)
    for _ in range(2_000):
        data = msgpack.packb([1, "OK", "G3", generator.getrandbits(40), "result"])
        place = generator.randrange(len(data))
        data = data[:place] + generator.randbytes(1) + data[place + 1 :]
        try:
            value = msgpack.unpackb(data, strict_map_key=False)
        except (ValueError, TypeError):  # a TypeError where an array would be a key
            failure(decode_msgpack, data)
            continue
        good = (
            isinstance(value, list)
            and [type(item) for item in value] == [int, str, str, int, str]
            and value[0] == 1
            and value[1] in (*STATUSES, "PARTIAL")
            and 0 <= value[3] < 2**63
        )
        if good:
            equal(decode_msgpack(data).result, value[4], data)
        else:
            failure(decode_msgpack, data)
    alphabet = "ab한🚀é"
    for _ in range(2_000):
        old, new = ("".join(generator.choices(alphabet, k=generator.randint(0, 6))) for _ in "on")
        check_delta_between(old, new)
        check_delta_between("a" * 30 + old, "a" * 30 + new)


def main() -> int:
    check_vectors()
    check_examples()
    check_choices()
    check_dictionaries()
    check_hostile()
    check_bombs()
    check_random()
    print("examples, choices, dictionaries, hostile input, bombs and random input: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
