"""Measures rows that are written to and read from a stream: rows per second, and memory.

`python -m benches.gcf_stream [--rows 10000000]`. Memory is constant and time is linear if a
thousandth of the rows takes the same memory, and the same time per row.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from compactwire import gcf

from . import report

ROOT = Path(__file__).parent.parent


def peak() -> float:
    """Return the peak memory of the process, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # The value of getrusage would start with the memory of the parent process.
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / (1 << 10)
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def write(path: Path, count: int) -> float:
    """Write rows; return the seconds that this took."""
    start = time.perf_counter()
    with path.open("wb") as file, gcf.StreamEncoder(file) as encoder:
        encoder.begin_array("rows", ["id", "name", "price", "open"])
        for number in range(count):
            encoder.row([number, f"item-{number}", number / 8, True])
    return time.perf_counter() - start


def read(path: Path, count: int) -> float:
    """Read the rows; return the seconds that this took."""
    start = time.perf_counter()
    found = sum(1 for _ in gcf.iter_rows(path, "rows"))
    seconds = time.perf_counter() - start
    if found != count:
        message = f"{count} rows were written, {found} read"
        raise AssertionError(message)
    return seconds


def measure(count: int) -> list[dict[str, Any]]:
    """Write rows and read them; return the seconds, and the peak memory in MiB."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.gcf"
        for work in (write, read):
            seconds = work(path, count)
            found.append(
                {"work": work.__name__, "rows": count, "seconds": seconds, "memory": peak()}
            )
    return found


def record(rows: int) -> list[dict[str, Any]]:
    """Measure a thousandth of the rows and all rows, each in a separate process."""
    found = []
    for count in (rows // 1000, rows):
        command = [sys.executable, "-m", "benches.gcf_stream", "--json", "--rows", str(count)]
        child = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT)
        found += json.loads(child.stdout)
    return found


def main() -> None:
    """Stream rows and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benches.gcf_stream", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--json", action="store_true", help="these rows only, as JSON")
    given = parser.parse_args()
    if given.json:
        print(json.dumps(measure(given.rows)))
    else:
        print(report.stream({"stream": record(given.rows)}))


if __name__ == "__main__":
    main()
