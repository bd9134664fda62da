"""The token estimate, against its independent reference and against a tokenizer."""

from __future__ import annotations

from statistics import median

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
