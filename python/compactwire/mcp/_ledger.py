"""The ledger of the relay: a file of JSON Lines for each server, and the table of what was saved.

A record has the name of the tool and sizes, never a text or an argument. A file of 1 MiB is renamed
to `NAME.jsonl.1`, in place of the one before.

Source: an extension of this package.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import time
from dataclasses import asdict
from pathlib import Path

from .._texts import one_line, short_line
from ..savings import Saving, Savings, add

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from ..savings import Total

__all__ = [
    "Ledger",
    "folder",
    "names",
    "records",
    "report",
    "server_name",
    "summed",
    "table",
]

_MAX_FILE = 1 << 20
_MAX_NAME = 64

# Commands that run the program that their first argument names.
_LAUNCHERS = {"npx", "bunx", "uvx", "node", "bun", "deno", "python", "python3", "py"}


def folder() -> Path:
    """The folder of the ledgers of this user."""
    if given := os.environ.get("XDG_STATE_HOME"):
        base = Path(given)
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path.home() / ".local" / "state"
    return base / "compactwire" / "mcp"


def server_name(command: list[str]) -> str:
    """A name for the server that a command starts, for its ledger.

    It is the file name of the command; for `npx` and other launchers that of the first argument
    that is no option, without a version: `npx -y @scope/server@1.2` is "server".
    """
    program, *arguments = command
    # After "-c" and "-e" the argument is code, which may hold a secret.
    if Path(program).stem.lower() in _LAUNCHERS and not {"-c", "-e"} & set(arguments):
        program = next((one for one in arguments if not one.startswith("-")), program)
    last = program.rstrip("/").replace("\\", "/").rsplit("/", 1)[-1]
    return plain_name(re.sub(r"(?<=.)@.*|\.(exe|cmd|py|js|mjs|ts)$", "", last))


def plain_name(name: str) -> str:
    """The name as a file name: ASCII letters, digits, ".", "_" and "-"."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:_MAX_NAME].lstrip(".") or "server"


class Ledger:
    """Appends a line for each record. Failing to write is a warning, once, and no error."""

    def __init__(self, name: str, warn: Callable[[str], object]) -> None:
        self._path = folder() / f"{plain_name(name)}.jsonl"
        self._warn = warn
        self._failed = False

    def __call__(self, saving: Saving, /) -> None:
        """Append a record."""
        record = {
            "t": int(time.time()),
            "tool": short_line(saving.tool),
            "format": saving.format,
            "before": saving.before,
            "after": saving.after,
            "structured": saving.structured,
            "dropped": saving.dropped,
            "reason": saving.reason,
            "exact": saving.exact,
            "us": saving.microseconds,
        }
        try:
            self._append((json.dumps(record, separators=(",", ":")) + "\n").encode())
        except OSError as error:
            if not self._failed:
                self._failed = True
                self._warn(f"the ledger is not written: {error}")

    def _append(self, line: bytes) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Opened each time: another relay of the same server may have renamed the file. One write
        # with O_APPEND is not mixed with those of others.
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
            full = os.fstat(file).st_size >= _MAX_FILE
        finally:
            os.close(file)
        if full:
            with contextlib.suppress(FileNotFoundError):  # Another relay was faster.
                self._path.replace(self._path.with_suffix(".jsonl.1"))


def names() -> list[str]:
    """The servers that have a ledger."""
    return sorted({path.name.split(".jsonl")[0] for path in folder().glob("*.jsonl*")})


def records(name: str, since: float) -> Iterator[dict[str, Any]]:
    """The records of a server from this time on; lines that are none are left out."""
    for suffix in (".jsonl.1", ".jsonl"):
        try:
            data = (folder() / (plain_name(name) + suffix)).read_bytes()
        except FileNotFoundError:
            continue
        for line in data.splitlines():
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if _is_record(record) and record["t"] >= since:
                yield record


def _is_record(record: object) -> bool:
    return (
        isinstance(record, dict)
        and all(type(record.get(key)) is int for key in ("t", "before", "after"))
        and type(record.get("structured")) in (int, type(None))
        and all(isinstance(record.get(key), str) for key in ("tool", "reason"))
        and isinstance(record.get("dropped"), bool)
    )


def summed(found: Iterable[dict[str, Any]]) -> dict[str, Total]:
    """The sums by tool, those that cost the most first."""
    savings = Savings()
    for record in found:
        savings(_saving(record))
    return dict(sorted(savings.by_tool.items(), key=lambda item: -item[1].before))


def _saving(record: dict[str, Any]) -> Saving:
    return Saving(
        source="mcp",
        tool=record["tool"],
        format=record.get("format", "text"),
        before=record["before"],
        after=record["after"],
        exact=record.get("exact") is True,
        reason=record["reason"],
        structured=record["structured"],
        dropped=record["dropped"],
    )


def table(name: str, sums: dict[str, Total], *, exact: bool) -> str:
    """The table of one server: a line for each tool, the sums, and what hosts saved."""
    whole = add(sums.values())
    rows = [*((one_line(tool), each) for tool, each in sums.items()), ("all", whole)]
    width = max(len(name), *(len(tool) for tool, _ in rows))
    lines = [
        f"{name:{width}}  {'calls':>6}  {'text before':>11}  {'after':>9}"
        f"  {'structured':>10}  {'after':>9}  not saved because"
    ]
    for tool, each in rows:
        why = ", ".join(f"{reason} {count:,}" for reason, count in sorted(each.reasons.items()))
        lines.append(
            f"{tool:{width}}  {each.calls:6,}  {each.before:11,}  {each.after:9,}"
            f"  {each.structured_before:10,}  {each.structured_after:9,}  {why}".rstrip()
        )
    text = _percent(whole.before, whole.after)
    structured = _percent(whole.structured_before, whole.structured_after)
    counted = "counted" if exact else "estimated"
    lines.append(
        f"A host that shows text saved {text}; one that shows structuredContent saved "
        f"{structured}. Tokens are {counted}."
    )
    return "\n".join(lines)


def report(name: str, sums: dict[str, Total]) -> dict[str, Any]:
    """The sums of one server as JSON."""
    tools = {tool: asdict(each) for tool, each in sums.items()}
    return {"server": name, "all": asdict(add(sums.values())), "tools": tools}


def _percent(before: int, after: int) -> str:
    return f"{(before - after) / before:.0%}" if before else "0%"
