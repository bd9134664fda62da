"""Runs the vectors of this folder against any implementation, in any language.

    python prove.py COMMAND [ARGUMENT ...]

The command reads one JSON object per line from standard input, and answers each with one line:
`{"result": ...}`, `{"error": ...}`, or `{"unsupported": true}` for a call that it does not have.
`README.md` lists the calls. Needs Python 3.11 and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
# A call, its arguments, and the answer; an error of None stands for any error.
Question = tuple[str, dict[str, Any], dict[str, Any]]


def questions(case: dict[str, Any]) -> Iterator[Question]:
    """Give what a case asks; nothing for a case that has no call."""
    members = case.keys()
    if {"wire", "response"} <= members:
        yield "compact.decode", {"wire": case["wire"]}, {"result": case["response"]}
        if "encode" in case:
            given = {"response": case["response"], "format": case["format"], **case["encode"]}
            yield "compact.encode", given, {"result": case["wire"]}
    elif {"wire", "error"} <= members:
        yield "compact.decode", {"wire": case["wire"]}, {"error": None}
    elif {"content", "delta"} <= members:
        given = {"content": case["content"], "delta": case["delta"]}
        answer = {"result": case["result"]} if "result" in case else {"error": None}
        yield "compact.apply_delta", given, answer
    elif {"bytes", "text"} <= members:
        yield "base85.encode", {"hex": case["bytes"]}, {"result": case["text"]}
        yield "base85.decode", {"text": case["text"]}, {"result": case["bytes"]}
    elif {"gcb_hex", "payload"} <= members:
        options = {"mode": case["mode"]} if "mode" in case else {}
        yield "gcb.encode", {"payload": case["payload"], **options}, {"result": case["gcb_hex"]}
    elif {"gcb_hex", "expected_error"} <= members:
        yield "gcb.decode", {"hex": case["gcb_hex"]}, {"error": case["expected_error"]}
    elif {"in", "out"} <= members:
        yield "claims.canonical", {"text": case["in"]}, {"result": case["out"]}
    elif {"in", "reject"} <= members:
        yield "claims.canonical", {"text": case["in"]}, {"error": None}
    elif {"leaves", "root"} <= members:
        yield "claims.merkle_root", {"leaves": _leaves(case)}, {"result": case["root"]}
    elif "operation" in members:
        yield from _of_gcf(case)
    elif {"document", "compact"} <= members:
        yield from _of_cad(case)


def _leaves(case: dict[str, Any]) -> list[str]:
    """Give the leaves of a tree; by default the hashes of `leaf 0`, `leaf 1` and so on."""
    if isinstance(case["leaves"], list):
        return case["leaves"]
    return [hashlib.sha256(f"leaf {number}".encode()).hexdigest() for number in range(case["n"])]


def _of_gcf(case: dict[str, Any]) -> Iterator[Question]:
    options = {"options": case.get("options", {})}
    match case["operation"]:
        case "encode" | "roundtrip":
            given = {"value": case["input"], **options}
            yield "gcf.encode", given, {"result": case["expected"]}
        case "decode":
            yield "gcf.decode", {"text": case["input"], **options}, {"result": case["expected"]}
        case "error" if "input" in case:
            given = {"text": case["input"], **options}
            yield "gcf.decode", given, {"error": case["expectedError"]}
        case "encode-error":
            yield "gcf.encode", {"value": case["input"]}, {"error": case["expectedError"]}


def _of_cad(case: dict[str, Any]) -> Iterator[Question]:
    error = case["error"] and {"error": {key: case["error"].get(key) for key in ("line", "column")}}
    if "target" not in case and "lossy" in case:
        given = {name: case[name] for name in ("document", "dialect", "names", "lossy")}
        answer = {"error": None} if case["error"] else {"result": case["compact"]}
        yield "cad.write", given, answer
    elif error and "dialect" in case and "lossy" not in case:
        # Documents may be written in several ways, so that only errors can be compared here.
        yield "cad.read", {"text": case["compact"], "dialect": case["dialect"]}, error


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Give every case with its name: the file, and the number in it."""
    for path in sorted(FOLDER.rglob("*.json*")):
        name = path.relative_to(FOLDER).as_posix()
        if path.suffix == ".jsonl":
            lines = path.read_text(encoding="utf-8").split("\n")
            found = [json.loads(line) for line in lines if line.strip()]
        else:
            content = json.loads(path.read_text(encoding="utf-8"))
            found = content if isinstance(content, list) else [content]
        for number, case in enumerate(found):
            if isinstance(case, dict):
                yield (f"{name}#{number}" if len(found) > 1 else name), case


def agrees(answer: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether an answer is the expected one; the members of a result may stand in any order."""
    if "error" in expected:
        return "error" in answer and expected["error"] in (None, answer["error"])
    return "result" in answer and _text(answer["result"]) == _text(expected["result"])


def _text(value: object) -> str:
    return json.dumps(_numbers(value), sort_keys=True)


def _numbers(value: Any) -> Any:
    """Write whole numbers in one way: JSON does not tell 1 from 1.0, but true from 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _numbers(item) for key, item in value.items()}
    return value


class Program:
    """A program that answers questions; the end of the process names it, and what it did."""

    def __init__(self, command: list[str]) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
        try:
            self.child = subprocess.Popen(command, **pipes)
        except OSError as error:
            sys.exit(f"{command[0]} cannot be run: {error.strerror}")

    def ask(self, name: str, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a question of the case `name`."""
        try:
            self.child.stdin.write(json.dumps(question) + "\n")
            self.child.stdin.flush()
            line = self.child.stdout.readline()
        except OSError:  # It reads no longer.
            line = ""
        if not line:
            self.child.communicate()
            sys.exit(f"{name}: the program has ended, with exit code {self.child.returncode}")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self.child.kill()
            sys.exit(f"{name}: expected a JSON object on one line, the program wrote {line!r:.200}")
        return answer


def main(command: list[str]) -> int:
    """Ask the command all questions; print what differs, and the counts by call."""
    if command in ([], ["-h"], ["--help"]):
        print(__doc__)
        return 0 if command else 2
    right: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    program = Program(command)
    for name, case in cases():
        for call, given, expected in questions(case):
            answer = program.ask(name, {"call": call, **given})
            if answer.get("unsupported"):
                missing[call] += 1
            elif agrees(answer, expected):
                right[call] += 1
            else:
                wrong[call] += 1
                print(f"{name}: {call}: expected {expected}, found {answer}")
    program.child.communicate()
    for call in sorted(right | wrong | missing):
        counts = f"{right[call]:5} agree {wrong[call]:5} differ {missing[call]:5} unsupported"
        print(f"{call:20} {counts}")
    return 1 if wrong or not right else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
