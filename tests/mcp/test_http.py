"""`compactwire mcp proxy URL` in front of servers of plain sockets, many of them hostile."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from compactwire.mcp._http_client import Endpoint, HttpError, Interrupt
from compactwire.mcp._retry import Retry
from compactwire.mcp._sse import Event
from tests.mcp.http_server import MODERN, Relay, Request, Server
from tests.mcp.test_projection import ROWS, SHORT
from tests.mcp.test_stdio import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Start = Callable[..., tuple[Relay, Server]]

SECRET = "s3cret-t0ken"
PAIR = "event: message\ndata: {}\n\n"

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="NOT RUN: the tests use signals of POSIX"
)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server that answers by the function, and a relay to it."""
    with contextlib.ExitStack() as stack:

        def both(answer: Callable[[Request], object], *options: str) -> tuple[Relay, Server]:
            server = Server(answer)
            stack.callback(server.close)
            relay = Relay(tmp_path, server.url, *options, TOKEN=SECRET)
            stack.callback(end, relay)
            return relay, server

        yield both


def end(relay: Relay) -> None:
    relay.process.kill()
    relay.process.communicate()


def answered(identity: object, **members: Any) -> str:
    """An event with the answer to a request."""
    return (
        "data: " + json.dumps({"jsonrpc": "2.0", "id": identity, "result": {}, **members}) + "\n\n"
    )


def session(request: Request) -> bool:
    """Answer the handshake and the end of a session; whether the request was one of these."""
    if request.method == "GET":
        request.reply(status=405)
    elif request.method == "DELETE":
        request.reply(status=204)
    elif request.message.get("method") == "initialize":
        request.result({"protocolVersion": "2025-11-25"}, Mcp_Session_Id="abc")
    elif "id" not in request.message or "method" not in request.message:
        request.reply(status=202, kind="")
    else:
        return False
    return True


def shake_hands(relay: Relay) -> None:
    assert relay.ask("initialize", "init")["result"] == {"protocolVersion": "2025-11-25"}
    relay.send("notifications/initialized")


# What passes


def test_results_are_shrunk_and_a_session_begins_and_ends(start: Start) -> None:
    def answer(request: Request) -> None:
        if session(request):
            return
        if request.message["method"] == "tools/list":
            request.result({"tools": [{"name": "rows"}]})
        else:
            text = {"type": "text", "text": json.dumps(ROWS, indent=2)}
            request.result({"content": [text], "structuredContent": {"result": ROWS}})

    relay, server = start(answer, "--header", "Authorization: Bearer ${TOKEN}")
    shake_hands(relay)
    relay.ask("tools/list", "list")
    relay.call("rows")
    assert relay.answer()["result"] == {"content": [{"type": "text", "text": SHORT}]}
    assert relay.end() == (0, b"", "")
    first, *others = server.requests
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    assert sorted(one.method for one in others) == ["DELETE", "GET", "POST", "POST", "POST"]
    for request in others:
        assert request.headers["mcp-session-id"] == "abc"
        assert request.headers["mcp-protocol-version"] == "2025-11-25"
    for request in server.requests:
        assert request.headers["authorization"] == f"Bearer {SECRET}"
        assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert others[-1].method == "DELETE"


@pytest.mark.parametrize("streamed", [False, True])
def test_every_other_byte_passes(start: Start, streamed: bool) -> None:
    text = '{"jsonrpc": "2.0",\r\n "x": [1.10, 1e2, "\\u00e9 é"],\n "result": {"y": 0.10}, "id": 1}'
    event = "id: 1\nevent: message\n" + "".join(f"data: {one}\n" for one in text.split("\r\n"))

    def answer(request: Request) -> None:
        if streamed:
            request.stream(event.replace('\n "result"', '\ndata:  "result"') + "\n")
            request.close()
        else:
            request.reply(text, kind="application/json; charset=utf-8")

    relay, server = start(answer)
    sent = b'{"jsonrpc":"2.0", "id":1,  "method":"future/x", "params":{"a":1.0}}'
    assert relay.process.stdin is not None
    relay.process.stdin.write(sent + b"\n")
    relay.process.stdin.flush()
    line = relay.line().decode()
    assert "".join(line.split()) == "".join(text.split())
    assert server.requests[0].body == sent


def test_requests_of_2026_have_their_headers_and_no_session(start: Start) -> None:
    schema = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

    def answer(request: Request) -> None:
        listed = request.message["method"] == "tools/list"
        request.result({"tools": [{"name": "t", "inputSchema": schema}]} if listed else {})

    relay, server = start(answer)
    relay.ask("tools/list", _meta=MODERN)
    relay.ask("tools/call", name="t", arguments={"region": "eu"}, _meta=MODERN)
    assert relay.end() == (0, b"", "")
    first, second = server.requests
    assert first.headers["mcp-protocol-version"] == "2026-07-28"
    assert first.headers["mcp-method"] == "tools/list"
    assert second.headers["mcp-name"] == "t"
    assert second.headers["mcp-param-region"] == "eu"
    assert "mcp-session-id" not in second.headers


def test_more_calls_than_connections_keep_their_ids(start: Start) -> None:
    relay, server = start(lambda request: request.result({"said": request.message["params"]}))
    for n in range(300):
        relay.send("x", id=n, params={"n": n})
    answers = [relay.answer() for _ in range(300)]
    assert {one["id"]: one["result"]["said"]["n"] for one in answers} == {n: n for n in range(300)}
    assert server.connections <= 300


def test_a_connection_is_used_again(start: Start) -> None:
    def answer(request: Request) -> None:
        if request.message["id"] == 3:
            request.result()
            request.close()
        elif request.message["id"] == 1:
            body = answered(1)
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            request.send(f"{head}Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n{body}\r\n")
            request.send("0\r\n\r\n")
        else:
            request.result()

    relay, server = start(answer)
    for identity in range(1, 6):
        assert "result" in relay.ask("x", identity)
        time.sleep(0.1)
    assert server.connections < 5


def test_a_stream_in_answer_to_a_notification_is_not_read(start: Start) -> None:
    def answer(request: Request) -> None:
        if request.message["method"] == "x":
            request.result()
        else:
            request.stream()
            if request.wait_closed():
                closed.set()

    closed = threading.Event()
    relay, _ = start(answer)
    relay.send("notifications/y")
    assert relay.ask("x")["result"] == {}
    assert closed.wait(20)
    assert relay.end() == (0, b"", "")


def test_a_notification_arrives_before_the_next_request(start: Start) -> None:
    arrived = []

    def answer(request: Request) -> None:
        arrived.append(request.message["method"])
        if request.message["method"] == "x":
            request.result()
        else:
            time.sleep(0.3)
            arrived.append("done")
            request.reply(status=202, kind="")

    relay, _ = start(answer)
    relay.send("notifications/y")
    relay.ask("x")
    assert arrived == ["notifications/y", "done", "x"]


def test_messages_of_the_server_pass_both_ways(start: Start) -> None:
    asked = threading.Event()

    def answer(request: Request) -> None:
        if request.method == "GET":
            request.stream('data: {"jsonrpc":"2.0","id":1,"method":"ping"}\n\n')
            asked.wait(20)
        elif request.method == "POST" and "result" in request.message:
            request.reply(status=202, kind="")
            asked.set()
        else:
            session(request)

    relay, server = start(answer)
    shake_hands(relay)
    assert relay.answer()["method"] == "ping"
    assert relay.process.stdin is not None
    relay.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    relay.process.stdin.flush()
    assert asked.wait(20)
    assert relay.end()[0] == 0
    (heard,) = server.sent("GET")
    assert heard.headers["accept"] == "text/event-stream"


def test_the_stream_of_the_server_is_open_before_the_next_request(start: Start) -> None:
    opened = threading.Event()

    def answer(request: Request) -> None:
        if request.method == "GET":
            time.sleep(0.3)
            opened.set()
            request.stream()
            request.wait_closed()
        elif not session(request):
            request.result({"opened": opened.is_set()})

    relay, _ = start(answer)
    shake_hands(relay)
    assert relay.ask("x")["result"] == {"opened": True}


def test_a_batch_is_answered_in_any_form(start: Start) -> None:
    def answer(request: Request) -> None:
        both = [{"jsonrpc": "2.0", "id": one["id"], "result": {}} for one in request.message]
        request.reply(json.dumps(both[:1]))

    relay, _ = start(answer)
    assert relay.process.stdin is not None
    batch = [{"jsonrpc": "2.0", "id": n, "method": "x"} for n in (1, 2)]
    relay.process.stdin.write(json.dumps(batch).encode() + b"\n")
    relay.process.stdin.flush()
    assert relay.answer() == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    missing = relay.answer()
    assert (missing["id"], "another id" in missing["error"]["message"]) == (2, True)


def test_a_stream_that_never_ends_is_closed_after_the_answer(start: Start) -> None:
    closed = threading.Event()

    def answer(request: Request) -> None:
        request.stream(answered(1), 'data: {"jsonrpc":"2.0","method":"notifications/late"}\n\n')
        if request.wait_closed():
            closed.set()

    relay, _ = start(answer)
    relay.send("x", id=1)
    assert relay.answer()["id"] == 1
    assert relay.answer()["method"] == "notifications/late"
    assert closed.wait(20)


def test_switched_off_results_are_those_of_the_server(start: Start) -> None:
    result = {"content": [{"type": "text", "text": json.dumps(ROWS)}], "structuredContent": ROWS}
    relay, _ = start(lambda request: request.result(result), "--off")
    relay.call("rows")
    assert relay.answer()["result"] == result


# Errors


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "answered 401 Unauthorized: it wants valid credentials, see --header"),
        (403, "answered 403 Forbidden"),
        (404, "answered 404 Not Found"),
        (429, "answered 429 Too Many Requests"),
        (500, "answered 500 Internal Server Error"),
        (503, "answered 503 Service Unavailable"),
        (799, "answered 799"),
        (304, "answered 304 Not Modified"),
    ],
)
def test_a_refusal_is_an_error_with_status_and_place(start: Start, status: int, said: str) -> None:
    def answer(request: Request) -> None:
        request.reply(f"<h1>{SECRET}</h1>", status, "text/html")

    relay, server = start(answer, "--header", "X-Key: ${TOKEN}")
    error = relay.ask("x")["error"]
    assert error == {
        "code": -32000,
        "message": f"the MCP server at http://127.0.0.1:{server.port} {said}",
        "data": {"status": status},
    }
    assert relay.end() == (0, b"", "")


@pytest.mark.parametrize("identity", ['"id": null, ', "", '"id": "server-error", '])
def test_an_error_of_the_server_keeps_its_words(start: Start, identity: str) -> None:
    body = '{"jsonrpc": "2.0", %s"error": {"code": -32022, "message": "é", "data": 1.0}}'

    def answer(request: Request) -> None:
        request.reply(body % identity, 400)

    relay, _ = start(answer)
    assert relay.ask("x", "a") == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32022, "message": "é", "data": 1.0},
    }


@pytest.mark.parametrize(
    ("body", "status", "kind", "said"),
    [
        ("<html>", 200, "text/html", "answered 200 OK with content text/html"),
        ("x", 200, "x/" + SECRET, "answered 200 OK with content of another type"),
        ("", 202, "", "answered 202 Accepted with content without a type"),
        ("", 204, "", "answered 204 No Content with content without a type"),
        ("{", 200, "application/json", "not a JSON-RPC message"),
        ("17", 200, "application/json", "not a JSON-RPC message"),
        ("", 200, "application/json", "not a JSON-RPC message"),
        (b"\xff\xfe", 200, "application/json", "not a JSON-RPC message"),
        ("{}", 200, "application/json", "with another id"),
        ("", 200, "text/event-stream", "ended the stream of an answer without the answer"),
        ("data: {\n\n", 200, "text/event-stream", "without the answer"),
        (answered(1)[:-1], 200, "text/event-stream", "without the answer"),
        (f"event: ping\n{answered(1)}", 200, "text/event-stream", "without the answer"),
        ('{"error": "unauthorized"}', 401, "application/json", "answered 401 Unauthorized"),
        ("{", 500, "application/json", "answered 500 Internal Server Error"),
    ],
)
def test_what_is_no_answer_is_an_error(
    start: Start, body: str | bytes, status: int, kind: str, said: str
) -> None:
    def answer(request: Request) -> None:
        if request.message["id"] == "after":
            request.result()
        else:
            request.reply(body, status, kind)

    relay, _ = start(answer)
    found = relay.ask("x")
    if found == {}:  # It has no id, so it passes, and the error follows.
        found = relay.answer()
    assert said in found["error"]["message"]
    assert "result" in relay.ask("x", "after")
    code, out, err = relay.end()
    assert (code, out, SECRET in err) == (0, b"", False)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("value", ["[" * 100_000 + "]" * 100_000, "9" * 5000])
def test_json_that_python_cannot_read_passes(start: Start, streamed: bool, value: str) -> None:
    text = f'{{"jsonrpc":"2.0","id":1,"result":{value}}}'

    def answer(request: Request) -> None:
        if streamed:
            request.reply(f"data: {text}\n\n", kind="text/event-stream")
        else:
            request.reply(text)

    relay, _ = start(answer)
    relay.send("x", id=1)
    assert relay.line().decode() == text + "\n"
    assert relay.end() == (0, b"", "")


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("", "closed the connection without an answer"),
        ("HTTP/1.1 200 OK\r\nContent-Ty", "answered 200 OK with content without a type"),
        ("SSH-2.0-OpenSSH\r\n", "sent an answer that is not valid HTTP"),
        ("HTTP/1.1 200 OK\r\n" + "X: y\r\n" * 500 + "\r\n", "not valid HTTP"),
        ("HTTP/1.1 200 OK\r\nX: " + "y" * 100_000, "not valid HTTP"),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{}",
            "sent an incomplete answer",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
            "\r\n5\r\n{",
            "sent an incomplete answer",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
            "\r\nzz\r\n{",
            "sent an incomplete answer",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
            "Content-Length: 2\r\n\r\n{}",
            "compressed an answer",
        ),
    ],
)
def test_a_broken_connection_is_an_error(start: Start, sent: str, said: str) -> None:
    def answer(request: Request) -> None:
        if request.message["id"] == "after":
            request.result()
        else:
            request.send(sent)
            request.close()

    relay, _ = start(answer)
    assert said in relay.error()
    assert "result" in relay.ask("x", "after")
    assert relay.end() == (0, b"", "")


CHUNKED = "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_an_answer_that_breaks_anywhere_is_answered_once(start: Start, kind: str) -> None:
    def answer(request: Request) -> None:
        identity = request.message["id"]
        event = answered(identity)
        body = event if "event" in kind else event.removeprefix("data: ")
        whole = CHUNKED.format(kind) + f"{len(body):x}\r\n{body}\r\n0\r\n\r\n"
        request.send(whole[: -identity or None])
        request.close()

    relay, _ = start(answer)
    answers = [relay.ask("x", identity) for identity in range(150)]
    assert [one["id"] for one in answers] == list(range(150))
    assert "result" in answers[0]
    assert "error" in answers[-1]
    assert relay.end() == (0, b"", "")


def test_a_server_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    relay = Relay(tmp_path, f"http://127.0.0.1:{port}/{SECRET}?key={SECRET}")
    said = f"the MCP server at http://127.0.0.1:{port} refused the connection"
    assert relay.error() == said
    relay.send("notifications/x")
    code, out, err = relay.end()
    assert (code, out) == (0, b"")
    assert err == f"compactwire: {said}, for notifications/x\n"


@pytest.mark.parametrize("kind", ["json", "line", "event", "comment"])
def test_an_endless_answer_is_an_error(start: Start, kind: str) -> None:
    def answer(request: Request) -> None:
        if request.message["id"] == "after":
            request.result()
            return
        if kind == "json":
            request.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        else:
            request.stream()
        part = {"event": "data: x\n", "comment": ":x", "line": "data: "}.get(kind, "  ") * 5000
        with contextlib.suppress(OSError):
            while True:
                request.send(part)

    relay, _ = start(answer, "--max-message", "1000000")
    assert "sent a message of more than 1,000,000 bytes" in relay.error()
    assert "result" in relay.ask("x", "after")


def test_an_end_of_the_session_ends_the_relay(start: Start) -> None:
    both = threading.Barrier(2)

    def answer(request: Request) -> None:
        if session(request):
            return
        both.wait(20)
        error = {"code": -32001, "message": "Session not found"}
        request.reply(json.dumps({"jsonrpc": "2.0", "id": None, "error": error}), 404)

    relay, server = start(answer)
    shake_hands(relay)
    relay.send("x", id=1)
    relay.send("x", id=2)
    answers = [relay.answer() for _ in range(2)]
    said = f"the MCP server at http://127.0.0.1:{server.port} has ended the session"
    assert {one["id"] for one in answers} == {1, 2}
    for one in answers:
        assert one["error"]["message"] == f"{said} (it answered 404 Not Found)"
    relay.process.wait(20)
    code, _, err = relay.end()
    assert (code, err) == (1, f"compactwire: {said} (it answered 404 Not Found)\n")
    assert not server.sent("DELETE")


def test_an_unknown_method_does_not_end_a_session(start: Start) -> None:
    def answer(request: Request) -> None:
        if not session(request):
            error = {"code": -32601, "message": "Method not found"}
            body = {"jsonrpc": "2.0", "id": request.message["id"], "error": error}
            request.reply(json.dumps(body), 404)

    relay, server = start(answer)
    shake_hands(relay)
    assert relay.ask("x", 1)["error"]["code"] == -32601
    assert relay.ask("x", 2)["error"]["code"] == -32601
    assert relay.end() == (0, b"", "")
    assert len(server.sent("DELETE")) == 1


# Redirects


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_within_the_origin_is_followed(start: Start, status: int) -> None:
    def answer(request: Request) -> None:
        if request.path == "/mcp":
            request.reply(status=status, Location="/mcp/")
        else:
            request.result({"path": request.path})

    relay, server = start(answer)
    assert relay.ask("x")["result"] == {"path": "/mcp/"}
    assert server.requests[1].message == server.requests[0].message


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_origin_is_not_followed(start: Start, status: int) -> None:
    other = Server(lambda request: request.result())

    def answer(request: Request) -> None:
        request.reply(status=status, Location=f"{other.url}?{SECRET}")

    relay, _ = start(answer, "--header", "X-Key: ${TOKEN}")
    said = relay.error()
    assert f"a redirect to http://127.0.0.1:{other.port}, which is not followed" in said
    assert SECRET not in said
    assert not other.requests
    other.close()


@pytest.mark.parametrize(
    ("status", "location", "said"),
    [
        (302, "/other", "a redirect that would lose the message"),
        (307, "/mcp", "redirected a request more than 5 times"),
        (307, "http://user:x@127.0.0.1/", "a redirect to no valid URL"),
        (307, "ftp://127.0.0.1/", "a redirect to no valid URL"),
        (307, "http://[", "a redirect to no valid URL"),
    ],
)
def test_other_redirects_are_errors(start: Start, status: int, location: str, said: str) -> None:
    relay, _ = start(lambda request: request.reply(status=status, Location=location))
    assert said in relay.error()


# Streams that break


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
        "its notifications are not heard\n"
    )


# Cancellation and the end


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
def test_a_server_that_ends_the_session_slowly_delays_nobody(start: Start, signals: int) -> None:
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


@pytest.mark.parametrize("streamed", [False, True])
def test_a_message_that_is_too_long_to_read_passes(start: Start, streamed: bool) -> None:
    text = {"type": "text", "text": json.dumps(ROWS, indent=2)}
    said = {"content": [text, {"type": "image", "data": "x" * (8 << 20)}]}

    def answer(request: Request) -> None:
        if streamed:
            request.stream(answered(request.message["id"], result=said))
            request.close()
        else:
            request.result(said)

    relay, _ = start(answer)
    for _ in range(2):
        relay.call("rows")
        assert relay.answer()["result"] == said
    assert relay.end() == (0, b"", "")


def test_the_relay_ends_with_the_host_though_the_server_hangs(start: Start) -> None:
    hung = threading.Event()

    def answer(request: Request) -> None:
        hung.set()
        request.wait_closed()

    relay, _ = start(answer)
    relay.send("initialize", id=1)
    assert hung.wait(20)
    assert relay.end() == (0, b"", "")


def test_answers_after_the_end_of_the_requests_still_arrive(start: Start) -> None:
    def answer(request: Request) -> None:
        if not session(request):
            time.sleep(0.5)
            request.result()

    relay, _ = start(answer)
    relay.send("initialize", id=1)
    relay.send("x", id=2)
    code, out, _ = relay.end()
    assert code == 0
    assert [json.loads(line)["id"] for line in out.splitlines()] == [1, 2]


def test_a_host_that_no_longer_reads_ends_the_relay(start: Start) -> None:
    relay, _ = start(lambda request: request.result())
    assert relay.process.stdout is not None
    relay.process.stdout.close()
    relay.send("x", id=1)
    assert relay.process.wait(20) == 0


# The command line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--header", "X: ${NO_SUCH_VARIABLE}", "URL"], "NO_SUCH_VARIABLE is not set, or empty"),
        (["--header", "X: a", "--", "python3"], "--header and --allow-http are for a URL"),
        (["URL", "--header", "X: a"], "options stand before it"),
        (["--header", "X: a", "http://example.invalid/mcp"], "sent without encryption"),
        (["--header", "X: a", "http://127.0.0.1.example.invalid/"], "sent without encryption"),
        (["https://user:pass@example.invalid/"], "credentials belong in --header"),
        (["https:///mcp"], "must begin with http:// or https:// and a host"),
        (["https://[/mcp"], "the URL of the server is malformed"),
        (["http://localhost:99999/"], "the URL of the server is malformed"),
    ],
)
def test_wrong_usage_is_an_error_before_anything_starts(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    server = Server(lambda request: request.result())
    made = run(
        "proxy", *(server.url if one == "URL" else one for one in arguments), folder=tmp_path
    )
    assert (made.returncode, made.stdout) == (1, "")
    assert said in made.stderr
    assert server.connections == 0
    server.close()


@pytest.mark.parametrize(
    ("url", "readable"),
    [
        ("http://localhost:1/", False),
        ("http://127.9.9.9/", False),
        ("http://[::1]:8000/mcp", False),
        ("http://10.0.0.1/", True),
        ("http://localhost.example.invalid/", True),
        ("https://example.invalid/", False),
    ],
)
def test_only_this_machine_gets_headers_without_encryption(url: str, readable: bool) -> None:
    assert Endpoint(url, {}).readable_by_others is readable


def test_a_server_without_encryption_gets_no_request() -> None:
    server = Server(lambda request: request.result())
    endpoint = Endpoint(f"https://127.0.0.1:{server.port}/", {})
    with pytest.raises(HttpError, match=r"cannot be reached|closed the connection"):
        endpoint.open("POST", {}, b"{}", Interrupt(), timeout=5)
    assert not server.requests
    server.close()


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> None:
        request.reply(status=407) if request.method == "CONNECT" else request.reply("{}")

    server = Server(answer)
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://user:pa%20ss@127.0.0.1:{server.port}")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    plain = Endpoint("http://example.invalid/mcp?a=b", {"X-Key": "1"})
    with plain.open("POST", {}, b"{}", Interrupt(), timeout=5) as found:
        assert found.status == 200
    with pytest.raises(HttpError, match="cannot be reached"):
        Endpoint("https://example.invalid/", {"X-Key": "1"}).open("GET", {}, None, Interrupt())
    first, second = server.requests
    assert first.path == "http://example.invalid/mcp?a=b"
    assert first.headers["host"] == "example.invalid"
    assert first.headers["proxy-authorization"] == "Basic dXNlcjpwYSBzcw=="
    assert (second.method, second.path) == ("CONNECT", "example.invalid:443")
    assert "x-key" not in second.headers
    assert second.headers["proxy-authorization"] == "Basic dXNlcjpwYSBzcw=="
    server.close()


def test_the_ledger_has_the_name_of_the_host(start: Start, tmp_path: Path) -> None:
    text = {"type": "text", "text": json.dumps(ROWS)}
    relay, server = start(lambda request: request.result({"content": [text]}))
    relay.call("rows")
    relay.answer()
    relay.end()
    (path,) = (tmp_path / "compactwire" / "mcp").iterdir()
    assert path.name == f"127.0.0.1_{server.port}.jsonl"
