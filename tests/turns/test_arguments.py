"""Arguments of turns, senders and stores, and the answers of the caller's functions."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
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
from tests.strategies.turns import HELLO


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


def test_a_pickle_of_a_turn_is_checked() -> None:
    turn = Turn(1, ["REQ", b"x"])
    data = pickle.dumps(turn, protocol=0)
    assert pickle.loads(data) == copy.copy(turn) == turn
    with pytest.raises(cw.OptionError, match=r"number must be from 1 to .*, not 0"):
        pickle.loads(data.replace(b"I1\n", b"I0\n"))


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


class OwnStore(SessionStore):
    """A store of a caller, whose methods return what they should not."""

    def __init__(self, loaded: Any, reserved: Any = float("inf")) -> None:
        super().__init__()
        self.loaded, self.reserved = loaded, reserved

    def load(self, conversation: str, /) -> Any:
        return self.loaded

    def save(self, conversation: str, saved: SavedSession, /, *, after: int) -> bool:
        return False

    def forget(self, conversation: str, /) -> None:
        raise NotImplementedError

    def lease(self, conversation: str, holder: str, /) -> Any:
        return self.reserved


@pytest.mark.parametrize(
    ("store", "message"),
    [
        (OwnStore((1, b"", "", b"")), r"load\(\) must be a SavedSession, not tuple"),
        (OwnStore({"number": 1}), r"load\(\) must be a SavedSession, not dict"),
        (OwnStore(None, None), r"lease\(\) must be a number, not NoneType"),
    ],
)
def test_a_store_of_a_caller_is_told_what_its_methods_must_return(
    store: SessionStore, message: str
) -> None:
    async def respond(request: cw.Request) -> str:
        raise AssertionError

    turn = Turn(1, cw.Session().encode_request(**HELLO))
    with pytest.raises(TypeError, match=message):
        store.answer("one", turn, lambda request: "")
    with pytest.raises(TypeError, match=message):
        asyncio.run(store.answer_async("one", turn, respond))


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"number": 0}, cw.OptionError),
        ({"number": True}, TypeError),
        ({"digest": "d"}, TypeError),
        ({"digest": None}, TypeError),
        ({"session": bytearray(b"s")}, TypeError),
        ({"session": "s"}, TypeError),
        ({"answer": 5}, TypeError),
        ({"answer": bytearray(b"a")}, TypeError),
        ({"answer": "\ud800"}, cw.UnsupportedValue),
    ],
)
def test_a_store_keeps_nothing_that_it_could_not_load(
    store: SessionStore, changed: dict[str, Any], error: type[Exception]
) -> None:
    saved = SavedSession(1, b"", "", b"")
    (name,) = changed
    with pytest.raises(error, match=f"saved.{name}"):
        store.save("one", saved._replace(**changed), after=0)
    assert store.load("one") is None


def test_an_answer_that_no_store_can_keep_is_an_error(store: SessionStore) -> None:
    turn = Turn(1, cw.Session().encode_request(**HELLO))
    with pytest.raises(cw.UnsupportedValue, match="answer: lone surrogate at position 1"):
        store.answer("one", turn, lambda request: "a\ud800")
    assert store.load("one") is None


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


def test_send_does_not_take_a_coroutine_for_an_answer() -> None:
    sender = Sender()
    state = sender.session.to_bytes()

    async def deliver(turn: Turn) -> str:
        return "sent"

    with pytest.raises(TypeError, match="use send_async"):
        _ = sender.send(deliver, **HELLO)
    assert sender.session.to_bytes() == state
    assert asyncio.run(sender.send_async(deliver, **HELLO)) == "sent"
