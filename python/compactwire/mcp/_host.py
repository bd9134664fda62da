"""The host's side of a relay or server: lines on standard input and output, and signals.

Source: the stdio transport of the Model Context Protocol: a message is a line.
"""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import select
import signal
import sys
import time
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "ANSWERS",
    "BOM",
    "CLOSED",
    "GROUPS",
    "STDIN",
    "STDOUT",
    "End",
    "TooLongError",
    "answered",
    "first",
    "hung_up",
    "lines",
    "passed_on",
    "prepare",
    "readable",
    "signals",
    "unread",
    "unreadable",
    "write",
]

STDIN, STDOUT = 0, 1
_CHUNK = 1 << 16
BOM = b"\xef\xbb\xbf"

_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
]

# Whether the system has process groups, and descriptors that may not block.
GROUPS = sys.platform != "win32"
# Seconds. Handlers of signals run in the main thread, which a signal does not always wake up from
# waiting for a lock, and never on Windows.
_WAKE_UP = 0.2
# Seconds for open requests after the end of the host's messages. A host that wants no answers sends
# a signal, usually after two seconds, or no longer reads.
ANSWERS, _POLL = 30.0, 0.02
# Seconds of waiting after which a warning says what the relay waits for.
_WARN_AFTER = 2.0

CLOSED = "the host has closed its input"


class TooLongError(Exception):
    """A line is longer than the limit."""


@dataclass(frozen=True, slots=True)
class End:
    """Why the relay ends: "host", "server", "signal" and its number, or "time" for answers is up.

    A host or server may also have sent a message that is too long.
    """

    side: str
    signal: int = 0
    too_long: bool = False


def prepare() -> None:
    """Make reading and writing wait: the process that started this one may have set otherwise."""
    if sys.platform != "win32":
        for descriptor in (STDIN, STDOUT):
            os.set_blocking(descriptor, True)


class Flag:
    """Like `threading.Event`, but without a lock: one signal may come in the handler of another."""

    def __init__(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True

    def clear(self) -> None:
        self._is_set = False


@contextlib.contextmanager
def signals(ends: queue.SimpleQueue[End]) -> Iterator[Flag]:
    """Signals end the relay in order: each one is put into the queue.

    The flag is set at the second signal.
    """
    once, hurry = Flag(), Flag()

    def note(number: int, _frame: object) -> None:
        if once.is_set():
            hurry.set()
        once.set()
        ends.put(End("signal", number))

    before = [(number, signal.signal(number, note)) for number in _SIGNALS]
    try:
        yield hurry
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def first(ends: queue.SimpleQueue[End]) -> End:
    """Wait for the first end."""
    while True:
        with contextlib.suppress(queue.Empty):
            return ends.get(timeout=_WAKE_UP)


def answered(
    ends: queue.SimpleQueue[End],
    is_busy: Callable[[], bool],
    seconds: float,
    warn: Callable[[str], object],
    why: str = CLOSED,
) -> End | None:
    """Wait for the answers to open requests after the end of the host's messages.

    Returns what ended the waiting before all are answered; None if they are, or if the host no
    longer reads.
    """
    begun = time.monotonic()
    warned = False
    while is_busy() and not hung_up(STDOUT):
        waited = time.monotonic() - begun
        if waited >= seconds:
            return End("time")
        if waited >= _WARN_AFTER and not warned:
            warned = True
            warn(f"{why}; waiting up to {seconds:g} seconds for the server")
        with contextlib.suppress(queue.Empty):
            return ends.get(timeout=_POLL)
    return None


def passed_on(line: bytes) -> bool:
    """Send a line to the host; False if it no longer reads.

    Raises
    ------
    OSError
        Writing failed for another reason, such as a full disk: the host lacks the line.
    """
    try:
        write(STDOUT, line)
    except OSError as error:
        if _is_hang_up(error):
            return False
        raise OSError(f"an answer cannot be written to standard output: {error.strerror}") from None
    return True


def unreadable(error: OSError) -> OSError | None:
    """The error for standard input that failed; None if the host has only left."""
    if _is_hang_up(error):
        return None
    return OSError(f"standard input cannot be read: {error.strerror}")


def out_of_memory(side: str) -> OSError:
    """The error for a message that does not fit in memory."""
    return OSError(f"there is not enough memory for a message of the {side}")


def unread(seconds: float) -> OSError:
    """The error for a host that reads no more, though it has not left."""
    return OSError(
        f"the last messages are lost: the host did not read them within {seconds:g} seconds"
    )


def _is_hang_up(error: OSError) -> bool:
    """Whether the other side of a pipe or socket is closed."""
    # Windows reports a closed pipe with this number.
    closed_pipe = sys.platform == "win32" and error.errno == errno.EINVAL
    return isinstance(error, ConnectionError) or closed_pipe


def lines(descriptor: int, limit: int | None) -> Iterator[bytes]:
    """The lines that are read from a descriptor, each with its line break.

    A byte order mark before the first one is left out: to most readers, the line would not be
    JSON. Without a limit of their length, the bytes as they come.
    """
    if limit is None:
        while chunk := _read(descriptor):
            yield chunk
        return
    begun = bytearray()
    mark = BOM
    while chunk := _read(descriptor):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            if len(begun) + len(part) > limit:
                raise TooLongError
            begun += part
            begun += b"\n"
            yield _taken(begun, mark)
            mark = b""
        begun += rest
        if len(begun) > limit:
            raise TooLongError
    if begun:
        yield _taken(begun, mark)


def _read(descriptor: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, _CHUNK)
        except BlockingIOError:
            _wait_for(descriptor)


def _wait_for(descriptor: int, *, to_write: bool = False) -> None:
    """Wait until a descriptor can be used, or is closed.

    A host may use one pipe or terminal for standard output and standard error, which the server
    has, too: Node.js sets those that it has so that reading and writing do not wait.
    """
    if sys.platform == "win32":
        time.sleep(_POLL)
        return
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT if to_write else select.POLLIN)
    poll.poll()


def _taken(begun: bytearray, mark: bytes) -> bytes:
    """The bytes without the mark; nothing else keeps them, because a line may be long."""
    if begun.startswith(mark):
        del begun[: len(mark)]
    line = bytes(begun)
    begun.clear()
    return line


def hung_up(descriptor: int) -> bool:
    """Whether the other side is closed, though there may be more to read; False on Windows."""
    if sys.platform == "win32":
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    # For the write end of a pipe, a closed read end is POLLERR on Linux.
    return any(events & (select.POLLHUP | select.POLLERR) for _, events in poll.poll(0))


def readable(descriptor: int) -> bool:
    """Whether reading would not wait; True on Windows, where that is not known."""
    if sys.platform == "win32":
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def write(descriptor: int, data: bytes) -> None:
    """Write all of the data."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            _wait_for(descriptor, to_write=True)
