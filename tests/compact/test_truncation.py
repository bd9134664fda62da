"""Messages truncated at every byte, and with every bit flipped.

The result is an error of ours or a response; in a format with a checksum it is never another
response than the one that was sent.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import pytest

import compactwire as cw
from tests import reference as ref
from tests.strategies.outcomes import result_or_error
from tests.strategies.packing import PACKERS, SMALL, SMALL_BYTES, container, prefix_of, zstd

RESPONSE = cw.Response("Tests pass: 12 of 12. 한국어 🚀", "C4", "PART", 300)
FORMATS: Any = ("verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary")
MESSAGE = ref.decode_base85(cw.encode(RESPONSE, format="base85")[1:])

WIRES: dict[str, str] = {
    f"{format} {protocol} {layout}": cw.encode(
        RESPONSE,
        format=format,
        protocol=protocol,
        msgpack_version=layout,
        dictionary=SMALL,
    )
    for format in FORMATS
    for protocol in (2, 4)
    for layout in ((None,) if format in ("verbose", "dsl") else (1, 2, 3, "map"))
}
# Not written by `encode`: layout 3 without tokens, checksums, no content size, containers.
WIRES["base85 without tokens"] = cw.encode(
    cw.Response("no tokens", "C4"), format="base85", protocol=2
)
WIRES |= {
    f"{name} by hand": prefix_of(name) + ref.encode_base85(pack(MESSAGE))
    for name, pack in PACKERS.items()
}
TEXTUAL = [name for name in WIRES if name.startswith(("verbose", "dsl"))]
BINARY = [name for name in WIRES if name not in TEXTUAL]
CHECKED = [name for name in WIRES if name.startswith(("zlib", "gzip")) or "checksum" in name]


def decode(wire: str | bytes) -> Any:
    """The response, or the class of our error; any other exception is raised."""
    return result_or_error(cw.decode, wire, dictionary=SMALL)


def cuts(data: bytes) -> Iterator[bytes]:
    return (data[:end] for end in range(len(data)))


def flips(data: bytes) -> Iterator[bytes]:
    for place in range(len(data)):
        for bit in range(8):
            yield data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def payload(name: str) -> tuple[str, bytes]:
    """The prefix, and the bytes that follow it as Base64 or Base85."""
    wire = WIRES[name]
    if wire[0] == "M":
        return "M", ref.base64_strict.decode_base64(wire[1:])
    return wire[0], ref.decode_base85(wire[1:])


def again(prefix: str, data: bytes) -> str:
    if prefix == "M":
        return prefix + ref.base64_strict.encode_base64(data)
    return prefix + ref.encode_base85(data)


@pytest.mark.parametrize("name", WIRES)
def test_the_whole_message_decodes(name: str) -> None:
    found = decode(WIRES[name])
    assert isinstance(found, cw.Response)
    assert found.result in (RESPONSE.result, "no tokens")
    assert decode(WIRES[name].encode()) == found


@pytest.mark.parametrize("name", BINARY)
def test_a_truncated_binary_message_does_not_decode(name: str) -> None:
    assert [
        wire for wire in cuts(WIRES[name].encode()) if isinstance(decode(wire), cw.Response)
    ] == []


@pytest.mark.parametrize("name", BINARY)
def test_a_truncated_payload_does_not_decode(name: str) -> None:
    prefix, data = payload(name)
    for cut in cuts(data):
        assert not isinstance(decode(again(prefix, cut)), cw.Response), cut


@pytest.mark.parametrize("name", TEXTUAL)
def test_a_truncated_text_is_an_error_or_the_start_of_the_result(name: str) -> None:
    for wire in cuts(WIRES[name].encode()):
        found = decode(wire)
        if isinstance(found, cw.Response):
            assert name.startswith("dsl")
            assert RESPONSE.result.startswith(found.result)
            assert (found.status, found.model, found.tokens) == ("PART", "C4", 300)


@pytest.mark.parametrize("name", WIRES)
def test_a_flipped_bit_raises_only_our_errors(name: str) -> None:
    for wire in flips(WIRES[name].encode()):
        decode(wire)


@pytest.mark.parametrize("name", BINARY)
def test_a_flipped_bit_in_the_payload_raises_only_our_errors(name: str) -> None:
    prefix, data = payload(name)
    for changed in flips(data):
        decode(again(prefix, changed))


def adler_cannot_tell(prefix: str, wire: str) -> bool:
    """Whether the payload is a zlib stream with a valid checksum.

    Adler-32 does not detect -n, +2n, -n in three bytes, which one changed Base85 character can
    cause.
    """
    try:
        return prefix == wire[0] == "Z" and zlib.decompress(ref.decode_base85(wire[1:])) != MESSAGE
    except zlib.error:
        return False


@pytest.mark.parametrize("name", CHECKED)
def test_a_checksum_detects_every_changed_response(name: str) -> None:
    prefix, data = payload(name)
    wires = [again(prefix, changed) for changed in flips(data)]
    wires += [wire.decode() for wire in flips(WIRES[name].encode()) if wire.isascii()]
    let_through = []
    for wire in wires:
        found = decode(wire)
        if (
            isinstance(found, cw.Response)
            and found != RESPONSE
            and not adler_cannot_tell(prefix, wire)
        ):
            let_through.append(wire)
    assert let_through == []


@pytest.mark.parametrize("name", BINARY)
def test_the_reference_agrees_on_every_flipped_or_truncated_payload(name: str) -> None:
    prefix, data = payload(name)
    for changed in (*flips(data), *cuts(data)):
        wire = again(prefix, changed)
        try:
            expected = ref.decode(wire, dictionaries=[("small", SMALL_BYTES)])
        except ref.DecodeError:
            assert not isinstance(decode(wire), cw.Response), wire
        else:
            fields: Any = (expected.result, expected.model, expected.status, expected.tokens)
            assert decode(wire) == cw.Response(*fields)


OLD = container(b"small", len(MESSAGE), zstd(MESSAGE, dictionary=SMALL_BYTES, dictionary_id=False))


@pytest.mark.parametrize("more", [b"\0", b"ZDCT", OLD])
def test_data_after_an_old_container_is_refused(more: bytes) -> None:
    assert decode(again("D", OLD)) == RESPONSE
    assert decode(again("D", OLD + more)) is cw.DecompressionFailed


def test_an_old_container_must_have_its_stated_size() -> None:
    for size in (0, len(MESSAGE) - 1, len(MESSAGE) + 1, 2**26):
        wrong = OLD[:4] + size.to_bytes(4, "big") + OLD[8:]
        assert decode(again("D", wrong)) is cw.DecompressionFailed


DELTA = "D|Z|" + ref.encode_base85(PACKERS["zlib"]("D|R|3|한국어 🚀 and more".encode()))
DELTAS = {
    "full": "D|F|한국어",
    "append": "D|+|한국어",
    "replace": "D|R|3|한국어",
    "compressed": DELTA,
    "server": "D|Z|" + ref.base64_strict.encode_base64(PACKERS["gzip"](b"D|+|more")),
    "client": "D|ZR|" + ref.encode_base85(PACKERS["zlib"](b"3|more")),
}


@pytest.mark.parametrize("name", DELTAS)
def test_a_broken_delta_raises_only_our_errors(name: str) -> None:
    delta = DELTAS[name].encode()
    assert isinstance(result_or_error(cw.apply_delta, "content", delta), str)
    for changed in (*cuts(delta), *flips(delta)):
        found = result_or_error(cw.apply_delta, "content", changed)
        assert isinstance(found, str) or issubclass(found, cw.DecodeError)


@pytest.mark.parametrize("name", ["compressed", "server", "client"])
def test_a_truncated_compressed_delta_is_refused(name: str) -> None:
    for cut in cuts(DELTAS[name].encode()):
        with pytest.raises(cw.DecodeError):
            cw.apply_delta("content", cut)
