"""The output of every wire format for fixed inputs, compared with a record in the repository.

    python -m tests.package.recorded > tests/vectors/recorded.json

writes the record. Do so only when a format changes on purpose: the record keeps the bytes of all
formats the same across releases, and `test_recorded.py` compares it with what compactwire writes.

The inputs are the vectors of `tests/vectors` and values from a generator of random numbers that is
part of this file, so that they are the same in every version of Python. A short text stands in the
record as it is; other output as its length and the start of its SHA-256. An input that a format
refuses is recorded as the class of the error and its code or field, without the message.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import compactwire as cw
from compactwire import cad, claims, gcf, wire
from tests.vectors import OWN, load, load_lines

RECORD = OWN / "recorded.json"
LONGEST = 88
"""The longest text that stands in the record as it is; a longer one becomes a digest."""
LONGEST_COMPRESSED = 600

Case = tuple[str, str | bytes]


def entry(output: str | bytes, longest: int = LONGEST) -> str:
    """The entry of the record for an output."""
    if isinstance(output, str) and len(output) <= longest:
        return output
    data = output.encode() if isinstance(output, str) else output
    return f"sha256:{hashlib.sha256(data).hexdigest()[:20]} of {len(data)} bytes"


def attempt(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """The result of a call, or the error's class with its code or field."""
    try:
        return call(*arguments, **options)
    except cw.CompactWireError as error:
        detail = getattr(error, "code", None) or getattr(error, "field", None) or ""
        return f"{type(error).__name__} {detail}".rstrip()


def joined(parts: list[str]) -> str:
    """Several texts as one, each with its length before it."""
    return "".join(f"{len(part.encode())}:{part}\n" for part in parts)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Numbers:
    """A linear congruential generator, the same on every platform."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, limit: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit

    def pick(self, values: Any) -> Any:
        return values[self.below(len(values))]


WORDS = (
    "alpha", "beta", "gamma", "delta", "order", "total", "price", "name", "id", "status",
    "region", "été", "東京", "naïve", "🚀", "user_name", "first-name", "a.b", "x>y", "null", "true",
    "007", "1e5", "-0", "0x1f", "12,5", "|pipe|", "tab\there", "line\nfeed", 'quote"s', "back\\s",
    "~", "-", "@sym", "#hash", "=eq", "$cash", "%", "[box]", "{set}", "(par)", "sp\xa0ace",
    "\u2028", "\x7f", "\x01",
)  # fmt: skip
SCALARS = (
    None, True, False, 0, 1, -1, 42, 127, 128, 65535, 65536, 2**31, 2**53, 2**63 - 1, -(2**63),
    0.5, -0.0, 0.1, 1e-7, 1e21, 1.5e300, 5e-324, 3.141592653589793, 100.0, 1e15, 123456.789,
    "", " ", "  two", "null", "true", "-", "~", "1", "1.0", "1e3", "+1", "0x10", "a|b", "a,b",
    "a=b", '"', "\\", "\n", "\r\n", "\t", "\0", "é", "日本語", "🚀", "\u2028", "\ufeff", "## x",
    "@1", "$ref",
)  # fmt: skip


def text(numbers: Numbers, words: int) -> str:
    return " ".join(numbers.pick(WORDS) for _ in range(words))


def table(numbers: Numbers, rows: int, columns: int, *, sparse: bool, nested: bool) -> Any:
    names = [f"{numbers.pick(WORDS)}_{column}" for column in range(columns)]
    made = []
    for _ in range(rows):
        row = {name: numbers.pick(SCALARS) for name in names}
        if nested:
            row["inner"] = {"x": numbers.below(9), "y": numbers.pick(WORDS), "z": {"deep": 1}}
            row["tags"] = [numbers.pick(WORDS) for _ in range(numbers.below(4))]
        if sparse:
            row = {key: value for key, value in row.items() if numbers.below(4)}
        made.append(row)
    return made


def value(numbers: Numbers, depth: int) -> Any:
    kind = numbers.below(9 if depth else 2)
    if kind < 3:
        return numbers.pick(SCALARS)
    size = numbers.below(5)
    if kind < 5:
        return {f"{numbers.pick(WORDS)}{n}": value(numbers, depth - 1) for n in range(size)}
    if kind < 7:
        return [value(numbers, depth - 1) for _ in range(size)]
    if kind == 7:
        return table(numbers, size, 3, sparse=bool(size % 2), nested=bool(depth % 2))
    keys = [f"{numbers.pick(WORDS)}{n}" for n in range(size)]
    return dict(zip(keys, table(numbers, size, 3, sparse=False, nested=False), strict=True))


def plain_values() -> Iterator[tuple[str, Any]]:
    """Values of JSON: every scalar alone, tables of all shapes, and random trees."""
    for number, scalar in enumerate(SCALARS):
        yield f"scalar {number}", scalar
        yield f"member {number}", {"key": scalar, "list": [scalar, scalar], "rows": [{"a": scalar}]}
    numbers = Numbers(1)
    for rows, columns in itertools.product((0, 1, 2, 3, 10, 100), (1, 2, 5, 12)):
        for sparse, nested in itertools.product((False, True), repeat=2):
            made = table(numbers, rows, columns, sparse=sparse, nested=nested)
            yield f"table {rows}x{columns} sparse={sparse:d} nested={nested:d}", {"rows": made}
            if rows == 3:
                yield f"root table {columns} {sparse:d}{nested:d}", made
                keyed = {f"k {n}": row for n, row in enumerate(made)}
                yield f"keyed map {columns} {sparse:d}{nested:d}", keyed
    for number in range(150):
        yield f"tree {number}", value(numbers, 1 + number % 5)
    yield "wide", {f"key{n}": n for n in range(500)}
    yield "long text", "é|\n" * 20_000
    deep: Any = 1
    for level in range(100):
        deep = {"d": deep} if level % 2 else [deep]
    yield "deep", deep


def responses() -> Iterator[Case]:
    numbers = Numbers(2)
    results = [
        "",
        "42",
        "The answer is 42.",
        "a|b|c",
        "line\nbreak",
        "é 日本語 🚀",
        "x" * 49,
        "y" * 50,
    ]
    results += [text(numbers, words) for words in (12, 30, 90, 400)]
    formats = ("verbose", "dsl", "binary", "base85", "auto")
    for number, result in enumerate(results):
        fields = [
            {"model": "C45", "tokens": 150},
            {"model": numbers.pick(("", "G3", "X5", "O4", "llama", "Claude Opus")),
             "status": numbers.pick(("OK", "ERR", "PART", "STREAM")),
             "tokens": numbers.pick((0, 127, 128, 65536, 2**63 - 1))},
        ]  # fmt: skip
        for which, given in enumerate(fields):
            response = cw.Response(result, **given)
            for format, protocol in itertools.product(formats, (2, 4)):
                if format == "auto" and len(result) > 40:
                    continue
                wire_text = attempt(cw.encode, response, format=format, protocol=protocol)
                yield f"{number}.{which} {format} {protocol}", wire_text
            for layout in (1, 2, 3, "map"):
                wire_text = attempt(cw.encode, response, format="binary", msgpack_version=layout)
                yield f"{number}.{which} layout {layout}", wire_text
    extra = cw.Response("r", "C4", model_name="Claude", returncode=3, reasoning_effort="high",
                        ultrathink=True)  # fmt: skip
    yield "verbose members", cw.encode(extra, format="verbose")
    for number, case in enumerate(load(OWN / "compact" / "base85.json")):
        yield f"base85 {number}", cw.encode_base85(bytes.fromhex(case["bytes"]))


COMPRESSED = ("zlib", "zstd", "dictionary", "smallest", "auto")


def compressed_inputs() -> Iterator[tuple[str, cw.Response]]:
    numbers = Numbers(3)
    for words in (5, 40, 200, 1500):
        yield f"{words} words", cw.Response(text(numbers, words), "C45", "OK", words)


def compressed() -> Iterator[Case]:
    """Output that also depends on the versions of the compression libraries."""
    for name, response in compressed_inputs():
        for format, protocol in itertools.product(COMPRESSED, (2, 4)):
            yield (
                f"{name} {format} {protocol}",
                cw.encode(response, format=format, protocol=protocol),
            )
    long = text(Numbers(4), 300)
    yield "delta", cw.encode_delta("", long)
    yield "delta of an edit", cw.encode_delta(long, long[:500] + "new" + long[503:])
    call = {"rows": table(Numbers(5), 20, 3, sparse=False, nested=False), "text": long}
    for format in ("zlib", "zstd", "dictionary", "smallest"):
        yield f"call {format}", cw.encode_tool_call("save", call, format=format)
    sender = cw.Session()
    for turn, request in enumerate(requests()):
        yield f"packed request {turn}", sender.encode_request(**request, pack=True)
    sender = cw.Session(checked=False)
    for turn, request in enumerate(requests()):
        yield f"packed unchecked request {turn}", sender.encode_request(**request, pack=True)


def deltas() -> Iterator[Case]:
    numbers = Numbers(6)
    old = text(numbers, 8)
    texts = ["", "a", "abc", "abd", "abcdef", "é", "éa", "🚀x", old, old + "more", "n" + old[1:]]
    for (one, before), (other, after) in itertools.product(enumerate(texts), repeat=2):
        yield f"{one} to {other}", cw.encode_delta(before, after)
    stream = cw.DeltaStream()
    yield "stream", joined([stream.push(old[:end]) for end in range(0, len(old), 3)])


def tool_calls() -> Iterator[Case]:
    formats = ("verbose", "binary", "base85", "auto")
    arguments = [{}, {"a": 1}, [1, 2.5, None], "text", {"é": {"x": [True, 2**63 - 1, -1.5e-9]}}]
    arguments += [value(Numbers(seed), 3) for seed in range(7, 15)]
    for (number, given), format, context in itertools.product(
        enumerate(arguments), formats, (None, "the context")
    ):
        call = attempt(cw.encode_tool_call, "tool_name", given, context, format=format)
        yield f"{number} {format} {context}", call


def requests() -> Iterator[dict[str, Any]]:
    """The turns of one conversation."""
    numbers = Numbers(15)
    tools = [
        {"name": f"tool{n}", "description": text(numbers, 12), "parameters": {"n": {"type": "int"}}}
        for n in range(4)
    ]
    context = text(numbers, 10)
    yield {"tool": tools[0], "system": "Be brief.", "args": {"q": 1}, "context": context}
    yield {"tool": tools[0], "system": "Be brief.", "args": {"q": 2}, "context": context}
    context += text(numbers, 30)
    yield {"tool": tools, "system": "Be brief.", "args": [1, "é", None], "context": context}
    yield {"tool": tools[2], "context": context.replace("alpha", "omega", 1)}
    yield {"system": text(numbers, 60), "args": "a|b\n"}
    yield {"args": {}, "context": ""}
    yield {}


def frames() -> Iterator[Case]:
    for checked, references in itertools.product((True, False), repeat=2):
        sender = cw.Session(checked=checked)
        for turn, request in enumerate(requests()):
            written = sender.encode_request(**request, references=references)
            name = f"turn {turn} checked={checked:d} references={references:d}"
            yield name, joined(written)
        sender.reset()
        yield f"after reset {checked:d}{references:d}", joined(sender.encode_request(system="x"))
    session = cw.Session()
    for number, (name, payload) in enumerate(itertools.islice(payloads(), 12)):
        yield f"graph {number} {name}", attempt(session.encode_graph, payload)
    session.forget_graph()
    yield "graph after forget", session.encode_graph(gcf.Payload("t", symbols=symbols(5)))
    pieces: list[str] = []
    with gcf.GraphStreamEncoder(pieces.append, "stream", session=session) as stream:
        for symbol in symbols(8):
            stream.write_symbol(symbol)
    yield "graph stream", "".join(pieces)
    for number, one in enumerate(keyed_sets()):
        yield f"keyed {number}", session.encode_keyed(one, tool="tool")


def generic() -> Iterator[Case]:
    for name, given in plain_values():
        written = attempt(gcf.dumps, given)
        yield name, written
        if name.startswith(("table", "root", "keyed", "tree")):
            for option in ({"flatten": False}, {"constant_columns": True}):
                changed = attempt(gcf.dumps, given, **option)
                if changed != written:
                    yield f"{name} {next(iter(option))}", changed


def json_texts() -> Iterator[Case]:
    for name, given in plain_values():
        written = attempt(gcf.from_json, as_json(given))
        if written.startswith("GcfError"):
            yield f"{name} from JSON", written
            continue
        yield f"{name} to JSON", gcf.to_json(written)
        escaped = gcf.to_json(written, ensure_ascii=True)
        if not escaped.isascii():
            raise ValueError(f"{name}: not ASCII")
    spellings = ("[1.0,1e2,-0,-0.0,1E400,0.1e-1]", '{"a":"\\u00e9\\/\\ud83d\\ude80"}',
                 '{"a":1,"a":2}', "[12345678901234567890]", " [ 1 , 2 ] ", '"\\ud800"')  # fmt: skip
    for spelling in spellings:
        yield spelling, attempt(gcf.from_json, spelling)


def row_streams() -> Iterator[Case]:
    numbers = Numbers(16)
    for rows, columns in itertools.product((0, 1, 5, 60), (1, 3, 8)):
        pieces: list[str] = []
        with gcf.StreamEncoder(pieces.append) as stream:
            stream.kv("title", numbers.pick(WORDS))
            stream.list("list", [numbers.pick(SCALARS) for _ in range(4)])
            names = [f"{numbers.pick(WORDS)}{n}" for n in range(columns)]
            fields = [name.replace(">", "") for name in names]
            stream.begin_array("rows", fields)
            for _ in range(rows):
                stream.row([numbers.pick((*SCALARS, ...)) for _ in fields])
            stream.end()
            stream.begin_keyed_map("map", fields, label="id")
            for row in range(rows):
                stream.row([f"k{row}", *(numbers.pick(SCALARS) for _ in fields)])
        yield f"{rows}x{columns}", "".join(pieces)
        read = [as_json(row) for row in gcf.iter_rows(io.StringIO("".join(pieces)), "rows")]
        yield f"{rows}x{columns} read", joined(read)


def keyed_sets() -> Iterator[gcf.KeyedSet]:
    """One set as it changes."""
    numbers = Numbers(17)
    rows = {
        n: {"id": f"r{n}" if n % 2 else n, "name": numbers.pick(WORDS), "v": numbers.pick(SCALARS)}
        for n in range(30)
    }
    for step in range(9):
        yield gcf.KeyedSet(rows.values(), key="id", fields=["id", "name", "v"], name="rows")
        for _ in range(step):
            chosen = numbers.below(30)
            if numbers.below(2) and chosen in rows:
                del rows[chosen]
            else:
                rows[chosen] = {"id": chosen, "name": "new", "v": numbers.pick(SCALARS)}


def keyed() -> Iterator[Case]:
    sets = list(keyed_sets())
    sets.append(gcf.KeyedSet([], key="id", fields=["id", "é"], name="empty set"))
    for number, one in enumerate(sets):
        yield f"set {number}", one.encode(tool="t" * (number % 2))
        yield f"root {number}", one.root
    for number, (before, after) in enumerate(itertools.pairwise(sets[:-1])):
        delta = before.delta(after)
        if delta is not None:
            yield f"delta {number}", delta.encode(tool="tool", sizes=(10 + number, 100))
    for name, options in (("n", {"fixed_n": 3}), ("guard", {"size_guard": True})):
        producer = gcf.KeyedProducer(sets[0], tool="tool", **options)
        yield f"producer {name}", joined([producer.full(), *(producer.push(s)[0] for s in sets)])
    kept = gcf.KeyedSnapshots()
    roots = [None, sets[0].root, sets[1].root, "sha256:unknown", sets[3].root, sets[3].root]
    answers = [kept.respond(one, root) for one, root in zip(sets, roots, strict=False)]
    yield "responder", joined(answers)


KINDS = ("function", "type", "method", "interface", "field", "package", "custom_kind")
EDGES = ("calls", "imports", "implements", "references", "tests", "odd_edge")


def symbols(count: int) -> list[gcf.Symbol]:
    numbers = Numbers(18 + count)
    return [
        gcf.Symbol(
            f"pkg{n % 3}.Name{n}",
            KINDS[n % len(KINDS)],
            numbers.below(1000) / 1000,
            numbers.pick(("lsp_resolved", "ast_inferred", "scip")),
            n % 4,
            numbers.pick(("", "func (s *T) Name(a int) error")),
            {"blast_radius": numbers.below(100) / 100, "confidence": 0.25, "recency": 1 / 3},
            location={"file": f"dir/file{n % 5}.go", "line": n + 1, "column": 3} if n % 3 else None,
        )
        for n in range(count)
    ]


def payloads() -> Iterator[tuple[str, gcf.Payload]]:
    """The payloads of the vectors, and made ones of several sizes."""
    for path in sorted((OWN / "wire").glob("*.json")):
        yield path.stem[:12], gcf.Payload(**load(path)["payload"])
    numbers = Numbers(19)
    for count in (0, 1, 2, 7, 40, 300):
        made = symbols(count)
        edges = [
            gcf.Edge(
                numbers.pick(made).qualified_name,
                numbers.pick(made).qualified_name,
                numbers.pick(EDGES),
                numbers.pick(("", "", "added", "removed", "unchanged")),
            )
            for _ in range(2 * count if count > 1 else 0)
        ]
        yield f"made {count}", gcf.Payload("tool", 3 * count, 5000, "", made, edges)


def graphs() -> Iterator[Case]:
    snapshots = []
    for name, payload in payloads():
        yield f"{name} text", attempt(gcf.encode, payload, dangling="drop", allow_unicode=True)
        yield f"{name} short", attempt(gcf.encode, payload, dangling="drop", locations=False)
        root = attempt(gcf.pack_root, payload)
        yield f"{name} root", root
        if root.startswith("sha256:"):
            snapshots.append(gcf.snapshot(payload))
    for number, (before, after) in enumerate(itertools.pairwise(snapshots)):
        if not isinstance(changed := attempt(gcf.diff, before, after), str):
            given = changed.__replace__(tool="tool", delta_tokens=20 + number, full_tokens=200)
            yield f"delta {number}", attempt(gcf.encode_delta, given, allow_unicode=True)
        yield f"unchanged {number}", attempt(gcf.encode_unchanged, after)
    made = [s.__replace__(symbols=s.symbols[:7]) for s in snapshots if len(s.symbols) > 20]
    for number, start in enumerate(made):
        base = gcf.snapshot(start.__replace__(edges=()))
        new = gcf.snapshot(base.__replace__(symbols=base.symbols[1:]))
        kind, written, _ = gcf.respond(new, base.pack_root, snapshots={base.pack_root: base})
        yield f"respond {number} {kind}", written
    for labeled in (False, True):
        pieces: list[str] = []
        with gcf.GraphStreamEncoder(
            pieces.append, "tool", token_budget=9, tokens_used=4, labeled_counts=labeled
        ) as stream:
            for symbol in symbols(12):
                stream.write_symbol(symbol)
            for n in range(11):
                names = [f"pkg{m % 3}.Name{m}" for m in (n, n + 1)]
                stream.write_edge(gcf.Edge(*names, EDGES[n % len(EDGES)]))
        yield f"stream {labeled:d}", "".join(pieces)


LOSSY = ("ids", "pack_root", "location", "distance", "precision", "duplicates", "dangling_zero")


def codecs() -> Iterator[Case]:
    for name, payload in payloads():
        yield f"{name} strict GCB", attempt(wire.encode_gcb, payload)
        yield f"{name} GCB", attempt(wire.encode_gcb, payload, lossy=LOSSY)
        yield f"{name} JSON", wire.encode_json(payload)
        yield f"{name} compact JSON", wire.encode_json(payload, compact=True, html_escape=True)


def without_words(report: dict[str, Any]) -> str:
    """A report without the text of its checks and errors, which is not part of the format."""
    report["checks"] = [(check["id"], check["status"]) for check in report["checks"]]
    if report["error"]:
        del report["error"]["message"]
    return as_json(report)


ITEMS = [
    {"kind": "section", "ref": "intro", "slice": None, "text": "Hello, world. " * 20},
    {"kind": "symbol", "ref": "@math:add", "slice": "head(3)", "text": "def add(a, b): ...\n" * 9},
    {"kind": "section", "ref": "päper", "slice": "lines[0:3]", "text": "한국어 text\r\nmore\n\n"},
]
BUILD = "git:0a1b2c3d"


def claim_files() -> Iterator[Case]:
    key, merkle_key = (claims.SigningKey.from_seed(bytes([number]) * 32) for number in (1, 3))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in (1, 2, 3):
            here = folder / str(count)
            manifest = claims.build_bundle(here / "bundle", "run é", "job", "m", ITEMS[:count])
            chain: list[dict[str, Any]] = []
            for number in range(count):
                receipt = claims.make_receipt(manifest, chain[-1] if chain else None)
                scope = "reference" if number == 1 else "spec"
                chain.append(receipt)
                signed = claims.sign_receipt(receipt, key, "validator", BUILD, scope)
                claims.write_receipt(here / "receipts", signed)
                twice = claims.sign_receipt(signed, merkle_key, "other", add=True)
                yield f"receipt {count} {number}", claims.canonical_json(receipt)
                yield f"signed {count} {number}", claims.canonical_json(twice)
            claim = claims.make_claim(manifest, here / "bundle", {"f3": False}, "a note")
            claims.write_json(here / "claim.json", claim)
            merkle = claims.merkle_attestation(chain, merkle_key, "merkle", BUILD)
            claims.write_json(here / "merkle.json", merkle)
            policy = {
                "validator_id": "validator",
                "public_key": key.public_key,
                "schemes": ["ed25519"],
                "scope": ["RECEIPT", "MERKLE"],
                "enabled": True,
                "build_id": BUILD,
            }
            claims.write_json(here / "policy.json", claims.make_trust_policy([policy]))
            for path in sorted(path for path in here.rglob("*") if path.is_file()):
                yield path.relative_to(folder).as_posix(), path.read_bytes()
            report = cw.verify_claim(here / "bundle", here / "receipts", here / "claim.json")
            yield f"report {count}", without_words(report.to_dict())
    canonical = load(OWN / "claims" / "canonical.json")
    for number, case in enumerate(canonical):
        data = case["in"].encode() if "in" in case else bytes.fromhex(case["in_hex"])
        parsed = attempt(claims.parse_json, data)
        if "reject" not in case:
            yield f"canonical {number}", claims.canonical_json(parsed).decode()


def claim_reports() -> Iterator[Case]:
    for case in load_lines(OWN / "claims" / "cases.jsonl")[::4]:
        if "links" in case or any(not isinstance(item, str) for item in case["files"].values()):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for path, content in case["files"].items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content.encode())
            given = {key: path and folder / path for key, path in case["inputs"].items()}
            positional = [given.pop(key) for key in ("bundle", "receipts", "claim")]
            report = cw.verify_claim(*positional, **given, **case["options"])
            yield case["name"], without_words(report.to_dict())


def documents() -> Iterator[tuple[str, Any]]:
    """The documents of the vectors: written ones, and those of compact texts."""
    for file in ("write", "binary", "hybrid", "read-0.2-valid", "read-0.1-valid"):
        for number, case in enumerate(load(OWN / "cad" / f"{file}.json")):
            if case.get("document") is not None and not (file == "read-0.1-valid" and number % 3):
                yield f"{file} {number}", case["document"]


def cad_texts() -> Iterator[Case]:
    for name, document in documents():
        for dialect in ("0.1", "0.2"):
            written = attempt(cad.to_compact, document, dialect)
            yield f"{name} {dialect}", written
            if written.startswith("DocumentError"):
                yield (
                    f"{name} {dialect} lossy",
                    attempt(cad.to_compact, document, dialect, lossy=True, names=False),
                )
        if not isinstance(binary := attempt(cad.to_binary, document), str):
            yield f"{name} binary", binary.hex()
            yield f"{name} hybrid", as_json(cad.to_hybrid(document))
            yield f"{name} JSON", cad.dumps(document)
            yield f"{name} canonical", as_json(cad.canonical(document))
    base = cad.from_compact("C 50 30 5\nY 5 10\nT 1 25 15 0\nD 0 2")
    for number, extra in enumerate(({"a": 1}, {"a/b~": [1, {"x": None}], "é": "\u2028"})):
        foreign = {
            **base,
            **extra,
            "nodes": {**base["nodes"], "0": {**base["nodes"]["0"], **extra}},
        }
        kept = cad.to_compact(foreign, "0.2", unknown="keep")
        yield f"keep {number}", kept
        yield f"keep {number} read", as_json(cad.from_compact(kept))


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "responses": responses,
    "compressed": compressed,
    "deltas": deltas,
    "tool calls": tool_calls,
    "session frames": frames,
    "gcf values": generic,
    "gcf to and from JSON": json_texts,
    "gcf row streams": row_streams,
    "gcf keyed sets": keyed,
    "graph texts": graphs,
    "graph codecs": codecs,
    "claim files": claim_files,
    "claim reports": claim_reports,
    "cad": cad_texts,
}


def entries(group: str) -> dict[str, str]:
    """The entries of the record for a group, by the names of its cases."""
    cases = list(GROUPS[group]())
    longest = LONGEST_COMPRESSED if group == "compressed" else LONGEST
    found = {name: entry(output, longest) for name, output in cases}
    if len(found) != len(cases):
        raise ValueError(f"{group}: two cases have one name")
    return found


def main() -> None:
    record = {group: entries(group) for group in GROUPS}
    json.dump(record, sys.stdout, ensure_ascii=True, indent=0, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
