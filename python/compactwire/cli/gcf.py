"""The command ``compactwire gcf``: converts between JSON and GCF, and measures the savings."""

from __future__ import annotations

import contextlib
from pathlib import PurePath
from typing import TYPE_CHECKING

import compactwire as cw
from compactwire import gcf

from . import stats
from ._rows import KINDS, add_kind, first_gcf, read_json
from ._shell import (
    add_command,
    add_group,
    add_inputs,
    add_max_expansion,
    add_output,
    each_file,
    naming,
    read,
    write,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ._shell import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    about = "convert between JSON and GCF, and measure the savings"
    group = add_group(commands, "gcf", about, "compactwire gcf encode orders.json -o orders.gcf")
    _add_encode(group)
    _add_decode(group)
    stats.add(group, "compactwire gcf stats orders.json")


def _add_encode(group: Commands) -> None:
    about = "convert JSON to GCF"
    example = "compactwire gcf encode orders.json -o orders.gcf"
    encode = add_command(group, "encode", each_file(_encode, ".gcf"), about, example)
    add_inputs(encode, "JSON, JSON Lines or CSV")
    add_kind(encode)
    encode.add_argument(
        "--no-flatten", action="store_true", help='do not write columns "a>b" for nested objects'
    )
    encode.add_argument(
        "--constant-columns",
        action="store_true",
        help="write a value that all rows share once (some readers of GCF 3.6 reject it)",
    )
    encode.add_argument(
        "--group-values",
        action="store_true",
        help="write rows in groups with the same value of one column if that is shorter "
        "(some readers of GCF 3.6 reject it)",
    )
    encode.add_argument(
        "--list-columns",
        action="store_true",
        help="write lists in the cells of their column (read it with `gcf decode --extensions`)",
    )
    encode.add_argument(
        "--matrices",
        action="store_true",
        help="write arrays of arrays of one length as rows "
        "(read it with `gcf decode --extensions`)",
    )
    add_output(encode)


def _add_decode(group: Commands) -> None:
    about = "convert GCF to JSON without white space"
    decode = add_command(
        group, "decode", each_file(_decode, ".json"), about, "compactwire gcf decode orders.gcf"
    )
    add_inputs(decode, "GCF")
    decode.add_argument("--ascii", action="store_true", help="escape characters outside ASCII")
    decode.add_argument(
        "--extensions",
        action="store_true",
        help="also read what --list-columns and --matrices write",
    )
    add_max_expansion(decode, 1 << 28)
    add_output(decode)


def _encode(args: argparse.Namespace) -> int:
    with naming(args.file), _hint_at_lines(args):
        text = gcf.from_json(
            read_json(args.file, args.input, args.max_input),
            flatten=not args.no_flatten,
            constant_columns=args.constant_columns,
            group_values=args.group_values,
            list_columns=args.list_columns,
            matrices=args.matrices,
        )
    return write(text, args.output)


@contextlib.contextmanager
def _hint_at_lines(args: argparse.Namespace) -> Iterator[None]:
    """Name the option for JSON Lines if neither an option nor the suffix names the format."""
    try:
        yield
    except gcf.GcfError as error:
        known = args.input != "auto" or PurePath(args.file).suffix.lower() in KINDS
        if known or error.code != "trailing_characters":
            raise
        raise cw.CompactWireError(f"{error}; --input jsonl reads a value per line") from None


def _decode(args: argparse.Namespace) -> int:
    with naming(args.file):
        data = read(args.file, args.max_input, first_gcf)
        json = gcf.to_json(
            data,
            ensure_ascii=args.ascii,
            extensions=args.extensions,
            max_expansion=args.max_expansion,
        )
    return write(json + "\n", args.output)
