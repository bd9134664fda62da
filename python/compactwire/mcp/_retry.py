"""How long to wait before a stream of events is opened again, and whether at all."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._http_client import Interrupt
    from ._sse import Event

__all__ = ["Retry"]


class Retry:
    """The attempts for one stream: few that fail, more without progress, after growing delays."""

    _SHORTEST, _LONGEST = 0.1, 60.0
    _MAX_FAILED, _MAX_EMPTY = 5, 200

    def __init__(self) -> None:
        self._failed = 0
        self._empty = 0
        self._asked = 1.0

    def note(self, event: Event) -> None:
        """Note the delay that the server asks for, in seconds."""
        if event.retry is not None:
            self._asked = event.retry / 1000

    def ended(self, *, progress: bool) -> None:
        """The stream was opened and has ended."""
        self._failed = 0
        self._empty = 0 if progress else self._empty + 1

    def failed(self) -> None:
        """The stream could not be opened, or broke."""
        self._failed += 1

    def waits(self, interrupt: Interrupt, *, first: bool = False) -> bool:
        """Wait; False if the stream must not be opened again."""
        if self._failed >= self._MAX_FAILED or self._empty >= self._MAX_EMPTY:
            return False
        if first and not self._failed:
            return not interrupt.was_set
        grown = self._SHORTEST * 2 ** min(max(self._failed * 2, self._empty), 10)
        return not interrupt.wait(min(max(self._asked, grown), self._LONGEST))
