"""Which requests to an MCP server over HTTP run, wait or are given up; no connection is opened."""

from __future__ import annotations

import json
import queue
import threading
from typing import TYPE_CHECKING

import pytest

from compactwire.mcp import _http_link
from compactwire.mcp._http_client import Answer, Endpoint, HttpError, Interrupt
from compactwire.mcp._http_link import Link
from compactwire.mcp._relay import Passthrough

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compactwire.mcp._host import End
    from compactwire.mcp._http_exchange import Exchange


class Server(Endpoint):
    """Answers nothing, and closes the connection of a request when its id is told to close."""

    def __init__(self, requests: int) -> None:
        super().__init__("http://127.0.0.1:1/mcp", {})
        self.closes = [threading.Event() for _ in range(requests)]
        self.interrupts: dict[int, Interrupt] = {}
        self.started: queue.SimpleQueue[int] = queue.SimpleQueue()

    def open(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None,
        interrupt: Interrupt,
        *,
        timeout: float | None = None,
    ) -> Answer:
        identity = json.loads(body or b"{}").get("id")
        if identity is not None:
            self.interrupts[identity] = interrupt
            self.started.put(identity)
            self.closes[identity].wait(20)
        raise HttpError("closed the connection without an answer")


def link_to(server: Server) -> Link:
    ends: queue.SimpleQueue[End] = queue.SimpleQueue()
    return Link(server, Passthrough(), 1 << 20, lambda _: None, ends)


def test_requests_that_wait_are_answered_if_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered: queue.SimpleQueue[int] = queue.SimpleQueue()

    def passed_on(line: bytes) -> bool:
        answered.put(json.loads(line)["id"])
        return True

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_http_link, "passed_on", passed_on)
    server = Server(3_000)
    link = link_to(server)
    for n in range(3_000):
        link.from_host(b'{"jsonrpc":"2.0","id":%d,"method":"x"}\n' % n)
    monkeypatch.setattr(threading.Thread, "start", start)
    server.closes[0].set()
    waited = 3_000 - 64
    assert {answered.get(timeout=20) for _ in range(1 + waited)} == {0, *range(64, 3_000)}
    for one in server.closes[1:64]:
        one.set()
    assert {answered.get(timeout=20) for _ in range(63)} == set(range(1, 64))


def test_a_request_that_is_cancelled_often_does_not_end_another() -> None:
    server = Server(2)
    link = link_to(server)
    for n in range(2):
        link.from_host(b'{"jsonrpc":"2.0","id":%d,"method":"x"}\n' % n)
    assert {server.started.get(timeout=20) for _ in range(2)} == {0, 1}
    cancelled = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}\n'
    for n in (0, *[1] * 100):
        link.from_host(cancelled % n)
    assert not any(one.was_set for one in server.interrupts.values())
    for one in server.closes:
        one.set()


def test_no_more_is_read_while_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http_link, "passed_on", lambda _: True)
    server = Server(4)
    link = link_to(server)
    read: queue.SimpleQueue[int] = queue.SimpleQueue()

    def host() -> None:
        for n, method in enumerate(("initialize", "x", "x", "x")):
            message = {"id": n, "method": method, "params": {"text": "x" * (1 << 20)}}
            link.from_host(json.dumps(message).encode())
            read.put(n)

    threading.Thread(target=host, daemon=True).start()
    assert [read.get(timeout=20) for _ in range(2)] == [0, 1]
    with pytest.raises(queue.Empty):  # Time can only hide a failure.
        read.get(timeout=0.2)
    for one in server.closes:
        one.set()
    assert [read.get(timeout=20) for _ in range(2)] == [2, 3]
    assert {server.started.get(timeout=20) for _ in range(4)} == {0, 1, 2, 3}


def test_a_request_that_was_kept_is_open_until_it_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise, the relay of a host that has left might end without its answer."""
    monkeypatch.setattr(_http_link, "passed_on", lambda _: True)
    server = Server(2)
    link = link_to(server)
    is_open: queue.SimpleQueue[bool] = queue.SimpleQueue()
    start = link._start

    def start_late(exchange: Exchange) -> None:
        is_open.put(link.has_requests())
        start(exchange)

    for n, method in enumerate(("initialize", "x")):
        link.from_host(b'{"jsonrpc":"2.0","id":%d,"method":"%s"}\n' % (n, method.encode()))
    monkeypatch.setattr(link, "_start", start_late)
    server.closes[0].set()
    assert is_open.get(timeout=20)
    assert {server.started.get(timeout=20) for _ in range(2)} == {0, 1}
    server.closes[1].set()
