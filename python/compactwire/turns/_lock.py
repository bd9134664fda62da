"""The lock of a conversation: one turn at a time, and an error for a turn that waits for itself."""

from __future__ import annotations

import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import compress
from operator import call
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from .._guard import is_within
from .._threads import Held, awaited, held
from ..errors import NestedTurn

if TYPE_CHECKING:
    import asyncio


_Result = TypeVar("_Result")

# The argument of `Lock.acquire`, not to wait, or to wait.
_AT_ONCE, _WAITING = (False,), (True,)
_CALL: Callable[[Any], None] = call


class _Holder(NamedTuple):
    thread: int
    mark: Held
    task: asyncio.Task[object] | None = None
    """The task, if the turn waits in an event loop of the thread."""


def _note(mark: Held) -> None:
    held.set((*(one for one in held.get() if not one.is_over), mark))


def _forget(mark: Held) -> None:
    # Not by a token: a coroutine may be closed outside of its task, and tasks may share a context.
    mark.is_over = True
    held.set(tuple(one for one in held.get() if one is not mark))


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
        stops only its own task. The collector may run `__del__` in a thread that works for a turn.
        """
        # Only this thread can have written its own number, so no lock is needed.
        holder = self._holder
        if holder is None or not self._lock.locked():
            return
        is_awaited = holder.mark in awaited()
        if not is_awaited and holder.thread != threading.get_ident():
            return
        if is_awaited or task is None or holder.task in (None, task):
            where = "in this thread" if None in (task, holder.task) else "in this task"
            if is_awaited:
                where = "and waits for this thread"
            raise NestedTurn(
                f"a turn of the same conversation is under way {where}, and this one would "
                f"wait for it for ever: {self._advice}",
                conversation=self._conversation,
            )

    def locked(self) -> bool:
        """Whether a turn is under way."""
        return self._lock.locked()

    def hold(self, work: Callable[[], _Result]) -> _Result:
        """Wait for the lock, and hold it while a function runs."""
        self.check()
        must_not_wait = sys.is_finalizing() or is_within()
        mark = Held()
        holder = _Holder(threading.get_ident(), mark)
        arguments = _AT_ONCE if must_not_wait else _WAITING
        take, leave = self._taking(holder, arguments), self._leaving()
        try:
            any(take)
            if must_not_wait and self._holder is not holder:
                self._refuse()
            _note(mark)
            return work()
        finally:
            try:
                if self._holder is holder:
                    any(leave)
            finally:
                _forget(mark)

    def _refuse(self) -> NoReturn:
        """Raise the error for a thread for which the turn under way waits, or waits for ever."""
        if sys.is_finalizing():
            message = "a thread that the end of the interpreter has stopped holds the turn"
            raise RuntimeError(message)
        raise NestedTurn(
            "a turn of the same conversation is under way, and may wait for the call of a store "
            f"that `__del__` or the handler of a signal has interrupted here: {self._advice}",
            conversation=self._conversation,
        )

    async def hold_async(
        self, work: Callable[[], Awaitable[_Result]], wait: Callable[[], Awaitable[object]]
    ) -> _Result:
        """Hold the lock while a coroutine runs; `wait` is awaited as long as it is not free."""
        import asyncio

        task = asyncio.current_task()
        self.check(task)
        mark = Held(task)
        holder = _Holder(threading.get_ident(), mark, task)
        leave = self._leaving()
        try:
            while True:
                any(self._taking(holder, _AT_ONCE))
                if self._holder is holder:
                    break
                await wait()
            _note(mark)
            return await work()
        finally:
            try:
                if self._holder is holder:
                    any(leave)
            finally:
                _forget(mark)

    def use(self, work: Callable[[], None]) -> None:
        """Hold the lock while a function runs, if the lock is free."""
        holder = _Holder(threading.get_ident(), Held())
        take, leave = self._taking(holder, _AT_ONCE), self._leaving()
        try:
            any(take)
            if self._holder is holder:
                work()
        finally:
            if self._holder is holder:
                any(leave)

    # No handler of a signal runs between the lock and the note of its holder, without which a turn
    # in the handler would wait for its own thread: `any` runs both, which are functions of C. The
    # end of a turn is no function of Python either: a handler that raises as it begins would leave
    # the lock taken.

    def _taking(self, holder: _Holder, arguments: tuple[bool, ...]) -> Iterator[None]:
        """Acquire the lock, and note the holder if it was acquired, where `any` asks for it."""
        noted = compress((holder,), map(self._lock.acquire, arguments))
        return map(setattr, (self,), ("_holder",), noted)

    def _leaving(self) -> Iterator[None]:
        """Remove the note and release the lock, for which no memory is needed any more."""
        return map(_CALL, (partial(setattr, self, "_holder", None), self._lock.release))
