"""Measures calls in short slices, ours and the peer's in turn, and takes the minimum of each.

The minimum is the time without interruptions. On a busy machine the median of long rounds can be
several times too long; the minimum over many slices of 0.2 ms is reproducible within 3%. The 20th
percentile shows how reliable it is.

With the garbage collector on, some calls include a collection, which a minimum would leave out.
Therefore the slices from one full collection to the next are numbered. For each number the minimum
over all turns is taken, and the result is the mean of these minima.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean as mean
from statistics import quantiles
from typing import Any

Fresh = Callable[[], Any]


def _nothing() -> None:
    """Return the argument of a call that needs none."""


@dataclass(frozen=True)
class Call:
    """A function of one argument, and a function that creates a new argument for each call.

    A str caches its UTF-8, and a session remembers what it has written: if an argument were used
    again, that work would not be measured. A result of many objects is `kept` until the clock is
    stopped: freeing it takes a quarter of the time of creating it, and is not part of the
    comparison.
    """

    run: Callable[[Any], object]
    fresh: Fresh = _nothing
    kept: bool = False


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    slices: int
    seconds: float
    """After this time, preparations included, only the `least` slices are still measured."""
    least: int
    slice_seconds: float = 0.0002
    """How long a slice takes, unless a single call takes longer."""


# A turn with the collector on lasts until a full collection has happened, but no longer than this.
MOST_OF_A_TURN = 0.03

FULL = Effort(slices=600, seconds=1.2, least=9)
QUICK = Effort(slices=3, seconds=0.01, least=3)


@dataclass(frozen=True)
class Timing:
    """Seconds per call, by "wall" clock and of the "processor": minimum and 20th percentile."""

    least: dict[str, float]
    fifth: dict[str, float]


class _Object:
    """An object that the garbage collector counts: creating one starts a collection that is due."""

    __slots__ = ("member",)


@dataclass
class _Turns:
    """The turns of one call so far. A turn is `slices` slices in a row, each of `calls` calls."""

    call: Call
    calls: int
    slices: int = 1
    taken: list[list[dict[str, float]]] = field(default_factory=list)

    def add(self, *, collector: bool) -> None:
        """Measure a turn, in which each collection happens at the same slice as in other turns."""
        inputs = [[self.call.fresh() for _ in range(self.calls)] for _ in range(self.slices)]
        if not collector:
            self.taken.append([_slice(self.call, some) for some in inputs])
            return
        gc.collect()
        gc.enable()
        try:
            self.taken.append([_collected(self.call, some) for some in inputs])
        finally:
            gc.disable()

    def timing(self) -> Timing:
        """Return the mean over the slices of each slice's minimum over all turns."""
        least, fifth = {}, {}
        for clock in ("wall", "processor"):
            places = [
                [slice_[clock] for slice_ in place] for place in zip(*self.taken, strict=True)
            ]
            least[clock] = mean(map(min, places)) / self.calls
            fifth[clock] = (
                mean(quantiles(times, n=5, method="inclusive")[0] for times in places) / self.calls
            )
        return Timing(least, fifth)


def compare(calls: Sequence[Call], effort: Effort, *, collector: bool = False) -> list[Timing]:
    """Time each of `calls`, turn by turn, with the garbage collector on or off."""
    enabled = gc.isenabled()
    gc.disable()
    gc.collect()
    # Objects that exist already would slow down the collections during a turn.
    gc.freeze()
    try:
        found = [_Turns(call, *_lengths(call, effort, collector=collector)) for call in calls]
        end = time.perf_counter() + effort.seconds
        for done in range(effort.slices):
            if done >= effort.least and time.perf_counter() > end:
                break
            for turns in found:
                turns.add(collector=collector)
        return [turns.timing() for turns in found]
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()


def once_each(effort: Effort) -> Effort:
    """Time single calls, for arguments that take long to create."""
    return replace(effort, slice_seconds=0.0)


def _lengths(call: Call, effort: Effort, *, collector: bool) -> tuple[int, int]:
    """Return how many calls fit into a slice, and how many slices make a turn."""
    if not effort.slice_seconds:
        return 1, 1
    first = min(_slice(call, [call.fresh()])["wall"] for _ in range(2))
    probe = max(1, round(effort.slice_seconds / 4 / max(first, 1e-7)))
    taken = _slice(call, [call.fresh() for _ in range(probe)])["wall"] / probe
    calls = max(1, round(effort.slice_seconds / max(taken, 1e-9)))
    slices = _cycle(call, calls) if collector else 1
    return calls, min(slices, max(1, round(MOST_OF_A_TURN / (taken * calls))))


def _cycle(call: Call, calls: int) -> int:
    """Return the number of slices until the collector has collected its oldest generation."""
    before = gc.get_stats()[0]["collections"]
    gc.collect()
    inputs = [call.fresh() for _ in range(calls)]
    gc.collect()
    gc.enable()
    _collected(call, inputs)
    gc.disable()
    young = gc.get_stats()[0]["collections"] - before
    _, middle, old = gc.get_threshold()
    return -(-(middle + 1) * (old + 1) // young) if young else 1


def _slice(call: Call, inputs: list[Any]) -> dict[str, float]:
    """Time some calls in a row."""
    run = call.run
    processor, start = time.process_time(), time.perf_counter()
    if call.kept:
        kept = [run(given) for given in inputs]
    else:
        kept = []
        for given in inputs:
            run(given)
    wall = time.perf_counter() - start
    taken = {"wall": wall, "processor": time.process_time() - processor}
    del kept
    return taken


def _collected(call: Call, inputs: list[Any]) -> dict[str, float]:
    """Time some calls in a row, each with the collection that it causes."""
    run, kept = call.run, []
    processor, start = time.process_time(), time.perf_counter()
    for given in inputs:
        found = run(given)
        _Object()
        if call.kept:
            kept.append(found)
        del found
    wall = time.perf_counter() - start
    return {"wall": wall, "processor": time.process_time() - processor}
