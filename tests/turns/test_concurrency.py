"""Turns at once, in threads, tasks and event loops of one process."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import compactwire as cw
from compactwire.turns import MemorySessionStore, SavedSession, Sender, SessionStore, Turn, _lease
from tests.strategies.turns import HELLO, Server


def test_turns_in_flight_are_answered_one_after_the_other(store: SessionStore) -> None:
    sender, server = Sender(), Server(store)
    inside = threading.Semaphore(1)

    def respond(request: cw.Request) -> str:
        assert inside.acquire(blocking=False)
        try:
            return server.respond(request)
        finally:
            inside.release()

    errors: list[BaseException] = []

    def work() -> None:
        def deliver(turn: Turn) -> Any:
            # Each turn is delivered three times at once.
            answers: list[Any] = []
            again = [
                threading.Thread(target=lambda: answers.append(store.answer("one", turn, respond)))
                for _ in range(3)
            ]
            for thread in again:
                thread.start()
            for thread in again:
                thread.join()
            assert len(answers) == 3
            assert len(set(answers)) == 1
            return answers[0]

        try:
            for number in range(5):
                sender.send(deliver, context=f"{threading.get_ident()} {number}")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(server.seen) == 20


def test_tasks_in_flight_are_answered_one_after_the_other(store: SessionStore) -> None:
    sender = Sender()
    seen: list[Any] = []

    async def respond(request: cw.Request) -> str:
        seen.append(request.args)
        await asyncio.sleep(0)
        return str(request.args)

    async def deliver(turn: Turn) -> Any:
        answers = await asyncio.gather(
            *(store.answer_async("one", turn, respond) for _ in range(3))
        )
        assert len(set(answers)) == 1
        return answers[0]

    async def main() -> None:
        answers = await asyncio.gather(
            *(sender.send_async(deliver, args=n, context="a" * n) for n in range(10))
        )
        assert answers == [str(n) for n in range(10)]

        async def cancelled(turn: Turn) -> Any:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)

        state = sender.session.to_bytes()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(sender.send_async(cancelled, args=10))
        assert sender.session.to_bytes() == state

    asyncio.run(main())
    assert sorted(seen) == list(range(10))


def test_event_loops_and_threads_in_flight_are_answered_once(store: SessionStore) -> None:
    # Some frameworks run each request in an event loop of its own.
    turn = Turn(1, cw.Session().encode_request(**HELLO))
    begun, seen = threading.Event(), []
    answers: list[Any] = []

    async def respond(request: cw.Request) -> str:
        seen.append(request)
        begun.set()
        await asyncio.sleep(0.1)
        return "answer"

    async def twice() -> None:
        answers.extend(
            await asyncio.gather(*(store.answer_async("one", turn, respond) for _ in range(2)))
        )

    threads = [threading.Thread(target=lambda: asyncio.run(twice())) for _ in range(2)]
    threads[0].start()
    begun.wait()
    threads[1].start()
    answers.append(store.answer("one", turn, lambda request: "another"))
    for thread in threads:
        thread.join()
    assert answers == ["answer"] * 5
    assert len(seen) == 1


@pytest.mark.timeout(60)
def test_threads_of_the_event_loop_may_all_wait_for_a_coroutine() -> None:
    """The coroutine that they wait for needs a thread to keep its answer."""
    store, turn = MemorySessionStore(), Turn(1, cw.Session().encode_request(args={}))
    threads = ThreadPoolExecutor(2)

    async def main() -> list[str | bytes]:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(threads)
        begun = asyncio.Event()

        async def respond(_: cw.Request) -> str:
            begun.set()
            await asyncio.sleep(0.2)
            return "first"

        first = asyncio.create_task(store.answer_async("c", turn, respond))
        await begun.wait()
        waiting = (asyncio.to_thread(store.answer, "c", turn, lambda _: "again") for _ in range(2))
        again = [asyncio.create_task(one) for one in waiting]
        return [await first, *await asyncio.gather(*again)]

    assert asyncio.run(main()) == ["first"] * 3


@pytest.mark.parametrize("cancels", [1, 2])
def test_a_turn_that_is_cancelled_while_its_answer_is_kept_is_answered_once(cancels: int) -> None:
    begun = threading.Event()

    class Slow(MemorySessionStore):
        def save(self, conversation: str, saved: SavedSession, /, *, after: int) -> bool:
            begun.set()
            time.sleep(0.2)
            return super().save(conversation, saved, after=after)

    store, turn = Slow(), Turn(1, cw.Session().encode_request(**HELLO))
    seen: list[cw.Request] = []

    async def respond(request: cw.Request) -> str:
        seen.append(request)
        return f"{len(seen)}"

    async def main() -> Any:
        task = asyncio.create_task(store.answer_async("one", turn, respond))
        await asyncio.to_thread(begun.wait)
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0.01)
        answer = await store.answer_async("one", turn, respond)
        with pytest.raises(asyncio.CancelledError):
            await task
        return answer

    assert asyncio.run(main()) == "1"
    assert len(seen) == 1
    # The end of the event loop cancels all tasks.
    begun.clear()
    second = Turn(2, cw.Session().encode_request(args=2))

    async def leave() -> None:
        task = asyncio.create_task(store.answer_async("one", second, respond))
        await asyncio.to_thread(begun.wait)
        assert not task.done()

    asyncio.run(leave())
    assert store.answer("one", second, lambda request: "again") == "2"


def test_send_and_send_async_of_one_sender_are_not_mixed() -> None:
    sender = Sender()

    async def deliver(turn: Turn) -> str:
        return ""

    errors: list[BaseException] = []

    def mix() -> None:
        try:
            asyncio.run(sender.send_async(deliver))
        except RuntimeError as error:
            errors.append(error)

    def block(turn: Turn) -> str:
        thread = threading.Thread(target=mix)
        thread.start()
        thread.join()
        return "sent"

    assert sender.send(block) == "sent"
    assert "not both at once" in str(*errors)


def test_a_sender_is_used_in_one_event_loop_after_the_other() -> None:
    sender = Sender()

    async def deliver(turn: Turn) -> int:
        await asyncio.sleep(0)
        return turn.number

    async def main() -> list[int]:
        return await asyncio.gather(*(sender.send_async(deliver) for _ in range(3)))

    assert [asyncio.run(main()), asyncio.run(main())] == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("checked", [True, False])
def test_a_turn_that_fails_while_another_thread_reads_takes_back_only_itself(checked: bool) -> None:
    store: SessionStore = MemorySessionStore(checked=checked)
    ours, peer = cw.Session(checked=checked), cw.Session(checked=checked)
    sender = Sender(ours)
    seen: list[object] = []

    def respond(request: cw.Request) -> str:
        seen.append(request.context)
        return ""

    def deliver(turn: Turn) -> object:
        return store.answer("one", turn, respond)

    sender.send(deliver, context="one ")
    sender.send(deliver, context="one two, not three. ")
    back = peer.encode_request(context="from the peer")

    def default(_: object) -> object:
        reader = threading.Thread(target=ours.decode_request, args=(back,))
        reader.start()
        reader.join()
        raise ValueError("it cannot be converted")

    with pytest.raises(ValueError, match="cannot be converted"):
        sender.send(deliver, context="one two, not three. four", args=[object()], default=default)
    sender.send(deliver, context="one two, not three. five")
    assert seen[2:] == ["one two, not three. five"]


def test_what_no_thread_could_take_is_not_done_later(monkeypatch: pytest.MonkeyPatch) -> None:
    turn = Turn(1, cw.Session().encode_request(context="turn"))
    free = threading.Event()

    class Store(MemorySessionStore):
        def load(self, conversation: str, /) -> SavedSession | None:
            if conversation == "slow":
                free.wait(20)
            return super().load(conversation)

    async def respond(_: cw.Request) -> str:
        return "answer"

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    async def use() -> None:
        store = Store()
        slow = asyncio.create_task(store.answer_async("slow", turn, respond))
        await asyncio.sleep(0.1)
        monkeypatch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            await store.answer_async("c", turn, respond)
        monkeypatch.undo()
        free.set()
        assert await slow == "answer"
        assert store.load("c") is None
        assert await store.answer_async("c", turn, respond) == "answer"

    monkeypatch.setattr(_lease, "_threads", functools.cache(lambda _: ThreadPoolExecutor()))
    asyncio.run(use())


def test_a_store_that_raises_stop_iteration_ends_its_turn() -> None:
    class Store(MemorySessionStore):
        def load(self, conversation: str, /) -> SavedSession | None:
            raise StopIteration(conversation)

    async def respond(_: cw.Request) -> str:
        return "answer"

    turn = Turn(1, cw.Session().encode_request(context="turn"))
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(asyncio.wait_for(Store().answer_async("c", turn, respond), 20))
