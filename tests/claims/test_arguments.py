"""Arguments of the claim functions: types, ranges, and errors that name the wrong one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import claims
from tests.strategies.claims import ITEMS, KEY, build, entry, make
from tests.strategies.twins import Twin


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"x"


def producers(tmp_path: Path) -> dict[str, Callable[..., Any]]:
    made = make(tmp_path / "made")
    receipt = made.receipts[0]
    return {
        "out_dir": lambda path: build(path),
        "folder": lambda path: claims.write_receipt(path, receipt),
        "bundle_dir": lambda path: claims.make_claim(made.manifest, path),
        "path": lambda path: claims.write_json(path, {}),
    }


@pytest.mark.parametrize("field", ["out_dir", "folder", "bundle_dir", "path"])
def test_a_path_is_a_str_or_path_like_everywhere(field: str, tmp_path: Path) -> None:
    call = producers(tmp_path)[field]
    for wrong, error, message in [
        (b"x", TypeError, f"{field} must be a str or path-like, not bytes (os.fsdecode it first)"),
        (BytesPath(), TypeError, f"{field} must be a str or path-like, not bytes"),
        (7, TypeError, f"{field} must be a str or path-like, not int"),
        (None, TypeError, f"{field} must be a str or path-like, not NoneType"),
        ("a\0b", cw.EncodeError, f"{field}: a path must not contain NUL"),
        ("\ud800", cw.EncodeError, f"{field}: lone surrogate at position 0 cannot be encoded"),
    ]:
        with pytest.raises(error) as info:
            call(wrong)
        assert str(info.value).startswith(message)
        assert type(info.value) is error


@pytest.mark.parametrize("size", [-1, 2**63, 2**70, -(2**70)])
def test_a_size_out_of_range_is_an_encode_error(size: int) -> None:
    with pytest.raises(cw.EncodeError, match="size: "):
        claims.estimate_tokens(size)


@pytest.mark.parametrize("size", [True, 1.0, "1", None])
def test_a_size_that_is_not_an_int_is_a_type_error(size: Any) -> None:
    with pytest.raises(TypeError, match="size must be an int"):
        claims.estimate_tokens(size)


class NoPairs(dict[str, Any]):
    def items(self) -> Any:
        return [1, 2]


def wrong_calls(tmp_path: Path) -> list[tuple[Callable[[], Any], type[Exception], str]]:
    made = make(tmp_path / "made")
    manifest, receipt = made.manifest, made.receipts[0]
    item = ITEMS[0]
    anything: Any = claims
    return [
        (lambda: build(tmp_path / "b", None), TypeError, "items must be an iterable of mappings"),
        (lambda: build(tmp_path / "b", "abc"), TypeError, "items must be an iterable of mappings"),
        (lambda: build(tmp_path / "b", [item, 7]), TypeError, "items[1] must be a mapping"),
        (
            lambda: build(tmp_path / "b", [NoPairs()]),
            TypeError,
            "an entry of items[0] must be a pair, not int",
        ),
        (lambda: build(tmp_path / "b", [{7: 7}]), TypeError, "a key of items[0] must be a str"),
        (
            lambda: build(tmp_path / "b", [{**item, "ref": "\ud800"}]),
            cw.UnsupportedValue,
            "items[0].ref: lone surrogate",
        ),
        (
            lambda: build(tmp_path / "b", [{**item, "kind": "\x1b[2J"}]),
            cw.EncodeError,
            "items[0]: kind must be 'symbol' or 'section', not \"\\u{1b}[2J\"",
        ),
        (
            lambda: anything.build_bundle(tmp_path / "b", 7, "", "", []),
            TypeError,
            "run_id must be a str, not int",
        ),
        (
            lambda: claims.build_bundle(tmp_path / "b", "r", "\udfff", "", []),
            cw.UnsupportedValue,
            "job_id: lone surrogate",
        ),
        (
            lambda: anything.make_claim(manifest, made.bundle, {"cas": 1}),
            TypeError,
            'components["cas"] must be a bool, not int',
        ),
        (
            lambda: anything.make_claim(manifest, made.bundle, ["cas"]),
            TypeError,
            "components must be a mapping of names to bool, not list",
        ),
        (
            lambda: claims.make_claim(manifest, made.bundle, notes="\ud800"),
            cw.UnsupportedValue,
            "notes: lone surrogate",
        ),
        (
            lambda: claims.sign_receipt(receipt, KEY, "\ud800"),
            cw.UnsupportedValue,
            "validator_id: lone surrogate",
        ),
        (
            lambda: claims.sign_receipt(receipt, KEY, ""),
            cw.ClaimRejected,
            "INVALID_RECEIPT_SCHEMA: it must have 1 to 256 characters (validator_id)",
        ),
        (
            lambda: claims.merkle_attestation([receipt], KEY, "v", "git:abc"),
            cw.ClaimRejected,
            "MERKLE_ATTESTATION_INVALID: expected git: and 7 to 40",
        ),
        (lambda: anything.sign_receipt(receipt, "x"), TypeError, "key must be a SigningKey (Sig"),
        (lambda: anything.sign_receipt(receipt, b"x" * 32), TypeError, "key must be a SigningKey"),
        (
            lambda: anything.merkle_attestation([receipt], KEY.public_key),
            TypeError,
            "key must be a SigningKey",
        ),
        (lambda: anything.sign_receipt(receipt, KEY, add=1), TypeError, "add must be a bool"),
        (lambda: anything.sign_receipt(receipt, KEY, replace=1), TypeError, "replace must be a"),
        (
            lambda: anything.write_receipt(tmp_path, receipt, replace=1),
            TypeError,
            "replace must be a bool",
        ),
        (lambda: anything.merkle_root([7]), TypeError, "hashes[0] must be a str, not int"),
        (lambda: anything.merkle_root("ab"), TypeError, "hashes must be an iterable of str"),
        (lambda: anything.make_trust_policy(7), TypeError, "entries must be an iterable of dict"),
        (
            lambda: claims.make_trust_policy([entry(KEY, "a", scope=[])]),
            cw.ClaimRejected,
            "INVALID_TRUST_POLICY_SCHEMA",
        ),
        (
            lambda: claims.sign_receipt({**receipt, Twin("run_id"): "run"}, KEY),
            cw.UnsupportedValue,
            'receipt: duplicate member "run_id"',
        ),
        (
            lambda: claims.write_json(tmp_path / "x", {Twin("a"): 1, Twin("a"): 2}),
            cw.UnsupportedValue,
            'value: duplicate member "a"',
        ),
        (
            lambda: build(tmp_path / "b", [{**item, Twin("text"): "another"}]),
            cw.EncodeError,
            'items[0]: duplicate member "text"',
        ),
        (
            lambda: claims.make_claim(manifest, made.bundle, {"cas": True, Twin("cas"): False}),
            cw.EncodeError,
            'components: duplicate member "cas"',
        ),
        (
            lambda: made.verify(limits={"max_depth": 1, Twin("max_depth"): 9}),
            cw.OptionError,
            'duplicate limit "max_depth"',
        ),
        (
            lambda: claims.make_claim(manifest, made.bundle, notes="x" * (17 << 20)),
            cw.ClaimRejected,
            "INVALID_CLAIM_SCHEMA: it has ",
        ),
    ]


def test_a_wrong_argument_is_named(tmp_path: Path) -> None:
    for call, error, message in wrong_calls(tmp_path):
        with pytest.raises(error) as info:
            call()
        assert type(info.value) is error
        assert str(info.value).startswith(message), str(info.value)


def test_a_receipt_too_large_to_verify_is_refused(tmp_path: Path) -> None:
    items = [{"kind": "section", "ref": f"{n}", "text": "x" * 40} for n in range(6000)]
    manifest = build(tmp_path / "b", items)
    with pytest.raises(cw.ClaimRejected, match="a verification reads at most 1048576"):
        claims.make_receipt(manifest)
