"""One input in several formats: written, read back, compared, counted, timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .candidates import Candidate, Reader
from .timing import Timing, Work, spend
from .tokens import Counter

_DIFFERS = "what comes back differs"


@dataclass(frozen=True)
class Measured:
    """What a format makes of an input; None is what it has not."""

    format: str
    reader: Reader
    bytes: int | None
    """UTF-8 bytes of a text."""
    tokens: int | None
    """None for bytes, which no model is sent."""
    encode: Timing | None
    decode: Timing | None
    round_trip: bool
    """Whether the input came back."""
    note: str
    """Why it did not, in the words of the error."""


def measure(
    value: Any, formats: Sequence[Candidate], count: Counter, seconds: float
) -> list[Measured]:
    """Measure an input in some formats; with `seconds` 0 without times."""
    rows: list[Measured] = []
    works: dict[int, tuple[Work, Work]] = {}
    for place, candidate in enumerate(formats):
        try:
            text = candidate.encode(value)
        except Exception as error:  # Whatever a format raises is its answer.
            reason = f"cannot carry it: {_first_line(error)}"
            rows.append(
                Measured(candidate.name, candidate.reader, None, None, None, None, False, reason)
            )
            continue
        rows.append(_written(value, candidate, text, count))
        if rows[-1].note in ("", _DIFFERS):
            works[place] = (_bind(candidate.encode, value), _bind(candidate.decode, text))
    if seconds > 0 and works:
        timings = spend([work for pair in works.values() for work in pair], seconds)
        for place, put, read in zip(works, timings[::2], timings[1::2], strict=True):
            rows[place] = replace(rows[place], encode=put, decode=read)
    return rows


def same(one: object, other: object) -> bool:
    """Whether two values are equal as JSON has it: 1 is 1.0, and neither is true."""
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
        elif isinstance(a, bool) is not isinstance(b, bool) or a != b:
            return False
    return True


def _written(value: Any, candidate: Candidate, text: str | bytes, count: Counter) -> Measured:
    data = text.encode() if isinstance(text, str) else text
    tokens = count(text) if isinstance(text, str) else None
    try:
        whole = same(candidate.decode(text), value)
        note = "" if whole else _DIFFERS
    except Exception as error:
        whole, note = False, f"cannot be read back: {_first_line(error)}"
    reader = candidate.reader if isinstance(text, str) else "program"
    return Measured(candidate.name, reader, len(data), tokens, None, None, whole, note)


def _bind(work: Any, argument: object) -> Work:
    return lambda: work(argument)


def _first_line(error: Exception) -> str:
    line = str(error).partition("\n")[0] or type(error).__name__
    return line if len(line) <= 120 else line[:117] + "..."
