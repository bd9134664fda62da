"""The Pydantic AI adapter: what a model is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import compactwire as cw
from compactwire.savings import Savings
from tests.agents import ROWS, TEXT, needed

needed("pydantic_ai")

from pydantic_ai import Agent, BinaryContent, ModelRetry, ToolReturn
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from compactwire.adapters.pydantic_ai import CompactToolResults

IMAGE = BinaryContent(b"\x89PNG", media_type="image/png")
SHORT = cw.shrink(TEXT).text


def sent(
    result: Any, *, name: str = "rows", arguments: Any = None, options: Any = None
) -> list[Any]:
    """The parts that a model is sent after it called a tool with this result."""
    seen: list[Any] = []

    def answer(messages: list[Any], info: Any) -> ModelResponse:
        seen[:] = messages[-1].parts
        if len(messages) == 1:
            return ModelResponse([ToolCallPart(name, arguments or {"path": "x"}, "c1")])
        return ModelResponse([TextPart("done")])

    agent = Agent(FunctionModel(answer), capabilities=[CompactToolResults(**(options or {}))])

    def tool(path: str) -> Any:
        if isinstance(result, Exception):
            raise result
        return result

    agent.tool_plain(name=name)(tool)
    assert asyncio.run(agent.run("go")).output == "done"
    return seen


def test_a_text_is_sent_short() -> None:
    (part,) = sent(TEXT)
    assert part.content == SHORT
    assert (part.tool_name, part.tool_call_id) == ("rows", "c1")


def test_a_value_is_sent_as_the_shortest_text() -> None:
    assert sent(ROWS)[0].content == cw.shrink(ROWS).text
    assert sent({"a": 1})[0].content == {"a": 1}
    assert sent(ToolReturn(ROWS, metadata="m"))[0].content == cw.shrink(ROWS).text
    assert sent(ToolReturn(ROWS, metadata="m"))[0].metadata == "m"


def test_everything_else_stays_as_it_is() -> None:
    assert sent(7)[0].content == 7
    assert sent(TEXT, name="read_file")[0].content == TEXT
    assert sent(ROWS, name="read_file")[0].content == ROWS
    assert sent(TEXT, arguments={"path": "a.json"})[0].content == TEXT
    assert IMAGE in _flat(sent(IMAGE))
    assert IMAGE in _flat(sent([TEXT, IMAGE]))
    retried = sent(ModelRetry(TEXT))[0]
    assert (retried.content, retried.outcome) == (TEXT, "retried")


def _flat(parts: list[Any]) -> list[Any]:
    found = []
    for part in parts:
        found += part.content if isinstance(part.content, list) else [part.content]
    return found


def test_savings_are_reported() -> None:
    savings = Savings()
    sent(ROWS, options={"on_saving": savings})
    assert savings.by_tool["rows"].saved == cw.shrink(ROWS).saved > 0


def test_options_are_checked_at_once() -> None:
    with pytest.raises(cw.OptionError, match="min_saving"):
        CompactToolResults(min_saving=2)
