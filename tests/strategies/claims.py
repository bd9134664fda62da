"""True claims about a few texts, which tests change."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import compactwire as cw
from compactwire import claims

SEED, OTHER_SEED, MERKLE_SEED = bytes([1]) * 32, bytes([2]) * 32, bytes([3]) * 32
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


def entry(seed: bytes, name: str, **changes: Any) -> dict[str, Any]:
    return {
        "validator_id": name,
        "public_key": claims.SigningKey(seed).public_key,
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
        made = [claims.sign_receipt(receipt, SEED, "validator", BUILD) for receipt in made]
    for receipt in made:
        claims.write_receipt(folder / "receipts", receipt)
    claims.write_json(folder / "claim.json", claims.make_claim(manifest, folder / "bundle"))
    result = Made(folder, manifest, made)
    if signed:
        policy = claims.make_trust_policy([entry(SEED, "validator"), entry(MERKLE_SEED, "merkle")])
        claims.write_json(folder / "policy.json", policy)
        claims.write_json(
            folder / "merkle.json", claims.merkle_attestation(made, MERKLE_SEED, "merkle", BUILD)
        )
        result.options = {
            **STRICT,
            "trust_policy": folder / "policy.json",
            "merkle_attestation": folder / "merkle.json",
            "require_merkle_attestation": True,
        }
    return result


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
