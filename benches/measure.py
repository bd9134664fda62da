"""Medians of interleaved rounds: ours, the peer, ours, the peer, so that both see one machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from compactwire.analysis.timing import Timing, Work, interleave, once, timing

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


def compare(works: list[Work], effort: Effort) -> list[Timing]:
    """Time each of `works`, round by round in turn."""
    return interleave(works, rounds=effort.rounds, seconds=effort.seconds_per_round)


def compare_fresh(prepares: list[Prepare], effort: Effort) -> list[Timing]:
    """Time works that use up what they work on: each call gets its own, made off the clock."""
    rounds: list[list[float]] = [[] for _ in prepares]
    for _ in range(effort.rounds):
        for prepare, times in zip(prepares, rounds, strict=True):
            times.append(median(once(prepare(), 1) for _ in range(effort.calls)))
    return [timing(times) for times in rounds]


__all__ = ["FULL", "QUICK", "Effort", "Prepare", "Timing", "Work", "compare", "compare_fresh"]
