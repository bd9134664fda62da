"""Client and server without a network: what is sent, and what happens when something is lost."""

from __future__ import annotations

import hmac
import random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from compactwire.errors import OptionError
from compactwire.http import _server
from compactwire.http._client import Client
from compactwire.http._protocol import CREDENTIALS, Lanes, Options
from compactwire.http._server import Server
from compactwire.http._table import Table
from compactwire.savings import Saving
from tests.http import MANY, RANDOM, Clock, Sent, Wire, body, options
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


def test_a_session_belongs_to_one_user() -> None:
    wire = Wire().opened()
    wire.post(body(1))
    stolen = wire.sent[-1]
    stolen.headers = [(name, value.replace("seq=1", "seq=2")) for name, value in stolen.headers] + [
        ("authorization", "Bearer other")
    ]
    wire.deliver(stolen)
    assert (stolen.status, stolen.answered) == (410, "refused=session")


@pytest.mark.parametrize("name", [*CREDENTIALS, "host"])
def test_each_user_has_a_session_of_his_own(name: str) -> None:
    wire = Wire()
    secret = body(40, "secret")
    for user in ("one", "two"):
        wire.post(secret, (name, user))
        wire.post(secret, (name, user))
    first, second = wire.sent[1], wire.sent[3]
    assert first.said.split(";")[0] != second.said.split(";")[0]
    # What the other user has sent makes it no shorter.
    assert len(second.body) == len(first.body)


def test_ids_are_looked_up_by_hash_and_owners_compared_in_constant_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = []
    compare_digest = hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare_digest(one, other)

    monkeypatch.setattr(_server.hmac, "compare_digest", compare)
    wire = Wire().opened()
    wire.post(body(1))
    assert len(compared) == 1
    assert wire.server
    assert all(len(key) == 32 for key in wire.server._sessions._kept)


def test_ids_are_not_repeated() -> None:
    wire = Wire()
    assert wire.server
    assert len({wire.server.open(b"").session for _ in range(1_000)}) == 1_000
    assert len(wire.server._sessions) == 256


def test_idle_sessions_are_forgotten() -> None:
    clock = Clock()
    wire = Wire(server=Server(options(clock=clock), 4)).opened()
    clock.now += 599
    wire.post(body(1))
    clock.now += 599
    wire.post(body(2))
    assert wire.sent[-1].status == 200
    clock.now += 601
    wire.post(body(3))
    assert [sent.status for sent in wire.sent[-2:]] == [410, 200]


def test_the_least_recently_used_session_is_forgotten() -> None:
    wire = Wire(server=Server(options(max_sessions=2), 4))
    for user in ("a", "b", "a", "c", "a", "b"):
        wire.post(body(1), ("cookie", user))
    assert [sent.status for sent in wire.sent] == [200, 200, 200, 200, 200, 410, 200]


def test_the_memory_of_sessions_is_bounded() -> None:
    small = options(max_size=1 << 16, max_memory=1 << 19)
    wire = Wire(server=Server(small, 4), client=Client(small))
    for user in range(20):
        for turns in (1, 500):
            assert wire.post(body(turns), ("cookie", str(user))) == body(turns)
    assert wire.server
    for table in (wire.server._sessions, wire.client._sessions):
        sizes = [session.size for _, session in table._kept.values()]
        assert 1 <= len(sizes) < 20
        assert 1 << 16 < sum(sizes) <= 1 << 19


def test_the_memory_of_one_session_is_bounded() -> None:
    wire = Wire(server=Server(options(max_size=1 << 16), 8)).opened()
    for number in range(32):
        request = body(500, f"agent {number}")
        assert wire.post(request) == request
    assert wire.server
    (session,) = [session for _, session in wire.server._sessions._kept.values()]
    assert 1 << 16 < session.size <= 4 << 16
    (session,) = [session for _, session in wire.client._sessions._kept.values()]
    assert session.size <= 5 << 16


def test_the_smaller_limit_of_both_sides_holds() -> None:
    wire = Wire(server=Server(options(max_size=1_000), 4)).opened()
    wire.post(body(40))
    assert wire.sent[-1].status == 200
    assert "coded" not in wire.sent[-1].said


def test_a_body_of_the_largest_size_is_coded() -> None:
    wire = Wire(server=Server(options(max_size=4_096), 4)).opened()
    text = (b"0123456789abcdef" * 256)[:4_096]
    assert wire.post(text) == text
    assert "coded" in wire.sent[-1].said
    assert "coded" in wire.sent[-1].answered


def test_each_conversation_keeps_its_lane() -> None:
    wire = Wire(answer=lambda _: b"").opened()
    names = ["one", "two", "three", "four"]
    for turns in range(1, 9):
        for name in names:
            wire.post(body(turns * 5, name * 9))
    lanes = [sent.said.split("; ")[1] for sent in wire.sent[1:]]
    assert lanes == ["lane=0", "lane=1", "lane=2", "lane=3"] * 8


def test_a_body_with_a_number_at_its_beginning_keeps_its_lane() -> None:
    """Such as the id of JSON-RPC: what is the same has another place in each body."""
    wire = Wire(answer=lambda _: b"").opened()
    for turns in range(1, 40):
        wire.post(b'{"id":%d,"params":%s}' % (10**turns, body(turns * 5)))
    assert all("lane=0" in sent.said for sent in wire.sent[1:])


def test_repeated_questions_keep_their_lane() -> None:
    wire = Wire(answer=lambda _: body(40)).opened()
    for _ in range(3):
        wire.post(b"", method="GET")
        wire.post(body(9), method="POST")
    answers = [len(sent.answer) for sent in wire.sent if sent.body == b""]
    assert answers[0] > 2 * answers[1]
    assert answers[1] < 50


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


def test_owners_are_told_apart_by_each_value() -> None:
    given = options()
    owners = [
        given.owner([("cookie", "a"), ("cookie", "b")]),
        given.owner([("cookie", "acookieb")]),
        given.owner([("cookie", "ab")]),
        given.owner([("x-other", "a")]),
    ]
    assert len(set(owners)) == 4
    assert given.owner([("x-other", "a")]) == given.owner([])


def test_a_session_that_was_replaced_is_not_dropped() -> None:
    clock = Clock()
    table: Table[str, Lanes] = Table(most=2, idle_s=1, memory=1, clock=clock)
    old, new = Lanes("", 1, []), Lanes("", 1, [])
    table.put("key", new)
    table.drop("key", old)
    assert table.get("key") is new
    table.drop("key", new)
    assert len(table) == 0


def test_busy_lanes_leave_a_body_plain() -> None:
    records: list[Saving] = []
    wire = Wire(client=Client(options(on_saving=records.append)), server=Server(options(), 2))
    wire.opened()

    def nested(depth: int) -> Any:
        def before(sent: Sent) -> None:
            if depth:
                wire.post(body(depth), before=nested(depth - 1))

        return before

    wire.post(body(4), before=nested(3))
    assert [("coded" in sent.said) for sent in wire.sent[1:]] == [True, True, False, False]
    reasons = [record.reason for record in records[1:] if record.tool == "request"]
    assert reasons == ["busy", "busy", "", ""]
    wire.post(body(5))
    assert "coded" in wire.sent[-1].said


def test_answers_with_our_header_are_not_cached() -> None:
    wire = Wire().opened()
    wire.post(body(1))
    wire.post(b"short")
    for sent in wire.sent:
        marked = ("cache-control", "no-store") in sent.answer_headers
        assert marked == bool(sent.answered)
    assert [bool(sent.answered) for sent in wire.sent] == [True, True, False]


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"max_sessions": 0}, OptionError),
        ({"max_sessions": True}, TypeError),
        ({"max_size": 0}, OptionError),
        ({"max_memory": 1.5}, TypeError),
        ({"idle_s": 0}, OptionError),
        ({"idle_s": "1"}, TypeError),
        ({"idle_s": float("nan")}, OptionError),
        ({"on_saving": 1}, TypeError),
        ({"credentials": "cookie"}, TypeError),
        ({"credentials": [b"cookie"]}, TypeError),
    ],
)
def test_options_are_checked(changed: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        options(**changed)


@pytest.mark.parametrize(
    ("lanes", "error"), [(0, OptionError), (65, OptionError), ("4", TypeError)]
)
def test_lanes_are_checked(lanes: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Server(options(), lanes)


def test_a_server_cannot_make_a_client_keep_many_lanes() -> None:
    wire = Wire()

    def many(sent: Sent) -> None:
        sent.answer_headers = [
            (name, value.replace("lanes=4", "lanes=999999999"))
            for name, value in sent.answer_headers
        ]

    wire.post(b"", after=many)
    (session,) = [session for _, session in wire.client._sessions._kept.values()]
    assert len(session.lanes) == 64


def test_options_have_no_other_limits() -> None:
    assert Options(max_sessions=1, idle_s=1, max_size=1, max_memory=MANY).credentials == tuple(
        sorted(CREDENTIALS)
    )
