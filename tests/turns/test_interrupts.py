"""Ctrl-C at any moment of a turn leaves the sender and the store usable.

The exception is kept, as an interactive session does: nothing may wait until it is gone.
"""

from __future__ import annotations

import asyncio
import copy
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import pytest

import compactwire as cw
from compactwire.turns import MemorySessionStore, Sender, Turn

# Of a process: Python ignores an alarm during the callback of a weak reference, and pytest reports
# that as an error.
CODE = """if True:
    import random, signal, sys
    import compactwire as cw
    from compactwire.turns import MemorySessionStore, Sender

    checked = sys.argv[1] == "True"
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    moments, interrupted = random.Random(7), 0
    for _ in range(1500):
        seen, context, kept = [], "word " * 20, None
        store, sender = MemorySessionStore(checked=checked), Sender(cw.Session(checked=checked))

        def deliver(turn):
            return store.answer("c", turn, lambda request: seen.append(request.context) or "ok")

        sender.send(deliver, context=context)
        try:
            signal.setitimer(signal.ITIMER_REAL, moments.random() * 0.0008 + 0.00002)
            for _ in range(300):
                context += "more "
                sender.send(deliver, context=context)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt as error:
            kept, interrupted = error, interrupted + 1
        for at in range(3):
            context += f"after {at} "
            sender.send(deliver, context=context)
            assert seen[-1] == context
            kept = kept if at == 0 else None
    assert interrupted > 1000
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs Unix")
@pytest.mark.parametrize("checked", [False, True])
def test_turns_after_ctrl_c_arrive_whole(checked: bool) -> None:
    command = [sys.executable, "-W", "ignore", "-c", CODE, str(checked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    # Python writes to standard error what it ignores.
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_turn_of_another_thread_is_not_taken_back() -> None:
    """It may be delivered between the failure of a call and its end."""
    store, sender, answers = MemorySessionStore(), Sender(), iter("abc")

    def deliver(turn: Turn) -> Any:
        return store.answer("c", turn, lambda request: next(answers))

    def fails(turn: Turn) -> Any:
        raise ConnectionError

    def at_its_end(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_name == "_lose":
            sys.setprofile(None)
            with ThreadPoolExecutor() as other:
                assert other.submit(sender.send, deliver, context="x").result(20) == "a"

    sys.setprofile(at_its_end)
    try:
        with pytest.raises(ConnectionError):
            sender.send(fails, context="x")
    finally:
        sys.setprofile(None)
    assert sender.send(deliver, context="x") == "b"


def test_a_sender_that_goes_on_stays_there_if_a_signal_has_ended_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, sender, numbers = MemorySessionStore(), Sender(), []

    def deliver(turn: Turn) -> Any:
        numbers.append(turn.number)
        return store.answer("c", turn, lambda request: "ok")

    def raises(frame: FrameType, event: str, argument: Any) -> None:
        if event == "return" and frame.f_code.co_name == "_delivered":
            raise KeyboardInterrupt

    def late(turn: Turn | None) -> None:
        with ThreadPoolExecutor() as other:
            other.submit(sender.go_on, 10).result(20)
        lose(turn)

    lose = sender._lose
    monkeypatch.setattr(sender, "_lose", late)
    sys.setprofile(raises)
    try:
        with pytest.raises(KeyboardInterrupt):
            sender.send(deliver, context="x")
    finally:
        sys.setprofile(None)
    sender.send(deliver, context="x")
    assert numbers == [1, 11]


@pytest.mark.parametrize(
    "again", [lambda one: one, copy.copy, lambda one: pickle.loads(pickle.dumps(one))]
)
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("function", ["_delivered", "sent", "any"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_turn_that_a_signal_ends_after_its_delivery_is_answered_once(
    function: str, again: Callable[[Sender], Sender], *, checked: bool, is_async: bool
) -> None:
    """A handler may raise until the call has returned, also where its turn is delivered."""
    store = MemorySessionStore(checked=checked)
    sender = Sender(cw.Session(checked=checked))
    asked: list[tuple[int, Any]] = []

    def note(turn: Turn, request: cw.Request) -> str:
        asked.append((turn.number, request.args))
        return ""

    def deliver(turn: Turn) -> Any:
        return store.answer("c", turn, lambda request: note(turn, request))

    async def deliver_async(turn: Turn) -> Any:
        return deliver(turn)

    def send(number: int) -> None:
        request = {"args": [number], "context": "pay"}
        if is_async:
            asyncio.run(sender.send_async(deliver_async, **request))
        else:
            sender.send(deliver, **request)

    def raises(frame: FrameType, event: str, argument: Any) -> None:
        has_returned = event == "return" and frame.f_code.co_name == function
        has_left = event == "c_return" and argument is any and not sender._lock.locked()
        if (has_returned or (has_left and function == "any")) and sender._number == 3:
            sys.setprofile(None)
            raise KeyboardInterrupt

    send(1)
    sys.setprofile(raises)
    try:
        with pytest.raises(KeyboardInterrupt):
            send(2)
    finally:
        sys.setprofile(None)
    sender = again(sender)
    send(2)
    send(3)
    assert asked == [(1, [1]), (2, [2]), (3, [3])]
