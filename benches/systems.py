"""The other systems, each measured by the module that is also a command of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from compactwire.analysis import count_tokens

from . import cad, cad_tokens, claims, gcf, gcf_stream, graph
from .measure import Effort, compare
from .speed import Case, Row

ROWS, FEW_ROWS = 10_000_000, 100_000

# By the heading on the page: all cases, and the cases when it must be quick.
SYSTEMS: dict[str, tuple[Callable[[], Iterator[Case]], Callable[[], Iterator[Case]]]] = {
    "GCF": (gcf.cases, lambda: gcf.cases(10)),
    "Graphs": (graph.cases, graph.cases),
    "CAD": (cad.cases, lambda: cad.cases(2_000)),
    "Claims": (claims.cases, claims.cases),
}


def speed(effort: Effort, *, quick: bool) -> dict[str, list[dict[str, object]]]:
    """Measure every case, ours and the peer in turn."""
    found: dict[str, list[dict[str, object]]] = {}
    for name, (everything, little) in SYSTEMS.items():
        rows = found.setdefault(name, [])
        for case in (little if quick else everything)():
            rows.append(Row(case, *compare([case.ours, case.theirs], effort)).record())
    return found


def tokens() -> dict[str, Any]:
    """Count tokens: GCF against JSON and TOON, and the forms of real CAD documents."""
    documents = cad_tokens.documents(cad_tokens.VECTORS / "cad" / "real")
    return {
        "gcf": gcf.tokens(),
        "cad": cad_tokens.measure(documents, count_tokens) if documents else [],
    }


def stream(*, quick: bool) -> list[dict[str, Any]]:
    """Measure rows that are streamed out and in."""
    return gcf_stream.record(FEW_ROWS if quick else ROWS)
