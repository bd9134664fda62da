"""`count_tokens`: the counts of the tokenizer, for long texts too."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis
from compactwire.analysis.extra import need
from tests.strategies.analysis import ANSWERS


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_count_tokens_equals_the_tokenizer(encoding: str) -> None:
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
def test_counting_in_pieces_equals_counting_the_whole(text: str) -> None:
    assert len(text) > 100_000
    whole = len(need("bpe_openai", "").get_encoding("o200k_base").encode_ordinary(text))
    assert analysis.count_tokens(text) == whole


def test_a_text_beyond_the_tokenizer_limit_is_counted() -> None:
    noise = cw.encode_base85(random.Random(1).randbytes(600_000))
    assert len(noise) / 2 < analysis.count_tokens(noise) < len(noise)
    assert analysis.count_tokens("語" * 120_000) > 0


def test_an_unknown_tokenizer_error_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'o300k'; expected one of .*o200k_base"):
        analysis.count_tokens("x", "o300k")
    with pytest.raises(TypeError, match="must be a str, not bytes"):
        analysis.count_tokens(b"x")  # type: ignore[arg-type]


class Number(int):
    """An int whose methods lie."""

    def __index__(self) -> int:
        return 99

    def __le__(self, other: object) -> bool:
        return True


class Index:
    """An object that can be used as an int, but is none."""

    def __index__(self) -> int:
        return 7


def test_a_tokenizer_is_a_name_or_a_function_everywhere() -> None:
    anything: Any = analysis
    assert analysis.count_tokens("one two", tokenizer=len) == 7
    calls: list[Callable[[object], object]] = [
        lambda tokenizer: anything.count_tokens("x", tokenizer=tokenizer),
        lambda tokenizer: anything.compare([1], tokenizer=tokenizer, seconds=0),
        lambda tokenizer: anything.compare_sessions([{"role": "user"}], tokenizer=tokenizer),
        lambda tokenizer: anything.recommend([1], tokenizer=tokenizer, seconds=0),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="a str or a function from str to int, not int"):
            call(5)
        with pytest.raises(TypeError, match="tokenizer must return an int, not str"):
            call(str)
        with pytest.raises(cw.EncodeError, match=r"an int from 0 to 2\^63 - 1, not -1"):
            call(lambda _: -1)


@pytest.mark.parametrize(
    "count", [7, Number(7), True, Index(), 1.5, "7", None, -1, Number(-1), 2**63 - 1, 2**63]
)
def test_what_a_tokenizer_may_return_is_one_rule(count: Any) -> None:
    def outcome(call: Callable[[], object]) -> object:
        try:
            call()
        except (TypeError, cw.CompactWireError) as error:
            return type(error), str(error)
        return "counted"

    counted = outcome(lambda: analysis.count_tokens("x", tokenizer=lambda _: count))
    assert counted == outcome(lambda: cw.shrink("x", tokenizer=lambda _: count))


def test_a_count_is_the_number_that_the_core_reads() -> None:
    assert type(analysis.count_tokens("x", tokenizer=lambda _: Number(7))) is int


def test_a_tokenizer_with_a_missing_package_is_an_error_in_one_line() -> None:
    with pytest.raises(ValueError, match="bpe-openai cannot load 'p50k_base'"):
        analysis.count_tokens("x", "p50k_base")


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-mini-2024-07-18", "o200k_base"),
        ("gpt-4.1-nano", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("o3", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo-0125", "cl100k_base"),
        ("voyage-3-large", "voyage3_base"),
    ],
)
def test_a_model_has_the_tokens_of_its_encoding(model: str, encoding: str) -> None:
    text = "Wörter, 語 and 12345 numbers: don't() 🤖"
    assert analysis.count_tokens(text, model) == analysis.count_tokens(text, encoding)
    counts = {analysis.count_tokens(text, one) for one in ("o200k_base", "cl100k_base")}
    assert len(counts) == 2, "a text that tells the encodings apart"


def test_a_model_without_a_published_tokenizer_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match=r"'claude-opus-4' is not published: pass a function"):
        analysis.count_tokens("x", "claude-opus-4")
    for name in ("gpt-4x", "o30", "gpt-0"):
        with pytest.raises(ValueError, match=r"expected one of .*, or a model: .*gpt-4o"):
            analysis.count_tokens("x", name)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the address space")
def test_too_little_memory_for_the_tokenizer_is_an_error() -> None:
    code = """
import re, resource
from pathlib import Path
import bpe_openai
from compactwire import analysis
taken = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (taken + (64 << 20),) * 2)
try:
    analysis.count_tokens("text")
except MemoryError:
    print("MemoryError")
"""
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (child.returncode, child.stdout) == (0, b"MemoryError\n"), child.stderr
