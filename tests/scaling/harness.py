"""Measures how the cost of a call grows with one parameter of its input.

Steps: the parameter is doubled three times. The steps that the last doubling adds, for each unit
of input, must be about as many as the first doubling adds. Constant costs do not count. Valgrind
counts the instructions. Without it, processor time is compared, which needs a wider margin.

Memory: the peak of the resident memory in a process of its own, for an input of up to a megabyte,
must stay within the bound of `docs/security.md`: a factor times the input, and 64 MiB.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.strategies.growth import seconds
from tests.strategies.outcomes import result_or_error

ROOT = Path(__file__).resolve().parents[2]
DOUBLINGS = 3

OBJECTS, TEXT = 256, 16
"""Most bytes of memory for each byte of input: for Python objects, and from text to text."""
FREE = 64 << 20
"""Bytes of memory that any call may take."""

STEEPEST = {"instructions": 2.0, "processor time": 3.0}
"""Linear work adds 1 times as many steps for each unit of input, quadratic work 4 times as many."""
NOISE = {"instructions": 100_000.0, "processor time": 0.002}
"""Steps that any call may add: hash tables grow, and the collector runs."""


def length(value: Any) -> int:
    """The size of an input: its characters, or those of its JSON."""
    return len(value) if isinstance(value, str | bytes) else len(json.dumps(value))


@dataclass(frozen=True)
class Case:
    """A call whose cost must grow like its input."""

    name: str
    call: Callable[[Any], object]
    make: Callable[[int], Any]
    """The input for a value of the parameter."""
    size: int
    """The first value of the parameter, for the steps."""
    large: int
    """The value for the memory: an input of up to a megabyte."""
    factor: int = OBJECTS
    size_of: Callable[[Any], int] = length

    def sizes(self) -> list[int]:
        return [self.size << doubling for doubling in range(DOUBLINGS + 1)]


# Steps


def counter() -> str:
    """The tool that counts the steps on this machine."""
    if sys.platform == "linux" and shutil.which("valgrind") and shutil.which("vgdb"):
        return "instructions"
    return "processor time"


def steepness(case: Case, steps: list[float], unit: str) -> float:
    """The steps per unit of input that the last doubling adds, divided by those of the first."""
    lengths = [case.size_of(case.make(size)) for size in case.sizes()]
    added = [after - before for before, after in pairwise(steps)]
    input_added = [after - before for before, after in pairwise(lengths)]
    if added[-1] <= NOISE[unit]:
        return 0.0
    first = max(added[0], NOISE[unit] / (1 << DOUBLINGS)) / input_added[0]
    return added[-1] / input_added[-1] / first


def steep(subject: str, cases: list[Case]) -> Iterator[tuple[Case, float]]:
    """Each case of a module of this package, with its steepness."""
    unit = counter()
    if unit == "instructions":
        with _counted(subject) as count:
            for at, case in enumerate(cases):
                found = steepness(case, count(at), unit)
                if found > STEEPEST[unit]:
                    # Something else may fall into one count, but what is steep is so each time.
                    found = steepness(case, count(at), unit)
                yield case, found
        return
    for case in cases:
        # A busy machine makes some attempts look steep, but not all of them.
        attempts = (steepness(case, _timed(case), unit) for _ in range(3))
        yield case, min(attempts, key=lambda found: (found > STEEPEST[unit], found))


def _timed(case: Case) -> list[float]:
    return [
        seconds(lambda value: result_or_error(case.call, value), case.make(size))
        for size in case.sizes()
    ]


@contextmanager
def _counted(subject: str) -> Iterator[Callable[[int], list[float]]]:
    """Starts a child under Valgrind; yields a function that counts the instructions of a case."""
    with tempfile.TemporaryDirectory() as folder:
        valgrind = [
            "valgrind",
            "--tool=callgrind",
            "--vgdb=yes",
            f"--callgrind-out-file={folder}/c",
        ]
        child = subprocess.Popen(
            [*valgrind, sys.executable, "-m", "tests.scaling.harness", subject],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        dumps = 0

        def dump() -> float:
            nonlocal dumps
            dumps += 1
            command = ["vgdb", f"--pid={child.pid}", "dump"]
            subprocess.run(command, check=True, capture_output=True, timeout=60)
            found = Path(folder, f"c.{dumps}").read_text(encoding="utf-8", errors="replace")
            totals = re.search(r"^totals: (\d+)", found, re.MULTILINE)
            assert totals, "callgrind has counted nothing"
            return float(totals[1])

        def ask(line: str) -> None:
            assert child.stdin
            assert child.stdout
            child.stdin.write(line + "\n")
            child.stdin.flush()
            answer = child.stdout.readline()
            assert answer == "done\n", f"{subject}, {line}: {answer!r}"

        def count(case: int) -> list[float]:
            ask(f"make {case}")
            dump()
            found = []
            for step in range(DOUBLINGS + 1):
                ask(f"call {step}")
                found.append(dump())
            return found

        try:
            yield count
        finally:
            child.kill()
            child.communicate()


# Memory


def peak(case: Case) -> tuple[int, int]:
    """The size of the large input, and the bytes of memory that the call takes at most."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, json.dumps(_peak(case)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        found = pipe.read()
    _, status = os.waitpid(child, 0)
    assert found, f"{case.name}: the process ended, status {status}"
    size, used = json.loads(found)
    return size, used


def _peak(case: Case) -> tuple[int, int]:
    value = case.make(case.large)
    size = case.size_of(value)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = _resident("VmRSS")
    kept = result_or_error(case.call, value)
    used = _resident("VmHWM") - before
    del kept
    return size, used


def _resident(name: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
    assert line
    return int(line[1]) << 10


def bound(case: Case, size: int) -> int:
    """The most memory that the call may take."""
    return case.factor * size + FREE


# The child


def serve(cases: list[Case]) -> None:
    """Runs the calls that the parent names, so that it can count the steps of each."""
    inputs: list[Any] = []
    for line in sys.stdin:
        word, number = line.split()
        if word == "make":
            case = cases[int(number)]
            inputs = [case.make(size) for size in case.sizes()]
            gc.collect()
        else:
            result_or_error(case.call, inputs[int(number)])
        print("done", flush=True)


if __name__ == "__main__":
    from importlib import import_module

    serve(import_module(f"tests.scaling.{sys.argv[1]}").CASES)
