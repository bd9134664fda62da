"""MCP servers that others wrote: how they start, and calls of their tools. Needs the `mcp` SDK."""

from __future__ import annotations

import contextlib
import csv
import os
import socket
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = str(Path(__file__).parents[2])
ENTITIES = [
    {"name": f"n{n}", "entityType": "task", "observations": [f"o{n}", "p"]} for n in range(30)
]
RELATIONS = [{"from": f"n{n}", "to": f"n{n + 1}", "relationType": "next"} for n in range(20)]
ROWS = ", ".join(f"({n}, 'open', 'task')" for n in range(40))
TABLE = "CREATE TABLE rows (id INTEGER, state TEXT, kind TEXT)"
# In the arguments, {folder} stands for a folder with nothing but `orders.csv` and `orders.db`.
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
    "mcp-server-sqlite": (
        ["--db-path", "{folder}/rows.db"],
        [
            ("create_table", {"query": TABLE}),
            ("write_query", {"query": f"INSERT INTO rows VALUES {ROWS}"}),
            ("read_query", {"query": "SELECT * FROM rows"}),
            ("read_query", {"query": "SELECT * FROM columns"}),
        ],
    ),
    "mcp-server-duckdb": (
        ["--db-path", "{folder}/rows.duckdb"],
        [
            ("query", {"query": TABLE}),
            ("query", {"query": f"INSERT INTO rows VALUES {ROWS}"}),
            ("query", {"query": "SELECT * FROM rows"}),
        ],
    ),
    "mcp-server-motherduck": (
        ["--db-path", ":memory:", "--read-write"],
        [
            ("execute_query", {"sql": TABLE}),
            ("execute_query", {"sql": f"INSERT INTO rows VALUES {ROWS}"}),
            ("execute_query", {"sql": "SELECT * FROM rows"}),
        ],
    ),
}

# Servers that were not used while the rules for results were made: they are not fitted to them.
HEAD = ["id", "date", "customer", "country", "amount", "paid"]
ORDERS = [
    [
        n,
        f"2026-{n % 12 + 1:02}-{n % 28 + 1:02}",
        f"Customer {n % 17}",
        ["DE", "FR", "US", "JP"][n % 4],
        round(n * 13.37 % 900 + 5, 2),
        n % 3 > 0,
    ]
    for n in range(1, 121)
]
WORKBOOK = {"path": "orders.xlsx"}
SHEET = {**WORKBOOK, "sheet": "orders"}
FILE = {"path": "{folder}/orders.csv"}
HELD_OUT: dict[str, tuple[list[str], list[tuple[str, dict[str, Any]]]]] = {
    "excel-mcp-server": (
        ["stdio", "--allow-dir", "{folder}"],
        [
            ("create_workbook", {**WORKBOOK, "sheets": ["orders"]}),
            ("write_range", {**SHEET, "at": "A1", "rows": [HEAD, *ORDERS]}),
            ("describe_workbook", WORKBOOK),
            ("describe_sheet", SHEET),
            ("read_range", SHEET),
            ("find_cells", {**WORKBOOK, "query": "Customer 3"}),
            ("read_range", {**WORKBOOK, "sheet": "no such sheet"}),
        ],
    ),
    "database-mcp-sqlite": (
        ["--dsn", "{folder}/orders.db"],
        [
            ("execute_sql", {"sql": "SELECT * FROM orders"}),
            ("execute_sql", {"sql": "SELECT country, sum(amount) FROM orders GROUP BY country"}),
            ("search_objects", {}),
            ("search_objects", {"table": "orders"}),
        ],
    ),
    "dataset-explorer-mcp": (
        [],
        [
            ("get_dataset_overview", FILE),
            ("dataset_shape", FILE),
            ("dataset_statistical_summary", FILE),
            ("inspect_Column", {**FILE, "col_name": "customer"}),
            ("analyze_target", {**FILE, "target_name": "country"}),
            ("duplicate_finder", FILE),
            ("analyze_missing_values", FILE),
            ("find_correlations", {**FILE, "threshold": 0.1}),
            ("detect_outliers", FILE),
            ("screen_target_relationships", {**FILE, "target": "paid"}),
        ],
    ),
}
ALL = {**SERVERS, **HELD_OUT}

# How those that speak HTTP are started on a port.
OVER_HTTP = {
    "mcp-server-everything": ["streamableHttp"],
    "mcp-server-motherduck": ["--read-write", "--transport", "http", "--port", "{port}"],
}


@contextlib.contextmanager
def over_http(server: str) -> Iterator[str]:
    """Run one of these servers, which is installed; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    arguments = [part.replace("{port}", str(port)) for part in OVER_HTTP[server]]
    process = subprocess.Popen(
        [server, *arguments],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    try:
        while not listens(port) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("localhost", port), timeout=1).close()
    except OSError:
        return False
    return True


async def transcript(command: list[str], calls: list[Any], folder: Path) -> list[Any]:
    """What the server says of itself, its tools, and the results or errors of these calls."""
    environment = {**os.environ, "MEMORY_FILE_PATH": str(folder / "memory.json")}
    supply(folder)
    command, calls = within(folder, command), within(folder, calls)
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    async with stdio_client(server) as streams:
        return await said(streams, calls)


def supply(folder: Path) -> None:
    """Write the orders for servers that read files."""
    with (folder / "orders.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([HEAD, *ORDERS])
    with contextlib.closing(sqlite3.connect(folder / "orders.db")) as base, base:
        base.execute(f"CREATE TABLE orders ({', '.join(HEAD)})")
        base.executemany(f"INSERT INTO orders VALUES ({', '.join('?' * len(HEAD))})", ORDERS)


def within(folder: Path, part: Any) -> Any:
    """The command or the calls, with the folder's path for {folder}."""
    if isinstance(part, str):
        return part.replace("{folder}", str(folder))
    if isinstance(part, dict):
        return {name: within(folder, member) for name, member in part.items()}
    return [within(folder, item) for item in part] if isinstance(part, (list, tuple)) else part


async def said(streams: Any, calls: list[Any]) -> list[Any]:
    """What the server at the other end says of itself, its tools, and these results."""
    async with ClientSession(*streams) as session:
        found: list[Any] = [await session.initialize(), await session.list_tools()]
        for name, arguments in calls:
            try:
                found.append(await session.call_tool(name, arguments))
            except Exception as error:  # The relay must lead to the same one.
                found.append(repr(error))
    return [one if isinstance(one, str) else plain(one) for one in found]


def plain(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)
