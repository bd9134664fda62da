"""The reader of server-sent events."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactwire.mcp._sse import Event, Events, EventTooLongError

STREAM = (
    b"\xef\xbb\xbf: hello\r\n\r\nid: 1\ndata\n\nevent: message\rdata: a\rdata:b\r\r"
    b"retry: 20\r\n\r\ndata: {\r\ndata:  x}\r\nid: 2\r\nunknown: y\r\n\r\nevent: ping\ndata: z\n\n"
    b"data: half"
)
EVENTS = [
    Event(b"", id="1"),
    Event(b"a\nb"),
    Event(b"", retry=20),
    Event(b"{\n x}", id="2"),
    Event(b"z", "ping"),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_are_the_same_however_the_stream_arrives(cuts: list[int]) -> None:
    events = Events(100)
    at = [0, *sorted(cuts), len(STREAM)]
    parts = [STREAM[start:end] for start, end in pairwise(at)]
    assert [event for part in parts for event in events.feed(part)] == EVENTS


@pytest.mark.parametrize(
    "stream", [b"data: " + b"x" * 200, b"data: " + b"x\ndata: " * 100, b"x" * 101, b"data:\n" * 200]
)
def test_an_event_over_the_limit_is_an_error(stream: bytes) -> None:
    events = Events(100)
    with pytest.raises(EventTooLongError):
        list(events.feed(stream))


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert list(Events(100).feed(b'data: "a\xffb"\n\n')) == [Event('"a\ufffdb"'.encode())]


def test_comments_and_short_events_have_no_end() -> None:
    events = Events(100)
    found = [event for _ in range(1000) for event in events.feed(b": ping\n: ping\ndata: x\n\n")]
    assert found == [Event(b"x")] * 1000


@pytest.mark.parametrize("identity", [b"a\x00b", "é".encode(), b"x" * 2000, b" x", b"", b"\xff"])
def test_an_id_that_no_header_can_carry_is_none_to_resume_from(identity: bytes) -> None:
    (event,) = Events(9999).feed(b"id: " + identity + b"\ndata: x\n\n")
    assert event.id == ""


@pytest.mark.parametrize("delay", [b"-1", b"1.5", b"9" * 10, b"", b"x"])
def test_a_delay_that_is_no_number_is_ignored(delay: bytes) -> None:
    (event,) = Events(9999).feed(b"retry: " + delay + b"\ndata: x\n\n")
    assert event.retry is None


def test_empty_lines_of_data_take_no_more_memory_than_they_count() -> None:
    events = Events(1 << 20)
    tracemalloc.start()
    for _ in range(100):
        assert list(events.feed(b"data\n" * 5_000)) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 500_000
    (event,) = events.feed(b"\n")
    assert event.data == b"\n" * 499_999


@pytest.mark.parametrize("field", [b"event", b"id"])
def test_a_long_field_of_an_event_that_has_not_ended_is_not_kept(field: bytes) -> None:
    events = Events(1 << 20)
    parts = [field + ": \U0001f600".encode(), *[b"a" * 10_000] * 100, b"\n"]
    tracemalloc.start()
    for part in parts:
        assert list(events.feed(part)) == []
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 10_000
    assert peak < 3 * 1_000_000
    (event,) = events.feed(b"data: x\n\n")
    assert event.data == b"x"
    assert event.kind != "message" if field == b"event" else event.id == ""
