"""Hypothesis strategies: responses and deltas that are good, and wires that are not.

What is hostile here is mostly near to what is right: a text that fails at its first character
tests nothing behind it.
"""

from __future__ import annotations

import base64
import functools
import json
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import compactwire as cw
import msgpack  # type: ignore[import-untyped]
import zstandard
from hypothesis import settings
from hypothesis import strategies as st

from .reference.base85 import ALPHABET, encode_base85
from .reference.compression import compress_gzip

FORMATS = ("verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary")
PROTOCOLS = (2, 4)
LAYOUTS = (None, 1, 2, 3, "map")
STATUSES = ("OK", "ERR", "PART", "STREAM")
CODES = ("G3", "C4", "X5", "OL", "AD", "SE", "C45", "CS", "CH", "G4", "G5", "O4")
NAMES = ("gemini-2.5-pro", "Claude Opus", "gpt-5", "CODEX", "ollama/llama", "adam", "Seele", "qwen")
MAX_TOKENS = 2**63 - 1


def share(part: float) -> settings:
    """A part of the profile's examples, for what is slow or narrow."""
    return settings(max_examples=max(20, int(settings.default.max_examples * part)))


@functools.cache
def default_dictionary_bytes() -> bytes:
    """The built-in dictionary as zstd wrote it, without the line before it."""
    return cw.Dictionary.default().to_bytes().split(b"\n", 1)[1]


@functools.cache
def _compressor(*, content_size: bool, checksum: bool, dictionary: bool) -> Any:
    data = zstandard.ZstdCompressionDict(default_dictionary_bytes()) if dictionary else None
    return zstandard.ZstdCompressor(
        dict_data=data, write_content_size=content_size, write_checksum=checksum
    )


def zstd(
    data: bytes, *, content_size: bool = True, checksum: bool = False, dictionary: bool = False
) -> bytes:
    """One zstd frame, by another library than the product's; the built-in dictionary on request."""
    compressor = _compressor(content_size=content_size, checksum=checksum, dictionary=dictionary)
    compressed = compressor.compress(data)
    assert isinstance(compressed, bytes)
    return compressed


def container(name: bytes, size: int, frame: bytes) -> bytes:
    """The old dictionary container: magic, original size, length of the name, name, frame."""
    return b"ZDCT" + size.to_bytes(4, "big") + bytes([len(name)]) + name + frame


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


# Responses --------------------------------------------------------------------------------------

TRICKY = (
    "|",
    "\n",
    '"',
    "\\",
    "\0",
    "\x1f",
    "\x7f",
    "é",
    "한국어",
    "🚀",
    "\u2028",
    "\ufeff",
    "D|",
    "\r ",
)


def texts(max_size: int = 40) -> st.SearchStrategy[str]:
    """Text without lone surrogates: short, tricky, or long and repetitive."""
    plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=max_size)
    tricky = st.lists(st.sampled_from((*TRICKY, "a", "word ")), max_size=12).map("".join)
    long = st.builds(
        lambda piece, count, tail: piece * count + tail,
        plain.filter(bool),
        st.sampled_from((2, 10, 50)),
        plain,
    )
    return st.one_of(plain, tricky, long)


def tokens() -> st.SearchStrategy[int]:
    edges = [0, 1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, MAX_TOKENS]
    return st.one_of(st.just(0), st.sampled_from(edges), st.integers(0, MAX_TOKENS))


def models() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(("", *CODES)), st.sampled_from(NAMES), texts(10))


def plain_responses(model: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[cw.Response]:
    """Responses that every format can carry, perhaps except for a model in the DSL."""
    return st.builds(cw.Response, texts(), models() if model is None else model, st.sampled_from(STATUSES), tokens())


def responses() -> st.SearchStrategy[cw.Response]:
    """Responses with the fields of a verbose message too. A model name may contradict the code."""
    return st.builds(
        cw.Response,
        texts(),
        models(),
        st.sampled_from(STATUSES),
        tokens(),
        model_name=st.none() | st.sampled_from((*NAMES, *CODES, "")) | texts(10),
        returncode=st.none() | st.sampled_from((0, 1, -1)) | st.integers(-(2**63), 2**63 - 1),
        reasoning_effort=st.none() | st.sampled_from(("low", "medium", "high")) | texts(5),
        ultrathink=st.none() | st.booleans(),
    )


# Broken texts and bytes -------------------------------------------------------------------------

CHARS = st.one_of(
    st.sampled_from(ALPHABET + '"\\|,:[]{}= \n\t;~'),
    st.characters(max_codepoint=0x7F),
    st.characters(exclude_categories=["Cs"]),
)


@st.composite
def mutated_text(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A text with one to three places cut out, doubled, or written over."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 3)))
        new = draw(st.one_of(st.just(""), CHARS, st.just(text[start:end] * 2)))
        text = text[:start] + new + text[end:]
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@st.composite
def mutated_bytes(draw: st.DrawFn, datas: st.SearchStrategy[bytes]) -> bytes:
    data = draw(datas)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 2)))
        data = data[:start] + draw(st.binary(max_size=2)) + data[end:]
    return data


# MessagePack ------------------------------------------------------------------------------------


def _width(first: int, value: int, size: int) -> bytes:
    return bytes([first]) + value.to_bytes(size, "big")


def packed_ints() -> st.SearchStrategy[bytes]:
    """Integers in any width, the shortest or not."""
    small = st.integers(0, 9)
    wide = st.sampled_from((0, 1, 3, 5, 6, 255, 2**31, 2**63 - 1, 2**63, 2**64 - 1))
    return st.one_of(
        small.map(lambda n: bytes([n])),
        small.map(lambda n: _width(0xCC, n, 1)),
        small.map(lambda n: _width(0xD1, n, 2)),
        wide.map(lambda n: _width(0xCF, n, 8)),
        wide.map(lambda n: _width(0xD3, n, 8)),
        st.sampled_from((b"\xff", b"\xe0", b"\xd0\x80", b"\xd2\xff\xff\xff\xff")),
    )


def packed_text(text: str | bytes) -> st.SearchStrategy[bytes]:
    """Text with a length in any width."""
    data = text.encode() if isinstance(text, str) else text
    heads = [_width(0xDA, len(data), 2), _width(0xDB, len(data), 4)]
    if len(data) < 256:
        heads.append(_width(0xD9, len(data), 1))
    if len(data) < 32:
        heads.insert(0, bytes([0xA0 + len(data)]))
    return st.sampled_from(heads).map(lambda head: head + data)


def packed_unknown() -> st.SearchStrategy[bytes]:
    scalars = st.none() | st.booleans() | st.floats(width=32) | st.binary(max_size=5)
    values = st.recursive(
        scalars | st.integers(-5, 300) | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.integers(0, 9), inner, max_size=2)
        ),
        max_leaves=5,
    )
    exts = st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=17))
    deep = st.integers(125, 131).map(lambda depth: b"\x91" * depth + b"\xc0")
    rest = st.sampled_from(
        (b"\xc1", b"\xc7\x00\x05", b"\xdb\xff\xff\xff\xff", b"\xdd\x00\x00\x00\x00")
    )
    return st.one_of(values.map(msgpack.packb), exts.map(msgpack.packb), deep, rest)


def _packed_fields(field: str) -> st.SearchStrategy[bytes]:
    """What may stand where a field belongs, mostly something that fits."""
    right = {
        "v": st.sampled_from((b"\x01", b"\x02", b"\x03", b"\xcc\x01")),
        "s": st.sampled_from((*STATUSES, "PARTIAL", "ok")).flatmap(packed_text),
        "i": st.integers(0, 7).map(lambda n: bytes([n])),
        "m": models().flatmap(packed_text),
        "t": packed_ints(),
        "r": st.one_of(texts(), st.binary(max_size=4)).flatmap(packed_text),
    }[field]
    return st.one_of(right, right, right, right, packed_ints(), packed_unknown())


@st.composite
def msgpack_arrays(draw: st.DrawFn) -> bytes:
    fields = draw(st.sampled_from(("vsmtr", "viitr", "viir", "vsmr", "v", "vii", "viitrr", "")))
    elements = [draw(_packed_fields(field)) for field in fields]
    count = max(0, len(elements) + draw(st.sampled_from((0, 0, 0, 0, 0, 1, -1))))
    head = draw(st.sampled_from((bytes([0x90 + count]), _width(0xDC, count, 2))))
    return head + b"".join(elements) + draw(st.sampled_from((b"", b"", b"", b"\xc0")))


@st.composite
def msgpack_maps(draw: st.DrawFn) -> bytes:
    keys = list(draw(st.permutations("vsmtr")))
    keys += draw(st.lists(st.sampled_from(("v", "r", "x", "y", "é", "vv")), max_size=2))
    if draw(st.integers(0, 9)) == 0:
        keys.pop(0)
    pairs = []
    for key in keys:
        value = draw(_packed_fields(key) if key in "smtr" else packed_unknown())
        if key == "v":
            value = draw(st.sampled_from((b"\x01", b"\x01", b"\x01", b"\xcc\x01", b"\x02", value)))
        name = draw(st.one_of(*[packed_text(key)] * 9, st.sampled_from((b"\xa1\xff", b"\x01"))))
        pairs.append(name + value)
    head = draw(st.sampled_from((bytes([0x80 + len(keys)]), _width(0xDE, len(keys), 2))))
    return head + b"".join(pairs)


def messages() -> st.SearchStrategy[bytes]:
    """MessagePack that is a response, nearly one, or anything."""
    arrays, maps = msgpack_arrays(), msgpack_maps()
    return st.one_of(
        arrays, maps, mutated_bytes(arrays), mutated_bytes(maps), packed_unknown(), st.binary()
    )


# Envelopes --------------------------------------------------------------------------------------

Envelope = Callable[[bytes], str]


def _base85(prefix: str, pack: Callable[[bytes], bytes]) -> Envelope:
    return lambda data: prefix + encode_base85(pack(data))


def _contained(data: bytes, name: bytes, *, known_id: bool) -> bytes:
    frame = zstd(data, dictionary=known_id)
    return container(name, len(data), frame)


ENVELOPES: dict[str, Envelope] = {
    "base64": lambda data: "M" + base64_text(data),
    "legacy base64": lambda data: "MPK:" + base64_text(data),
    "base85": _base85("A", lambda data: data),
    "legacy base85": _base85("A85:", lambda data: data),
    "zlib": _base85("Z", lambda data: zlib.compress(data, 4)),
    "gzip": _base85("Z", compress_gzip),
    "zstd": _base85("S", zstd),
    "zstd, no size": _base85("S", lambda data: zstd(data, content_size=False)),
    "zstd, checksum": _base85("S", lambda data: zstd(data, checksum=True)),
    "dictionary": _base85("D", lambda data: zstd(data, dictionary=True)),
    "dictionary, no size": _base85(
        "D", lambda data: zstd(data, content_size=False, dictionary=True)
    ),
    "container": _base85("D", lambda data: _contained(data, b"mixed", known_id=True)),
}


def wires_around(datas: st.SearchStrategy[bytes]) -> st.SearchStrategy[str]:
    """Bytes in an envelope that is in order."""
    return st.builds(
        lambda envelope, data: ENVELOPES[envelope](data), st.sampled_from(sorted(ENVELOPES)), datas
    )


@st.composite
def broken_payloads(draw: st.DrawFn) -> str:
    """Valid Base85 of a compressed stream that is broken, cut off, or continued."""
    message = draw(st.one_of(msgpack_arrays(), msgpack_maps()))
    prefix, payload = draw(
        st.sampled_from(
            (
                ("Z", zlib.compress(message, 4)),
                ("Z", compress_gzip(message)),
                ("S", zstd(message)),
                ("S", zstd(message, content_size=False)),
                ("S", zstd(message, checksum=True)),
                ("D", zstd(message, dictionary=True)),
                ("D", _contained(message, b"mixed", known_id=True)),
                ("D", _contained(message, b"other", known_id=False)),
            )
        )
    )
    payload = draw(mutated_bytes(st.just(payload)))
    return prefix + encode_base85(payload[: draw(st.integers(0, len(payload)) | st.just(None))])


@st.composite
def encoded(draw: st.DrawFn) -> str:
    """What `encode` writes, in any format, dialect and layout."""
    return cw.encode(
        draw(plain_responses(st.sampled_from(("", *CODES, *NAMES)))),
        format=draw(st.sampled_from((*FORMATS, "auto", "smallest"))),
        protocol=draw(st.sampled_from(PROTOCOLS)),
        msgpack_version=draw(st.sampled_from(LAYOUTS)),
    )


PREFIXES = ("RES|", "MPK:", "A85:", "D|", "TOOL|", "SYS|", "REQ|", "GCF ", "{", *"MAZSDRX")


@st.composite
def prefixed_noise(draw: st.DrawFn) -> str:
    """A prefix, and behind it what its alphabet allows, or anything."""
    prefix = draw(st.sampled_from(PREFIXES))
    noise = draw(
        st.one_of(
            st.text(ALPHABET, max_size=30),
            st.text("ABCabc012+/=", max_size=12),
            st.lists(
                st.sampled_from(("OK", "PARTIAL", "|", "0", "7", "C4", "x", "\n")), max_size=9
            ).map("".join),
            texts(),
        )
    )
    space = st.text(" \t\n\r\f\v\ufeff\xa0", max_size=2)
    return draw(space) + prefix + noise + draw(space)


# JSON -------------------------------------------------------------------------------------------

MEMBERS = ("model", "returncode", "response", "reasoning_effort", "ultrathink", "status", "tokens")
NUMBERS = ("0", "1", "-1", "7", "1.0", "1e2", "0.5", "1E+400", "9" * 30, "-9223372036854775809")


def _json_text(text: str) -> st.SearchStrategy[str]:
    """A string in JSON, its characters escaped or not."""
    escaped = json.dumps(text)
    return st.sampled_from((escaped, json.dumps(text, ensure_ascii=False)))


def _json_values() -> st.SearchStrategy[str]:
    odd = st.sampled_from(
        (
            *NUMBERS,
            '"\\ud800"',
            '"\\uD83D\\uDE80"',
            '"\\/"',
            '"\\x"',
            "NaN",
            "nul",
            "01",
            "'a'",
            '"\t"',
            "{}",
        )
    )
    values = st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(max_size=4),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
        max_leaves=6,
    )
    return st.one_of(odd, values.map(json.dumps))


def _member_values(name: str) -> st.SearchStrategy[str]:
    right: dict[str, st.SearchStrategy[str]] = {
        "model": models().flatmap(_json_text),
        "returncode": st.integers(-(2**63), 2**63 - 1).map(str) | st.sampled_from(("0", "1")),
        "response": texts().flatmap(_json_text),
        "reasoning_effort": st.sampled_from(('"low"', '""', "null")),
        "ultrathink": st.sampled_from(("true", "false", "null")),
        "status": st.sampled_from((*STATUSES, "PARTIAL", "part")).flatmap(_json_text),
        "tokens": tokens().map(str),
    }
    value = right.get(name, _json_values())
    return st.one_of(*[value] * 9, _json_values())


@st.composite
def json_objects(draw: st.DrawFn) -> str:
    """A JSON object that is a verbose message, or nearly one."""
    names = list(draw(st.permutations(MEMBERS)))[: draw(st.integers(3, 7) | st.just(7))]
    names += draw(st.lists(st.sampled_from(("x", "é", "", "model", "X")), max_size=2))
    space = draw(st.sampled_from(("", " ", "\n\t", "\r ")))
    members = [
        f"{draw(_json_text(name))}{space}:{space}{draw(_member_values(name))}" for name in names
    ]
    return "{" + space + f",{space}".join(members) + space + "}"


def hostile_wires() -> st.SearchStrategy[str]:
    """All of it."""
    return st.one_of(
        mutated_text(encoded()),
        broken_payloads(),
        prefixed_noise(),
        wires_around(messages()),
        json_objects(),
        mutated_text(json_objects()),
    )


# Deltas -----------------------------------------------------------------------------------------


def edits() -> st.SearchStrategy[tuple[str, str]]:
    """Two texts, of which the second is often an edit of the first."""

    def edited(old: str, start: int, gone: int, new: str) -> tuple[str, str]:
        start = min(start, len(old))
        return old, old[:start] + new + old[start + gone :]

    edit = st.builds(edited, texts(), st.integers(0, 60), st.integers(0, 5), texts(10))
    appended = st.builds(lambda old, new: (old, old + new), texts(), texts())
    return st.one_of(edit, appended, st.tuples(texts(), texts()))


def plain_deltas() -> st.SearchStrategy[str]:
    positions = st.integers(0, 45).map(str) | st.sampled_from(
        ("", "-1", "+1", "1_0", "٣", "9" * 30, "00")
    )
    return st.one_of(
        texts().map("D|F|{}".format),
        texts().map("D|+|{}".format),
        st.builds("D|R|{}|{}".format, positions, texts()),
    )


@st.composite
def packed_deltas(draw: st.DrawFn) -> str:
    """The compressed forms: the specification's, the clients' and the server's."""
    delta = draw(st.one_of(plain_deltas(), st.just("D|Z|"), texts()))
    op = draw(st.sampled_from(("Z", "Z", "ZF", "Z+", "ZR")))
    data = (delta if op == "Z" else delta[4:]).encode()
    if draw(st.integers(0, 9)) == 0:
        data += b"\xff"
    packed = draw(st.sampled_from((zlib.compress(data), compress_gzip(data))))
    if draw(st.integers(0, 4)) == 0:
        packed = draw(mutated_bytes(st.just(packed)))
    as_text: Sequence[Callable[[bytes], str]] = (encode_base85, encode_base85, base64_text)
    return f"D|{op}|{draw(st.sampled_from(as_text))(packed)}"


def deltas() -> st.SearchStrategy[str]:
    """Deltas in every form, in order or broken."""
    good = st.one_of(plain_deltas(), packed_deltas())
    return st.one_of(good, good, mutated_text(good), prefixed_noise())
