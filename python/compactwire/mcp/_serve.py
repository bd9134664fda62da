"""An MCP server for agents over stdio: its tools are those of `_toolbox`.

Threads of their own read and write, so that the end of the process waits for no line. Calls run in
other threads, few at once, and the host is not read while too many requests wait for their answers:
with the bounds of `_toolbox` on each call, memory is bounded whatever the host sends.

Source: the stdio transport of the Model Context Protocol: a message is a line.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import signal
import threading
from concurrent.futures import CancelledError
from typing import Any

from .._core import __version__
from .._texts import one_line, short_line
from ._definitions import ToolError
from ._folder import nothing_unfinished
from ._host import STDIN, STDOUT, TooLongError, hung_up, lines, prepare, write
from ._messages import each, id_key, read_message
from ._readers import VERBATIM_META
from ._toolbox import Toolbox

try:
    import anyio
    import anyio.to_thread
    import mcp_types as types
    from anyio.from_thread import BlockingPortal
    from mcp.server.lowlevel import Server
    from mcp.shared.message import SessionMessage
except ImportError as error:
    message = "compactwire mcp serve needs the MCP SDK: pip install 'compactwire[mcp]'"
    raise ImportError(message, name=error.name, path=error.path) from error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._roots import Roots

__all__ = ["make_server", "serve_stdio"]

# A text of the longest length, each of its characters two escapes, and what is around it.
_MAX_MESSAGE = 16 << 20
# Calls that run at once, each of which may need memory of several times its input.
_AT_ONCE = 2
# Requests without an answer, and their bytes, from which on the host is not read.
_MAX_OPEN, _MAX_OPEN_BYTES = 128, 16 << 20
# Seconds for open requests to be answered after the host closed its side.
_GRACE = 5.0
_POLL = 0.01

# How calls into the event loop fail once the server has ended.
_ENDED = (RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError)

_UNREADABLE = (
    "not a valid request of the Model Context Protocol; look for lone surrogates in its texts,"
    " bytes that are not UTF-8, and values that are nested too deeply"
)


def make_server(roots: Roots) -> Any:
    """The server with the tools over these roots, for any transport."""
    toolbox = Toolbox(roots)
    tools = [types.Tool.model_validate(tool) for tool in toolbox.definitions()]
    threads = anyio.CapacityLimiter(_AT_ONCE)

    async def list_tools(_context: Any, _params: Any) -> Any:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: Any, params: Any) -> Any:
        work = (toolbox.call, params.name, params.arguments or {})
        try:
            said = await anyio.to_thread.run_sync(*work, limiter=threads)
        except ToolError as error:
            return types.CallToolResult(content=[_block(str(error))], is_error=True)
        # The relay would shrink the JSON of `expand` again.
        return types.CallToolResult(content=[_block(said)], _meta=dict(VERBATIM_META))

    return Server(
        "compactwire",
        version=__version__,
        instructions=_instructions(roots),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _block(text: str) -> Any:
    return types.TextContent(type="text", text=text)


def serve_stdio(roots: Roots, warn: Callable[[str], object]) -> int:
    """Serve the host of this process until it closes the connection; return the exit code.

    Parameters
    ----------
    roots
        The folders whose files the tools may use.
    warn
        Called with a line of text about what went wrong, also from other threads.
    """
    # The event loop puts another handler in its place.
    ends_by_ctrl_c = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with _sdk_warnings(warn):
        return asyncio.run(_Connection(warn, ends_by_ctrl_c).run(make_server(roots)))


class _Warner(logging.Handler):
    """Passes on what the SDK logs, without the traceback, which may have texts of the host."""

    def __init__(self, warn: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._warn = warn

    def emit(self, record: logging.LogRecord) -> None:
        self._warn(f"the MCP SDK says: {short_line(record.getMessage())}")


@contextlib.contextmanager
def _sdk_warnings(warn: Callable[[str], object]) -> Iterator[None]:
    """What the SDK logs goes through `warn`.

    It logs in the event loop, a line for each odd message of the host: standard error that the host
    does not read would be full some day, and then nothing would be answered.
    """
    logger, handler = logging.getLogger("mcp"), _Warner(warn)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, *, ctrl_c: bool) -> Iterator[None]:
    """Signals end the process at once, but remove temporary files first, where the system can."""

    def end(number: int) -> None:
        with nothing_unfinished():
            if number == signal.SIGINT:
                os._exit(130)  # `KeyboardInterrupt` would wait for calls in other threads.
            loop.remove_signal_handler(number)
            signal.raise_signal(number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    if ctrl_c:
        ours.append(signal.SIGINT)
    # Windows has no such handlers, nor have loops outside of the main thread.
    with contextlib.suppress(RuntimeError, ValueError):
        for number in ours:
            loop.add_signal_handler(number, end, number)
    try:
        yield
    finally:
        with contextlib.suppress(RuntimeError, ValueError):
            for number in ours:
                loop.remove_signal_handler(number)


def _instructions(roots: Roots) -> str:
    if not roots.paths:
        return "No file can be used: the server runs without --root. Pass `text`."
    # The name of a folder may have bytes that are not UTF-8, which no message can carry.
    first, *more = map(one_line, roots.paths)
    others = f" Other folders: {', '.join(more)}." if more else ""
    return f"Paths are relative to {first}, or absolute below it.{others}"


class _Connection:
    """Passes messages between standard input and output and a server."""

    def __init__(self, warn: Callable[[str], object], ends_by_ctrl_c: bool) -> None:
        self._warn, self._ends_by_ctrl_c = warn, ends_by_ctrl_c
        # Ids as text: a host may cancel the request 1 as "1".
        self._open: dict[str, int] = {}
        self._answered: set[str] = set()
        """The ids of open requests whose answers wait to be written."""
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._failed = False
        self._timer: threading.Timer | None = None

    async def run(self, server: Any) -> int:
        """Serve until either side ends."""
        prepare()
        to_server, requests = anyio.create_memory_object_stream[Any](0)
        from_server, answers = anyio.create_memory_object_stream[Any](0)
        self._loop = loop = asyncio.get_running_loop()
        with _signals(loop, ctrl_c=self._ends_by_ctrl_c):
            async with anyio.create_task_group() as group, BlockingPortal() as portal:
                writing = (loop, group.cancel_scope.cancel)
                writer = threading.Thread(target=self._write, args=writing, daemon=True)
                writer.start()
                threading.Thread(target=self._read, args=(portal, to_server), daemon=True).start()
                group.start_soon(self._answer, answers)
                await server.run(requests, from_server, server.create_initialization_options())
        self._said.put(None)
        writer.join()
        return 1 if self._failed else 0

    def _read(self, portal: BlockingPortal, to_server: Any) -> None:
        """Read the host in a thread, until it closes the connection."""
        try:
            for line in lines(STDIN, _MAX_MESSAGE):
                message = self._parsed(line)
                if message is None:
                    portal.call(self._refuse, _requests(line), len(line))
                else:
                    portal.call(self._pass_on, message, len(line), to_server)
        except TooLongError:
            self._failed = True
            self._warn(f"the host sent a message of more than {_MAX_MESSAGE:,} bytes")
        except MemoryError:
            self._failed = True
            self._warn("there is not enough memory for a message of the host")
        except (OSError, *_ENDED):
            pass  # The host or the server has ended.
        finally:
            with contextlib.suppress(*_ENDED):
                portal.call(self._close, to_server)

    def _parsed(self, line: bytes) -> Any:
        if not line.strip():
            return None
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._warn(f"the host sent a line of {len(line):,} bytes that is no JSON-RPC message")
            return None
        # The SDK takes a request for a notification if its id is neither an int nor a text.
        if isinstance(message, types.JSONRPCNotification) and _has_id(line):
            self._warn("the host sent a request whose id is neither an integer nor a text")
            return None
        return message

    async def _pass_on(self, message: Any, size: int, to_server: Any) -> None:
        if isinstance(message, types.JSONRPCRequest):
            await self._opened(message.id, size)
        elif getattr(message, "method", None) == "notifications/cancelled":
            given = (message.params or {}).get("requestId")
            identity = str(given)
            # The SDK would take " 1" for 1, which then were never answered.
            is_open = identity in self._open and identity not in self._answered
            if not is_open and isinstance(given, int | str):
                return
            # A request that is cancelled is not answered.
            self._open.pop(identity, None)
        await to_server.send(SessionMessage(message))

    async def _refuse(self, ids: list[Any], size: int) -> None:
        """Answer requests that cannot be read: otherwise the host would wait for them."""
        error = types.ErrorData(code=types.INVALID_REQUEST, message=_UNREADABLE)
        for identity in ids:
            await self._opened(identity, size // len(ids))
            self._answered.add(str(identity))
            self._said.put(types.JSONRPCError(jsonrpc="2.0", id=identity, error=error))

    async def _opened(self, identity: Any, size: int) -> None:
        """Count a request as open, once there is room for it and its id is free."""
        while self._busy() or str(identity) in self._open:
            if hung_up(STDIN):
                self._end_soon()
            await anyio.sleep(_POLL)
        self._open[str(identity)] = size

    def _busy(self) -> bool:
        # A copy, because another thread takes out what is answered.
        sizes = list(self._open.values())
        return len(sizes) >= _MAX_OPEN or sum(sizes) >= _MAX_OPEN_BYTES

    async def _close(self, to_server: Any) -> None:
        """Let the server end, once the requests of the host are answered."""
        self._end_soon()
        while self._open:
            await anyio.sleep(_POLL)
        await to_server.aclose()

    def _end_soon(self) -> None:
        """Begin the time after which the process ends, whatever still runs."""
        if self._timer is None:
            self._timer = threading.Timer(_GRACE, self._give_up)
            self._timer.daemon = True
            try:
                self._timer.start()
            except RuntimeError:
                # The system starts no more threads. A call in the event loop may come late.
                self._loop.call_soon_threadsafe(self._loop.call_later, _GRACE, self._give_up)

    def _give_up(self) -> None:
        """End the process at once: nothing can stop a call in its thread."""
        with nothing_unfinished():
            if count := len(self._open):
                self._failed = True
                said = f"{_GRACE:.0f} seconds after the host closed the connection"
                self._warn(f"requests that were not answered within {said}: {count:,}")
            os._exit(1 if self._failed else 0)

    async def _answer(self, answers: Any) -> None:
        async with answers:
            async for said in answers:
                self._answered.add(_id_of(said.message))
                self._said.put(said.message)

    def _write(self, loop: asyncio.AbstractEventLoop, cancel: Callable[[], object]) -> None:
        """Write the server's messages in a thread, until the host no longer reads."""
        for said in iter(self._said.get, None):
            try:
                line = said.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
                write(STDOUT, line.encode())
            except (OSError, ValueError) as error:
                if not isinstance(error, BrokenPipeError):
                    self._failed = True
                    why = getattr(error, "strerror", None) or one_line(str(error))
                    self._warn(f"an answer cannot be written: {why}")
                self._end_soon()
                with contextlib.suppress(RuntimeError):  # The loop has ended.
                    loop.call_soon_threadsafe(cancel)
                return
            self._open.pop(_id_of(said), None)
            self._answered.discard(_id_of(said))


def _id_of(said: Any) -> str:
    return str(getattr(said, "id", None))


def _requests(line: bytes) -> list[Any]:
    """The ids of the requests in a line that the SDK cannot read, each once."""
    found = {
        id_key(identity): identity
        for one in each(read_message(line)[0])
        if isinstance(one.get("method"), str)
        and _can_be_answered(identity := _whole(one.get("id")))
    }
    return list(found.values())


def _has_id(line: bytes) -> bool:
    return any("id" in one for one in each(read_message(line)[0]))


def _whole(identity: object) -> object:
    """An id such as 1.0 as an int, which is the same number in JSON."""
    return int(identity) if isinstance(identity, float) and identity.is_integer() else identity


def _can_be_answered(identity: object) -> bool:
    """Whether a message of the SDK can have this id: an int, or a text that is Unicode."""
    try:
        str(identity).encode()
    except UnicodeEncodeError:
        return False
    return type(identity) in (int, str)
