"""Calls every part of the package as agents and analysts do, for a profile of the compiler.

    python -m data.workload

`.ci/profile` runs this with a module that counts how often each branch is taken. The values are
those of `shapes.py` and `samples.py` that are not held out, and tables made here, no data of the
benches of speed. What is read back is compared with what was written.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import compactwire as cw
from compactwire import arrow, cad, claims, gcf, wire

from . import shapes
from .samples import load

Rows = list[dict[str, Any]]

SEED = 20261128

FORMATS = ("dsl", "verbose", "binary", "base85", "zlib", "zstd", "dictionary", "smallest")


def same(left: object, right: object) -> None:
    """Raise an error if a value came back changed."""
    if left != right:
        raise AssertionError(f"{str(left)[:200]} instead of {str(right)[:200]}")


def cells(chance: Random) -> dict[str, shapes.Shape]:
    """Return what the cells of a column may be."""
    digits = chance.randint(1, 12)
    return {
        "count": lambda chance: chance.randrange(10**digits),
        "price": shapes.price,
        "word": shapes.word,
        "title": shapes.title,
        "truth": lambda chance: chance.random() < 0.5,
        "missing": lambda chance: chance.choice([None, "late", "gift"]),
        "double": lambda chance: chance.gauss(0, 10),
        "time": shapes.time,
        "line": lambda chance: chance.choice(shapes.lines()),
    }


def table(chance: Random, rows: int, columns: int, kind: str | None = None) -> Rows:
    """Return rows whose columns have cells of one kind each: of the given one, or of any."""
    made = [cells(chance) for _ in range(columns)]
    kinds = [kind or chance.choice(list(one)) for one in made]
    names = [f"{shapes.word(chance)}_{i}" for i in range(columns)]
    picked = [one[key] for one, key in zip(made, kinds, strict=True)]
    return [
        {name: pick(chance) for name, pick in zip(names, picked, strict=True)} for _ in range(rows)
    ]


def chain(chance: Random, levels: int) -> dict[str, Any]:
    """Return objects within objects."""
    value: dict[str, Any] = {"end": [7, 8, 9]}
    for level in range(levels):
        tags = [shapes.word(chance), shapes.word(chance)]
        value = {"depth": level, "title": shapes.word(chance), "tags": tags, "next": value}
    return value


def visits(chance: Random, count: int) -> dict[str, Any]:
    """Return rows with objects and lists of objects within."""
    return {
        "visits": [
            {
                "id": number,
                "guest": {
                    "name": shapes.word(chance),
                    "home": {"town": shapes.word(chance), "code": chance.randrange(99_999)},
                },
                "meals": [
                    {"dish": shapes.word(chance), "plates": chance.randint(1, 9)}
                    for _ in shapes.several(chance, 1, 4)
                ],
                "wishes": [shapes.word(chance) for _ in shapes.several(chance, 0, 3)],
            }
            for number in range(count)
        ],
        "more": False,
    }


def machines(chance: Random, count: int) -> dict[str, Any]:
    """Return objects with the same keys, under names."""
    return {
        f"{shapes.word(chance)}-{i}": {
            "load": shapes.price(chance),
            "size": chance.randint(1, 99),
            "on": True,
        }
        for i in range(count)
    }


def articles(chance: Random, length: int) -> Rows:
    """Return rows with a text of this length each; their characters take 1, 2 or 4 bytes."""
    made = []
    english = shapes.words()
    latin, dashes = [*english, *["café"] * 200], [*english, *["—"] * 200]
    for number in range(20):
        words = chance.choice([english, latin, dashes, shapes.lines()])
        parts = chance.choices(words, k=length // 4)
        body = chance.choice([" ", "\n"]).join(parts)[:length]
        made.append({"id": number, "body": body})
    return made


def values(chance: Random) -> Iterator[tuple[Any, int]]:
    """Generate values, and how often to write and read them: small ones more often."""
    for shape in shapes.MEASURED * 12:
        yield shape(chance), 12
    for _ in range(6):
        yield table(chance, chance.randint(100, 700), chance.randint(3, 30)), 3
    for kind in ("count", "double", "word", "title"):
        yield table(chance, 400, 8, kind), 8
    for _ in range(20):
        yield table(chance, chance.randint(1, 12), chance.randint(2, 8)), 150
    for _ in range(40):
        record = {shapes.word(chance): shapes.scalar(chance) for _ in shapes.several(chance, 2, 10)}
        yield record, 200
    for levels in (10, 40, 90):
        yield chain(chance, levels), 60
    for count in (30, 600):
        yield machines(chance, count), 6000 // count
    for count in (5, 300):
        yield visits(chance, count), 6000 // count
    for length in (200, 2000, 20_000):
        yield articles(chance, length), 600_000 // length


def tables_and_trees(chance: Random) -> None:
    """GCF of values: objects, JSON text, rows one by one, the smallest form, and edits."""
    for value, times in values(chance):
        text, plain = gcf.dumps(value), json.dumps(value, ensure_ascii=False)
        data = text.encode()
        for _ in range(times):
            gcf.dumps(value)
            gcf.dumps_bytes(value)
            same(gcf.loads(text), value)
            same(gcf.loads(data), value)
        for _ in range(max(1, times // 6)):
            same(json.loads(gcf.to_json(text)), value)
            same(gcf.loads(gcf.from_json(plain)), value)
            same(cw.expand(cw.shrink(value)), value)
    rows = table(chance, 2000, 6)
    same(list(gcf.iter_rows(io.StringIO(gcf.dumps(rows)))), rows)
    keyed_sets(chance)


def keyed_sets(chance: Random) -> None:
    """GCF of rows with a key, and of their changes."""
    rows = [{"id": i, "state": shapes.word(chance), "n": i % 7} for i in range(200)]
    changed = [{**row, "n": 9} if row["id"] % 5 == 0 else row for row in rows[10:]]
    old = gcf.KeyedSet(rows, key="id")
    new = gcf.KeyedSet(changed, key="id")
    for _ in range(20):
        same(gcf.read_keyed(old.encode()), old)
        delta = old.delta(new)
        assert delta is not None
        same(old.apply(gcf.read_keyed_delta(delta.encode())), new)


def messages(chance: Random) -> None:
    """Responses in all formats, tool calls, edits, binary data, and sessions."""
    texts = [sample.text for sample in load() if not sample.held_out]
    for text in texts:
        response = cw.Response(text, model="C45", tokens=len(text) // 4)
        for form in FORMATS:
            encoded = cw.encode(response, format=form)
            for _ in range(20 if len(text) < 3000 else 4):
                cw.encode(response, format=form)
                same(cw.decode(encoded).result, text)
            cw.detect(encoded)
        query = {"query": text[:80], "limit": 10}
        same(cw.decode_tool_call(cw.encode_tool_call("search", query)).arguments, query)
    for old, new in pairwise(texts):
        edited = f"{old}\n{new[:200]}"
        same(cw.apply_delta(old, cw.encode_delta(old, edited)), edited)
    for size in (40, 500, 5000, 100_000):
        data = chance.randbytes(size)
        for _ in range(max(2, 200_000 // size)):
            same(cw.decode_base85(cw.encode_base85(data)), data)
    sessions(texts)


def sessions(texts: list[str]) -> None:
    """Chats whose context grows from turn to turn."""
    tools = [{"name": "search", "description": texts[0][:300], "input_schema": {"type": "object"}}]
    for packed in (False, True):
        ours, theirs = cw.Session(), cw.Session()
        for turns in range(1, 25):
            request: dict[str, Any] = {
                "tool": tools,
                "system": texts[1],
                "args": {"turn": turns},
                "context": "\n".join(text[:2000] for text in texts[:turns]),
            }
            sent = ours.encode_request(**request, pack=packed)
            same(theirs.decode_request(sent).context, request["context"])


def graphs(chance: Random) -> None:
    """Graphs as text, in both codecs, and their changes."""
    for count in (5, 60, 400):
        symbols: list[dict[str, Any]] = [
            {
                "qualified_name": f"{shapes.path(chance)}.{shapes.word(chance)}{i}",
                "kind": chance.choice(["function", "type", "method", "class"]),
                "score": round(chance.random(), 2),
                "provenance": chance.choice(["lsp_resolved", "ast_inferred"]),
                "distance": chance.randint(0, 3),
            }
            for i in range(count)
        ]
        names = [symbol["qualified_name"] for symbol in symbols]
        edges = [
            {"source": chance.choice(names), "target": chance.choice(names), "edge_type": "calls"}
            for _ in range(count)
        ]
        edges = [dict(pairs) for pairs in dict.fromkeys(tuple(edge.items()) for edge in edges)]
        for _ in range(6000 // count):
            payload = gcf.Payload("impact", 100, 5000, "", symbols, edges)
            decoded = gcf.decode(gcf.encode(payload))
            assert isinstance(decoded, gcf.Payload)
            same((len(decoded.symbols), len(decoded.edges)), (count, len(edges)))
            objects = [gcf.Symbol(**symbol) for symbol in symbols]
            gcf.encode(gcf.Payload("impact", 100, 5000, "", objects, payload.edges))
        for _ in range(600 // count):
            same(wire.decode_gcb(wire.encode_gcb(payload)), payload)
            same(wire.decode_json(wire.encode_json(payload)), payload)
            base, new = (
                gcf.snapshot(gcf.Payload("impact", 100, 5000, "", some, []))
                for some in (symbols, symbols[count // 4 :])
            )
            decoded = gcf.decode(gcf.encode_delta(gcf.diff(base, new)))
            assert isinstance(decoded, gcf.DeltaPayload)
            same(decoded.new_root, new.pack_root)


def solid(chance: Random, nodes: int) -> str:
    """Return a CAD text of primitives, transforms and booleans."""

    def number() -> str:
        return f"{chance.randint(-9999, 9999) / chance.choice([1, 10, 100]):g}"

    lines = ["C 10 20 30"]
    for node in range(1, nodes):
        kind, one, other = chance.random(), chance.randrange(node), chance.randrange(node)
        if kind < 0.3:
            lines.append(f"C {number()} {number()} {number()}")
        elif kind < 0.4:
            lines.append(f"Y {number()} {number()}")
        elif kind < 0.6:
            lines.append(f"T {one} {number()} {number()} {number()}")
        elif kind < 0.7:
            lines.append(f"R {one} {number()} {number()} {number()}")
        else:
            lines.append(f"{chance.choice('UDI')} {one} {other}")
    return "\n".join(lines)


def parts(chance: Random) -> None:
    """CAD: text of both dialects, binary, hybrid, and JSON."""
    for nodes, times in ((5, 600), (50, 100), (700, 12), (20_000, 1)):
        text = solid(chance, nodes)
        document = cad.from_compact(text)
        second, packed = cad.to_compact(document, "0.2"), cad.to_binary(document)
        for _ in range(times):
            same(cad.from_compact(text), document)
            same(cad.to_compact(document), text)
            same(cad.from_compact(second), document)
            same(cad.to_compact(document, "0.2"), second)
            same(cad.from_binary(packed), document)
            same(cad.to_binary(document), packed)
            cad.check(text)
        same(cad.from_hybrid(cad.to_hybrid(document)), document)
        same(cad.loads(cad.dumps(document)), document)


def claim(chance: Random, folder: Path, artifacts: int, lines: int, receipts: int) -> None:
    """Write a claim with texts of some lines, signed receipts, and the policy that trusts them."""
    key = claims.SigningKey.from_seed(chance.randbytes(32))
    items = [
        {
            "kind": chance.choice(["section", "symbol"]),
            "ref": f"@ref:{number}",
            "text": "\n".join(shapes.title(chance) for _ in range(lines)),
        }
        for number in range(artifacts)
    ]
    manifest = claims.build_bundle(folder / "bundle", "run", "job", "message", items)
    receipt = None
    for _ in range(receipts):
        receipt = claims.sign_receipt(claims.make_receipt(manifest, receipt), key, "one")
        claims.write_receipt(folder / "receipts", receipt)
    trusted = {
        "validator_id": "one",
        "public_key": key.public_key,
        "schemes": ["ed25519"],
        "scope": ["RECEIPT"],
        "enabled": True,
    }
    claims.write_json(folder / "claim.json", claims.make_claim(manifest, folder / "bundle"))
    claims.write_json(folder / "policy.json", claims.make_trust_policy([trusted]))


def verified(chance: Random) -> None:
    """Claims, verified with their signatures and without."""
    for artifacts, lines, receipts in ((3, 10, 1), (60, 40, 30), (4, 9000, 1)):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            claim(chance, folder, artifacts, lines, receipts)
            for signed in (False, True):
                report = cw.verify_claim(
                    folder / "bundle",
                    folder / "receipts",
                    claim=folder / "claim.json",
                    trust_policy=folder / "policy.json",
                    require_attestation=signed,
                    strict_trust=signed,
                )
                same(report.error, None)


def columns(chance: Random) -> None:
    """Columns of texts, and tables of Arrow."""
    texts = [text[:size] for text in shapes.lines() for size in (30, 120)] * 4
    column = pa.array(texts)
    for form in ("dsl", "base85", "zstd"):
        for _ in range(4):
            decoded = pa.array(arrow.decode(arrow.encode(column, format=form)))
            same(decoded.field("result").to_pylist(), texts)
    for _ in range(3):
        made = [table(chance, chance.randint(1, 40), 5) for _ in range(60)]
        written = pa.array([json.dumps(value, ensure_ascii=False) for value in made])
        packed = arrow.gcf_from_json(written)
        same([json.loads(text) for text in pa.array(arrow.gcf_to_json(packed)).to_pylist()], made)
    rows = table(chance, 3000, 12) + visits(chance, 300)["visits"]
    for some in (rows[:3000], rows[3000:]):
        same(gcf.loads(gcf.dumps(pa.Table.from_pylist(some))), some)
    solids = [solid(chance, 20) for _ in range(100)]
    documents = arrow.cad_from_compact(pa.array(solids))
    same(pa.array(arrow.cad_to_compact(documents)).to_pylist(), solids)


def main() -> None:
    """Run everything."""
    for part in (tables_and_trees, messages, graphs, parts, verified, columns):
        part(Random(SEED))


if __name__ == "__main__":
    main()
