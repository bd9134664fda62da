"""``compactwire claim``: keys, bundles, receipts, signatures and claims."""

from __future__ import annotations

import copy
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from compactwire import claims
from compactwire.cli import main
from tests.reference import claims as reference
from tests.strategies.claims import BUILD, KEY, OTHER_KEY, SEED, make
from tests.strategies.commands import run
from tests.strategies.privileges import without_privileges


def test_a_claim_is_made_signed_verified_and_refused(tmp_path: Path) -> None:
    intro, add = tmp_path / "intro.md", tmp_path / "add.py"
    intro.write_bytes("# Intro\r\n\r\nWörds, words, words.\r\n".encode() * 9)
    add.write_text("def add(a, b):\n    return a + b\n" * 9)
    key, out, policy = tmp_path / "key", tmp_path / "out", tmp_path / "policy.json"

    made = run("claim", "key", "-o", key)
    assert made.returncode == 0
    public = made.stdout.decode().strip()
    assert claims.SigningKey.load(key).public_key == public
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
    assert signed.stderr.decode() == f"receipts signed by {public}: 1\n"
    trusted = run("claim", "trust", f"me={public}", "--build-id", build, "-o", policy)
    assert trusted.returncode == 0, trusted.stderr

    verify = [
        *("verify", out / "bundle", out / "receipts", out / "claim.json", "--trust-policy", policy),
        *("--merkle-attestation", out / "merkle_attestation.json", "--strict"),
    ]
    good = run(*verify)
    assert (good.returncode, good.stderr) == (0, b"")
    lines = good.stdout.decode("ascii").splitlines()
    assert lines[0].startswith("VERIFIED: ")
    assert lines[1:7] == [
        "  artifacts: 2, of which none is free",
        "  receipts: 1 in a chain that names this bundle",
        "  signatures: all of each receipt by validators of the trust policy;"
        " their builds, too, where it names one",
        "  Merkle root: signed by a validator of the trust policy; no receipt that it"
        " covers is missing",
        "",
        "ok   5.1.1  the bundle exists and has a bundle.json",
    ]
    assert lines[-1] == "1 checks skipped; --skipped shows them"
    assert len(lines) == 6 + 43 + 1
    report = run(*verify, "--json")
    assert json.loads(report.stdout)["ok"] is True

    artifact = next((out / "bundle" / "artifacts").iterdir())
    data = artifact.read_bytes()
    artifact.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    bad = run(*verify)
    assert bad.returncode == 1
    assert b"FAIL 5.3.3  every artifact has the SHA-256 in the manifest\n" in bad.stdout
    assert bad.stdout.startswith(b"REFUSED at 5.3.3, ARTIFACT_HASH_MISMATCH: ")
    secret = claims.SigningKey.load(key).seed().hex().encode()
    assert secret not in good.stdout + bad.stdout + signed.stderr


def test_an_invalid_key_file_is_not_shown(tmp_path: Path) -> None:
    make(tmp_path / "out", signed=False)
    key = tmp_path / "key"
    key.write_text("ab" * 31 + "a")
    failed = run("claim", "sign", tmp_path / "out", "--key", key)
    assert failed.returncode == 1
    assert b"abab" not in failed.stderr
    assert b"expected a secret key, one line" in failed.stderr


def test_a_public_key_or_bare_digits_do_not_sign(tmp_path: Path) -> None:
    make(tmp_path / "out")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    key = tmp_path / "mine.pub"
    for text in (KEY.public_key + "\n", SEED.hex(), KEY.public_key.upper()):
        key.write_text(text)
        for option in ("--add", "--replace"):
            failed = sign(tmp_path / "out", key, "me", option)
            assert failed.returncode == 1
            assert b"mine.pub: it has 64 hexadecimal digits, which may be a public" in failed.stderr
            assert b"compactwire claim key --from-hex OLD -o NEW" in failed.stderr
    assert {path: path.read_bytes() for path in files} == before


def test_an_old_key_file_is_converted_on_request(tmp_path: Path) -> None:
    old, new = tmp_path / "old.key", tmp_path / "new.key"
    old.write_text(SEED.hex() + "\n")
    made = run("claim", "key", "--from-hex", old, "-o", new)
    assert (made.returncode, made.stdout.decode()) == (0, KEY.public_key + "\n")
    assert b"compare this public key with the one that you published" in made.stderr
    assert SEED.hex().encode() not in made.stderr
    assert claims.SigningKey.load(new).seed() == SEED
    assert old.read_text() == SEED.hex() + "\n"
    for source in (new, tmp_path / "missing"):
        failed = run("claim", "key", "--from-hex", source, "-o", tmp_path / "other")
        assert (failed.returncode, failed.stderr.count(b"\n")) == (1, 1)
        assert SEED.hex().encode() not in failed.stderr
        assert not (tmp_path / "other").exists()


def test_a_secret_key_is_no_public_key(tmp_path: Path) -> None:
    KEY.save(tmp_path / "mine.key")
    line = (tmp_path / "mine.key").read_text().strip()
    for entry in (f"me={line}", line, f"{line}=me"):
        failed = run("claim", "trust", entry, "-o", tmp_path / "policy.json")
        assert failed.returncode == 2
        assert b"this is a secret key; a trust policy has public keys" in failed.stderr
        assert SEED.hex().encode() not in failed.stderr
        assert not (tmp_path / "policy.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot lock folders")
def test_two_signers_at_once_keep_the_signatures_of_each_other(tmp_path: Path) -> None:
    import fcntl

    made = make(tmp_path / "out", signed=False)
    mine = tmp_path / "mine.key"
    KEY.save(mine)
    names = (tmp_path / "out", "--key", mine, "--validator-id", "me", "--add")
    command = [sys.executable, "-m", "compactwire", "claim", "sign", *map(str, names)]
    folder = os.open(tmp_path / "out" / "receipts", os.O_RDONLY)
    try:
        # Another process signs: it has read the receipts, and then writes them.
        fcntl.flock(folder, fcntl.LOCK_EX)
        signer = subprocess.Popen(command, stderr=subprocess.PIPE)
        with pytest.raises(subprocess.TimeoutExpired):
            signer.wait(3)
        made.write_receipts([claims.sign_receipt(each, OTHER_KEY, "you") for each in made.receipts])
    finally:
        os.close(folder)
    _, stderr = signer.communicate()
    assert signer.returncode == 0, stderr
    for path in (tmp_path / "out" / "receipts").iterdir():
        signatures = json.loads(path.read_bytes())["attestations"]
        assert [each["validator_id"] for each in signatures] == ["me", "you"]


def test_a_trust_policy_is_replaced_only_on_request(tmp_path: Path) -> None:
    policy = tmp_path / "policy.json"
    mine, yours = (f"{name}={key.public_key}" for name, key in (("me", KEY), ("you", OTHER_KEY)))
    assert run("claim", "trust", mine, "-o", policy).returncode == 0
    before = policy.read_bytes()
    failed = run("claim", "trust", yours, "-o", policy)
    assert failed.returncode == 1
    assert b"policy.json: the file exists; replace it (--replace)" in failed.stderr
    assert policy.read_bytes() == before
    assert run("claim", "trust", yours, "-o", policy, "--replace").returncode == 0
    (entry,) = json.loads(policy.read_bytes())["allow"]
    assert entry["public_key"] == OTHER_KEY.public_key


def test_a_signature_is_replaced_only_on_request(tmp_path: Path) -> None:
    make(tmp_path / "out", signed=False)
    out, mine, yours = tmp_path / "out", tmp_path / "mine.key", tmp_path / "yours.key"
    KEY.save(mine)
    OTHER_KEY.save(yours)
    assert sign(out, mine, "me").returncode == 0
    files = [out / "merkle_attestation.json", *sorted((out / "receipts").iterdir())]
    before = {path: path.read_bytes() for path in files}

    def unchanged() -> bool:
        return {path: path.read_bytes() for path in files} == before

    assert sign(out, mine, "me").returncode == 0
    assert unchanged(), "signing again in the same way changes nothing"
    failed = sign(out, yours, "you")
    assert (failed.returncode, failed.stderr.count(b"\n")) == (1, 1)
    assert f'run_00000000.json: "{KEY.public_key[:40]}"'.encode() in failed.stderr
    assert b"keep that signature (--add), or replace it (--replace)" in failed.stderr
    failed = sign(out, mine, "renamed", "--add")
    assert b"this key has signed it already, with another name" in failed.stderr
    assert unchanged()
    for path in files[1:]:
        claims.write_json(path, {**claims.parse_json(before[path]), "attestation": None})
    failed = sign(out, yours, "you")
    assert b"the file exists; keep it (--add), or replace it (--replace)" in failed.stderr
    assert files[0].read_bytes() == before[files[0]]
    for path in files[1:]:
        path.write_bytes(before[path])
    assert sign(out, yours, "you", "--replace").returncode == 0
    for path in files:
        value = claims.parse_json(path.read_bytes())
        assert value.get("attestation", value)["public_key"] == OTHER_KEY.public_key
    files[-1].unlink()
    failed = sign(out, yours, "you", "--add")
    assert (
        b"merkle_attestation.json: the attestation signs other receipts; replace it"
        in failed.stderr
    )
    assert sign(out, yours, "you", "--add", "--replace").returncode == 0


@pytest.mark.parametrize("content", [b"[]", b"{}", b"not JSON", b'{"run_id": 7}'])
def test_signing_an_invalid_bundle_is_an_error_in_one_line(content: bytes, tmp_path: Path) -> None:
    make(tmp_path / "out", signed=False)
    key = tmp_path / "key"
    KEY.save(key)
    (tmp_path / "out" / "bundle" / "bundle.json").write_bytes(content)
    failed = run("claim", "sign", tmp_path / "out", "--key", key)
    assert failed.returncode == 1
    assert failed.stderr.startswith(b"compactwire: error: ")
    assert failed.stderr.count(b"\n") == 1


def sign(out: Path, key: Path, name: str, *options: str) -> subprocess.CompletedProcess[bytes]:
    return run("claim", "sign", out, "--key", key, "--validator-id", name, *options)


def test_two_signatures_count(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("Hello, world. " * 9)
    out, keys = tmp_path / "out", [tmp_path / "mine.key", tmp_path / "yours.key"]
    publics = [run("claim", "key", "-o", key).stdout.decode().strip() for key in keys]
    assert run("claim", "new", tmp_path / "text", "--run-id", "r", "-o", out).returncode == 1
    made = subprocess.run(
        [
            sys.executable,
            *["-m", "compactwire", "claim", "new", "text", "--run-id", "r", "-o", "out"],
        ],
        cwd=tmp_path,
        check=False,
    )
    assert made.returncode == 0
    assert sign(out, keys[0], "me").returncode == 0
    merkle = (out / "merkle_attestation.json").read_bytes()
    added = sign(out, keys[1], "you", "--add")
    assert added.stderr.endswith(b"; the Merkle attestation is kept\n")
    assert (out / "merkle_attestation.json").read_bytes() == merkle
    refused = sign(out, keys[1], "you")
    assert (
        refused.returncode,
        b"has signed it; keep that signature (--add)" in refused.stderr,
    ) == (1, True)
    policy = tmp_path / "policy.json"
    entries = [f"{name}={public}" for name, public in zip(("me", "you"), publics, strict=True)]
    assert run("claim", "trust", *entries, "-o", policy).returncode == 0
    verify = ("verify", out / "bundle", out / "receipts", out / "claim.json", "--strict-trust")
    options = ("--trust-policy", policy, "--receipt-quorum")
    assert run(*verify, *options, "2").returncode == 0
    assert run(*verify, *options, "3").returncode == 1


@pytest.mark.parametrize("broken", ["gap", "hash", "other run"])
def test_an_invalid_chain_is_not_signed(broken: str, tmp_path: Path) -> None:
    made = make(tmp_path / "out", signed=False)
    KEY.save(tmp_path / "key")
    receipts = tmp_path / "out" / "receipts"
    if broken == "gap":
        (receipts / "run_00000001.json").unlink()
    elif broken == "hash":
        changed = {**made.receipts[1], "outcome": "FAILURE"}
        claims.write_json(receipts / "run_00000001.json", changed)
    else:
        claims.write_json(receipts / "run_9.json", made.receipts[0])
    before = {path: path.read_bytes() for path in receipts.iterdir()}
    failed = sign(tmp_path / "out", tmp_path / "key", "me")
    assert failed.returncode == 1
    name = "run_9.json" if broken == "other run" else f"run_0000000{1 + (broken == 'gap')}.json"
    assert f": {receipts / name}: ".encode() in failed.stderr
    assert {path: path.read_bytes() for path in receipts.iterdir()} == before
    assert not (tmp_path / "out" / "merkle_attestation.json").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs FIFOs and links")
@pytest.mark.parametrize("planted", ["fifo", "link", "zero"])
def test_foreign_files_among_receipts_do_not_block(planted: str, tmp_path: Path) -> None:
    make(tmp_path / "out", signed=False)
    KEY.save(tmp_path / "key")
    path = tmp_path / "out" / "receipts" / "run_x.json"
    if planted == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if planted == "zero" else "run_00000000.json")
    failed = sign(tmp_path / "out", tmp_path / "key", "me")
    assert failed.returncode == 1
    assert failed.stderr.count(b"\n") == 1


def signable(tmp_path: Path) -> tuple[Path, Path]:
    make(tmp_path / "out", signed=False)
    KEY.save(tmp_path / "key")
    return tmp_path / "out", tmp_path / "key"


def test_a_receipt_is_signed_in_its_own_file(tmp_path: Path) -> None:
    out, key = signable(tmp_path)
    first = out / "receipts" / "run_00000000.json"
    first.rename(out / "receipts" / "run_a.json")
    assert sign(out, key, "me").returncode == 0
    assert len(list((out / "receipts").iterdir())) == 3
    merkle = ("--merkle-attestation", out / "merkle_attestation.json")
    verify = (
        "verify",
        out / "bundle",
        out / "receipts",
        out / "claim.json",
        "--require-attestation",
    )
    assert run(*verify, *merkle, "--require-merkle-attestation").returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="needs links")
@pytest.mark.parametrize("planted", ["merkle_attestation.json", "receipts"])
def test_signing_does_not_follow_a_link(planted: str, tmp_path: Path) -> None:
    out, key = signable(tmp_path)
    if planted == "receipts":
        (out / planted).rename(tmp_path / "victim")
        (out / planted).symlink_to(tmp_path / "victim")
    else:
        (out / planted).symlink_to(tmp_path / "elsewhere")
    files = [path for path in tmp_path.rglob("*.json") if path.exists()]
    before = {path: path.read_bytes() for path in files}
    failed = sign(out, key, "me")
    assert (failed.returncode, b": this is a link; " in failed.stderr) == (1, True)
    assert {path: path.read_bytes() for path in files} == before
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="NOT RUN: needs permissions of POSIX")
def test_an_error_of_a_new_claim_names_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not inside pytest's own folder, which only one user may read.
    with tempfile.TemporaryDirectory() as root:
        monkeypatch.chdir(root)
        Path("text").write_text("hello world")
        Path("out").mkdir()
        Path(root).chmod(0o755)
        said = io.StringIO()
        command = ["claim", "new", "text", "--run-id", "r", "-o"]
        # The first call imports what the user may not read.
        assert main([*command, "first"]) == 0
        with without_privileges(), redirect_stderr(said):
            status = main([*command, "out"])
    assert (status, said.getvalue()) == (1, "compactwire: error: out: Permission denied\n")


def test_a_kept_merkle_attestation_is_valid(tmp_path: Path) -> None:
    out, key = signable(tmp_path)
    OTHER_KEY.save(tmp_path / "other")
    assert sign(out, key, "me").returncode == 0
    path = out / "merkle_attestation.json"
    merkle = claims.parse_json(path.read_bytes())
    assert claims.verify_merkle_signature(merkle)
    merkle["signature"] = merkle["signature"][::-1]
    assert not claims.verify_merkle_signature(merkle)
    claims.write_json(path, merkle)
    failed = sign(out, tmp_path / "other", "you", "--add")
    assert (failed.returncode, b"signature is invalid" in failed.stderr) == (1, True)


def test_a_receipt_that_grows_too_large_is_not_signed(tmp_path: Path) -> None:
    out, key = signable(tmp_path)
    path = out / "receipts" / "run_00000002.json"
    receipt = claims.parse_json(path.read_bytes())
    receipt["steps"][0]["result"] = {"x": "é" * 200_000}
    receipt["receipt_hash"] = reference.receipt_hash(receipt)
    path.write_text(json.dumps(receipt, ensure_ascii=False), encoding="utf-8")
    failed = sign(out, key, "me")
    assert (failed.returncode, b"signed, it has 1,20" in failed.stderr) == (1, True)
    assert not (out / "merkle_attestation.json").exists()


def test_control_characters_of_arguments_are_escaped() -> None:
    failed = run("verify", "a", "b", "c", "d\x1b[31mred")
    assert failed.returncode == 2
    assert b"\x1b" not in failed.stderr
    assert b"d\\x1b[31mred" in failed.stderr


def test_a_refused_claim_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("short")
    for arguments in (
        ("--symbol", f"@a-name-that-is-longer={tmp_path / 'text'}"),
        ("--symbol", f"no-at={tmp_path / 'text'}"),
        ("--symbol", f"@a={tmp_path / 'missing'}"),
    ):
        failed = run("claim", "new", *arguments, "--run-id", "r", "-o", tmp_path / "new" / "out")
        assert failed.returncode == 1
        assert failed.stderr.startswith(b"compactwire: error: ")
        assert [path.name for path in tmp_path.iterdir()] == ["text"]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    made = ("--symbol", f"@a={tmp_path / 'text'}", "--run-id", "r", "-o", tmp_path / "out")
    failed = run("claim", "new", *made)
    assert b"not empty; name a new folder, or empty this one" in failed.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


@pytest.mark.skipif(os.name != "posix", reason="needs SIGTERM")
def test_the_unfinished_work_of_a_killed_run_is_named_and_kept(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("words " * 9)
    command = ["claim", "new", "text", "--run-id", "r", "-o", "out"]
    killed = subprocess.run(
        [
            *(sys.executable, "-c"),
            "import os, signal\n"
            "from compactwire import claims, cli\n"
            "claims.make_claim = lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM)\n"
            f"cli.main({command})",
        ],
        check=False,
        cwd=tmp_path,
    )
    assert killed.returncode == -signal.SIGTERM
    [left] = (tmp_path / "out").iterdir()
    failed = run(*command[:2], tmp_path / "text", *command[3:-1], tmp_path / "out")
    assert failed.returncode == 1
    assert f"{left.name} is the unfinished work of another run".encode() in failed.stderr
    assert b"remove it, or name a new folder" in failed.stderr
    assert left.is_dir()


@pytest.mark.parametrize(
    "usage",
    [
        ("claim", "new", "--symbol", "@a", "--run-id", "r", "-o", "out"),
        ("claim", "new", "--symbol", "=file", "--run-id", "r", "-o", "out"),
        ("claim", "trust", "0" * 64, "-o", "policy"),
        ("claim", "trust", "me=", "-o", "policy"),
    ],
)
def test_an_incomplete_pair_of_arguments_is_a_usage_error(usage: tuple[str, ...]) -> None:
    failed = run(*usage)
    assert failed.returncode == 2
    assert b", not '" in failed.stderr


PAGE = Path(__file__).parents[2] / "docs" / "claims.md"


@pytest.mark.skipif(os.name != "posix", reason="the page is written for a Unix shell")
def test_the_page_shows_the_output_of_its_commands(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (section,) = re.findall(r"## In six commands\n(.*?)\n## ", page, flags=re.DOTALL)
    (script,) = re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL)
    shown = re.findall(r"```text\n(.*?)```", section, flags=re.DOTALL)
    (tmp_path / "intro.md").write_text("What follows adds numbers.\n")
    (tmp_path / "add.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n" * 8)
    command = f'compactwire() {{ "{sys.executable}" -m compactwire "$@"; }}\nset -e\n{script}'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, check=True)
    verdicts = [part.partition("\nok ")[0] for part in done.stdout.decode().split("VERIFIED")[1:]]
    assert ["VERIFIED" + verdict.rstrip() for verdict in verdicts] == [s.rstrip() for s in shown]


def test_a_key_in_place_of_its_file_is_not_shown(tmp_path: Path) -> None:
    assert run("claim", "key", "-o", tmp_path / "key").returncode == 0
    line = (tmp_path / "key").read_text().strip()
    _, seed, _ = line.split()
    out = tmp_path / "out"
    for arguments in (
        *(("sign", out, "--key", key) for key in (line, seed)),
        ("sign", out, "--key", *line.split()),
        *(("key", "-o", out, "--from-hex", key) for key in (line, seed)),
        *(("trust", *words, "-o", out) for words in (line.split(), [line], [f"me={line}"], [seed])),
    ):
        result = run("claim", *arguments)
        assert result.returncode in (1, 2)
        assert seed[:16].encode() not in result.stderr, arguments
        assert b"error: " in result.stderr


def test_an_invalid_signature_is_replaced_when_asked(tmp_path: Path) -> None:
    made = make(tmp_path / "out")
    KEY.save(tmp_path / "key")
    path = tmp_path / "out" / "receipts" / "run_00000001.json"
    broken = copy.deepcopy(made.receipts[1])
    signature = broken["attestation"]["signature"]
    broken["attestation"]["signature"] = ("1" if signature[0] == "0" else "0") + signature[1:]
    claims.write_json(path, broken)
    failed = sign(tmp_path / "out", tmp_path / "key", "validator", "--build-id", BUILD, "--add")
    assert failed.returncode == 1
    assert f"{path}: ".encode() in failed.stderr
    assert sign(tmp_path / "out", tmp_path / "key", "me", "--replace").returncode == 0
    receipt = claims.parse_json(path.read_bytes())
    assert receipt == claims.sign_receipt(broken, KEY, "me", replace=True)
