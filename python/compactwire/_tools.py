"""Shrinks the results of tools: which ones are left alone, and the record of each.

All adapters share it. A result is judged by the name of its tool, the arguments of the call and
the text alone, so that the same conversation always becomes the same text, as prompt caches need.
"""

from __future__ import annotations

import json
import re
import time
from fnmatch import fnmatchcase
from math import inf
from sys import getsizeof
from typing import NamedTuple

from ._core import shrink
from ._guard import Guard, or_else, soon
from ._table import Table
from ._texts import iterated
from .savings import Saving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Literal, TypedDict

    from ._core import Shrunk

    class ToolOptions(TypedDict, total=False):
        """The options of all adapters: which tools, and those of `shrink`."""

        include: Iterable[str]
        exclude: Iterable[str]
        on_saving: Callable[[Saving], object] | None
        formats: Iterable[Literal["json", "gcf"]]
        tokenizer: str | Callable[[str], int]
        extensions: bool
        min_saving: float
        min_tokens: int
        max_size: int
        max_depth: int


# Names of tools whose texts are files: a model that edits by exact match must see them as they are.
VERBATIM = (
    "*[Rr]ead*[Ff]ile*",
    "*[Ff]ile*[Rr]ead*",
    "*[Ff]ile*[Cc]ontent*",
    "*[Gg]et_[Ff]ile*",
    "*[Gg]etFile*",
    "*[Oo]pen*[Ff]ile*",
    "*[Ll]oad*[Ff]ile*",
    "*[Ss]how*[Ff]ile*",
    "*[Vv]iew*[Ff]ile*",
    "*[Ff]ile*[Vv]iew*",
    "*[Cc]at_[Ff]ile*",
    "*[Cc]atFile*",
    "*[Rr]ead*[Nn]otebook*",
    "*[Nn]otebook*[Rr]ead*",
    "*[Tt]ext_[Ee]ditor*",
    "*str_replace*",
    "[Rr]ead",
    "[Oo]pen",
    "[Vv]iew",
    "cat",
    # Hosts put the name of a server before that of its tool, as do servers that mount another one
    # (`fs_read`). After one "_", the other verbs are mostly of data (`table_view`, `issues_open`).
    "*__[Oo]pen",
    "*__[Vv]iew",
    "*_[Rr]ead",
    "*_cat",
    "*[Ff]etch*",
)
# The end of the name of a JSON file, anywhere in an argument: `cat a.json | head`, `a.json?raw=1`.
# In code, `.json()` and `.map(` are calls.
_DOCUMENT = re.compile(
    r"\.(?:json[5cl]?|jsonld|ndjson|geojson|topojson|ipynb|map|har|lock|webmanifest|tfstate|gltf"
    r"|code-workspace|(?:babel|eslint|prettier|swc)rc)(?![\w(])",
    re.IGNORECASE,
)
# How deep a name is looked for: tools have it at the top, or in one of a list of edits.
_ARGUMENT_DEPTH = 4

# Adapters that are given the whole conversation at each turn see each text again and again. Longer
# texts are shrunk each time, so that what is remembered stays small.
_REMEMBERED, _LONG, _MEMORY = 256, 1 << 16, 32 << 20
# How many texts that were reported are known again, by their hashes: less than 1 MB.
_REPORTED = 4_096


class ToolShrinker:
    """Shrinks texts of tool results by one set of options, which it checks when it is made."""

    __slots__ = ("_exclude", "_include", "_on_saving", "_options", "_source")

    def __init__(
        self,
        source: str,
        /,
        *,
        include: Iterable[str] = ("*",),
        exclude: Iterable[str] = VERBATIM,
        on_saving: Callable[[Saving], object] | None = None,
        formats: Iterable[Literal["json", "gcf"]] = ("json", "gcf"),
        tokenizer: str | Callable[[str], int] = "estimate",
        extensions: bool = True,
        min_saving: float = 0.1,
        min_tokens: int = 16,
        max_size: int = 4_194_304,
        max_depth: int = 128,
    ) -> None:
        self._source = source
        self._include = patterns("include", include)
        self._exclude = patterns("exclude", exclude)
        if on_saving is not None and not callable(on_saving):
            raise TypeError(f"on_saving must be callable, not {type(on_saving).__name__}")
        self._on_saving = on_saving
        # An iterator would be empty after the first text. `shrink` refuses a str.
        is_text = isinstance(formats, str)
        self._options: dict[str, Any] = {
            "formats": formats if is_text else tuple(iterated("formats", formats, "str")),
            "tokenizer": tokenizer,
            "extensions": extensions,
            "min_saving": min_saving,
            "min_tokens": min_tokens,
            "max_size": max_size,
            "max_depth": max_depth,
        }
        # Otherwise an invalid option would be noticed only at the first result.
        shrink("", **self._options)

    def text(self, tool: str, arguments: object, text: str) -> str:
        """The text of a result of this call, shortened; the same object if nothing is gained."""
        return self.text_unless(self.kept(tool, arguments), tool, text)

    def text_unless(self, reason: str, tool: str, text: str) -> str:
        """The text, shortened unless there is a reason to keep it."""
        if reason:
            # Counting takes as long as shrinking, so only where somebody asks.
            if self.reports:
                self.report(tool, [self.count(text)], reason=reason)
            return text
        return self.value(tool, text).text

    def value(self, tool: str, value: object) -> Shrunk:
        """A str or value, shortened whatever the tool is, and its record."""
        start = time.perf_counter()
        shrunk = self.shorten(value)
        seconds = time.perf_counter() - start
        self.report(tool, [shrunk], reason=shrunk.reason, seconds=seconds)
        return shrunk

    @property
    def max_size(self) -> int:
        """Longer texts, in bytes, stay as they are."""
        size: int = self._options["max_size"]
        return size

    def shorten(self, value: object, **changed: Any) -> Shrunk:
        """A str or value, shortened by these options and those that are changed; no record."""
        return shrink(value, **{**self._options, **changed})

    def kept(self, tool: str, arguments: object) -> str:
        """Why a result of this call is left as it is: `"excluded"`, `"document"` or `""`."""
        if not matches(tool, self._include) or matches(tool, self._exclude):
            return "excluded"
        return "document" if names_document(arguments) else ""

    def count(self, text: str) -> Shrunk:
        """The text as it is, with its number of tokens."""
        return self.shorten(text, formats=())

    @property
    def reports(self) -> bool:
        """Whether somebody takes the records."""
        return self._on_saving is not None

    def report(
        self,
        tool: str,
        texts: Sequence[Shrunk],
        *,
        reason: str,
        structured: int | None = None,
        dropped: bool = False,
        added: bool = False,
        seconds: float = 0.0,
    ) -> None:
        """Pass on the record of one result, which may have several texts or none.

        `added` is whether the texts are new: the result had none before.
        """
        if self._on_saving is None:
            return
        formats = {one.format for one in texts}
        self._on_saving(
            Saving(
                source=self._source,
                tool=tool,
                format=next((name for name in ("gcf", "json") if name in formats), "text"),
                before=0 if added else sum(one.tokens_before for one in texts),
                after=sum(one.tokens_after for one in texts),
                exact=bool(texts) and all(one.exact for one in texts),
                reason=reason,
                structured=structured,
                dropped=dropped,
                microseconds=int(seconds * 1e6),
            )
        )


class _Timed(NamedTuple):
    shrunk: Shrunk
    seconds: float
    size: int
    """The bytes of memory of both texts."""


class ConversationShrinker:
    """Shrinks the texts of a conversation that is passed whole at each turn, and reports each once.

    A text is reported when it is new, that is, when no answer of the model follows it. What is
    remembered saves time; it never changes a text.
    """

    __slots__ = ("_guard", "_kept", "_reported", "_tools")

    def __init__(self, tools: ToolShrinker) -> None:
        self._tools = tools
        self._guard = Guard()
        self._kept: Table[str, _Timed] = Table(
            most=_REMEMBERED, idle_s=inf, memory=_MEMORY, clock=time.monotonic
        )
        self._reported: dict[int, None] = {}

    def text(self, call: object, reason: str, tool: str, text: str, *, new: bool) -> str:
        """A text of the result of this call, shortened unless there is a reason to keep it."""
        # One of a subclass may be equal to other texts.
        exact = str.__str__(text)
        report = new and self._tools.reports and self._first((str(call), tool, exact))
        if reason:
            if report:
                self._tools.text_unless(reason, tool, text)
            return text
        shrunk, seconds, _ = self._remembered(exact)
        if report:
            self._tools.report(tool, [shrunk], reason=shrunk.reason, seconds=seconds)
        return text if shrunk.format == "text" else shrunk.text

    def _remembered(self, text: str) -> _Timed:
        if len(text) > _LONG:
            return self._timed(text)
        found = self._look_up(text)
        if found is None:
            found = self._timed(text)
            self._keep(text, found)
        return found

    def _timed(self, text: str) -> _Timed:
        start = time.perf_counter()
        shrunk = self._tools.shorten(text)
        seconds = time.perf_counter() - start
        return _Timed(shrunk, seconds, getsizeof(text) + getsizeof(shrunk.text))

    @or_else(None)
    def _look_up(self, text: str) -> _Timed | None:
        return self._kept.get(text)

    @soon
    def _keep(self, text: str, found: _Timed) -> None:
        self._kept.put(text, found)

    @or_else(False)
    def _first(self, text: tuple[str, str, str]) -> bool:
        """Whether a text was not reported yet. A request that is sent again has old ones."""
        key = hash(text)
        if key in self._reported:
            return False
        self._reported[key] = None
        if len(self._reported) > _REPORTED:
            del self._reported[next(iter(self._reported))]
        return True


def parsed(arguments: object) -> object:
    """The arguments of a call, which are JSON or a dict; their text if Python cannot read it."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def patterns(option: str, given: Iterable[str]) -> tuple[str, ...]:
    """The patterns of `include` or `exclude`, checked."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise TypeError(f"{option} must be a list of patterns, not {type(given).__name__}")
    found = tuple(given)
    for pattern in found:
        if not isinstance(pattern, str):
            raise TypeError(f"{option} must hold str, not {type(pattern).__name__}")
    return found


def matches(tool: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns matches the name, whose case counts."""
    return any(fnmatchcase(tool, pattern) for pattern in patterns)


def names_document(arguments: object, depth: int = _ARGUMENT_DEPTH) -> bool:
    """Whether a str in these arguments has the name of a file of JSON."""
    if isinstance(arguments, str):
        return _DOCUMENT.search(arguments) is not None
    if depth == 0:
        return False
    if isinstance(arguments, dict):
        return any(names_document(item, depth - 1) for item in arguments.values())
    if isinstance(arguments, list | tuple):
        return any(names_document(item, depth - 1) for item in arguments)
    return False
