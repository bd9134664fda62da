"""The store in the memory of a process."""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

from .._guard import Guard, alone
from .._table import Table
from .._texts import check_positive, check_texts
from ._stores import SavedSession, SessionStore, check_saved, limits


class _Kept(NamedTuple):
    """What a `MemorySessionStore` keeps of a conversation."""

    saved: SavedSession
    size: int
    """The bytes of memory that it takes."""


class MemorySessionStore(SessionStore):
    """A store in the memory of this process.

    Parameters
    ----------
    max_sessions : int
        How many conversations are kept. The least recently used is forgotten first.
    idle_s : float
        After how many seconds without a turn a conversation is forgotten.
    max_memory : int
        How many bytes the states of all conversations and their last answers may take. The least
        recently used is forgotten first; a turn that makes one conversation larger than this is
        refused with `OutputTooLarge`.
    max_size : int
        As for `Session`.
    checked : bool
        As for `SessionStore`, which says what is at risk if it is False.
    """

    def __init__(
        self,
        *,
        max_sessions: int = 256,
        idle_s: float = 600.0,
        max_memory: int = 268_435_456,
        max_size: int = 67_108_864,
        checked: bool = True,
    ) -> None:
        super().__init__(max_size=max_size, checked=checked)
        most, idle = limits(max_sessions, idle_s)
        check_positive("max_memory", max_memory)
        self._max_memory = max_memory
        self._guard = Guard()
        self._kept: Table[str, _Kept] = Table(
            most=most, idle_s=idle, memory=max_memory, clock=time.monotonic
        )

    def load(self, conversation: str, /) -> SavedSession | None:
        """What is kept of a conversation; None if nothing is."""
        check_texts(conversation=conversation)
        return self._load(conversation)

    @alone
    def _load(self, conversation: str) -> SavedSession | None:
        self._kept.trim()
        kept = self._kept.peek(conversation)
        return None if kept is None else kept.saved

    def save(self, conversation: str, saved: SavedSession, /, *, after: int) -> bool:
        """Keep `saved` if the kept number is `after`, or if nothing is kept."""
        check_saved(conversation, saved, after)
        new = _Kept(saved, _size_of(conversation, saved))
        self._check_memory(new.size)
        return self._put(conversation, new, after)

    @alone
    def _put(self, conversation: str, new: _Kept, after: int) -> bool:
        present = self._kept.peek(conversation)
        if present is not None and present.saved.number != after:
            return False
        self._kept.put(conversation, new)
        return True

    def forget(self, conversation: str, /) -> None:
        """Forget a conversation. Its next turn is rejected once, and then sent in full."""
        check_texts(conversation=conversation)
        self._guard.soon(lambda: self._kept.forget(conversation))

    @alone
    def __len__(self) -> int:
        return len(self._kept)


def _size_of(conversation: str, saved: SavedSession) -> int:
    """The bytes of memory that a conversation takes."""
    return sum(map(sys.getsizeof, (conversation, saved, *saved)))
