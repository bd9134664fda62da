"""The first use of a function gives `MemoryError` or the right result if one allocation fails.

What is made when it is first needed, such as the name of an attribute or a class, is made in
forks of a process that has called nothing before (`python -m tests.package.test_first_uses
SUBJECT`): in each of them, another allocation of Python fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import compactwire as cw
from tests.package.test_little_memory import SCALING, cases_of, digest
from tests.scaling.harness import Case

testcapi = pytest.importorskip("_testcapi", reason="NOT RUN: this Python has no _testcapi")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT RUN: needs fork")

ROOT = Path(__file__).resolve().parents[2]
MOST = 60
"""How many allocations fail, one in each process: in most calls, all of those of the first use."""
NONE = 1 << 30
"""The number of an allocation that no call reaches."""


def run(case: Case, value: object, number: int) -> tuple[str, str]:
    """The error and a hash of the result of a call whose allocation `number` fails."""
    raised = result = None
    testcapi.set_nomemory(number, number + 1)
    try:
        result = case.call(value)
    except BaseException as error:
        raised = error
    finally:
        testcapi.remove_mem_hooks()
    return type(raised).__name__ if raised else "", digest(result)


def run_in_fork(case: Case, value: object, number: int) -> tuple[str, str]:
    with tempfile.TemporaryFile() as returned:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.write(returned.fileno(), json.dumps(run(case, value, number)).encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        returned.seek(0)
        error, result = json.loads(returned.read()) if status == 0 else (f"status {status}", "")
        return error, result


def is_wrong(error: str, result: str, expected: tuple[str, str]) -> bool:
    """Whether an outcome is neither that of a call with enough memory nor an error of memory.

    Functions of the standard library raise other errors, too, if an allocation fails.
    """
    if not error:
        return result != expected[1]
    ours = error.startswith("status") or error == "PanicException" or hasattr(cw.errors, error)
    return ours and error != expected[0]


def wrong(cases: list[Case]) -> dict[str, dict[str, int]]:
    """For each case, the wrong errors, and the first allocation that caused each."""
    found: dict[str, dict[str, int]] = {}
    for case in cases:
        value = case.make(case.size)
        expected = run_in_fork(case, value, NONE)
        if expected != run_in_fork(case, value, NONE):
            continue  # A key or a time is another one in each process.
        for number in range(MOST):
            error, result = run_in_fork(case, value, number)
            if is_wrong(error, result, expected):
                found.setdefault(case.name, {}).setdefault(error or "another result", number)
    return found


def chosen(subject: str) -> list[Case]:
    """A case of each function, and the cases that are refused."""
    calls: dict[str, Case] = {}
    for case in cases_of(subject):
        calls.setdefault(case.name.partition(",")[0].partition(":")[0], case)
    refused = [case for case in cases_of(subject) if "refused" in case.name]
    return list({case.name: case for case in [*calls.values(), *refused]}.values())


@pytest.mark.slow
@pytest.mark.parametrize("subject", SCALING)
def test_an_allocation_that_fails_is_an_error_of_memory(subject: str) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "tests.package.test_first_uses", subject],
        cwd=ROOT,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    assert child.stdout, child.stderr
    assert json.loads(child.stdout) == {}


if __name__ == "__main__":
    print(json.dumps(wrong(chosen(sys.argv[1]))))
