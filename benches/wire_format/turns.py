"""Measures the savings of deltas at each overlap, and of conversations with repeated symbols.

Every text is decoded by the peer before it is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import compactwire as cw
from compactwire import gcf

from ..sessions import tokenizer
from ..speed import same
from .cases import Cases
from .figures import Size


def size(text: str) -> Size:
    """Measure a text."""
    count = tokenizer()
    return Size(len(text.encode()), gcf.count_tokens(text), count and count(text))


def total(sizes: list[Size]) -> Size:
    """Add up."""
    o200k = [size.o200k for size in sizes if size.o200k is not None]
    return Size(
        sum(size.bytes for size in sizes),
        sum(size.tokens for size in sizes),
        sum(o200k) if len(o200k) == len(sizes) else None,
    )


@dataclass(frozen=True)
class Delta:
    """A repeated query in which `changed` of `symbols` symbols differ."""

    symbols: int
    changed: int
    outcome: str
    full: Size
    sent: Size
    header: Size
    """Of what is sent, the first line."""

    @property
    def overlap(self) -> float:
        """The share of symbols that stay."""
        return 1 - self.changed / self.symbols


def deltas(payload: gcf.Payload, changes: tuple[int, ...] = (1, 2, 3, 6, 9, 12, 15)) -> list[Delta]:
    """Replace the last symbols and their edges by others, and query again."""
    # Of 29 symbols 28 are 96.6 %.
    symbols = payload.symbols[:29]
    base = gcf.snapshot(_among(payload, symbols))
    found = []
    for changed in changes:
        kept = symbols[: len(symbols) - changed]
        others = [
            symbol.__replace__(qualified_name=f"{symbol.qualified_name}V2")
            for symbol in symbols[len(kept) :]
        ]
        new = _among(payload, (*kept, *others))
        outcome, text, snapshot = gcf.respond(new, base.pack_root, snapshots={base.pack_root: base})
        read = gcf.apply_delta(base, text) if outcome == "delta" else gcf.decode(text)
        assert isinstance(read, gcf.Payload)
        same(gcf.pack_root(read), snapshot.pack_root)
        full = gcf.encode(snapshot)
        header = text[: text.index("\n") + 1]
        sizes = size(full), size(text), size(header)
        found.append(Delta(len(symbols), changed, outcome, *sizes))
    return found


def _among(payload: gcf.Payload, symbols: tuple[gcf.Symbol, ...]) -> gcf.Payload:
    names = {symbol.qualified_name for symbol in symbols}
    edges = [edge for edge in payload.edges if {edge.source, edge.target} <= names]
    return payload.__replace__(symbols=symbols, edges=edges)


@dataclass(frozen=True)
class Conversation:
    """Calls, each written in full and by a session; the second call also by a new session."""

    name: str
    calls: int
    whole: Size
    sent: Size
    second: tuple[Size, Size]


def conversations(cases: Cases) -> list[Conversation]:
    """Return conversations with the same answer twice, and with answers that overlap partly."""
    found = []
    for calls in (5, 10):
        for case, payload in cases.items():
            inside = _among(payload, payload.symbols)
            found.append(_conversation(f"{case}, identical", [inside] * calls))
        medium = cases["02"]
        for step, name in ((3, "80 % overlap"), (7, "53 % overlap")):
            answers = [_window(medium, step * call, 15) for call in range(calls)]
            found.append(_conversation(f"02, {name}", answers))
    return found


def _window(payload: gcf.Payload, start: int, width: int) -> gcf.Payload:
    """Return `width` symbols; after the last symbol, the first follows."""
    symbols = payload.symbols
    chosen = {(start + i) % len(symbols) for i in range(width)}
    return _among(payload, tuple(symbols[i] for i in sorted(chosen)))


def _conversation(name: str, answers: list[gcf.Payload]) -> Conversation:
    ours, theirs = cw.Session(), cw.Session()
    whole, sent = [], []
    for answer in answers:
        text = ours.encode_graph(answer)
        read = theirs.decode_graph(text)
        assert isinstance(read, gcf.Payload)
        plain = gcf.encode(answer)
        same(gcf.encode(read), plain)
        whole.append(size(plain))
        sent.append(size(text))
    anew = size(cw.Session().encode_graph(answers[1]))
    return Conversation(name, len(answers), total(whole), total(sent), (anew, sent[1]))
