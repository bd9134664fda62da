"""The samples in `corpus/<kind>/`, and which of them are held out of the dictionary's training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"

HOLD_OUT_EVERY = 5


@dataclass(frozen=True)
class Sample:
    """One message: the answer of a language model or the result of a tool."""

    kind: str
    text: str
    held_out: bool


def load() -> list[Sample]:
    """Read all, in the order of their paths; of each kind every fifth is held out."""
    samples = []
    for folder in sorted(path for path in CORPUS.iterdir() if path.is_dir()):
        for i, path in enumerate(sorted(folder.iterdir())):
            held_out = i % HOLD_OUT_EVERY == HOLD_OUT_EVERY - 1
            samples.append(Sample(folder.name, path.read_bytes().decode(), held_out))
    if not samples:
        raise FileNotFoundError(f"no samples in {CORPUS}")
    return samples
