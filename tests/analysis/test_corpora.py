"""`Corpus`: folders and JSON Lines as inputs, and the progress bar."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

from compactwire import CompactWireError, Response, analysis, cad, gcf
from compactwire.analysis.extra import need
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


def test_the_progress_is_a_line_with_a_rate_and_an_end() -> None:
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        measured(ANSWERS[:4], formats=["dsl"])
        assert stream.getvalue() == ""
        measured(ANSWERS[:4], formats=["dsl"], progress=True)
    first, *_, last = stream.getvalue().split("\r")[1:]
    assert first.rstrip() == "0 of 4 inputs"
    assert re.fullmatch(r"4 of 4 inputs in \d+\.\d s, [\d,.]+/s +\n", last)


def test_the_progress_goes_to_a_function() -> None:
    seen: list[analysis.Progress] = []
    measured(ANSWERS[:3], formats=["dsl"], progress=seen.append)
    assert [(one.done, one.total) for one in seen] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    halfway = analysis.Progress(30, 120, 2.0)
    assert (halfway.rate, halfway.left) == (15, 6)
    assert str(halfway) == "30 of 120 inputs, 15/s, 6 s left"
    with pytest.raises(TypeError, match="progress must be a bool or a function, not str"):
        measured(ANSWERS[:3], progress="yes")


def test_a_path_is_an_input_of_compare(tmp_path: Path) -> None:
    pq = need("pyarrow.parquet", "")
    (tmp_path / "rows.json").write_text(json.dumps(ROWS), encoding="utf-8")
    (tmp_path / "words.json").write_text('["a","b"]', encoding="utf-8")
    pq.write_table(need("pyarrow", "").Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    for path in (tmp_path / "rows.json", tmp_path / "rows.parquet"):
        frame = analysis.compare(path, formats=["gcf"], seconds=0)
        assert frame["input"].tolist() == [path.name]
        assert frame["bytes"].tolist() == [len(gcf.dumps(ROWS))]
    # A file is one input, also if it has a list of texts.
    assert set(analysis.compare(tmp_path / "words.json", seconds=0)["kind"]) == {"value"}
    every = analysis.compare(tmp_path / "*.json", formats=["gcf"], seconds=0)
    assert [Path(name).name for name in every["input"]] == ["rows.json", "words.json"]
    assert analysis.compare(tmp_path, formats=["gcf"], seconds=0)["input"].nunique() == 3
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        analysis.compare(tmp_path / "nowhere.json")
    with pytest.raises(CompactWireError, match="no file matches"):
        analysis.compare(tmp_path / "*.png")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(CompactWireError, match=r"bad\.parquet: "):
        analysis.compare(tmp_path / "bad.parquet")


def test_the_name_of_a_file_is_not_measured_as_a_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(ROWS), encoding="utf-8")
    for value in (str(path), ["a text", str(path)]):
        with pytest.raises(CompactWireError, match=r"name of a file: pass pathlib\.Path\("):
            analysis.compare(value, seconds=0)
    with pytest.raises(CompactWireError, match=r"name of a folder: pass pathlib\.Path\("):
        analysis.compare(str(tmp_path), seconds=0)
    assert set(measured(Response(str(path)))["kind"]) == {"response"}
    assert set(measured(str(path) + "x")["kind"]) == {"response"}


def test_a_frame_is_one_value_and_a_column_of_texts_is_messages() -> None:
    pandas, pyarrow = need("pandas", ""), need("pyarrow", "")
    for table in (pandas.DataFrame(ROWS), pyarrow.Table.from_pylist(ROWS)):
        frame = measured(table)
        assert set(frame["kind"]) == {"value"}
        assert frame.loc["gcf", "bytes"] == len(gcf.dumps(ROWS))
    texts = ["one", None, "two"]
    for column in (pandas.Series(texts), pyarrow.array(texts), pyarrow.chunked_array([texts])):
        assert measured(column)["input"].unique().tolist() == ["message 1", "message 2"]
    assert set(measured(pandas.DataFrame())["kind"]) == {"value"}
    with pytest.raises(CompactWireError, match=r"\$\[1\]\.x"):
        measured(pyarrow.table({"x": [1.0, float("nan")]}))


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
    ("a.json", '{"a":\n1 2}', "line 2 column 3"),
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
