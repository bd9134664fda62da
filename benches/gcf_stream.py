"""Rows streamed out and in again: how many a second, and how much memory that takes.

`python -m benches.gcf_stream [--rows 10000000]`. Memory is constant and time linear when the
figures of many rows are those of a thousandth of them.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from compactwire import gcf


def peak() -> float:
    """The most memory that the process had, in MiB."""
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def write(path: Path, count: int) -> float:
    """Write rows; gives the seconds that it took."""
    start = time.perf_counter()
    with path.open("wb") as file, gcf.StreamEncoder(file) as encoder:
        encoder.begin_array("rows", ["id", "name", "price", "open"])
        for number in range(count):
            encoder.row([number, f"item-{number}", number / 8, True])
    return time.perf_counter() - start


def read(path: Path, count: int) -> float:
    """Read the rows; gives the seconds that it took."""
    start = time.perf_counter()
    found = sum(1 for _ in gcf.iter_rows(path, "rows"))
    seconds = time.perf_counter() - start
    if found != count:
        message = f"{count} rows were written, {found} read"
        raise AssertionError(message)
    return seconds


def main() -> None:
    """Stream rows and print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    rows = arguments.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.gcf"
        for count in (rows // 1000, rows):
            for work in (write, read):
                seconds = work(path, count)
                rate = count / seconds
                print(
                    f"{work.__name__:5} {count:>12,} rows {seconds:8.3f} s {rate:>12,.0f} a second"
                    f"   most memory so far {peak():6.1f} MiB"
                )


if __name__ == "__main__":
    main()
