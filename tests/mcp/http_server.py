"""An HTTP server of plain sockets, which a test makes answer as it likes, and a relay to it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp.test_stdio import Host

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Start = Callable[..., tuple["Relay", "Server"]]

SECRET = "s3cret-t0ken"
PAIR = "event: message\ndata: {}\n\n"
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}

POSIX = pytest.mark.skipif(
    sys.platform == "win32", reason="NOT RUN: the tests use signals of POSIX"
)


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: socket.socket

    @property
    def message(self) -> Any:
        return json.loads(self.body)

    def send(self, data: str | bytes) -> None:
        self.connection.sendall(data.encode() if isinstance(data, str) else data)

    def reply(
        self,
        body: str | bytes = b"",
        status: int = 200,
        kind: str = "application/json",
        **more: str,
    ) -> None:
        raw = body.encode() if isinstance(body, str) else body
        lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(raw)}"]
        lines += [f"Content-Type: {kind}"] if kind else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + raw)

    def result(self, value: Any = None, **more: str) -> None:
        answer = {"jsonrpc": "2.0", "id": self.message["id"], "result": value or {}}
        self.reply(json.dumps(answer), **more)

    def stream(self, *parts: str) -> None:
        """Begin a stream of events, which ends with the connection."""
        self.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for part in parts:
            self.send(part)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def wait_closed(self) -> bool:
        """Whether the relay closes the connection."""
        self.connection.settimeout(20)
        with contextlib.suppress(ConnectionError):
            return self.connection.recv(1) == b""
        return True


class Server:
    """Answers each request by the function, and remembers it."""

    def __init__(self, answer: Callable[[Request], object]) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.connections = 0
        # Whether to refuse a request before its content was read.
        self.refuses = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # A client that expects TLS sends what is no request.
        ends = contextlib.suppress(OSError, UnicodeDecodeError)
        with connection, connection.makefile("rb") as file, ends:
            while line := file.readline():
                method, path, _ = line.decode().split(" ")
                headers = {}
                while (line := file.readline().strip()) != b"":
                    name, _, value = line.decode("latin-1").partition(":")
                    headers[name.lower()] = value.strip()
                if self.refuses:
                    connection.sendall(b"HTTP/1.1 413 x\r\nContent-Length: 0\r\n\r\n")
                    connection.shutdown(socket.SHUT_WR)
                    file.read(5_000_000)  # Without it, the system may drop the answer.
                    return
                length = int(headers.get("content-length", 0))
                body = file.read(length)
                if len(body) < length:
                    return  # The relay was killed while it sent the request.
                request = Request(method, path, headers, body, connection)
                self.requests.append(request)
                self.answer(request)

    def sent(self, method: str) -> list[Request]:
        """The requests of an HTTP method."""
        return [one for one in self.requests if one.method == method]

    def close(self) -> None:
        self._listener.close()


class Relay(Host):
    """A host that runs the relay to a URL."""

    def __init__(self, folder: Path, url: str, *options: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "compactwire", "mcp", "proxy", *options, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": str(folder), **environment},
        )
        self.sent = 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def leave(self) -> None:
        """Neither write nor read any more, as a host does that has ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stdin = None  # `communicate` would flush it.

    def ask(self, method: str, identity: object = 1, **params: Any) -> Any:
        self.send(method, id=identity, params=params)
        return self.answer()

    def error(self, method: str = "x") -> str:
        """The text of the error that answers a request."""
        return str(self.ask(method)["error"]["message"])


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
