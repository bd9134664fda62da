"""The parser of all commands, and how they end."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import compactwire as cw

from .._core import _build
from . import (
    analyze,
    cad,
    claims,
    completion,
    conformance,
    gcf,
    mcp,
    messages,
    shrink,
    stats,
    verify,
)
from ._shell import complain, drop_stdout, one_line, whole_writes, without_keys, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ABOUT = "Compact wire formats for language models and agents, without loss."

_SYSTEMS = (messages, shrink, stats, gcf, analyze, mcp, verify, claims, cad, conformance)

_BAD_INPUT, _BROKEN_PIPE = 1, 141


def run(argv: Sequence[str] | None) -> int:
    """Run the command with these arguments and return the exit code, but for Ctrl-C."""
    try:
        with whole_writes():
            try:
                return _run(argv)
            except KeyboardInterrupt:
                # The reader may have paused: what was not written would make each flush wait.
                with contextlib.suppress(OSError):  # The caller's own stdout may be no file.
                    drop_stdout()
                raise
            finally:
                _flush_stdout()
    except BrokenPipeError:
        return _BROKEN_PIPE
    except (OSError, ValueError, MemoryError) as error:
        complain(error)
        return _BAD_INPUT


def _run(argv: Sequence[str] | None) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    if args.version:
        return write(_version(verbose=args.verbose), "-")
    if args.verbose:
        parser.error("-v needs --version")
    if "run" not in args:
        parser.error("the following arguments are required: COMMAND")
    command: Callable[[argparse.Namespace], int] = args.run
    return command(args)


def _flush_stdout() -> None:
    """Flush standard output, to report an error here: at exit Python would print a traceback."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        drop_stdout()
        raise


def _version(*, verbose: bool) -> str:
    facts = _build() if verbose else []
    return "".join(f"{name} {fact}\n" for name, fact in [("compactwire", cw.__version__), *facts])


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        # The parser of the command reports unknown arguments, with the usage of the command: from
        # it they would reach the outermost parser.
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def print_help(self, file: Any = None) -> None:
        # argparse passes over a write that fails.
        if file is None:
            write(self.format_help(), "-")
        else:
            super().print_help(file)

    def error(self, message: str) -> NoReturn:
        # The message quotes arguments, which may contain control characters, for example in file
        # names.
        if message.endswith(": COMMAND"):
            message += "; --help lists the commands"
        super().error(one_line(without_keys(message)))


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(prog="compactwire", description=_ABOUT)
    parser.add_argument("--version", action="store_true", help="show the version")
    about = "with --version: also what it was built for, and the code that runs on this processor"
    parser.add_argument("-v", dest="verbose", action="store_true", help=about)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for system in _SYSTEMS:
        system.add(commands)
    completion.add(commands, lambda: parser)
    return parser
