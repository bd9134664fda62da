"""Shrinks the results of tools in the input of models of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
import functools
import inspect

from .._chat import called_by_program, each_part, member, size_of
from .._threads import run_or_leave
from .._tools import ConversationShrinker, ToolShrinker, parsed

try:
    from agents.run import ModelInputData
except ImportError as error:
    message = (
        "compactwire.adapters.openai_agents needs the OpenAI Agents SDK: "
        "pip install 'openai-agents>=0.24'"
    )
    raise ImportError(message, name=error.name, path=error.path) from error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, Unpack

    from .._tools import ToolOptions

__all__ = ["compact_input"]

# The type of an output, and of its call with the member that has the arguments.
_OUTPUTS = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
}
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}


def compact_input(
    inner: Callable[[Any], Any] | None = None, /, **options: Unpack[ToolOptions]
) -> Callable[[Any], Awaitable[Any]]:
    """Return a filter for the input of models that shrinks the results of tools.

    The stored session keeps the originals. The same conversation always becomes the same input, and
    one that grew at its end keeps its beginning, as prompt caches need.

    Parameters
    ----------
    inner : callable, optional
        Another filter, which is called first.
    **options
        The options of `compactwire.adapters`. `on_saving` is called when a text is first sent to
        the model, not for each turn that repeats it.

    Returns
    -------
    callable
        The filter, for ``RunConfig(call_model_input_filter=...)``.

    Raises
    ------
    TypeError, OptionError
        An option has another type, or a value that is not allowed.

    Examples
    --------
    >>> from agents import RunConfig, Runner  # doctest: +SKIP
    >>> config = RunConfig(call_model_input_filter=compact_input())  # doctest: +SKIP
    >>> result = await Runner.run(agent, "...", run_config=config)  # doctest: +SKIP

    Source: an extension of this package.
    """
    if inner is not None and not callable(inner):
        raise TypeError(f"inner must be callable, not {type(inner).__name__}")
    tools = ToolShrinker("openai-agents", **options)
    texts = ConversationShrinker(tools)

    async def compact(data: Any) -> Any:
        given = list(data.model_data.input)
        model_data = data.model_data if inner is None else inner(data)
        if inspect.isawaitable(model_data):
            model_data = await model_data
        if not isinstance(model_data, ModelInputData) or not isinstance(model_data.input, list):
            return model_data  # The SDK says what is wrong with it.
        items = model_data.input
        size = sum(size_of(item.get("output")) for item in items if isinstance(item, dict))
        done = await run_or_leave(size, _items, items, tools, texts)
        _keep_identity(given, items, done)
        return dataclasses.replace(model_data, input=done)

    return compact


def _items(items: list[Any], tools: ToolShrinker, texts: ConversationShrinker) -> list[Any]:
    calls: dict[tuple[str, str], tuple[str, str]] = {}
    answered = max((at for at, item in enumerate(items) if _is_answer(item)), default=-1)
    done = []
    for at, item in enumerate(items):
        # A damaged session can hold values of other types.
        kind, call = str(member(item, "type")), str(member(item, "call_id"))
        if kind in _ARGUMENTS:
            name = str(member(item, "name") or "")
            reason = tools.kept(name, parsed(member(item, _ARGUMENTS[kind])))
            calls[kind, call] = (_program(item) or reason, name)
        elif kind in _OUTPUTS and isinstance(item, dict):
            # The call is missing if the service keeps the earlier turns.
            reason, name = calls.get((_OUTPUTS[kind], call)) or (tools.kept("", None), "")
            reason = _program(item) or reason
            new = at > answered
            item = _output(item, functools.partial(texts.text, call, reason, name, new=new))
        done.append(item)
    return done


def _keep_identity(given: list[Any], items: list[Any], done: list[Any]) -> None:
    """Put each change into the item that the SDK gave, if it is this one or an equal one.

    The SDK copies each item for the filter, and knows by the identity of the copy what it has sent
    to a service that keeps the conversation, or else by its content, which another filter may have
    copied as it was. The other items of such a filter can be anybody's.
    """
    own = {id(item) for item in given}
    outputs = {_key(item): item for item in given if isinstance(item, dict)}
    for at, (old, new) in enumerate(zip(items, done, strict=True)):
        if new is old:
            continue
        kept = old if id(old) in own else outputs.get(_key(old))
        if kept is not None and kept == old:
            kept.update(new)
            done[at] = kept


def _key(item: dict[str, Any]) -> tuple[str, str]:
    return str(item.get("type")), str(item.get("call_id"))


def _is_answer(item: Any) -> bool:
    """Whether the model wrote this item."""
    kind = str(member(item, "type"))
    return member(item, "role") == "assistant" or kind == "reasoning" or kind in _ARGUMENTS


def _program(item: Any) -> str:
    return "program" if called_by_program(item) else ""


def _output(item: dict[str, Any], shorten: Callable[[str], str]) -> dict[str, Any]:
    old = item.get("output")
    new = shorten(old) if isinstance(old, str) else each_part(old, "input_text", shorten)
    return item if new is old else {**item, "output": new}
