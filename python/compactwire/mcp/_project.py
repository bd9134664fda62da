"""What becomes of the result of an MCP tool: which texts are shrunk, and what is left out.

The relay and the middleware share it: it knows texts, not messages, and nothing of any SDK.

Invariant: a model pays for no result more than before, whether its host shows it the text or the
structured content; and texts of tools that read files stay as they are, to the byte.

Source: an extension of this package; the members of results are those of the Model Context
Protocol, versions 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

import reprlib
import time
from dataclasses import dataclass, field

from .._tools import ToolShrinker
from ..errors import OptionError
from ._same import as_hosts_write, carries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Unpack

    from .._core import Shrunk
    from .._tools import ToolOptions

# A result that takes longer goes on as it came; a host has a time limit of its own.
_SECONDS = 2.0

# The margins of `shrink` at which it takes the form with the fewest tokens, whatever it saves.
_CHEAPEST: dict[str, Any] = {"min_saving": 0.0, "min_tokens": 0}


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a result.

    Attributes
    ----------
    texts : dict of int to str
        The new texts, by the index of their block in `content`.
    added : str or None
        The text of a block to add to a result that has none.
    drop : bool
        True if `structuredContent` is to be left out, because a text says the same.
    """

    texts: dict[int, str] = field(default_factory=dict)
    added: str | None = None
    drop: bool = False


class Projector:
    """Decides by one set of options, which it checks when it is made."""

    __slots__ = ("_tools", "drop", "slim")

    def __init__(
        self,
        source: str,
        /,
        *,
        structured: str = "drop",
        definitions: str = "as-is",
        **options: Unpack[ToolOptions],
    ) -> None:
        self.drop = _one_of("structured", structured, "keep", "drop") == "drop"
        self.slim = _one_of("definitions", definitions, "as-is", "slim") == "slim"
        self._tools = ToolShrinker(source, **options)

    def kept(self, tool: str, arguments: object) -> str:
        """Why the texts of this call are left as they are: "excluded", "document" or ""."""
        return self._tools.kept(tool, arguments)

    def error(self, tool: str, texts: Sequence[str | None]) -> None:
        """Record a result that reports an error, which always stays as it is."""
        if self._tools.reports:
            found = [self._tools.count(text) for text in texts if text]
            self._tools.report(tool, found, reason="error")

    def result(
        self, tool: str, kept: str, texts: Sequence[str | None], structured: str | None
    ) -> Change:
        """Decide what becomes of a result.

        `texts` has the text of each block of `content`, None for a block of another type; `kept` is
        what the method `kept` said; `structured` is the structured content as a JSON text.
        """
        start = time.perf_counter()
        found: dict[int, Shrunk] = {}
        for index, text in enumerate(texts):
            if time.perf_counter() - start > _SECONDS:
                return self._late(tool, texts, start)
            if text is not None:
                found[index] = self._tools.count(text) if kept else self._tools.shorten(text)
        spelled = None if structured is None else as_hosts_write(structured)
        cost = None if spelled is None else self._tools.count(spelled)
        change, shrunk, reason = self._decide(texts, structured, cost, found, kept)
        self._tools.report(
            tool,
            shrunk,
            reason=reason,
            structured=cost.tokens_after if cost else None,
            dropped=change.drop,
            seconds=time.perf_counter() - start,
        )
        return change

    def _decide(
        self,
        texts: Sequence[str | None],
        structured: str | None,
        cost: Shrunk | None,
        found: dict[int, Shrunk],
        kept: str,
    ) -> tuple[Change, list[Shrunk], str]:
        """The change, its texts, and why nothing changed."""
        reason = kept
        drop = False
        if self.drop and structured is not None and cost is not None and cost.reason != "size":
            if not texts and not kept:
                only = self._tools.shorten(structured)
                if only.tokens_after <= cost.tokens_after:
                    return Change(added=only.text, drop=True), [only], ""
            index = next(iter(found)) if len(found) == 1 else None
            if index is None or not carries(texts[index] or "", structured):
                reason = reason or "differs"
            else:
                if found[index].tokens_after > cost.tokens_after and not kept:
                    found[index] = self._tools.shorten(texts[index] or "", **_CHEAPEST)
                drop = found[index].tokens_after <= cost.tokens_after
        changed = {
            index: shrunk.text for index, shrunk in found.items() if shrunk.text != texts[index]
        }
        if drop or changed:
            reason = ""
        elif not reason:
            reason = next((shrunk.reason for shrunk in found.values()), "no-text")
        return Change(changed, drop=drop), list(found.values()), reason

    def _late(self, tool: str, texts: Sequence[str | None], start: float) -> Change:
        """A result that took too long stays as it came."""
        seconds = time.perf_counter() - start
        shrunk = [self._tools.count(text) for text in texts if text][:1]
        self._tools.report(tool, shrunk, reason="time", seconds=seconds)
        return Change()


def _one_of(option: str, value: object, *allowed: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{option} must be a str, not {type(value).__name__}")
    if value not in allowed:
        names = " or ".join(map(repr, allowed))
        raise OptionError(f"{option} must be {names}, not {reprlib.repr(value)}", option=option)
    return value
