"""`tests/vectors/prove.py` asks any program what the vectors say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PEER = Path(__file__).with_name("vectors_peer.py")
PROVE = PEER.parents[1] / "vectors" / "prove.py"


def prove(*command: str) -> tuple[int, list[str]]:
    child = subprocess.run(
        [sys.executable, str(PROVE), *command], capture_output=True, encoding="utf-8", check=False
    )
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
