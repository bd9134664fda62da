"""How many bytes of unfinished messages are kept, and that all of them get on."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

import pytest

from compactwire.mcp._http_budget import MemoryBudget
from tests.mcp.http_server import POSIX, Request, answered

if TYPE_CHECKING:
    from tests.mcp.http_server import Start

LONGEST = 128 * 1_000
SHARE = 1_000


def wanted() -> bool:
    return False


class Streams:
    """Streams that take memory, each in a thread."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.grown: queue.SimpleQueue[object] = queue.SimpleQueue()

    def grow(self, stream: object, size: int) -> None:
        def take() -> None:
            self._budget.take(stream, size, wanted)
            self.grown.put(stream)

        threading.Thread(target=take, daemon=True).start()

    def waits(self) -> bool:
        with pytest.raises(queue.Empty):  # Time can only hide a failure.
            self.grown.get(timeout=0.3)
        return True


def test_the_oldest_stream_gets_on_and_others_wait() -> None:
    budget = MemoryBudget(LONGEST)
    streams = Streams(budget)
    # A stream that hangs stops no other.
    for stream, size in (("a", 2_000), ("b", 2_000), ("a", LONGEST), ("b", LONGEST)):
        budget.take(stream, size, wanted)
    streams.grow("c", SHARE + 5_000)
    assert streams.waits()
    budget.take("d", SHARE, wanted)  # A little is for everyone.
    budget.leave("a")
    assert streams.grown.get(timeout=20) == "c"
    streams.grow("e", LONGEST)
    assert streams.waits()
    budget.take("b", 0, wanted)  # The next message begins.
    assert streams.grown.get(timeout=20) == "e"


def test_two_streams_that_hang_stop_a_long_message_until_one_ends() -> None:
    budget = MemoryBudget(LONGEST)
    streams = Streams(budget)
    for stream in ("a", "b"):
        budget.take(stream, LONGEST, wanted)
    streams.grow("c", LONGEST)
    assert streams.waits()
    budget.leave("b")
    assert streams.grown.get(timeout=20) == "c"


def test_a_stream_that_is_not_wanted_does_not_wait() -> None:
    budget = MemoryBudget(LONGEST)
    budget.take("a", LONGEST, wanted)
    budget.take("c", LONGEST, wanted)
    ended = threading.Event()
    done = threading.Event()

    def take() -> None:
        budget.take("b", LONGEST, ended.is_set)
        done.set()

    threading.Thread(target=take, daemon=True).start()
    assert not done.wait(0.3)
    ended.set()
    assert done.wait(20)


@pytest.mark.parametrize("streamed", [False, True])
@POSIX
def test_long_answers_at_the_same_time_all_arrive(start: Start, streamed: bool) -> None:
    text = "x" * 3_900_000

    def answer(request: Request) -> None:
        event = answered(request.message["id"], result={"text": text})
        if streamed:
            request.stream(event.replace('"result"', '"method": "x", "params"'), event)
            request.close()
        else:
            request.reply(event.removeprefix("data: "))

    relay, _ = start(answer, "--max-message", "4000000")
    for n in range(12):
        relay.send("x", id=n)
    found = [relay.answer() for _ in range(24 if streamed else 12)]
    assert {one["id"] for one in found if one.get("result") == {"text": text}} == set(range(12))
    assert relay.end() == (0, b"", "")
