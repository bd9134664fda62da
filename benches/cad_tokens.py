"""Counts the tokens of real documents in each form, against indented and minified JSON.

    python -m benches.cad_tokens [FOLDER]

Tokens are those of o200k_base, counted by bpe-openai. The documents are those of
`$COMPACTWIRE_VECTORS/cad/real` that are in the model and have a node.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

from compactwire import cad
from compactwire.analysis import count_tokens

from . import report
from .cad import VECTORS

Forms = dict[str, str | None]


def documents(folder: Path) -> list[Any]:
    """Every document of the model with at least one node."""
    found = []
    for path in sorted(folder.glob("*.vcad")):
        try:
            # A file of this suffix may also be compact text, or bytes.
            document = json.loads(path.read_bytes())
            cad.canonical(document)
        except ValueError:
            continue
        if document["nodes"]:
            found.append(document)
    return found


def shipped(document: Any) -> str | None:
    """The text of dialect 0.2 without extension x1: ids renumbered, segments left out."""
    plain = cad.canonical(document)
    for node in plain["nodes"].values():
        if "segments" in node["op"] and node["op"]["type"] != "Sketch2D":
            node["op"]["segments"] = 0
    lines = cad.to_compact(plain, "0.2").split("\n")
    lines = [line for line in lines if not line.startswith("IDS ")]
    return "\n".join(["# vcad 0.2", *lines[1:]])


def first(document: Any, *, names: bool) -> str | None:
    """The text of dialect 0.1, where it carries the document."""
    try:
        return cad.to_compact(document, names=names)
    except cad.DocumentError:
        return None


def forms(document: Any) -> Forms:
    """Return the document in each of the four forms."""
    return {
        "0.1, without names": first(document, names=False),
        "0.1, names as comments": first(document, names=True),
        "0.2, shipped syntax": shipped(document),
        "0.2, lossless": cad.to_compact(document, "0.2"),
    }


def quartiles(savings: list[float]) -> str:
    """Return the quartiles as text; those of one number are that number."""
    several = savings if len(savings) > 1 else savings * 2
    return " / ".join(f"{q:.1f}" for q in quantiles(several, n=4, method="inclusive"))


def measure(found: list[Any], count: Callable[[str], int]) -> list[list[str]]:
    """One row per form: quartiles of what is saved, and how often it is more than 80%."""
    savings: dict[str, tuple[list[float], list[float]]] = {}
    for document in found:
        pretty = count(json.dumps(document, indent=2))
        minified = count(json.dumps(document, separators=(",", ":")))
        for name, text in forms(document).items():
            if text is not None:
                tokens = count(text)
                against = savings.setdefault(name, ([], []))
                against[0].append(100 * (1 - tokens / pretty))
                against[1].append(100 * (1 - tokens / minified))
    rows = []
    for name, (pretty_savings, minified_savings) in savings.items():
        above = sum(saving > 80 for saving in pretty_savings)
        rows.append(
            [
                name,
                str(len(pretty_savings)),
                quartiles(pretty_savings),
                f"{above} of {len(pretty_savings)}",
                quartiles(minified_savings),
            ]
        )
    return rows


def lines(found: list[Any], count: Callable[[str], int]) -> list[list[str]]:
    """Return the tokens of each part of the lossless text: kinds of lines, names, the header."""
    parts: Counter[str] = Counter()
    for document in found:
        text = cad.to_compact(document, "0.2")
        whole = count(text)
        for kind, drop in (("IDS", "IDS "), ("ROOT", "ROOT "), ("M", "M ")):
            rest = [line for line in text.split("\n") if not line.startswith(drop)]
            parts[kind] += whole - count("\n".join(rest))
        unnamed = cad.canonical(document)
        for node in unnamed["nodes"].values():
            node["name"] = None
        parts["names"] += whole - count(cad.to_compact(unnamed, "0.2"))
        parts["header"] += whole - count("\n".join(text.split("\n")[1:]))
        parts["all"] += whole
    return [[kind, str(n), f"{n / parts['all']:.1%}"] for kind, n in parts.most_common()]


def main() -> None:
    """Run the command."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else VECTORS / "cad" / "real"
    found, count = documents(folder), count_tokens
    if not found:
        sys.exit(f"no documents in {folder}")
    header = ["text", "documents", "% fewer than indented: q1 / median / q3", "above 80%",
              "% fewer than minified: q1 / median / q3"]  # fmt: skip
    print(report.table(header, measure(found, count)))
    texts = sum(len(cad.to_compact(document, "0.2").encode()) for document in found)
    binaries = sum(len(cad.to_binary(document)) for document in found)
    print(f"\nBinary: {binaries / texts:.1%} of the bytes of the lossless text.\n")
    print(report.table(["of the lossless text", "tokens", "share"], lines(found, count)))


if __name__ == "__main__":
    main()
