"""Values like those that tools and APIs return, for measuring the tokens of a form.

Each shape is a function of a random generator; its words come from the texts in `corpus`. Shapes
that are held out are for judging only: no price is measured with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from .samples import CORPUS

Shape = Callable[[Random], Any]

# Short words and codes that values repeat.
VOCABULARIES = tuple(
    text.split()
    for text in (
        "USD EUR GBP JPY CHF SEK NOK AUD CAD NZD DKK PLN CZK TRY ZAR BRL MXN INR KRW SGD HKD CNY",
        "GET POST PUT PATCH DELETE HEAD OPTIONS",
        "de en fr es it pt nl pl ru zh ja ko ar tr sv da fi no cs hu",
        "DE FR GB US JP CN BR IN ZA NL",
        "ok up down on off hi lo yes no error warn info pass fail skip",
        "OK KO NA ERR PASS FAIL SKIP N/A",
        "open closed merged draft paid shipped pending done failed queued",
        "kg km h ms GB MB C F mm hPa m/s",
        "a b c d e f x y z A B C",
        "red green blue black white",
    )
)


@cache
def words() -> list[str]:
    """Return the distinct words of the prose and engineering texts, in their order."""
    text = " ".join(
        path.read_text()
        for kind in ("prose", "engineering")
        for path in sorted((CORPUS / kind).iterdir())
    )
    return list(dict.fromkeys(re.findall(r"[A-Za-z]{2,14}", text)))


@cache
def lines() -> list[str]:
    """Return lines of texts in many languages."""
    found = (
        line.strip()
        for path in sorted((CORPUS / "languages").iterdir())
        for line in path.read_text().splitlines()
    )
    return [line[:120] for line in found if len(line) > 8]


def word(chance: Random) -> str:
    """Return a word."""
    return chance.choice(words()).lower()


def name(chance: Random) -> str:
    """Return a name of up to three words."""
    return chance.choice("-_").join(word(chance) for _ in range(chance.randint(1, 3)))


def title(chance: Random) -> str:
    """Return a short sentence."""
    return " ".join(word(chance) for _ in range(chance.randint(3, 9))).capitalize()


def time(chance: Random) -> str:
    """Return a time in ISO 8601."""
    day = f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    return (
        f"{day}T{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}Z"
    )


def digest(chance: Random, digits: int = 40) -> str:
    """Return hexadecimal digits."""
    return f"{chance.getrandbits(4 * digits):0{digits}x}"


def path(chance: Random) -> str:
    """Return the path of a file."""
    folders = "/".join(word(chance) for _ in range(chance.randint(1, 4)))
    return f"{folders}/{name(chance)}.{chance.choice(['py', 'rs', 'ts', 'md', 'json'])}"


def several(chance: Random, least: int = 1, most: int = 40) -> range:
    """Return a range of a random size."""
    return range(chance.randint(least, most))


def issues(chance: Random) -> Any:
    """Return issues of a tracker, with nested authors and lists of labels."""
    return [
        {
            "id": chance.randint(10_000, 99_999),
            "title": title(chance),
            "state": chance.choice(["open", "closed"]),
            "labels": [word(chance) for _ in several(chance, 0, 3)],
            "author": {"login": name(chance), "id": chance.randint(1, 9_999_999)},
            "comments": chance.randint(0, 40),
            "created_at": time(chance),
            "locked": chance.random() < 0.1,
        }
        for _ in several(chance)
    ]


def search_results(chance: Random) -> Any:
    """Return lines found in files."""
    files = [path(chance) for _ in range(4)]
    return [
        {"path": chance.choice(files), "line": chance.randint(1, 900), "text": title(chance)}
        for _ in several(chance)
    ]


def graph(chance: Random) -> Any:
    """Return entities and relations, as a memory server does."""
    names = [name(chance) for _ in several(chance, 3, 20)]
    return {
        "entities": [
            {
                "name": one,
                "entityType": word(chance),
                "observations": [title(chance) for _ in several(chance, 1, 3)],
            }
            for one in names
        ],
        "relations": [
            {"from": one, "to": chance.choice(names), "relationType": "uses"} for one in names
        ],
    }


def logs(chance: Random) -> Any:
    """Return lines of a log."""
    return [
        {
            "ts": time(chance),
            "level": chance.choice(["info", "info", "warn", "error"]),
            "service": chance.choice(["api", "worker", "web"]),
            "message": title(chance),
            "duration_ms": round(chance.expovariate(0.01), 2),
        }
        for _ in several(chance, 2, 60)
    ]


def orders(chance: Random) -> Any:
    """Return orders with nested customers and items."""
    return {
        "orders": [
            {
                "id": f"ORD-{chance.randint(1000, 9999)}",
                "customer": {
                    "id": chance.randint(1, 500),
                    "tier": chance.choice(["gold", "basic"]),
                },
                "items": [
                    {"sku": digest(chance, 8), "qty": chance.randint(1, 9), "price": price(chance)}
                    for _ in several(chance, 1, 4)
                ],
                "status": chance.choice(["paid", "shipped", "open"]),
                "total": price(chance),
            }
            for _ in several(chance, 1, 25)
        ],
        "next": None,
    }


def price(chance: Random) -> float:
    """Return an amount with two decimals."""
    return chance.randint(100, 99_999) / 100


def packages(chance: Random) -> Any:
    """Return packages of a registry."""
    return {
        "total": chance.randint(1, 9_999),
        "objects": [
            {
                "name": name(chance),
                "version": ".".join(str(chance.randint(0, 20)) for _ in range(3)),
                "keywords": [word(chance) for _ in several(chance, 0, 5)],
                "maintainers": [name(chance) for _ in several(chance, 1, 2)],
                "score": chance.random(),
            }
            for _ in several(chance, 1, 30)
        ],
    }


def unlike_rows(chance: Random) -> Any:
    """Return objects with different keys."""
    keys = [name(chance) for _ in range(30)]
    return [
        {key: chance.randint(0, 99) for key in chance.sample(keys, chance.randint(1, 5))}
        for _ in several(chance, 2, 60)
    ]


def folders(chance: Random, depth: int = 3) -> Any:
    """Return a tree of folders."""
    if depth == 0 or chance.random() < 0.5:
        return {"name": name(chance), "type": "file"}
    children = [folders(chance, depth - 1) for _ in several(chance, 0, 6)]
    return {"name": name(chance), "type": "directory", "children": children}


def one_object(chance: Random) -> Any:
    """Return one flat object."""
    return {name(chance): scalar(chance) for _ in several(chance, 1, 8)}


def scalar(chance: Random) -> Any:
    """Return a scalar of any kind."""
    kinds: list[Callable[[], Any]] = [
        lambda: None,
        lambda: chance.random() < 0.5,
        lambda: chance.randint(-1000, 10**9),
        lambda: chance.gauss(0, 100),
        lambda: title(chance),
        lambda: time(chance),
        lambda: digest(chance),
        lambda: path(chance),
    ]
    return chance.choice(kinds)()


def query(chance: Random) -> Any:
    """Return columns, and rows as arrays."""
    columns = [name(chance) for _ in several(chance, 1, 6)]
    kinds = [chance.randrange(3) for _ in columns]
    cells: list[Shape] = [word, price, lambda chance: chance.randint(0, 10**6)]
    rows = [[cells[kind](chance) for kind in kinds] for _ in several(chance, 0, 40)]
    return {"success": True, "columns": columns, "rows": rows, "rowCount": len(rows)}


def coordinates(chance: Random) -> Any:
    """Return pairs of numbers."""
    digits = chance.choice([2, 5, 15])
    return [
        [round(chance.uniform(-180, 180), digits), round(chance.uniform(-90, 90), digits)]
        for _ in several(chance, 2, 60)
    ]


def services(chance: Random) -> Any:
    """Return an object of objects with the same keys."""
    return {
        name(chance): {
            "image": f"{word(chance)}:{chance.randint(1, 20)}",
            "replicas": chance.randint(1, 9),
            "ready": chance.random() < 0.9,
            "digest": digest(chance, 64),
        }
        for _ in several(chance, 1, 25)
    }


def metrics(chance: Random) -> Any:
    """Return a series of doubles."""
    return {
        "series": [
            {"t": 1_795_000_000 + 60 * i, "mean": chance.gauss(50, 9), "max": chance.gauss(90, 9)}
            for i in several(chance, 2, 60)
        ]
    }


def documents(chance: Random) -> Any:
    """Return texts of several paragraphs."""
    return [
        {"title": title(chance), "body": "\n\n".join(chance.choices(lines(), k=3)), "lang": "en"}
        for _ in several(chance, 1, 8)
    ]


def languages(chance: Random) -> Any:
    """Return texts in many languages."""
    return [{"id": i, "text": chance.choice(lines())} for i in several(chance, 1, 20)]


def settings(chance: Random, depth: int = 3) -> Any:
    """Return nested objects, arrays and scalars."""
    if depth == 0 or chance.random() < 0.3:
        return scalar(chance)
    if chance.random() < 0.2:
        return [settings(chance, depth - 1) for _ in several(chance, 0, 4)]
    return {name(chance): settings(chance, depth - 1) for _ in several(chance, 0, 6)}


def events(chance: Random) -> Any:
    """Return events with digests and nested data."""
    return [
        {
            "id": f"{digest(chance, 8)}-{digest(chance, 4)}-{digest(chance, 12)}",
            "type": f"{word(chance)}.{word(chance)}",
            "at": time(chance),
            "data": {"ref": digest(chance), "ok": chance.random() < 0.5, "note": None},
        }
        for _ in several(chance, 1, 30)
    ]


def flags(chance: Random) -> Any:
    """Return rows with constant columns."""
    return [
        {"flag": name(chance), "on": chance.random() < 0.5, "owner": None, "rollout": 100}
        for _ in several(chance, 1, 40)
    ]


def names(chance: Random) -> Any:
    """Return an array of strings."""
    return [name(chance) for _ in several(chance, 0, 60)]


def codes(chance: Random) -> list[str]:
    """Return a few short words or codes, of one kind."""
    letters = chance.choice([ascii_lowercase, ascii_uppercase])
    length = chance.randint(2, 4)
    made = ["".join(chance.choices(letters, k=length)) for _ in range(8)]
    found = chance.choice([*VOCABULARIES, made])
    return chance.sample(found, chance.randint(2, min(8, len(found))))


def code_lists(chance: Random) -> Any:
    """Return lists of codes: alone, in an object, or in rows."""
    some = codes(chance)

    def one(most: int) -> list[str]:
        return chance.choices(some, k=chance.randint(0, most))

    lists: list[Callable[[], Any]] = [
        lambda: one(60),
        lambda: {word(chance): one(60) for _ in several(chance, 1, 3)},
        lambda: [{"id": i, "codes": one(5)} for i in several(chance)],
        lambda: {name(chance): one(6) for _ in several(chance)},
    ]
    return chance.choice(lists)()


def states(chance: Random) -> Any:
    """Return an object with a code for each name."""
    some, prefix = codes(chance), word(chance)
    return {f"{prefix}{i}": chance.choice(some) for i in several(chance, 1, 60)}


def grid(chance: Random) -> Any:
    """Return rows of equal length of codes, or of literals and small numbers."""
    literals = chance.sample([None, True, False, 0, 1, "", chance.randint(2, 99)], 3)
    cells = chance.choice([codes(chance), literals])
    columns = range(chance.randint(1, 10))
    rows = [[chance.choice(cells) for _ in columns] for _ in several(chance, 2)]
    return chance.choice([rows, {"range": "Sheet1!A1:J40", "values": rows}])


def gaps(chance: Random) -> Any:
    """Return time series in which many values are null."""
    hours, known = range(chance.choice([24, 48, 72])), chance.random()

    def one() -> Any:
        number = chance.choice([chance.randint(0, 99), price(chance)])
        return number if chance.random() < known else None

    names = [word(chance) for _ in several(chance, 1, 4)]
    return {"hourly": {one_name: [one() for _ in hours] for one_name in names}}


def sparse_rows(chance: Random) -> Any:
    """Return objects most of whose values are null, true or false."""
    keys = [name(chance) for _ in several(chance, 1, 8)]
    cells = [None, None, True, False, chance.randint(0, 99)]
    return [{key: chance.choice(cells) for key in keys} for _ in several(chance)]


# Those that prices are measured with. The values of a seed depend on the order.
MEASURED: tuple[Shape, ...] = (
    issues,
    search_results,
    logs,
    orders,
    unlike_rows,
    folders,
    query,
    coordinates,
    metrics,
    documents,
    settings,
    events,
    names,
)
HELD_OUT: tuple[Shape, ...] = (
    graph,
    packages,
    one_object,
    services,
    languages,
    flags,
    code_lists,
    states,
    grid,
    gaps,
    sparse_rows,
)


def values(count: int, *, seed: int = 0, held_out: bool) -> Iterator[tuple[str, Any]]:
    """Generate values with the names of their shapes, of shapes that are held out or not."""
    shapes = HELD_OUT if held_out else MEASURED
    chance = Random(seed)
    for i in range(count):
        shape = shapes[i % len(shapes)]
        yield shape.__name__, shape(chance)
