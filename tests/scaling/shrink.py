"""Texts of one kind of character, whose tokens are estimated, and texts that are shrunk."""

from __future__ import annotations

import json
from collections.abc import Callable

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


CASES = [
    Case(f"{name}, {kind}", call, run(part), 1000, 100_000)
    for kind, call in {"estimated": estimates, "shrunk": shrinks}.items()
    for name, part in RUNS.items()
]

shrinks("The first call imports modules, which must not count.")
