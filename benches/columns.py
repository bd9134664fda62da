"""Functions of columns against the loop over rows, and tables as GCF against other writers.

    python -m benches.columns            # the rows of the page; needs the extra test-columns
    python -m benches.columns --quick    # a twentieth of the rows

Times are processor seconds of one thread, the minimum of several turns in which all take part. A
loop starts and ends in Arrow memory, as the function of a column does. The last table has the time
on the clock, and the memory that a process of its own takes for the call, input excluded (Linux).
"""

from __future__ import annotations

import argparse
import io
import pickle
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.csv

import compactwire as cw
from benches.report import verdict
from compactwire import arrow, gcf

TURNS = 5
# The targets: how many times faster than the loop, for rows of 200 and of 2,048 bytes.
LOOP = {
    "encode dsl": (4, 2.5),
    "decode dsl": (4, 2.5),
    "encode base85": (4, 2.5),
    "decode base85": (3, 2.5),
    "encode zstd": (1.1, 1.0),
    "decode zstd": (1.3, 1.2),
    "encode dictionary": (1.1, 1.0),
    "decode dictionary": (2, 1.9),
}
# How many times faster than other writers, for flat and nested tables. `dumps` of rows has become
# faster since its target was set.
WRITERS = {"gcf.dumps(table.to_pylist())": (8, 4), "polars write_csv": (1 / 1.2, None)}
# The memory of a call, as a multiple of its result.
MEMORY = 1.25
TEXT = """the quick brown fox jumps over a lazy dog while def parse self return value import from
server answers with tokens and results of the tool which was called before"""
WORDS = TEXT.split()


def arguments(doc: str | None) -> argparse.Namespace:
    """Parse the options of a bench whose parts run in processes of their own."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    args = arguments(__doc__)
    if args.child:
        run_alone(*args.child)
        return
    parts = 20 if args.quick else 1
    for place, (size, rows) in enumerate(((200, 200_000), (2_048, 40_000))):
        print(f"\n{rows // parts:,} rows of {size:,} bytes, one thread\n")
        print(against_loop(messages(texts(size, rows // parts)), place))
    tables = ("flat", flat(200_000 // parts)), ("nested", nested(100_000 // parts))
    for place, (name, table) in enumerate(tables):
        text = gcf.dumps(table)
        assert text == gcf.dumps(table.to_pylist(), types="common")
        print(f"\n{name} table of {table.num_rows:,} rows, {len(text) / 1e6:.1f} MB of GCF\n")
        print(against_writers(writers(table), place))
    print(f"\n{300_000 // parts:,} rows of 200 bytes, encoded\n")
    print(threads_of(texts(200, 300_000 // parts)))
    print(f"\nthe built-in dictionary, pickled: {len(pickle.dumps(cw.Dictionary.default()))} bytes")


def texts(size: int, rows: int) -> pa.Array:
    """Texts of about `size` bytes."""
    pick = random.Random(1)
    count = size * len(WORDS) // sum(len(word) + 1 for word in WORDS)
    return pa.array([" ".join(pick.choices(WORDS, k=count)) for _ in range(rows)])


def messages(column: pa.Array) -> dict[str, dict[str, Callable[[], object]]]:
    """The loop and the function of a column, for each format."""
    work: dict[str, dict[str, Callable[[], object]]] = {}
    for form in ("dsl", "base85", "zstd", "dictionary"):
        wires = pa.array(arrow.encode(column, format=form))

        def encode_loop(form: str = form) -> object:
            return pa.array([cw.encode(cw.Response(t), format=form) for t in column.to_pylist()])

        def decode_loop(wires: pa.Array = wires) -> object:
            rows = [cw.decode(wire) for wire in wires.to_pylist()]
            names = ("result", "model", "status", "tokens")
            return [pa.array([getattr(row, name) for row in rows]) for name in names]

        def encode_column(form: str = form) -> object:
            return arrow.encode(column, format=form, threads=1)

        def decode_column(wires: pa.Array = wires) -> object:
            return arrow.decode(wires, threads=1)

        work[f"encode {form}"] = {"loop": encode_loop, "column": encode_column}
        work[f"decode {form}"] = {"loop": decode_loop, "column": decode_column}
    return work


def flat(rows: int) -> pa.Table:
    """A table of scalars."""
    pick = random.Random(2)
    return pa.table(
        {
            "id": pa.array(range(rows)),
            "name": pa.array([f"{pick.choice(WORDS)} {n}" for n in range(rows)]),
            "city": pa.array([pick.choice(["Oslo", "Bern", "Lima"]) for _ in range(rows)]),
            "price": pa.array([pick.randrange(100_000) / 100 for _ in range(rows)]),
            "stock": pa.array([pick.choice([None, pick.randrange(500)]) for _ in range(rows)]),
            "paid": pa.array([pick.random() < 0.5 for _ in range(rows)]),
        }
    )


def nested(rows: int) -> pa.Table:
    """A table with a struct, and with lists of structs."""
    pick = random.Random(3)
    lines = [
        [{"sku": f"S-{pick.randrange(999)}", "qty": pick.randrange(9)} for _ in range(n % 3)]
        for n in range(rows)
    ]
    people = [{"name": pick.choice(WORDS), "age": pick.randrange(90)} for _ in range(rows)]
    return pa.table({"id": range(rows), "who": people, "lines": lines})


def writers(table: pa.Table) -> dict[str, Callable[[], object]]:
    """What writes the table, ours first."""
    frame = pl.DataFrame(table)
    work: dict[str, Callable[[], object]] = {
        "gcf.dumps(table)": lambda: gcf.dumps(table),
        "gcf.dumps(table.to_pylist())": lambda: gcf.dumps(table.to_pylist()),
        "orjson of to_pylist()": lambda: orjson.dumps(table.to_pylist()),
        "polars write_ndjson": lambda: frame.write_ndjson(io.BytesIO()),
    }
    if not any(pa.types.is_nested(field.type) for field in table.schema):
        work["polars write_csv"] = lambda: frame.write_csv(io.BytesIO())
        work["pyarrow write_csv"] = lambda: pa.csv.write_csv(
            table, io.BytesIO(), pa.csv.WriteOptions(quoting_style="needed")
        )
    return work


def against_loop(work: Mapping[str, Mapping[str, Callable[[], object]]], place: int) -> str:
    """A line for each work: the times of loop and column, their ratio, and its target."""
    lines = ["| work | loop | column | of the loop | target |", "|---|--:|--:|--:|--:|"]
    for name, functions in work.items():
        times = timed(functions)
        ratio = times["column"] / times["loop"]
        shown = [f"{times[by] * 1e3:.1f} ms" for by in ("loop", "column")]
        cells = [name, *shown, part(ratio), verdict(ratio, 1 / LOOP[name][place])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def against_writers(work: Mapping[str, Callable[[], object]], place: int) -> str:
    """A line for each writer: its time, ours divided by it, and the target of that."""
    lines = ["| writer | time | ours of it | target |", "|---|--:|--:|--:|"]
    times = timed(work)
    ours = next(iter(times.values()))
    for name, seconds in times.items():
        wanted = WRITERS.get(name, (None, None))[place]
        ratio = ours / seconds
        cells = [
            name,
            f"{seconds * 1e3:.1f} ms",
            part(ratio),
            verdict(ratio, wanted and 1 / wanted),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def timed(work: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The processor seconds of functions: the minimum of several turns."""
    times = dict.fromkeys(work, float("inf"))
    for _ in range(TURNS):
        for by, function in work.items():
            start = time.process_time()
            result = function()
            times[by] = min(times[by], time.process_time() - start)
            del result
    return times


def part(ratio: float) -> str:
    """A ratio, as 1/x if it is below 1."""
    return f"{ratio:.2f}" if ratio >= 1 else f"1/{1 / ratio:.2f}"


def threads_of(column: pa.Array) -> str:
    """A line for each format and number of threads: time on the clock, and memory."""
    lines = [
        "| format | threads | time | memory / result | target |",
        "|---|--:|--:|--:|--:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "column.arrow")
        table = pa.table({"text": column})
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
        for form in ("dsl", "base85", "zstd"):
            for threads in ("1", "2"):
                command = [sys.executable, "-m", "benches.columns", "--child", path, form, threads]
                runs = [
                    [float(number) for number in subprocess.check_output(command).split()]
                    for _ in range(TURNS)
                ]
                seconds, memory = min(run[0] for run in runs), min(run[1] for run in runs)
                cells = [form, threads, f"{seconds * 1e3:.0f} ms", f"{memory:.2f}"]
                lines.append(f"| {' | '.join([*cells, verdict(memory, MEMORY)])} |")
    return "\n".join(lines)


def run_alone(path: str, form: str, threads: str) -> None:
    """Encode the column in a file; print the seconds, and the memory per byte of the result."""
    with pa.OSFile(path) as file:
        column = pa.ipc.open_file(file).read_all()["text"]
    arrow.encode(column.slice(0, 1), format=form)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    start = time.perf_counter()
    result = arrow.encode(column, format=form, threads=int(threads))
    seconds = time.perf_counter() - start
    print(seconds, (resident("VmHWM") - before) / pa.chunked_array(result).nbytes)


def resident(name: str) -> int:
    """The resident bytes of this process: now (`VmRSS`), or the most so far (`VmHWM`)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main()
