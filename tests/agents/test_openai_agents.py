"""The adapter of the OpenAI Agents SDK: what a model is sent, turn by turn."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import compactwire as cw
from compactwire.savings import Savings
from tests.agents import TEXT, needed

needed("agents")

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.run import ModelInputData
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from compactwire.adapters.openai_agents import compact_input

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}


def filtered(items: list[Any], inner: Any = None, **options: Any) -> list[Any]:
    data = SimpleNamespace(model_data=ModelInputData(input=items, instructions="be brief"))
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
    assert all(made[at] is items[at] for at in (0, 1, 3))
    assert json.dumps(items) == before


def test_files_stay_as_they_are() -> None:
    for name, arguments in (("read_file", {}), ("show", {"path": "a.json"})):
        items = [call(name, **arguments), output(TEXT)]
        assert filtered(items)[1] is items[1]
    damaged = {**call("rows"), "arguments": "{"}
    assert filtered([damaged, output(TEXT)])[1] == output(SHORT)


def test_an_output_without_its_call_is_shrunk() -> None:
    assert filtered([output(TEXT)]) == [output(SHORT)]
    assert filtered([output(TEXT)], include=("rows",)) == [output(TEXT)]


def test_another_filter_comes_first() -> None:
    def last(data: Any) -> Any:
        return ModelInputData(input=data.model_data.input[-1:], instructions="be brief")

    async def later(data: Any) -> Any:
        return last(data)

    for inner in (last, later):
        assert filtered([call("rows"), output(TEXT)], inner) == [output(SHORT)]
    with pytest.raises(TypeError, match="inner must be callable"):
        compact_input(1)  # type: ignore[arg-type]


ITEMS = st.one_of(
    st.builds(call, st.sampled_from(["rows", "read_file"]), st.integers(1, 3)),
    st.builds(output, st.sampled_from([TEXT, "a text", "[1,  2]"]), st.integers(1, 3)),
    st.just({"role": "user", "content": TEXT}),
)


@given(st.lists(ITEMS, max_size=8), st.integers(0, 8))
def test_a_conversation_that_grows_keeps_its_beginning(items: list[Any], length: int) -> None:
    assert filtered(items)[:length] == filtered(items[:length])
    assert filtered(filtered(items)) == filtered(items)


class Fake(Model):
    """Calls the tool once, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def get_response(self, *, input: Any, **options: Any) -> Any:
        self.sent.append(json.loads(json.dumps(input)))
        if len(self.sent) == 1:
            made: Any = ResponseFunctionToolCall(
                arguments="{}", call_id="c1", name="rows", type="function_call"
            )
        else:
            text = ResponseOutputText(annotations=[], text="done", type="output_text")
            made = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[made], usage=Usage(), response_id=None)

    def stream_response(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError


def test_a_run_sends_the_short_text_and_keeps_the_long_one() -> None:
    @function_tool
    def rows() -> str:
        return TEXT

    model, savings = Fake(), Savings()
    config = RunConfig(
        call_model_input_filter=compact_input(on_saving=savings), tracing_disabled=True
    )
    agent = Agent(name="a", model=model, tools=[rows])
    result = asyncio.run(Runner.run(agent, "go", run_config=config))
    sent = [item for item in model.sent[-1] if item.get("type") == "function_call_output"]
    kept = [item for item in result.to_input_list() if item.get("type") == "function_call_output"]
    assert [item["output"] for item in sent] == [SHORT]
    assert [item["output"] for item in kept] == [TEXT]
    assert savings.by_tool["rows"].calls == 1


def test_a_text_is_reported_once() -> None:
    savings = Savings()
    compact = compact_input(on_saving=savings)
    items = [call("rows"), output(TEXT)]
    for _ in range(3):
        data = SimpleNamespace(model_data=ModelInputData(input=items, instructions=None))
        asyncio.run(compact(data))
    assert savings.total.calls == 1
