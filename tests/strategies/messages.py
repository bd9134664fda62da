"""Hypothesis strategies: valid responses and deltas, and hostile messages.

Hostile input is mostly close to valid input: a text that fails at its first character tests nothing
after it. All strategies are constants, because building one takes longer than drawing from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgpack  # type: ignore[import-untyped]
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import compactwire as cw
from tests.reference.base85 import ALPHABET as ALPHABET
from tests.reference.base85 import encode_base85
from tests.strategies.packing import PACKERS, SMALL, base64_text, prefix_of

FORMATS = ("verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary")
PROTOCOLS = (2, 4)
LAYOUTS = (None, 1, 2, 3, "map")
STATUSES = ("OK", "ERR", "PART", "STREAM")
CODES = ("G3", "C4", "X5", "OL", "AD", "SE", "C45", "CS", "CH", "G4", "G5", "O4")
NAMES = ("gemini-2.5-pro", "Claude Opus", "gpt-5", "CODEX", "ollama/llama", "adam", "Seele", "qwen")
MAX_TOKENS = 2**63 - 1


# Responses

UNICODE = st.characters(exclude_categories=["Cs"])
TRICKY = st.sampled_from(
    (
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
        "a ",
    )
)
SHORT_TEXTS = st.text(UNICODE, max_size=8) | st.lists(TRICKY, max_size=4).map("".join)
LONG_TEXTS = st.builds(
    lambda piece, count, tail: piece * count + tail,
    st.text(UNICODE, min_size=1, max_size=20),
    st.sampled_from((1, 5, 20, 60)),
    st.text(UNICODE, max_size=40),
)
TEXTS = SHORT_TEXTS | LONG_TEXTS | st.lists(TRICKY, max_size=30).map("".join)
"""Text without lone surrogates: short, tricky, or long and repetitive."""

TOKENS = st.one_of(
    st.just(0),
    st.sampled_from((1, 127, 128, 255, 256, 65535, 65536, 2**32 - 1, 2**32, MAX_TOKENS)),
    st.integers(0, MAX_TOKENS),
)
KNOWN_MODELS = st.sampled_from(("", *CODES))
MODELS = KNOWN_MODELS | st.sampled_from(NAMES) | SHORT_TEXTS

PLAIN_RESPONSES = st.builds(cw.Response, TEXTS, MODELS, st.sampled_from(STATUSES), TOKENS)
"""Responses that every format can carry; only some models cannot be carried by the DSL."""

RESPONSES = st.builds(
    cw.Response,
    TEXTS,
    MODELS,
    st.sampled_from(STATUSES),
    TOKENS,
    model_name=st.none() | st.sampled_from((*NAMES, *CODES, "")) | SHORT_TEXTS,
    returncode=st.none() | st.sampled_from((0, 1, -1)) | st.integers(-(2**63), 2**63 - 1),
    reasoning_effort=st.none() | st.sampled_from(("low", "medium", "high")) | SHORT_TEXTS,
    ultrathink=st.none() | st.booleans(),
)
"""Responses with the fields of a verbose message too; a model name may contradict the code."""

OPTIONS = st.fixed_dictionaries(
    {
        "format": st.sampled_from((*FORMATS, "auto", "smallest")),
        "protocol": st.sampled_from(PROTOCOLS),
        "msgpack_version": st.sampled_from(LAYOUTS),
        "dictionary": st.just(SMALL),
    }
)

# Damaged texts and bytes

PLACES = st.integers(0, 2**16)
CHARS = st.one_of(
    st.sampled_from(ALPHABET + '"\\|,:[]{}= \n\t;~'), st.characters(max_codepoint=0x7F), UNICODE
)
TEXT_EDITS = st.lists(
    st.tuples(PLACES, st.integers(0, 3), st.just("") | CHARS | st.text(max_size=2)), max_size=3
)
BYTE_EDITS = st.lists(
    st.tuples(PLACES, st.integers(0, 2), st.binary(max_size=2)), min_size=1, max_size=3
)
CUTS = st.just(None) | PLACES


def edited(data: Any, edits: Sequence[tuple[int, int, Any]], cut: int | None = None) -> Any:
    """Text or bytes with some places overwritten, and perhaps truncated."""
    for place, gone, new in edits:
        start = place % (len(data) + 1)
        data = data[:start] + new + data[start + gone :]
    return data if cut is None else data[: cut % (len(data) + 1)]


def mostly(right: SearchStrategy[Any], wrong: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.integers(0, 11).flatmap((wrong, *[right] * 11).__getitem__)


# MessagePack

WIDTHS = st.sampled_from((0, 0, 0, 1, 2, 3))


def packed_text(text: str | bytes, width: int) -> bytes:
    """A string with its length in any width that holds it."""
    data = text.encode() if isinstance(text, str) else text
    if width == 0 and len(data) < 32:
        return bytes([0xA0 + len(data)]) + data
    if width <= 1 and len(data) < 256:
        return bytes([0xD9, len(data)]) + data
    if width <= 2 and len(data) < 2**16:
        return b"\xda" + len(data).to_bytes(2, "big") + data
    return b"\xdb" + len(data).to_bytes(4, "big") + data


PACKED_INTS = st.sampled_from(
    [bytes([number % 256]) for number in (-32, -1, 0, 1, 2, 3, 4, 5, 6, 127)]
    + [
        bytes([first]) + number.to_bytes(size, "big", signed=first >= 0xD0)
        for number in (-1, 0, 1, 3, 5, 255, 2**31, 2**63 - 1, 2**63)
        for first, size in ((0xCC, 1), (0xCE, 4), (0xCF, 8), (0xD1, 2), (0xD3, 8))
        if (first >= 0xD0 or number >= 0) and number.bit_length() + (first >= 0xD0) <= size * 8
    ]
)
"""Integers in any width, not only the shortest."""

PACKED_BROKEN = st.sampled_from(
    (b"\xc1", b"\xdb\xff\xff\xff\xff", b"", b"\xc4\x01", b"\xca\0", b"\xd5\x07\0", b"\xdd\0\0\0\1")
)
PACKED_VALUES = st.one_of(
    st.recursive(
        st.none()
        | st.booleans()
        | st.floats(width=32)
        | st.binary(max_size=5)
        | st.integers(-99, 99),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.integers(0, 9), inner),
        max_leaves=5,
    ).map(msgpack.packb),
    st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=17)).map(msgpack.packb),
    st.integers(126, 130).map(lambda depth: b"\x91" * depth + b"\xc0"),
    st.sampled_from((b"\xc7\0\5", b"\xdf\0\0\0\0", b"\xdc\0\1\xa1\xff", b"\xff", b"\xd0\x80")),
)
"""Any value of MessagePack."""

PACKED_TEXTS = st.builds(packed_text, TEXTS | st.binary(max_size=3), WIDTHS)
ANYTHING = PACKED_VALUES | PACKED_INTS | PACKED_TEXTS
ANYTHING_OR_BROKEN = mostly(ANYTHING, PACKED_BROKEN)
_STATUS = mostly(st.builds(packed_text, st.sampled_from((*STATUSES, "PARTIAL")), WIDTHS), ANYTHING)
_INDEX = mostly(st.integers(0, 6).map(lambda number: bytes([number])), ANYTHING)
_MODEL = mostly(st.builds(packed_text, MODELS, WIDTHS), ANYTHING)
_TOKENS = mostly(TOKENS.map(msgpack.packb), ANYTHING)
_RESULT = mostly(st.builds(packed_text, TEXTS, WIDTHS), ANYTHING)
_ONE = mostly(st.sampled_from((b"\x01", b"\xcc\x01", b"\xd1\x00\x01")), ANYTHING)


def _array(values: Sequence[bytes], more: int, wide: bool, tail: bytes) -> bytes:
    count = max(0, len(values) + more)
    head = b"\xdc" + count.to_bytes(2, "big") if wide else bytes([0x90 + count])
    return head + b"".join(values) + tail


def _map(order: Sequence[int], values: Sequence[bytes], unknown: Sequence[Any], drop: int) -> bytes:
    pairs = [packed_text("vsmtr"[i], 0) + values[i] for i in order if i != drop]
    for place, key, width, value in unknown:
        pairs.insert(place % (len(pairs) + 1), packed_text(key, width) + value)
    return bytes([0x80 + len(pairs)]) + b"".join(pairs)


MSGPACK_ARRAYS = st.builds(
    _array,
    st.one_of(
        st.tuples(_ONE, _STATUS, _MODEL, _TOKENS, _RESULT),
        st.tuples(st.just(b"\2"), _INDEX, _INDEX, _TOKENS, _RESULT),
        st.tuples(st.just(b"\3"), _INDEX, _INDEX, _TOKENS, _RESULT),
        st.tuples(st.just(b"\3"), _INDEX, _INDEX, _RESULT),
        st.lists(ANYTHING, max_size=6),
    ),
    mostly(st.just(0), st.sampled_from((1, -1))),
    st.booleans(),
    mostly(st.just(b""), st.just(b"\xc0")),
)
_UNKNOWN_KEYS = mostly(st.sampled_from(("x", "y", "é", "", "vv")), st.sampled_from(("r", b"\xff")))
MSGPACK_MAPS = st.builds(
    _map,
    st.permutations(range(5)),
    st.tuples(_ONE, _STATUS, _MODEL, _TOKENS, _RESULT),
    st.lists(st.tuples(PLACES, _UNKNOWN_KEYS, WIDTHS, ANYTHING_OR_BROKEN), max_size=2),
    mostly(st.just(-1), st.integers(0, 4)),
)
RIGHT_MESSAGES = MSGPACK_ARRAYS | MSGPACK_MAPS
BROKEN_MESSAGES = st.builds(edited, RIGHT_MESSAGES, BYTE_EDITS, CUTS)
MESSAGES = st.one_of(MSGPACK_ARRAYS, MSGPACK_MAPS, MSGPACK_MAPS, BROKEN_MESSAGES, ANYTHING)
"""MessagePack of a response, of nearly one, or of anything."""

# Envelopes


def wrapped(
    kind: str, data: bytes, edits: Sequence[tuple[int, int, bytes]], cut: int | None
) -> str:
    """A message around bytes; the edits change the compressed bytes."""
    return prefix_of(kind) + encode_base85(edited(PACKERS[kind](data), edits, cut))


PACKER_NAMES = st.sampled_from(sorted(PACKERS))
WHOLE_ENVELOPES = st.one_of(
    st.builds(wrapped, PACKER_NAMES, MESSAGES, st.just(()), st.none()),
    st.builds("{}{}".format, st.sampled_from(("M", "MPK:")), MESSAGES.map(base64_text)),
    st.builds("{}{}".format, st.sampled_from(("A", "A85:")), MESSAGES.map(encode_base85)),
)
BROKEN_ENVELOPES = st.builds(wrapped, PACKER_NAMES, RIGHT_MESSAGES, BYTE_EDITS | st.just(()), CUTS)
ENCODED = st.builds(
    lambda response, options: cw.encode(response, **options),
    st.builds(
        cw.Response, TEXTS, st.sampled_from((*CODES, *NAMES)), st.sampled_from(STATUSES), TOKENS
    ),
    OPTIONS,
)
"""Messages of `encode`, in any format, dialect and layout."""

SPACE = mostly(st.just(""), st.text(" \t\n\r\f\v\ufeff\xa0", max_size=2))
PREFIXED_NOISE = st.builds(
    "{}{}{}{}".format,
    SPACE,
    st.sampled_from(
        ("RES|", "MPK:", "A85:", "D|", "TOOL|", "SYS|", "REQ|", "GCF ", "{", *"MAZSDRX")
    ),
    st.one_of(
        st.text(ALPHABET, max_size=30),
        st.text("ABCabc012+/=", max_size=12),
        st.lists(st.sampled_from(("OK", "PARTIAL", *"|||07x", "C4")), max_size=9).map("".join),
        TEXTS,
    ),
    SPACE,
)
"""A prefix, followed by text of its alphabet, or by anything."""

# JSON

MEMBERS = ("model", "returncode", "response", "reasoning_effort", "ultrathink", "status", "tokens")
JSON_ODD = (
    *("0", "1", "-1", "7", "-0", "1.0", "1e2", "0.5", "1E+400", "9" * 30, "-9223372036854775809"),
    *(
        '"\\ud800"',
        '"\\uD83D\\uDE80"',
        '"\\/"',
        '"\\x"',
        '"\t"',
        "NaN",
        "nul",
        "01",
        "'a'",
        "{}",
        "",
    ),
)
JSON_ANY = st.sampled_from(JSON_ODD) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
).map(json.dumps)


def _json_text(texts: SearchStrategy[str]) -> SearchStrategy[str]:
    """Strings in JSON, their characters escaped or not."""
    return st.builds(
        lambda text, escape: json.dumps(text, ensure_ascii=escape), texts, st.booleans()
    )


def _object(values: Sequence[str], order: Sequence[int], unknown: Sequence[Any], space: str) -> str:
    members = [(f'"{MEMBERS[i]}"', values[i]) for i in order if values[i] != "absent"]
    for place, name, value in unknown:
        members.insert(place % (len(members) + 1), (name, value))
    return (
        "{"
        + f",{space}".join(f"{name}{space}:{space}{value}" for name, value in members)
        + space
        + "}"
    )


_ABSENT = st.just("absent")
JSON_OBJECTS = st.builds(
    _object,
    st.tuples(
        mostly(_json_text(MODELS), JSON_ANY | _ABSENT),
        mostly(st.integers(-(2**63), 2**63 - 1).map(str), JSON_ANY | _ABSENT),
        mostly(_json_text(TEXTS), JSON_ANY | _ABSENT),
        mostly(_json_text(SHORT_TEXTS) | _ABSENT, JSON_ANY),
        mostly(st.sampled_from(("true", "false", "null", "absent")), JSON_ANY),
        mostly(_json_text(st.sampled_from((*STATUSES, "PARTIAL"))) | _ABSENT, JSON_ANY),
        mostly(TOKENS.map(str) | _ABSENT, JSON_ANY),
    ),
    st.permutations(range(7)),
    st.lists(
        st.tuples(PLACES, st.sampled_from(('"x"', '"é"', '""', '"X"', '"model"')), JSON_ANY),
        max_size=2,
    ),
    st.sampled_from(("", " ", "\n\t", "\r ")),
)
"""JSON objects that are verbose messages, or nearly."""

HOSTILE_WIRES = st.one_of(
    st.builds(edited, ENCODED, TEXT_EDITS, CUTS),
    BROKEN_ENVELOPES,
    PREFIXED_NOISE,
    WHOLE_ENVELOPES,
    JSON_OBJECTS,
    st.builds(edited, JSON_OBJECTS, TEXT_EDITS, CUTS),
)

# Deltas

TEXT_PAIRS = st.one_of(
    st.tuples(TEXTS, TEXTS),
    st.tuples(TEXTS, SHORT_TEXTS).map(lambda pair: (pair[0], pair[0] + pair[1])),
    st.builds(lambda text, edits: (text, edited(text, edits)), TEXTS, TEXT_EDITS),
)
"""Two texts, of which the second is often an edit of the first."""

POSITIONS = st.integers(0, 45).map(str) | st.sampled_from(
    ("", "-1", "+1", "1_0", "٣", "9" * 30, "00")
)
PLAIN_DELTAS = st.one_of(
    TEXTS.map("D|F|{}".format),
    TEXTS.map("D|+|{}".format),
    st.builds("D|R|{}|{}".format, POSITIONS, TEXTS),
)


def _packed_delta(
    op: str, delta: str, pack: str, edits: Sequence[tuple[int, int, bytes]], base64: bool
) -> str:
    data = delta.encode() if op == "Z" else delta[4:].encode()
    packed = edited(PACKERS[pack](data), edits)
    return f"D|{op}|{base64_text(packed) if base64 else encode_base85(packed)}"


PACKED_DELTAS = st.builds(
    _packed_delta,
    st.sampled_from(("Z", "Z", "ZF", "Z+", "ZR")),
    mostly(PLAIN_DELTAS, st.just("D|Z|") | TEXTS),
    st.sampled_from(("zlib", "gzip")),
    mostly(st.just(()), BYTE_EDITS),
    st.booleans(),
)
GOOD_DELTAS = PLAIN_DELTAS | PACKED_DELTAS
DELTAS = st.one_of(
    PLAIN_DELTAS, PACKED_DELTAS, st.builds(edited, GOOD_DELTAS, TEXT_EDITS, CUTS), PREFIXED_NOISE
)
"""Deltas in every form, valid or damaged."""
