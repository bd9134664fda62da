"""Serves a command that speaks MCP over stdio to clients over HTTP, for a conformance suite.

Each session is a process of its own. Nothing of the relay is used here, so that the results with
and without the relay come through the same code.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Session:
    """A process, and the streams on which its messages go out."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.streams: dict[Any, queue.SimpleQueue[bytes | None]] = {}
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.replace(b"\n", b" ") + b"\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            answers = "method" not in message
            key = message.get("id") if answers else None
            # A request of the server, or a notification, belongs to the latest open request.
            # Other threads open streams meanwhile: a copy is taken in one step.
            known = [one for one in list(self.streams) if one is not None]
            stream = self.streams.get(key if answers else known[-1] if known else None)
            if stream is not None:
                stream.put(line)
                if answers:
                    stream.put(None)
        # The process has ended: no client waits for what will not come.
        for stream in list(self.streams.values()):
            stream.put(None)

    def close(self) -> None:
        self.process.kill()
        self.reader.join()
        self.process.communicate()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Front
    protocol_version = "HTTP/1.0"

    def log_message(self, *_: Any) -> None:
        pass

    def session(self) -> Session | None:
        found = self.server.sessions.get(self.headers.get("Mcp-Session-Id", ""))
        if found is None:
            self.send_error(404)
        return found

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        name = self.headers.get("Mcp-Session-Id", "")
        if message.get("method") == "initialize":
            name = str(uuid.uuid4())
            self.server.sessions[name] = Session(self.server.command)
        session = self.server.sessions.get(name)
        if session is None:
            self.send_error(404)
        elif "method" not in message or "id" not in message:
            session.send(body)
            self.send_response(202)
            self.end_headers()
        else:
            self.stream(session, message["id"], name, body)

    def do_GET(self) -> None:
        session = self.session()
        if session is not None:
            self.stream(session, None, self.headers["Mcp-Session-Id"])

    def do_DELETE(self) -> None:
        session = self.session()
        if session is not None:
            session.close()
            self.send_response(204)
            self.end_headers()

    def stream(self, session: Session, key: Any, name: str, body: bytes = b"") -> None:
        lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        session.streams[key] = lines
        if body:
            session.send(body)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Mcp-Session-Id", name)
        self.end_headers()
        with contextlib.suppress(OSError):
            while (line := lines.get()) is not None:
                self.wfile.write(b"event: message\ndata: " + line.strip() + b"\n\n")
                self.wfile.flush()
        session.streams.pop(key, None)


class Front(ThreadingHTTPServer):
    """Listens, and remembers the sessions."""

    daemon_threads = True

    def __init__(self, command: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.command = command
        self.sessions: dict[str, Session] = {}


@contextlib.contextmanager
def front(command: list[str]) -> Iterator[str]:
    """Serve the command over HTTP; the URL."""
    server = Front(command)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        for session in server.sessions.values():
            session.close()
