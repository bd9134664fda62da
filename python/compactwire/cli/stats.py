"""The command ``compactwire stats``: the size of an input in every format, the best first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import compactwire as cw

from ._shell import (
    add_command,
    add_max_expansion,
    add_max_input,
    input_path,
    json_line,
    naming,
    one_line,
    report_each,
    source_name,
    tell,
    token_counter,
    write,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from ..analysis.measured import Measured
    from ._forms import Input
    from ._shell import Commands

_ESTIMATE = "estimate"
_BASELINES = {"json": "compact JSON", "input": "the input"}
_KINDS = ("auto", "json", "jsonl", "csv", "tsv", "text", "gcf", "vcad")


class Sheet(NamedTuple):
    """The measurements of one input, the best first."""

    name: str
    given: Input
    rows: list[Measured]
    tokenizer: str


def add(commands: Commands, example: str = "compactwire stats orders.json") -> None:
    """Add the command; `gcf stats` is the same command under another name."""
    about = "measure an input in every format, in bytes and tokens"
    stats = add_command(commands, "stats", _run, about, example)
    stats.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        default=["-"],
        type=input_path,
        help="JSON, JSON Lines, CSV, text, GCF or vcad (default: stdin)",
    )
    stats.add_argument(
        "--input",
        choices=_KINDS,
        default="auto",
        help="the format of the input: auto goes by the suffix of the file and then by its "
        "content; cells of CSV and TSV become strings (default: %(default)s)",
    )
    add_max_expansion(stats, 1 << 24)
    stats.add_argument("--json", action="store_true", help="print JSON, a line for each input")
    add_max_input(stats)


def _run(args: argparse.Namespace) -> int:
    exact = token_counter()
    count = exact or cw.estimate_tokens
    measured = []

    def show(path: str) -> None:
        if Path(path).is_dir():
            hint = f"compactwire analyze {Path(path)} measures the files in it"
            raise IsADirectoryError(f"{Path(path)}: a folder, expected a file; {hint}")
        with naming(path):
            sheet = _measure(path, args, count, "o200k_base" if exact else _ESTIMATE)
        measured.append(path)
        write(json_line(_as_json(sheet)) if args.json else _as_table(sheet), "-")

    code = report_each(args.files, show)
    if exact is None and measured:
        tell("compactwire: tokens are estimated; to count them: pip install bpe-openai")
    return code


def _measure(
    path: str, args: argparse.Namespace, count: Callable[[str], int], tokenizer: str
) -> Sheet:
    # Only this command needs the modules of the analysis.
    from ..analysis.measured import measure
    from ._forms import forms, read_input

    given = read_input(path, args.input, args.max_input, args.max_expansion)
    rows = measure(given.value, forms(given), count)
    if tokenizer == _ESTIMATE:
        # The estimate is of plain text; for compressed text it is about 30% too low.
        rows = [row if row.reader == "model" else replace(row, tokens=None) for row in rows]
    return Sheet(path, given, sorted(_without_equals(rows), key=_rank), tokenizer)


def _without_equals(rows: Iterable[Measured]) -> Iterator[Measured]:
    """Leave out what an option of GCF does not change."""
    seen = set()
    for row in rows:
        size = (row.bytes, row.tokens)
        if row.format.startswith("gcf"):
            if size in seen:
                continue
            seen.add(size)
        yield row


def _rank(row: Measured) -> tuple[bool, bool, int, int]:
    """What a model can read by tokens, then the rest by bytes, then what lost data."""
    model = row.reader == "model"
    tokens = row.tokens if model and row.tokens is not None else 0
    return not row.round_trip, not model, tokens, row.bytes or 0


def _as_json(sheet: Sheet) -> dict[str, Any]:
    given = sheet.given
    return {
        "input": sheet.name,
        "kind": given.kind,
        "tokenizer": sheet.tokenizer,
        "baseline": given.baseline,
        "setup": given.setup,
        "formats": [
            {
                "format": row.format,
                "reader": row.reader,
                "bytes": row.bytes,
                "tokens": row.tokens,
                "round_trip": row.round_trip,
                "note": row.note,
                "python": given.python[row.format],
            }
            for row in sheet.rows
        ],
    }


def _as_table(sheet: Sheet) -> str:
    given = sheet.given
    base = next(row for row in sheet.rows if row.format == given.baseline)
    tokens = "tokens" if sheet.tokenizer != _ESTIMATE else "tokens, estimated"
    name = one_line(source_name(sheet.name))
    lines = [
        f"{name}: {given.kind}; percentages of {_BASELINES[given.baseline]}",
        f"  {'format':<14} {'reader':<8} {'bytes':>19}  {tokens:>19}  Python",
    ]
    for row in sheet.rows:
        if not row.round_trip:
            lines.append(f"  {row.format:<14} {one_line(row.note)}")
            continue
        sizes = f"{_against(row.bytes, base.bytes)}  {_against(row.tokens, base.tokens)}"
        line = f"  {row.format:<14} {row.reader:<8} {sizes}  {given.python[row.format]}"
        lines.append(line.rstrip())
    return "\n".join([*lines, "  with:", *(f"    {line}" for line in given.setup)]) + "\n"


def _against(found: int | None, base: int | None) -> str:
    """Format a number, and its share of the number for the baseline."""
    if found is None:
        return f"{'-':>19}"
    return f"{found:>11,} " + (f"{found / base:>7.1%}" if base else f"{'-':>7}")
