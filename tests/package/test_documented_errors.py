"""A reader raises only what its docstring lists under "Raises", whatever a message has become."""

from __future__ import annotations

import builtins
import inspect
import io
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import compactwire as cw
from compactwire import cad, claims, errors, gcf, wire
from tests.package.calls import BASE, DELTA, NEXT, PART, PAYLOAD, RESPONSE, SET, TEXT, VALUE
from tests.package.test_buffers import READERS

OWNERS: dict[str, Any] = {
    "cad": cad,
    "claims": claims,
    "gcf": gcf,
    "wire": wire,
    "SigningKey": claims.SigningKey,
}
ROUNDS = 300

KEYED_DELTA = SET.delta(NEXT)
assert KEYED_DELTA is not None


def opened(data: bytes | str) -> Any:
    return io.BytesIO(data) if isinstance(data, bytes) else io.StringIO(data)


# More readers, and other forms of what those of `READERS` read.
Case = tuple[str, Callable[[Any], Any], bytes]
MORE: list[Case] = [
    *(
        ("decode", cw.decode, cw.encode_bytes(RESPONSE, format=form))
        for form in ("verbose", "binary", "base85", "zlib", "zstd", "dictionary")
    ),
    ("decode_tool_call", cw.decode_tool_call, cw.encode_tool_call_bytes("t", VALUE)),
    ("gcf.iter_rows", lambda data: list(gcf.iter_rows(opened(data))), gcf.dumps_bytes([VALUE] * 3)),
    ("gcf.apply_delta", lambda data: gcf.apply_delta(BASE, data), gcf.encode_delta(DELTA).encode()),
    ("gcf.receive_keyed", lambda data: gcf.receive_keyed(data, SET), KEYED_DELTA.encode().encode()),
    ("gcf.read_keyed_delta", gcf.read_keyed_delta, KEYED_DELTA.encode().encode()),
    ("cad.loads", cad.loads, cad.to_binary(PART)),
    ("cad.loads", cad.loads, cad.to_compact(PART, "0.2").encode()),
    ("DeltaStream.apply", lambda data: cw.DeltaStream(TEXT).apply(data), b"D|R|7|x"),
    ("Session.from_bytes", cw.Session.from_bytes, cw.Session().to_bytes()),
    (
        "Session.decode_request",
        lambda data: cw.Session().decode_request(data),
        cw.Session().encode_request(context=TEXT)[0].encode(),
    ),
    (
        "Session.decode_graph",
        lambda data: cw.Session().decode_graph(data),
        cw.Session().encode_graph(PAYLOAD).encode(),
    ),
    (
        "Session.decode_keyed",
        lambda data: cw.Session().decode_keyed(data),
        cw.Session().encode_keyed(SET).encode(),
    ),
]
CASES = [*((name, call, data) for name, (call, data) in READERS.items()), *MORE]


def documented(name: str) -> tuple[type[Exception], ...]:
    """The errors that the docstring of a function or method lists."""
    owner: Any = cw
    for part in name.split("."):
        owner = OWNERS[part] if part in OWNERS else getattr(owner, part)
    _, *section = re.split(r"\nRaises\n-+\n", inspect.getdoc(owner) or "")
    listed = [line for line in "".join(section).splitlines() if re.fullmatch(r"\w+(, \w+)*", line)]
    # A heading of the next section is no name of an error.
    known = {**vars(builtins), **vars(errors)}
    return tuple(known[one] for one in ", ".join(listed).split(", ") if one in known)


def damaged(data: bytes, random: random.Random) -> bytes | str:
    """The message after a few changes, as bytes or as text, which may have lone surrogates."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        start = random.randrange(len(changed) + 1)
        end = start + random.choice((0, 1, 1, 3, 20))
        piece = random.choice(
            (
                b"",
                b"\0",
                b"\xff",
                b"\n",
                b"|",
                b'"',
                b"9" * 20,
                b"\xed\xa0\x80",
                changed[start:end] * 2,
            )
        )
        changed[start:end] = piece
    if random.random() < 0.5:
        return bytes(changed)
    return changed.decode(errors=random.choice(("replace", "surrogateescape")))


@pytest.mark.parametrize("case", CASES, ids=[f"{name}-{n}" for n, (name, *_) in enumerate(CASES)])
def test_a_reader_raises_what_is_documented(case: Case) -> None:
    name, call, data = case
    # A value of a wrong type is not listed: a reader of bytes may get a str here.
    expected = (*documented(name), TypeError)
    chance = random.Random(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(ROUNDS):
            message = damaged(data, chance)
            try:
                call(message)
            except expected:
                pass
            except Exception as error:
                raise AssertionError(f"{type(error).__name__} for {message!r:.200}") from error
