"""The command ``compactwire mcp``: a relay that shrinks results of MCP tools, and its ledger."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import re
import select
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from .._tools import VERBATIM
from ..mcp import _ledger
from ..mcp._names import plain_name, server_name
from ..mcp._project import Projector
from ..mcp._relay import Passthrough, Relay
from ..mcp._roots import Roots
from ..mcp._stdio import relay_stdio
from ._shell import DEFAULT, OK, add_command, add_group, json_line, natural, stdout, tell, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..mcp._http_client import Endpoint
    from ._shell import Commands

_BAD_INPUT, _WRONG_USAGE = 1, 2
# Names in a line of `mcp stats`.
_SHOWN = 5
# A host begins with a message of some hundred bytes.
_LEAST_MESSAGE = 4_096
_SPANS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

# A server may send any number of lines that are no messages.
_WARNINGS, _WARNING_SECONDS = 10, 60.0


def add(commands: Commands) -> None:
    """Add the command."""
    about = "shrink the results of MCP tools between a server and its host"
    example = "compactwire mcp proxy -- npx -y @modelcontextprotocol/server-memory"
    group = add_group(commands, "mcp", about, example)
    _add_proxy(group)
    _add_stats(group)
    _add_serve(group)


def _add_proxy(group: Commands) -> None:
    about = "run an MCP server, and shrink the results of its tools"
    example = "compactwire mcp proxy -- npx -y @modelcontextprotocol/server-memory"
    proxy = add_command(group, "proxy", _run_proxy, about, example)
    proxy.usage = (
        "compactwire mcp proxy [options] -- COMMAND [ARG ...]\n"
        "       compactwire mcp proxy [options] URL"
    )
    proxy.add_argument(
        "command",
        metavar="COMMAND",
        nargs=argparse.REMAINDER,
        help="the command that starts the server, with its arguments; or the URL of a server that "
        "speaks Streamable HTTP",
    )
    _add_url_options(proxy)
    proxy.add_argument(
        "--name",
        help="the server's name in the ledger (default: that of the program, package or image "
        "that COMMAND starts, or the host and port of URL); characters other than letters, digits, "
        '".", "_" and "-" become "_"',
    )
    _add_result_options(proxy)
    proxy.add_argument(
        "--max-size",
        type=natural,
        default=4 << 20,
        metavar="BYTES",
        help=f"leave results with more text as they are; {DEFAULT}",
    )
    proxy.add_argument(
        "--max-message",
        type=_message_size,
        default=64 << 20,
        metavar="BYTES",
        help=f"end a connection with a longer message; {DEFAULT}",
    )
    proxy.add_argument("--no-ledger", action="store_true", help="do not record what was saved")
    proxy.add_argument(
        "--off",
        action="store_true",
        help="pass every byte of a server as it comes, and every message of one with a URL: to see "
        "what the server itself does",
    )


def _add_result_options(proxy: argparse.ArgumentParser) -> None:
    proxy.add_argument(
        "--structured",
        choices=("drop", "keep"),
        default="drop",
        help="leave structuredContent out where the text says the same (default: %(default)s)",
    )
    proxy.add_argument(
        "--include",
        action="append",
        metavar="GLOB",
        help='shrink only texts of tools with such a name (repeatable; default: "*")',
    )
    proxy.add_argument(
        "--exclude",
        action="append",
        metavar="GLOB",
        help="leave texts of tools with such a name as they are, too (repeatable; '' leaves out "
        f"the default: {' '.join(VERBATIM)})",
    )
    proxy.add_argument(
        "--slim",
        action="store_true",
        help="leave $schema, and titles that repeat a name, out of the definitions of tools",
    )
    proxy.add_argument(
        "--formats",
        type=_formats,
        default="json,gcf",
        metavar="LIST",
        help=f"json, gcf or both; {DEFAULT}",
    )
    proxy.add_argument(
        "--tokenizer",
        default="estimate",
        metavar="NAME",
        help=f"an encoding of bpe-openai, such as o200k_base; {DEFAULT}",
    )


def _add_url_options(proxy: argparse.ArgumentParser) -> None:
    proxy.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="'NAME: ${VARIABLE}'",
        help="for a URL: a header of every request; ${VARIABLE} is replaced by the value of the "
        "environment variable (repeatable)",
    )
    proxy.add_argument(
        "--allow-http",
        action="store_true",
        help="for a URL: send the values of --header without encryption to another machine",
    )


def _formats(text: str) -> tuple[str, ...]:
    formats = tuple(text.split(","))
    if not set(formats) <= {"json", "gcf"} or len(set(formats)) < len(formats):
        raise argparse.ArgumentTypeError(f"expected json, gcf or json,gcf, not {text!r}")
    return formats


def _message_size(text: str) -> int:
    size = natural(text)
    if size < _LEAST_MESSAGE:
        raise argparse.ArgumentTypeError(
            f"expected at least {_LEAST_MESSAGE} bytes, not {text!r}: no MCP session fits in less"
        )
    return size


def _run_proxy(args: argparse.Namespace) -> int:
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        tell("compactwire mcp proxy: error: the command that starts the server is missing")
        return _WRONG_USAGE
    if not command[0]:
        tell(
            "compactwire mcp proxy: error: the command that starts the server is an empty text; "
            "is it a variable without a value?"
        )
        return _WRONG_USAGE
    stdout()  # Raises if it is closed: a pipe to the server would get its number.
    endpoint = _endpoint(args, command)
    if sys.stdin is None:
        raise OSError("standard input is closed")
    warn = _Warnings()
    # Values made from messages have no cycles, but the collector would walk through all of them
    # again and again: 4 MiB of nested arrays took 28 seconds instead of 2.
    gc.disable()
    relay = Passthrough() if args.off else Relay(_projector(args, command, warn), warn)
    if endpoint is not None:
        from ..mcp._http import relay_http

        return relay_http(endpoint, relay, max_message=args.max_message, warn=warn)
    # Without a limit, bytes pass as they come: nothing waits for the end of a line.
    limit = None if args.off else args.max_message
    return relay_stdio(command, relay, max_message=limit, warn=warn)


def _endpoint(args: argparse.Namespace, command: list[str]) -> Endpoint | None:
    """The server, if it is named by a URL."""
    url, *more = command
    if not re.match("https?://", url, re.IGNORECASE):
        if args.header or args.allow_http:
            raise ValueError("--header and --allow-http are for a URL, not for a command")
        return None
    if more:
        raise ValueError("unexpected arguments after the URL: options stand before it")
    # Imported here, because `http.client` and `ssl` take longer to import than all the rest.
    from ..mcp._http_client import Endpoint
    from ..mcp._http_headers import user_headers

    endpoint = Endpoint(url, user_headers(args.header, os.environ))
    if args.header and endpoint.readable_by_others and not args.allow_http:
        raise ValueError(
            f"{endpoint.origin}: --header would be sent without encryption to another machine: "
            "use https://, or --allow-http if the network is trusted"
        )
    return endpoint


def _projector(
    args: argparse.Namespace, command: list[str], warn: Callable[[str], object]
) -> Projector:
    options: dict[str, Any] = {}
    if args.include:
        options["include"] = args.include
    if args.exclude is not None:
        # Who names one more tool does not mean that files may be rewritten.
        default = () if "" in args.exclude else VERBATIM
        options["exclude"] = [*default, *filter(None, args.exclude)]
    if not args.no_ledger:
        name = args.name or server_name(command)
        try:
            options["on_saving"] = _ledger.Ledger(name, warn)
        except OSError as error:  # No home folder is known.
            warn(f"the ledger is not written: {error}")
    try:
        return Projector(
            "mcp",
            structured=args.structured,
            definitions="slim" if args.slim else "as-is",
            formats=args.formats,
            tokenizer=args.tokenizer,
            max_size=args.max_size,
            **options,
        )
    except ImportError as error:
        raise ValueError(str(error)) from error


class _Warnings:
    """Writes warnings to standard error, at most ten a minute.

    A warning is dropped if the pipe to the host is full: to wait for a host that reads no warnings
    would delay its answers.
    """

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=_WARNINGS)

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if len(self._times) == _WARNINGS and now - self._times[0] < _WARNING_SECONDS:
            return
        if not _is_writable():
            return
        self._times.append(now)
        tell(f"compactwire: {text}")


def _is_writable() -> bool:
    """Whether standard error takes a line without waiting; True if it cannot be known."""
    try:
        return bool(select.select([], [sys.stderr.fileno()], [], 0)[1])
    except (OSError, ValueError, AttributeError):
        return True


def _add_stats(group: Commands) -> None:
    about = "show what the relay saved, by server and tool"
    stats = add_command(group, "stats", _run_stats, about, "compactwire mcp stats --since 7d")
    stats.add_argument("name", nargs="?", metavar="NAME", help="one server (default: all)")
    stats.add_argument(
        "--since",
        type=_age,
        metavar="AGE",
        help="only so far back: 90m, 12h, 7d, 4w (default: all)",
    )
    stats.add_argument("--json", action="store_true", help="print JSON, a line for each server")


def _age(text: str) -> int:
    found = re.fullmatch(r"(\d{1,6})([mhdw])", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"expected an age such as 90m, 12h, 7d or 4w, not {text!r}"
        )
    return int(found[1]) * _SPANS[found[2]]


def _run_stats(args: argparse.Namespace) -> int:
    since = 0.0 if args.since is None else time.time() - args.since
    known = _ledger.names()
    chosen = known if args.name is None else [plain_name(args.name)]
    if not set(chosen) <= set(known):
        names = ", ".join(known) or "none"
        raise ValueError(
            f"no ledger of a server {chosen[0]!r} in {_ledger.folder()}; there is: {names}"
        )
    if not known:
        tell(f"compactwire: no ledger in {_ledger.folder()}: no server ran through the relay yet")
        if args.json:
            write(json_line(_ledger.report(None, {}, None)), "-")
    problems: list[str] = []
    empty = []
    for name in chosen:
        found = list(_ledger.records(name, since, problems))
        sums = _ledger.summed(found)
        begin = _ledger.begin(name)
        if begin is not None and begin < since:  # Nothing was dropped of this time.
            begin = None
        if args.json:
            write(json_line(_ledger.report(name, sums, begin)), "-")
        elif found:
            exact = all(record.get("exact") is True for record in found)
            shown = _ledger.table(name, sums, exact=exact, ledger_begin=begin)
            write(f"{shown}\n", "-")
        if not found:
            empty.append(name)
    if empty:
        when = "" if args.since is None else " in the time of --since"
        tell(f"compactwire: no result{when} of: {_few(empty)}")
    if problems:
        tell(f"compactwire: not read in {_ledger.folder()}: {_few(problems)}")
    return _BAD_INPUT if problems and len(empty) == len(chosen) else OK


def _few(texts: list[str]) -> str:
    """The first texts, and how many more there are."""
    more = len(texts) - _SHOWN
    return ", ".join(texts[:_SHOWN]) + (f", and {more:,} more" if more > 0 else "")


def _add_serve(group: Commands) -> None:
    about = "run an MCP server whose tools shrink data, convert CAD and verify claims"
    serve = add_command(group, "serve", _run_serve, about, "compactwire mcp serve --root data")
    serve.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder whose files the tools may use (repeatable; default: none, only texts)",
    )
    serve.add_argument(
        "--overwrite", action="store_true", help="let tools replace files that exist"
    )


def _run_serve(args: argparse.Namespace) -> int:
    stdout()  # Raises if it is closed: a root would get its number.
    if sys.stdin is None:
        raise OSError("standard input is closed")
    with contextlib.closing(Roots(args.root, overwrite=args.overwrite)) as roots:
        try:
            # The other commands do not need the SDK, which takes long to import.
            from ..mcp._serve import serve_stdio
        except ImportError as error:
            tell(f"compactwire: error: {error}")
            return 1
        return serve_stdio(roots, _Warnings())
