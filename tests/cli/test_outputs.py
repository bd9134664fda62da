"""The command ``compactwire``: an output file is complete, or the old one is kept."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from compactwire import claims
from compactwire.cli import main

COMMAND = [sys.executable, "-m", "compactwire"]
TEXT = "An answer. " * 50

unix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs Unix")

# Every command with -o OUT, with what it reads.
WRITERS = [
    (["encode"], TEXT),
    (["encode", "--json"], '{"result":"text"}'),
    (["decode"], "RES|OK|C4|0|text"),
    (["inspect"], "RES|OK|C4|0|text"),
    (["shrink"], '{"a": [1, 2]}'),
    (["expand"], "GCF profile=generic\na=1\n"),
    (["gcf", "encode"], '{"a":[1,2]}'),
    (["gcf", "decode"], "GCF profile=generic\na=1\n"),
    *(
        (["cad", name, "-"], "C 1 2 3")
        for name in ("compact", "expand", "pack", "unpack", "hybrid")
    ),
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def run(
    *arguments: str | Path, stdin: str = "", largest: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command; it can write no file of more than `largest` bytes, as on a full disk."""
    command = [*COMMAND, *map(str, arguments)]
    if largest is not None:
        limit = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({largest}, {largest}))"
        start = "import runpy; runpy.run_module('compactwire', run_name='__main__')"
        command = [sys.executable, "-c", f"{limit}; {start}", *map(str, arguments)]
    return subprocess.run(
        command, input=stdin.encode(), capture_output=True, check=False, timeout=60
    )


@unix
@pytest.mark.parametrize(("arguments", "text"), WRITERS)
def test_a_failed_write_keeps_the_old_file(arguments: list[str], text: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")
    failed = run(*arguments, "-o", out, stdin=text, largest=1)
    assert failed.returncode == 1
    assert failed.stderr.count(b"\n") == 1
    # The message names the file, not the temporary one.
    assert str(out).encode() in failed.stderr
    assert out.read_bytes() == b"old"
    out.unlink()
    assert run(*arguments, "-o", out, stdin=text, largest=1).returncode == 1
    assert list(tmp_path.iterdir()) == []


@unix
@pytest.mark.parametrize(("before", "after"), [(b"old", b"longer" * 9), (b"long" * 9, b"short")])
def test_a_file_with_two_names_is_written_whole_or_not_at_all(
    before: bytes, after: bytes, tmp_path: Path
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    out.write_bytes(before)
    os.link(out, other)
    arguments = ["decode", "-o", out]
    text = f"RES|OK||0|{after.decode()}"
    if len(after) > len(before):
        assert run(*arguments, stdin=text, largest=len(before) + 1).returncode == 1
        assert other.read_bytes() == before
    assert run(*arguments, stdin=text).returncode == 0
    assert other.read_bytes() == after
    assert sorted(tmp_path.iterdir()) == [other, out]


@unix
def test_a_failed_training_keeps_the_old_dictionary(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")
    samples = tmp_path / "samples"
    samples.mkdir()
    for number in range(30):
        (samples / f"{number}.txt").write_text(f"{number} {TEXT}{number * 7}", encoding="utf-8")
    train = ["train", samples, "--size", "500", "-o", out]
    assert run(*train, largest=100).returncode == 1
    assert out.read_bytes() == b"old"
    assert run(*train).returncode == 0
    assert out.read_bytes() != b"old"
    assert sorted(tmp_path.iterdir()) == [out, samples]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/out", "No such file or directory"),
        ("source.txt/out", "Not a directory"),
        ("folder", "Is a directory"),
        *([("link", "No such file or directory")] if os.name != "nt" else []),
    ],
)
def test_a_training_that_cannot_be_saved_does_not_begin(
    name: str,
    message: str,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "folder").mkdir()
    if name == "link":
        (tmp_path / name).symlink_to(tmp_path / "nowhere" / "out")
    monkeypatch.setattr("compactwire.cli._training.sampled", lambda *_: pytest.fail("was read"))
    out = str(tmp_path / name)
    assert main(["train", str(source), "-o", out]) == 1
    assert capsys.readouterr().err == f"compactwire: error: {out}: {message}\n"


def test_a_refused_input_keeps_the_old_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, bad = tmp_path / "out", tmp_path / "bad"
    out.write_bytes(b"old")
    bad.write_bytes(b"{")
    for arguments in (["decode"], ["gcf", "encode"], ["gcf", "decode"], ["cad", "expand"]):
        assert main([*arguments, str(bad), "-o", str(out)]) == 1
    assert out.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    capsys.readouterr()


@unix
def test_mode_and_links_are_kept(source: Path, tmp_path: Path) -> None:
    out, link, chain = tmp_path / "out", tmp_path / "link", tmp_path / "folder" / "chain"
    out.write_bytes(b"old")
    out.chmod(0o604)
    link.symlink_to("out")
    chain.parent.mkdir()
    chain.symlink_to("../link")
    assert main(["encode", str(source), "-o", str(chain)]) == 0
    assert chain.is_symlink()
    assert link.is_symlink()
    assert not out.is_symlink()
    assert stat.S_IMODE(out.stat().st_mode) == 0o604
    assert chain.read_bytes() == out.read_bytes() != b"old"
    out.unlink()
    old = os.umask(0o027)
    try:
        assert main(["encode", str(source), "-o", str(link)]) == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    # A hard link to the file has the new content, too.
    other = tmp_path / "other"
    os.link(out, other)
    assert main(["encode", str(source), "--format", "dsl", "-o", str(out)]) == 0
    assert other.samefile(out)
    assert other.read_bytes().startswith(b"RES|")
    link.unlink()
    link.symlink_to("link")
    assert main(["encode", str(source), "-o", str(link)]) == 1


@unix
def test_devices_pipes_and_open_files_are_written_directly(source: Path, tmp_path: Path) -> None:
    expected = run("encode", source).stdout
    assert run("encode", source, "-o", "/dev/null").returncode == 0
    assert not Path("/dev/null").is_file()
    for out in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        if Path(out).exists():
            assert run("encode", source, "-o", out).stdout == expected
    full = run("encode", source, "-o", "/dev/full")
    assert (full.returncode, full.stderr.count(b"\n")) == (1, 1)
    assert b"/dev/full" in full.stderr
    # A reader that waits gets all of it.
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
        assert run("encode", source, "-o", fifo).returncode == 0
        assert reader.communicate(timeout=60)[0] == expected
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    # The shell has the file open and goes on writing it.
    log = tmp_path / "log"
    command = f"'{sys.executable}' -m compactwire encode '{source}' -o /dev/stdout; echo end"
    with log.open("wb") as opened:
        subprocess.run(["sh", "-c", command], stdout=opened, check=True, timeout=60)
    assert b"end" in log.read_bytes()


def test_a_folder_or_a_missing_folder_is_an_error_that_names_it(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for out in (tmp_path, tmp_path / "none" / "out"):
        assert main(["encode", str(source), "-o", str(out)]) == 1
        error = capsys.readouterr().err
        assert f"error: {out}: " in error
        assert ".compactwire-" not in error
    assert list(tmp_path.iterdir()) == [source]


@unix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may do anything")
def test_permissions_are_those_of_the_file(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    out = folder / "out"
    out.write_bytes(b"old")
    folder.chmod(0o555)
    assert main(["encode", str(source), "-o", str(out)]) == 0
    assert out.read_bytes() != b"old"
    folder.chmod(0o755)
    out.chmod(0o444)
    assert main(["encode", str(source), "-o", str(out)]) == 1


UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"])


def environment(unbuffered: str) -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": unbuffered}


@unix
@UNBUFFERED
def test_standard_output_that_is_cut_is_an_error(unbuffered: str, tmp_path: Path) -> None:
    limit = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (100_000, 100_000))"
    start = "import runpy; runpy.run_module('compactwire', run_name='__main__')"
    command = [sys.executable, "-c", f"{limit}; {start}", "encode", "--format", "dsl"]
    with (tmp_path / "out").open("wb") as out:
        cut = subprocess.run(
            command,
            input=b"x" * 300_000,
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
            env=environment(unbuffered),
        )
    assert (cut.returncode, cut.stderr.count(b"\n")) == (1, 1)


@unix
@UNBUFFERED
def test_a_reader_that_goes_away_is_an_exit_code(unbuffered: str) -> None:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [*COMMAND, "encode", "--format", "dsl"]
    with subprocess.Popen(command, **pipes, env=environment(unbuffered)) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(b"x" * 3_000_000)
        process.stdin.close()
        process.stdout.read(10)
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (141, b"")


@unix
@UNBUFFERED
def test_pipes_that_do_not_wait_lose_nothing(unbuffered: str) -> None:
    text = b"The answer is 42. " * 10_000
    (stdin, to_stdin), (from_stdout, stdout) = os.pipe(), os.pipe()
    for end in (stdin, stdout):
        os.set_blocking(end, False)
    command = [*COMMAND, "encode", "--format", "dsl"]
    process = subprocess.Popen(command, stdin=stdin, stdout=stdout, env=environment(unbuffered))
    os.close(stdin)
    os.close(stdout)

    def feed() -> None:
        with os.fdopen(to_stdin, "wb") as end:
            for part in (text[:1], text[1:]):
                # The command is at its input by then, or finds it at once: both are well.
                time.sleep(0.5)
                end.write(part)
                end.flush()

    feeder = threading.Thread(target=feed)
    feeder.start()
    found = b""
    with os.fdopen(from_stdout, "rb", buffering=0) as end:
        while part := end.read(10_000):
            found += part
    feeder.join()
    assert process.wait(60) == 0
    assert found == b"RES|OK||0|" + text


@unix
def test_what_the_program_has_read_ahead_is_not_lost() -> None:
    code = """if True:
        import sys
        from compactwire.cli import main

        sys.stdin.buffer.readline()
        sys.exit(main(["encode", "--format", "dsl"]))
    """
    done = subprocess.run(
        [sys.executable, "-c", code], input=b"first\nrest\n", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"RES|OK||0|rest\n")


@unix
def test_an_output_that_ends_with_a_slash_is_a_folder(source: Path, tmp_path: Path) -> None:
    assert main(["encode", str(source), "-o", f"{tmp_path}/out/"]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["source.cw"]


@unix
def test_a_key_is_complete_or_missing(tmp_path: Path) -> None:
    out = tmp_path / "key"
    for size in (0, 1, 60, 150):
        failed = run("claim", "key", "-o", out, largest=size)
        assert (failed.returncode, failed.stdout) == (1, b"")
        assert str(out).encode() in failed.stderr
        assert list(tmp_path.iterdir()) == []
    assert run("claim", "key", "-o", "/dev/full").returncode == 1
    assert run("claim", "key", "-o", out).returncode == 0
    claims.SigningKey.load(out)


@unix
@pytest.mark.parametrize("part", ["bundle", "claim.json", "receipts"])
@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt()])
def test_a_new_claim_is_whole_or_missing(
    part: str,
    error: BaseException,
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "deep" / "out"
    monkeypatch.chdir(tmp_path)
    new = ["claim", "new", source.name, "--run-id", "r", "-o", str(out)]
    rename = Path.rename
    # After the rename, too: an interrupt may come before the caller knows of it.
    for late in (False, True):

        def fail(self: Path, target: Path, late: bool = late) -> Path:
            ends = self.parent.name.startswith(".compactwire-") and self.name == part
            if late and ends:
                rename(self, target)
            if ends:
                raise error
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", fail)
        assert main(new) != 0
        assert list(tmp_path.iterdir()) == [source]
        out.mkdir(parents=True)
        assert main(new) != 0
        assert list(out.iterdir()) == []
        out.rmdir()
        out.parent.rmdir()
    monkeypatch.setattr(Path, "rename", rename)
    assert main(new) == 0
    assert {path.name for path in out.iterdir()} == {"bundle", "claim.json", "receipts"}
    capsys.readouterr()


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_what_the_caller_writes_after_ctrl_c_is_written() -> None:
    script = """
import os, signal, sys, threading
from compactwire.cli import main
print("before", flush=True)
sys.stdin = open(os.pipe()[0])
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
print("after", main(["shrink"]), flush=True)
"""
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert done.stdout.split() == [b"before", b"after", b"130"]
