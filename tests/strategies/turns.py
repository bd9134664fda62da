"""Requests, a server and a failing transport for the tests of turns."""

from __future__ import annotations

from typing import Any

import compactwire as cw
from compactwire.turns import SessionStore, Turn
from tests.strategies.sessions import SEARCH

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
