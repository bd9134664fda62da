"""The systems that `python -m benches SYSTEM` measures, and measurements other than of speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from compactwire.analysis import count_tokens

from . import cad, cad_tokens, claims, gcf, gcf_stream, graph, shrink, speed
from .measure import Effort

ROWS, FEW_ROWS = 10_000_000, 100_000

Cases = Callable[[], Iterator[speed.Case]]

# By the word of the command line: the heading, all cases, and the cases for `--quick`.
SYSTEMS: dict[str, tuple[str, Cases, Cases]] = {
    "messages": ("From Python", speed.cases, speed.cases),
    "gcf": ("GCF", gcf.cases, lambda: gcf.cases(10)),
    "shrink": ("Shrink", shrink.cases, shrink.cases),
    "graph": ("Graphs", graph.cases, graph.cases),
    "cad": ("CAD", cad.cases, lambda: cad.cases(2_000)),
    "claims": ("Claims", claims.cases, claims.cases),
}


def measure(
    name: str, effort: Effort, *, quick: bool, rows: speed.Rows = speed.EVERY
) -> list[dict[str, object]]:
    """Measure the cases of a system, ours and the peer's in turn."""
    _, everything, little = SYSTEMS[name]
    return speed.measure_all((little if quick else everything)(), effort, rows)


def tokens() -> dict[str, Any]:
    """Count tokens: GCF against JSON and TOON, and the forms of real CAD documents."""
    documents = cad_tokens.documents(cad_tokens.VECTORS / "cad" / "real")
    return {
        "gcf": gcf.tokens(),
        "shrink": shrink.tokens(),
        "cad": cad_tokens.measure(documents, count_tokens) if documents else [],
    }


def stream(*, quick: bool) -> list[dict[str, Any]]:
    """Measure rows that are written to and read from a stream."""
    return gcf_stream.record(FEW_ROWS if quick else ROWS)
