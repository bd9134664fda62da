"""The server for agents, as clients of the `mcp` SDK and raw ones see it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire import cad
from compactwire.mcp._definitions import ToolError
from compactwire.mcp._roots import Roots
from compactwire.mcp._toolbox import Toolbox
from tests.agents import ROWS, TEXT, needed

needed("mcp_types")

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from compactwire.mcp import _serve
from compactwire.mcp._serve import make_server

COMMAND = [sys.executable, "-m", "compactwire", "mcp", "serve"]
NAMES = ["compress", "expand", "stats", "create_cad_compact", "cad_convert", "verify_claim"]
SHORT = cw.shrink(TEXT).text

# The handshake of 2025, and the newest version, which has none.
either_era = pytest.mark.parametrize("mode", ["legacy", "auto"])


@pytest.fixture
def roots(folder: Path) -> Iterator[Roots]:
    one = Roots([str(folder)])
    yield one
    one.close()


def with_client(server: Any, mode: str, use: Callable[[Any], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Client(server, mode=mode) as client:
            return await use(client)

    return asyncio.run(run())


def over_stdio(*options: str, command: Sequence[str] = COMMAND) -> Any:
    program, *arguments = [*command, *options]
    # By default the SDK passes on few variables, and not where this package is.
    environment = dict(os.environ)
    return stdio_client(StdioServerParameters(command=program, args=arguments, env=environment))


async def said(client: Any, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content[0].text
    assert result.structured_content is None
    (block,) = result.content
    return str(block.text)


@either_era
def test_a_session_over_stdio(mode: str, folder: Path) -> None:
    async def use(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == NAMES
        assert all(tool.output_schema is None for tool in tools)
        assert client.server_info.name == "compactwire"
        assert str(folder) in client.instructions
        written = await said(client, "compress", path="rows.json", to="rows.gcf")
        assert "rows.gcf written from rows.json" in written
        assert json.loads(await said(client, "expand", path="rows.gcf")) == ROWS
        assert "cheapest: gcf" in await said(client, "stats", path=str(folder / "rows.json"))
        await said(client, "create_cad_compact", compact="C 1 2 3", to="part.vcad")
        await said(client, "cad_convert", path="part.vcad", to="part.vcadb")
        failed = await client.call_tool("compress", {"path": "/etc/passwd"})
        assert failed.is_error
        assert "is not below a root" in failed.content[0].text
        assert await said(client, "compress", text=TEXT) == SHORT

    with_client(over_stdio("--root", str(folder)), mode, use)
    assert (folder / "rows.gcf").read_text(encoding="utf-8") == SHORT
    assert cad.load(folder / "part.vcadb") == cad.from_compact("C 1 2 3")


@either_era
def test_the_relay_passes_on_what_the_tools_say(mode: str) -> None:
    async def use(client: Any) -> None:
        await client.list_tools()
        assert json.loads(await said(client, "expand", text=SHORT)) == ROWS

    relay = [*COMMAND[:-1], "proxy", "--no-ledger", "--", *COMMAND]
    with_client(over_stdio(command=relay), mode, use)


@either_era
def test_without_a_root_only_texts_work(mode: str) -> None:
    async def use(client: Any) -> None:
        assert "runs without --root" in client.instructions
        assert await said(client, "compress", text=TEXT) == SHORT
        failed = await client.call_tool("compress", {"path": "rows.json"})
        assert failed.is_error
        assert "ask the user to add --root FOLDER" in failed.content[0].text

    with_client(over_stdio(), mode, use)


def test_overwrite_is_an_option(folder: Path) -> None:
    async def use(client: Any) -> None:
        await said(client, "compress", text="[1]", to="rows.json")

    with_client(over_stdio("--root", str(folder), "--overwrite"), "auto", use)
    assert (folder / "rows.json").read_text(encoding="utf-8") == "[1]"


def test_a_root_whose_name_is_not_unicode_is_named_in_the_instructions(tmp_path: Path) -> None:
    strange = tmp_path / os.fsdecode(b"a\xff\nb")
    try:
        strange.mkdir()
    except OSError:
        pytest.skip("NOT RUN: the file system takes only names in Unicode")

    async def use(client: Any) -> None:
        assert client.instructions.isprintable()
        assert str(tmp_path) in client.instructions

    with_client(over_stdio("--root", str(strange)), "legacy", use)


@either_era
def test_errors_are_results(mode: str, roots: Roots) -> None:
    calls: list[tuple[str, Any]] = [
        ("none", {}),
        ("compress", {"text": 3}),
        ("compress", {"text": "\ud800"}),
        ("expand", {"text": "hello"}),
        ("create_cad_compact", {"compact": "sphere"}),
        ("verify_claim", {"bundle": "a", "receipts": "b", "claim": "c"}),
    ]

    async def use(client: Any) -> None:
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            assert result.is_error
            (block,) = result.content
            assert block.text.startswith(f"{name}: ")
            assert "Traceback" not in block.text

    with_client(make_server(roots), mode, use)


def test_a_hundred_calls_at_once_get_their_own_answers(roots: Roots) -> None:
    async def use(client: Any) -> None:
        async def one(number: int) -> None:
            assert await said(client, "expand", text=f"[ {number} ]") == f"[{number}]"

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(one, number)

    with_client(make_server(roots), "auto", use)
    with_client(over_stdio(), "legacy", use)


def test_a_long_call_does_not_hold_up_the_server(
    roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(_toolbox: Any, name: str, _arguments: Any) -> str:
        if name == "stats":
            begun.set()
            assert go_on.wait(60)
        return name

    monkeypatch.setattr(Toolbox, "call", slow)

    async def use(client: Any) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(said, client, "stats")
            while not begun.is_set():
                await anyio.sleep(0.01)
            assert len((await client.list_tools()).tools) == len(NAMES)
            assert await said(client, "compress") == "compress"
            go_on.set()

    with_client(make_server(roots), "legacy", use)


def test_few_calls_run_at_once(roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[str] = []
    go_on = threading.Event()

    def counted(_toolbox: Any, name: str, _arguments: Any) -> str:
        running.append(name)
        assert go_on.wait(60)
        return ""

    monkeypatch.setattr(Toolbox, "call", counted)

    async def use(client: Any) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(client.call_tool, "stats", {})
            while len(running) < _serve._AT_ONCE:
                await anyio.sleep(0.01)
            # By now all eight have arrived.
            await client.list_tools()
            await anyio.sleep(0.2)
            assert len(running) == _serve._AT_ONCE
            go_on.set()
        assert len(running) == 8

    with_client(make_server(roots), "legacy", use)


def test_an_error_of_a_tool_is_all_that_leaves_it(
    roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_toolbox: Any, _name: str, _arguments: Any) -> str:
        raise ToolError("said")

    monkeypatch.setattr(Toolbox, "call", broken)

    async def use(client: Any) -> None:
        result = await client.call_tool("stats", {})
        assert (result.is_error, result.content[0].text) == (True, "said")

    with_client(make_server(roots), "auto", use)
