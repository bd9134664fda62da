"""What the commands share: reading and writing, and how a command is declared."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DEFAULT = "default: %(default)s"

OK = 0


def one_line(text: str) -> str:
    """Escape what could break the line or speak to the terminal: the text may quote input."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def tell(text: str) -> None:
    """Write a line to standard error, where there is one that hears it."""
    # Without standard error, print would write to standard output.
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(one_line(text), file=sys.stderr)


def complain(error: BaseException) -> None:
    """Say in one line what went wrong."""
    tell(f"compactwire: error: {error}")


def drop_stdout() -> None:
    """Forget what cannot be written: Python would try again at exit, and end with its own code."""
    if sys.stdout is None:
        return
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, sys.stdout.fileno())
    finally:
        os.close(devnull)


def read(path: str) -> bytes:
    if path != "-":
        return Path(path).read_bytes()
    # Python has no object for a descriptor that was closed.
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()


def read_text(path: str) -> str:
    name = "standard input" if path == "-" else path
    try:
        return read(path).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not UTF-8 from byte {error.start} on") from None


def write(text: str, path: str) -> int:
    if path == "-" and stdout().isatty() and not text.endswith("\n"):
        text += "\n"
    return write_bytes(text.encode(), path)


def write_bytes(data: bytes, path: str) -> int:
    if path == "-":
        stdout().buffer.write(data)
        stdout().buffer.flush()
    else:
        Path(path).write_bytes(data)
    return OK


def stdout() -> TextIO:
    if sys.stdout is None:
        raise OSError("standard output is closed")
    return sys.stdout


def json_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def token_counter() -> Callable[[str], int] | None:
    """Count the tokens of o200k_base; None where the tokenizer is not installed."""
    from compactwire.analysis.tokens import counter

    try:
        return counter("o200k_base")
    except ImportError:
        return None


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    about: str,
    example: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def natural(text: str) -> int:
    """Take an integer from 0 to 2^63 - 1, the range of every number here."""
    # The length first: Python refuses to convert thousands of digits, in words of its own.
    if not (text.isascii() and text.isdecimal()) or len(text) > 19 or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 2^63 - 1, not {text!r}")
    return int(text)


def add_input(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help=f"{what} (default: stdin)"
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="default: stdout")
