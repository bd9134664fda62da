"""The command ``compactwire gcf``: converts between JSON and GCF, and measures the savings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactwire import gcf

from ._rows import add_kind, read_json
from ._shell import (
    add_command,
    add_group,
    add_input,
    add_max_input,
    add_output,
    complain,
    naming,
    one_line,
    read,
    source_name,
    tell,
    token_counter,
    write,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from ._shell import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    about = "convert between JSON and GCF, and measure the savings"
    group = add_group(commands, "gcf", about, "compactwire gcf encode orders.json -o orders.gcf")
    about = "convert JSON to GCF"
    encode = add_command(
        group, "encode", _encode, about, "compactwire gcf encode orders.json -o orders.gcf"
    )
    add_input(encode, "JSON, JSON Lines or CSV")
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
    about = "convert GCF to JSON without white space"
    decode = add_command(group, "decode", _decode, about, "compactwire gcf decode orders.gcf")
    add_input(decode, "GCF")
    decode.add_argument("--ascii", action="store_true", help="escape characters outside ASCII")
    decode.add_argument(
        "--extensions",
        action="store_true",
        help="also read what --list-columns and --matrices write",
    )
    decode.add_argument(
        "--max-expansion",
        metavar="BYTES",
        type=int,
        default=1 << 28,
        help="the largest size of what is in the value but not in the text, such as "
        "constants of many rows (default: %(default)s)",
    )
    add_output(decode)
    about = "measure a value as JSON and as GCF"
    stats = add_command(group, "stats", _stats, about, "compactwire gcf stats orders.json")
    stats.add_argument(
        "files", metavar="FILE", nargs="+", help="JSON, JSON Lines or CSV; - for stdin"
    )
    add_kind(stats)
    add_max_input(stats)


def _encode(args: argparse.Namespace) -> int:
    with naming(args.file):
        text = gcf.from_json(
            read_json(args.file, args.input, args.max_input),
            flatten=not args.no_flatten,
            constant_columns=args.constant_columns,
            group_values=args.group_values,
            list_columns=args.list_columns,
            matrices=args.matrices,
        )
    return write(text, args.output)


def _decode(args: argparse.Namespace) -> int:
    data = read(args.file, args.max_input)
    with naming(args.file):
        json = gcf.to_json(
            data,
            ensure_ascii=args.ascii,
            extensions=args.extensions,
            max_expansion=args.max_expansion,
        )
    return write(json + "\n", args.output)


def _stats(args: argparse.Namespace) -> int:
    count = token_counter()
    failed = []
    for path in args.files:
        try:
            with naming(path):
                lines = list(_sheet(path, args, count))
        except (OSError, ValueError, MemoryError) as error:
            complain(error)
            failed.append(path)
        else:
            write("".join(line + "\n" for line in lines), "-")
    if failed and len(args.files) > 1:
        names = ", ".join(map(source_name, failed))
        tell(f"compactwire: {len(failed)} of {len(args.files)} inputs failed: {names}")
    if count is None and len(failed) < len(args.files):
        tell("compactwire: no tokens: pip install bpe-openai")
    return 1 if failed else 0


def _sheet(
    path: str, args: argparse.Namespace, count: Callable[[str], int] | None
) -> Iterator[str]:
    data = read_json(path, args.input, args.max_input)
    text = gcf.from_json(data)
    minified = gcf.to_json(text)
    forms = {
        "JSON, as it is": data.decode(),
        "JSON, compact": minified,
        "GCF": text,
        "GCF, constants": gcf.from_json(data, constant_columns=True),
    }
    yield one_line(path)
    size, tokens = len(minified.encode()), count(minified) if count else 0
    for name, form in forms.items():
        line = f"  {name:<16}{_against(len(form.encode()), size)} bytes"
        yield line + (f"{_against(count(form), tokens)} tokens" if count else "")


def _against(found: int, compact: int) -> str:
    """Format a number, and its share of the number for compact JSON."""
    return f"{found:>12,} {found / compact:>8.1%}"
