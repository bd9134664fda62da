"""Numbered turns: a turn delivered again is answered once, a failed one leaves no trace."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire.turns import (
    MemorySessionStore,
    SavedSession,
    Sender,
    SessionStore,
    SQLiteSessionStore,
    Turn,
)
from tests.strategies.sessions import SEARCH, content_of, expected_content

HELLO: dict[str, Any] = {"tool": SEARCH, "system": "Be brief.", "context": "User: Hi\n"}
MORE: dict[str, Any] = {**HELLO, "context": "User: Hi\nAgent: Hello.\n"}


class Lost(Exception):
    """The transport failed."""


class Server:
    """Answers with the number of requests that it has seen, and the context of this one."""

    def __init__(self, store: SessionStore) -> None:
        self.store = store
        self.seen: list[str | None] = []
        self.turns: list[Turn] = []

    def respond(self, request: cw.Request) -> str:
        self.seen.append(request.context)
        return f"{len(self.seen)}: {request.context}"

    def deliver(self, turn: Turn) -> str | bytes:
        self.turns.append(turn)
        return self.store.answer("one", turn, self.respond)

    def deliver_and_lose_the_answer(self, turn: Turn) -> str:
        self.deliver(turn)
        raise Lost


def frames_of(turn: Turn) -> tuple[str | bytes, ...]:
    assert isinstance(turn.frames, tuple)
    return turn.frames


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    if request.param == "memory":
        yield MemorySessionStore()
    else:
        with SQLiteSessionStore(tmp_path / "store.db") as sqlite:
            yield sqlite


def test_a_conversation_sends_only_what_is_new(store: SessionStore) -> None:
    server, sender = Server(store), Sender()
    assert sender.send(server.deliver, **HELLO) == "1: User: Hi\n"
    assert sender.send(server.deliver, **MORE, pack="bytes") == "2: User: Hi\nAgent: Hello.\n"
    assert [turn.number for turn in server.turns] == [1, 2]
    assert len(frames_of(server.turns[0])) == 3
    assert isinstance(server.turns[1].frames, bytes)


@pytest.mark.parametrize("pack", [False, True, "bytes"])
def test_a_turn_delivered_again_gets_the_same_answer(store: SessionStore, pack: Any) -> None:
    server, sender = Server(store), Sender()
    for request in (HELLO, MORE):
        answer = sender.send(server.deliver, **request, pack=pack)
        for _ in range(2):
            assert server.deliver(server.turns[-1]) == answer
    assert len(server.seen) == 2


def test_a_retry_after_a_lost_answer_is_the_same_turn(store: SessionStore) -> None:
    server, sender = Server(store), Sender()
    for request in (HELLO, MORE):
        state = sender.session.to_bytes()
        for _ in range(3):
            with pytest.raises(Lost):
                sender.send(server.deliver_and_lose_the_answer, **request)
            assert sender.session.to_bytes() == state
        sender.send(server.deliver, **request)
    assert [turn.number for turn in server.turns] == [1] * 4 + [2] * 4
    assert server.seen == [HELLO["context"], MORE["context"]]


def test_another_request_after_a_lost_answer_has_the_next_number(store: SessionStore) -> None:
    server, sender = Server(store), Sender()
    with pytest.raises(Lost):
        sender.send(server.deliver_and_lose_the_answer, **HELLO)
    assert sender.send(server.deliver, **MORE) == f"2: {MORE['context']}"
    numbers = [turn.number for turn in server.turns]
    assert (numbers[0], set(numbers[1:])) == (1, {2})


def test_a_turn_that_was_not_delivered_leaves_no_trace(store: SessionStore) -> None:
    server, sender = Server(store), Sender()

    def fail(turn: Turn) -> str:
        raise Lost

    sender.send(server.deliver, **HELLO)
    with pytest.raises(Lost):
        sender.send(fail, tool=[SEARCH, {"name": "new"}], context="other")
    sender.send(server.deliver, tool=[SEARCH, {"name": "new"}], context=MORE["context"])
    # It is accepted at once, and defines what the lost one would have defined.
    assert len(server.turns) == 2
    assert [str(frame)[:4] for frame in frames_of(server.turns[-1])] == ["TOOL", "REQ|"]


def test_a_failed_answer_is_given_when_the_turn_is_delivered_again(store: SessionStore) -> None:
    server, sender = Server(store), Sender()
    sender.send(server.deliver, **HELLO)

    def fail(turn: Turn) -> Any:
        server.turns.append(turn)
        return store.answer("one", turn, lambda request: str(1 // 0))

    with pytest.raises(ZeroDivisionError):
        sender.send(fail, **MORE)
    assert sender.send(server.deliver, **MORE) == f"2: {MORE['context']}"
    assert [turn.number for turn in server.turns] == [1, 2, 2]
    with pytest.raises(TypeError, match="respond must return a str or bytes, the answer, not int"):
        sender.send(lambda turn: store.answer("one", turn, lambda request: 5), context="")  # type: ignore[arg-type, return-value]


def test_a_forgotten_conversation_is_sent_in_full(store: SessionStore) -> None:
    server, sender = Server(store), Sender()
    sender.send(server.deliver, **HELLO)
    store.forget("one")
    assert sender.send(server.deliver, **MORE) == f"2: {MORE['context']}"
    assert [turn.number for turn in server.turns] == [1, 2, 2]
    assert len(frames_of(server.turns[-1])) == 3


def test_a_number_is_used_once(store: SessionStore) -> None:
    server, sender = Server(store), Sender()
    for request in (HELLO, MORE):
        sender.send(server.deliver, **request)
    first = server.turns[0]
    with pytest.raises(cw.TurnConflict, match="turn 1: turn 2 was answered already") as caught:
        server.deliver(first)
    assert (caught.value.number, caught.value.last) == (1, 2)
    with pytest.raises(cw.TurnConflict, match="turn 2: other frames were answered") as caught:
        server.deliver(Turn(2, first.frames))
    assert str(caught.value).endswith("go on with number 3, which `Sender.go_on(2)` does")
    # A sender that lost its state goes on with the next number.
    restarted = Sender(number=caught.value.last + 1)
    restarted.send(server.deliver, **MORE)
    assert server.turns[-1].number == 3
    assert len(server.seen) == 3
    assert server.deliver(server.turns[-1]) == f"3: {MORE['context']}"


@pytest.mark.parametrize("checked", [True, False])
def test_a_sender_goes_on_after_a_conflict(checked: bool) -> None:
    server = Server(MemorySessionStore(checked=checked))
    for context in ("other", "other talk"):
        Sender(cw.Session(checked=checked), number=len(context)).send(
            server.deliver, context=context
        )
    sender = Sender(cw.Session(checked=checked))
    for _ in range(2):
        with pytest.raises(cw.TurnConflict) as caught:
            sender.send(server.deliver, context="mine")
    sender.go_on(caught.value.last)
    for context in ("mine", "mine too"):
        sender.send(server.deliver, context=context)
        assert server.seen[-1] == context
    assert [turn.number for turn in server.turns if turn.number > 10] in ([11, 12], [11, 11, 12])


def test_a_sender_that_goes_on_uses_no_number_twice() -> None:
    server, sender = Server(MemorySessionStore()), Sender(number=5)
    with pytest.raises(Lost):
        sender.send(server.deliver_and_lose_the_answer, context="a")
    # Turn 5 may have arrived, whatever an old error says.
    sender.go_on(1)
    sender.send(server.deliver, context="b")
    sender.go_on(1)
    sender.send(server.deliver, context="c")
    assert sorted({turn.number for turn in server.turns}) == [5, 6, 7]
    assert server.seen == ["a", "b", "c"]


def test_a_sender_does_not_go_on_in_the_middle_of_a_turn() -> None:
    sender = Sender()
    with pytest.raises(cw.NestedTurn):
        sender.send(lambda turn: sender.go_on(turn.number))


def test_a_conversation_that_never_recovers_ends_after_four_turns() -> None:
    turns: list[Turn] = []

    def reject(turn: Turn) -> str:
        turns.append(turn)
        raise cw.UnknownReference("unknown", ids=("c_00000000",))

    with pytest.raises(cw.UnknownReference):
        Sender().send(reject, **HELLO)
    assert len(turns) == 4


def test_two_conversations_are_apart(store: SessionStore) -> None:
    def send(sender: Sender, conversation: str, text: str) -> Any:
        return sender.send(
            lambda turn: store.answer(conversation, turn, lambda request: request.context or ""),
            context=text,
        )

    ann, bob = Sender(), Sender()
    for number in range(3):
        for sender, name in ((ann, "ann"), (bob, "bob")):
            assert send(sender, name, name * (number + 1)) == name * (number + 1)


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


def test_a_late_process_does_not_end_the_lease_of_another_one(tmp_path: Path) -> None:
    late, quick, next_one, other = (SQLiteSessionStore(tmp_path / "turns.db") for _ in range(4))
    turn = Turn(1, cw.Session().encode_request(args={}))
    opened = late._open("c", turn)  # It stops for longer than its lease.
    quick.answer("c", turn, lambda _: "quick")
    assert next_one.lease("c", "next")
    assert isinstance(opened, tuple)
    late._close(opened, "late")
    assert other.lease("c", "other") == 0
    for store in (late, quick, next_one, other):
        store.close()


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


def test_a_pickle_of_a_turn_is_checked() -> None:
    turn = Turn(1, ["REQ", b"x"])
    data = pickle.dumps(turn, protocol=0)
    assert pickle.loads(data) == copy.copy(turn) == turn
    with pytest.raises(cw.OptionError, match=r"number must be from 1 to .*, not 0"):
        pickle.loads(data.replace(b"I1\n", b"I0\n"))


def test_a_plain_function_for_an_async_method_names_the_other_method() -> None:
    store, sender = MemorySessionStore(), Sender()
    turn = Turn(1, cw.Session().encode_request(**HELLO))

    async def coroutine(_: cw.Request) -> str:
        return "answer"

    respond: Any = coroutine
    plain: Any = str  # Takes a turn or a request, and returns a str.
    with pytest.raises(TypeError, match=r"respond must be .* returned str: use answer"):
        asyncio.run(store.answer_async("one", turn, plain))
    with pytest.raises(TypeError, match=r"deliver must be .* returned str: use send"):
        asyncio.run(sender.send_async(plain, **HELLO))
    with pytest.raises(TypeError, match="respond returned a coroutine: use answer_async"):
        store.answer("one", turn, respond)
    # Nothing was kept: the turn can be answered in the right way.
    assert store.answer("one", turn, lambda request: "answer") == "answer"


@pytest.mark.parametrize("ids", [{}, {"ids": ()}, {"ids": "t_05884c6c s_97dd3b60"}])
def test_a_rejection_without_a_list_of_ids_says_what_to_pass_on(ids: dict[str, Any]) -> None:
    sender = Sender()

    def deliver(turn: Turn) -> str:
        raise cw.UnknownReference("rejected", **ids)

    with pytest.raises(
        TypeError, match=r"without a list of ids: .* UnknownReference\(message, ids="
    ):
        sender.send(deliver, **HELLO)
    assert sender.send(Server(MemorySessionStore()).deliver, **HELLO) == "1: User: Hi\n"


def test_send_does_not_take_a_coroutine_for_an_answer() -> None:
    sender = Sender()
    state = sender.session.to_bytes()

    async def deliver(turn: Turn) -> str:
        return "sent"

    with pytest.raises(TypeError, match="use send_async"):
        _ = sender.send(deliver, **HELLO)
    assert sender.session.to_bytes() == state
    assert asyncio.run(sender.send_async(deliver, **HELLO)) == "sent"


def test_a_sender_is_used_in_one_event_loop_after_the_other() -> None:
    sender = Sender()

    async def deliver(turn: Turn) -> int:
        await asyncio.sleep(0)
        return turn.number

    async def main() -> list[int]:
        return await asyncio.gather(*(sender.send_async(deliver) for _ in range(3)))

    assert [asyncio.run(main()), asyncio.run(main())] == [[1, 2, 3], [4, 5, 6]]


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


@pytest.mark.parametrize(
    "moved", [lambda sender: pickle.loads(pickle.dumps(sender)), copy.copy, copy.deepcopy]
)
def test_a_copied_sender_continues(moved: Callable[[Sender], Sender]) -> None:
    server, sender = Server(MemorySessionStore()), Sender()
    sender.send(server.deliver, **HELLO)
    with pytest.raises(Lost):
        sender.send(server.deliver_and_lose_the_answer, **MORE)
    assert moved(sender).send(server.deliver, **MORE) == f"2: {MORE['context']}"
    assert [turn.number for turn in server.turns] == [1, 2, 2]


# What a store keeps


def test_a_restarted_server_goes_on(tmp_path: Path) -> None:
    sender, seen = Sender(), []
    for request in (HELLO, MORE):
        with SQLiteSessionStore(tmp_path / "store.db") as store:
            server = Server(store)
            sender.send(server.deliver, **request)
            assert len(store) == 1
        seen += server.turns
    assert [(turn.number, len(frames_of(turn))) for turn in seen] == [(1, 3), (2, 1)]
    with SQLiteSessionStore(str(tmp_path / "store.db")) as store:
        server = Server(store)
        assert server.deliver(seen[-1]) == f"1: {MORE['context']}"
        assert server.seen == []


WORKER = """
import asyncio, os, sys, time
from pathlib import Path
from compactwire.turns import SQLiteSessionStore, Turn

database, number, frames, mode, lease_s = sys.argv[1:]
store = SQLiteSessionStore(database, lease_s=float(lease_s))
print("ready", flush=True)
sys.stdin.readline()

def respond(request):
    with open(database + ".log", "a") as log:
        log.write(f"{number}\\n")
    print("answering", flush=True)
    if mode == "dies":
        os._exit(1)
    time.sleep(1)
    return f"answer of {os.getpid()}"

async def respond_async(request):
    return await asyncio.to_thread(respond, request)

turn = Turn(int(number), frames)
if mode == "async":
    answer = asyncio.run(store.answer_async("one", turn, respond_async))
else:
    answer = store.answer("one", turn, respond)
print(answer)
"""


class Worker:
    """A process that answers a turn of the conversation "one" when it is told to begin."""

    def __init__(self, path: Path, turn: Turn, mode: str, lease_s: float = 30.0) -> None:
        arguments = [path, str(turn.number), *frames_of(turn), mode, str(lease_s)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def begin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def output(self) -> list[str]:
        return self.process.communicate(timeout=60)[0].split("\n")[:-1]


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("lease_s", [0.6, 30.0])
def test_processes_answer_a_turn_once(tmp_path: Path, mode: str, lease_s: float) -> None:
    # The short lease is extended while the function runs.
    path = tmp_path / "store.db"
    turn = Turn(1, cw.Session().encode_request(context="a"))
    workers = [Worker(path, turn, mode, lease_s) for _ in range(3)]
    for worker in workers:
        worker.begin()
    outputs = [worker.output() for worker in workers]
    assert sorted(map(len, outputs)) == [1, 1, 2]
    assert len({output[-1] for output in outputs}) == 1
    assert (tmp_path / "store.db.log").read_text() == "1\n"


def test_a_turn_waits_for_the_turn_before_it_in_another_process(tmp_path: Path) -> None:
    path, session = tmp_path / "store.db", cw.Session()
    turns = [Turn(n, session.encode_request(context="a" * n)) for n in (1, 2)]
    first, second = (Worker(path, turn, "sync") for turn in turns)
    first.begin()
    assert first.line() == "answering"
    second.begin()
    # Without the first turn, the second would be rejected.
    assert [len(first.output()), len(second.output())] == [1, 2]
    assert (tmp_path / "store.db.log").read_text() == "1\n2\n"


def test_the_turn_of_a_process_that_died_is_answered_by_another_one(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    turn = Turn(1, cw.Session().encode_request(context="a"))
    dying, other = (Worker(path, turn, mode, 1.0) for mode in ("dies", "sync"))
    dying.begin()
    assert dying.output() == ["answering"]
    other.begin()
    assert other.output()[-1] == f"answer of {other.process.pid}"
    assert (tmp_path / "store.db.log").read_text() == "1\n1\n"
    with SQLiteSessionStore(path) as store:
        assert store.lease("one", "third") == 30.0


def test_a_turn_that_waits_too_long_is_an_error(tmp_path: Path) -> None:
    turn = Turn(3, cw.Session().encode_request(context="a"))

    async def respond(request: cw.Request) -> str:
        raise AssertionError

    with SQLiteSessionStore(tmp_path / "store.db", wait_s=0.05) as store:
        assert store.lease("one", "another process") == 30.0
        for call in (
            lambda: store.answer("one", turn, lambda request: "x"),
            lambda: asyncio.run(store.answer_async("one", turn, respond)),
        ):
            with pytest.raises(cw.TurnInProgress, match="turn 3: another process") as caught:
                call()
            assert (caught.value.conversation, caught.value.number) == ("one", 3)
        store.release("one", "another process")
        first = Turn(1, turn.frames)
        assert store.answer("one", first, lambda request: "answer") == "answer"


def test_a_lease_has_one_holder_until_its_end(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SQLiteSessionStore(path, lease_s=0.2) as store, SQLiteSessionStore(path) as other:
        assert store.lease("one", "a") == 0.2
        assert other.lease("two", "b") == 30.0
        assert other.lease("one", "b") == 0.0
        other.release("one", "b")
        assert store.lease("one", "a") == 0.2
        time.sleep(0.25)
        assert other.lease("one", "b") == 30.0
        assert store.lease("one", "a") == 0.0


def other_threads() -> int:
    """How many threads there are besides those for the calls of stores, which stay."""
    return sum(not one.name.startswith("compactwire turns") for one in threading.enumerate())


@pytest.mark.parametrize("mode", ["returns", "raises", "cancelled"])
def test_no_lease_remains_after_a_turn(tmp_path: Path, mode: str) -> None:
    turn = Turn(1, cw.Session().encode_request(context="a"))

    async def respond(request: cw.Request) -> str:
        if mode == "raises":
            raise Lost
        if mode == "cancelled":
            await asyncio.sleep(60)
        return "answer"

    async def main() -> None:
        task = asyncio.create_task(store.answer_async("one", turn, respond))
        if mode == "cancelled":
            await asyncio.sleep(0.01)
            task.cancel()
        await task

    threads = other_threads()
    with SQLiteSessionStore(tmp_path / "store.db") as store:
        with contextlib.suppress(Lost, asyncio.CancelledError):
            asyncio.run(main())
        assert store.lease("one", "another") == 30.0
        assert other_threads() == threads


def test_stores_of_one_file_find_a_turn_that_waits_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    turn = Turn(1, cw.Session().encode_request(context="a"))
    with SQLiteSessionStore(path) as first, SQLiteSessionStore(path) as second:

        def respond(request: cw.Request) -> Any:
            return second.answer("one", turn, lambda request: "second")

        with pytest.raises(cw.NestedTurn):
            first.answer("one", turn, respond)


def test_the_first_of_two_answers_is_kept(tmp_path: Path) -> None:
    # A process that was stopped for longer than its lease does not notice that it has ended.
    sender = Sender()
    with SQLiteSessionStore(tmp_path / "store.db") as store:

        def deliver(turn: Turn) -> Any:
            def respond(request: cw.Request) -> str:
                saved = SavedSession(turn.number, turn.digest, "other", cw.Session().to_bytes())
                assert store.save("one", saved, after=turn.number - 1)
                return "late"

            return store.answer("one", turn, respond)

        assert sender.send(deliver, **HELLO) == "other"

        def other(turn: Turn) -> Any:
            def respond(request: cw.Request) -> str:
                saved = SavedSession(turn.number, b"", "other", cw.Session().to_bytes())
                assert store.save("one", saved, after=turn.number - 1)
                return "late"

            return store.answer("one", turn, respond)

        with pytest.raises(cw.TurnConflict):
            sender.send(other, args=5)


def test_an_error_of_sqlite_names_the_database(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database" * 100)
    for path in (tmp_path / "text.db", str(tmp_path), os.fsencode(tmp_path / "none" / "store.db")):
        with pytest.raises(sqlite3.Error) as caught:
            SQLiteSessionStore(path)  # type: ignore[arg-type]
        assert str(caught.value).startswith(f"{os.fsdecode(path)}: ")
        # No message causes it.
        assert not isinstance(caught.value, cw.CompactWireError)
    assert "sqlite3.Error\n" in (SQLiteSessionStore.__doc__ or "")
    with SQLiteSessionStore(tmp_path / "store.db") as store:
        pass
    store.close()
    with pytest.raises(sqlite3.ProgrammingError, match=r"store.db: .*closed"):
        store.load("one")


def test_a_store_that_never_forgets_the_idle_ones(tmp_path: Path) -> None:
    with SQLiteSessionStore(tmp_path / "store.db", idle_s=float("inf")) as sqlite:
        for store in (MemorySessionStore(idle_s=float("inf")), sqlite):
            server, sender = Server(store), Sender()
            for request in (HELLO, MORE):
                sender.send(server.deliver, **request)
            assert [turn.number for turn in server.turns] == [1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_store_is_not_used_across_a_fork(tmp_path: Path) -> None:
    script = """
import os, sys
from compactwire.turns import SQLiteSessionStore
store = SQLiteSessionStore(sys.argv[1])
child = os.fork()
if child == 0:
    try:
        store.load("one")
    except RuntimeError as error:
        os.write(1, str(error).encode())
    store.close()
    store._database.execute("SELECT 1")  # It is open: closing it is for the parent.
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert store.load("one") is None
"""
    path = str(tmp_path / "store.db")
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, check=True)
    assert done.stdout == b"the store was opened before a fork: open it in each process"


def test_a_store_keeps_only_what_follows_the_kept_turn(store: SessionStore) -> None:
    first, second, third = (SavedSession(n, bytes([n]), f"{n}", b"") for n in (1, 2, 3))
    assert store.save("one", first, after=0)
    assert not store.save("one", third, after=0)
    assert store.save("one", second, after=1)
    assert not store.save("one", third, after=1)
    assert store.load("one") == second
    store.forget("one")
    assert store.save("one", third, after=2)
    assert store.load("one") == third


@pytest.mark.parametrize("number", [-1, -(2**63) - 1, 2**63])
def test_a_store_keeps_no_number_that_no_turn_has(store: SessionStore, number: int) -> None:
    saved = SavedSession(1, b"", "", b"")
    with pytest.raises(cw.OptionError, match="after must be from 0 to"):
        store.save("one", saved, after=number)
    with pytest.raises(cw.OptionError, match=r"saved\.number must be from 0 to"):
        store.save("one", saved._replace(number=number), after=0)


def test_a_store_forgets_the_least_recently_used(tmp_path: Path) -> None:
    frames = cw.Session().encode_request(context="a")
    with SQLiteSessionStore(tmp_path / "store.db", max_sessions=2) as sqlite:
        for store in (MemorySessionStore(max_sessions=2), sqlite):
            for name in ("a", "b", "c"):
                store.answer(name, Turn(1, frames), lambda request: "x")
            assert len(store) == 2
            assert [store.load(name) is not None for name in "abc"] == [False, True, True]


def test_a_store_forgets_what_is_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("compactwire.turns._memory.time.monotonic", lambda: now)
    monkeypatch.setattr("compactwire.turns._sqlite.time.time", lambda: now)
    frames = cw.Session().encode_request(context="a")
    with SQLiteSessionStore(tmp_path / "store.db", idle_s=5) as sqlite:
        for store in (MemorySessionStore(idle_s=5), sqlite):
            now = 1000.0
            store.answer("a", Turn(1, frames), lambda request: b"x")
            now = 1004.0
            store.answer("b", Turn(1, frames), lambda request: b"x")
            assert store.load("a") is not None
            now = 1006.0
            assert [store.load(name) is not None for name in "ab"] == [False, True]
            store.answer("c", Turn(1, frames), lambda request: b"x")
            assert len(store) == 2


@contextlib.contextmanager
def stores_of(path: Path, max_memory: int) -> Iterator[list[Any]]:
    with SQLiteSessionStore(path, max_memory=max_memory) as sqlite:
        yield [MemorySessionStore(max_memory=max_memory), sqlite]


def test_a_store_forgets_the_least_recently_used_beyond_its_memory(tmp_path: Path) -> None:
    # Some bytes of a packed request are a conversation of a megabyte.
    session = cw.Session()
    turns = [Turn(n, session.encode_request(context="a" * n * 10**6, pack=True)) for n in (1, 2)]
    with stores_of(tmp_path / "store.db", 3_500_000) as stores:
        for store in stores:
            for name in "abcd":
                store.answer(name, turns[0], lambda request: "x")
            assert [store.load(name) is not None for name in "abcd"] == [False, True, True, True]
            # The oldest one grows, and is then the newest.
            store.answer("b", turns[1], lambda request: "x")
            assert [store.load(name) is not None for name in "bcd"] == [True, False, True]
            # What is forgotten makes room.
            store.forget("b")
            for name in "ef":
                store.answer(name, turns[0], lambda request: "x")
            assert [store.load(name) is not None for name in "def"] == [True, True, True]
            # The answers count.
            store.answer("g", turns[0], lambda request: b"x" * 2_000_000)
            assert [store.load(name) is not None for name in "defg"] == [False, False, False, True]


def test_a_conversation_larger_than_the_memory_of_its_store_is_refused(tmp_path: Path) -> None:
    small, large = (cw.Session().encode_request(context="a" * n) for n in (10, 10_000))
    seen: list[cw.Request] = []

    def respond(request: cw.Request) -> str:
        seen.append(request)
        return "x" * 10_000

    with stores_of(tmp_path / "store.db", 10_000) as stores:
        for store in stores:
            seen.clear()
            store.answer("a", Turn(1, small), lambda request: "answer")
            with pytest.raises(cw.OutputTooLarge, match="more than max_memory, 10000") as caught:
                store.answer("b", Turn(1, large), respond)
            assert caught.value.limit == 10_000
            assert not seen
            with pytest.raises(cw.OutputTooLarge, match="more than max_memory"):
                store.answer("b", Turn(1, small), respond)
            assert len(seen) == len(store) == 1
            assert store.load("a") is not None


def test_a_file_counts_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    database = sqlite3.connect(path, isolation_level=None)

    def counted() -> list[Any]:
        return database.execute("SELECT bytes FROM compactwire_memory_1").fetchall()

    def expected() -> list[Any]:
        rows = database.execute("SELECT conversation, answer, session FROM compactwire_sessions_1")
        fields = (field for row in rows for field in row)
        return [(sum(len(f.encode() if isinstance(f, str) else f) for f in fields),)]

    with SQLiteSessionStore(path) as store, SQLiteSessionStore(path) as other:
        sender = Sender()
        answers: list[str | bytes] = ["one", "é東", b"\x00\xff"]

        def deliver(turn: Turn) -> str | bytes:
            return store.answer("é", turn, lambda request: answers.pop())

        while answers:
            sender.send(deliver, args=1)
            assert counted() == expected()
        for name in "abc":
            other.answer(name, Turn(1, cw.Session().encode_request(context="a")), lambda _: "x")
        store.forget("a")
        database.execute("DELETE FROM compactwire_sessions_1 WHERE conversation = 'b'")
        assert counted() == expected() != [(0,)]
    # A file that does not count yet is counted when it is opened.
    database.execute("DROP TABLE compactwire_memory_1")
    for change in ("insert", "update", "delete"):
        database.execute(f"DROP TRIGGER compactwire_memory_1_{change}")
    for _ in range(2):
        with SQLiteSessionStore(path, max_memory=10_000) as store:
            assert counted() == expected()
            store.answer("d", Turn(1, cw.Session().encode_request(context="a")), lambda _: "x")
            assert counted() == expected()
    database.close()


def test_a_damaged_state_is_an_error_until_it_is_forgotten(tmp_path: Path) -> None:
    sender = Sender()
    with SQLiteSessionStore(tmp_path / "store.db") as store:
        server = Server(store)
        sender.send(server.deliver, **HELLO)
        database = sqlite3.connect(tmp_path / "store.db")
        database.execute("UPDATE compactwire_sessions_1 SET session = x'00'")
        database.commit()
        database.close()
        with pytest.raises(cw.InvalidFormat, match="invalid session state"):
            sender.send(server.deliver, **MORE)
        store.forget("one")
        sender.send(server.deliver, **MORE)


@pytest.mark.parametrize(
    "change", ["number = 'x'", "number = 1.5", "number = -1", "session = 'x'", "answer = 5"]
)
def test_a_row_that_no_store_writes_is_an_error_of_the_database(
    tmp_path: Path, change: str
) -> None:
    turn = Turn(1, cw.Session().encode_request(context="a"))
    path = tmp_path / "store.db"
    with SQLiteSessionStore(path) as store:
        store.answer("one", turn, lambda request: "x")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute(f"UPDATE compactwire_sessions_1 SET {change}")
        for _ in range(2):
            with pytest.raises(sqlite3.DatabaseError, match=r"store\.db: a conversation has a row"):
                store.answer("one", turn, lambda request: "x")
        store.forget("one")
        assert store.answer("one", turn, lambda request: "y") == "y"


def test_a_store_without_its_count_of_bytes_is_an_error_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for number, change in enumerate(["DELETE FROM", "DROP TABLE"], start=1):
        turn = Turn(number, cw.Session().encode_request(context="a"))
        with SQLiteSessionStore(path) as store:
            with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
                database.execute(f"{change} compactwire_memory_1")
            with pytest.raises(sqlite3.DatabaseError, match="compactwire_memory_1"):
                store.answer("one", turn, lambda request: "x")
    with SQLiteSessionStore(path) as store:
        assert store.answer("one", turn, lambda request: "y") == "y"


def test_a_file_whose_schema_is_not_utf8_is_an_error_of_the_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    SQLiteSessionStore(path).close()
    name = b"TABLE compactwire_leases_1"
    assert b"CREATE " + name in path.read_bytes()
    content = path.read_bytes().replace(
        b"tablecompactwire_leases_1", b"tablecompactwire_\xffeases_1"
    )
    path.write_bytes(content.replace(b"CREATE " + name, b"CREATX " + name))
    with pytest.raises(sqlite3.DatabaseError, match=r"store\.db: the database is damaged"):
        SQLiteSessionStore(path)


def test_a_limit_of_the_session_is_kept() -> None:
    turn = Turn(1, cw.Session().encode_request(context="a" * 11))
    with SQLiteSessionStore(":memory:", max_size=10) as sqlite:
        for store in (MemorySessionStore(max_size=10), sqlite):
            with pytest.raises(cw.OutputTooLarge):
                store.answer("one", turn, lambda request: "x")


# Values and options


def test_a_turn_is_a_value() -> None:
    turn = Turn(1, ["a", "b"])
    assert turn == Turn(1, ("a", "b")) == pickle.loads(pickle.dumps(turn))
    assert repr(turn) == "Turn(number=1, frames=('a', 'b'))"
    assert len({turn, Turn(1, ("a", "b")), Turn(2, ("a", "b"))}) == 2
    digests = [Turn(1, frames).digest for frames in (["a", "b"], ["ab"], ["a", "b", ""], "ab")]
    assert len(set(digests)) == 3
    assert Turn(1, "é").digest == Turn(2, "é".encode()).digest == Turn(3, ["é"]).digest


@pytest.mark.parametrize("frames", [bytearray(b"a"), memoryview(b"a")])
def test_a_turn_has_no_frames_that_can_change(frames: Any) -> None:
    with pytest.raises(TypeError, match=f"a list of these, not {type(frames).__name__}"):
        Turn(1, frames)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Turn(0, ""), cw.OptionError),
        (lambda: Turn(2**63, ""), cw.OptionError),
        (lambda: Turn(True, ""), TypeError),
        (lambda: Turn("1", ""), TypeError),  # type: ignore[arg-type]
        (lambda: Turn(1, None), TypeError),  # type: ignore[arg-type]
        (lambda: Turn(1, bytearray(b"ab")), TypeError),  # type: ignore[arg-type]
        (lambda: Turn(1, ["a", 1]), TypeError),  # type: ignore[list-item]
        (lambda: Sender(number=0), cw.OptionError),
        (lambda: Sender(5), TypeError),  # type: ignore[arg-type]
        (lambda: Sender().go_on(-1), cw.OptionError),
        (lambda: Sender().go_on(2**63 - 1), cw.OptionError),
        (lambda: Sender().go_on("1"), TypeError),  # type: ignore[arg-type]
        (lambda: MemorySessionStore(max_sessions=2**70), cw.OptionError),
        (lambda: SQLiteSessionStore(":memory:", max_sessions=2**63), cw.OptionError),
        (lambda: SQLiteSessionStore(":memory:", lease_s=10**400), cw.OptionError),
        (lambda: SQLiteSessionStore(":memory:", idle_s=float("nan")), cw.OptionError),
        (lambda: SQLiteSessionStore(":memory:", wait_s=0), cw.OptionError),
        (lambda: SQLiteSessionStore(":memory:", lease_s=-1), cw.OptionError),
        (lambda: SQLiteSessionStore(":memory:", lease_s=float("inf")), cw.OptionError),
        (lambda: SQLiteSessionStore(":memory:", lease_s="1"), TypeError),  # type: ignore[arg-type]
        (lambda: SQLiteSessionStore(""), cw.OptionError),
        (lambda: SQLiteSessionStore(b""), cw.OptionError),  # type: ignore[arg-type]
        (lambda: MemorySessionStore(max_sessions=0), cw.OptionError),
        (lambda: MemorySessionStore(max_memory=0), cw.OptionError),
        (lambda: SQLiteSessionStore(":memory:", max_memory=0), cw.OptionError),
        (lambda: MemorySessionStore(max_memory=1e9), TypeError),  # type: ignore[arg-type]
        (lambda: MemorySessionStore(idle_s=0), cw.OptionError),
        (lambda: MemorySessionStore(idle_s=float("nan")), cw.OptionError),
        (lambda: MemorySessionStore(idle_s="1"), TypeError),  # type: ignore[arg-type]
        (lambda: MemorySessionStore(max_sessions=1.5), TypeError),  # type: ignore[arg-type]
        (lambda: MemorySessionStore(max_size=-1), cw.OptionError),
        (lambda: SessionStore(), TypeError),  # type: ignore[abstract]
    ],
)
def test_invalid_arguments_are_errors(make: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.parametrize(
    ("conversation", "turn", "error"),
    [
        (None, Turn(1, "REQ|1|||null|"), TypeError),
        (5, Turn(1, "REQ|1|||null|"), TypeError),
        (b"one", Turn(1, "REQ|1|||null|"), TypeError),
        ("one", (1, "REQ|1|||null|"), TypeError),
        ("\ud800", Turn(1, "REQ|1|||null|"), cw.UnsupportedValue),
    ],
)
def test_a_turn_without_a_valid_id_is_not_answered(
    store: SessionStore, conversation: Any, turn: Any, error: type[Exception]
) -> None:
    async def respond(request: cw.Request) -> str:
        raise AssertionError

    with pytest.raises(error, match=r"conversation|turn"):
        store.answer(conversation, turn, lambda request: "")
    with pytest.raises(error, match=r"conversation|turn"):
        asyncio.run(store.answer_async(conversation, turn, respond))


def test_an_answer_that_no_store_can_keep_is_an_error(store: SessionStore) -> None:
    turn = Turn(1, cw.Session().encode_request(**HELLO))
    with pytest.raises(cw.UnsupportedValue, match="answer: lone surrogate at position 1"):
        store.answer("one", turn, lambda request: "a\ud800")
    assert store.load("one") is None


# A turn inside a turn


def test_deliver_that_sends_with_the_same_sender_is_an_error() -> None:
    sender = Sender()

    async def again_async(turn: Turn) -> Any:
        return await sender.send_async(again_async)

    def in_the_loop(turn: Turn) -> Any:
        return sender.send(lambda turn: "")

    async def of_a_function(turn: Turn) -> Any:
        return in_the_loop(turn)

    with pytest.raises(cw.NestedTurn, match=r"thread.*after `deliver` has returned") as caught:
        sender.send(in_the_loop)
    assert caught.value.conversation is None
    with pytest.raises(cw.NestedTurn, match="under way in this task"):
        asyncio.run(sender.send_async(again_async))
    with pytest.raises(cw.NestedTurn, match="under way in this thread"):
        asyncio.run(sender.send_async(of_a_function))
    with pytest.raises(cw.NestedTurn):
        sender.send(lambda turn: asyncio.run(sender.send_async(again_async)))
    # An error of `deliver`, as any other: the next turn is sent.
    assert sender.send(lambda turn: turn.number) == 1


def test_respond_that_answers_its_own_conversation_is_an_error(store: SessionStore) -> None:
    turn = Turn(1, cw.Session().encode_request(**HELLO))

    def again(request: cw.Request) -> Any:
        return store.answer("one", turn, again)

    async def again_async(request: cw.Request) -> Any:
        return await store.answer_async("one", turn, again_async)

    async def of_a_function(request: cw.Request) -> Any:
        return again(request)

    with pytest.raises(cw.NestedTurn, match="after `respond` has returned") as caught:
        store.answer("one", turn, again)
    assert caught.value.conversation == "one"
    assert isinstance(caught.value, cw.CompactWireError)
    for respond in (again_async, of_a_function):
        with pytest.raises(cw.NestedTurn):
            asyncio.run(store.answer_async("one", turn, respond))
    with pytest.raises(cw.NestedTurn):
        store.answer("one", turn, lambda request: asyncio.run(again_async(request)))
    assert store.answer("one", turn, lambda request: "answer") == "answer"


def test_a_turn_inside_a_turn_of_another_conversation_is_answered(store: SessionStore) -> None:
    def send(conversation: str, inner: Callable[[], str]) -> Any:
        def deliver(turn: Turn) -> Any:
            return store.answer(conversation, turn, lambda request: inner())

        return Sender().send(deliver, context="a")

    async def send_async(conversation: str, depth: int) -> Any:
        async def respond(request: cw.Request) -> Any:
            return f"{conversation}{await send_async('c' * depth, depth - 1) if depth else ''}"

        async def deliver(turn: Turn) -> Any:
            return await store.answer_async(conversation, turn, respond)

        return await Sender().send_async(deliver, context="a")

    assert send("one", lambda: send("two", lambda: "answer")) == "answer"
    assert asyncio.run(send_async("b", 2)) == "bccc"


def test_a_turn_begun_by_deliver_and_not_awaited_is_the_next_one() -> None:
    sender = Sender()

    async def deliver(turn: Turn) -> int:
        await asyncio.sleep(0)
        return turn.number

    async def main() -> list[int]:
        begun: list[asyncio.Task[int]] = []

        async def deliver_and_begin(turn: Turn) -> int:
            begun.append(asyncio.create_task(sender.send_async(deliver)))
            return await deliver(turn)

        return [await sender.send_async(deliver_and_begin), await begun[0]]

    assert asyncio.run(main()) == [1, 2]


def test_a_turn_begun_in_another_thread_is_the_next_one(store: SessionStore) -> None:
    sender, threads, numbers = Sender(), [], []

    def deliver(turn: Turn) -> Any:
        if turn.number == 1:
            threads.append(threading.Thread(target=lambda: sender.send(deliver)))
            threads[0].start()
        numbers.append(turn.number)
        return store.answer("one", turn, lambda request: "")

    sender.send(deliver)
    threads[0].join()
    assert numbers == [1, 2]


# Sessions without a hash


def unchecked() -> tuple[Server, Sender]:
    return Server(MemorySessionStore(checked=False)), Sender(cw.Session(checked=False))


@pytest.mark.parametrize("lost", [1, 2])
@pytest.mark.parametrize("pack", [False, True, "bytes"])
def test_without_a_hash_a_lost_answer_never_changes_a_text(pack: Any, lost: int) -> None:
    server, sender = unchecked()
    sender.send(server.deliver, context="a", pack=pack)
    for n in range(lost):
        with pytest.raises(Lost):
            sender.send(server.deliver_and_lose_the_answer, context="ab" + "b" * n, pack=pack)
    if lost == 2:
        # A turn without a conversation, after which nothing more is known of the lost ones.
        sender.send(server.deliver, args=5, pack=pack)
    for context in ("ac", "acd"):
        sender.send(server.deliver, context=context, pack=pack)
        assert server.seen[-1] == context


def test_without_a_hash_another_request_after_a_lost_answer_is_sent_in_full() -> None:
    server, sender = unchecked()
    sender.send(server.deliver, context="a")
    with pytest.raises(Lost):
        sender.send(server.deliver_and_lose_the_answer, context="ab")
    for _ in range(2):
        with pytest.raises(Lost):
            sender.send(server.deliver_and_lose_the_answer, context="ac")
    assert sender.send(server.deliver, context="ac") == "3: ac"
    assert server.seen == ["a", "ab", "ac"]
    assert [turn.number for turn in server.turns] == [1, 2, 3, 3, 3]


def test_without_a_hash_a_restored_session_sends_the_conversation_in_full() -> None:
    server, sender = unchecked()
    sender.send(server.deliver, context="a")
    state = sender.session.to_bytes()
    with pytest.raises(Lost):
        sender.send(server.deliver_and_lose_the_answer, context="ab")
    restored = Sender(cw.Session.from_bytes(state, checked=False), number=3)
    assert restored.send(server.deliver, context="ac") == "3: ac"


@pytest.mark.parametrize("between", [False, True])
def test_without_a_hash_a_forgotten_conversation_is_sent_in_full(between: bool) -> None:
    server, sender = unchecked()
    sender.send(server.deliver, context="a" * 20)
    server.store.forget("one")
    if between:
        sender.send(server.deliver, args=5)
    for context in ("a" * 20 + "b", "a" * 20 + "c" * 20, "a" * 20 + "d" * 20):
        sender.send(server.deliver, context=context)
        assert server.seen[-1] == context


@pytest.mark.parametrize("pack", [False, True, "bytes"])
def test_without_a_hash_an_old_turn_that_arrives_late_never_changes_a_text(pack: Any) -> None:
    server, sender = unchecked()
    for context in ("a", "ab", "abc"):
        sender.send(server.deliver, context=context, pack=pack)
    server.store.forget("one")
    server.deliver(server.turns[0])
    sender.send(server.deliver, context="abcd", pack=pack)
    assert server.seen == ["a", "ab", "abc", "a", "abcd"]


def test_messages_of_an_iterator_are_sent_in_each_attempt(store: SessionStore) -> None:
    sender = Sender()
    seen: list[Any] = []

    def respond(request: cw.Request) -> str:
        seen.append(request.messages)
        return ""

    def deliver(turn: Turn) -> Any:
        return store.answer("one", turn, respond)

    chat = [{"role": "user", "content": "Hi"}]
    sender.send(deliver, messages=iter(chat))
    store.forget("one")
    sender.send(deliver, messages=iter(chat * 2))
    assert seen == [chat, chat * 2]


def test_a_decoded_request_is_the_one_that_was_sent(store: SessionStore) -> None:
    requests: list[cw.Request] = []
    sender = Sender()

    def respond(request: cw.Request) -> str:
        requests.append(request)
        return ""

    def deliver(turn: Turn) -> Any:
        return store.answer("one", turn, respond)

    for request in (HELLO, MORE, {"args": [1, {"a": None}]}):
        sender.send(deliver, **request)
        assert content_of(requests[-1]) == expected_content(**request)
    assert isinstance(store.load("one"), SavedSession)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Another connection holds the file, as another process does."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


@pytest.mark.skipif(sys.platform == "win32", reason="a thread cannot send SIGINT")
def test_ctrl_c_ends_the_wait_for_a_locked_database(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    turn = Turn(1, cw.Session().encode_request(context="a"))
    ctrl_c = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with SQLiteSessionStore(tmp_path / "store.db") as store:
            ctrl_c.start()
            with locked(tmp_path / "store.db"), pytest.raises(KeyboardInterrupt):
                store.answer("one", turn, lambda request: "x")
            assert store.answer("one", turn, lambda request: "x") == "x"
    finally:
        ctrl_c.join()
        signal.signal(signal.SIGINT, before)


def test_a_database_is_waited_for_as_long_as_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    saved = SavedSession(1, b"", "answer", b"")
    with SQLiteSessionStore(path) as store, ThreadPoolExecutor(1) as pool:
        with locked(path):
            call = pool.submit(store.save, "one", saved, after=0)
            time.sleep(0.5)  # Longer than SQLite itself waits.
            assert not call.done()
        assert call.result()
        monkeypatch.setattr("compactwire.turns._sqlite._BUSY_S", 0.1)
        message = r"store.db: database is locked; another .* for 0.1 seconds"
        with locked(path), pytest.raises(sqlite3.OperationalError, match=message):
            store.forget("one")
        assert store.load("one") == saved


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_failed_release_does_not_replace_the_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    def respond(request: cw.Request) -> str:
        raise Lost

    async def respond_async(request: cw.Request) -> str:
        raise Lost

    def release(conversation: str, holder: str, /) -> None:
        raise sqlite3.OperationalError("database is locked")

    turn = Turn(1, cw.Session().encode_request(context="a"))
    with SQLiteSessionStore(tmp_path / "store.db") as store:
        monkeypatch.setattr(store, "release", release)
        calls = {
            "sync": lambda: store.answer("one", turn, respond),
            "async": lambda: asyncio.run(store.answer_async("one", turn, respond_async)),
        }
        with pytest.raises(Lost):
            calls[mode]()
