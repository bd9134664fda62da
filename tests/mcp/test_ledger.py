"""The ledger: its files, and the table of what was saved."""

from __future__ import annotations

import json
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from compactwire.cli import main
from compactwire.mcp import _ledger
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
    assert [record["tool"] for record in _ledger.records("a", 0)] == ["one", "two"]


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


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["npx", "-y", "@modelcontextprotocol/server-memory@1.2"], "server-memory"),
        (["/usr/bin/uvx", "mcp-server-git"], "mcp-server-git"),
        (["python3", "-u", "servers/files.py"], "files"),
        (["python3"], "python3"),
        (["python3", "-c", "secret()"], "python3"),
        ([r"C:\tools\server.exe", "x"], "server"),
        (["./run me"], "run_me"),
        (["@"], "_"),
        (["..."], "server"),
    ],
)
def test_a_server_is_named_by_its_command(command: list[str], name: str) -> None:
    assert _ledger.server_name(command) == name


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


def test_damaged_lines_are_left_out(folder: Path) -> None:
    ledger = _ledger.Ledger("a", pytest.fail)
    ledger(saving())
    with (folder / "a.jsonl").open("ab") as file:
        file.write(b'{"t":1}\nnot JSON\n\xff\n[]\n' + b"[" * 9_000 + b"\n")
    ledger(saving())
    assert len(list(_ledger.records("a", 0))) == 2
    assert not list(_ledger.records("a", time.time() + 10))


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
    assert "no server ran behind the relay yet" in capsys.readouterr().err
    _ledger.Ledger("memory", pytest.fail)(saving())
    assert main(["mcp", "stats", "files"]) == 1
    assert "there is: memory" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["mcp", "stats", "--since", "yesterday"])
    assert "expected an age such as 90m" in capsys.readouterr().err
