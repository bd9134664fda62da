"""How a session begins: offers, peers that know none, and the first body."""

from __future__ import annotations

from typing import Any

import pytest

from compactwire import Session
from compactwire.http._client import Client
from compactwire.http._header import CODING, NAME
from compactwire.http._protocol import Options
from compactwire.http._server import Server
from tests.http import ORIGIN, RANDOM, Clock, Lost, Sent, Wire, body, kept, options


def test_a_peer_without_it_gets_plain_requests_and_three_offers() -> None:
    clock = Clock()
    wire = Wire(client=Client(options(clock=clock)), server=None)
    for turns in range(9):
        wire.post(body(turns))
    assert [sent.said for sent in wire.sent] == ["offer"] * 3 + [""] * 6
    assert wire.seen == [body(turns) for turns in range(9)]
    clock.now += 601
    wire.server = Server(options(), 4)
    wire.post(body(9))
    wire.post(body(10))
    assert "coded" in wire.sent[-1].said


@pytest.mark.parametrize("paths", ["abc", "aaaaaaaaa"])
def test_paths_without_it_say_nothing_about_others(paths: str) -> None:
    wire = Wire(server=None)
    for path in paths:
        wire.post(body(1), method=path)
    assert [sent.said for sent in wire.sent[:4]] == ["offer"] * 3 + [""] * (len(paths) > 3)
    wire.server = Server(options(), 4)
    wire.post(body(1))
    wire.post(body(2))
    assert "coded" in wire.sent[-1].said


def test_a_peer_of_many_paths_gets_sixteen_offers() -> None:
    wire = Wire(server=None)
    for number in range(40):
        wire.post(body(1), method=str(number))
    assert [sent.said for sent in wire.sent] == ["offer"] * 16 + [""] * 24


def test_errors_do_not_open_a_session_nor_count_as_refusals() -> None:
    wire = Wire(status=401)
    for _ in range(9):
        wire.post(body(1))
    assert wire.server
    assert len(wire.server._sessions) == 0
    wire.status = 200
    wire.opened()


def test_an_uncoded_request_of_an_unknown_session_gets_a_new_one_at_once() -> None:
    wire = Wire().opened()
    wire.server = Server(options(), 4)
    wire.post(b"short")
    assert wire.sent[-1].answered.startswith("session=")
    wire.post(body(1))
    assert [sent.status for sent in wire.sent] == [200, 200, 200]


def test_credentials_of_each_request_are_not_offered_forever() -> None:
    wire = Wire()
    for number in range(100):
        wire.post(body(1), ("cookie", str(number)))
    assert [sent.said for sent in wire.sent] == ["offer"] * 65 + [""] * 35


def test_sessions_that_are_used_for_answers_alone_are_used() -> None:
    wire = Wire(answer=lambda _: body(9))
    for number in range(100):
        for _ in range(2):
            assert wire.post(b"", ("cookie", str(number)), method="GET") == body(9)
    assert [sent.said for sent in wire.sent].count("offer") == 100


def test_a_session_begins_with_the_body_that_was_plain() -> None:
    wire = Wire()
    for turns in (5, 6):
        assert wire.post(body(turns)) == body(turns)
    assert wire.sent[0].answered.endswith("; kept")
    assert wire.sent[1].said.endswith("lane=0; seq=1; coded")
    assert len(wire.sent[1].body) < 60


def test_a_body_that_was_kept_is_coded_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be the only one, and its answer does not wait for it."""
    begun: list[bytes] = []

    def begin(self: Options, first: bytes) -> tuple[Session, Session]:
        begun.append(first)
        return original(self, first)

    original = Options.begin
    monkeypatch.setattr(Options, "begin", begin)
    wire = Wire()
    wire.post(body(5))
    assert begun == []
    wire.post(b"short")
    assert begun == []
    for turns in (6, 7):
        assert wire.post(body(turns)) == body(turns)
    assert begun == [body(5)] * 2  # Once on each side.
    assert kept(wire.server)[0].lanes[0].first == b""


def test_to_begin_with_a_body_of_some_length_is_long_work() -> None:
    long = body(600)
    assert 1 << 14 < len(long) < 1 << 16
    wire = Wire(server=Server(options(), 1))
    wire.post(long)
    assert wire.client.begin(ORIGIN, [], long, "POST").weight > 1 << 17
    (session,) = kept(wire.server)
    header = f"session={session.id}; lane=0; seq=1; coded"
    assert wire.server
    turn = wire.server.begin("POST", [(NAME, header), ("content-encoding", CODING)])
    assert turn is not None
    assert turn.weight > 1 << 17


def test_a_body_that_was_kept_counts_for_the_memory_once_it_is_coded() -> None:
    wire = Wire(server=Server(options(), 1))
    wire.post(body(5))
    wire.post(RANDOM)  # It stays plain.
    (session,) = kept(wire.client)
    assert session.lanes[0].request_size >= 2 * len(body(5))


def test_a_body_that_was_kept_counts_for_the_memory() -> None:
    wire = Wire()
    wire.post(body(5))
    for side in (wire.server, wire.client):
        (session,) = kept(side)
        assert session.size >= len(body(5))


def test_a_body_that_the_server_did_not_keep_begins_nothing() -> None:
    wire = Wire(reads=False)
    wire.post(body(5))
    assert wire.post(body(6)) == body(6)
    assert wire.sent[-1].said.endswith("lane=0; seq=1; coded; new")
    assert [sent.status for sent in wire.sent] == [200, 200]


@pytest.mark.parametrize(
    ("first", "headers"),
    [
        (body(4_000, "large"), ()),
        (b"x" * 511, ()),
        (b"\xff" * 600, ()),
        (body(5), (("content-digest", "x"),)),
    ],
)
def test_other_bodies_do_not_begin_a_session(first: bytes, headers: Any) -> None:
    wire = Wire()
    wire.post(first, *headers)
    assert "kept" not in wire.sent[0].answered
    assert wire.post(body(6)) == body(6)
    assert wire.sent[-1].said.endswith("lane=0; seq=1; coded; new")


def test_a_server_that_kept_another_body_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(reads=False)
    assert wire.server
    begun = wire.server.begin

    def begin(method: str, headers: Any) -> Any:
        turn = begun(method, headers)
        if turn is not None:
            turn.first = lambda: body(9, "other")
        return turn

    monkeypatch.setattr(wire.server, "begin", begin)
    wire.post(body(5))
    assert "kept" in wire.sent[0].answered
    assert wire.post(body(6)) == body(6)
    assert [sent.status for sent in wire.sent] == [200, 409, 200]
    assert wire.seen == [body(5), body(6)]


def test_a_server_that_says_it_kept_what_it_did_not_is_noticed() -> None:
    wire = Wire()

    def lie(sent: Sent) -> None:
        sent.answer_headers = [
            (name, value + "; kept" if name == "compactwire" else value)
            for name, value in sent.answer_headers
        ]

    wire.post(body(5_000)[:100_000], ("content-digest", "x"), after=lie)
    assert wire.post(body(6)) == body(6)
    assert wire.sent[-1].status == 200


def test_one_offer_is_under_way_at_a_time() -> None:
    wire = Wire()

    def before(sent: Sent) -> None:
        if sent.said:
            wire.post(body(1))

    wire.post(body(2), before=before)
    assert [sent.said for sent in wire.sent] == ["offer", ""]

    def fail(sent: Sent) -> None:
        raise Lost

    wire = Wire()
    with pytest.raises(Lost):
        wire.post(body(1), before=fail)
    wire.opened()


def test_an_error_opens_no_session_whatever_it_says() -> None:
    wire = Wire()

    def fail(sent: Sent) -> None:
        sent.status = 404

    wire.post(body(1), after=fail)
    assert kept(wire.client) == []
