"""`recommend`: advice follows the purpose and shows its figures."""

from __future__ import annotations

import json

import pytest

from compactwire import analysis, cad
from tests.strategies.analysis import ANSWERS, PLATE, ROWS, measured, nested, payload


def test_compressed_text_is_fewer_bytes_and_more_tokens() -> None:
    totals = measured(ANSWERS[:40], formats=["dsl", "zstd", "base85"]).groupby("format").sum()
    assert totals.loc["zstd", "bytes"] < 0.75 * totals.loc["dsl", "bytes"]
    assert totals.loc["zstd", "tokens"] > 1.5 * totals.loc["dsl", "tokens"]
    assert totals.loc["base85", "tokens"] > 2.5 * totals.loc["dsl", "tokens"]


def test_recommend_for_tokens_names_a_format_that_models_read() -> None:
    again = "The build is green.\n" * 400
    counted = measured(again)["tokens"]
    assert counted["zstd"] < counted["dsl"], "an input that tempts"
    for value in (again, ROWS, nested(40), ANSWERS[0], cad.from_compact(PLATE), payload()):
        advice = analysis.recommend(value, "tokens", seconds=0)
        best = next(row for row in advice.figures if row.format == advice.format)
        assert best.reader == "model"
        assert all(best.tokens <= row.tokens for row in advice.figures if row.reader == "model")


def test_recommend_depends_on_the_purpose() -> None:
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


def test_advice_shows_its_figures_and_is_immutable() -> None:
    advice = analysis.recommend(ANSWERS[0], "tokens", seconds=0.001)
    text = repr(advice)
    assert text.startswith("Recommendation for tokens: dsl\n")
    assert "no model can read it" in text
    assert len(advice.frame) == len(advice.figures) == 9
    assert {row.format for row in advice.figures} == set(advice.frame["format"])
    with pytest.raises(AttributeError):
        advice.format = "zstd"  # type: ignore[misc]
    assert hash(advice) == hash(advice)


def test_recommend_without_a_suitable_format_is_an_error() -> None:
    with pytest.raises(
        ValueError, match="unknown purpose 'speed'; expected one of tokens, bytes, latency"
    ):
        analysis.recommend("x", "speed")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'latency' needs times"):
        analysis.recommend("x", "latency", seconds=0)


def test_advice_names_formats_that_do_not_carry_every_input() -> None:
    corpus = analysis.Corpus(
        {"large": {"x": 2**70}, "rows": [{"id": n, "n": "a"} for n in range(50)]}
    )
    advice = analysis.recommend(corpus, "tokens", seconds=0)
    assert advice.format == "json"
    assert "Left out, because they do not return all inputs: gcf (1 of 2)" in advice.why
    with pytest.raises(ValueError, match="no format for models"):
        analysis.recommend({"a": 1}, "tokens", formats=["zstd"], seconds=0)


def test_a_notebook_shows_the_advice_as_a_table() -> None:
    odd = analysis.Candidate("<b>", json.dumps, json.loads)
    advice = analysis.recommend(ROWS, formats=["gcf", odd], seconds=0)
    html = advice._repr_html_()
    assert html.startswith("<p><b>Recommendation for tokens: gcf</b></p>")
    assert html.count("<tr>") == 3
    assert "<td>&lt;b&gt;</td>" in html
    assert f"<td>{advice.figures[0].tokens:,}</td>" in html
