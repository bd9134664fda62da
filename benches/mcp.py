"""The relay of MCP: tokens before and after for tools of real servers, and its cost.

    python -m benches.mcp

Needs the `mcp` SDK, and in the PATH the servers of `tests.agents.mcp_servers` and the peers
`gcf-proxy` and `headroom`; those that are missing are named. Tokens are those of o200k_base, of the
text and of the structured content as compact JSON. An asterisk marks an output from which the same
data cannot be read back; in the sums, the result as it came stands in its place. Below a table, the
tokens of each peer's text that costs less than ours and can be read back are split by lines.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import bpe_openai

from tests.agents.mcp_servers import ALL, HELD_OUT, SERVERS, transcript

from .mcp_peers import NotRunError, Output, gives_back, headroom, is_result, plain, relayed

RELAY = [sys.executable, "-m", "compactwire", "mcp", "proxy"]
ECHO = [sys.executable, str(Path(__file__).parents[1] / "tests" / "mcp" / "server.py")]
CALLS, WARM_UP, STARTS = 200, 20, 15
NOT_RUN = "not run"
ENCODER = bpe_openai.get_encoding("o200k_base")


def tokens(text: str) -> int:
    """Return the number of tokens."""
    return len(ENCODER.encode_ordinary(text))


def cost(output: Output) -> tuple[int, int | None]:
    """Return the tokens of a result: of its text, and of its structured content."""
    structured = None if output.structured is None else tokens(output.structured)
    return sum(map(tokens, output.texts)), structured


def cell(output: Output, counts: tuple[bool, bool]) -> str:
    """Write the tokens of a result, with an asterisk where they do not count."""
    text, structured = cost(output)
    shown = [f"{text:,}", "-" if structured is None else f"{structured:,}"]
    marks = ["" if counted else "*" for counted in counts]
    return f"{shown[0]}{marks[0]} / {shown[1]}{marks[1] if structured is not None else ''}"


def outputs(server: str, skipped: list[str]) -> list[list[Output | None]]:
    """Return the results of a server's tools: as they came, from the relay and from peers."""
    program = shutil.which(server)
    if program is None:
        raise NotRunError(f"{server} is not installed")
    arguments, calls = ALL[server]

    def said(command: list[str]) -> list[Any]:
        with tempfile.TemporaryDirectory() as folder:
            return asyncio.run(transcript(command, calls, Path(folder)))[2:]

    command = [program, *arguments]
    before = [plain(one) if is_result(one) else None for one in said(command)]
    found = [before]
    for made in (
        partial(relayed, [*RELAY, "--no-ledger", "--"], command, said),
        partial(relayed, ["gcf-proxy"], command, said),
        partial(headroom, before),
    ):
        try:
            found.append(made())
        except NotRunError as error:
            found.append([None] * len(before))
            skipped.append(str(error))
    return found


def table(servers: Iterable[str]) -> None:
    """Print the tokens of each result: as it came, through the relay, and through its peers."""
    columns = ["before", "compactwire", "gcf-proxy", "headroom-ai"]
    print(f"| server: tool | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}")
    skipped: list[str] = []
    cheaper: list[str] = []
    sums = {kind: [[0, 0] for _ in columns] for kind in ("JSON only", "all")}
    runs = [False for _ in columns]
    for server in servers:
        try:
            found = outputs(server, skipped)
        except NotRunError as error:
            skipped.append(str(error))
            continue
        for (tool, _), before, *others in zip(ALL[server][1], *found, strict=True):
            if before is not None:
                cells = row(before, [before, *others], sums["all"])
                if all(isinstance(value, (dict, list)) for value in before.read):
                    row(before, [before, *others], sums["JSON only"])
                runs = [ran or one != NOT_RUN for ran, one in zip(runs, cells, strict=True)]
                print(f"| {server.removeprefix('mcp-server-')}: `{tool}` | {' | '.join(cells)} |")
                cheaper += below_ours(tool, before, dict(zip(columns[1:], others, strict=True)))
    for (kind, made), (at, name) in product(
        sums.items(), enumerate(("text", "structured content"))
    ):
        cells = [f"{both[at]:,}" if ran else NOT_RUN for both, ran in zip(made, runs, strict=True)]
        print(f"| {kind}, for a host that shows {name} | {' | '.join(cells)} |")
    for line in cheaper:
        print(line)
    for reason in dict.fromkeys(skipped):
        print(f"NOT RUN: {reason}")


def below_ours(tool: str, before: Output, made: dict[str, Output | None]) -> list[str]:
    """Return where the tokens are, for each peer whose text costs less than ours and counts."""
    ours = made.pop("compactwire")
    if ours is None:
        return []
    return [
        f"`{tool}`: {name} {where(output)}; compactwire {where(ours)}"
        for name, output in made.items()
        if output is not None and gives_back(before, output)[0] and cost(output)[0] < cost(ours)[0]
    ]


def where(output: Output) -> str:
    """Return the tokens of the first two lines of a text and of the others, also with commas."""
    text = "".join(output.texts)
    lines = text.splitlines(keepends=True)
    shares = [tokens(line) for line in lines[:2]]
    others = "".join(lines[2:])
    commas = "" if "|" not in others else f", {tokens(others.replace('|', ','))} with , for |"
    sizes = " + ".join(map(str, [*shares, tokens(others)]))
    return f"{tokens(text)} ({sizes}, the last in {len(lines) - 2} lines{commas})"


def row(before: Output, made: list[Output | None], sums: list[list[int]]) -> list[str]:
    """Return the cells of a row, and add what they cost to the sums of their columns."""
    cells = []
    for output, both in zip(made, sums, strict=True):
        counts = (False, False) if output is None else gives_back(before, output)
        for at, counted in enumerate(counts):
            text, structured = cost(output if output is not None and counted else before)
            both[at] += text if at == 0 or structured is None else structured
        cells.append(NOT_RUN if output is None else cell(output, counts))
    return cells


class Server:
    """A server that returns texts as they are, with or without the relay."""

    def __init__(self, relay: list[str], folder: str) -> None:
        begun = time.perf_counter()
        self.process = subprocess.Popen(
            [*relay, *ECHO],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": folder},
        )
        self._ask("tools/list")
        self.start = (time.perf_counter() - begun) * 1e3
        """The milliseconds until the first answer."""

    def call(self, text: str) -> float:
        """Return the milliseconds of a call."""
        return self._ask("tools/call", name="echo", arguments={"text": text})

    def _ask(self, method: str, **params: Any) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        line = json.dumps(request).encode() + b"\n"
        start = time.perf_counter()
        self.process.stdin.write(line)
        self.process.stdin.flush()
        self.process.stdout.readline()
        return (time.perf_counter() - start) * 1e3

    def end(self) -> float:
        """End the process, and return the most memory that it had, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status")
        peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
        self.process.communicate()
        return int(peak[1]) / 1024 if peak else float("nan")


RELAYS = {"direct": [], "relayed, --off": [*RELAY, "--off", "--"], "relayed": [*RELAY, "--"]}


def times() -> None:
    """Print the median time of calls whose result is 8 KB of JSON, interleaved, and of starts."""
    rows = [
        {"id": n, "title": f"Task number {n}", "state": "open", "owner": f"user{n % 7}"}
        for n in range(120)
    ]
    text = json.dumps(rows, separators=(",", ":"))
    calls: dict[str, list[float]] = {name: [] for name in RELAYS}
    starts: dict[str, list[float]] = {name: [] for name in RELAYS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(STARTS):
            for name, relay in RELAYS.items():
                server = Server(relay, folder)
                starts[name].append(server.start)
                server.end()
        servers = {name: Server(relay, folder) for name, relay in RELAYS.items()}
        for turn in range(WARM_UP + CALLS):
            for name, server in servers.items():
                taken = server.call(text)
                if turn >= WARM_UP:
                    calls[name].append(taken)
        memory = {name: server.end() for name, server in servers.items()}
    print(f"\nA call with a result of {len(text):,} bytes, median of {CALLS}; the time until the")
    print(f"first answer, median of {STARTS}; the most memory of the process that a host starts:")
    for name in RELAYS:
        call, start = median(calls[name]), median(starts[name])
        print(f"  {name:<15} {call:.2f} ms {start:6.0f} ms {memory[name]:5.0f} MiB")


if __name__ == "__main__":
    table(SERVERS)
    print("\nServers that were not used while the rules for results were made:\n")
    table(HELD_OUT)
    times()
