"""The values that `benches/gcf.py` writes and reads: seeded, the same in every run.

A shape creates a new copy for each call. The texts in it are new objects, as from a socket or a
database, and its keys are shared between the rows, as JSON readers create them.
"""

from __future__ import annotations

import datetime
import random
import string
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

WORDS = ["alpha", "bravo", "delta", "Köln", "north", "order", "shipped", "express"]
WORDS += ["2024-02-29", "Ünïcode", "no-reply", "a|b"]


@dataclass(frozen=True)
class Shape:
    """A value, created on first use, and a function that creates copies of it."""

    size: str
    make: Callable[[], Any]
    foreign: Callable[[Any], Any] | None = None
    """A function that replaces parts of a copy by objects that JSON does not have."""

    @property
    def value(self) -> Any:
        """Give the value, the same object each time."""
        return _made(self)

    def fresh(self) -> Any:
        """Make a copy with new texts."""
        copy = orjson.loads(_dumped(self))
        return self.foreign(copy) if self.foreign else copy


@cache
def _made(shape: Shape) -> Any:
    value = shape.make()
    return shape.foreign(value) if shape.foreign else value


@cache
def _dumped(shape: Shape) -> bytes:
    return orjson.dumps(shape.make())


def flat(rows: int) -> list[dict[str, Any]]:
    """Rows of a table, as from a database."""
    pick = random.Random(rows)
    return [
        {
            "id": i,
            "customer": f"{pick.choice(WORDS)} {pick.choice(WORDS)}",
            "email": f"user{i}@example.com",
            "total": round(pick.uniform(1, 500), 2),
            "currency": "EUR",
            "paid": pick.random() < 0.7,
            "note": pick.choice([None, "gift", "call before delivery"]),
        }
        for i in range(rows)
    ]


def orders(count: int) -> dict[str, Any]:
    """Orders with a customer, an address within, and items."""
    pick = random.Random(count)
    return {
        "orders": [
            {
                "id": f"o-{i}",
                "customer": {
                    "name": pick.choice(WORDS),
                    "address": {"city": pick.choice(WORDS), "zip": str(pick.randint(10000, 99999))},
                },
                "items": [
                    {"sku": f"A{pick.randint(1, 999)}", "n": pick.randint(1, 5), "price": 9.5}
                    for _ in range(pick.randint(1, 4))
                ],
                "tags": [pick.choice(WORDS) for _ in range(pick.randint(0, 3))],
                "status": pick.choice(WORDS),
            }
            for i in range(count)
        ],
        "page": 1,
    }


def keyed(count: int) -> dict[str, Any]:
    """Objects under their names."""
    pick = random.Random(count)
    return {
        f"web-{i:04}": {"cpu": round(pick.random(), 3), "memory": pick.randint(1, 64), "up": True}
        for i in range(count)
    }


def deep(levels: int) -> dict[str, Any]:
    """Objects within objects, each with a few members."""
    value: dict[str, Any] = {"leaf": [1, 2, 3]}
    for level in range(levels):
        value = {"level": level, "name": f"node {level}", "kinds": ["a", "b"], "child": value}
    return value


def long_texts(count: int) -> list[dict[str, Any]]:
    """Rows with a text of two kilobytes each, half of them with line ends."""
    pick = random.Random(count)
    texts = [" ".join(pick.choices(WORDS, k=280)) for _ in range(count)]
    return [
        {"id": i, "text": text.replace(" no-reply ", "\n") if i % 2 else text}
        for i, text in enumerate(texts)
    ]


def record() -> dict[str, Any]:
    """One short object, as in most messages."""
    return {
        "id": 17, "name": "Ada", "status": "open", "amount": 12.5, "currency": "EUR", "paid": False,
        "note": None, "created": "2026-01-02",
    }  # fmt: skip


def few_rows() -> list[dict[str, Any]]:
    """A short table."""
    return [{"id": i, "name": f"n{i}", "ok": True, "temp": 1.5 * i} for i in range(3)]


def found() -> dict[str, Any]:
    """What a search tool returns."""
    return {
        "ok": True,
        "results": [{"path": f"src/a{i}.rs", "line": i, "text": "fn main"} for i in range(10)],
        "meta": {"took_ms": 12, "total": 10},
    }


def ints(rows: int) -> list[dict[str, int]]:
    """Ten columns of ints, from one digit to fifteen."""
    pick = random.Random(rows)
    limits = [10**digits for digits in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15)]
    return [
        {f"count_{i}": pick.randrange(-limit // 10, limit) for i, limit in enumerate(limits)}
        for _ in range(rows)
    ]


def doubles(rows: int) -> list[dict[str, float]]:
    """Ten columns of doubles with sixteen digits."""
    pick = random.Random(rows)
    return [{f"reading_{i}": round(pick.random(), 16) for i in range(10)} for _ in range(rows)]


def unique_texts(rows: int) -> list[dict[str, str]]:
    """Five columns of texts of 12 bytes, no two of them equal."""
    pick = random.Random(rows)
    return [
        {f"key_{i}": "".join(pick.choices(string.ascii_lowercase, k=12)) for i in range(5)}
        for _ in range(rows)
    ]


def mixed(rows: int) -> list[dict[str, Any]]:
    """Thirty columns: ints, prices, texts, truth values, and texts that may be missing."""
    pick = random.Random(rows)
    return [
        {
            **{f"int_{i}": pick.randint(0, 10 ** (i + 1)) for i in range(8)},
            **{f"price_{i}": round(pick.uniform(1, 500), 2) for i in range(6)},
            **{f"word_{i}": pick.choice(WORDS) for i in range(5)},
            **{f"name_{i}": f"{pick.choice(WORDS)} {pick.randint(1, 999)}" for i in range(5)},
            **{f"open_{i}": pick.random() < 0.5 for i in range(3)},
            **{f"note_{i}": pick.choice([None, "gift", "late"]) for i in range(3)},
        }
        for _ in range(rows)
    ]


def dated(rows: int) -> list[dict[str, Any]]:
    """Flat rows with the text of a time in each."""
    start = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.UTC)
    step = datetime.timedelta(minutes=7)
    return [{**row, "created": (start + i * step).isoformat()} for i, row in enumerate(flat(rows))]


def with_datetimes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace the text of each time by a datetime."""
    for row in rows:
        row["created"] = datetime.datetime.fromisoformat(row["created"])
    return rows


def with_ordered_dict(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make the last row a dict of another class."""
    rows[-1] = OrderedDict(rows[-1])
    return rows


def shapes(scale: int = 1) -> list[Shape]:
    """Return the shapes to measure, at `scale` 10 with a tenth of their rows."""
    return [
        Shape("500 flat rows", lambda: flat(500 // scale)),
        Shape("10,000 flat rows", lambda: flat(10_000 // scale)),
        Shape("500 x 10 ints", lambda: ints(500 // scale)),
        Shape("500 x 10 doubles of 16 digits", lambda: doubles(500 // scale)),
        Shape("500 x 5 unique texts", lambda: unique_texts(500 // scale)),
        Shape("500 x 30 mixed columns", lambda: mixed(500 // scale)),
        Shape("500 nested orders", lambda: orders(500 // scale)),
        Shape("keyed map of 1,000", lambda: keyed(1_000 // scale)),
        Shape("deep JSON, 100 levels", lambda: deep(100 // scale)),
        Shape("100 long texts", lambda: long_texts(100 // scale)),
        Shape("a record of 8 members", record),
        Shape("3 rows of 4 columns", few_rows),
        Shape("a tool result of 10 rows", found),
        Shape("500 rows with datetimes", lambda: dated(500 // scale), with_datetimes),
        Shape("500 flat rows, an OrderedDict last", lambda: flat(500 // scale), with_ordered_dict),
    ]
