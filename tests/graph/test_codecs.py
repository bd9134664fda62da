"""The registry of codecs, GCB and JSON: round trips, and refused payloads."""

from __future__ import annotations

import json
import struct
import threading
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactwire import gcf, wire

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
PAYLOADS = st.builds(
    gcf.Payload,
    TEXTS,
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    TEXTS,
    st.lists(
        st.builds(
            gcf.Symbol,
            TEXTS,
            TEXTS,
            FLOATS,
            TEXTS,
            st.integers(-(2**63), 2**63 - 1),
            TEXTS,
            st.builds(gcf.Components, FLOATS, FLOATS, FLOATS, FLOATS),
            location=st.none()
            | st.builds(gcf.Location, TEXTS, st.integers(1, 2**63 - 1), st.integers(1, 2**63 - 1)),
        ),
        max_size=4,
    ),
    st.lists(st.builds(gcf.Edge, TEXTS, TEXTS, TEXTS, TEXTS), max_size=4),
)


@given(PAYLOADS)
def test_json_carries_any_payload(payload: gcf.Payload) -> None:
    for compact in (False, True):
        for html_escape in (False, True):
            text = wire.encode_json(payload, compact=compact, html_escape=html_escape)
            assert wire.decode_json(text) == payload
            assert gcf.Payload(**json.loads(text)) == payload


@given(PAYLOADS)
def test_gcb_carries_a_payload_or_names_the_loss(payload: gcf.Payload) -> None:
    try:
        data = wire.encode_gcb(payload)
    except wire.WireError as error:
        assert error.path is not None  # noqa: PT017
        assert error.code.startswith("gcb_")  # noqa: PT017
        return
    decoded = wire.decode_gcb(data)
    statuses = [edge.status.replace("unchanged", "") for edge in payload.edges]
    assert [edge.status for edge in decoded.edges] == statuses
    assert decoded.symbols == payload.symbols
    assert wire.encode_gcb(decoded) == data


@given(st.binary(max_size=200))
def test_any_bytes_are_gcb_or_an_error(data: bytes) -> None:
    for attempt in (data, b"GCB1\x01" + data):
        try:
            payload = wire.decode_gcb(attempt)
        except wire.WireError:
            continue
        assert wire.encode_gcb(payload) == attempt


def test_large_counts_allocate_no_memory() -> None:
    count = b"\xff" * 9 + b"\x01"
    tracemalloc.start()
    for symbols, edges in ((count, b"\0"), (b"\0", count), (count, count)):
        with pytest.raises(wire.WireError, match="gcb_truncated"):
            wire.decode_gcb(b"GCB1\x01\x00\x00\x00" + symbols + edges)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_numbers_are_the_shortest_decimal_or_raw_float32() -> None:
    payload = gcf.Payload(symbols=[gcf.Symbol("a", "type", 0.78)])
    data = wire.encode_gcb(payload)
    assert wire.decode_gcb(data).symbols[0].score == 0.78
    raw = struct.unpack("<f", struct.pack("<f", 0.78))[0]
    assert wire.decode_gcb(data, raw_float32=True).symbols[0].score == raw


def test_gcb_refuses_text() -> None:
    with pytest.raises(TypeError, match="data must be bytes, not str"):
        wire.decode_with("gcb", "GCB1")
    with pytest.raises(ValueError, match="lossy may contain"):
        wire.GcbCodec(lossy={"everything"}).encode(gcf.Payload())
    with pytest.raises(TypeError, match="lossy must be an iterable of str, not str"):
        wire.encode_gcb(gcf.Payload(), lossy="ids")


def test_codecs_are_found_by_name() -> None:
    assert wire.list_names() == "gcb, gcf, json"
    assert [codec.name for codec in wire.list()] == ["gcb", "gcf", "json"]
    payload = gcf.Payload("t", symbols=[gcf.Symbol("a", "type", 0.5, "ast_inferred")])
    for codec in wire.list():
        written = codec.encode(payload)
        assert written == wire.encode_with(codec.name, payload)
        assert wire.decode_with(codec.name, written) == payload
        assert isinstance(written, bytes) == (codec.name == "gcb")
        if isinstance(written, str):
            assert wire.decode_with(codec.name, written.encode()) == payload
    with pytest.raises(wire.UnknownCodec, match="gcb, gcf, json"):
        wire.get("yaml")
    with pytest.raises(TypeError, match="name must be a str, not int"):
        wire.get(10**5000)  # type: ignore[arg-type]
    with pytest.raises(gcf.GcfError, match="malformed_delta"):
        wire.decode_with("gcf", "GCF profile=graph unchanged=true pack_root=x symbols=1\n")
    with pytest.raises(TypeError, match="codec must have name"):
        wire.register(object())  # type: ignore[arg-type]


class Lines:
    """A codec in Python that carries only names."""

    description = "names, a line each"

    def __init__(self, name: str) -> None:
        self.name = name

    def encode(self, payload: gcf.Payload, /) -> str:
        return "\n".join(symbol.qualified_name for symbol in payload.symbols)

    def decode(self, data: str | bytes, /) -> gcf.Payload:
        assert isinstance(data, str)
        return gcf.Payload(symbols=[gcf.Symbol(name, "type") for name in data.splitlines()])


def test_a_registered_codec_is_used_from_eight_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("compactwire._codecs._codecs", {c.name: [c] for c in wire.list()})
    payload = gcf.Payload(symbols=[gcf.Symbol(f"s{i}", "type") for i in range(50)])
    start = threading.Barrier(8)
    outcomes: list[str] = []

    def work() -> None:
        start.wait()
        try:
            wire.register(Lines("lines"))
            outcomes.append("registered")
        except wire.DuplicateCodec:
            outcomes.append("taken")
        for _ in range(50):
            assert wire.decode_with("lines", wire.encode_with("lines", payload)) == payload
        outcomes.append("used")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["registered", *["taken"] * 7, *["used"] * 8]
    assert wire.list_names() == "gcb, gcf, json, lines"


@pytest.mark.parametrize("text", ["{}", '{"rows": [1]}', '{"Tool": "t"}'])
def test_an_object_without_a_member_of_a_payload_is_no_payload(text: str) -> None:
    with pytest.raises(wire.WireError, match="expected a payload, found an object without tool"):
        wire.decode_json(text)
    assert wire.decode_json('{"tool": null, "rows": [1]}') == gcf.Payload()
