"""The recipes of `docs/scale.md` that are no examples: the tests run the text of the page."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from compactwire import analysis, arrow

TEXTS = [f"Message {n} of host {n % 13} says {n * 7 % 50}." for n in range(10_000)]
PARTS = 8
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def run(engine: str, **names: Any) -> dict[str, Any]:
    """Run the recipe for an engine, with these names defined; return the names that it defines."""
    (block,) = re.findall(r"^```text\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    _, *parts = re.split(r"^# (Spark|Ray Data):.*\n", block, flags=re.M)
    recipes = dict(zip(parts[::2], parts[1::2], strict=True))
    # The engines send functions of `__main__` to their workers by value.
    names |= {"__name__": "__main__", "pa": pa, "analysis": analysis, "arrow": arrow}
    exec(compile(recipes[engine], str(PAGE), "exec"), names)
    return names


@contextmanager
def timed(work: str) -> Iterator[None]:
    """Print the time that some work takes for all texts."""
    start = time.perf_counter()
    yield
    print(f"{work}: {len(TEXTS):,} rows in {time.perf_counter() - start:.1f} s")
