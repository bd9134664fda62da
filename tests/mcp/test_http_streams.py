"""`compactwire mcp proxy URL`: streams that break, and how often they are opened again."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from compactwire.mcp._http_client import Interrupt
from compactwire.mcp._retry import Retry
from compactwire.mcp._sse import Event
from tests.mcp.http_server import POSIX, Request, answered, session, shake_hands
from tests.mcp.test_stdio import peak

if TYPE_CHECKING:
    from tests.mcp.http_server import Start

pytestmark = POSIX


def test_a_stream_is_resumed_where_it_broke(start: Start) -> None:
    def answer(request: Request) -> None:
        note = 'data: {"jsonrpc":"2.0","method":"notifications/n","params":{"n":%d}}\n\n'
        if request.method == "POST":
            request.stream("id: a\nretry: 100\ndata:\n\n", "id: b\n" + note % 1, note[:20])
        elif len(server.sent("GET")) == 1:
            request.stream("id: c\n" + note % 2)
        elif len(server.sent("GET")) == 2:
            request.reply(status=503)
        else:
            request.stream(answered(1))
        request.close()

    relay, server = start(answer)
    relay.send("x", id=1)
    got = [relay.answer() for _ in range(3)]
    assert [one.get("params") for one in got] == [{"n": 1}, {"n": 2}, None]
    assert got[2]["result"] == {}
    assert [one.headers["last-event-id"] for one in server.sent("GET")] == ["b", "c", "c"]
    assert relay.end() == (0, b"", "")


def test_an_answered_stream_with_endless_comments_is_closed(start: Start) -> None:
    closed = threading.Event()

    def answer(request: Request) -> None:
        request.stream(answered(1))
        try:
            for _ in range(200):
                request.send(": ping\n\n")
                time.sleep(0.05)
        except OSError:
            closed.set()

    relay, _ = start(answer)
    assert "result" in relay.ask("x")
    assert closed.wait(20)
    assert relay.end() == (0, b"", "")


def test_few_answered_streams_stay_open(start: Start) -> None:
    lock, now, most = threading.Lock(), 0, 0

    def answer(request: Request) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        request.stream(answered(request.message["id"]))
        request.wait_closed()
        with lock:
            now -= 1

    relay, _ = start(answer)
    for identity in range(150):
        assert "result" in relay.ask("x", identity)
    assert most < 40
    assert relay.end() == (0, b"", "")


def test_answers_that_cannot_be_read_leave_room_for_other_requests(start: Start) -> None:
    def answer(request: Request) -> None:
        identity = request.message["id"]
        request.stream(answered(identity).replace("{}", "9" * 5000))
        request.wait_closed()

    relay, _ = start(answer)
    for identity in range(70):
        relay.send("x", id=identity)
        assert len(relay.line()) > 5000
    assert relay.end() == (0, b"", "")


@pytest.mark.parametrize("value", ["[" * 200_000 + "]" * 200_000, '"' + "x" * (9 << 20) + '"'])
def test_a_notification_that_cannot_be_read_is_no_answer(start: Start, value: str) -> None:
    message = {"method": "notifications/n", "params": {"a": "VALUE"}}
    note = f"data: {json.dumps(message)}\n\n".replace('"VALUE"', value)

    def answer(request: Request) -> None:
        if request.method == "GET":
            request.stream(answered(1))
        elif request.message["id"] == 1:
            request.stream("id: a\nretry: 100\n" + note)
        else:
            request.stream(note)
        request.close()

    relay, server = start(answer)
    relay.send("x", id=1)
    assert len(relay.line()) > 4000
    assert relay.answer() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert [one.headers["last-event-id"] for one in server.sent("GET")] == ["a"]
    relay.send("x", id=2)
    assert len(relay.line()) > 4000
    assert "without the answer" in relay.answer()["error"]["message"]
    assert relay.end() == (0, b"", "")


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_stream_that_cannot_be_resumed_is_an_error(start: Start, status: int) -> None:
    def answer(request: Request) -> None:
        if request.method == "POST":
            request.stream("id: a\nretry: 100\ndata:\n\n")
            request.close()
        else:
            request.reply(status=status)

    relay, server = start(answer)
    assert f"answered {status}" in relay.error()
    assert len(server.sent("GET")) == 1


class Clock(Interrupt):
    """Notes the seconds, and waits none."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.waited.append(seconds)
        return False


def test_a_stream_is_not_opened_again_for_ever() -> None:
    clock, retry = Clock(), Retry()
    while retry.waits(clock):
        retry.failed()
    assert len(clock.waited) == 5
    assert 20 < sum(clock.waited) < 60
    clock, retry = Clock(), Retry()
    while retry.waits(clock):
        retry.ended(progress=False)
    assert len(clock.waited) == 200
    assert max(clock.waited) == 60


def test_the_server_chooses_the_delay_within_limits() -> None:
    for asked, waited in ((0, 0.1), (700, 0.7), (10**9 - 1, 60)):
        clock, retry = Clock(), Retry()
        retry.note(Event(b"", retry=asked))
        assert retry.waits(clock)
        assert clock.waited == [waited]


def test_the_end_of_notifications_is_reported(start: Start) -> None:
    def answer(request: Request) -> None:
        if request.method != "GET":
            session(request)
        elif len(server.sent("GET")) == 1:
            request.stream("id: 7\nretry: 100\ndata:\n\n")
            request.close()
        else:
            request.reply(status=403)

    relay, server = start(answer)
    shake_hands(relay)
    assert relay.process.stderr is not None
    said = relay.process.stderr.readline().decode()
    assert server.sent("GET")[1].headers["last-event-id"] == "7"
    assert said == (
        f"compactwire: the MCP server at http://127.0.0.1:{server.port} answered 403 Forbidden; "
        "its notifications are not received\n"
    )


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="NOT RUN: the test needs the memory in /proc"
)
@pytest.mark.parametrize("kind", ["a stream", "JSON"])
def test_memory_is_bounded_by_two_answers(start: Start, kind: str) -> None:
    # One character beyond U+FFFF makes a text of Python four times as long.
    # From 32 MiB on, what is freed goes back to the system at once.
    long = "x" * 40_000_000 + "\N{GRINNING FACE}"

    def answer(request: Request) -> None:
        text = long if request.message["id"] > 1 else ""
        message = {"jsonrpc": "2.0", "id": request.message["id"], "result": {"text": text}}
        if kind == "JSON":
            request.reply(json.dumps(message, ensure_ascii=False))
        else:
            request.stream("data: " + json.dumps(message, ensure_ascii=False) + "\n\n")
            request.close()

    relay, _ = start(answer)
    relay.ask("x", 1)
    before = peak(relay.process.pid)
    for identity in (2, 3):
        assert relay.ask("x", identity)["result"] == {"text": long}
    assert peak(relay.process.pid) - before < 2.25 * len(long)


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="NOT RUN: the test needs the memory in /proc"
)
def test_requests_that_the_server_works_on_take_no_memory(start: Start) -> None:
    def answer(request: Request) -> None:
        request.stream("id: a\ndata:\n\n" + answered(0, method="x"))
        request.wait_closed()

    relay, _ = start(answer)
    text = "x" * 8_000_000
    for n in range(1, 17):
        relay.send("x", id=n, params={"text": text})
        assert relay.answer()["method"] == "x"
    status = Path(f"/proc/{relay.process.pid}/status").read_text()
    (size,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    assert int(size) < 16 * 8_000  # Less than that of the requests.
