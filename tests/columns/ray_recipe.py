"""The recipes of `docs/scale.md` for Ray Data: `python -m tests.columns.ray_recipe`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import ray

import compactwire as cw
from compactwire import analysis, arrow
from tests.columns.recipes import PARTS, TEXTS, run, timed


def decoded(table: Any) -> Any:
    return table.append_column("result", pa.chunked_array(arrow.decode(table["text"])))


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    tables = [pa.table({"text": TEXTS[part::PARTS]}) for part in range(PARTS)]
    dataset = ray.data.from_arrow(tables)
    recipe = run("Ray Data", ds=dataset, ray=ray)
    with timed("encode with Ray Data"):
        rows = dataset.map_batches(recipe["encode"], batch_format="pyarrow").take_all()
    found = {row["text"]: row["wire"] for row in rows}
    assert found == {text: cw.encode(cw.Response(text)) for text in TEXTS}
    measured = dataset.map_batches(recipe["summarize"], batch_format="pyarrow")
    with timed("measure with Ray Data"):
        parts = ray.get(measured.to_arrow_refs())
    with timed("measure in one process"):
        whole = analysis.summarize(analysis.measure(pa.array(TEXTS)))
    assert analysis.merge(parts).equals(whole)
    bad = ray.data.from_arrow(pa.table({"text": ["S~~"]}))
    with pytest.raises(ray.exceptions.RayTaskError, match="InvalidBase85Char"):
        bad.map_batches(decoded, batch_format="pyarrow").take_all()
    print("all recipes ran")


if __name__ == "__main__":
    main()
