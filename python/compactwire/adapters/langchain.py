"""Shrinks the results of tools in LangChain agents and LangGraph tool nodes, when they are made."""

from __future__ import annotations

from .._chat import called_by_program, each_part, member, size_of
from .._threads import run_or_leave
from .._tools import ToolShrinker

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import AIMessage, ToolMessage
except ImportError as error:
    message = "compactwire.adapters.langchain needs LangChain: pip install 'langchain>=1.4'"
    raise ImportError(message, name=error.name, path=error.path) from error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from typing import Any, Unpack

    from .._tools import ToolOptions

__all__ = ["CompactToolResults"]


class CompactToolResults(AgentMiddleware):
    """Middleware that shrinks the text of each `ToolMessage` before it enters the conversation.

    Texts and text blocks are shrunk; errors, `Command` results, artifacts, images, ids and results
    of tools with `return_direct` stay as they are. Put it last in the list, so that approvals and
    retries are around it. In a bare `ToolNode`, pass the methods: ``ToolNode(tools,
    wrap_tool_call=compact.wrap_tool_call, awrap_tool_call=compact.awrap_tool_call)``.

    Parameters
    ----------
    **options
        The options of `compactwire.adapters`.

    Raises
    ------
    TypeError, OptionError
        An option has another type, or a value that is not allowed.

    Examples
    --------
    >>> from langchain.agents import create_agent  # doctest: +SKIP
    >>> agent = create_agent(model, tools, middleware=[CompactToolResults()])  # doctest: +SKIP

    Source: an extension of this package.
    """

    def __init__(self, **options: Unpack[ToolOptions]) -> None:
        super().__init__()
        self._tools = ToolShrinker("langchain", **options)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the tool and shrink its result."""
        return self._shrunk(request, handler(request))

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Call the tool and shrink its result."""
        result = await handler(request)
        found = result if isinstance(result, list) else [result]
        size = sum(size_of(one.content) for one in found if isinstance(one, ToolMessage))
        return await run_or_leave(size, self._shrunk, request, result)

    def _shrunk(self, request: Any, result: Any) -> Any:
        if isinstance(result, list):  # A tool may return messages and commands.
            return [self._shrunk(request, one) for one in result]
        if not isinstance(result, ToolMessage) or result.status == "error":
            return result
        # The result is the answer for the user: no model sees it.
        if getattr(request.tool, "return_direct", False):
            return result
        call = request.tool_call
        name, kept = call["name"], self._tools.kept(call["name"], call["args"])
        reason = "program" if _called_by_program(request) else kept

        def shorten(text: str) -> str:
            return self._tools.text_unless(reason, name, text)

        content = result.content
        new = shorten(content) if isinstance(content, str) else each_part(content, "text", shorten)
        return result if new is content else result.model_copy(update={"content": new})


def _messages(state: Any) -> Iterator[Any]:
    """The messages of a state, the last ones first. A `ToolNode` may have them by another name."""
    values = state if isinstance(state, dict) else getattr(state, "__dict__", {})
    usual = member(state, "messages")
    for messages in [state] if isinstance(state, list) else [usual, *values.values()]:
        if isinstance(messages, list):
            yield from reversed(messages)


def _called_by_program(request: Any) -> bool:
    """Whether a program made the call. Only the blocks of the message with the call tell."""
    state, call = getattr(request, "state", None), request.tool_call.get("id")
    for message in _messages(state):
        if isinstance(message, AIMessage) and any(one["id"] == call for one in message.tool_calls):
            blocks = message.content if isinstance(message.content, list) else []
            # The standard blocks of LangChain keep what is special to a provider apart.
            return any(
                called_by_program(block) or called_by_program(member(block, "extras"))
                for block in blocks
                if call in (member(block, "id"), member(block, "call_id"))
            )
    return False
