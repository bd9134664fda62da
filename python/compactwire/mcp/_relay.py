"""Passes JSON-RPC messages between a host and an MCP server, and shrinks the results of tools.

The relay is not an MCP server: it answers nothing itself and knows no version of the protocol. It
remembers the ids of the host's requests to know which answer is the result of a tool, and replaces
parts of these answers.

Invariant: every other byte of every message passes unchanged, also those of methods and members
that are not known yet.

Source: an extension of this package; messages are those of JSON-RPC 2.0, and the members of results
those of the Model Context Protocol, versions 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass

from ._messages import SUBSCRIPTION, cancelled_id, each, id_key, is_answer, read_message
from ._readers import EVERYBODY, MODEL, has_interface, is_of_program, is_verbatim, roles
from ._schemas import slim
from ._spans import Edit, Span, apply, elements, exact_value, members, removal, skip_space, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from ._messages import Key
    from ._project import Projector

__all__ = ["MAX_READ", "Passthrough", "Relay"]

# How many cancelled requests are remembered: they may never be answered.
_MAX_CANCELLED = 10_000

_SERVER_ENDED = -32000

# Longer messages pass unread: values made from JSON take up to fifty times its size.
MAX_READ = 8 << 20

# Tools of which the relay remembers what their definitions say.
_MAX_TOOLS = 10_000


@dataclass(frozen=True, slots=True)
class _Call:
    """A request of the host: its method, and for `tools/call` the tool and why its text is kept."""

    method: object
    tool: str = ""
    kept: str = ""


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a block, and the roles that it is meant for."""

    span: Span
    roles: frozenset[str]


class Relay:
    """One connection. Each direction may have a thread of its own.

    `warn` is called with a line about a message that was not passed on.
    """

    # What the relay waits for after the host has closed its input.
    awaited = "answer"

    def __init__(self, projector: Projector, warn: Callable[[str], object]) -> None:
        self._projector = projector
        self._warn = warn
        self._pending: dict[Key, _Call] = {}
        # Which of the pending requests are cancelled, the oldest first.
        self._cancelled: dict[Key, None] = {}
        self._lock = threading.Lock()
        # By the hash of a tool's name, which may be long. A host that knows an output schema
        # refuses a result without structured content, so only tools of the first set may lose it.
        self._without_schema: set[int] = set()
        self._with_interface: set[int] = set()

    def from_host(self, line: bytes) -> bytes:
        """Note the requests of a line of the host, and return what the server is sent."""
        message, whole = read_message(line, MAX_READ)
        for one in each(message):
            key = id_key(one.get("id"))
            if "method" in one and key is not None:
                self._note(key, one, whole=whole)
            elif one.get("method") == "notifications/cancelled":
                self._cancel(cancelled_id(one))
        return line

    def _cancel(self, key: Key | None) -> None:
        with self._lock:
            if key is None or key not in self._pending:
                return
            # The answer may still come.
            self._cancelled[key] = None
            if len(self._cancelled) > _MAX_CANCELLED:
                oldest = next(iter(self._cancelled))
                del self._cancelled[oldest], self._pending[oldest]

    def is_busy(self) -> bool:
        """Whether a request of the host waits for an answer."""
        with self._lock:
            return any(
                call.method != SUBSCRIPTION and key not in self._cancelled
                for key, call in self._pending.items()
            )

    def _note(self, key: Key, request: dict[str, Any], *, whole: bool) -> None:
        method, params = request["method"], request.get("params")
        # A call whose arguments cannot be read may read a file, so its result is left as it is.
        call = _Call(method if whole or method == "tools/list" else None)
        if method == "tools/call" and isinstance(params, dict):
            tool = params.get("name")
            if isinstance(tool, str):
                call = _Call(method, tool, self._projector.kept(tool, params.get("arguments")))
        with self._lock:
            # An id that is used again counts as the newest, and as it is written now.
            self._take(key)
            self._pending[key] = call

    def _take(self, key: Key) -> _Call | None:
        """Remove a pending request. The lock is held."""
        self._cancelled.pop(key, None)
        return self._pending.pop(key, None)

    def from_server(self, line: bytes) -> bytes | None:
        """Return what the host gets for a line of the server; None if the line is not a message."""
        message, whole = read_message(line, MAX_READ)
        if message is None:
            if line.strip():
                self._warn("the server sent a line that is not a JSON-RPC message; it was dropped")
            return None
        answered = list(self._answered(message))
        if not whole and message == []:
            # A batch whose answers are not known.
            with self._lock:
                answered = list(self._pending.values())
        del message  # For the edits, values as large are made once more.
        if not any(answered):
            return line
        edited = self._edited(line, answered) if whole else None
        if edited is None:
            if any(call and call.method == "tools/list" for call in answered):
                self._without_schema.clear()
            return line
        return edited

    def _edited(self, line: bytes, answered: list[_Call | None]) -> bytes | None:
        """The line after the edits of its answers; None if it must pass as it came."""
        try:
            text = line.decode()
            starts = _starts(text)
            edits = [
                edit
                for call, at in zip(answered, starts, strict=True)
                if call is not None
                for edit in self._edits(text, members(text, at), call)
            ]
            return apply(text, edits).encode()
        except (ValueError, RecursionError, MemoryError):
            # Not UTF-8, a key occurs twice, or a schema has a number or str that cannot be written.
            return None

    def _answered(self, message: Any) -> Iterator[_Call | None]:
        """For each message of the line, the request that it answers with a result of tools."""
        for one in message if isinstance(message, list) else (message,):
            call = None
            answers = isinstance(one, dict) and is_answer(one)
            key = id_key(one.get("id")) if answers else None
            if key is not None:
                with self._lock:
                    call = self._take(key)
                if "result" not in one:
                    call = None
            yield call if call and call.method in ("tools/call", "tools/list") else None

    def _edits(self, text: str, message: dict[str, Span], call: _Call) -> Iterable[Edit]:
        at = message["result"].value
        if text[at] != "{":
            return ()
        result = members(text, at)
        if call.method == "tools/list":
            return self._edits_of_tools(text, result)
        return self._edits_of_result(text, result, call)

    def _edits_of_tools(self, text: str, result: dict[str, Span]) -> Iterator[Edit]:
        tools = [tool for tool in _objects(text, result.get("tools")) if tool is not None]
        for tool in tools:
            if has_interface(_member(text, tool, "_meta")):
                _remember(self._with_interface, _member(text, tool, "name"))
        for tool in tools:
            # The program of an interface may call any tool, and reads structured content.
            if self._projector.drop and not self._with_interface:
                if "outputSchema" in tool:
                    yield removal(tool, "outputSchema")
                _remember(self._without_schema, _member(text, tool, "name"))
            if self._projector.slim and "inputSchema" in tool:
                span = tool["inputSchema"]
                old = exact_value(text, span.value)
                new = slim(old)
                if new != old:
                    yield Edit(span.value, span.end, _compact(new))

    def _edits_of_result(self, text: str, result: dict[str, Span], call: _Call) -> Iterator[Edit]:
        content = result.get("content")
        if content is None or text[content.value] != "[":
            return
        if "resultType" in result and value_at(text, result["resultType"].value) != "complete":
            return
        blocks = [_text_of(text, block) for block in _objects(text, content)]
        texts = [
            value_at(text, block.span.value) if block and MODEL in block.roles else None
            for block in blocks
        ]
        if "isError" in result and value_at(text, result["isError"].value) is not False:
            self._projector.error(call.tool, texts)
            return
        structured = None
        if "structuredContent" in result:
            span = result["structuredContent"]
            if text[span.value] in "{[":
                structured = text[span.value : span.end]
        kept, stays = self._kept(call, _member(text, result, "_meta"), blocks)
        change = self._projector.result(call.tool, kept, texts, structured, stays)
        for index, new in change.texts.items():
            block = blocks[index]
            if block is not None:
                yield Edit(block.span.value, block.span.end, _compact(new))
        if change.added is not None:
            added = [{"type": "text", "text": change.added}]
            yield Edit(content.value, content.end, _compact(added))
        if change.drop:
            yield removal(result, "structuredContent")

    def _kept(self, call: _Call, meta: object, blocks: list[_Text | None]) -> tuple[str, str]:
        """Why the texts of a result stay, and why its structured content does."""
        tool = hash(call.tool)
        if tool in self._with_interface or is_of_program(call.tool) or has_interface(meta):
            return "app", "app"
        kept = call.kept or ("verbatim" if is_verbatim(meta) else "")
        if self._with_interface:
            return kept, "app"
        if tool not in self._without_schema:
            return kept, "unlisted"
        everybody = all(block.roles == EVERYBODY for block in blocks if block)
        return kept, "" if everybody else "audience"

    def unanswered(self, message: str, data: object) -> Iterator[bytes]:
        """An error for each request that has no answer, when the server has ended."""
        with self._lock:
            pending, self._pending, self._cancelled = self._pending, {}, {}
        for _, identity in pending:
            error = {"code": _SERVER_ENDED, "message": message, "data": data}
            answer = {"jsonrpc": "2.0", "id": identity, "error": error}
            # An id may be a lone surrogate, which UTF-8 does not have.
            yield json.dumps(answer).encode() + b"\n"


class Passthrough:
    """A relay that changes nothing, and answers nothing."""

    awaited = "end"

    def from_host(self, line: bytes) -> bytes:
        """The line."""
        return line

    def from_server(self, line: bytes) -> bytes | None:
        """The line."""
        return line

    def is_busy(self) -> bool:
        """True: it is not known."""
        return True

    def unanswered(self, _message: str, _data: object) -> Iterator[bytes]:
        """Nothing."""
        return iter(())


def _starts(text: str) -> list[int]:
    """Where the messages of a line begin: a line is one message or an array of them."""
    at = skip_space(text, 0)
    return [span.value for span in elements(text, at)] if text[at] == "[" else [at]


def _objects(text: str, array: Span | None) -> list[dict[str, Span] | None]:
    """The elements of an array, None for each that is no object."""
    if array is None or text[array.value] != "[":
        return []
    found = elements(text, array.value)
    return [members(text, one.value) if text[one.value] == "{" else None for one in found]


def _text_of(text: str, block: dict[str, Span] | None) -> _Text | None:
    """The text of a block of text."""
    if block is None or "type" not in block or "text" not in block:
        return None
    if value_at(text, block["type"].value) != "text" or text[block["text"].value] != '"':
        return None
    return _Text(block["text"], roles(_member(text, block, "annotations")))


def _member(text: str, found: dict[str, Span], key: str) -> Any:
    """The value of a member, None if there is none."""
    return value_at(text, found[key].value) if key in found else None


def _remember(names: set[int], name: object) -> None:
    if isinstance(name, str) and len(names) < _MAX_TOOLS:
        names.add(hash(name))


def _compact(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # To a host that splits its input with `str.splitlines`, these would end the message.
    for character in "\x85\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
