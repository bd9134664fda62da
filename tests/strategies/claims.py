"""True claims about a few texts, which tests change."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import compactwire as cw
from compactwire import claims
from tests.reference import claims as reference

SEED = bytes([1]) * 32


def key(number: int) -> claims.SigningKey:
    """A key that is the same in every run; `key(1)` is the key of `SEED`."""
    return claims.SigningKey.from_seed(bytes([number]) * 32)


KEY, OTHER_KEY, MERKLE_KEY = key(1), key(2), key(3)
BUILD = "git:0a1b2c3d"
STRICT = {"require_attestation": True, "strict_trust": True, "strict_identity": True}

ITEMS = [
    {"kind": "section", "ref": "intro", "slice": None, "text": "Hello, world. " * 20},
    {"kind": "symbol", "ref": "@math:add", "slice": "head(3)", "text": "def add(a, b): ...\n" * 9},
    {
        "kind": "section",
        "ref": "päper",
        "slice": "lines[0:3]",
        "text": "한국어 text\r\nand more\n\n",
    },
]


@dataclass
class Made:
    """The files of a claim, and how to verify it."""

    folder: Path
    manifest: dict[str, Any]
    receipts: list[dict[str, Any]]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def bundle(self) -> Path:
        return self.folder / "bundle"

    @property
    def claim(self) -> Path:
        return self.folder / "claim.json"

    def verify(self, **options: Any) -> cw.ClaimReport:
        return cw.verify_claim(
            self.bundle, self.folder / "receipts", self.claim, **{**self.options, **options}
        )

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file())

    def write_receipts(self, receipts: list[dict[str, Any]]) -> None:
        """Replace all receipts by these."""
        folder = self.folder / "receipts"
        for path in folder.iterdir():
            path.unlink()
        for number, receipt in enumerate(receipts):
            claims.write_json(folder / f"{receipt['run_id']}_{number:08}.json", receipt)


def chain(manifest: dict[str, Any], length: int) -> list[dict[str, Any]]:
    receipts: list[dict[str, Any]] = []
    for _ in range(length):
        receipts.append(claims.make_receipt(manifest, receipts[-1] if receipts else None))
    return receipts


def entry(key: claims.SigningKey, name: str, **changes: Any) -> dict[str, Any]:
    return {
        "validator_id": name,
        "public_key": key.public_key,
        "schemes": ["ed25519"],
        "scope": ["RECEIPT", "MERKLE"],
        "enabled": True,
        "build_id": BUILD,
        **changes,
    }


def make(
    folder: Path, *, receipts: int = 3, signed: bool = True, run_id: str = "run", items: Any = ITEMS
) -> Made:
    """Make a claim that verifies; a signed one verifies with every requirement."""
    manifest = claims.build_bundle(folder / "bundle", run_id, "job", "message", items)
    made = chain(manifest, receipts)
    if signed:
        made = [claims.sign_receipt(receipt, KEY, "validator", BUILD) for receipt in made]
    for receipt in made:
        claims.write_receipt(folder / "receipts", receipt)
    claims.write_json(folder / "claim.json", claims.make_claim(manifest, folder / "bundle"))
    result = Made(folder, manifest, made)
    if signed:
        policy = claims.make_trust_policy([entry(KEY, "validator"), entry(MERKLE_KEY, "merkle")])
        claims.write_json(folder / "policy.json", policy)
        claims.write_json(
            folder / "merkle.json", claims.merkle_attestation(made, MERKLE_KEY, "merkle", BUILD)
        )
        result.options = {
            **STRICT,
            "trust_policy": folder / "policy.json",
            "merkle_attestation": folder / "merkle.json",
            "require_merkle_attestation": True,
        }
    return result


def free(folder: Path, symbols: list[tuple[str, str | None]], text: str = "word " * 100) -> Made:
    """Make a claim about a section of 4 tokens and these symbols, whatever their refs are.

    The producers refuse some of them, so that the manifest is written by hand.
    """
    made = make(folder, receipts=1, signed=False, items=[{**ITEMS[0], "text": "x" * 16}])
    manifest = made.manifest
    for number, (ref, slice_) in enumerate(symbols, 2):
        data = text.encode() + b"\n"
        artifact_id = f"z{number:08}"
        manifest["steps"].append({
            "step_id": f"step_{number:04}", "ordinal": number, "op": "READ_SYMBOL",
            "refs": {"symbol_id": ref}, "constraints": {"slice": slice_}, "expected_outputs": {},
        })  # fmt: skip
        manifest["artifacts"].append({
            "artifact_id": artifact_id, "kind": "SYMBOL_SLICE", "ref": ref, "slice": slice_,
            "path": f"artifacts/{artifact_id}.txt", "sha256": reference.sha256(data),
            "bytes": len(data),
        })  # fmt: skip
        (made.bundle / "artifacts" / f"{artifact_id}.txt").write_bytes(data)
    rehash(made)
    return made


def rehash(made: Made) -> None:
    """Write a changed manifest with its hashes, and the only receipt and the claim about it."""
    manifest, hashes = made.manifest, made.manifest["hashes"]
    lines = [f"{a['artifact_id']}:{a['sha256']}\n" for a in manifest["artifacts"]]
    hashes["root_hash"] = ""
    manifest["bundle_id"] = ""
    manifest["bundle_id"] = reference.sha256(reference.canon(manifest))
    hashes["root_hash"] = reference.sha256("".join(lines).encode())
    claims.write_json(made.bundle / "bundle.json", manifest)
    receipt = {
        **made.receipts[0],
        "bundle_id": manifest["bundle_id"],
        "root_hash": hashes["root_hash"],
    }
    receipt["receipt_hash"] = reference.receipt_hash(receipt)
    made.write_receipts([receipt])
    made.receipts = [receipt]
    claim = load(made.claim) | {"bundle_id": manifest["bundle_id"]}
    write_claim(made, claim)
    report = reference.verify(made.bundle, None, made.claim, require_verify_chain=False)
    write_claim(made, claim | {"reported_metrics": report["computed"]})


def write_claim(made: Made, claim: dict[str, Any]) -> None:
    """Write a claim with its hash."""
    canonical = reference.canon(reference.without(claim, "claim_hash"))
    claims.write_json(made.claim, claim | {"claim_hash": reference.sha256(canonical + b"\n")})


def build(folder: Path | str, items: Any = ITEMS) -> dict[str, Any]:
    return claims.build_bundle(folder, "run", "job", "message", items)


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def code(report: cw.ClaimReport) -> str | None:
    return report.error and report.error.code


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """The parts of a report that both verifiers must agree on: everything except messages."""
    error, checks = report["error"], report["checks"]
    if not isinstance(checks, str):
        checks = "".join(check["status"][0] for check in checks)
    error = error and (error["code"], error["check"])
    return {**report, "error": error, "checks": checks}


def both(made: Made, **options: Any) -> cw.ClaimReport:
    """The report, compared with that of the reference verifier."""
    report = made.verify(**options)
    plain = reference.verify(
        made.bundle, made.folder / "receipts", made.claim, **{**made.options, **options}
    )
    assert summary(plain) == summary(report.to_dict())
    return report
