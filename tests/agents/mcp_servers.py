"""MCP servers that others wrote: how they start, and calls of their tools. Needs the `mcp` SDK."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

ROOT = str(Path(__file__).parents[2])
ENTITIES = [
    {"name": f"n{n}", "entityType": "task", "observations": [f"o{n}", "p"]} for n in range(30)
]
RELATIONS = [{"from": f"n{n}", "to": f"n{n + 1}", "relationType": "next"} for n in range(20)]
SERVERS: dict[str, tuple[list[str], list[tuple[str, dict[str, Any]]]]] = {
    "mcp-server-memory": (
        [],
        [
            ("create_entities", {"entities": ENTITIES}),
            ("create_relations", {"relations": RELATIONS}),
            ("read_graph", {}),
            ("search_nodes", {"query": "n1"}),
        ],
    ),
    "mcp-server-filesystem": (
        [ROOT],
        [
            ("directory_tree", {"path": f"{ROOT}/src"}),
            ("read_text_file", {"path": f"{ROOT}/src/value.rs"}),
            ("read_text_file", {"path": f"{ROOT}/no such file"}),
            ("list_directory", {"path": f"{ROOT}/src"}),
        ],
    ),
    "mcp-server-everything": (
        [],
        [
            ("echo", {"message": "hi"}),
            ("get-tiny-image", {}),
            ("get-structured-content", {"location": "Chicago"}),
            ("no-such-tool", {}),
        ],
    ),
    "mcp-server-time": (
        [],
        [
            (
                "convert_time",
                {"source_timezone": "UTC", "time": "10:00", "target_timezone": "Asia/Tokyo"},
            )
        ],
    ),
    "mcp-server-git": ([], [("git_log", {"repo_path": ROOT, "max_count": 5})]),
}


async def transcript(command: list[str], calls: list[Any], folder: Path) -> list[Any]:
    """What the server says of itself, its tools, and the results or errors of these calls."""
    environment = {**os.environ, "MEMORY_FILE_PATH": str(folder / "memory.json")}
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        said: list[Any] = [await session.initialize(), await session.list_tools()]
        for name, arguments in calls:
            try:
                said.append(await session.call_tool(name, arguments))
            except Exception as error:  # The relay must lead to the same one.
                said.append(repr(error))
    return [one if isinstance(one, str) else plain(one) for one in said]


def plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)
