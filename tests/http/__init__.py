"""Tests of the HTTP protocol. They need no framework: client and server are joined here."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from compactwire.http._client import Client
from compactwire.http._protocol import Headers, Lanes, Options, RefusalError, without
from compactwire.http._server import Server, refusal

ORIGIN = "http://agent.example:80"
MANY = 1 << 28
RANDOM = bytes(random.Random(1).choices(range(128), k=512))
"""A text that is longer when it is coded."""


class Lost(Exception):
    """The network failed."""


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def options(**changed: Any) -> Options:
    given: dict[str, Any] = {
        "max_sessions": 256,
        "idle_s": 600.0,
        "max_size": 1 << 20,
        "max_memory": MANY,
    }
    return Options(**(given | changed))


@dataclass
class Sent:
    """One message pair on the network."""

    headers: Headers
    body: bytes
    status: int = 0
    answer_headers: Headers = field(default_factory=list)
    answer: bytes = b""

    @property
    def said(self) -> str:
        return dict(self.headers).get("compactwire", "")

    @property
    def answered(self) -> str:
        return dict(self.answer_headers).get("compactwire", "")


Change = Callable[[Sent], None]


def nothing(sent: Sent) -> None:
    """The network changes nothing."""


@dataclass
class Wire:
    """A client and a server, whose application answers a body with `answer(body)`."""

    client: Client = field(default_factory=lambda: Client(options()))
    server: Server | None = field(default_factory=lambda: Server(options(), 4))
    answer: Callable[[bytes], bytes] = lambda body: body
    status: int = 200
    reads: bool = True
    """Whether the application reads its body before it answers."""
    sent: list[Sent] = field(default_factory=list)
    seen: list[bytes] = field(default_factory=list)
    """The bodies that the application saw."""

    def post(
        self,
        body: bytes,
        *headers: tuple[str, str],
        before: Change = nothing,
        after: Change = nothing,
        method: str = "POST",
        origin: str = ORIGIN,
    ) -> bytes:
        """Send a body and return the answer; the network does `before` and `after`."""
        exchange = self.client.begin(origin, list(headers), body, method)
        try:
            while True:
                said, coded = exchange.attempt()
                fields = [*headers, ("content-length", str(len(body if coded is None else coded)))]
                if said:
                    fields.append(("compactwire", said))
                if coded is not None:
                    fields.append(("content-encoding", "x-compactwire"))
                sent = Sent(fields, body if coded is None else coded)
                self.sent.append(sent)
                before(sent)
                self.deliver(sent, method)
                after(sent)
                step = exchange.answered(sent.status, sent.answer_headers)
                if step == "plain":
                    return sent.answer
                if step == "coded":
                    return exchange.decode(sent.answer)
        finally:
            exchange.close()

    def deliver(self, sent: Sent, method: str = "POST") -> None:
        """The server's part."""
        turn = self.server.begin(method, sent.headers) if self.server else None
        body = sent.body
        if turn is not None and turn.coded:
            try:
                body = turn.body(sent.body)
            except RefusalError as refused:
                sent.status = refused.status
                sent.answer_headers, sent.answer = refusal(refused)
                return
            assert without(turn.request_headers(len(body)), "content-length") == without(
                sent.headers, "content-length", "content-encoding", "compactwire"
            )
        if turn is not None and turn.wants and self.reads:
            turn.first = lambda: body
        self.seen.append(body)
        answer = self.answer(body)
        sent.status, sent.answer = self.status, answer
        sent.answer_headers = [("content-length", str(len(answer)))]
        if turn is None:
            return
        if turn.may_code(sent.status, sent.answer_headers):
            sent.answer_headers, sent.answer = turn.answer(sent.status, sent.answer_headers, answer)
        else:
            sent.answer_headers = turn.plain(sent.status, sent.answer_headers)

    def opened(self) -> Wire:
        """The same, with a session."""
        self.post(b"the first body is plain")
        assert self.sent[-1].answered.startswith("session=")
        return self


def kept(side: Client | Server | None) -> list[Lanes]:
    """The sessions that a side keeps."""
    assert side is not None
    return list(side._sessions)


def body(turns: int, name: str = "a") -> bytes:
    """The body of a conversation of so many turns."""
    lines = [f'{{"role":"user","content":"{name}, message {n}"}}' for n in range(turns)]
    return (
        '{"system":"' + f"You are {name}. " * 50 + '","messages":[' + ",".join(lines) + "]}"
    ).encode()
