"""An exception of a signal handler at any moment of a turn leaves sender and store usable."""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import closing, suppress
from functools import partial
from typing import NamedTuple

import pytest

import compactwire as cw
from compactwire._table import Table
from compactwire.turns import MemorySessionStore, Sender, SessionStore, SQLiteSessionStore, Turn
from tests.strategies.moments import interrupted

PARTS = ("_guard", "_sender", "_lock", "_stores", "_memory", "_table", "_sqlite", "_lease")
FILES = tuple(f"{part}.py" for part in PARTS)
KINDS = [KeyboardInterrupt, TimeoutError]
LEASE_S = 0.03


class Pair:
    """A sender and its receiver."""

    def __init__(self, *, checked: bool) -> None:
        self.store, self.down = MemorySessionStore(checked=checked), False
        self.sender = Sender(cw.Session(checked=checked))
        self.seen: list[str | None] = []

    def deliver(self, turn: Turn) -> str | bytes:
        if self.down:
            raise ConnectionError
        return self.store.answer("c", turn, self.respond)

    def respond(self, request: cw.Request) -> str:
        self.seen.append(request.context)
        return "ok"

    def send(self, text: str) -> None:
        with suppress(ConnectionError):
            self.sender.send(self.deliver, context=text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("checked", [False, True])
def test_a_sender_repeats_what_was_lost(
    kind: type[BaseException], fails: bool, checked: bool
) -> None:
    text = "word " * 20
    lost = text + "a sentence that may be lost, "
    for number in itertools.count(1):
        pair = Pair(checked=checked)
        pair.send(text)
        pair.down = fails
        reached = interrupted(number, FILES, kind(), partial(pair.send, lost))
        pair.down = False
        for more in ("then another, ", "then another, and then the last one."):
            pair.send(lost + more)
            assert pair.seen[-1] == lost + more
        if not reached:
            break
    assert number > 20


@pytest.mark.parametrize("text", [None, "a conversation, and more of it"])
@pytest.mark.parametrize("checked", [False, True])
def test_a_sender_repeats_the_same_turn(text: str | None, checked: bool) -> None:
    tool = {"name": "buy", "description": "Buy.", "schema": {}}
    for number in itertools.count(1):
        sender, turns = Sender(cw.Session(checked=checked)), list[Turn]()
        sender.send(turns.append, context="a conversation")
        repeat = partial(sender.send, turns.append, context=text, tool=tool, args={"book": 1})
        reached = interrupted(number, FILES, KeyboardInterrupt(), repeat)
        is_known = sender._number == 3
        repeat()
        assert is_known or turns[1] == turns[-1]
        if not reached:
            break
    assert number > 20


@pytest.mark.parametrize("kind", KINDS)
def test_a_coroutine_leaves_no_lock_behind(kind: type[BaseException]) -> None:
    async def respond(_: cw.Request) -> str:
        return "ok"

    async def deliver(turn: Turn) -> str | bytes:
        return await store.answer_async("c", turn, respond)

    def send(sender: Sender) -> str | bytes:
        with closing(asyncio.new_event_loop()) as loop:
            loop.set_exception_handler(lambda *_: None)  # It reports what the test raises.
            work = asyncio.wait_for(sender.send_async(deliver, context="a turn"), 20)
            return loop.run_until_complete(work)

    for number in itertools.count(1):
        store, sender = MemorySessionStore(), Sender()
        reached = interrupted(number, ("_lock.py",), kind(), partial(send, sender))
        assert send(sender) == "ok"
        if not reached:
            break
    assert number > 5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["memory", "sqlite"])
def test_a_store_answers_the_turn_again_or_keeps_its_answer(
    kind: type[BaseException], name: str
) -> None:
    session, asked = cw.Session(), list[str | None]()
    turns = [Turn(at, session.encode_request(context=f"turn {at}")) for at in (1, 2)]

    def respond(request: cw.Request) -> str:
        asked.append(request.context)
        return f"answer to {request.context}"

    for number in itertools.count(1):
        store = store_of(name)
        store.answer("c", turns[0], respond)
        answer = partial(store.answer, "c", turns[1], respond)
        reached = interrupted(number, FILES, kind(), answer)
        kept, before = store.load("c"), len(asked)
        assert kept is not None
        assert kept.answer == f"answer to turn {kept.number}"
        if name == "sqlite":
            time.sleep(LEASE_S)  # A lease that is still renewed would be held again.
        assert answer() == "answer to turn 2"
        assert len(asked) == before + (kept.number == 1)
        if isinstance(store, SQLiteSessionStore):
            store.close()
        if not reached:
            break
    assert number > 20


def store_of(name: str) -> SessionStore:
    if name == "memory":
        return MemorySessionStore(max_memory=100_000)
    return SQLiteSessionStore(":memory:", lease_s=LEASE_S, wait_s=1)


@pytest.mark.parametrize("method", ["put", "forget", "get", "trim"])
def test_a_table_counts_its_values_and_loses_none(method: str) -> None:
    class Value(NamedTuple):
        size: int

    for number in itertools.count(1):
        table: Table[str, Value] = Table(most=9, idle_s=9, memory=1_000, clock=lambda: 0)
        for key in "abc":
            table.put(key, Value(100))
        given = {"put": ("b", Value(300)), "trim": ()}.get(method, ("b",))
        reached = interrupted(
            number, ("_table.py",), KeyboardInterrupt(), partial(getattr(table, method), *given)
        )
        assert all(key in table._kept or (method, key) == ("forget", "b") for key in "abc")
        table.put("d", Value(10))
        assert table._counted() == sum(value.size for value in table)
        if not reached:
            break
    assert number > 2
