"""The adapters of agent frameworks: the time that a result of a tool takes, beside `shrink` alone.

    python -m benches.adapters

Needs the frameworks; those that are missing are named. A result is passed to the hook as the
framework passes it, with two more results before it in the conversation, which the adapters of the
OpenAI Agents SDK and of Pydantic AI are given again at each turn. Times are the median of 300
turns, each with a text that was not seen before.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from types import SimpleNamespace
from typing import Any

import compactwire as cw

TURNS, WARM_UP, EARLIER = 300, 20, 2
SIZES = (1_000, 8_000, 60_000)
CALL, TOOL = "c{}", "list_tasks"


def text(size: int, turn: int) -> str:
    """Give the indented JSON, of about this size, of a table that no other turn has."""
    rows: list[dict[str, Any]] = []
    written = 0
    while written < size:
        number = len(rows)
        rows.append(
            {
                "id": turn * 10_000 + number,
                "title": f"Task number {number}",
                "state": "open",
                "owner": f"user{number % 7}",
            }
        )
        written += len(json.dumps([rows[-1]], indent=2)) - 2
    return json.dumps(rows, indent=2)


def shrink() -> Callable[[list[str]], object]:
    """Give the work without any framework."""
    return lambda texts: cw.shrink(texts[-1])


def langchain() -> Callable[[list[str]], object]:
    """Give the middleware of LangChain, which sees each result once."""
    from langchain_core.messages import ToolMessage

    from compactwire.adapters.langchain import CompactToolResults

    compact = CompactToolResults()
    call = {"name": TOOL, "args": {}, "id": "c0", "type": "tool_call"}
    request = SimpleNamespace(tool=None, tool_call=call, state={"messages": []})

    def work(texts: list[str]) -> object:
        message = ToolMessage(texts[-1], name=TOOL, tool_call_id="c0")
        return compact.wrap_tool_call(request, lambda _: message)

    return work


def openai_agents() -> Callable[[list[str]], object]:
    """Give the filter of the OpenAI Agents SDK, which sees the conversation at each turn."""
    from agents.run import ModelInputData

    from compactwire.adapters.openai_agents import compact_input

    compact, loop = compact_input(), asyncio.new_event_loop()

    def work(texts: list[str]) -> object:
        items: list[Any] = []
        for number, said in enumerate(texts):
            call = {"call_id": CALL.format(number)}
            items.append({"type": "function_call", "name": TOOL, "arguments": "{}", **call})
            items.append({"type": "function_call_output", "output": said, **call})
        data = SimpleNamespace(model_data=ModelInputData(input=items, instructions=None))
        return loop.run_until_complete(compact(data))

    return work


def pydantic_ai() -> Callable[[list[str]], object]:
    """Give the capability of Pydantic AI, which sees the conversation at each turn."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
    from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
    from pydantic_ai.models.test import TestModel

    from compactwire.adapters.pydantic_ai import CompactToolResults

    compact, loop, model = CompactToolResults(), asyncio.new_event_loop(), TestModel()

    def work(texts: list[str]) -> object:
        messages: list[Any] = []
        for number, said in enumerate(texts):
            call = CALL.format(number)
            messages.append(ModelResponse([ToolCallPart(TOOL, {}, call)]))
            messages.append(ModelRequest([ToolReturnPart(TOOL, said, call)]))
        context = ModelRequestContext(
            model=model,
            messages=messages,
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        return loop.run_until_complete(compact.prepare_model_request(None, context))

    return work


ADAPTERS = {
    "shrink alone": ("compactwire", shrink),
    "LangChain": ("langchain", langchain),
    "OpenAI Agents SDK": ("agents", openai_agents),
    "Pydantic AI": ("pydantic_ai", pydantic_ai),
}


def times(size: int) -> dict[str, float]:
    """Give the median microseconds of a turn, with the adapters in turn."""
    works = {name: make() for name, (module, make) in ADAPTERS.items() if find_spec(module)}
    found: dict[str, list[float]] = {name: [] for name in works}
    texts = [text(size, number) for number in range(EARLIER)]
    for turn in range(WARM_UP + TURNS):
        texts = [*texts[-EARLIER:], text(size, EARLIER + turn)]
        for name, work in works.items():
            # A str caches its UTF-8: each adapter gets a new one.
            given = [*texts[:-1], texts[-1].encode().decode()]
            start = time.perf_counter()
            work(given)
            if turn >= WARM_UP:
                found[name].append((time.perf_counter() - start) * 1e6)
    return {name: median(taken) for name, taken in found.items()}


def row(*cells: str) -> str:
    """Give a line of the table."""
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    columns = [times(size) for size in SIZES]
    print(row("microseconds for a result of", *(f"{size // 1_000} KB" for size in SIZES)))
    print(row("---", *["--:"] * len(SIZES)))
    for adapter, (framework, _) in ADAPTERS.items():
        if find_spec(framework):
            print(row(adapter, *(f"{column[adapter]:,.0f}" for column in columns)))
        else:
            print(row(f"{adapter}: NOT RUN, needs {framework}", *[""] * len(SIZES)))


if __name__ == "__main__":
    main()
