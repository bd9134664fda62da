"""Packed frames: Base85 of zstd of MessagePack."""

from __future__ import annotations

from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
import zstandard

import compactwire as cw
from benches import conversations, stream
from tests.strategies.sessions import HELPFUL, SEARCH, SEARCH_JSON, pair


def test_packed_frames_are_base85_of_zstd_of_msgpack() -> None:
    request: dict[str, Any] = {"tool": SEARCH, "system": HELPFUL, "context": "one |D| two " * 30}
    ours, theirs = pair()
    text = ours.encode_request(**request, pack=True)
    assert text.startswith("S")
    assert text.isascii()
    frames = msgpack.unpackb(zstandard.decompress(cw.decode_base85(text[1:])))
    assert frames[:2] == ["TOOL|def|" + SEARCH_JSON, "SYS|full|" + HELPFUL]
    assert len(frames) == 3
    assert theirs.decode_request(f" \n{text}\n") == cw.Request(**request)
    # A session may mix packed and plain requests.
    request["context"] += "."
    assert theirs.decode_request(ours.encode_request(**request)) == cw.Request(**request)


def test_packed_texts_of_other_libraries_are_read() -> None:
    frames = cw.Session().encode_request(tool=SEARCH, context="é")
    text = "S" + cw.encode_base85(zstandard.compress(msgpack.packb(frames)))
    assert cw.Session().decode_request(text) == cw.Request(SEARCH, context="é")
    assert cw.Session().decode_request(text.encode()) == cw.Request(SEARCH, context="é")


@pytest.mark.parametrize("pack", [True, "bytes"])
def test_a_packed_request_in_a_list_says_to_pass_it_alone(pack: Any) -> None:
    ours, theirs = pair()
    for context in ("one ", "one two "):
        packed = ours.encode_request(context=context * 30, pack=pack)
        with pytest.raises(cw.InvalidFormat, match=r"frame 0: .* pass it alone, not in a list"):
            theirs.decode_request([packed])
        assert theirs.decode_request(packed).context == context * 30


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ([], cw.InvalidFormat),
        ({}, cw.InvalidFormat),
        ("REQ|1|||{}", cw.InvalidMsgpack),
        ([b"REQ|1|||{}"], cw.InvalidMsgpack),
        (["REQ|1|||{}", None], cw.InvalidMsgpack),
        ([["REQ|1|||{}"]], cw.InvalidMsgpack),
        (b"\x91\xa1", cw.InvalidMsgpack),
        (b"\xdd\xff\xff\xff\xff", cw.InvalidMsgpack),
        (b"\x91\xa1R\xc0", cw.InvalidMsgpack),
        (b"\x91\xa1\xff", cw.InvalidMsgpack),
    ],
)
def test_a_packed_text_without_frames_is_an_error(
    message: Any, error: type[cw.CompactWireError]
) -> None:
    data = message if isinstance(message, bytes) else msgpack.packb(message)
    with pytest.raises(error):
        cw.Session().decode_request("S" + cw.encode_base85(zstandard.compress(data)))


@pytest.mark.parametrize("checked", [True, False])
def test_a_request_as_bytes_is_what_its_text_carries(checked: bool) -> None:
    texts, data = cw.Session(checked=checked), cw.Session(checked=checked)
    theirs = cw.Session(checked=checked)
    context = "so it goes. " * 100
    for turn in range(8):
        context = context[:-30] + f"turn {turn}" if turn % 3 == 2 else context + f"turn {turn}. "
        request: dict[str, Any] = {"tool": SEARCH, "args": {"turn": turn}, "context": context}
        text = texts.encode_request(**request, pack=True)
        packed = data.encode_request(**request, pack="bytes")
        assert packed == cw.decode_base85(text[1:])
        read = theirs.decode_request(packed if turn % 2 else memoryview(packed))
        assert read == cw.Request(**request)
    assert data.stats.bytes_out < texts.stats.bytes_out
    assert theirs.stats.bytes_in == data.stats.bytes_out


def test_a_session_mixes_texts_bytes_and_frames() -> None:
    ours, theirs = pair()
    context = ""
    for turn, pack in enumerate((True, "bytes", False, "bytes", True, False)):
        context += f"turn {turn}: so it goes. "
        sent: Any = ours.encode_request(context=context, pack=pack)  # type: ignore[call-overload]
        assert theirs.decode_request(sent).context == context


def test_bytes_of_another_history_are_refused_with_its_id() -> None:
    ours, theirs = pair()
    first = ours.encode_request(context="so it goes. " * 50, pack="bytes")
    second = ours.encode_request(context="so it goes. " * 51, pack="bytes")
    with pytest.raises(cw.UnknownReference) as refused:
        theirs.decode_request(second)
    ours.forget(*refused.value.ids)
    again = ours.encode_request(context="so it goes. " * 51, pack="bytes")
    assert theirs.decode_request(again).context == "so it goes. " * 51
    assert cw.Session().decode_request(first).context == "so it goes. " * 50


@pytest.mark.parametrize(
    "data", [b"\x01", b"\x02abc", b"(\xb5/\xfd", b"(\xb5/\xfd\x00", b"\xff", b""]
)
def test_damaged_bytes_are_an_error(data: bytes) -> None:
    with pytest.raises(cw.DecodeError):
        cw.Session().decode_request(data)


def test_pack_is_a_bool_or_bytes() -> None:
    with pytest.raises(
        cw.OptionError, match="pack must be a bool or 'bytes', not \"text\""
    ) as raised:
        cw.Session().encode_request(pack="text")  # type: ignore[call-overload]
    assert raised.value.option == "pack"
    with pytest.raises(TypeError, match="pack must be a bool or 'bytes', not float"):
        cw.Session().encode_request(pack=1.5)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", conversations.NAMES)
def test_requests_are_smaller_than_one_zstd_stream_over_them(name: str) -> None:
    conversation = conversations.load(name)
    ours = stream.session_bytes(conversation)
    assert ours < stream.stream_bytes(conversation, 3)
    if zstandard.ZSTD_VERSION == (1, 5, 7):  # At level 19 another version may differ by a byte.
        assert ours < stream.stream_bytes(conversation, 19)
