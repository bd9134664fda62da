"""Producer functions: exact bytes, results that verify, and refused input."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import claims
from tests.strategies.claims import BUILD, ITEMS, KEY, MERKLE_KEY, chain, code, entry, make
from tests.vectors import OWN, load


def vectors(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load(OWN / "claims" / name)
    return found


COUNTS = {"produce.json": 6, "canonical.json": 169, "merkle.json": 28, "tokens.json": 33}


def test_every_vector_is_there() -> None:
    assert {name: len(vectors(name)) for name in COUNTS} == COUNTS


@pytest.mark.parametrize("case", vectors("produce.json"), ids=lambda case: case["name"])
def test_files_equal_the_vectors_byte_for_byte(case: dict[str, Any], tmp_path: Path) -> None:
    given, output = case["input"], case["output"]
    ids = (given["run_id"], given["job_id"], given["message_id"])
    manifest = claims.build_bundle(tmp_path / "bundle", *ids, given["items"])
    receipts = chain(manifest, given["receipts"])
    if sign := given["sign"]:
        signer = claims.SigningKey.from_hex(sign.pop("seed_hex"))
        receipts = [claims.sign_receipt(receipt, signer, **sign) for receipt in receipts]
    for receipt in receipts:
        claims.write_receipt(tmp_path / "receipts", receipt)
    claim = claims.make_claim(manifest, tmp_path / "bundle", given["components"], given["notes"])
    claims.write_json(tmp_path / "claim.json", claim)

    assert (tmp_path / "bundle" / "bundle.json").read_text("utf-8") == output["bundle.json"]
    for path, text in output["artifacts"].items():
        assert (tmp_path / "bundle" / path).read_bytes() == text.encode()
    written = {path.name: path.read_text("utf-8") for path in (tmp_path / "receipts").iterdir()}
    assert written == output["receipts"]
    assert (tmp_path / "claim.json").read_text("utf-8") == output["claim.json"]
    assert claims.merkle_root(r["receipt_hash"] for r in receipts) == output["merkle_root"]
    if merkle := given["merkle"]:
        made = claims.sign_merkle(
            receipts, claims.SigningKey.from_hex(merkle.pop("seed_hex")), **merkle
        )
        assert claims.canonical_json(made).decode() + "\n" == output["merkle_attestation.json"]
    report = cw.verify_claim(tmp_path / "bundle", tmp_path / "receipts", tmp_path / "claim.json")
    report.raise_for_error()
    assert report.merkle_root == output["merkle_root"]


@pytest.mark.parametrize("case", vectors("canonical.json"), ids=lambda case: repr(case)[:40])
def test_canonical_json_equals_the_vectors(case: dict[str, Any]) -> None:
    data = case["in"].encode() if "in" in case else bytes.fromhex(case["in_hex"])
    if "reject" in case:
        with pytest.raises(cw.EncodeError):
            claims.parse_json(data)
        return
    canonical = claims.canonical_json(claims.parse_json(data))
    assert canonical.decode() == case["out"]
    assert hashlib.sha256(canonical).hexdigest() == case["sha256"]
    assert hashlib.sha256(canonical + b"\n").hexdigest() == case["sha256_lf"]


@pytest.mark.parametrize("case", vectors("merkle.json"), ids=lambda case: str(case["n"]))
def test_merkle_roots_equal_the_vectors(case: dict[str, Any]) -> None:
    leaves = case["leaves"]
    if isinstance(leaves, str):
        leaves = [hashlib.sha256(f"leaf {n}".encode()).hexdigest() for n in range(case["n"])]
    assert claims.merkle_root(leaves) == case["root"]


def test_token_estimates_equal_the_vectors() -> None:
    for case in vectors("tokens.json"):
        assert claims.estimate_tokens(case["bytes"]) == case["tokens"]


def test_a_produced_claim_verifies_with_every_requirement(tmp_path: Path) -> None:
    made = make(tmp_path)
    report = made.verify(require_canonical=True)
    report.raise_for_error()
    assert (report.ok, report.exit_code, report.error) == (True, 0, None)
    assert report.signature_scopes == [["spec"]] * 3
    assert {check.status for check in report.checks} == {"passed", "skipped"}
    assert [c.id for c in report.checks if c.status == "skipped"] == ["5.5.7"]


def test_the_producer_is_deterministic(tmp_path: Path) -> None:
    one, other = make(tmp_path / "one"), make(tmp_path / "other")
    for left, right in zip(one.files(), other.files(), strict=True):
        assert left.read_bytes() == right.read_bytes()


@pytest.mark.parametrize(
    ("items", "error"),
    [
        ([ITEMS[0], ITEMS[0]], cw.EncodeError),
        ([{**ITEMS[0], "slice": " aLL\n"}], cw.ClaimRejected),
        ([{**ITEMS[0], "ref": "/etc/passwd"}], cw.ClaimRejected),
        ([{**ITEMS[0], "ref": "C:\\x"}], cw.ClaimRejected),
        ([{**ITEMS[0], "kind": "other"}], ValueError),
        ([{**ITEMS[0], "more": "x"}], ValueError),
        ([{"kind": "symbol", "ref": "@a"}], ValueError),
        ([{**ITEMS[0], "text": "\ud800"}], cw.EncodeError),
        ([{**ITEMS[0], "text": b"x"}], TypeError),
        (["x"], TypeError),
    ],
)
def test_items_that_would_not_verify_are_refused(
    items: list[Any], error: type[Exception], tmp_path: Path
) -> None:
    with pytest.raises(error):
        claims.build_bundle(tmp_path / "b", "run", "job", "message", items)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (("a", None), ("a", "none"), 'two items have the ref "a" and the same slice'),
        (("a_b", "c"), ("a", "b_c"), 'the refs "a_b" and "a", with'),
    ],
)
def test_items_with_one_artifact_id_are_refused(
    one: tuple[str, str | None], other: tuple[str, str | None], message: str, tmp_path: Path
) -> None:
    items = [
        {"kind": "section", "ref": ref, "slice": part, "text": ref} for ref, part in (one, other)
    ]
    with pytest.raises(cw.EncodeError, match=f"^items: {message}"):
        claims.build_bundle(tmp_path / "b", "run", "job", "message", items)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("run_id", ["", "x" * 201, "a/b", "a\\b", "a\0b", "~/x"])
def test_a_run_id_that_is_not_a_file_name_is_refused(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(cw.CompactWireError):
        claims.build_bundle(tmp_path, run_id, "job", "message", ITEMS)


def test_a_claim_that_cannot_be_true_is_refused(tmp_path: Path) -> None:
    empty = claims.build_bundle(tmp_path / "empty", "run", "job", "message", [])
    with pytest.raises(cw.ClaimRejected) as info:
        claims.make_claim(empty, tmp_path / "empty")
    assert info.value.code == "METRIC_MISMATCH"
    made = make(tmp_path)
    with pytest.raises(cw.ClaimRejected) as info:
        claims.make_claim(made.manifest, made.bundle, {"f3": True})
    assert info.value.code == "NOT_IMPLEMENTED"
    with pytest.raises(cw.ClaimRejected):
        claims.make_claim(made.manifest, made.bundle, {"other": True})
    with pytest.raises(cw.ClaimRejected):
        claims.make_claim(made.manifest, made.bundle, {})
    next((made.bundle / "artifacts").iterdir()).write_text("changed\n")
    with pytest.raises(cw.ClaimRejected) as info:
        claims.make_claim(made.manifest, made.bundle)
    assert info.value.code == "ARTIFACT_HASH_MISMATCH"


def test_only_valid_receipts_are_signed_and_continued(tmp_path: Path) -> None:
    made = make(tmp_path, signed=False)
    receipt = {**made.receipts[0], "outcome": "FAILURE"}
    for refuse in (
        lambda: claims.sign_receipt(receipt, KEY),
        lambda: claims.make_receipt(made.manifest, receipt),
        lambda: claims.write_receipt(tmp_path, receipt),
        lambda: claims.merkle_attestation([receipt], KEY),
        lambda: claims.make_receipt({**made.manifest, "job_id": "other"}),
        lambda: claims.sign_receipt(made.receipts[0], KEY, "x" * 257),
        lambda: claims.sign_receipt(made.receipts[0], KEY, "x", "git:XYZ"),
        lambda: claims.make_trust_policy([entry(KEY, "a"), entry(KEY, "b")]),
        lambda: claims.make_trust_policy([entry(KEY, "a"), entry(MERKLE_KEY, "a")]),
        lambda: claims.make_trust_policy([entry(KEY, "a", more=1)]),
        # Of small order; not reduced; and no point of the curve has y = 2.
        lambda: claims.make_trust_policy([entry(KEY, "a", public_key="00" * 32)]),
        lambda: claims.make_trust_policy([entry(KEY, "a", public_key="f0" + "ff" * 30 + "7f")]),
        lambda: claims.make_trust_policy([entry(KEY, "a", public_key="02" + "00" * 31)]),
    ):
        with pytest.raises(cw.ClaimRejected) as info:
            refuse()
        assert info.value.check is None
    with pytest.raises(cw.EncodeError):
        claims.merkle_attestation([], KEY)
    with pytest.raises(ValueError, match="scope"):
        claims.sign_receipt(made.receipts[0], KEY, scope="all")  # type: ignore[arg-type]


def test_signing_changes_only_the_attestation(tmp_path: Path) -> None:
    receipt = make(tmp_path, signed=False).receipts[0]
    before = copy.deepcopy(receipt)
    signed = claims.sign_receipt(receipt, KEY, "v", BUILD)
    assert receipt == before
    assert {**signed, "attestation": None} == receipt
    assert claims.sign_receipt(signed, KEY, "v", BUILD) == signed


def test_a_report_is_a_value(tmp_path: Path) -> None:
    made = make(tmp_path)
    good = made.verify()
    bad = made.verify(limits={"max_artifacts": 1})
    for report in (good, bad):
        for twin in (copy.copy(report), copy.deepcopy(report), pickle.loads(pickle.dumps(report))):
            assert twin == report
            assert hash(twin) == hash(report)
            assert twin.to_json() == report.to_json()
        assert json.loads(report.to_json()) == report.to_dict()
        # The members of the dict are in the order of their names, as in the JSON.
        text = json.dumps(report.to_dict(), separators=(",", ":")) + "\n"
        assert text.encode() == report.to_json()
    assert good != bad
    assert repr(good) == "<ClaimReport ok>"
    assert repr(bad).startswith("<ClaimReport INVALID_BUNDLE_SCHEMA at 5.2.2: ")
    with pytest.raises(cw.ClaimRejected) as info:
        bad.raise_for_error()
    problem = bad.error
    assert problem is not None
    assert (info.value.code, info.value.check) == (problem.code, problem.check)
    assert (info.value.exit_code, info.value.path) == (bad.exit_code, problem.path)
    for value in (problem, bad.checks[0]):
        assert pickle.loads(pickle.dumps(value)) == value
        assert hash(copy.copy(value)) == hash(value)
    with pytest.raises(AttributeError):
        good.ok = False  # type: ignore[misc]


@pytest.mark.parametrize("number", [0, -1, -(2**70)])
def test_the_error_for_a_number_that_is_too_small_has_the_least(number: int) -> None:
    with pytest.raises(ValueError, match="receipt_quorum must be 1 or more"):
        cw.verify_claim("nowhere", None, "nowhere", receipt_quorum=number)


def test_options_are_checked_before_files_are_read() -> None:
    def verify(**options: Any) -> cw.ClaimReport:
        return cw.verify_claim("nowhere", None, "nowhere", **options)

    assert code(verify()) == "BUNDLE_NOT_FOUND"
    for options, error in [
        ({"receipt_quorum": 0}, ValueError),
        ({"receipt_quorum": -1}, ValueError),
        ({"receipt_quorum": True}, TypeError),
        ({"receipt_quorum": "1"}, TypeError),
        ({"strict_trust": 1}, TypeError),
        ({"limits": {"max_depht": 1}}, ValueError),
        ({"limits": {"max_depth": -1}}, ValueError),
        ({"limits": {"max_depth": 1.0}}, TypeError),
        ({"limits": {"max_depth": True}}, TypeError),
        ({"limits": {1: 1}}, TypeError),
        ({"limits": 1}, TypeError),
        ({"progress": 1}, TypeError),
        ({"trust_policy": 1}, TypeError),
        ({"unknown": True}, TypeError),
    ]:
        with pytest.raises(error):
            verify(**options)
    with pytest.raises(TypeError):
        cw.verify_claim(None, None, None)  # type: ignore[arg-type]
