"""The tool `create_cad_compact` that a language model calls."""

from __future__ import annotations

import json
import re
import tracemalloc

import pytest

from compactwire import cad
from tests.strategies.documents import BRACKET


def test_the_tool_returns_the_document_or_the_errors() -> None:
    assert cad.create_cad_compact("S 1") == {"ok": True, "document": cad.from_compact("S 1")}
    assert cad.create_cad_compact(BRACKET, format="summary") == {
        "ok": True,
        "summary": {
            "nodes": 10,
            "roots": 1,
            "ops": {"Cube": 1, "Cylinder": 1, "Translate": 3, "Difference": 2, "Sketch2D": 1,
                    "Extrude": 1, "Union": 1},
        },
    }  # fmt: skip
    hybrid = cad.create_cad_compact("S 1", format="hybrid")["document"]
    assert hybrid["compact"] == "# vcad 0.2\nS 1"
    answer = cad.create_cad_compact("S 1\r\nsphere 2\r\nT 9 0 0 0")
    error = {"line": 2, "column": 1, "message": "unknown opcode sphere", "source": "sphere 2"}
    assert answer == {"ok": False, "error": error}
    answer = cad.create_cad_compact("S 1\nsphere 2\nT 9 0 0 0", all_errors=True)
    assert [error["line"] for error in answer["errors"]] == [2, 3]
    assert answer["errors"][0] == {**error, "suggestion": "S"}
    assert not cad.create_cad_compact("S \ud800")["ok"]
    for data in (b"S 1", b"S", None):
        with pytest.raises(TypeError, match="compact must be a str, not"):
            cad.create_cad_compact(data)  # type: ignore[arg-type]
    text = '# vcad 0.2\nEMPTY\nXF /nodes/0/op {"type":"Torus"}'
    document = cad.create_cad_compact(text)["document"]
    assert document["nodes"]["0"]["op"] == {"type": "Torus"}
    for form in ("hybrid", "summary"):
        assert cad.create_cad_compact(text, format=form)["error"] == {  # type: ignore[arg-type]
            "line": 3, "column": 1, "message": 'node 0: unknown op type "Torus"',
            "source": 'XF /nodes/0/op {"type":"Torus"}',
        }  # fmt: skip
    assert json.loads(json.dumps(cad.TOOL)) == cad.TOOL


def test_the_tool_description_has_a_valid_example_and_every_opcode() -> None:
    description = cad.TOOL["description"]
    example = description.split("two holes:\n")[1]
    assert cad.create_cad_compact(example)["ok"]
    table = set(re.findall(r"^([A-Z]+)\b", description, re.M)) | {"D", "I"}
    expected = "C Y S K U D I T R X LP CP SK L A END E V SH"
    assert table >= set(expected.split(" "))


def test_the_tool_description_is_short() -> None:
    tokenizers = pytest.importorskip("bpe_openai")
    encoding = tokenizers.get_encoding("o200k_base")
    assert len(encoding.encode_ordinary(cad.TOOL["description"])) < 600


def test_text_for_vcad_is_an_answer_or_an_error_with_a_path() -> None:
    assert cad.create_cad_compact("S 1 # ball", format="vcad") == {
        "ok": True,
        "compact": "# vcad 0.2\nS 1\nROOT 0 default",
    }
    assert cad.create_cad_compact("S 1 8", format="vcad") == {
        "ok": False,
        "error": {"path": "node 0", "message": "segments cannot be written for vcad"},
    }


def test_an_error_has_its_line_whatever_the_line_ends() -> None:
    for text in ("C 1 1 1\nx\n", "\ufeffC 1 1 1\r\nx\r\n", "\n\nx", "x"):
        answer = cad.create_cad_compact(text, all_errors=True)
        assert answer["error"]["source"] == "x"
        assert [error["source"] for error in answer["errors"]] == ["x"]
    # The last error is that of an earlier line.
    answer = cad.create_cad_compact("# vcad 0.2\nIDS 1-3\nC 1 1 1\nROOT 2 a", all_errors=True)
    assert [error["source"] for error in answer["errors"]] == ["ROOT 2 a", "IDS 1-3"]
    for text in ("# vcad 0.2 x1\nC 1 1 1\n XF /units 1\nXF /a 2", "\ufeff# vcad 0.2 x1\n XF /b 1"):
        answer = cad.create_cad_compact(text, format="summary")
        assert answer["error"]["source"].split()[0] == "XF"
        assert answer["error"]["line"] == text[: text.index("XF")].count("\n") + 1


def test_the_lines_of_a_text_are_not_held_at_once() -> None:
    text = "ab\n" * 100_000
    tracemalloc.start()
    answer = cad.create_cad_compact(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer["error"]["source"] == "ab"
    assert peak < len(text)
