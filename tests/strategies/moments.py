"""Every moment of some work at which Python may run the handler of a signal."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def interrupted(
    number: int, files: tuple[str, ...], error: BaseException, work: Callable[[], object]
) -> bool:
    """Do some work, and raise an error in it at one moment; False if there are fewer moments."""

    def fail() -> None:
        raise error

    reached = False
    try:
        reached = visited(number, files, fail, work)
    except type(error) as caught:
        if caught is not error:
            raise
        reached = True
    finally:
        # Otherwise this frame and the exceptions refer to each other.
        error.__traceback__ = error.__context__ = None
    return reached


def visited(
    number: int, files: tuple[str, ...], visit: Callable[[], object], work: Callable[[], object]
) -> bool:
    """Do some work, and call `visit` at one moment of it; False if there are fewer moments.

    The moments, counted from 1, are the begins and ends of calls in files of these names.
    """
    left = number

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        # Python ignores what is raised when it closes a generator. What is raised when a coroutine
        # waits would not be raised in it.
        flags = frame.f_code.co_flags
        waits = event == "return" and flags & inspect.CO_COROUTINE
        if event == "c_call" or waits or flags & inspect.CO_GENERATOR:
            return
        if frame.f_code.co_filename.endswith(files):
            left -= 1
            if left == 0:
                sys.setprofile(None)
                visit()

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return left <= 0
