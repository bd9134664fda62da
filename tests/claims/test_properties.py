"""A change in a true claim is detected, by the same check as in the reference verifier."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey as NaclKey
from nacl.signing import VerifyKey

import compactwire as cw
from compactwire import claims
from tests.reference import claims as reference
from tests.strategies.claims import (
    BUILD,
    KEY,
    MERKLE_KEY,
    OTHER_KEY,
    SEED,
    Made,
    both,
    code,
    entry,
    load,
    make,
)


@pytest.fixture(scope="module")
def true_claim(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("true"))


@pytest.fixture
def made(true_claim: Made, tmp_path: Path) -> Made:
    """A copy that the test may change."""
    folder = tmp_path / "copy"
    shutil.copytree(true_claim.folder, folder)
    moved = {
        name: folder / value.name if isinstance(value, Path) else value
        for name, value in true_claim.options.items()
    }
    return Made(
        folder, copy.deepcopy(true_claim.manifest), copy.deepcopy(true_claim.receipts), moved
    )


def positions(size: int) -> list[int]:
    """Every byte in the long profile, a few of each file in the quick one."""
    if settings().max_examples > 1000:
        return list(range(size))
    return sorted(random.Random(size).sample(range(size), min(size, 40)))


FILES = [
    "claim.json",
    "bundle/bundle.json",
    "policy.json",
    "merkle.json",
    *(f"receipts/run_{number:08}.json" for number in range(3)),
    *(f"artifact {number}" for number in range(3)),
]


def path_of(made: Made, name: str) -> Path:
    if name.startswith("artifact"):
        return sorted((made.bundle / "artifacts").iterdir())[int(name[-1])]
    return made.folder / name


def only_the_case_of_a_key_or_signature(before: bytes, after: bytes) -> bool:
    """Whether two files differ only in the case of hexadecimal digits, which is allowed."""

    def folded(data: bytes) -> bytes:
        quoted = rb'"(public_key|signature)":"([0-9a-fA-F]+)"'
        return re.sub(quoted, lambda match: match[0].lower(), data)

    return folded(before) == folded(after)


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_byte_fails_at_the_check_of_the_reference(name: str, made: Made) -> None:
    path = path_of(made, name)
    whole = path.read_bytes()
    for at in positions(len(whole)):
        for mask in (1, 1 << random.Random(at).randrange(1, 8)):
            changed = whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :]
            path.write_bytes(changed)
            report = both(made, require_canonical=True)
            assert not report or only_the_case_of_a_key_or_signature(whole, changed), (at, mask)
        path.write_bytes(whole[:at] + whole[at + 1 :])
        assert not both(made, require_canonical=True), ("without", at)
    path.write_bytes(whole)
    assert both(made, require_canonical=True)


@pytest.mark.parametrize("name", FILES)
def test_every_prefix_of_a_file_fails(name: str, made: Made) -> None:
    path = path_of(made, name)
    whole = path.read_bytes()
    for length in positions(len(whole) - 1):
        path.write_bytes(whole[:length])
        assert not both(made), length


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_fails(name: str, made: Made) -> None:
    path = path_of(made, name)
    path.unlink()
    assert not both(made)


def values(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from values(value[name], (*path, name))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from values(value[index], (*path, index))


REPLACEMENTS: list[Any] = [
    None, True, False, 0, 1, -1, 2**53 - 1, 2**53, 10**30, 1.0, 0.5, "", "x", "/etc", "~/x",
    "a" * 64, "A" * 64, "a" * 64 + "\n", [], {}, ["x"], {"x": 1}, {"os": 1}, "all",
    "timestamp", "ok\u0000",
]  # fmt: skip


@settings(max_examples=max(60, settings().max_examples // 5))
@given(data=st.data())
def test_a_changed_value_has_the_verdict_of_the_reference(
    data: st.DataObject, true_claim: Made
) -> None:
    """Ids and hashes are recomputed, so that later checks are reached too."""
    folder = true_claim.folder.parent / "changed"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(true_claim.folder, folder)
    made = Made(
        folder,
        {},
        [],
        {n: folder / v.name if isinstance(v, Path) else v for n, v in true_claim.options.items()},
    )
    for _ in range(data.draw(st.integers(1, 2))):
        name = data.draw(st.sampled_from(
            ["claim.json", "bundle/bundle.json", "policy.json", "merkle.json",
             "receipts/run_00000000.json", "receipts/run_00000001.json"]
        ))  # fmt: skip
        value = load(folder / name)
        change(data, value)
        if data.draw(st.booleans()):
            mend(name, value)
        (folder / name).write_bytes(reference.canon(value) + b"\n")
    options = data.draw(
        st.fixed_dictionaries(
            {
                "strict_identity": st.booleans(),
                "strict_trust": st.booleans(),
                "require_attestation": st.booleans(),
                "require_merkle_attestation": st.booleans(),
                "bind_receipts": st.booleans(),
                "require_verify_chain": st.booleans(),
                "require_symbol_refs": st.booleans(),
                "receipt_quorum": st.sampled_from([None, None, 1, 2]),
            }
        )
    )
    both(made, **options)


def change(data: st.DataObject, value: Any) -> None:
    path = data.draw(st.sampled_from([path for path in values(value) if path]))
    parent = value
    for step in path[:-1]:
        parent = parent[step]
    if isinstance(parent, dict) and data.draw(st.booleans()):
        del parent[path[-1]]
    elif isinstance(parent, dict) and data.draw(st.booleans()):
        parent[data.draw(st.sampled_from(["os", "OS", "more", "notes", "validator_id"]))] = "x"
    else:
        parent[path[-1]] = data.draw(st.sampled_from(REPLACEMENTS))


def mend(name: str, value: dict[str, Any]) -> None:
    if name == "claim.json":
        claim = reference.without(value, "claim_hash")
        value["claim_hash"] = reference.sha256(reference.canon(claim) + b"\n")
    elif name.startswith("receipts"):
        value["receipt_hash"] = reference.receipt_hash({"receipt_hash": "", **value})
    elif name.startswith("bundle") and isinstance(value.get("hashes"), dict):
        hashes = value["hashes"] | {"root_hash": ""}
        value["bundle_id"] = reference.sha256(
            reference.canon(value | {"bundle_id": "", "hashes": hashes})
        )


# Receipts

Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]

CHANGES: dict[str, tuple[Change, str]] = {
    "the first is removed": (lambda r: r[1:], "RECEIPT_CHAIN_BROKEN"),
    "the middle is removed": (lambda r: [r[0], r[2]], "RECEIPT_CHAIN_BROKEN"),
    "all are removed": (lambda r: [], "MISSING_RECEIPTS"),
    "one is there twice": (lambda r: [*r, r[1]], "RECEIPT_CHAIN_BROKEN"),
    "numbers are swapped": (
        lambda r: [r[0], {**r[1], "receipt_index": 2}, {**r[2], "receipt_index": 1}],
        "RECEIPT_CHAIN_BROKEN",
    ),
    "a number is missing": (
        lambda r: [r[0], {**r[1], "receipt_index": None}, r[2]],
        "RECEIPT_INDEX_GAP",
    ),
    "a number comes twice": (
        lambda r: [r[0], {**r[1], "receipt_index": 0}, r[2]],
        "RECEIPT_INDEX_GAP",
    ),
    "a number is far": (
        lambda r: [r[0], r[1], {**r[2], "receipt_index": 2**53 - 1}],
        "RECEIPT_HASH_MISMATCH",
    ),
    "the content differs": (
        lambda r: [r[0], {**r[1], "outcome": "FAILURE"}, r[2]],
        "RECEIPT_HASH_MISMATCH",
    ),
    "an attestation is stripped": (
        lambda r: [r[0], {**r[1], "attestation": None}, r[2]],
        "ATTESTATION_MISSING",
    ),
    "attestations are swapped": (
        lambda r: [
            r[0], {**r[1], "attestation": r[2]["attestation"]},
            {**r[2], "attestation": r[1]["attestation"]},
        ],
        "ATTESTATION_INVALID",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_chain_fails(name: str, made: Made) -> None:
    change, expected = CHANGES[name]
    made.write_receipts(change(made.receipts))
    assert code(both(made)) == expected


def test_a_missing_last_receipt_fails_the_merkle_attestation(made: Made) -> None:
    made.write_receipts(made.receipts[:-1])
    assert code(both(made)) == "MERKLE_ROOT_MISMATCH"
    # Nothing else records the length of the chain.
    assert both(made, require_merkle_attestation=False)


def test_the_order_of_files_does_not_matter(made: Made) -> None:
    before = made.verify().to_json()
    made.write_receipts(made.receipts[::-1])
    assert both(made).to_json() == before


def test_receipts_of_another_run_are_refused(made: Made, tmp_path: Path) -> None:
    other = make(tmp_path / "other", run_id="other")
    made.write_receipts(other.receipts)
    assert code(both(made)) == "MISSING_RECEIPTS"
    renamed = [{**receipt, "run_id": "run"} for receipt in other.receipts]
    made.write_receipts(renamed)
    assert code(both(made)) == "RECEIPT_HASH_MISMATCH"


def test_receipts_of_another_bundle_are_refused(made: Made, tmp_path: Path) -> None:
    items = [{"kind": "section", "ref": "other", "text": "other words " * 30}]
    other = make(tmp_path / "other", items=items)
    made.write_receipts(other.receipts)
    assert code(both(made)) == "BUNDLE_ID_MISMATCH"
    assert (report := both(made)).error is not None
    assert report.error.check == "5.4.6"


# Known weak points


def resign(made: Made, key: claims.SigningKey, name: str | None, build: str | None = BUILD) -> None:
    made.write_receipts(
        [claims.sign_receipt(r, key, name, build, replace=True) for r in made.receipts]
    )


def test_another_key_under_a_trusted_name_fails(made: Made) -> None:
    resign(made, OTHER_KEY, "validator")
    report = both(made)
    assert report.error is not None
    assert (report.error.code, report.error.check) == ("ATTESTATION_INVALID", "5.5.3")
    assert both(made, strict_trust=False, strict_identity=False)


def test_a_trusted_key_under_an_unknown_name_fails(made: Made) -> None:
    resign(made, KEY, "Validator")
    assert code(both(made)) == "VALIDATOR_NOT_FOUND"
    resign(made, KEY, None)
    assert both(made)


def test_a_trusted_key_of_another_scope_fails(made: Made) -> None:
    policy = [entry(KEY, "validator", scope=["MERKLE"]), entry(MERKLE_KEY, "merkle")]
    claims.write_json(made.folder / "policy.json", claims.make_trust_policy(policy))
    assert code(both(made)) == "SCOPE_MISMATCH"
    policy = [entry(KEY, "validator", enabled=False), entry(MERKLE_KEY, "merkle")]
    claims.write_json(made.folder / "policy.json", claims.make_trust_policy(policy))
    assert code(both(made)) == "VALIDATOR_DISABLED"


@pytest.mark.parametrize("build", [None, "git:0a1b2c3", "git:0a1b2c3d4"])
def test_another_build_fails_only_with_strict_identity(build: str | None, made: Made) -> None:
    resign(made, KEY, "validator", build)
    assert code(both(made)) == "BUILD_ID_MISMATCH"
    assert both(made, strict_identity=False)


SMALL_ORDER = [
    "00" * 32,
    "01" + "00" * 31,
    "ec" + "ff" * 30 + "7f",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
]


@pytest.mark.parametrize("key", SMALL_ORDER)
def test_a_key_of_small_order_is_refused(key: str, made: Made) -> None:
    """Unless small orders are refused, R = A and S = 0 verifies for many messages."""
    for receipt in made.receipts:
        receipt["attestation"] |= {"public_key": key, "signature": key + "00" * 32}
    made.write_receipts(made.receipts)
    options = {"strict_trust": False, "strict_identity": False}
    assert code(both(made, **options)) == "ATTESTATION_INVALID"


ORDER = 2**252 + 27742317777372353535851937790883648493


def test_a_signature_that_only_lax_verification_accepts_is_refused(made: Made) -> None:
    """R is the identity and S is k times the secret: S B = R + k A holds for every message."""
    digest = bytearray(hashlib.sha512(SEED).digest()[:32])
    digest[0] &= 248
    digest[31] = digest[31] & 63 | 64
    secret = int.from_bytes(digest, "little")
    for receipt in made.receipts:
        attestation = receipt["attestation"]
        key, neutral = bytes.fromhex(attestation["public_key"]), b"\1" + bytes(31)
        message = reference.signed_message(receipt, attestation, "spec")
        hashed = hashlib.sha512(neutral + key + message).digest()
        scalar = int.from_bytes(hashed, "little") % ORDER * secret % ORDER
        attestation["signature"] = (neutral + scalar.to_bytes(32, "little")).hex()
    made.write_receipts(made.receipts)
    assert code(both(made)) == "ATTESTATION_INVALID"


def test_a_signature_has_one_accepted_encoding(made: Made) -> None:
    first = made.receipts[0]["attestation"]
    signature = bytes.fromhex(first["signature"])
    scalar = int.from_bytes(signature[32:], "little") + ORDER
    first["signature"] = (signature[:32] + scalar.to_bytes(32, "little")).hex()
    made.write_receipts(made.receipts)
    assert code(both(made)) == "ATTESTATION_INVALID"


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("claim.json", b'"claim_version":', b'"claim_version":"1.0.0","claim_version":', "CLAIM"),
        ("claim.json", b'"run_id":', b'"run_id":"run","\\u0072un_id":', "CLAIM"),
        ("claim.json", b'"artifact_count":3', b'"artifact_count":3.0', "CLAIM"),
        ("claim.json", b'"artifact_count":3', b'"artifact_count":3e0', "CLAIM"),
        ("claim.json", b'"artifact_count":3', b'"artifact_count":03', "CLAIM"),
        ("claim.json", b"{", b"\xef\xbb\xbf{", "CLAIM"),
        ("claim.json", b"\n", b"\n{}", "CLAIM"),
        ("bundle/bundle.json", b'"ordinal":1,', b'"ordinal":1.0,', "BUNDLE"),
        ("bundle/bundle.json", b'"ordinal":1,', b'"ordinal":true,', "BUNDLE"),
        ("bundle/bundle.json", b'"refs":{', b'"refs":{"x":NaN,', "BUNDLE"),
        ("bundle/bundle.json", b'"refs":{', b'"refs":{"x":1e400,', "BUNDLE"),
        ("bundle/bundle.json", b'"refs":{', b'"refs":{"x":"\\ud800",', "BUNDLE"),
        ("receipts/run_00000000.json", b'"receipt_index":0', b'"receipt_index":0.0', "RECEIPT"),
        ("receipts/run_00000000.json", b'"receipt_index":0', b'"receipt_index":false', "RECEIPT"),
        ("policy.json", b'"enabled":true', b'"enabled":true,"enabled":true', "TRUST_POLICY"),
    ],
)
def test_ambiguous_json_is_refused(
    name: str, old: bytes, new: bytes, expected: str, made: Made
) -> None:
    path = made.folder / name
    whole = path.read_bytes()
    assert old in whole
    path.write_bytes(whole.replace(old, new, 1))
    assert code(both(made)) == f"INVALID_{expected}_SCHEMA"


def test_a_number_in_another_spelling_is_the_same_number(made: Made) -> None:
    claim = load(made.claim)
    ratio = claim["reported_metrics"]["compression_ratio"]
    text = made.claim.read_text()
    spelled = f"{ratio * 10!r}e-1"
    if float(spelled) == ratio:
        made.claim.write_text(text.replace(repr(ratio), spelled))
        assert both(made)
        assert code(both(made, require_canonical=True)) == "INVALID_CLAIM_SCHEMA"


# Other libraries

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(2**70), 2**70),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_canonical_json_equals_the_standard_library(value: object) -> None:
    theirs = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    assert claims.canonical_json(value) == theirs
    assert claims.parse_json(theirs) == value
    assert claims.canonical_json(claims.parse_json(json.dumps(value, indent=1))) == theirs


@given(st.binary(min_size=8, max_size=8))
def test_doubles_are_written_like_the_standard_library(bits: bytes) -> None:
    import struct

    (value,) = struct.unpack("<d", bits)
    if value == value and abs(value) != float("inf"):
        assert claims.canonical_json(value) == json.dumps(value).encode()


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_json_is_read_like_the_reference(data: bytes) -> None:
    def outcome(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except (cw.EncodeError, reference.Misfit):
            return "refused"

    ours = outcome(lambda: claims.parse_json(data))
    assert ours == outcome(lambda: reference.parse(data, reference.LIMITS, canonical=False))


@given(st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=70))
def test_merkle_roots_equal_hashlib(leaves: list[bytes]) -> None:
    level = leaves
    while len(level) > 1:
        level = [*level, level[-1]] if len(level) % 2 else level
        level = [
            hashlib.sha256(level[at] + level[at + 1]).digest() for at in range(0, len(level), 2)
        ]
    assert claims.merkle_root([leaf.hex() for leaf in leaves]) == level[0].hex()


@settings(max_examples=max(40, settings().max_examples // 10))
@given(seed=st.binary(min_size=32, max_size=32), notes=st.text(max_size=20), signs=st.booleans())
def test_signatures_agree_with_another_library(
    seed: bytes, notes: str, signs: bool, true_claim: Made
) -> None:
    receipt = {**true_claim.receipts[0], "attestation": None}
    name = notes or None
    ours_key = claims.SigningKey.from_seed(seed)
    signed = claims.sign_receipt(receipt, ours_key, name, None)
    attestation = signed["attestation"]
    theirs = NaclKey(seed)
    assert attestation["public_key"] == bytes(theirs.verify_key).hex()
    for scope in ("spec", "reference"):
        message = reference.signed_message(receipt, attestation, scope)
        ours = claims.sign_receipt(receipt, ours_key, name, None, scope)["attestation"]["signature"]
        assert ours == theirs.sign(message).signature.hex()
        VerifyKey(bytes(theirs.verify_key)).verify(message, bytes.fromhex(ours))
        with pytest.raises(BadSignatureError):
            theirs.verify_key.verify(message + b"x", bytes.fromhex(ours))


def test_hashes_equal_hashlib(true_claim: Made) -> None:
    for artifact in true_claim.manifest["artifacts"]:
        data = (true_claim.bundle / artifact["path"]).read_bytes()
        assert artifact["sha256"] == hashlib.sha256(data).hexdigest()
        assert artifact["bytes"] == len(data)
    for receipt in true_claim.receipts:
        assert receipt["receipt_hash"] == reference.receipt_hash(receipt)
