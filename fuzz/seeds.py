"""Writes the seed corpus of every fuzz target to `fuzz/corpus/`, from `tests/vectors/`.

    python fuzz/seeds.py

An existing corpus is kept: files are named after their content, as the fuzzer names its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

VECTORS = ROOT / "tests" / "vectors"
CORPUS = ROOT / "fuzz" / "corpus"

# Longer inputs make every execution slow, and hide the effect of a mutation.
MAX_SIZE = 4096

# Parts of the names of the files that the target `verify_claim` replaces, in the order of `FILES`.
CLAIM_FILES = ("claim.json", "bundle.json", "run_", "policy.json", "merkle.json", ".txt")


# The formats of the target `decode_payload`, in the order of their prefixes there.
FORMATS = ["A", "Z", "S", "D"]

# The sections of a graph's text, by the distance of the symbols.
SECTIONS = ["targets", "related", "extended"]

# Translates the digits of our Base85 to those of `base64.b85decode`.
ALNUM = string.digits + string.ascii_uppercase + string.ascii_lowercase
DIGITS = str.maketrans(ALNUM + ".-:+=^!/*?&<>()[]{}@%$#", ALNUM + "!#$%&()*+-;<=>?@^_`{|}~")


def main() -> None:
    """Write the seeds of every target, and say how many each has."""
    for target, seeds in TARGETS.items():
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        written = {seed for seed in seeds() if len(seed) <= MAX_SIZE}
        for seed in written:
            (folder / hashlib.sha1(seed, usedforsecurity=False).hexdigest()).write_bytes(seed)
        print(f"{target}: {len(written)} seeds")


def cases(pattern: str) -> Iterator[dict[str, Any]]:
    """Yield the cases of all vector files that match a pattern."""
    for path in sorted(VECTORS.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            yield from map(json.loads, text.strip("\n").split("\n"))
        else:
            found = json.loads(text)
            yield from found if isinstance(found, list) else [found]


def strings(value: object) -> Iterator[str]:
    """Yield every string in a JSON value, without member names."""
    match value:
        case str():
            yield value
        case list():
            for one in value:
                yield from strings(one)
        case dict():
            for one in value.values():
                yield from strings(one)


def compact(value: object) -> bytes:
    """Return a value as compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def gcf_texts(profile: str) -> Iterator[bytes]:
    """Yield the texts of one profile of GCF."""
    start = f"GCF profile={profile}"
    for pattern in ("gcf/**/*.json", "graph/**/*.json", "recorded.json"):
        for case in cases(pattern):
            yield from (text.encode() for text in strings(case) if text.startswith(start))


def implied() -> Iterator[bytes]:
    """Yield texts whose values are far larger than the texts, to test the bound of memory."""
    rows = "1\n" * 600
    for constants in (
        ",".join(f"c{n}=1" for n in range(300)),
        f"c={'a' * 2000}",
        f"{'a' * 2000}=1",
    ):
        yield f"## [600]{{{constants},x}}\n{rows}".encode()
    path = ">".join(f"n{n}" for n in range(126))
    yield f'## [600]{{"{path}"}}\n{rows}'.encode()
    columns = ",".join(f'"a>c{n}"' for n in range(300))
    yield f"## [1]{{{columns}}}\n{'|'.join('1' * 300)}\n".encode()
    items = "".join(f"@{n} {{}}\n  k{n}={n}\n" for n in range(200))
    yield f"## [200]\n{items}".encode()


def gcf_values() -> Iterator[bytes]:
    """Yield the texts of the generic profile, with and without their header."""
    yield from without_header(gcf_texts("generic"))
    yield from implied()


def arrays() -> Iterator[bytes]:
    """Yield bytes from which arrays of every type are made."""
    pick = random.Random(1)
    yield from (pick.randbytes(size) for size in (60, 200, 500) for _ in range(100))


def json_texts() -> Iterator[bytes]:
    """Yield options of `shrink`, and the JSON of the values of the generic profile."""
    for case in cases("gcf/**/*.json"):
        for name in ("input", "value", "expected"):
            if isinstance(case.get(name), dict | list):
                yield b"\0" + compact(case[name])
                yield b"\x1c" + json.dumps(case[name], indent=1).encode()


def graphs() -> Iterator[bytes]:
    """Yield the texts of the graph profile, and a graph whose edges repeat long names."""
    yield from without_header(gcf_texts("graph"))
    symbols = "".join(f"@{n} fn {'a' * 800}{n} 0.50 lsp\n" for n in range(2))
    edges = "@0<@1 calls\n" * 180
    yield f"## targets\n{symbols}## edges [?]\n{edges}".encode()


def without_header(texts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield each text and its body: the targets add a header themselves."""
    for text in texts:
        yield text
        yield text.partition(b"\n")[2]


def wires() -> Iterator[bytes]:
    """Yield messages of Compact Protocol, valid and invalid."""
    for name in ("responses", "bad_responses"):
        yield from (case["wire"].encode() for case in cases(f"compact/{name}.json"))


def tool_calls() -> Iterator[bytes]:
    """Yield tool calls in every format."""
    yield from (text.encode() for text in strings(recorded("tool calls")))


def payloads() -> Iterator[bytes]:
    """Yield the number of a format and the bytes that the format encodes as Base85."""
    recordings = strings([recorded("responses"), recorded("compressed")])
    for wire in [case["wire"] for case in cases("compact/responses.json")] + list(recordings):
        if wire[:1] in FORMATS:
            yield bytes([FORMATS.index(wire[0])]) + base64.b85decode(wire[1:].translate(DIGITS))


def deltas() -> Iterator[bytes]:
    """Yield a content and a delta, separated by NUL."""
    for name in ("deltas", "bad_deltas"):
        for case in cases(f"compact/{name}.json"):
            yield f"{case['content']}\0{case['delta']}".encode()


def frames() -> Iterator[bytes]:
    """Yield the frames of a session, separated by NUL, and the requests, separated by two."""
    tool, prompt = '{"name":"search"}', "You are helpful."
    tool_id, prompt_id = (f"{letter}_{digest(one)}" for letter, one in (("t", tool), ("s", prompt)))
    first = f"TOOL|def|{tool}\0SYS|full|{prompt}\0REQ|1|{tool_id}|{prompt_id}|null|D|F|User: Hi"
    for delta in ("D|+|\nAgent: Hello.", "D|R|6|you", "D|F|x|D|+|y|D|R|1|z", "D|F|"):
        yield f"{first}\0\0REQ|1|{tool_id}|{prompt_id}|{{}}|{delta}".encode()
        yield f"{first}\0\0TOOL|ref|{tool_id}\0SYS|ref|{prompt_id}\0REQ|1|||[1]|{delta}".encode()
    # With a check, from the documentation of the core.
    checked = 'REQ|1|t_6fe51985||{"query":"hello"}|D|=|c_a8963d04|D|F|User: Hi'
    yield f"TOOL|def|{tool}\0{checked}".encode()
    # Many edits of a text, each of which must cost its own length only.
    edits = "|".join(["D|R|990|xy"] * 200)
    yield f"REQ|1|||null|D|F|{'a' * 1000}\0\0REQ|1|||null|{edits}".encode()
    for packed in strings([recorded("compressed"), recorded("session frames")]):
        if packed.startswith("SD77-"):
            yield packed.encode()


def digest(content: str) -> str:
    """Return the digits that identify a tool or a prompt."""
    return hashlib.sha256(content.encode()).hexdigest()[:8]


def graph_deltas() -> Iterator[bytes]:
    """Yield a base, a new graph and a delta, separated by NUL; the graphs without their header."""
    deltas = list(cases("graph/delta/*.json"))
    graphs = [graph(case["base_canonical_bytes"]).encode() for case in deltas]
    for case, base in zip(deltas, graphs, strict=True):
        delta = case["expected"].partition("\n")[2].encode()
        yield from (b"\0".join((base, new, delta)) for new in [*graphs, b""])


def graph(canonical: str) -> str:
    """Return the text of a graph, without its header, from the lines that its root hashes."""
    lines = [line.split("\t") for line in canonical.splitlines()]
    symbols = [fields for mark, *fields in lines if mark == "S"]
    edges = [fields for mark, *fields in lines if mark == "E"]
    symbols.sort(key=lambda symbol: (int(symbol[4]), -float(symbol[2])))
    number = {(kind, name): n for n, (kind, name, *_) in enumerate(symbols)}
    text, section = "", ""
    for n, (kind, name, score, provenance, distance) in enumerate(symbols):
        found = dict(enumerate(SECTIONS)).get(int(distance), f"distance_{distance}")
        text += f"## {found}\n" if found != section else ""
        text += f"@{n} {kind} {name} {float(score):.2f} {provenance}\n"
        section = found
    text += f"## edges [{len(edges)}]\n"
    for *ends, edge in edges:
        text += f"@{number[ends[2], ends[3]]}<@{number[ends[0], ends[1]]} {edge}\n"
    return text


def keyed() -> Iterator[bytes]:
    """Yield a key, a base, a new set and a delta, separated by NUL, without their headers."""
    for case in cases("gcf/generic-delta/*.json"):
        texts = [case[name].partition("\n")[2] for name in ("base_full", "new_full", "expected")]
        yield "\0".join((case["base"]["key"], *texts)).encode()
        yield case["base_full"].encode()


def gcb() -> Iterator[bytes]:
    """Yield graphs as GCB, with and without the magic."""
    for case in cases("wire/**/*.json"):
        for name in ("gcb_hex", "reference_hex"):
            if isinstance(case.get(name), str):
                yield bytes.fromhex(case[name])
                yield bytes.fromhex(case[name])[5:]


def cad_texts() -> Iterator[bytes]:
    """Yield compact CAD text of both dialects."""
    for case in cases("cad/*.json"):
        if isinstance(case.get("compact"), str):
            yield case["compact"].encode()


def cad_documents() -> Iterator[bytes]:
    """Yield CAD documents and hybrids as JSON."""
    for case in cases("cad/*.json"):
        for name in ("document", "hybrid"):
            if isinstance(case.get(name), dict):
                yield compact(case[name])


def cad_bytes() -> Iterator[bytes]:
    """Yield binary CAD documents, with and without the magic."""
    for case in cases("cad/binary.json"):
        yield bytes.fromhex(case["hex"])
        yield bytes.fromhex(case["hex"])[5:]


def claim_json() -> Iterator[bytes]:
    """Yield JSON files of claims."""
    for case in cases("claims/canonical.json"):
        yield bytes.fromhex(case["in_hex"]) if "in_hex" in case else case["in"].encode()
    yield from (content for _, content in claim_files())


def claim_inputs() -> Iterator[bytes]:
    """Yield the number of a file of a claim and its new content."""
    for path, content in claim_files():
        for number, end in enumerate(CLAIM_FILES):
            if end in path.rpartition("/")[2]:
                yield bytes([number]) + content
                yield bytes([number | 0x80]) + content


def claim_files() -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the files of claims."""
    for case in cases("claims/cases.jsonl"):
        for path, content in case["files"].items():
            if isinstance(content, str):
                yield path, content.encode()


def recorded(group: str) -> object:
    """Return one group of recorded outputs."""
    return next(cases("recorded.json"))[group]


TARGETS: dict[str, Callable[[], Iterator[bytes]]] = {
    "apply_delta": deltas,
    "claims_json": claim_json,
    "decode_compact": wires,
    "decode_payload": payloads,
    "decode_tool_call": tool_calls,
    "read_arrow": arrays,
    "read_cad": cad_texts,
    "read_cad_binary": cad_bytes,
    "read_gcb": gcb,
    "read_gcf": gcf_values,
    "read_gcf_rows": lambda: (b"\x06" + text for text in gcf_values()),
    "read_graph": graphs,
    "read_graph_delta": graph_deltas,
    "read_keyed": keyed,
    "roundtrip_cad": cad_documents,
    "roundtrip_compact": wires,
    "roundtrip_gcf": gcf_values,
    "roundtrip_table": gcf_values,
    "session": frames,
    "shrink": json_texts,
    "verify_claim": claim_inputs,
}


if __name__ == "__main__":
    main()
