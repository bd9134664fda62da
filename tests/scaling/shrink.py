"""`shrink` and `expand` of texts and values, and the estimate of texts of one kind of character."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import compactwire as cw
from compactwire import gcf

from .harness import Case

RUNS = {
    "digits": "1",
    "small letters": "a",
    "capitals": "A",
    "capitals and small letters": "Aa",
    "spaces": " ",
    "blanks": "\t",
    "line breaks": "\n",
    "spaces and line breaks": " \n",
    "marks": "|",
    "slashes": "/",
    "marks and slashes": "|/",
    "spaces and marks": " |",
    "characters beyond ASCII": "é",
    "wide characters": "🚀",
    "digits and marks": "1.",
}


def run(part: str) -> Callable[[int], str]:
    return lambda count: part * count


def estimates(text: str) -> object:
    return cw.estimate_tokens(text), cw.estimate_tokens(text + "."), gcf.count_tokens(text)


def shrinks(text: str) -> object:
    return cw.shrink(text), cw.shrink(json.dumps([text, text], indent=1)), cw.shrink([text])


# Values, by the parameter that grows


def rows(count: int) -> Any:
    return [{"id": n, "name": f"name {n}", "state": "open"} for n in range(count)]


def unlike_rows(count: int) -> Any:
    return [{f"key {n}": n} for n in range(count)]


def numbers(count: int) -> Any:
    return list(range(count))


def nested(count: int) -> Any:
    return [{"id": n, "parts": [{"at": k, "of": {"n": n}} for k in range(3)]} for n in range(count)]


def deep(count: int) -> Any:
    value: Any = 1
    for _ in range(100):
        value = {"a": value}
    return [value] * (count // 100)


def texts(count: int) -> Any:
    return [f"a line with\nan escape {n}" for n in range(count)]


VALUES: dict[Callable[[int], Any], tuple[int, int]] = {
    rows: (400, 15_000),
    unlike_rows: (1000, 40_000),
    numbers: (4000, 120_000),
    nested: (200, 8000),
    deep: (4000, 100_000),
    texts: (500, 25_000),
}


def as_json(make: Callable[[int], Any]) -> Callable[[int], str]:
    return lambda count: json.dumps(make(count))


def shrunk(make: Callable[[int], Any]) -> Callable[[int], str]:
    return lambda count: cw.shrink(make(count)).text


CASES = [
    *(
        Case(f"{name}, {kind}", call, run(part), 1000, 100_000)
        for kind, call in {"estimated": estimates, "shrunk": shrinks}.items()
        for name, part in RUNS.items()
    ),
    *(
        Case(f"shrink, text: {make.__name__}", cw.shrink, as_json(make), *sizes)
        for make, sizes in VALUES.items()
    ),
    *(
        Case(f"shrink, value: {make.__name__}", cw.shrink, make, *VALUES[make])
        for make in (rows, unlike_rows, texts)
    ),
    *(
        Case(f"expand: {make.__name__}", cw.expand, shrunk(make), *sizes)
        for make, sizes in VALUES.items()
    ),
    Case(
        "shrink, text: prose",
        cw.shrink,
        lambda size: "so it goes. " * (size // 12),
        40_000,
        1_000_000,
    ),
    Case("shrink, text: quotes", cw.shrink, lambda size: '["' * (size // 2), 40_000, 1_000_000),
]

shrinks("The first call imports modules, which must not count.")
