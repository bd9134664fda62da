"""CAD: compact text against a straightforward Python parser and the JSON of the same document.

Documents are the bracket of the specification, real ones where they are at hand, and one of 10^5
nodes made by a seeded generator.

    python -m benches.cad [--quick]
"""

from __future__ import annotations

import argparse
import json
import marshal
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compactwire import cad

from . import report
from .cad_peer import parse, write
from .measure import FULL, QUICK, compare
from .speed import Case, Row, same

ROOT = Path(__file__).resolve().parents[1]
VECTORS = Path(os.environ.get("COMPACTWIRE_VECTORS", ROOT.parent / "shared" / "vectors"))
PYTHON, JSON = "a Python parser", "json.loads of the document"
# What CPython itself needs to make the same objects, with nothing to parse: the floor.
FLOOR = "marshal.loads of the document"
BRACKET = "C 50 30 5\nY 3 10\nT 1 10 15 0\nD 0 2\nY 3 10\nT 4 40 15 0\nD 3 5"


def real(only: str | None = None) -> list[Any]:
    """Real documents that dialect 0.1 carries; none where the vectors are absent."""
    folder = VECTORS / "cad" / "real"
    if not folder.is_dir():
        return []
    manifest = json.loads((folder / "MANIFEST.json").read_text("utf-8"))["documents"]
    return [
        json.loads((folder / entry["name"]).read_text("utf-8"))
        for entry in manifest
        if entry["in_model"] and (entry["dialect_0_1"] == only or only is None)
    ]


def large(nodes: int) -> str:
    """A text of primitives, moves and booleans, as parts have them."""
    generator = random.Random(6)
    lines = []
    for node in range(nodes):
        kind = generator.random() if node > 1 else 0.0
        number = lambda: f"{generator.randint(-9999, 9999) / 100:g}"  # noqa: E731
        if kind < 0.3:
            lines.append(f"C {number()} {number()} {number()}")
        elif kind < 0.4:
            lines.append(f"Y {number()} {number()}")
        elif kind < 0.7:
            lines.append(f"T {generator.randrange(node)} {number()} {number()} {number()}")
        else:
            left, right = generator.randrange(node), generator.randrange(node)
            lines.append(f"{generator.choice('UDI')} {left} {right}")
    lines.append(f"U {nodes - 2} {nodes - 1}")
    return "\n".join(lines)


def cases(nodes: int = 100_000) -> Iterator[Case]:
    """Every comparison."""
    yield from _cases("7 nodes", BRACKET)
    documents = real("ok")
    if documents:
        texts = [cad.to_compact(document, names=False) for document in documents]
        yield from _many(f"{len(texts)} real", texts)
    yield from _cases(f"{nodes:,} nodes", large(nodes))


def _cases(size: str, text: str) -> Iterator[Case]:
    yield from _many(size, [text])


def _many(size: str, texts: list[str]) -> Iterator[Case]:
    documents = [cad.from_compact(text) for text in texts]
    minified = [cad.dumps(document) for document in documents]
    seconds = [cad.to_compact(document, "0.2") for document in documents]
    packed = [cad.to_binary(document) for document in documents]
    for text, document in zip(texts, documents, strict=True):
        same(parse(text), document)
        same(write(document), text)
        same(cad.to_compact(document), text)

    def each(work: Any, inputs: list[Any]) -> Any:
        def run() -> None:
            for item in inputs:
                work(item)

        return run

    read = each(cad.from_compact, texts)
    yield Case("cad.from_compact", size, PYTHON, 50, read, each(parse, texts))
    yield Case("cad.from_compact", size, JSON, 1, read, each(json.loads, minified))
    made = [marshal.dumps(document) for document in documents]
    yield Case("cad.from_compact", size, FLOOR, None, read, each(marshal.loads, made))
    put = each(cad.to_compact, documents)
    yield Case("cad.to_compact", size, PYTHON, 50, put, each(write, documents))
    dumped = each(json.dumps, documents)
    yield Case("cad.to_compact", size, "json.dumps of the document", 1, put, dumped)
    yield Case("cad.from_compact 0.2", size, JSON, 1,
               each(cad.from_compact, seconds), each(json.loads, minified))  # fmt: skip
    yield Case("cad.from_binary", size, JSON, 1,
               each(cad.from_binary, packed), each(json.loads, minified))  # fmt: skip
    yield Case("cad.to_binary", size, "json.dumps of the document", 1,
               each(cad.to_binary, documents), dumped)  # fmt: skip
    yield Case("cad.check", size, PYTHON, None, each(cad.check, texts), each(parse, texts))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benches.cad", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less exact, and a smaller document")
    quick = parser.parse_args().quick
    rows = []
    for case in cases(2_000 if quick else 100_000):
        ours, theirs = compare([case.ours, case.theirs], QUICK if quick else FULL)
        rows.append(Row(case, ours, theirs).record())
    print(report.speed({"speed": rows}))


if __name__ == "__main__":
    main()
