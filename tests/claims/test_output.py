"""Files of the producer: written completely, never through a link, or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import claims
from tests.reference import claims as reference
from tests.strategies.claims import ITEMS, OTHER_KEY, build, make
from tests.strategies.privileges import without_privileges

posix = pytest.mark.skipif(os.name != "posix", reason="needs links, FIFOs and permissions")


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError, match="name a new folder, or empty this one") as info:
        build(tmp_path)
    assert info.value.filename == str(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    (tmp_path / "empty").mkdir()
    build(tmp_path / "empty")
    assert sorted(path.name for path in (tmp_path / "empty").iterdir()) == [
        "artifacts",
        "bundle.json",
    ]


@posix
def test_links_in_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside, bundle = tmp_path / "outside", tmp_path / "bundle"
    outside.mkdir()
    bundle.mkdir()
    (bundle / "artifacts").symlink_to(outside)
    with pytest.raises(FileExistsError):
        build(bundle)
    (bundle / "artifacts").unlink()
    (bundle / "bundle.json").symlink_to(outside / "planted")
    with pytest.raises(FileExistsError):
        build(bundle)
    receipt = make(tmp_path / "made").receipts[0]
    receipts = tmp_path / "receipts"
    receipts.mkdir()
    (receipts / "run_00000000.json").symlink_to(outside / "planted")
    with pytest.raises(FileExistsError, match="this is a link"):
        claims.write_receipt(receipts, receipt)
    with pytest.raises(FileExistsError, match="this is a link"):
        claims.write_json(receipts / "run_00000000.json", receipt)
    assert list(outside.iterdir()) == []


@posix
def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    manifest = build(tmp_path / "link")
    assert claims.make_claim(manifest, tmp_path / "link")
    assert (tmp_path / "real" / "bundle.json").is_file()


@posix
def test_a_hard_link_keeps_its_content(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    os.link(mine, tmp_path / "claim.json")
    claims.write_json(tmp_path / "claim.json", {})
    assert mine.read_text() == "mine"
    assert (tmp_path / "claim.json").read_text() == "{}\n"


@posix
@pytest.mark.parametrize("device", ["/dev/full", "/dev/null", "/dev/stdout"])
def test_a_device_is_not_replaced(device: str) -> None:
    if not Path(device).exists():
        pytest.skip(f"there is no {device}")
    before = os.lstat(device)
    with pytest.raises(FileExistsError):
        claims.write_json(device, {})
    assert os.lstat(device)[:3] == before[:3]


@posix
def test_a_file_keeps_its_permissions_and_a_fifo_does_not_block(tmp_path: Path) -> None:
    claims.write_json(tmp_path / "policy", {})
    (tmp_path / "policy").chmod(0o600)
    claims.write_json(tmp_path / "policy", {"more": 1})
    assert stat.S_IMODE((tmp_path / "policy").stat().st_mode) == 0o600
    (tmp_path / "policy").chmod(0o400)
    with pytest.raises(FileExistsError, match="read-only"):
        claims.write_json(tmp_path / "policy", {})
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(FileExistsError, match="not a regular file"):
        claims.write_json(tmp_path / "fifo", {})


def test_a_failed_bundle_leaves_no_files(tmp_path: Path) -> None:
    def interrupted() -> Iterator[dict[str, Any]]:
        yield ITEMS[0]
        raise InterruptedError

    with pytest.raises(InterruptedError):
        build(tmp_path / "b", interrupted())
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        build(tmp_path / "file" / "b")
    with pytest.raises(OSError, match="missing"):
        claims.write_json(tmp_path / "missing" / "claim.json", {})
    with tempfile.TemporaryDirectory() as other:
        manifest = build(Path(other) / "b")
    hashes = manifest["hashes"]
    # A valid run id that is not a valid file name.
    manifest |= {"run_id": "ß" * 200, "bundle_id": "", "hashes": {"root_hash": ""}}
    manifest["bundle_id"] = reference.sha256(reference.canon(manifest))
    manifest["hashes"] = hashes
    with pytest.raises(OSError, match="ß"):
        claims.write_receipt(tmp_path / "new" / "receipts", claims.make_receipt(manifest))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@posix
def test_a_full_disk_leaves_no_files(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from compactwire import claims\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "item = {'kind': 'section', 'ref': 'a', 'text': 'x' * 9999}\n"
        "try: claims.build_bundle(sys.argv[1] + '/new/bundle', 'r', 'j', 'm', [item])\n"
        "except OSError: pass\n"
        "try: claims.write_json(sys.argv[1] + '/claim', {'notes': 'x' * 9999})\n"
        "except OSError as error: sys.exit(error.filename == sys.argv[1] + '/claim' and 7)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert done.returncode == 7
    assert list(tmp_path.iterdir()) == []


def test_one_of_several_concurrent_writers_builds_the_bundle(tmp_path: Path) -> None:
    made: list[dict[str, Any]] = []
    refused: list[OSError] = []

    def write(number: int) -> None:
        try:
            made.append(build(tmp_path / "b", [{**ITEMS[0], "text": str(number) * 99}]))
        except OSError as error:
            refused.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) + len(refused) == 8
    # A concurrent writer sees the other's files and is refused.
    names = sorted(path.name for path in tmp_path.rglob("*"))
    assert not [name for name in names if name.endswith(".tmp")]
    if len(made) == 1:
        assert claims.make_claim(made[0], tmp_path / "b")


def test_a_claim_requires_the_bundle_of_its_folder(tmp_path: Path) -> None:
    manifest = build(tmp_path / "one")
    build(tmp_path / "other", ITEMS[:1])
    for folder, expected in [("other", "BUNDLE_ID_MISMATCH"), ("none", "BUNDLE_NOT_FOUND")]:
        with pytest.raises(cw.ClaimRejected) as info:
            claims.make_claim(manifest, tmp_path / folder)
        assert info.value.code == expected
    (tmp_path / "one" / "bundle.json").unlink()
    with pytest.raises(cw.ClaimRejected, match="BUNDLE_NOT_FOUND"):
        claims.make_claim(manifest, tmp_path / "one")


@posix
def test_an_unwritable_folder_is_named() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = make(folder / "made")
        (folder / "empty").mkdir()
        folder.chmod(0o755)
        os.seteuid(65534)
        try:
            for call, path in [
                (lambda: build(folder / "empty"), folder / "empty"),
                (lambda: build(folder / "new" / "b"), folder / "new" / "b"),
                (lambda: claims.write_json(folder / "x", {}), folder / "x"),
                (lambda: claims.generate_key().save(folder / "key"), folder / "key"),
                (
                    lambda: claims.write_receipt(folder, made.receipts[0]),
                    folder / "run_00000000.json",
                ),
            ]:
                with pytest.raises(PermissionError) as info:
                    call()
                assert info.value.filename == str(path)
        finally:
            os.seteuid(0)


@posix
def test_a_receipt_that_cannot_be_read_is_not_overwritten_unasked() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        receipt = make(folder / "made").receipts[0]
        path = Path(claims.write_receipt(folder, receipt))
        path.chmod(0o222)
        with without_privileges():
            with pytest.raises(FileExistsError, match="cannot be read, and may have a signature"):
                claims.write_receipt(folder, receipt)
            claims.write_receipt(folder, receipt, replace=True)


def test_many_threads_write_one_receipt(tmp_path: Path) -> None:
    made, failed = make(tmp_path), []

    def write() -> None:
        try:
            for _ in range(20):
                claims.write_receipt(tmp_path / "receipts", made.receipts[0])
                made.verify().raise_for_error()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_list_that_changes_during_the_call_is_used_or_refused(tmp_path: Path) -> None:
    made = make(tmp_path)
    receipt, stop = dict(made.receipts[0]), threading.Event()

    def change() -> None:
        while not stop.is_set():
            receipt["more"] = 1
            receipt.pop("more", None)

    def sign() -> str:
        try:
            signed = claims.sign_receipt(receipt, OTHER_KEY, replace=True)
        except cw.ClaimRejected as error:
            return error.code
        return str(signed["run_id"])

    thread = threading.Thread(target=change)
    thread.start()
    outcomes = {sign() for _ in range(200)}
    stop.set()
    thread.join()
    assert outcomes <= {"run", "INVALID_RECEIPT_SCHEMA"}
