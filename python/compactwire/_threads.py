"""Work that takes long leaves the event loop, for threads that know what their callers hold.

A turn is such a thing: a thread whose work a turn waits for must not wait for the turn.
"""

from __future__ import annotations

import contextvars
import functools
import mmap
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    import asyncio

LONG = 1 << 17
"""The size of a body or text whose work takes long."""

# More bytes than the first calls of a thread take from the system. They are not written.
_THREAD_BYTES = 2 << 20

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def check_memory() -> None:
    """Raise `MemoryError` unless there is memory for a new thread.

    Python waits for ever for the start of a thread that has no memory for its first call.
    """
    try:
        mmap.mmap(-1, _THREAD_BYTES).close()
    except OSError as error:
        message = "there is not enough memory for a new thread"
        raise MemoryError(message) from error


class Held:
    """Something that a task, or a function of a thread, holds while it may wait for other threads.

    It does not keep the task, whose context keeps it.
    """

    def __init__(self, task: object = None) -> None:
        self._thread, self._task = threading.get_ident(), None if task is None else id(task)
        self.is_over = False

    def is_of(self, task: object) -> bool:
        """Whether the task holds it, or a function that this thread is within."""
        if self.is_over:
            return False
        return self._task == id(task) if self._task else self._thread == threading.get_ident()


held: contextvars.ContextVar[tuple[Held, ...]] = contextvars.ContextVar("held", default=())
"""What the functions and tasks of a context hold. Tasks that they have begun have it, too."""

_awaited = threading.local()


def awaited() -> tuple[Held, ...]:
    """What those hold who wait for the work of this thread, which must not wait for that."""
    found: tuple[Held, ...] = getattr(_awaited, "held", ())
    return found


def holds() -> tuple[Held, ...]:
    """What those hold who will wait for a thread that is begun here."""
    found = held.get()
    if not found:
        return awaited()
    import asyncio

    try:
        task = asyncio.current_task()
    except RuntimeError:  # No event loop runs here.
        task = None
    return (*awaited(), *(one for one in found if one.is_of(task)))


def work_for(holders: tuple[Held, ...], work: Callable[..., None], *arguments: object) -> None:
    """Do the work for those who hold this, and who may wait for it."""
    _awaited.held = holders
    try:
        work(*arguments)
    finally:
        _awaited.held = ()


@functools.cache
def _pool(kind: str) -> ThreadPoolExecutor:
    """Threads of our own: those of the event loop may all wait for a request that waits for us.

    Those for work that may be left are others: all of them may still be at work that was left.
    """
    return ThreadPoolExecutor(thread_name_prefix=f"compactwire-{kind}")


# A process that is forked has no threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def run_unless_cancelled(done: Future[_Result], work: Callable[[], _Result]) -> None:
    """Do the work, unless it was cancelled before."""
    if not done.set_running_or_notify_cancel():
        return
    try:
        done.set_result(work())
    except StopIteration as error:
        # No future of an event loop takes it.
        failure = RuntimeError("the work raised StopIteration")
        failure.__cause__ = error
        done.set_exception(failure)
    except BaseException as error:
        done.set_exception(error)


async def run(
    size: int,
    work: Callable[_Arguments, _Result],
    *arguments: _Arguments.args,
    **named: _Arguments.kwargs,
) -> _Result:
    """The result of some work on a text of this size, in a thread if it is large.

    If the task is cancelled, the work is done to its end first: it changes a session.
    """
    bound = functools.partial(work, *arguments, **named)
    task = _begun(size, bound)
    if task is None:
        return bound()
    import asyncio

    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                continue
        if not task.cancelled():
            task.exception()
        raise


async def run_or_leave(
    size: int,
    work: Callable[_Arguments, _Result],
    *arguments: _Arguments.args,
    **named: _Arguments.kwargs,
) -> _Result:
    """As `run`, for work that changes nothing.

    A task that is cancelled ends at once, and leaves what has begun to its thread. The process
    waits for the thread at its end.
    """
    bound = functools.partial(work, *arguments, **named)
    task = _begun(size, bound, "leave")
    return bound() if task is None else await task


def _begun(
    size: int, work: Callable[[], _Result], kind: str = "run"
) -> asyncio.Future[_Result] | None:
    """The work, begun in a thread; None if it is short, or no thread can do it."""
    if size < LONG:
        return None
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        # Another library runs the event loop.
        return None
    done: Future[_Result] = Future()
    context = contextvars.copy_context()
    check_memory()
    try:
        loop.run_in_executor(
            _pool(kind),
            work_for,
            holds(),
            run_unless_cancelled,
            done,
            functools.partial(context.run, work),
        )
    except NotImplementedError:
        # The event loop of a workflow that is replayed, which has no threads.
        return None
    except RuntimeError:
        # The system starts no more threads. One that is there may take the work all the same.
        if done.cancel():
            return None
    return asyncio.wrap_future(done, loop=loop)
