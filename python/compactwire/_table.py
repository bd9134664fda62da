"""A table with limits on the number, the age and the memory of its values."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """A value of a table."""

    @property
    def size(self) -> int:
        """The bytes that it counts for."""


_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value", bound=Sized)


class Table(Generic[_Key, _Value]):
    """Keeps values by key; the least recently used are forgotten first. Not thread-safe.

    A value is counted when it is put, so that a lookup takes the same time for any number of them.
    Ctrl-C between two statements loses no value, and the count of none.
    """

    def __init__(
        self,
        *,
        most: int,
        idle_s: float,
        memory: int,
        clock: Callable[[], float],
        forgotten: Callable[[_Value], None] | None = None,
    ) -> None:
        """`forgotten` is called with each value that exceeds a limit."""
        self._forgotten = forgotten
        self._most, self._idle_s, self._memory, self._clock = most, idle_s, memory, clock
        self._kept: OrderedDict[_Key, tuple[float, int, _Value]] = OrderedDict()
        self._size: int | None = 0
        """The bytes of all values; None while one is put or forgotten."""

    def get(self, key: _Key) -> _Value | None:
        """The value of a key, which is thereby used."""
        self.trim()
        if key not in self._kept:
            return None
        _, size, value = self._kept[key]
        self._kept[key] = (self._clock(), size, value)
        self._kept.move_to_end(key)
        return value

    def peek(self, key: _Key) -> _Value | None:
        """The value of a key, which is not thereby used, though it may exceed a limit by now."""
        return self._kept[key][2] if key in self._kept else None

    def put(self, key: _Key, value: _Value) -> None:
        """Keep a value, and forget the oldest ones if a limit is exceeded."""
        before = self._kept.get(key)
        new = (self._clock(), value.size, value)
        size = self._counted() + new[1] - (before[1] if before is not None else 0)
        self._size = None
        self._kept[key] = new
        self._kept.move_to_end(key)
        self._size = size
        self.trim()

    def resized(self, key: _Key, value: _Value) -> None:
        """Count a value anew, unless the key has another one by now."""
        if self.has(key, value):
            self.put(key, value)

    def drop(self, key: _Key, value: _Value) -> bool:
        """Forget a value, unless the key has another one by now. Whether it was there."""
        found = self.has(key, value)
        if found:
            self.forget(key)
        return found

    def has(self, key: _Key, value: _Value) -> bool:
        """Whether the key has this value, which is not thereby used."""
        return self.peek(key) is value

    def forget(self, key: _Key) -> None:
        """Forget the value of a key, if there is one."""
        if key in self._kept:
            size = self._counted() - self._kept[key][1]
            self._size = None
            del self._kept[key]
            self._size = size

    def _counted(self) -> int:
        """The bytes of all values."""
        if self._size is None:
            self._size = sum(size for _, size, _ in self._kept.values())
        return self._size

    def trim(self) -> None:
        """Forget what exceeds a limit."""
        oldest = self._clock() - self._idle_s
        while self._kept:
            key, (used, _, value) = next(iter(self._kept.items()))
            if used >= oldest and len(self._kept) <= self._most and self._counted() <= self._memory:
                break
            self.forget(key)
            if self._forgotten is not None:
                self._forgotten(value)

    def __len__(self) -> int:
        self.trim()
        return len(self._kept)

    def __iter__(self) -> Iterator[_Value]:
        """The values, the least recently used first."""
        return iter([value for _, _, value in self._kept.values()])
