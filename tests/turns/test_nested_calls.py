"""A store that `__del__` or the handler of a signal uses in the middle of a call of it."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from compactwire import _threads
from compactwire.errors import NestedTurn
from compactwire.turns import (
    MemorySessionStore,
    SavedSession,
    Sender,
    SQLiteSessionStore,
    Turn,
)
from tests.strategies.moments import visited
from tests.turns.test_moments import FILES

needs_a_timer = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="NOT RUN: needs signals of a timer"
)


def test_a_store_in_memory_forgets_after_the_call_that_was_interrupted() -> None:
    store, raised = MemorySessionStore(), []

    def clock() -> float:
        # As `__del__` of an object that the collector frees in the middle of a call.
        store.forget("old")
        with pytest.raises(RuntimeError, match="within another call") as caught:
            len(store)
        raised.append(caught.value)
        return time.monotonic()

    for conversation in ("old", "new"):
        Sender().send(lambda turn, name=conversation: store.answer(name, turn, lambda _: "a"))
    store._kept._clock = clock
    assert store.load("new") is not None
    assert raised
    store._kept._clock = time.monotonic
    assert len(store) == 1
    assert store.load("old") is None


@pytest.mark.parametrize("way", ["task", "another task", "function"])
def test_a_turn_in_the_thread_that_works_for_a_task_is_an_error(way: str) -> None:
    """The collector may run `__del__` there, for which the task would wait for ever."""
    sender, others, refused = Sender(), Sender(), []

    class Store(MemorySessionStore):
        def save(self, conversation: str, saved: SavedSession, /, *, after: int) -> bool:
            # A task may go on while one that it has begun works.
            nested = (others,) if way == "another task" else (others, sender)
            for one in nested if conversation == "c" else ():
                with pytest.raises(NestedTurn, match="and waits for this thread") as caught:
                    one.send(lambda turn: store.answer("c", turn, lambda _: "x"), context="c")
                refused.append(caught.value)
            return super().save(conversation, saved, after=after)

    async def respond(request: Any) -> str:
        return "answer"

    async def deliver(turn: Turn) -> str | bytes:
        answering = store.answer_async("c", turn, respond)
        return await (asyncio.create_task(answering) if way == "another task" else answering)

    store = Store()
    if way == "function":
        assert sender.send(lambda turn: asyncio.run(deliver(turn)), context="a") == "answer"
    else:
        assert asyncio.run(sender.send_async(deliver, context="a")) == "answer"
    of_sender = [] if way == "another task" else [None]
    assert [one.conversation for one in refused] == ["c", *of_sender]
    assert others.send(lambda turn: store.answer("d", turn, lambda _: "y"), context="c") == "y"


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_turn_of_another_conversation_may_come_at_any_moment(kind: str, tmp_path: Path) -> None:
    for number in itertools.count(1):
        store: MemorySessionStore | SQLiteSessionStore = MemorySessionStore()
        if kind == "sqlite":
            store = SQLiteSessionStore(tmp_path / f"{number}.db")
        sender, other = Sender(), Sender()

        def send(sender: Sender, name: str, store: Any = store) -> None:
            deliver = partial(store.answer, name)
            sent = sender.send(lambda turn: deliver(turn, lambda _: "x"), context="c")
            assert sent == "x"

        def visit(send: Any = send, other: Sender = other, store: Any = store) -> None:
            with suppress(RuntimeError):
                send(other, "other")
            with suppress(RuntimeError):
                store.forget("third")

        reached = visited(number, FILES, visit, partial(send, sender, "one"))
        for each, name in ((sender, "one"), (other, "other")):
            send(each, name)
        if isinstance(store, SQLiteSessionStore):
            store.close()
        if not reached:
            break
    assert number > 50


@pytest.mark.parametrize("is_async", [False, True])
def test_a_turn_of_the_same_sender_may_come_at_any_moment(is_async: bool) -> None:
    for number in itertools.count(1):
        sender, outcomes = Sender(), list[str]()

        def visit(sender: Sender = sender, outcomes: list[str] = outcomes) -> None:
            try:
                outcomes.append(sender.send(lambda _: "y", context="c"))
            except (NestedTurn, RuntimeError) as error:
                outcomes.append(type(error).__name__)

        async def deliver(_: object) -> str:
            return "x"

        def send(sender: Sender = sender) -> object:
            if is_async:
                return asyncio.run(sender.send_async(deliver, context="c"))
            return sender.send(lambda _: "x", context="c")

        reached = visited(number, ("_lock.py",), visit, send)
        assert len(outcomes) == reached
        assert send() == "x"
        if not reached:
            break
    assert number > 5


@needs_a_timer
def test_a_handler_of_a_signal_does_not_wait_for_the_statement_that_it_interrupts(
    tmp_path: Path,
) -> None:
    store = SQLiteSessionStore(tmp_path / "a.db")
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None, check_same_thread=False)
    raised: list[Exception] = []

    def handle(*_: Any) -> None:
        with pytest.raises(RuntimeError, match="within another call") as caught:
            store.forget("c")
        raised.append(caught.value)

    def respond(_: object) -> str:
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(1, lambda: other.execute("COMMIT")).start()
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        return "answer"

    before = signal.signal(signal.SIGALRM, handle)
    try:
        Sender().send(lambda turn: store.answer("c", turn, respond), context="x")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(raised) == 1
    assert len(store) == 1
    store._guard.soon(store.close)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        len(store)


def test_a_turn_within_a_call_of_the_store_does_not_wait_for_another_thread(
    tmp_path: Path,
) -> None:
    """The other thread may wait for the store, which this one holds."""
    begun, ends = threading.Event(), threading.Event()

    def respond(request: Any) -> str:
        begun.set()
        ends.wait(20)
        return "ok"

    def nested() -> bool:
        # As `__del__` of an object that the collector frees in the middle of a statement.
        with pytest.raises(NestedTurn, match="may wait for the call"):
            store.answer("c", Turn(1, "x"), lambda _: "x")
        return True

    with SQLiteSessionStore(tmp_path / "store.db") as store, ThreadPoolExecutor() as threads:
        sending = threads.submit(
            Sender().send, lambda turn: store.answer("c", turn, respond), context="a"
        )
        assert begun.wait(20)
        assert store._guard.run(nested, bool)
        ends.set()
        assert sending.result(20) == "ok"


def test_tasks_that_begin_each_other_keep_no_turn_that_is_over() -> None:
    """A task has a copy of the context of the turn that has begun it."""
    store, ended, held = MemorySessionStore(), asyncio.Event(), []

    async def step(left: int) -> None:
        async def respond(request: Any) -> str:
            held.append(len(_threads.held.get()))
            steps.append(asyncio.create_task(step(left - 1)) if left else ended.set())
            return "ok"

        async def deliver(turn: Turn) -> str | bytes:
            return await store.answer_async(str(left), turn, respond)

        await Sender().send_async(deliver, context="c")

    async def main() -> None:
        await step(30)
        await ended.wait()

    steps: list[object] = []
    # Other tests leave turns in the context, by exceptions between any two lines.
    contextvars.Context().run(asyncio.run, main())
    assert len(held) == 31
    assert max(held) <= 4


def test_a_task_that_a_turn_has_begun_may_wait_for_it() -> None:
    """Its store reports to the conversation of the turn, which does not wait for the task."""
    logs, lines, reporter, begun = MemorySessionStore(), [], Sender(number=2), []

    class Audited(MemorySessionStore):
        def save(self, conversation: str, saved: SavedSession, /, *, after: int) -> bool:
            def report(turn: Turn) -> str | bytes:
                return logs.answer("log", turn, lambda request: lines.append(request.context) or "")

            reporter.send(report, context=f"saved {conversation}")
            return super().save(conversation, saved, after=after)

    store = Audited()

    async def answers(request: Any) -> str:
        return "done"

    async def begins(request: Any) -> str:
        begun.append(asyncio.create_task(job()))
        await asyncio.sleep(0.1)
        return "started"

    async def job() -> str | bytes:
        sending = Sender().send_async(
            lambda turn: store.answer_async("job", turn, answers), context="go"
        )
        return await sending

    async def main() -> None:
        sender = Sender()
        start = sender.send_async(lambda turn: logs.answer_async("log", turn, begins), context="a")
        assert await start == "started"
        assert await begun[0] == "done"

    asyncio.run(main())
    assert lines == ["saved job"]


def test_tasks_that_share_a_context_keep_their_turns_apart() -> None:
    sender, plain, refused, ends = Sender(), MemorySessionStore(), [], asyncio.Event()

    class Store(MemorySessionStore):
        def save(self, conversation: str, saved: SavedSession, /, *, after: int) -> bool:
            with pytest.raises(NestedTurn) as caught:
                self.answer("c", Turn(2, "x"), lambda _: "x")
            refused.append(caught.value)
            return super().save(conversation, saved, after=after)

    async def first(request: Any) -> str:
        await asyncio.sleep(0.05)
        return "first"

    async def last(request: Any) -> str:
        await ends.wait()
        return "last"

    async def main() -> None:
        context = contextvars.copy_context()
        deliver = partial(plain.answer_async, "a")
        begun = asyncio.create_task(
            Sender().send_async(lambda turn: deliver(turn, first), context="a"), context=context
        )
        await asyncio.sleep(0.02)
        store = Store()
        other = asyncio.create_task(
            sender.send_async(lambda turn: store.answer_async("c", turn, last), context="a"),
            context=context,
        )
        assert await begun == "first"
        ends.set()
        assert await other == "last"

    asyncio.run(main())
    assert len(refused) == 1
