"""Hostile input to the verification: bounded work, no blocking, no wrong verdict."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import claims
from tests.reference import claims as reference
from tests.strategies.claims import ITEMS, SEED, Made, chain, code, key, load, make
from tests.strategies.privileges import without_privileges

posix = pytest.mark.skipif(os.name != "posix", reason="needs FIFOs and descriptors")


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return make(tmp_path)


def artifact(made: Made) -> Path:
    return made.bundle / made.manifest["artifacts"][0]["path"]


def failed_at(report: cw.ClaimReport) -> tuple[str, str]:
    assert report.error is not None
    return report.error.code, report.error.check


@posix
def test_a_fifo_does_not_block(made: Made, tmp_path: Path) -> None:
    path = artifact(made)
    path.unlink()
    os.mkfifo(path)
    assert failed_at(made.verify()) == ("ARTIFACT_HASH_MISMATCH", "5.3.3")
    os.mkfifo(tmp_path / "receipts" / "run_x.json")
    assert failed_at(made.verify()) == ("INVALID_RECEIPT_SCHEMA", "5.2.3")
    os.mkfifo(tmp_path / "fifo")
    for name, expected in [
        ("claim", ("INVALID_CLAIM_SCHEMA", "5.1.4")),
        ("trust_policy", ("INVALID_TRUST_POLICY_SCHEMA", "5.1.3")),
    ]:
        given: dict[str, Any] = {"claim": made.claim, **made.options, name: tmp_path / "fifo"}
        report = cw.verify_claim(made.bundle, tmp_path / "receipts", **given)
        assert failed_at(report) == expected


@posix
def test_devices_and_sockets_are_not_read(made: Made) -> None:
    assert code(cw.verify_claim(made.bundle, None, "/dev/zero")) == "MISSING_RECEIPTS"
    report = cw.verify_claim(made.bundle, None, "/dev/zero", require_verify_chain=False)
    assert failed_at(report) == ("INVALID_CLAIM_SCHEMA", "5.1.4")


UNREADABLE = {
    "claim.json": ("INVALID_CLAIM_SCHEMA", "5.1.4"),
    "bundle/bundle.json": ("INVALID_BUNDLE_SCHEMA", "5.2.2"),
    "receipts/run_00000001.json": ("INVALID_RECEIPT_SCHEMA", "5.2.3"),
    "receipts": ("MISSING_RECEIPTS", "5.2.3"),
    "policy.json": ("INVALID_TRUST_POLICY_SCHEMA", "5.2.4"),
    "bundle/artifacts": ("ARTIFACT_HASH_MISMATCH", "5.3.3"),
    "artifact": ("ARTIFACT_HASH_MISMATCH", "5.3.3"),
    "merkle.json": ("MERKLE_ATTESTATION_INVALID", "5.6.0"),
}


@posix
@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_file_has_the_code_of_an_invalid_one(name: str) -> None:
    # Not inside pytest's own folder, which only one user may read.
    with tempfile.TemporaryDirectory() as folder:
        made = make(Path(folder))
        Path(folder).chmod(0o755)
        path = artifact(made) if name == "artifact" else made.folder / name
        mode = path.stat().st_mode
        # A folder that can be entered but not listed.
        path.chmod(0o111 if name == "receipts" else 0)
        with without_privileges():
            if os.access(path, os.R_OK, effective_ids=True):
                pytest.skip("this user may read everything")
            report = made.verify()
        path.chmod(mode)
        assert failed_at(report) == UNREADABLE[name]


def test_folders_instead_of_files_are_refused(made: Made, tmp_path: Path) -> None:
    (tmp_path / "receipts" / "run_.json").mkdir()
    assert failed_at(made.verify()) == ("INVALID_RECEIPT_SCHEMA", "5.2.3")
    (tmp_path / "receipts" / "run_.json").rmdir()
    path = artifact(made)
    path.unlink()
    path.mkdir()
    assert failed_at(made.verify()) == ("ARTIFACT_HASH_MISMATCH", "5.3.3")


@posix
def test_links_are_refused_inside_a_bundle_and_followed_as_arguments(
    made: Made, tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere"
    shutil.move(made.folder / "claim.json", moved)
    (made.folder / "claim.json").symlink_to(moved)
    (tmp_path / "link").symlink_to(made.bundle)
    assert made.verify()
    assert cw.verify_claim(tmp_path / "link", tmp_path / "receipts", made.claim)
    path = artifact(made)
    shutil.copy(path, tmp_path / "same")
    path.unlink()
    path.symlink_to(tmp_path / "same")
    assert failed_at(made.verify()) == ("FORBIDDEN_FIELD", "5.3.3")


@posix
def test_a_hard_link_is_read_like_a_file(made: Made, tmp_path: Path) -> None:
    path = artifact(made)
    path.rename(tmp_path / "other")
    os.link(tmp_path / "other", path)
    assert made.verify()


def test_a_read_only_bundle_verifies(made: Made) -> None:
    for path in sorted(made.folder.rglob("*"), reverse=True):
        path.chmod(0o500 if path.is_dir() else 0o400)
    assert made.verify()
    for path in made.folder.rglob("*"):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)


@posix
def test_a_receipt_is_read_although_its_name_is_not_utf8(made: Made, tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(bytes(tmp_path) + b"/receipts/run_\xff.json")).write_text("{")
    except OSError:
        pytest.skip("this file system has no such names")
    assert failed_at(made.verify()) == ("INVALID_RECEIPT_SCHEMA", "5.2.3")


NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claim.json", "INVALID_CLAIM_SCHEMA"),
        ("bundle/bundle.json", "INVALID_BUNDLE_SCHEMA"),
        ("receipts/run_00000001.json", "INVALID_RECEIPT_SCHEMA"),
        ("policy.json", "INVALID_TRUST_POLICY_SCHEMA"),
        ("merkle.json", "MERKLE_ATTESTATION_INVALID"),
    ],
)
@pytest.mark.parametrize(
    "content",
    [
        NESTED, NESTED[:100_000], '{"a":' * 100_000, "", "\0", "7", "[]", "null", '"' * 9,
        '{"a":' + "9" * 4301 + "}", "[" + "0," * 100_000 + "0]", "\ufeff{}", "{}{}",
        '{"' + "a" * 100_000 + '":1}',
    ],
    ids=range(14),
)  # fmt: skip
def test_hostile_json_is_refused(name: str, expected: str, content: str, made: Made) -> None:
    (made.folder / name).write_text(content, encoding="utf-8")
    assert code(made.verify()) == expected


def rewrite(made: Made, change: Any) -> None:
    """Change the manifest and recompute all ids and hashes."""
    change(made.manifest)
    hashes = made.manifest["hashes"] | {"root_hash": ""}
    made.manifest["bundle_id"] = reference.sha256(
        reference.canon(made.manifest | {"bundle_id": "", "hashes": hashes})
    )
    claims.write_json(made.bundle / "bundle.json", made.manifest)


def test_integers_of_free_members_keep_every_digit(made: Made) -> None:
    rewrite(made, lambda m: m["steps"][0]["refs"].update(x=10**4299))
    assert failed_at(made.verify()) == ("BUNDLE_ID_MISMATCH", "5.3.7")
    text = (made.bundle / "bundle.json").read_text()
    (made.bundle / "bundle.json").write_text(text.replace("0" * 4299, "0" * 4298 + "1"))
    assert failed_at(made.verify()) == ("BUNDLE_ID_MISMATCH", "5.3.1")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd", "../x", "artifacts/../../x", "artifacts\\x", "C:/x", "artifacts/x:s",
        "artifacts/x\0", "artifacts//x", "artifacts/x.", "artifacts/x ", "artifacts/", "artifacts",
        "x/artifacts", "artifacts/\x7f", "artifacts/a\n",
    ],
)  # fmt: skip
def test_a_path_outside_the_bundle_is_refused_unopened(path: str, made: Made) -> None:
    rewrite(made, lambda m: m["artifacts"][0].update(path=path))
    assert failed_at(made.verify()) == ("FORBIDDEN_FIELD", "5.3.3")


def test_a_manifest_with_too_large_sizes_is_refused(made: Made) -> None:
    rewrite(made, lambda m: m["artifacts"][0].update(bytes=2**53 - 1))
    assert failed_at(made.verify()) == ("INVALID_BUNDLE_SCHEMA", "5.2.2")


def test_each_limit_has_its_code(made: Made) -> None:
    for name, expected in [
        ("max_json_bytes", "INVALID_CLAIM_SCHEMA"),
        ("max_receipt_bytes", "INVALID_RECEIPT_SCHEMA"),
        ("max_depth", "INVALID_CLAIM_SCHEMA"),
        ("max_steps", "INVALID_BUNDLE_SCHEMA"),
        ("max_artifacts", "INVALID_BUNDLE_SCHEMA"),
        ("max_artifact_bytes", "INVALID_BUNDLE_SCHEMA"),
        ("max_total_bytes", "INVALID_BUNDLE_SCHEMA"),
        ("max_receipts", "INVALID_RECEIPT_SCHEMA"),
    ]:
        assert code(made.verify(limits={name: 1})) == expected, name
    assert made.verify(limits={"max_receipts": 3, "max_steps": 3, "max_artifacts": 3})


def test_max_int_digits_applies_to_short_integers(made: Made) -> None:
    rewrite(made, lambda m: m["steps"][0]["refs"].update(x=1234))
    assert failed_at(made.verify(limits={"max_int_digits": 4})) == ("BUNDLE_ID_MISMATCH", "5.3.7")
    limits = {"max_int_digits": 3}
    assert failed_at(made.verify(limits=limits)) == ("INVALID_BUNDLE_SCHEMA", "5.2.2")


@pytest.mark.skipif(sys.platform != "linux", reason="needs files of any size that cost nothing")
@pytest.mark.parametrize("name", ["bundle/bundle.json", "receipts/run_00000001.json"])
def test_a_file_larger_than_memory_gets_no_verdict(name: str, made: Made) -> None:
    os.truncate(made.folder / name, 2**43)
    assert made.verify().error is not None
    with pytest.raises(MemoryError):
        made.verify(limits={"max_json_bytes": 2**62, "max_receipt_bytes": 2**62})


@posix
@pytest.mark.parametrize("threads", ["1", "4"])
def test_too_many_open_files_get_no_verdict(
    threads: str, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    monkeypatch.setenv("COMPACTWIRE_THREADS", threads)
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    too_many = f"[errno {errno.EMFILE}] too many open files"

    def with_left(count: int, work: Callable[[], object]) -> str:
        lowest = os.open(os.devnull, os.O_RDONLY)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + count, usual[1]))
        try:
            return "done" if work() else "refused"
        except OSError as error:
            return str(error).lower()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, usual)

    folder, receipt = made.folder / "receipts", chain(made.manifest, 1)[0]
    for work in (
        made.verify,
        lambda: claims.make_claim(made.manifest, made.bundle),
        lambda: claims.write_receipt(folder, receipt, replace=True),
    ):
        found = [with_left(count, work) for count in range(12)]
        assert (too_many in found[0], found[-1]) == (True, "done")
        assert all(one == "done" or too_many in one for one in found)


MEASURED = """
import sys
import compactwire as cw

def peak():
    lines = open("/proc/self/status")
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before = peak()
report = cw.verify_claim(*sys.argv[1:])
print(report.error.code, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("entry", ["[],", "[0],", '{"":0},', "0,", "[[[[]]]],", '"\\n",', "names"])
def test_memory_is_a_small_multiple_of_a_file(entry: str, made: Made) -> None:
    size = 4 << 20
    if entry == "names":
        text = "{" + ",".join(f'"{number:x}":0' for number in range(size // 10)) + "}"
    else:
        text = "[" + entry * (size // len(entry)) + "0]"
    (made.bundle / "bundle.json").write_text(text)
    paths = (made.bundle, made.folder / "receipts", made.claim)
    reported = subprocess.run(
        [sys.executable, "-c", MEASURED, *paths], capture_output=True, text=True, check=True
    )
    verdict, kibibytes = reported.stdout.split()
    assert verdict == "INVALID_BUNDLE_SCHEMA"
    assert int(kibibytes) * 1024 < 30 * size


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("long", ["job", "signers"])
def test_memory_does_not_grow_with_the_content_of_receipts(long: str, tmp_path: Path) -> None:
    bundle, job = tmp_path / "bundle", "j" * 900_000 if long == "job" else "job"
    manifest = claims.build_bundle(bundle, "run", job, "message", ITEMS)
    receipt = claims.make_receipt(manifest)
    if long == "signers":
        names = ("ü" * 250, f"file:{'a' * 64}")
        for number in range(64):
            receipt = claims.sign_receipt(receipt, key(number), *names, add=True)
    claims.write_json(tmp_path / "claim.json", claims.make_claim(manifest, bundle))
    first = claims.write_receipt(tmp_path / "receipts", receipt)
    count = 200 if long == "job" else 2_000
    for number in range(1, count):
        os.link(first, tmp_path / "receipts" / f"run_{number:08}.json")
    paths = (bundle, tmp_path / "receipts", tmp_path / "claim.json")
    reported = subprocess.run(
        [sys.executable, "-c", MEASURED, *paths],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COMPACTWIRE_THREADS": "1"},
    )
    verdict, kibibytes = reported.stdout.split()
    assert verdict == "RECEIPT_CHAIN_BROKEN"
    assert int(kibibytes) < 60_000


DEEP = 100_000


# Python 3.14 gives a thread at least 52 KiB.
@pytest.mark.parametrize("stack", [64, 128], ids=["64 KiB", "128 KiB"])
@pytest.mark.parametrize(
    ("name", "member", "expected"),
    [
        ("claim.json", "", "INVALID_CLAIM_SCHEMA"),
        ("bundle/bundle.json", "expected_outputs", "BUNDLE_ID_MISMATCH"),
        ("receipts/run_00000001.json", "result", "RECEIPT_HASH_MISMATCH"),
        ("policy.json", "", "INVALID_TRUST_POLICY_SCHEMA"),
        ("merkle.json", "", "MERKLE_ATTESTATION_INVALID"),
    ],
)
def test_deep_values_do_not_overflow_the_stack(
    name: str, member: str, expected: str, stack: int, made: Made
) -> None:
    """Free members too are hashed and searched completely. musl's stack is 128 KiB."""
    value = load(made.folder / name)
    if member:
        value["steps"][0][member] = {"x": "DEEP"}
    else:
        value["x"] = "DEEP"
    text = json.dumps(value).replace('"DEEP"', "[" * DEEP + "{}" + "]" * DEEP)
    (made.folder / name).write_text(text)
    found = []

    def verify() -> None:
        found.append(code(made.verify(limits={"max_depth": 2 * DEEP})))

    before = threading.stack_size(stack * 1024)
    thread = threading.Thread(target=verify)
    thread.start()
    threading.stack_size(before)
    thread.join()
    assert found == [expected]


def heavy(made: Made) -> None:
    """One receipt of 1 MB, 6 MB in canonical form; only the last of 16 signatures is valid."""
    receipt = made.receipts[0] | {"attestation": None}
    receipt["steps"] = [
        {"ordinal": 1, "step_id": "s", "op": "READ_SECTION", "outcome": "SUCCESS", "result": {}}
    ]
    receipt["steps"][0]["result"]["x"] = "\x7f" * 1_000_000
    receipt["receipt_hash"] = reference.receipt_hash(receipt)
    keys = [key(i) for i in range(16)]
    keys.sort(key=lambda key: key.public_key)
    good = claims.sign_receipt(receipt, keys[-1])["attestation"]
    # A scalar below the group order, so that the verifier has to hash the whole message.
    signature = "1" * 126 + "01"
    bad = [good | {"public_key": key.public_key, "signature": signature} for key in keys[:-1]]
    receipt["attestations"] = [*bad, good]
    folder = made.folder / "receipts"
    for path in folder.iterdir():
        path.unlink()
    text = json.dumps(receipt, ensure_ascii=False)
    assert len(text) < 1 << 20
    (folder / "run_0.json").write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_many_signatures_of_a_large_receipt_are_bounded_work(made: Made) -> None:
    """The receipt is serialized once, and the first invalid signature ends the check."""
    heavy(made)
    given = (made.bundle, made.folder / "receipts", made.claim)
    start = time.process_time()
    report = cw.verify_claim(*given, require_attestation=True)
    assert failed_at(report) == ("ATTESTATION_INVALID", "5.5.2")
    assert time.process_time() - start < 5
    assert cw.verify_claim(*given, receipt_quorum=1)
    report = cw.verify_claim(*given, receipt_quorum=2)
    assert failed_at(report) == ("ATTESTATION_MISSING", "5.5.7")


@pytest.mark.slow
def test_a_long_chain_verifies(tmp_path: Path) -> None:
    """Writing 10^5 receipts takes a while; the quick profile uses a tenth."""
    count = 100_000 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 10_000
    made = make(tmp_path, receipts=1, signed=False)
    receipt = made.receipts[0]
    for index in range(1, count):
        receipt |= {"parent_receipt_hash": receipt["receipt_hash"], "receipt_index": index}
        receipt["receipt_hash"] = reference.receipt_hash(receipt)
        path = tmp_path / "receipts" / f"run_{index:08}.json"
        path.write_bytes(reference.canon(receipt) + b"\n")
    report = made.verify()
    assert report.ok
    assert report.receipt_count == count


def test_threads_get_the_same_report(made: Made) -> None:
    for number in range(100):
        (made.folder / "receipts" / f"other_{number}.json").write_text("{}")
    expected = made.verify().to_json()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(made.verify().to_json())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * len(threads)


@posix
def test_a_forked_process_gets_the_same_report(tmp_path: Path) -> None:
    made = make(tmp_path, receipts=100)
    assert made.verify()
    child = os.fork()
    if child == 0:
        os._exit(0 if made.verify() else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


CODE = """
import sys
import compactwire as cw
sys.stdout.buffer.write(cw.verify_claim(*sys.argv[1:4]).to_json())
"""


def test_a_report_with_many_errors_is_the_same_in_every_process(made: Made) -> None:
    """Hash seeds differ between processes, and no report may depend on them."""
    claim = load(made.claim)
    claim["reported_metrics"] = {"artifact_count": -1, "total_bytes": "x", "more": 1}
    claim["components"] = [{"name": "x"}, {"included": 1}]
    made.claim.write_text(json.dumps(claim))
    arguments = [str(made.bundle), str(made.folder / "receipts"), str(made.claim)]
    reports = {
        subprocess.run([sys.executable, "-c", CODE, *arguments], capture_output=True).stdout
        for _ in range(8)
    }
    assert len(reports) == 1
    assert b"INVALID_CLAIM_SCHEMA" in reports.pop()


def test_progress_is_reported_and_may_stop_the_verification(tmp_path: Path) -> None:
    made = make(tmp_path, receipts=200)

    def stop(*_: object) -> None:
        raise InterruptedError("enough")

    reported: list[tuple[str, int, int]] = []

    def listen(what: str, done: int, total: int) -> None:
        reported.append((what, done, total))

    # Whether progress is reported depends on the time; the reported numbers do not.
    assert made.verify(progress=listen)
    assert all(
        what in ("receipts", "artifacts") and done <= total for what, done, total in reported
    )
    with contextlib.suppress(InterruptedError):
        made.verify(progress=stop)


def test_messages_are_short_and_show_little_of_the_input(made: Made) -> None:
    rewrite(made, lambda m: m["artifacts"][0].update(ref="/" + "ß" * 1000))
    claim = load(made.claim)
    claim["ß" * 1000] = 1
    for content in (json.dumps(claim), '{"' + "ß" * 1000, '{"a":1,"' + "ß" * 1000 + '":1}'):
        made.claim.write_text(content, encoding="utf-8")
        error = made.verify().error
        assert error is not None
        assert len(error.message) <= 300
        assert "ß" * 101 not in error.message
        assert len(error.path or "") <= 200
        assert "\n" not in error.message


def test_a_secret_is_in_no_report(made: Made) -> None:
    assert SEED.hex() not in made.verify().to_json().decode()
    assert SEED.hex() not in made.verify(limits={"max_depth": 1}).to_json().decode()


def test_an_invalid_path_is_named(made: Made) -> None:
    given: dict[str, Any] = {
        "bundle": made.bundle, "receipts": made.folder / "receipts", "claim": made.claim,
        "trust_policy": None, "merkle_attestation": None,
    }  # fmt: skip
    for name in given:
        with pytest.raises(TypeError, match=f"{name} must be a str or path-like, not int"):
            cw.verify_claim(**given | {name: 7})
        with pytest.raises(TypeError, match=f"{name} must be .* not bytes .os.fsdecode"):
            cw.verify_claim(**given | {name: b"x"})
        with pytest.raises(ValueError, match=name):
            cw.verify_claim(**given | {name: "\ud800"})
        with pytest.raises(ValueError, match=name):
            cw.verify_claim(**given | {name: "a\0"})


@pytest.mark.parametrize(
    ("name", "check", "message"),
    [
        ("receipts", "5.1.2", "receipts are required, but their folder does not exist or is not a"),
        ("trust_policy", "5.1.3", "the trust policy does not exist or is not a regular file"),
        ("claim", "5.1.4", "the file does not exist or is not a regular file"),
        (
            "merkle_attestation",
            "5.6.0",
            "the Merkle attestation does not exist or is not a regular",
        ),
    ],
)
def test_a_missing_path_and_one_of_another_kind_have_a_true_message(
    name: str, check: str, message: str, made: Made, tmp_path: Path
) -> None:
    folder, other_kind = tmp_path / "receipts", made.claim if name == "receipts" else tmp_path
    for path in (tmp_path / "missing", other_kind):
        given: dict[str, Any] = {"receipts": folder, "claim": made.claim, **made.options}
        report = cw.verify_claim(made.bundle, **{**given, name: path})
        assert report.error is not None
        assert report.error.check == check
        assert report.error.message.startswith(message)
