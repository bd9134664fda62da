"""The relay of MCP: tokens before and after for tools of real servers, and the time of a call.

    python -m benches.mcp

Needs the `mcp` SDK, and the servers of `tests.agents.mcp_servers` in the PATH; those that are
missing are named. The table is that of `docs/mcp.md`. Tokens are those of o200k_base, of the text
and of the structured content as compact JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import bpe_openai

from tests.agents.mcp_servers import SERVERS, transcript

RELAY = [sys.executable, "-m", "compactwire", "mcp", "proxy"]
ECHO = [sys.executable, str(Path(__file__).parents[1] / "tests" / "mcp" / "server.py")]
CALLS, WARM_UP = 200, 20
ENCODER = bpe_openai.get_encoding("o200k_base")


def tokens(text: str) -> int:
    """Return the number of tokens."""
    return len(ENCODER.encode_ordinary(text))


def cost(result: dict[str, Any]) -> str:
    """Write the tokens of a result: of its text, and of its structured content."""
    texts = sum(tokens(block["text"]) for block in result["content"] if block["type"] == "text")
    structured = result.get("structuredContent")
    if structured is None:
        return f"{texts:,} / -"
    compact = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
    return f"{texts:,} / {tokens(compact):,}"


def table() -> None:
    """Print what each result costs without the relay and behind it."""
    print("| server: tool | before | after |\n|---|--:|--:|")
    missing = []
    for server, (arguments, calls) in SERVERS.items():
        program = shutil.which(server)
        if program is None:
            missing.append(server)
            continue
        said = []
        for relay in ([], [*RELAY, "--no-ledger", "--"]):
            with tempfile.TemporaryDirectory() as folder:
                command = [*relay, program, *arguments]
                said.append(asyncio.run(transcript(command, calls, Path(folder)))[2:])
        for (tool, _), before, after in zip(calls, *said, strict=True):
            if isinstance(before, dict) and not before.get("isError"):
                name = f"{server.removeprefix('mcp-server-')}: `{tool}`"
                print(f"| {name} | {cost(before)} | {cost(after)} |")
    for server in missing:
        print(f"NOT RUN: {server} is not installed")


class Server:
    """A server that returns texts as they are, with or without the relay."""

    def __init__(self, relay: list[str], folder: str) -> None:
        self.process = subprocess.Popen(
            [*relay, *ECHO],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": folder},
        )

    def call(self, text: str) -> float:
        """Return the milliseconds of a call."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        params = {"name": "echo", "arguments": {"text": text}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line = json.dumps(request).encode() + b"\n"
        start = time.perf_counter()
        self.process.stdin.write(line)
        self.process.stdin.flush()
        self.process.stdout.readline()
        return (time.perf_counter() - start) * 1e3


def times() -> None:
    """Print the median time of calls whose result is 8 KB of JSON, interleaved."""
    rows = [
        {"id": n, "title": f"Task number {n}", "state": "open", "owner": f"user{n % 7}"}
        for n in range(120)
    ]
    text = json.dumps(rows, separators=(",", ":"))
    with tempfile.TemporaryDirectory() as folder:
        servers = {
            "direct": Server([], folder),
            "relayed, --off": Server([*RELAY, "--off", "--"], folder),
            "relayed": Server([*RELAY, "--"], folder),
        }
        found: dict[str, list[float]] = {name: [] for name in servers}
        for turn in range(WARM_UP + CALLS):
            for name, server in servers.items():
                taken = server.call(text)
                if turn >= WARM_UP:
                    found[name].append(taken)
        for server in servers.values():
            server.process.communicate()
    print(f"\nA call with a result of {len(text):,} bytes, median of {CALLS}:")
    for name, taken in found.items():
        print(f"  {name:<15} {median(taken):.2f} ms")


if __name__ == "__main__":
    table()
    times()
