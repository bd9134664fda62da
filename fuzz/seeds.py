"""Writes the seed corpus of every fuzz target to `fuzz/corpus/`, from `tests/vectors/`.

    python fuzz/seeds.py

An existing corpus is kept: files are named after their content, as the fuzzer names its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
VECTORS = ROOT / "tests" / "vectors"
CORPUS = ROOT / "fuzz" / "corpus"

# Longer inputs make every execution slow, and hide what a mutation changes.
MAX_SIZE = 4096

# The files that the target `verify_claim` replaces, in the order of its constant `FILES`.
CLAIM_FILES = ("claim.json", "bundle.json", "run_", "policy.json", "merkle.json", ".txt")


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
    yield from (bytes([i % 4]) + bytes.fromhex(one) for i, one in enumerate(base85()))


def base85() -> Iterator[str]:
    """Yield bytes as hexadecimal digits."""
    yield from (case["bytes"] for case in cases("compact/base85.json"))


def deltas() -> Iterator[bytes]:
    """Yield a content and a delta, separated by NUL."""
    for name in ("deltas", "bad_deltas"):
        for case in cases(f"compact/{name}.json"):
            yield f"{case['content']}\0{case['delta']}".encode()


def frames() -> Iterator[bytes]:
    """Yield the frames of a session, separated by NUL, and the requests, separated by two."""
    turns = [text for text in strings(recorded("session frames")) if not text.startswith("sha256:")]
    yield "\0".join(turns).encode()
    yield from (turn.encode() for turn in turns)


def graph_deltas() -> Iterator[bytes]:
    """Yield a base, a new graph and a delta, separated by NUL; the graphs without their header."""
    bodies = [text.partition(b"\n")[2] for text in gcf_texts("graph")]
    for case in cases("graph/delta/*.json"):
        delta = case["expected"].partition("\n")[2].encode()
        yield from (b"\0".join((body, bodies[0], delta)) for body in bodies[:8])


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
    "read_cad": cad_texts,
    "read_cad_binary": cad_bytes,
    "read_gcb": gcb,
    "read_gcf": lambda: without_header(gcf_texts("generic")),
    "read_gcf_rows": lambda: (b"\x06" + text for text in without_header(gcf_texts("generic"))),
    "read_graph": lambda: without_header(gcf_texts("graph")),
    "read_graph_delta": graph_deltas,
    "roundtrip_cad": cad_documents,
    "roundtrip_compact": wires,
    "roundtrip_gcf": lambda: without_header(gcf_texts("generic")),
    "session": frames,
    "verify_claim": claim_inputs,
}


if __name__ == "__main__":
    main()
