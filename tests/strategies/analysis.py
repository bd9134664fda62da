"""Inputs and helpers of the tests of the analysis."""

from __future__ import annotations

from typing import Any

from compactwire import analysis, gcf
from data.samples import load

PLATE = "C 50 30 5\nY 3 10\nT 1 10 15 0\nD 0 2\nY 3 10\nT 4 40 15 0\nD 3 5"
ANSWERS = [sample.text for sample in load() if sample.held_out and len(sample.text) > 500]
ROWS = [{"id": n, "name": f"part {n}", "price": n / 4, "open": n % 3 == 0} for n in range(60)]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def payload() -> gcf.Payload:
    symbols = [gcf.Symbol(f"pkg.f{n}", "function", 0.5, "lsp_resolved", 0) for n in range(9)]
    return gcf.Payload("t", 1, 2, "", symbols, [gcf.Edge("pkg.f1", "pkg.f2", "calls")])


def measured(value: Any, **options: Any) -> Any:
    frame = analysis.compare(value, seconds=0, **options)
    return frame.set_index("format") if frame["input"].nunique() == 1 else frame
