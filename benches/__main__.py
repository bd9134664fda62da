"""Runs all benches, prints the tables, and writes the record, `RESULTS.md` and the README."""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import compactwire as cw
from compactwire._core import _build

from . import core, corpus, gcf_memory, report, sessions, sizes, systems
from .measure import FULL, QUICK, Effort
from .speed import Rows, name

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
PEERS = ["bpe-openai", "gcf-python", "orjson", "ormsgpack", "pynacl", "toons", "zstandard"]


def machine() -> dict[str, str]:
    """Return a description of the machine."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        processor = f"{names[0]}, {len(names)} cores" if names else processor
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": processor,
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "compactwire": cw.__version__,
        "module": dict(_build())["module"],
        **{peer: _version(peer) for peer in PEERS},
        **core.versions(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def measure(*, quick: bool) -> report.Record:
    """Measure everything."""
    effort: Effort = QUICK if quick else FULL
    speed = {key: systems.measure(key, effort, quick=quick) for key in systems.SYSTEMS}
    return {
        "machine": machine(),
        "speed": speed.pop("messages"),
        "core": [
            {"work": work, "size": name(size), "bytes": size, "seconds": times}
            for (work, size), times in core.base85().items()
        ],
        "core_gcf": core.gcf(),
        "memory": gcf_memory.record(20_000 if quick else 400_000),
        "sizes": [
            {"label": label, "bytes": size, "ratios": ratios}
            for label, size, ratios in sizes.by_format()
        ],
        "systems": {systems.SYSTEMS[key][0]: rows for key, rows in speed.items()},
        "tokens": systems.tokens(),
        "stream": systems.stream(quick=quick),
        "sessions": sessions.record(effort),
        "levels": [vars(level) for level in sizes.levels(effort)],
    }


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    only = "measure only this system, print its table and write nothing"
    parser.add_argument("system", nargs="?", choices=systems.SYSTEMS, help=only)
    words = "only rows that contain one of these words (A,B); if repeated, one of each group"
    parser.add_argument("--rows", metavar="WORDS", action="append", default=[], help=words)
    parser.add_argument("--quick", action="store_true", help="measure briefly, write nothing")
    cargo = "run the benches of the core first, which needs Rust"
    parser.add_argument("--cargo", action="store_true", help=cargo)
    parser.add_argument("--corpus", metavar="DIR", help="measure only the files of this folder")
    given = parser.parse_args()
    if given.rows and not given.system:
        parser.error("--rows needs a system")
    effort = QUICK if given.quick else FULL
    if given.system:
        rows = Rows.parse(given.rows)
        found = systems.measure(given.system, effort, quick=given.quick, rows=rows)
        print(report.speed({"speed": found}))
        return 0
    if given.corpus:
        try:
            print(corpus.page(given.corpus, quick=given.quick), end="")
        except (OSError, ValueError) as error:
            sys.exit(f"{parser.prog}: {error}")
        return 0
    if given.cargo:
        core.run()
    everything(quick=given.quick)
    return 0


def everything(*, quick: bool) -> None:
    """Measure everything and print the page; unless `quick`, write the files with the results."""
    record = measure(quick=quick)
    page = report.results(record)
    print(page)
    if quick:
        return
    (HERE / "results").mkdir(exist_ok=True)
    latest = HERE / "results" / "latest.json"
    latest.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (HERE / "RESULTS.md").write_text(page, encoding="utf-8")
    text = report.update_readme(README.read_text(encoding="utf-8"), record)
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
