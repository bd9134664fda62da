"""``compactwire verify``: output, notes, and exit codes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from compactwire.cli import main
from tests.strategies.claims import free, make
from tests.strategies.commands import run


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
        ("--strict", "--no-bind-receipts"),
        ("--strict", "--no-require-verify-chain"),
    ):
        assert run("verify", bundle, receipts, claim, *usage).returncode == 2
    report = run("verify", bundle, receipts, claim, "--json")
    assert report.stdout == made.verify().to_json()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of files are UTF-8")
def test_a_claim_may_be_in_a_folder_whose_name_is_not_utf8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    made = make(folder, signed=False)
    assert made.verify()
    assert run("verify", made.bundle, folder / "receipts", made.claim).returncode == 0
    assert run("verify", made.bundle, folder / "receipts", folder / "missing").returncode == 2


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("encoding", "first"),
    [("utf-8", "\n✓ 5.1.1"), ("ascii", "\nok   5.1.1"), ("cp1252", "\nok   5.1.1")],
)
def test_a_terminal_gets_symbols_that_it_can_show(
    encoding: str, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path, signed=False)
    terminal = Terminal(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["verify", str(made.bundle), str(tmp_path / "receipts"), str(made.claim)]) == 0
    terminal.flush()
    written = terminal.buffer
    assert isinstance(written, io.BytesIO)
    assert first in written.getvalue().decode(encoding).replace("\r", "")


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
def test_a_progress_bar_is_shown_on_a_terminal_after_a_second(tmp_path: Path) -> None:
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


def test_control_characters_of_an_input_are_escaped(tmp_path: Path) -> None:
    made = make(tmp_path, signed=False)
    made.claim.write_bytes(b'{"\x1b[2J": "\x07"}')
    shown = run("verify", made.bundle, tmp_path / "receipts", made.claim)
    assert shown.returncode == 2
    assert b"\x1b" not in shown.stdout
    assert b"\x07" not in shown.stdout


ASK = "--trust-policy FILE --strict-trust"
OWN = "checked against their own key only, not against a policy"
UNSIGNED = f"  signatures: not checked; to check them, use {ASK}"
MERKLE = "--require-merkle-attestation"
UNROOTED = (
    "  Merkle root: not attested, so the last receipts may be missing;"
    f" to check it, use --merkle-attestation FILE {MERKLE}"
)
CHAIN = "  receipts: 3 in a chain that names this bundle"
COSTS = "  artifacts: 3, of which none is free"
REACHES: dict[str, list[str]] = {
    "": [CHAIN, UNSIGNED, UNROOTED],
    "--no-require-verify-chain": [
        "  receipts: not checked (--no-require-verify-chain)", UNSIGNED, UNROOTED,
    ],
    "--no-bind-receipts": [
        "  receipts: 3, perhaps of other bundles (--no-bind-receipts)", UNSIGNED, UNROOTED,
    ],
    "--trust-policy policy.json": [
        CHAIN,
        "  signatures: not checked; to check them, use --strict-trust",
        "  trust policy: only its form was checked; to apply it, use --strict-trust",
        UNROOTED,
    ],
    "--require-attestation": [
        CHAIN, f"  signatures: all of each receipt {OWN}; to check the signers, use {ASK}",
        UNROOTED,
    ],
    "--receipt-quorum 1": [
        CHAIN,
        f"  signatures: 1 or more of each receipt {OWN}; to check the signers, use {ASK}",
        UNROOTED,
    ],
    "--trust-policy policy.json --strict-trust": [
        CHAIN,
        "  signatures: all of each receipt by validators of the trust policy;"
        " their builds were not compared",
        UNROOTED,
    ],
    "--merkle-attestation merkle.json": [
        CHAIN,
        UNSIGNED,
        "  Merkle root: given, but not checked, so the last receipts may be missing;"
        f" to check it, use {MERKLE}",
    ],
    f"--merkle-attestation merkle.json {MERKLE}": [
        CHAIN,
        UNSIGNED,
        "  Merkle root: signature checked against its own key only, not against a policy;"
        f" to check the signer, use {ASK}",
    ],
    f"--merkle-attestation merkle.json {MERKLE} --trust-policy policy.json --strict-identity": [
        CHAIN,
        "  signatures: all of each receipt by validators of the trust policy;"
        " their builds, too, where it names one",
        "  Merkle root: signed by a validator of the trust policy; no receipt that it"
        " covers is missing",
    ],
}  # fmt: skip


@pytest.mark.parametrize("options", REACHES)
def test_a_verdict_names_what_was_not_checked(
    options: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "bundle", "receipts", "claim.json", *options.split()]) == 0
    verdict, _, checks = capsys.readouterr().out.partition("\n\n")
    assert verdict.startswith("VERIFIED: ")
    assert verdict.splitlines()[1:] == [COSTS, *REACHES[options]]
    assert checks.startswith("ok   5.1.1")


def test_the_verdict_comes_first_and_skipped_checks_on_request(tmp_path: Path) -> None:
    made = make(tmp_path, signed=False)
    command = ("verify", made.bundle, tmp_path / "receipts", made.claim)
    lines = run(*command).stdout.decode().splitlines()
    assert lines[0].startswith("VERIFIED: ")
    assert not any(line.startswith("-") for line in lines)
    skipped = [
        line for line in run(*command, "--skipped").stdout.decode().splitlines() if line[0:1] == "-"
    ]
    assert lines[-1] == f"{len(skipped)} checks skipped; --skipped shows them"
    assert len(skipped) > 10
    made.claim.write_text("{}")
    refused = run(*command)
    assert refused.returncode == 2
    lines = refused.stdout.decode().splitlines()
    assert lines[0].startswith("REFUSED at 5.2.1, INVALID_CLAIM_SCHEMA: ")
    assert lines[1:3] == ["  in claim.json", ""]
    assert lines[-2:] == [
        "FAIL 5.2.1  the claim matches its schema and its hash",
        "40 checks skipped; --skipped shows them",
    ]


def test_free_and_repeated_artifacts_are_part_of_the_verdict(tmp_path: Path) -> None:
    made = free(
        tmp_path, [("fn:parse", None), ("@a", None), ("@long", None), ("@long", "all of it")]
    )
    command = ("verify", made.bundle, tmp_path / "receipts", made.claim)
    lines = run(*command).stdout.decode().splitlines()
    assert lines[:2] == [
        "VERIFIED: 6 of 504 tokens, ratio 0.0119, 2 of 5 artifacts cost nothing",
        "  artifacts: 5, of which 2 cost nothing; --require-symbol-refs refuses them;"
        " 3 repeat the text of another",
    ]
    refused = run(*command, "--require-symbol-refs")
    assert refused.returncode == 1
    lines = refused.stdout.decode().splitlines()
    assert lines[0].startswith("REFUSED at 5.7.2, METRIC_MISMATCH: the symbol ")
    assert lines[2] == "  artifacts: 2 cost nothing"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
@pytest.mark.parametrize("style", [[], ["--json"]])
@pytest.mark.parametrize("redirect", [">/dev/full", ">&-", ">/dev/full 2>/dev/full", ">&- 2>&-"])
def test_output_that_cannot_be_written_is_an_error(
    redirect: str, style: list[str], tmp_path: Path
) -> None:
    made = make(tmp_path, signed=False)
    paths = [str(made.bundle), str(tmp_path / "receipts"), str(made.claim)]
    command = [sys.executable, "-m", "compactwire", "verify", *paths, *style]
    shell = ["sh", "-c", f'"$@" {redirect}', "sh", *command]
    child = subprocess.run(shell, capture_output=True, check=False)
    assert child.returncode == 3
    assert b"Traceback" not in child.stderr
    if "2>" not in redirect:
        assert child.stderr.startswith(b"compactwire: error: ")


def test_a_closed_pipe_is_an_error(tmp_path: Path) -> None:
    made = make(tmp_path, signed=False)
    paths = [str(made.bundle), str(tmp_path / "receipts"), str(made.claim)]
    if os.name != "posix":
        pytest.skip("needs pipes that break")
    shell = ["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "bash"]
    slow = "import sys, time; time.sleep(0.5); from compactwire.cli import main; sys.exit(main())"
    done = subprocess.run([*shell, sys.executable, "-c", slow, "verify", *paths], check=False)
    assert done.returncode == 141


def test_an_internal_error_is_not_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError("no room\x1b[2J")

    monkeypatch.setattr("compactwire.verify_claim", fail)
    monkeypatch.setattr("compactwire.cli.verify.drop_stdout", lambda: None)
    assert main(["verify", "bundle", "claim.json"]) == 3
    assert capsys.readouterr().err == ("compactwire: error: not enough memory: no room\\x1b[2J\n")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs an endless file")
def test_an_endless_file_is_not_read_forever(tmp_path: Path) -> None:
    make(tmp_path / "out", signed=False)
    key = tmp_path / "key"
    with key.open("wb") as file:
        file.truncate(1 << 40)
    for path, message in [
        (
            "/dev/zero",
            b"/dev/zero: expected a key file, found something that is not a regular file",
        ),
        (key, b"key: this file has more than the 256 bytes of a key file"),
    ]:
        failed = run("claim", "sign", tmp_path / "out", "--key", path)
        assert failed.returncode == 1
        assert message in failed.stderr
    for path, message in [
        ("/dev/zero", b"/dev/zero: not a regular file"),
        (key, b"key: larger than 67,108,864 bytes"),
    ]:
        failed = run(
            *("claim", "new", "--symbol", f"@a={path}", "--run-id", "r", "-o"), tmp_path / "n"
        )
        assert failed.returncode == 1
        assert message in failed.stderr
