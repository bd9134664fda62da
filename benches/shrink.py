"""`shrink`: time against minifying JSON and writing TOON, and the tokens saved over many values.

    python -m benches shrink             the time
    python -m benches.shrink [VALUES]    the tokens, over VALUES of each kind of values

The values are those of `data.shapes`: results as tools and APIs return them, as compact JSON. The
prices of the estimate were measured without the shapes that are held out. "Hostile" are the texts
of `data.hostile`, which an estimate misjudges.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import bpe_openai
import orjson
import toons

import compactwire as cw
from data import hostile
from data.shapes import values

from . import report
from .measure import Call
from .speed import Case, ready, same

ENCODINGS = ("o200k_base", "cl100k_base")
VALUES = 5_000

HEADER = ["counted by", "chosen by", "shapes", "values", "larger", "worst", "all tokens saved",
          "median", "median by shape, least to most"]  # fmt: skip


def rows(count: int) -> str:
    """Return indented JSON of tasks, each of about 160 bytes."""
    found = [
        {
            "id": 10_000 + n,
            "title": f"Task {n * 7919 % 1000} of the {('first', 'second', 'third')[n % 3]} part",
            "state": ("open", "closed")[n % 5 == 0],
            "labels": ["bug", "urgent"][: n % 3],
            "author": {"login": f"user{n % 13}", "id": n % 13},
        }
        for n in range(count)
    ]
    return json.dumps(found, indent=1)


def minified(data: bytes) -> bytes:
    """Write JSON without white space."""
    return orjson.dumps(orjson.loads(data))


def as_toon(data: bytes) -> str:
    """Write TOON."""
    return toons.dumps(orjson.loads(data))


def cases() -> Iterator[Case]:
    """Every comparison, by the size of the text."""
    for size, count in {"0.2 KB": 1, "1 KB": 5, "8 KB": 37, "64 KB": 300, "1 MB": 4_700}.items():
        data = rows(count).encode()
        same(cw.expand(cw.shrink(data.decode())), orjson.loads(data))
        ours = Call(cw.shrink, data.decode)
        for peer, work in {"orjson, minified": minified, "toons, from orjson": as_toon}.items():
            theirs = Call(work, partial(bytes, data))
            yield Case("shrink", size, peer, None, ready(ours, theirs))


def tokens(count: int = VALUES) -> list[list[str]]:
    """Return a table: a row for each tokenizer, way of choosing, and kind of shapes."""
    texts = {
        name: [
            (shape, json.dumps(value, ensure_ascii=False, separators=(",", ":")))
            for shape, value in values(count, seed=2026, held_out=held_out)
        ]
        for name, held_out in (("others", False), ("held out", True))
    }
    texts["hostile"] = [("hostile", text) for text in hostile.texts(count, seed=2026)]
    found = [HEADER]
    for encoding in ENCODINGS:
        encoder = bpe_openai.get_encoding(encoding)

        def counted(text: str, encode: Callable[[str], list[int]] = encoder.encode_ordinary) -> int:
            return len(encode(text))

        for chosen, tokenizer in (("the estimate", "estimate"), (encoding, counted)):
            for name, some in texts.items():
                found.append([encoding, chosen, name, *savings(some, counted, tokenizer)])
    return found


def savings(
    texts: list[tuple[str, str]],
    count: Callable[[str], int],
    tokenizer: str | Callable[[str], int],
) -> list[str]:
    """Shrink texts and check that they come back; summarize what is saved."""
    before = after = larger = 0
    worst = 0.0
    saved = defaultdict(list)
    for shape, text in texts:
        shrunk = cw.shrink(text, tokenizer=tokenizer)
        same(json.loads(text) if shrunk.format == "text" else cw.expand(shrunk), json.loads(text))
        least, most = count(shrunk.text), count(text)
        before, after = before + most, after + least
        larger += least > most
        worst = max(worst, least / most - 1)
        saved[shape].append(1 - least / most)
    medians = sorted(map(median, saved.values()))
    return [
        f"{len(texts):,}",
        f"{larger:,}",
        f"{worst:+.1%}" if larger else "",
        f"{1 - after / before:.1%}",
        f"{median(one for found in saved.values() for one in found):.1%}",
        " ".join(f"{one:.0%}" for one in medians),
    ]


def main() -> None:
    """Run the command."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else VALUES
    header, *table = tokens(count)
    print(report.table(header, table, text_columns=3))


if __name__ == "__main__":
    main()
