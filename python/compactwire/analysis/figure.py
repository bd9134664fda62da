"""`plot`: draws a table of `compare` or `compare_sessions`.

Bars begin at zero, and the baseline is a line. The colours are those of Okabe and Ito, which people
with colour blindness can distinguish. Bars of formats that only programs can read are also hatched.
"""

from __future__ import annotations

import io
import reprlib
from typing import TYPE_CHECKING, Any, Literal

from .._texts import check_type
from ..errors import CompactWireError, OptionError
from .extra import need
from .timing import say_seconds

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Base = Literal["json", "pretty"]

_BLUE, _ORANGE, _GREEN, _PINK = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
_PARTS = ("", "_low", "_high")
_DARK, _LIGHT = "#555555", "#B0B0B0"
_COLOURS = (_BLUE, _ORANGE, _GREEN, _PINK)
_HATCH = "///"
_UNITS = ("bytes", "tokens")
_BASES = {"json": "compact JSON", "pretty": "indented JSON"}
_WAYS = {
    "json": ("everything, as JSON", _DARK, "o"),
    "session": ("session: what is new", _BLUE, "s"),
    "packed": ("packed: for programs", _ORANGE, "^"),
}
_STYLE = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "font.size": 9.5,
    "hatch.linewidth": 0.8,
    "svg.fonttype": "none",
    # A name is shown as it is: with two dollar signs it would be a formula, perhaps an invalid one.
    "text.parse_math": False,
}


def plot(frame: pd.DataFrame, /, *, against: Base = "json", title: str | None = None) -> Figure:
    """Draw a table of `compare` or of `compare_sessions`.

    Parameters
    ----------
    frame : DataFrame
        The result of `compare` or `compare_sessions`, or some of its rows.
    against : {"json", "pretty"}
        The baseline of the bars, 100%: compact JSON, or JSON with two spaces a level.
    title : str, optional
        The title above the figure.

    Returns
    -------
    matplotlib.figure.Figure
        For `compare`: the bytes and tokens of each format and, if timed, the times to encode and
        decode with their quartiles (an arrow marks a value outside the scale). Up to four inputs
        have a bar each; for more, the bar is the median, with a line from the smallest to the
        largest. For `compare_sessions`: bytes and tokens by turn. Notebooks display the figure;
        ``savefig`` writes it to a file.

    Raises
    ------
    TypeError
        `frame` is not a DataFrame.
    CompactWireError
        The frame has no rows, or a column is missing; the message names it.
    ImportError
        The extra ``analysis`` is not installed.
    """
    check_type("against", against, str)
    if against not in _BASES:
        message = f"unknown baseline {reprlib.repr(against)}; expected one of {', '.join(_BASES)}"
        raise OptionError(message, option="against")
    if not hasattr(frame, "columns"):
        found = type(frame).__name__
        raise TypeError(f"frame must be a DataFrame that compare() returned, not {found}")
    sessions = "turn" in frame
    needed = ["turn", "format", "bytes", "tokens"] if sessions else [
        "input", "format", "reader", "round_trip", *(f"{unit}_vs_{against}" for unit in _UNITS)
    ]  # fmt: skip
    missing = [column for column in needed if column not in frame]
    if missing:
        message = (
            f"the frame has no column {reprlib.repr(missing[0])}: pass the result of compare()"
        )
        raise CompactWireError(message)
    if frame.empty:
        raise CompactWireError("the frame has no rows")
    with need("matplotlib", "matplotlib").rc_context(_STYLE):
        figure: Figure = _turns(frame) if sessions else _bars(frame, against)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=13, fontweight="bold")
    return figure


def _new(width: float, height: float) -> Any:
    """Create a figure that a notebook displays without pyplot."""
    matplotlib_figure: Any = need("matplotlib.figure", "matplotlib").Figure

    class Shown(matplotlib_figure):  # type: ignore[misc]
        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            self.savefig(
                file, format="png", dpi=110, bbox_inches="tight", metadata={"Software": ""}
            )
            return file.getvalue()

    Shown.__name__ = Shown.__qualname__ = "Figure"
    return Shown(figsize=(width, height), layout="constrained")


def _bars(frame: pd.DataFrame, against: Base) -> Any:
    times = {f"{way}_seconds{part}" for way in ("encode", "decode") for part in _PARTS}
    timed = times <= set(frame.columns) and bool(frame["encode_seconds"].notna().any())
    inputs, formats = list(frame["input"].unique()), list(frame["format"].unique())
    each = inputs if len(inputs) <= len(_COLOURS) else []
    lines = len(formats) * max(1, len(each))
    figure = _new(11.5 if timed else 9, 1.4 + (0.22 if len(each) > 1 else 0.36) * lines)
    axes = figure.subplots(1, 3 if timed else 2, sharey=True)
    for axis, unit in zip(axes, _UNITS, strict=False):
        axis.set_title(f"{unit}, of {_BASES[against]}")
        _shares(axis, frame, f"{unit}_vs_{against}", formats, each)
    if timed:
        axes[2].set_title("time of a call")
        _times(axes[2], frame, formats)
    axes[0].set_yticks(range(len(formats)), [_label(frame, name) for name in formats])
    axes[0].invert_yaxis()
    for axis in axes:
        axis.tick_params(axis="y", length=0)
    _legend(figure, frame, each, timed)
    return figure


def _label(frame: pd.DataFrame, name: str) -> str:
    rows = frame[frame["format"] == name]
    if rows["round_trip"].all():
        return name
    return f"{name} (lossy)" if rows["bytes"].notna().any() else f"{name} (not carried)"


def _shares(
    axis: Any, frame: pd.DataFrame, column: str, formats: list[str], each: list[str]
) -> None:
    """Draw a bar per format and input, or per format with its range."""
    height = 0.8 / max(1, len(each))
    biggest = 1.0
    for place, name in enumerate(formats):
        rows = frame[frame["format"] == name]
        program = rows["reader"].iloc[0] == "program"
        groups = [rows.loc[rows["input"] == key, column] for key in each] or [rows[column]]
        for at, values in enumerate(groups):
            y = place + (at - (len(groups) - 1) / 2) * height
            colour = _COLOURS[at] if len(each) > 1 else (_ORANGE if program else _BLUE)
            hatch = _HATCH if program else None
            biggest = max(biggest, _share(axis, y, values.dropna(), height * 0.92, colour, hatch))
    axis.axvline(1, color="black", linestyle="--", linewidth=1, zorder=1.5)
    axis.set_xlim(0, biggest * 1.17)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")


def _share(
    axis: Any, y: float, values: Any, height: float, colour: str, hatch: str | None
) -> float:
    """Draw one bar, with the range of several values; return how far it reaches."""
    if values.empty:
        axis.text(0, y, "  -", va="center", color=_DARK)
        return 0.0
    middle, low, high = float(values.median()), float(values.min()), float(values.max())
    axis.barh(y, middle, height, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
    if len(values) > 1:
        axis.plot([low, high], [y, y], color="black", linewidth=1.2, solid_capstyle="butt")
    axis.annotate(_percent(middle), (high, y), (4, 0), textcoords="offset points", va="center",
                  bbox={"facecolor": "white", "linewidth": 0, "pad": 0.6})  # fmt: skip
    return high


def _percent(value: float) -> str:
    return f"{value:.1%}" if value < 0.0995 else f"{value:.0%}"


def _times(axis: Any, frame: pd.DataFrame, formats: list[str]) -> None:
    """Draw encode and decode times with quartiles; for several inputs, their medians."""
    medians = frame.groupby("format")[["encode_seconds", "decode_seconds"]].median()
    limit = float(medians.max().max()) * 1.4
    for place, name in enumerate(formats):
        rows = frame[frame["format"] == name]
        for at, (way, colour) in enumerate((("encode", _DARK), ("decode", _LIGHT))):
            columns = [f"{way}_seconds{part}" for part in _PARTS]
            middle, low, high = (float(rows[column].median()) for column in columns)
            if middle != middle:  # NaN: the format cannot carry the input.
                continue
            y = place + (at - 0.5) * 0.4
            axis.barh(y, middle, 0.37, color=colour)
            end = min(high, limit)
            axis.plot([low, end], [y, y], color="black", linewidth=1.2, solid_capstyle="butt")
            if high > limit:  # Outliers must not make the bars unreadable.
                axis.plot(limit, y, color="black", marker=">", markersize=4)
            axis.annotate(say_seconds(middle), (end, y), (5, 0), textcoords="offset points",
                          va="center", fontsize=8)  # fmt: skip
    axis.set_xlim(0, limit * 1.3)
    axis.xaxis.set_major_locator(need("matplotlib.ticker", "matplotlib").MaxNLocator(4))
    axis.xaxis.set_major_formatter(lambda value, _: say_seconds(value) if value else "0")


def _legend(figure: Any, frame: pd.DataFrame, each: list[str], timed: bool) -> None:
    patch = need("matplotlib.patches", "matplotlib").Patch
    line = need("matplotlib.lines", "matplotlib").Line2D
    readers = set(frame["reader"])
    handles = []
    if len(each) > 1:
        handles += [
            patch(color=colour, label=str(name))
            for name, colour in zip(each, _COLOURS, strict=False)
        ]
        if "program" in readers:
            handles.append(patch(facecolor="#bbbbbb", edgecolor="white", hatch=_HATCH,
                                 label="for programs: no model can read it"))  # fmt: skip
    else:
        if "model" in readers:
            handles.append(patch(color=_BLUE, label="a model can read it"))
        if "program" in readers:
            handles.append(patch(facecolor=_ORANGE, edgecolor="white", hatch=_HATCH,
                                 label="for programs: no model can read it"))  # fmt: skip
    if not each:
        count = frame["input"].nunique()
        handles.append(line([], [], color="black", label=f"smallest to largest of {count} inputs"))
    if timed:
        handles += [patch(color=_DARK, label="write"), patch(color=_LIGHT, label="read")]
    figure.legend(handles=handles, loc="outside lower left", ncols=len(handles), frameon=False)


def _turns(frame: pd.DataFrame) -> Any:
    """Draw bytes and tokens of each turn, with totals in the legend."""
    figure = _new(11, 4.2)
    for axis, unit in zip(figure.subplots(1, 2), _UNITS, strict=True):
        for name, rows in frame.groupby("format", sort=False):
            label, colour, marker = _WAYS.get(str(name), (str(name), _GREEN, "x"))
            total = int(rows[unit].sum())
            axis.plot(rows["turn"], rows[unit], color=colour, marker=marker, markersize=4,
                      label=f"{label}; {total:,} in all")  # fmt: skip
        axis.set_title(f"{unit} sent in each turn")
        axis.set_xlabel("turn")
        axis.set_ylim(0, float(frame[unit].max()) * 1.35)
        axis.set_xlim(left=0)
        axis.xaxis.set_major_locator(
            need("matplotlib.ticker", "matplotlib").MaxNLocator(8, integer=True)
        )
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axis.legend(loc="upper left", frameon=False)
    return figure
