"""Turns of sessions with `checked=False`, whose requests have no hash."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest

import compactwire as cw
from compactwire.turns import MemorySessionStore, Sender, Turn
from tests.strategies.turns import Lost, Server


def unchecked() -> tuple[Server, Sender]:
    return Server(MemorySessionStore(checked=False)), Sender(cw.Session(checked=False))


class Interrupted:
    """A session, in one of whose calls Ctrl-C comes after the request is encoded."""

    def __init__(self, session: cw.Session, after: int) -> None:
        self._session, self._left = session, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def encode_request(self, **request: Any) -> Any:
        frames = self._session.encode_request(**request)
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt
        return frames


@pytest.mark.parametrize("pack", [False, True, "bytes"])
@pytest.mark.parametrize(("lost", "after"), [(0, 1), (1, 1), (1, 2)])
def test_without_a_hash_ctrl_c_before_the_delivery_never_changes_a_text(
    pack: Any, lost: int, after: int
) -> None:
    server, sender = unchecked()
    sender.send(server.deliver, context="a", pack=pack)
    for _ in range(lost):
        with pytest.raises(Lost):
            sender.send(server.deliver_and_lose_the_answer, context="ab", pack=pack)
    session, delivered = sender.session, len(server.turns)
    sender.session = cast("cw.Session", Interrupted(session, after))
    with pytest.raises(KeyboardInterrupt):
        sender.send(server.deliver, context="ac", pack=pack)
    assert len(server.turns) == delivered
    sender.session = session
    for context in ("acd", "acde"):
        sender.send(server.deliver, context=context, pack=pack)
        assert server.seen[-1] == context


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


@pytest.mark.parametrize(
    "moved", [lambda sender: pickle.loads(pickle.dumps(sender)), copy.copy, copy.deepcopy]
)
def test_without_a_hash_a_sender_copied_during_a_lost_turn_sends_in_full(
    moved: Callable[[Sender], Sender],
) -> None:
    server, sender = unchecked()
    sender.send(server.deliver, context="a")
    copies: list[Sender] = []

    def copy_and_lose(turn: Turn) -> str:
        copies.append(moved(sender))
        raise Lost

    with pytest.raises(Lost):
        sender.send(copy_and_lose, context="ab")
    copies[0].send(server.deliver, context="abc")
    assert server.seen == ["a", "abc"]


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
