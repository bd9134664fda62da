"""Random values, written and read again: `python -m tests.gcf.round_trips --count 1000000`.

Each value must come back with its types and numbers, and with the order of keys that the reference
reader finds in the same text; written once more it must be the same text. Hypothesis finds small
failing examples, this finds rare ones.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

from compactwire import gcf
from tests.reference import gcf as reference
from tests.strategies.gcf import DOUBLES, HARD_NAMES, HARD_TEXTS, NAMES, NUMBERS, same


class Values:
    """Random values, shaped like data."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def scalar(self) -> Any:
        pick = self.chance
        match pick.randrange(9):
            case 0:
                return None
            case 1:
                return pick.random() < 0.5
            case 2:
                return pick.choice(NUMBERS + DOUBLES)
            case 3:
                return pick.randrange(-(2**63), 2**63)
            case 4:
                return pick.uniform(-1, 1) * 10 ** pick.randint(-30, 30)
            case 5:
                return pick.choice(HARD_TEXTS)
            case 6:
                return "".join(pick.choices('ab|,"^~-@#\\\n é日\u2028', k=pick.randrange(6)))
            case _:
                return pick.randrange(100)

    def name(self) -> str:
        return self.chance.choice(NAMES if self.chance.random() < 0.8 else HARD_NAMES + HARD_TEXTS)

    def names(self) -> list[str]:
        return list(dict.fromkeys(self.name() for _ in range(self.chance.randrange(5))))

    def value(self, depth: int) -> Any:
        pick = self.chance
        kind = pick.randrange(6) if depth else 0
        if kind < 2:
            return self.scalar()
        if kind == 2:
            return [self.value(depth - 1) for _ in range(pick.randrange(4))]
        if kind == 3:
            return {name: self.value(depth - 1) for name in self.names()}
        rows = self.rows(depth)
        if kind == 4:
            return rows
        return dict(zip(self.names(), rows, strict=False))

    def rows(self, depth: int) -> list[dict[str, Any]]:
        pick = self.chance
        columns = {name: self.column(depth - 1) for name in self.names()}
        return [
            {
                name: None if chance < 0.1 else make()
                for name, make in columns.items()
                if (chance := pick.random()) < 0.93
            }
            for _ in range(pick.randrange(5))
        ]

    def column(self, depth: int) -> Any:
        pick = self.chance
        keys = self.names()
        alike = [
            self.scalar,
            lambda: self.value(depth),
            lambda: {key: self.scalar() for key in keys},
            lambda: {key: {"x": self.scalar(), "y": self.scalar()} for key in keys},
            lambda: [{key: self.scalar() for key in keys} for _ in range(pick.randint(1, 3))],
        ]
        make = pick.choice(alike)
        return lambda: make() if pick.random() < 0.97 else self.value(depth)


def check(value: Any) -> None:
    text = gcf.dumps(value)
    back = gcf.loads(text)
    assert same(back, value, order=False), text
    assert same(back, reference.loads(text)), text
    again = gcf.dumps(back)
    assert same(gcf.loads(again), back), text


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=1_000_000)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    values = Values(options.seed)
    size = tables = 0
    for _ in range(options.count):
        value = values.value(4)
        check(value)
        size += 1
        tables += isinstance(value, list | dict)
    print(f"{size:,} values, {tables:,} of them containers: all came back")


if __name__ == "__main__":
    main()
