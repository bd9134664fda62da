"""The tool `verify_claim`: the verdict on a compression claim, and what it is based on."""

from __future__ import annotations

import contextlib

from .._core.claims import verify_claim
from .._texts import short_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core.claims import ClaimReport
    from ._roots import Roots

__all__ = ["verified"]

# What one call may read. The command `compactwire verify` has larger limits.
_LIMITS = {"max_total_bytes": 1 << 28, "max_artifact_bytes": 1 << 24, "max_receipts": 10_000}


def verified(roots: Roots, given: dict[str, str]) -> str:
    """Verify a claim below the roots and return the report's summary and its code.

    With a trust policy, every signature must be of a validator that it enables.
    """
    policy = given.get("policy")
    with contextlib.ExitStack() as stack:
        bundle = stack.enter_context(roots.held(given["bundle"], "bundle", folder=True))
        receipts = stack.enter_context(roots.held(given["receipts"], "receipts", folder=True))
        claim = stack.enter_context(roots.held(given["claim"], "claim"))
        if policy is not None:
            policy = stack.enter_context(roots.held(policy, "policy"))
        report = verify_claim(
            bundle,
            receipts,
            claim,
            trust_policy=policy,
            strict_trust=policy is not None,
            limits=_LIMITS,
        )
    return "\n".join([f"code {report.exit_code}: {_verdict(report)}", *_scope(report, policy)])


def _verdict(report: ClaimReport) -> str:
    if (error := report.error) is not None:
        place = f" in {short_line(error.path)}" if error.path else ""
        said = short_line(error.message, 500)
        return f"refused at check {error.check}, {error.code}{place}: {said}"
    computed = report.computed or {}
    before, after = computed["uncompressed_tokens"], computed["compressed_tokens"]
    ratio = f"ratio {computed['compression_ratio']:.4g}"
    return f"verified, {after:,} of {before:,} tokens, {ratio}"


def _scope(report: ClaimReport, policy: str | None) -> list[str]:
    """What a verdict does not say."""
    lines = []
    if report.ok:
        signed = "all receipts are signed by validators of the policy"
        lines.append(signed if policy is not None else "signatures: not checked; pass `policy`")
        lines.append("Merkle root: not attested, so the last receipts may be missing")
        if free := report.free_artifacts:
            lines.append(f"{free:,} artifacts count no tokens after compression")
        if repeated := report.repeated_artifacts:
            lines.append(f"{repeated:,} artifacts repeat the text of another")
    if report.unverified_claim_fields:
        names = short_line(", ".join(report.unverified_claim_fields), 500)
        lines.append(f"not verified: {names}")
    return lines
