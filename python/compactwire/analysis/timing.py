"""Medians of interleaved rounds: the functions alternate, so that all run under the same load."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

Work = Callable[[], object]

# A median is that of so many rounds, or of `_FEW` if one call takes longer than the time given.
ROUNDS = 7
_FEW = 3
# The least number of calls of `spend` for each function.
_LEAST_CALLS = _FEW + 2
# Finding the number of calls of a round takes time, too.
_FOR_ROUNDS = 0.6


@dataclass(frozen=True)
class Timing:
    """Seconds per call: the median of the rounds, and its quartiles."""

    median: float
    low: float
    high: float


def interleave(works: Sequence[Work], *, rounds: int, seconds: float) -> list[Timing]:
    """Time each of `works`, alternating between them in every round.

    Parameters
    ----------
    works : sequence of callables
        The functions to call; their results are discarded.
    rounds : int
        The number of rounds, at least 2. In each round, every function is timed once.
    seconds : float
        The time for one function in one round, spent on as many calls as fit, at least one.
    """
    loops = [_loops(work, seconds) for work in works]
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, count, found in zip(works, loops, times, strict=True):
            found.append(once(work, count) / count)
    return [timing(found) for found in times]


def spend(works: Sequence[Work], seconds: float) -> list[Timing]:
    """Time each of `works` for about this long in total; a single call may take longer."""
    longest = max((once(work, 1) for work in works), default=0.0)
    rounds = ROUNDS if longest < seconds else _FEW
    return interleave(works, rounds=rounds, seconds=seconds / rounds)


class Budget:
    """The time for measuring times in one call, shared by its inputs.

    Parameters
    ----------
    seconds : float
        The time for all inputs, in seconds; 0 times none.
    inputs : int
        The number of inputs.
    """

    def __init__(self, seconds: float, inputs: int) -> None:
        self._left, self._inputs = seconds, inputs
        self._none_yet = True

    def spend(self, works: Sequence[Work], once_each: float) -> list[Timing] | None:
        """Time the functions of one input within its share of the time.

        Parameters
        ----------
        works : sequence of callables
            The functions of the input.
        once_each : float
            The time that one call of each took together, in seconds.

        Returns
        -------
        list of Timing or None
            None if the time that is left does not suffice. The first input is always timed.
        """
        share = self._left / max(1, self._inputs)
        self._inputs -= 1
        least = once_each * _LEAST_CALLS
        if not works or self._left <= 0 or (least > self._left and not self._none_yet):
            return None
        self._none_yet = False
        start = time.perf_counter()
        found = spend(works, share / len(works) * _FOR_ROUNDS)
        self._left -= time.perf_counter() - start
        return found


def timing(times: list[float]) -> Timing:
    """Return the median and the quartiles of some times."""
    low, _, high = quantiles(times, n=4)
    return Timing(median(times), low, high)


def once(work: Work, count: int) -> float:
    """Time `count` calls in a row, with the garbage collector off."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        start = time.perf_counter()
        for _ in range(count):
            work()
        return time.perf_counter() - start
    finally:
        if enabled:
            gc.enable()


def say_seconds(value: float) -> str:
    """Format a time with three digits and a suitable unit; `-` for NaN."""
    if math.isnan(value):
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def _loops(work: Work, seconds: float) -> int:
    count = 1
    while (taken := once(work, count)) < seconds / 4:
        count *= 2
    return max(1, round(count * seconds / taken)) if taken else count
