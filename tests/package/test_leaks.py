"""No public function keeps memory or objects of its calls, and cycles are collected.

The calls run in one process of their own (`python -m tests.package.test_leaks`), so that other
tests do not allocate meanwhile.
"""

from __future__ import annotations

import ctypes
import gc
import inspect
import json
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import arrow, cad, gcf
from tests.package.calls import ALL, ARROW, CALLS

ROOT = Path(__file__).resolve().parents[2]
WARM_UP, REPEATS, MOST_ATTEMPTS = 30, 100, 15
MOST_BLOCKS = REPEATS - 10
"""The interpreter's free lists still change; a leak is at least one block per call."""
MOST_BYTES = REPEATS * 24
"""The smallest allocation takes 32 bytes."""


class Memory(ctypes.Structure):
    """The result of glibc's `mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks"),
            *("uordblks", "fordblks", "keepcost"),
        )
    ]


def allocated_bytes() -> int:
    """The bytes that are allocated outside of Python's own pools; 0 if they cannot be counted."""
    try:
        function = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return 0
    function.restype = Memory
    memory = function()
    return int(memory.uordblks + memory.hblkhd)


def run(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


def growth(call: Callable[[], object]) -> tuple[int, int]:
    """The least blocks and bytes that remain after `REPEATS` calls."""
    run(call, WARM_UP)
    least = (sys.maxsize, sys.maxsize)
    # Tables, free lists and threads' arenas grow now and then; a leak grows in every attempt.
    for attempt in range(MOST_ATTEMPTS):
        gc.collect()
        blocks, size = sys.getallocatedblocks(), allocated_bytes()
        run(call, REPEATS)
        gc.collect()
        least = (
            min(least[0], sys.getallocatedblocks() - blocks),
            min(least[1], allocated_bytes() - size),
        )
        if attempt >= 2 and not is_leak(least):
            break
    return least


def is_leak(grown: tuple[int, int]) -> bool:
    return grown[0] > MOST_BLOCKS or grown[1] > MOST_BYTES


def public_names(module: Any) -> set[str]:
    found = {name: getattr(module, name) for name in module.__all__}
    return {
        name
        for name, value in found.items()
        if callable(value) and not (inspect.isclass(value) and issubclass(value, BaseException))
    }


MODULES = {**CALLS, **({arrow: ARROW} if ARROW else {})}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_function_is_called(module: Any) -> None:
    assert public_names(module) == set(MODULES[module])


@pytest.mark.parametrize("name", ALL)
def test_only_what_is_refused_raises(name: str) -> None:
    ALL[name]()


@pytest.mark.slow
def test_no_public_function_keeps_memory() -> None:
    child = subprocess.run(
        [sys.executable, "-m", "tests.package.test_leaks"],
        cwd=ROOT,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert child.returncode == 0, child.stderr
    assert json.loads(child.stdout) == {}


def test_a_leak_of_objects_or_bytes_is_noticed() -> None:
    kept: list[object] = []
    # Objects of earlier tests may be freed during an attempt, which would hide a leak.
    assert any(is_leak(growth(lambda: kept.append(object()))) for _ in range(5))
    if allocated_bytes():
        assert any(is_leak(growth(lambda: kept.append(bytes(2000)))) for _ in range(5))


class Node:
    """An object that a cycle can go through."""

    held: object


def read_in_cycle(node: Node) -> object:
    def read(_: int) -> str:
        assert node
        return gcf.dumps([{"a": 1}])

    source = Node()
    source.read = read  # type: ignore[attr-defined]
    return gcf.iter_rows(source)  # type: ignore[arg-type]


def call_in_cycle(node: Node) -> object:
    call = cw.ToolCall("t", {"a": 1})
    arguments: Any = call.arguments
    arguments["node"] = node
    return call


CYCLES: dict[str, Callable[[Node], object]] = {
    "graph stream": lambda node: gcf.GraphStreamEncoder(lambda _: node),
    "row stream": lambda node: gcf.StreamEncoder(lambda _: node),
    "row iterator": read_in_cycle,
    "cad iterator": lambda node: cad.iter_compact(b"" for _ in iter(lambda: node, None)),
    "tool call": call_in_cycle,
}


@pytest.mark.parametrize("make", CYCLES.values(), ids=CYCLES)
def test_a_cycle_is_collected(make: Callable[[Node], object]) -> None:
    node = Node()
    node.held = make(node)
    gone = weakref.ref(node)
    del node
    gc.collect()
    assert gone() is None


if __name__ == "__main__":
    leaks = {name: grown for name, call in ALL.items() if is_leak(grown := growth(call))}
    print(json.dumps(leaks))
