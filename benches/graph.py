"""The speed of graph payloads, next to the published Python package.

python -m benches graph
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat, starmap
from typing import Any

from compactwire import gcf, wire

from . import speed
from .measure import Call

PEER = "gcf-python"
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
    """The fields of a payload's symbols and edges, before objects are created."""

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
    """Read a text, and create the objects of all its symbols and edges."""
    decoded = gcf.decode(text)
    assert isinstance(decoded, gcf.Payload)
    return decoded.symbols, decoded.edges


def cases() -> Iterator[speed.Case]:
    """Return the comparisons. An error is raised unless both sides write the same symbols."""
    import gcf as package  # type: ignore[import-not-found,import-untyped,unused-ignore]

    ours = payload(SYMBOLS)
    parts = fields(ours)
    peer = parts.make(package)
    text = gcf.encode(ours)
    theirs_text = package.encode(peer)
    speed.same(text, theirs_text)
    speed.same(gcf.encode(parts.make(gcf)), text)
    speed.same(gcf.encode(parts.of_dicts()), text)
    data = wire.encode_gcb(ours)
    speed.same(wire.decode_gcb(data), ours)
    document = wire.encode_json(ours, compact=True)
    bare = Call(lambda _: tuple(starmap(object, repeat((), 2 * SYMBOLS))), kept=True)
    objects = Call(everything, speed.given(text), kept=True)
    package_makes = Call(lambda _: package.encode(parts.make(package)))
    package_reads = Call(package.decode, speed.given(theirs_text), kept=True)

    def case(
        work: str, name: str, target: float | None, mine: Call, theirs: Call, *, whole: bool = False
    ) -> speed.Case:
        collectors = (False, True) if whole else (False,)
        ready = speed.ready(mine, theirs)
        return speed.Case(work, f"{SYMBOLS} symbols", name, target, ready, collectors)

    yield case("graph made of dicts and encoded", PEER, 1 / 10,
               Call(lambda _: gcf.encode(parts.of_dicts())), package_makes, whole=True)  # fmt: skip
    yield case("graph decode, with objects", PEER, 1 / 30,
               objects, package_reads, whole=True)  # fmt: skip
    yield case("graph decode, with objects", "1,000 bare objects", None, objects, bare)
    yield case("graph made and encoded", PEER, None,
               Call(lambda _: gcf.encode(parts.make(gcf))), package_makes)  # fmt: skip
    yield case("graph encode", PEER, None,
               Call(gcf.encode, speed.given(ours)),
               Call(package.encode, speed.given(peer)))  # fmt: skip
    yield case(
        "graph decode", PEER, None, Call(gcf.decode, speed.given(text), kept=True), package_reads
    )
    yield case("GCB decode", "our JSON codec", None,
               Call(wire.decode_gcb, speed.given(data), kept=True),
               Call(wire.decode_json, speed.given(document), kept=True))  # fmt: skip
