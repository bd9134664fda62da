"""Rows streamed out: how many a second, and how much memory that takes.

`python -m benches.gcf_stream [--rows 10000000]`.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path

from compactwire import gcf


def peak() -> float:
    """The most memory that the process had, in MiB."""
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def main() -> None:
    """Write rows and print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    count = arguments.parse_args().rows
    with Path(os.devnull).open("wb") as file, gcf.StreamEncoder(file) as encoder:
        encoder.begin_array("rows", ["id", "name", "price", "open"])
        encoder.row([0, "item-0", 0.5, True])
        before = peak()
        start = time.perf_counter()
        for number in range(1, count):
            encoder.row([number, f"item-{number}", number / 8, True])
        seconds = time.perf_counter() - start
    rate = count / seconds
    print(f"{count} rows in {seconds:.1f} s, {rate:,.0f} a second")
    print(f"most memory: {before:.1f} MiB after one row, {peak():.1f} MiB after all")


if __name__ == "__main__":
    main()
