"""A lock for calls that the collector or the handler of a signal may enter again.

Python runs `__del__` and handlers of signals between any two instructions, also where a lock is
held. With a `threading.Lock`, a method that takes the lock again would then wait for itself.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Concatenate, NoReturn, ParamSpec, Protocol, TypeVar

# The argument of `RLock.acquire`, not to wait, or to wait.
_AT_ONCE, _WAITING = (False,), (True,)

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Nested = TypeVar("_Nested")


# How many guards this thread is within.
_entered = threading.local()


def is_within() -> bool:
    """Whether this thread is within a function that runs in a guard, for which others may wait."""
    return getattr(_entered, "depth", 0) > 0


class Guard:
    """Runs functions one at a time, whichever threads call.

    Attributes
    ----------
    is_running : bool
        Whether a function runs.
    """

    __slots__ = ("__weakref__", "_later", "_lock", "is_running")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._later: deque[Callable[[], object]] = deque()
        self.is_running = False

    def run(self, work: Callable[[], _Result], nested: Callable[[], _Nested]) -> _Result | _Nested:
        """Run `work`, or `nested` if the caller is within a function that runs here.

        Raises
        ------
        RuntimeError
            The interpreter ends, and has stopped a thread within a function that runs here.
        """
        arguments = _AT_ONCE if sys.is_finalizing() else _WAITING
        # Whether the lock is held. No handler of a signal runs between its acquisition and this
        # note, as it may before the body of a `with` from Python 3.14 on.
        held = deque((False,), maxlen=1)
        try:
            held.extend(map(self._lock.acquire, arguments))
            if not held[0]:
                message = "a thread that the end of the interpreter has stopped holds the object"
                raise RuntimeError(message)
            if self.is_running:
                return nested()
            depth = getattr(_entered, "depth", 0)
            self.is_running = True
            try:
                _entered.depth = depth + 1
                self._catch_up()
                try:
                    return work()
                finally:
                    self._catch_up()
            finally:
                self.is_running = False
                try:
                    # A handler may have postponed work until just before.
                    while self._later:
                        self.is_running = True
                        try:
                            self._catch_up()
                        finally:
                            self.is_running = False
                finally:
                    _entered.depth = depth
        finally:
            if held[0]:
                self._lock.release()

    def is_held(self) -> bool:
        """Whether a function runs, or a thread is about to run one."""
        held = deque((False,), maxlen=1)
        try:
            held.extend(map(self._lock.acquire, _AT_ONCE))
            return self.is_running or not held[0]
        finally:
            if held[0]:
                self._lock.release()

    def soon(self, work: Callable[[], object]) -> None:
        """Run `work`, after the function that runs here if the caller is within it."""
        self.run(work, lambda: self._later.append(work))

    def _catch_up(self) -> None:
        # Not by `soon`: a collection may leave thousands of them.
        while self._later:
            self._later.popleft()()


class _Guarded(Protocol):
    _guard: Guard


_Self = TypeVar("_Self", bound=_Guarded)


def alone(
    method: Callable[Concatenate[_Self, _Arguments], _Result],
) -> Callable[Concatenate[_Self, _Arguments], _Result]:
    """Run a method in the guard of its object; `RuntimeError` if the caller is within one."""

    @functools.wraps(method)
    def guarded(self: _Self, /, *args: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        return self._guard.run(lambda: method(self, *args, **named), refuse)

    return guarded


def or_else(
    nested: _Nested,
) -> Callable[
    [Callable[Concatenate[_Self, _Arguments], _Result]],
    Callable[Concatenate[_Self, _Arguments], _Result | _Nested],
]:
    """Run a method in the guard of its object; return `nested` if the caller is within one."""

    def decorate(
        method: Callable[Concatenate[_Self, _Arguments], _Result],
    ) -> Callable[Concatenate[_Self, _Arguments], _Result | _Nested]:
        @functools.wraps(method)
        def guarded(
            self: _Self, /, *args: _Arguments.args, **named: _Arguments.kwargs
        ) -> _Result | _Nested:
            return self._guard.run(lambda: method(self, *args, **named), lambda: nested)

        return guarded

    return decorate


def soon(
    method: Callable[Concatenate[_Self, _Arguments], None],
) -> Callable[Concatenate[_Self, _Arguments], None]:
    """Run a method in the guard of its object, after the one that the caller is within."""

    @functools.wraps(method)
    def guarded(self: _Self, /, *args: _Arguments.args, **named: _Arguments.kwargs) -> None:
        self._guard.soon(lambda: method(self, *args, **named))

    return guarded


def refuse() -> NoReturn:
    """Raise the error for a caller that is within another call."""
    raise RuntimeError(
        "this thread is within another call of the object, which `__del__` or the handler of a "
        "signal has interrupted: call it when that has returned, or in another thread"
    )
