"""A limit of address space gives `MemoryError`, never an abort, in threads as well.

With less than 64 MiB of it, the GNU C library has no heap for a new thread, and takes a page for
each request; it does so in the main thread, too, if the process had threads and ran out of memory.
Each call runs in forks of a process of its own, each with another limit
(`python -m tests.package.test_reserve NAME`).
"""

from __future__ import annotations

import functools
import json
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
from compactwire import cad, gcf
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


@functools.cache
def document() -> dict[str, object]:
    sphere = {"type": "Sphere", "radius": 5, "segments": 0}
    nodes = {str(n): {"op": sphere, "id": n, "name": f"n{n}"} for n in range(6000)}
    return {"nodes": nodes, "roots": []}


@functools.cache
def document_text() -> str:
    return json.dumps(document())


@functools.cache
def rows() -> list[dict[str, object]]:
    return [{"id": n, "a": f"x{n}"} for n in range(5000)]


CALLS: dict[str, Callable[[], object]] = {
    "cad.to_binary": lambda: cad.to_binary(document()),
    "cad.loads": lambda: cad.loads(document_text()),
    "gcf.KeyedSet": lambda: gcf.KeyedSet(rows(), key="id"),
    "gcf.loads": read,
}


def after_a_thread() -> None:
    # The memory of an object of this size is the C library's.
    thread = threading.Thread(target=lambda: bytearray(1000))
    thread.start()
    thread.join()
    # Inputs, not calls: these would leave memory to the next ones.
    document_text(), rows(), text()


def in_memory_that_ran_out(call: Callable[[], object]) -> None:
    import resource  # Not on Windows.

    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    limit(0)
    held = []
    for size in (1 << 22, 1 << 16, 2000):
        with suppress(MemoryError):
            while True:
                held.append(bytes(size))
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    call()


def used() -> int:
    import resource  # Not on Windows.

    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def limit(left: int) -> None:
    import resource  # Not on Windows.

    resource.setrlimit(resource.RLIMIT_AS, (used() + left, resource.RLIM_INFINITY))


CASES: dict[str, tuple[Callable[[], object], Callable[[], None], list[int]]] = {
    "in a thread": (read, in_a_thread, [MIB * n for n in range(2, 64, 4)]),
    "with threads": (verify, with_threads_of_its_own, [4096 * (n % 4) for n in range(40)]),
    **{
        f"after memory ran out: {name}": (
            after_a_thread,
            functools.partial(in_memory_that_ran_out, call),
            [MIB * n for n in range(1, 41)],
        )
        for name, call in CALLS.items()
    },
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
