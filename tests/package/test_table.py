"""The table with limits on number, age and memory."""

from __future__ import annotations

from compactwire._table import Table
from tests.http import Clock


class Counted:
    """A value that counts how often it is asked for its size."""

    asked = 0
    amount = 1

    @property
    def size(self) -> int:
        self.asked += 1
        return self.amount


def test_a_value_that_was_replaced_is_not_dropped() -> None:
    table: Table[str, Counted] = Table(most=2, idle_s=1, memory=1, clock=Clock())
    old, new = Counted(), Counted()
    table.put("key", old)
    table.put("key", new)
    table.drop("key", old)
    assert table.get("key") is new
    table.drop("key", new)
    assert len(table) == 0


def test_a_lookup_does_not_count_all_sessions() -> None:
    table: Table[int, Counted] = Table(most=100, idle_s=1, memory=1_000, clock=Clock())
    values = [Counted() for _ in range(100)]
    for key, value in enumerate(values):
        table.put(key, value)
    asked = sum(value.asked for value in values)
    for _ in range(5):
        assert table.get(7) is values[7]
    assert sum(value.asked for value in values) == asked


def test_a_value_that_grew_is_counted_anew() -> None:
    table: Table[str, Counted] = Table(most=9, idle_s=1, memory=9, clock=Clock())
    first, second = Counted(), Counted()
    table.put("first", first)
    table.put("second", second)
    second.amount = 8
    table.resized("second", second)
    assert list(table) == [first, second]
    second.amount = 9
    table.resized("second", second)
    assert list(table) == [second]
    table.resized("first", first)
    assert list(table) == [second]
    second.amount = 10
    table.resized("second", second)
    assert list(table) == []
    table.put("first", first)
    assert list(table) == [first]
