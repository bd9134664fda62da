"""The recipes of `docs/scale.md` for Spark: `python -m tests.columns.spark_recipe`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession, functions

import compactwire as cw
from compactwire import analysis, arrow

TEXTS = [f"Message {n} of host {n % 13} says {n * 7 % 50}." for n in range(10_000)]
SUMMARY = "format string, what string, bin int, count long, total long"


def encoded(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield batch.append_column("wire", pa.array(arrow.encode(batch.column("text"))))


def summarized(batches: Iterator[Any]) -> Iterator[Any]:
    parts = (
        analysis.summarize(analysis.measure(batch, column="text", tokenizer=None))
        for batch in batches
    )
    yield from analysis.merge(parts).to_batches()


def decoded(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        result = pa.array(arrow.decode(batch.column("text"))).field("result")
        yield pa.record_batch([result], names=["text"])


def main() -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    frame = spark.createDataFrame(list(enumerate(TEXTS)), "id long, text string").repartition(8)
    rows = frame.mapInArrow(encoded, "id long, text string, wire string").collect()
    found = {row.text: row.wire for row in rows}
    assert found == {text: cw.encode(cw.Response(text)) for text in TEXTS}
    sums = [functions.sum(name).alias(name) for name in ("count", "total")]
    merged = frame.mapInArrow(summarized, SUMMARY).groupBy("format", "what", "bin").agg(*sums)
    table = pa.Table.from_pylist([row.asDict() for row in merged.collect()])
    whole = analysis.summarize(analysis.measure(pa.array(TEXTS), tokenizer=None))
    assert analysis.merge([table]).equals(whole)
    bad = spark.createDataFrame([("S~~",)], "text string")
    with pytest.raises(PythonException, match="InvalidBase85Char"):
        bad.mapInArrow(decoded, "text string").collect()
    spark.stop()
    print("all recipes ran")


if __name__ == "__main__":
    main()
