"""Whose a session is, how long it is kept, how much memory it takes, and the options."""

from __future__ import annotations

import hmac
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
import zstandard

from compactwire import Session
from compactwire.errors import OptionError
from compactwire.http import _server
from compactwire.http._client import Client
from compactwire.http._header import CODING, NAME
from compactwire.http._protocol import CREDENTIALS, Options, body_of
from compactwire.http._server import Server, Turn
from tests.http import MANY, Clock, Sent, Wire, body, kept, options


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


def test_another_application_of_an_origin_gets_plain_bodies() -> None:
    """It would keep a coded body as if it were its own, and nobody would notice."""
    wire = Wire().opened()
    other = Wire(client=wire.client, server=None)
    for turns in range(1, 20):
        wire.post(body(turns))
        other.post(body(turns), method="PUT")
    assert other.seen == [body(turns) for turns in range(1, 20)]
    assert all("coded" in sent.said for sent in wire.sent[1:])


def test_another_path_of_a_server_is_coded_after_it_has_answered() -> None:
    wire = Wire().opened()
    for turns in range(1, 4):
        wire.post(body(turns), method="PUT")
    assert wire.sent[1].said.startswith("offer; session=")
    assert ["coded" in sent.said for sent in wire.sent] == [False, False, True, True]
    assert [sent.status for sent in wire.sent] == [200] * 4


@pytest.mark.parametrize("status", [400, 404, 503])
def test_a_path_that_answers_with_an_error_is_not_known(status: int) -> None:
    """Another application may be put behind a path that nobody serves yet."""
    wire = Wire().opened()
    for wire.status, coded in ((status, False), (status, False), (200, False), (200, True)):
        wire.post(body(1), method="PUT")
        assert ("coded" in wire.sent[-1].said) == coded


def test_a_path_with_a_short_answer_is_known() -> None:
    wire = Wire(answer=lambda _: b"").opened()
    for turns in (1, 2):
        wire.post(body(turns), method="PUT")
    assert wire.sent[1].answered == "seq=1"
    assert "coded" in wire.sent[2].said


def test_two_servers_of_an_origin_have_a_session_each() -> None:
    one = Wire().opened()
    two = Wire(client=one.client)
    for turns in range(1, 20):
        one.post(body(turns))
        two.post(body(turns), method="PUT")
    assert {sent.status for sent in one.sent + two.sent} == {200}
    assert all("coded" in sent.said for sent in one.sent[1:] + two.sent[1:])


def test_the_paths_that_are_known_are_bounded() -> None:
    wire = Wire().opened()
    for number in range(300):
        wire.post(b"", method=str(number))
    (session,) = kept(wire.client)
    assert len(session.targets) == 256
    wire.post(body(1), method="299")
    assert "coded" in wire.sent[-1].said


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


def test_a_user_whose_sessions_are_always_forgotten_gets_plain_requests() -> None:
    """Another user's requests, which are accepted, do not hide it."""
    clock = Clock()
    wire = Wire(server=Server(options(max_sessions=2), 4), client=Client(options(clock=clock)))

    def talk(turns: int) -> list[int]:
        before = len(wire.sent)
        for user in ("a", "b", "c", "hot"):
            wire.post(body(turns), ("cookie", user))
            wire.post(body(turns), ("cookie", "hot"))
        return [sent.status for sent in wire.sent[before:]]

    refused = [talk(turns).count(410) for turns in range(1, 9)]
    # As soon as two of them have none, the server has room for the third.
    assert refused == [0, 3, 3, 2, 0, 0, 0, 0]
    assert "coded" in wire.sent[-1].said
    clock.now += 601
    talk(9)
    assert "offer" in [sent.said for sent in wire.sent[-8:]]


def test_a_session_that_is_used_between_restarts_is_used_on() -> None:
    wire = Wire()
    for turns in range(1, 20):
        wire.post(body(turns))
        if turns % 3 == 0:
            wire.server = Server(options(), 4)
    assert [sent.status for sent in wire.sent].count(410) == 6


def test_the_memory_of_sessions_is_bounded() -> None:
    small = options(max_size=1 << 16, max_memory=1 << 19)
    wire = Wire(server=Server(small, 4), client=Client(small))
    for user in range(20):
        for turns in (1, 500):
            assert wire.post(body(turns), ("cookie", str(user))) == body(turns)
    for side in (wire.server, wire.client):
        sizes = [session.size for session in kept(side)]
        assert 1 <= len(sizes) < 20
        assert 1 << 16 < sum(sizes) <= 1 << 19


@pytest.mark.parametrize("side", ["server", "client"])
def test_what_no_body_refers_to_counts_for_the_memory(side: str) -> None:
    """A hostile peer can define tools and prompts that its bodies do not use."""
    unused = [f"SYS|full|{number}" + "a" * 90_000 for number in range(10)]
    limits = options(max_size=1 << 20, max_memory=1 << 21)

    def crammed(sent: Sent) -> None:
        if side == "server":
            sent.body = with_frames(sent.body, unused)
        else:
            sent.answer = with_frames(sent.answer, unused)

    wire = Wire(server=Server(limits, 4), client=Client(limits))
    for user in range(4):
        cookie = ("cookie", str(user))
        wire.post(b"the first body is plain", cookie)
        change = {"before" if side == "server" else "after": crammed}
        assert wire.post(body(40), cookie, **change) == body(40)
        assert "coded" in wire.sent[-1].said
        sessions = kept(wire.server if side == "server" else wire.client)
        assert sessions[-1].size > 10 * 90_000
        assert sum(session.size for session in sessions) <= 1 << 21
    assert len(sessions) == 2


def with_frames(packed: bytes, frames: list[str]) -> bytes:
    """A packed request that continues nothing, with more frames at its beginning."""
    request = msgpack.unpackb(zstandard.ZstdDecompressor().decompress(packed))
    return zstandard.ZstdCompressor().compress(msgpack.packb([*frames, *request]))


def test_the_memory_of_one_session_is_bounded() -> None:
    wire = Wire(server=Server(options(max_size=1 << 16), 8)).opened()
    for number in range(32):
        request = body(500, f"agent {number}")
        assert wire.post(request) == request
    (session,) = kept(wire.server)
    assert 1 << 16 < session.size <= 8 << 16
    (session,) = kept(wire.client)
    assert session.size <= 9 << 16


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
        ({"credentials": None}, TypeError),
        ({"credentials": ["a b"]}, OptionError),
        ({"credentials": ["X-User\r\n"]}, OptionError),
        ({"credentials": ["é"]}, OptionError),
        ({"credentials": [""]}, OptionError),
    ],
)
def test_options_are_checked(changed: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=f"^{next(iter(changed))} must"):
        options(**changed)


@pytest.mark.parametrize(
    ("lanes", "error"), [(0, OptionError), (65, OptionError), ("4", TypeError)]
)
def test_lanes_are_checked(lanes: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Server(options(), lanes)


def test_options_have_no_other_limits() -> None:
    assert Options(max_sessions=1, idle_s=1, max_size=1, max_memory=MANY).credentials == tuple(
        sorted(CREDENTIALS)
    )


@pytest.mark.parametrize("ended", ["anew", "forgotten"])
def test_a_request_holds_no_memory_of_a_lane_that_was_ended(ended: str) -> None:
    """An application may take long to answer, while a client begins its lane again and again."""
    server = Server(options(max_sessions=1), 1)
    id = server.open(server.owner([])).session
    coded = Session().encode_request(context=body(99).decode(), pack="bytes")

    def begin(seq: int) -> Turn:
        header = f"session={id}; lane=0; seq={seq}; coded; new"
        turn = server.begin("POST", [(NAME, header), ("content-encoding", CODING)])
        assert turn is not None
        assert turn.body(coded) == body(99)
        return turn

    turn = begin(1)
    assert turn._lane is not None
    assert turn._lane.size > 0
    if ended == "anew":
        begin(2)
    else:
        server.open(b"another")
    assert turn._lane.requests is None
    assert turn._lane.size == 0
    # Nobody would continue a coded answer.
    assert not turn.may_code(200, [("content-length", "9999")])
    assert dict(turn.plain(200, []))[NAME] == "seq=1"


def test_a_body_that_is_read_while_its_session_is_forgotten_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server(options(max_sessions=1), 1)
    id = server.open(server.owner([])).session
    coded = Session().encode_request(context=body(99).decode(), pack="bytes")
    header = f"session={id}; lane=0; seq=1; coded; new"
    turn = server.begin("POST", [(NAME, header), ("content-encoding", CODING)])
    assert turn is not None

    def read(session: Session, coded: bytes, max_size: int) -> bytes:
        server.open(b"another")
        return body_of(session, coded, max_size)

    monkeypatch.setattr("compactwire.http._server.body_of", read)
    assert turn.body(coded) == body(99)
    assert turn._lane is not None
    assert turn._lane.size == 0


def test_a_later_request_ends_what_an_answer_has_written() -> None:
    """Its client does not know of the answer: the next one must not refer to it."""
    server = Server(options(), 1)
    owner = server.owner([])
    id = server.open(owner).session
    session = server.find(id, owner)
    assert session is not None
    lane = session.lanes[0]
    lane.seq = 8
    server.keep_answer(session, lane, Session(), 7)
    assert (lane.answers, lane.answered) == (None, 0)
