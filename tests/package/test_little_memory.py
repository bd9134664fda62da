"""Too little memory gives an error of ours or `MemoryError`, never an abort or a panic.

The tests run `python -m tests.package.test_little_memory SUBJECT` with `limited_memory.c` as the
allocator. That process calls every case of the subject in forks of itself. The first call has no
limit, and records the requests that bring the memory in use to a new maximum. Each of the others
has a limit at which one of these requests is the first to fail.

To cover another reader or writer, add a case to `tests/scaling` or to `large_values.py`.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

import compactwire as cw
from tests.package import large_values
from tests.scaling.harness import Case

ROOT = Path(__file__).resolve().parents[2]
SCALING = ["cad", "claims", "columns", "compact", "gcf", "graph", "session", "shrink"]
SUBJECTS = [*SCALING, *large_values.CASES]
UNLIMITED = 1 << 62
LARGE_LIMITS, SMALL_LIMITS = 24, 12
"""How many limits of each kind are tried; more maxima than that are thinned out evenly."""

limited = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not shutil.which("cc"),
    reason="NOT RUN: limited memory needs a C compiler and the GNU C library",
)


def cases_of(subject: str) -> list[Case]:
    if subject == "checks":
        return CHECKS
    if subject in large_values.CASES:
        return large_values.CASES[subject]
    cases: list[Case] = import_module(f"tests.scaling.{subject}").CASES
    return cases


def run_limited(case: Case, value: object, limit: int) -> tuple[list[int], str]:
    """Calls the case in this process; returns the maxima of the memory in use, and the error."""
    memory = ctypes.CDLL(None)
    memory.limited_memory_start.argtypes = [ctypes.c_long]
    memory.limited_memory_maximum.restype = ctypes.c_long
    memory.limited_memory_of_python()
    maximum, stop = memory.limited_memory_maximum, memory.limited_memory_stop
    raised = None
    memory.limited_memory_start(limit)
    try:
        case.call(value)
    except (cw.CompactWireError, MemoryError) as error:
        # The name of its class takes memory, of which there may be none yet.
        raised = error
    except OSError as error:
        # Some cases write files of their own.
        if error.errno != errno.ENOMEM:
            raise
        raised = error
    finally:
        count = stop()
    return [maximum(index) for index in range(count)], type(raised).__name__ if raised else ""


def call_in_fork(case: Case, value: object, limit: int) -> tuple[list[int], str, str]:
    """The maxima, the error, and the output if the process did not end well."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            status = 1
            try:
                os.write(2, json.dumps(run_limited(case, value, limit)).encode())
                status = 0
            except SystemError as error:
                # CPython 3.11 says this if it has no memory for the frame of a Python function.
                # For a Rust function that returned no error, it says "returned NULL without ...".
                if str(error) == "error return without exception set":
                    os.write(2, json.dumps(([], "MemoryError")).encode())
                    status = 0
                else:
                    traceback.print_exc(limit=-1)
            except BaseException:
                traceback.print_exc(limit=-1)
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        output = said.read().decode(errors="replace")
        return ([], "", f"status {status}: {output}") if status else (*json.loads(output), "")


def thinned(items: list[int], most: int) -> list[int]:
    if len(items) <= most:
        return items
    return [items[at * (len(items) - 1) // (most - 1)] for at in range(most)]


def ended(cases: list[Case], *, may_raise: bool) -> dict[str, str]:
    """The output of cases that ended with neither a result, nor our error, nor `MemoryError`.

    Unless `may_raise`, also of cases that raise without a limit.
    """
    found = {}
    for case in cases:
        with suppress(cw.CompactWireError):
            case.call(case.make(case.size))  # The first use of a class or module takes more.
        value = case.make(case.large)
        gc.collect()
        maxima, raised, said = call_in_fork(case, value, UNLIMITED)
        if raised and not may_raise:
            said = f"{raised} without a limit"
        large = thinned([most for most in maxima if most > 0], LARGE_LIMITS)
        small = thinned([-most for most in maxima if most < 0], SMALL_LIMITS)
        for most in large + small:
            said = said or call_in_fork(case, value, most - 1)[2]
        if said:
            found[case.name] = said
    return found


def run_subject(subject: str, folder: Path) -> dict[str, str]:
    """Runs the cases in a process with the limited allocator, which has no other thread."""
    library = folder / "limited_memory.so"
    source = Path(__file__).with_name("limited_memory.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    child = subprocess.run(
        [sys.executable, "-m", "tests.package.test_little_memory", subject],
        cwd=ROOT,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
        env={
            **os.environ,
            "LD_PRELOAD": str(library),
            "PYTHONMALLOC": "malloc",
            "RUST_BACKTRACE": "0",
        },
    )
    assert child.stdout, child.stderr
    found: dict[str, str] = json.loads(child.stdout)
    return found


@limited
@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_too_little_memory_is_an_error(subject: str, tmp_path: Path) -> None:
    assert run_subject(subject, tmp_path) == {}


def take(size: int) -> object:
    return bytearray(size)


def abort_without_memory(size: int) -> None:
    try:
        take(size)
    except MemoryError:
        os.abort()


def panic_without_memory(size: int) -> None:
    try:
        take(size)
    except MemoryError:
        raise SystemExit from None


def refuse(size: int) -> None:
    if size > 1:
        raise cw.CompactWireError("the case is broken")


CHECKS = [
    Case("aborts", lambda size: os.abort() if size > 1 else None, int, 1, 2),
    Case("aborts without memory", abort_without_memory, int, 1, 1 << 20),
    Case("panics without memory", panic_without_memory, int, 1, 1 << 20),
    Case("raises with enough memory", refuse, int, 1, 2),
    Case("works", take, int, 1, 1 << 20),
]


@limited
def test_an_abort_a_panic_and_a_needless_error_are_noticed(tmp_path: Path) -> None:
    assert run_subject("checks", tmp_path).keys() == {case.name for case in CHECKS[:-1]}


def test_every_call_has_cases() -> None:
    named = {case.name for subject in SCALING for case in cases_of(subject)}
    calls = {name.partition(",")[0].partition(":")[0] for name in named}
    assert calls >= {
        *("loads", "to_json", "iter_rows", "dumps", "from_json", "group_values", "dumps_grouped"),
        *("read_keyed", "KeyedSet", "StreamEncoder", "decode", "encode", "sessions", "streamed"),
        *("decode_gcb", "encode_gcb", "encode_json", "decode_json", "pack_root", "snapshot"),
        *("changed", "respond", "pickle", "decode_request", "encode_request", "deltas"),
        *("from_compact", "check", "keep", "repair", "canonical", "to_compact"),
        *("to_binary", "to_hybrid", "from_hybrid", "from_binary"),
        *("encode_tool_call", "decode_tool_call", "shrink", "expand"),
    }


if __name__ == "__main__":
    subject = sys.argv[1]
    # Some inputs of the scaling tests are made to be refused.
    print(json.dumps(ended(cases_of(subject), may_raise=subject in SCALING)))
