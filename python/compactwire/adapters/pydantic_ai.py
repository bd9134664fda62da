"""Shrinks the results of tools in Pydantic AI agents, when they are made."""

from __future__ import annotations

import dataclasses

from .._tools import ToolShrinker
from ..errors import CompactWireError

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ToolReturn
except ImportError as error:
    message = (
        "compactwire.adapters.pydantic_ai needs Pydantic AI: pip install 'pydantic-ai-slim>=2.68'"
    )
    raise ImportError(message, name=error.name, path=error.path) from error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from .._tools import ToolOptions

__all__ = ["CompactToolResults"]


class CompactToolResults(AbstractCapability[object]):
    """A capability that shrinks what tools return before it enters the conversation.

    A str is shrunk as a text. A list or dict of JSON is shrunk as a value: the model is sent GCF if
    that is shorter; otherwise the value stays a value. The `return_value` of a `ToolReturn` is
    treated in the same way. Images, files, other objects, retries and the output of an agent stay
    as they are.

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
    >>> from pydantic_ai import Agent  # doctest: +SKIP
    >>> agent = Agent(model, capabilities=[CompactToolResults()])  # doctest: +SKIP

    Source: an extension of this package.
    """

    def __init__(self, **options: Unpack[ToolOptions]) -> None:
        self._tools = ToolShrinker("pydantic-ai", **options)

    async def after_tool_execute(
        self, ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any
    ) -> Any:
        """Shrink the result of a call."""
        del ctx, tool_def
        if not isinstance(result, ToolReturn):
            return self._shrunk(call.tool_name, args, result)
        value = self._shrunk(call.tool_name, args, result.return_value)
        if value is result.return_value:
            return result
        return dataclasses.replace(result, return_value=value)

    def _shrunk(self, tool: str, arguments: object, value: Any) -> Any:
        if isinstance(value, str):
            return self._tools.text(tool, arguments, value)
        if not isinstance(value, list | dict) or self._tools.kept(tool, arguments):
            return value
        try:
            shrunk = self._tools.value(tool, value)
        except (CompactWireError, TypeError):
            # A part is an image or another object, which Pydantic AI itself writes.
            return value
        return shrunk.text if shrunk.format == "gcf" else value
