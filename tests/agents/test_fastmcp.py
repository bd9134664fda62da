"""The middleware in a FastMCP server, as a FastMCP client sees it."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import compactwire as cw
from compactwire.savings import Saving
from tests.agents import ROWS, TEXT, needed

needed("fastmcp")

import anyio.from_thread
from fastmcp import Client, Context, FastMCP, FastMCPApp
from fastmcp.exceptions import ToolError
from fastmcp.server.providers.addressing import hashed_backend_name
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import ToolResult, base
from mcp.types import Annotations, ImageContent, TextContent

from compactwire.mcp import CompactMiddleware

SHORT = cw.shrink(TEXT).text
IMAGE = ImageContent(type="image", data="AA==", mime_type="image/png")


def server(*, interface: bool = False, **options: Any) -> FastMCP:
    one = FastMCP("tasks")
    one.add_middleware(CompactMiddleware(**options))

    @one.tool
    def rows(indent: int | None = None) -> list[dict[str, Any]]:
        """List all tasks."""
        return ROWS

    @one.tool
    def text(said: str) -> str:
        """Repeat a text."""
        return said

    @one.tool
    def mixed(meta: dict[str, Any] | None = None) -> ToolResult:
        """Return an image, a text and meta data."""
        block = TextContent(type="text", text=TEXT)
        return ToolResult(content=[IMAGE, block], meta=meta or {"x": 1})

    @one.tool
    def failed(text: str) -> ToolResult:
        """Return an error."""
        return ToolResult(content=text, is_error=True)

    if interface:

        @one.tool(meta={"ui": {"resourceUri": "ui://rows"}})
        def shown() -> list[dict[str, Any]]:
            """List all tasks for a user interface."""
            return ROWS

    @one.tool
    def reserved(audience: list[Literal["user", "assistant"]]) -> ToolResult:
        """Return a text for one reader."""
        block = TextContent(type="text", text=TEXT, annotations=Annotations(audience=audience))
        return ToolResult(content=[block], structured_content={"result": ROWS})

    @one.tool
    def structure() -> ToolResult:
        """Return structured content alone."""
        one = ToolResult(structured_content={"result": ROWS})
        return one.model_copy(update={"content": []})

    return one


def called(name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Any:
    async def call() -> Any:
        async with Client(server(**options)) as client:
            await client.list_tools()
            return await client.call_tool(name, arguments or {}, raise_on_error=False)

    return asyncio.run(call())


def test_structured_content_is_kept_for_clients_that_read_it() -> None:
    result = called("rows")
    assert result.data == ROWS
    assert result.structured_content == {"result": ROWS}
    assert result.content[0].text == cw.shrink(json.dumps(ROWS)).text


def test_structured_content_is_dropped_on_request() -> None:
    records: list[Saving] = []
    result = called("rows", structured="drop", on_saving=records.append)
    assert result.structured_content is None
    assert cw.expand(result.content[0].text) == ROWS
    (record,) = records
    assert (record.source, record.tool, record.dropped) == ("fastmcp", "rows", True)
    result = called("structure", structured="drop")
    assert result.structured_content is None
    assert cw.expand(result.content[0].text) == {"result": ROWS}


@pytest.mark.skipif(
    not hasattr(base, "RawStructuredToolResult"), reason="NOT RUN: FastMCP 4.1 has no such results"
)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_copy_that_is_no_object_is_dropped(
    mode: Literal["auto", "legacy"],
) -> None:
    class Rows(base.Tool):
        async def run(self, arguments: dict[str, Any]) -> ToolResult:
            block = TextContent(type="text", text=TEXT)
            result: ToolResult = base.RawStructuredToolResult([block], ROWS, meta={"x": 1})
            return result

    async def call(structured: Literal["keep", "drop"]) -> Any:
        one = server(structured=structured)
        one.add_tool(
            Rows(name="raw", parameters={"type": "object"}, output_schema={"type": "array"})
        )
        async with Client(one, mode=mode) as client:
            await client.list_tools()
            return await client.call_tool("raw")

    kept, dropped = (asyncio.run(call(structured)) for structured in ("keep", "drop"))
    assert kept.content[0].text == dropped.content[0].text == SHORT
    assert kept.data == ROWS
    assert dropped.structured_content is None
    assert dropped.meta["x"] == 1


def test_only_texts_change() -> None:
    result = called("mixed", structured="drop")
    assert result.content[0] == IMAGE
    assert result.content[1].text == SHORT
    assert result.meta["x"] == 1


def test_a_text_stays_if_the_tool_says_so() -> None:
    records: list[Saving] = []
    result = called("mixed", {"meta": {"compactwire/verbatim": True}}, on_saving=records.append)
    assert result.content[1].text == TEXT
    assert records[0].reason == "verbatim"


def test_a_result_for_a_user_interface_stays_whole() -> None:
    records: list[Saving] = []
    result = called("shown", interface=True, structured="drop", on_saving=records.append)
    assert result.structured_content == {"result": ROWS}
    assert json.loads(result.content[0].text) == ROWS
    assert records[0].reason == "app"


@pytest.mark.parametrize("listed", [True, False])
def test_an_interface_may_read_the_structured_content_of_each_tool(listed: bool) -> None:
    async def call() -> Any:
        async with Client(server(interface=True, structured="drop")) as client:
            tools = await client.list_tools() if listed else []
            return tools, await client.call_tool_mcp("rows", {})

    tools, result = asyncio.run(call())
    assert [tool.name for tool in tools if tool.output_schema is None] == (
        ["mixed", "failed", "reserved", "structure"] if listed else []
    )
    assert result.structured_content == {"result": ROWS}
    assert result.content[0].text == cw.shrink(json.dumps(ROWS)).text


@pytest.mark.parametrize(("inner", "dropped"), [(False, False), (True, True)])
def test_only_the_outermost_server_knows_all_tools(*, inner: bool, dropped: bool) -> None:
    """FastMCP tells a mounted server nothing of the one around it: a limit that is documented."""
    outer, mounted = FastMCP("outer"), FastMCP("mounted")
    (mounted if inner else outer).add_middleware(CompactMiddleware(structured="drop"))
    mounted.tool(name="rows")(lambda: ToolResult(content=TEXT, structured_content={"result": ROWS}))
    outer.tool(name="shown", meta={"ui": {"resourceUri": "ui://rows"}})(lambda: TEXT)
    outer.mount(mounted, "inner")

    async def call() -> Any:
        async with Client(outer) as client:
            return await client.call_tool_mcp("inner_rows", {})

    result = asyncio.run(call())
    assert result.content[0].text == SHORT
    assert (result.structured_content is None) == dropped


def test_a_definition_that_cannot_be_read_fails_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    one = server()
    get_tool, asked = one.get_tool, []

    async def fails(name: str, *arguments: Any, **named: Any) -> Any:
        asked.append(name)
        if len(asked) > 1:
            raise ConnectionError("the server behind this one is away")
        return await get_tool(name, *arguments, **named)

    async def call() -> Any:
        async with Client(one) as client:
            monkeypatch.setattr(one, "get_tool", fails)
            return await client.call_tool_mcp("text", {"said": TEXT})

    assert asyncio.run(call()).content[0].text == TEXT
    assert len(asked) == 2


def test_a_version_of_a_tool_with_an_interface_stays_whole() -> None:
    one = FastMCP("one")
    one.add_middleware(CompactMiddleware())
    one.tool(name="rows", version="1.0", meta={"ui": {"resourceUri": "ui://rows"}})(lambda: TEXT)
    one.tool(name="rows", version="2.0")(lambda: TEXT)

    async def call(version: str | None) -> Any:
        async with Client(one) as client:
            return (await client.call_tool("rows", {}, version=version)).content[0].text

    assert [asyncio.run(call(one)) for one in ("1.0", "2.0", None)] == [TEXT, SHORT, SHORT]


@pytest.mark.parametrize("search", ["", "here", "mounted"])
def test_an_interface_of_an_app_gets_whole_results(search: str) -> None:
    app, one = FastMCPApp("tasks"), FastMCP("one")
    served = FastMCP("outer") if search == "mounted" else one
    app.tool(name="rows")(lambda: ToolResult(content=TEXT, structured_content={"result": ROWS}))
    one.add_provider(app)
    one.tool(name="other")(lambda: ToolResult(content=TEXT, structured_content={"result": ROWS}))
    served.add_middleware(CompactMiddleware(structured="drop"))
    if search:
        one.add_transform(BM25SearchTransform())
    if served is not one:
        served.mount(one)

    async def call() -> Any:
        async with Client(served) as client:
            # The program of an interface calls a tool by this name.
            whole = await client.call_tool_mcp(hashed_backend_name("tasks", "rows"), {})
            return whole, await client.call_tool_mcp("other", {})

    whole, other = asyncio.run(call())
    assert (whole.content[0].text, whole.structured_content) == (TEXT, {"result": ROWS})
    assert (other.content[0].text, other.structured_content) == (SHORT, {"result": ROWS})


def test_tools_that_cannot_be_listed_fail_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    one = server(structured="drop")

    async def fails(*, run_middleware: bool = True) -> list[Any]:
        if not run_middleware:
            raise RuntimeError("no connection")
        return []

    async def call() -> Any:
        async with Client(one) as client:
            monkeypatch.setattr(one, "list_tools", fails)
            return await client.call_tool_mcp("rows", {})

    assert asyncio.run(call()).structured_content == {"result": ROWS}


@pytest.mark.parametrize(("audience", "shrunk"), [(["user"], False), (["assistant"], True)])
def test_a_text_for_one_reader_is_no_copy_for_the_other(audience: list[str], shrunk: bool) -> None:
    result = called("reserved", {"audience": audience}, structured="drop")
    assert result.structured_content == {"result": ROWS}
    assert result.content[0].text == (SHORT if shrunk else TEXT)


def test_errors_and_files_stay() -> None:
    result = called("failed", {"text": TEXT})
    assert result.is_error
    assert result.content[0].text == TEXT
    assert called("text", {"said": TEXT}, exclude=("text",)).content[0].text == TEXT
    assert called("text", {"said": "a.json"}).content[0].text == "a.json"


@given(st.lists(st.sampled_from([TEXT, "[1,  2]", "a text", "{}"]) | st.text(), max_size=5))
@settings(max_examples=20, deadline=None)
def test_a_result_does_not_depend_on_those_before_it(texts: list[str]) -> None:
    async def said() -> list[str]:
        async with Client(server()) as client:
            results = [await client.call_tool("text", {"said": text}) for text in texts]
        return [result.content[0].text for result in results]

    assert asyncio.run(said()) == [cw.shrink(text).text for text in texts]


def test_results_that_the_code_of_a_tool_reads_stay_as_they_are() -> None:
    """FastMCP's CodeMode and its search for tools call other tools in this way."""
    one = FastMCP("tasks")
    records: list[Saving] = []
    one.add_middleware(CompactMiddleware(structured="drop", on_saving=records.append))
    one.tool(name="rows")(lambda: ToolResult(content=TEXT, structured_content={"result": ROWS}))
    one.tool(name="read_file")(lambda: ToolResult(content=TEXT))
    read: list[Any] = []

    @one.tool
    async def execute(tools: list[str], ctx: Context) -> ToolResult:
        """Call tools."""
        read[:] = [await ctx.fastmcp.call_tool(name) for name in tools]
        return ToolResult(content=read[-1].content)

    async def call(*tools: str) -> str:
        async with Client(one) as client:
            result = await client.call_tool("execute", {"tools": tools})
            return str(result.content[0].text)

    assert asyncio.run(call("rows", "rows")) == SHORT
    assert [result.content[0].text for result in read] == [TEXT, TEXT]
    assert read[0].structured_content == {"result": ROWS}
    # What is passed on from a file is a file.
    assert asyncio.run(call("rows", "read_file")) == TEXT
    assert [(record.tool, record.reason) for record in records] == [
        ("execute", ""),
        ("execute", "excluded"),
    ]


def test_a_tool_that_raises_still_raises() -> None:
    async def call() -> None:
        one = server()

        @one.tool
        def broken() -> str:
            raise ToolError("no such task")

        async with Client(one) as client:
            await client.call_tool("broken")

    with pytest.raises(ToolError, match="no such task"):
        asyncio.run(call())


def test_a_long_text_is_shrunk_outside_of_the_event_loop() -> None:
    said = json.dumps(ROWS * 200, indent=2)
    assert called("text", {"said": said}).content[0].text == cw.shrink(said).text


def test_definitions_lose_only_what_the_options_say() -> None:
    async def listed(**options: Any) -> dict[str, Any]:
        async with Client(server(**options)) as client:
            return {tool.name: tool for tool in await client.list_tools()}

    plain = asyncio.run(listed())
    dropped = asyncio.run(listed(structured="drop", definitions="slim"))
    assert plain["rows"].output_schema is not None
    assert dropped["rows"].output_schema is None
    assert dropped["rows"].input_schema["properties"]["indent"].keys() <= {"anyOf", "default"}
    assert dropped["rows"].description == plain["rows"].description


def test_an_invalid_option_is_an_error_at_once() -> None:
    with pytest.raises(cw.OptionError, match="structured must be 'keep' or 'drop'"):
        CompactMiddleware(structured="no")  # type: ignore[arg-type]  # The error is tested.


@pytest.mark.parametrize("answer", [object(), None])
def test_an_answer_that_is_no_result_passes(answer: Any) -> None:
    async def call_next(_context: Any) -> Any:
        return answer

    assert asyncio.run(CompactMiddleware().on_call_tool(None, call_next)) is answer


def test_a_tool_that_shrinks_returns_the_text_of_the_shrunk() -> None:
    one = FastMCP("tasks")

    @one.tool
    def as_text() -> Any:
        """Return the text, as the documentation says."""
        return cw.shrink(ROWS).text

    @one.tool
    def as_object() -> Any:
        """Return the object, which FastMCP sends as JSON."""
        return cw.shrink(ROWS)

    async def texts() -> list[str]:
        async with Client(one) as client:
            results = [await client.call_tool(name) for name in ("as_text", "as_object")]
        return [result.content[0].text for result in results]

    text, quoted = asyncio.run(texts())
    assert text == cw.shrink(ROWS).text
    assert json.loads(quoted) == text  # The page says so; returning it may become right one day.


def test_tools_that_ask_a_server_with_the_middleware_do_not_wait_for_each_other() -> None:
    # As many as the threads in which FastMCP runs tools that are no coroutines, and more.
    calls = 45
    inner, outer = FastMCP("inner"), FastMCP("outer")
    inner.add_middleware(CompactMiddleware())

    @inner.tool
    async def rows() -> list[dict[str, Any]]:
        await asyncio.sleep(0.2)
        return [{"id": n, "state": "open", "kind": "task"} for n in range(1_000)]

    async def ask() -> str:
        async with Client(inner) as client:
            result = await client.call_tool("rows")
            return str(result.content[0].text[:3])

    @outer.tool
    def first_letters() -> str:
        return anyio.from_thread.run(ask)

    async def use() -> list[str]:
        async with Client(outer) as client:
            asked = [client.call_tool("first_letters") for _ in range(calls)]
            done = await asyncio.wait_for(asyncio.gather(*asked), 60)
            return [result.content[0].text for result in done]

    assert asyncio.run(use()) == ["GCF"] * calls
