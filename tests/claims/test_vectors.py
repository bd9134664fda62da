"""Every case of the vectors: the verdict, the status of each check, and the computed values."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from tests.reference import claims as reference
from tests.strategies.claims import summary
from tests.vectors import OWN, load_lines

Case = dict[str, Any]


CASES: list[Case] = load_lines(OWN / "claims" / "cases.jsonl")


def unpack(case: Case, folder: Path) -> None:
    for name, content in case["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        is_text = isinstance(content, str)
        path.write_bytes(content.encode() if is_text else base64.b64decode(content["b64"]))
    for name, target in case.get("links", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)


def verify(case: Case, folder: Path) -> cw.ClaimReport:
    paths = {name: path and folder / path for name, path in case["inputs"].items()}
    positional = [paths.pop(name) for name in ("bundle", "receipts", "claim")]
    return cw.verify_claim(*positional, **paths, **case["options"])


def verify_by_reference(case: Case, folder: Path) -> dict[str, Any]:
    paths = {name: path and folder / path for name, path in case["inputs"].items()}
    positional = [paths.pop(name) for name in ("bundle", "receipts", "claim")]
    return reference.verify(*positional, **paths, **case["options"])


def check(case: Case, folder: Path) -> None:
    report = verify(case, folder)
    found = report.to_dict()
    error = found["error"] or {}
    facts = {
        **{name: error.get(name) for name in ("code", "phase", "check")},
        "checks": "".join(check["status"][0] for check in found["checks"]),
        **{name: found[name] for name in case["expected"] if name in found and name != "checks"},
    }
    assert facts == case["expected"], error
    assert summary(verify_by_reference(case, folder)) == summary(found)
    assert report.ok is bool(report) is (case["expected"]["exit_code"] == 0)
    assert (
        report.to_json()
        == json.dumps(found, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    )
    assert verify(case, folder).to_json() == report.to_json()
    assert str(folder) not in report.to_json().decode()


def test_every_case_is_there() -> None:
    assert len(CASES) == 383


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_case_has_the_expected_report(case: Case, tmp_path: Path) -> None:
    unpack(case, tmp_path)
    check(case, tmp_path)
