"""Which lane a request takes."""

from __future__ import annotations

from typing import Any

from compactwire.http._client import Client
from compactwire.http._server import Server
from compactwire.savings import Saving
from tests.http import Sent, Wire, body, kept, options


def test_each_conversation_keeps_its_lane() -> None:
    wire = Wire(answer=lambda _: b"").opened()
    names = ["one", "two", "three", "four"]
    for turns in range(1, 9):
        for name in names:
            wire.post(body(turns * 5, name * 9))
    lanes = [sent.said.split("; ")[1] for sent in wire.sent[1:]]
    assert lanes == ["lane=0", "lane=1", "lane=2", "lane=3"] * 8


def test_a_body_with_a_number_at_its_beginning_keeps_its_lane() -> None:
    """The id of JSON-RPC grows, and then the rest of the body moves."""
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


def test_a_server_cannot_make_a_client_keep_many_lanes() -> None:
    wire = Wire()

    def many(sent: Sent) -> None:
        sent.answer_headers = [
            (name, value.replace("lanes=4", "lanes=999999999"))
            for name, value in sent.answer_headers
        ]

    wire.post(b"", after=many)
    (session,) = kept(wire.client)
    assert len(session.lanes) == 64
