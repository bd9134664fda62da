"""Shrinks the results of tools inside a FastMCP server, for its authors."""

from __future__ import annotations

import json
from contextvars import ContextVar

from ._project import Projector
from ._readers import EVERYBODY, MODEL, has_interface, is_of_program, is_verbatim, roles
from ._schemas import slim

try:
    import anyio.to_thread
    from anyio.lowlevel import RunVar
    from fastmcp.exceptions import NotFoundError
    from fastmcp.server.middleware import Middleware
    from fastmcp.server.transforms.catalog import CatalogTransform
    from fastmcp.tools import ToolResult, base
    from fastmcp.utilities.versions import VersionSpec
except ImportError as error:
    message = "compactwire.mcp.CompactMiddleware needs FastMCP: pip install 'fastmcp>=4.1,<5'"
    raise ImportError(message, name=error.name, path=error.path) from error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, Unpack

    from .._tools import ToolOptions
    from ._project import Change

__all__ = ["CompactMiddleware"]

# Results of tools whose output schema is not that of an object; FastMCP 4.1 has no such type.
_RAW = getattr(base, "RawStructuredToolResult", ToolResult)

# Characters of text from which the work leaves the event loop, which other calls wait for.
_LONG = 1 << 15

# How many results are worked on at once.
_AT_ONCE = 4

_threads: RunVar[anyio.CapacityLimiter] = RunVar("compactwire_threads")

# The middlewares around this call, by identity, each with the reasons why the results of the calls
# that its tool makes stay as they are.
_running: ContextVar[dict[int, list[str]]] = ContextVar("compactwire_running")


def _limiter() -> anyio.CapacityLimiter:
    """The threads of the event loop for this work.

    Those that tools run in may all wait for a call that waits for us.
    """
    limiter = _threads.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(_AT_ONCE)
        _threads.set(limiter)
    return limiter


class CompactMiddleware(Middleware):
    """A middleware of FastMCP servers that shrinks the results of their tools.

    Add it inside a middleware that limits responses, and outside of one that caches them.

    Parameters
    ----------
    structured : {"keep", "drop"}
        Whether structured content and output schemas stay as they are, for clients that read them,
        or leave a result whose text says the same. A host that shows a model the structured content
        saves something only with "drop". They stay in any case if a tool of the server has a user
        interface, whose program may call every tool, and if a search for tools stands in place of
        the list. A server that is mounted in another one does not know the tools of that one: with
        "drop", add the middleware to the outermost server.
    definitions : {"as-is", "slim"}
        Whether `$schema`, and titles that only repeat the name of a property, leave the definitions
        of tools.
    **options
        The options of `compactwire.adapters`.

    Raises
    ------
    TypeError, OptionError
        An option has another type, or a value that is not allowed.

    Examples
    --------
    >>> from fastmcp import FastMCP  # doctest: +SKIP
    >>> server = FastMCP("tasks")  # doctest: +SKIP
    >>> server.add_middleware(CompactMiddleware())  # doctest: +SKIP

    Source: an extension of this package.
    """

    def __init__(
        self,
        *,
        structured: Literal["keep", "drop"] = "keep",
        definitions: Literal["as-is", "slim"] = "as-is",
        **options: Unpack[ToolOptions],
    ) -> None:
        self._projector = Projector(
            "fastmcp", structured=structured, definitions=definitions, **options
        )
        # Whether a tool of the server has a user interface, None if that is not known yet. Once
        # true, it stays so: a client that was sent an output schema expects structured content.
        self._has_interfaces: bool | None = None

    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        """Shrink the result of a call."""
        running = _running.get({})
        outer = running.get(id(self))
        if outer is not None:
            # The code of a tool, or of a model in a sandbox, reads this result.
            result = await call_next(context)
            outer.append(await self._kept(context))
            return result
        inner: list[str] = []
        token = _running.set({**running, id(self): inner})
        try:
            result = await call_next(context)
        finally:
            _running.reset(token)
        # Other subclasses ask for input, or are a task.
        if type(result) not in (ToolResult, _RAW):
            return result
        tool, blocks = context.message.name, result.content
        readers = [roles(_plain(block.annotations)) for block in blocks if block.type == "text"]
        texts = [
            block.text
            if block.type == "text" and MODEL in roles(_plain(block.annotations))
            else None
            for block in blocks
        ]
        if result.is_error:
            self._projector.error(tool, texts)
            return result
        kept, stays = await self._kept(context), ""
        # A tool that passes on what others return, such as those that search for tools.
        kept = kept or next(filter(None, inner), "")
        if not kept and is_verbatim(result.meta):
            kept = "verbatim"
        if kept == "app" or has_interface(result.meta):
            kept = stays = "app"
        elif self._projector.drop and await self._serves_interfaces(context):
            stays = "app"
        elif any(found != EVERYBODY for found in readers):
            stays = "audience"
        structured = _as_json(result.structured_content)
        work = (tool, kept, texts, structured, stays)
        if sum(map(len, filter(None, (*texts, structured)))) < _LONG:
            return _changed(result, self._projector.result(*work))
        done = await anyio.to_thread.run_sync(self._projector.result, *work, limiter=_limiter())
        return _changed(result, done)

    async def _kept(self, context: Any) -> str:
        """Why the texts of this call are left as they are, as far as the call tells."""
        call = context.message
        if await _has_interface(context, call):
            return "app"
        return self._projector.kept(call.name, call.arguments)

    async def on_list_tools(self, context: Any, call_next: Any) -> Any:
        """Leave out of the definitions what the options say."""
        tools = await call_next(context)
        self._note_interfaces(tools)
        return [self._definition(tool) for tool in tools]

    def _note_interfaces(self, tools: Any) -> None:
        found = any(has_interface(tool.meta) for tool in tools)
        self._has_interfaces = self._has_interfaces or found

    async def _serves_interfaces(self, context: Any) -> bool:
        """Whether a tool has an interface, whose program may call any tool of the server."""
        if context.fastmcp_context is None:
            return bool(self._has_interfaces)
        server = context.fastmcp_context.fastmcp
        if _hides_tools(server):
            return True
        if self._has_interfaces is None:
            # Another process may have sent the client the list of tools.
            try:
                self._note_interfaces(await server.list_tools(run_middleware=False))
            except Exception:  # That of any provider, such as a server behind this one.
                return True
        return bool(self._has_interfaces)

    def _definition(self, tool: Any) -> Any:
        changed: dict[str, Any] = {}
        if self._projector.drop and tool.output_schema is not None and not self._has_interfaces:
            changed["output_schema"] = None
        if self._projector.slim:
            changed["parameters"] = slim(tool.parameters)
        return tool.model_copy(update=changed) if changed else tool


def _hides_tools(provider: Any) -> bool:
    """Whether a search for tools stands in place of them, in the list of a server or below it."""
    below = [
        *getattr(provider, "providers", ()),
        *filter(None, [getattr(provider, "server", None)]),
    ]
    transforms = getattr(provider, "transforms", ())
    return any(isinstance(one, CatalogTransform) for one in transforms) or any(
        map(_hides_tools, below)
    )


async def _has_interface(context: Any, call: Any) -> bool:
    """Whether the definition of the called tool names a user interface, or cannot be had."""
    if is_of_program(call.name):
        return True
    if context.fastmcp_context is None:
        return False
    try:
        server = context.fastmcp_context.fastmcp
        found = await server.get_tool(call.name, _version(call.meta))
    except NotFoundError:  # Another middleware answered the call.
        return False
    except Exception:  # That of any provider. The tool has run, and its result stays.
        return True
    return found is not None and has_interface(found.meta)


def _version(meta: Any) -> VersionSpec | None:
    """The version of a tool that a call is for, None for the highest."""
    fastmcp = meta.get("fastmcp") if isinstance(meta, dict) else None
    found = fastmcp.get("version") if isinstance(fastmcp, dict) else None
    if isinstance(found, dict):
        return VersionSpec(**found)
    return VersionSpec(eq=found) if found else None


def _plain(annotations: Any) -> Any:
    return None if annotations is None else {"audience": annotations.audience}


def _as_json(structured: Any) -> str | None:
    """Structured content as a JSON text; None if there is none, or JSON cannot say it."""
    if structured is None:
        return None
    try:
        text = json.dumps(structured, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return text


def _changed(result: Any, change: Change) -> Any:
    update: dict[str, Any] = {}
    if change.texts:
        update["content"] = [
            block.model_copy(update={"text": change.texts[index]})
            if index in change.texts
            else block
            for index, block in enumerate(result.content)
        ]
    if change.added is not None:
        update["content"] = ToolResult(content=change.added).content
    if change.drop:
        update["structured_content"] = None
        if type(result) is not ToolResult:
            # For another class, FastMCP would send null in place of structured content.
            content = update.get("content", result.content)
            return ToolResult(content=content, meta=result.meta)
    return result.model_copy(update=update) if update else result
