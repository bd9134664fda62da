"""`Corpus`: folders and JSON Lines as inputs, and the progress bar."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest

from compactwire import CompactWireError, analysis, cad
from tests.strategies.analysis import ANSWERS, PLATE, ROWS, measured


def test_a_folder_is_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "rows.json").write_text("\ufeff" + json.dumps(ROWS), encoding="utf-8")
    (tmp_path / "a.md").write_text("An answer.", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"id":1}\n\n{"id":2}\n', encoding="utf-8")
    (tmp_path / "plate.vcad").write_text(json.dumps(cad.from_compact(PLATE)), encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.json").write_text("1", encoding="utf-8")
    corpus = analysis.read_corpus(tmp_path)
    assert list(corpus) == ["a.md", "b.jsonl", "deep/rows.json", "plate.vcad"]
    assert repr(corpus) == "Corpus(4 inputs: a.md, b.jsonl, deep/rows.json, ...)"
    kinds = measured(corpus).groupby("input")["kind"].first().to_dict()
    assert kinds == {
        "a.md": "response",
        "b.jsonl": "value",
        "deep/rows.json": "value",
        "plate.vcad": "cad",
    }
    assert list(analysis.read_corpus(tmp_path, limit=2)) == ["a.md", "deep/rows.json"]


def test_a_folder_without_inputs_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="nowhere"):
        analysis.read_corpus(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no JSON or text files"):
        analysis.read_corpus(tmp_path)
    (tmp_path / "bad.json").write_bytes(b'{"a":')
    with pytest.raises(ValueError, match=r"bad\.json: Expecting value"):
        analysis.read_corpus(tmp_path)
    (tmp_path / "bad.json").write_bytes(b"[" * 100_000)
    with pytest.raises(ValueError, match=r"bad\.json"):
        analysis.read_corpus(tmp_path)
    with pytest.raises(ValueError, match="limit must be 1 or more"):
        analysis.read_corpus(tmp_path, limit=0)


def test_a_progress_bar_is_shown_on_a_terminal_and_erased() -> None:
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        measured(ANSWERS[:4], formats=["dsl"])
        assert stream.getvalue() == ""
        measured(ANSWERS[:4], formats=["dsl"], progress=True)
    assert "] 3 of 4 " in stream.getvalue()
    assert stream.getvalue().endswith(" \r")


def test_jsonl_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"t":"x\u2028y\x85"}\n{"t":1}\n', encoding="utf-8")
    assert analysis.read_corpus(tmp_path)["a.jsonl"] == [{"t": "x\u2028y\x85"}, {"t": 1}]


DUPLICATES = [
    ("a.json", '{"x":1,\n "\\u0078":2}', 'a.json: duplicate key "x" in an object: line 2'),
    ("a.json", '[{"b":{"x":1}},\n{"x":"}\\\\\\"{",\n\n"x" : 1}', '"x" in an object: line 4'),
    ("a.vcad", '{"y":{"x":{"n":1},"x":[]}}', '"x" in an object: line 1'),
    ("a.jsonl", '{"a":1}\n\n{"a":1,"a":1}\n', 'a.jsonl: duplicate key "a" in an object: line 3'),
    ("a.json", '{"\\u001b[31m":1,"\\u001b[31m":1}', '"\\\\u001b[31m" in an object: line 1'),
    ("a.jsonl", '{"a":1}\n\n{"a":}\n', "Expecting value: line 3 column 6"),
    ("a.json", '{"a":\n1,}', "line 2 column 3"),
]


@pytest.mark.parametrize(("name", "text", "message"), DUPLICATES)
def test_a_key_twice_is_an_error_with_its_line(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(CompactWireError) as caught:
        analysis.read_corpus(tmp_path)
    assert message.replace("\\\\", "\\") in str(caught.value)
    assert str(caught.value).isprintable()
    # The file itself is not at fault.
    assert analysis.read_corpus(tmp_path, texts=True)[name] == text


def test_the_same_key_in_several_objects_is_no_error(tmp_path: Path) -> None:
    text = '{"a":{"a":[{"a":"\\"a\\":"},{"a":{}}]},"b":{"a":"}"}}'
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    assert analysis.read_corpus(tmp_path)["a.json"] == json.loads(text)


def test_the_name_of_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a\x1b[31m.json").write_text("{", encoding="utf-8")
    with pytest.raises(CompactWireError) as caught:
        analysis.read_corpus(tmp_path)
    assert str(caught.value).isprintable()
