"""`shrink` chooses the smallest form and loses nothing."""

from __future__ import annotations

import copy
import json
import pickle
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from data import hostile
from data.shapes import values
from tests.strategies.gcf import values as gcf_values

ROWS = [{"id": i, "state": "open", "kind": "task"} for i in range(20)]


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_rows_become_a_table() -> None:
    shrunk = cw.shrink(json.dumps(ROWS, indent=2))
    assert shrunk.format == "gcf"
    assert shrunk.text == cw.gcf.dumps(ROWS, constant_columns=True)
    assert shrunk.tokens_before == cw.estimate_tokens(json.dumps(ROWS, indent=2))
    assert shrunk.tokens_after == cw.estimate_tokens(shrunk.text)
    assert shrunk.saved == shrunk.tokens_before - shrunk.tokens_after
    assert not shrunk.exact
    assert shrunk.reason == ""
    assert cw.expand(shrunk) == cw.expand(shrunk.text) == ROWS


def test_a_value_is_compared_with_its_compact_json() -> None:
    shrunk = cw.shrink({"a": "é", "b": [1.5, None, True]})
    assert (shrunk.text, shrunk.format) == ('{"a":"é","b":[1.5,null,true]}', "json")
    assert shrunk.reason == "no-gain"
    assert cw.shrink(ROWS).text == cw.gcf.dumps(ROWS, constant_columns=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello", "not-json"),
        ("", "not-json"),
        ("  12", "not-json"),
        ('"text"', "not-json"),
        ("[1,]", "not-json"),
        ('{"a":1}\n{"a":2}', "not-json"),
        ('{"a":1,"a":1}', "not-json"),
        ('["\\ud800"]', "not-json"),
        ('["\ud800"]', "not-json"),
        ("\ufeff[1]", "not-json"),
        ("[NaN]", "not-json"),
        (cw.gcf.dumps(ROWS), "not-json"),
        ("[" * 200 + "]" * 200, "depth"),
        ("[" * 100_000, "depth"),
        ("[1" + " " * (4 << 20) + "]", "size"),
        ("[1e999]", "number"),
        ("[0.10000000000000000555]", "number"),
        ("[9223372036854775808]", "number"),
        ("[ " + "1" * 4301 + " ]", "number"),
        ("[1]", "no-gain"),
    ],
)
def test_a_text_that_cannot_be_shortened_is_returned_itself(text: str, reason: str) -> None:
    shrunk = cw.shrink(text)
    assert shrunk.text is text
    assert (shrunk.format, shrunk.reason, shrunk.saved) == ("text", reason, 0)
    assert cw.expand(shrunk) is text


def test_numbers_keep_their_spelling_in_json() -> None:
    text = '{ "a": [ 1.10, 1E2, -0, 0.10000000000000000555, 12345678901234567890 ] }'
    assert cw.shrink(text).text == text.replace(" ", "")


@pytest.mark.parametrize("spelling", ["1.10", "1e2", "-0.0", "1.50E+1"])
def test_numbers_with_the_same_decimal_value_may_become_gcf(spelling: str) -> None:
    text = compact(ROWS).replace('"id":7', f'"id":{spelling}')
    shrunk = cw.shrink(text)
    assert shrunk.format == "gcf"
    assert cw.expand(shrunk) == json.loads(text)


def test_formats_are_chosen_by_name() -> None:
    text = json.dumps(ROWS)
    assert cw.shrink(text, formats=["json"]).text == compact(ROWS)
    assert cw.shrink(text, formats=("gcf",)).format == "gcf"
    assert cw.shrink(text, formats=()).text is text


TAGGED = [{"id": i, "tags": ["bug", f"area-{i % 4}"], "state": "open"} for i in range(20)]
MATRIX = {"points": [[i, i * i] for i in range(20)], "rows": ROWS}


@pytest.mark.parametrize(("value", "mark"), [(TAGGED, "tags[]"), (MATRIX, "{[2]}")])
def test_extensions_are_a_choice(value: Any, mark: str) -> None:
    shrunk = cw.shrink(value)
    assert mark in shrunk.text
    assert cw.expand(shrunk) == cw.expand(shrunk.text) == value
    plain = cw.shrink(value, extensions=False)
    assert shrunk.tokens_after < plain.tokens_after
    assert cw.expand(plain) == value
    if plain.format == "gcf":
        assert cw.gcf.loads(plain.text) == value


@pytest.mark.parametrize(
    "cells",
    [("part", "", ""), ("name", "open", ""), ("größe", "café", "naïve"), ("#", "~", '"')],
    ids="".join,
)
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_texts_in_arrays_are_not_longer_for_a_tokenizer(encoding: str, cells: Any) -> None:
    # GCF saves next to nothing on them.
    tokenizer = pytest.importorskip("bpe_openai").get_encoding(encoding)
    rows = [[f"{cells[0]} {i}", *cells] for i in range(30)]
    for value in ([list(cells)] * 30, {"values": rows}, [*cells] * 30, {"names": [*cells] * 30}):
        text = compact(value)
        counts = [len(tokenizer.encode_ordinary(one)) for one in (cw.shrink(text).text, text)]
        assert counts[0] <= counts[1]


@pytest.mark.parametrize(
    "value",
    [
        [None] * 60,
        ["USD", "EUR", "GBP"] * 10,
        ["GET", "POST", "PUT", "GET"] * 10,
        {"hourly": {"gust": [None, 12, None] * 16, "snow": [None] * 48}},
        {"range": "A1:C20", "values": [[None, 12, None]] * 20},
        [[True, None] * 4] * 20,
        {f"key{i}": "ko" for i in range(30)},
        {"k0": ["ok"] * 40, "k1": ["ok"] * 40},
        [["~ab"], ["~7"], ["~name"], ["~a"]] * 6,
        # Words that are more tokens after a certain mark.
        [{"id": i, "t": ["Virginia"] * 6} for i in range(20)],
        {f"k{i}": {"t": ["Nieuws"] * 6} for i in range(20)},
        [{"id": i, "t": [{"name": "报告"}] * 8} for i in range(8)],
        [{"a": f"'static{i}"} for i in range(40)],
        # A key that GCF repeats for each of its members.
        [{"id": i, "αναφορά": {f"k{j}": j for j in range(30)}} for i in range(2)],
    ],
    ids=lambda value: compact(value)[:30],
)
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_a_word_that_is_repeated_is_not_longer_for_a_tokenizer(encoding: str, value: Any) -> None:
    # Its cost may be far from the mean of words of its length.
    tokenizer = pytest.importorskip("bpe_openai").get_encoding(encoding)
    counts = [
        len(tokenizer.encode_ordinary(text)) for text in (str(cw.shrink(value)), compact(value))
    ]
    assert counts[0] <= counts[1]


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_texts_whose_escapes_become_characters_are_not_longer(encoding: str) -> None:
    tokenizer = pytest.importorskip("bpe_openai").get_encoding(encoding)
    escaped = json.dumps({f"k{i}": ["책"] * 4 for i in range(15)}, separators=(",", ":"))
    slashes = compact({f"k{i}": ["Wrld/Wrld/Wrld"] * 3 for i in range(40)}).replace("/", "\\/")
    for text in (escaped, slashes):
        counts = [len(tokenizer.encode_ordinary(one)) for one in (str(cw.shrink(text)), text)]
        assert counts[0] <= counts[1]


def test_rows_of_texts_become_a_matrix_where_a_tokenizer_counts_less() -> None:
    value = {"rows": [[f"part{i}", f"shelf{i}"] for i in range(20)]}
    assert cw.shrink(value).format == "json"
    counted = cw.shrink(value, tokenizer=lambda text: len(text.split('"')))
    assert "{[2]}" in counted.text
    assert cw.expand(counted) == value


def test_extensions_are_only_used_where_they_save() -> None:
    assert cw.shrink(ROWS) == cw.shrink(ROWS, extensions=False)


def test_margins_apply_to_gcf_only() -> None:
    text = compact(ROWS)
    saved = cw.shrink(text).saved
    assert cw.shrink(text, min_tokens=saved).format == "gcf"
    assert cw.shrink(text, min_tokens=saved + 1).format == "text"
    assert cw.shrink(text, min_saving=1.0).format == "text"
    assert cw.shrink(json.dumps(ROWS), min_tokens=10**6, min_saving=1).text == text


def test_a_tokenizer_counts_exactly() -> None:
    tokenizer = pytest.importorskip("bpe_openai").get_encoding("o200k_base")
    named = cw.shrink(ROWS, tokenizer="o200k_base")
    assert named.exact
    assert named.tokens_after == len(tokenizer.encode_ordinary(named.text))
    assert cw.shrink(ROWS, tokenizer=lambda text: len(tokenizer.encode_ordinary(text))) == named


def test_errors_of_a_tokenizer_are_raised() -> None:
    def broken(text: str) -> int:
        raise RuntimeError(text[:3])

    with pytest.raises(RuntimeError, match="hel"):
        cw.shrink("hello", tokenizer=broken)
    for result in (1.5, None, True):
        with pytest.raises(TypeError, match="tokenizer must return an int"):
            cw.shrink("hello", tokenizer=lambda _text, result=result: result)
    for count in (-1, 2**63):
        with pytest.raises(cw.EncodeError, match="tokenizer: it must return an int from 0"):
            cw.shrink("hello", tokenizer=lambda _text, count=count: count)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"formats": ["xml"]}, "formats"),
        ({"tokenizer": "none"}, "tokenizer"),
        ({"min_saving": 1.5}, "min_saving"),
        ({"min_saving": float("nan")}, "min_saving"),
        ({"min_saving": 10**400}, "min_saving"),
        ({"max_depth": 0}, "max_depth"),
        ({"types": "all"}, "types"),
    ],
)
def test_an_unknown_option_names_what_is_allowed(options: Any, option: str) -> None:
    with pytest.raises(cw.OptionError, match=option) as raised:
        cw.shrink([1], **options)
    assert raised.value.option == option


@pytest.mark.parametrize("options", [{"formats": "json"}, {"tokenizer": 3}, {"formats": [1]}])
def test_an_option_of_the_wrong_type_is_a_type_error(options: Any) -> None:
    with pytest.raises(TypeError):
        cw.shrink([1], **options)


def test_a_result_is_a_value() -> None:
    shrunk = cw.shrink(ROWS)
    assert pickle.loads(pickle.dumps(shrunk)) == copy.deepcopy(shrunk) == shrunk
    assert hash(shrunk) == hash(cw.shrink(ROWS))
    assert shrunk != cw.shrink(ROWS[1:])
    assert str(shrunk) == shrunk.text
    assert repr(shrunk).startswith("<Shrunk gcf: about ")


@pytest.mark.parametrize("text", ["hello", "", "[1,]", "[1] 2"])
def test_text_that_is_neither_gcf_nor_json_is_not_expanded(text: str) -> None:
    with pytest.raises(cw.InvalidFormat, match="neither GCF nor JSON"):
        cw.expand(text)


def test_an_invalid_gcf_text_is_an_error_with_its_place() -> None:
    with pytest.raises(cw.GcfError, match="line 2"):
        cw.expand("GCF profile=generic\n## [2]{a}\n1\n")


@pytest.mark.parametrize(
    ("space", "problem"),
    [
        ("\n", "the line is empty"),
        (" \r\n ", "the line is empty"),
        ("  ", "remove the white space"),
    ],
)
def test_white_space_before_gcf_is_named(space: str, problem: str) -> None:
    text = cw.shrink(ROWS).text
    assert text.startswith("GCF ")
    with pytest.raises(cw.GcfError, match=f"expected GCF as the first word; {problem}"):
        cw.expand(space + text)


@given(gcf_values, st.sampled_from([None, 2]), st.booleans(), st.booleans())
def test_any_value_comes_back(
    value: Any, indent: int | None, ensure_ascii: bool, extensions: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ensure_ascii)
    options = {"extensions": extensions, "min_tokens": 0, "min_saving": 0.0}
    shrunk = cw.shrink(text, **options)
    assert shrunk.tokens_after <= shrunk.tokens_before
    found = json.loads(text) if shrunk.format == "text" else cw.expand(shrunk)
    assert same(found, value)
    if shrunk.format == "gcf":
        assert same(cw.gcf.loads(shrunk.text, extensions=extensions), value)
    assert cw.shrink(shrunk.text, **options).text == shrunk.text


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, `1` and `1.0` but not `1` and `True`."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_results_are_never_longer_for_a_tokenizer(encoding: str) -> None:
    tokenizer = pytest.importorskip("bpe_openai").get_encoding(encoding)

    def count(text: str) -> int:
        return len(tokenizer.encode_ordinary(text))

    for held_out in (False, True):
        for shape, value in values(200, seed=5, held_out=held_out):
            text = compact(value)
            exact = cw.shrink(text, tokenizer=count)
            assert exact.tokens_after == count(exact.text) <= count(text), shape
            estimated = cw.shrink(text)
            assert count(estimated.text) <= count(text), (shape, text)
            for shrunk in (exact, estimated):
                found = json.loads(text) if shrunk.format == "text" else cw.expand(shrunk)
                assert same(found, value)


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_cells_of_punctuation_are_never_longer_for_a_tokenizer(encoding: str) -> None:
    # `python -m benches.shrink 100000` shrinks more of them.
    tokenizer = pytest.importorskip("bpe_openai").get_encoding(encoding)

    def count(text: str) -> int:
        return len(tokenizer.encode_ordinary(text))

    for text in [compact([["---", "a"], ["---", "b"]] * 12), *hostile.texts(3000, seed=5)]:
        shrunk = cw.shrink(text)
        assert count(shrunk.text) <= count(text), text
        found = json.loads(text) if shrunk.format == "text" else cw.expand(shrunk)
        assert same(found, json.loads(text))


def test_a_shrunk_is_taken_where_its_text_is_meant() -> None:
    shrunk = cw.shrink([{"id": n, "state": "open"} for n in range(20)])
    assert cw.shrink(shrunk) == shrunk
    assert cw.shrink(shrunk, formats=[]) == shrunk
    assert cw.decode(cw.encode(shrunk)).result == shrunk.text
    assert cw.expand(cw.shrink({"found": shrunk}))["found"] == shrunk.text
    assert f"Tasks:\n{shrunk}" == f"Tasks:\n{shrunk.text}"


class Word(str, Enum):  # noqa: UP042 -- `str()` of a StrEnum is its text
    FIRST = "prose"
    HALF = "\ud800"


@pytest.mark.parametrize("word", Word)
def test_the_text_of_a_subclass_of_str_is_its_characters(word: Word) -> None:
    shrunk = cw.shrink(word)
    assert type(shrunk.text) is str
    assert f"{shrunk}" == str(shrunk.text) == word.value


@pytest.mark.parametrize("value", ["[1]", [1]])
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"types": "all"}, cw.OptionError),
        ({"default": 1}, TypeError),
        ({"formats": None}, TypeError),
        ({"tokenizer": None}, TypeError),
    ],
)
def test_options_are_checked_for_texts_and_values(
    value: object, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=next(iter(options))):
        cw.shrink(value, **options)
