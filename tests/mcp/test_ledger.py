"""The ledger: its files, and the table of what was saved."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from compactwire.cli import main
from compactwire.mcp import _ledger
from compactwire.mcp._names import server_name
from compactwire.savings import Saving

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "compactwire" / "mcp"


def saving(tool: str = "rows", **members: Any) -> Saving:
    return Saving(
        **{"source": "mcp", "tool": tool, "format": "gcf", "before": 100, "after": 40, **members}
    )


def test_a_record_holds_sizes_and_no_content(folder: Path) -> None:
    warnings: list[str] = []
    ledger = _ledger.Ledger("memory", warnings.append)
    ledger(saving("x\n" + "y" * 1_000, structured=80, dropped=True, microseconds=840))
    path = folder / "memory.jsonl"
    record = json.loads(path.read_text(encoding="utf-8"))
    assert abs(record.pop("t") - time.time()) < 60
    assert record == {
        "tool": "x\\n" + "y" * 126 + "…",
        "format": "gcf",
        "before": 100,
        "after": 40,
        "structured": 80,
        "dropped": True,
        "reason": "",
        "exact": False,
        "us": 840,
    }
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not warnings


def test_a_full_file_is_renamed(folder: Path) -> None:
    ledger = _ledger.Ledger("a", pytest.fail)
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_bytes(b" " * ((1 << 20) - 10))
    ledger(saving("one"))
    ledger(saving("two"))
    assert (folder / "a.jsonl.1").stat().st_size > 1 << 20
    assert (folder / "a.jsonl").read_bytes().count(b"\n") == 1
    assert [record["tool"] for record in _ledger.records("a", 0, [])] == ["one", "two"]


# Appends, and ends with 1 when the renamed file is one that was not full.
APPENDING = """
import sys
from pathlib import Path
from compactwire.mcp import _ledger
from compactwire.savings import Saving
_ledger._MAX_FILE = 400
ledger = _ledger.Ledger("a", sys.exit)
renamed = Path(sys.argv[1])
for _ in range(500):
    ledger(Saving(source="mcp", tool="rows", format="gcf", before=100, after=40))
    if renamed.exists() and renamed.stat().st_size < 400:
        sys.exit(1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="NOT RUN: without locks, files may be lost")
def test_relays_of_one_server_do_not_drop_a_file_that_is_not_full(folder: Path) -> None:
    command = [sys.executable, "-c", APPENDING, str(folder / "a.jsonl.1")]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4


def test_a_file_that_another_relay_has_begun_is_not_renamed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, other = _ledger.Ledger("a", pytest.fail), _ledger.Ledger("a", pytest.fail)
    ledger(saving("one"))
    path = folder / "a.jsonl"
    size = path.stat().st_size
    monkeypatch.setattr(_ledger, "_MAX_FILE", 2 * size)
    fstat, written = os.fstat, []

    def slow(file: int) -> os.stat_result:
        found = fstat(file)
        if found.st_size >= 2 * size and not written:
            written.append(found)
            # Before this relay renames the file that is full, another one does, and begins a file.
            path.rename(folder / "a.jsonl.1")
            other(saving("three"))
        return found

    monkeypatch.setattr(os, "fstat", slow)
    ledger(saving("two"))
    assert written
    assert [record["tool"] for record in _ledger.records("a", 0, [])] == ["one", "two", "three"]


def test_the_table_says_since_when_calls_are_kept(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _ledger.Ledger("a", pytest.fail)(saving())
    line = (folder / "a.jsonl").read_text(encoding="utf-8")
    assert main(["mcp", "stats"]) == 0
    assert "begins" not in capsys.readouterr().out
    old = json.dumps({**json.loads(line), "t": 1_795_000_000})
    (folder / "a.jsonl.1").write_text(f"damaged\n{old}\n", encoding="utf-8")
    assert main(["mcp", "stats"]) == 0
    said = "The ledger begins on 2026-11-18 11:06 UTC; older calls are not kept.\n"
    shown = capsys.readouterr().out
    assert shown.endswith(said)
    assert said.strip() in (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    assert main(["mcp", "stats", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ledger_begin"] == 1_795_000_000
    assert main(["mcp", "stats", "--since", "1m"]) == 0
    assert "begins" not in capsys.readouterr().out


def test_a_ledger_that_cannot_be_written_is_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    warnings: list[str] = []
    ledger = _ledger.Ledger("a", warnings.append)
    ledger(saving())
    ledger(saving())
    (warning,) = warnings
    assert warning.startswith("the ledger is not written: ")


# Writes a record of which the disk has no more than the beginning.
CUT = """
import resource, sys
from compactwire.mcp import _ledger
from tests.mcp.test_ledger import saving
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1))
_ledger.Ledger("a", print)(saving())
"""


def test_a_record_that_only_looked_cut_is_no_damage(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = _ledger.Ledger("a", pytest.fail)
    ledger(saving())
    with monkeypatch.context() as patch:
        # The last byte of a file to which another relay is just writing.
        patch.setattr(os, "read", lambda _file, _size: b"{")
        ledger(saving())
    assert (folder / "a.jsonl").read_bytes().count(b"\n\n") == 1
    problems: list[str] = []
    assert len(list(_ledger.records("a", 0, problems))) == 2
    assert not problems


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
def test_a_record_that_was_cut_is_not_joined_to_the_next(folder: Path) -> None:
    ledger = _ledger.Ledger("a", pytest.fail)
    ledger(saving())
    limit = (folder / "a.jsonl").stat().st_size + 9
    command = [sys.executable, "-c", CUT, str(limit)]
    cut = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, encoding="utf-8")
    assert cut.stdout == "the ledger is not written: [Errno 28] No space left on device\n"
    assert (folder / "a.jsonl").stat().st_size == limit
    ledger(saving())
    ledger(saving())
    problems: list[str] = []
    assert len(list(_ledger.records("a", 0, problems))) == 3
    assert problems == ["a.jsonl (1 damaged line)"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["npx", "-y", "@modelcontextprotocol/server-memory@1.2"], "server-memory"),
        (["/usr/bin/uvx", "mcp-server-git"], "mcp-server-git"),
        (["python3", "-u", "servers/files.py"], "files"),
        (["python3"], "python3"),
        (["python3", "-c", "secret()"], "python3"),
        ([r"C:\tools\server.exe", "x"], "tools"),
        (["node", "/srv/weather/build/index.js"], "weather"),
        (["node", "./dist/index.js"], "index"),
        (["npx", "-y", "@playwright/mcp@latest"], "playwright"),
        (["npx", "-y", "git+https://secret@h/o/weather.git"], "weather"),
        (["/server.py"], "server"),
        (["uvx", "git+https://secret:secret@h/mcp"], "mcp"),
        (["uvx", "git+https://secret@h"], "h"),
        (["npx", "-y", "https://h/weather.tgz?sig=a/secret"], "weather.tgz"),
        (["uv", "run", "https://h/weather.py#/secret"], "weather"),
        (["node", "KEY=secret/secret/server.js"], "server"),
        (["/srv/My Tasks/server"], "My_Tasks"),
        (["./run me"], "run_me"),
        (["uvx", "x"], "x"),
        (["uvx", "--from", "git+https://u:p@h/r", "--with", "y", "x[cli]==1.2"], "x"),
        (["uv", "run", "--directory", "/srv/tasks", "server.py"], "tasks"),
        (["uv", "--directory", "/srv/tasks", "run", "python", "-m", "server"], "tasks"),
        (["uv", "--directory", "/srv/KEY=secret", "run", "server.py"], "server"),
        (["npm", "--prefix", "/srv/tasks", "run", "start"], "tasks"),
        (["/srv/tasks/.venv/bin/mcp-server"], "tasks"),
        (["/srv/tasks/target/release/server"], "tasks"),
        (["go", "run", "/srv/tasks/main.go"], "tasks"),
        (["npx", "-y", "@tasks/mcp-server@latest"], "tasks"),
        (["deno", "run", "-A", "npm:@tasks/mcp@1"], "tasks"),
        (["npx", "-y", "mcp-remote@1", "https://secret@h.example/secret"], "h.example"),
        (["npx", "-y", "mcp-remote", "--help"], "mcp-remote"),
        (["uv", "--directory", "/srv", "run", "-m", "git_server"], "git_server"),
        (["uv", "tool", "run", "mcp-server-git@latest"], "mcp-server-git"),
        (["uv", "run", "--with", "mcp", "mcp", "run", "tasks.py"], "tasks"),
        (["pipx", "run", "x"], "x"),
        (["python", "-m", "tasks.server"], "tasks.server"),
        (["python3.12", "-u", "-X", "dev", "-m", "x"], "x"),
        (["py", "-3", "x.py"], "x"),
        (
            [
                "docker",
                "run",
                "-i",
                "--rm",
                "-e",
                "KEY=secret",
                "-m",
                "1g",
                "ghcr.io/a/git:1@sha256:2",
            ],
            "git",
        ),
        (["docker", "run", "-it", "-eKEY=secret", "--env", "A", "--name=n", "image", "x"], "image"),
        (["docker", "run", "--gpus", "all", "localhost:5000/image"], "image"),
        (["env", "-i", "KEY=secret", "npx", "-y", "pkg@1"], "pkg"),
        (["cmd", "/c", "npx", "-y", "pkg"], "pkg"),
        ([r"C:\Program Files\nodejs\npx.cmd", "-y", "@s/pkg"], "pkg"),
        (["npx", "-p", "a", "b"], "b"),
        (["npm", "exec", "--", "pkg"], "pkg"),
        (["npx", "-c", "secret"], "npx"),
        (["pnpm", "dlx", "x"], "x"),
        (["deno", "run", "-A", "npm:@s/pkg@1"], "pkg"),
        (["node", "--require", "a.js", "dist/index.mjs"], "index"),
        (["node", "-e", "secret()"], "node"),
        (["bash", "-lc", "secret"], "bash"),
        (["sh", "-euc", "tool --token secret"], "sh"),
        (["bash", "-cl", "secret"], "bash"),
        (["python3", "-uc", "secret"], "python3"),
        (["npx", "-yc", "secret"], "npx"),
        (["node", "-ie", "secret"], "node"),
        (["env", "-iS", "secret x"], "env"),
        (["cmd", "/d", "/s", "/c", "npx -y server --api-key secret"], "cmd"),
        (["sudo", "--user", "secret", "npx", "-y", "pkg"], "pkg"),
        (["env", "KEY=secret"], "env"),
        (["docker"], "docker"),
        (["docker", "run", "-eKEY=secret", "image"], "image"),
        (["./server", "KEY=secret"], "server"),
        (["KEY=secret"], "KEY"),
        (["https://user:secret@mcp.example.com:8443/secret?secret"], "mcp.example.com_8443"),
        (["@"], "_"),
        (["..."], "server"),
    ],
)
def test_a_server_is_named_by_its_command(command: list[str], name: str) -> None:
    assert server_name(command) == name


def test_the_table_has_both_kinds_of_hosts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = _ledger.Ledger("memory", pytest.fail)
    ledger(saving("read_graph", before=2_606, after=1_135, structured=1_539, dropped=True))
    ledger(saving("read_graph", before=2_606, after=1_135, structured=1_539, dropped=True))
    ledger(saving("list", before=100, after=100, structured=90, reason="differs", format="text"))
    assert main(["mcp", "stats"]) == 0
    shown = capsys.readouterr().out
    assert shown in (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    assert shown == (
        "memory       calls  text before      after  structured      after  not saved because\n"
        "read_graph       2        5,212      2,270       3,078      2,270\n"
        "list             1          100        100          90         90  differs 1\n"
        "all              3        5,312      2,370       3,168      2,360  differs 1\n"
        "A host that shows text saved 55%; one that shows structuredContent saved 26%. "
        "Tokens are estimated.\n"
    )
    assert main(["mcp", "stats", "memory", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["server"] == "memory"
    assert report["tools"]["read_graph"]["structured_after"] == 2_270
    assert report["all"]["calls"] == 3
    assert main(["mcp", "stats", "--since", "1m"]) == 0
    assert "read_graph" in capsys.readouterr().out


def test_damaged_lines_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = _ledger.Ledger("a", pytest.fail)
    ledger(saving())
    good = {"t": 1, "tool": "x", "before": 1, "after": 1, "structured": 1, "dropped": False}
    changes: list[dict[str, Any]] = [
        {"before": 10**4_000},
        {"after": -1},
        {"structured": 1 << 53},
        {"structured": "1"},
        {"before": True},
        {"t": None},
        {"t": 253_402_300_800},
        {"tool": 5},
        {"dropped": 1},
    ]
    lines = [json.dumps({**good, "reason": "", **change}).encode() for change in changes]
    lines += [b'{"t":1}', b"not JSON", b"\xff", b"[]", b"[" * 200_000, b'{"before":' + b"9" * 5_000]
    with (folder / "a.jsonl").open("ab") as file:
        file.write(b"\n".join(lines) + b"\n")
    ledger(saving())
    problems: list[str] = []
    assert len(list(_ledger.records("a", 0, problems))) == 2
    assert problems == ["a.jsonl (15 damaged lines)"]
    assert not list(_ledger.records("a", time.time() + 10, []))
    assert main(["mcp", "stats"]) == 0
    shown = capsys.readouterr()
    assert "rows       2" in shown.out
    assert shown.err == f"compactwire: not read in {folder}: a.jsonl (15 damaged lines)\n"


def test_texts_of_a_record_are_made_fit_for_a_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = _ledger.Ledger("a", pytest.fail)
    ledger(saving())
    (line,) = (folder / "a.jsonl").read_text().splitlines()
    record = {**json.loads(line), "tool": "\ud800\n" + "x" * 500, "reason": "y" * 500}
    (folder / "a.jsonl").write_text(json.dumps(record))
    assert main(["mcp", "stats"]) == 0
    assert "\\ud800\\n" + "x" * 32 + "…  " in capsys.readouterr().out
    assert main(["mcp", "stats", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["all"]["reasons"]) == ["y" * 32 + "…"]


@pytest.mark.skipif(sys.platform == "win32", reason="NOT RUN: Windows has no FIFO in a folder")
def test_entries_that_are_no_files_are_named_and_the_rest_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _ledger.Ledger("good", pytest.fail)(saving())
    (folder / "a.jsonl").mkdir()
    (folder / "a.jsonl.1").write_text((folder / "good.jsonl").read_text())
    os.mkfifo(folder / "b.jsonl")
    (folder / "c.jsonl").symlink_to(folder / "c.jsonl")
    (folder / "d.jsonl").symlink_to("/dev/zero")
    with (folder / "e.jsonl").open("wb") as file:
        file.truncate(1 << 40)
    (folder / "not ours.jsonl").touch()
    assert main(["mcp", "stats"]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("rows       1") == 2
    assert shown.err.splitlines()[-1] == (
        f"compactwire: not read in {folder}: a.jsonl (a folder), b.jsonl (not a regular file), "
        "c.jsonl (Too many levels of symbolic links), d.jsonl (not a regular file), "
        "e.jsonl (1 damaged line), and 1 more"
    )
    assert main(["mcp", "stats", "b"]) == 1
    assert "b.jsonl (not a regular file)" in capsys.readouterr().err
    warnings: list[str] = []
    _ledger.Ledger("b", warnings.append)(saving())
    assert len(warnings) == 1


def test_no_result_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _ledger.Ledger("a", pytest.fail)(saving())
    line = (folder / "a.jsonl").read_text()
    old = {**json.loads(line), "t": 1_000}
    (folder / "a.jsonl").write_text(json.dumps(old))
    assert main(["mcp", "stats", "--since", "7d"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "compactwire: no result in the time of --since of: a\n")


@pytest.mark.parametrize("name", ["../x y", "a.jsonl", ".hidden", "é" * 100, "a.jsonl.1"])
def test_a_name_is_the_same_for_both_commands(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    _ledger.Ledger(name, pytest.fail)(saving())
    assert main(["mcp", "stats", name]) == 0
    assert "rows" in capsys.readouterr().out
    assert main(["mcp", "stats"]) == 0
    assert "rows" in capsys.readouterr().out


def test_a_relative_state_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    usual = _ledger.folder()
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    assert _ledger.folder() == usual


def test_without_a_home_folder_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert main(["mcp", "stats"]) == 1
    assert "set XDG_STATE_HOME to a folder" in capsys.readouterr().err


def test_tools_beyond_a_thousand_are_summed(folder: Path) -> None:
    found = [
        {
            "tool": str(n),
            "before": 1,
            "after": 1,
            "structured": None,
            "dropped": False,
            "reason": "",
        }
        for n in range(1_010)
    ]
    sums = _ledger.summed(found)
    assert len(sums) == 1_001
    assert sums["(others)"].calls == 10


def test_a_server_without_a_ledger_is_an_error_that_names_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", "stats"]) == 0
    assert "no server ran through the relay yet" in capsys.readouterr().err
    assert main(["mcp", "stats", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["server"], report["all"]["calls"], report["tools"]) == (None, 0, {})
    _ledger.Ledger("memory", pytest.fail)(saving())
    assert main(["mcp", "stats", "files"]) == 1
    assert "there is: memory" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["mcp", "stats", "--since", "yesterday"])
    assert "expected an age such as 90m" in capsys.readouterr().err
