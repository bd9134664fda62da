"""`tests/vectors/prove.py` asks any program what the vectors say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PEER = Path(__file__).with_name("vectors_peer.py")
PROVE = PEER.parents[1] / "vectors" / "prove.py"


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROVE), *command], capture_output=True, encoding="utf-8", check=False
    )


def prove(*command: str) -> tuple[int, list[str]]:
    child = run(*command)
    assert child.stderr == ""
    return child.returncode, child.stdout.splitlines()


def test_this_package_agrees_with_every_question() -> None:
    status, lines = prove(sys.executable, str(PEER))
    counts = {words[0]: [*map(int, words[1::2])] for words in map(str.split, lines)}
    assert status == 0
    assert len(counts) == 13
    assert all(agree >= 16 and differ == 0 == other for agree, differ, other in counts.values())
    assert sum(agree for agree, _, _ in counts.values()) >= 1000


def test_answers_that_differ_are_named() -> None:
    peer = PEER.read_text(encoding="utf-8")
    changed = peer.replace(").decode()\n", ").decode().upper()\n")
    assert changed != peer
    status, lines = prove(sys.executable, "-c", changed)
    assert status == 1
    named = [line for line in lines if line.startswith("claims/canonical.json#")]
    assert len(named) >= 50
    assert all(": claims.canonical: expected {" in line for line in named)


def test_a_program_without_any_call_proves_nothing() -> None:
    program = "for line in __import__('sys').stdin: print('{\"unsupported\": true}', flush=True)"
    status, lines = prove(sys.executable, "-c", program)
    assert status == 1
    assert all(line.split()[1] == "0" for line in lines)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.exit(3)", "the program has ended, with exit code 3"),
        ("print('no')", "expected a JSON object on one line, the program wrote 'no\\n'"),
        ("print('[1]')", "expected a JSON object on one line, the program wrote '[1]\\n'"),
    ],
)
def test_a_program_that_does_not_answer_is_named(program: str, message: str) -> None:
    child = run(sys.executable, "-c", program)
    assert (child.returncode, child.stdout) == (1, "")
    name, _, rest = child.stderr.partition(": ")
    assert rest == f"{message}\n"
    assert (PROVE.parent / name.partition("#")[0]).is_file()


def test_the_command_says_how_it_is_called() -> None:
    assert run("--help").stdout.startswith("Runs the vectors of this folder")
    assert run().returncode == 2
    assert run("no such program").stderr.startswith("no such program cannot be run: ")
