"""`compactwire mcp proxy URL`: cancellation, and how either side ends the relay."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from compactwire.mcp import _http
from compactwire.mcp._host import End
from compactwire.mcp._http_client import Endpoint
from compactwire.mcp._relay import Passthrough
from tests.mcp.http_server import MODERN, PAIR, POSIX, Request, Server, session, shake_hands
from tests.mcp.test_stdio import NOT_WRITTEN

if TYPE_CHECKING:
    from tests.mcp.http_server import Start

pytestmark = POSIX


def test_a_cancellation_is_sent_in_a_session(start: Start) -> None:
    cancelled = threading.Event()

    def answer(request: Request) -> None:
        if request.method == "POST" and request.message.get("id") == 1:
            request.stream(PAIR.replace("{}", '{"jsonrpc":"2.0","method":"notifications/n"}'))
            cancelled.wait(20)
            request.close()
        elif not session(request):
            request.result()
        elif request.body and request.message["method"] == "notifications/cancelled":
            cancelled.set()

    relay, server = start(answer)
    shake_hands(relay)
    relay.send("x", id=1)
    assert relay.answer()["method"] == "notifications/n"
    relay.send("notifications/cancelled", params={"requestId": 1})
    assert cancelled.wait(20)
    assert relay.ask("x", 2)["id"] == 2
    relay.send("notifications/cancelled", params={"requestId": 2})
    relay.ask("x", 3)
    sent = [one.message for one in server.sent("POST")]
    asked = [one["params"] for one in sent if one["method"] == "notifications/cancelled"]
    assert asked == [{"requestId": 1}, {"requestId": 2}]
    assert relay.end() == (0, b"", "")


def test_a_cancellation_without_a_session_closes_the_stream(start: Start) -> None:
    closed = threading.Event()

    def answer(request: Request) -> None:
        if request.message["id"] == 1:
            request.stream(PAIR.replace("{}", '{"jsonrpc":"2.0","method":"notifications/n"}'))
            if request.wait_closed():
                closed.set()
        else:
            request.result()

    relay, server = start(answer)
    relay.send("x", id=1, params={"_meta": MODERN})
    assert relay.answer()["method"] == "notifications/n"
    relay.send("notifications/cancelled", params={"requestId": 1})
    assert closed.wait(20)
    relay.send("notifications/cancelled", params={"requestId": 1})
    assert relay.ask("x", 2, _meta=MODERN)["id"] == 2
    assert relay.end() == (0, b"", "")
    assert len(server.requests) == 2


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_the_session(start: Start, ending: signal.Signals) -> None:
    hung = threading.Event()

    def answer(request: Request) -> None:
        if not session(request):
            hung.set()
            request.wait_closed()

    relay, server = start(answer)
    shake_hands(relay)
    relay.send("x", id=1)
    assert hung.wait(20)
    relay.process.send_signal(ending)
    relay.process.wait(20)
    assert relay.end() == (128 + ending, b"", "")
    assert len(server.sent("DELETE")) == 1


@pytest.mark.parametrize("signals", [1, 2])
def test_a_slow_end_of_the_session_does_not_delay_the_relay(start: Start, signals: int) -> None:
    asked, pieces = threading.Event(), []

    def answer(request: Request) -> None:
        if request.method != "DELETE":
            assert session(request)
            return
        asked.set()
        request.send("HTTP/1.1 204 x\r\n")
        while True:  # Ends by an error when the relay has ended.
            request.send("A: b\r\n")
            pieces.append(1)
            time.sleep(0.1)

    relay, _ = start(answer)
    shake_hands(relay)
    relay.process.send_signal(signal.SIGINT)
    assert asked.wait(20)
    if signals == 2:
        relay.process.send_signal(signal.SIGINT)
    assert relay.process.wait(20) == 130
    # After one signal, the server has three seconds; `http.client` ends after a hundred headers.
    assert len(pieces) < (20 if signals == 2 else 60)


def test_a_message_of_the_host_that_is_too_long_ends_the_session(start: Start) -> None:
    hung = threading.Event()

    def answer(request: Request) -> None:
        if not session(request):
            hung.set()
            request.wait_closed()

    relay, server = start(answer, "--max-message", "10000")
    shake_hands(relay)
    relay.send("x", id=1)
    assert hung.wait(20)
    relay.send("x", id=2, params={"text": "x" * 20_000})
    failure = relay.answer()
    said = "is left: the host sent a message of more than 10,000 bytes"
    assert (failure["id"], failure["error"]["message"].endswith(said)) == (1, True)
    assert relay.process.wait(20) == 1
    assert "the host sent a message of more than 10,000 bytes" in relay.end()[2]
    assert len(server.sent("DELETE")) == 1


def test_the_relay_ends_with_the_host_though_the_server_hangs(start: Start) -> None:
    hung = threading.Event()

    def answer(request: Request) -> None:
        hung.set()
        request.wait_closed()

    relay, _ = start(answer)
    relay.send("initialize", id=1)
    assert hung.wait(20)
    relay.leave()
    assert relay.process.wait(20) == 0


def test_answers_after_the_end_of_the_requests_still_arrive(start: Start) -> None:
    def answer(request: Request) -> None:
        if not session(request):
            time.sleep(4)
            request.result()

    relay, _ = start(answer)
    relay.send("initialize", id=1)
    relay.send("x", id=2)
    code, out, _ = relay.end()
    assert code == 0
    assert [json.loads(line)["id"] for line in out.splitlines()] == [1, 2]


def test_a_session_that_ends_after_the_requests_is_an_error(start: Start) -> None:
    def answer(request: Request) -> None:
        if not session(request):
            time.sleep(1)
            request.reply(status=404, kind="")

    relay, _ = start(answer)
    shake_hands(relay)
    relay.send("x", id=1)
    code, out, _ = relay.end()
    failure = json.loads(out)
    assert (failure["id"], failure["error"]["data"]) == (1, {"status": 404})
    assert code == 1


def test_a_session_that_ends_with_the_last_answer_is_an_error() -> None:
    # The answer and the end came between two looks: nothing is open any more.
    ends: queue.SimpleQueue[End] = queue.SimpleQueue()
    ends.put(End("server"))
    link: Any = SimpleNamespace(is_busy=lambda: False)
    assert _http._taken(ends, link, warn=pytest.fail) == End("server")
    assert _http._taken(ends, link, warn=pytest.fail) is None


def test_requests_without_an_answer_in_time_are_an_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_http, "ANSWERS", 0.5)
    server = Server(lambda request: request.wait_closed())
    read, write = os.pipe()
    os.write(write, b'{"jsonrpc":"2.0","id":5,"method":"x"}\n')
    os.close(write)
    monkeypatch.setattr(_http, "STDIN", read)
    warnings: list[str] = []
    try:
        status = _http.relay_http(
            Endpoint(server.url, {}), Passthrough(), max_message=10_000, warn=warnings.append
        )
    finally:
        os.close(read)
        server.close()
    failure = json.loads(capfd.readouterr().out)
    said = "did not answer within 0.5 seconds after the host closed its input"
    assert (failure["id"], failure["error"]["code"]) == (5, -32000)
    assert failure["error"]["message"].endswith(said)
    assert status == 1
    assert [warning.endswith(said) for warning in warnings] == [True]


def test_a_host_that_no_longer_reads_ends_the_relay(start: Start) -> None:
    relay, _ = start(lambda request: request.result())
    assert relay.process.stdout is not None
    relay.process.stdout.close()
    relay.send("x", id=1)
    assert relay.process.wait(20) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="NOT RUN: /dev/full does not exist")
def test_an_answer_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    server = Server(lambda request: request.result())
    with Path("/dev/full").open("wb") as full:
        made = subprocess.run(
            [sys.executable, "-m", "compactwire", "mcp", "proxy", "--no-ledger", server.url],
            input=b'{"jsonrpc":"2.0","id":5,"method":"x"}\n',
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    server.close()
    said = f"compactwire: error: {NOT_WRITTEN}\n"
    assert (made.returncode, made.stderr.decode()) == (1, said)


@pytest.mark.parametrize("seconds", [30, 0.5])
def test_an_answer_waits_for_a_host_that_reads_late(seconds: float) -> None:
    code = (
        "import sys; from compactwire.cli import main; from compactwire.mcp import _http;"
        f"_http.ANSWERS, _http._ACCEPTED, _http._LAST = {seconds}, 0.1, 0.1;"
        "sys.exit(main(sys.argv[1:]))"
    )
    server = Server(lambda request: request.result({"text": "x" * 1_000_000}))
    with subprocess.Popen(
        [sys.executable, "-c", code, "mcp", "proxy", "--no-ledger", server.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":5,"method":"x"}\n')
        process.stdin.close()
        time.sleep(3)
        line = process.stdout.readline()
        status, err = process.wait(timeout=20), process.stderr.read().decode()
    server.close()
    if seconds > 3:
        assert status == 0
        assert len(json.loads(line)["result"]["text"]) == 1_000_000
    else:
        said = "the last messages are lost: the host did not read them within 0.5 seconds"
        assert (status, err) == (1, f"compactwire: error: {said}\n")


def test_a_subscription_does_not_delay_the_end(start: Start) -> None:
    closed = threading.Event()

    def answer(request: Request) -> None:
        request.stream(PAIR.replace("{}", '{"jsonrpc":"2.0","method":"notifications/n"}'))
        request.wait_closed()
        closed.set()

    relay, _ = start(answer)
    relay.send("subscriptions/listen", id=1, params={"_meta": MODERN})
    relay.line()
    code, out, err = relay.end()
    # The relay did not wait for an answer, of which it would warn.
    assert (code, out, err) == (0, b"", "")
    assert closed.wait(20)


def test_notifications_do_not_delay_the_end(start: Start) -> None:
    ended = threading.Event()

    def answer(request: Request) -> None:
        if request.body and request.message.get("id") is None:
            # Longer than it matters to the host, but not as long as a request may take.
            request.wait_closed()
            ended.set()
        else:
            session(request)

    relay, server = start(answer)
    shake_hands(relay)
    code, out, err = relay.end()
    assert (code, out) == (0, b"")
    assert ended.wait(20)
    # The relay did not wait until it gives a notification up, of which it would warn.
    assert "notifications/initialized" not in err
    assert len(server.sent("DELETE")) == 1


@pytest.mark.parametrize("too_long", [False, True])
def test_the_end_is_noticed_while_a_message_waits_for_one_before(
    start: Start, too_long: bool
) -> None:
    hung = threading.Event()

    def answer(request: Request) -> None:
        if request.body and request.message.get("id") is None:
            hung.set()
            request.wait_closed()
        else:
            session(request)

    relay, server = start(answer, "--max-message", "10000")
    shake_hands(relay)
    assert hung.wait(20)
    relay.send("x", id=1)
    if too_long:
        relay.send("x", id=2, params={"text": "x" * 20_000})
        failure = relay.answer()
        assert failure["id"] == 1
        assert "is left: the host sent" in failure["error"]["message"]
    relay.leave()
    # The server never takes the notification: the relay would wait for 30 seconds.
    assert relay.process.wait(15) == too_long
    assert relay.process.stderr is not None
    assert b"without an answer" not in relay.process.stderr.read()
    methods = [one.message["method"] for one in server.sent("POST")]
    assert methods == ["initialize", "notifications/initialized"]


def test_a_cancellation_overtakes_what_waits(start: Start) -> None:
    hung, asked, cancelled = threading.Event(), threading.Event(), threading.Event()

    def answer(request: Request) -> None:
        method = request.message.get("method") if request.body else ""
        if method == "notifications/hangs":
            hung.set()
            assert cancelled.wait(10)
            request.reply(status=202, kind="")
        elif method == "x":
            asked.set()
            request.wait_closed()
        elif method == "y":
            request.result()
        else:
            session(request)
            if method == "notifications/cancelled":
                cancelled.set()

    relay, server = start(answer)
    shake_hands(relay)
    relay.send("x", id=1)
    assert asked.wait(20)
    relay.send("notifications/hangs")
    assert hung.wait(20)
    relay.send("y", id=2)
    relay.send("notifications/cancelled", params={"requestId": 2})
    relay.send("notifications/cancelled", params={"requestId": 1})
    assert cancelled.wait(10)
    assert relay.ask("y", 3)["id"] in (2, 3)
    sent = [one.message for one in server.sent("POST")]
    asked_for = [one["params"] for one in sent if one["method"] == "notifications/cancelled"]
    assert asked_for[0] == {"requestId": 1}
