"""The commands ``compactwire shrink`` and ``expand``: the text with the fewest tokens, and back."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import compactwire as cw

from .. import _expanded
from .._lines import are_values, check_value, rows_in, shrink_rows
from ._rows import BOM, KINDS, ROWS, as_json, judge_of, kind_by_name, may_be_value
from ._shell import (
    DEFAULT,
    add_command,
    add_inputs,
    add_output,
    each_file,
    json_line,
    naming,
    read,
    source_name,
    tell,
    utf8,
    write,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ._shell import Commands

_TEXT = "text"
_MEMBERS = ("format", "tokens_before", "tokens_after", "exact", "reason", "text")


def add(commands: Commands) -> None:
    """Add the commands."""
    _add_shrink(commands)
    _add_expand(commands)


def _add_shrink(commands: Commands) -> None:
    about = "write data as the text with the fewest tokens, for a language model"
    example = "curl -s https://api.example.com/orders | compactwire shrink"
    parser = add_command(commands, "shrink", _run_shrink, about, example)
    add_inputs(parser, "JSON, JSON Lines or CSV; other text is printed as it is")
    parser.add_argument(
        "--input",
        choices=("auto", _TEXT, "jsonl", "csv", "tsv"),
        default="auto",
        help="the format of the input: auto goes by the suffix of the file and then by its "
        f"content, and is text unless it has rows; text may be JSON ({DEFAULT})",
    )
    parser.add_argument(
        "--tokenizer",
        default="estimate",
        metavar="NAME",
        help=f"an encoding of bpe-openai, such as o200k_base ({DEFAULT})",
    )
    parser.add_argument(
        "--no-extensions",
        action="store_true",
        help="write no list columns and matrices, which other readers of GCF do not know",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a JSON object: the text, its format, and the tokens before and after",
    )
    add_output(parser)


def _add_expand(commands: Commands) -> None:
    about = "convert what `compactwire shrink` wrote to JSON"
    example = "compactwire shrink orders.json | compactwire expand"
    parser = add_command(commands, "expand", each_file(_run_expand, ".json"), about, example)
    add_inputs(parser, "GCF, JSON, or rows that shrink printed as they were")
    parser.add_argument(
        "--input",
        choices=("auto", *ROWS),
        default="auto",
        help="the format of rows that did not become GCF: auto goes by the suffix .jsonl, .ndjson, "
        f".csv or .tsv, and also finds JSON Lines by their content ({DEFAULT})",
    )
    add_output(parser)


def _run_shrink(args: argparse.Namespace) -> int:
    try:
        # An error of the tokenizer is one of the option, not of each file.
        cw.shrink("", tokenizer=args.tokenizer)
    except ImportError as error:
        raise ValueError(str(error)) from error
    return each_file(_shrink, ".json" if args.json else ".txt")(args)


def _shrink(args: argparse.Namespace) -> int:
    with naming(args.file):
        shrunk = _shrunk(args)
    if args.json:
        return write(json_line(_as_json(shrunk)), args.output)
    text = shrunk.text
    if args.output == "-" and len(args.files) > 1 and not text.endswith("\n"):
        text += "\n"  # The text of the next file begins on a line of its own.
    return write(text, args.output)


def _shrunk(args: argparse.Namespace) -> cw.Shrunk:
    name, kind = source_name(args.file), args.input
    if kind == "auto":
        kind = kind_by_name(args.file)
    is_rows = kind in ROWS
    data = read(args.file, args.max_input, judge_of(kind if is_rows else _TEXT, args.file))
    content = data.removeprefix(BOM)
    text = utf8(content, name)
    options = _options(args)
    if is_rows:
        shrunk = shrink_rows(text, as_json(content, kind, name).decode(), **options)
    elif not kind and (rows := rows_in(content)):
        shrunk = shrink_rows(text, rows.decode(), **options)
    else:
        shrunk = cw.shrink(text, **options)
    if shrunk.reason == "not-json" and kind == "json":
        _warn(content, name)
    if shrunk.format == "text":
        # With its byte order mark, if it has one.
        return shrunk.__replace__(text=utf8(data, name))
    return shrunk


def _options(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "tokenizer": args.tokenizer,
        "extensions": not args.no_extensions,
        "max_size": sys.maxsize,  # --max-input is the limit.
    }


def _warn(content: bytes, name: str) -> None:
    """Say where the content of a file named .json stops being JSON, as that of one that was cut."""
    try:
        check_value(content)
    except cw.CompactWireError as error:
        tell(f"compactwire: warning: {name}: {error}; its text stays as it is")


def _as_json(shrunk: cw.Shrunk) -> dict[str, object]:
    return {name: getattr(shrunk, name) for name in _MEMBERS}


def _run_expand(args: argparse.Namespace) -> int:
    name, kind = source_name(args.file), args.input
    if kind == "auto":
        kind = KINDS.get(PurePath(args.file).suffix.lower(), "")
    data = read(args.file, args.max_input, _first(kind, args.file)).removeprefix(BOM)
    with naming(args.file):
        if not _is_gcf(data) and (kind or are_values(data)):
            data = as_json(data, kind or "jsonl", name)
        return write(_json(utf8(data, name), kind) + "\n", args.output)


def _is_gcf(content: bytes) -> bool:
    return content.startswith(b"GCF ")


def _first(kind: str, path: str) -> Callable[[bytes], object]:
    """For `read`: the first bytes begin GCF, or what else is expected."""
    are_rows = judge_of(kind, path)

    def judge(first: bytes) -> None:
        content = first.removeprefix(BOM)
        if _is_gcf(content):
            return
        are_rows(first)
        if not kind and not may_be_value(content):
            with naming(path):
                _json(content.decode(errors="ignore"), kind)

    return judge


def _json(text: str, kind: str) -> str:
    """The JSON of a text; an error about one without `--input` tells how rows of CSV are read."""
    try:
        return _expanded.as_json(text)
    except cw.InvalidFormat as error:
        if kind or text.lstrip().startswith(("{", "[")):
            raise
        raise cw.InvalidFormat(f"{error}; for rows of CSV, pass --input csv") from None
