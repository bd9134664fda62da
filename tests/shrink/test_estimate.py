"""The token estimate, against its independent reference and against a tokenizer."""

from __future__ import annotations

from random import Random
from statistics import median
from string import punctuation

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import compactwire as cw
from data.samples import load
from data.shapes import values
from data.tokens import Prices, forms

PRICES = Prices.of_table()

texts = st.text(st.sampled_from("aZ09 \t\n\r\x0b|,{}\"':/~é中🙂й\x00"), max_size=40) | st.text()


@given(texts)
@example('{"name":"Ana"}\n')
@example('"\x00')
@example("x" * 60 + " " * 60 + "|" * 60)
def test_the_reference_estimates_the_same(text: str) -> None:
    assert cw.estimate_tokens(text) == PRICES.estimate(text)


def test_the_reference_estimates_the_same_for_the_samples() -> None:
    for sample in load()[::20]:
        assert cw.estimate_tokens(sample.text) == PRICES.estimate(sample.text)


def test_a_text_with_a_lone_surrogate_is_estimated() -> None:
    assert cw.estimate_tokens("a\ud800") >= 1


MARKS = [
    *(mark * count for mark in punctuation for count in (1, 2, 7, 16, 63, 200)),
    *(part * count for part in ('"",', "[],", "{},", "-=", ">'}", "|~") for count in (1, 5, 40)),
    *("".join(Random(seed).choices(punctuation, k=1 + seed % 40)) for seed in range(400)),
]


@pytest.mark.parametrize("text", [*MARKS, *(" " * count for count in (1, 24, 25, 79, 128))])
def test_punctuation_and_blanks_are_estimated_exactly(text: str) -> None:
    tokenizer = pytest.importorskip("bpe_openai").get_encoding("o200k_base")
    assert cw.estimate_tokens(text) == len(tokenizer.encode_ordinary(text))


@pytest.mark.parametrize("mark", ["-", "*", "?", "\n", "\t", " ", '"",'])
def test_long_runs_are_estimated_as_a_tokenizer_counts_them(mark: str) -> None:
    tokenizer = pytest.importorskip("bpe_openai").get_encoding("o200k_base")
    tokens = len(tokenizer.encode_ordinary(mark * 1000))
    assert tokens <= cw.estimate_tokens(mark * 1000) <= 1.1 * tokens + 1


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_json_and_gcf_are_estimated_as_a_tokenizer_counts_them(encoding: str) -> None:
    tokenizer = pytest.importorskip("bpe_openai").get_encoding(encoding)
    ratios = sorted(
        cw.estimate_tokens(text) / len(tokenizer.encode_ordinary(text))
        for held_out in (False, True)
        for shape, value in values(150, seed=3, held_out=held_out)
        # Outside ASCII, a token of cl100k_base has fewer characters.
        if shape not in ("languages", "documents")
        for text in forms(value)
    )
    assert 0.95 <= median(ratios) <= 1.05
    assert ratios[len(ratios) // 20] >= 0.85
    assert ratios[-len(ratios) // 20] <= 1.12


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_a_form_is_only_taken_if_it_is_smaller_by_the_bounds_of_the_reference(
    encoding: str,
) -> None:
    taken = 0
    for shape, value in values(300, seed=4, held_out=True):
        for text in forms(value)[1:3]:
            shrunk = cw.shrink(text, min_saving=0, min_tokens=0)
            if shrunk.format != "text":
                taken += 1
                assert PRICES.surely_exceeds(text, shrunk.text, encoding), (shape, text)
    assert taken > 300
