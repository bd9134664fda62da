"""The speed of graph payloads, next to the published Python package.

python -m benches.graph [--quick]
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat, starmap
from typing import Any

from compactwire import gcf, wire

from . import report, speed
from .measure import FULL, QUICK, compare

SYMBOLS = 500
KINDS = ["function", "type", "method", "interface", "class"]


def payload(count: int) -> gcf.Payload:
    """Make a payload of `count` symbols and as many edges."""
    generator = random.Random(7)
    symbols = [
        gcf.Symbol(
            f"github.com/acme/service/pkg{i % 17}.Symbol{i}",
            generator.choice(KINDS),
            round(generator.random(), 2),
            generator.choice(["lsp_resolved", "ast_inferred"]),
            min(3, i // 100),
            f"func Symbol{i}(ctx context.Context) error",
        )
        for i in range(count)
    ]
    names = [symbol.qualified_name for symbol in symbols]
    pairs = {(generator.choice(names), generator.choice(names)) for _ in range(count)}
    edges = [gcf.Edge(source, target, "calls") for source, target in sorted(pairs)]
    return gcf.Payload("context_for_task", 1847, 5000, "", symbols, edges)


@dataclass(frozen=True)
class Fields:
    """What a payload is made of, before anything is made."""

    symbols: list[dict[str, object]]
    edges: list[dict[str, str]]

    def make(self, package: Any) -> Any:
        """Make the objects of a package."""
        return package.Payload(
            tool="context_for_task",
            tokens_used=1847,
            token_budget=5000,
            symbols=[package.Symbol(**symbol) for symbol in self.symbols],
            edges=[package.Edge(**edge) for edge in self.edges],
        )

    def of_dicts(self) -> gcf.Payload:
        """Make our payload, which takes dicts."""
        return gcf.Payload("context_for_task", 1847, 5000, "", self.symbols, self.edges)


def fields(ours: gcf.Payload) -> Fields:
    """Take a payload apart."""
    names = ["qualified_name", "kind", "score", "provenance", "distance"]
    ends = ["source", "target", "edge_type"]
    return Fields(
        [{name: getattr(symbol, name) for name in names} for symbol in ours.symbols],
        [{name: getattr(edge, name) for name in ends} for edge in ours.edges],
    )


def everything(text: str) -> tuple[object, object]:
    """Read a text, and make the objects of all its symbols and edges."""
    decoded = gcf.decode(text)
    assert isinstance(decoded, gcf.Payload)
    return decoded.symbols, decoded.edges


def cases() -> Iterator[speed.Case]:
    """Give the comparisons; both sides write the same symbols, or there is no figure."""
    import gcf as package  # type: ignore[import-not-found,import-untyped,unused-ignore]

    ours = payload(SYMBOLS)
    parts = fields(ours)
    peer = parts.make(package)
    text = gcf.encode(ours)
    theirs_text = package.encode(peer)
    speed.same(text, theirs_text)
    size = f"{SYMBOLS} symbols"
    yield speed.Case(
        "graph encode",
        size,
        "gcf-python",
        40,
        lambda: gcf.encode(ours),
        lambda: package.encode(peer),
    )
    yield speed.Case(
        "graph decode",
        size,
        "gcf-python",
        40,
        lambda: gcf.decode(text),
        lambda: package.decode(theirs_text),
    )
    yield speed.Case(
        "graph decode, with objects",
        size,
        "gcf-python",
        40,
        lambda: everything(text),
        lambda: package.decode(theirs_text),
    )
    yield speed.Case(
        "graph decode, with objects",
        size,
        "1,000 bare objects",
        None,
        lambda: everything(text),
        lambda: tuple(starmap(object, repeat((), 2 * SYMBOLS))),
    )
    speed.same(gcf.encode(parts.make(gcf)), text)
    yield speed.Case(
        "graph made and encoded",
        size,
        "gcf-python",
        None,
        lambda: gcf.encode(parts.make(gcf)),
        lambda: package.encode(parts.make(package)),
    )
    speed.same(gcf.encode(parts.of_dicts()), text)
    yield speed.Case(
        "graph made of dicts and encoded",
        size,
        "gcf-python",
        None,
        lambda: gcf.encode(parts.of_dicts()),
        lambda: package.encode(parts.make(package)),
    )
    data = wire.encode_gcb(ours)
    speed.same(wire.decode_gcb(data), ours)
    document = wire.encode_json(ours, compact=True)
    yield speed.Case(
        "GCB decode",
        size,
        "our JSON codec",
        None,
        lambda: wire.decode_gcb(data),
        lambda: wire.decode_json(document),
    )


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benches.graph", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure briefly")
    effort = QUICK if parser.parse_args().quick else FULL
    rows = []
    for case in cases():
        ours, peer = compare([case.ours, case.theirs], effort)
        rows.append(speed.Row(case, ours, peer).record())
    print(report.speed({"speed": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
