"""`compactwire._guard`: what a thread wants within a guard, and threads that wait for it."""

from __future__ import annotations

import sys
import threading
from types import FrameType

import pytest

from compactwire._guard import Guard, alone, is_within, or_else, soon


class Noted:
    """Methods that note their names, and that can call others in between."""

    def __init__(self) -> None:
        self._guard = Guard()
        self.noted: list[str] = []

    @alone
    def first(self, *then: str) -> str:
        self.noted.append("first begins")
        for name in then:
            getattr(self, name)()
        self.noted.append("first ends")
        return "done"

    @soon
    def later(self) -> None:
        self.noted.append("later")

    @or_else("nothing")
    def other(self) -> str:
        self.noted.append("other")
        return "other"

    @soon
    def failing(self) -> None:
        raise KeyError("failing")


def test_what_is_wanted_within_a_guard_is_done_after_it_or_refused() -> None:
    noted = Noted()
    assert noted.other() == "other"
    noted.noted.clear()
    assert noted.first("later", "other", "later") == "done"
    assert noted.noted == ["first begins", "first ends", "later", "later"]
    with pytest.raises(RuntimeError, match="within another call of the object"):
        noted.first("first")
    assert not noted._guard.is_running
    noted.later()
    assert noted.noted[-1] == "later"


def test_many_calls_may_be_postponed() -> None:
    noted = Noted()
    assert noted.first(*["later"] * 5_000) == "done"
    assert noted.noted.count("later") == 5_000


def test_what_was_left_is_done_first() -> None:
    noted = Noted()
    with pytest.raises(KeyError):
        noted.first("failing", "later")
    noted.other()
    assert noted.noted[-2:] == ["later", "other"]


def test_an_error_leaves_the_guard_free() -> None:
    noted = Noted()
    with pytest.raises(KeyError):
        noted.failing()
    with pytest.raises(KeyError):
        noted.first("failing")
    assert noted.first() == "done"


def test_threads_wait_for_each_other() -> None:
    guard, inside, most = Guard(), [0], []

    def work() -> None:
        inside[0] += 1
        most.append(inside[0])
        threading.Event().wait(0.001)
        inside[0] -= 1

    threads = [threading.Thread(target=lambda: guard.soon(work)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 20


@pytest.mark.parametrize("event", ["call", "return"])
@pytest.mark.parametrize("time", [1, 2])
def test_work_that_is_postponed_at_any_moment_is_done(event: str, time: int) -> None:
    """A handler of a signal may run as the guard looks for postponed work for the last time."""
    noted, seen, within = Noted(), [], []

    def handler(frame: FrameType, found: str, argument: object) -> None:
        if found == event and frame.f_code.co_name == "_catch_up":
            seen.append(event)
            if len(seen) == time:
                sys.setprofile(None)
                noted.later()
                noted._guard.soon(lambda: within.append(is_within()))

    sys.setprofile(handler)
    try:
        noted.first()
    finally:
        sys.setprofile(None)
    assert "later" in noted.noted
    assert within == [True]
    assert not noted._guard.is_running
