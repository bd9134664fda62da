"""The numbers of turns, and `Sender.go_on` after a conflict."""

from __future__ import annotations

import pytest

import compactwire as cw
from compactwire.turns import MemorySessionStore, SavedSession, Sender, SessionStore, Turn
from tests.strategies.turns import HELLO, MORE, Lost, Server


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


def test_after_the_last_number_only_another_conversation_helps(store: SessionStore) -> None:
    server, sender = Server(store), Sender(number=2**63 - 1)
    sender.send(server.deliver, **HELLO)
    with pytest.raises(cw.TurnConflict, match="this one has had the last number"):
        server.deliver(Turn(1, server.turns[0].frames))


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
    with pytest.raises(cw.OptionError, match=r"saved\.number must be from 1 to"):
        store.save("one", saved._replace(number=number), after=0)
