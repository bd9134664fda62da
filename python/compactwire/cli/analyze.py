"""The command ``compactwire analyze``: measures the rows of many files, in bounded memory."""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ._processes import ProcessEndedError, in_processes
from ._shell import (
    OK,
    add_command,
    complain,
    input_path,
    json_line,
    one_line,
    positive,
    tell,
    tell_with_errors,
    write,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

    from compactwire.analysis.sources import Reading

    from ._shell import Commands

_FAILED = 1
_IF_ANY = ("failed", "lossy")
# The columns of the table for people, and their headings.
_COLUMNS = {
    "format": "format",
    "inputs": "rows",
    "bytes": "bytes",
    "bytes_vs_json": "of JSON",
    "counted": "counted",
    "tokens": "tokens",
    "tokens_vs_json": "of JSON",
    "price": "price",
    "share_p05": "p05",
    "share_p50": "p50",
    "share_p95": "p95",
    "failed": "failed",
    "lossy": "lossy",
}


def add(commands: Commands) -> None:
    """Add the command."""
    about = "measure the rows of files in every format, each row by itself"
    parser = add_command(
        commands, "analyze", _run, about, "compactwire analyze logs/ --column text"
    )
    parser.add_argument(
        "paths",
        nargs="+",
        type=input_path,
        metavar="PATH",
        help="a file, folder or pattern: rows of .jsonl, .csv and .parquet, other files as one row",
    )
    parser.add_argument(
        "--column", metavar="NAME", help="the column or member with the texts (default: whole rows)"
    )
    parser.add_argument(
        "--kind", choices=("auto", "text", "json"), default="auto",
        help="whether rows are texts or JSON values (%(default)s: by the file)",
    )  # fmt: skip
    parser.add_argument(
        "--format", action="append", metavar="NAME", help="a format (repeatable; default: all)"
    )
    parser.add_argument(
        "--tokenizer",
        default="o200k_base",
        metavar="NAME",
        help="an encoding, a model such as gpt-4o, or none (default: %(default)s)",
    )
    parser.add_argument(
        "--token-fraction",
        type=float,
        default=1.0,
        metavar="PART",
        help="the part of the rows whose tokens are counted, from 0 to 1 (default: %(default)s); "
        "tokens and price are of those alone",
    )
    parser.add_argument("--price", type=float, help="the price of a million tokens, for a column")
    parser.add_argument(
        "--workers",
        type=positive,
        default=1,
        metavar="N",
        help="the number of processes, each of which measures one file at a time (default: "
        "%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object, for programs")


def _run(args: argparse.Namespace) -> int:
    # Imported here, because other commands do not need its libraries.
    from compactwire import analysis

    try:
        job = _Job(args)
        with closing(job.summaries()) as summaries:
            frame = analysis.report(analysis.merge(summaries), price=args.price)
    except ImportError as error:
        raise ValueError(str(error)) from error
    if args.json:
        write(json_line(_as_json(frame, job)), "-")
    elif not frame.empty:
        sampled = args.token_fraction < 1 and frame["tokens"].notna().any()
        write(_as_table(frame, sampled=sampled), "-")
    for errors, rows in frame[frame["failed"] > 0].groupby("errors"):
        tell(f"compactwire: rows that failed in {', '.join(rows['format'])}: {errors}")
    if args.column is not None and frame["errors"].str.contains("TypeError").any():
        tell(f"compactwire: TypeError: the value of {args.column!r} is not a text")
    tell_with_errors(job.with_errors)
    if job.failed and job.files:
        tell(f"compactwire: {len(job.failed)} of {len(job.failed) + job.files} files failed")
    if frame.empty and job.files:
        return _without_rows(args.column)
    return _FAILED if job.failed else OK


def _without_rows(column: str | None) -> int:
    """Say why there is no table."""
    if column is None:
        tell("compactwire: the files have no rows")
        return OK
    complain(
        ValueError(f"no row has a text in {column!r}; without --column, whole rows are measured")
    )
    return _FAILED


class _Job:
    """The files of a call, and those that could not be read."""

    def __init__(self, args: argparse.Namespace) -> None:
        from compactwire.analysis import report
        from compactwire.analysis.sources import Reading

        self.failed: list[str] = []
        self.with_errors: list[str] = []
        self.files = 0
        self._paths: list[str] = args.paths
        self._workers: int = args.workers
        self._reading = Reading(args.column, args.kind)
        self._how: dict[str, Any] = {
            "formats": args.format,
            "tokenizer": None if args.tokenizer == "none" else args.tokenizer,
            "token_fraction": args.token_fraction,
        }
        # An invalid option is found before the first file is read.
        report(_measured([], self._how), price=args.price)

    def summaries(self) -> Generator[pa.Table]:
        """Summarize each file; one that cannot be read to its end is reported and left out."""
        found = list(self._found())
        meter = _Meter([_size(path) for path in found])
        summarize = self._in_processes if self._workers > 1 else self._in_turn
        with closing(summarize(found, meter)) as results:
            for path, result in zip(found, results, strict=True):
                try:
                    summary = result()
                except ProcessEndedError:
                    complain(ValueError(f"{one_line(str(path))}: its process ended unexpectedly"))
                    self.failed.append(str(path))
                except OptionError as error:
                    # An error about a column names the file. Another one may be about a format
                    # that only rows of another kind have.
                    place = "" if error.option == "column" else f"{one_line(str(path))}: "
                    complain(ValueError(f"{place}{error}"))
                    self.failed.append(str(path))
                except MemoryError as error:
                    complain(MemoryError(f"{one_line(str(path))}: {error}"))
                    self.failed.append(str(path))
                except (OSError, ValueError) as error:
                    complain(error)
                    self.failed.append(str(path))
                else:
                    if any(what.startswith("error:") for what in summary["what"].to_pylist()):
                        self.with_errors.append(str(path))
                    yield summary
                    self.files += 1

    def _in_turn(self, found: list[Path], meter: _Meter) -> Generator[Callable[[], pa.Table]]:
        """A function for each file, which returns its summary."""
        for place, path in enumerate(found):
            yield partial(_summary, path, self._reading, self._how, partial(meter.at, place))

    def _in_processes(self, found: list[Path], meter: _Meter) -> Generator[Callable[[], pa.Table]]:
        """As `_in_turn`, of summaries that processes make."""
        work = partial(_summary, reading=self._reading, how=self._how)
        with closing(in_processes(work, found, self._workers)) as results:
            for place, result in enumerate(results):
                yield result
                meter.at(place, 1.0)

    def _leave_out(self, error: OSError) -> None:
        complain(error)
        self.failed.append(error.filename)

    def _found(self) -> Iterator[Path]:
        from pathlib import Path

        from compactwire.analysis.corpus import passed_over
        from compactwire.analysis.sources import Reading, files

        for path in self._paths:
            try:
                # Of each kind: one that is not read must not hide the others of a pattern.
                found = files(path, Reading(kind="text"), self._leave_out)
                yield from filter(self._is_known, found)
                if others := passed_over(Path(path)):
                    names = ", ".join(one_line(suffix) or "no suffix" for suffix in others)
                    tell(
                        f"compactwire: {one_line(path)}: files of these kinds are not read: {names}"
                    )
            except (OSError, ValueError) as error:
                complain(ValueError(_as_options(str(error))))
                self.failed.append(path)

    def _is_known(self, path: Path) -> bool:
        """Whether the kind of a file is read; another one is reported."""
        from compactwire.analysis.sources import check_kind

        try:
            check_kind(path, self._reading)
        except ValueError as error:
            complain(ValueError(_as_options(str(error))))
            self.failed.append(str(path))
            return False
        return True


def _as_options(message: str) -> str:
    """Name options of the command in an error that names those of Python."""
    message = message.removesuffix("; to measure a text, put it into a column")
    message = message.replace("with kind='text'", "with --kind text")
    if message.startswith("no file to read"):
        message += "; expected .jsonl, .ndjson, .csv, .tsv, .parquet, .json or text files"
    return message


class _Meter:
    """Shows the bytes that are read, on a terminal."""

    def __init__(self, sizes: list[int]) -> None:
        from compactwire.analysis.progress import shower

        # File n has the bytes from number n to number n + 1 of this list.
        self._ends = [0, *accumulate(sizes)]
        self._show, self._start = shower(None), time.monotonic()

    def at(self, place: int, part: float) -> None:
        """Show that this part of a file is read."""
        from compactwire.analysis import Progress

        if self._show:
            before, after = self._ends[place : place + 2]
            done = before + int(part * (after - before))
            passed = time.monotonic() - self._start
            self._show(Progress(done, self._ends[-1], passed, "bytes"))


def _size(path: Path) -> int:
    """The bytes of a file; 0 if it was removed meanwhile, which is reported when it is read."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _summary(
    path: Path,
    reading: Reading,
    how: dict[str, Any],
    show: Callable[[float], object] | None = None,
) -> pa.Table:
    """Summarize a file; `show` is called with the part of it that is read."""
    from compactwire.analysis import merge

    return merge(_parts(path, reading, how, show))


def _parts(
    path: Path, reading: Reading, how: dict[str, Any], show: Callable[[float], object] | None
) -> Iterator[pa.Table]:
    from compactwire.analysis.sources import read_file, to_batch

    for rows, part in read_file(path, reading):
        yield _measured(to_batch(rows), how)
        if show:
            show(part)


def _measured(batch: Any, how: dict[str, Any]) -> pa.Table:
    from compactwire.analysis import measure, summarize

    return summarize(measure(batch, **how))


def _as_json(frame: pd.DataFrame, job: _Job) -> dict[str, object]:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    for row in rows:
        pairs = (one.split(": ") for one in row["errors"].split(", ") if one)
        row["errors"] = {name: int(count) for name, count in pairs}
    return {"files": job.files, "failed_files": job.failed, "formats": rows}


def _as_table(frame: pd.DataFrame, *, sampled: bool) -> str:
    """A table for people; with the rows whose tokens are counted, if these are `sampled`."""
    names = [name for name in _COLUMNS if name in frame and frame[name].notna().any()]
    names = [name for name in names if name not in _IF_ANY or frame[name].any()]
    if not sampled:
        names.remove("counted")
    lines = [[_COLUMNS[name] for name in names]]
    lines += [[_cell(name, row[name]) for name in names] for row in frame.to_dict("records")]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ""
    for first, *rest in lines:
        cells = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
        text += "  ".join([f"{first:<{widths[0]}}", *cells]) + "\n"
    return text


def _cell(name: str, value: Any) -> str:
    if name == "format":
        return one_line(value)
    if value != value or value is None:  # NaN or NA
        return "-"
    if name == "price":
        return f"{value:,.4g}"
    if name.startswith("share_"):
        return f"{value:.0%}"  # A quantile is up to 1/128 too small: see `summary`.
    return f"{value:.1%}" if isinstance(value, float) else f"{value:,}"
