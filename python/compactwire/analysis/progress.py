"""A progress bar on standard error, if that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")

_WIDTH = 30
_PATIENCE_SECONDS = 0.5


def watched(items: Sequence[Item], show: bool | None) -> Iterator[Item]:
    """Iterate over the items, and show the progress.

    Parameters
    ----------
    items : sequence
        The items to process.
    show : bool or None
        Whether to show the bar; None shows it on a terminal, after half a second.
    """
    stream = sys.stderr
    if show is None:
        show = stream is not None and stream.isatty()
        patience = _PATIENCE_SECONDS
    else:
        patience = 0.0
    if not show or stream is None or len(items) < 2:
        yield from items
        return
    start, shown = time.monotonic(), False
    try:
        for done, item in enumerate(items):
            passed = time.monotonic() - start
            if passed >= patience:
                stream.write("\r" + _bar(done, len(items), passed))
                stream.flush()
                shown = True
            yield item
    finally:
        if shown:
            stream.write("\r" + " " * (_WIDTH + 40) + "\r")
            stream.flush()


def _bar(done: int, count: int, passed: float) -> str:
    filled = _WIDTH * done // count
    left = f"{passed / done * (count - done):.0f} s left" if done else ""
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {done} of {count} {left:<12}"
