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
    """Do some work, and raise an exception in it at one moment; False if there are fewer moments.

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
                raise error

    sys.setprofile(profile)
    try:
        work()
    except type(error):
        if left > 0:
            raise
    finally:
        sys.setprofile(None)
        # Otherwise this frame and the exceptions refer to each other.
        error.__traceback__ = error.__context__ = None
    return left <= 0
