"""Packed frames: Base85 of zstd of MessagePack."""

from __future__ import annotations

from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
import zstandard

import compactwire as cw
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


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ([], cw.InvalidFormat),
        ({}, cw.InvalidMsgpack),
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
