"""Everything that the producer functions accept verifies with the strictest options."""

from __future__ import annotations

import copy
import json
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactwire as cw
from compactwire import claims
from tests.reference import claims as reference
from tests.strategies.claims import (
    BUILD,
    ITEMS,
    KEY,
    OTHER_KEY,
    Made,
    chain,
    code,
    entry,
    key,
    load,
    make,
)

THIRD_KEY = key(9)

Receipt = dict[str, Any]


def hashed(receipt: Receipt, **changes: Any) -> Receipt:
    """Change a receipt and recompute its hash."""
    receipt = {**receipt, "attestation": None, **changes}
    receipt["receipt_hash"] = reference.receipt_hash(receipt)
    return receipt


BROKEN_CHAINS: dict[str, tuple[Callable[[list[Receipt], list[Receipt]], list[Receipt]], str]] = {
    "a receipt twice": (lambda a, b: [a[0], a[0]], "RECEIPT_CHAIN_BROKEN (chain[1])"),
    "a receipt left out": (lambda a, b: [a[0], a[2]], "RECEIPT_CHAIN_BROKEN (chain[1])"),
    "the first left out": (lambda a, b: a[1:], "RECEIPT_CHAIN_BROKEN (chain[0])"),
    "backwards": (lambda a, b: a[::-1], "RECEIPT_CHAIN_BROKEN (chain[2])"),
    "of two runs": (lambda a, b: [a[0], b[1]], "RECEIPT_CHAIN_BROKEN (chain[1])"),
    "a wrong hash": (
        lambda a, b: [a[0], {**a[1], "outcome": "FAILURE"}],
        "RECEIPT_HASH_MISMATCH (chain[1]#/receipt_hash)",
    ),
    "a gap in the numbers": (
        lambda a, b: [a[0], hashed(a[1], receipt_index=2)],
        "RECEIPT_INDEX_GAP (chain[1])",
    ),
    "some without numbers": (
        lambda a, b: [a[0], hashed(a[1], receipt_index=None)],
        "RECEIPT_INDEX_GAP (chain[1])",
    ),
    "another parent": (
        lambda a, b: [a[0], hashed(a[1], parent_receipt_hash="0" * 64)],
        "RECEIPT_CHAIN_BROKEN (chain[1])",
    ),
    "two roots of one bundle": (
        lambda a, b: [a[0], hashed(a[1], root_hash="0" * 64)],
        "ROOT_HASH_MISMATCH (chain[1])",
    ),
    "no receipt": (lambda a, b: [a[0], {}], "INVALID_RECEIPT_SCHEMA (chain[1])"),
}


@pytest.mark.parametrize("name", BROKEN_CHAINS)
def test_an_invalid_chain_gets_no_merkle_attestation(name: str, tmp_path: Path) -> None:
    made, other = make(tmp_path / "a"), make(tmp_path / "b", run_id="other")
    change, expected = BROKEN_CHAINS[name]
    with pytest.raises(cw.ClaimRejected) as info:
        claims.merkle_attestation(change(made.receipts, other.receipts), KEY)
    assert f"{info.value.code} ({info.value.path})" == expected
    assert expected.partition("(")[2] in str(info.value)


def test_a_parent_without_a_next_index_is_refused(tmp_path: Path) -> None:
    made, other = make(tmp_path / "a"), make(tmp_path / "b", run_id="other")
    first = made.receipts[0]
    for parent, expected in [
        (other.receipts[0], "parent#/run_id"),
        (hashed(first, root_hash="0" * 64), "parent#/root_hash"),
        (hashed(first, receipt_index=1), "parent#/parent_receipt_hash"),
        (hashed(made.receipts[1], receipt_index=0), "parent#/parent_receipt_hash"),
        ({**first, "outcome": "FAILURE"}, "parent#/receipt_hash"),
        ({**first, "receipt_index": -1}, "parent#/receipt_index"),
    ]:
        with pytest.raises(cw.ClaimRejected) as info:
            claims.make_receipt(made.manifest, parent)
        assert info.value.path == expected
    with pytest.raises(cw.EncodeError, match="receipt_index"):
        claims.make_receipt(made.manifest, hashed(first, receipt_index=None))
    with pytest.raises(cw.ClaimRejected):
        claims.make_receipt(made.manifest, hashed(made.receipts[1], receipt_index=2**53 - 1))
    longest = claims.make_receipt(made.manifest, hashed(made.receipts[1], receipt_index=2**53 - 2))
    assert longest["receipt_index"] == 2**53 - 1


def test_another_bundle_of_the_same_run_may_follow(tmp_path: Path) -> None:
    made, other = make(tmp_path / "a", receipts=1), make(tmp_path / "b", items=ITEMS[:2])
    second = claims.make_receipt(other.manifest, made.receipts[0])
    assert second["receipt_index"] == 1
    assert claims.merkle_attestation([made.receipts[0], second], KEY)["receipt_count"] == 2


# Several signatures -------------------------------------------------------------------------------


def quorum(made: Made, receipts: list[Receipt], count: int) -> cw.ClaimReport:
    made.write_receipts(receipts)
    policy = [entry(KEY, "validator"), entry(OTHER_KEY, "other"), entry(THIRD_KEY, "a third")]
    claims.write_json(made.folder / "policy.json", claims.make_trust_policy(policy))
    return made.verify(receipt_quorum=count, require_merkle_attestation=False)


def test_a_chain_with_a_bad_signature_is_not_continued(tmp_path: Path) -> None:
    made = make(tmp_path)
    attestation = made.receipts[-1]["attestation"]
    bad = made.receipts[-1] | {"attestation": attestation | {"signature": "0" * 128}}
    with pytest.raises(cw.ClaimRejected, match=r"ATTESTATION_INVALID.*parent"):
        claims.make_receipt(made.manifest, bad)
    with pytest.raises(cw.ClaimRejected, match=r"ATTESTATION_INVALID.*chain\[2\]"):
        claims.merkle_attestation([*made.receipts[:-1], bad], KEY)


@pytest.mark.parametrize("run_id", ["", "r" * 201, "é" * 121, "a/b", "a\0"])
def test_a_run_id_too_long_for_file_names_is_refused(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(cw.EncodeError, match="run_id") as caught:
        claims.build_bundle(tmp_path / "out", run_id, "job", "message", ITEMS)
    assert caught.value.field == "run_id"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("run_id", ["r" * 200, "é" * 120])
def test_the_longest_run_id_names_its_receipts(run_id: str, tmp_path: Path) -> None:
    assert make(tmp_path, run_id=run_id).verify()


def test_a_second_signature_is_added_and_counts(tmp_path: Path) -> None:
    made = make(tmp_path)
    both = [claims.sign_receipt(r, OTHER_KEY, "other", BUILD, add=True) for r in made.receipts]
    three = [claims.sign_receipt(r, THIRD_KEY, "a third", BUILD, add=True) for r in both]
    assert [a["validator_id"] for a in three[0]["attestations"]] == [
        "a third",
        "other",
        "validator",
    ]
    assert three[0]["attestation"] is None
    assert [r["receipt_hash"] for r in three] == [r["receipt_hash"] for r in made.receipts]
    assert quorum(made, three, 3).signature_scopes == [["spec"] * 3] * 3
    assert code(quorum(made, both, 3)) == "ATTESTATION_MISSING"
    assert quorum(made, both, 2)
    # Without a quorum, all signatures must be valid.
    assert made.verify(require_merkle_attestation=False)


def test_the_order_of_signing_does_not_matter(tmp_path: Path) -> None:
    receipt = make(tmp_path, signed=False).receipts[0]
    names = {KEY: "b", OTHER_KEY: "a", THIRD_KEY: None}
    expected = None
    for keys in [(KEY, OTHER_KEY, THIRD_KEY), (THIRD_KEY, KEY, OTHER_KEY, KEY)]:
        signed = receipt
        for one in keys:
            signed = claims.sign_receipt(signed, one, names[one], add=True)
        assert signed == (expected or signed)
        expected = signed
    assert claims.sign_receipt(receipt, KEY, add=True) == claims.sign_receipt(receipt, KEY)


def test_a_second_signature_of_a_key_replaces_the_first_on_request(tmp_path: Path) -> None:
    receipt = make(tmp_path).receipts[0]
    renamed = claims.sign_receipt(receipt, KEY, "new name", add=True, replace=True)
    assert renamed["attestation"]["validator_id"] == "new name"
    assert "attestations" not in renamed
    both = claims.sign_receipt(renamed, OTHER_KEY, "other", add=True)
    again = claims.sign_receipt(both, KEY, "z", add=True, replace=True)
    assert [a["validator_id"] for a in again["attestations"]] == ["other", "z"]
    alone = claims.sign_receipt(both, OTHER_KEY, "alone", replace=True)
    assert alone["attestation"]["validator_id"] == "alone"
    assert "attestations" not in alone


def test_a_signature_is_not_lost_without_request(tmp_path: Path) -> None:
    receipt = make(tmp_path).receipts[0]
    both = claims.sign_receipt(receipt, OTHER_KEY, "other", add=True)
    taken = f'receipt: "{KEY.public_key[:40]}"… has signed it; keep that signature \\(add\\), or'
    renamed = "receipt: this key has signed it already, with another name, build or scope"
    for before, own, names, options, message in [
        (receipt, OTHER_KEY, ("other",), {}, taken),
        (both, OTHER_KEY, ("other",), {}, taken),
        (both, THIRD_KEY, (), {}, "has signed it; keep"),
        (receipt, KEY, ("new name", BUILD), {}, renamed),
        (receipt, KEY, ("validator", None), {}, renamed),
        (receipt, KEY, ("validator", BUILD, "reference"), {}, renamed),
        (both, KEY, ("new name",), {"add": True}, renamed),
    ]:
        with pytest.raises(cw.EncodeError, match=message):
            claims.sign_receipt(before, own, *names, **options)
        assert claims.sign_receipt(before, own, *names, **options, replace=True)
    # Signing again in the same way loses nothing.
    for options in ({}, {"add": True}):
        assert claims.sign_receipt(receipt, KEY, "validator", BUILD, **options) == receipt
    assert claims.sign_receipt(both, OTHER_KEY, "other", add=True) == both


def test_a_written_receipt_keeps_the_signatures_of_its_file(tmp_path: Path) -> None:
    made = make(tmp_path)
    folder, signed = made.folder / "receipts", made.receipts[0]
    bare = {**signed, "attestation": None}
    both = claims.sign_receipt(signed, OTHER_KEY, "other", add=True)
    other = hashed(bare, job_id="another")
    for lost in (bare, claims.sign_receipt(bare, OTHER_KEY), other):
        before = (folder / "run_00000000.json").read_bytes()
        with pytest.raises(FileExistsError, match="this file has a signature that"):
            claims.write_receipt(folder, lost)
        assert (folder / "run_00000000.json").read_bytes() == before
    for kept in (signed, both):
        assert load(Path(claims.write_receipt(folder, kept))) == kept
    assert load(Path(claims.write_receipt(folder, bare, replace=True))) == bare
    assert load(Path(claims.write_receipt(folder, other))) == other
    (folder / "run_00000000.json").write_bytes(b"no receipt")
    assert load(Path(claims.write_receipt(folder, signed))) == signed
    # With a larger limit, a verification accepts its signature.
    (folder / "run_00000000.json").write_bytes(json.dumps(signed).encode() + b" " * (2 << 20))
    with pytest.raises(FileExistsError, match="too large to be read"):
        claims.write_receipt(folder, bare)
    assert load(Path(claims.write_receipt(folder, bare, replace=True))) == bare


def test_of_two_signers_at_once_one_is_refused(tmp_path: Path) -> None:
    bare = {**make(tmp_path).receipts[0], "attestation": None}
    both = [claims.sign_receipt(bare, key, "me") for key in (KEY, OTHER_KEY)]
    with ThreadPoolExecutor(2) as pool:
        for at in range(400):
            folder, start = tmp_path / f"new{at}", threading.Barrier(2)

            def write(receipt: Any, folder: Path = folder, start: Any = start) -> bool:
                start.wait()
                try:
                    claims.write_receipt(folder, receipt)
                except FileExistsError:
                    return False
                return True

            assert sorted(pool.map(write, both)) == [False, True]
            (kept,) = folder.iterdir()
            assert load(kept) in both


def test_signatures_are_neither_dropped_silently_nor_kept_invalid(tmp_path: Path) -> None:
    receipt = make(tmp_path).receipts[0]
    both = claims.sign_receipt(receipt, OTHER_KEY, "other", BUILD, add=True)
    with pytest.raises(cw.EncodeError, match="has signed it; keep that signature"):
        claims.sign_receipt(both, KEY)
    bad = copy.deepcopy(both)
    bad["attestations"][1]["signature"] = "0" * 128
    for refuse in (
        lambda: claims.sign_receipt(bad, THIRD_KEY, add=True),
        lambda: claims.write_receipt(tmp_path / "other", bad),
    ):
        with pytest.raises(cw.ClaimRejected) as info:
            refuse()
        assert info.value.code == "ATTESTATION_INVALID"
        assert info.value.path == "receipt#/attestations/1"
    for change in (
        lambda r: r["attestations"].reverse(),
        lambda r: r["attestations"].append(r["attestations"][-1]),
        lambda r: r.update(attestation=r["attestations"][0]),
        lambda r: r["attestations"].clear(),
    ):
        bad = copy.deepcopy(both)
        change(bad)
        with pytest.raises(cw.ClaimRejected) as info:
            claims.sign_receipt(bad, THIRD_KEY, add=True)
        assert info.value.code == "INVALID_RECEIPT_SCHEMA"
    null = hashed(receipt, attestations=None)
    null = claims.sign_receipt(null, KEY, add=True)
    with pytest.raises(cw.EncodeError, match="can have only one"):
        claims.sign_receipt(null, OTHER_KEY, add=True)


def test_a_receipt_holds_64_signatures(tmp_path: Path) -> None:
    signed = make(tmp_path, signed=False).receipts[0]
    for number in range(64):
        signed = claims.sign_receipt(signed, key(number), add=True)
    with pytest.raises(cw.ClaimRejected):
        claims.sign_receipt(signed, key(64), add=True)


# Accepted input verifies --------------------------------------------------------------------


def mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw an unusual value once in 24 times, so that some examples have none."""
    return st.integers(0, 23).flatmap(lambda number: usual if number else odd)


odd_texts = st.sampled_from(
    [
        "",
        "\r\n",
        "\ud800",
        "ALL",
        " all\n",
        "/etc",
        "C:\\",
        "none",
        "file://x",
        "\x1b[2J\u202e",
        "\0",
    ]
)
names = mostly(
    st.sampled_from(["run", "a_b", "ß" * 20, ".", "..", "*", "한"]),
    st.sampled_from(["", "a/b", "x" * 201, "C:", "~/x", "\ud800", "a\0"]),
)
texts = mostly(
    st.text(max_size=12).filter(lambda text: not text.startswith(("/", "\\"))), odd_texts
)
items_of = st.fixed_dictionaries(
    {
        "kind": mostly(st.sampled_from(["symbol", "section"]), st.just("other")),
        "ref": mostly(st.sampled_from(["@a", "@b:c", "intro", "päper", "x y"]), texts),
        "text": mostly(st.text(min_size=1).map(lambda text: text * 20), odd_texts),
    },
    optional={"slice": st.none() | texts},
)
signers = st.fixed_dictionaries(
    {},
    optional={
        "validator_id": mostly(
            st.none() | st.sampled_from(["a", "b", "ß" * 256, "\x1b[2J"]),
            st.sampled_from(["", "x" * 257, "\ud800"]),
        ),
        "build_id": mostly(
            st.sampled_from([None, BUILD, "file:" + "0" * 16]), st.sampled_from(["git:XYZ", ""])
        ),
        "scope": st.sampled_from(["spec", "reference"]),
    },
)


@settings(max_examples=150, deadline=None)
@given(
    run_id=names,
    other=texts,
    items=st.lists(items_of, min_size=1, max_size=3),
    length=st.integers(1, 3),
    signed=st.lists(signers, min_size=1, max_size=3),
    components=st.none()
    | st.dictionaries(st.sampled_from(["cas", "symbol_lang", "f3"]), st.booleans()),
    notes=st.none() | texts,
)
def test_accepted_producer_input_verifies(
    run_id: str,
    other: str,
    items: list[Any],
    length: int,
    signed: list[dict[str, Any]],
    components: dict[str, bool] | None,
    notes: str | None,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            manifest = claims.build_bundle(folder / "bundle", run_id, other, other, items)
            claim = claims.make_claim(manifest, folder / "bundle", components, notes)
            receipts = chain(manifest, length)
            entries: dict[str, dict[str, Any]] = {}
            for number, signer in enumerate(signed):
                own = key(number + 1)
                receipts = [claims.sign_receipt(r, own, **signer, add=True) for r in receipts]
                known = entry(own, signer.get("validator_id") or f"nobody {number}")
                build = signer.get("build_id")
                known = {**known, "build_id": build} if build else {**known}
                if not build:
                    del known["build_id"]
                entries[known["validator_id"]] = known
            last = {k: v for k, v in signed[-1].items() if k != "scope"}
            merkle = claims.merkle_attestation(receipts, key(len(signed)), **last)
            policy = claims.make_trust_policy(entries.values())
            if len(entries) < len(signed):
                return
            for receipt in receipts:
                claims.write_receipt(folder / "receipts", receipt)
            for file, value in [("claim", claim), ("policy", policy), ("merkle", merkle)]:
                claims.write_json(folder / file, value)
        except (cw.CompactWireError, OSError):
            return
        for more in ({}, {"receipt_quorum": len(signed)}):
            report = cw.verify_claim(
                folder / "bundle",
                folder / "receipts",
                folder / "claim",
                trust_policy=folder / "policy",
                merkle_attestation=folder / "merkle",
                strict=True,
                **more,
            )
            if report.error is not None and report.error.check == "5.7.2":
                # The only thing that producers write and `strict` refuses: a ref such as "@a".
                assert any(
                    item["kind"] == "symbol" and len(item["ref"].encode()) < 3 for item in items
                )
            else:
                report.raise_for_error()


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | texts | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
any_step = st.fixed_dictionaries(
    {
        "ordinal": st.integers(-1, 2**53),
        "step_id": texts,
        "op": texts,
        "outcome": st.sampled_from(["SUCCESS", "FAILURE", "SKIPPED"]),
    },
    optional={"result": st.none() | st.dictionaries(texts, any_json, max_size=3)},
)
changes_of = st.fixed_dictionaries(
    {},
    optional={
        "receipt_version": texts,
        "job_id": texts,
        "plan_hash": texts,
        "outcome": st.sampled_from(["SUCCESS", "FAILURE", "FAILURE", "other"]),
        "steps": st.lists(any_step, max_size=2),
        "error": st.none() | st.fixed_dictionaries({"code": texts, "message": texts}),
        "attestations": st.none(),
    },
)
odd_changes = st.dictionaries(
    st.sampled_from(
        ["run_id", "receipt_index", "parent_receipt_hash", "attestation", "attestations", "more"]
    ),
    any_json,
    min_size=1,
    max_size=2,
)


@settings(max_examples=150, deadline=None)
@given(changes=changes_of, odd=mostly(st.just({}), odd_changes))
def test_a_receipt_with_random_members_is_refused_or_verifies(
    changes: dict[str, Any], odd: dict[str, Any]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        made = make(Path(name), receipts=1)
        try:
            receipt = hashed(made.receipts[0], **(changes | odd))
        except (ValueError, UnicodeError):
            # The reference cannot hash it either.
            return
        try:
            signed = claims.sign_receipt(receipt, KEY, "validator", BUILD)
            claims.write_receipt(Path(name) / "receipts", signed, replace=True)
            merkle = claims.merkle_attestation([signed], KEY, "validator", BUILD)
        except (cw.CompactWireError, TypeError):
            return
        claims.write_json(made.folder / "merkle.json", merkle)
        report = made.verify(bind_receipts=False)
        assert report.ok or "run_id" in odd, report
