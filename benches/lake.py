"""A lake of generated messages, analysed by `compactwire analyze` in bounded memory.

    python -m benches.lake                    # 20 million messages in 40 files
    python -m benches.lake --rows 1_000_000
    python -m benches.lake --folder lake      # keeps the files, and uses those that are there

It needs the extra `analysis`. Prints the time and the largest memory of a process that analyses one
file, and of one that analyses all of them: the memory must not grow with the number of files.
Tokens are counted for one message in a thousand.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

FILES = 40
FORMATS = ("json", "dsl", "base85", "zstd", "dictionary")
TOKEN_FRACTION = 0.001
# Rows of a group of Parquet, the least that a reader holds.
GROUP = 65_536
SUBJECTS = ("server", "tool", "agent", "order", "query", "file", "user", "test", "build", "model")
VERBS = ("answers with", "waits for", "returns", "reports", "writes", "refuses", "reads", "counts")
OBJECTS = (
    "a result of",
    "no rows in",
    "an error after",
    "the tokens of",
    "a table with",
    "a copy of",
)
ENDS = ("in the first part", "for the second time", "as expected", "and stops", "(retried)", "")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000, help="the number of messages")
    parser.add_argument("--folder", type=Path, help="where the files are kept (default: nowhere)")
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = args.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True)
        rows = args.rows // FILES
        paths = [make(folder / f"{part:02}-{rows}.parquet", part, rows) for part in range(FILES)]
        print("| files | messages | as JSON | time | messages per second | largest memory |")
        print("|--:|--:|--:|--:|--:|--:|")
        for some in (paths[:1], paths):
            print(analysed(some, rows * len(some)))


def make(path: Path, part: int, rows: int) -> Path:
    """Write a file of messages, unless it is there."""
    if not path.exists():
        pick = np.random.default_rng(part)
        schema = pa.schema({"id": pa.int64(), "text": pa.string()})
        unfinished = path.with_suffix(".part")
        with pq.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            for start in range(0, rows, GROUP):
                count = min(GROUP, rows - start)
                ids = pa.array(np.arange(start, start + count) + part * rows)
                table = pa.table({"id": ids, "text": texts(pick, count)}, schema=schema)
                writer.write_table(table, row_group_size=GROUP)
        unfinished.rename(path)
    return path


def texts(pick: np.random.Generator, count: int) -> pa.Array:
    """Messages of three to nine clauses with numbers, about 200 bytes each."""
    clauses = [clause(pick, count) for _ in range(9)]
    lengths = pick.integers(3, 10, count)
    for number, one in enumerate(clauses):
        clauses[number] = pc.if_else(pa.array(lengths > number), one, "")
    return pc.utf8_trim_whitespace(pc.binary_join_element_wise(*clauses, " "))


def clause(pick: np.random.Generator, count: int) -> pa.Array:
    """Clauses, such as ``tool 17 returns no rows in 4711 as expected``."""

    def word(of: tuple[str, ...]) -> pa.Array:
        return pa.array(of).take(pa.array(pick.integers(0, len(of), count)))

    def number(below: int) -> pa.Array:
        return pa.array(pick.integers(0, below, count)).cast(pa.string())

    parts = (word(SUBJECTS), number(100), word(VERBS), word(OBJECTS), number(10_000), word(ENDS))
    return pc.binary_join_element_wise(*parts, " ")


def analysed(paths: list[Path], rows: int) -> str:
    """A line of the table: a process of its own analyses the files."""
    formats = [option for name in FORMATS for option in ("--format", name)]
    command = [sys.executable, "-m", "compactwire", "analyze", "--json", "--column", "text"]
    command += [*formats, "--token-fraction", str(TOKEN_FRACTION), *map(str, paths)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    found = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    by_name: dict[str, dict[str, Any]] = {one["format"]: one for one in found["formats"]}
    if process.returncode or any(
        by_name[name]["inputs"] != rows or by_name[name]["failed"] for name in FORMATS
    ):
        raise SystemExit(f"the analysis failed: exit code {process.returncode}, {found}")
    cells = [
        f"{len(paths)}",
        f"{rows:,}",
        f"{by_name['json']['bytes'] / 1e6:,.0f} MB",
        f"{seconds:,.0f} s",
        f"{rows / seconds:,.0f}",
        f"{usage.ru_maxrss / 1024:,.0f} MiB",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
