"""Counts the instructions of whole calls, which other work on the machine does not change.

    python -m benches.instructions > after.json
    python -m benches.instructions --compare before.json after.json

Valgrind runs each call in a process of its own, with a few repetitions and with more; the
difference is what the repetitions cost. It has no AVX-512, so the paths for AVX2 are counted.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import compactwire as cw
from benches import conversations
from benches.cad import large
from compactwire import cad, gcf
from compactwire._demo_values import issues

ROOT = Path(__file__).resolve().parents[1]
FEW, MANY = 2, 6


def calls() -> dict[str, Callable[[], object]]:
    """Give the calls by name; each starts from the same state every time."""
    short = cw.Response("The function looks correct, but it misses the empty list. " * 3)
    long = cw.Response(json.dumps(issues(60)))
    rows = issues(500)
    data = bytes(range(256)) * 80
    turn = conversations.load("coding").turns[0]
    part = large(400)
    return {
        "encode, dsl": partial(cw.encode, short, format="dsl"),
        "decode, dsl": partial(cw.decode, cw.encode(short, format="dsl")),
        "encode, zstd": partial(cw.encode, long, format="zstd"),
        "decode, zstd": partial(cw.decode, cw.encode(long, format="zstd")),
        "encode_base85, 20 KiB": partial(cw.encode_base85, data),
        "decode_base85, 20 KiB": partial(cw.decode_base85, cw.encode_base85(data)),
        "gcf.dumps, 500 rows": partial(gcf.dumps, rows),
        "gcf.loads, 500 rows": partial(gcf.loads, gcf.dumps(rows)),
        "shrink, 60 rows": partial(cw.shrink, json.dumps(issues(60))),
        "Session, first request": lambda: cw.Session().encode_request(
            tool=turn.tools, system=turn.system, args=turn.args, context=turn.context
        ),
        "cad.from_compact, 400 nodes": partial(cad.from_compact, part),
        "cad.to_compact, 400 nodes": partial(cad.to_compact, cad.from_compact(part)),
    }


def count(name: str) -> int:
    """Give the instructions of one call."""
    return (_total(name, MANY) - _total(name, FEW)) // (MANY - FEW)


def _total(name: str, times: int) -> int:
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    child = subprocess.run(
        [*valgrind, sys.executable, "-m", "benches.instructions", "--call", name, str(times)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    found = re.search(r"Collected : (\d+)", child.stderr)
    if found is None:
        raise RuntimeError(f"callgrind has counted nothing: {child.stderr}")
    return int(found[1])


def table(before: dict[str, int], after: dict[str, int]) -> str:
    """Compare two records, as Markdown. A call that one of them lacks is left out."""
    lines = ["| call | before | after | of it |", "|---|--:|--:|--:|"]
    lines += [
        f"| {name} | {before[name]:,} | {number:,} | {number / before[name]:.3f} |"
        for name, number in after.items()
        if name in before
    ]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Print a record, compare two, or make the calls of a child."""
    match arguments:
        case ["--call", name, times]:
            call = calls()[name]
            for _ in range(int(times)):
                call()
        case ["--compare", before, after]:
            print(table(*(json.loads(Path(path).read_text("utf-8")) for path in (before, after))))
        case []:
            print(json.dumps({name: count(name) for name in calls()}, indent=2))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
