"""The vectors of claims: verification, producers, canonical JSON, Merkle roots, estimates."""

from __future__ import annotations

import base64
import hashlib
import tempfile
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import compactwire as cw
from compactwire import claims

from ._compare import equal, fails

Case = dict[str, Any]

_ERROR = ("code", "phase", "check")


def verified(case: Case, folder: Path | None = None) -> None:
    """Files and the expected report; `folder` has the files if the case itself has none."""
    if folder is not None:
        _verify(case, folder)
        return
    with tempfile.TemporaryDirectory() as made:
        _unpack(case, Path(made))
        _verify(case, Path(made))


def _unpack(case: Case, folder: Path) -> None:
    links = case.get("links", {})
    for name, content in case["files"].items():
        path = _inside(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else base64.b64decode(content["b64"])
        path.write_bytes(data)
    # Links are made after the files, so that no file is written through a link.
    for name, to in links.items():
        path = _inside(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(to)


def _inside(folder: Path, name: str) -> Path:
    """The path of a file of a case; vectors come from others, and must not leave the folder."""
    for path in (PurePosixPath(name), PureWindowsPath(name)):
        if path.anchor or ".." in path.parts:
            raise ValueError(f"the path {name!r} leads out of the folder of the case")
    return folder / name


def _verify(case: Case, folder: Path) -> None:
    given: dict[str, Any] = {
        name: path and _inside(folder, path) for name, path in case["inputs"].items()
    }
    bundle, receipts, claim = (given.pop(name) for name in ("bundle", "receipts", "claim"))
    given |= case["options"]
    report = cw.verify_claim(bundle, receipts, claim, **given).to_dict()
    error = report["error"] or {}
    for name, expected in case["expected"].items():
        if name == "checks":
            letters = "".join(check["status"][0] for check in report["checks"])
            equal("the checks", letters, expected)
        elif name in _ERROR:
            equal(f"the {name} of the error", error.get(name), expected)
        elif name in report:
            equal(name, report[name], expected)


def produced(case: Case) -> None:
    """Arguments of the producer functions, and the files that they write."""
    given, output = case["input"], case["output"]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        ids = (given["run_id"], given["job_id"], given["message_id"])
        manifest = claims.build_bundle(folder / "bundle", *ids, given["items"])
        equal("bundle.json", _text(folder / "bundle" / "bundle.json"), output["bundle.json"])
        for path, text in output["artifacts"].items():
            equal(path, _text(_inside(folder / "bundle", path)), text)
        receipts = _receipts(manifest, given)
        for receipt in receipts:
            claims.write_receipt(folder / "receipts", receipt)
        written = {path.name: _text(path) for path in (folder / "receipts").iterdir()}
        equal("the receipts", written, output["receipts"])
        claim = claims.make_claim(manifest, folder / "bundle", given["components"], given["notes"])
        claims.write_json(folder / "claim.json", claim)
        equal("claim.json", _text(folder / "claim.json"), output["claim.json"])
    found = claims.merkle_root(receipt["receipt_hash"] for receipt in receipts)
    equal("the Merkle root", found, output["merkle_root"])
    if merkle := given["merkle"]:
        options = {name: value for name, value in merkle.items() if name != "seed_hex"}
        key = claims.SigningKey.from_hex(merkle["seed_hex"])
        signed = claims.canonical_json(claims.sign_merkle(receipts, key, **options)).decode()
        equal("merkle_attestation.json", signed + "\n", output["merkle_attestation.json"])


def _receipts(manifest: Case, given: Case) -> list[Case]:
    receipts: list[Case] = []
    for _ in range(given["receipts"]):
        receipts.append(claims.make_receipt(manifest, receipts[-1] if receipts else None))
    if not given["sign"]:
        return receipts
    options = {name: value for name, value in given["sign"].items() if name != "seed_hex"}
    key = claims.SigningKey.from_hex(given["sign"]["seed_hex"])
    return [claims.sign_receipt(receipt, key, **options) for receipt in receipts]


def _text(path: Path) -> str:
    return path.read_bytes().decode()


def canonical(case: Case) -> None:
    """A JSON text and its canonical form, or the rejection."""
    data = case["in"].encode() if "in" in case else bytes.fromhex(case["in_hex"])
    if "reject" in case:
        fails("reading", lambda: claims.parse_json(data), cw.EncodeError)
        return
    found = claims.canonical_json(claims.parse_json(data))
    equal("the canonical form", found.decode(), case["out"])
    equal("its hash", hashlib.sha256(found).hexdigest(), case["sha256"])
    equal("its hash with a line feed", hashlib.sha256(found + b"\n").hexdigest(), case["sha256_lf"])


def merkle(case: Case) -> None:
    """Leaves and their Merkle root; by default the hashes of `leaf 0`, `leaf 1` and so on."""
    leaves = case["leaves"]
    if isinstance(leaves, str):
        leaves = [hashlib.sha256(f"leaf {n}".encode()).hexdigest() for n in range(case["n"])]
    equal("the Merkle root", claims.merkle_root(leaves), case["root"])


def tokens(case: Case) -> None:
    """A size in bytes and its token estimate."""
    equal("the estimate", claims.estimate_tokens(case["bytes"]), case["tokens"])
