"""A signal at any moment of a request: the client goes on coding, also if the handler raises."""

from __future__ import annotations

import itertools
from contextlib import suppress
from functools import partial

import pytest

from compactwire.http._client import Exchange
from compactwire.http._server import Server
from tests.http import ORIGIN, Lost, Sent, Wire, body, options
from tests.strategies.moments import interrupted, visited

FILES = ("_client.py", "_guard.py", "_protocol.py", "_table.py")
KINDS = [KeyboardInterrupt, TimeoutError]


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_request_is_offered_again(kind: type[BaseException]) -> None:
    def down(sent: Sent) -> None:
        raise Lost

    def send(wire: Wire) -> None:
        with suppress(Lost):
            wire.post(body(4), before=down)

    for number in itertools.count(1):
        wire = Wire()
        reached = interrupted(number, FILES, kind(), partial(send, wire))
        send(wire)
        assert wire.sent[-1].said == "offer"
        if not reached:
            break
    assert number > 20


@pytest.mark.parametrize("kind", KINDS)
def test_the_lane_is_free_again(kind: type[BaseException]) -> None:
    for number in itertools.count(1):
        # A single lane: if it stays in use, nothing is coded any more.
        wire = Wire(server=Server(options(), 1)).opened()
        wire.post(body(3))
        reached = interrupted(number, FILES, kind(), partial(wire.post, body(4)))
        for turns in (5, 6, 7):
            assert wire.post(body(turns)) == body(turns)
        assert "coded" in wire.sent[-1].said
        if not reached:
            break
    assert number > 50


def test_a_lane_that_another_request_has_taken_is_not_freed() -> None:
    """An exchange that the collector closes frees only its own lane and offer."""
    for number in itertools.count(1):
        wire = Wire(server=Server(options(), 1)).opened()
        wire.post(body(3))
        abandoned, other = (wire.client.begin(ORIGIN, [], body(n)) for n in (2, 4))
        abandoned.attempt()
        reached = visited(number, ("_client.py", "_guard.py"), abandoned.close, other.attempt)
        (session,) = wire.client._sessions
        if other._held is not None:
            assert session.lanes[0].busy
            other.close()
        assert not session.lanes[0].busy or not reached
        if not reached:
            break
    assert number > 50


def test_the_handler_may_send_by_the_same_client() -> None:
    """It does not wait for itself, and neither does what the collector closes meanwhile."""
    for number in itertools.count(1):
        wire = Wire().opened()
        wire.post(body(3))
        abandoned = wire.client.begin(ORIGIN, [], body(2))
        abandoned.attempt()

        def visit(wire: Wire = wire, abandoned: Exchange = abandoned) -> None:
            abandoned.close()
            assert wire.post(body(9, "other")) == body(9, "other")

        files = ("_client.py", "_guard.py")
        reached = visited(number, files, visit, partial(wire.post, body(4)))
        for turns in (5, 6, 7):
            assert wire.post(body(turns)) == body(turns)
            assert "coded" in wire.sent[-1].said
        (session,) = wire.client._sessions
        assert not reached or not any(lane.busy for lane in session.lanes)
        if not reached:
            break
    assert number > 50
