"""The recipes of `docs/scale.md` for Ray Data: `python -m tests.columns.ray_recipe`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import ray

import compactwire as cw
from compactwire import analysis, arrow

TEXTS = [f"Message {n} of host {n % 13} says {n * 7 % 50}." for n in range(10_000)]
PARTS = 8


def encoded(table: Any) -> Any:
    return table.append_column("wire", pa.chunked_array(arrow.encode(table["text"])))


def summarized(table: Any) -> Any:
    return analysis.summarize(analysis.measure(table, column="text", tokenizer=None))


def decoded(table: Any) -> Any:
    return table.append_column("result", pa.chunked_array(arrow.decode(table["text"])))


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    tables = [pa.table({"text": TEXTS[part::PARTS]}) for part in range(PARTS)]
    dataset = ray.data.from_arrow(tables)
    rows = dataset.map_batches(encoded, batch_format="pyarrow").take_all()
    found = {row["text"]: row["wire"] for row in rows}
    assert found == {text: cw.encode(cw.Response(text)) for text in TEXTS}
    parts = ray.get(dataset.map_batches(summarized, batch_format="pyarrow").to_arrow_refs())
    whole = analysis.summarize(analysis.measure(pa.array(TEXTS), tokenizer=None))
    assert analysis.merge(parts).equals(whole)
    bad = ray.data.from_arrow(pa.table({"text": ["S~~"]}))
    with pytest.raises(ray.exceptions.RayTaskError, match="InvalidBase85Char"):
        bad.map_batches(decoded, batch_format="pyarrow").take_all()
    print("all recipes ran")


if __name__ == "__main__":
    main()
