"""`plot`: bars, baselines, ranges, and refused tables."""

from __future__ import annotations

import io
from typing import Any

import pytest

from compactwire import analysis
from tests.strategies.analysis import ANSWERS


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


def test_a_name_is_not_read_as_a_formula() -> None:
    corpus = analysis.Corpus({r"$\frac{$": [1], "$x$": [2]})
    figure = analysis.plot(analysis.compare(corpus, formats=["json"], seconds=0))
    figure.savefig(io.BytesIO())


def test_a_figure_of_many_inputs_shows_the_median_and_the_range() -> None:
    frame = analysis.compare(ANSWERS[:7], seconds=0)
    figure = analysis.plot(frame, against="pretty")
    medians = frame.groupby("format", sort=False)["bytes_vs_pretty"].median().tolist()
    assert [bar.get_width() for bar in figure.axes[0].patches] == medians
    assert "7 inputs" in figure.legends[0].get_texts()[-1].get_text()


def test_a_figure_of_a_conversation_has_one_point_per_turn() -> None:
    frame = analysis.compare_sessions([{"role": "user", "content": "x"}])
    figure = analysis.plot(frame)
    assert [axis.get_ylim()[0] for axis in figure.axes] == [0, 0]
    assert len(figure.axes[0].lines) == 3


def test_a_figure_has_a_notebook_representation() -> None:
    figure: Any = analysis.plot(analysis.compare("x", seconds=0))
    assert figure._repr_png_().startswith(b"\x89PNG")
    with io.BytesIO() as file:
        figure.savefig(file, format="svg")


def test_plot_refuses_other_tables() -> None:
    frame = analysis.compare("x", seconds=0)
    with pytest.raises(ValueError, match="no rows"):
        analysis.plot(frame[frame["bytes"] < 0])
    with pytest.raises(ValueError, match="no column 'reader'"):
        analysis.plot(frame.drop(columns="reader"))
    with pytest.raises(TypeError, match="frame must be a DataFrame that compare"):
        analysis.plot(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown baseline 'xml'"):
        analysis.plot(frame, against="xml")  # type: ignore[arg-type]
