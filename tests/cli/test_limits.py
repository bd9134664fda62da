"""The command ``compactwire``: input without an end, not a file, or too large for the memory."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from compactwire import cad, cli
from compactwire.cli import main

COMMAND = [sys.executable, "-m", "compactwire"]

READERS = [
    *("decode", "inspect", "encode", "encode --json", "gcf encode", "gcf decode", "stats -"),
    *("shrink", "expand"),
    *(f"cad {name} -" for name in ("compact", "expand", "pack", "unpack", "hybrid")),
    *("cad check -", "cad stats -"),
]


class Endless(io.RawIOBase):
    """A stream of one line without an end, which counts what was read of it."""

    def __init__(self, line: bytes = b"S 1\n") -> None:
        self.line = line
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self.taken += len(buffer)
        assert self.taken < 1 << 20, "reads on beyond the limit"
        count = len(buffer) // len(self.line) + 1
        buffer[:] = (self.line * count)[: len(buffer)]
        return len(buffer)


@pytest.mark.parametrize("command", READERS)
def test_standard_input_without_an_end_is_refused(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = {"gcf encode": b"[\n", "gcf decode": b"GCF\n", "expand": b"[\n"}
    endless = Endless(lines.get(command, b"S 1\n"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(endless)))
    assert main([*command.split(), "--max-input", "9999"]) == 1
    error = capsys.readouterr().err
    assert "standard input: larger than 9,999 bytes, the limit of --max-input" in error


@pytest.mark.parametrize(
    ("command", "line", "message"),
    [
        ("decode", b"y\n", "standard input: expected a message that begins with"),
        ("inspect", b"\0", "expected a message that begins with"),
        ("gcf encode", b"y\n", "expected a JSON value, found"),
        ("gcf encode", b"[1]\n", "standard input: trailing_characters: "),
        ("stats --input json", b"[1]\n", "standard input: trailing_characters: "),
        ("gcf encode --input jsonl", b"\0", "expected a JSON value, found"),
        ("gcf encode --input csv", b"a,\xff\n", "standard input: not UTF-8 from byte 2 on"),
        ("gcf decode", b"y\n", "expected GCF as the first word"),
        ("shrink", b"\0", "standard input: not text: the first 64 bytes are NUL"),
        (
            "expand",
            b"y\n",
            "standard input: neither GCF nor JSON: invalid_json: expected a JSON value",
        ),
        ("encode", b"abc\xff", "standard input: not UTF-8 from byte 3 on"),
        ("cad compact -", b"\0", "standard input: not text: the first 64 bytes are NUL"),
        ("cad expand -", b"y\n", "line 1, column 1: unknown opcode y"),
        ("cad expand --repair -", b"\xff", "standard input: not UTF-8 from byte 0 on"),
        ("cad pack -", b"S 1\nU 0 9\n", "line 2, column 5: node 9 referenced"),
        ("cad preview - -o a.png", b"\0", "standard input: not text: the first 64 bytes are NUL"),
        ("cad check -", b"\0", "standard input: not text: the first 64 bytes are NUL"),
        ("cad stats -", b"\0", "standard input: not text: the first 64 bytes are NUL"),
        ("cad stats -", b"y\n", "unknown opcode y"),
        ("stats -", b"\xff", "standard input: not UTF-8 from byte 0 on"),
        ("stats -", b"\0", "standard input: not text: the first 64 bytes are NUL"),
        ("gcf encode --input csv", b"\0", "standard input: not text: the first 64 bytes are NUL"),
        ("stats --input json", b"y\n", "expected a JSON value, found"),
        ("stats --input jsonl", b"y\n", "expected a JSON value, found"),
        ("stats --input gcf", b"y\n", "expected GCF as the first word"),
    ],
)
def test_the_first_bytes_are_judged_before_the_rest_is_read(
    command: str,
    line: bytes,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    endless = Endless(line)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(endless)))
    assert main(command.split()) == 1
    assert message in capsys.readouterr().err
    assert endless.taken <= 1 << 17


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs an endless file")
@pytest.mark.parametrize("command", ["encode", "decode", "inspect"])
def test_the_first_bytes_of_a_dictionary_are_judged(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "message").write_text("RES|OK||0|x")
    # Reading 1 GiB would end with the error of the limit.
    assert main([command, "--dictionary", "/dev/zero", str(tmp_path / "message")]) == 1
    assert "/dev/zero: expected a dictionary file" in capsys.readouterr().err


def test_the_limit_of_a_file_is_exact_and_includes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"x" * 100)
    assert main(["encode", str(file), "--max-input", "100"]) == 0
    assert main(["encode", str(file), "--max-input", "99"]) == 1
    assert "a.txt: larger than 99 bytes" in capsys.readouterr().err


def test_a_document_may_go_on_after_its_first_bytes(tmp_path: Path) -> None:
    sketch = "SK 0 0 0 1 0 0 0 1 0\n" + "L 0 0 1 0\n" * 10_000 + "END\nE 0 0 0 1\n"
    (tmp_path / "a.vcadc").write_text(sketch)
    (tmp_path / "a.vcad").write_text("\u00a0" + json.dumps(cad.loads(sketch), indent=1))
    for name in ("a.vcadc", "a.vcad"):
        out = tmp_path / "out.vcadb"
        assert main(["cad", "pack", str(tmp_path / name), "-o", str(out)]) == 0
        assert main(["cad", "unpack", str(out), "-o", str(tmp_path / "out.vcad")]) == 0


def test_samples_and_dictionaries_are_limited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x" * 100)
    out = str(tmp_path / "out")
    assert main(["train", str(tmp_path), "-o", out, "--max-input", "99"]) == 1
    assert capsys.readouterr().err.count("larger than 99 bytes") == 2
    arguments = [str(tmp_path / "a"), "--dictionary", str(tmp_path / "b"), "--max-input", "99"]
    for command in ("decode", "inspect", "encode"):
        assert main([command, *arguments]) == 1
        assert "larger than 99 bytes" in capsys.readouterr().err


def test_too_little_memory_is_an_error_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(cli.messages, "read", fail)
    assert main(["decode"]) == 1
    assert capsys.readouterr().err == "compactwire: error: not enough memory\n"


def test_an_integer_of_many_digits_names_the_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '{"result":"a","tokens":' + "9" * 5000 + "}"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["encode", "--json"]) == 1
    error = capsys.readouterr().err
    assert "an integer of 5,000 digits in the JSON; at most 4,300 are read" in error


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_claim_is_made_of_regular_files_only(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    new = [*COMMAND, "claim", "new", "--run-id", "r", "-o", str(tmp_path / "out")]
    for arguments in ([fifo], [tmp_path], [os.devnull], ["--symbol", f"@a={fifo}"]):
        # A command that opens the FIFO would wait for a writer.
        result = subprocess.run([*new, *arguments], capture_output=True, check=False, timeout=60)
        assert result.returncode == 1
        assert b": not a regular file" in result.stderr


def test_only_the_limited_readers_open_files() -> None:
    for path in sorted(Path(cli.__file__).parent.glob("*.py")):
        found = re.findall(
            r"read_bytes\(|read_text\(\)|\bopen\(|fdopen\(|\.read\(\)", path.read_text()
        )
        expected = {
            "_shell.py": ["open(", "open("],
            # For writing only.
            "_output.py": ["open(", "open("],
            # A folder that is locked, and a secret.
            "claims.py": ["open(", "open(", "fdopen("],
            # In the lines of Python that it prints.
            "_forms.py": [".read()", "read_bytes("],
        }
        assert found == expected.get(path.name, []), path.name
