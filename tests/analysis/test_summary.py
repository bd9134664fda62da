"""`summarize`, `merge`, `report`: the same figures from any partitioning."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire import analysis
from compactwire.analysis.extra import need
from compactwire.analysis.summary import bin_of, edge_of
from tests.strategies.analysis import ANSWERS

pa = need("pyarrow", "")
MOST = 2**63 - 1
SIZES = st.integers(0, 10**7)


@st.composite
def measures(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of `measure`, with failures, losses and uncounted tokens."""
    rows = []
    for number in range(draw(st.integers(0, 25))):
        error = draw(st.sampled_from([None, None, None, "GcfError", "ValueError"]))
        tokens = draw(st.none() | st.integers(0, 10**6))
        rows.append({
            "row": number, "format": draw(st.sampled_from(["json", "gcf", "mine"])),
            "bytes": None if error else draw(SIZES), "json_bytes": draw(SIZES),
            "pretty_bytes": draw(SIZES), "tokens": tokens, "json_tokens": tokens,
            "round_trip": error is None and draw(st.booleans()), "error": error,
        })  # fmt: skip
    return rows


def table(rows: list[dict[str, Any]]) -> Any:
    return pa.Table.from_pylist(rows, schema=analysis.measure([]).schema)


@given(measures(), st.randoms(use_true_random=False))
def test_any_partitioning_in_any_order_gives_an_equal_summary(
    rows: list[dict[str, Any]], chance: random.Random
) -> None:
    whole = analysis.summarize(table(rows))
    shuffled = chance.sample(rows, len(rows))
    cuts = sorted(chance.choices(range(len(rows) + 1), k=3))
    parts = [
        analysis.summarize(table(shuffled[start:end]))
        for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)
    ]
    assert analysis.merge(parts).equals(whole)
    assert analysis.merge([analysis.merge(parts[:2]), *parts[2:]]).equals(whole)
    assert analysis.merge(reversed(parts)).equals(whole)


def test_texts_in_one_part_and_in_eight_have_equal_summaries() -> None:
    texts = [text[:300] for text in ANSWERS]
    whole = analysis.summarize(analysis.measure(pa.array(texts), token_fraction=0.5))
    parts = [
        analysis.summarize(analysis.measure(pa.array(texts[n::8]), token_fraction=0.5))
        for n in range(8)
    ]
    random.Random(1).shuffle(parts)
    assert analysis.merge(parts).equals(whole)
    assert analysis.merge(iter(parts * 20)).num_rows == whole.num_rows


@given(st.integers(0, MOST))
def test_the_edge_of_a_bin_is_at_most_a_128th_too_small(number: int) -> None:
    edge = edge_of(bin_of(number))
    assert edge <= number
    assert (number - edge) * 128 <= number
    assert bin_of(edge) == bin_of(number)
    assert bin_of(number) >= bin_of(max(0, number - 1))


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=200))
def test_quantiles_are_at_most_a_128th_too_small(sizes: list[int]) -> None:
    rows = [
        {"format": "json", "bytes": size, "json_bytes": 0, "pretty_bytes": 0, "round_trip": True}
        for size in sizes
    ]
    line = analysis.report(analysis.summarize(table(rows))).iloc[0]
    for name, part in (("bytes_p05", 0.05), ("bytes_p50", 0.5), ("bytes_p95", 0.95)):
        exact = sorted(sizes)[max(0, -(-len(sizes) * round(part * 100) // 100) - 1)]
        assert exact * (1 - 1 / 128) <= line[name] <= exact


def test_a_sum_beyond_int64_is_an_overflow() -> None:
    row = {"format": "json", "bytes": 1, "json_bytes": 1, "pretty_bytes": MOST, "round_trip": True}
    whole = analysis.summarize(table([row, {**row, "pretty_bytes": 0}]))
    assert max(whole["total"].to_pylist()) == MOST
    with pytest.raises(OverflowError, match=r"a sum of total passes 2\^63 - 1"):
        analysis.summarize(table([row, {**row, "pretty_bytes": 1}]))
    with pytest.raises(OverflowError):
        analysis.merge([whole, whole])
    with pytest.raises(OverflowError):
        analysis.merge([whole] * 3)  # Wraps around to a positive number in 64 bits.
    # Each bin has a sum of its own.
    bins = [{**row, "bytes": size, "json_bytes": MOST // 2} for size in (MOST, 1)]
    with pytest.raises(OverflowError, match=r"a sum of total passes 2\^63 - 1"):
        analysis.report(analysis.summarize(table([{**one, "pretty_bytes": 1} for one in bins])))


def test_a_report_has_ratios_of_sums_failures_and_a_price() -> None:
    rows = [
        {"format": "gcf", "bytes": 30, "json_bytes": 100, "pretty_bytes": 200, "tokens": 10,
         "json_tokens": 40, "round_trip": True},
        {"format": "gcf", "bytes": 300, "json_bytes": 300, "pretty_bytes": 0, "round_trip": False},
        {"format": "gcf", "round_trip": False, "error": "GcfError"},
        {"format": "gcf", "bytes": 3, "json_bytes": 4, "round_trip": False, "error": "ValueError"},
        {"format": "gcf", "round_trip": False, "error": "GcfError"},
        {"format": "none", "round_trip": False, "error": "GcfError"},
    ]  # fmt: skip
    frame = analysis.report(analysis.summarize(table(rows)), price=5).set_index("format")
    line = frame.loc["gcf"]
    assert (line["inputs"], line["failed"], line["lossy"], line["counted"]) == (5, 3, 1, 1)
    assert line["errors"] == "GcfError: 2, ValueError: 1"
    assert (line["bytes"], line["bytes_vs_json"]) == (333, 333 / 404)
    assert (line["tokens"], line["tokens_vs_json"], line["price"]) == (10, 0.25, 5e-5)
    assert frame.loc["none", ["bytes_vs_json", "tokens", "bytes_p50"]].isna().all()


def test_an_empty_summary_has_an_empty_report() -> None:
    assert analysis.report(analysis.merge([])).empty
    assert analysis.summarize(analysis.measure([])).equals(analysis.merge([]))


def test_a_table_or_value_that_is_no_summary_is_an_error() -> None:
    no_tables: list[Any] = [5]
    with pytest.raises(ValueError, match="no column 'round_trip': pass the result of measure"):
        analysis.summarize(analysis.measure([]).drop(["round_trip"]))
    measured = analysis.measure([])
    with pytest.raises(ValueError, match="two columns 'bytes': pass the result of measure"):
        analysis.summarize(measured.append_column("bytes", measured["bytes"]))
    with pytest.raises(ValueError, match="no column 'what': pass the result of summarize"):
        analysis.report(analysis.measure([]))
    with pytest.raises(TypeError, match=r"that summarize\(\) returned, not int"):
        analysis.merge(no_tables)
    columns: Any = pa.chunked_array([["a"]])
    with pytest.raises(TypeError, match=r"that measure\(\) returned, not ChunkedArray"):
        analysis.summarize(columns)
    with pytest.raises(TypeError, match="tables must be a list of tables"):
        analysis.merge(analysis.merge([]))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([None, 1], "the column 'count' has nulls"),
        ([-1, 2], r"the column 'count' has -1; summarize\(\) makes numbers from 0 to 9"),
        ([0.5, 1.0], r"other values than those of summarize\(\)"),
        (["many", "1"], r"other values than those of summarize\(\)"),
        ([[1], [2]], r"other values than those of summarize\(\)"),
    ],
    ids=str,
)
def test_counts_that_are_no_whole_numbers_are_an_error(values: list[Any], message: str) -> None:
    columns = {"format": ["gcf"] * 2, "what": ["bytes"] * 2, "bin": [0, 1], "total": [1, 2]}
    summary = pa.table({**columns, "count": values})
    for call in (analysis.report, lambda one: analysis.merge([one])):
        with pytest.raises(cw.CompactWireError, match=message):
            call(summary)


def test_bins_that_no_number_has_are_an_error() -> None:
    columns = {"format": ["gcf"], "what": ["share"], "count": [1], "total": [0]}
    for number in (-1, 1 << 30):
        summary = pa.table({**columns, "bin": [number]})
        with pytest.raises(cw.CompactWireError, match=f"'bin' has {number}; .* from 0 to 7295$"):
            analysis.report(summary)


@pytest.mark.parametrize(
    ("name", "values"), [("bytes", ["many"]), ("bytes", [0.5]), ("round_trip", ["often"])]
)
def test_measurements_of_another_type_are_an_error(name: str, values: list[Any]) -> None:
    table = analysis.measure(pa.array(["a"]), formats=["dsl"], tokenizer=None)
    changed = table.set_column(table.column_names.index(name), name, pa.array(values))
    with pytest.raises(cw.CompactWireError, match=r"other values than those of measure\(\)"):
        analysis.summarize(changed)


def test_measurements_with_views_are_summarized() -> None:
    table = analysis.measure(pa.array(["a", None]), formats=["dsl"], tokenizer=None)
    views = table.set_column(1, "format", pa.array(table["format"].to_pylist(), pa.string_view()))
    assert analysis.summarize(views).equals(analysis.summarize(table))
