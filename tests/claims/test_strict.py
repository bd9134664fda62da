"""Claims with exaggerated savings, and the options that refuse them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactwire as cw
from compactwire import claims
from tests.strategies.claims import ITEMS, Made, both, code, free, load, make

STRONG = {
    "require_attestation",
    "strict_trust",
    "strict_identity",
    "require_merkle_attestation",
    "require_canonical",
    "require_symbol_refs",
}


def test_a_claim_of_free_artifacts_is_counted_and_refused_on_request(tmp_path: Path) -> None:
    made = free(tmp_path, [(f"fn:{number}", None) for number in range(40)])
    report = both(made)
    assert report.ok
    assert report.computed is not None
    assert (report.computed["compressed_tokens"], report.computed["artifact_count"]) == (4, 41)
    assert (report.free_artifacts, report.repeated_artifacts) == (40, 39)
    refused = both(made, require_symbol_refs=True)
    assert refused.error is not None
    assert (refused.error.check, refused.error.code) == ("5.7.2", "METRIC_MISMATCH")
    assert refused.error.message == (
        'the symbol "fn:0" costs nothing: its ref does not begin with @'
    )
    assert refused.error.path == made.manifest["artifacts"][1]["path"]
    assert (refused.computed, refused.free_artifacts) == (None, 40)


FREE: list[tuple[list[tuple[str, str | None]], int, str]] = [
    ([("fn:parse", None)], 1, "does not begin with @"),
    ([("", None)], 1, "does not begin with @"),
    ([(" @math:add", None)], 1, "does not begin with @"),
    ([("\uff20math:add", None)], 1, "does not begin with @"),
    ([("\u200b@math:add", None)], 1, "does not begin with @"),
    ([("@", None)], 1, "too short to count"),
    ([("@a", "1"), ("@a", "2"), ("@a", "3")], 3, "too short to count"),
    ([("@long", None), ("@long", None)], 0, "more than once with the same slice"),
    ([("@long", "x"), ("@long", "y"), ("@long", "x")], 0, "more than once with the same slice"),
]


@pytest.mark.parametrize(("symbols", "count", "message"), FREE, ids=lambda value: str(value)[:40])
def test_a_symbol_that_costs_nothing_is_refused(
    symbols: list[tuple[str, str | None]], count: int, message: str, tmp_path: Path
) -> None:
    # A symbol that counts keeps the claim above 0 tokens.
    made = free(tmp_path, [("@known", None), *symbols])
    report = both(made)
    assert report.ok
    assert report.free_artifacts == count
    assert report.repeated_artifacts == len(symbols)
    refused = both(made, require_symbol_refs=True)
    assert refused.error is not None
    assert (refused.error.check, refused.error.code) == ("5.7.2", "METRIC_MISMATCH")
    assert message in refused.error.message


def test_a_symbol_without_text_is_not_free(tmp_path: Path) -> None:
    made = free(tmp_path, [("@a", None), ("@b", None)], text="")
    report = both(made)
    assert (report.free_artifacts, report.repeated_artifacts) == (0, 0)
    assert both(made, require_symbol_refs=True)
    made = free(tmp_path / "other", [("plain", None)], text="")
    assert code(both(made, require_symbol_refs=True)) == "METRIC_MISMATCH"


@settings(max_examples=max(25, settings().max_examples // 20))
@given(
    symbols=st.lists(
        st.tuples(
            st.sampled_from(["@a", "@", "@ab", "@long:name", "plain", "@é", "＠ab", ""]),
            st.sampled_from([None, "", "none", "x"]),
        ),
        max_size=5,
    ),
    text=st.sampled_from(["", "x", "xyz", "word " * 20]),
)
def test_strict_counting_equals_the_reference(
    symbols: list[tuple[str, str | None]], text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = free(tmp_path_factory.mktemp("free"), symbols, text)
    for on in (False, True):
        both(made, require_symbol_refs=on)


@pytest.mark.parametrize("ref", ["fn:parse", "", " @a", "\uff20math"])
def test_producers_refuse_a_symbol_without_at(ref: str, tmp_path: Path) -> None:
    items = [ITEMS[0], {"kind": "symbol", "ref": ref, "text": "word " * 20}]
    with pytest.raises(cw.ClaimRejected, match="does not begin with @") as info:
        claims.build_bundle(tmp_path / "b", "run", "job", "message", items)
    assert info.value.code == "METRIC_MISMATCH"
    assert not (tmp_path / "b").exists()
    made = free(tmp_path / "made", [(ref, None)])
    for refuse in (
        lambda: claims.make_receipt(made.manifest),
        lambda: claims.make_claim(made.manifest, made.bundle),
    ):
        with pytest.raises(cw.ClaimRejected, match="does not begin with @"):
            refuse()


# strict


def test_strict_turns_every_requirement_on() -> None:
    options = set(inspect.signature(cw.verify_claim).parameters)
    requirements = {name for name in options if name.startswith(("require_", "strict_"))}
    assert requirements - {"require_verify_chain"} == STRONG


def test_strict_is_every_requirement_together(tmp_path: Path) -> None:
    made = make(tmp_path)
    strict, all_on = both(made, strict=True), both(made, **dict.fromkeys(STRONG, True))
    assert strict == all_on
    assert strict.ok
    assert [c.id for c in strict.checks if c.status == "skipped"] == ["5.5.7"]


def unsign(made: Made) -> None:
    made.write_receipts([{**receipt, "attestation": None} for receipt in made.receipts])


def indent(made: Made) -> None:
    made.claim.write_bytes(made.claim.read_bytes().replace(b",", b", ", 1))


def other_build(made: Made) -> None:
    policy = load(made.folder / "policy.json")
    policy["allow"][0]["build_id"] = "git:fffffff"
    claims.write_json(made.folder / "policy.json", policy)


def disabled(made: Made) -> None:
    policy = load(made.folder / "policy.json")
    policy["allow"][0]["enabled"] = False
    claims.write_json(made.folder / "policy.json", policy)


WEAK: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no signature": (unsign, {}, "ATTESTATION_MISSING"),
    "not canonical": (indent, {}, "INVALID_CLAIM_SCHEMA"),
    "another build": (other_build, {}, "BUILD_ID_MISMATCH"),
    "a disabled signer": (disabled, {}, "VALIDATOR_DISABLED"),
    "no policy": (None, {"trust_policy": None}, "INVALID_TRUST_POLICY_SCHEMA"),
    "no Merkle attestation": (None, {"merkle_attestation": None}, "ATTESTATION_MISSING"),
}


@pytest.mark.parametrize("name", WEAK)
def test_strict_refuses_each_weakness(name: str, tmp_path: Path) -> None:
    change, options, expected = WEAK[name]
    made = make(tmp_path)
    given_files = {n: v for n, v in made.options.items() if isinstance(v, Path)}
    made.options = {**given_files, **options}
    if change:
        change(made)
    assert both(made).ok
    assert code(both(made, strict=True)) == expected


def test_strict_refuses_options_that_contradict_it(tmp_path: Path) -> None:
    for name in ("require_verify_chain", "bind_receipts"):
        with pytest.raises(ValueError, match="bind_receipts must not be False"):
            cw.verify_claim(tmp_path, tmp_path, tmp_path, strict=True, **{name: False})
    with pytest.raises(TypeError):
        cw.verify_claim(tmp_path, tmp_path, tmp_path, strict=1)  # type: ignore[arg-type]
