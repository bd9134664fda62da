"""The relay between clients of the `mcp` SDK and servers that others wrote."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import compactwire as cw
from compactwire.mcp._same import carries
from tests.agents import needed

needed("mcp")

from tests.agents.mcp_servers import ALL, ENTITIES, SERVERS, transcript

RELAY = [sys.executable, "-m", "compactwire", "mcp", "proxy", "--no-ledger", "--"]


@pytest.mark.parametrize("server", ALL)
def test_a_real_server_is_the_same_through_the_relay(server: str, tmp_path: Path) -> None:
    program = shutil.which(server)
    if program is None:
        pytest.skip(f"NOT RUN: {server} is not installed")
    arguments, calls = ALL[server]
    command = [program, *arguments]
    outcomes = []
    folder = tmp_path / "folder"  # A server may name it.
    for relay in ([], RELAY):
        folder.mkdir()
        outcomes.append(asyncio.run(transcript([*relay, *command], calls, folder)))
        shutil.rmtree(folder)
    compare(calls, *outcomes)


def compare(calls: list[Any], direct: list[Any], relayed: list[Any]) -> None:
    """Check two transcripts of the same calls."""
    assert relayed[0] == direct[0]
    for tool in direct[1]["tools"]:
        tool.pop("outputSchema", None)
    assert relayed[1] == direct[1]
    for (name, arguments), old, new in zip(calls, direct[2:], relayed[2:], strict=True):
        check(name, arguments, old, new)


def check(name: str, arguments: dict[str, Any], old: Any, new: Any) -> None:
    """The result says the same, and costs no model more."""
    if new == old:
        return
    assert not old.get("isError")
    structured = old.pop("structuredContent", None)
    if new.pop("structuredContent", None) is None and structured is not None:
        (text,) = [block["text"] for block in old["content"] if block["type"] == "text"]
        assert carries(text, json.dumps(structured)), (name, arguments)
        (left,) = [block["text"] for block in new["content"] if block["type"] == "text"]
        compact = json.dumps(structured, separators=(",", ":"), ensure_ascii=False)
        assert cw.estimate_tokens(left) <= cw.estimate_tokens(compact)
    for before, after in zip(old["content"], new["content"], strict=True):
        if after != before:
            was, left = before.pop("text"), after.pop("text")
            assert after == before
            assert cw.expand(left) == json.loads(was)
            assert cw.estimate_tokens(left) < cw.estimate_tokens(was)
    assert {**new, "content": None} == {**old, "content": None}


def test_data_of_a_real_server_is_a_third(tmp_path: Path) -> None:
    program = shutil.which("mcp-server-memory")
    if program is None:
        pytest.skip("NOT RUN: mcp-server-memory is not installed")
    _, calls = SERVERS["mcp-server-memory"]
    said = asyncio.run(transcript([*RELAY, program], calls[:3], tmp_path))
    graph = said[-1]
    assert "structuredContent" not in graph
    (block,) = graph["content"]
    assert block["text"].startswith("GCF profile=generic")
    assert cw.expand(block["text"])["entities"] == ENTITIES
