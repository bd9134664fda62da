"""The limits of stores: what they forget, and what they refuse."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire.turns import MemorySessionStore, Sender, SQLiteSessionStore, Turn
from tests.strategies.turns import HELLO, MORE, Server


def test_a_store_that_never_forgets_the_idle_ones(tmp_path: Path) -> None:
    with SQLiteSessionStore(tmp_path / "store.db", idle_s=float("inf")) as sqlite:
        for store in (MemorySessionStore(idle_s=float("inf")), sqlite):
            server, sender = Server(store), Sender()
            for request in (HELLO, MORE):
                sender.send(server.deliver, **request)
            assert [turn.number for turn in server.turns] == [1, 2]


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
            # Forgetting a conversation frees its memory.
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


def test_a_limit_of_the_session_is_kept() -> None:
    turn = Turn(1, cw.Session().encode_request(context="a" * 11))
    with SQLiteSessionStore(":memory:", max_size=10) as sqlite:
        for store in (MemorySessionStore(max_size=10), sqlite):
            with pytest.raises(cw.OutputTooLarge):
                store.answer("one", turn, lambda request: "x")


@pytest.mark.parametrize("most", [1, 2])
def test_a_clock_that_is_set_back_forgets_no_new_conversation(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("compactwire.turns._sqlite.time.time", lambda: now)
    frames = cw.Session().encode_request(context="a")
    with SQLiteSessionStore(tmp_path / "store.db", max_sessions=most) as store:
        for name in ("a", "b"):
            store.answer(name, Turn(1, frames), lambda request: "x")
        now = 900.0
        store.answer("c", Turn(1, frames), lambda request: "x")
        assert store.load("c") is not None
        assert len(store) == most


NO_ROOM = """
import resource, sys
import compactwire as cw
from compactwire.turns import SQLiteSessionStore, Turn

session = cw.Session()
turns = [Turn(n, session.encode_request(context=f"turn {n}")) for n in range(1, 5)]
store = SQLiteSessionStore(sys.argv[1])
for turn in turns[:3]:
    store.answer("c", turn, lambda _: "ok")
free = [object() for _ in range(100_000)]
kept = free[::500]
del free
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
try:
    store.answer("c", turns[3], lambda _: "ok")
except MemoryError:
    pass
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(store.answer("c", turns[3], lambda _: "ok"))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="NOT RUN: needs a limit of address space")
def test_a_turn_without_memory_for_a_thread_does_not_wait_for_it(tmp_path: Path) -> None:
    # Python waits for ever for the start of a thread that has no memory for its first call.
    command = [sys.executable, "-c", NO_ROOM, tmp_path / "store.db"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.stdout == b"ok\n", done.stderr
