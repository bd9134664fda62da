"""What is lost, late, altered or refused: the request arrives once, or fails as over plain HTTP."""

from __future__ import annotations

import gzip
import itertools
from typing import Any

import pytest

import compactwire as cw
from compactwire.errors import CompactWireError
from compactwire.http._client import Client
from compactwire.http._server import Server
from compactwire.savings import Saving
from tests.http import Change, Clock, Lost, Sent, Wire, body, kept, nothing, options


def strip(*names: str) -> Any:
    """A proxy that removes headers of answers and requests."""

    def change(sent: Sent) -> None:
        sent.headers = [pair for pair in sent.headers if pair[0] not in names]
        sent.answer_headers = [pair for pair in sent.answer_headers if pair[0] not in names]

    return change


def said(old: str, new: str) -> Any:
    """A peer that writes another header."""

    def change(sent: Sent) -> None:
        if dict(sent.headers).get("content-encoding"):
            sent.headers = [(name, value.replace(old, new)) for name, value in sent.headers]

    return change


def test_a_lane_that_lost_its_state_is_repaired_in_one_attempt() -> None:
    wire = Wire().opened()
    wire.post(body(1))
    (session,) = kept(wire.server)
    session.lanes[0].requests = None
    session.lanes[0].answers = None
    assert wire.post(body(2)) == body(2)
    assert [sent.status for sent in wire.sent] == [200, 200, 409, 200]
    assert wire.sent[2].answered == "refused=state"
    assert wire.sent[3].said.endswith("lane=0; seq=3; coded; new")
    assert wire.seen[1:] == [body(1), body(2)]
    assert wire.post(body(3)) == body(3)
    assert len(wire.sent[-1].body) < 100


def test_a_restarted_server_gets_the_body_plain_and_a_new_offer() -> None:
    wire = Wire().opened()
    wire.post(body(1))
    wire.server = Server(options(), 4)
    assert wire.post(body(2)) == body(2)
    assert [sent.status for sent in wire.sent[2:]] == [410, 200]
    assert wire.sent[-1].said == "offer"
    assert wire.seen[-2:] == [body(1), body(2)]
    wire.post(body(3))
    assert wire.sent[-1].status == 200
    assert "coded" in wire.sent[-1].said


@pytest.mark.parametrize("lost", ["state", "session"])
def test_a_refusal_is_known_without_our_header(lost: str) -> None:
    wire = Wire().opened()
    wire.post(body(1))
    if lost == "state":
        kept(wire.server)[0].lanes[0].requests = None
    else:
        wire.server = Server(options(), 4)
    for turns in (2, 3):
        assert wire.post(body(turns), after=strip("compactwire")) == body(turns)
    assert [sent.status for sent in wire.sent[2:]] == [409 if lost == "state" else 410, 200, 200]
    assert [sent.said for sent in wire.sent[3:]] == ["", ""]
    assert wire.seen[1:] == [body(1), body(2), body(3)]


def test_a_server_that_only_refuses_is_sent_plain_bodies() -> None:
    clock = Clock()
    wire = Wire(client=Client(options(clock=clock))).opened()
    session = wire.sent[0].answered

    def refuse(sent: Sent) -> None:
        coded = "coded" in sent.said
        sent.status = 409 if coded else 200
        sent.answer_headers = [("compactwire", "refused=state" if coded else session)]

    for turns in range(9):
        wire.post(body(turns + 1), after=refuse)
    assert max(map(len, attempts(wire))) == 3
    assert sum("coded" in sent.said for sent in wire.sent) == 3
    assert [sent.said for sent in wire.sent[-5:]] == [""] * 5
    clock.now += 601
    wire.post(body(1))
    assert wire.sent[-1].said == "offer"


def test_servers_that_take_turns_get_plain_bodies_after_three_refusals() -> None:
    wire = Wire().opened()
    servers = [Server(options(), 4), wire.server]
    turn = itertools.count()

    def route(sent: Sent) -> None:
        wire.server = servers[next(turn) % 2]

    for turns in range(1, 9):
        wire.post(body(turns), before=route)
    assert [sent.status for sent in wire.sent].count(410) == 3
    assert [sent.said for sent in wire.sent[-5:]] == [""] * 5


def attempts(wire: Wire) -> list[list[Sent]]:
    """The messages of each request: a refused one is followed by another attempt."""
    found: list[list[Sent]] = [[]]
    for sent in wire.sent:
        found[-1].append(sent)
        if "refused" not in sent.answered:
            found.append([])
    return found


@pytest.mark.parametrize("status", [400, 415, 422])
def test_an_application_that_does_not_know_the_coding_gets_plain_bodies(status: int) -> None:
    wire = Wire().opened()

    def other(sent: Sent) -> None:
        coded = "coded" in sent.said
        sent.status, sent.answer, sent.answer_headers = (status if coded else 200), b"", []

    for turns in (1, 2, 3):
        assert wire.post(body(turns), after=other) == b""
    assert [("coded" in sent.said, sent.status) for sent in wire.sent[1:]] == [
        (True, status),
        (False, 200),
        (False, 200),
        (False, 200),
    ]


@pytest.mark.parametrize("status", [401, 404, 500, 503])
def test_an_answer_of_a_stranger_is_passed_on_and_ends_the_session(status: int) -> None:
    wire = Wire().opened()

    def other(sent: Sent) -> None:
        sent.status, sent.answer, sent.answer_headers = status, b"gateway", []

    assert wire.post(body(1), after=other) == b"gateway"
    assert len(wire.sent) == 2
    wire.post(body(2))
    assert wire.sent[-1].said == "offer"


@pytest.mark.parametrize("status", [200, 201, 303])
def test_after_a_stranger_that_took_a_coded_body_all_bodies_are_plain(status: int) -> None:
    """One of several processes may still run without `CompactASGI`."""
    wire = Wire().opened()

    def other(sent: Sent) -> None:
        sent.status, sent.answer, sent.answer_headers = status, b"saved", []

    assert wire.post(body(1), after=other) == b"saved"
    for turns in range(2, 9):
        wire.post(body(turns))
    assert [sent.said for sent in wire.sent[2:]] == [""] * 7


@pytest.mark.parametrize("count", [1, 3, 8])
def test_a_restart_under_many_requests_is_one_refusal(count: int) -> None:
    wire = Wire(client=Client(options()), server=Server(options(), 8)).opened()

    def together(depth: int, act: Change) -> None:
        def before(sent: Sent) -> None:
            if depth > 1 and "coded" in sent.said:
                together(depth - 1, act)
            elif "coded" in sent.said:
                act(sent)

        wire.post(body(depth, f"agent {depth}"), before=before)

    def restart(sent: Sent) -> None:
        wire.server = Server(options(), 8)

    together(count, restart)
    assert [sent.status for sent in wire.sent].count(410) == count
    wire.post(body(9))
    assert "coded" in wire.sent[-1].said


def test_a_restart_under_many_users_is_one_refusal() -> None:
    wire = Wire()
    users = [("cookie", str(number)) for number in range(9)]
    for turns in (1, 2):
        for user in users:
            wire.post(body(turns), user)
    wire.server = Server(options(), 4)
    for turns in (3, 4):
        for user in users:
            wire.post(body(turns), user)
    assert [sent.status for sent in wire.sent].count(410) == 9
    assert all("coded" in sent.said for sent in wire.sent[-9:])


def test_a_server_that_forgets_each_session_is_sent_plain_bodies() -> None:
    wire = Wire().opened()

    def forget(sent: Sent) -> None:
        wire.server = Server(options(), 4)

    for turns in range(1, 20):
        wire.post(body(turns), before=forget)
    assert [sent.status for sent in wire.sent].count(410) == 3
    assert [sent.said for sent in wire.sent[-9:]] == [""] * 9


@pytest.mark.parametrize(
    ("change", "statuses"),
    [
        (said("lane=0", "lane=9"), [409, 409, 200]),
        (said("lane=0", "lane=1"), [409, 200]),
        (said("seq=", "seq=00"), [200]),
        (said("; seq=2", "; seq=1"), [409, 200]),
        (said("; seq=2", "; seq=0"), [409, 200]),
        (said("session=", "session=A"), [415, 200]),
        (said("lane=0; ", ""), [200]),
    ],
)
def test_lies_in_the_header_of_a_request_are_refused(change: Any, statuses: list[int]) -> None:
    wire = Wire().opened()
    wire.post(body(1))

    def lie(sent: Sent) -> None:
        change(sent)
        # The lie holds for the lane as well if the request begins anew.
        if "lane=1" in sent.said:
            sent.headers = [(name, value.replace("; new", "")) for name, value in sent.headers]

    assert wire.post(body(2), before=lie) == body(2)
    assert [sent.status for sent in wire.sent[2:]] == statuses
    assert wire.seen[2:] == [body(2)]


@pytest.mark.parametrize("cut", [0, 1, 10, 30])
def test_a_truncated_request_is_refused(cut: int) -> None:
    wire = Wire().opened()
    wire.post(body(1))

    def truncate(sent: Sent) -> None:
        if "coded" in sent.said:
            sent.body = sent.body[:cut]

    assert wire.post(body(2), before=truncate) == body(2)
    assert [sent.status for sent in wire.sent[2:]] == [400, 200]
    assert wire.seen[2:] == [body(2)]


def test_a_request_that_is_no_body_is_refused() -> None:
    wire = Wire().opened()
    for content in ({"system": "x"}, {"tool": {"name": "x"}}, {"context": "x", "system": "y"}):

        def other(sent: Sent, content: Any = content) -> None:
            if "coded" in sent.said:
                sent.body = cw.Session().encode_request(**content, pack="bytes")
                if "; new" not in sent.said:
                    said("; coded", "; coded; new")(sent)

        wire.post(body(2), before=other)
        assert wire.sent[-2].answered == "refused=body"
        assert wire.seen[-1] == body(2)


def test_a_request_that_is_delivered_twice_runs_once() -> None:
    wire = Wire().opened()
    wire.post(body(1))
    again = wire.sent[-1]
    wire.deliver(again)
    assert (again.status, again.answered) == (409, "refused=seq")
    assert wire.seen[1:] == [body(1)]


def test_a_bomb_is_refused() -> None:
    wire = Wire().opened()
    bomb = cw.Session().encode_request(context="a" * (8 << 20), pack="bytes")
    assert len(bomb) < 1_000

    def change(sent: Sent) -> None:
        if "coded" in sent.said:
            sent.body = bomb

    assert wire.post(body(2), before=change) == body(2)
    assert [sent.answered for sent in wire.sent[1:2]] == ["refused=size"]


@pytest.mark.parametrize("arrived", [False, True])
def test_a_request_that_fails_begins_its_lane_anew(arrived: bool) -> None:
    wire = Wire().opened()
    wire.post(body(1))

    def fail(sent: Sent) -> None:
        raise Lost

    before, after = (nothing, fail) if arrived else (fail, nothing)
    with pytest.raises(Lost):
        wire.post(body(2), before=before, after=after)
    assert wire.post(body(3)) == body(3)
    assert wire.sent[-1].said.endswith("coded; new")
    assert wire.post(body(4)) == body(4)
    assert len(wire.sent[-1].body) < 100


def test_a_lane_begins_anew_where_the_server_sees_it() -> None:
    """The application of another path says nothing about it."""
    wire = Wire(server=Server(options(), 1)).opened()
    wire.post(body(1))

    def fail(sent: Sent) -> None:
        raise Lost

    with pytest.raises(Lost):
        wire.post(body(2), before=fail)
    Wire(client=wire.client, server=None).post(body(3), method="OTHER")
    wire.post(body(4))
    assert [sent.status for sent in wire.sent[3:]] == [200]


def test_an_answer_that_was_not_read_is_not_referred_to() -> None:
    wire = Wire().opened()
    wire.post(body(1))
    assert wire.sent[-1].answered == "seq=1; coded; new"
    # This request belongs to the lane, but says that it has no answer.
    assert wire.post(body(2), before=said("; got=1", "")) == body(2)
    assert wire.sent[-1].answered == "seq=2; coded; new"
    assert wire.post(body(3)) == body(3)
    assert wire.sent[-1].answered == "seq=3; coded"


@pytest.mark.parametrize(
    "lie",
    [
        lambda sent: setattr(sent, "answer", sent.answer[:10]),
        lambda sent: setattr(sent, "answer", b""),
        lambda sent: setattr(sent, "answer", b"S" + sent.answer),
        lambda sent: sent.answer_headers.__setitem__(
            slice(None), [("compactwire", "seq=9; coded")]
        ),
        lambda sent: sent.answer_headers.__setitem__(
            slice(None), [("compactwire", "seq=2; coded; new")]
        ),
        strip("compactwire"),
    ],
)
def test_an_answer_that_cannot_be_read_is_an_error_and_not_another_body(lie: Any) -> None:
    wire = Wire().opened()
    wire.post(body(1))
    with pytest.raises(CompactWireError):
        wire.post(body(2), after=lie)
    assert wire.seen[-1] == body(2)
    # It fails once, not for each request.
    for turns in (3, 4):
        assert wire.post(body(turns)) == body(turns)
    assert [sent.said for sent in wire.sent[3:]] == [""] * 2


@pytest.mark.parametrize("encoding", ["x-compactwire, gzip", "gzip"])
def test_an_answer_that_was_compressed_again_is_an_error_that_says_so(encoding: str) -> None:
    wire = Wire().opened()

    def compress(sent: Sent) -> None:
        if "coded" in sent.answered:
            sent.answer = gzip.compress(sent.answer)
            sent.answer_headers = [
                (name, encoding if name == "content-encoding" else value)
                for name, value in sent.answer_headers
            ]

    with pytest.raises(CompactWireError, match=f"Content-Encoding is '{encoding}'"):
        wire.post(body(1), after=compress)
    assert wire.post(body(2), after=compress) == body(2)


@pytest.mark.parametrize("headers", [(), ("compactwire",), ("content-encoding",)])
def test_a_coded_answer_to_a_request_without_a_session_is_an_error(headers: Any) -> None:
    """A cache may have it from another client."""
    wire = Wire().opened()
    wire.post(body(1))
    coded = wire.sent[-1]

    def stored(sent: Sent) -> None:
        sent.status, sent.answer = coded.status, coded.answer
        sent.answer_headers = [pair for pair in coded.answer_headers if pair[0] not in headers]

    other = Wire()
    for said in ("offer", ""):
        with pytest.raises(CompactWireError, match="this request has no session"):
            other.post(body(1), after=stored)
        assert other.sent[-1].said == said


def test_a_proxy_that_strips_headers_of_requests() -> None:
    wire = Wire()
    for turns in range(5):
        assert wire.post(body(turns), before=strip("compactwire")) == body(turns)
    wire = Wire().opened()
    for turns in range(1, 5):
        assert wire.post(body(turns), before=strip("compactwire")) == body(turns)
    assert wire.sent[1].answered == "refused=coding"
    assert wire.seen[1:] == [body(turns) for turns in range(1, 5)]
    wire = Wire().opened()
    for turns in range(1, 5):
        assert wire.post(body(turns), before=strip("content-encoding")) == body(turns)
    assert wire.seen[1:] == [body(turns) for turns in range(1, 5)]


def test_a_proxy_that_strips_headers_of_answers() -> None:
    wire = Wire()
    for turns in range(5):
        assert wire.post(body(turns), after=strip("compactwire")) == body(turns)
    assert wire.sent[-1].said == ""
    wire = Wire().opened()
    for turns in range(1, 5):
        assert wire.post(body(turns), after=strip("content-encoding")) == body(turns)
    assert wire.sent[-1].answered == "seq=4; coded"


def test_a_request_that_is_no_body_leaves_nothing_in_the_session() -> None:
    wire = Wire().opened()
    wire.post(body(1))

    def other(sent: Sent) -> None:
        if "coded" in sent.said:
            said("; coded", "; coded; new")(sent)
            sent.body = cw.Session().encode_request(system="x" * 600, pack="bytes")

    (session,) = kept(wire.server)
    wire.post(body(2), before=other)
    assert wire.sent[-2].answered == "refused=body"
    assert [lane.requests for lane in session.lanes] == [None] * 4


def test_refusals_between_requests_that_are_accepted_are_no_reason_to_stop() -> None:
    wire = Wire().opened()
    (session,) = kept(wire.server)
    for turns in range(1, 20):
        session.lanes[0].requests = None
        wire.post(body(turns))
        assert "coded" in wire.sent[-1].said
    assert [sent.status for sent in wire.sent].count(409) == 18


def test_refused_attempts_are_counted() -> None:
    records: list[Saving] = []
    wire = Wire(client=Client(options(on_saving=records.append)), answer=lambda _: b"").opened()
    wire.server = Server(options(), 4)
    wire.post(body(2))
    coded, plain = wire.sent[1:]
    assert records[-1].after == len(coded.body) + len(plain.body) > records[-1].before
    assert records[-1].reason == "refused"
