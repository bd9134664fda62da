"""The lock of a conversation: one turn at a time, and an error for a turn that waits for itself."""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..errors import NestedTurn

if TYPE_CHECKING:
    import asyncio


_Result = TypeVar("_Result")

# The argument of `Lock.acquire`, not to wait.
_AT_ONCE, _WAITING = (False,), (True,)


class _Holder(NamedTuple):
    thread: int
    task: asyncio.Task[object] | None
    """The task, if the turn waits in an event loop of the thread."""


class TurnLock:
    """Held while a turn is under way.

    Parameters
    ----------
    advice : str
        What a caller can do that would wait for itself.
    conversation : str, optional
        The conversation, if the lock belongs to a store.
    """

    def __init__(self, advice: str, conversation: str | None = None) -> None:
        self._lock = threading.Lock()
        self._holder: _Holder | None = None
        self._advice = advice
        self._conversation = conversation

    def check(self, task: asyncio.Task[object] | None = None) -> None:
        """Raise `NestedTurn` if the turn under way cannot end before the caller returns.

        A function, for which `task` is None, stops its thread and each task there; a coroutine
        stops only its own task.
        """
        # Only this thread can have written its own number, so no lock is needed.
        holder = self._holder
        if holder is None or holder.thread != threading.get_ident() or not self._lock.locked():
            return
        if task is None or holder.task in (None, task):
            where = "thread" if None in (task, holder.task) else "task"
            raise NestedTurn(
                f"a turn of the same conversation is under way in this {where}, and this one would "
                f"wait for it for ever: {self._advice}",
                conversation=self._conversation,
            )

    def locked(self) -> bool:
        """Whether a turn is under way."""
        return self._lock.locked()

    def hold(self, work: Callable[[], _Result]) -> _Result:
        """Wait for the lock, and hold it while a function runs."""
        self.check()
        if sys.is_finalizing() and self._lock.locked():
            message = "a thread that the end of the interpreter has stopped holds the turn"
            raise RuntimeError(message)
        holder = _Holder(threading.get_ident(), None)
        held = deque((False,), maxlen=1)
        try:
            # See `hold_async`. With a `with` of Python 3.14, a handler may run before the note.
            held.extend(map(self._lock.acquire, _WAITING))
            self._holder = holder
            return work()
        finally:
            if held[0]:
                self._holder = None
                self._lock.release()

    async def hold_async(
        self, work: Callable[[], Awaitable[_Result]], wait: Callable[[], Awaitable[object]]
    ) -> _Result:
        """Hold the lock while a coroutine runs; `wait` is awaited as long as it is not free."""
        import asyncio

        task = asyncio.current_task()
        self.check(task)
        holder = _Holder(threading.get_ident(), task)
        # Whether the lock is held. No handler of a signal runs between its acquisition and this
        # note, which takes no memory, nor before its release: both are single calls of C.
        held = deque((False,), maxlen=1)
        try:
            while True:
                held = deque((False,), maxlen=1)  # A note in a used one may take memory.
                held.extend(map(self._lock.acquire, _AT_ONCE))
                if held[0]:
                    break
                await wait()
            self._holder = holder
            return await work()
        finally:
            if held[0]:
                self._holder = None
                self._lock.release()
