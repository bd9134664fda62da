"""The command ``compactwire stats``."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import cad, gcf
from compactwire.cli import main
from tests.cli import message_about

Captured = pytest.CaptureFixture[str]

ROWS = [{"id": i, "to": "Köln", "by": "post", "tags": ["a", "b"]} for i in range(9)]
PART = cad.from_compact("C 10 20 30\nY 2 40\nD 0 1")
GRAPH = gcf.Payload(
    tool="context_for_task",
    symbols=[gcf.Symbol("pkg.a", "function", 0.9, "lsp_resolved", 0),
             gcf.Symbol("pkg.b", "function", 0.5, "lsp_resolved", 1)],
    edges=[gcf.Edge("pkg.a", "pkg.b", "calls")],
)  # fmt: skip
INPUTS = {
    "rows.json": ("json", json.dumps(ROWS, indent=1)),
    "rows.jsonl": ("jsonl", "".join(json.dumps(row) + "\n\n" for row in ROWS)),
    "rows.csv": ("csv", '\ufeffid,name\r\n1,"a\nb"\r\n\r\n007,\r\n'),
    "semicolons.csv": ("csv", "id;price\n1;2,5\n"),
    "odd.csv": ("csv", "\n\r\nid,name\n1,a\u2028b\x0cc\x1dd\n"),
    "odd.jsonl": ("jsonl", '\ufeff{"id":\r1}\r\n{"id": 2}'),
    "bom.jsonl": ("jsonl", "\ufeff\n"),
    "bom.txt": ("text", "\ufeffThe answer is 42."),
    "bom.gcf": ("gcf", "\ufeff" + gcf.dumps(ROWS)),
    "rows.tsv": ("tsv", "id\tname\n1\ta\n"),
    "rows.gcf": ("gcf", gcf.dumps(ROWS, list_columns=True)),
    "graph.gcf": ("gcf", gcf.encode(GRAPH)),
    "notes.md": ("text", "[One](#one) line\r\nand another: Köln.\n" * 9),
    "part.vcad": ("vcad", cad.dumps(PART)),
    "part.vcadb": ("vcad", cad.to_binary(PART)),
    "part.json": ("json", cad.dumps(PART)),
    "one": ("json", json.dumps(ROWS)),
    "lines": ("jsonl", '{"id": 1}\n{"id": 2}\n'),
    "words": ("text", "The answer is 42."),
    "graph": ("gcf", gcf.encode(GRAPH)),
    "empty.txt": ("text", ""),
    "empty.json": ("json", "[]"),
    "string.json": ("json", '"one\\ntwo"'),
    "number.json": ("json", "42"),
}


def put(name: str, folder: Path) -> Path:
    content = INPUTS[name][1]
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def sheets(capsys: Captured, *arguments: str | Path) -> list[dict[str, Any]]:
    assert main(["stats", "--json", *map(str, arguments)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("name", INPUTS)
def test_the_lines_of_python_make_what_was_measured(
    name: str, tmp_path: Path, capsys: Captured
) -> None:
    (sheet,) = sheets(capsys, put(name, tmp_path))
    assert sheet["kind"] == INPUTS[name][0]
    names: dict[str, Any] = {}
    exec("\n".join(sheet["setup"]), names)
    # A reader wonders about a module that no line uses.
    assert ("cad" in names) == (name in {"part.vcad", "part.vcadb", "part.json"})
    whole = [row for row in sheet["formats"] if row["round_trip"]]
    # The dialect 0.1 of CAD holds less than a document.
    assert {row["format"] for row in sheet["formats"] if not row["round_trip"]} <= {"cad-0.1"}
    assert len(whole) >= 5
    for row in whole:
        if row["format"] == "input":
            size = len((tmp_path / name).read_bytes().removeprefix(b"\xef\xbb\xbf"))
            assert (row["bytes"], row["python"]) == (size, "")
            continue
        made = eval(row["python"], names)
        text = made.encode() if isinstance(made, str) else made
        assert len(text) == row["bytes"], row


@pytest.mark.parametrize("name", ["rows.json", "part.vcad", "notes.md", "graph.gcf"])
def test_formats_for_models_come_first_and_the_fewest_tokens_first(
    name: str, tmp_path: Path, capsys: Captured
) -> None:
    (sheet,) = sheets(capsys, put(name, tmp_path))
    rows = [row for row in sheet["formats"] if row["round_trip"]]
    models = [row["tokens"] for row in rows if row["reader"] == "model"]
    programs = [row["bytes"] for row in rows if row["reader"] == "program"]
    assert [row["reader"] for row in rows] == ["model"] * len(models) + ["program"] * len(programs)
    assert models == sorted(models)
    assert programs == sorted(programs)
    assert sheet["baseline"] in [row["format"] for row in rows]


def test_a_table_has_a_line_for_each_format(tmp_path: Path, capsys: Captured) -> None:
    path = put("rows.json", tmp_path)
    assert main(["stats", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{path}: json; percentages of compact JSON"
    (row,) = [line.split() for line in lines if line.split()[0] == "gcf"]
    compact = json.dumps(ROWS, ensure_ascii=False, separators=(",", ":")).encode()
    size = len(gcf.dumps(ROWS).encode())
    assert row[1:4] == ["model", str(size), f"{size / len(compact):.1%}"]
    assert row[-1] == "gcf.dumps(value)"
    assert "input" in [line.split()[0] for line in lines]


def test_tokens_are_counted_by_an_installed_tokenizer(tmp_path: Path, capsys: Captured) -> None:
    tokenizer = pytest.importorskip("bpe_openai").get_encoding("o200k_base")
    (sheet,) = sheets(capsys, put("rows.json", tmp_path))
    assert sheet["tokenizer"] == "o200k_base"
    tokens = {row["format"]: row["tokens"] for row in sheet["formats"]}
    assert tokens["gcf"] == len(tokenizer.encode_ordinary(gcf.dumps(ROWS)))
    assert tokens["bytes"] is None
    assert tokens["base85"] > tokens["gcf"]


def test_without_a_tokenizer_the_tokens_of_plain_text_are_estimated(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    from compactwire.analysis import tokens

    tokens._encoder.cache_clear()
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    path = put("rows.json", tmp_path)
    assert main(["stats", "--json", str(path)]) == 0
    out, error = capsys.readouterr()
    sheet = json.loads(out)
    assert sheet["tokenizer"] == "estimate"
    found = {row["format"]: row["tokens"] for row in sheet["formats"]}
    assert found["gcf"] == cw.estimate_tokens(gcf.dumps(ROWS))
    assert found["zstd"] is None
    assert error == "compactwire: tokens are estimated; to count them: pip install bpe-openai\n"
    assert main(["stats", str(path)]) == 0
    assert "tokens, estimated" in capsys.readouterr().out


def test_standard_input_is_measured_by_its_content(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    for data, options, kind in (
        (b'{"a": 1}', [], "json"),
        (b"a,b\n1,2\n", [], "text"),
        (b"a,b\n1,2\n", ["--input", "csv"], "csv"),
        (b"GCF profile=generic\na=1\n", [], "gcf"),
        (b"[1, 2]", ["--input", "text"], "text"),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        (sheet,) = sheets(capsys, *options)
        assert (sheet["input"], sheet["kind"]) == ("-", kind)
        assert "import sys" in sheet["setup"]


def test_a_format_that_cannot_carry_the_input_has_the_reason_in_its_line(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "big.json"
    path.write_text(json.dumps({"n": 1 << 70}))
    assert main(["stats", str(path)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "cannot carry it: out_of_range" in lines["gcf"]
    assert "100.0%" in lines["json"]


@pytest.mark.parametrize("name", ["a.jsonl", "a"])
def test_lines_with_a_number_that_gcf_cannot_write_are_measured(
    name: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / name
    path.write_text('{"n": 1}\n{"n": 9223372036854775808}\n')
    (sheet,) = sheets(capsys, path)
    assert sheet["kind"] == "jsonl"
    carried = {row["format"]: row["round_trip"] for row in sheet["formats"]}
    assert [carried[name] for name in ("json", "shrink", "gcf")] == [True, True, False]


ERRORS = [
    ("a.json", b"{", "invalid_json: expected a quoted member name"),
    ("a.json", b'["\\x"]', "invalid_json: invalid escape"),
    ("a.json", b'{"a":1,"a":2}', "duplicate_key"),
    ("a.json", b'{"a":1e999}', "number too large for a double, at byte 5"),
    ("a.json", b'{"a":18446744073709551616,"b":1,"b":2}', 'duplicate member "b"'),
    ("a.jsonl", b'{"a":18446744073709551616,"b":1,"b":2}\n{"a":1}\n', "line 1: "),
    ("a.json", b"[" * 100_000, "line 1"),
    ("a.jsonl", b'{"a":1}\n\n1,2\n', "line 3"),
    ("a.csv", b"a,b\n1\n", "line 2: expected 2 cells"),
    ("a.gcf", b"GCF profile=generic\n## [2]{a}\n1\n", "count_mismatch"),
    ("a.txt", b"\xff", "not UTF-8 from byte 0 on"),
    ("a.csv", "a,b\n".encode("utf-16"), "UTF-16, expected UTF-8; save it as UTF-8\n"),
    (
        "a.parquet",
        b"PAR1\x15\x82",
        "a Parquet file, whose rows only `analyze` and `train` read, expected text in UTF-8\n",
    ),
    ("a.txt", b"\x1f\x8b\x08", "compressed with gzip, expected text in UTF-8\n"),
    ("a.txt", b"\x28\xb5\x2f\xfd\x24", "compressed with zstd, expected text in UTF-8\n"),
    ("a.csv", b"a\n1;2,5\n", "or put cells with a delimiter in quotes"),
    ("a.vcad", b"C 1", "line 1"),
    ("a", b"\xff", "not UTF-8 from byte 0 on\n"),
    ("a", b'{"a": ', "it was taken for json; --input names another format, such as text"),
]


@pytest.mark.parametrize(("name", "content", "expected"), ERRORS, ids=range(len(ERRORS)))
def test_invalid_input_is_an_error_in_one_line(
    name: str, content: bytes, expected: str, tmp_path: Path, capsys: Captured
) -> None:
    assert expected in message_about(tmp_path / name, content, capsys, "stats")


def test_an_input_larger_than_the_limit_is_not_read(tmp_path: Path, capsys: Captured) -> None:
    assert main(["stats", str(put("rows.json", tmp_path)), "--max-input", "9"]) == 1
    assert "larger than 9 bytes" in capsys.readouterr().err


def test_a_file_that_fails_does_not_stop_the_others(tmp_path: Path, capsys: Captured) -> None:
    good, bad, rows = put("rows.json", tmp_path), tmp_path / "bad.json", put("rows.csv", tmp_path)
    bad.write_text("[1")
    missing = tmp_path / "missing.json"
    code = main(["stats", *map(str, (bad, good, missing, rows))])
    out, error = capsys.readouterr()
    assert code == 1
    names = [line.split(": ")[0] for line in out.splitlines() if line[0] != " "]
    assert names == [str(good), str(rows)]
    assert f"error: {bad}: " in error
    assert f"2 of 4 inputs failed: {bad}, {missing}" in error


def test_a_folder_is_an_error_that_names_the_command_for_it(
    tmp_path: Path, capsys: Captured
) -> None:
    assert main(["stats", str(tmp_path)]) == 1
    hint = f"compactwire analyze {tmp_path} measures the files in it"
    expected = f"compactwire: error: {tmp_path}: a folder, expected a file; {hint}\n"
    assert capsys.readouterr().err == expected


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of files that are any bytes")
def test_a_name_that_is_not_utf8_is_read_back(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "a\udcff{0}.json"
    path.write_text("[1]")
    (sheet,) = sheets(capsys, path)
    assert sheet["input"] == str(path)
    names: dict[str, Any] = {}
    exec("\n".join(sheet["setup"]), names)
    assert names["value"] == [1]
