"""Measures the size of messages: every format for several sizes, and the compression levels.

Sizes are exact and the same on every machine with the same zlib and zstd.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import zstandard

import compactwire as cw

from . import data, peers
from .measure import Call, Effort, compare

FORMATS = ["verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary", "smallest"]
SIZES = [("tiny", 50), ("small", 200), ("medium", 1024), ("large", 5120), ("xlarge", 20480)]


def by_format() -> Iterator[tuple[str, int, dict[str, float]]]:
    """Return text length over result length, per size: the mean of several messages.

    The messages are the samples, in all languages, that the dictionary was not trained on, joined
    and cut to size.
    """
    held_out = "\n".join(sample.text for sample in data.samples() if sample.held_out).encode()
    for label, size in SIZES:
        starts = range(0, min(len(held_out) - size, 40 * size), size)
        messages = [held_out[start : start + size].decode(errors="ignore") for start in starts]
        total = sum(len(message.encode()) for message in messages)
        responses = [cw.Response(text, model="C45", tokens=size // 4) for text in messages]
        yield (
            label,
            size,
            {
                name: sum(len(cw.encode(item, format=name).encode()) for item in responses) / total
                for name in FORMATS
            },
        )


@dataclass(frozen=True)
class Level:
    """One zstd level: bytes relative to plain level 3, microseconds per message."""

    kind: str
    level: int
    ratio: float
    microseconds: float


def levels(effort: Effort) -> Iterator[Level]:
    """Measure each zstd level, plain and with the built-in dictionary, on the held-out samples."""
    held_out = [
        peers.pack(cw.Response(sample.text, model="C45", tokens=len(sample.text) // 4))
        for sample in data.samples()
        if sample.held_out
    ]
    # A dictionary file is one line of text, then the dictionary of zstd.
    trained = cw.Dictionary.default().to_bytes().split(b"\n", 1)[1]
    base = sum(map(len, map(zstandard.ZstdCompressor(level=3).compress, held_out)))
    for kind in ("plain", "dictionary"):
        for level in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 19):
            if kind == "plain":
                compressor = zstandard.ZstdCompressor(level=level)
            else:
                dictionary = zstandard.ZstdCompressionDict(trained)
                dictionary.precompute_compress(level=level)
                compressor = zstandard.ZstdCompressor(level=level, dict_data=dictionary)
            size = sum(len(compressor.compress(message)) for message in held_out)
            (timing,) = compare(
                [Call(lambda _, c=compressor: [c.compress(message) for message in held_out])],
                effort,
            )
            yield Level(kind, level, size / base, timing.least["wall"] / len(held_out) * 1e6)
