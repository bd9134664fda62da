"""Medians of interleaved rounds: ours, the peer, ours, the peer, so that both see one machine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles

Work = Callable[[], object]
Prepare = Callable[[], Work]


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int
    seconds_per_round: float
    calls: int
    """Calls per round, of a work that can be done only once."""


FULL = Effort(rounds=15, seconds_per_round=0.03, calls=9)
QUICK = Effort(rounds=3, seconds_per_round=0.001, calls=1)


@dataclass(frozen=True)
class Timing:
    """Seconds per call."""

    median: float
    low: float
    high: float


def compare(works: list[Work], effort: Effort) -> list[Timing]:
    """Time each of `works`, round by round in turn."""
    loops = [_loops(work, effort.seconds_per_round) for work in works]
    rounds: list[list[float]] = [[] for _ in works]
    for _ in range(effort.rounds):
        for work, count, times in zip(works, loops, rounds, strict=True):
            times.append(_time(work, count) / count)
    return [Timing(median(times), *_quartiles(times)) for times in rounds]


def compare_fresh(prepares: list[Prepare], effort: Effort) -> list[Timing]:
    """Time works that use up what they work on: each call gets its own, made off the clock."""
    rounds: list[list[float]] = [[] for _ in prepares]
    for _ in range(effort.rounds):
        for prepare, times in zip(prepares, rounds, strict=True):
            times.append(median(_time(prepare(), 1) for _ in range(effort.calls)))
    return [Timing(median(times), *_quartiles(times)) for times in rounds]


def _loops(work: Work, seconds: float) -> int:
    count = 1
    while (taken := _time(work, count)) < seconds / 4:
        count *= 2
    return max(1, round(count * seconds / taken))


def _time(work: Work, count: int) -> float:
    gc.disable()
    try:
        start = time.perf_counter()
        for _ in range(count):
            work()
        return time.perf_counter() - start
    finally:
        gc.enable()


def _quartiles(times: list[float]) -> tuple[float, float]:
    low, _, high = quantiles(times, n=4)
    return low, high
