"""Runs an MCP server as a child process and relays between it and the host of this process.

One thread reads the host and writes to the server, another one reads the server and writes to the
host; each message is passed on before the next one is read, so that order is kept and memory is
bounded: a long message is there twice while its end is read. The calling thread waits for the end
of either side.

Invariant: when `relay_stdio` returns, the child and its process group have ended.

Source: the stdio transport of the Model Context Protocol: a message is a line.
"""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from functools import partial
from pathlib import Path

from ._host import (
    ANSWERS,
    CLOSED,
    GROUPS,
    STDIN,
    End,
    Flag,
    TooLongError,
    answered,
    first,
    hung_up,
    lines,
    out_of_memory,
    passed_on,
    prepare,
    readable,
    signals,
    unread,
    unreadable,
    write,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._relay import Passthrough, Relay

__all__ = ["relay_stdio"]

# Seconds that a server has to end after its input was closed, and then after SIGTERM. Hosts wait
# two seconds after each of these before they kill the relay, which must have ended its server.
_GRACE, _GRACE_TERMINATED = 1.5, 1.5
# Seconds for the last lines of a server that has ended to reach the host, and the silence after
# which there are no more, though a process that left the server's group keeps its output open.
_LAST_LINES, _SILENT = 30.0, 0.3

_READS_NO_MORE = "the MCP server reads no more"

_POLL = 0.02


def relay_stdio(
    command: Sequence[str],
    relay: Relay | Passthrough,
    *,
    max_message: int | None,
    warn: Callable[[str], object],
) -> int:
    """Run the server and relay until one side ends; return the exit code for this process.

    It is that of the server if the server ended by itself, 128 plus the number of a signal that
    ended the server or this process, 1 if a message was too long, or if the server did not answer
    in time after the host had closed its input, and else 0. A second signal kills the server at
    once.

    Parameters
    ----------
    command
        The program and its arguments. It inherits the environment and standard error.
    relay
        What passes on the messages.
    max_message
        The length in bytes of the longest message. A longer one ends the connection. None to pass
        bytes as they come, not messages.
    warn
        Called with a line of text about what went wrong.

    Raises
    ------
    OSError
        The server cannot be started, or standard input or output failed.
    """
    ends: queue.SimpleQueue[End] = queue.SimpleQueue()
    prepare()
    grace = _GRACE
    with signals(ends) as hurry:
        child = _Child(command, hurry)
        try:
            to_host, watch = _start_threads(child, relay, max_message, ends)
            end = first(ends)
            if end.side == "host" and not end.too_long and child.close_input():
                why = _READS_NO_MORE if child.closed_input else CLOSED
                end = answered(ends, relay.is_busy, ANSWERS, warn, why) or end
                if end.side == "signal":
                    grace = 0.0
        finally:
            status = child.end(grace)
        passed = end.side != "signal" and _last_lines_passed(child, to_host, ends)
    if status is None:
        warn("the MCP server could not be ended")
        status = 1
    else:
        child.close_output(to_host, watch)
    if child.failure is not None:
        raise child.failure
    if end.side == "signal":
        return 128 + end.signal
    if child.signal:
        return 128 + child.signal
    if child.sent_too_long:
        # The server's end may have been noticed before the length of its last message.
        end = End("server", too_long=True)
    if end.side == "host" and not end.too_long and not child.closed_input:
        return 0 if child.was_signalled else status
    if child.closed_input and child.was_signalled:
        status = status or 1
    why = _why_ended(end, max_message, relay.awaited, reads_no_more=child.closed_input)
    return _end_early(end, why, relay, warn, status=status, passed=passed)


def _start_threads(
    child: _Child,
    relay: Relay | Passthrough,
    max_message: int | None,
    ends: queue.SimpleQueue[End],
) -> tuple[threading.Thread, threading.Thread]:
    """Start to relay in both directions.

    Return the threads that use the server's output: one writes to the host, one waits for the end.
    """
    arguments = (child, relay, max_message, ends)
    to_server = threading.Thread(target=_pump_host, args=arguments, daemon=True)
    to_host = threading.Thread(target=_pump_server, args=arguments, daemon=True)
    to_server.start()
    to_host.start()
    watch = threading.Thread(target=_watch, args=(child, ends), daemon=True)
    watch.start()
    return to_host, watch


def _end_early(
    end: End,
    message: str,
    relay: Relay | Passthrough,
    warn: Callable[[str], object],
    *,
    status: int,
    passed: bool,
) -> int:
    """Answer the open requests with errors, if the host still reads; return the exit code."""
    # With `--off`, it is not known whether an answer is missing.
    late = end.side == "time" and relay.is_busy()
    errors = list(relay.unanswered(message, {"exit_status": status}))
    if end.too_long or late:
        warn(message)
    if passed:
        all(map(passed_on, errors))
    if late or (end.side == "host" and end.too_long):
        return 1
    return 0 if end.side == "time" else status or int(end.too_long)


def _why_ended(end: End, limit: int | None, awaited: str, *, reads_no_more: bool) -> str:
    if end.too_long:
        who = "host" if end.side == "host" else "MCP server"
        return f"the {who} sent a message of more than {limit:,} bytes; the server was ended"
    if reads_no_more and end.side != "server":
        return f"{_READS_NO_MORE}; it was ended"
    if end.side == "time":
        return (
            f"the MCP server did not {awaited} within {ANSWERS:g} seconds after the host closed "
            "its input; the server was ended"
        )
    return "the MCP server has ended"


def _watch(child: _Child, ends: queue.SimpleQueue[End]) -> None:
    """Notice the end of a server whose output another process keeps open."""
    child.wait()
    if not child.was_launcher():
        ends.put(End("server"))


def _last_lines_passed(
    child: _Child, thread: threading.Thread, ends: queue.SimpleQueue[End]
) -> bool:
    """Wait until the last lines are passed on, or a signal comes; whether no more will be."""
    begun = heard = time.monotonic()
    while thread.is_alive():
        thread.join(0.05)
        now = time.monotonic()
        if not child.is_silent():
            heard = now
        elif now - heard > _SILENT:
            return child.leave()
        with contextlib.suppress(queue.Empty):
            end = ends.get_nowait()
            if end.side == "signal":
                child.signal = end.signal
                return False
        if now - begun > _LAST_LINES:
            child.failure = unread(_LAST_LINES)
            return False
    return True


class _Child:
    """The process of the server, in a process group of its own, and the pipes to it."""

    def __init__(self, command: Sequence[str], hurry: Flag) -> None:
        self._process = _started(command)
        self._hurry = hurry
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin
        self.stdout = self._process.stdout.fileno()
        # The descriptor must not be closed while a thread writes to it: its number may be reused.
        self._writing = threading.Lock()
        self._passing = threading.Lock()
        self._left = self._launched = False
        # The number of an empty group may become that of others.
        self._group: int | None = self._process.pid
        self.was_signalled = False
        self.sent_too_long = False
        # Whether it reads no more; it may still answer.
        self.closed_input = False
        # The signal that came while the last lines were passed on; 0 for none.
        self.signal = 0
        # Why the host could not be read or written to, though it had not left.
        self.failure: OSError | None = None

    def write(self, line: bytes) -> bool:
        """Send a line; False if the server no longer reads."""
        with self._writing:
            if self._stdin.closed:
                return False
            try:
                write(self._stdin.fileno(), line)
            except OSError:
                return False
            return True

    def pass_on(self, line: bytes, relay: Relay | Passthrough, *, as_lines: bool) -> bool:
        """Pass on a line of the server; False if the host no longer reads, or nobody listens."""
        with self._passing:
            if self._left:
                return False
            passed = relay.from_server(line)
            if passed is None:
                return True
            if as_lines and not passed.endswith(b"\n"):
                passed += b"\n"  # Errors for open requests may follow.
            return passed_on(passed)

    def is_silent(self) -> bool:
        """Whether the server's output has nothing to read, and no line of it is being passed on."""
        return not self._passing.locked() and not readable(self.stdout)

    def leave(self) -> bool:
        """Pass on nothing any more; False if a line is being passed on."""
        if not self._passing.acquire(blocking=False):
            return False
        self._left = True
        self._passing.release()
        return True

    def wait(self) -> None:
        """Wait until the process has ended."""
        self._process.wait()

    def was_launcher(self) -> bool:
        """Whether the process that has ended left its input and output to another one: the server.

        A process that failed has not, though one that it started may keep its output open. On
        Windows it is not known.
        """
        if not GROUPS or self._process.returncode != 0 or hung_up(self.stdout):
            return False
        with self._writing:
            # If the host has closed the input, nobody can tell.
            if not self._stdin.closed and hung_up(self._stdin.fileno()):
                return False
        self._launched = True
        if not self._signal(0):
            self._group = None
        return True

    def _is_running(self) -> bool:
        return self._process.poll() is None or (self._launched and not hung_up(self.stdout))

    def close_input(self) -> bool:
        """Tell the server that nothing follows; False if it does not read what came before."""
        if not self._within(_GRACE, lambda: self._writing.acquire(blocking=False)):
            return False
        with contextlib.suppress(OSError):
            self._stdin.close()
        self._writing.release()
        return True

    def close_output(self, reader: threading.Thread, watch: threading.Thread) -> None:
        """Close the output of a process that has ended, unless a thread may still use it.

        Then another process keeps it open, and its number must not be reused.
        """
        watch.join(_POLL)
        if not (reader.is_alive() or watch.is_alive()):
            assert self._process.stdout is not None
            self._process.stdout.close()

    def end(self, grace: float) -> int | None:
        """End the process and its group, first gently; return its exit code, None if it runs on.

        It has so many seconds to end by itself, without a signal.
        """
        if self.close_input():
            self._within(grace, lambda: not self._is_running())
        if self._hurry.is_set() or not self._ended_after(signal.SIGTERM):
            self._hurry.clear()
            self._ended_after(getattr(signal, "SIGKILL", signal.SIGTERM))
        try:
            # A process of another user cannot be ended.
            code = self._process.wait(_GRACE_TERMINATED)
        except subprocess.TimeoutExpired:
            return None
        return 128 - code if code < 0 else code

    def _within(self, seconds: float, done: Callable[[], bool]) -> bool:
        """Wait until something is done; False after so many seconds, or a second signal."""
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() >= deadline or self._hurry.is_set():
                return False
            time.sleep(_POLL)
        return True

    def _ended_after(self, number: int) -> bool:
        """Send a signal to what is left of the group, and wait until nothing is."""
        if not self._signal(number):
            return True
        return self._within(_GRACE_TERMINATED, lambda: not self._signal(0))

    def _signal(self, number: int) -> bool:
        """Send a signal, or none if the number is 0; False if no process is left."""
        running = self._process.poll() is None
        if running and number:
            self.was_signalled = True
        if sys.platform == "win32":
            if running and number:
                _end_tree(self._process)
            return running
        if self._group is None:
            return False
        try:
            os.killpg(self._group, number)
        except (ProcessLookupError, PermissionError):
            # macOS permits no signal to a group of which only zombies are left.
            return False
        return True


def _started(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the server in a process group of its own; the error says what to do."""
    program, *arguments = command
    flags = 0
    scheme, colon, _ = program.partition("://")
    if colon and len(scheme) != 1:  # `C://` is a drive of Windows.
        raise OSError(
            f"a URL of {scheme}:// cannot be relayed: expected one of http:// or https://, or a "
            "command that connects to it"
        )
    if sys.platform == "win32":
        # CreateProcess finds no `npx.cmd`, and Ctrl-C must not reach the child before the relay.
        program = shutil.which(program) or program
        flags = subprocess.CREATE_NEW_PROCESS_GROUP
    try:
        return subprocess.Popen(
            [program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=GROUPS,
            creationflags=flags,
        )
    except OSError as error:
        raise _cannot_start(program, error) from error


def _cannot_start(program: str, error: OSError) -> OSError:
    said = "the MCP server cannot be started"
    problem = f"{said}: {program!r}"
    if error.errno == errno.ELOOP:
        return OSError(f"{problem} is a link in a circle, or below one")
    if not isinstance(error, FileNotFoundError):
        return OSError(f"{problem}: {error.strerror}; expected a program or an executable script")
    word, space, _ = program.partition(" ")
    if space and shutil.which(word):
        # The arguments may have secrets.
        return OSError(f"{said}: {word!r} and its arguments are one text; give each by itself")
    if Path(program).name != program:
        return OSError(f"{problem}, or the interpreter in its first line, does not exist")
    return OSError(
        f"{problem} is in no folder of PATH ({os.environ.get('PATH', '')}); install it, or give "
        "its whole path: a host may have another PATH than your terminal"
    )


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process on Windows with those that it started, as `npx.cmd` starts the server."""
    taskkill = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
    with contextlib.suppress(OSError):
        subprocess.run(taskkill, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    process.terminate()  # It does nothing if the process has ended.


def _pump_host(
    child: _Child, relay: Relay | Passthrough, limit: int | None, ends: queue.SimpleQueue[End]
) -> None:
    end = End("host")
    try:
        # `map` does not keep a line while the next one is read, as a loop would.
        noted = map(relay.from_host, lines(STDIN, limit))
        if not all(map(child.write, noted)):
            # It may still answer, like one whose host has left. What follows gets errors later.
            child.closed_input = True
            ends.put(end)
            deque(noted, maxlen=0)
    except TooLongError:
        end = End("host", too_long=True)
    except OSError as error:
        child.failure = unreadable(error)
    except MemoryError:
        child.failure = out_of_memory("host")
    finally:
        if not child.closed_input:
            ends.put(end)


def _pump_server(
    child: _Child, relay: Relay | Passthrough, limit: int | None, ends: queue.SimpleQueue[End]
) -> None:
    end = End("server")
    try:
        passed = partial(child.pass_on, relay=relay, as_lines=limit is not None)
        if not all(map(passed, lines(child.stdout, limit))):
            end = End("host")
    except TooLongError:
        child.sent_too_long = True
        end = End("server", too_long=True)
    except OSError as error:
        child.failure = error
        end = End("host")
    except MemoryError:
        child.failure = out_of_memory("server")
    finally:
        ends.put(end)
