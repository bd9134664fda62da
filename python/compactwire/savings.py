"""Records of the savings: one for each tool result, and their sums.

Adapters, the MCP middleware and the HTTP transport take `on_saving`, a callable that gets a
`Saving` for each text they looked at, also for those that stayed as they were. It is called where
the work is done, possibly in several threads at once; an exception that it raises is not caught. A
`Savings` is such a callable: it keeps sums, not records, so that its size depends on the number of
tools alone. The ledger of ``compactwire mcp proxy`` is another one.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

from ._texts import short_line
from .errors import OptionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

__all__ = ["Saving", "Savings", "Total"]

# Names of tools come from servers, which may make up as many as they like, of any length.
_MAX_TOOLS = 1_000
_MAX_NAME = 128
_OTHERS = "(others)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """The record of one tool result, or of one body between agents.

    Attributes
    ----------
    source : str
        The part of this package: `"mcp"`, `"fastmcp"`, `"langchain"`, `"openai-agents"`,
        `"pydantic-ai"` or `"http"`.
    tool : str
        The name of the tool; for `"http"`, the direction: `"request"` or `"response"`.
    format : str
        The form that was passed on: `"text"` (the input as it came), `"json"`, `"gcf"` or
        `"session"`.
    before, after : int
        The size of the text before and after, in `unit`.
    unit : {"tokens", "bytes"}
        The unit of all sizes here.
    exact : bool
        True if `before` and `after` were counted, False if they are estimates.
    reason : str
        Why nothing was saved, or an empty string. The words are those of `compactwire.Shrunk`;
        adapters add `"excluded"`, `"document"` and `"program"` (a program that the model wrote
        reads the result); MCP adds `"error"`, `"differs"` (the structured content says something
        else than the text, or other blocks stand beside it), `"no-text"`, `"time"`,
        `"verbatim"` (the server says that its texts must stay as they are), and where structured
        content stays: `"app"` (a user interface reads it), `"audience"` (the text is not for
        everybody) and `"unlisted"` (the host was not sent the tool's definition); HTTP has
        `"no-session"`, `"new"`, `"busy"`, `"size"`, `"encoded"`, `"not-text"`, `"no-gain"`
        and `"refused"`.
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
    structured_before, structured_after : int
        The same for a host that shows the model the structured content of a result where there is
        one: `structured` before, and the text after if the structured content was dropped.
    reasons : dict of str to int
        How often each reason for saving nothing occurred.
    exact : bool
        True if all sizes were counted, False if one of them is an estimate.

    Source: an extension of this package.
    """

    calls: int = 0
    before: int = 0
    after: int = 0
    structured_before: int = 0
    structured_after: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    exact: bool = True

    @property
    def saved(self) -> int:
        """`before - after`."""
        return self.before - self.after


class Savings:
    """Sums of savings by tool, safe for several threads.

    Pass the object as `on_saving` to as many adapters as you like; print it for a table. Tokens
    and bytes are never added up with each other.

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
    Tokens are estimated.

    Source: an extension of this package.
    """

    __slots__ = ("_lock", "_sums")

    def __init__(self) -> None:
        # A handler of a signal, or `__del__`, may add a record while its thread adds one.
        self._lock = threading.RLock()
        self._sums: dict[str, dict[str, Total]] = {"tokens": {}, "bytes": {}}

    def __call__(self, saving: Saving, /) -> None:
        """Add a record."""
        if saving.unit not in self._sums:
            message = f"unit must be 'tokens' or 'bytes', not {saving.unit!r}"
            raise OptionError(message, option="unit")
        sums = self._sums[saving.unit]
        name = saving.tool if len(saving.tool) <= _MAX_NAME else short_line(saving.tool, _MAX_NAME)
        one = _one(saving)
        add((one,))  # Before the tool gets its row: it may have values that are no numbers.
        with self._lock:
            if name not in sums and len(sums) >= _MAX_TOOLS:
                name = _OTHERS
            before = sums.setdefault(name, Total())
            after = add((before, one))
            while sums[name] is not before:  # A record was added meanwhile, in this thread.
                before = sums[name]
                after = add((before, one))
            sums[name] = after

    @property
    def by_tool(self) -> dict[str, Total]:
        """The sums in tokens by name of the tool, a copy, in the order of their first record.

        From the 1,001st name on, tools are summed as `"(others)"`; names are cut after 128
        characters.
        """
        return self._copy("tokens")

    @property
    def total(self) -> Total:
        """The sum of all records in tokens."""
        return add(self.by_tool.values())

    @property
    def in_bytes(self) -> dict[str, Total]:
        """The sums in bytes, as `by_tool`: those of the HTTP transport, by direction."""
        return self._copy("bytes")

    def _copy(self, unit: str) -> dict[str, Total]:
        found = dict(self._sums[unit])
        return {name: replace(one, reasons=dict(one.reasons)) for name, one in found.items()}

    def __repr__(self) -> str:
        total = self.total
        return f"<Savings: {total.calls} calls, {total.before} before, {total.after} after>"

    def __str__(self) -> str:
        tokens, in_bytes = self.by_tool, self.in_bytes
        total = add(tokens.values())
        rows = [*tokens.items(), ("all", total)] if tokens or not in_bytes else []
        if in_bytes:
            rows += [(f"{name}, bytes", each) for name, each in in_bytes.items()]
            rows.append(("all, bytes", add(in_bytes.values())))
        names = [short_line(name) for name, _ in rows]
        width = max(len(name) for name in (*names, "tool"))
        lines = [f"{'tool':{width}}  {'calls':>5}  {'before':>7}  {'after':>7}"]
        for name, (_, each) in zip(names, rows, strict=True):
            lines.append(f"{name:{width}}  {each.calls:5,}  {each.before:7,}  {each.after:7,}")
        if tokens:
            lines.append(f"Tokens are {'counted' if total.exact else 'estimated'}.")
        return "\n".join(lines)


def add(totals: Iterable[Total]) -> Total:
    """The sum of these totals."""
    found = list(totals)
    reasons: dict[str, int] = {}
    for total in found:
        for reason, count in total.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
    return Total(
        calls=sum(one.calls for one in found),
        before=sum(one.before for one in found),
        after=sum(one.after for one in found),
        structured_before=sum(one.structured_before for one in found),
        structured_after=sum(one.structured_after for one in found),
        reasons=reasons,
        exact=all(one.exact for one in found),
    )


def _one(saving: Saving) -> Total:
    structured = saving.before if saving.structured is None else saving.structured
    kept = saving.structured is not None and not saving.dropped
    return Total(
        calls=1,
        before=saving.before,
        after=saving.after,
        structured_before=structured,
        structured_after=structured if kept else saving.after,
        reasons={saving.reason: 1} if saving.reason else {},
        exact=saving.exact,
    )
