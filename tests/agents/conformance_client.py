"""A client of the SDK for the conformance suite: `relayed URL` or `direct URL`.

It calls every tool of the server, and accepts what it is asked with the default values.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult


async def answer(_context: Any, params: Any) -> ElicitResult:
    properties = params.requested_schema.get("properties", {})
    given = {name: one["default"] for name, one in properties.items() if "default" in one}
    return ElicitResult(action="accept", content=given)


async def main(way: str, url: str) -> None:
    target: Any = url
    if way == "relayed":
        arguments = ["-m", "compactwire", "mcp", "proxy", "--no-ledger", url]
        target = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    async with Client(target, mode="legacy", elicitation_callback=answer) as client:
        for tool in (await client.list_tools()).tools:
            arguments = dict.fromkeys(tool.input_schema.get("required", []), 2)
            await client.call_tool(tool.name, arguments)


asyncio.run(main(*sys.argv[1:]))
