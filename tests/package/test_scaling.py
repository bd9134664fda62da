"""The cost of every reader and writer grows like its input, in steps and in memory.

To add a subject, add a module with `CASES` to `tests/scaling` and its name to `SUBJECTS`.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib import import_module

import pytest

from compactwire import gcf
from tests.scaling import harness
from tests.scaling.harness import STEEPEST, Case

SUBJECTS = ["cad", "claims", "columns", "compact", "gcf", "graph", "session", "shrink"]


def cases_of(subject: str) -> list[Case]:
    found: list[Case] = import_module(f"tests.scaling.{subject}").CASES
    return found


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_steps_grow_like_the_input(subject: str) -> None:
    most = STEEPEST[harness.counter()]
    found = harness.steep(subject, cases_of(subject))
    assert [(case.name, round(times, 1)) for case, times in found if times > most] == []


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read the Linux way")
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_memory_stays_within_the_stated_bound(subject: str) -> None:
    assert [
        f"{case.name}: {used >> 20} MiB for {size >> 10} KiB"
        for case, size, used in harness.peaks(subject)
        if used > harness.bound(case, size)
    ] == []


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read the Linux way")
def test_memory_of_converted_objects_stays_within_the_stated_bound() -> None:
    # In a process that ran other tests, the smaller call finds more of its memory among what
    # those have freed.
    child = subprocess.run(
        [sys.executable, "-m", "tests.package.test_scaling"],
        cwd=harness.ROOT,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    kept = 64 + sys.getsizeof([1]) + 16  # The collector keeps 16 bytes before each list.
    text = 16 * len("[1], ")
    assert 64 < float(child.stdout) <= kept + text


def memory_of_a_converted_object() -> float:
    """The slope: millions of objects would take more than what any call may take."""
    result = [1]
    case = Case(
        "dumps, converted objects",
        lambda objects: gcf.dumps(objects, default=lambda _: result.copy()),
        lambda count: [object()] * count,
        size=1,
        large=300_000,
        size_of=len,
    )
    count, used = harness.peak(case)
    more, used_for_more = harness.peak(replace(case, large=2 * count))
    return (used_for_more - used) / (more - count)


def test_quadratic_steps_would_be_noticed() -> None:
    def quadratic(size: int) -> float:
        return float(size * size + 1_000_000)

    def linear(size: int) -> float:
        return float(100 * size + 1_000_000)

    case = Case("", str, "x".__mul__, 10_000, 1)
    for cost, expected in ((quadratic, 4.0), (linear, 1.0)):
        steps = [cost(size) for size in case.sizes()]
        assert harness.steepness(case, steps, "instructions") == expected


@pytest.mark.slow
def test_a_quadratic_call_is_noticed() -> None:
    most = STEEPEST[harness.counter()]
    found = {case.name: times > most for case, times in harness.steep("checks", cases_of("checks"))}
    assert found == {"linear": False, "quadratic": True}


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read the Linux way")
def test_large_memory_would_be_noticed() -> None:
    case = Case("", lambda size: bytearray(b"x" * (200 << 20)), str, 1, 1)
    size, used = harness.peak(case)
    assert used > harness.bound(case, size)


def test_instructions_are_counted() -> None:
    """Never fails: the summary of a run shows which measure the other tests have used."""
    if harness.counter() != "instructions":
        pytest.skip("NOT RUN: no valgrind to count instructions; processor time was compared")


if __name__ == "__main__":
    print(memory_of_a_converted_object())
