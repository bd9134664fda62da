"""Values that a token estimate misjudges: cells of punctuation, white space and empty texts.

Tokenizers have long tokens for runs of the same mark, and for the punctuation between empty texts,
so JSON of such values has fewer tokens than its punctuation suggests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from string import punctuation
from typing import Any

from .shapes import digest, word

Cell = Callable[[], Any]

# Outside ASCII: dashes, bullets, bars, arrows, and characters of two to four bytes.
BEYOND_ASCII = "—–…•█│─═→“”«»×±éßжا中あ한🙂"

# Words that tokenizers cut in other places after a comma than after a quotation mark.
ACCENTED = ("größe", "café", "naïve", "señor", "façade", "œuvre", "ŝanĝo", "łódź", "слово", "λόγος")

EMPTY: tuple[Any, ...] = ("", [], {}, None, [""], [[]], {"": ""})


def length(chance: Random) -> int:
    """Return a length, mostly short, seldom far beyond the longest token."""
    return chance.choice([1, 1, 2, 2, 3, 4, chance.randint(5, 20), chance.randint(1, 150)])


def cells(chance: Random) -> Cell:
    """Return a generator of the cells of one column."""
    marks = chance.choices(punctuation, k=chance.randint(1, 3))
    some = chance.choices(punctuation + BEYOND_ASCII, k=4)
    often = chance.choice(["-", "*", ".", "_", "=", "/", "#", "~", "+", '"', "\\", *marks])
    blank = chance.choice([" ", "\n", "\t", "\r\n", "\x00", "\u00a0"])
    fixed = length(chance)
    kinds: list[Cell] = [
        lambda: often * fixed,
        lambda: often * length(chance),
        lambda: "".join(marks) * fixed,
        lambda: "".join(chance.choices(marks, k=length(chance))),
        lambda: "".join(chance.choices(some, k=chance.randint(0, 9))),
        lambda: chance.choice(BEYOND_ASCII) * chance.randint(1, 9),
        lambda: blank * length(chance),
        lambda: chance.choice(EMPTY),
        lambda: "",
        list,
        lambda: [often * fixed] * chance.randint(0, 4),
        lambda: chance.choice(["", often]),
        lambda: chance.choice("abcxyz"),
        lambda: word(chance),
        lambda: chance.choice(ACCENTED),
        lambda: [word(chance) for _ in range(chance.randint(0, 4))],
        lambda: digest(chance, 8).upper(),
        lambda: often + chance.choice(["a", "B", "ab", "7", "name"]),
        lambda: chance.choice(["a", "on", "42", "no value"]) + often * fixed,
        lambda: chance.choice([0, 1, -1, 10**12, 0.5, -1e-7, True]),
        lambda: "0" * fixed,
        lambda: chance.randint(0, 999),
    ]
    return chance.choice(kinds)


def key(chance: Random, index: int) -> str:
    """Return the key of a column."""
    return chance.choice(["", "a", "id", "-", "__", "*", "name"]) + str(index or "")


def value(chance: Random) -> Any:
    """Return rows as arrays or as objects, or columns; alone or in an object."""
    columns = {key(chance, i): cells(chance) for i in range(chance.choice([1, 1, 2, 2, 3, 5]))}
    rows = range(chance.choice([2, 3, 5, 12, 24, 40]))
    shapes: list[Cell] = [
        lambda: [[cell() for cell in columns.values()] for _ in rows],
        lambda: [{name: cell() for name, cell in columns.items()} for _ in rows],
        lambda: {name: [cell() for _ in rows] for name, cell in columns.items()},
        lambda: [cell() for _ in rows for cell in columns.values()],
        lambda: {
            f"{'-' * (i % 3)}{i}": {name: cell() for name, cell in columns.items()} for i in rows
        },
        lambda: [[{name: cell() for name, cell in columns.items()}] for _ in rows],
        lambda: [{"id": i, "in": {name: cell() for name, cell in columns.items()}} for i in rows],
    ]
    found = chance.choice(shapes)()
    return {"rows": found} if chance.random() < 0.2 else found


def texts(count: int, *, seed: int = 0) -> Iterator[str]:
    """Generate JSON texts, most of them compact."""
    chance = Random(seed)
    for _ in range(count):
        found = value(chance)
        spaced: dict[str, Any] = chance.choice([{}, {"indent": 2}, {"separators": (", ", ":")}])
        compact = {"separators": (",", ":"), "ensure_ascii": chance.random() < 0.1}
        yield json.dumps(found, **(compact if chance.random() < 0.8 else spaced))
