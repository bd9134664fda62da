"""Which bodies and answers are coded, and which stay plain."""

from __future__ import annotations

import random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from compactwire.http._client import Client
from compactwire.http._header import NAME
from compactwire.http._server import Server
from compactwire.savings import Saving
from tests.http import ORIGIN, RANDOM, Wire, body, kept, options
from tests.strategies.profiles import examples


def test_a_conversation_is_sent_once() -> None:
    wire = Wire().opened()
    for turns in range(1, 30):
        assert wire.post(body(turns)) == wire.seen[-1] == body(turns)
    assert all(len(sent.body) < 100 for sent in wire.sent[3:])
    assert all(len(sent.answer) < 100 for sent in wire.sent[3:])
    assert wire.sent[-1].said.split("; ", 1)[1] == "lane=0; seq=29; got=28; coded"
    assert wire.sent[-1].answered == "seq=29; coded"
    assert len(wire.sent) == 30


TEXTS = st.text(max_size=50) | st.text(st.sampled_from("a|\r\n\0\ufeff\U0010ffffé"), max_size=9)


BODIES = st.binary(max_size=700) | TEXTS.flatmap(
    lambda text: st.integers(0, 300).map(lambda times: (text * times).encode())
)


@examples(0.5)
@given(st.lists(st.tuples(BODIES, BODIES), max_size=8))
def test_any_body_arrives_byte_for_byte(pairs: list[tuple[bytes, bytes]]) -> None:
    answers = iter([b"", *(answer for _, answer in pairs)])
    wire = Wire(answer=lambda _: next(answers)).opened()
    for request, answer in pairs:
        assert wire.post(request) == answer
        assert wire.seen[-1] == request
    assert len(wire.sent) == 1 + len(pairs)


@pytest.mark.parametrize(
    ("request_body", "headers", "reason"),
    [
        (b"x" * 511, (), "size"),
        (b"x" * ((1 << 20) + 1), (), "size"),
        (b"\xff" * 600, (), "not-text"),
        (body(3), (("content-encoding", "gzip"),), "encoded"),
        (body(3), (("content-digest", "sha-256=:x:"),), "encoded"),
        (body(3), (("digest", "x"),), "encoded"),
        (body(3), (("signature", "x"),), "encoded"),
        (RANDOM, (), "no-gain"),
        (bytes(range(32, 127)) * 6, (), ""),
    ],
)
def test_some_bodies_stay_plain(request_body: bytes, headers: Any, reason: str) -> None:
    records: list[Saving] = []
    wire = Wire(client=Client(options(on_saving=records.append)), answer=lambda _: b"").opened()
    assert wire.post(request_body, *headers) == b""
    assert wire.seen[-1] == request_body
    assert (records[-1].source, records[-1].tool, records[-1].unit) == ("http", "request", "bytes")
    assert records[-1].reason == reason
    assert records[-1].format == ("text" if reason else "session")
    assert (records[-1].before, records[-1].after) == (len(request_body), len(wire.sent[-1].body))


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (204, []),
        (206, []),
        (304, []),
        (200, [("content-type", "text/event-stream; charset=utf-8")]),
        (200, [("content-encoding", "gzip")]),
        (200, [("content-digest", "sha-256=:x:")]),
        (200, [("content-length", "1000")]),
        (200, [("transfer-encoding", "chunked")]),
        (200, [("content-length", "-1")]),
        (200, [("content-length", str(1 << 30))]),
    ],
)
def test_some_answers_stay_plain(status: int, headers: list[tuple[str, str]]) -> None:
    wire = Wire().opened()
    wire.post(body(3))
    assert wire.server
    session = wire.sent[-1].said.split(";")[0]
    request = [("compactwire", f"{session}; lane=0; seq=9; got=1")]
    turn = wire.server.begin("POST", request)
    assert turn
    given = [*headers, ("content-length", "1000")]
    assert turn.may_code(status, given) is False
    assert turn.plain(status, given) == given
    other = wire.server.begin("POST", [("compactwire", f"{session}; lane=0; seq=10; got=1")])
    assert other
    assert other.may_code(200, [("content-length", "1000")]) is True


def test_an_answer_to_head_stays_plain() -> None:
    wire = Wire().opened()
    wire.post(body(3), method="HEAD")
    assert wire.sent[-1].answered == "seq=1"


def test_the_smaller_limit_of_both_sides_holds() -> None:
    wire = Wire(server=Server(options(max_size=1_000), 4)).opened()
    wire.post(body(40))
    assert wire.sent[-1].status == 200
    assert "coded" not in wire.sent[-1].said


def test_an_answer_over_the_limit_of_the_client_stays_plain() -> None:
    """The client could not decode it, after the application has acted."""
    sizes = iter([0, 4_096, 4_097])
    wire = Wire(client=Client(options(max_size=4_096)), answer=lambda _: b"x" * next(sizes))
    wire.opened()
    assert wire.post(body(1)) == b"x" * 4_096
    assert wire.post(body(2)) == b"x" * 4_097
    assert [("coded" in sent.answered) for sent in wire.sent] == [False, True, False]
    assert "; size=4096; " in wire.sent[-1].said


@pytest.mark.parametrize(("size", "coded"), [(1 << 20, True), ((1 << 20) + 1, False)])
def test_a_client_does_not_wait_until_a_long_answer_is_coded(size: int, coded: bool) -> None:
    """It would be seconds, of which its time-out may have five."""
    large = options(max_size=1 << 24)
    wire = Wire(Client(large), Server(large, 4), answer=lambda _: b"x" * size).opened()
    assert wire.post(b"") == b"x" * size
    assert ("coded" in wire.sent[-1].answered) == coded


def test_a_body_of_the_largest_size_is_coded() -> None:
    wire = Wire(server=Server(options(max_size=4_096), 4)).opened()
    text = (b"0123456789abcdef" * 256)[:4_096]
    assert wire.post(text) == text
    assert "coded" in wire.sent[-1].said
    assert "coded" in wire.sent[-1].answered


def test_a_body_that_stays_plain_leaves_the_lane_in_step() -> None:
    wire = Wire(server=Server(options(), 1)).opened()
    second = bytes(random.Random(2).choices(range(128), k=512))
    third = bytes(random.Random(3).choices(range(128), k=512))
    for request in (RANDOM, body(9), second, body(10), b"", third, body(11)):
        assert wire.post(request) == request
    assert [sent.status for sent in wire.sent] == [200] * 8
    coded = [("; coded" in sent.said, "; coded" in sent.answered) for sent in wire.sent[1:]]
    assert coded == [(turn, turn) for turn in (0, 1, 0, 1, 0, 0, 1)]


def test_an_answer_is_not_coded_after_a_later_request_of_its_lane() -> None:
    wire = Wire().opened()
    assert wire.server
    session = wire.sent[0].answered.split(";")[0]
    header = [("compactwire", f"{session}; lane=0; seq=1; new")]
    first = wire.server.begin("POST", header)
    assert first
    assert first.may_code(200, [("content-length", str(len(body(9))))])
    assert wire.server.begin("POST", [("compactwire", f"{session}; lane=0; seq=2")])
    assert first.answer(200, [], body(9)) == ([], body(9))


def test_answers_with_our_header_are_not_cached() -> None:
    wire = Wire().opened()
    wire.post(body(1))
    wire.post(b"short")
    for sent in wire.sent:
        marked = ("cache-control", "no-store") in sent.answer_headers
        assert marked == bool(sent.answered)
    assert [bool(sent.answered) for sent in wire.sent] == [True, True, False]


def test_the_work_on_an_answer_depends_on_the_one_before() -> None:
    """A short answer that adds to a long one is not short work."""
    wire = Wire(answer=lambda _: body(9_000)).opened()
    wire.post(b"")
    exchange = wire.client.begin(ORIGIN, [], b"", "POST")
    assert exchange.weight > 1 << 17
    exchange.attempt()
    assert exchange.answer_weight > 1 << 17
    exchange.close()


def test_a_long_new_text_is_not_packed_and_the_next_one_continues_it() -> None:
    records: list[Saving] = []
    limits = options(max_size=1 << 21)
    client = Client(options(max_size=1 << 21, on_saving=records.append))
    wire = Wire(client=client, server=Server(limits, 1)).opened()
    numbers = random.Random(1).choices(range(1 << 32), k=200_000)
    long = " ".join(map(str, numbers)).encode()[: 1 << 21]
    edited = b"An edit at the beginning. " + long[99:]
    for content in (long, long[:-9] + b" and more", edited, long[1 << 20 :]):
        assert wire.post(content) == content
    first, second, third, fourth = wire.sent[1:]
    assert first.body.endswith(long)
    assert len(second.body) < 100
    assert third.body.endswith(edited)
    assert len(fourth.body) < len(long) // 3  # It is short enough.
    assert [one.reason for one in records if one.tool == "request"][1:3] == ["new", ""]


def test_a_long_body_that_is_no_text_leaves_its_lane_as_it_is() -> None:
    limits = options(max_size=1 << 21)
    wire = Wire(client=Client(limits), server=Server(limits, 1)).opened()
    for content in (body(5), b"\xff" * (1 << 21), body(6)):
        assert wire.post(content) == content
    assert wire.sent[2].body == b"\xff" * (1 << 21)
    assert len(wire.sent[3].body) < 100


def test_a_new_text_of_some_length_is_long_work() -> None:
    wire = Wire(server=Server(options(), 1)).opened()
    weights = []
    for content in (body(420), body(421), body(420, "other")):
        weights.append(wire.client.begin(ORIGIN, [], content, "POST").weight)
        wire.post(content)
    assert weights[0] > 1 << 17 > weights[1]
    assert weights[2] > 1 << 17


def test_the_first_answer_of_some_length_is_long_work() -> None:
    wire = Wire(server=Server(options(), 1)).opened()
    (session,) = kept(wire.server)
    assert wire.server
    weights = []
    for seq in (1, 2):
        turn = wire.server.begin(
            "POST", [(NAME, f"session={session.id}; lane=0; seq={seq}; got=1")]
        )
        assert turn is not None
        weights.append(turn.answer_weight(30_000))
        turn.answer(200, [], body(5))
    assert weights[0] > 1 << 17 > weights[1]


def test_after_a_short_answer_with_a_long_text_no_answer_is_short_work() -> None:
    wire = Wire(answer=lambda _: b"x" * (1 << 20)).opened()
    assert not wire.client.wary
    wire.post(b"")
    exchange = wire.client.begin("http://other.example:80", [], b"", "POST")
    exchange.attempt()
    assert exchange.answer_weight == 1 << 17
    exchange.close()
