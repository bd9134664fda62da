"""Questions about data in JSON and in GCF, for anybody who has a model to ask.

    python -m benches.comprehension write FOLDER           # prompts.jsonl and expected.jsonl
    python -m benches.comprehension score FOLDER ANSWERS   # lines of {"id": ..., "answer": ...}

Each question is asked twice: about the data as compact JSON, and as `shrink` writes it, after the
primer `gcf.PRIMER`. The data is that of `data.shapes`, the same in every run; every answer is
known, one word or number. Nothing here asks a model, and no results are claimed.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import compactwire as cw
from compactwire import gcf
from data.shapes import values

SEED, VALUES = 2026, 800
LEAST_ROWS, MOST_ROWS = 6, 60
ASK = "Answer with the value only, as JSON writes it, without quotes.\n\n"


class Question(NamedTuple):
    """A question about a value, and its answer."""

    kind: str
    text: str
    answer: str


def questions(rows: list[dict[str, Any]], chance: Random) -> Iterator[Question]:
    """Ask for a cell, for a number of rows, and for the last row."""
    names = [name for name in rows[0] if all(is_short(row.get(name)) for row in rows)]
    unique = [name for name in names if len({shown(row[name]) for row in rows}) == len(rows)]
    others = [name for name in names if name not in unique[:1]]
    if not unique or not others:
        return
    key, name = unique[0], chance.choice(others)
    row = chance.choice(rows)
    yield Question("cell", f"What is {name} where {key} is {shown(row[key])}?", shown(row[name]))
    wanted, count = chance.choice(sorted(Counter(shown(row[name]) for row in rows).items()))
    yield Question("count", f"In how many rows is {name} equal to {wanted}?", str(count))
    yield Question("last", f"What is {name} in the last row?", shown(rows[-1][name]))


def is_short(value: object) -> bool:
    """Whether a value is a scalar that fits into a question."""
    return isinstance(value, str | int | None) and 0 < len(shown(value)) <= 40


def shown(value: object) -> str:
    """A scalar as it stands in the data."""
    return value if isinstance(value, str) else json.dumps(value)


def asked() -> Iterator[tuple[str, list[dict[str, Any]], Question]]:
    """The questions with their numbers and tables."""
    for number, (_shape, value) in enumerate(values(VALUES, seed=SEED, held_out=True)):
        if is_table(value):
            for question in questions(value, Random(number)):
                yield f"{number}-{question.kind}", value, question


def is_table(value: object) -> bool:
    """Whether a value is rows with equal keys, of a size that a person would ask about."""
    if not isinstance(value, list) or not LEAST_ROWS <= len(value) <= MOST_ROWS:
        return False
    return all(isinstance(row, dict) and list(row) == list(value[0]) for row in value)


def write(folder: Path) -> int:
    """Write the prompts and the expected answers; return the number of questions."""
    folder.mkdir(parents=True, exist_ok=True)
    prompts, expected = [], []
    for number, value, question in asked():
        small = cw.shrink(value)
        if small.format != "gcf":
            continue
        plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        for form, before, data in (("json", "", plain), ("gcf", gcf.PRIMER + "\n", small.text)):
            prompt = f"{before}{ASK}{data}\n\n{question.text}"
            prompts.append({"id": f"{form}-{number}", "prompt": prompt})
            expected.append({"id": f"{form}-{number}", "answer": question.answer})
    for name, lines in (("prompts", prompts), ("expected", expected)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return len(prompts) // 2


def score(folder: Path, answers: Path) -> dict[str, tuple[int, int, int]]:
    """For each form and kind of question: how many are right, answered, and asked."""
    given = {one["id"]: str(one["answer"]).strip().strip('"') for one in read(answers)}
    found: dict[str, tuple[int, int, int]] = {}
    for one in read(folder / "expected.jsonl"):
        form, _, kind = one["id"].split("-")
        right, answered, all_ = found.get(f"{form} {kind}", (0, 0, 0))
        answer = given.get(one["id"])
        is_right = answer == one["answer"].strip('"')
        found[f"{form} {kind}"] = right + is_right, answered + (answer is not None), all_ + 1
    return found


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Read JSON Lines."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def main() -> None:
    """Write the prompts, or score answers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=["write", "score"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("answers", type=Path, nargs="?")
    args = parser.parse_args()
    if args.action == "write":
        print(f"{write(args.folder)} questions, each about JSON and about GCF, in {args.folder}")
        return
    if args.answers is None:
        parser.error("score needs the file with the answers")
    for name, (right, answered, all_) in sorted(score(args.folder, args.answers).items()):
        print(f"{name:<12} {right:>5} of {all_} right, {all_ - answered} without an answer")


if __name__ == "__main__":
    main()
