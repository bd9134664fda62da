"""The Pydantic AI adapter: what a model is sent."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire.savings import Saving, Savings
from tests.agents import ROWS, TEXT, needed

needed("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    ImageUrl,
    ModelRetry,
    ToolDenied,
    ToolFailed,
    ToolOutput,
    ToolReturn,
)
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

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


def test_a_long_text_is_shrunk_in_another_thread() -> None:
    threads: list[int] = []
    options: Any = {"on_saving": lambda _: threads.append(threading.get_ident())}
    for text in (TEXT, f"[{TEXT}{(',' + TEXT) * 60}]"):
        sent(text, options=options)
    assert threads[0] == threading.get_ident() != threads[1]


class Task(BaseModel):
    id: int
    state: str
    due: date


def test_a_value_is_sent_as_the_shortest_text() -> None:
    assert sent(ROWS)[0].content == cw.shrink(ROWS).text
    assert sent({"a": 1})[0].content == {"a": 1}
    tasks = [Task(id=n, state="open", due=date(2026, 1, 1)) for n in range(30)]
    written = [task.model_dump(mode="json") for task in tasks]
    assert sent(tasks)[0].content == cw.shrink(written).text
    assert cw.expand(sent(tasks)[0].content) == written


def test_only_the_value_of_a_tool_return_is_shrunk() -> None:
    part, other = sent(ToolReturn(ROWS, content=[TEXT, IMAGE], metadata=ROWS))
    assert (part.content, part.metadata) == (cw.shrink(ROWS).text, ROWS)
    assert other.content == [TEXT, IMAGE]


def test_images_and_files_stay_as_they_are() -> None:
    pdf = BinaryContent(TEXT.encode(), media_type="application/pdf")
    link = ImageUrl("https://example.com/a.png")
    assert sent(IMAGE)[0].content == IMAGE
    assert sent([IMAGE, "a text", link])[0].content == [IMAGE, "a text", link]
    assert sent([TEXT, IMAGE, {"a": 1}, pdf])[0].content == [SHORT, IMAGE, {"a": 1}, pdf]
    assert sent([ROWS, IMAGE])[0].content == [cw.shrink(ROWS).text, IMAGE]


def test_a_generator_is_not_read() -> None:
    rows = iter(ROWS)
    (made,) = request([ModelRequest([ToolReturnPart("rows", rows, "c1")])])
    assert made.parts[0].content is rows
    assert next(rows) == ROWS[0]


def test_a_generator_in_a_value_is_read_as_often_as_without_us() -> None:
    value = {"rows": iter(ROWS)}
    (made,) = request([ModelRequest([ToolReturnPart("rows", value, "c1")])])
    assert made.parts[0].content is value
    assert made.parts[0].model_response_str() == '{"rows":[]}'


def test_everything_else_stays_as_it_is() -> None:
    assert sent(7)[0].content == 7
    assert sent(None)[0].content is None
    assert sent(TEXT, name="read_file")[0].content == TEXT
    assert sent(ROWS, name="read_file")[0].content == ROWS
    assert sent(TEXT, arguments={"path": "a.json"})[0].content == TEXT
    assert sent(TEXT, arguments='{"path": "a.json"}')[0].content == TEXT
    for error, outcome in ((ModelRetry(TEXT), "retried"), (ToolFailed(TEXT), "failed")):
        (part,) = sent(error)
        assert (part.content, part.outcome) == (TEXT, outcome)


class Talk:
    """An agent that calls a tool, and what its model is sent."""

    def __init__(self, options: Any = None, **given: Any) -> None:
        self.sent: list[list[Any]] = []
        self.agent = Agent(
            FunctionModel(self._answer, stream_function=self._stream),
            capabilities=[CompactToolResults(**(options or {}))],
            **given,
        )

    def _next(self, messages: list[Any]) -> Any:
        self.sent.append(messages)
        return isinstance(messages[-1].parts[-1], UserPromptPart)

    def _answer(self, messages: list[Any], info: Any) -> ModelResponse:
        if self._next(messages):
            return ModelResponse([ToolCallPart("rows", {}, "c1")])
        if info.output_tools:
            return ModelResponse([ToolCallPart("final", {"ids": [1]}, "c2")])
        return ModelResponse([TextPart("done")])

    async def _stream(self, messages: list[Any], info: Any) -> Any:
        if self._next(messages):
            yield {0: DeltaToolCall("rows", "{}", tool_call_id="c1")}
        else:
            yield "done"

    @property
    def contents(self) -> list[Any]:
        """The contents of the tool results of the last request."""
        return contents(self.sent[-1])


def contents(messages: list[Any]) -> list[Any]:
    parts = [part for message in messages for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolReturnPart)]


def talk(result: Any = ROWS, options: Any = None, **given: Any) -> Talk:
    one = Talk(options, **given)
    one.agent.tool_plain(name="rows")(lambda: result)
    return one


def test_the_history_keeps_the_value() -> None:
    one = talk()
    result = asyncio.run(one.agent.run("go"))
    assert one.contents == [cw.shrink(ROWS).text]
    assert contents(result.all_messages()) == [ROWS]
    stored = ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
    assert asyncio.run(one.agent.run("more", message_history=stored)).output == "done"
    assert one.contents == [cw.shrink(ROWS).text] * 2
    assert one.sent[-1][: len(one.sent[1])] == one.sent[1]


def test_streamed_runs_send_the_short_text() -> None:
    async def streamed(one: Talk) -> list[Any]:
        async with one.agent.run_stream("go") as result:
            assert await result.get_output() == "done"
            return list(result.all_messages())

    one = talk()
    assert contents(asyncio.run(streamed(one))) == [ROWS]
    assert one.contents == [cw.shrink(ROWS).text]


@pytest.mark.parametrize(
    ("decision", "content"), [(True, cw.shrink(ROWS).text), (ToolDenied(TEXT), TEXT)]
)
def test_a_run_goes_on_after_an_approval(decision: Any, content: str) -> None:
    one = Talk(output_type=[str, DeferredToolRequests])
    one.agent.tool_plain(name="rows", requires_approval=True)(lambda: ROWS)
    paused = asyncio.run(one.agent.run("go"))
    assert isinstance(paused.output, DeferredToolRequests)
    results = DeferredToolResults(approvals={"c1": decision})
    history = paused.all_messages()
    again = one.agent.run(message_history=history, deferred_tool_results=results)
    assert asyncio.run(again).output == "done"
    assert one.contents == [content]


def test_a_result_from_outside_is_sent_short() -> None:
    one = Talk(output_type=[str, DeferredToolRequests])

    @one.agent.tool_plain(name="rows")
    def rows() -> Any:
        raise CallDeferred

    paused = asyncio.run(one.agent.run("go"))
    results = DeferredToolResults(calls={"c1": ROWS})
    again = one.agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
    assert asyncio.run(again).output == "done"
    assert one.contents == [cw.shrink(ROWS).text]


class Ids(BaseModel):
    ids: list[int]


def test_the_output_of_an_agent_stays_as_it_is() -> None:
    records: list[Saving] = []
    one = talk(options={"on_saving": records.append}, output_type=ToolOutput(Ids, name="final"))
    first = asyncio.run(one.agent.run("go"))
    assert first.output == Ids(ids=[1])
    history = first.all_messages(output_tool_return_content=TEXT)
    assert asyncio.run(one.agent.run("go", message_history=history)).output == Ids(ids=[1])
    assert one.contents == [cw.shrink(ROWS).text, TEXT, cw.shrink(ROWS).text]
    assert {record.tool for record in records} == {"rows"}


def request(messages: list[Any], options: Any = None, times: int = 1) -> list[Any]:
    """What these messages become in a request."""
    context = ModelRequestContext(
        model=TestModel(),
        messages=messages,
        model_settings=None,
        model_request_parameters=ModelRequestParameters(),
    )
    compact = CompactToolResults(**(options or {}))
    for _ in range(times):
        made = asyncio.run(compact.prepare_model_request(None, context))
    return list(made.messages)


NAMES = st.sampled_from(["rows", "read_file"])
IDS = st.sampled_from(["c1", "c2"])
ARGUMENTS = st.sampled_from([{}, {"path": "a.json"}, "{", None, '{"path": "a.json"}'])
CONTENTS = st.sampled_from([TEXT, ROWS, "a text", "[1,  2]", [TEXT, IMAGE], IMAGE, None, object()])
RETURNS = st.builds(
    lambda name, content, call, outcome: ToolReturnPart(name, content, call, outcome=outcome),
    NAMES,
    CONTENTS,
    IDS,
    st.sampled_from(["success", "success", "failed"]),
)
MESSAGES = st.one_of(
    st.builds(ModelRequest, st.lists(RETURNS | st.builds(UserPromptPart, st.just(TEXT)))),
    st.builds(ModelResponse, st.lists(st.builds(ToolCallPart, NAMES, ARGUMENTS, IDS))),
)


@given(st.lists(MESSAGES, max_size=6), st.integers(0, 6))
def test_a_conversation_that_grows_keeps_its_beginning(messages: list[Any], length: int) -> None:
    before = [dataclasses.replace(message, parts=list(message.parts)) for message in messages]
    made = request(messages)
    assert made[:length] == request(messages[:length])
    assert request(made) == made
    assert messages == before


def test_a_part_that_pydantic_ai_reads_itself_stays_as_it_is() -> None:
    found = {"discovered_tools": [{"name": f"tool_{n}", "description": "a"} for n in range(40)]}
    part = ToolReturnPart("search", found, "c1", tool_kind="tool-search")
    (made,) = request([ModelRequest([part])])
    assert made.parts[0].content == found
    plain = ToolReturnPart("search", found, "c1")
    assert request([ModelRequest([plain])])[0].parts[0].content == cw.shrink(found).text


def test_savings_are_reported_once() -> None:
    savings = Savings()
    one = talk(options={"on_saving": savings})
    result = asyncio.run(one.agent.run("go"))
    assert savings.by_tool["rows"].saved == cw.shrink(ROWS).saved > 0
    asyncio.run(one.agent.run("more", message_history=result.all_messages()))
    assert savings.by_tool["rows"].calls == 2  # The model has called the tool again.
    sent(TEXT, name="read_file", options={"on_saving": savings})
    assert savings.by_tool["read_file"].reasons == {"excluded": 1}


def test_savings_are_reported_for_each_run_whatever_its_calls_are_called() -> None:
    savings = Savings()
    agent = Agent(TestModel(), capabilities=[CompactToolResults(on_saving=savings)])
    agent.tool_plain(name="rows")(lambda: ROWS)
    for _ in range(3):
        asyncio.run(agent.run("go"))
    assert savings.by_tool["rows"].calls == 3


def test_a_request_that_is_sent_again_is_reported_once() -> None:
    savings = Savings()
    part = ToolReturnPart("rows", ROWS, "c1")
    request([ModelRequest([part])], {"on_saving": savings}, times=2)
    assert savings.by_tool["rows"].calls == 1


def test_results_of_a_loaded_history_are_not_reported() -> None:
    savings = Savings()
    history = asyncio.run(talk().agent.run("go")).all_messages()
    another = talk(TEXT, options={"on_saving": savings})
    asyncio.run(another.agent.run("go", message_history=history))
    assert another.contents == [cw.shrink(ROWS).text, SHORT]
    assert savings.by_tool["rows"].before == cw.shrink(TEXT).tokens_before


def test_an_error_of_the_hook_is_not_hidden() -> None:
    def full(_: Saving) -> None:
        raise ValueError("the disk is full")

    with pytest.raises(ValueError, match="the disk is full"):
        sent(TEXT, options={"on_saving": full})


def test_options_are_checked_at_once() -> None:
    with pytest.raises(cw.OptionError, match="min_saving"):
        CompactToolResults(min_saving=2)
