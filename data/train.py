"""Trains and checks the dictionary in the package, and prints how much it saves.

    python -m data.train            train again, compare with data/default.zdct, print the table
    python -m data.train --write    train and write the file; then rebuild the package
    python -m data.train --size N   the table for another size

The table shows the samples that are held out of the training. The exit code is 1 if the file
differs from the result of training, or saves less than 20% between 0.5 and 2 KB.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

import compactwire as cw

from .samples import Sample, load

DICTIONARY = Path(__file__).parent / "default.zdct"

# 256 KiB instead of zstd's 110: every message becomes smaller, and the package stays small enough
# (`--size` shows the result of other sizes).
SIZE = 256 << 10

# A fixed time, so that the same corpus gives the same file: 2026-11-21.
TIME = 1_795_219_200

# The last bytes of the tables of a zstd dictionary, and the mark that `Dictionary.train` writes
# after them.
OFFSETS = b"\x01\0\0\0\x04\0\0\0\x08\0\0\0"
MARK = b"ZDCT-CRC"

MODELS = ["C45", "G5", "G3", "C4", "CS", "G4", "O4", "CH"]

JUDGED = "all of 0.5 to 2 KB"
WANTED = 0.80

Row = tuple[int, int, int]


def response(i: int, sample: Sample) -> cw.Response:
    """Return the message of a sample.

    Model and tokens differ from one sample to the next, so that the dictionary learns only what
    messages have in common.
    """
    return cw.Response(sample.text, model=MODELS[i % len(MODELS)], tokens=len(sample.text) // 4)


def build(samples: list[Sample], size: int) -> cw.Dictionary:
    """Train on the samples that are not held out."""
    training = [response(i, sample) for i, sample in enumerate(samples) if not sample.held_out]
    return cw.Dictionary.train(training, size=size, content_type="mixed", time=TIME)


def content(dictionary: cw.Dictionary) -> bytes:
    """Return what training determines: the file without its first line, the id and the mark.

    The dictionary in the package has the id that messages name since it was trained.
    """
    _, _, zstd = dictionary.to_bytes().partition(b"\n")
    tables, offsets, samples = zstd[8:].partition(OFFSETS)
    return tables + offsets + samples[len(MARK) :]


def weigh(dictionary: cw.Dictionary, samples: list[Sample]) -> dict[str, list[Row]]:
    """Return the bytes of each result, as plain zstd and with the dictionary, by kind of sample."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for i, sample in enumerate(samples):
        if not sample.held_out:
            continue
        message = response(i, sample)
        plain = len(cw.encode(message, format="zstd"))
        small = len(cw.encode(message, format="dictionary", dictionary=dictionary))
        row = (len(sample.text.encode()), plain, small)
        rows[sample.kind].append(row)
        rows["all"].append(row)
        if 500 <= row[0] <= 2000:
            rows[JUDGED].append(row)
    return rows


def ratio(rows: list[Row]) -> float:
    """Return the bytes with the dictionary divided by those of plain zstd."""
    return sum(small for _, _, small in rows) / sum(plain for _, plain, _ in rows)


def show(dictionary: cw.Dictionary, rows: dict[str, list[Row]]) -> None:
    """Print the table."""
    print(f"{dictionary!r}, trained on {dictionary.samples} samples\n")
    print(
        f"{'held-out samples':20} {'number':>6} {'bytes':>8} {'zstd':>8} {'dict':>8} "
        f"{'dict/zstd':>9} {'median':>7} {'worst':>7}"
    )
    for kind, found in rows.items():
        total, plain, small = (sum(column) for column in zip(*found, strict=True))
        ratios = sorted(small / plain for _, plain, small in found)
        print(
            f"{kind:20} {len(found):6} {total:8} {plain:8} {small:8} "
            f"{ratio(found):9.3f} {median(ratios):7.3f} {ratios[-1]:7.3f}"
        )


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m data.train", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write data/default.zdct")
    parser.add_argument("--size", type=int, default=SIZE, help="bytes (default: %(default)s)")
    args = parser.parse_args()
    samples = load()
    dictionary = build(samples, args.size)
    rows = weigh(dictionary, samples)
    show(dictionary, rows)
    if args.write:
        dictionary.save(DICTIONARY)
    if args.size == SIZE and content(dictionary) != content(cw.Dictionary.load(DICTIONARY)):
        print(
            "data/default.zdct differs from the result of training: run with --write",
            file=sys.stderr,
        )
        return 1
    if args.size == SIZE and ratio(rows[JUDGED]) > WANTED:
        print(f"it saves less than {1 - WANTED:.0%} between 0.5 and 2 KB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
