"""The tokens of results through the relay of MCP, by real tokenizers; the relay only estimates.

    python -m benches.structured [VALUES]

Each of VALUES held-out values of `data.shapes` and as many others becomes several results:
indented, with spaces, compact; with its integers as floats, which JavaScript writes without the
fraction; as the structured content itself, in a wrapper, and as a text in a wrapper.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import bpe_openai

from compactwire.mcp._project import Projector
from compactwire.mcp._same import as_hosts_write
from data.shapes import values

from . import report

ENCODINGS = ("o200k_base", "cl100k_base")
VALUES = 400
STYLES: tuple[dict[str, Any], ...] = (
    {"indent": 2},
    {},
    {"separators": (",", ":"), "ensure_ascii": False},
)
HEADER = ["counted by", "chosen by", "results", "structured left out", "structured saved",
          "structured larger", "texts larger", "worst"]  # fmt: skip


def floats(value: Any) -> Any:
    """Return the value with its integers as floats."""
    if isinstance(value, dict):
        return {key: floats(one) for key, one in value.items()}
    if isinstance(value, list):
        return [floats(one) for one in value]
    return float(value) if type(value) is int else value


def results(count: int) -> Iterator[tuple[str, str]]:
    """Yield texts with the structured content beside them."""
    for held_out in (False, True):
        for _, value in values(count, seed=7, held_out=held_out):
            for one in {json.dumps(found): found for found in (value, floats(value))}.values():
                for style in STYLES:
                    text = json.dumps(one, **style)
                    yield text, json.dumps({"result": one})
                    if isinstance(one, dict):
                        yield text, json.dumps(one)
                    if "indent" in style:
                        yield text, json.dumps({"content": text})


def row(encoding: str, tokenizer: str, found: list[tuple[str, str]]) -> list[str]:
    """Return a row of the table."""
    encoder = bpe_openai.get_encoding(encoding)

    def count(text: str) -> int:
        return len(encoder.encode_ordinary(text))

    projector = Projector("mcp", tokenizer=tokenizer)
    dropped = before = after = larger = larger_texts = 0
    worst = 0.0
    for text, structured in found:
        change = projector.result("tool", "", [text], structured)
        shown = min(map(count, as_hosts_write(structured)))
        said, left = count(text), count(change.texts.get(0, text))
        dropped += change.drop
        before += shown
        after += left if change.drop else shown
        larger += change.drop and left > shown
        larger_texts += left > said
        worst = max(worst, left / said - 1, left / shown - 1 if change.drop else 0.0)
    return [
        encoding,
        "the estimate" if tokenizer == "estimate" else tokenizer,
        f"{len(found):,}",
        f"{dropped / len(found):.0%}",
        f"{1 - after / before:.1%}",
        f"{larger:,}",
        f"{larger_texts:,}",
        f"{worst:+.1%}" if larger or larger_texts else "",
    ]


def main() -> None:
    """Run the command."""
    found = list(results(int(sys.argv[1]) if len(sys.argv) > 1 else VALUES))
    rows = [row(one, chosen, found) for one in ENCODINGS for chosen in ("estimate", one)]
    print(report.table(HEADER, rows, text_columns=2))


if __name__ == "__main__":
    main()
