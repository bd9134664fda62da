"""Progress of a long call: to a function of the caller, or as one line on a terminal."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")

# On a terminal, the line appears once a call has taken this long.
_PATIENCE_SECONDS = 0.5
_INTERVAL_SECONDS = 0.1
# Characters: a shorter line is padded, so that nothing of the one before remains.
_WIDTH = 70


@dataclass(frozen=True)
class Progress:
    """How far a call is. Printed: ``120 of 300 inputs, 24/s, 8 s left``."""

    done: int
    """The number of units that are finished."""
    total: int
    """The number of units of the whole call."""
    seconds: float
    """The time since the beginning of the call, in seconds."""
    unit: str = "inputs"
    """What is counted: "inputs", "turns", "bytes"."""

    @property
    def rate(self) -> float:
        """Units per second so far; 0 before the first one is finished."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """The seconds until the end at the rate so far; None before the first unit."""
        return (self.total - self.done) / self.rate if self.rate else None

    def __str__(self) -> str:
        rate = f"{self.rate:,.3g}" if self.rate < 1000 else f"{self.rate:,.0f}"
        said = f"{self.done:,} of {self.total:,} {self.unit}"
        if self.done >= self.total:
            return f"{said} in {self.seconds:.1f} s, {rate}/s"
        return f"{said}, {rate}/s, {self.left:.0f} s left" if self.left is not None else said


Show = Callable[[Progress], object]


class Line:
    """One line on standard error, rewritten at most ten times per second."""

    def __init__(self, *, patience: float = 0.0) -> None:
        self._next = patience
        self._shown = False

    def __call__(self, progress: Progress) -> None:
        """Show how far the call is; the end only if something was shown before."""
        stream = sys.stderr
        ended = progress.done >= progress.total
        if not self._shown if ended else progress.seconds < self._next:
            return
        if stream is None or stream.closed:
            return
        self._next, self._shown = progress.seconds + _INTERVAL_SECONDS, True
        with contextlib.suppress(OSError):
            stream.write(f"\r{progress!s:<{_WIDTH}}" + ("\n" if ended else ""))
            stream.flush()


def shower(show: bool | Show | None) -> Show | None:
    """Return the function that shows the progress.

    Parameters
    ----------
    show : bool, callable or None
        True shows a line on standard error; None does so on a terminal, after half a second. A
        function is called with a `Progress`.

    Raises
    ------
    TypeError
        It is something else.
    """
    if callable(show):
        return show
    if show is not None and not isinstance(show, bool):
        raise TypeError(f"progress must be a bool or a function, not {type(show).__name__}")
    if show is None and _is_terminal():
        return Line(patience=_PATIENCE_SECONDS)
    return Line() if show else None


def _is_terminal() -> bool:
    # A service may have no standard error, or have closed it.
    stream = sys.stderr
    return stream is not None and not stream.closed and stream.isatty()


def watched(
    items: Sequence[Item], show: bool | Show | None, unit: str = "inputs"
) -> Iterator[Item]:
    """Iterate over the items, and show the progress before each one and at the end."""
    call = shower(show)
    if call is None or (len(items) < 2 and not callable(show)):
        yield from items
        return
    start = time.monotonic()
    for done, item in enumerate(items):
        call(Progress(done, len(items), time.monotonic() - start, unit))
        yield item
    call(Progress(len(items), len(items), time.monotonic() - start, unit))
