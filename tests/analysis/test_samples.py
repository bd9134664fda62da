"""`sample`, `merge_samples`: the same sample, and the same dictionary, from any partitioning."""

from __future__ import annotations

import random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import analysis
from compactwire.analysis import samples
from compactwire.analysis.extra import need

pa = need("pyarrow", "")
SHORT = st.lists(st.text(st.sampled_from("abcé語"), max_size=4) | st.none(), max_size=60)


def column(texts: list[str | None]) -> Any:
    return pa.array(texts, pa.string())


def texts(table: Any) -> list[str]:
    found: list[str] = table["text"].to_pylist()
    return found


@given(SHORT, st.integers(1, 30), st.none() | st.integers(1, 80), st.randoms(use_true_random=False))
def test_any_partitioning_in_any_order_gives_an_equal_sample(
    given_texts: list[str | None], k: int, max_bytes: int | None, chance: random.Random
) -> None:
    whole = analysis.sample(column(given_texts), k, max_bytes=max_bytes)
    shuffled = chance.sample(given_texts, len(given_texts))
    cuts = sorted(chance.choices(range(len(shuffled) + 1), k=5))
    parts = [
        analysis.sample(column(shuffled[start:end]), k, max_bytes=max_bytes)
        for start, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)
    ]
    assert analysis.merge_samples(parts, k, max_bytes=max_bytes).equals(whole)
    first = analysis.merge_samples(parts[:2], k, max_bytes=max_bytes)
    assert analysis.merge_samples([*parts[2:], first], k, max_bytes=max_bytes).equals(whole)


def test_a_sample_is_of_distinct_texts_and_depends_on_the_seed() -> None:
    many = column([f"text {n % 100}" for n in range(1000)])
    found = [texts(analysis.sample(many, 20, seed=seed)) for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    assert len(set(found[0])) == 20
    assert texts(analysis.sample(many, 5)) == found[0][:5]


def test_a_sample_ends_where_its_bytes_are_reached() -> None:
    many = column([f"{n:03}" for n in range(500)])
    assert len(texts(analysis.sample(many, 500, max_bytes=30))) == 10
    assert len(texts(analysis.sample(many, 500, max_bytes=31))) == 11


@pytest.mark.parametrize("limit", [2**63, 10**5000], ids=["64 bits", "5000 digits"])
def test_a_limit_beyond_what_can_exist_is_none(limit: int) -> None:
    whole = analysis.sample(column(["a", "b"]), limit, max_bytes=limit)
    assert sorted(texts(whole)) == ["a", "b"]
    assert analysis.merge_samples([whole], limit, max_bytes=limit).equals(whole)


@pytest.mark.parametrize("limits", [{"k": 1 << 62, "max_bytes": 100_000}, {"k": 4_000}])
def test_the_cost_of_a_sample_is_linear(
    limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def counted(keys: Any) -> list[Any]:
        sizes.append(len(keys))
        return sorted(keys)

    monkeypatch.setattr(samples, "sorted", counted, raising=False)
    many = [f"text {n}" for n in range(10_000)]
    batches = [column([*many[start : start + 50]]) for start in range(0, len(many), 50)]
    analysis.sample(batches, limits["k"], max_bytes=limits.get("max_bytes"))
    assert sizes
    assert sum(sizes) <= 4 * len(many)


def test_samples_of_different_seeds_do_not_merge() -> None:
    parts = [analysis.sample(column(["a", "b"]), 5, seed=seed) for seed in (0, 7)]
    with pytest.raises(cw.CompactWireError, match="with seed=0 and seed=7"):
        analysis.merge_samples(parts, 5)
    merged = analysis.merge_samples(parts[1:], 5)
    with pytest.raises(cw.CompactWireError, match="with seed=0 and seed=7"):
        analysis.merge_samples([merged, parts[0]], 5)
    unknown = parts[0].replace_schema_metadata(None)
    assert texts(analysis.merge_samples([unknown, parts[0]], 5)) == texts(parts[0])


def test_samples_with_and_without_held_out_texts_do_not_merge() -> None:
    parts = [analysis.sample(column(["a", "b"]), 5, hold_out=out) for out in (True, False)]
    with pytest.raises(cw.CompactWireError, match="with hold_out=False and hold_out=True"):
        analysis.merge_samples(parts, 5)


def test_hold_out_is_a_bool_because_samples_are_compared_by_it() -> None:
    with pytest.raises(TypeError, match="hold_out must be a bool, not int"):
        analysis.sample(column(["a"]), 5, hold_out=cast("Any", 1))


@pytest.mark.parametrize(
    ("taken", "wanted", "message"),
    [
        ({"k": 3}, {"k": 5}, "with k=3, and may lack texts of one with k=5"),
        (
            {"k": 9, "max_bytes": 10},
            {"k": 9, "max_bytes": 20},
            "max_bytes=10, and may lack texts of one with max_bytes=20",
        ),
        (
            {"k": 9, "max_bytes": 10},
            {"k": 9},
            "max_bytes=10, and may lack texts of one with max_bytes=None",
        ),
    ],
)
def test_a_sample_that_may_lack_texts_does_not_merge(
    taken: dict[str, int], wanted: dict[str, int], message: str
) -> None:
    small = analysis.sample(column([f"text {n}" for n in range(50)]), **taken)
    with pytest.raises(cw.CompactWireError, match=message):
        analysis.merge_samples([small], **wanted)
    # All of its texts are in it.
    assert texts(analysis.merge_samples([analysis.sample(column(["a"]), **taken)], **wanted))
    assert analysis.merge_samples([small], **taken).equals(small)


def test_a_text_is_held_out_or_in_the_sample() -> None:
    many = [f"text {n}" for n in range(2000)]
    batches = analysis.held_out(column([*many]))
    out = [text for batch in batches for text in batch["text"].to_pylist()]
    assert 130 < len(out) < 280
    assert {*texts(analysis.sample(column([*many]), 2000))} == {*many} - {*out}
    assert len(texts(analysis.sample(column([*many]), 2000, hold_out=False))) == 2000


def test_one_dictionary_from_one_part_and_from_eight() -> None:
    many: list[str | None] = [
        f"Sensor {n} reports {n * 7 % 50} degrees in hall {n % 9}.\n" * 3 for n in range(1200)
    ]
    whole = analysis.sample(column(many), 600)
    parts = [analysis.sample(column(many[n::8]), 600) for n in (3, 1, 7, 0, 2, 6, 5, 4)]
    merged = analysis.merge_samples(parts, 600)
    made = [
        cw.Dictionary.train(texts(one), size=2000, time=0).to_bytes() for one in (whole, merged)
    ]
    assert made[0] == made[1]


def test_a_table_or_value_that_is_no_sample_is_an_error() -> None:
    no_tables: list[Any] = [["a"]]
    with pytest.raises(ValueError, match=r"no column 'key': pass results of sample\(\)"):
        analysis.merge_samples([pa.table({"text": ["a"]})], 5)
    found = analysis.sample(column(["a", "b"]), 2)
    key, text = found["key"], found["text"]
    for table, message in [
        ({"key": key, "text": [1, 2]}, "the column 'text' has the type int64, not string"),
        ({"key": ["a", "b"], "text": text}, "the column 'key' has the type string, not binary"),
        ({"key": [b"a", b"b"], "text": text}, "row 0 of the sample 0 has no key of 16 bytes"),
        ({"key": key, "text": ["a", None]}, "row 1 of the sample 0 has no key"),
    ]:
        with pytest.raises(cw.CompactWireError, match=message):
            analysis.merge_samples([pa.table(table)], 5)
    with pytest.raises(cw.CompactWireError, match="two columns 'key'"):
        analysis.merge_samples([pa.Table.from_arrays([key, key, text], ["key", "key", "text"])], 5)
    for damaged in ("", "[]", '{"seed": "a", "hold_out": true, "k": 1, "max_bytes": null}'):
        table = found.replace_schema_metadata({"compactwire.sample": damaged})
        with pytest.raises(cw.CompactWireError, match=r"compactwire\.sample.* is damaged"):
            analysis.merge_samples([table], 5)
    no_list: Any = None
    with pytest.raises(TypeError, match="tables must be an iterable of tables of Arrow"):
        analysis.merge_samples(no_list, 5)
    with pytest.raises(TypeError, match=r"that sample\(\) returned, not ChunkedArray"):
        analysis.merge_samples([text], 5)
    with pytest.raises(TypeError, match=r"that sample\(\) returned, not list"):
        analysis.merge_samples(no_tables, 5)
    with pytest.raises(TypeError, match="tables must be a list of tables"):
        analysis.merge_samples(analysis.merge_samples([], 5), 5)
