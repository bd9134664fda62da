"""A turn inside a turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire.turns import Sender, SessionStore, SQLiteSessionStore, Turn
from tests.strategies.turns import HELLO


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


def test_stores_of_one_file_find_a_turn_that_waits_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    turn = Turn(1, cw.Session().encode_request(context="a"))
    with SQLiteSessionStore(path) as first, SQLiteSessionStore(path) as second:

        def respond(request: cw.Request) -> Any:
            return second.answer("one", turn, lambda request: "second")

        with pytest.raises(cw.NestedTurn):
            first.answer("one", turn, respond)
