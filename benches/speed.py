"""The speed of what a Python caller calls; the targets are those of the design."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass

import compactwire as cw

from . import data, peers
from .measure import Effort, Timing, Work, compare

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Case:
    """One comparison: the target is how many times faster than the peer we want to be."""

    work: str
    size: str
    peer: str
    target: float | None
    ours: Work
    theirs: Work


@dataclass(frozen=True)
class Row:
    """One comparison, measured."""

    case: Case
    ours: Timing
    theirs: Timing

    @property
    def ratio(self) -> float:
        """How many times faster than the peer."""
        return self.theirs.median / self.ours.median

    def record(self) -> dict[str, object]:
        """Give what is written down."""
        return {
            "work": self.case.work,
            "size": self.case.size,
            "peer": self.case.peer,
            "seconds": self.ours.median,
            "quartiles": [self.ours.low, self.ours.high],
            "peer_seconds": self.theirs.median,
            "peer_quartiles": [self.theirs.low, self.theirs.high],
            "ratio": self.ratio,
            "target": self.case.target,
        }


def name(size: int) -> str:
    """Say a size as people do."""
    return (
        f"{size // MIB} MiB"
        if size >= MIB
        else f"{size // KIB} KiB"
        if size >= KIB
        else f"{size} B"
    )


def same(ours: object, expected: object) -> None:
    """Stop when an answer is wrong: a wrong answer has no speed."""
    if ours != expected:
        raise AssertionError(f"wrong answer: {ours!r:.80}, expected {expected!r:.80}")


def base85() -> Iterator[Case]:
    """Base85 against the standard library's."""
    peer = "base64.b85encode / b85decode"
    for size in (KIB, 20 * KIB, MIB):
        binary = data.noise(size)
        text, theirs = cw.encode_base85(binary), base64.b85encode(binary)
        same(cw.decode_base85(text), binary)
        same(len(text), len(theirs))
        yield Case("encode_base85", name(size), peer, 100,
                   lambda b=binary: cw.encode_base85(b),
                   lambda b=binary: base64.b85encode(b))  # fmt: skip
        yield Case("decode_base85", name(size), peer, 100,
                   lambda t=text: cw.decode_base85(t),
                   lambda t=theirs: base64.b85decode(t))  # fmt: skip


def small() -> Iterator[Case]:
    """One short message against the standard library's JSON of its verbose form."""
    response = data.response(200)
    verbose = cw.encode(response, format="verbose")
    fields = json.loads(verbose)
    for format_name in ("dsl", "base85", "verbose"):
        wire = cw.encode(response, format=format_name)
        same(cw.decode(wire), response)
        yield Case(f"encode {format_name}", "200 B", "json.dumps of the verbose form", 1,
                   lambda f=format_name: cw.encode(response, format=f),
                   lambda: json.dumps(fields))  # fmt: skip
        yield Case(f"decode {format_name}", "200 B", "json.loads of the verbose form", 1,
                   lambda w=wire: cw.decode(w),
                   lambda: json.loads(verbose))  # fmt: skip


def zstd() -> Iterator[Case]:
    """The zstd format against what one would write by hand, and against the compressor alone."""
    hand, bare = "ormsgpack + zstandard + base64.b85", "zstandard alone"
    for size in (200, KIB, 20 * KIB, MIB):
        target = {KIB: 10.0, 20 * KIB: 10.0}.get(size)
        for kind, ascii_only in (("ASCII", True), ("many languages", False)):
            response = data.response(size, ascii_only=ascii_only)
            label = f"{name(size)} {kind}"
            fields, packed = peers.message(response), peers.pack(response)
            wire = cw.encode(response, format="zstd")
            theirs, compressed = peers.encode_zstd(fields), peers.compress(packed)
            same(cw.decode(wire), response)
            same(peers.decode_zstd(theirs), fields)
            alone = 0.8 if size == MIB else None
            for peer, wanted, write, read in (
                (hand, target, lambda f=fields: peers.encode_zstd(f),
                 lambda t=theirs: peers.decode_zstd(t)),
                (bare, alone, lambda p=packed: peers.compress(p),
                 lambda c=compressed: peers.decompress(c)),
            ):  # fmt: skip
                yield Case("encode zstd", label, peer, wanted,
                           lambda r=response: cw.encode(r, format="zstd"), write)  # fmt: skip
                yield Case("decode zstd", label, peer, wanted,
                           lambda w=wire: cw.decode(w), read)  # fmt: skip


def run(effort: Effort) -> list[Row]:
    """Measure every case."""
    rows = []
    for cases in (base85, small, zstd):
        for case in cases():
            ours, theirs = compare([case.ours, case.theirs], effort)
            rows.append(Row(case, ours, theirs))
    return rows
