"""The LangChain adapter: what a model is sent by agents and tool nodes."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactwire as cw
from compactwire.savings import Savings
from tests.agents import ROWS, TEXT, needed

needed("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from pydantic import BaseModel

from compactwire.adapters.langchain import CompactToolResults

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
FILE = {"type": "file", "base64": "AA==", "mime_type": "application/json"}
SHORT = cw.shrink(TEXT).text


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
    """Text, an image and a file."""
    return [{"type": "text", "text": TEXT}, IMAGE, FILE]


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


def test_a_long_text_is_shrunk_in_another_thread() -> None:
    threads: list[int] = []
    options: Any = {"on_saving": lambda _: threads.append(threading.get_ident())}
    for text in (TEXT, f"[{TEXT}{(',' + TEXT) * 60}]"):
        request: Any = SimpleNamespace(tool=None, tool_call={"name": "rows", "args": {}})
        answer = partial(asyncio.sleep, 0, ToolMessage(text, tool_call_id="c1"))
        hook = CompactToolResults(**options).awrap_tool_call
        asyncio.run(hook(request, lambda _, answer=answer: answer()))
    assert threads[0] == threading.get_ident() != threads[1]


def test_files_stay_as_they_are() -> None:
    assert run("read_file", path="a.txt").content == TEXT
    assert run("show", path="data/a.json").content == TEXT
    assert run("show", path="a.txt").content != TEXT
    assert run("read_file", options={"exclude": ()}, path="a.txt").content != TEXT


def test_images_files_and_artifacts_stay_as_they_are() -> None:
    assert run("blocks").content == [{"type": "text", "text": SHORT}, IMAGE, FILE]
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


@tool
def several() -> list[Any]:
    """Update the state, and return a message."""
    return [Command(update={}), ToolMessage(TEXT, tool_call_id="c1")]


def test_a_message_among_commands_is_shrunk() -> None:
    model = Model(messages=iter([called("several"), AIMessage("done")]))
    agent = create_agent(model, [several], middleware=[CompactToolResults()])
    messages = agent.invoke({"messages": [HumanMessage("go")]})["messages"]
    assert [one.content for one in messages if isinstance(one, ToolMessage)] == [SHORT]


PROGRAM = {"caller": {"type": "code_execution_20250825", "tool_id": "s1"}}
DIRECT = {"caller": {"type": "direct"}}


@pytest.mark.parametrize(
    ("block", "content"),
    [
        ({"type": "tool_use", "id": "c1", **PROGRAM}, TEXT),
        ({"type": "tool_call", "id": "c1", "extras": PROGRAM}, TEXT),
        (
            {"type": "function_call", "id": "f1", "call_id": "c1", "caller": {"type": "program"}},
            TEXT,
        ),
        ({"type": "tool_use", "id": "c2", **PROGRAM}, SHORT),
        ({"type": "tool_use", "id": "c1", **DIRECT}, SHORT),
        ({"type": "tool_use", "id": "c1"}, SHORT),
    ],
)
def test_what_a_program_of_the_model_reads_stays_as_it_is(
    block: dict[str, Any], content: str
) -> None:
    call = called("list_rows").model_copy(update={"content": ["go", block]})
    model = Model(messages=iter([call, AIMessage("done")]), disable_streaming=True)
    agent = create_agent(model, TOOLS, middleware=[CompactToolResults()])
    messages = agent.invoke({"messages": [HumanMessage("go")]})["messages"]
    assert next(one for one in messages if isinstance(one, ToolMessage)).content == content


class History(TypedDict):
    history: Annotated[list[Any], add_messages]


@pytest.mark.parametrize(("key", "state"), [("messages", MessagesState), ("history", History)])
def test_a_tool_node_may_have_the_messages_by_another_name(key: str, state: Any) -> None:
    block = {"type": "tool_use", "id": "c1", **PROGRAM}
    call = called("list_rows").model_copy(update={"content": [block]})
    compact = CompactToolResults()
    node = ToolNode(TOOLS, messages_key=key, wrap_tool_call=compact.wrap_tool_call)
    graph = StateGraph(state)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    answer = graph.compile().invoke({key: [HumanMessage("go"), call]})
    assert answer[key][-1].content == TEXT


def test_a_result_for_the_user_stays_as_it_is() -> None:
    for_user = tool("report", description="Say a text.", return_direct=True)(lambda: TEXT)
    agent = create_agent(
        Model(messages=iter([called("report")])), [for_user], middleware=[CompactToolResults()]
    )
    answer = agent.invoke({"messages": [HumanMessage("go")]})["messages"][-1]
    assert (answer.type, answer.content) == ("tool", TEXT)


def streamed(mode: Any) -> list[Any]:
    """The parts of a stream in which a tool is called."""
    said = iter([called("list_rows"), AIMessage("done")])
    model = Model(messages=said, disable_streaming=True)
    agent = create_agent(
        model, TOOLS, middleware=[CompactToolResults()], checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    return list(agent.stream({"messages": [HumanMessage("go")]}, thread, stream_mode=mode))


@pytest.mark.parametrize("mode", ["values", "updates", "tasks", "checkpoints", "debug"])
def test_a_stream_has_the_short_text(mode: str) -> None:
    parts = repr(streamed(mode))
    assert repr(SHORT) in parts
    assert repr(TEXT) not in parts


def test_the_stream_of_tools_has_the_original() -> None:
    (finished,) = [part for part in streamed("tools") if part["event"] == "tool-finished"]
    assert finished["output"].content == TEXT


def test_streamed_messages_have_the_short_text() -> None:
    async def parts() -> list[Any]:
        said = iter([called("list_rows"), AIMessage("done")])
        model = Model(messages=said, disable_streaming=True)
        agent = create_agent(model, TOOLS, middleware=[CompactToolResults()])
        asked = {"messages": [HumanMessage("go")]}
        return [part async for part, _ in agent.astream(asked, stream_mode="messages")]

    found = [one for one in asyncio.run(parts()) if isinstance(one, ToolMessage)]
    assert [message.content for message in found] == [SHORT]


def decided(decision: dict[str, Any], mode: Any) -> Any:
    """The tool message after a person decided about the call."""
    model = Model(messages=iter([called("show", path="a.txt"), AIMessage("done")]))
    review = HumanInTheLoopMiddleware(interrupt_on={"show": True}, interrupt_mode=mode)
    agent = create_agent(
        model, TOOLS, middleware=[review, CompactToolResults()], checkpointer=InMemorySaver()
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    (paused,) = agent.invoke({"messages": [HumanMessage("go")]}, thread)["__interrupt__"]
    answer = {"decisions": [decision]} if mode == "batched" else {paused.id: decision}
    messages = agent.invoke(Command(resume=answer), thread)["messages"]
    return next(one for one in messages if isinstance(one, ToolMessage))


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_an_approved_call_is_shrunk_and_words_of_a_person_stay(mode: str) -> None:
    assert decided({"type": "approve"}, mode).content == SHORT
    edited = {"name": "show", "args": {"path": "b.txt"}}
    assert decided({"type": "edit", "edited_action": edited}, mode).content.endswith(SHORT)
    assert decided({"type": "respond", "message": TEXT}, mode).content == TEXT
    rejected = decided({"type": "reject", "message": TEXT}, mode)
    assert rejected.status == "error"
    assert TEXT in rejected.content


@pytest.mark.parametrize(("failures", "content"), [(1, SHORT), (9, TEXT)])
@pytest.mark.parametrize("is_outside", [True, False])
def test_a_tool_is_called_again_and_its_error_stays(
    failures: int, content: str, is_outside: bool
) -> None:
    calls: list[None] = []

    @tool
    def unsteady() -> str:
        """Fail a number of times."""
        calls.append(None)
        if len(calls) <= failures:
            raise TimeoutError
        return TEXT

    retry = ToolRetryMiddleware(
        max_retries=2, initial_delay=0, jitter=False, on_failure=lambda _: TEXT
    )
    middleware: list[Any] = [retry, CompactToolResults()]
    model = Model(messages=iter([called("unsteady"), AIMessage("done")]))
    agent = create_agent(
        model, [unsteady], middleware=middleware if is_outside else middleware[::-1]
    )
    answer = agent.invoke({"messages": [HumanMessage("go")]})
    assert [one.content for one in answer["messages"] if isinstance(one, ToolMessage)] == [content]
    assert len(calls) == min(failures + 1, 3)


class Rows(BaseModel):
    ids: list[int]


def test_structured_output_stays_as_it_is() -> None:
    model = Model(messages=iter([called("Rows", ids=[1, 2])]))
    strategy = ToolStrategy(Rows, tool_message_content=TEXT)
    agent = create_agent(model, TOOLS, response_format=strategy, middleware=[CompactToolResults()])
    answer = agent.invoke({"messages": [HumanMessage("go")]})
    assert answer["structured_response"] == Rows(ids=[1, 2])
    assert answer["messages"][-1].content == TEXT


class Recorder(Model):
    sent: list[list[Any]]

    def _generate(self, messages: Any, *arguments: Any, **options: Any) -> Any:
        self.sent.append([(type(one), one.content) for one in messages])
        return super()._generate(messages, *arguments, **options)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["first", "second", "read_file"]),
            st.sampled_from([TEXT, "a text", "[1,  2]", "{}", ""]) | st.text(),
        ),
        max_size=5,
    )
)
@settings(max_examples=30, deadline=None)
def test_a_conversation_that_grows_keeps_its_beginning(results: list[tuple[str, str]]) -> None:
    texts = iter([text for _, text in results])

    def made(name: str) -> Any:
        return tool(name, description="Say a text.")(lambda: next(texts))

    model = Recorder(
        messages=iter([*(called(name) for name, _ in results), AIMessage("done")]), sent=[]
    )
    tools = [made(name) for name in ("first", "second", "read_file")]
    agent = create_agent(model, tools, middleware=[CompactToolResults()])
    agent.invoke({"messages": [HumanMessage("go")]}, {"recursion_limit": 50})
    assert len(model.sent) == len(results) + 1
    for earlier, later in zip(model.sent, model.sent[1:], strict=False):
        assert later[: len(earlier)] == earlier
    # The same texts as alone, each in a conversation of its own.
    for (name, text), (_, content) in zip(results, model.sent[-1][2::2], strict=True):
        request = type("Request", (), {"tool_call": {"name": name, "args": {}}, "tool": None})()
        message = ToolMessage(text, tool_call_id="c1")
        alone = CompactToolResults()
        assert alone.wrap_tool_call(request, lambda _, made=message: made).content == content


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
        CompactToolResults(colour="red")  # type: ignore[call-arg]  # The error is tested.
