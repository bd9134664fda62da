"""Every case of the given vectors: the verdict, the letter of each check, and what is computed."""

from __future__ import annotations

import base64
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from tests.reference import claims as reference

ROOT = Path(os.environ.get("COMPACTWIRE_VECTORS", Path(__file__).parents[3] / "shared" / "vectors"))
VECTORS = ROOT / "claims"

FOLDERS, PACKED = 80, 303

# A checkout without symbolic links has files in their place, with the target as text.
LINKS = {
    "bundle_manifest_is_link": "bundle/bundle.json",
    "symlink_escape": "bundle/artifacts/26f29e44fbe4df9d.txt",
    "symlink_folder": "bundle/artifacts",
}

Case = dict[str, Any]


def folders() -> list[Path]:
    return sorted((VECTORS / "cases").glob("*/case.json"))


def packed() -> list[Case]:
    path = VECTORS / "more_cases.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


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


def slow(case: Case, folder: Path) -> dict[str, Any]:
    paths = {name: path and folder / path for name, path in case["inputs"].items()}
    positional = [paths.pop(name) for name in ("bundle", "receipts", "claim")]
    return reference.verify(*positional, **paths, **case["options"])


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """What both verifiers say: all but the words."""
    error, checks = report["error"], report["checks"]
    if not isinstance(checks, str):
        checks = "".join(check["status"][0] for check in checks)
    error = error and (error["code"], error["check"])
    return {**report, "error": error, "checks": checks}


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
    assert summary(slow(case, folder)) == summary(found)
    assert report.ok is bool(report) is (case["expected"]["exit_code"] == 0)
    assert (
        report.to_json()
        == json.dumps(found, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    )
    assert verify(case, folder).to_json() == report.to_json()
    assert str(folder) not in report.to_json().decode()


def test_all_vectors_are_here() -> None:
    if not VECTORS.exists():
        pytest.skip(f"the given vectors are not at {VECTORS}: set COMPACTWIRE_VECTORS")
    assert (len(folders()), len(packed())) == (FOLDERS, PACKED)


@pytest.mark.parametrize("path", folders(), ids=lambda path: path.parent.name)
def test_a_case_has_its_verdict(path: Path, tmp_path: Path) -> None:
    case, folder = json.loads(path.read_text(encoding="utf-8")), path.parent
    if case["name"] in LINKS:
        folder = shutil.copytree(folder, tmp_path / "case", symlinks=True)
        link = folder / LINKS[case["name"]]
        if not link.is_symlink():
            target = link.read_text(encoding="utf-8")
            link.parent.chmod(0o700)
            link.chmod(0o600)
            link.unlink()
            link.symlink_to(target)
    check(case, folder)


@pytest.mark.parametrize("case", packed(), ids=lambda case: case["name"])
def test_a_packed_case_has_its_verdict(case: Case, tmp_path: Path) -> None:
    unpack(case, tmp_path)
    check(case, tmp_path)
