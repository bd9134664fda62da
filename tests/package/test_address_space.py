"""Too little memory gives an error of ours or `MemoryError`, never an abort.

Every case of the scaling test runs in a process of its own
(`python -m tests.package.test_address_space SUBJECT NUMBER`) with ever more address space. To cover
another reader or writer, add a case to `tests/scaling`.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import compactwire as cw
from tests.scaling.harness import Case

ROOT = Path(__file__).resolve().parents[2]
SUBJECTS = ["graph", "session"]
COVERED = ("decode", "decode_gcb", "decode_request", "encode_json", "sessions")
"""The calls that `docs/security.md` promises this of; others may still end the process."""
EXCEPTED = {f"decode_request, {name}" for name in ("tools", "prompts", "unknown references")}
"""Requests of tens of thousands of frames may end the process, too."""
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


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited the Linux way")
@pytest.mark.parametrize("subject", SUBJECTS)
def test_too_little_memory_is_an_error(subject: str) -> None:
    aborted = {}
    for number, case in enumerate(cases_of(subject)):
        if case.name.partition(",")[0] not in COVERED or case.name in EXCEPTED:
            continue
        child = subprocess.run(
            [sys.executable, "-m", "tests.package.test_address_space", subject, str(number)],
            cwd=ROOT,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
            timeout=100,
        )
        if child.returncode:
            aborted[case.name] = f"{child.returncode}: {child.stderr[-200:]}"
    assert aborted == {}


def test_every_covered_call_has_cases() -> None:
    names = [case.name for subject in SUBJECTS for case in cases_of(subject)]
    assert {name.partition(",")[0] for name in names} >= set(COVERED)
    assert set(names) >= EXCEPTED


if __name__ == "__main__":
    sweep(cases_of(sys.argv[1])[int(sys.argv[2])])
