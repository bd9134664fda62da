"""What shrinking saved: a record for each tool result, and their sums.

Adapters, middleware and the HTTP transport take `on_saving`, a callable that gets a `Saving` for
each text they looked at, also for those that stayed as they were. A `Savings` is such a callable:
it keeps sums, not records, so that its size depends on the number of tools alone.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from ._texts import short_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

__all__ = ["Saving", "Savings", "Total"]

# Names of tools come from servers, which may make up as many as they like.
_MAX_TOOLS = 1_000
_OTHERS = "(others)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What became of one tool result, or of one body between agents.

    Attributes
    ----------
    source : str
        Who saved: `"mcp"`, `"fastmcp"`, `"langchain"`, `"openai-agents"`, `"pydantic-ai"` or
        `"http"`.
    tool : str
        The name of the tool; for `"http"`, the direction: `"request"` or `"response"`.
    format : str
        What was passed on: `"text"` (the input as it came), `"json"`, `"gcf"` or `"session"`.
    before, after : int
        The size of the text before and after, in `unit`.
    unit : {"tokens", "bytes"}
        The unit of all sizes here.
    exact : bool
        True if `before` and `after` were counted, False if they are estimates.
    reason : str
        Why nothing was saved, or an empty string. The words are those of `compactwire.Shrunk`;
        adapters add `"excluded"` and `"document"`, MCP `"error"`, `"differs"` (the structured
        content says something else than the text), `"no-text"` and `"time"`.
    structured : int or None
        The size of the structured content as compact JSON, None if the result had none.
    dropped : bool
        True if the structured content was left out because the text says the same.
    microseconds : int
        The time that the work took.

    Source: an extension of this package.
    """

    source: str
    tool: str
    format: str
    before: int
    after: int
    unit: Literal["tokens", "bytes"] = "tokens"
    exact: bool = False
    reason: str = ""
    structured: int | None = None
    dropped: bool = False
    microseconds: int = 0

    @property
    def saved(self) -> int:
        """`before - after`."""
        return self.before - self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """The sums of the records of one tool.

    Attributes
    ----------
    calls : int
        The number of records.
    before, after : int
        The sums of their sizes.
    reasons : dict of str to int
        How often each reason for saving nothing occurred.

    Source: an extension of this package.
    """

    calls: int = 0
    before: int = 0
    after: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    @property
    def saved(self) -> int:
        """`before - after`."""
        return self.before - self.after


class Savings:
    """Sums of savings by tool, safe for several threads.

    Pass the object as `on_saving` to as many adapters as you like; print it for a table.

    Examples
    --------
    >>> from compactwire.savings import Saving, Savings
    >>> savings = Savings()
    >>> savings(Saving(source="mcp", tool="list_issues", format="gcf", before=1082, after=335))
    >>> savings.total.saved
    747
    >>> print(savings)
    tool         calls   before    after
    list_issues      1    1,082      335
    all              1    1,082      335

    Source: an extension of this package.
    """

    __slots__ = ("_lock", "_tools")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, Total] = {}

    def __call__(self, saving: Saving, /) -> None:
        """Add a record."""
        with self._lock:
            name = saving.tool
            if name not in self._tools and len(self._tools) >= _MAX_TOOLS:
                name = _OTHERS
            self._tools[name] = _sum(self._tools.get(name, Total()), saving)

    @property
    def by_tool(self) -> dict[str, Total]:
        """The sums by name of the tool, a copy, in the order of their first record.

        From the 1,001st name on, tools are summed as `"(others)"`.
        """
        with self._lock:
            return dict(self._tools)

    @property
    def total(self) -> Total:
        """The sum of all records."""
        return add(self.by_tool.values())

    def __repr__(self) -> str:
        total = self.total
        return f"<Savings: {total.calls} calls, {total.before} before, {total.after} after>"

    def __str__(self) -> str:
        rows = [*self.by_tool.items(), ("all", self.total)]
        names = [short_line(name) for name, _ in rows]
        width = max(len(name) for name in (*names, "tool"))
        lines = [f"{'tool':{width}}  {'calls':>5}  {'before':>7}  {'after':>7}"]
        for name, (_, total) in zip(names, rows, strict=True):
            lines.append(f"{name:{width}}  {total.calls:5,}  {total.before:7,}  {total.after:7,}")
        return "\n".join(lines)


def add(totals: Iterable[Total]) -> Total:
    """The sum of these totals."""
    calls = before = after = 0
    reasons: dict[str, int] = {}
    for total in totals:
        calls += total.calls
        before += total.before
        after += total.after
        for reason, count in total.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
    return Total(calls=calls, before=before, after=after, reasons=reasons)


def _sum(total: Total, saving: Saving) -> Total:
    reasons = {saving.reason: 1} if saving.reason else {}
    one = Total(calls=1, before=saving.before, after=saving.after, reasons=reasons)
    return add((total, one))
