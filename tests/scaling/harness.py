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
from functools import lru_cache
from importlib import import_module
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
MARK = "getppid"
"""The function of the C library before which Valgrind writes a count, and starts a new one."""


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
    if sys.platform == "linux" and shutil.which("valgrind"):
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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/c"]
        child = subprocess.Popen(
            [*valgrind, f"--dump-before={MARK}", sys.executable, "-m", __name__, "steps", subject],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

        def count(case: int) -> list[float]:
            assert child.stdin
            assert child.stdout
            child.stdin.write(f"{case}\n")
            child.stdin.flush()
            answer = child.stdout.readline()
            assert answer == "done\n", f"{subject}, {case}: {answer!r}"
            dumps = sorted(folder.glob("c.*"), key=lambda path: int(path.suffix[1:]))
            # The first one counts everything before the calls.
            found = [_total(path) for path in dumps[1:]]
            assert len(found) == DOUBLINGS + 1
            for path in dumps:
                path.unlink()
            return found

        try:
            yield count
        finally:
            child.kill()
            child.communicate()


def _total(dump: Path) -> float:
    """The instructions that Valgrind counted since the dump before."""
    found = re.search(rb"^totals: (\d+)", dump.read_bytes(), re.MULTILINE)
    assert found, "callgrind has counted nothing"
    return float(found[1])


# Memory


def peaks(subject: str) -> list[tuple[Case, int, int]]:
    """Each case of a module of this package, with its `peak`.

    A process of its own forks the children: a fork of one that has run other tests copies the page
    tables of all their memory, and the child's collector then copies the memory itself.
    """
    child = subprocess.run(
        [sys.executable, "-m", __name__, "memory", subject],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        encoding="utf-8",
    )
    cases: list[Case] = import_module(f"tests.scaling.{subject}").CASES
    found = [json.loads(line) for line in child.stdout.splitlines()]
    return [(case, size, used) for case, (size, used) in zip(cases, found, strict=True)]


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


@lru_cache(maxsize=4)
def _inputs(make: Callable[[int], Any], sizes: tuple[int, ...]) -> list[Any]:
    """The inputs for these values of the parameter, which the cases of several calls share."""
    return [make(size) for size in sizes]


def serve(cases: list[Case]) -> None:
    """Calls the cases that the parent asks for, with a mark before and after each call."""
    for line in sys.stdin:
        case = cases[int(line)]
        inputs = _inputs(case.make, tuple(case.sizes()))
        # The first call of all takes more. It has its own input: some objects cache what they tell.
        result_or_error(case.call, case.make(case.size))
        gc.collect()
        os.getppid()
        for value in inputs:
            result_or_error(case.call, value)
            os.getppid()
        print("done", flush=True)


if __name__ == "__main__":
    what, subject = sys.argv[1:]
    cases = import_module(f"tests.scaling.{subject}").CASES
    if what == "memory":
        for case in cases:
            print(json.dumps(peak(case)), flush=True)
    else:
        serve(cases)
