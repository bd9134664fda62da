"""A limit on the memory of unfinished messages, shared by all streams.

Each stream may keep a little. All that is beyond it counts against one budget. While the budget is
used up, a stream is not read further until another one has finished its message. The oldest stream
never waits, so that one of them always makes progress.
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MemoryBudget"]

# What each stream may keep is this part of the budget: there are up to 81 streams.
_SHARE = 128
# Seconds after which a stream that waits looks whether it is still wanted.
_LOOK = 0.1


class MemoryBudget:
    """A budget of the longest message's size. The oldest stream may take as much in addition."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._share = longest // _SHARE
        # The bytes that each stream has taken, the oldest first.
        self._taken: dict[object, int] = {}
        self._changed = threading.Condition()

    def take(self, stream: object, size: int, is_over: Callable[[], bool]) -> None:
        """Let the unfinished message of a stream have this size; wait until it may.

        Returns at once where `is_over` tells that the stream is not wanted any more.
        """
        more = size - self._share
        if more <= 0:
            self.leave(stream)
            return
        with self._changed:
            self._taken.setdefault(stream, 0)
            while not (self._may_take(stream, more) or is_over()):
                self._changed.wait(_LOOK)
            self._taken[stream] = more

    def _may_take(self, stream: object, more: int) -> bool:
        oldest = next(iter(self._taken))
        if oldest is stream:
            return True
        # What the oldest has does not count, so that one stream that hangs stops no other.
        others = sum(self._taken.values()) - self._taken[stream] - self._taken[oldest]
        return others + more <= self._longest

    def leave(self, stream: object) -> None:
        """Give back what a stream has taken, whose message was passed on or given up."""
        with self._changed:
            if self._taken.pop(stream, None) is not None:
                self._changed.notify_all()
