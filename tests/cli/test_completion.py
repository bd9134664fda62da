"""The command ``compactwire completion``: the scripts, run by the shells that are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from compactwire.cli import main

Captured = pytest.CaptureFixture[str]

COMMANDS = ["", "encode", "shrink", "stats", "gcf", "gcf encode", "mcp proxy", "cad", "verify"]
FEED = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _compactwire; printf "%s\\n" '
FEED += '"${COMPREPLY[@]}"'


@pytest.fixture
def script(tmp_path: Path, capsys: Captured) -> Path:
    assert main(["completion", "bash"]) == 0
    path = tmp_path / "completion.bash"
    path.write_text(capsys.readouterr().out)
    return path


def bash(script: Path, *words: str) -> list[str]:
    """The completions of the last word."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    command = ["bash", "--norc", "-c", FEED, str(script), "compactwire", *words]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert result.stderr == ""
    return result.stdout.split()


def help_of(command: str, capsys: Captured) -> str:
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_completes_the_commands_and_options_of_the_help(
    command: str, script: Path, capsys: Captured
) -> None:
    shown = help_of(command, capsys)
    options = set(re.findall(r"(?<=^  )-\w|(?<=, )--[\w-]+|(?<=^  )--[\w-]+", shown, re.MULTILINE))
    assert set(bash(script, *command.split(), "-")) == options
    commands = re.findall(r"^    (\w+)\b", shown.partition("\ncommands:")[2], re.MULTILINE)
    assert bash(script, *command.split(), "") == commands


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("gcf enc", ["encode"]),
        ("encode --format zs", ["zstd"]),
        ("encode --format zstd --tok", ["--tokens"]),
        # As bash splits `--format=` and `--format=zs`.
        ("encode --format = zs", ["zstd"]),
        ("encode --protocol =", ["2", "4"]),
        ("encode --format = zstd --tok", ["--tokens"]),
        ("gcf encode --output = o", []),
        ("encode --protocol ", ["2", "4"]),
        ("cad compact --dialect ", ["0.1", "0.2"]),
        ("completion ", ["bash", "fish", "zsh"]),
        ("stats orders.json --inp", ["--input"]),
        # File names, which bash itself completes.
        ("stats ", []),
        ("gcf encode -o ", []),
        ("encode --dictionary -", []),
        # The command line of another program.
        ("mcp proxy -- server -", []),
        ("nothing -", ["-h", "--help", "--version", "-v"]),
    ],
)
def test_bash_completes_a_word(words: str, expected: list[str], script: Path) -> None:
    assert bash(script, *words.split(" ")) == expected


def test_the_script_runs_no_program(script: Path) -> None:
    assert "compactwire)" not in script.read_text().replace("(compactwire completion bash)", "")
    assert "$(" not in script.read_text().replace("$((", "")


def test_fish_completes_commands_and_options(tmp_path: Path, capsys: Captured) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    assert main(["completion", "fish"]) == 0
    path = tmp_path / "compactwire.fish"
    path.write_text(capsys.readouterr().out)
    for line, expected in (
        ("compactwire gcf ", {"encode", "decode", "stats"}),
        ("compactwire encode --format zs", {"zstd"}),
        ("compactwire gcf encode --max", {"--max-input"}),
        ("compactwire completion ", {"bash", "fish", "zsh"}),
    ):
        code = f'source {path}; complete -C "{line}"'
        result = subprocess.run(
            ["fish", "--no-config", "-c", code], capture_output=True, encoding="utf-8", check=True
        )
        assert {one.split("\t")[0] for one in result.stdout.splitlines()} == expected
        assert result.stderr == ""


def test_zsh_reads_the_script(tmp_path: Path, capsys: Captured) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    assert main(["completion", "zsh"]) == 0
    path = tmp_path / "_compactwire"
    path.write_text(capsys.readouterr().out)
    # The functions of zsh's own completion are replaced: they need an editor.
    code = f"""
        compdef() {{ :; }}; compadd() {{ shift; print -l -- "$@"; }}; _files() {{ print FILES; }}
        _describe() {{ print -l -- "${{known[@]}}"; }}
        source {path}
        ask() {{ words=(compactwire "$@"); CURRENT=$#words; PREFIX=$words[-1]; _compactwire; }}
        ask gcf ''; ask encode --protocol ''; ask stats ''; ask completion '-'
    """
    result = subprocess.run(["zsh", "-f", "-c", code], capture_output=True, encoding="utf-8")
    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.split(":")[0] for line in result.stdout.splitlines()]
    assert lines == ["encode", "decode", "stats", "2", "4", "FILES", "-h", "--help"]


def test_an_unknown_shell_is_wrong_usage(capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["completion", "tcsh"])
    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
