"""The payloads: six published ones, if available, and six of our own for the same scenarios."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

from compactwire import gcf

ROOT = Path(__file__).resolve().parents[2]
VECTORS = Path(os.environ.get("COMPACTWIRE_VECTORS", ROOT.parent / "shared" / "vectors"))
PUBLISHED = VECTORS / "knowing"

Cases = dict[str, gcf.Payload]


def published() -> Cases | None:
    """Read the six published payloads; None where they are not."""
    files = sorted(PUBLISHED.glob("*.yaml"))
    if not files:
        return None
    # Only here: nothing of our own is YAML.
    import yaml

    return {
        path.stem[:2]: _payload(yaml.safe_load(path.read_text(encoding="utf-8"))) for path in files
    }


def _payload(fields: dict[str, Any]) -> gcf.Payload:
    edges = [{"edge_type" if key == "type" else key: edge[key] for key in edge}
             for edge in fields.pop("edges")]  # fmt: skip
    return gcf.Payload(edges=edges, **fields)


# An imaginary bookshop: packages, classes and methods.
PACKAGES = {
    "orders": {"OrderService": ["place", "cancel", "total", "find"], "Order": ["lines", "status"]},
    "stock": {"Warehouse": ["reserve", "release", "count"], "Shelf": ["books", "move"]},
    "payment": {"Gateway": ["charge", "refund"], "Invoice": ["write", "send"]},
    "search": {"Index": ["add", "query", "rank"], "Suggestions": ["for_reader"]},
    "web": {"Checkout": ["get", "post"], "Catalogue": ["get"]},
}
FUNCTIONS = ["load_settings", "connect", "migrate", "parse_isbn", "send_mail", "log_event"]
TYPES = ["Isbn", "Money", "Reader", "Settings"]


ROOT_PACKAGE = "example.com/bookshop/internal"


def pool() -> list[tuple[str, str, str]]:
    """Name, kind and signature of every symbol of the bookshop."""
    found = []
    for package, classes in PACKAGES.items():
        for owner, methods in classes.items():
            name = f"{ROOT_PACKAGE}/{package}.{owner}"
            found.append((name, "class", f"class {owner}"))
            for method in methods:
                signature = f"def {method}(self, isbn: Isbn, *, at: datetime) -> {owner}"
                found.append((f"{name}.{method}", "method", signature))
    common = f"{ROOT_PACKAGE}/common"
    found += [(f"{common}.{f}", "function", f"def {f}(settings: Settings)") for f in FUNCTIONS]
    found += [(f"{common}.{t}", "type", f"class {t}(NamedTuple)") for t in TYPES]
    return found


# Tool, symbols, edges, and how far symbols may be away; statuses are those of a difference.
SCENARIOS = {
    "01": ("context_for_task", 10, 8, 2, [""]),
    "02": ("context_for_task", 30, 25, 3, [""]),
    "03": ("context_for_files", 15, 12, 2, [""]),
    "04": ("blast_radius", 8, 8, 4, [""]),
    "05": ("semantic_diff", 12, 12, 1, ["added", "removed", "unchanged"]),
    "06": ("graph_query", 20, 15, 1, [""]),
}


def own() -> Cases:
    """Make the six payloads of our own, always the same."""
    return {name: _made(name, *scenario) for name, scenario in SCENARIOS.items()}


def _made(
    name: str, tool: str, symbols: int, edges: int, reach: int, statuses: list[str]
) -> gcf.Payload:
    pick = random.Random(int(name))
    chosen = pick.sample(pool(), symbols)
    scores = sorted((pick.randint(20, 99) / 100 for _ in chosen), reverse=True)
    made = []
    for i, ((qualified, kind, signature), score) in enumerate(zip(chosen, scores, strict=True)):
        # Near ones first, as retrieval gives them; the chain of a blast radius goes further.
        distance = i * reach // symbols
        parts = gcf.Components(*(round(score * share, 2) for share in (0.45, 0.3, 0.1, 0.15)))
        provenance = pick.choice(["ast_resolved", "lsp_resolved", "lsp_resolved"])
        made.append(gcf.Symbol(qualified, kind, score, provenance, distance, signature, parts))
    pairs = [(a, b) for a in chosen for b in chosen if a is not b]
    found = [
        gcf.Edge(
            source,
            target,
            "references" if kind in ("class", "type") else "calls",
            pick.choice(statuses),
        )
        for (source, _, _), (target, kind, _) in pick.sample(pairs, edges)
    ]
    budget = 5000 if symbols < 20 else 8000
    return gcf.Payload(tool, 140 * symbols, budget, symbols=made, edges=found)
