"""``verify``: whether a compression claim is true, and what was not checked."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

import compactwire as cw

from ._shell import add_command, complain, drop_stdout, one_line, stdout

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._shell import Commands

# The exit code if there is no verdict; 0, 1 and 2 stand for verdicts.
_NO_VERDICT = 3
_WRONG_USAGE = 2

# A progress bar appears after so many seconds.
_BAR_DELAY = 1.0
_BAR = 30

_SYMBOLS = {"passed": "✓", "failed": "✗", "skipped": "–"}
_WORDS = {"passed": "ok  ", "failed": "FAIL", "skipped": "-   "}

# Options that are off by default; those of `_DEFAULTS` are on.
_REQUIREMENTS = {
    "require_attestation": "every receipt must carry a valid signature",
    "strict_trust": "every signature must be of an enabled validator of the trust policy",
    "strict_identity": "the build of every signer must be that of the trust policy, too",
    "require_merkle_attestation": "the Merkle attestation must verify",
    "require_canonical": "every JSON file must be its canonical form, to the byte",
    "require_symbol_refs": "every symbol must count tokens, and share its ref and slice with none",
    "strict": "all of the above; needs --trust-policy and --merkle-attestation",
}
_DEFAULTS = {
    "require_verify_chain": "the chain of receipts must verify",
    "accept_reference_scope": "accept signatures that include receipt_hash",
    "bind_receipts": "the receipts must be about this bundle",
}


def _run_verify(args: argparse.Namespace) -> int:
    if args.strict and not (args.require_verify_chain and args.bind_receipts):
        complain(ValueError("--strict excludes --no-require-verify-chain and --no-bind-receipts"))
        return _WRONG_USAGE
    try:
        return _verify(args)
    except BrokenPipeError:
        raise
    except Exception as error:
        # No verdict was written. Exit code 1 would mean a rejected claim.
        drop_stdout()
        complain(error)
        return _NO_VERDICT


def _verify(args: argparse.Namespace) -> int:
    names = (*_REQUIREMENTS, *_DEFAULTS, "receipt_quorum", "trust_policy", "merkle_attestation")
    if args.strict:
        args.strict_identity = args.require_merkle_attestation = True
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
        stdout().write("\n".join([*_verdict(report, args), "", *_checks(report, args)]) + "\n")
    stdout().flush()
    return report.exit_code


def _checks(report: cw.ClaimReport, args: argparse.Namespace) -> list[str]:
    marks = _SYMBOLS if stdout().isatty() and _has(_SYMBOLS.values()) else _WORDS
    lines = [
        f"{marks[check.status]} {check.id}  {check.text}"
        for check in report.checks
        if args.skipped or check.status != "skipped"
    ]
    if skipped := len(report.checks) - len(lines):
        lines.append(f"{skipped} checks skipped; --skipped shows them")
    return lines


def _has(symbols: Iterable[str]) -> bool:
    try:
        "".join(symbols).encode(stdout().encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _verdict(report: cw.ClaimReport, args: argparse.Namespace) -> list[str]:
    lines = []
    free = report.free_artifacts or 0
    if (error := report.error) is not None:
        place = f"\n  in {_plain(error.path)}" if error.path else ""
        lines.append(f"REFUSED at {error.check}, {error.code}: {_plain(error.message)}{place}")
        if free:
            lines.append(f"  artifacts: {free:,} cost nothing")
    elif (computed := report.computed) is not None:
        tokens = f"{computed['compressed_tokens']:,} of {computed['uncompressed_tokens']:,} tokens"
        part = f", {free:,} of {computed['artifact_count']:,} artifacts cost nothing"
        ratio = f"ratio {computed['compression_ratio']:.4g}"
        lines.append(f"VERIFIED: {tokens}, {ratio}{part if free else ''}")
        lines += [f"  {line}" for line in (_artifacts_scope(report, free), *_scope(report, args))]
    if report.unverified_claim_fields:
        lines.append(f"not verified: {', '.join(report.unverified_claim_fields)}")
    return lines


def _scope(report: cw.ClaimReport, args: argparse.Namespace) -> list[str]:
    """Describe what a positive verdict is based on: which signatures were checked against what."""
    passed = {check.id for check in report.checks if check.status == "passed"}
    strict = args.strict_trust or args.strict_identity
    ask = "--strict-trust" if args.trust_policy else "--trust-policy FILE --strict-trust"
    idle = "trust policy: only its form was checked; to apply it, use --strict-trust"
    return [
        _receipts_scope(report, passed),
        _signatures_scope(args, passed, strict, ask),
        *([idle] if args.trust_policy is not None and not strict else []),
        _merkle_scope(args, passed, strict, ask),
    ]


def _artifacts_scope(report: cw.ClaimReport, free: int) -> str:
    count = report.computed["artifact_count"] if report.computed else 0
    cost = f"{free:,} cost nothing; --require-symbol-refs refuses them" if free else "none is free"
    repeated = report.repeated_artifacts
    again = f"; {repeated:,} repeat the text of another" if repeated else ""
    return f"artifacts: {count:,}, of which {cost}{again}"


def _receipts_scope(report: cw.ClaimReport, passed: set[str]) -> str:
    if "5.4.1" not in passed:
        return "receipts: not checked (--no-require-verify-chain)"
    if "5.4.6" not in passed:
        return f"receipts: {report.receipt_count:,}, perhaps of other bundles (--no-bind-receipts)"
    return f"receipts: {report.receipt_count:,} in a chain that names this bundle"


def _signatures_scope(args: argparse.Namespace, passed: set[str], strict: bool, ask: str) -> str:
    if not passed & {"5.5.2", "5.5.7"}:
        return f"signatures: not checked; to check them, use {ask}"
    count = f"{args.receipt_quorum:,} or more" if args.receipt_quorum else "all"
    if not strict:
        own = "checked against their own key only, not against a policy"
        return f"signatures: {count} of each receipt {own}; to check the signers, use {ask}"
    builds = (
        "; their builds, too, where it names one"
        if args.strict_identity
        else "; their builds were not compared"
    )
    return f"signatures: {count} of each receipt by validators of the trust policy{builds}"


def _merkle_scope(args: argparse.Namespace, passed: set[str], strict: bool, ask: str) -> str:
    if "5.6.2" not in passed:
        given = "given, but not checked" if args.merkle_attestation else "not attested"
        flag = "--require-merkle-attestation"
        need = flag if args.merkle_attestation else f"--merkle-attestation FILE {flag}"
        return f"Merkle root: {given}, so the last receipts may be missing; to check it, use {need}"
    if not strict:
        own = "signature checked against its own key only, not against a policy"
        return f"Merkle root: {own}; to check the signer, use {ask}"
    signed = "signed by a validator of the trust policy"
    return f"Merkle root: {signed}; no receipt that it covers is missing"


def _plain(text: str) -> str:
    """Escape terminal control characters, and characters that the terminal cannot show."""
    encoding = stdout().encoding or "ascii"
    return one_line(text).encode(encoding, "backslashreplace").decode(encoding)


class _Bar:
    """A progress bar on standard error, if that is a terminal."""

    def __init__(self) -> None:
        self.watched = sys.stderr is not None and sys.stderr.isatty()
        self._start = time.monotonic()
        self._shown = False

    def show(self, what: str, done: int, total: int) -> None:
        """Draw the bar if the work has taken long enough."""
        if time.monotonic() - self._start < _BAR_DELAY:
            return
        full = _BAR * done // max(total, 1)
        bar = "#" * full + "." * (_BAR - full)
        sys.stderr.write(f"\r[{bar}] {done:,} of {total:,} {what} ")
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        """Erase the bar."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def add(commands: Commands) -> None:
    """Add the command."""
    about = "verify a compression claim: the verdict, then each check that ran"
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
        "--trust-policy", metavar="FILE", help="the trusted signers; only with --strict-trust"
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
        help="how many signatures of each receipt must be valid (default: all)",
    )
    parser.add_argument(
        "--limit",
        type=_limit,
        action="append",
        default=[],
        metavar="NAME=N",
        help="a limit on the inputs, such as max_receipts=1000 (repeatable)",
    )
    parser.add_argument(
        "--skipped", action="store_true", help="list the checks that were skipped, too"
    )
    parser.add_argument("--json", action="store_true", help="print the report, canonical JSON")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _quorum(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 18 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number of 1 or more, not {text!r}")
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
