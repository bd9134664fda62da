"""GCF: speed against orjson, gcf-python and toons, and tokens against JSON.

    python -m benches.gcf [--quick]

Every peer writes and reads the same values in the same run; orjson writes bytes, all others str.
Tokens are those of o200k_base, counted by bpe-openai.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import toons

import gcf as gcf_python
from compactwire import gcf
from compactwire.cli._shell import token_counter

from . import report
from .measure import FULL, QUICK, compare
from .speed import Case, Row, same

ORJSON, GCF_PYTHON, TOONS = "orjson", "gcf-python", "toons"
WORDS = ["alpha", "bravo", "delta", "Köln", "north", "order", "shipped", "express"]
WORDS += ["2024-02-29", "Ünïcode", "no-reply", "a|b"]


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


def values(scale: int = 1) -> dict[str, Any]:
    """What is measured; at a scale of 10, a tenth of it."""
    return {
        "500 flat rows": flat(500 // scale),
        "10,000 flat rows": flat(10_000 // scale),
        "500 nested orders": orders(500 // scale),
        "keyed map of 1,000": keyed(1_000 // scale),
        "deep JSON, 100 levels": deep(100 // scale),
        "100 long texts": long_texts(100 // scale),
    }


def cases(scale: int = 1) -> Iterator[Case]:
    """Every comparison."""
    for size, value in values(scale).items():
        text, dumped = gcf.dumps(value), orjson.dumps(value).decode()
        same(gcf.loads(text), value)
        same(gcf.from_json(dumped), text)
        same(orjson.loads(gcf.to_json(text)), value)
        for peer, target, write in (
            (ORJSON, 0.5, orjson.dumps),
            (GCF_PYTHON, 40, gcf_python.encode_generic),
            (TOONS, 1, toons.dumps),
        ):
            yield Case("gcf.dumps", size, peer, target, bind(gcf.dumps, value), bind(write, value))
        peers: list[tuple[str, float, Callable[[str], Any], str]] = [
            (ORJSON, 0.5, orjson.loads, dumped),
            (GCF_PYTHON, 20, gcf_python.decode_generic, gcf_python.encode_generic(value)),
            (TOONS, 1, toons.loads, toons.dumps(value)),
        ]
        for peer, target, read, theirs in peers:
            same(read(theirs), value)
            yield Case("gcf.loads", size, peer, target, bind(gcf.loads, text), bind(read, theirs))


def bind(work: Callable[[Any], object], value: object) -> Callable[[], object]:
    """Give a work without arguments."""
    return lambda: work(value)


def tokens() -> list[list[str]]:
    """Bytes and tokens of each value in each form; none where no tokenizer is installed."""
    count = token_counter()
    if count is None:
        return []
    rows = []
    for size, value in values().items():
        compact = orjson.dumps(value).decode()
        forms = [
            json.dumps(value, indent=2, ensure_ascii=False),
            gcf.dumps(value),
            gcf.dumps(value, constant_columns=True),
            toons.dumps(value),
        ]
        base = count(compact)
        row = [size, f"{len(compact.encode()):,}", f"{len(forms[1].encode()):,}", f"{base:,}"]
        rows.append([*row, *(f"{found:,} ({found / base:.0%})" for found in map(count, forms))])
    return rows


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benches.gcf", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less exact, and a tenth of the data")
    quick = parser.parse_args().quick
    rows = []
    for case in cases(10 if quick else 1):
        ours, theirs = compare([case.ours, case.theirs], QUICK if quick else FULL)
        rows.append(Row(case, ours, theirs).record())
    print(report.speed({"speed": rows}))
    counted = tokens()
    if not counted:
        sys.exit("no tokens: pip install bpe-openai")
    header = ["value", "JSON B", "GCF B", "JSON tokens", "indented", "GCF", "constants", "TOON"]
    print("\nTokens; in brackets what they are of those of compact JSON.\n")
    print(report.table(header, counted))


if __name__ == "__main__":
    main()
