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
from tests.columns.recipes import PARTS, TEXTS, run, timed


def decoded(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        result = pa.array(arrow.decode(batch.column("text"))).field("result")
        yield pa.record_batch([result], names=["text"])


def main() -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    frame = spark.createDataFrame(list(enumerate(TEXTS)), "id long, text string").repartition(PARTS)
    recipe = run("Spark", df=frame, functions=functions)
    with timed("encode with Spark"):
        rows = frame.mapInArrow(recipe["encode"], "id long, text string, wire string").collect()
    found = {row.text: row.wire for row in rows}
    assert found == {text: cw.encode(cw.Response(text)) for text in TEXTS}
    merged = recipe["parts"].groupBy("format", "what", "bin").agg(*recipe["sums"])
    with timed("measure with Spark"):
        table = pa.Table.from_pylist([row.asDict() for row in merged.collect()])
    with timed("measure in one process"):
        whole = analysis.summarize(analysis.measure(pa.array(TEXTS)))
    assert analysis.merge([table]).equals(whole)
    bad = spark.createDataFrame([("S~~",)], "text string")
    with pytest.raises(PythonException, match="InvalidBase85Char"):
        bad.mapInArrow(decoded, "text string").collect()
    spark.stop()
    print("all recipes ran")


if __name__ == "__main__":
    main()
