"""Measures one input in several formats: size, tokens, times, and whether decoding returns it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .candidates import Candidate, Reader, is_table, rows_of, text_of
from .timing import Budget, Timing, Work
from .tokens import Counter

_DIFFERS = "decoded value differs"


@dataclass(frozen=True)
class Measured:
    """The measurements of one format on one input; None where there is no value."""

    format: str
    reader: Reader
    bytes: int | None
    """UTF-8 bytes of a text."""
    tokens: int | None
    """None for a format whose output is bytes, which a model cannot be sent."""
    encode: Timing | None
    decode: Timing | None
    round_trip: bool
    """Whether decoding returned the input."""
    note: str
    """Why it did not: the message of the error."""


def measure(
    value: Any, formats: Sequence[Candidate], count: Counter, budget: Budget | None = None
) -> list[Measured]:
    """Measure an input in some formats; without a budget, the times are left out."""
    rows: list[Measured] = []
    works: dict[int, tuple[Work, Work]] = {}
    once_each = 0.0
    for place, candidate in enumerate(formats):
        start = time.perf_counter()
        try:
            text = text_of(candidate, value)
        except MemoryError:  # It says nothing about the format.
            raise
        except Exception as error:  # Any other exception of a format is a result to report.
            reason = f"cannot carry it: {first_line(error)}"
            rows.append(
                Measured(candidate.name, candidate.reader, None, None, None, None, False, reason)
            )
            continue
        whole, note = _read_back(value, candidate, text)
        once_each += time.perf_counter() - start
        rows.append(_written(candidate, text, count, whole, note))
        if note in ("", _DIFFERS):
            works[place] = (_bind(candidate.encode, value), _bind(candidate.decode, text))
    timings = budget and budget.spend([work for pair in works.values() for work in pair], once_each)
    if timings:
        for place, put, read in zip(works, timings[::2], timings[1::2], strict=True):
            rows[place] = replace(rows[place], encode=put, decode=read)
    return rows


def same(one: object, other: object) -> bool:
    """Return whether two values are equal as JSON values: 1 equals 1.0, and neither equals true.

    A table in the other one is what its peer reads: rows.
    """
    pairs = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            pairs += [(a[key], b[key]) for key in a]
        elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif is_table(b):
            pairs.append((a, rows_of(b)))
        elif isinstance(a, bool) is not isinstance(b, bool) or a != b:
            return False
    return True


def _read_back(value: Any, candidate: Candidate, text: str | bytes) -> tuple[bool, str]:
    """Whether decoding returns the input, and why it does not."""
    try:
        whole = same(candidate.decode(text), value)
    except MemoryError:
        raise
    except Exception as error:
        return False, f"cannot be read back: {first_line(error)}"
    return whole, "" if whole else _DIFFERS


def _written(
    candidate: Candidate, text: str | bytes, count: Counter, whole: bool, note: str
) -> Measured:
    data = text.encode() if isinstance(text, str) else text
    tokens = count(text) if isinstance(text, str) else None
    reader = candidate.reader if isinstance(text, str) else "program"
    return Measured(candidate.name, reader, len(data), tokens, None, None, whole, note)


def _bind(work: Any, argument: object) -> Work:
    return lambda: work(argument)


def first_line(error: Exception) -> str:
    """Return the first line of an error, cut to 120 characters."""
    line = str(error).partition("\n")[0] or type(error).__name__
    return line if len(line) <= 120 else line[:117] + "..."
