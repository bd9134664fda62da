"""The LangChain adapter: what a model is sent by agents and tool nodes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import compactwire as cw
from compactwire.savings import Savings
from tests.agents import ROWS, TEXT, needed

needed("langchain")

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from compactwire.adapters.langchain import CompactToolResults

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


@tool
def list_rows() -> str:
    """List rows."""
    return TEXT


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return TEXT


@tool
def show(path: str) -> str:
    """Show a file."""
    return TEXT


@tool
def blocks() -> list[Any]:
    """Text and an image."""
    return [{"type": "text", "text": TEXT}, IMAGE]


@tool(response_format="content_and_artifact")
def with_artifact() -> tuple[str, Any]:
    """A text for the model, rows for the program."""
    return TEXT, ROWS


@tool
def fails() -> str:
    """Raise."""
    raise ValueError(TEXT)


@tool
def moves() -> Command[Any]:
    """Update the state."""
    return Command(update={"messages": [ToolMessage(TEXT, tool_call_id="c1")]})


TOOLS = [list_rows, read_file, show, blocks, with_artifact, fails, moves]


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def called(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1"}])


def run(name: str, *, is_async: bool = False, options: Any = None, **arguments: Any) -> Any:
    """The tool message of an agent that calls this tool."""
    model = Model(messages=iter([called(name, **arguments), AIMessage("done")]))
    agent = create_agent(model, TOOLS, middleware=[CompactToolResults(**(options or {}))])
    asked = {"messages": [HumanMessage("go")]}
    answer = asyncio.run(agent.ainvoke(asked)) if is_async else agent.invoke(asked)
    return next(one for one in answer["messages"] if isinstance(one, ToolMessage))


@pytest.mark.parametrize("is_async", [False, True])
def test_a_model_is_sent_the_short_text(is_async: bool) -> None:
    message = run("list_rows", is_async=is_async)
    assert message.content == cw.shrink(TEXT).text != TEXT
    assert cw.expand(message.content) == ROWS
    assert (message.tool_call_id, message.name, message.status) == ("c1", "list_rows", "success")


def test_files_stay_as_they_are() -> None:
    assert run("read_file", path="a.txt").content == TEXT
    assert run("show", path="data/a.json").content == TEXT
    assert run("show", path="a.txt").content != TEXT
    assert run("read_file", options={"exclude": ()}, path="a.txt").content != TEXT


def test_images_and_artifacts_stay_as_they_are() -> None:
    assert run("blocks").content == [{"type": "text", "text": cw.shrink(TEXT).text}, IMAGE]
    message = run("with_artifact")
    assert message.content == cw.shrink(TEXT).text
    assert message.artifact == ROWS


def test_errors_and_commands_stay_as_they_are() -> None:
    compact = CompactToolResults()
    failed = ToolMessage(TEXT, tool_call_id="c1", status="error")
    command: Command[Any] = Command(update={"messages": [ToolMessage(TEXT, tool_call_id="c1")]})
    request = type("Request", (), {"tool_call": {"name": "list_rows", "args": {}}})()
    assert compact.wrap_tool_call(request, lambda _: failed) is failed
    assert compact.wrap_tool_call(request, lambda _: command) is command
    with pytest.raises(ValueError, match='"state"'):
        run("fails")
    assert run("moves").content == TEXT


def test_a_stream_has_the_short_text() -> None:
    model = Model(messages=iter([called("list_rows"), AIMessage("done")]))
    agent = create_agent(model, TOOLS, middleware=[CompactToolResults()])
    asked = {"messages": [HumanMessage("go")]}
    parts = [part for part in agent.stream(asked, stream_mode="updates") if "tools" in part]
    assert parts[0]["tools"]["messages"][0].content == cw.shrink(TEXT).text


def test_a_bare_tool_node_takes_the_methods() -> None:
    compact = CompactToolResults()
    node = ToolNode(
        TOOLS, wrap_tool_call=compact.wrap_tool_call, awrap_tool_call=compact.awrap_tool_call
    )
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    answer = graph.compile().invoke({"messages": [called("list_rows")]})
    assert answer["messages"][-1].content == cw.shrink(TEXT).text


def test_savings_are_reported() -> None:
    savings = Savings()
    run("list_rows", options={"on_saving": savings})
    run("read_file", options={"on_saving": savings}, path="a.txt")
    shrunk = cw.shrink(TEXT)
    assert savings.by_tool["list_rows"].before == shrunk.tokens_before
    assert savings.by_tool["list_rows"].after == shrunk.tokens_after
    assert savings.by_tool["read_file"].reasons == {"excluded": 1}


def test_options_are_checked_at_once() -> None:
    with pytest.raises(cw.OptionError, match="min_saving"):
        CompactToolResults(min_saving=2)
    with pytest.raises(TypeError, match="colour"):
        CompactToolResults(colour="red")  # type: ignore[call-arg]
