"""The adapter of the OpenAI Agents SDK: what a model is sent, turn by turn."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire.savings import Savings
from tests.agents import TEXT, needed

needed("agents")

from agents import (
    Agent,
    AgentOutputSchema,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    Usage,
    UserError,
    function_tool,
)
from agents.run import ModelInputData
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from compactwire.adapters.openai_agents import compact_input

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}


def copied(items: list[Any]) -> list[Any]:
    """The items of one call of a filter, as the SDK makes them."""
    return [dict(item) if isinstance(item, dict) else item for item in items]


def filtered(items: list[Any], inner: Any = None, **options: Any) -> list[Any]:
    data = SimpleNamespace(model_data=ModelInputData(input=copied(items), instructions="be brief"))
    made = asyncio.run(compact_input(inner, **options)(data))
    assert made.instructions == "be brief"
    return list(made.input)


def call(name: str, number: int = 1, **arguments: Any) -> dict[str, Any]:
    text = json.dumps(arguments)
    return {"type": "function_call", "call_id": f"c{number}", "name": name, "arguments": text}


def output(content: Any, number: int = 1) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": content}


SHORT = cw.shrink(TEXT).text


def test_outputs_are_shrunk_and_nothing_else() -> None:
    parts = [{"type": "input_text", "text": TEXT}, IMAGE]
    items = [
        {"role": "user", "content": TEXT},
        call("rows"),
        output(TEXT),
        call("more", 2),
        output(parts, 2),
    ]
    before = json.dumps(items)
    made = filtered(items)
    assert made[2] == output(SHORT)
    assert made[4] == output([{"type": "input_text", "text": SHORT}, IMAGE], 2)
    assert [made[at] for at in (0, 1, 3)] == [items[at] for at in (0, 1, 3)]
    assert json.dumps(items) == before


def test_files_stay_as_they_are() -> None:
    for name, arguments in (("read_file", {}), ("show", {"path": "a.json"})):
        items = [call(name, **arguments), output(TEXT)]
        assert filtered(items)[1] == items[1]
    damaged = {**call("rows"), "arguments": "{"}
    assert filtered([damaged, output(TEXT)])[1] == output(SHORT)
    # Python reads no int of 4,300 digits.
    for text in ('{"path": "a.json', f'{{"path": "a.json", "line": {"9" * 5_000}}}'):
        items = [{**call("rows"), "arguments": text}, output(TEXT)]
        assert filtered(items)[1] == items[1]


def custom(text: str, said: str) -> list[Any]:
    """A call of a custom tool, whose input is a text, and its output."""
    one = {"type": "custom_tool_call", "call_id": "c1", "name": "query", "input": said}
    return [one, {"type": "custom_tool_call_output", "call_id": "c1", "output": text}]


def test_outputs_of_custom_tools_are_outputs() -> None:
    savings = Savings()
    one, said = custom(TEXT, "all rows")
    # An id is one of its kind of call.
    items = [one, call("read_file"), said, output(TEXT)]
    made = filtered(items, on_saving=savings)
    assert made == [*items[:2], {**said, "output": SHORT}, items[3]]
    calls = {tool: total.calls for tool, total in savings.by_tool.items()}
    assert calls == {"query": 1, "read_file": 1}
    # The call is an answer: what stands before it is not new.
    again = Savings()
    filtered([*items, {**one, "call_id": "c2"}], on_saving=again)
    assert not again.by_tool
    file = custom(TEXT, "cat a.json | head")
    assert filtered(file) == file
    program = {"type": "program", "caller_id": "p1"}
    for_program = [{**item, "caller": program} for item in custom(TEXT, "all rows")]
    assert filtered(for_program) == for_program


def test_an_output_without_its_call_is_shrunk() -> None:
    assert filtered([output(TEXT)]) == [output(SHORT)]
    assert filtered([output(TEXT)], include=("rows",)) == [output(TEXT)]
    assert filtered([output(TEXT)], include=("?*",)) == [output(TEXT)]


def test_damaged_items_pass() -> None:
    items = [
        {**call("list_rows"), "name": None, "call_id": ["c1"], "arguments": None},
        {**output(TEXT), "call_id": ["c1"]},
    ]
    assert filtered(items) == [items[0], {**items[1], "output": SHORT}]


def test_what_a_program_of_the_model_reads_stays_as_it_is() -> None:
    caller = {"type": "program", "caller_id": "p1"}
    for items in (
        [{**call("rows"), "caller": caller}, output(TEXT)],
        [call("rows"), {**output(TEXT), "caller": caller}],
        [{**output(TEXT), "caller": caller}],
    ):
        assert filtered(items) == items
    direct = {**call("rows"), "caller": {"type": "direct"}}
    assert filtered([direct, output(TEXT)]) == [direct, output(SHORT)]


def test_calls_that_are_objects_of_the_sdk_are_seen() -> None:
    for name, arguments in (("read_file", "{}"), ("show", '{"path": "a.json"}')):
        made = ResponseFunctionToolCall(
            arguments=arguments, call_id="c1", name=name, type="function_call"
        )
        assert filtered([made, output(TEXT)]) == [made, output(TEXT)]


def test_a_long_text_is_shrunk_in_another_thread() -> None:
    threads: list[int] = []
    options: Any = {"on_saving": lambda _: threads.append(threading.get_ident())}
    for text in (TEXT, f"[{TEXT}{(',' + TEXT) * 60}]"):
        filtered([call("rows"), output(text)], **options)
    assert threads[0] == threading.get_ident() != threads[1]


def test_another_filter_comes_first() -> None:
    def last(data: Any) -> Any:
        return ModelInputData(input=data.model_data.input[-1:], instructions="be brief")

    async def later(data: Any) -> Any:
        return last(data)

    for inner in (last, later):
        assert filtered([call("rows"), output(TEXT)], inner) == [output(SHORT)]
    with pytest.raises(TypeError, match="inner must be callable"):
        compact_input(1)  # type: ignore[arg-type]  # The error is tested.


def test_the_sdk_judges_what_another_filter_returns() -> None:
    data = SimpleNamespace(model_data=ModelInputData(input=[], instructions=None))
    for made in (None, [], ModelInputData(input="go", instructions=None)):  # type: ignore[arg-type]
        assert asyncio.run(compact_input(lambda _, made=made: made)(data)) is made
    agent = Agent(name="a", model=Fake(calls=0))
    config = RunConfig(call_model_input_filter=compact_input(lambda _: None), tracing_disabled=True)
    with pytest.raises(UserError, match="must return a ModelInputData"):
        asyncio.run(Runner.run(agent, "go", run_config=config))


ITEMS = st.one_of(
    st.builds(call, st.sampled_from(["rows", "read_file"]), st.integers(1, 3)),
    st.builds(output, st.sampled_from([TEXT, "a text", "[1,  2]"]), st.integers(1, 3)),
    st.just({"role": "user", "content": TEXT}),
    st.sampled_from(custom(TEXT, "all rows")),
)


@given(st.lists(ITEMS, max_size=8), st.integers(0, 8))
def test_a_conversation_that_grows_keeps_its_beginning(items: list[Any], length: int) -> None:
    assert filtered(items)[:length] == filtered(items[:length])
    assert filtered(filtered(items)) == filtered(items)


class Fake(Model):
    """Calls the tool, once unless told otherwise, and keeps what it was sent."""

    def __init__(self, answer: str = "done", tool: str = "rows", calls: int = 1) -> None:
        self.sent: list[Any] = []
        self.answer = answer
        self.tool = tool
        self.calls = calls

    async def get_response(self, *, input: Any, **options: Any) -> Any:
        said = self.said(input)
        return ModelResponse(output=[said], usage=Usage(), response_id=f"r{len(self.sent)}")

    async def stream_response(
        self, instructions: Any, input: Any, *rest: Any, **options: Any
    ) -> Any:
        response = Response(
            id="r",
            created_at=0,
            model="fake",
            object="response",
            output=[self.said(input)],
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=False,
        )
        yield ResponseCompletedEvent(
            type="response.completed", sequence_number=0, response=response
        )

    def said(self, items: Any) -> Any:
        self.sent.append(json.loads(json.dumps(items)))
        number = len(self.sent)
        if number <= self.calls:
            return ResponseFunctionToolCall(
                arguments="{}", call_id=f"c{number}", name=self.tool, type="function_call"
            )
        text = ResponseOutputText(annotations=[], text=self.answer, type="output_text")
        return ResponseOutputMessage(
            id="m", content=[text], role="assistant", status="completed", type="message"
        )

    @property
    def outputs(self) -> list[Any]:
        return outputs(self.sent[-1])


def outputs(items: Any) -> list[Any]:
    return [item["output"] for item in items if item.get("type") == "function_call_output"]


def configured(**options: Any) -> RunConfig:
    return RunConfig(call_model_input_filter=compact_input(**options), tracing_disabled=True)


def text_tool(**options: Any) -> Any:
    @function_tool(**options)
    def rows() -> str:
        return TEXT

    return rows


def test_a_run_sends_the_short_text_and_keeps_the_long_one() -> None:
    model, savings = Fake(), Savings()
    agent = Agent(name="a", model=model, tools=[text_tool()])
    result = asyncio.run(Runner.run(agent, "go", run_config=configured(on_saving=savings)))
    assert model.outputs == [SHORT]
    assert outputs(result.to_input_list()) == [TEXT]
    assert savings.by_tool["rows"].calls == 1


def test_a_streamed_run_sends_the_short_text() -> None:
    async def streamed(model: Fake) -> list[Any]:
        agent = Agent(name="a", model=model, tools=[text_tool()])
        result = Runner.run_streamed(agent, "go", run_config=configured())
        events = [event async for event in result.stream_events()]
        return [
            event.item.output for event in events if getattr(event, "name", "") == "tool_output"
        ]

    model = Fake()
    assert asyncio.run(streamed(model)) == [TEXT]
    assert model.outputs == [SHORT]


@pytest.mark.parametrize(("is_approved", "output"), [(True, SHORT), (False, "No, not now.")])
def test_a_run_goes_on_after_an_approval(is_approved: bool, output: str) -> None:
    async def decided(model: Fake) -> Any:
        agent = Agent(name="a", model=model, tools=[text_tool(needs_approval=True)])
        result = await Runner.run(agent, "go", run_config=configured())
        (asked,) = result.interruptions
        state = result.to_state()
        if is_approved:
            state.approve(asked)
        else:
            state.reject(asked, rejection_message="No, not now.")
        return await Runner.run(agent, state, run_config=configured())

    model = Fake()
    assert asyncio.run(decided(model)).final_output == "done"
    assert model.outputs == [output]


@pytest.mark.parametrize(
    "kept", [{"auto_previous_response_id": True}, {"conversation_id": "conversation"}]
)
def test_a_service_that_keeps_the_conversation_gets_each_output_once(kept: Any) -> None:
    async def finished(model: Fake) -> Any:
        agent = Agent(name="a", model=model, tools=[text_tool(needs_approval=True)])
        result = await Runner.run(agent, "go", run_config=configured(), **kept)
        while result.interruptions:
            state = result.to_state()
            state.approve(result.interruptions[0])
            result = await Runner.run(agent, state, run_config=configured(), **kept)
        return result

    model = Fake(calls=3)
    assert asyncio.run(finished(model)).final_output == "done"
    assert model.sent[1:] == [
        [{"type": "function_call_output", "call_id": f"c{n}", "output": SHORT}] for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    "kept", [{"previous_response_id": "r"}, {"conversation_id": "conversation"}]
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_service_gets_an_output_of_the_caller_once(kept: Any, is_streamed: bool) -> None:
    async def finished(agent: Any) -> None:
        given: list[Any] = [{**output(TEXT), "call_id": "mine"}, {"role": "user", "content": "go"}]
        options = {"run_config": configured(), **kept}
        if is_streamed:
            result = Runner.run_streamed(agent, given, **options)
            _ = [event async for event in result.stream_events()]
        else:
            await Runner.run(agent, given, **options)
        assert outputs(given) == [TEXT]

    model = Fake(calls=2)
    asyncio.run(finished(Agent(name="a", model=model, tools=[text_tool()])))
    assert [[item.get("call_id") for item in items] for items in model.sent] == [
        ["mine", None],
        ["c1"],
        ["c2"],
    ]
    assert [outputs(items) for items in model.sent] == [[SHORT]] * 3


@pytest.mark.parametrize(
    "kept", [{"auto_previous_response_id": True}, {"conversation_id": "conversation"}]
)
def test_a_service_gets_an_output_added_to_a_waiting_run_once(kept: Any) -> None:
    async def finished(agent: Any) -> Any:
        result = await Runner.run(agent, "go", run_config=configured(), **kept)
        state = result.to_state()
        state.approve(result.interruptions[0])
        state.add_input([{**output(TEXT), "call_id": "mine"}])
        return await Runner.run(agent, state, run_config=configured(), **kept)

    model = Fake()
    agent = Agent(name="a", model=model, tools=[text_tool(needs_approval=True)])
    assert asyncio.run(finished(agent)).final_output == "done"
    assert [[item.get("call_id") for item in items] for items in model.sent[1:]] == [["c1", "mine"]]
    assert model.outputs == [SHORT, SHORT]


@pytest.mark.parametrize(
    "kept", [{"auto_previous_response_id": True}, {"conversation_id": "conversation"}]
)
def test_a_service_gets_an_output_that_another_filter_copied_once(kept: Any) -> None:
    def copies(data: Any) -> Any:
        return ModelInputData(copied(data.model_data.input), data.model_data.instructions)

    async def finished(agent: Any) -> Any:
        config = RunConfig(call_model_input_filter=compact_input(copies), tracing_disabled=True)
        mine: list[Any] = [{**output(TEXT), "call_id": "mine"}]
        result = await Runner.run(agent, mine, run_config=config, **kept)
        state = result.to_state()
        state.approve(result.interruptions[0])
        state.add_input([{**output(TEXT), "call_id": "more"}])
        return await Runner.run(agent, state, run_config=config, **kept)

    model = Fake()
    agent = Agent(name="a", model=model, tools=[text_tool(needs_approval=True)])
    assert asyncio.run(finished(agent)).final_output == "done"
    assert [[item["call_id"] for item in items] for items in model.sent] == [
        ["mine"],
        ["c1", "more"],
    ]
    assert [outputs(items) for items in model.sent] == [[SHORT], [SHORT, SHORT]]


def test_the_items_of_another_filter_stay_as_they_are() -> None:
    theirs = [call("rows"), output(TEXT)]

    def stored(data: Any) -> Any:
        return ModelInputData(input=theirs, instructions="be brief")

    assert filtered([], stored)[1] == output(SHORT)
    assert theirs[1] == output(TEXT)


def test_an_error_of_a_tool_stays_as_it_is() -> None:
    @function_tool(failure_error_function=lambda _, error: f"failed: {error}")
    def rows() -> str:
        raise ValueError(TEXT)

    model = Fake()
    agent = Agent(name="a", model=model, tools=[rows])
    assert asyncio.run(Runner.run(agent, "go", run_config=configured())).final_output == "done"
    assert model.outputs == [f"failed: {TEXT}"]


def test_images_and_files_of_a_tool_stay_as_they_are() -> None:
    @function_tool
    def rows() -> list[Any]:
        return [
            ToolOutputText(text=TEXT),
            ToolOutputImage(image_url="data:image/png;base64,AA=="),
            ToolOutputFileContent(file_data="AA==", filename="a.json"),
        ]

    model = Fake()
    agent = Agent(name="a", model=model, tools=[rows])
    result = asyncio.run(Runner.run(agent, "go", run_config=configured()))
    ((text, *others),) = model.outputs
    assert text == {"type": "input_text", "text": SHORT}
    assert [part["type"] for part in others] == ["input_image", "input_file"]
    assert others == outputs(result.to_input_list())[0][1:]


def test_the_output_of_an_agent_stays_as_it_is() -> None:
    rows = json.loads(TEXT)
    schema = AgentOutputSchema(list[dict[str, Any]], strict_json_schema=False)
    model = Fake(json.dumps({"response": rows}, indent=2))
    structured = Agent(name="a", model=model, tools=[text_tool()], output_type=schema)
    assert asyncio.run(Runner.run(structured, "go", run_config=configured())).final_output == rows
    last = Agent(
        name="a", model=Fake(), tools=[text_tool()], tool_use_behavior="stop_on_first_tool"
    )
    assert asyncio.run(Runner.run(last, "go", run_config=configured())).final_output == TEXT


def reported(*turns: list[Any]) -> int:
    """The records of a filter that sees these inputs one after the other."""
    savings = Savings()
    compact = compact_input(on_saving=savings)
    for items in turns:
        data = SimpleNamespace(model_data=ModelInputData(input=copied(items), instructions=None))
        asyncio.run(compact(data))
    return savings.total.calls


def test_a_text_is_reported_once() -> None:
    items = [call("rows"), output(TEXT)]
    assert reported(items, items, items) == 1


def test_each_result_is_reported_once_in_a_long_conversation() -> None:
    items: list[Any] = []
    turns = []
    for number in range(600):
        items += [call("rows", number), output(TEXT if number % 2 else f"[{number}]", number)]
        turns.append(list(items))
    # More texts than are remembered, all of them sent again.
    assert reported(*turns[:3], *turns[-2:], *turns[-2:]) == 5
    assert reported(turns[-1], turns[-1][:100]) == 2


@pytest.mark.parametrize(
    "answer",
    [{"role": "assistant", "content": "done"}, {"type": "reasoning", "summary": []}, call("x", 2)],
)
def test_results_that_the_model_answered_are_not_reported(answer: dict[str, Any]) -> None:
    assert reported([call("rows"), output(TEXT), answer, {"role": "user", "content": "go"}]) == 0
