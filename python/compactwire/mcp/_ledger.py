"""The ledger of the relay: a file of JSON Lines for each server, and the table of what was saved.

A record has the name of the tool and sizes, never a text or an argument. A file of 1 MiB is renamed
to `NAME.jsonl.1`, in place of the one before, whose records are dropped.

Source: an extension of this package.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from .._texts import short_line
from ..savings import Saving, Savings, add
from ._names import plain_name

if sys.platform != "win32":
    import fcntl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from ..savings import Total

__all__ = [
    "Ledger",
    "begin",
    "folder",
    "names",
    "records",
    "report",
    "summed",
    "table",
]

_MAX_FILE = 1 << 20
# Several relays may write to a file before it is renamed; a longer one is not a ledger.
_MAX_READ = 4 << 20
_MAX_NUMBER = 1 << 53
# The end of the year 9999, after which `datetime` has no dates.
_MAX_TIME = 253_402_300_800
_MAX_REASON = 32
# Characters of a tool's name in a table.
_MAX_SHOWN = 40

# Opening a pipe must not wait for its other end. Windows has no pipes in folders, but a text mode.
_OPEN = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def folder() -> Path:
    """The folder of the ledgers of this user."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    if given.is_absolute():  # The XDG specification says that a relative path is ignored.
        return given / "compactwire" / "mcp"
    try:
        home = Path.home()
    except RuntimeError as error:
        raise OSError("no home folder is known; set XDG_STATE_HOME to a folder") from error
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = home / ".local" / "state"
    return base / "compactwire" / "mcp"


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
        # The file is opened for each line, because another relay may have renamed it. One write
        # with O_APPEND is not mixed with those of others.
        file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _OPEN, 0o600)
        try:
            _check_regular(file)
            if _ends_within_line(file):
                line = b"\n" + line
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = os.fstat(file)
            full = written.st_size >= _MAX_FILE
            if full and sys.platform != "win32" and _is_locked(file):
                self._rename(written)
        finally:
            os.close(file)
        if full and sys.platform == "win32":  # An open file cannot be renamed.
            self._rename(written)

    def _rename(self, written: os.stat_result) -> None:
        """Rename the file that was written, but not one that another relay has begun since."""
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(written, self._path.stat()):
                self._path.replace(self._path.with_suffix(".jsonl.1"))


def _ends_within_line(file: int) -> bool:
    """Whether the last record was cut, as on a full disk: the next one must not be joined to it.

    One that another relay is just writing may look like it: then an empty line follows it.
    """
    if not os.fstat(file).st_size:
        return False
    os.lseek(file, -1, os.SEEK_END)
    return os.read(file, 1) != b"\n"


def _is_locked(file: int) -> bool:
    """Lock a file until it is closed; False if another relay has locked it, and will rename it."""
    assert sys.platform != "win32"
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # A file system without locks: two relays rarely rename at the same time.
        pass
    return True


def names() -> list[str]:
    """The servers that have a ledger."""
    try:
        files = [path.name for path in folder().iterdir()]
    except FileNotFoundError:
        return []
    found = (re.fullmatch(r"(.+)\.jsonl(\.1)?", file) for file in files)
    return sorted({one[1] for one in found if one and one[1] == plain_name(one[1])})


def records(name: str, since: float, problems: list[str]) -> Iterator[dict[str, Any]]:
    """The records of a server from this time on.

    Files and lines that cannot be read are left out, and described in `problems`.
    """
    for suffix in (".jsonl.1", ".jsonl"):
        path = folder() / (plain_name(name) + suffix)
        try:
            data = _content(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{path.name} ({error.strerror or error})")
            continue
        damaged = 0
        for line in data[:_MAX_READ].splitlines():
            if not line:  # Two relays wrote at the same time, see `_ends_within_line`.
                continue
            record = _record(line)
            if record is None:
                damaged += 1
            elif record["t"] >= since:
                yield record
        if damaged:
            problems.append(f"{path.name} ({damaged:,} damaged line{'s' * (damaged > 1)})")
        if len(data) > _MAX_READ:
            problems.append(f"{path.name} (all but its first {_MAX_READ:,} bytes)")


def begin(name: str) -> int | None:
    """The time of the oldest record, if older ones may have been dropped; else None."""
    try:
        data = _content(folder() / f"{plain_name(name)}.jsonl.1")
    except OSError:
        return None
    found = filter(None, map(_record, data[:_MAX_READ].splitlines()))
    return next((record["t"] for record in found), None)


def _content(path: Path) -> bytes:
    file = os.open(path, os.O_RDONLY | _OPEN)
    try:
        _check_regular(file)
        data = bytearray()
        while len(data) <= _MAX_READ and (chunk := os.read(file, 1 << 16)):
            data += chunk
    finally:
        os.close(file)
    return bytes(data)


def _check_regular(file: int) -> None:
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, "a folder" if stat.S_ISDIR(mode) else "not a regular file")


def _record(line: bytes) -> dict[str, Any] | None:
    """The record of a line, its texts fit for a table; None if the line is damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    numbers = [record.get(key) for key in ("t", "before", "after", "structured")]
    if record.get("structured", 0) is None:
        numbers.pop()
    if not all(type(number) is int and 0 <= number < _MAX_NUMBER for number in numbers):
        return None
    if record["t"] >= _MAX_TIME:
        return None
    tool, reason, dropped = (record.get(key) for key in ("tool", "reason", "dropped"))
    if not (isinstance(tool, str) and isinstance(reason, str) and isinstance(dropped, bool)):
        return None
    return {**record, "tool": short_line(tool), "reason": short_line(reason, _MAX_REASON)}


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


def table(
    name: str, sums: dict[str, Total], *, exact: bool, ledger_begin: int | None = None
) -> str:
    """The table of one server: a line for each tool, the sums, and what hosts saved."""
    whole = add(sums.values())
    rows = [(short_line(tool, _MAX_SHOWN), each) for tool, each in sums.items()]
    rows.append(("all", whole))
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
    if ledger_begin is not None:
        day = datetime.fromtimestamp(ledger_begin, UTC)
        lines.append(f"The ledger begins on {day:%Y-%m-%d %H:%M} UTC; older calls are not kept.")
    return "\n".join(lines)


def report(name: str | None, sums: dict[str, Total], ledger_begin: int | None) -> dict[str, Any]:
    """The sums of one server as JSON, with the time in seconds from which calls are kept.

    The name is None if no server has a ledger.
    """
    tools = {tool: asdict(each) for tool, each in sums.items()}
    whole = asdict(add(sums.values()))
    return {"server": name, "ledger_begin": ledger_begin, "all": whole, "tools": tools}


def _percent(before: int, after: int) -> str:
    return f"{(before - after) / before:.0%}" if before else "0%"
