"""Calls of known cost, which show that the measurement tells them apart."""

from __future__ import annotations

from .harness import Case


def linear(text: str) -> int:
    return sum(1 for _ in range(10) for _ in text)


def quadratic(text: str) -> int:
    return sum(1 for _ in text for _ in text)


CASES = [Case(call.__name__, call, "x".__mul__, 100, 1) for call in (linear, quadratic)]
