"""Large documents: time and memory grow with the size of the input."""

from __future__ import annotations

import time
from typing import Any

import pytest

from compactwire import cad
from tests.strategies.documents import SKETCH, survives

LONG_CHAIN = 1_000_000


def test_many_kept_values_take_no_longer_than_few() -> None:
    nodes = {str(i): {"op": {"type": "Torus", "i": i}} for i in range(50_000)}
    text = timed(lambda: cad.to_compact({"nodes": nodes}, "0.2", unknown="keep"), 20)
    again = timed(lambda: cad.from_compact(text), 20)
    assert survives({"nodes": nodes}, again)


def test_many_mistakes_in_a_sketch_take_no_longer_than_few() -> None:
    text = SKETCH + "C 1 1 1\n" * 100_000 + "END\n" + (SKETCH + "C 1 1 1\n") * 100_000
    assert len(timed(lambda: cad.check(text, limit=10**6), 60)) == 200_000


def timed(call: Any, seconds: float) -> Any:
    start = time.perf_counter()
    result = call()
    assert time.perf_counter() - start < seconds
    return result


def test_a_chain_of_a_million_nodes_converts_in_both_directions() -> None:
    text = "C 1 1 1\n" + "\n".join(f"T {i} 0 0 1" for i in range(LONG_CHAIN - 1))
    document = timed(lambda: cad.from_compact(text), 60)
    assert len(document["nodes"]) == LONG_CHAIN
    assert timed(lambda: cad.to_compact(document), 60) == text
    second = timed(lambda: cad.to_compact(document, "0.2"), 60)
    data = timed(lambda: cad.to_binary(document), 60)
    document.clear()
    assert timed(lambda: cad.to_binary(cad.from_compact(second)), 90) == data
    assert timed(lambda: cad.to_compact(cad.from_binary(data)), 90) == text


def test_a_backward_chain_and_a_wide_fan_are_no_slower() -> None:
    count = 200_000
    nodes: dict[str, Any] = {
        str(i): {"op": {"type": "Shell", "child": i + 1, "thickness": 1}} for i in range(count)
    }
    nodes[str(count)] = {"op": {"type": "Empty"}}
    document = {"nodes": nodes, "roots": [{"root": 0, "material": "default"}]}
    text = timed(lambda: cad.to_compact(document), 30)
    assert text.startswith("C 0 0 0\nSH 0 1\nSH 1 1\n")
    fan = {"0": {"op": {"type": "Empty"}}} | {
        str(i): {"op": {"type": "Shell", "child": 0, "thickness": 1}} for i in range(count, 1, -1)
    }
    timed(lambda: cad.to_binary({"nodes": fan}), 30)
    ring = {
        str(i): {"op": {"type": "Shell", "child": (i + 1) % count, "thickness": 1}}
        for i in range(count)
    }
    with pytest.raises(cad.DocumentError, match="cycle 0 -> 1 -> 2") as caught:
        timed(lambda: cad.to_compact({"nodes": ring}), 30)
    assert len(str(caught.value)) < 2000
