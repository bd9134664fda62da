"""Measures, writes `scorecard.md` and `FINDINGS.md`, and prints the time of encoding."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles

from compactwire import gcf

from .. import report
from . import pages
from .cases import PUBLISHED, Cases, own, published
from .figures import BYTES, JSON, TEXT, measured

HERE = Path(__file__).parent


def p99(payload: gcf.Payload, encode: Callable[[gcf.Payload], object], calls: int) -> float:
    """Give the seconds that 99 of 100 calls stay below."""
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        encode(payload)
        times.append(time.perf_counter() - start)
    return quantiles(times, n=100)[98]


def speeds(cases: Cases, calls: int) -> str:
    """Render the time of encoding."""
    codecs = {"gcf": TEXT, "gcb": BYTES, "json": JSON}
    rows = [
        [name, *(report.seconds(p99(payload, codec.encode, calls)) for codec in codecs.values())]
        for name, payload in cases.items()
    ]
    return report.table(["p99 of encoding", *codecs], rows)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benches.wire_format", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="measure briefly, write nothing")
    quick = parser.parse_args().quick
    given, ours = published(), own()
    card = pages.scorecard(given and measured(given), measured(ours))
    found = pages.findings(given, ours)
    print(card, found, speeds(given or ours, 100 if quick else 2000), sep="\n")
    if given is None:
        print(f"\nThe published payloads are not in {PUBLISHED}: nothing was written.")
    elif pages.NO_TOKENIZER in found:
        print("\nWithout bpe-openai nothing was written: pip install bpe-openai.")
    elif not quick:
        (HERE / "scorecard.md").write_text(card, encoding="utf-8")
        (HERE / "FINDINGS.md").write_text(found, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
