"""`recommend`: the best format for a purpose, with the figures that the choice is based on."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from .._texts import real, shown
from ..errors import CompactWireError, OptionError
from .candidates import JSON, PRETTY, Candidate, Reader
from .comparison import compare
from .extra import need
from .progress import Show
from .timing import say_seconds
from .tokens import Counter

if TYPE_CHECKING:
    import pandas as pd

Purpose = Literal["tokens", "bytes", "latency"]

# Two times count as equal if they differ by less than this and by less than their spread.
_CLOSE = 1.1


@dataclass(frozen=True)
class Figures:
    """The sizes and times of one format: of the input, or summed over several inputs."""

    format: str
    reader: Reader
    bytes: int
    """UTF-8 bytes."""
    tokens: int | None
    """None for a format whose output is bytes, which a model cannot be sent."""
    seconds: float
    """Median time to encode and decode the timed inputs, in seconds; NaN if none is."""
    seconds_low: float
    """The same at the lower quartiles."""
    seconds_high: float
    """The same at the upper quartiles."""


@dataclass(frozen=True, repr=False)
class Recommendation:
    """The format for a purpose, and why. Printed, it shows the figures."""

    purpose: Purpose
    """The purpose: "tokens", "bytes" or "latency"."""
    format: str
    """The name of the format, as in `compare`."""
    why: str
    """The reason in a sentence or two."""
    figures: tuple[Figures, ...]
    """Every format that returns the input unchanged, best for the purpose first. For
    "tokens", formats that only programs can read come last."""
    tokenizer: str
    """The name of the tokenizer."""

    @property
    def frame(self) -> pd.DataFrame:
        """The figures as a DataFrame."""
        frame: pd.DataFrame = need("pandas", "pandas").DataFrame(
            [vars(row) for row in self.figures]
        )
        return frame

    def __repr__(self) -> str:
        head = f"Recommendation for {self.purpose}: {self.format}\n  {self.why}\n"
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = []
        for row in rows:
            left = f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}"
            cells = zip(row[2:], widths[2:], strict=True)
            lines.append(f"  {left}  " + "  ".join(f"{cell:>{width}}" for cell, width in cells))
        return head + "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        title = html.escape(f"Recommendation for {self.purpose}: {self.format}")
        lines = ["".join(f"<th>{html.escape(cell)}</th>" for cell in head)]
        lines += ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
        table = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<p><b>{title}</b></p><p>{html.escape(self.why)}</p><table>{table}</table>"

    def _rows(self) -> list[list[str]]:
        rows = [["", "reader", "bytes", "tokens", "write + read"]]
        for row in self.figures:
            sizes = [f"{row.bytes:,}", _number(row.tokens), say_seconds(row.seconds)]
            rows.append([row.format, row.reader, *sizes])
        return rows


def recommend(
    value: Any,
    /,
    purpose: Purpose = "tokens",
    *,
    formats: Iterable[str | Candidate] | None = None,
    tokenizer: str | Counter = "o200k_base",
    seconds: float = 0.5,
    progress: bool | Show | None = None,
) -> Recommendation:
    """Recommend a format for a purpose, by measuring the input in all of them.

    Only formats that return the input unchanged are considered.

    Parameters
    ----------
    value, formats, tokenizer, seconds, progress
        As in `compare`; several inputs are compared by their sums.
    purpose : {"tokens", "bytes", "latency"}
        "tokens": the fewest tokens, among formats that a language model can read. Compressed text
        in Base85 has fewer bytes but usually more tokens, and a model cannot read it. "bytes": the
        fewest bytes of all formats. "latency": the least time to encode and decode; where the
        times do not differ by more than their spread, the fewest bytes.

    Returns
    -------
    Recommendation
        The format, the reason, and the figures of every format.

    Raises
    ------
    CompactWireError
        The purpose is unknown, the purpose is "latency" with `seconds=0`, or no format returns the
        input unchanged.
    TypeError, GcfError, ImportError
        As `compare`.

    Examples
    --------
    >>> rows = [{"id": n, "name": f"part {n}", "stock": n * 7 % 5} for n in range(100)]
    >>> recommend(rows, "tokens", seconds=0).format
    'gcf'
    >>> recommend(rows, "bytes", seconds=0).format
    'packed'
    """
    if purpose not in get_args(Purpose):
        known = ", ".join(get_args(Purpose))
        message = f"unknown purpose {shown(purpose)}; expected one of {known}"
        raise OptionError(message, option="purpose")
    if purpose == "latency" and not real("seconds", seconds) > 0:
        message = "purpose 'latency' needs times: seconds must be more than 0"
        raise OptionError(message, option="seconds")
    frame = compare(value, formats=formats, tokenizer=tokenizer, seconds=seconds, progress=progress)
    figures, missing = _figures(frame)
    figures, eligible = _ranked(purpose, figures)
    if not eligible:
        one = "no format for models" if purpose == "tokens" else "no format"
        message = f"{one} returns this input unchanged; compare() shows the reason for each"
        raise CompactWireError(message)
    best, counted = eligible[0], frame.attrs["tokenizer"]
    why = {"tokens": _tokens, "bytes": _bytes, "latency": _latency}[purpose](best, figures)
    if missing:
        why += f" Left out, because they do not return all inputs: {', '.join(missing)}."
    return Recommendation(purpose, best.format, why, tuple(figures), counted)


def _ranked(purpose: Purpose, figures: list[Figures]) -> tuple[list[Figures], list[Figures]]:
    """The formats in the order of the table, and those that may be recommended, best first."""
    if purpose == "tokens":
        figures = [row for row in figures if row.tokens is not None]
        figures.sort(key=lambda row: (row.reader != "model", row.tokens or 0, row.bytes))
        return figures, [row for row in figures if row.reader == "model"]
    if purpose == "bytes":
        figures = sorted(figures, key=lambda row: row.bytes)
        return figures, figures
    figures = sorted(figures, key=lambda row: row.seconds)
    if not figures:
        return figures, []
    most = min(figures[0].seconds_high, figures[0].seconds * _CLOSE)
    close = [row for row in figures if row.seconds <= most]
    return figures, sorted(close, key=lambda row: row.bytes)


def _figures(frame: pd.DataFrame) -> tuple[list[Figures], list[str]]:
    """Sum up each format that returns every input; for the others, count the inputs returned."""
    inputs = frame["input"].nunique()
    found, missing = [], []
    for name, rows in frame.groupby("format", sort=False):
        carried = int(rows["round_trip"].sum())
        if carried < inputs:
            missing.append(f"{name} ({carried} of {inputs})")
            continue
        tokens = rows["tokens"]
        encode, decode = "encode_seconds", "decode_seconds"
        found.append(
            Figures(
                str(name),
                rows["reader"].iloc[0],
                int(rows["bytes"].sum()),
                None if tokens.isna().any() else int(tokens.sum()),
                *(
                    _timed(rows[encode + part] + rows[decode + part])
                    for part in ("", "_low", "_high")
                ),
            )
        )
    return found, missing


def _timed(seconds: Any) -> float:
    """Sum the times of the inputs that are timed, which are the same for every format."""
    return float(seconds.sum(min_count=1))


def _tokens(best: Figures, figures: list[Figures]) -> str:
    json = _named(figures, JSON)
    said = f"{best.tokens:,} tokens{_against(best.tokens, json.tokens if json else None)}."
    if best.format == JSON:
        plain = [row for row in figures if row.reader == "model"]
        others = [row for row in plain if row.format not in (JSON, PRETTY)]
        if others:
            said += f" Nothing beats it here: {others[0].format} takes {_number(others[0].tokens)}."
    smaller = [row for row in figures if row.reader == "program" and row.bytes < best.bytes]
    if smaller:
        least = min(smaller, key=lambda row: row.bytes)
        more = (least.tokens or 0) / max(1, best.tokens or 0)
        said += (
            f" {least.format} is {least.bytes / best.bytes:.0%} of its bytes and {more:.0%} of its"
            " tokens, and no model can read it."
        )
    return said


def _bytes(best: Figures, figures: list[Figures]) -> str:
    json = _named(figures, JSON)
    said = f"{best.bytes:,} bytes{_against(best.bytes, json.bytes if json else None)}."
    if best.reader == "program":
        said += " Between programs only: no model can read it"
        if best.tokens and json and json.tokens:
            said += f", and it counts {_number(best.tokens)} tokens against {_number(json.tokens)}"
        said += "."
    return said


def _latency(best: Figures, figures: list[Figures]) -> str:
    json = _named(figures, JSON)
    said = f"{say_seconds(best.seconds)} to write and read it"
    if json and json.format != best.format:
        said += f", compact JSON by Python's json {say_seconds(json.seconds)}"
    fastest = figures[0]
    if fastest.format != best.format:
        said += f"; {fastest.format} is as fast within the spread, and more bytes"
    return said + "."


def _named(figures: list[Figures], name: str) -> Figures | None:
    return next((row for row in figures if row.format == name), None)


def _against(part: int | None, whole: int | None) -> str:
    if not part or not whole or part == whole:
        return ""
    return f", {part / whole:.0%} of compact JSON ({whole:,})"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
