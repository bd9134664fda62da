"""Reports: attributes, display and restoring, which refuses inconsistent reports."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import claims
from tests.strategies.claims import make


@pytest.mark.skipif(os.name != "posix", reason="needs such names of files")
def test_a_path_is_exact_as_data_and_escaped_in_messages(tmp_path: Path) -> None:
    made = make(tmp_path, signed=False)
    name = "run_\x1b[2J\n\u202e.json"
    (tmp_path / "receipts" / name).write_text("{")
    report = made.verify()
    assert report.error is not None
    assert report.error.path == f"receipts/{name}"
    assert report.to_dict()["error"]["path"] == f"receipts/{name}"
    with pytest.raises(cw.ClaimRejected) as info:
        report.raise_for_error()
    assert info.value.path == f"receipts/{name}"
    for shown in (str(info.value), repr(report), report.error.message, repr(report.error)):
        assert all(char.isprintable() for char in shown), shown
    assert str(info.value).endswith("(receipts/run_\\u{1b}[2J\\n\\u{202e}.json)")


MEMBERS = (
    "report_version", "ok", "exit_code", "error", "bundle_id", "run_id", "claim_hash",
    "receipt_count", "merkle_root", "signature_scopes", "computed", "free_artifacts",
    "repeated_artifacts", "unverified_claim_fields", "checks",
)  # fmt: skip


def test_every_member_of_a_report_is_an_attribute(tmp_path: Path) -> None:
    report = make(tmp_path).verify()
    assert sorted(report.to_dict()) == sorted(MEMBERS)
    for name in set(MEMBERS) - {"checks", "error"}:
        assert getattr(report, name) == report.to_dict()[name]


GOOD_TAMPERED: list[Callable[[dict[str, Any]], object]] = [
    lambda r: r.update(ok=False),
    lambda r: r.update(exit_code=1),
    lambda r: r.update(report_version="2.0.0"),
    lambda r: r.update(merkle_root=None),
    lambda r: r.update(merkle_root="x"),
    lambda r: r.update(bundle_id=None),
    lambda r: r.update(claim_hash="0" * 63),
    lambda r: r.update(receipt_count=2),
    lambda r: r.update(signature_scopes=None),
    lambda r: r["signature_scopes"].pop(),
    lambda r: r["signature_scopes"][0].append(None),
    lambda r: r.update(computed=None),
    lambda r: r.update(free_artifacts=None),
    lambda r: r.update(repeated_artifacts=None),
    lambda r: r.update(free_artifacts=-1),
    lambda r: r["computed"].update(compression_ratio=0.1),
    lambda r: r["checks"].pop(),
    lambda r: r["checks"].reverse(),
    lambda r: r["checks"][0].update(status="skipped"),
    lambda r: r["checks"][0].update(status="failed"),
    lambda r: r["checks"][-1].update(status="skipped"),
    lambda r: r["checks"][16].update(status="skipped"),
    lambda r: r.update(more=1),
]
BAD_TAMPERED: list[Callable[[dict[str, Any]], object]] = [
    lambda r: r.update(ok=True),
    lambda r: r.update(exit_code=0),
    lambda r: r.update(ok=True, exit_code=0, error=None),
    lambda r: r["error"].update(check="5.1.1"),
    lambda r: r["error"].update(code="METRIC_MISMATCH"),
    lambda r: r["error"].update(phase="Metric"),
    lambda r: r["error"].update(message="\x1b[2J"),
    lambda r: r["error"].update(message="x" * 301),
    lambda r: r.update(bundle_id="0" * 64),
    lambda r: r.update(computed={}),
    lambda r: r["checks"][-1].update(status="passed"),
]


def test_an_inconsistent_report_is_not_restored(tmp_path: Path) -> None:
    made = make(tmp_path)
    for report, changes in [
        (made.verify(), GOOD_TAMPERED),
        (made.verify(limits={"max_artifacts": 1}), BAD_TAMPERED),
    ]:
        assert cw.ClaimReport._restore(report.to_json()) == report
        for number, change in enumerate(changes):
            members = report.to_dict()
            change(members)
            data = claims.canonical_json(members) + b"\n"
            assert data != report.to_json(), number
            with pytest.raises(ValueError, match="invalid report"):
                cw.ClaimReport._restore(data)
            forged = pickle.dumps(report).replace(report.to_json(), data)
            if len(data) == len(report.to_json()):
                with pytest.raises(ValueError, match="invalid report"):
                    pickle.loads(forged)


def test_every_report_is_restored_from_its_json(tmp_path: Path) -> None:
    made = make(tmp_path)
    (tmp_path / "empty").write_text("")
    switches = ("require_verify_chain", "bind_receipts", "strict_trust", "require_attestation")
    for number in range(1 << len(switches)):
        options = {name: bool(number >> bit & 1) for bit, name in enumerate(switches)}
        for more in (
            {},
            {"require_merkle_attestation": False, "strict_identity": False},
            {"receipt_quorum": 1},
            {"receipt_quorum": 2},
            {"trust_policy": None},
            {"merkle_attestation": tmp_path / "empty"},
            {"limits": {"max_receipts": 1}},
            {"limits": {"max_receipt_bytes": 1}},
        ):
            report = made.verify(**{**options, **more})
            assert pickle.loads(pickle.dumps(report)) == report
