"""Messages as bytes, without the Base64 or Base85 of their text."""

from __future__ import annotations

import base64
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

import compactwire as cw
from data.samples import load
from tests.strategies.messages import FORMATS, LAYOUTS, PLAIN_RESPONSES, PROTOCOLS
from tests.strategies.packing import SMALL

RESPONSE = cw.Response("so it goes. " * 40, "C45", "PART", 7)
CALL: tuple[str, dict[str, Any]] = ("search", {"query": ["so it goes"] * 30, "limit": 2.5})


def content(text: str) -> bytes:
    """The bytes that the text of a message carries."""
    if text[0] == "M":
        return base64.b64decode(text[1:])
    return cw.decode_base85(text[1:]) if text[0] in "AZSD" else text.encode()


def attempt(work: Any, *arguments: Any, **options: Any) -> tuple[Any, str]:
    """The result, or the error."""
    try:
        return work(*arguments, **options), ""
    except cw.CompactWireError as error:
        return None, f"{type(error).__name__}: {error}"


@given(
    PLAIN_RESPONSES,
    st.sampled_from(FORMATS),
    st.sampled_from(PROTOCOLS),
    st.sampled_from(LAYOUTS),
    st.sampled_from((None, SMALL)),
)
def test_bytes_are_what_the_text_carries(
    response: cw.Response, format: Any, protocol: Any, layout: Any, dictionary: Any
) -> None:
    options = {"protocol": protocol, "msgpack_version": layout, "dictionary": dictionary}
    text, failed = attempt(cw.encode, response, format=format, **options)
    if failed:
        assert attempt(cw.encode_bytes, response, format=format, **options) == (None, failed)
        return
    data = cw.encode_bytes(response, format=format, **options)
    assert data == content(text)
    known = {"dictionary": dictionary}
    assert cw.decode(data, **known) == cw.decode(text, **known)
    detected = "binary" if format == "base85" else format
    assert cw.detect(data) == cw.decode(data, **known).format == detected
    assert cw.inspect(bytearray(data), **known).response == cw.decode(text, **known)
    assert cw.inspect(data, **known).layers[0] == ("wire", len(data))


@given(PLAIN_RESPONSES, st.sampled_from(("auto", "smallest")), st.sampled_from(PROTOCOLS))
def test_a_chosen_format_comes_back(response: cw.Response, format: Any, protocol: Any) -> None:
    data = cw.encode_bytes(response, format=format, protocol=protocol)
    assert cw.decode(data) == response
    every = [cw.encode_bytes(response, format="binary", protocol=protocol)]
    every += [cw.encode_bytes(response, format=one, protocol=protocol) for one in FORMATS[3:]]
    if format == "smallest":
        assert len(data) <= min(map(len, every))


@pytest.mark.parametrize(("protocol", "compressed"), [(2, "zlib"), (4, "zstd")])
def test_auto_compresses_from_where_it_pays(protocol: Any, compressed: str) -> None:
    for length, model, format in [
        (149, "C4", "dsl"),
        (149, "a|b", "binary"),
        (150, "C4", compressed),
    ]:
        data = cw.encode_bytes(cw.Response("é" + "x" * (length - 2), model), protocol=protocol)
        assert cw.detect(data) == format


def test_compression_pays_from_where_auto_uses_it() -> None:
    def pays(length: int) -> float:
        texts = [cw.Response(sample.text[:length], "C45", tokens=9) for sample in load()[::7]]
        sizes = [[len(cw.encode_bytes(text, format=f)) for f in ("zstd", "dsl")] for text in texts]
        return sum(zstd < dsl for zstd, dsl in sizes) / len(sizes)

    assert pays(100) < 0.5 < pays(150)


def test_auto_uses_the_dictionary_if_it_is_shorter() -> None:
    known = cw.Response("alpha item is ready, beta item is ready, gamma item")
    data = cw.encode_bytes(known, dictionary=SMALL)
    assert cw.detect(cw.encode_bytes(known)) == "dsl"
    assert len(data) == min(
        len(cw.encode_bytes(known, format=format, dictionary=SMALL))
        for format in ("binary", "dictionary")
    )


def test_messages_of_other_libraries_are_read() -> None:
    fields = msgpack.packb({"v": 1, "s": "OK", "m": "C4", "t": 3, "r": "é"})
    for data in (fields, zstandard.compress(fields)):
        assert cw.decode(data) == cw.Response("é", "C4", tokens=3)


def test_a_str_is_never_read_as_bytes() -> None:
    data = cw.encode_bytes(RESPONSE, format="zlib", protocol=2)
    with pytest.raises(cw.InvalidPrefix):
        cw.decode(data.decode("latin-1"))
    assert cw.decode("x\x9c", fallback=True).result == "x\x9c"


def test_fallback_gives_the_text_of_bytes_that_are_no_message() -> None:
    # The first byte of this letter also begins an array of MessagePack.
    assert cw.decode("܀ text".encode(), fallback=True) == cw.Response("܀ text")
    with pytest.raises(cw.InvalidMsgpack):
        cw.decode("܀ text".encode())
    with pytest.raises(cw.InvalidFormat, match="not UTF-8 from byte 0 on"):
        cw.decode(b"\xff", fallback=True)
    with pytest.raises(cw.InvalidFormat, match="not UTF-8 from byte 0 on"):
        cw.decode(b"\xff")
    with pytest.raises(cw.EmptyResponse):
        cw.decode(b"")


def test_fallback_keeps_the_error_of_bytes_that_are_no_text() -> None:
    data = cw.encode_bytes(RESPONSE, format="zstd")
    with pytest.raises(cw.DecompressionFailed):
        cw.decode(data[:-1], fallback=True)
    with pytest.raises(cw.OutputTooLarge):
        cw.decode(data, fallback=True, max_size=10)


@pytest.mark.parametrize("format", ["binary", "zlib", "zstd", "dictionary"])
def test_truncated_bytes_are_an_error(format: Any) -> None:
    for data in (
        cw.encode_bytes(RESPONSE, format=format),
        cw.encode_tool_call_bytes(*CALL, format=format),
    ):
        for end in range(len(data)):
            for read in (cw.decode, cw.decode_tool_call):
                with pytest.raises(cw.DecodeError):
                    read(data[:end])


@given(st.binary(max_size=60))
@example(b"\xdc\x00\x00")
@example(b"\x28\xb5\x2f\xfd")
def test_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    for read in (cw.decode, cw.decode_tool_call, cw.inspect, cw.detect):
        attempt(read, data)


def test_limits_hold_for_bytes() -> None:
    zeros = cw.Response("0" * 1_000_000)
    for format in ("zlib", "zstd", "dictionary"):
        data = cw.encode_bytes(zeros, format=format)
        with pytest.raises(cw.OutputTooLarge):
            cw.decode(data, max_size=1000)


@pytest.mark.parametrize("format", ["auto", "smallest", *FORMATS[:1], *FORMATS[2:]])
def test_tool_calls_are_bytes_too(format: Any) -> None:
    data = cw.encode_tool_call_bytes(*CALL, "context", format=format)
    call = cw.decode_tool_call(data)
    assert call == cw.ToolCall(*CALL, "context")
    if format in FORMATS:
        assert data == content(cw.encode_tool_call(*CALL, "context", format=format))
    assert cw.encode_tool_call_bytes("a", {}) == b'{"name":"a","arguments":{}}'
    large = {"n": 10**30}
    assert cw.decode_tool_call(cw.encode_tool_call_bytes("a" * 60, large)).arguments == large
