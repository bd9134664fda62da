"""A limit of address space gives `MemoryError`, never an abort, in threads as well.

With less than 64 MiB of it, the GNU C library has no heap for a new thread, and takes a page for
each request. Each call runs in forks of a process of its own, each with another limit
(`python -m tests.package.test_reserve NAME`).
"""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import compactwire as cw
from compactwire import gcf
from tests.scaling import claims

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
FILES = claims.many_artifacts(600)


@functools.cache
def text() -> str:
    return gcf.dumps([{f"c{n}": n for n in range(50_000)}] * 2)


def read() -> None:
    gcf.loads(text())


def in_a_thread() -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            read()
        except MemoryError:
            pass
        except BaseException as error:
            failed.append(error)

    threading.stack_size(MIB)
    # Python raises `RuntimeError` if it cannot start a thread.
    with suppress(RuntimeError):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    for error in failed:
        raise error


def verify() -> None:
    with suppress(cw.CompactWireError, OSError):
        claims.verify(FILES)


def with_threads_of_its_own() -> None:
    """The first call, without a limit, leaves stacks for the threads of the second one."""
    import resource  # Not on Windows.

    left = resource.getrlimit(resource.RLIMIT_AS)[0] - used()
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    verify()
    limit(max(left, 0))
    verify()


def used() -> int:
    import resource  # Not on Windows.

    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def limit(left: int) -> None:
    import resource  # Not on Windows.

    resource.setrlimit(resource.RLIMIT_AS, (used() + left, resource.RLIM_INFINITY))


CASES: dict[str, tuple[Callable[[], object], Callable[[], None], list[int]]] = {
    "in a thread": (read, in_a_thread, [MIB * n for n in range(2, 64, 4)]),
    "with threads": (verify, with_threads_of_its_own, [4096 * (n % 4) for n in range(40)]),
}
"""The first use of a module, which takes more memory, the call, and the limits."""


def call_with(call: Callable[[], None], left: int) -> int:
    """The status of a fork that makes the call while so many bytes of address space are left."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            limit(left)
            with suppress(MemoryError):
                call()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or sys.platform != "linux",
    reason="NOT RUN: needs the GNU C library",
)
@pytest.mark.parametrize("name", CASES)
def test_little_address_space_aborts_no_thread(name: str) -> None:
    command = [sys.executable, "-m", "tests.package.test_reserve", name]
    child = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "RUST_BACKTRACE": "0"},
    )
    assert (child.returncode, child.stdout.strip()) == (0, "{}"), child.stderr[-500:]


if __name__ == "__main__":
    first, called, lefts = CASES[sys.argv[1]]
    # No thread may end here: it would leave its heap to others.
    os.environ["COMPACTWIRE_THREADS"] = "1"
    first()
    os.environ["COMPACTWIRE_THREADS"] = "4"
    statuses = [call_with(called, left) for left in lefts]
    print({left: status for left, status in zip(lefts, statuses, strict=True) if status})
