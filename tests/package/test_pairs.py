"""Every reader with the output of every writer: the errors of wrong pairs name the right reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import compactwire as cw
from compactwire import cad, gcf, wire

TOOL = {"name": "search", "parameters": {}}
TALK = "User: so it goes.\n" * 20
GRAPH = gcf.Payload(tool="t", symbols=[gcf.Symbol("a.f", "function", 0.5, "ast_inferred")])
LISTS = [{"a": ["b", "c"]}, {"a": ["d"]}]
TEXTS = ("base85", "binary", "zlib", "zstd", "dictionary")
PACK: tuple[Any, ...] = (True, "bytes")


def packed(turn: int, pack: Any) -> Any:
    session = cw.Session()
    for length in range(turn):
        session.encode_request(tool=TOOL, context=TALK[:length], pack=True)
    return session.encode_request(tool=TOOL, context=TALK, pack=pack)


class Kind(NamedTuple):
    """Outputs that the same readers read."""

    outputs: dict[str, Any]
    readers: set[str]
    named: str
    """What the error of another reader of messages contains."""


KINDS = {
    "response": Kind(
        {
            **{name: cw.encode(TALK, format=name) for name in ("verbose", "dsl", *TEXTS)},
            **{f"{name} bytes": cw.encode_bytes(TALK, format=name) for name in TEXTS},
        },
        {"decode", "inspect"},
        "decode",
    ),
    "tool call": Kind(
        {
            **{name: cw.encode_tool_call("f", [TALK], format=name) for name in ("verbose", *TEXTS)},
            **{
                f"{name} bytes": cw.encode_tool_call_bytes("f", [TALK], format=name)
                for name in TEXTS
            },
        },
        {"decode_tool_call"},
        "decode_tool_call",
    ),
    "request": Kind(
        {"frame": cw.Session().encode_request(context=TALK)[-1]},
        {"decode_request"},
        "decode_request",
    ),
    "definition": Kind(
        {
            "tool": cw.Session().encode_request(tool=TOOL)[0],
            "system": cw.Session().encode_request(system=TALK)[0],
        },
        set(),
        "with all frames",
    ),
    "packed": Kind(
        {f"first {pack}": packed(0, pack) for pack in PACK}
        | {f"later {pack}": packed(2, pack) for pack in PACK},
        {"decode_request"},
        "decode_request",
    ),
    "delta": Kind(
        {"add": cw.encode_delta("a", "ab"), "full": cw.encode_delta("", TALK)},
        {"apply_delta"},
        "apply_delta",
    ),
    "gcf": Kind({"value": gcf.dumps([{"a": 1}])}, {"gcf.loads", "expand"}, "gcf.loads"),
    "shrunk": Kind({"list column": gcf.dumps(LISTS, list_columns=True)}, {"expand"}, "expand"),
    "graph": Kind({"graph": gcf.encode(GRAPH)}, {"gcf.decode"}, "gcf.decode"),
    "gcb": Kind({"gcb": wire.encode_gcb(GRAPH)}, {"wire.decode_gcb"}, ""),
    "dictionary": Kind(
        {"file": cw.Dictionary.default().to_bytes()}, {"Dictionary.from_bytes"}, "Dictionary"
    ),
    "state": Kind({"state": cw.Session().to_bytes()}, {"Session.from_bytes"}, ""),
    "cad": Kind({"binary": cad.to_binary(cad.loads("C 1 2 3"))}, {"cad.loads"}, ""),
}
WRITTEN = [(kind, name) for kind, written in KINDS.items() for name in written.outputs]

MESSAGES: dict[str, Callable[[Any], object]] = {
    "decode": cw.decode,
    "inspect": cw.inspect,
    "decode_tool_call": cw.decode_tool_call,
}
READERS = MESSAGES | {
    "decode_request": lambda data: cw.Session().decode_request(data),
    "apply_delta": lambda data: cw.apply_delta("a", data),
    "gcf.loads": gcf.loads,
    "gcf.decode": gcf.decode,
    "expand": cw.expand,
    "wire.decode_gcb": wire.decode_gcb,
    "Dictionary.from_bytes": cw.Dictionary.from_bytes,
    "Session.from_bytes": cw.Session.from_bytes,
    "cad.loads": cad.loads,
}

# Not messages: what distinguishes them is named, but not what reads them.
UNNAMED = {"gcb", "state", "cad"}


def error_of(reader: str, kind: str, name: str) -> str:
    """The error of a reader for an output that it does not read."""
    try:
        found = READERS[reader](KINDS[kind].outputs[name])
    except (cw.CompactWireError, TypeError) as error:
        return str(error)
    raise AssertionError(f"{reader} read a {kind}, {name}, as {found!r}")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("kind", "name"), WRITTEN)
def test_a_reader_reads_what_is_written_for_it_and_refuses_the_rest(
    reader: str, kind: str, name: str
) -> None:
    data = KINDS[kind].outputs[name]
    if reader in KINDS[kind].readers:
        if not name.startswith("later"):
            READERS[reader](data)
    elif not (reader == "expand" and isinstance(data, str) and data.startswith("{")):
        # `expand` reads every JSON, and so a verbose message.
        assert error_of(reader, kind, name)


@pytest.mark.parametrize("reader", MESSAGES)
@pytest.mark.parametrize(("kind", "name"), [each for each in WRITTEN if each[0] not in UNNAMED])
def test_a_reader_of_messages_names_the_function_that_reads_another_kind(
    reader: str, kind: str, name: str
) -> None:
    if reader not in KINDS[kind].readers:
        error = error_of(reader, kind, name)
        assert "expected a " in error
        assert f"use {KINDS[kind].named}" in error or KINDS[kind].named in error


@pytest.mark.parametrize(("kind", "name"), [each for each in WRITTEN if each[0] not in UNNAMED])
def test_decode_request_names_the_function_that_reads_another_kind(kind: str, name: str) -> None:
    if "decode_request" in KINDS[kind].readers or kind == "dictionary":
        return
    error = error_of("decode_request", kind, name)
    both = "decode or decode_tool_call"
    assert (both if kind in ("response", "tool call") else KINDS[kind].named) in error


def test_a_word_is_not_taken_for_a_message() -> None:
    for text in ("Many words", "hello", "Dear all, see A and B", ""):
        with pytest.raises(cw.InvalidFormat) as caught:
            cw.Session().decode_request(text)
        assert "use" not in str(caught.value)


def test_bytes_that_are_no_text_are_named_for_apply_delta() -> None:
    with pytest.raises(cw.InvalidFormat, match="not UTF-8 from byte 1 on; for a message as bytes"):
        cw.apply_delta("", cw.encode_bytes(TALK, format="zstd"))
    with pytest.raises(cw.InvalidFormat, match=r"not UTF-8 from byte 0 on$"):
        cw.apply_delta("", b"\xff\xfe")


def test_a_state_that_is_none_is_described_as_one() -> None:
    with pytest.raises(cw.InvalidFormat, match=r"to_bytes of this version$"):
        cw.Session.from_bytes(cw.encode_bytes(TALK, format="zstd"))
