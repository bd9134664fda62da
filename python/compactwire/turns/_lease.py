"""Leases: one process at a time answers the turns of a conversation.

A lease has an end, so that the others go on after a process that died. It is extended while the
process lives, so that an answer may take longer than a lease.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import contextvars
import os
import secrets
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from .._texts import real
from .._threads import check_memory, holds, run_unless_cancelled, work_for
from ..errors import TurnInProgress

if TYPE_CHECKING:
    from types import TracebackType

# How long a turn waits until it asks again for the lease: at first, and at most.
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.25

# How long a turn that was interrupted waits for the release of its lease.
_RELEASE_S = 0.5

_Result = TypeVar("_Result")


class Leases(Protocol):
    """The part of a `SessionStore` that reserves conversations."""

    def lease(self, conversation: str, holder: str, /) -> float: ...

    def release(self, conversation: str, holder: str, /) -> None: ...


class Lease:
    """The right to answer the turns of a conversation.

    Parameters
    ----------
    store : SessionStore
        The store.
    conversation : str
        The conversation.
    number : int
        The number of the turn, for the error.
    deadline : float
        Until when to wait for the lease of another holder, in seconds of `time.monotonic`.
    """

    def __init__(self, store: Leases, conversation: str, number: int, deadline: float) -> None:
        self._store = store
        self._conversation = conversation
        self._number = number
        self._deadline = deadline
        self._holder = secrets.token_hex(16)
        # Released at the end. Unlike an Event, which is written in Python, Ctrl-C leaves it whole.
        self._ended = threading.Lock()
        self._ended.acquire()
        self._over = False
        """Whether the turn is over, so that the lease is not extended any more."""

    def hold(self, work: Callable[[], _Result]) -> _Result:
        """Wait for the lease, and hold it while a function runs."""
        pauses = self._pauses()
        try:
            try:
                while not self._take():
                    time.sleep(next(pauses))
                result = work()
            except Exception:
                self._try_release()
                raise
            self._release()
        except Exception:
            raise
        except BaseException:
            # Ctrl-C, for example, must not wait for a database that is locked.
            self._start_release()
            raise
        finally:
            # Unlike a call, this happens even if the handler of a signal raises: the renewal ends.
            self._over = True
        return result

    async def __aenter__(self) -> None:
        """Wait for the lease and hold it, in a coroutine."""
        pauses = self._pauses()
        try:
            while not await finished(self._take):
                await asyncio.sleep(next(pauses))
        except BaseException as error:
            await self._end(error)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._end(error)

    async def _end(self, error: BaseException | None) -> None:
        self._over = True
        if error is None:
            await finished(self._release)
        elif isinstance(error, GeneratorExit):
            # The event loop has ended without this task: nothing can be awaited any more.
            self._start_release()
        else:
            # Without memory for a thread, the lease ends by itself.
            with contextlib.suppress(MemoryError):
                await finished(self._try_release)

    def _pauses(self) -> Iterator[float]:
        """The seconds to wait before each further attempt; `TurnInProgress` after the deadline."""
        pause = _FIRST_PAUSE_S
        while (left := self._deadline - time.monotonic()) > 0:
            yield min(pause, left)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)
        raise TurnInProgress(
            f"turn {self._number}: another process is answering a turn of this conversation; "
            "deliver the turn again later, or wait longer with wait_s",
            conversation=self._conversation,
            number=self._number,
        )

    def _take(self) -> bool:
        """Take the lease if it is free; return whether it was."""
        seconds = real("lease()", self._store.lease(self._conversation, self._holder))
        if 0 < seconds < float("inf") and not sys.is_finalizing():
            _begin(_renew, weakref.ref(self), self._ended, seconds / 3)
        return seconds > 0

    def renew(self) -> bool:
        """Extend the lease; False if the turn is over, and the lease ends by itself."""
        if not self._over:
            # The next renewal may succeed. If none does, another process takes over, and `save`
            # decides which answer is kept.
            with contextlib.suppress(Exception):
                self._store.lease(self._conversation, self._holder)
                if self._over:  # The lease may have been released before it was extended.
                    self._store.release(self._conversation, self._holder)
        return not self._over

    def _release(self) -> None:
        self._over = True
        with contextlib.suppress(RuntimeError):  # It was released before.
            self._ended.release()
        self._store.release(self._conversation, self._holder)

    def _try_release(self) -> None:
        """Release the lease after an exception, which no other one replaces.

        A lease that cannot be released ends by itself.
        """
        with contextlib.suppress(Exception):
            self._release()

    def _start_release(self) -> None:
        """Release the lease in a thread, and wait for a short time only."""
        released = threading.Lock()
        released.acquire()

        def release() -> None:
            self._try_release()
            released.release()

        # A process that ends, or has too many threads or no memory, starts none.
        with contextlib.suppress(RuntimeError, MemoryError):
            _begin(release)
            released.acquire(timeout=_RELEASE_S)


def _begin(work: Callable[..., None], *arguments: object) -> None:
    """Run a function in a thread, whose start and end the caller does not wait for.

    The collector may run `__del__` in the thread, which may wait for the turn of the caller.
    """
    check_memory()
    _thread.start_new_thread(partial(work_for, holds(), work), arguments)


def _renew(of: weakref.ref[Lease], ended: threading.Lock, pause: float) -> None:
    """Extend a lease at intervals, as long as its turn is under way."""

    def renewed() -> bool:
        lease = of()
        return lease is not None and lease.renew()

    pause = min(pause, threading.TIMEOUT_MAX)
    while not ended.acquire(timeout=pause) and renewed():
        pass


@cache
def _threads(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - the key of the cache
    """Threads of this process for the calls of stores.

    Those of the event loop may all wait for a turn that goes on only when a store was called.
    """
    return ThreadPoolExecutor(thread_name_prefix="compactwire turns")


async def finished(function: Callable[[], _Result]) -> _Result:
    """Run a function in a thread; if the task is cancelled, end after the function has ended.

    What the task holds meanwhile, it does not release before: another turn of the conversation
    would begin while this one is being kept.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    check_memory()
    # Not cancelled with all tasks when `asyncio.run` ends.
    done: Future[_Result] = Future()
    try:
        loop.run_in_executor(
            _threads(os.getpid()),
            work_for,
            holds(),
            run_unless_cancelled,
            done,
            partial(context.run, function),
        )
    except RuntimeError:
        # The system starts no more threads. One that is there may take the work all the same.
        if done.cancel():
            raise
    running = asyncio.wrap_future(done, loop=loop)
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            # Some frameworks cancel a task again and again until it has ended.
            cancelled = error
    if cancelled is not None:
        running.exception()  # Otherwise asyncio reports that nobody asked for it.
        raise cancelled
    return running.result()
