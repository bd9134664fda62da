"""`compare`: rows, ratios, round trips, options and timings."""

from __future__ import annotations

import io
import itertools
import json
import math
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis, cad, gcf
from compactwire.analysis import timing
from compactwire.analysis.extra import need
from compactwire.analysis.measured import same
from tests.strategies.analysis import ANSWERS, PLATE, ROWS, measured, nested, payload

pa, pd = need("pyarrow", ""), need("pandas", "")

PROTOCOL = ["verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary"]


def test_a_response_has_a_row_for_every_format_of_the_protocol() -> None:
    response = cw.Response(ANSWERS[0], model="C45", tokens=9)
    frame = measured(response)
    assert list(frame.index) == ["json", "json-pretty", *PROTOCOL]
    assert frame["round_trip"].all()
    for name in PROTOCOL:
        wire = cw.encode(response, format=name)  # type: ignore[arg-type]
        assert frame.loc[name, "bytes"] == len(wire.encode())
        assert frame.loc[name, "tokens"] == analysis.count_tokens(wire)


def test_ratios_are_against_compact_and_indented_json() -> None:
    frame = measured(ROWS)
    compact = json.dumps(ROWS, separators=(",", ":"))
    text = gcf.dumps(ROWS)
    assert frame.loc["json", "bytes"] == len(compact)
    assert frame.loc["json-pretty", "bytes"] == len(json.dumps(ROWS, indent=2))
    row = frame.loc["gcf"]
    assert row["bytes_vs_json"] == len(text) / len(compact)
    assert row["tokens_vs_json"] == analysis.count_tokens(text) / analysis.count_tokens(compact)
    assert row["bytes_vs_pretty"] < row["bytes_vs_json"] < 1


def test_documents_and_graphs_have_their_own_formats() -> None:
    document = measured(cad.from_compact(PLATE))
    assert document.loc["cad-0.1", "tokens_vs_json"] < 0.3
    assert document["round_trip"].all()
    graph = measured(payload())
    assert list(graph.index) == ["json", "json-pretty", "gcf", "gcb"]
    assert graph["round_trip"].all()
    assert graph["tokens"].isna().tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -0.0, 1.5, 2**63 - 1, [], {}, [[]], [{}], {"": ""}, "", "\n", "a|b", [None]],
    ids=repr,
)
def test_tiny_inputs_are_measured(value: Any) -> None:
    frame = measured(value)
    assert frame.loc[frame["reader"] == "model", "round_trip"].all()
    assert analysis.plot(frame.reset_index()).axes


def test_a_lossy_round_trip_is_reported() -> None:
    cut = analysis.Candidate("cut", lambda value: json.dumps(value[:-1]), json.loads)
    broken = analysis.Candidate("broken", lambda _: "{", json.loads)
    rounded = analysis.Candidate("rounded", lambda value: str(int(value[0])), lambda _: [True])
    frame = measured([1, 2], formats=[cut, broken, rounded])
    assert not frame["round_trip"].any()
    assert frame.loc["cut", "note"] == "decoded value differs"
    assert frame.loc["broken", "note"].startswith("cannot be read back: ")
    assert frame.loc["rounded", "note"] == "decoded value differs"
    with pytest.raises(ValueError, match="returns this input unchanged"):
        analysis.recommend([1, 2], formats=[cut], seconds=0)


def test_a_format_that_cannot_carry_the_input_has_a_row_with_the_reason() -> None:
    frame = measured(nested(300))
    assert frame.loc["gcf", "note"].startswith("cannot carry it: ")
    assert not frame.loc["gcf", "round_trip"]
    assert frame.loc["json", "round_trip"]
    frame = measured(cw.Response("x", reasoning_effort="high"))
    assert frame.loc["verbose", "round_trip"]
    assert frame.loc["zstd", "note"] == "decoded value differs"


def test_numbers_are_compared_by_value_and_bool_is_not_a_number() -> None:
    assert same([1, {"a": 2.0}], [1.0, {"a": 2}])
    assert not same([1], [True])
    assert not same({"a": 1}, {"b": 1})
    assert not same([1, 2], [1])
    assert not same([], {})


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (object(), TypeError, "inputs of type object cannot be compared"),
        (b"x", TypeError, "inputs of type bytes cannot be compared"),
        ({1, 2}, TypeError, "inputs of type set cannot be compared"),
        ({"a": {1}}, cw.GcfError, r"set is not a JSON type.*\$\.a"),
        ({1: "a"}, cw.GcfError, "keys must be str"),
        ([math.nan], cw.GcfError, "NaN"),
        ([0, analysis.Corpus({})], cw.GcfError, "Corpus is not a JSON type"),
        (analysis.Corpus({}), ValueError, "the corpus is empty"),
        (nested(200_000), ValueError, "nested too deep"),
        ([cw.Response("x"), {"a": 1}], TypeError, "item 0 is a Response, but others are not"),
    ],
    ids=[
        "object",
        "bytes",
        "set",
        "set within",
        "number as key",
        "nan",
        "corpus within",
        "no inputs",
        "deep",
        "mixture",
    ],
)
def test_invalid_input_is_an_error_that_names_the_valid_types(
    value: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        measured(value)


@pytest.mark.parametrize(
    "call",
    [
        lambda value: analysis.compare(value, seconds=0),
        lambda value: analysis.compare(analysis.Corpus({"one": value}), seconds=0),
        lambda value: analysis.recommend(value, "tokens", seconds=0),
        lambda value: analysis.compare_sessions([{"args": value}]),
    ],
    ids=["compare", "corpus", "recommend", "compare_sessions"],
)
def test_an_error_names_the_function_whose_options_convert_a_value(call: Any) -> None:
    value = {"when": [date(2026, 11, 22)]}
    with pytest.raises(cw.UnsupportedValue) as caught:
        call(value)
    assert 'types="common" or default= of gcf.dumps, and pass' in str(caught.value)
    assert (caught.value.code, caught.value.path[-8:]) == ("unsupported_type", ".when[0]")
    call(gcf.loads(gcf.dumps(value, types="common")))


@pytest.mark.parametrize("first", [1, 1 << 64, [[[0]]]])
@pytest.mark.parametrize("rest", [{1: 2, "1": 3}, {True: 1}, date(2026, 11, 22), "\ud800"])
def test_a_value_that_json_would_change_is_an_error_behind_any_other(first: Any, rest: Any) -> None:
    for _ in range(130 if isinstance(first, list) else 0):
        first = [first]  # Deeper than GCF is written.
    with pytest.raises(cw.UnsupportedValue) as caught:
        analysis.compare({"a": first, "b": rest}, seconds=0)
    assert caught.value.path.startswith("$.b")


def test_options_are_checked_before_measuring() -> None:
    with pytest.raises(ValueError, match="unknown format 'dsl' for value; expected base85, "):
        measured([1], formats=["dsl"])
    with pytest.raises(ValueError, match="formats is empty"):
        measured([1], formats=[])
    with pytest.raises(TypeError, match=r"such as \['gcf'\]"):
        measured([1], formats="gcf")
    with pytest.raises(TypeError, match="not int"):
        measured([1], formats=[3])
    with pytest.raises(ValueError, match="duplicate format 'gcf'"):
        measured([1], formats=["json", "gcf", "gcf"])
    for seconds in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match="must be 0 or more"):
            analysis.compare([1], seconds=seconds)


def test_a_candidate_is_checked_when_it_is_made() -> None:
    wrong: list[tuple[Any, type[Exception], str]] = [
        ((5, str, str), TypeError, "name must be a str, not int"),
        (("mine", 5, str), TypeError, "encode must be a function, not int"),
        (("mine", str, None), TypeError, "decode must be a function, not NoneType"),
        (("mine", str, str, 5), TypeError, "reader must be a str, not int"),
        (
            ("mine", str, str, "people"),
            cw.OptionError,
            "must be 'model' or 'program', not 'people'",
        ),
    ]
    for fields, error, message in wrong:
        with pytest.raises(error, match=message):
            analysis.Candidate(*fields)


def test_a_candidate_that_returns_no_text_is_reported() -> None:
    length: Any = len
    frame = measured([1], formats=["json", analysis.Candidate("mine", length, str)])
    assert frame.loc["mine", "note"] == "cannot carry it: encode must return str or bytes, not int"


def test_the_names_of_a_corpus_are_texts() -> None:
    inputs: Any = {5: "text"}
    with pytest.raises(TypeError, match="each name of inputs must be a str, not int"):
        analysis.Corpus(inputs)


def test_a_list_of_messages_is_several_inputs_and_any_other_list_is_one() -> None:
    messages = [cw.Response("one"), "two", "three"]
    assert measured(messages)["input"].unique().tolist() == ["message 1", "message 2", "message 3"]
    assert measured([payload(), payload()])["input"].unique().tolist() == ["graph 1", "graph 2"]
    assert set(measured(["one", 2])["input"]) == {"value"}
    assert set(measured(["one", 2])["kind"]) == {"value"}


def test_a_custom_tokenizer_is_used() -> None:
    frame = analysis.compare("one two", tokenizer=lambda text: len(text.split()), seconds=0)
    assert frame.set_index("format").loc["dsl", "tokens"] == 2
    assert analysis.compare("x", seconds=0).attrs["tokenizer"] == "o200k_base"


def test_times_are_medians_within_their_quartiles() -> None:
    frame = analysis.compare(ROWS, formats=["json", "gcf"], seconds=0.004)
    for way in ("encode", "decode"):
        middle = frame[f"{way}_seconds"]
        assert (frame[f"{way}_seconds_low"] <= middle).all()
        assert (middle <= frame[f"{way}_seconds_high"]).all()
        assert (middle > 0).all()


def test_timed_calls_alternate() -> None:
    calls: list[str] = []
    works = [lambda name=name: calls.append(name) for name in "ab"]
    timing.interleave(works, rounds=4, seconds=0)
    changes = sum(one != other for one, other in itertools.pairwise(calls))
    assert changes >= 8


class Clock:
    """A clock that advances by a millisecond at each look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


def test_all_inputs_share_one_budget_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("time.perf_counter", clock)
    untimed = analysis.compare(["text"] * 300, formats=["dsl"], seconds=0)
    assert untimed["encode_seconds"].isna().all()
    before = clock.now
    frame = analysis.compare(["text"] * 300, formats=["dsl"], seconds=0.2)
    # Measuring the sizes looks at the clock a few times for each format of an input.
    assert clock.now - before < 0.2 + 300 * 0.01
    timed = frame["encode_seconds"].notna()
    assert timed.iloc[0]
    assert not timed.iloc[-1]


def test_the_first_input_is_timed_whatever_the_budget() -> None:
    frame = analysis.compare(["one", "two"], formats=["dsl"], seconds=1e-9)
    assert frame["encode_seconds"].notna().tolist() == [True, False]
    advice = analysis.recommend(["one", "two"], "latency", formats=["dsl"], seconds=1e-9)
    assert advice.figures[0].seconds > 0


def test_a_price_is_that_of_the_tokens() -> None:
    frame = measured("The answer is 42.", formats=["dsl", "json"], price=2.5)
    assert frame["price"].tolist() == [count * 2.5e-6 for count in frame["tokens"]]
    assert "price" not in measured("x")
    with pytest.raises(TypeError, match="price must be a number, not str"):
        measured("x", price="3")


def test_bytes_and_tokens_are_printed_first() -> None:
    shown = repr(analysis.compare("The answer is 42.", seconds=0)).splitlines()[0]
    assert re.match(r"\s+format\s+bytes\s+tokens\s", shown)


def test_an_input_that_takes_longer_than_what_is_left_is_not_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # No time passes, so that the budget is left on a busy machine, too.
    monkeypatch.setattr(timing, "spend", lambda works, seconds: [timing.Timing(0.0, 0.0, 0.0)])
    budget = timing.Budget(0.02, 3)
    assert budget.spend([lambda: None], 1e-6)
    assert budget.spend([lambda: None], 10.0) is None
    assert budget.spend([lambda: None], 1e-6)


def test_columns_and_batches_are_compared_as_their_rows(tmp_path: Path) -> None:
    texts = ["a", None, "bb"]
    expected = analysis.compare(["a", "bb"], formats=["dsl"], seconds=0)
    column = pa.array(texts)
    for value in (
        column,
        pd.Series(texts),
        [column.slice(0, 1), column.slice(1)],
        next(analysis.batches(column)),
        list(analysis.batches(column)),
        analysis.batches(column, rows=1),
    ):
        found = analysis.compare(value, formats=["dsl"], seconds=0)
        pd.testing.assert_frame_equal(found, expected)
    lines = tmp_path / "rows.jsonl"
    lines.write_text('{"a":1}\n{"a":2}\n', encoding="utf-8")
    rows = [{"a": 1}, {"a": 2}]
    expected = analysis.compare(rows, formats=["gcf"], seconds=0)
    for value in (pa.Table.from_pylist(rows), analysis.batches(lines), map(pd.DataFrame, [rows])):
        found = analysis.compare(value, formats=["gcf"], seconds=0)
        pd.testing.assert_frame_equal(found, expected)


def test_rows_that_cannot_be_compared_are_an_error(tmp_path: Path) -> None:
    lines = tmp_path / "rows.jsonl"
    lines.write_text('1\n{"a":\n', encoding="utf-8")
    for value, message in (
        (pa.array([None], pa.string()), "there is no text"),
        (pa.array([b"x", b"\xff"]), "^row 1 cannot be read: UnicodeDecodeError"),
        (analysis.batches(lines, rows=1), "^item 1: row 0 cannot be read: JSONDecodeError"),
        ([pa.array(["a"]), pa.table({"a": [1]})], "some items have texts"),
    ):
        with pytest.raises(cw.CompactWireError, match=message):
            analysis.compare(value, seconds=0)


def test_a_list_of_folders_and_patterns_is_that_of_their_files(tmp_path: Path) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in files:
        file.write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    expected = analysis.compare(files, seconds=0)
    for paths in ([tmp_path], [tmp_path / "*.jsonl"]):
        assert analysis.compare(paths, seconds=0).equals(expected)


def test_a_column_of_nulls_is_one_of_texts() -> None:
    nulls = pa.nulls(2)
    alone = analysis.compare([pa.array(["a"])], seconds=0)
    assert analysis.compare([pa.array(["a"]), nulls], seconds=0).equals(alone)
    table = pa.table({"text": nulls})
    assert analysis.measure(table, column="text", formats=["dsl"]).num_rows == 0


def test_columns_among_other_items_are_an_error() -> None:
    for items, place in (([pa.array(["a"]), "b"], 1), (["b", pa.array(["a"])], 0)):
        with pytest.raises(TypeError, match=f"item {place}: expected a column, frame or batch"):
            analysis.compare(items, seconds=0)


def test_a_pattern_of_files_is_not_measured_as_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n", encoding="utf-8")
    for value in (str(tmp_path / "*.csv"), [str(tmp_path / "*.csv"), "a"]):
        with pytest.raises(cw.OptionError, match=r"is a pattern of files: pass pathlib\.Path"):
            analysis.compare(value, seconds=0)
    monkeypatch.chdir(tmp_path)
    for text in ("*", "**really?**", "b*.csv"):
        assert analysis.compare(text, formats=["dsl"], seconds=0)["round_trip"].all()


def test_seconds_must_be_a_number() -> None:
    seconds: Any = "x"
    with pytest.raises(TypeError, match="seconds must be a number, not str"):
        analysis.compare("hi", seconds=seconds)


@pytest.mark.parametrize("progress", [None, True])
def test_a_closed_standard_error_shows_no_progress(
    progress: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    values = {"one": [{"a": 1}], "two": [{"a": 2}]}
    options: dict[str, Any] = {"formats": ["json"], "seconds": 0, "tokenizer": len}
    found = analysis.compare(analysis.Corpus(values), progress=progress, **options)
    assert len(found) == 2
