"""Messages of errors and warnings that quote the input are one line without control characters."""

from __future__ import annotations

import json
import random
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import compactwire as cw
from compactwire import cad, claims, gcf, wire
from tests.package.calls import PART, PAYLOAD, SET, TEXT, VALUE

# What moves the cursor, ends a line, changes the direction of the text, or is invisible.
HOSTILE = ["\x1b[31m", "\n", "\r", "\0", "\x07", "\x85", "\x9b", "\u200b", "\u2028", "\u202e"]

NAMED = '# vcad 0.2\nM "st eel" 0.5 0.5 0.5\nx = C 50 30 5 # n\nT 0 1 2 3\nPART "p" 0\nINST "i" "p"'
DOCUMENT = cad.dumps(PART)

Read = Callable[[str], object]

READERS: dict[str, tuple[str, list[Read]]] = {
    "CAD text": (
        NAMED,
        [
            cad.from_compact,
            cad.loads,
            cad.check,
            cad.create_cad_compact,
            lambda t: list(cad.iter_compact([t])),
        ],
    ),
    "CAD JSON": (
        DOCUMENT,
        [
            cad.loads,
            lambda text: cad.loads(text, repair=True),
            lambda text: cad.loads(text, unknown="keep"),
            lambda text: cad.losses(text, "0.1"),
            lambda text: cad.to_compact(text, target="vcad"),
            lambda text: cad.to_compact(text, unknown="keep"),
            cad.to_binary,
            lambda text: cad.to_hybrid(json.loads(text)),
        ],
    ),
    "CAD hybrid": (json.dumps(cad.to_hybrid(PART)), [cad.from_hybrid]),
    "verbose": (cw.encode("text", format="verbose"), [cw.decode, cw.inspect]),
    "DSL": (cw.encode("text", format="dsl"), [cw.decode]),
    "tool call": (cw.encode_tool_call("t", VALUE, format="verbose"), [cw.decode_tool_call]),
    "request": (
        cw.Session().encode_request(system=TEXT, args={"a": 1})[0],
        [lambda text: cw.Session().decode_request([text])],
    ),
    "delta": ("D|R|7|x", [lambda text: cw.apply_delta(TEXT, text)]),
    "GCF": (gcf.dumps(VALUE), [gcf.loads, gcf.to_json, cw.expand]),
    "JSON": (json.dumps(VALUE), [gcf.from_json, claims.parse_json]),
    "graph": (gcf.encode(PAYLOAD), [gcf.decode]),
    "graph as JSON": (wire.encode_json(PAYLOAD), [wire.decode_json]),
    "keyed set": (SET.encode(), [gcf.read_keyed]),
}


def mutated(text: str, choose: random.Random) -> Iterator[str]:
    """Texts with hostile characters within words, in place of them, and in new members."""
    words = [word.span() for word in re.finditer(r'"[^"\n]*"|[\w.]+', text)]
    while True:
        bad = choose.choice(HOSTILE)
        start, end = choose.choice(words)
        if text[start] == '"':
            bad = json.dumps(bad)[1:-1]
        yield text[:start] + text[start:end][:-1] + bad + text[end - 1 :]
        yield text[:start] + text[start] + bad + text[end - 1 :]
        yield text[:start] + f'"x{json.dumps(choose.choice(HOSTILE))[1:-1]}":1,' + text[start:]


def messages(call: Read, text: str) -> Iterator[str]:
    with warnings.catch_warnings(record=True) as repairs:
        warnings.simplefilter("always")
        result: Any = ()
        try:
            result = call(text)
        except (cw.CompactWireError, json.JSONDecodeError) as error:
            yield from (str(error), getattr(error, "message", ""))
    errors = result if isinstance(result, list) else []
    yield from (str(error) for error in errors if isinstance(error, cw.CompactWireError))
    yield from (str(repair.message) for repair in repairs)


# Messages about CAD have these as they are, as the vectors of the format do.
PLAIN = dict.fromkeys(map(ord, "\0\u200b\ufeff"))


@pytest.mark.parametrize("name", READERS)
def test_no_message_has_a_control_character_of_the_input(name: str) -> None:
    text, readers = READERS[name]
    texts = mutated(text, random.Random(name))
    for _ in range(400):
        changed = next(texts)
        for read in readers:
            for message in messages(read, changed):
                plain = message.translate(PLAIN) if name.startswith("CAD") else message
                assert plain.isprintable(), ascii(message)


def test_hostile_characters_are_escaped_and_others_are_not() -> None:
    opcode = "x\x1b[31m\x9b\u202e'\"é한e\u0301\\"
    with pytest.raises(cw.CompactParseError) as caught:
        cad.from_compact(f"C 1 2 3\n{opcode} 1")
    shown = "unknown opcode x\\u{1b}[31m\\u{9b}\\u{202e}'\"é한e\u0301\\"
    assert caught.value.message == shown
    with pytest.raises(cw.DocumentError, match=r'unknown field "a\\n\\u\{7\}"'):
        cad.loads('{"nodes":{},"a\\n\\u0007":1}')
