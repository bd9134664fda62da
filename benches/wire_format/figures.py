"""Measures a payload: bytes and tokens in each form, after each codec has returned it unchanged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from compactwire import gcf, wire

from ..sessions import TOKENIZER, tokenizer
from ..speed import same
from . import texts
from .cases import Cases

__all__ = ["TOKENIZER", "Case", "Size", "measured", "middle", "saved"]

Counter = Callable[[str], int]

# Two of the published payloads have an edge to a symbol that does not exist. The text leaves it
# out; the bytes of the original, which are the baseline, refer to the first symbol instead.
TEXT = wire.GcfCodec(name="dropping", dangling="drop")
BYTES = wire.GcbCodec(name="original", lossy={"dangling_zero"})
JSON, COMPACT = wire.JsonCodec(), wire.JsonCodec(name="compact", compact=True)


@dataclass(frozen=True)
class Size:
    """How much a form takes; `o200k` is None where it is not text or there is no tokenizer."""

    bytes: int
    tokens: int
    o200k: int | None


@dataclass(frozen=True)
class Case:
    """A payload in every form."""

    name: str
    tool: str
    symbols: int
    edges: int
    forms: dict[str, Size]


def saved(new: float, old: float) -> float:
    """Return the saved share."""
    return 1 - new / old


def middle(values: list[float]) -> float:
    """Give the median; of six, the mean of the third and the fourth."""
    return median(values)


def measured(cases: Cases) -> list[Case]:
    """Measure every case; raise an error if decoding does not return the payload."""
    return [_measured(name, payload) for name, payload in cases.items()]


def _measured(name: str, payload: gcf.Payload) -> Case:
    _check(payload)
    written = {
        "JSON": JSON.encode(payload),
        "minified": COMPACT.encode(payload),
        "scorecard": texts.scorecard_json(payload),
        "GCF": TEXT.encode(payload),
        "GCF 1.0": texts.gcf10(payload),
    }
    count = tokenizer()
    forms = {
        form: Size(len(text.encode()), gcf.count_tokens(text), count and count(text))
        for form, text in written.items()
    }
    forms["GCB"] = Size(len(BYTES.encode(payload)), 0, None)
    assert forms["GCF"].tokens <= forms["minified"].tokens
    assert forms["GCB"].bytes <= forms["minified"].bytes
    return Case(name, payload.tool, len(payload.symbols), len(payload.edges), forms)


def _check(payload: gcf.Payload) -> None:
    names = {symbol.qualified_name for symbol in payload.symbols}
    inside = [edge for edge in payload.edges if {edge.source, edge.target} <= names]
    for codec, edges in ((TEXT, inside), (BYTES, payload.edges), (JSON, payload.edges)):
        data = codec.encode(payload)
        # Of the codec that wrote it, which is text or bytes alike.
        read = codec.decode(data)  # type: ignore[arg-type]
        same(codec.encode(read), data)
        same((read.tool, read.tokens_used), (payload.tool, payload.tokens_used))
        same((len(read.symbols), len(read.edges)), (len(payload.symbols), len(edges)))
