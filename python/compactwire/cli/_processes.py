"""Processes that do the work of a command, and that end with it, however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections import deque
from multiprocessing import connection, get_context, parent_process, resource_tracker
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from multiprocessing.connection import Connection
    from types import FrameType
    from typing import Any

Item = TypeVar("Item")
Result = TypeVar("Result")

# A fork would copy locks that threads of pyarrow may hold.
_CONTEXT = get_context("spawn")


class ProcessEndedError(Exception):
    """The process of an item ended before it had the result."""


def in_processes(
    work: Callable[[Item], Result], items: Sequence[Item], count: int
) -> Generator[Callable[[], Result]]:
    """Work on so many items at a time, each in a process; on fewer if the system allows no more.

    Yields a function for each item, in their order, which returns the result or raises the error
    of `work`; it raises `ProcessEndedError` if the process ended. The end of the generator, SIGINT
    and SIGTERM end the processes at once.
    """
    left = deque(enumerate(items))
    done: dict[int, Callable[[], Result]] = {}
    busy: dict[Any, _Worker[Item, Result]] = {}
    with _Signals() as signals:
        try:
            for place in range(len(items)):
                while place not in done:
                    while left and len(busy) < count:
                        with signals.held():
                            try:
                                worker = _Worker(work)
                            except OSError:
                                if not busy:
                                    raise
                                count = len(busy)
                                break
                            busy[worker.pipe] = worker
                        worker.give(*left.popleft())
                    for pipe in connection.wait(list(busy)):
                        worker = busy[pipe]
                        done[worker.place] = worker.take()
                        if worker.ended or not left:
                            del busy[pipe]
                            worker.end()
                        else:
                            worker.give(*left.popleft())
                yield done.pop(place)
        finally:
            with signals.held():
                for worker in busy.values():
                    worker.end()


class _Signals:
    """SIGINT and SIGTERM raise `KeyboardInterrupt` and `SystemExit`, but later while `held`.

    Signals that are ignored, or that the caller of `main` handles itself, are left alone.
    """

    def __init__(self) -> None:
        self._held = False
        self._received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        # Python allows it to this thread alone.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Raise the exception of a signal at the end: for what must not be left half done."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            if self._received is not None:
                self._raise(self._received)

    def _receive(self, number: int, _: FrameType | None) -> None:
        self._received = number
        if not self._held:
            self._raise(number)

    def _raise(self, number: int) -> None:
        self._received = None
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


class _Worker(Generic[Item, Result]):
    """A process, and the item that it works on."""

    def __init__(self, work: Callable[[Item], Result]) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self.place = 0
        self.ended = False
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, work), daemon=True)
        with theirs, _sigint_blocked():
            self._process.start()

    def give(self, place: int, item: Item) -> None:
        """Give the process an item."""
        self.place = place
        # If the process has ended, `take` finds it.
        with contextlib.suppress(OSError):
            self.pipe.send(item)

    def take(self) -> Callable[[], Result]:
        """Wait for the result of the item."""
        try:
            answer: tuple[Result, Exception | None] = self.pipe.recv()
        except (EOFError, OSError):
            self.ended = True
            return _raiser(ProcessEndedError())
        result, error = answer
        return (lambda: result) if error is None else _raiser(error)

    def end(self) -> None:
        """End the process, which has nothing to save."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Let a new process inherit that SIGINT is blocked: only this process handles Ctrl-C.

    The new process could ignore SIGINT itself only after Python has started in it.
    """
    if sys.platform == "win32":
        yield
        return
    # The first process starts it, which would unblock SIGINT again.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, work: Callable[[Item], object]) -> None:
    """Work on the items that come, until the parent ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # On Windows, a process does not inherit that SIGINT is blocked.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The processes divide the processors.
    os.environ.setdefault("COMPACTWIRE_THREADS", "1")
    # An error of the pipe is the end of the parent.
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(_answer(work, pipe.recv()))


def _raiser(error: Exception) -> Callable[[], NoReturn]:
    def raiser() -> NoReturn:
        raise error

    return raiser


def _answer(work: Callable[[Item], object], item: Item) -> tuple[object, Exception | None]:
    try:
        return work(item), None
    except Exception as error:  # The parent raises it.
        return None, error


def _end_with_parent() -> None:
    """End this process, in the middle of its work, when the parent has ended."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
