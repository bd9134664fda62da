"""Too little memory gives an error of ours or `MemoryError`, never an abort.

`python -m tests.package.test_address_space SUBJECT` makes the input of every case of the scaling
test and calls it in forks of the process, each with more address space than the one before. A
request of at most 64 KiB may end the process: the standard library has no other answer for most of
them. To cover another reader or writer, add a case to `tests/scaling`.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import pytest

import compactwire as cw
from tests.scaling.harness import Case

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = ["cad", "compact", "gcf", "graph", "session", "shrink"]
"""Without claims: they are checked in several threads, by libraries that abort the process."""
SMALL = 64 << 10
"""The largest request, in bytes, for which the process may end."""
EXTRA_KIBIBYTES = [256 * 2**step for step in range(11)]
"""How much the address space may grow, in each of the attempts."""


LARGE = [
    Case(f"{read.__name__}, a large {format}", read, make, 1, 40_000_000)
    for format in ("zstd", "verbose")
    for read, make in (
        (cw.decode, lambda size, format=format: cw.encode("a" * size, format=format)),
        (
            cw.decode_tool_call,
            lambda size, format=format: cw.encode_tool_call("t", [], "a" * size, format=format),
        ),
    )
]
"""Results that do not fit, although all before them did."""


def cases_of(subject: str) -> list[Case]:
    found: list[Case] = import_module(f"tests.scaling.{subject}").CASES
    return found + (LARGE if subject == "compact" else [])


def limit_address_space(extra: int) -> None:
    """Lets the address space of this process grow by `extra` KiB."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + (extra << 10)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def call_in_fork(case: Case, value: object, extra: int) -> str:
    """The error output of a process that did not end with status 0; empty for other processes."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 2)
            status = 1
            try:
                limit_address_space(extra)
                case.call(value)
                status = 0
            except (cw.CompactWireError, MemoryError):
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        return f"status {status}: {said.read().decode(errors='replace')}" if status else ""


def ended(cases: list[Case]) -> dict[str, str]:
    """The last error output of cases that were aborted, except for a small allocation."""
    found = {}
    for case in cases:
        value = case.make(case.large)
        gc.collect()
        for extra in EXTRA_KIBIBYTES:
            said = call_in_fork(case, value, extra)
            request = re.search(r"memory allocation of (\d+) bytes failed", said)
            if said and (request is None or int(request[1]) > SMALL):
                found[case.name] = said
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
        *("encode_tool_call", "decode_tool_call", "shrink", "expand"),
    }


if __name__ == "__main__":
    print(json.dumps(ended(cases_of(sys.argv[1]))))
