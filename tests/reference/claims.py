"""A simple verifier of compression claims, with hashlib, json and PyNaCl.

Written from the specification alone, with the choices in `docs/design.md`: slow, simple, and
independent of compactwire. ``verify`` takes the same arguments and returns the report as a dict,
without message and path.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

MOST = 2**53 - 1
LIMITS = {
    "max_json_bytes": 16 << 20,
    "max_receipt_bytes": 1 << 20,
    "max_depth": 128,
    "max_int_digits": 4300,
    "max_steps": 100_000,
    "max_artifacts": 100_000,
    "max_artifact_bytes": 64 << 20,
    "max_total_bytes": 1 << 30,
    "max_receipts": 200_000,
}
FORBIDDEN = [
    "timestamp",
    "created_at",
    "updated_at",
    "started_at",
    "finished_at",
    "generated_at",
    "mtime",
    "ctime",
    "cwd",
    "hostname",
    "os",
    "locale",
]
CHECKS = [
    "5.1.1",
    "5.1.2",
    "5.1.3",
    "5.1.4",
    "5.2.1",
    "5.2.2",
    "5.2.3",
    "5.2.4",
    "5.3.1",
    "5.3.2",
    "5.3.3",
    "5.3.4",
    "5.3.5",
    "5.3.6",
    "5.3.7",
    "5.4.1",
    "5.4.2",
    "5.4.3",
    "5.4.4",
    "5.4.5",
    "5.4.6",
    "5.5.1",
    "5.5.2",
    "5.5.3",
    "5.5.4",
    "5.5.5",
    "5.5.6",
    "5.5.7",
    "5.6.0",
    "5.6.1",
    "5.6.2",
    "5.6.3",
    "5.6.4",
    "5.6.5",
    "5.6.6",
    "5.7.1",
    "5.7.2",
    "5.7.3",
    "5.7.4",
    "5.8.1",
    "5.8.2",
    "5.8.3",
    "5.8.4",
    "5.8.5",
]
EXIT_2 = {
    "BUNDLE_NOT_FOUND", "INVALID_BUNDLE_SCHEMA", "INVALID_CLAIM_SCHEMA", "INVALID_RECEIPT_SCHEMA",
    "INVALID_TRUST_POLICY_SCHEMA", "MISSING_RECEIPTS",
}  # fmt: skip


class Refused(Exception):
    """A check failed with this code."""


class Misfit(Exception):
    """A file is invalid."""


def need(condition: object, code: str) -> None:
    if not condition:
        raise Refused(code)


# Canonical JSON and its strict reader


def canon(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def without(mapping: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name not in names}


def require(condition: object) -> None:
    if not condition:
        raise Misfit


def parse(data: bytes, limits: dict[str, int], canonical: bool) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        require(len({name for name, _ in pairs}) == len(pairs))
        return dict(pairs)

    def integer(token: str) -> int:
        require(len(token.lstrip("-")) <= limits["max_int_digits"])
        return int(token)

    def number(token: str) -> float:
        require(math.isfinite(float(token)))
        return float(token)

    def constant(_token: str) -> Any:
        raise Misfit

    try:
        text = data.decode()
        depth = 0
        for mark in re.findall(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', text, re.DOTALL):
            depth += (mark in "[{") - (mark in "]}")
            require(depth <= limits["max_depth"])
        value = json.loads(
            text,
            object_pairs_hook=unique,
            parse_int=integer,
            parse_float=number,
            parse_constant=constant,
        )
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError as error:
        raise Misfit from error
    require(not canonical or data == canon(value) + b"\n")
    return value


# Schemas, as small functions

Rule = Callable[[Any], None]


def text(least: int = 0, most: float = math.inf, pattern: str | None = None) -> Rule:
    def rule(value: Any) -> None:
        require(isinstance(value, str) and least <= len(value) <= most)
        require(pattern is None or re.fullmatch(pattern, value))

    return rule


def whole(value: Any) -> None:
    require(type(value) is int and 0 <= value <= MOST)


def boolean(value: Any) -> None:
    require(type(value) is bool)


def between(low: float, high: float, *, open_low: bool = False) -> Rule:
    def rule(value: Any) -> None:
        require(type(value) in (int, float) and low <= value <= high)
        require(not open_low or value > low)

    return rule


def one_of(*choices: Any) -> Rule:
    def rule(value: Any) -> None:
        require(any(type(value) is type(choice) and value == choice for choice in choices))

    return rule


def free(value: Any) -> None:
    require(isinstance(value, dict))


def maybe(rule: Rule) -> Rule:
    return lambda value: None if value is None else rule(value)


def array(rule: Rule, least: int = 0, most: float = math.inf) -> Rule:
    def check(value: Any) -> None:
        require(isinstance(value, list) and least <= len(value) <= most)
        for element in value:
            rule(element)

    return check


def closed(
    required: dict[str, Rule], optional: dict[str, Rule] | None = None, *, passing: Any = ()
) -> Rule:
    """``passing`` are names that may be present with any value."""

    def check(value: Any) -> None:
        require(isinstance(value, dict) and required.keys() <= value.keys())
        rules = required | (optional or {})
        for name, member in value.items():
            if name in rules:
                rules[name](member)
            else:
                require(name in passing)

    return check


HEX64 = text(pattern="[0-9a-f]{64}")
ANY_HEX64 = text(pattern="[0-9a-fA-F]{64}")
STRING = text()
BUILD_ID = text(pattern="git:[0-9a-f]{7,40}|file:[0-9a-f]{16,64}")
SIGNER = {"validator_id": text(1, 256), "build_id": BUILD_ID}

STEP = closed(
    {"step_id": STRING, "ordinal": whole, "op": one_of("READ_SYMBOL", "READ_SECTION")},
    {"refs": free, "constraints": free, "expected_outputs": free},
    passing=FORBIDDEN,
)
ARTIFACT = closed(
    {
        "artifact_id": text(1, 128, "[A-Za-z0-9][A-Za-z0-9._-]*"),
        "kind": one_of("SYMBOL_SLICE", "SECTION_SLICE"),
        "ref": STRING,
        "slice": maybe(STRING),
        "path": text(1, 1024),
        "sha256": HEX64,
        "bytes": whole,
    },
    passing=FORBIDDEN,
)
BUNDLE = closed(
    {
        "bundle_version": text(1, 64),
        "bundle_id": HEX64,
        "run_id": text(1, 200),
        "job_id": STRING,
        "message_id": STRING,
        "plan_hash": STRING,
        "steps": array(STEP),
        "inputs": closed(
            {}, dict.fromkeys(("symbols", "files", "slices"), array(STRING)), passing=FORBIDDEN
        ),
        "artifacts": array(ARTIFACT),
        "hashes": closed({"root_hash": HEX64}, passing=FORBIDDEN),
        "provenance": closed({}, passing=FORBIDDEN),
    },
    passing=FORBIDDEN,
)
RESULTS = closed(
    {"tasks_passed": whole, "tasks_failed": whole, "success_rate": between(0, 1)},
)
CLAIM = closed(
    {
        "claim_version": one_of("1.0.0"),
        "run_id": text(1, 200),
        "bundle_id": HEX64,
        "components": array(
            closed(
                {"name": one_of("vector_db_only", "symbol_lang", "f3", "cas"), "included": boolean}
            ),
            1,
        ),
        "reported_metrics": closed(
            {
                "compression_ratio": between(0, 1, open_low=True),
                "uncompressed_tokens": whole,
                "compressed_tokens": whole,
                "artifact_count": whole,
                "total_bytes": whole,
            },
            dict.fromkeys(
                ("vector_db_tokens", "symbol_lang_tokens", "cas_tokens", "f3_tokens"), whole
            ),
        ),
        "claim_hash": HEX64,
    },
    {
        "notes": STRING,
        "task_performance": closed(
            {},
            {
                "benchmark_version": text(0, 64, r"[0-9]+\.[0-9]+\.[0-9]+"),
                "tasks_run": whole,
                "baseline_results": RESULTS,
                "compressed_results": RESULTS,
                "parity_achieved": boolean,
                "task_details": array(
                    closed(
                        {
                            "task_id": STRING,
                            "task_type": one_of(
                                "code_compiles", "tests_pass", "bugs_found", "semantic_match"
                            ),
                            "baseline_passed": boolean,
                            "compressed_passed": boolean,
                        },
                        {"tokens_used_baseline": whole, "tokens_used_compressed": whole},
                    )
                ),
            },
        ),
    },
)
ATTESTATION = closed({"scheme": STRING, "public_key": STRING, "signature": STRING}, SIGNER)
RECEIPT = closed(
    {
        "receipt_version": STRING,
        "run_id": text(1, 200),
        "job_id": STRING,
        "bundle_id": HEX64,
        "plan_hash": STRING,
        "executor_version": STRING,
        "outcome": one_of("SUCCESS", "FAILURE"),
        "error": maybe(closed({"code": STRING, "message": STRING}, {"step_id": maybe(STRING)})),
        "steps": array(
            closed(
                {
                    "ordinal": whole,
                    "step_id": STRING,
                    "op": STRING,
                    "outcome": one_of("SUCCESS", "FAILURE", "SKIPPED"),
                },
                {
                    "result": maybe(free),
                    "error": maybe(closed({}, {"code": STRING, "message": STRING})),
                },
            )
        ),
        "artifacts": array(closed({"artifact_id": STRING, "sha256": HEX64, "bytes": whole})),
        "root_hash": HEX64,
        "parent_receipt_hash": maybe(HEX64),
        "receipt_hash": HEX64,
        "attestation": maybe(ATTESTATION),
        "receipt_index": maybe(whole),
    },
    {"attestations": maybe(array(ATTESTATION, 1, 64))},
)
ENTRY = closed(
    {
        "validator_id": text(1, 256),
        "public_key": ANY_HEX64,
        "schemes": array(STRING, 1),
        "scope": array(one_of("RECEIPT", "MERKLE"), 1),
        "enabled": boolean,
    },
    {"build_id": BUILD_ID},
)
POLICY = closed({"policy_version": one_of("1.0.0"), "allow": array(ENTRY, 0, 10000)})
MERKLE = closed(
    {
        "scheme": one_of("ed25519"),
        "merkle_root": HEX64,
        "public_key": ANY_HEX64,
        "signature": text(pattern="[0-9a-fA-F]{128}"),
    },
    {
        **SIGNER,
        "run_id": STRING,
        "job_id": STRING,
        "bundle_id": STRING,
        "receipt_count": whole,
        "receipt_chain_head_hash": HEX64,
    },
)


# Rules beyond the schemas


def ascending(keys: list[Any], *, strictly: bool = True) -> bool:
    pairs = itertools.pairwise(keys)
    return all(a < b if strictly else a <= b for a, b in pairs)


def check_claim(claim: Any) -> None:
    CLAIM(claim)
    names = [component["name"] for component in claim["components"]]
    require(len(set(names)) == len(names))
    for component in claim["components"]:
        member = TOKENS.get(component["name"])
        require(not component["included"] or not member or member in claim["reported_metrics"])
    require(claim["claim_hash"] == sha256(canon(without(claim, "claim_hash")) + b"\n"))


TOKENS = {
    "vector_db_only": "vector_db_tokens",
    "symbol_lang": "symbol_lang_tokens",
    "cas": "cas_tokens",
}


def check_manifest(manifest: Any, limits: dict[str, int]) -> None:
    BUNDLE(manifest)
    steps, artifacts = manifest["steps"], manifest["artifacts"]
    for step in steps:
        for name in ("symbol_id", "section_id"):
            require(isinstance(step.get("refs", {}).get(name, ""), str))
        require(isinstance(step.get("constraints", {}).get("slice"), str | None))
    require(len(steps) <= limits["max_steps"] and len(artifacts) <= limits["max_artifacts"])
    require(ascending([(step["ordinal"], step["step_id"]) for step in steps]))
    require(len({step["step_id"] for step in steps}) == len(steps))
    require(ascending([artifact["artifact_id"] for artifact in artifacts]))
    paths = {re.sub("[A-Z]", lambda m: m[0].lower(), a["path"]) for a in artifacts}
    require(len(paths) == len(artifacts))
    sizes = [artifact["bytes"] for artifact in artifacts]
    require(all(size <= limits["max_artifact_bytes"] for size in sizes))
    require(sum(sizes) <= limits["max_total_bytes"])
    for listed in manifest["inputs"].values():
        if isinstance(listed, list):
            require(ascending([x for x in listed if isinstance(x, str)], strictly=False))


def lower(digits: str) -> str:
    return re.sub("[A-Z]", lambda match: match[0].lower(), digits)


def check_receipt(receipt: Any) -> None:
    RECEIPT(receipt)
    several = receipt.get("attestations")
    if several is not None:
        require(receipt["attestation"] is None)
        keys = [
            (a.get("validator_id", ""), lower(a["public_key"]), a.get("build_id", ""))
            for a in several
        ]
        require(ascending(keys))
        require(len({key for _, key, _ in keys}) == len(keys))


def check_policy(policy: Any) -> None:
    POLICY(policy)
    entries = policy["allow"]
    require(all("ed25519" in entry["schemes"] for entry in entries))
    require(len({entry["validator_id"] for entry in entries}) == len(entries))
    require(len({lower(entry["public_key"]) for entry in entries}) == len(entries))


def attestations(receipt: dict[str, Any]) -> list[dict[str, Any]]:
    if receipt.get("attestations") is not None:
        return receipt["attestations"]  # type: ignore[no-any-return]
    return [receipt["attestation"]] if receipt["attestation"] else []


def receipt_hash(receipt: dict[str, Any]) -> str:
    copy = without(receipt, "receipt_hash") | {"attestation": None}
    if isinstance(copy.get("attestations"), list):
        del copy["attestations"]
    return sha256(canon(copy) + b"\n")


# Signatures

FIELD = 2**255 - 19


def verifies(public_key: str, signature: str, message: bytes) -> bool:
    key = bytes.fromhex(public_key)
    if int.from_bytes(key, "little") % 2**255 >= FIELD:
        return False
    try:
        VerifyKey(key).verify(message, bytes.fromhex(signature))
    except (BadSignatureError, ValueError):
        return False
    return True


def signed_message(receipt: dict[str, Any], attestation: dict[str, Any], scope: str) -> bytes:
    copy = dict(receipt)
    if scope == "spec":
        del copy["receipt_hash"]
    if isinstance(copy.get("attestations"), list):
        del copy["attestations"]
    stub = attestation | {"public_key": lower(attestation["public_key"]), "signature": ""}
    return canon(copy | {"attestation": stub}) + b"\n"


def scope_of(receipt: dict[str, Any], attestation: dict[str, Any], reference: bool) -> str | None:
    if attestation["scheme"] != "ed25519":
        return None
    if not re.fullmatch("[0-9a-fA-F]{64}", attestation["public_key"]):
        return None
    if not re.fullmatch("[0-9a-fA-F]{128}", attestation["signature"]):
        return None
    for scope in ("spec", "reference") if reference else ("spec",):
        message = signed_message(receipt, attestation, scope)
        if verifies(attestation["public_key"], attestation["signature"], message):
            return scope
    return None


def entry_of(policy: Any, attestation: dict[str, Any], invalid: str) -> dict[str, Any]:
    key = lower(attestation["public_key"])
    for entry in policy["allow"]:
        if "validator_id" in attestation:
            if entry["validator_id"] == attestation["validator_id"]:
                need(lower(entry["public_key"]) == key, invalid)
                return entry  # type: ignore[no-any-return]
        elif lower(entry["public_key"]) == key:
            return entry  # type: ignore[no-any-return]
    raise Refused("VALIDATOR_NOT_FOUND")


# Files


def read(path: Path, limit: int) -> bytes:
    require(path.stat().st_size <= limit)
    return path.read_bytes()


def is_file(path: Path) -> bool:
    return os.path.lexists(path) and stat.S_ISREG(path.lstat().st_mode)


def artifact_length(bundle: Path, artifact: dict[str, Any]) -> int:
    code = "ARTIFACT_HASH_MISMATCH"
    path = bundle
    for segment in artifact["path"].split("/"):
        need(path.is_dir(), code)
        path = path / segment
        need(not path.is_symlink(), "FORBIDDEN_FIELD")
    need(is_file(path), code)
    need(path.stat().st_size == artifact["bytes"], code)
    data = path.read_bytes()
    need(sha256(data) == artifact["sha256"], code)
    try:
        data.decode()
    except UnicodeDecodeError:
        raise Refused(code) from None
    need(b"\r" not in data and data.endswith(b"\n"), code)
    return len(data.rstrip(b"\n"))


def good_path(path: str) -> bool:
    segments = path.split("/")
    return (
        not re.search(r"[\x00-\x1f\x7f\\:]", path)
        and len(segments) >= 2
        and segments[0] == "artifacts"
        and all(segment and segment[-1] not in ". " for segment in segments)
    )


def strings(value: Any) -> Iterator[tuple[str, str]]:
    """Every member name and every string of a value."""
    if isinstance(value, str):
        yield "value", value
    elif isinstance(value, list):
        for element in value:
            yield from strings(element)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield "name", name
            yield from strings(member)


def is_absolute(value: str) -> bool:
    return bool(re.match(r"[/\\]|[A-Za-z]:([/\\]|\Z)|(?i:file)://|~[/\\]", value))


def estimate(size: int) -> int:
    return round(size / 4)


def merkle_root(hashes: list[str]) -> str:
    level = [bytes.fromhex(hash_) for hash_ in hashes]
    while len(level) > 1:
        if len(level) % 2:
            level.append(level[-1])
        pairs = zip(level[::2], level[1::2], strict=True)
        level = [hashlib.sha256(left + right).digest() for left, right in pairs]
    return level[0].hex()


# The checks


class Verifier:
    """One verification: its state, and the checks as methods."""

    def __init__(self, bundle: Any, receipts: Any, claim: Any, options: dict[str, Any]) -> None:
        def path(value: Any) -> Path | None:
            return None if value is None else Path(value)

        self.bundle, self.folder, self.claim_path = path(bundle), path(receipts), path(claim)
        self.policy_path = path(options.pop("trust_policy", None))
        self.merkle_path = path(options.pop("merkle_attestation", None))
        self.limits = LIMITS | options.pop("limits", {})
        self.quorum = options.pop("receipt_quorum", None)
        self.canonical = options.pop("require_canonical", False)
        self.reference = options.pop("accept_reference_scope", True)
        self.bind = options.pop("bind_receipts", True)
        self.identity = options.pop("strict_identity", False)
        self.strict = options.pop("strict_trust", False) or self.identity
        self.merkle_gate = options.pop("require_merkle_attestation", False)
        self.symbol_refs = options.pop("require_symbol_refs", False)
        if options.pop("strict", False):
            self.canonical = self.identity = self.strict = True
            self.merkle_gate = self.symbol_refs = True
        self.att_gate = (
            options.pop("require_attestation", False) or self.strict or self.quorum is not None
        )
        self.chain_gate = (
            options.pop("require_verify_chain", True) or self.att_gate or self.merkle_gate
        )
        assert not options, options
        self.receipts: list[Any] = []
        self.lengths: list[int] = []
        self.policy: Any = None
        self.report: dict[str, Any] = {
            "report_version": "1.0.0",
            **dict.fromkeys(
                ("error", "bundle_id", "run_id", "claim_hash", "receipt_count", "merkle_root",
                 "signature_scopes", "computed", "free_artifacts", "repeated_artifacts")
            ),
            "unverified_claim_fields": [],
        }  # fmt: skip

    def run(self) -> dict[str, Any]:
        letters = []
        for number in CHECKS:
            if self.report["error"]:
                letters.append("s")
                continue
            check = getattr(self, "check_" + number.replace(".", "_"))
            try:
                letters.append("s" if check() is NotImplemented else "p")
            except Refused as refused:
                self.report["error"] = {"code": str(refused), "check": number}
                letters.append("f")
        code = (self.report["error"] or {}).get("code")
        exit_code = 0 if code is None else 2 if code in EXIT_2 else 1
        return self.report | {
            "checks": "".join(letters), "ok": code is None, "exit_code": exit_code
        }  # fmt: skip

    def document(self, path: Path, code: str, limit: str, check: Callable[[Any], None]) -> Any:
        try:
            value = parse(read(path, self.limits[limit]), self.limits, self.canonical)
            check(value)
        except (Misfit, OSError):
            raise Refused(code) from None
        return value

    def check_5_1_1(self) -> None:
        assert self.bundle is not None
        need(self.bundle.is_dir() and is_file(self.bundle / "bundle.json"), "BUNDLE_NOT_FOUND")

    def check_5_1_2(self) -> Any:
        if not self.chain_gate:
            return NotImplemented
        return need(self.folder is not None and self.folder.is_dir(), "MISSING_RECEIPTS")

    def check_5_1_3(self) -> Any:
        if not (self.strict or self.policy_path):
            return NotImplemented
        return need(self.policy_path and self.policy_path.is_file(), "INVALID_TRUST_POLICY_SCHEMA")

    def check_5_1_4(self) -> None:
        code = "INVALID_CLAIM_SCHEMA"
        assert self.claim_path is not None
        need(self.claim_path.is_file(), code)
        self.claim = self.document(self.claim_path, code, "max_json_bytes", lambda _: None)

    def check_5_2_1(self) -> None:
        try:
            check_claim(self.claim)
        except Misfit:
            raise Refused("INVALID_CLAIM_SCHEMA") from None
        self.report["claim_hash"] = self.claim["claim_hash"]
        unverified = [name for name in ("notes", "task_performance") if name in self.claim]
        self.report["unverified_claim_fields"] = unverified

    def check_5_2_2(self) -> None:
        assert self.bundle is not None
        self.manifest = self.document(
            self.bundle / "bundle.json",
            "INVALID_BUNDLE_SCHEMA",
            "max_json_bytes",
            lambda value: check_manifest(value, self.limits),
        )

    def check_5_2_3(self) -> Any:
        code = "INVALID_RECEIPT_SCHEMA"
        if self.folder is None or not self.folder.is_dir():
            return NotImplemented
        run_id = self.manifest["run_id"]
        prefix = (run_id + "_").encode()
        names = sorted(
            name
            for name in os.listdir(os.fsencode(self.folder))  # noqa: PTH208
            if name.startswith(prefix) and name[len(prefix) :].endswith(b".json")
        )
        names = [name for name in names if b"\xff" not in name]
        need(len(names) <= self.limits["max_receipts"], code)

        def check(value: Any) -> None:
            require(isinstance(value, dict) and isinstance(value.get("run_id"), str))
            if value["run_id"] == run_id:
                check_receipt(value)

        for name in names:
            path = self.folder / os.fsdecode(name)
            need(is_file(path), code)
            receipt = self.document(path, code, "max_receipt_bytes", check)
            if receipt["run_id"] == run_id:
                self.receipts.append(receipt)
        return None

    def check_5_2_4(self) -> Any:
        if self.policy_path is None:
            return NotImplemented
        self.policy = self.document(
            self.policy_path, "INVALID_TRUST_POLICY_SCHEMA", "max_json_bytes", check_policy
        )
        return None

    def check_5_3_1(self) -> None:
        hashes = self.manifest["hashes"] | {"root_hash": ""}
        bundle_id = sha256(canon(self.manifest | {"bundle_id": "", "hashes": hashes}))
        need(bundle_id == self.manifest["bundle_id"], "BUNDLE_ID_MISMATCH")
        self.report |= {"bundle_id": bundle_id, "run_id": self.manifest["run_id"]}

    def check_5_3_2(self) -> None:
        lines = [f"{a['artifact_id']}:{a['sha256']}" for a in self.manifest["artifacts"]]
        root = sha256(("\n".join(lines) + "\n").encode())
        need(root == self.manifest["hashes"]["root_hash"], "ROOT_HASH_MISMATCH")

    def check_5_3_3(self) -> None:
        artifacts = self.manifest["artifacts"]
        need(all(good_path(artifact["path"]) for artifact in artifacts), "FORBIDDEN_FIELD")
        assert self.bundle is not None
        self.lengths = [artifact_length(self.bundle, artifact) for artifact in artifacts]

    def check_5_3_4(self) -> None:
        for artifact in self.manifest["artifacts"]:
            slice_ = artifact["slice"]
            all_ = slice_ is not None and re.fullmatch(
                "[ \t\n\v\f\r]*all[ \t\n\v\f\r]*", slice_, re.IGNORECASE | re.ASCII
            )
            need(not all_, "FORBIDDEN_ALL_SLICE")

    def check_5_3_5(self) -> None:
        kinds = {"SYMBOL_SLICE": ("READ_SYMBOL", "symbol_id")}
        reads = {
            (step["op"], name, step["refs"][name], step.get("constraints", {}).get("slice"))
            for step in self.manifest["steps"]
            for name in ("symbol_id", "section_id")
            if name in step.get("refs", {})
        }
        for artifact in self.manifest["artifacts"]:
            op, name = kinds.get(artifact["kind"], ("READ_SECTION", "section_id"))
            need((op, name, artifact["ref"], artifact["slice"]) in reads, "UNBOUNDED_ARTIFACT")

    def check_5_3_6(self) -> None:
        for kind, value in strings(self.manifest):
            forbidden = is_absolute(value) if kind == "value" else lower(value) in FORBIDDEN
            need(not forbidden, "FORBIDDEN_FIELD")

    def check_5_3_7(self) -> None:
        for name in ("bundle_id", "run_id"):
            need(self.claim[name] == self.manifest[name], "BUNDLE_ID_MISMATCH")

    def check_5_4_1(self) -> Any:
        if not self.chain_gate:
            return NotImplemented
        need(self.receipts, "MISSING_RECEIPTS")
        self.report["receipt_count"] = len(self.receipts)
        return None

    def check_5_4_2(self) -> Any:
        if not self.chain_gate:
            return NotImplemented
        hashes = [receipt["receipt_hash"] for receipt in self.receipts]
        need(len(set(hashes)) == len(hashes), "RECEIPT_CHAIN_BROKEN")
        indices = [receipt["receipt_index"] for receipt in self.receipts]
        if any(index is not None for index in indices):
            need(None not in indices, "RECEIPT_INDEX_GAP")
            need(len(set(indices)) == len(indices), "RECEIPT_INDEX_GAP")
            self.receipts.sort(key=lambda receipt: receipt["receipt_index"])
        else:
            self.receipts.sort(key=lambda receipt: receipt["receipt_hash"])
        return None

    def check_5_4_3(self) -> Any:
        if not self.chain_gate:
            return NotImplemented
        before = None
        for receipt in self.receipts:
            need(receipt["parent_receipt_hash"] == before, "RECEIPT_CHAIN_BROKEN")
            before = receipt["receipt_hash"]
        return None

    def check_5_4_4(self) -> Any:
        if not self.chain_gate:
            return NotImplemented
        for receipt in self.receipts:
            need(receipt_hash(receipt) == receipt["receipt_hash"], "RECEIPT_HASH_MISMATCH")
        return None

    def check_5_4_5(self) -> Any:
        if not self.chain_gate:
            return NotImplemented
        for number, receipt in enumerate(self.receipts):
            need(receipt["receipt_index"] in (None, number), "RECEIPT_INDEX_GAP")
        if not self.bind:
            self.publish_root()
        return None

    def check_5_4_6(self) -> Any:
        if not (self.chain_gate and self.bind):
            return NotImplemented
        ours = [r for r in self.receipts if r["bundle_id"] == self.manifest["bundle_id"]]
        need(ours, "BUNDLE_ID_MISMATCH")
        root = self.manifest["hashes"]["root_hash"]
        need(all(receipt["root_hash"] == root for receipt in ours), "ROOT_HASH_MISMATCH")
        self.publish_root()
        return None

    def publish_root(self) -> None:
        self.report["merkle_root"] = merkle_root([r["receipt_hash"] for r in self.receipts])

    def check_5_5_1(self) -> Any:
        if not self.att_gate:
            return NotImplemented
        return need(all(attestations(receipt) for receipt in self.receipts), "ATTESTATION_MISSING")

    def check_5_5_2(self) -> Any:
        if not self.att_gate or self.quorum is not None:
            return NotImplemented
        scopes = []
        for receipt in self.receipts:
            found = [scope_of(receipt, a, self.reference) for a in attestations(receipt)]
            need(None not in found, "ATTESTATION_INVALID")
            scopes.append(found)
        self.report["signature_scopes"] = scopes
        return None

    def trusted(self, gate: bool, check: Callable[[dict[str, Any], dict[str, Any]], None]) -> Any:
        if not gate or self.quorum is not None:
            return NotImplemented
        for receipt in self.receipts:
            for attestation in attestations(receipt):
                check(entry_of(self.policy, attestation, "ATTESTATION_INVALID"), attestation)
        return None

    def check_5_5_3(self) -> Any:
        return self.trusted(self.strict, lambda _entry, _attestation: None)

    def check_5_5_4(self) -> Any:
        return self.trusted(self.strict, lambda e, _: need(e["enabled"], "VALIDATOR_DISABLED"))

    def check_5_5_5(self) -> Any:
        return self.trusted(
            self.strict, lambda e, _: need("RECEIPT" in e["scope"], "SCOPE_MISMATCH")
        )

    def check_5_5_6(self) -> Any:
        return self.trusted(self.identity, same_build)

    def check_5_5_7(self) -> Any:
        if self.quorum is None:
            return NotImplemented
        scopes = []
        for receipt in self.receipts:
            found = [self.counting_scope(receipt, a) for a in attestations(receipt)]
            good = [scope for scope in found if scope]
            need(len(good) >= self.quorum, "ATTESTATION_MISSING")
            scopes.append(found)
        self.report["signature_scopes"] = scopes
        return None

    def counting_scope(self, receipt: Any, attestation: Any) -> str | None:
        scope = scope_of(receipt, attestation, self.reference)
        if scope is None or not self.strict:
            return scope
        try:
            self.full_trust(attestation, "RECEIPT", "")
        except Refused:
            return None
        return scope

    def full_trust(self, attestation: Any, scope: str, invalid: str) -> None:
        entry = entry_of(self.policy, attestation, invalid)
        need(entry["enabled"], "VALIDATOR_DISABLED")
        need(scope in entry["scope"], "SCOPE_MISMATCH")
        if self.identity:
            same_build(entry, attestation)

    def check_5_6_0(self) -> Any:
        if not self.merkle_gate:
            return NotImplemented
        need(self.merkle_path and self.merkle_path.is_file(), "ATTESTATION_MISSING")
        assert self.merkle_path is not None
        code = "MERKLE_ATTESTATION_INVALID"
        self.merkle = self.document(self.merkle_path, code, "max_json_bytes", MERKLE)
        return None

    def check_5_6_1(self) -> Any:
        if not self.merkle_gate:
            return NotImplemented
        root = merkle_root([receipt["receipt_hash"] for receipt in self.receipts])
        return need(self.merkle["merkle_root"] == root, "MERKLE_ROOT_MISMATCH")

    def check_5_6_2(self) -> Any:
        if not self.merkle_gate:
            return NotImplemented
        message = b"".join(
            [
                b"CAT_CHAT_MERKLE_V1:",
                bytes.fromhex(self.merkle["merkle_root"]),
                b"|VID:",
                self.merkle.get("validator_id", "").encode(),
                b"|BID:",
                self.merkle.get("build_id", "").encode(),
                b"|PK:",
                bytes.fromhex(self.merkle["public_key"]),
            ]
        )
        good = verifies(self.merkle["public_key"], self.merkle["signature"], message)
        return need(good, "MERKLE_ATTESTATION_INVALID")

    def check_5_6_3(self) -> Any:
        if not (self.merkle_gate and self.strict):
            return NotImplemented
        return self.full_trust(self.merkle, "MERKLE", "MERKLE_ATTESTATION_INVALID")

    def check_5_6_4(self) -> Any:
        if not self.merkle_gate or "receipt_count" not in self.merkle:
            return NotImplemented
        same = self.merkle["receipt_count"] == len(self.receipts)
        return need(same, "MERKLE_ATTESTATION_INVALID")

    def check_5_6_5(self) -> Any:
        if not self.merkle_gate or "receipt_chain_head_hash" not in self.merkle:
            return NotImplemented
        same = self.merkle["receipt_chain_head_hash"] == self.receipts[-1]["receipt_hash"]
        return need(same, "MERKLE_ATTESTATION_INVALID")

    def check_5_6_6(self) -> Any:
        if not self.merkle_gate or not {"run_id", "job_id", "bundle_id"} & self.merkle.keys():
            return NotImplemented
        known = {"run_id": {self.manifest["run_id"]}}
        for name in ("job_id", "bundle_id"):
            known[name] = {receipt[name] for receipt in self.receipts}
        same = all(self.merkle[name] in known[name] for name in known if name in self.merkle)
        return need(same, "MERKLE_ATTESTATION_INVALID")

    def check_5_7_1(self) -> None:
        artifacts = self.manifest["artifacts"]
        full = sum(map(estimate, self.lengths))
        costs = []
        for artifact, length in zip(artifacts, self.lengths, strict=True):
            if artifact["kind"] == "SECTION_SLICE":
                costs.append(estimate(length))
            elif artifact["ref"].startswith("@"):
                costs.append(estimate(len(artifact["ref"].encode())))
            else:
                costs.append(0)
        symbols = sum(costs)
        counting = [
            (artifact, cost)
            for artifact, length, cost in zip(artifacts, self.lengths, costs, strict=True)
            if estimate(length) > 0
        ]
        self.free = [artifact["artifact_id"] for artifact, cost in counting if cost == 0]
        self.report["free_artifacts"] = len(self.free)
        texts = [artifact["sha256"] for artifact, _ in counting]
        self.report["repeated_artifacts"] = len(texts) - len(set(texts))
        self.computed = {
            "artifact_count": len(artifacts),
            "total_bytes": sum(artifact["bytes"] for artifact in artifacts),
            "vector_db_tokens": full,
            "symbol_lang_tokens": symbols,
            "cas_tokens": 26 * len(artifacts),
            "uncompressed_tokens": full,
            "compressed_tokens": symbols,
            "compression_ratio": symbols / full if full else 0.0,
        }

    def check_5_7_2(self) -> None:
        if self.symbol_refs:
            symbols = [a for a in self.manifest["artifacts"] if a["kind"] == "SYMBOL_SLICE"]
            names = [(symbol["ref"], symbol["slice"]) for symbol in symbols]
            need(len(set(names)) == len(names), "METRIC_MISMATCH")
            for symbol in symbols:
                need(symbol["ref"][:1] == "@", "METRIC_MISMATCH")
                need(symbol["artifact_id"] not in self.free, "METRIC_MISMATCH")
        self.report["computed"] = self.computed

    def included(self) -> set[str]:
        return {c["name"] for c in self.claim["components"] if c["included"]}

    def check_5_7_3(self) -> None:
        need(self.manifest["artifacts"] or not self.included() - {"f3"}, "COMPONENT_MISMATCH")

    def check_5_7_4(self) -> None:
        need("f3" not in self.included(), "NOT_IMPLEMENTED")

    def equal(self, name: str, code: str = "METRIC_MISMATCH") -> None:
        need(self.claim["reported_metrics"][name] == self.computed[name], code)

    def check_5_8_1(self) -> None:
        ratio = self.computed["compression_ratio"]
        need(self.computed["uncompressed_tokens"] and 0 < ratio <= 1, "METRIC_MISMATCH")
        claimed = self.claim["reported_metrics"]["compression_ratio"]
        need(abs(claimed - ratio) <= 1e-9, "METRIC_MISMATCH")

    def check_5_8_2(self) -> None:
        self.equal("uncompressed_tokens")

    def check_5_8_3(self) -> None:
        self.equal("compressed_tokens")

    def check_5_8_4(self) -> None:
        self.equal("artifact_count", "COMPONENT_MISMATCH")
        self.equal("total_bytes")
        for name, member in TOKENS.items():
            if name in self.included():
                self.equal(member)

    def check_5_8_5(self) -> None:
        metrics = self.claim["reported_metrics"]
        extra = {member for name, member in TOKENS.items() if name not in self.included()}
        need(not (extra | {"f3_tokens"}) & metrics.keys(), "METRIC_MISMATCH")


def same_build(entry: dict[str, Any], attestation: dict[str, Any]) -> None:
    need(entry.get("build_id") == attestation.get("build_id"), "BUILD_ID_MISMATCH")


def verify(bundle: Any, receipts: Any, claim: Any, **options: Any) -> dict[str, Any]:
    """The report, with one letter per check, and an error of code and check."""
    return Verifier(bundle, receipts, claim, dict(options)).run()
