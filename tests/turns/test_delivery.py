"""Turns that are delivered, lost, delivered again or rejected."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import compactwire as cw
from compactwire.turns import MemorySessionStore, SavedSession, Sender, SessionStore, Turn
from tests.strategies.sessions import SEARCH, content_of, expected_content
from tests.strategies.turns import HELLO, MORE, Lost, Server, frames_of


def test_a_conversation_sends_only_what_is_new(store: SessionStore) -> None:
    server, sender = Server(store), Sender()
    assert sender.send(server.deliver, **HELLO) == "1: User: Hi\n"
    assert sender.send(server.deliver, **MORE, pack="bytes") == "2: User: Hi\nAgent: Hello.\n"
    assert [turn.number for turn in server.turns] == [1, 2]
    assert len(frames_of(server.turns[0])) == 3
    assert isinstance(server.turns[1].frames, bytes)


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


def test_a_conversation_that_never_recovers_ends_after_four_turns() -> None:
    turns: list[Turn] = []

    def reject(turn: Turn) -> str:
        turns.append(turn)
        raise cw.UnknownReference("unknown", ids=("c_00000000",))

    with pytest.raises(cw.UnknownReference):
        Sender().send(reject, **HELLO)
    assert len(turns) == 4


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


def test_a_copied_sender_has_a_session_of_its_own() -> None:
    sender = Sender()
    state = sender.session.to_bytes()
    copied = copy.copy(sender)
    copied.send(Server(MemorySessionStore()).deliver, **HELLO)
    assert sender.session.to_bytes() == state


def test_a_sender_copied_during_a_turn_does_not_repeat_it_unasked() -> None:
    server, sender = Server(MemorySessionStore()), Sender()
    copies: list[Sender] = []

    def copy_and_lose_the_answer(turn: Turn) -> str:
        copies.append(copy.copy(sender))
        return server.deliver_and_lose_the_answer(turn)

    for _ in range(2):
        with pytest.raises(Lost):
            sender.send(copy_and_lose_the_answer, **HELLO)
    for copied in copies:
        with pytest.raises(cw.TurnConflict):
            copied.send(server.deliver, **HELLO)
    assert len(server.seen) == 1


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
