"""``compactwire verify`` and ``compactwire claim``: what a person sees, and the exit codes."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from compactwire import claims
from compactwire.cli import main

from .claims_data import make


def run(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "compactwire", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False)


def test_a_claim_is_made_signed_verified_and_refused(tmp_path: Path) -> None:
    intro, add = tmp_path / "intro.md", tmp_path / "add.py"
    intro.write_bytes("# Intro\r\n\r\nWörds, words, words.\r\n".encode() * 9)
    add.write_text("def add(a, b):\n    return a + b\n" * 9)
    key, out, policy = tmp_path / "key", tmp_path / "out", tmp_path / "policy.json"

    made = run("claim", "key", "-o", key)
    assert made.returncode == 0
    public = made.stdout.decode().strip()
    assert claims.SigningKey(bytes.fromhex(key.read_text())).public_key == public
    if os.name == "posix":
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert run("claim", "key", "-o", key).returncode == 1, "a key is never replaced"

    command = ["claim", "new", "intro.md", "--symbol", "@math:add=add.py", "--run-id", "r", "-o"]
    made = subprocess.run(
        [sys.executable, "-m", "compactwire", *command, "out"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert made.returncode == 0, made.stderr
    build = "git:0a1b2c3"
    signed = run(*("claim", "sign", out, "--key", key, "--validator-id", "me", "--build-id", build))
    assert signed.returncode == 0, signed.stderr
    trusted = run("claim", "trust", f"me={public}", "--build-id", build, "-o", policy)
    assert trusted.returncode == 0, trusted.stderr

    verify = [
        *("verify", out / "bundle", out / "receipts", out / "claim.json", "--trust-policy", policy),
        *("--require-attestation", "--strict-identity", "--require-merkle-attestation"),
        *("--merkle-attestation", out / "merkle_attestation.json", "--require-canonical"),
    ]
    good = run(*verify)
    assert (good.returncode, good.stderr) == (0, b"")
    lines = good.stdout.decode("ascii").splitlines()
    assert lines[0] == "ok   5.1.1  the bundle exists and has a bundle.json"
    assert len(lines) == 46
    assert lines[-1].startswith("VERIFIED: ")
    report = run(*verify, "--json")
    assert json.loads(report.stdout)["ok"] is True

    artifact = next((out / "bundle" / "artifacts").iterdir())
    data = artifact.read_bytes()
    artifact.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    bad = run(*verify)
    assert bad.returncode == 1
    assert b"FAIL 5.3.3  every artifact is the one that its hash names\n" in bad.stdout
    assert b"REFUSED at 5.3.3, ARTIFACT_HASH_MISMATCH: " in bad.stdout
    assert key.read_text().strip().encode() not in good.stdout + bad.stdout + signed.stderr


def test_the_exit_code_is_that_of_the_report(tmp_path: Path) -> None:
    made = make(tmp_path, signed=False)
    bundle, receipts, claim = made.bundle, tmp_path / "receipts", made.claim
    assert run("verify", bundle, receipts, claim).returncode == 0
    assert run("verify", bundle, claim).returncode == 2
    assert run("verify", bundle, claim, "--no-require-verify-chain").returncode == 0
    assert run("verify", bundle, receipts, claim, "--require-attestation").returncode == 1
    assert run("verify", tmp_path, receipts, claim).returncode == 2
    assert run("verify", bundle, receipts, claim, "--limit", "max_depth=1").returncode == 2
    for usage in (
        ("--unknown",),
        ("--receipt-quorum", "0"),
        ("--limit", "max_depht=1"),
        ("--limit", "max_depth=-1"),
    ):
        assert run("verify", bundle, receipts, claim, *usage).returncode == 2
    report = run("verify", bundle, receipts, claim, "--json")
    assert report.stdout == made.verify().to_json()


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("encoding", "first"), [("utf-8", "✓ 5.1.1"), ("ascii", "ok   5.1.1"), ("cp1252", "ok   5.1.1")]
)
def test_a_terminal_gets_symbols_where_it_has_them(
    encoding: str, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path, signed=False)
    terminal = Terminal(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["verify", str(made.bundle), str(tmp_path / "receipts"), str(made.claim)]) == 0
    terminal.flush()
    written = terminal.buffer
    assert isinstance(written, io.BytesIO)
    assert written.getvalue().decode(encoding).startswith(first)


PATIENT = """
import sys, time
import compactwire as cw
from compactwire.cli import main

verify = cw.verify_claim

def slow(*paths, progress, **options):
    if progress:
        progress("receipts", 1, 4)
        sys.stderr.write("soon ")
        time.sleep(1.1)
        progress("receipts", 2, 4)
    return verify(*paths, **options)

cw.verify_claim = slow
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
def test_a_bar_is_shown_after_a_second_where_a_terminal_watches(tmp_path: Path) -> None:
    made = make(tmp_path, signed=False)
    paths = [str(made.bundle), str(tmp_path / "receipts"), str(made.claim)]
    command = [sys.executable, "-c", PATIENT, "verify", *paths]
    terminal, end = os.openpty()
    try:
        watched = subprocess.run(command, stdout=subprocess.PIPE, stderr=end, check=False)
        seen = os.read(terminal, 4096).decode()
    finally:
        os.close(terminal)
        os.close(end)
    assert watched.returncode == 0
    assert seen == f"soon \r[{'#' * 15}{'.' * 15}] 2 of 4 receipts \r\x1b[K"
    piped = subprocess.run(command, capture_output=True, check=False)
    assert (piped.returncode, piped.stderr, piped.stdout) == (0, b"", watched.stdout)


def test_what_an_input_says_does_not_speak_to_the_terminal(tmp_path: Path) -> None:
    made = make(tmp_path, signed=False)
    made.claim.write_bytes(b'{"\x1b[2J": "\x07"}')
    shown = run("verify", made.bundle, tmp_path / "receipts", made.claim)
    assert shown.returncode == 2
    assert b"\x1b" not in shown.stdout
    assert b"\x07" not in shown.stdout


def test_a_wrong_key_file_is_not_shown(tmp_path: Path) -> None:
    make(tmp_path / "out", signed=False)
    key = tmp_path / "key"
    key.write_text("ab" * 31 + "a")
    failed = run("claim", "sign", tmp_path / "out", "--key", key)
    assert failed.returncode == 1
    assert b"abab" not in failed.stderr
    assert b"a key is 64 hexadecimal digits" in failed.stderr


@pytest.mark.parametrize("content", [b"[]", b"{}", b"not JSON", b'{"run_id": 7}'])
def test_signing_what_is_no_bundle_is_one_line(content: bytes, tmp_path: Path) -> None:
    make(tmp_path / "out", signed=False)
    key = tmp_path / "key"
    key.write_text("ab" * 32)
    (tmp_path / "out" / "bundle" / "bundle.json").write_bytes(content)
    failed = run("claim", "sign", tmp_path / "out", "--key", key)
    assert failed.returncode == 1
    assert failed.stderr.startswith(b"compactwire: error: ")
    assert failed.stderr.count(b"\n") == 1
