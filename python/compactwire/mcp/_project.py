"""The rules for the result of an MCP tool: which texts are shrunk, and what is left out.

The relay and the middleware share it: it knows texts, not messages, and nothing of any SDK.

Invariant: a model pays for no result more than before, whether its host shows it the text or the
structured content, unless the result had no block to show; and texts of tools that read files stay
as they are, to the byte.

Source: an extension of this package; the members of results are those of the Model Context
Protocol, versions 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

import reprlib
import time
from dataclasses import dataclass, field

from .._core import estimate_tokens
from .._tools import ToolShrinker
from ..errors import OptionError
from ._same import as_hosts_write, carries, in_gcf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from .._core import Shrunk
    from .._tools import ToolOptions

# A result whose texts take longer goes on as it came; a host has a time limit of its own. The time
# is checked between texts; that of one text is bounded by `max_size`.
_SECONDS = 2.0

# Longer texts and structured content, in characters, are not compared, which takes some seconds for
# every few megabytes. It is far more than hosts show a model.
_MAX_COMPARED = 1 << 20

# GCF and JSON split into different tokens, so that their estimates err differently. With this
# margin no host paid more by o200k_base in `benches.structured`.
_ESTIMATE_ERROR = 0.1


@dataclass(frozen=True, slots=True)
class Change:
    """The change to a result.

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
            self._tools.report(tool, self._counted(texts), reason="error")

    def result(
        self,
        tool: str,
        kept: str,
        texts: Sequence[str | None],
        structured: str | None,
        stays: str = "",
    ) -> Change:
        """Decide how a result changes.

        `texts` has the text of each block of `content`, None for a block of another type; `kept` is
        what the method `kept` said; `structured` is the structured content as a JSON text; `stays`
        is a word for the reason that the structured content stays, if there is one.
        """
        start = time.perf_counter()
        found: dict[int, Shrunk] = {}
        reason = "size" if sum(len(text) for text in texts if text) > self._tools.max_size else ""
        for index, text in enumerate(texts):
            if not reason and time.perf_counter() - start > _SECONDS:
                reason = "time"
            if text is not None and not reason:
                found[index] = self._tools.count(text) if kept else self._tools.shorten(text)
        if reason:
            self._unread(tool, texts, structured, reason, time.perf_counter() - start)
            return Change()
        cost, unknown = self._cost(structured)
        stays = stays or unknown
        change, shrunk, reason = self._decide(texts, structured, cost, found, kept, stays)
        self._tools.report(
            tool,
            shrunk,
            reason=reason,
            structured=cost,
            dropped=change.drop,
            added=change.added is not None,
            seconds=time.perf_counter() - start,
        )
        return change

    def _cost(self, structured: str | None) -> tuple[int | None, str]:
        """The tokens of structured content, in the cheaper of the ways that hosts write it.

        If these are not known, an estimate, and why the content stays.
        """
        if structured is None or len(structured) > _MAX_COMPARED:
            return _estimated(structured), ""
        written = as_hosts_write(structured)
        if not written:
            return _estimated(structured), "differs"
        return min(self._tools.count(text).tokens_after for text in written), ""

    def _decide(
        self,
        texts: Sequence[str | None],
        structured: str | None,
        cost: int | None,
        found: dict[int, Shrunk],
        kept: str,
        stays: str,
    ) -> tuple[Change, list[Shrunk], str]:
        """The change, its texts, and why nothing changed."""
        reason = kept
        drop = False
        if self.drop and structured is not None and cost is not None:
            # Hosts that show structured content show no other block, such as an image: without it,
            # their models would pay for that, too.
            index = 0 if len(texts) == len(found) == 1 else None
            if stays:
                reason = reason or stays
            elif not texts and not kept and _comparable(structured):
                only = self._tools.shorten(structured)
                if _costs_no_more(only, cost):
                    return Change(added=only.text, drop=True), [only], ""
            elif index is None or not _says_all(texts[index] or "", structured):
                reason = reason or "differs"
            else:
                if not _costs_no_more(found[index], cost) and not kept:
                    found[index] = self._cheapest(texts[index] or "", found[index])
                drop = _costs_no_more(found[index], cost)
        changed = {
            index: shrunk.text for index, shrunk in found.items() if shrunk.text != texts[index]
        }
        if drop or changed:
            reason = ""
        elif not reason:
            reason = next((shrunk.reason for shrunk in found.values()), "no-text")
        return Change(changed, drop=drop), list(found.values()), reason

    def _cheapest(self, text: str, shrunk: Shrunk) -> Shrunk:
        """The form with the fewest tokens, whatever `min_saving` and `min_tokens` are."""
        return self._tools.shorten(
            text, min_saving=0.0 if shrunk.exact else _ESTIMATE_ERROR, min_tokens=0
        )

    def _unread(
        self,
        tool: str,
        texts: Sequence[str | None],
        structured: str | None,
        reason: str,
        seconds: float,
    ) -> None:
        """Record a result that is too long, or took too long, and stays as it came."""
        if self._tools.reports:
            cost = _estimated(structured)
            found = self._counted(texts)
            self._tools.report(tool, found, reason=reason, structured=cost, seconds=seconds)

    def _counted(self, texts: Sequence[str | None]) -> list[Shrunk]:
        """The texts as they are, each with its number of tokens."""
        # A tokenizer takes a second for some megabytes.
        long = sum(len(text) for text in texts if text) > _MAX_COMPARED
        changed = {"tokenizer": "estimate"} if long else {}
        return [self._tools.shorten(text, formats=(), **changed) for text in texts if text]


def _costs_no_more(shrunk: Shrunk, structured: int) -> bool:
    """Whether a text has no more tokens than the structured content, also if both are estimates.

    JSON splits into tokens as the structured content does, so that its estimate errs alike, unless
    it has escapes where hosts write the characters themselves.
    """
    differs = in_gcf(shrunk.text) or "\\u" in shrunk.text
    margin = _ESTIMATE_ERROR if differs and not shrunk.exact else 0.0
    return shrunk.tokens_after <= structured * (1 - margin)


def _says_all(text: str, structured: str) -> bool:
    return _comparable(text) and _comparable(structured) and carries(text, structured)


def _comparable(text: str) -> bool:
    return len(text) <= _MAX_COMPARED


def _estimated(structured: str | None) -> int | None:
    return None if structured is None else estimate_tokens(structured)


def _one_of(option: str, value: object, *allowed: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{option} must be a str, not {type(value).__name__}")
    if value not in allowed:
        names = " or ".join(map(repr, allowed))
        raise OptionError(f"{option} must be {names}, not {reprlib.repr(value)}", option=option)
    return value
