"""A few of the values of `python -m tests.gcf.round_trips`, which runs a million."""

from __future__ import annotations

from tests.gcf.round_trips import Values, check


def test_random_values_round_trip() -> None:
    values = Values(1)
    for _ in range(2000):
        check(values.value(4))
