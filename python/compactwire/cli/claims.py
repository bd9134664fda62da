"""Compression claims: ``verify``, and ``claim`` to make what is verified."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import compactwire as cw

from .. import claims
from ._shell import OK, add_command, one_line, stdout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._shell import Commands

# A bar appears when the work has taken so long, in seconds.
_PATIENCE = 1.0
_BAR = 30

_SYMBOLS = {"passed": "✓", "failed": "✗", "skipped": "–"}
_WORDS = {"passed": "ok  ", "failed": "FAIL", "skipped": "-   "}

# Off unless asked for, and on unless switched off.
_REQUIREMENTS = {
    "require_attestation": "every receipt must carry a valid signature",
    "strict_trust": "every signature must be of an enabled validator of the trust policy",
    "strict_identity": "its build must be that of the trust policy, too",
    "require_merkle_attestation": "the Merkle attestation must verify",
    "require_canonical": "every JSON file must be its canonical form, to the byte",
}
_DEFAULTS = {
    "require_verify_chain": "the chain of receipts must verify",
    "accept_reference_scope": "accept signatures that include receipt_hash",
    "bind_receipts": "the receipts must be about this bundle",
}


def add(commands: Commands) -> None:
    """Add the commands."""
    _add_verify(commands)
    _add_claim(commands)


# verify -------------------------------------------------------------------------------------------


def _run_verify(args: argparse.Namespace) -> int:
    names = (*_REQUIREMENTS, *_DEFAULTS, "receipt_quorum", "trust_policy", "merkle_attestation")
    bar = _Bar()
    try:
        report = cw.verify_claim(
            args.bundle,
            args.receipts,
            args.claim,
            **{name: getattr(args, name) for name in names},
            limits=dict(args.limit),
            progress=bar.show if bar.watched else None,
        )
    finally:
        bar.clear()
    if args.json:
        stdout().buffer.write(report.to_json())
    else:
        stdout().write(_checklist(report))
    return report.exit_code


def _checklist(report: cw.ClaimReport) -> str:
    marks = _SYMBOLS if stdout().isatty() and _has(_SYMBOLS.values()) else _WORDS
    lines = [f"{marks[check.status]} {check.id}  {check.text}" for check in report.checks]
    return "\n".join([*lines, "", *_verdict(report)]) + "\n"


def _has(symbols: Iterable[str]) -> bool:
    try:
        "".join(symbols).encode(stdout().encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _verdict(report: cw.ClaimReport) -> list[str]:
    lines = []
    if (error := report.error) is not None:
        place = f"\n  in {_plain(error.path)}" if error.path else ""
        lines.append(f"REFUSED at {error.check}, {error.code}: {_plain(error.message)}{place}")
    elif (computed := report.computed) is not None:
        tokens = f"{computed['compressed_tokens']:,} of {computed['uncompressed_tokens']:,} tokens"
        lines.append(f"VERIFIED: {tokens}, ratio {computed['compression_ratio']:.4g}")
    if report.unverified_claim_fields:
        lines.append(f"not verified: {', '.join(report.unverified_claim_fields)}")
    return lines


def _plain(text: str) -> str:
    """Escape what the terminal could take for a command, or has no character for."""
    encoding = stdout().encoding or "ascii"
    return one_line(text).encode(encoding, "backslashreplace").decode(encoding)


class _Bar:
    """A progress bar on standard error, for patient people at a terminal."""

    def __init__(self) -> None:
        self.watched = sys.stderr is not None and sys.stderr.isatty()
        self._start = time.monotonic()
        self._shown = False

    def show(self, what: str, done: int, total: int) -> None:
        """Draw it, once the work has taken a while."""
        if time.monotonic() - self._start < _PATIENCE:
            return
        full = _BAR * done // max(total, 1)
        bar = "#" * full + "." * (_BAR - full)
        sys.stderr.write(f"\r[{bar}] {done:,} of {total:,} {what} ")
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        """Leave the line as it was."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _add_verify(commands: Commands) -> None:
    about = "verify a compression claim and show each check"
    example = (
        "compactwire verify out/bundle out/receipts out/claim.json"
        " --trust-policy policy.json --strict-trust"
    )
    parser = add_command(commands, "verify", _run_verify, about, example)
    parser.add_argument("bundle", metavar="BUNDLE", help="the folder that holds bundle.json")
    parser.add_argument(
        "receipts", nargs="?", metavar="RECEIPTS", help="the folder of the receipts"
    )
    parser.add_argument("claim", metavar="CLAIM", help="the claim, a JSON file")
    parser.add_argument(
        "--trust-policy", metavar="FILE", help="whose signatures count; only with --strict-trust"
    )
    parser.add_argument(
        "--merkle-attestation",
        metavar="FILE",
        help="a signature over all receipts; only with --require-merkle-attestation",
    )
    for name, text in _REQUIREMENTS.items():
        parser.add_argument(_flag(name), action="store_true", help=text)
    for name, text in _DEFAULTS.items():
        parser.add_argument(
            _flag(name), action=argparse.BooleanOptionalAction, default=True, help=text
        )
    parser.add_argument(
        "--receipt-quorum",
        type=_quorum,
        metavar="N",
        help="how many signatures of each receipt must be good (default: all)",
    )
    parser.add_argument(
        "--limit",
        type=_limit,
        action="append",
        default=[],
        metavar="NAME=N",
        help="what the inputs may cost, such as max_receipts=1000 (repeatable)",
    )
    parser.add_argument("--json", action="store_true", help="print the report, canonical JSON")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _quorum(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 18 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, not {text!r}")
    return int(text)


_LIMITS = (
    "max_json_bytes",
    "max_receipt_bytes",
    "max_depth",
    "max_int_digits",
    "max_steps",
    "max_artifacts",
    "max_artifact_bytes",
    "max_total_bytes",
    "max_receipts",
)


def _limit(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if name not in _LIMITS or not (number.isascii() and number.isdecimal()) or len(number) > 18:
        names = ", ".join(_LIMITS)
        raise argparse.ArgumentTypeError(f"expected NAME=N with one of {names}, not {text!r}")
    return name, int(number)


# claim --------------------------------------------------------------------------------------------


def _run_key(args: argparse.Namespace) -> int:
    key = claims.generate_key()
    # Never replaces a key, and nobody else may read it.
    descriptor = os.open(args.output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.seed().hex() + "\n")
    stdout().write(key.public_key + "\n")
    return OK


def _run_new(args: argparse.Namespace) -> int:
    out = Path(args.output)
    items: list[dict[str, str | None]] = [
        {"kind": "section", "ref": Path(path).as_posix(), "text": _text(path)}
        for path in args.files
    ]
    for symbol in args.symbol:
        ref, _, path = symbol.partition("=")
        items.append({"kind": "symbol", "ref": ref, "text": _text(path)})
    ids = (args.run_id, args.job_id, args.message_id)
    manifest = claims.build_bundle(out / "bundle", *ids, items)
    claims.write_receipt(out / "receipts", claims.make_receipt(manifest))
    claim = claims.make_claim(manifest, out / "bundle", notes=args.notes)
    claims.write_json(out / "claim.json", claim)
    metrics = claim["reported_metrics"]
    tokens = f"{metrics['compressed_tokens']:,} of {metrics['uncompressed_tokens']:,} tokens"
    print(f"{one_line(args.output)}: {tokens}", file=sys.stderr)
    return OK


def _text(path: str) -> str:
    try:
        # Not by read_text, which would change line ends before the producer sees them.
        return Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 from byte {error.start} on") from None


def _run_sign(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    key = _key(args.key)
    receipts = sorted(_receipts(folder), key=lambda receipt: receipt["receipt_index"])
    signed = [
        claims.sign_receipt(receipt, key, args.validator_id, args.build_id, args.scope)
        for receipt in receipts
    ]
    merkle = claims.merkle_attestation(signed, key, args.validator_id, args.build_id)
    for receipt in signed:
        claims.write_receipt(folder / "receipts", receipt)
    claims.write_json(folder / "merkle_attestation.json", merkle)
    print(f"{len(signed):,} receipts signed by {key.public_key}", file=sys.stderr)
    return OK


def _receipts(folder: Path) -> list[dict[str, Any]]:
    manifest = _load(folder / "bundle" / "bundle.json")
    run_id = str(manifest.get("run_id"))
    found = [
        _load(path)
        for path in sorted((folder / "receipts").iterdir())
        if path.name.startswith(f"{run_id}_") and path.name.endswith(".json")
    ]
    receipts = [receipt for receipt in found if receipt.get("run_id") == run_id]
    if any(type(receipt.get("receipt_index")) is not int for receipt in receipts):
        raise ValueError("a receipt has no receipt_index to be ordered by")
    return receipts


def _load(path: Path) -> dict[str, Any]:
    try:
        value = claims.parse_json(path.read_bytes())
    except cw.CompactWireError as error:
        raise ValueError(f"{path}: {error}") from error
    if isinstance(value, dict):
        return value
    raise ValueError(f"{path}: not a JSON object")


def _key(path: str) -> claims.SigningKey:
    text = Path(path).read_bytes().strip()
    try:
        seed = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        seed = b""
    if len(seed) != 32:
        # Without the text: it may be most of a secret.
        raise ValueError(f"{path}: a key is 64 hexadecimal digits")
    return claims.SigningKey(seed)


def _run_trust(args: argparse.Namespace) -> int:
    entries = []
    for validator in args.validators:
        name, _, public_key = validator.rpartition("=")
        entry = {
            "validator_id": name,
            "public_key": public_key,
            "schemes": ["ed25519"],
            "scope": args.scope or ["RECEIPT", "MERKLE"],
            "enabled": True,
        }
        entries.append(entry | ({"build_id": args.build_id} if args.build_id else {}))
    claims.write_json(args.output, claims.make_trust_policy(entries))
    return OK


def _add_claim(commands: Commands) -> None:
    parser = commands.add_parser(
        "claim", help="make bundles, receipts, signatures and claims", description="Make a claim."
    )
    inner = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_key(inner)
    _add_new(inner)
    _add_sign(inner)
    _add_trust(inner)


def _add_key(commands: Commands) -> None:
    about = "make a secret key and print the public one"
    parser = add_command(commands, "key", _run_key, about, "compactwire claim key -o mine.key")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="for the secret")


def _add_new(commands: Commands) -> None:
    about = "make a bundle of files, its receipt and a claim about it"
    example = "compactwire claim new intro.md --symbol @math:add=add.py --run-id run-1 -o out"
    parser = add_command(commands, "new", _run_new, about, example)
    parser.add_argument("files", nargs="*", metavar="FILE", help="a section: its path is its name")
    parser.add_argument(
        "--symbol", action="append", default=[], metavar="REF=FILE", help="a symbol (repeatable)"
    )
    parser.add_argument("--run-id", required=True, metavar="ID")
    parser.add_argument("--job-id", default="job", metavar="ID", help="default: %(default)s")
    parser.add_argument(
        "--message-id", default="message", metavar="ID", help="default: %(default)s"
    )
    parser.add_argument("--notes", help="anything; nobody verifies it")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="a folder")


def _add_sign(commands: Commands) -> None:
    about = "sign the receipts that `claim new` made, each and all together"
    example = "compactwire claim sign out --key mine.key --validator-id me"
    parser = add_command(commands, "sign", _run_sign, about, example)
    parser.add_argument("folder", metavar="FOLDER", help="with bundle/ and receipts/")
    parser.add_argument("--key", required=True, metavar="FILE", help="of `claim key`")
    parser.add_argument("--validator-id", metavar="ID", help="as the trust policy knows the key")
    parser.add_argument("--build-id", metavar="ID", help="git:... or file:...")
    parser.add_argument("--scope", choices=("spec", "reference"), default="spec")


def _add_trust(commands: Commands) -> None:
    about = "write a trust policy"
    example = "compactwire claim trust me=$(cat mine.pub) -o policy.json"
    parser = add_command(commands, "trust", _run_trust, about, example)
    parser.add_argument("validators", nargs="+", metavar="ID=PUBLIC_KEY")
    parser.add_argument("--build-id", metavar="ID", help="of all of them")
    parser.add_argument(
        "--scope", action="append", choices=("RECEIPT", "MERKLE"), help="default: both"
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
