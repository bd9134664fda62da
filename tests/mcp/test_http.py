"""`compactwire mcp proxy URL`: messages that pass, in both directions."""

from __future__ import annotations

import json
import queue
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.mcp.http_server import MODERN, POSIX, SECRET, Request, answered, session, shake_hands
from tests.mcp.test_projection import ROWS, SHORT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.http_server import Start

pytestmark = POSIX


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


def test_interim_answers_are_skipped(start: Start) -> None:
    def answer(request: Request) -> None:
        request.send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 x\r\n\r\n")
        request.result()

    relay, _ = start(answer)
    assert "result" in relay.ask("x", 1)
    assert "result" in relay.ask("x", 2)


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


def test_a_server_may_wait_for_a_response_before_it_answers_initialize(start: Start) -> None:
    heard: queue.SimpleQueue[Request] = queue.SimpleQueue()

    def answer(request: Request) -> None:
        if request.body and request.message.get("method") == "initialize":
            head = "HTTP/1.1 200 OK\r\nMcp-Session-Id: abc\r\nContent-Type: text/event-stream\r\n"
            request.send(f'{head}\r\ndata: {{"jsonrpc":"2.0","id":"p","method":"ping"}}\n\n')
            response = heard.get(timeout=20)
            named = {"session": response.headers["mcp-session-id"], "body": response.message}
            request.send(answered(1, result={"protocolVersion": "2025-11-25", "heard": named}))
        elif session(request) and request.body:
            heard.put(request)

    relay, _ = start(answer)
    relay.send("initialize", id=1)
    assert relay.answer()["method"] == "ping"
    response = {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert relay.process.stdin is not None
    relay.process.stdin.write(json.dumps(response).encode() + b"\n")
    relay.process.stdin.flush()
    assert relay.answer()["result"]["heard"] == {"session": "abc", "body": response}


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


def test_another_session_has_a_stream_of_its_own(start: Start) -> None:
    note = 'data: {"jsonrpc":"2.0","method":"notifications/of","params":{"session":"%s"}}\n\n'
    sessions = iter("ab")

    def answer(request: Request) -> None:
        if request.method == "GET":
            request.stream(note % request.headers["mcp-session-id"])
            request.wait_closed()
        elif request.body and request.message["method"] == "initialize":
            request.result({"protocolVersion": "2025-11-25"}, Mcp_Session_Id=next(sessions))
        else:
            session(request)

    relay, server = start(answer)
    for name in "ab":
        shake_hands(relay)
        assert relay.answer()["params"] == {"session": name}
    assert relay.end() == (0, b"", "")
    ended = [one.headers["mcp-session-id"] for one in server.sent("DELETE")]
    assert ended == ["b", "a"]


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


def test_the_ledger_has_the_name_of_the_host(start: Start, tmp_path: Path) -> None:
    text = {"type": "text", "text": json.dumps(ROWS)}
    relay, server = start(lambda request: request.result({"content": [text]}))
    relay.call("rows")
    relay.answer()
    relay.end()
    (path,) = (tmp_path / "compactwire" / "mcp").iterdir()
    assert path.name == f"127.0.0.1_{server.port}.jsonl"
