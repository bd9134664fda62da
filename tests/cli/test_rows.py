"""The command ``compactwire gcf``: JSON Lines, CSV, several files, and input at a terminal."""

from __future__ import annotations

import io
import sys
import tracemalloc
from pathlib import Path

import pytest

from compactwire import gcf
from compactwire._lines import as_array
from compactwire.cli import main
from tests.cli import message_about

Captured = pytest.CaptureFixture[str]


def encoded(path: Path, content: bytes, captured: Captured, *options: str) -> tuple[int, str, str]:
    path.write_bytes(content)
    code = main(["gcf", "encode", str(path), *options])
    return code, *captured.readouterr()


CSV = [
    (b"id,name\n1,a\n007,b\n", [{"id": "1", "name": "a"}, {"id": "007", "name": "b"}]),
    (b'\xef\xbb\xbfid,t\r\n\r\n1,"a\r\nb,""c"\r\n', [{"id": "1", "t": 'a\r\nb,"c'}]),
    # An empty cell of the only column is a blank line.
    (b'a\n""\n\nx', [{"a": ""}, {"a": ""}, {"a": "x"}]),
    (b"\na\n\nx\n\n", [{"a": ""}, {"a": "x"}, {"a": ""}]),
    (b"a,b\n\n1,2\n\n", [{"a": "1", "b": "2"}]),
    (b"a,b\n1,\n", [{"a": "1", "b": ""}]),
    (b"a\n" + b"x" * 200_000, [{"a": "x" * 200_000}]),
    (b"a,b\n", []),
    (b"", []),
]


@pytest.mark.parametrize(("content", "rows"), CSV, ids=range(len(CSV)))
def test_csv_becomes_rows_of_strings(
    content: bytes, rows: object, tmp_path: Path, capsys: Captured
) -> None:
    code, out, _ = encoded(tmp_path / "a.CSV", content, capsys)
    assert (code, gcf.loads(out)) == (0, rows)
    tabs = content.replace(b",", b"\t")
    code, out, _ = encoded(tmp_path / "a.tsv", tabs, capsys)
    assert (code, gcf.loads(out)) == (
        0,
        gcf.loads(gcf.dumps(rows)) if b'"a' not in content else [{"id": "1", "t": 'a\r\nb\t"c'}],
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson"])
def test_json_lines_become_an_array(name: str, tmp_path: Path, capsys: Captured) -> None:
    content = b'\xef\xbb\xbf{"a":1e22}\r\n\n \t\n{"a":"\xe2\x80\xa8"}\n3'
    code, out, _ = encoded(tmp_path / name, content, capsys)
    assert (code, gcf.loads(out)) == (0, [{"a": 1e22}, {"a": "\u2028"}, 3])
    assert gcf.loads(encoded(tmp_path / name, b"", capsys)[1]) == []


ERRORS = [
    ("a.csv", b"a,b\n1,2\n\n3\n", "line 4: expected 2 cells, as in the header, found 1"),
    ("a.csv", b'a,b\n"1\n2",2,3\n', "line 3: expected 2 cells, as in the header, found 3"),
    ("a.csv", b"a,b,a\n", "line 1: two columns are named 'a'; rename one"),
    ("a.csv", b'a\n"x', "line 2: invalid CSV"),
    ("a.csv", b"a\n\xff", "not UTF-8"),
    ("a.jsonl", b'{"a":1}\n\n1,2\n', "line 3"),
    ("a.jsonl", b"[1\n,2]", "line 1"),
    ("a.jsonl", b'1\n{"a":1,"a":2}', "duplicate_key"),
    ("a.jsonl", b"1\nNaN", "line 2"),
    ("a.json", b"{", "line 1"),
    ("a", b"{}\n{}\n", "(line 2, column 1); --input jsonl reads a value per line\n"),
    ("a.jsonl", b"{}\n{} {}\n", "(line 2, column 4)\n"),
    ("a.jsonl", b'{"n":1}\n{"n":9223372036854775808}', "(at $[1].n)\n"),
    (
        "a.jsonl",
        b'{"n":9223372036854775808},2\n1',
        "line 1: neither GCF nor JSON: expected the end",
    ),
    ("a.json", ("[1]" + " " * 64).encode("utf-16"), "UTF-16, expected UTF-8; save it as UTF-8\n"),
]


@pytest.mark.parametrize(("name", "content", "expected"), ERRORS, ids=range(len(ERRORS)))
def test_an_error_names_the_file_and_the_line(
    name: str, content: bytes, expected: str, tmp_path: Path, capsys: Captured
) -> None:
    assert expected in message_about(tmp_path / name, content, capsys, "gcf", "encode")


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kind", [io.BytesIO, Terminal])
def test_only_a_terminal_is_told_that_the_command_waits(
    kind: type[io.BytesIO], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(kind(b"a\tb\n1\t2\n")))
    assert main(["gcf", "encode", "--input", "tsv"]) == 0
    out, error = capsys.readouterr()
    assert gcf.loads(out) == [{"a": "1", "b": "2"}]
    assert ("reading from the terminal" in error) == (kind is Terminal)


def test_many_short_lines_take_memory_in_proportion_to_their_bytes() -> None:
    data = b"{}\n" * 300_000
    tracemalloc.start()
    try:
        assert as_array(data) == b"[" + b",\n".join([b"{}"] * 300_000) + b"]"
        tracemalloc.reset_peak()
        as_array(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(data)
