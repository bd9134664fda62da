"""The speed of verifying a claim, against a straightforward Python verifier of the same claim.

    python -m benches claims

The peer is `tests/reference/claims.py`: hashlib, json and PyNaCl, schemas written as functions.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import compactwire as cw
from compactwire import claims
from tests.reference import claims as reference

from . import speed
from .measure import Call

PEER = "hashlib, json, PyNaCl"
KEY = claims.SigningKey.from_seed(bytes(range(32)))
STRICT: dict[str, Any] = {"require_attestation": True, "strict_trust": True}


def text(generator: random.Random, size: int) -> str:
    """Make a text of about `size` bytes, without line ends."""
    return " ".join(f"word{generator.randrange(9999):04}" for _ in range(size // 9))


def make(folder: Path, artifacts: int, receipts: int, size: int, steps: int) -> dict[str, Any]:
    """Write a claim that verifies; return the arguments of `verify_claim`.

    Each receipt stands for one turn of an agent, with the first `steps` steps of the bundle.
    """
    generator = random.Random(1)
    items = [
        {
            "kind": ("section", "symbol")[number % 2],
            "ref": f"@ref:{number}",
            "text": text(generator, size),
        }
        for number in range(artifacts)
    ]
    manifest = claims.build_bundle(folder / "bundle", "run", "job", "message", items)
    parent: dict[str, Any] | None = None
    for number in range(receipts):
        receipt = claims.make_receipt(manifest, parent) if not parent else {**parent}
        if parent:
            receipt |= {
                "parent_receipt_hash": parent["receipt_hash"],
                "receipt_index": number,
                "attestation": None,
            }
        receipt["steps"], receipt["artifacts"] = (
            receipt["steps"][:steps],
            receipt["artifacts"][:steps],
        )
        receipt["receipt_hash"] = reference.receipt_hash(receipt)
        parent = claims.sign_receipt(receipt, KEY, "validator")
        claims.write_receipt(folder / "receipts", parent)
    claims.write_json(folder / "claim.json", claims.make_claim(manifest, folder / "bundle"))
    entry = {
        "validator_id": "validator",
        "public_key": KEY.public_key,
        "schemes": ["ed25519"],
        "scope": ["RECEIPT"],
        "enabled": True,
    }
    claims.write_json(folder / "policy.json", claims.make_trust_policy([entry]))
    return {
        "bundle": folder / "bundle",
        "receipts": folder / "receipts",
        "claim": folder / "claim.json",
        "trust_policy": folder / "policy.json",
    }


def ours(given: dict[str, Any], options: dict[str, Any]) -> object:
    """Verify with this package."""
    report = cw.verify_claim(**given, **options)
    speed.same(report.ok, expected=True)
    return report.merkle_root


def theirs(given: dict[str, Any], options: dict[str, Any]) -> object:
    """Verify with the peer."""
    report = reference.verify(**given, **options)
    speed.same(report["ok"], expected=True)
    return report["merkle_root"]


SIZES: tuple[tuple[str, dict[str, int], dict[str, Any], float | None], ...] = (
    (
        "1,000 artifacts of 4 KiB, 1,000 signed receipts of 4 steps",
        {"artifacts": 1000, "receipts": 1000, "size": 4096, "steps": 4},
        STRICT,
        1 / 7,
    ),
    (
        "the same, signatures not required",
        {"artifacts": 1000, "receipts": 1000, "size": 4096, "steps": 4},
        {},
        1 / 10,
    ),
    (
        "10 artifacts of 8 MiB, 1 signed receipt",
        {"artifacts": 10, "receipts": 1, "size": 8 << 20, "steps": 4},
        STRICT,
        None,
    ),
    (
        "3 artifacts of 1 KiB, 1 signed receipt",
        {"artifacts": 3, "receipts": 1, "size": 1024, "steps": 3},
        STRICT,
        1 / 7,
    ),
)


def cases() -> Iterator[speed.Case]:
    """Claims of several sizes."""
    for size, shape, options, target in SIZES:
        folder = Path(tempfile.mkdtemp())
        try:
            given = make(folder, **shape)
            speed.same(ours(given, options), theirs(given, options))
            yield speed.Case(
                "verify_claim", size, PEER, target,
                speed.ready(
                    Call(lambda g, o=options: ours(g, o), speed.given(given)),
                    Call(lambda g, o=options: theirs(g, o), speed.given(given)),
                ),
                processor=True,
            )  # fmt: skip
        finally:
            shutil.rmtree(folder)
