"""Shrinks the results of tools in what models of Pydantic AI agents are sent."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

from .._threads import run_or_leave
from .._tools import ConversationShrinker, ToolShrinker, parsed

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
except ImportError as error:
    message = (
        "compactwire.adapters.pydantic_ai needs Pydantic AI: pip install 'pydantic-ai-slim>=2.68'"
    )
    raise ImportError(message, name=error.name, path=error.path) from error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Unpack

    from .._tools import ToolOptions

__all__ = ["CompactToolResults"]


class CompactToolResults(AbstractCapability[object]):
    """A capability that shrinks the results of tools in the messages that a model is sent.

    Messages of the run and of the history keep the values that the tools returned. Texts are
    shrunk, and so are lists, dicts, models and other values, as the JSON that Pydantic AI would
    write for them. Images, files, errors, retries, denied calls and the output of an agent stay as
    they are. The same conversation always becomes the same messages, and one that grew at its end
    keeps its beginning, as prompt caches need.

    Parameters
    ----------
    **options
        The options of `compactwire.adapters`. `on_saving` is called when a text is first sent to
        the model, not for each request that repeats it.

    Raises
    ------
    TypeError, OptionError
        An option has another type, or a value that is not allowed.

    Examples
    --------
    >>> from pydantic_ai import Agent  # doctest: +SKIP
    >>> agent = Agent(model, capabilities=[CompactToolResults()])  # doctest: +SKIP

    Source: an extension of this package.
    """

    def __init__(self, **options: Unpack[ToolOptions]) -> None:
        self._tools = ToolShrinker("pydantic-ai", **options)
        self._texts = ConversationShrinker(self._tools)

    async def prepare_model_request(self, ctx: Any, request_context: Any) -> Any:
        """Shrink the results in the messages of one request, which are not stored."""
        outputs = {tool.name for tool in request_context.model_request_parameters.output_tools}
        run_id = getattr(ctx, "run_id", None)
        messages = await self._messages(request_context.messages, outputs, run_id)
        return dataclasses.replace(request_context, messages=messages)

    async def _messages(
        self, messages: list[Any], outputs: set[str], run_id: str | None
    ) -> list[Any]:
        calls: dict[str, tuple[str, object]] = {}
        answered = max(
            (at for at, message in enumerate(messages) if isinstance(message, ModelResponse)),
            default=-1,
        )
        done = []
        for at, message in enumerate(messages):
            if isinstance(message, ModelResponse):
                for part in message.parts:
                    if isinstance(part, ToolCallPart):
                        calls[part.tool_call_id] = (part.tool_name, part.args)
            elif isinstance(message, ModelRequest):
                parts = [
                    await self._part(part, calls, run_id, new=at > answered)
                    if isinstance(part, ToolReturnPart) and part.tool_name not in outputs
                    else part
                    for part in message.parts
                ]
                if any(new is not old for new, old in zip(parts, message.parts, strict=True)):
                    message = dataclasses.replace(message, parts=parts)
            done.append(message)
        return done

    async def _part(
        self, part: Any, calls: dict[str, tuple[str, object]], run_id: str | None, *, new: bool
    ) -> Any:
        # Parts with a kind have content of a certain type, which Pydantic AI itself reads.
        if part.outcome != "success" or part.tool_kind is not None:
            return part
        call, tool = part.tool_call_id, part.tool_name
        name, arguments = calls.get(call, ("", None))
        reason = self._tools.kept(tool, parsed(arguments) if name == tool else None)
        # Some models number the calls of each run from the start.
        shorten = functools.partial(self._texts.text, (run_id, call), reason, tool, new=new)
        content = await _content(part, shorten, is_new=new)
        return part if content is part.content else dataclasses.replace(part, content=content)


def _written(part: Any) -> list[Any]:
    """What Pydantic AI would send: a text, or texts and files."""
    return part.content_items(mode="str") if part.files else [part.model_response_str()]


async def _content(part: Any, shorten: Callable[[str], str], *, is_new: bool) -> Any:
    """The content of a part, or a text or a list of texts and files in its place."""
    if isinstance(part.content, Iterator):
        # It can be read once only; the next request would have another text for it.
        return part.content
    files = part.files
    try:
        items = _written(part)
        # An iterator in it can be read once only, and the next request has another text.
        if is_new and not isinstance(part.content, str) and items != _written(part):
            return part.content
    except (ValueError, TypeError, RecursionError):
        # Pydantic AI cannot write it as JSON, and will say so itself.
        return part.content
    # Values are written in this thread, as Pydantic AI does: their code may depend on it.
    done = [
        await run_or_leave(len(item), shorten, item) if isinstance(item, str) else item
        for item in items
    ]
    if all(new is old for new, old in zip(done, items, strict=True)):
        return part.content
    if not files:
        return done[0]
    return [
        kept if new is old else new
        for new, old, kept in zip(done, items, part.content, strict=True)
    ]
