"""Large documents: time and memory grow with the size of the input."""

from __future__ import annotations

from typing import Any

import pytest

from compactwire import cad
from tests.strategies.documents import SKETCH, survives
from tests.strategies.growth import assert_linear

LONG_CHAIN = 1_000_000


def kept(count: int) -> str:
    nodes = {str(i): {"op": {"type": "Torus", "i": i}} for i in range(count)}
    text = cad.to_compact({"nodes": nodes}, "0.2", unknown="keep")
    assert survives({"nodes": nodes}, cad.from_compact(text))
    return text


@pytest.mark.slow
def test_kept_values_take_linear_time() -> None:
    assert_linear(cad.from_compact, kept, 3000)
    assert_linear(kept, int, 3000)


@pytest.mark.slow
def test_errors_in_a_sketch_take_linear_time() -> None:
    def broken(count: int) -> str:
        return SKETCH + "C 1 1 1\n" * count + "END\n" + (SKETCH + "C 1 1 1\n") * count

    assert len(cad.check(broken(1000), limit=10**6)) == 2000
    assert_linear(lambda text: cad.check(text, limit=10**6), broken, 5000)


@pytest.mark.slow
def test_a_chain_of_a_million_nodes_round_trips() -> None:
    text = "C 1 1 1\n" + "\n".join(f"T {i} 0 0 1" for i in range(LONG_CHAIN - 1))
    document = cad.from_compact(text)
    assert len(document["nodes"]) == LONG_CHAIN
    assert cad.to_compact(document) == text
    second = cad.to_compact(document, "0.2")
    data = cad.to_binary(document)
    document.clear()
    assert cad.to_binary(cad.from_compact(second)) == data
    assert cad.to_compact(cad.from_binary(data)) == text


@pytest.mark.slow
@pytest.mark.parametrize("form", ["backward chain", "wide fan", "ring"])
def test_deep_and_wide_documents_take_linear_time(form: str) -> None:
    def make(count: int) -> Any:
        child = {
            "backward chain": lambda i: i + 1,
            "wide fan": lambda _: count,
            "ring": lambda i: (i + 1) % count,
        }[form]
        nodes: dict[str, Any] = {
            str(i): {"op": {"type": "Shell", "child": child(i), "thickness": 1}}
            for i in range(count)
        }
        if form != "ring":
            nodes[str(count)] = {"op": {"type": "Empty"}}
        return {"nodes": nodes}

    def write(document: Any) -> None:
        if form == "ring":
            with pytest.raises(cad.DocumentError, match="cycle 0 -> 1 -> 2") as caught:
                cad.to_binary(document)
            assert len(str(caught.value)) < 2000
        else:
            cad.to_binary(document)

    assert_linear(write, make, 10_000)


def test_a_backward_chain_is_written_from_its_end() -> None:
    count = 200_000
    nodes: dict[str, Any] = {
        str(i): {"op": {"type": "Shell", "child": i + 1, "thickness": 1}} for i in range(count)
    }
    nodes[str(count)] = {"op": {"type": "Empty"}}
    document = {"nodes": nodes, "roots": [{"root": 0, "material": "default"}]}
    text = cad.to_compact(document)
    assert text.startswith("C 0 0 0\nSH 0 1\nSH 1 1\n")
