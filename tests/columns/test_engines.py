"""The recipes for Polars, DuckDB and pandas: the values of the loop, and equal totals.

Dask has a file of its own, `test_dask.py`, because its cluster takes seconds to start.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import compactwire as cw
from compactwire import analysis, arrow, gcf
from tests.columns import needed

pa, pl, duckdb, pandas = (needed(name) for name in ("pyarrow", "polars", "duckdb", "pandas"))

TEXTS: list[str | None] = [
    None if n % 500 == 7 else f"Message {n} of host {n % 13} says {n * 7 % 50}; all is well."
    for n in range(10_000)
]
PARTS = 8


def looped() -> list[str | None]:
    return [None if text is None else cw.encode(cw.Response(text)) for text in TEXTS]


def by_polars() -> Iterable[str | None]:
    frame = pl.DataFrame({"text": TEXTS}).lazy()
    wire = pl.col("text").map_batches(
        lambda series: pl.Series(arrow.encode(series)),
        return_dtype=pl.String,
        is_elementwise=True,
    )
    found: list[str | None] = frame.with_columns(wire=wire).collect()["wire"].to_list()
    return found


def connection() -> Any:
    con = duckdb.connect()
    con.create_function(
        "cw_encode",
        lambda column: pa.chunked_array(arrow.encode(column)).combine_chunks(),
        ["VARCHAR"],
        "VARCHAR",
        type="arrow",
        null_handling="special",
    )
    return con


def by_duckdb() -> Iterable[str | None]:
    con = connection()
    con.register("texts", pa.table({"id": range(len(TEXTS)), "text": TEXTS}))
    rows = con.sql("select cw_encode(text) from texts order by id").fetchall()
    return [row[0] for row in rows]


def by_pandas() -> Iterable[str | None]:
    frame = pandas.DataFrame({"text": TEXTS}, index=range(5, 5 + len(TEXTS)))
    wire = pandas.Series.from_arrow(arrow.encode(frame["text"])).set_axis(frame.index)
    found = frame.assign(wire=wire)["wire"]
    return [None if pandas.isna(text) else text for text in found]


ENGINES: dict[str, Callable[[], Iterable[str | None]]] = {
    "Polars": by_polars,
    "DuckDB": by_duckdb,
    "pandas": by_pandas,
}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_recipe_gives_the_values_of_the_loop(engine: str) -> None:
    assert list(ENGINES[engine]()) == looped()


def test_the_class_of_an_error_is_seen_in_every_engine() -> None:
    wires: list[str] = [cw.encode(cw.Response("x"), format="zstd")] * 50
    wires[31] = "Z!"
    decode = pl.col("wire").map_batches(
        lambda series: pl.Series(arrow.decode(series)), return_dtype=pl.Struct
    )
    with pytest.raises(cw.InvalidBase85Length, match="leaves one over") as caught:
        pl.DataFrame({"wire": wires}).select(decode)
    # Polars raises another exception of the class, with its own text. The page says so.
    assert caught.value.row is None
    con = duckdb.connect()
    con.create_function(
        "cw_result",
        lambda column: pa.chunked_array(arrow.decode(column)).combine_chunks().field("result"),
        ["VARCHAR"], "VARCHAR", type="arrow", null_handling="special",
    )  # fmt: skip
    con.register("wires", pa.table({"wire": wires}))
    with pytest.raises(duckdb.InvalidInputException, match=r"InvalidBase85Length: .*leaves one"):
        con.sql("select cw_result(wire) from wires").fetchall()


def test_a_report_is_data_in_every_engine() -> None:
    wires = [cw.encode("x"), "?", None]
    names = ["result", "error", "message"]
    decode = pl.col("wire").map_batches(
        lambda series: pl.Series(arrow.decode(series, fields=["result"], errors="report")),
        return_dtype=pl.Struct(dict.fromkeys(names, pl.String)),
        is_elementwise=True,
    )
    frame = pl.LazyFrame({"wire": wires}).select(decode.struct.field("error")).collect()
    assert frame["error"].to_list() == [None, "InvalidPrefix", None]
    con = duckdb.connect()
    con.create_function(
        "cw_report",
        lambda column: pa.chunked_array(
            arrow.decode(column, fields=["result"], errors="report")
        ).combine_chunks(),
        ["VARCHAR"],
        duckdb.struct_type(dict.fromkeys(names, "VARCHAR")),
        type="arrow",
        null_handling="special",
    )
    con.register("wires", pa.table({"id": range(3), "wire": wires}))
    found = con.sql("select id, cw_report(wire).error from wires order by id").fetchall()
    assert found == [(0, None), (1, "InvalidPrefix"), (2, None)]


def parts() -> list[Any]:
    """Summaries of eight parts, in another order."""
    found = [
        analysis.summarize(analysis.measure(pa.array(TEXTS[n::PARTS]), tokenizer=None))
        for n in range(PARTS)
    ]
    random.Random(3).shuffle(found)
    return found


def test_the_totals_of_every_engine_are_those_of_the_loop() -> None:
    whole = analysis.summarize(analysis.measure(pa.array(TEXTS), tokenizer=None))
    frames = [pl.DataFrame({"text": TEXTS[n::PARTS]}) for n in range(PARTS)]
    polars = [analysis.summarize(analysis.measure(one["text"], tokenizer=None)) for one in frames]
    assert analysis.merge(polars).equals(whole)
    assert analysis.merge(parts()).equals(whole)
    column = pandas.DataFrame({"text": TEXTS})["text"]
    assert analysis.summarize(analysis.measure(column, tokenizer=None)).equals(whole)
    con = duckdb.connect()
    con.register("texts", pa.table({"text": TEXTS}))
    batches = con.sql("select text from texts").to_arrow_reader(1_000)
    found = [
        analysis.summarize(analysis.measure(batch, column="text", tokenizer=None))
        for batch in batches
    ]
    assert len(found) > 1
    assert analysis.merge(found).equals(whole)
    # What the recipes for encoding write has the same bytes, row by row and in all.
    wires = [wire for wire in looped() if wire is not None]
    assert all(wire.startswith("RES|") for wire in wires)
    sums = whole.group_by(["format", "what"]).aggregate([("count", "sum"), ("total", "sum")])
    found = {(row["format"], row["what"]): row for row in sums.to_pylist()}
    assert found["dsl", "bytes"]["total_sum"] == sum(len(wire.encode()) for wire in wires)
    assert found["dsl", "inputs"]["count_sum"] == len(wires)


def test_group_by_of_an_engine_merges_as_merge_does() -> None:
    expected = analysis.merge(parts())
    table = pa.concat_tables(parts())
    con = duckdb.connect()
    con.register("parts", table)
    by_sql = con.sql(
        'select format, what, bin, sum("count")::bigint as "count", sum(total)::bigint as total'
        " from parts group by all order by all"
    ).to_arrow_table()
    keys = ["format", "what", "bin"]
    by_frame = pl.from_arrow(table).group_by(keys).agg(pl.col("count", "total").sum()).sort(keys)
    by_pandas = table.to_pandas().groupby(keys, as_index=False).sum()
    for found in (by_sql.to_pylist(), by_frame.to_dicts(), by_pandas.to_dict("records")):
        assert found == expected.to_pylist()
    assert analysis.merge([by_frame]).equals(expected)


def test_rows_that_a_lazy_frame_would_make_are_an_error_that_says_so() -> None:
    frame = pandas.DataFrame({"text": ["a"]})
    dask = needed("dask.dataframe").from_pandas(frame, npartitions=1)
    lazy = pl.LazyFrame({"text": ["a"]})
    calls: list[tuple[Any, str]] = [
        (dask, "compute"),
        (dask["text"], "compute"),
        (lazy, "collect"),
    ]
    for source, call in calls:
        message = rf"a lazy {type(source).__name__} .* its {call}\(\)"
        with pytest.raises(TypeError, match=message):
            analysis.measure(source, tokenizer=None)
        with pytest.raises(TypeError, match=message):
            analysis.compare(source, seconds=0)


def test_values_of_pandas_without_a_common_type_are_our_error() -> None:
    frame = pandas.DataFrame({"a": [1, "x", float("nan")], "b": ["y", "y", "z"]})
    expected = r"the column .* has values of several types \(int, str\)"
    for source in (frame, frame.a):
        for call in (gcf.dumps, cw.shrink, analysis.measure):
            with pytest.raises(cw.CompactWireError, match=expected):
                call(source)
