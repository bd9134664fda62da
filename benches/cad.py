"""CAD: compact text against a straightforward Python parser and the JSON of the same document.

Documents are the bracket of the specification, real ones where they are at hand, and one of 10^5
nodes made by a seeded generator.

    python -m benches cad
"""

from __future__ import annotations

import json
import marshal
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from compactwire import cad

from .cad_peer import parse, write
from .measure import Call
from .speed import Case, given, ready, same

ROOT = Path(__file__).resolve().parents[1]
VECTORS = Path(os.environ.get("COMPACTWIRE_VECTORS", ROOT.parent / "shared" / "vectors"))
PYTHON = "a Python parser"
JSON, JSON_DUMPS = "json.loads of the document", "json.dumps of the document"
# The time of CPython to create or visit the same objects, with almost nothing to parse.
LOADS, DUMPS = "marshal.loads of the document", "marshal.dumps of the document"
BRACKET = "C 50 30 5\nY 3 10\nT 1 10 15 0\nD 0 2\nY 3 10\nT 4 40 15 0\nD 3 5"


def real(only: str | None = None) -> list[Any]:
    """Real documents in the model; `only` selects by `dialect_0_1`. Empty without the vectors."""
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
    """A text of primitives, translations and booleans in the proportions of real parts."""
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
    yield from _cases("400 nodes", large(400))
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

    def case(work: str, peer: str, target: float | None, mine: Call, theirs: Call) -> Case:
        return Case(work, size, peer, target, ready(mine, theirs))

    def whole(work: str, peer: str, target: float, mine: Call, theirs: Call) -> Case:
        return Case(work, size, peer, target, ready(mine, theirs), collectors=(False, True))

    made = [marshal.dumps(document) for document in documents]
    read, parsed = each(cad.from_compact, texts), each(parse, texts)
    put, written = each(cad.to_compact, documents), each(write, documents)
    loaded, dumped = each(json.loads, minified), each(json.dumps, documents)
    yield whole("cad.from_compact", LOADS, 1.1, read, each(marshal.loads, made))
    yield whole("cad.to_compact", DUMPS, 0.9, put, each(marshal.dumps, documents))
    yield case("cad.from_compact", PYTHON, None, read, parsed)
    yield case("cad.from_compact", JSON, 1, read, loaded)
    yield case("cad.to_compact", PYTHON, None, put, written)
    yield case("cad.to_compact", JSON_DUMPS, 1, put, dumped)
    yield case("cad.from_compact 0.2", JSON, 1, each(cad.from_compact, seconds), loaded)
    yield case("cad.from_binary", JSON, 1, each(cad.from_binary, packed), loaded)
    yield case("cad.to_binary", JSON_DUMPS, 1, each(cad.to_binary, documents), dumped)
    yield case("cad.check", PYTHON, None, each(cad.check, texts), parsed)


def each(work: Callable[[Any], object], inputs: list[Any]) -> Call:
    """Return a call that applies `work` to each input and keeps the results."""
    return Call(lambda inputs: [work(item) for item in inputs], given(inputs), kept=True)
