"""The analysis says what is so: counted, read back, and against its own interest where it must."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import itertools
import json
import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from benches import conversations
from compactwire import analysis, cad, gcf
from compactwire.analysis import timing
from compactwire.analysis.extra import need
from compactwire.analysis.measure import same
from data.samples import load

PLATE = "C 50 30 5\nY 3 10\nT 1 10 15 0\nD 0 2\nY 3 10\nT 4 40 15 0\nD 3 5"
ANSWERS = [sample.text for sample in load() if sample.held_out and len(sample.text) > 500]
ROWS = [{"id": n, "name": f"part {n}", "price": n / 4, "open": n % 3 == 0} for n in range(60)]
PROTOCOL = ["verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary"]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def payload() -> gcf.Payload:
    symbols = [gcf.Symbol(f"pkg.f{n}", "function", 0.5, "lsp_resolved", 0) for n in range(9)]
    return gcf.Payload("t", 1, 2, "", symbols, [gcf.Edge("pkg.f1", "pkg.f2", "calls")])


def measured(value: Any, **options: Any) -> Any:
    frame = analysis.compare(value, seconds=0, **options)
    return frame.set_index("format") if frame["input"].nunique() == 1 else frame


# -- tokens ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_tokens_are_those_of_the_tokenizer(encoding: str) -> None:
    encoder = need("bpe_openai", "").get_encoding(encoding)
    for text in ["", " ", "Köln 🤖 <|endoftext|>", *ANSWERS[:20]]:
        assert analysis.count_tokens(text, encoding) == len(encoder.encode_ordinary(text))


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(ANSWERS)[:190_000],
        json.dumps([{"id": n, "x": "it's 'quoted'"} for n in range(5000)], separators=(",", ":")),
        "word  \n\n" * 20_000,
        "don't stop; " * 12_000,
    ],
    ids=["prose", "json", "spaces", "contractions"],
)
def test_a_text_counted_in_pieces_has_as_many_tokens_as_the_whole(text: str) -> None:
    assert len(text) > 100_000
    whole = len(need("bpe_openai", "").get_encoding("o200k_base").encode_ordinary(text))
    assert analysis.count_tokens(text) == whole


def test_a_text_of_more_tokens_than_the_tokenizer_takes_is_counted() -> None:
    noise = cw.encode_base85(random.Random(1).randbytes(600_000))
    assert len(noise) / 2 < analysis.count_tokens(noise) < len(noise)
    assert analysis.count_tokens("語" * 120_000) > 0


def test_an_unknown_tokenizer_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"'o300k'; there are .*o200k_base"):
        analysis.count_tokens("x", "o300k")
    with pytest.raises(TypeError, match="str, not of bytes"):
        analysis.count_tokens(b"x")  # type: ignore[arg-type]


# -- what is missing ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("bpe_openai", "analysis.count_tokens('x')"),
        ("pandas", "analysis.compare('x')"),
        ("pandas", "analysis.compare_sessions([{'role': 'user', 'content': 'x'}])"),
        ("matplotlib", "analysis.plot(analysis.compare('x', seconds=0))"),
    ],
)
def test_without_the_extra_the_error_names_it(module: str, call: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None\nfrom compactwire import analysis\n{call}"
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False
    )
    assert child.stderr.splitlines()[-1].startswith("ImportError: compactwire.analysis needs ")
    assert "pip install 'compactwire[analysis]'" in child.stderr.splitlines()[-1]


def test_importing_the_analysis_loads_nothing_of_the_extra() -> None:
    code = "import sys, compactwire.analysis as _\n"
    code += "print({'pandas', 'matplotlib', 'bpe_openai'} & {*sys.modules})"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert child.stdout == "set()\n"


# -- compare --------------------------------------------------------------------------------------


def test_a_response_has_a_row_for_every_format_of_the_protocol() -> None:
    response = cw.Response(ANSWERS[0], model="C45", tokens=9)
    frame = measured(response)
    assert list(frame.index) == ["json", "json-pretty", *PROTOCOL]
    assert frame["round_trip"].all()
    for name in PROTOCOL:
        wire = cw.encode(response, format=name)  # type: ignore[arg-type]
        assert frame.loc[name, "bytes"] == len(wire.encode())
        assert frame.loc[name, "tokens"] == analysis.count_tokens(wire)


def test_ratios_are_against_json_without_spaces_and_with_them() -> None:
    frame = measured(ROWS)
    compact = json.dumps(ROWS, separators=(",", ":"))
    text = gcf.dumps(ROWS)
    assert frame.loc["json", "bytes"] == len(compact)
    assert frame.loc["json-pretty", "bytes"] == len(json.dumps(ROWS, indent=2))
    row = frame.loc["gcf"]
    assert row["bytes_vs_json"] == len(text) / len(compact)
    assert row["tokens_vs_json"] == analysis.count_tokens(text) / analysis.count_tokens(compact)
    assert row["bytes_vs_pretty"] < row["bytes_vs_json"] < 1


def test_a_document_and_a_graph_have_formats_of_their_own() -> None:
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
def test_the_smallest_inputs_are_measured_like_all_others(value: Any) -> None:
    frame = measured(value)
    assert frame.loc[frame["reader"] == "model", "round_trip"].all()
    assert analysis.plot(frame.reset_index()).axes


def test_a_round_trip_that_loses_something_is_said_to_lose_it() -> None:
    cut = analysis.Candidate("cut", lambda value: json.dumps(value[:-1]), json.loads)
    broken = analysis.Candidate("broken", lambda _: "{", json.loads)
    rounded = analysis.Candidate("rounded", lambda value: str(int(value[0])), lambda _: [True])
    frame = measured([1, 2], formats=[cut, broken, rounded])
    assert not frame["round_trip"].any()
    assert frame.loc["cut", "note"] == "what comes back differs"
    assert frame.loc["broken", "note"].startswith("cannot be read back: ")
    assert frame.loc["rounded", "note"] == "what comes back differs"
    with pytest.raises(ValueError, match="gives this input back"):
        analysis.recommend([1, 2], formats=[cut], seconds=0)


def test_what_a_format_cannot_carry_is_a_row_that_says_why() -> None:
    frame = measured(nested(300))
    assert frame.loc["gcf", "note"].startswith("cannot carry it: ")
    assert not frame.loc["gcf", "round_trip"]
    assert frame.loc["json", "round_trip"]
    frame = measured(cw.Response("x", reasoning_effort="high"))
    assert frame.loc["verbose", "round_trip"]
    assert frame.loc["zstd", "note"] == "what comes back differs"


def test_numbers_are_compared_by_value_and_truth_is_no_number() -> None:
    assert same([1, {"a": 2.0}], [1.0, {"a": 2}])
    assert not same([1], [True])
    assert not same({"a": 1}, {"b": 1})
    assert not same([1, 2], [1])
    assert not same([], {})


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (object(), TypeError, "object is nothing to compare"),
        (b"x", TypeError, "bytes is nothing to compare"),
        ({1, 2}, TypeError, "set is nothing to compare"),
        ({"a": {1}}, cw.GcfError, r"set has no form.*\$\.a"),
        ({1: "a"}, cw.GcfError, "keys must be str"),
        ([math.nan], cw.GcfError, "NaN"),
        ([0, analysis.Corpus({})], cw.GcfError, "Corpus has no form"),
        (analysis.Corpus({}), ValueError, "the corpus is empty"),
        (
            need("pandas", "").DataFrame(),
            TypeError,
            r"DataFrame is given as what JSON has, a frame as json\.loads",
        ),
        (nested(5000), ValueError, "nested too deep"),
        ([cw.Response("x"), {"a": 1}], TypeError, "item 0 is a Response, and others are not"),
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
        "frame",
        "deep",
        "mixture",
    ],
)
def test_what_is_no_input_is_an_error_that_says_what_is(
    value: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        measured(value)


def test_options_are_checked_before_anything_is_measured() -> None:
    with pytest.raises(ValueError, match="no format 'dsl' for value; there are base85, "):
        measured([1], formats=["dsl"])
    with pytest.raises(ValueError, match="formats is empty"):
        measured([1], formats=[])
    with pytest.raises(TypeError, match=r"as in \['gcf'\]"):
        measured([1], formats="gcf")
    with pytest.raises(TypeError, match="not int"):
        measured([1], formats=[3])
    with pytest.raises(ValueError, match="format 'gcf' is named twice"):
        measured([1], formats=["json", "gcf", "gcf"])
    for seconds in (-1, math.nan):
        with pytest.raises(ValueError, match="at least 0"):
            analysis.compare([1], seconds=seconds)


def test_each_message_of_a_list_is_an_input_and_another_list_is_one() -> None:
    messages = [cw.Response("one"), "two", "three"]
    assert measured(messages)["input"].unique().tolist() == ["message 1", "message 2", "message 3"]
    assert measured([payload(), payload()])["input"].unique().tolist() == ["graph 1", "graph 2"]
    assert set(measured(["one", 2])["input"]) == {"value"}
    assert set(measured(["one", 2])["kind"]) == {"value"}


def test_a_tokenizer_of_ones_own_counts() -> None:
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


def test_works_take_turns() -> None:
    calls: list[str] = []
    works = [lambda name=name: calls.append(name) for name in "ab"]
    timing.interleave(works, rounds=4, seconds=0)
    changes = sum(one != other for one, other in itertools.pairwise(calls))
    assert changes >= 8


# -- plot -----------------------------------------------------------------------------------------


def bars(figure: Any) -> list[Any]:
    return [patch for axis in figure.axes for patch in axis.patches]


def test_a_figure_has_bars_from_zero_and_a_baseline() -> None:
    frame = analysis.compare(ANSWERS[0], seconds=0.001)
    figure = analysis.plot(frame, title="An answer")
    assert len(figure.axes) == 3
    assert all(axis.get_xlim()[0] == 0 for axis in figure.axes)
    assert all(bar.get_x() == 0 for bar in bars(figure))
    lengths = [bar.get_width() for bar in figure.axes[1].patches]
    assert lengths == frame["tokens_vs_json"].tolist()
    for axis in figure.axes[:2]:
        assert [line.get_xdata() for line in axis.lines if line.get_linestyle() == "--"] == [[1, 1]]


def test_a_figure_of_many_inputs_shows_the_median_and_the_range() -> None:
    frame = analysis.compare(ANSWERS[:7], seconds=0)
    figure = analysis.plot(frame, against="pretty")
    medians = frame.groupby("format", sort=False)["bytes_vs_pretty"].median().tolist()
    assert [bar.get_width() for bar in figure.axes[0].patches] == medians
    assert "7 inputs" in figure.legends[0].get_texts()[-1].get_text()


def test_a_figure_of_a_conversation_is_drawn_by_turn() -> None:
    frame = analysis.compare_sessions([{"role": "user", "content": "x"}])
    figure = analysis.plot(frame)
    assert [axis.get_ylim()[0] for axis in figure.axes] == [0, 0]
    assert len(figure.axes[0].lines) == 3


def test_a_notebook_shows_a_figure_by_itself() -> None:
    figure: Any = analysis.plot(analysis.compare("x", seconds=0))
    assert figure._repr_png_().startswith(b"\x89PNG")
    with io.BytesIO() as file:
        figure.savefig(file, format="svg")


def test_what_is_no_table_of_ours_cannot_be_drawn() -> None:
    frame = analysis.compare("x", seconds=0)
    with pytest.raises(ValueError, match="no rows"):
        analysis.plot(frame[frame["bytes"] < 0])
    with pytest.raises(ValueError, match="no column 'reader'"):
        analysis.plot(frame.drop(columns="reader"))
    with pytest.raises(TypeError, match="a NoneType is no frame"):
        analysis.plot(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no baseline 'xml'"):
        analysis.plot(frame, against="xml")  # type: ignore[arg-type]


# -- the truth that hurts, and advice --------------------------------------------------------------


def test_compressed_text_is_fewer_bytes_and_more_tokens() -> None:
    totals = measured(ANSWERS[:40], formats=["dsl", "zstd", "base85"]).groupby("format").sum()
    assert totals.loc["zstd", "bytes"] < 0.75 * totals.loc["dsl", "bytes"]
    assert totals.loc["zstd", "tokens"] > 1.5 * totals.loc["dsl", "tokens"]
    assert totals.loc["base85", "tokens"] > 2.5 * totals.loc["dsl", "tokens"]


def test_the_advice_for_tokens_is_never_a_text_that_no_model_can_read() -> None:
    again = "The build is green.\n" * 400
    counted = measured(again)["tokens"]
    assert counted["zstd"] < counted["dsl"], "an input that tempts"
    for value in (again, ROWS, nested(40), ANSWERS[0], cad.from_compact(PLATE), payload()):
        advice = analysis.recommend(value, "tokens", seconds=0)
        best = next(row for row in advice.figures if row.format == advice.format)
        assert best.reader == "model"
        assert all(best.tokens <= row.tokens for row in advice.figures if row.reader == "model")


def test_the_advice_depends_on_the_purpose() -> None:
    assert analysis.recommend(ANSWERS[0], "tokens", seconds=0).format == "dsl"
    assert analysis.recommend(ANSWERS[0], "bytes", seconds=0).format == "dictionary"
    assert analysis.recommend(ROWS, seconds=0).format == "gcf"
    assert analysis.recommend(nested(40), seconds=0).format == "json"
    assert "Nothing beats it here: gcf" in analysis.recommend(nested(40), seconds=0).why
    assert analysis.recommend(cad.from_compact(PLATE), seconds=0).format == "cad-0.1"
    assert analysis.recommend(cad.from_compact(PLATE), "bytes", seconds=0).format == "cad-binary"
    slow = analysis.Candidate(
        "slow", lambda value: [json.dumps(value) for _ in range(99)].pop(), json.loads
    )
    quick = analysis.recommend(ROWS, "latency", formats=["gcf", slow], seconds=0.005)
    assert quick.format == "gcf"


def test_advice_shows_its_figures_and_cannot_be_changed() -> None:
    advice = analysis.recommend(ANSWERS[0], "tokens", seconds=0.001)
    text = repr(advice)
    assert text.startswith("Recommendation for tokens: dsl\n")
    assert "no model can read it" in text
    assert len(advice.frame) == len(advice.figures) == 9
    assert {row.format for row in advice.figures} == set(advice.frame["format"])
    with pytest.raises(AttributeError):
        advice.format = "zstd"  # type: ignore[misc]
    assert hash(advice) == hash(advice)


def test_advice_that_cannot_be_given_says_why() -> None:
    with pytest.raises(ValueError, match="no purpose 'speed': it is one of tokens, bytes, latency"):
        analysis.recommend("x", "speed")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="latency needs times"):
        analysis.recommend("x", "latency", seconds=0)


# -- sessions -------------------------------------------------------------------------------------


def test_a_conversation_is_measured_as_its_frames_are() -> None:
    turns = conversations.load("chat").turns
    requests = [
        {"tool": turn.tools, "system": turn.system, "args": turn.args, "context": turn.context}
        for turn in turns
    ]
    frame = analysis.compare_sessions(requests)
    assert len(frame) == 3 * len(turns)
    assert frame["round_trip"].all()
    session = cw.Session()
    sent = [session.encode_request(**request) for request in requests]
    ours = frame[frame["format"] == "session"]
    assert ours["bytes"].tolist() == [sum(len(text.encode()) for text in frames) for frames in sent]
    assert ours["total_bytes"].tolist()[-1] == ours["bytes"].sum()
    assert (ours["encode_seconds_low"] <= ours["encode_seconds_high"]).all()


def test_messages_make_a_request_for_each_answer() -> None:
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who wrote Solaris?"},
        {"role": "assistant", "content": "Lem.", "tool_calls": [{"id": 1}]},
        {"role": "tool", "content": [{"type": "text", "text": "found"}]},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "Thanks."},
    ]
    frame = analysis.compare_sessions(talk, tools=[{"name": "search"}])
    assert frame["turn"].max() == 3
    assert frame["round_trip"].all()
    ours = frame[frame["format"] == "session"]["bytes"].tolist()
    theirs = frame[frame["format"] == "json"]["bytes"].tolist()
    assert theirs == sorted(theirs)
    assert ours[-1] < theirs[-1]


@pytest.mark.parametrize(
    ("conversation", "error", "message"),
    [
        ([], ValueError, "the conversation is empty"),
        (["hello"], TypeError, "item 0 is a str, not a message"),
        ([{"text": "x"}], ValueError, "item 0 has 'text'"),
        ([{"role": "user", "content": "x"}, {"args": 1}], ValueError, "item 0 has 'role'"),
        (None, TypeError, "a NoneType is no list of messages"),
        ([{"tool": 3}], TypeError, "'tool' of item 0 is a int, not a definition"),
        ([{"tool": ["search"]}], TypeError, "'tool' of item 0 has a str: a definition is a dict"),
    ],
    ids=repr,
)
def test_what_is_no_conversation_is_an_error(
    conversation: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        analysis.compare_sessions(conversation)


# -- corpora and progress -------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match="nothing to read"):
        analysis.read_corpus(tmp_path)
    (tmp_path / "bad.json").write_bytes(b'{"a":')
    with pytest.raises(ValueError, match=r"bad\.json: Expecting value"):
        analysis.read_corpus(tmp_path)
    (tmp_path / "bad.json").write_bytes(b"[" * 100_000)
    with pytest.raises(ValueError, match=r"bad\.json"):
        analysis.read_corpus(tmp_path)
    with pytest.raises(ValueError, match="limit is at least 1"):
        analysis.read_corpus(tmp_path, limit=0)


def test_a_bar_is_shown_to_those_who_watch_and_cleaned_away() -> None:
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        measured(ANSWERS[:4], formats=["dsl"])
        assert stream.getvalue() == ""
        measured(ANSWERS[:4], formats=["dsl"], progress=True)
    assert "] 3 of 4 " in stream.getvalue()
    assert stream.getvalue().endswith(" \r")


@pytest.mark.parametrize(
    "module", ["", ".advice", ".candidates", ".comparison", ".corpus", ".tokens", ".turns"]
)
def test_the_examples_of_the_docstrings_give_what_they_show(module: str) -> None:
    result = doctest.testmod(importlib.import_module("compactwire.analysis" + module))
    assert result.attempted >= 1
    assert result.failed == 0


def test_what_does_not_carry_every_input_is_named_in_the_advice() -> None:
    corpus = analysis.Corpus(
        {"large": {"x": 2**70}, "rows": [{"id": n, "n": "a"} for n in range(50)]}
    )
    advice = analysis.recommend(corpus, "tokens", seconds=0)
    assert advice.format == "json"
    assert "Left out, for not all inputs come back in them: gcf (1 of 2)" in advice.why
    with pytest.raises(ValueError, match="no format that a model reads"):
        analysis.recommend({"a": 1}, "tokens", formats=["zstd"], seconds=0)


def test_lines_of_jsonl_end_at_line_feeds_only(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"t":"x\u2028y\x85"}\n{"t":1}\n', encoding="utf-8")
    assert analysis.read_corpus(tmp_path)["a.jsonl"] == [{"t": "x\u2028y\x85"}, {"t": 1}]


def test_a_tokenizer_that_needs_more_is_an_error_in_one_line() -> None:
    with pytest.raises(ValueError, match="bpe-openai cannot count as 'p50k_base'"):
        analysis.count_tokens("x", "p50k_base")
