"""Runs an MCP server as a child process and relays between it and the host of this process.

One thread reads the host and writes to the server, another one reads the server and writes to the
host; each message is passed on before the next one is read, so that order is kept and memory is
bounded by one message for each direction. The calling thread waits for the end of either side.

Invariant: when `relay_stdio` returns, the child and its process group have ended.

Source: the stdio transport of the Model Context Protocol: a message is a line.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ._relay import Passthrough, Relay

__all__ = ["relay_stdio"]

_STDIN, _STDOUT = 0, 1
_CHUNK = 1 << 16

# Seconds that a server has to end after its input was closed, and then after SIGTERM. Hosts wait
# two seconds after each of these before they kill the relay, which must have ended its server.
_GRACE, _GRACE_TERMINATED = 1.5, 1.5
# Seconds for the last lines of a server that has ended to reach the host.
_LAST_LINES = 30.0

_SIGNALS = [
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)
]
_GROUPS = hasattr(os, "killpg")


class _TooLongError(Exception):
    """A line is longer than the limit."""


@dataclass(frozen=True, slots=True)
class _End:
    """Why the relay ends: "host", "server", "too long" or "signal", and the signal's number."""

    side: str
    signal: int = 0


def relay_stdio(
    command: Sequence[str],
    relay: Relay | Passthrough,
    *,
    max_message: int,
    warn: Callable[[str], object],
) -> int:
    """Run the server and relay until one side ends; return the exit code for this process.

    It is that of the server if the server ended, 128 plus the number of a signal that ended the
    server or this process, and 0 if the host closed the connection.

    Parameters
    ----------
    command
        The program and its arguments. It inherits the environment and standard error.
    relay
        What passes on the messages.
    max_message
        The length in bytes of the longest message. A longer one ends the connection.
    warn
        Called with a line of text about what went wrong.
    """
    ends: queue.SimpleQueue[_End] = queue.SimpleQueue()
    if _GROUPS:
        for descriptor in (_STDIN, _STDOUT):
            os.set_blocking(descriptor, True)
    with _signals(ends):
        child = _Child(command)
        try:
            to_server = threading.Thread(
                target=_pump_host, args=(child, relay, max_message, warn, ends), daemon=True
            )
            to_host = threading.Thread(
                target=_pump_server, args=(child, relay, max_message, ends), daemon=True
            )
            to_server.start()
            to_host.start()
            threading.Thread(target=_watch, args=(child, ends), daemon=True).start()
            end = ends.get()
        finally:
            status = child.end()
        if end.side != "signal":
            _join(to_host, ends)
    if end.side == "signal":
        return 128 + end.signal
    if end.side == "host":
        return 0
    message = "the MCP server has ended"
    if end.side == "too long":
        message = f"the MCP server sent a message of more than {max_message:,} bytes; it was ended"
        warn(message)
    if not to_host.is_alive():
        all(map(_passed_on, relay.unanswered(message, {"exit_status": status})))
    return status or (1 if end.side == "too long" else 0)


def _watch(child: _Child, ends: queue.SimpleQueue[_End]) -> None:
    """Notice the end of a server whose output another process keeps open."""
    child.wait()
    ends.put(_End("server"))


def _join(thread: threading.Thread, ends: queue.SimpleQueue[_End]) -> None:
    """Wait until the last lines are passed on, or a signal comes."""
    deadline = time.monotonic() + _LAST_LINES
    while thread.is_alive() and time.monotonic() < deadline:
        thread.join(0.05)
        with contextlib.suppress(queue.Empty):
            if ends.get_nowait().side == "signal":
                return


@contextlib.contextmanager
def _signals(ends: queue.SimpleQueue[_End]) -> Iterator[None]:
    """Signals end the relay in order; the child gets them no other way, as its group is its own."""

    def note(number: int, _frame: object) -> None:
        ends.put(_End("signal", number))

    before = [(number, signal.signal(number, note)) for number in _SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


class _Child:
    """The process of the server, in a process group of its own, and the pipes to it."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=_GROUPS,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin
        self.stdout = self._process.stdout.fileno()
        # The descriptor must not be closed while a thread writes to it: its number may be reused.
        self._writing = threading.Lock()

    def write(self, line: bytes) -> bool:
        """Send a line; False if the server no longer reads."""
        with self._writing:
            if self._stdin.closed:
                return False
            try:
                _write(self._stdin.fileno(), line)
            except OSError:
                return False
            return True

    def wait(self) -> None:
        """Wait until the process has ended."""
        self._process.wait()

    def end(self) -> int:
        """End the process and its group, first gently, and return its exit code."""
        if self._writing.acquire(timeout=_GRACE):
            with contextlib.suppress(OSError):
                self._stdin.close()
            self._writing.release()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE)
        if not self._ended_after(signal.SIGTERM, _GRACE_TERMINATED) and _GROUPS:
            self._ended_after(signal.SIGKILL, _GRACE_TERMINATED)
        code = self._process.wait()
        return 128 - code if code < 0 else code

    def _ended_after(self, number: int, seconds: float) -> bool:
        """Send a signal to what is left of the group, and wait until nothing is."""
        deadline = time.monotonic() + seconds
        left = self._signal(number)
        while left and time.monotonic() < deadline:
            time.sleep(0.02)
            left = self._signal(0)
        return not left

    def _signal(self, number: int) -> bool:
        """Send a signal, or none if the number is 0; False if no process is left."""
        running = self._process.poll() is None
        if not _GROUPS:
            if running and number:
                self._process.terminate()
            return running
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            # macOS permits no signal to a group of which only zombies are left.
            return False
        return True


def _pump_host(
    child: _Child,
    relay: Relay | Passthrough,
    max_message: int,
    warn: Callable[[str], object],
    ends: queue.SimpleQueue[_End],
) -> None:
    side = "host"
    try:
        for line in _lines(_STDIN, max_message):
            if not child.write(relay.from_host(line)):
                side = "server"
                break
    except _TooLongError:
        warn(f"the host sent a message of more than {max_message:,} bytes")
    except OSError:
        pass  # Reading failed: the host is gone.
    finally:
        ends.put(_End(side))


def _pump_server(
    child: _Child, relay: Relay | Passthrough, max_message: int, ends: queue.SimpleQueue[_End]
) -> None:
    side = "server"
    try:
        for line in _lines(child.stdout, max_message):
            passed = relay.from_server(line)
            if passed is not None and not passed.endswith(b"\n"):
                passed += b"\n"  # Errors for open requests may follow.
            if passed is not None and not _passed_on(passed):
                side = "host"
                break
    except _TooLongError:
        side = "too long"
    finally:
        ends.put(_End(side))


def _passed_on(line: bytes) -> bool:
    """Send a line to the host; False if it no longer reads."""
    try:
        _write(_STDOUT, line)
    except OSError:
        return False
    return True


def _lines(descriptor: int, limit: int) -> Iterator[bytes]:
    """The lines that are read from a descriptor, each with its line break."""
    begun = bytearray()
    while chunk := os.read(descriptor, _CHUNK):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            if len(begun) + len(part) > limit:
                raise _TooLongError
            yield bytes(begun) + part + b"\n"
            begun.clear()
        begun += rest
        if len(begun) > limit:
            raise _TooLongError
    if begun:
        yield bytes(begun)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
