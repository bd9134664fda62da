"""Too little memory gives `MemoryError` or the right result: no other error, no abort, no panic.

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
import hashlib
import json
import os
import pickle
import platform
import re
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


def run_limited(case: Case, value: object, limit: int) -> tuple[list[int], str, str]:
    """Calls the case in this process.

    Returns the maxima of the memory in use, the name of the error, and a hash of the result.
    """
    memory = ctypes.CDLL(None)
    memory.limited_memory_start.argtypes = [ctypes.c_long]
    memory.limited_memory_maximum.restype = ctypes.c_long
    memory.limited_memory_of_python()
    maximum, stop = memory.limited_memory_maximum, memory.limited_memory_stop
    raised = result = None
    memory.limited_memory_start(limit)
    try:
        result = case.call(value)
    except (cw.CompactWireError, MemoryError) as error:
        # The name of its class takes memory, of which there may be none yet.
        raised = error
    except OSError as error:
        # Some cases write files of their own.
        if error.errno != errno.ENOMEM:
            raise
        raised = MemoryError()
    finally:
        count = stop()
    maxima = [maximum(index) for index in range(count)]
    return maxima, type(raised).__name__ if raised else "", digest(result)


def digest(result: object) -> str:
    """A hash of a result: of its pickle, which has each long name once; else of its `repr`."""
    try:
        shown = pickle.dumps(result)
    except (pickle.PicklingError, TypeError):
        # The address of an object is another one in each process, but may be the same in two.
        shown = re.sub(" at 0x[0-9a-fA-F]+", "", repr(result)).encode(errors="surrogatepass")
    return hashlib.sha256(shown).hexdigest()


def call_in_fork(case: Case, value: object, limit: int) -> tuple[list[int], str, str, str]:
    """What `run_limited` returns, and the output if the process did not end well."""
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
                    os.write(2, json.dumps(([], "MemoryError", "")).encode())
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
        return ([], "", "", f"status {status}: {output}") if status else (*json.loads(output), "")


def problem(outcome: tuple[list[int], str, str, str], raised: str, result: str) -> str:
    """What is wrong with a call that had a limit, if the one without had this error or result."""
    _, error, found, said = outcome
    if not said and error not in ("MemoryError", raised):
        said = f"{error or 'no error'} in place of {raised or 'a result'}"
    if not said and not error and result and found != result:
        said = "another result"
    return said


def thinned(items: list[int], most: int) -> list[int]:
    if len(items) <= most:
        return items
    return [items[at * (len(items) - 1) // (most - 1)] for at in range(most)]


def ended(cases: list[Case], *, may_raise: bool) -> dict[str, str]:
    """The cases that ended with neither the result, or error, without a limit, nor `MemoryError`.

    Unless `may_raise`, also those that raise without a limit.
    """
    found = {}
    for case in cases:
        with suppress(cw.CompactWireError):
            case.call(case.make(case.size))  # The first use of a class or module takes more.
        value = case.make(case.large)
        gc.collect()
        maxima, raised, result, said = call_in_fork(case, value, UNLIMITED)
        # A key or an address is another one each time.
        is_same = call_in_fork(case, value, UNLIMITED)[2] == result
        if raised and not may_raise:
            said = f"{raised} without a limit"
        large = thinned([most for most in maxima if most > 0], LARGE_LIMITS)
        small = thinned([-most for most in maxima if most < 0], SMALL_LIMITS)
        for most in large + small:
            said = said or problem(
                call_in_fork(case, value, most - 1), raised, result if is_same else ""
            )
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
    if subject == "many rows":
        pytest.importorskip("pyarrow", reason="NOT RUN: pyarrow is not installed")
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


def blame_the_input(size: int) -> object:
    try:
        return take(size)
    except MemoryError:
        raise cw.CompactWireError("the input is broken") from None


def cut_without_memory(size: int) -> object:
    try:
        return take(size)
    except MemoryError:
        return take(1)


def refuse(size: int) -> None:
    if size > 1:
        raise cw.CompactWireError("the case is broken")


CHECKS = [
    Case("aborts", lambda size: os.abort() if size > 1 else None, int, 1, 2),
    Case("aborts without memory", abort_without_memory, int, 1, 1 << 20),
    Case("panics without memory", panic_without_memory, int, 1, 1 << 20),
    Case("raises with enough memory", refuse, int, 1, 2),
    Case("blames the input without memory", blame_the_input, int, 1, 1 << 20),
    Case("cuts the result without memory", cut_without_memory, int, 1, 1 << 20),
    Case("works", take, int, 1, 1 << 20),
]


@limited
def test_whatever_is_neither_the_result_nor_an_error_of_memory_is_noticed(tmp_path: Path) -> None:
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
