"""Compression claims: verifies and produces claims about savings.

`verify_claim` verifies a claim; the other functions produce the files that it verifies. The JSON
Schemas of all files are in ``schemas/``, next to this module.

Source: Compression Claims.
"""

from __future__ import annotations

from ._core.claims import (
    Check,
    ClaimReport,
    Problem,
    SigningKey,
    build_bundle,
    canonical_json,
    estimate_tokens,
    generate_key,
    make_claim,
    make_receipt,
    make_trust_policy,
    merkle_attestation,
    merkle_root,
    parse_json,
    sign_receipt,
    verify_claim,
    verify_merkle_signature,
    write_json,
    write_receipt,
)

# A second name for the same function.
sign_merkle = merkle_attestation

__all__ = [
    "Check",
    "ClaimReport",
    "Problem",
    "SigningKey",
    "build_bundle",
    "canonical_json",
    "estimate_tokens",
    "generate_key",
    "make_claim",
    "make_receipt",
    "make_trust_policy",
    "merkle_attestation",
    "merkle_root",
    "parse_json",
    "sign_merkle",
    "sign_receipt",
    "verify_claim",
    "verify_merkle_signature",
    "write_json",
    "write_receipt",
]
