"""A table with limits on the number, the age and the memory of what it keeps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """A value of a table."""

    @property
    def size(self) -> int:
        """The bytes that it counts for."""


_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value", bound=Sized)


class Table(Generic[_Key, _Value]):
    """Keeps values by key; the least recently used are forgotten first. Not thread-safe."""

    def __init__(
        self, *, most: int, idle_s: float, memory: int, clock: Callable[[], float]
    ) -> None:
        self._most, self._idle_s, self._memory, self._clock = most, idle_s, memory, clock
        self._kept: OrderedDict[_Key, tuple[float, _Value]] = OrderedDict()

    def get(self, key: _Key) -> _Value | None:
        """The value of a key, which is thereby used."""
        self.trim()
        _, value = self._kept.get(key, (0.0, None))
        if value is not None:
            self.put(key, value)
        return value

    def put(self, key: _Key, value: _Value) -> None:
        """Keep a value."""
        self._kept[key] = (self._clock(), value)
        self._kept.move_to_end(key)

    def drop(self, key: _Key, value: _Value) -> None:
        """Forget a value, unless the key has another one by now."""
        if self._kept.get(key, (0.0, None))[1] is value:
            del self._kept[key]

    def trim(self) -> None:
        """Forget what exceeds a limit."""
        oldest = self._clock() - self._idle_s
        memory = sum(value.size for _, value in self._kept.values())
        while self._kept:
            used, value = next(iter(self._kept.values()))
            if used >= oldest and len(self._kept) <= self._most and memory <= self._memory:
                break
            memory -= value.size
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        self.trim()
        return len(self._kept)
