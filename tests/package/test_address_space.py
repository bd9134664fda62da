"""Too little memory gives an error of ours or `MemoryError`, never an abort.

Every case of the scaling test runs in a process of its own, a fork of
`python -m tests.package.test_address_space SUBJECT`, with ever more address space. To cover another
reader or writer, add a case to `tests/scaling`.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import compactwire as cw
from tests.scaling.harness import Case

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = ["cad", "gcf", "graph", "session"]
"""Not claims: files are checked in several threads, by libraries that end the process."""
UNBOUNDED = {"iter_compact"}
"""Calls that may still end the process: the iterator requests no memory for a chunk first."""
EXTRA_KIBIBYTES = [256 * 2**step for step in range(11)]
"""How much the address space may grow, in one attempt after the other."""


def cases_of(subject: str) -> list[Case]:
    found: list[Case] = import_module(f"tests.scaling.{subject}").CASES
    return found


def sweep(case: Case) -> None:
    import resource

    value = case.make(case.large)
    gc.collect()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    for extra in EXTRA_KIBIBYTES:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + (extra << 10)
        resource.setrlimit(resource.RLIMIT_AS, (limit, most))
        try:
            case.call(value)
        except (cw.CompactWireError, MemoryError):
            pass
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        gc.collect()


def ended(cases: list[Case]) -> dict[str, int]:
    """The cases whose process has ended otherwise than with status 0."""
    found = {}
    for case in cases:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                sweep(case)
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        if status:
            found[case.name] = status
    return found


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited the Linux way")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_too_little_memory_is_an_error(subject: str) -> None:
    # A process of one thread, which can be forked whatever the tests before have started.
    child = subprocess.run(
        [sys.executable, "-m", "tests.package.test_address_space", subject],
        cwd=ROOT,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "RUST_BACKTRACE": "0"},
    )
    assert child.stdout, child.stderr
    assert json.loads(child.stdout) == {}, child.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited the Linux way")
def test_an_abort_is_noticed() -> None:
    aborts = Case("aborts", lambda _: os.abort(), str, 1, 1)
    raises = Case("raises", lambda _: 1 / 0, str, 1, 1)
    works = Case("works", str, str, 1, 1)
    assert ended([aborts, raises, works]).keys() == {"aborts", "raises"}


def test_every_call_has_cases() -> None:
    named = {case.name for subject in SUBJECTS for case in cases_of(subject)}
    calls = {name.partition(",")[0].partition(":")[0] for name in named}
    assert calls >= {
        *("loads", "to_json", "iter_rows", "dumps", "from_json", "group_values", "dumps_grouped"),
        *("read_keyed", "KeyedSet", "StreamEncoder", "decode", "encode", "sessions", "streamed"),
        *("decode_gcb", "encode_gcb", "encode_json", "decode_json", "pack_root", "snapshot"),
        *("changed", "respond", "pickle", "decode_request", "encode_request", "deltas"),
        *("from_compact", "check", "keep", "repair", "canonical", "to_compact"),
        *("to_binary", "to_hybrid", "from_hybrid", "from_binary"),
    }


if __name__ == "__main__":
    print(json.dumps(ended([case for case in cases_of(sys.argv[1]) if case.name not in UNBOUNDED])))
