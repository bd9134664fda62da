"""`measure`: every row in every format, as `compare` measures it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis
from compactwire.analysis.extra import need
from tests.strategies.analysis import ANSWERS, ROWS

pa = need("pyarrow", "")
TEXTS = [*ANSWERS[:5], "", "a|b\n", "Zoë 語 🤖"]


def rows(table: Any, name: str) -> list[dict[str, Any]]:
    return [row for row in table.to_pylist() if row["format"] == name]


@pytest.mark.parametrize("inputs", [TEXTS, [*ROWS[:3], [], None, 1.50, ["é"], {"a": {"b": [1]}}]])
def test_a_row_is_measured_as_compare_does(inputs: list[Any]) -> None:
    is_text = inputs is TEXTS
    texts = inputs if is_text else [json.dumps(value) for value in inputs]
    table = analysis.measure(pa.array(texts), kind="text" if is_text else "json")
    for place, value in enumerate(inputs):
        expected = analysis.compare(analysis.Corpus({"value": value}), seconds=0)
        found = table.filter(pa.compute.field("row") == place).to_pylist()
        assert [row["format"] for row in found] == expected["format"].tolist()
        for name in ("bytes", "tokens", "round_trip"):
            assert [row[name] for row in found] == expected[name].tolist(), name
        base = {one: expected.set_index("format").loc[one] for one in ("json", "json-pretty")}
        assert {row["json_bytes"] for row in found} == {base["json"]["bytes"]}
        assert {row["pretty_bytes"] for row in found} == {base["json-pretty"]["bytes"]}
        assert {row["json_tokens"] for row in found} == {base["json"]["tokens"]}


def test_rows_of_a_table_are_values() -> None:
    # JSON has one kind of number: a table's 1.0 is written 1.
    given = [{**row, "price": row["id"] + 0.5} for row in ROWS]
    table = pa.Table.from_pylist(given)
    texts = pa.array([json.dumps(row) for row in given])
    assert analysis.measure(table).equals(analysis.measure(texts, kind="json"))
    frame = need("pandas", "").DataFrame(given)
    assert analysis.measure(frame).equals(analysis.measure(texts, kind="json"))


def test_a_null_is_no_row_and_keeps_its_index() -> None:
    table = analysis.measure(pa.array(["a", None, "b"]), formats=["dsl"])
    assert [row["row"] for row in table.to_pylist()] == [0, 2]
    assert analysis.measure(pa.nulls(3)).num_rows == 0


def test_a_row_that_fails_has_the_class_of_its_error() -> None:
    texts = ['{"a":1}', '{"a":1,"a":2}', "{", '{"a":NaN}', '"\\ud800"', "9" * 30, "[" * 200_000]
    table = analysis.measure(pa.array(texts), kind="json", formats=["gcf", "zstd"], tokenizer=None)
    found = {name: [row["error"] for row in rows(table, name)] for name in ("gcf", "zstd")}
    unread = ["DuplicateKeyError", "JSONDecodeError", "ValueError", "UnicodeEncodeError"]
    assert found["gcf"] == [None, *unread, "UnsupportedValue", "RecursionError"]
    assert found["zstd"] == [None, *unread, None, "RecursionError"]
    assert [row["bytes"] is None for row in rows(table, "zstd")] == [bool(e) for e in found["zstd"]]
    for kind in (pa.binary(), pa.binary(4)):
        bad = pa.array([b"good", b"\xff\xff\xff\xff"], kind)
        errors = [row["error"] for row in rows(analysis.measure(bad), "dsl")]
        assert errors == [None, "UnicodeDecodeError"]
    table = analysis.measure(pa.table({"x": [1.0, float("nan")]}), formats=["gcf"])
    assert [row["error"] for row in table.to_pylist()] == [None, "UnsupportedValue"]


def test_a_format_of_the_caller_is_measured_row_by_row() -> None:
    cut = analysis.Candidate("cut", lambda value: value.result[:-1], cw.Response)
    broken = analysis.Candidate("broken", lambda value: 1 / 0, cw.Response)
    raw = analysis.Candidate(
        "raw", lambda value: value.result.encode(), lambda data: cw.Response(data.decode())
    )
    table = analysis.measure(pa.array(["abc"]), formats=[cut, broken, raw])
    assert table.select(["format", "bytes", "round_trip", "error"]).to_pylist() == [
        {"format": "cut", "bytes": 2, "round_trip": False, "error": None},
        {"format": "broken", "bytes": None, "round_trip": False, "error": "ZeroDivisionError"},
        {"format": "raw", "bytes": 3, "round_trip": True, "error": None},
    ]
    # What only programs read has no tokens.
    assert [row["tokens"] for row in table.to_pylist()] == [1, None, None]


def test_tokens_are_counted_of_the_same_rows_in_any_partition() -> None:
    texts = [f"text {n}" for n in range(400)]
    whole = rows(analysis.measure(pa.array(texts), formats=["dsl"], token_fraction=0.25), "dsl")
    counted = {texts[row["row"]] for row in whole if row["tokens"] is not None}
    assert 60 < len(counted) < 140
    parts = set()
    for start in range(0, 400, 70):
        part = texts[start : start + 70]
        table = analysis.measure(pa.array(part), formats=["dsl"], token_fraction=0.25)
        parts |= {part[row["row"]] for row in table.to_pylist() if row["tokens"] is not None}
    assert parts == counted
    for options in ({"token_fraction": 0.0}, {"tokenizer": None}):
        table = analysis.measure(pa.array(texts), formats=["dsl"], **options)
        assert table["tokens"].null_count == table["json_tokens"].null_count == 400


def test_every_source_gives_the_same_rows(tmp_path: Path) -> None:
    expected = analysis.measure(pa.array(TEXTS))
    pandas = need("pandas", "")
    table = pa.table({"id": range(len(TEXTS)), "text": TEXTS})
    need("pyarrow.parquet", "").write_table(table, tmp_path / "a.parquet", row_group_size=3)
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(TEXTS)]
    (tmp_path / "a.jsonl").write_text("\ufeff" + "\n\n".join(lines) + "\r\n", encoding="utf-8")
    for source in (
        pa.chunked_array([TEXTS[:2], [], TEXTS[2:]]),
        pa.array(TEXTS, pa.string_view()),
        pa.array([text.encode() for text in TEXTS]),
        pa.array(TEXTS).dictionary_encode(),
        pandas.Series(TEXTS),
        [pa.array(TEXTS[:3]), pandas.Series(TEXTS[3:])],
        analysis.batches(pa.array(TEXTS), rows=3),
    ):
        assert analysis.measure(source).equals(expected)
    for source in (table, table.to_pandas(), tmp_path / "a.parquet", str(tmp_path / "*.jsonl")):
        assert analysis.measure(source, column="text").equals(expected)


def test_options_are_checked_before_reading() -> None:
    with pytest.raises(ValueError, match="unknown format 'gcf' for response"):
        analysis.measure(pa.array(["x"]), formats=["gcf"])
    with pytest.raises(ValueError, match=r"token_fraction must be from 0 to 1, not 1\.5"):
        analysis.measure(pa.array(["x"]), token_fraction=1.5)
    with pytest.raises(ValueError, match="unknown tokenizer 'none'"):
        analysis.measure(pa.array(["x"]), tokenizer="none")
