"""The speed of the Python functions, with a target for each."""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import compactwire as cw

from . import data, peers
from .measure import Call, Effort, Timing, compare

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Case:
    """One comparison. The target is an upper limit for our time divided by the peer's."""

    work: str
    size: str
    peer: str
    target: float | None
    calls: Callable[[], tuple[Call, Call]]
    """Returns our call and the peer's, whose answers have been checked."""
    collectors: tuple[bool, ...] = (False,)
    """The states of the garbage collector to measure with: on is True."""
    processor: bool = False
    """Whether to show processor time, too; the target then applies to it."""


def ready(ours: Call, theirs: Call) -> Callable[[], tuple[Call, Call]]:
    """Return two calls that exist already, as `Case.calls` does."""
    return lambda: (ours, theirs)


def measure(case: Case, effort: Effort) -> Iterator[dict[str, object]]:
    """Compare, and return a row for each state of the collector and each clock."""
    calls = case.calls()
    for collector in case.collectors:
        target = None if case.processor else case.target
        both = compare(calls, effort, collector=collector)
        yield _row(case, both, "wall", target, collector=collector)
        if case.processor:
            with _one_processor():
                both = compare(calls, effort, collector=collector)
            yield _row(case, both, "processor", case.target, collector=collector)


@contextlib.contextmanager
def _one_processor() -> Iterator[None]:
    """Keep this process on one processor, where the system can.

    Two processors are often one core: threads on both take more processor time for the same work.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)


def _row(
    case: Case, both: list[Timing], clock: str, target: float | None, *, collector: bool
) -> dict[str, object]:
    ours, theirs = both
    return {
        "work": case.work,
        "size": case.size,
        "peer": case.peer,
        "collector": collector,
        "clock": clock,
        "seconds": ours.least[clock],
        "fifth": ours.fifth[clock],
        "peer_seconds": theirs.least[clock],
        "peer_fifth": theirs.fifth[clock],
        "ratio": ours.least[clock] / theirs.least[clock],
        "target": target,
    }


def measure_all(cases: Iterator[Case], effort: Effort, rows: Rows) -> list[dict[str, object]]:
    """Measure the requested cases."""
    return [
        row
        for case in cases
        if rows.include(case.work, case.size, case.peer)
        for row in measure(case, effort)
    ]


@dataclass(frozen=True)
class Rows:
    """The requested rows: of each group of words, one must be in the row."""

    groups: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def parse(cls, given: Iterable[str]) -> Rows:
        """Read options such as `loads` and `flat,orders`."""
        return cls(tuple(tuple(group.split(",")) for group in given))

    def include(self, *texts: str) -> bool:
        """Whether a row with these texts is requested."""
        row = " ".join(texts)
        return all(any(word in row for word in group) for group in self.groups)


EVERY = Rows()


def name(size: int) -> str:
    """Format a size, such as `20 KiB`."""
    return (
        f"{size // MIB} MiB"
        if size >= MIB
        else f"{size // KIB} KiB"
        if size >= KIB
        else f"{size} B"
    )


def same(ours: object, expected: object) -> None:
    """Raise an error if a result is wrong: the speed of a wrong result is meaningless."""
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
        yield Case("encode_base85", name(size), peer, 1 / 100,
                   ready(Call(cw.encode_base85, given(binary)),
                         Call(base64.b85encode, given(binary))))  # fmt: skip
        yield Case("decode_base85", name(size), peer, 1 / 100,
                   ready(Call(cw.decode_base85, given(text)),
                         Call(base64.b85decode, given(theirs))))  # fmt: skip


def given(value: object) -> Callable[[], object]:
    """Return the same object for each call, because calls leave no state in it."""
    return lambda: value


def small() -> Iterator[Case]:
    """One short message against the standard library's JSON of its verbose form."""
    response = data.response(200)
    verbose = cw.encode(response, format="verbose")
    for format_name in ("dsl", "base85", "verbose"):
        wire = cw.encode(response, format=format_name)
        same(cw.decode(wire), response)
        yield Case(f"encode {format_name}", "200 B", "json.dumps of the verbose form", 1,
                   ready(Call(partial(cw.encode, format=format_name), again(response)),
                         Call(json.dumps, partial(json.loads, verbose))))  # fmt: skip
        yield Case(f"decode {format_name}", "200 B", "json.loads of the verbose form", 1,
                   ready(Call(cw.decode, partial(bytes.decode, wire.encode())),
                         Call(json.loads, partial(bytes.decode, verbose.encode()))))  # fmt: skip


def again(response: cw.Response) -> Callable[[], cw.Response]:
    """Give an equal response with a text of its own for each call."""
    result = response.result.encode()
    return lambda: cw.Response(result.decode(), model=response.model, tokens=response.tokens)


def zstd() -> Iterator[Case]:
    """The zstd format against the same work with separate libraries, and the compressor alone."""
    hand, bare = "ormsgpack + zstandard + base64.b85", "zstandard alone"
    for size in (200, KIB, 20 * KIB, MIB):
        for kind, ascii_only in (("ASCII", True), ("many languages", False)):
            response = data.response(size, ascii_only=ascii_only)
            label = f"{name(size)} {kind}"
            fields, packed = peers.message(response), peers.pack(response)
            wire = cw.encode(response, format="zstd")
            theirs, compressed = peers.encode_zstd(fields), peers.compress(packed)
            same(cw.decode(wire), response)
            same(peers.decode_zstd(theirs), fields)
            fresh = again(response)
            encode = Call(partial(cw.encode, format="zstd"), fresh)
            decode = Call(cw.decode, given(wire))
            yield Case("encode zstd", label, hand, None,
                       ready(encode, Call(peers.encode_zstd,
                                          lambda f=fresh: peers.message(f()))))  # fmt: skip
            yield Case("decode zstd", label, hand, None,
                       ready(decode, Call(peers.decode_zstd, given(theirs))))  # fmt: skip
            yield Case("encode zstd", label, bare, 1.05 if size >= KIB else None,
                       ready(encode, Call(peers.compress, given(packed))))  # fmt: skip
            yield Case("decode zstd", label, bare, 1.25 if size == MIB else None,
                       ready(decode, Call(peers.decompress, given(compressed))))  # fmt: skip


def cases() -> Iterator[Case]:
    """Every case."""
    yield from base85()
    yield from small()
    yield from zstd()
