"""The server for agents at the ends of its streams: raw lines, signals, and hosts that stop."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.agents import needed

needed("mcp_types")

import anyio
import mcp_types as types
from anyio.from_thread import BlockingPortal
from mcp.shared.message import SessionMessage

from compactwire.mcp import _serve

COMMAND = [sys.executable, "-m", "compactwire", "mcp", "serve"]

BEGIN: list[dict[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


def call(number: int | str, name: str = "compress", **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def lines(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def served(data: bytes) -> tuple[int, dict[Any, Any], str]:
    """The exit code, the answers by id, and the standard error of a server that is sent this."""
    child = subprocess.run(COMMAND, input=data, capture_output=True, timeout=120, check=False)
    answers = [json.loads(line) for line in child.stdout.splitlines()]
    return child.returncode, {one["id"]: one for one in answers}, child.stderr.decode()


def test_requests_before_the_host_closes_are_answered() -> None:
    code, answers, error = served(lines(*BEGIN, *(call(n, text=f"{n}") for n in range(1, 301))))
    assert (code, error) == (0, "")
    assert [answers[n]["result"]["content"][0]["text"] for n in range(1, 301)] == [
        f"{n}" for n in range(1, 301)
    ]


def test_a_host_that_says_nothing_ends_the_server() -> None:
    assert served(b"") == (0, {}, "")
    assert served(b"\n\r\n \n") == (0, {}, "")


GARBAGE = [
    b"hello",
    b"\xff\xfe\0",
    b"{}",
    b"null",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}',
    b'{"jsonrpc":"1.0","id":7,"result":{}}',
    b'{"jsonrpc":"1.0","id":7.5,"method":"ping"}',
]


def test_lines_that_are_no_messages_are_passed_over() -> None:
    data = b"".join(line + b"\n" for line in GARBAGE)
    code, answers, error = served(lines(*BEGIN) + data + lines(call(1, text="a")))
    assert code == 0
    assert set(answers) == {0, 1}
    assert error.splitlines() == [
        f"compactwire: the host sent a line of {len(line) + 1:,} bytes that is no JSON-RPC message"
        for line in GARBAGE
    ]


def test_odd_messages_do_not_fill_the_standard_error() -> None:
    """A host that does not read it would get no more answers."""
    odd = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    code, answers, error = served(lines(*BEGIN) + lines(odd) * 2_000 + lines(call(1, text="a")))
    assert code == 0
    assert set(answers) == {0, 1}
    said = error.splitlines()
    assert len(said) == 10
    assert all(line.startswith("compactwire: the MCP SDK says: dropped ") for line in said)


UNREADABLE = [
    b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","arguments":"\\ud800"}}',
    b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"a":"\xff"}}',
    b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":[1]}',
    b'{"jsonrpc":"1.0","id":%d,"method":"ping"}',
    b'[{"jsonrpc":"2.0","id":%d,"method":"ping"}]',
    b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"a":'
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}}",
    b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":' + b"9" * 5_000 + b"}",
]


def test_requests_that_cannot_be_read_are_answered_with_an_error() -> None:
    data = b"".join(line % n + b"\n" for n, line in enumerate(UNREADABLE, 1))
    code, answers, error = served(lines(*BEGIN) + data + lines(call(9, text="a")))
    assert code == 0
    assert set(answers) == {*range(len(UNREADABLE) + 1), 9}
    assert {answers[n]["error"]["code"] for n in range(1, len(UNREADABLE) + 1)} == {-32600}
    assert len(error.splitlines()) == len(UNREADABLE)


def test_a_batch_is_answered_once_for_each_id() -> None:
    child = subprocess.run(COMMAND, input=lines([call(1), call("1"), call(1)]), capture_output=True)
    assert [json.loads(line)["id"] for line in child.stdout.splitlines()] == [1, "1"]


def test_a_large_batch_is_answered_at_once() -> None:
    # The bytes of the line count once, not for each of its requests.
    batch = [call(number, text="x" * 30_000) for number in range(100)]
    connection = _serve._Connection(lambda _: None, False)

    async def run() -> None:
        line = lines(batch)
        ids = _serve._requests(line)
        assert len(ids) == 100
        await asyncio.wait_for(connection._refuse(ids, len(line)), 5)
        assert sum(connection._open.values()) <= len(line)

    asyncio.run(run())


def test_a_byte_order_mark_is_no_part_of_a_message() -> None:
    code, answers, error = served(codecs.BOM_UTF8 + lines(*BEGIN, call(1, text="a")))
    assert (code, set(answers), error) == (0, {0, 1}, "")


def test_an_id_that_no_message_can_have_is_passed_over() -> None:
    line = b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}\n'
    code, answers, error = served(lines(*BEGIN) + line + lines(call(1, text="a")))
    assert (code, set(answers), len(error.splitlines())) == (0, {0, 1}, 1)


def test_an_id_that_the_sdk_cannot_have_is_named_and_answered_if_it_is_whole() -> None:
    ids = [1.0, 2.5, None, True]
    calls = [{"jsonrpc": "2.0", "id": one, "method": "tools/list"} for one in ids]
    code, answers, error = served(lines(*BEGIN, *calls, call("last", text="a")))
    assert (code, len(error.splitlines())) == (0, len(ids))
    assert "whose id is neither an integer nor a text" in error
    assert answers[1]["error"]["code"] == -32600
    assert set(answers) == {0, 1, "last"}


def test_requests_that_make_no_sense_are_answered_with_an_error() -> None:
    wrong = [
        {"jsonrpc": "2.0", "id": 1, "method": "none"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": 3}},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
        {"jsonrpc": "2.0", "id": None, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 7.5, "method": "tools/list"},
    ]
    code, answers, error = served(lines(*BEGIN, *wrong, call("last", text="a")))
    assert (code, len(error.splitlines())) == (0, 2)
    assert [answers[n]["error"]["code"] for n in (1, 2, 3)] == [-32601, -32602, -32602]
    assert "result" in answers["last"]
    assert set(answers) == {0, 1, 2, 3, "last"}


def test_a_line_without_an_end_ends_the_server() -> None:
    data = lines(*BEGIN, call(1, text="a")) + b"x" * (_serve._MAX_MESSAGE + (1 << 20))
    code, answers, error = served(data)
    assert code == 1
    assert set(answers) == {0, 1}
    assert error == "compactwire: the host sent a message of more than 16,777,216 bytes\n"


def test_the_longest_text_with_every_character_escaped_is_read() -> None:
    text = "\\ud83d\\ude00" * (1 << 20)
    line = json.dumps(call(1, text="?")).replace("?", text).encode() + b"\n"
    code, answers, _ = served(lines(*BEGIN) + line)
    assert code == 0
    assert answers[1]["result"]["content"][0]["text"] == "\U0001f600" * (1 << 20)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="NOT RUN: needs /dev/full")
def test_an_answer_that_cannot_be_written_is_an_error() -> None:
    with Path("/dev/full").open("wb") as full:
        child = subprocess.run(
            COMMAND,
            input=lines(*BEGIN),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )
    assert child.returncode == 1
    assert child.stderr == b"compactwire: an answer cannot be written: No space left on device\n"


def test_an_answer_that_is_not_unicode_ends_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    # It would end the process of the tests.
    monkeypatch.setattr(_serve._Connection, "_end_soon", lambda _: None)
    warnings: list[str] = []
    done: list[Any] = []
    connection = _serve._Connection(warnings.append, False)
    connection._said.put(_serve.types.ErrorData(code=1, message="\ud800"))
    loop: Any = SimpleNamespace(call_soon_threadsafe=done.append)
    connection._write(loop, connection._said.empty)
    assert done == [connection._said.empty]
    assert connection._failed
    assert len(warnings) == 1
    assert warnings[0].startswith("an answer cannot be written: ")
    assert warnings[0].isprintable()


def test_a_host_that_reads_no_more_ends_the_server() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(lines(*BEGIN))
        child.stdin.flush()
        assert b'"serverInfo"' in child.stdout.readline()
        child.stdout.close()
        child.stdin.write(lines(call(1, text="a")))
        child.stdin.flush()
        # Standard input stays open: only the answer that nobody reads ends the server.
        assert child.wait(60) == 0
        assert child.stderr is not None
        assert child.stderr.read() == b""


def test_the_reader_is_quiet_after_the_end_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ended() -> Any:
        async with BlockingPortal() as portal:
            return portal

    portal, warnings = asyncio.run(ended()), list[str]()
    monkeypatch.setattr(_serve, "lines", lambda *_: iter([lines(call(1, text="a"))]))
    _serve._Connection(warnings.append, False)._read(portal, None)
    gc.collect()  # A coroutine that was never awaited would warn.
    assert warnings == []


def test_a_request_is_open_until_its_answer_is_written() -> None:
    # A host that reads nothing, and gives up each request, must not make the server grow.
    answer = types.JSONRPCResponse(jsonrpc="2.0", id=7, result={})

    async def answers() -> Any:
        to_writer, said = anyio.create_memory_object_stream[Any](1)
        await to_writer.send(SessionMessage(answer))
        to_writer.close()
        return said

    async def run() -> None:
        connection = _serve._Connection(lambda _: None, False)
        connection._open = {"7": 1, "8": 1}
        await connection._answer(await answers())
        for number in (7, 8, "08", " 8"):
            cancel = {"method": "notifications/cancelled", "params": {"requestId": number}}
            message = connection._parsed(lines({"jsonrpc": "2.0", **cancel}))
            await connection._pass_on(message, 1, sent)
        assert connection._open == {"7": 1}
        await connection._refuse(["x"], 9)
        cancel = {"method": "notifications/cancelled", "params": {"requestId": "x"}}
        await connection._pass_on(connection._parsed(lines({"jsonrpc": "2.0", **cancel})), 1, sent)
        assert connection._open == {"7": 1, "x": 9}
        assert [one.message.params["requestId"] for one in sent] == [8]

    sent = Sent()
    asyncio.run(run())


class Sent(list[Any]):
    async def send(self, item: Any) -> None:
        self.append(item)


def test_a_cancelled_call_is_not_answered_and_nothing_waits_for_it() -> None:
    cancelled = [
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
        for number in (1, "2", 99)
    ]
    slow = [call(n, "stats", text=json.dumps([[[1]] * 100_000])) for n in range(1, 4)]
    code, answers, error = served(lines(*BEGIN, *slow, *cancelled, call(4, text="a")))
    assert (code, error) == (0, "")
    assert {3, 4} <= set(answers)
    assert "error" not in answers[3]


# A server whose tools never end, and which is in a hurry.
STUCK = """
import sys, time
from compactwire.cli import main
from compactwire.mcp import _folder, _serve
{}
sys.exit(main(["mcp", "serve", "--root", sys.argv[1]]))
"""
NEVER = "time.sleep(600)"


@contextlib.contextmanager
def stuck(folder: Path, change: str) -> Iterator[Any]:
    command = [sys.executable, "-c", STUCK.format(change), str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        try:
            yield child
        finally:
            child.kill()


@pytest.mark.skipif(os.name != "posix", reason="NOT RUN: needs signals")
@pytest.mark.parametrize(
    ("name", "handler", "code"),
    [
        ("SIGTERM", "SIG_DFL", -15),
        ("SIGHUP", "SIG_DFL", -1),
        ("SIGINT", "default_int_handler", 130),
    ],
)
def test_a_signal_ends_a_server_at_once_and_leaves_no_part_of_a_file(
    name: str, handler: str, code: int, folder: Path
) -> None:
    # A signal that is ignored, as under nohup, stays so in a child.
    default = f"import signal; signal.signal(signal.{name}, signal.{handler})"
    change = f"{default}; _folder.Folder.rename = lambda *_, **__: {NEVER}"
    with stuck(folder, change) as child:
        child.stdin.write(lines(*BEGIN, call(1, text="[1]", to="new.json")))
        child.stdin.flush()
        while not list(folder.glob(".compactwire-*")):
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(getattr(signal, name))
        assert child.wait(20) == code
    assert [path.name for path in folder.iterdir()] == ["rows.json"]


LATE = "compactwire: requests that were not answered within 0 seconds after the host closed the"


@pytest.mark.parametrize(
    ("cancelled", "code", "said"),
    [(False, 1, f"{LATE} connection: 2{os.linesep}"), (True, 0, "")],
)
def test_calls_that_do_not_end_are_given_up(
    cancelled: bool, code: int, said: str, folder: Path
) -> None:
    change = f"_serve._GRACE = 0.1; _serve.Toolbox.call = lambda *_: {NEVER}"
    messages = [*BEGIN, call(1, text="a"), call(2, text="a")]
    for number in (1, 2) if cancelled else ():
        params = {"requestId": number}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        messages.append(message)
    with stuck(folder, change) as child:
        _, error = child.communicate(lines(*messages), timeout=20)
    assert (child.returncode, error.decode()) == (code, said)


@pytest.mark.skipif(os.name != "posix", reason="NOT RUN: needs poll")
@pytest.mark.parametrize("count", [3, 300])
def test_a_host_that_does_not_read_is_given_up(count: int, folder: Path) -> None:
    # More than a pipe holds.
    change = "_serve._GRACE = 0.1; _serve.Toolbox.call = lambda *_: '.' * (1 << 20)"
    with stuck(folder, change) as child:
        with child.stdin:
            child.stdin.write(lines(*BEGIN, *(call(n, text="a") for n in range(1, count + 1))))
        assert child.wait(20) == 1
        assert child.stderr.read().decode().startswith(LATE)


@pytest.mark.parametrize(
    ("busy", "done"),
    [
        ({str(number): 1 for number in range(_serve._MAX_OPEN)}, 7),
        ({"7": _serve._MAX_OPEN_BYTES}, 7),
        ({"1000": 1}, 1_000),
    ],
    ids=["many", "large", "same id"],
)
def test_the_host_is_not_read_while_too_much_is_open(
    busy: dict[str, int], done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Standard input of the tests may be closed.
    monkeypatch.setattr(_serve, "hung_up", lambda _: False)

    async def run() -> None:
        connection, sent = _serve._Connection(lambda _: None, False), Sent()
        connection._open = dict(busy)
        message = connection._parsed(lines(call(1_000, text="a")))
        cancel = {"method": "notifications/cancelled", "params": {"requestId": done}}
        async with anyio.create_task_group() as group:
            group.start_soon(connection._pass_on, message, 1, sent)
            await anyio.sleep(20 * _serve._POLL)
            assert sent == []
            # Others pass, and a cancelled request makes room for another.
            cancelled = connection._parsed(lines({"jsonrpc": "2.0", **cancel}))
            await connection._pass_on(cancelled, 1, sent)
        assert [one.message for one in sent] == [cancelled, message]
        assert connection._open["1000"] == 1

    asyncio.run(run())


NO_TIMER = """
import sys, threading
from compactwire.cli import main


class Timer(threading.Timer):
    def start(self):
        raise RuntimeError("can't start new thread")


threading.Timer = Timer
sys.exit(main(["mcp", "serve"]))
"""


def test_the_server_ends_although_no_thread_measures_its_time() -> None:
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    command = [sys.executable, "-c", NO_TIMER]
    done = subprocess.run(command, input=ping, capture_output=True, check=False, timeout=60)
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert done.returncode == 0
