"""Checks how processor time grows with the size of an input, also on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

TIMES_LARGER = 4
MOST_TIMES_SLOWER = 10
"""Four times the input: linear work takes 4 times as long, quadratic work 16 times."""


def seconds(call: Callable[[Any], object], value: Any) -> float:
    """The least processor time of three calls."""
    found = []
    for _ in range(3):
        start = time.process_time()
        call(value)
        found.append(time.process_time() - start)
    return min(found)


def assert_linear(
    call: Callable[[Any], object], make: Callable[[int], Any], size: int, attempts: int = 8
) -> None:
    """Assert that `call` takes linear time: compare inputs of `size` and of four times `size`."""
    for _ in range(attempts):
        small, large = (seconds(call, make(count)) for count in (size, TIMES_LARGER * size))
        if large < MOST_TIMES_SLOWER * small:
            return
    raise AssertionError(f"{TIMES_LARGER} times the input took {large / small:.1f} times as long")
