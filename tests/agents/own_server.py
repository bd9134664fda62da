"""An MCP server on the SDK that uses all of the protocol a relay must pass. Needs the `mcp` SDK.

It runs over stdio as a program, and over HTTP in a thread of the tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from typing import TYPE_CHECKING, Annotated, Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from tests.agents import ROWS, TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

CANCELLED: list[str] = []


class Row(BaseModel):
    id: int
    state: str
    kind: str


class Answer(BaseModel):
    sure: bool


def ask() -> Elicit[Answer]:
    return Elicit("Sure?", Answer)


def make() -> MCPServer:
    server = MCPServer("tasks", version="1.0")
    add_results(server)
    add_conversations(server)

    @server.resource("memo://{name}")
    def memo(name: str) -> str:
        return f"about {name}"

    @server.prompt()
    def review(code: str) -> str:
        return f"Review {code}"

    return server


def add_results(server: MCPServer) -> None:
    @server.tool()
    def text() -> str:
        """A table as text, and the same as structured content."""
        return TEXT

    @server.tool()
    def rows() -> list[Row]:
        """A table as structured content."""
        return [Row(**row) for row in ROWS]

    @server.tool()
    def read_file(path: str) -> str:
        """A file, which must stay as it is."""
        return TEXT

    @server.tool()
    def differs() -> CallToolResult:
        """Structured content that says more than the text."""
        block = TextContent(type="text", text="40 rows", _meta={"x": 1})
        return CallToolResult(content=[block], structured_content={"rows": ROWS}, _meta={"y": 2})

    @server.tool()
    def image() -> Image:
        """No text."""
        return Image(data=b"\x00", format="png")

    @server.tool()
    def fails() -> str:
        """An error."""
        raise ToolError(TEXT)

    @server.tool()
    def marked(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        """An argument that HTTP repeats in a header."""
        return region


def add_conversations(server: MCPServer) -> None:
    @server.tool()
    async def counts(ctx: Context) -> str:
        """Progress and a log on the way."""
        for done in range(3):
            await ctx.report_progress(done, 3, f"step {done}")
        return "counted"

    @server.tool()
    async def asks(answer: Annotated[Answer, Resolve(ask)]) -> str:
        """A question to the user."""
        return json.dumps({"sure": answer.sure})

    @server.tool()
    async def sleeps() -> str:
        """Time to be cancelled."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            CANCELLED.append("sleeps")
            raise
        return "slept"

    @server.tool()
    async def breaks(ctx: Context) -> str:
        """An answer whose stream the server closes on the way."""
        await ctx.close_sse_stream()
        await ctx.report_progress(1, 2)
        return TEXT


class Memory(EventStore):
    """Remembers all events, so that every stream can be resumed."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self.resumed: list[str] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        self.resumed.append(last_event_id)
        stream, _ = self.events[int(last_event_id) - 1]
        for number in range(int(last_event_id), len(self.events)):
            name, message = self.events[number]
            if name == stream and message is not None:
                await send_callback(EventMessage(message, str(number + 1)))
        return stream


@contextlib.contextmanager
def over_http(app: Any, **options: Any) -> Iterator[str]:
    """Serve an application; the URL of its MCP server."""
    config = uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1, **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"{'https' if options else 'http'}://localhost:{port}/mcp"
    finally:
        server.should_exit = True
        thread.join(30)


if __name__ == "__main__":
    make().run()
