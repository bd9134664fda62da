"""The inputs: realistic text of exact sizes, the same in every run.

The text consists of lines of the samples in `data/corpus/` in a seeded random order, so that a
compressor finds the repetitions of language, not those of a repeated file.
"""

from __future__ import annotations

import random
from functools import cache

import compactwire as cw
from data.samples import Sample, load


@cache
def samples() -> list[Sample]:
    """Every sample of the corpus."""
    return load()


@cache
def text(size: int, *, ascii_only: bool = False) -> str:
    """Text of `size` UTF-8 bytes (up to three fewer, where a character does not fit)."""
    lines = [line for sample in samples() for line in sample.text.splitlines(keepends=True)]
    if ascii_only:
        lines = [line for line in lines if line.isascii()]
    generator = random.Random(size)
    chosen: list[bytes] = []
    total = 0
    while total < size:
        generator.shuffle(lines)
        for line in lines:
            chosen.append(line.encode())
            total += len(chosen[-1])
            if total >= size:
                break
    return b"".join(chosen)[:size].decode(errors="ignore")


def response(size: int, *, ascii_only: bool = False) -> cw.Response:
    """Give a response whose result has `size` bytes."""
    return cw.Response(text(size, ascii_only=ascii_only), model="C45", tokens=max(1, size // 4))


def noise(size: int) -> bytes:
    """Return random bytes, like the output of a compressor."""
    return random.Random(size).randbytes(size)
