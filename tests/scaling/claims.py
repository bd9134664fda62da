"""Claims: verification of files, and the producers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import compactwire as cw
from compactwire import claims
from tests.reference import claims as reference
from tests.strategies.claims import BUILD, KEY, MERKLE_KEY, chain, entry, key, make

from .harness import Case

Files = dict[str, bytes]

FACTOR = 30
"""Most bytes of memory for each byte of the files, as `docs/security.md` says."""


def size_of(files: Files) -> int:
    return sum(map(len, files.values()))


def sections(count: int, text: str = "some words") -> list[dict[str, Any]]:
    return [{"kind": "section", "ref": f"section {n}", "text": text} for n in range(count)]


def files_of(write: Callable[[Path], object]) -> Files:
    with tempfile.TemporaryDirectory() as name:
        write(Path(name))
        found = (path for path in Path(name).rglob("*") if path.is_file())
        return {path.relative_to(name).as_posix(): path.read_bytes() for path in found}


def verify(files: Files, **options: Any) -> cw.ClaimReport:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        report = cw.verify_claim(
            folder / "bundle",
            folder / "receipts",
            folder / "claim.json",
            trust_policy=folder / "policy.json",
            merkle_attestation=folder / "merkle.json",
            **(options or {"strict": True}),
        )
        report.raise_for_error()
        return report


def verify_in_any_layout(files: Files) -> cw.ClaimReport:
    return verify(files, strict_identity=True, require_merkle_attestation=True)


# Files, by the parameter that grows


def many_artifacts(count: int) -> Files:
    return files_of(lambda folder: make(folder, receipts=1, items=sections(count)))


def long_artifact(size: int) -> Files:
    return files_of(lambda folder: make(folder, receipts=1, items=sections(1, "é" * size)))


def repeated_artifacts(count: int) -> Files:
    symbols = [{"kind": "symbol", "ref": f"@s:{n}", "text": "same " * 9} for n in range(count)]
    return files_of(lambda folder: make(folder, receipts=1, items=symbols))


def many_receipts(count: int) -> Files:
    return files_of(lambda folder: make(folder, receipts=count))


def signers(count: int) -> list[tuple[claims.SigningKey, str]]:
    return [(key(n + 10), f"signer {n:04}") for n in range(count)]


def trust(folder: Path, count: int) -> None:
    """Write a trust policy with `count` more signers."""
    entries = [entry(KEY, "validator"), entry(MERKLE_KEY, "merkle")]
    entries += [entry(signer, name) for signer, name in signers(count)]
    claims.write_json(folder / "policy.json", claims.make_trust_policy(entries))


def receipt_of(change: Callable[[dict[str, Any]], object], signatures: int = 1) -> Files:
    """A claim whose only receipt is changed, hashed and signed again."""

    def write(folder: Path) -> None:
        made = make(folder, receipts=1)
        receipt = {**made.receipts[0], "attestation": None}
        change(receipt)
        receipt["receipt_hash"] = reference.receipt_hash(receipt)
        receipt = claims.sign_receipt(receipt, KEY, "validator", BUILD)
        for signer, name in signers(signatures - 1):
            receipt = claims.sign_receipt(receipt, signer, name, BUILD, add=True)
        made.write_receipts([receipt])
        trust(folder, signatures - 1)
        merkle = claims.merkle_attestation([receipt], MERKLE_KEY, "merkle", BUILD)
        claims.write_json(folder / "merkle.json", merkle)

    return files_of(write)


def long_receipt(count: int) -> Files:
    return receipt_of(lambda receipt: receipt.update(steps=receipt["steps"] * count))


def escaped_receipt(size: int) -> Files:
    """32 signatures over a canonical form that writes each character of the file in six bytes."""
    files = receipt_of(lambda receipt: receipt.update(job_id="\x7f" * size), signatures=32)
    name = "receipts/run_00000000.json"
    return {**files, name: files[name].replace(b"\\u007f", b"\x7f")}


def nested_receipt(count: int) -> Files:
    deep: Any = {}
    for _ in range(100):
        deep = {"a": deep}
    many = {str(n): deep for n in range(count)}
    return receipt_of(lambda receipt: receipt["steps"][0].update(result=many))


def many_signatures(count: int) -> Files:
    return receipt_of(lambda receipt: None, signatures=count)


def large_policy(count: int) -> Files:
    def write(folder: Path) -> None:
        make(folder, receipts=1)
        entries = [entry(KEY, "validator"), entry(MERKLE_KEY, "merkle")]
        rest = [
            {**entries[0], "validator_id": f"v{n}", "public_key": f"{n:064x}"} for n in range(count)
        ]
        # Most of these keys are not points of the curve: a verifier reads what no producer writes.
        policy = claims.make_trust_policy(entries)
        claims.write_json(folder / "policy.json", {**policy, "allow": entries + rest})

    return files_of(write)


def long_notes(size: int) -> Files:
    def write(folder: Path) -> None:
        made = make(folder, receipts=1)
        claim = claims.make_claim(made.manifest, made.bundle, notes="\x7f" * size)
        claims.write_json(folder / "claim.json", claim)

    return files_of(write)


# Producers


def build(items: list[dict[str, Any]]) -> object:
    with tempfile.TemporaryDirectory() as name:
        bundle = Path(name) / "bundle"
        manifest = claims.build_bundle(bundle, "run", "job", "message", items)
        return claims.make_receipt(manifest), claims.make_claim(manifest, bundle)


def receipts(count: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        return chain(claims.build_bundle(Path(name), "run", "job", "message", sections(1)), count)


def attest(made: list[dict[str, Any]]) -> object:
    return claims.merkle_attestation(made, KEY)


CASES = [
    Case("many artifacts", verify, many_artifacts, 8, 600, FACTOR, size_of),
    Case("a long artifact", verify, long_artifact, 20_000, 500_000, FACTOR, size_of),
    Case("artifacts with one text", verify, repeated_artifacts, 8, 600, FACTOR, size_of),
    Case("many receipts", verify, many_receipts, 8, 600, FACTOR, size_of),
    Case("a receipt of many steps", verify, long_receipt, 20, 2_000, FACTOR, size_of),
    Case(
        "a receipt of escapes",
        verify_in_any_layout,
        escaped_receipt,
        2_000,
        160_000,
        FACTOR,
        size_of,
    ),
    Case("a nested receipt", verify, nested_receipt, 4, 1_400, FACTOR, size_of),
    Case("many signatures", verify, many_signatures, 6, 60, FACTOR, size_of),
    Case("a large policy", verify, large_policy, 50, 4_000, FACTOR, size_of),
    Case("long notes", verify, long_notes, 2_000, 160_000, FACTOR, size_of),
    Case("build, receipt, claim", build, sections, 8, 600),
    Case("a Merkle attestation", attest, receipts, 4, 600),
]
