"""Several processes on one file: restarts, forks and leases."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire.errors import NestedTurn
from compactwire.turns import SavedSession, Sender, SQLiteSessionStore, Turn, _lease
from tests.strategies.turns import HELLO, MORE, Lost, Server, frames_of


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
    """A process that answers a turn of the conversation "one" after a line on standard input."""

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


@pytest.mark.parametrize("step", ["begin", "release"])
def test_no_lease_remains_after_ctrl_c_at_its_beginning_or_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    turn = Turn(1, cw.Session().encode_request(context="a"))

    def interrupted(*arguments: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    with SQLiteSessionStore(tmp_path / "store.db") as store:
        # The answer is kept, so that no second one ends the lease.
        assert store.answer("one", turn, lambda request: "answer") == "answer"
        monkeypatch.setattr(
            *((_lease, "_begin") if step == "begin" else (store, step)), interrupted
        )
        with pytest.raises(KeyboardInterrupt):
            store.answer("one", turn, lambda request: "other")
        assert store.lease("one", "another") == 30.0


def test_a_turn_does_not_wait_for_the_thread_of_its_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collector may run `__del__` there, which waits for the turn."""
    sender, answered, others = Sender(), [], []

    def deliver(turn: Turn) -> Any:
        return store.answer("one", turn, lambda request: answered.append(turn.number) or "ok")

    def collected(*_: object) -> None:
        monkeypatch.undo()
        try:
            others.append(sender.send(deliver, context="from the collector"))
        except NestedTurn:  # The turn is still under way.
            others.append("nested")

    with SQLiteSessionStore(tmp_path / "store.db") as store:
        monkeypatch.setattr(_lease, "_renew", collected)
        main = threading.Thread(
            target=sender.send, args=(deliver,), kwargs={"context": "a"}, daemon=True
        )
        main.start()
        main.join(30)
        assert not main.is_alive()
        end = time.monotonic() + 30
        while not others and time.monotonic() < end:
            time.sleep(0.01)
    assert (answered, others) in (([1, 2], ["ok"]), ([1], ["nested"]))


def test_a_lease_lasts_from_the_end_of_the_wait_for_the_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SQLiteSessionStore(path, lease_s=1.0) as store:
        # Another program writes the file, such as a backup.
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        end = threading.Timer(1.5, other.execute, ("COMMIT",))
        end.start()
        assert store.lease("one", "first") == 1.0
        assert store.lease("one", "second") == 0.0
        end.join()
        other.close()


def test_a_lease_that_is_shorter_than_a_write_is_a_lease(tmp_path: Path) -> None:
    with SQLiteSessionStore(tmp_path / "store.db", lease_s=1e-6, wait_s=1.0) as store:
        turn = Turn(1, cw.Session().encode_request(context="a"))
        assert store.answer("one", turn, lambda request: "answer") == "answer"


def test_a_lease_ends_without_memory_for_the_thread_that_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[BaseException] = []

    def no_memory() -> None:
        raise MemoryError

    async def respond(request: cw.Request) -> str:
        monkeypatch.setattr(_lease, "check_memory", no_memory)
        raise Lost

    async def main() -> None:
        turn = Turn(1, cw.Session().encode_request(context="a"))
        try:
            await store.answer_async("one", turn, respond)
        except Lost as error:
            failures.append(error)  # Its traceback keeps the lease.

    with SQLiteSessionStore(tmp_path / "store.db", lease_s=0.3) as store:
        asyncio.run(main())
        assert failures
        time.sleep(0.7)
        assert store.lease("one", "another") == 0.3


def test_a_lease_that_is_extended_while_it_is_released_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SQLiteSessionStore(tmp_path / "store.db") as store:
        lease = _lease.Lease(store, "one", 1, time.monotonic())

        def extended(conversation: str, holder: str, /) -> float:
            lease._release()  # In the other thread, while the renewal is under way.
            return SQLiteSessionStore.lease(store, conversation, holder)

        monkeypatch.setattr(store, "lease", extended)
        assert not lease.renew()
        monkeypatch.undo()
        assert store.lease("one", "another") == 30.0


@pytest.mark.parametrize("step", ["lease", "answer"])
def test_no_lease_is_extended_after_the_event_loop_of_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    turn = Turn(1, cw.Session().encode_request(context="a"))
    loop, threads = asyncio.new_event_loop(), other_threads()
    begun, closed, taken = threading.Event(), threading.Event(), threading.Event()

    def lease(conversation: str, holder: str, /) -> float:
        if step == "lease":
            begun.set()
            closed.wait(20)
        seconds = SQLiteSessionStore.lease(store, conversation, holder)
        taken.set()
        return seconds

    async def respond(request: cw.Request) -> str:
        begun.set()
        await asyncio.sleep(60)
        return "answer"

    with SQLiteSessionStore(tmp_path / "store.db", lease_s=0.5, wait_s=5.0) as store:
        monkeypatch.setattr(store, "lease", lease)
        answering = store.answer_async("one", turn, respond)
        loop.create_task(answering)
        loop.set_exception_handler(lambda *_: None)  # It reports that the task has not ended.
        while not begun.is_set():
            loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()
        answering.close()  # As the garbage collector does.
        closed.set()
        assert taken.wait(20)
        assert store.answer("one", turn, lambda request: "answer") == "answer"
        assert other_threads() == threads


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_store_that_is_opened_after_a_fork_does_not_wait_for_threads_of_the_parent(
    tmp_path: Path,
) -> None:
    script = """
import os, signal, sys, threading
import compactwire as cw
from compactwire.errors import NestedTurn
from compactwire.turns import SQLiteSessionStore, Turn

frames = cw.Session().encode_request(context="hello")
inside, done = threading.Event(), threading.Event()

def slow(request):
    inside.set()
    done.wait()
    return "parent"

store = SQLiteSessionStore(sys.argv[1])
thread = threading.Thread(target=store.answer, args=("one", Turn(1, frames), slow))
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    # The turn of the parent holds the lease, for which the child waits; it has none of its locks.
    mine = SQLiteSessionStore(sys.argv[1], wait_s=0.1)
    try:
        mine.answer("one", Turn(1, frames), lambda request: "child")
    except cw.TurnInProgress as error:
        os.write(1, type(error).__name__.encode())
    os._exit(0)
status = os.waitpid(child, 0)[1]
done.set()
thread.join()
print(status)
"""
    command = [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "store.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "TurnInProgress0\n"


FORKED = """
import os, sys
from compactwire.turns import SQLiteSessionStore

path = sys.argv[1]
store = SQLiteSessionStore(path)
for is_used in (True, False):
    if is_used:
        store._guard.is_running = True  # As a thread within a statement does.
    child = os.fork()
    if child == 0:
        try:
            SQLiteSessionStore(path).close()
        except RuntimeError as error:
            print(error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    if is_used:
        store._guard.is_running = False
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT RUN: needs fork")
def test_a_fork_beside_a_statement_is_an_error_in_the_child(tmp_path: Path) -> None:
    # SQLite in the child takes the file for locked, and would wait for ever.
    path = tmp_path / "store.db"
    command = [sys.executable, "-c", FORKED, path]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    (line,) = done.stdout.decode().splitlines()
    assert line.startswith(f"{path}: a thread used SQLite when this process was forked")
