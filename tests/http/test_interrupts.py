"""Ctrl-C at any moment of a request leaves a client that goes on coding."""

from __future__ import annotations

import contextlib
import random
import signal
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from compactwire.http._server import Server
from tests.http import Lost, Sent, Wire, body, options

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs Unix")

COUNT = 1_500


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """An alarm raises what Ctrl-C raises."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def interrupted(moment: float, work: Callable[[], object]) -> bool:
    """Repeat the work until an interrupt, and say whether there was one."""
    try:
        signal.setitimer(signal.ITIMER_REAL, moment)
        for _ in range(300):
            work()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False


def test_the_next_request_is_offered_again() -> None:
    def down(sent: Sent) -> None:
        raise Lost

    moments, count = random.Random(5), 0
    for _ in range(COUNT):
        wire = Wire()

        def send(wire: Wire = wire) -> None:
            with contextlib.suppress(Lost):
                wire.post(body(4), before=down)

        count += interrupted(0.00002 + moments.random() * 0.0005, send)
        send()
        assert wire.sent[-1].said == "offer"
    assert count > COUNT // 2


def test_the_lane_is_free_again() -> None:
    moments, count = random.Random(6), 0
    for _ in range(COUNT):
        # A single lane: if it stays in use, nothing is coded any more.
        wire = Wire(server=Server(options(), 1)).opened()
        moment = 0.00002 + moments.random() * 0.001
        count += interrupted(moment, partial(wire.post, body(4)))
        for turns in (5, 6, 7):
            assert wire.post(body(turns)) == body(turns)
        assert "coded" in wire.sent[-1].said
    assert count > COUNT // 2
