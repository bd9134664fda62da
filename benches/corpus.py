"""Measures the files of a folder in every format: `python -m benches --corpus DIR`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compactwire import analysis

from .report import seconds, table

COLUMNS = ["reader", "inputs", "bytes", "of JSON", "tokens", "of JSON", "write", "read"]


def page(folder: str, *, quick: bool) -> str:
    """Render the figures of each format for the files of a folder, by kind of input."""
    corpus = analysis.read_corpus(folder)
    frame = analysis.compare(corpus, seconds=0.1 if quick else 20)
    parts = [f"# {folder}", f"{len(corpus)} files; tokens are those of {frame.attrs['tokenizer']}."]
    for kind, rows in frame.groupby("kind", sort=False):
        parts += [f"## {kind}", table(["format", *COLUMNS], list(lines(rows)), text_columns=2)]
    failed = frame[~frame["round_trip"]]
    parts += [f"- {row.format} of {row.input}: {row.note}" for row in failed.itertuples()]
    return "\n\n".join(parts) + "\n"


def lines(rows: Any) -> Iterator[list[str]]:
    """Add up the figures of each format over the inputs that it returns unchanged."""
    for name, all_of_it in rows.groupby("format", sort=False):
        found = all_of_it[all_of_it["round_trip"]]
        if found.empty:
            continue
        # The share is of the JSON of the same inputs.
        base = {
            unit: (found[unit].astype(float) / found[f"{unit}_vs_json"]).sum()
            for unit in ("bytes", "tokens")
        }
        sizes = [f"{int(found['bytes'].sum()):,}", f"{found['bytes'].sum() / base['bytes']:.0%}"]
        counted = ["-", "-"]
        if not found["tokens"].isna().any():
            total = int(found["tokens"].sum())
            counted = [f"{total:,}", f"{total / base['tokens']:.0%}"]
        times = [seconds(float(found[f"{way}_seconds"].median())) for way in ("encode", "decode")]
        yield [str(name), found["reader"].iloc[0], str(len(found)), *sizes, *counted, *times]
