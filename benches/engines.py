"""What engines cost around the functions of columns: Polars, DuckDB and Dask.

    python -m benches.engines            # the rows of the page; needs the extra test-columns
    python -m benches.engines --quick    # a twentieth of the rows

In the first table, each way has one thread, starts with the column in its own memory, and ends with
the result in Arrow memory or, for Polars, in its own. The second table is a file in, a file out, in
two processes: the workers of Dask, and two plain ones that do the same. Times are processor time,
that of all processes, the minimum of several turns. Memory is the most that the work of a process
takes, input excluded (Linux).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import get_context
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import compactwire as cw
from benches.columns import arguments, resident, texts
from compactwire import arrow

TURNS = 5
FORMATS = ("dsl", "zstd")
FILES = 8
# The least rate with Dask, as a part of that of plain processes.
DASK = 0.9
ONE_THREAD = {"COMPACTWIRE_THREADS": "1", "POLARS_MAX_THREADS": "1"}
# Encodes a file; gives the bytes of memory that it took.
Work = Callable[[Path, Path, str], int]
# Does that for some files.
Pack = Callable[[Work, list[Path], list[Path], str], list[int]]


def main() -> None:
    """Print the tables."""
    args = arguments(__doc__)
    if args.child:
        run_alone(*args.child)
        return
    parts = 20 if args.quick else 1
    rows, of_file = 300_000 // parts, 320_000 // parts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"\n{rows:,} rows of 200 bytes, encoded on one thread\n")
        print(in_memory(folder, rows))
        print(f"\n{FILES} files of {of_file:,} rows of 200 bytes, encoded by two processes\n")
        print(over_files(folder, of_file))


# In memory ----------------------------------------------------------------------------------------


def loop(table: pa.Table, form: str) -> Callable[[], object]:
    """The loop over rows."""
    column = table["text"]
    return lambda: pa.array([cw.encode(cw.Response(t), format=form) for t in column.to_pylist()])


def function(table: pa.Table, form: str) -> Callable[[], object]:
    """The function of a column, without an engine."""
    return lambda: pa.chunked_array(arrow.encode(table["text"], format=form))


def polars(table: pa.Table, form: str) -> Callable[[], object]:
    """The recipe for Polars."""
    import polars as pl

    frame = pl.DataFrame(table)
    wire = pl.col("text").map_batches(
        lambda s: pl.Series(arrow.encode(s, format=form)),
        return_dtype=pl.String,
        is_elementwise=True,
    )
    return lambda: frame.select(wire=wire)


def duckdb(table: pa.Table, form: str) -> Callable[[], object]:
    """The recipe for DuckDB."""
    import duckdb

    database = duckdb.connect(config={"threads": 1})
    database.create_function(
        "cw_encode",
        lambda c: pa.chunked_array(arrow.encode(c, format=form)).combine_chunks(),
        ["VARCHAR"],
        "VARCHAR",
        type="arrow",
        null_handling="special",
    )
    database.from_arrow(table).create("texts")
    query = "select cw_encode(text) as wire from texts"
    return lambda: database.sql(query).to_arrow_table()


WAYS = {"loop": loop, "function": function, "Polars": polars, "DuckDB": duckdb}


def in_memory(folder: Path, rows: int) -> str:
    """A line for each format and way."""
    path = folder / "column.arrow"
    table = pa.table({"text": texts(200, rows)})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table, max_chunksize=65_536)
    lines = [
        "| format | way | rows per second | of the function | memory |",
        "|---|---|--:|--:|--:|",
    ]
    for form in FORMATS:
        best = dict.fromkeys(WAYS, (float("inf"), float("inf")))
        for _ in range(TURNS):
            for way in WAYS:
                command = [sys.executable, "-m", "benches.engines", "--child", path, form, way]
                found = subprocess.check_output(command, env=os.environ | ONE_THREAD).split()
                seconds, memory = map(float, found)
                best[way] = min(best[way][0], seconds), min(best[way][1], memory)
        for way, (seconds, memory) in best.items():
            part = f"{best['function'][0] / seconds:.2f}"
            cells = [form, way, f"{rows / seconds:,.0f}", part, megabytes(memory)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def run_alone(path: str, form: str, way: str) -> None:
    """Encode the column in a file; print the seconds, and the bytes of memory."""
    with pa.OSFile(path) as file:
        table = pa.ipc.open_file(file).read_all()
    rows, first = table.num_rows, table["text"][0].as_py()
    # What an engine does once comes before, and then has its own copy of the column.
    WAYS[way](table.slice(0, 1), form)()
    work = WAYS[way](table, form)
    if way in ("Polars", "DuckDB"):
        del table
    with memory() as taken:
        start = time.process_time()
        result = work()
        seconds = time.process_time() - start
    if way in ("Polars", "DuckDB"):
        result = pa.table(result)["wire"]
    assert (len(result), result[0].as_py()) == (rows, cw.encode(cw.Response(first), format=form))
    print(seconds, *taken)


@contextmanager
def memory() -> Iterator[list[int]]:
    """The most bytes that a block takes at a time are appended to the list."""
    taken: list[int] = []
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    yield taken
    taken.append(resident("VmHWM") - before)


def megabytes(size: float) -> str:
    """A number of bytes, for a cell."""
    return f"{size / 1e6:,.0f} MB"


# Over files ---------------------------------------------------------------------------------------


def encode_column(batch: pa.RecordBatch, form: str) -> pa.Array:
    """Encode the texts of a batch."""
    return pa.array(arrow.encode(batch["text"], format=form))


def encode_rows(batch: pa.RecordBatch, form: str) -> pa.Array:
    """Encode the texts of a batch, in a loop."""
    return pa.array(
        [cw.encode(cw.Response(text), format=form) for text in batch["text"].to_pylist()]
    )


SCHEMA = pa.schema({"id": pa.int64(), "wire": pa.string()})


def rewrite(source: Path, target: Path, form: str, encode: Callable[..., pa.Array]) -> int:
    """Write the messages of a file to another one; return the bytes of memory that it took."""
    with (
        memory() as taken,
        pq.ParquetFile(source) as file,
        pq.ParquetWriter(target, SCHEMA) as out,
    ):
        for batch in file.iter_batches(65_536):
            out.write_batch(pa.record_batch([batch["id"], encode(batch, form)], schema=SCHEMA))
    return taken[0]


def by_column(source: Path, target: Path, form: str) -> int:
    """Encode a file, with the function of a column."""
    return rewrite(source, target, form, encode_column)


def by_rows(source: Path, target: Path, form: str) -> int:
    """Encode a file, in a loop."""
    return rewrite(source, target, form, encode_rows)


@contextmanager
def plain_processes() -> Iterator[Pack]:
    """Two processes without an engine."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield lambda work, sources, targets, form: list(
            pool.map(work, sources, targets, [form] * len(sources))
        )


@contextmanager
def dask() -> Iterator[Pack]:
    """Two workers of Dask."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        yield lambda work, sources, targets, form: client.gather(
            client.map(work, sources, targets, form=form, pure=False)
        )


def processor_seconds() -> float:
    """The processor time of this process and of those that it started."""
    this = psutil.Process()
    return sum(sum(one.cpu_times()[:2]) for one in (this, *this.children(recursive=True)))


# The processes, and what they run.
JOBS: dict[str, tuple[Callable[[], AbstractContextManager[Pack]], Work]] = {
    "plain processes, loop": (plain_processes, by_rows),
    "plain processes": (plain_processes, by_column),
    "Dask": (dask, by_column),
}


def over_files(folder: Path, rows: int) -> str:
    """A line for each format and way."""
    sources = [folder / f"{part}.parquet" for part in range(FILES)]
    targets = [path.with_suffix(".wire") for path in sources]
    table = pa.table({"id": range(rows), "text": texts(200, rows)})
    for path in sources:
        pq.write_table(table, path, compression="zstd", row_group_size=65_536)
    os.environ |= ONE_THREAD
    best = {(form, way): (float("inf"), float("inf")) for form in FORMATS for way in JOBS}
    for way, (processes, work) in JOBS.items():
        with processes() as pack:
            for _ in range(TURNS):
                for form in FORMATS:
                    start = processor_seconds()
                    taken = max(pack(work, sources, targets, form))
                    seconds = processor_seconds() - start
                    assert sum(pq.read_metadata(path).num_rows for path in targets) == FILES * rows
                    least, most = best[form, way]
                    best[form, way] = min(least, seconds), min(most, taken)
    head = "| format | way | rows per second | of plain processes | target | memory of a process |"
    lines = [head, "|---|---|--:|--:|--:|--:|"]
    for (form, way), (seconds, taken) in best.items():
        part = best[form, "plain processes"][0] / seconds
        target = f"{DASK}: {'met' if part >= DASK else 'missed'}" if way == "Dask" else ""
        rate = f"{FILES * rows / seconds:,.0f}"
        cells = [form, way, rate, f"{part:.2f}", target, megabytes(taken)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
