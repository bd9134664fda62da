"""`compactwire mcp proxy URL` in front of servers that refuse, break off or send no answer."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from tests.mcp.http_server import POSIX, SECRET, Relay, Request, answered, session, shake_hands
from tests.mcp.test_relay import NO_MESSAGES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.http_server import Start

pytestmark = POSIX


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
        (b'{"id": 1, "result": "a\xffb"}', 200, "application/json", "JSON-RPC message in UTF-8"),
        *((one, 200, "application/json", "not a JSON-RPC message") for one in NO_MESSAGES),
        *((f"data: {one}\n\n", 200, "text/event-stream", "without") for one in NO_MESSAGES),
        ("data: {\ndata: }\n\n", 200, "text/event-stream", "without the answer"),
        ('{"id": 9, "result": {}}', 200, "application/json", "with another id"),
        ("", 200, "text/event-stream", "ended the stream of an answer without the answer"),
        ("data: {\n\n", 200, "text/event-stream", "without the answer"),
        (
            'data: {"id":1,"result":"a\ndata: b"}\n\n',
            200,
            "text/event-stream",
            "without the answer",
        ),
        (answered(1)[:-1], 200, "text/event-stream", "without the answer"),
        (f"event: ping\n{answered(1)}", 200, "text/event-stream", "without the answer"),
        ('{"error": "unauthorized"}', 401, "application/json", "answered 401 Unauthorized"),
        ("{", 500, "application/json", "answered 500 Internal Server Error"),
    ],
)
def test_an_invalid_answer_is_an_error(
    start: Start, body: str | bytes, status: int, kind: str, said: str
) -> None:
    def answer(request: Request) -> None:
        if request.message["id"] == "after":
            request.result()
        else:
            request.reply(body, status, kind)

    relay, _ = start(answer)
    found = relay.ask("x")
    if found.get("id") == 9:  # It may answer an earlier request, so it passes; the error follows.
        found = relay.answer()
    assert said in found["error"]["message"]
    assert "result" in relay.ask("x", "after")
    code, out, err = relay.end()
    assert (code, out, SECRET in err) == (0, b"", False)


NO_HTTP = "sent an answer that is not valid HTTP (HTTPException)"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("", "closed the connection without an answer"),
        ("HTTP/1.1 200 OK\r\nContent-Ty", NO_HTTP),
        ("SSH-2.0-OpenSSH\r\n", "sent an answer that is not valid HTTP"),
        ("HTTP/1.1 103 x\r\n\r\n" * 200, "sent an answer that is not valid HTTP"),
        ("HTTP/1.1 200 OK\r\n" + "X: y\r\n" * 500 + "\r\n", "not valid HTTP"),
        ("HTTP/1.1 200 OK\r\nX: " + "y" * 100_000, "not valid HTTP"),
        *(
            (f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{header}\r\n\r\n{{}}", NO_HTTP)
            for header in (
                "Content-Length: +2",
                "Content-Length: 0_2",
                "Content-Length: -2",
                "Content-Length: 2, 2",
                "Content-Length: 2\r\nContent-Length: 3",
                "Content-Length: " + "9" * 5_000,
                "Content-Length: 2\r\nTransfer-Encoding: gzip, chunked",
                "no header\r\nContent-Length: 2",
            )
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{}",
            "sent an incomplete answer",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
            "\r\n5\r\n{",
            "sent an incomplete answer",
        ),
        *(
            (
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked"
                f'\r\n\r\n{size}\r\n{{"id":1,"result":0}}\r\n0\r\n\r\n',
                "sent an incomplete answer",
            )
            for size in ("zz", "-5", "+13", "0x13", "1_3", "", "1" * 20)
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


def test_the_answer_to_a_request_that_is_not_read_to_its_end_counts(start: Start) -> None:
    relay, server = start(pytest.fail)
    server.refuses = True
    relay.send("x", id=1, params={"a": "x" * 20_000_000})
    assert relay.answer()["error"]["data"] == {"status": 413}


def test_a_byte_order_mark_is_left_out(start: Start) -> None:
    def answer(request: Request) -> None:
        request.reply(b'\xef\xbb\xbf{"id": 1, "result": {}}')

    relay, server = start(answer)
    assert relay.process.stdin is not None
    relay.process.stdin.write(b"\xef\xbb\xbf")
    assert relay.ask("x") == {"id": 1, "result": {}}
    assert server.requests[0].body.startswith(b"{")


def test_leading_zeros_of_a_length_do_not_count(start: Start) -> None:
    def answer(request: Request) -> None:
        body = '{"id": 1, "result": {}}'
        kind = "Content-Type: application/json\r\n"
        request.send(f"HTTP/1.1 200 OK\r\n{kind}Content-Length: 00{len(body)} \r\n\r\n{body}")

    relay, _ = start(answer)
    for _ in range(2):
        assert relay.ask("x") == {"id": 1, "result": {}}


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


@pytest.mark.parametrize("size", ["13", "0013", "13 ;a=b", "13;" + "x" * 60_000])
def test_the_size_of_a_chunk_may_have_zeros_and_extensions(start: Start, size: str) -> None:
    relay, _ = start(
        lambda request: request.send(
            CHUNKED.format("application/json") + f'{size}\r\n{{"id":1,"result":0}}\r\n0\r\n\r\n'
        )
    )
    for _ in range(2):
        assert relay.ask("x") == {"id": 1, "result": 0}


@pytest.mark.parametrize(("lines", "valid"), [(97, True), (98, False)])
def test_ninety_nine_header_lines_are_the_most(start: Start, lines: int, valid: bool) -> None:
    body = '{"id": 1, "result": {}}'
    needed = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"

    def answer(request: Request) -> None:
        request.send("HTTP/1.1 200 OK\r\n" + "X: y\r\n" * lines + needed + "\r\n" + body)

    relay, _ = start(answer)
    assert ("result" in relay.ask("x")) is valid


def test_endless_lines_after_the_last_chunk_are_an_error(start: Start) -> None:
    def answer(request: Request) -> None:
        request.send(CHUNKED.format("application/json") + "2\r\n{}\r\n0\r\n")
        with contextlib.suppress(OSError):
            while True:
                request.send("X: y\r\n" * 1_000)

    relay, _ = start(answer)
    assert "sent an answer that is not valid HTTP" in relay.error()


@pytest.mark.parametrize("more", ["", "Content-Length: 9\r\n", "Transfer-Encoding: chunked\r\n"])
def test_the_content_of_an_acceptance_is_not_waited_for(start: Start, more: str) -> None:
    closed = threading.Event()

    def answer(request: Request) -> None:
        if "id" in request.message:
            request.result()
            return
        request.send(f"HTTP/1.1 202 Accepted\r\n{more}\r\n")
        if request.wait_closed():
            closed.set()

    relay, _ = start(answer)
    relay.send("notifications/n")
    assert closed.wait(10)
    assert "result" in relay.ask("x")
    assert relay.end() == (0, b"", "")


def test_a_connection_is_used_again_after_an_acceptance_without_content(start: Start) -> None:
    def answer(request: Request) -> None:
        request.result() if "id" in request.message else request.reply(status=202, kind="")

    relay, server = start(answer)
    relay.send("notifications/n")
    assert "result" in relay.ask("x")
    assert server.connections == 1


@pytest.mark.parametrize("identity", [2.0, 100.0, 1.5, -0.0])
def test_an_id_that_is_written_as_a_float_is_answered(start: Start, identity: float) -> None:
    def answer(request: Request) -> None:
        if request.method == "GET":
            request.stream(answered(int(identity) if identity.is_integer() else identity))
        elif request.message["method"] == "broken":
            request.stream("id: a\nretry: 100\ndata:\n\n")
        else:
            # The relay may use this connection again: one that closes then would be an error.
            return request.reply(status=500)
        return request.close()

    relay, server = start(answer)
    error = relay.ask("x", identity)
    assert (repr(error["id"]), error["error"]["data"]) == (repr(identity), {"status": 500})
    resumed = relay.ask("broken", identity)
    assert resumed.get("result") == {}, resumed
    assert [one.headers["last-event-id"] for one in server.sent("GET")] == ["a"]
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


def test_requests_that_no_longer_fit_are_answered_with_an_error(start: Start) -> None:
    # The server answers none, so that 64 are open. The others wait, up to --max-message bytes.
    relay, _ = start(lambda request: request.wait_closed(), "--max-message", "10000")
    for n in range(64):
        relay.send("x", id=n)
    for n in range(64, 67):
        relay.send("x", id=n, params={"text": "x" * 4_000})
    refused = relay.answer()
    assert refused["id"] == 66
    assert refused["error"]["message"].endswith("has too many open requests")


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


@pytest.mark.parametrize("value", ["7" * 5000, "[" * 200_000 + "]" * 200_000])
def test_a_request_that_cannot_be_read_is_answered(start: Start, value: str) -> None:
    def answer(request: Request) -> None:
        request.reply('{"jsonrpc": "2.0", "id": 2, "result": {}}')

    relay, server = start(answer)
    assert relay.process.stdin is not None
    request = b'{"jsonrpc": "2.0", "id": %b, "method": "x", "params": {"a": %b}}'
    relay.process.stdin.write(request % (b"1", value.encode()) + b"\n")
    relay.process.stdin.flush()
    refused = relay.answer()
    assert (refused["id"], "was not asked" in refused["error"]["message"]) == (1, True)
    assert not server.requests
    # In an array, the id is not looked for.
    relay.process.stdin.write(b"[" + request % (b"2", value.encode()) + b"]\n")
    relay.process.stdin.flush()
    assert relay.answer() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert relay.end() == (0, b"", "")


def test_what_the_server_says_of_a_line_that_is_not_json_passes(start: Start) -> None:
    error = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "Parse error"}}'
    relay, server = start(lambda request: request.reply(error, 400))
    assert relay.process.stdin is not None
    relay.process.stdin.write(b"{\n")
    relay.process.stdin.flush()
    assert relay.answer() == json.loads(error)
    assert [one.body for one in server.requests] == [b"{"]
    assert relay.end() == (0, b"", "")


@pytest.mark.parametrize("body", ['{"id": 1, "result": "', '<html>\n{"id": 1, "result": {}}\n'])
def test_a_long_answer_that_is_not_json_is_an_error(start: Start, body: str) -> None:
    relay, _ = start(lambda request: request.reply(body + "x" * (9 << 20)))
    assert "not a JSON-RPC message" in relay.error()
    assert relay.end() == (0, b"", "")


def test_a_long_answer_passes(start: Start) -> None:
    body = json.dumps({"result": {"a": "x" * (9 << 20)}, "jsonrpc": "2.0", "id": 7})
    relay, _ = start(lambda request: request.reply(body))
    assert relay.ask("x", 7)["id"] == 7
    assert relay.end() == (0, b"", "")
