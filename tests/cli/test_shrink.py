"""The commands ``compactwire shrink`` and ``expand``."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import gcf
from compactwire.cli import main

Captured = pytest.CaptureFixture[str]

ROWS = [{"id": i, "state": "open", "title": f"Task {i}"} for i in range(100, 140)]
SMALL = cw.shrink(ROWS).text
MARK = "\ufeff"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Runner:
    return Runner(tmp_path, monkeypatch, capsys)


class Runner:
    """Runs a command on a file of the given content, or with it as standard input."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, captured: Captured) -> None:
        self.folder, self.patch, self.captured = folder, patch, captured

    def __call__(self, command: str, content: str, name: str = "-") -> str:
        data = content.encode()
        if name == "-":
            self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        else:
            (self.folder / name).write_bytes(data)
            self.patch.chdir(self.folder)
        assert main([*command.split(), name]) == 0
        out, error = self.captured.readouterr()
        assert error == ""
        return out


@pytest.mark.parametrize("name", ["-", "rows.json"])
def test_json_becomes_the_text_with_the_fewest_tokens_and_comes_back(
    name: str, run: Runner
) -> None:
    assert run("shrink", json.dumps(ROWS, indent=2), name) == SMALL
    assert run("expand", SMALL, name) == json.dumps(ROWS, separators=(",", ":")) + "\n"


@pytest.mark.parametrize(
    "text", ["", "prose\r\n", MARK + "prose", MARK + "[1]", '{"a":1.10}', "3\n", "[1", "\u00e4"]
)
def test_text_that_cannot_be_made_shorter_is_printed_as_it_is(text: str, run: Runner) -> None:
    assert run("shrink", text) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [("[1,\n2]", "[1,2]"), ('{"a":\r\n1}', '{"a":1}'), ('["a\\nb",\n"c d"]', '["a\\nb","c d"]')],
)
def test_json_is_one_line_also_where_that_saves_no_token(text: str, line: str, run: Runner) -> None:
    assert run("expand", text) == line + "\n"


def test_a_json_file_that_was_cut_stays_as_it_is_with_a_warning(
    tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "orders.json"
    file.write_bytes(b'[{"id": 1},\n {"id')
    assert main(["shrink", str(file)]) == 0
    expected = "invalid_json: expected the closing quote of a string, found the end of the text"
    assert capsys.readouterr() == (
        '[{"id": 1},\n {"id',
        f"compactwire: warning: {file}: {expected} (line 2, column 6); its text stays as it is\n",
    )


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("prices.json", "[1.10]", ""),
        ("app.log", "[1", ""),
        ("orders.json", "[1", "--input text"),
    ],
    ids=["JSON that cannot be made shorter", "another name", "text by the option"],
)
def test_other_text_that_stays_as_it_is_has_no_warning(
    name: str, content: str, options: str, run: Runner
) -> None:
    assert run(f"shrink {options}", content, name) == content


def test_numbers_and_strings_keep_their_spelling(run: Runner) -> None:
    text = '{"a": 0.10000000000000000555,\n "b": [1.10, "\\u00e9"]}\n'
    compact = '{"a":0.10000000000000000555,"b":[1.10,"\\u00e9"]}'
    assert run("shrink", text) == compact
    assert run("expand", compact) == run("expand", text) == compact + "\n"


@pytest.mark.parametrize("number", ["18446744073709551616", "-9223372036854775809"])
def test_an_integer_beyond_64_bits_is_json(number: str, run: Runner) -> None:
    assert run("expand", number) == number + "\n"
    assert run("expand", f"[{number}]") == f"[{number}]\n"


def test_what_expand_reads_the_command_reads(run: Runner) -> None:
    value: Any = 1
    for _ in range(256):
        value = {"a": value}
    text = json.dumps(value, separators=(",", ":"))
    for written in (text, gcf.dumps(value, max_depth=256)):
        assert cw.expand(written) == value
        assert run("expand", written) == text + "\n"


def test_rows_of_lines_and_cells_become_gcf(run: Runner) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    assert run("shrink", lines, "rows.jsonl") == run("shrink --input jsonl", lines) == SMALL
    cells = "id;state\n" + "".join(f"{i};open\n" for i in range(30))
    expected = [{"id": str(i), "state": "open"} for i in range(30)]
    assert cw.expand(run("shrink", cells, "rows.csv")) == expected
    assert run("shrink --input text", lines, "rows.jsonl") == lines


def test_json_lines_without_a_name_are_recognised_as_in_stats(run: Runner) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    for name in ("-", "rows", "rows.data"):
        assert run("shrink", MARK + lines, name) == SMALL
    for text in (lines + "end of the log\n", "\n".join(map(str, range(99)))):
        assert run("shrink", text) == text
    assert run("shrink", lines, "rows.log") == run("shrink --input text", lines) == lines


@pytest.mark.parametrize("mark", ["", MARK])
@pytest.mark.parametrize(
    ("name", "rows"), [("a.jsonl", '{"a": 1}\n'), ("a.csv", "a,b\n1,2\n3,4\n"), ("a.csv", "")]
)
def test_rows_never_need_more_tokens_than_their_lines(
    mark: str, name: str, rows: str, run: Runner
) -> None:
    assert run("shrink", mark + rows, name) == mark + rows


@pytest.mark.parametrize("mark", ["", MARK])
@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        ('{"a": 1.10}\n{"b": [2]}\n', '[{"a":1.10},{"b":[2]}]'),
        ("\n[1]\r\n\n[18446744073709551616]\n\n", "[[1],[18446744073709551616]]"),
        ('"a"\n1\nnull', '["a",1,null]'),
    ],
)
def test_lines_that_stay_lines_come_back_as_rows(
    mark: str, lines: str, rows: str, run: Runner
) -> None:
    for name in ("rows.jsonl", "-"):
        printed = run("shrink", mark + lines, name)
        assert printed == mark + lines
        assert run("expand", printed, "rows.jsonl") == run("expand", printed) == rows + "\n"


def test_rows_that_look_like_other_text_come_back_with_their_format(run: Runner) -> None:
    one = '{"a": 1}\n'
    assert run("expand", run("shrink", one, "rows.jsonl")) == '{"a":1}\n'
    assert run("expand --input jsonl", one) == run("expand", one, "a.ndjson") == '[{"a":1}]\n'
    cells = run("shrink", "id,t\n1,x\n", "rows.csv")
    expected = '[{"id":"1","t":"x"}]\n'
    assert run("expand --input csv", cells) == run("expand", cells, "a.csv") == expected
    for command in ("expand", "expand --input jsonl", "expand --input csv"):
        assert json.loads(run(command, SMALL)) == ROWS


@pytest.mark.parametrize("text", ["id,t\n1,x\n", "name,t\n" + "1,x\n" * 99, "prose"])
def test_an_error_of_expand_names_the_option_for_csv(
    text: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "rows"
    path.write_text(text, encoding="utf-8")
    assert main(["expand", str(path)]) == 1
    assert "neither GCF nor JSON" in (error := capsys.readouterr().err)
    assert "for rows of CSV, pass --input csv" in error


def test_json_has_the_text_and_its_tokens(run: Runner) -> None:
    found = json.loads(run("shrink --json", json.dumps(ROWS)))
    shrunk = cw.shrink(json.dumps(ROWS))
    assert found == {name: getattr(shrunk, name) for name in found}
    assert list(found) == ["format", "tokens_before", "tokens_after", "exact", "reason", "text"]
    assert json.loads(run("shrink --json", "prose"))["reason"] == "not-json"


def test_options_of_shrink_are_options_of_the_command(run: Runner) -> None:
    rows = [{"id": i, "tags": ["bug", f"area-{i % 4}"]} for i in range(100, 120)]
    text = json.dumps(rows, separators=(",", ":"))
    assert run("shrink", text) == cw.shrink(rows).text != text
    assert run("shrink --no-extensions", text) == text
    pytest.importorskip("bpe_openai", reason="NOT RUN: bpe-openai is not installed")
    found = json.loads(run("shrink --tokenizer o200k_base --json", text))
    assert (found["exact"], found["text"]) == (True, cw.shrink(rows, tokenizer="o200k_base").text)


def test_an_unknown_tokenizer_is_one_error_for_all_files(capsys: Captured) -> None:
    pytest.importorskip("bpe_openai", reason="NOT RUN: bpe-openai is not installed")
    assert main(["shrink", "--tokenizer", "nope", "a", "b"]) == 1
    assert capsys.readouterr().err.startswith("compactwire: error: unknown tokenizer 'nope'")


def test_several_texts_begin_on_lines_of_their_own(tmp_path: Path, capsys: Captured) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f'{{"{name}": 1}}', encoding="utf-8")
    assert main(["shrink", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert capsys.readouterr().out == '{"a":1}\n{"b":1}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prose", 'neither GCF nor JSON: invalid_json: expected a JSON value, found "prose"'),
        ('{"a":1,\n"b":}', "(line 2, column 5)"),
        ('{"a":1}\n{"b":}\n', "(line 2, column 6)"),
        ("[\n1]\n[\n2]\n", "unexpected characters after the JSON value (line 3, column 1)"),
        ("GCF profile=generic\n## [2]{id}\n1\n", "count_mismatch"),
        ('{"a":1,"a":2}', "duplicate_key"),
        ('{"a":18446744073709551616,"b":[1', "expected ',' or ']', found the end of the text"),
        ("18446744073709551616 and prose", "expected the end of the text, found"),
        ('[18446744073709551616,{"a":1,"a":2}]', 'duplicate member "a"'),
        ("[18446744073709551616,NaN]", 'expected a JSON value, found "NaN]"'),
    ],
)
def test_an_error_of_expand_names_the_file_and_the_place(
    text: str, message: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    assert main(["expand", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"compactwire: error: {path}: ")
    assert message in error
