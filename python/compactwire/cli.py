"""The command ``compactwire``: messages in a shell.

Bytes are exact: what ``encode`` reads, ``decode`` writes, to the last newline. Input is a file or
standard input, output a file or standard output, and both are UTF-8 wherever the command runs. Bad
input ends with one line on standard error and exit code 1, bad usage with exit code 2.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import compactwire as cw

from . import _demo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]

__all__ = ["main"]

_ABOUT = "What agents say to each other, made small, and proven small."

_DEFAULT = "default: %(default)s"

_OK, _BAD_INPUT, _INTERRUPTED, _BROKEN_PIPE = 0, 1, 130, 141

_OPTIONAL = ("model_name", "returncode", "reasoning_effort", "ultrathink")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (``sys.argv`` without any); return its exit code."""
    try:
        try:
            return _run(argv)
        finally:
            _flush_stdout()
    except BrokenPipeError:
        return _BROKEN_PIPE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (OSError, ValueError) as error:
        print(f"compactwire: error: {_one_line(str(error))}", file=sys.stderr)
        return _BAD_INPUT


def _run(argv: Sequence[str] | None) -> int:
    args = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = args.run
    return run(args)


def _flush_stdout() -> None:
    """Flush while an error is still ours to report: at exit Python would print a traceback."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        # What cannot be written stays in the buffer, and the flush at exit would fail again.
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
        raise


def _one_line(text: str) -> str:
    """Escape what could break the line or speak to the terminal: the text may quote input."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


# Input and output ---------------------------------------------------------------------------------


def _read(path: str) -> bytes:
    if path != "-":
        return Path(path).read_bytes()
    # Python has no object for a descriptor that was closed.
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read()


def _text(path: str) -> str:
    name = "standard input" if path == "-" else path
    try:
        return _read(path).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not UTF-8 from byte {error.start} on") from None


def _dictionary(path: str) -> cw.Dictionary:
    try:
        return cw.Dictionary.from_bytes(Path(path).read_bytes())
    except cw.CompactWireError as error:
        raise ValueError(f"{path}: {error}") from error


def _write(text: str, path: str) -> int:
    if path == "-" and _stdout().isatty() and not text.endswith("\n"):
        text += "\n"
    return _write_bytes(text.encode(), path)


def _write_bytes(data: bytes, path: str) -> int:
    if path == "-":
        _stdout().buffer.write(data)
        _stdout().buffer.flush()
    else:
        Path(path).write_bytes(data)
    return _OK


def _stdout() -> TextIO:
    if sys.stdout is None:
        raise OSError("standard output is closed")
    return sys.stdout


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


# Commands -----------------------------------------------------------------------------------------


def _run_demo(_args: argparse.Namespace) -> int:
    return _demo.run(_stdout())


def _run_encode(args: argparse.Namespace) -> int:
    text = _text(args.file)
    fields = _fields(text) if args.json else {"result": text}
    given = {"model": args.model, "status": args.status, "tokens": args.tokens}
    fields.update((name, value) for name, value in given.items() if value is not None)
    try:
        wire = cw.encode(
            fields,
            format=args.format,
            protocol=args.protocol,
            msgpack_version=args.msgpack_version,
            dictionary=_dictionary(args.dictionary) if args.dictionary else None,
        )
    except TypeError as error:
        # In a program a mistake of the caller, here one of the JSON.
        raise ValueError(f"a field has the wrong type: {error}") from error
    return _write(wire, args.output)


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    except RecursionError:
        raise ValueError("not the JSON of a response: nested too deeply") from None
    if isinstance(fields, dict):
        if "result" in fields:
            # How a message travelled, which `decode --json` tells too, is no part of it.
            fields = {name: fields[name] for name in fields if name not in ("format", "version")}
        return fields
    raise ValueError("not the JSON of a response: expected an object")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"the JSON has {name!r} twice")
        members[name] = value
    return members


def _run_decode(args: argparse.Namespace) -> int:
    response = cw.decode(
        _read(args.file),
        max_size=args.max_size,
        dictionaries=[_dictionary(path) for path in args.dictionary],
        fallback=args.fallback,
    )
    if not args.json:
        return _write(response.result, args.output)
    names = (*cw.Response.__match_args__, *_OPTIONAL)
    fields = {name: getattr(response, name) for name in names}
    fields = {name: value for name, value in fields.items() if value is not None}
    fields |= {"format": response.format, "version": response.version}
    return _write(_json(fields), args.output)


def _run_inspect(args: argparse.Namespace) -> int:
    found = cw.inspect(
        _read(args.file),
        max_size=args.max_size,
        dictionaries=[_dictionary(path) for path in args.dictionary],
    )
    return _write(_json(_facts(found)) if args.json else _sheet(found), args.output)


def _facts(found: cw.Inspection) -> dict[str, object]:
    return {
        "format": found.format,
        "version": found.version,
        "compression": found.compression,
        "dictionary_id": found.dictionary_id,
        "layers": [
            {"name": name, "size": size, "share": round(size / found.verbose_size, 4)}
            for name, size in found.layers
        ],
        "verbose_size": found.verbose_size,
        "ratio": round(found.ratio, 4),
        "status": found.response.status,
        "model": found.response.model,
        "tokens": found.response.tokens,
    }


def _sheet(found: cw.Inspection) -> str:
    facts = {
        "format": found.format,
        "layout": found.version and f"MessagePack {found.version}",
        "compression": found.compression,
        "dictionary": found.dictionary_id,
        "status": found.response.status,
        "model": found.response.model,
        "tokens": found.response.tokens,
    }
    lines = [
        f"{name:<12} {'-' if value in (None, '') else _one_line(str(value))}"
        for name, value in facts.items()
    ]
    lines += ["", f"{'layer':<12} {'bytes':>10} {'of verbose':>11}"]
    for name, size in (*found.layers, ("verbose JSON", found.verbose_size)):
        lines.append(f"{name:<12} {size:>10,} {size / found.verbose_size:>11.1%}")
    return "\n".join(lines) + "\n"


def _run_train(args: argparse.Namespace) -> int:
    made = cw.Dictionary.train(
        [_text(str(path)) for path in _files(args.paths)],
        size=args.size,
        content_type=args.content_type,
        model=args.model,
        time=args.time,
    )
    _write_bytes(made.to_bytes(), args.output)
    facts = f"dictionary {made.id}, {made.size:,} bytes, {made.samples:,} samples"
    print(f"{_one_line(args.output)}: {facts}", file=sys.stderr)
    return _OK


def _files(paths: Iterable[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            walk = os.walk(path, onerror=_raise)
            inside = (Path(root, name) for root, _, names in walk for name in names)
            # The order decides the dictionary's bytes, so it must not be the file system's.
            yield from sorted((file for file in inside if file.is_file()), key=Path.as_posix)
        else:
            yield path


def _raise(error: OSError) -> None:
    raise error


# Arguments ----------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="compactwire", description=_ABOUT)
    parser.add_argument("--version", action="version", version=f"compactwire {cw.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (_add_demo, _add_encode, _add_decode, _add_inspect, _add_train):
        add(commands)
    return parser


def _add(
    commands: _Commands,
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


def _natural(text: str) -> int:
    """Take an integer from 0 to 2^63 - 1, the range of every number here."""
    # The length first: Python refuses to convert thousands of digits, in words of its own.
    if not (text.isascii() and text.isdecimal()) or len(text) > 19 or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 2^63 - 1, not {text!r}")
    return int(text)


def _layout(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _add_demo(commands: _Commands) -> None:
    about = "send sample messages through every format and show what each costs"
    _add(commands, "demo", _run_demo, about, "compactwire demo")


def _add_encode(commands: _Commands) -> None:
    about = "write a text as a message"
    example = "compactwire encode --model C45 --tokens 150 answer.md -o answer.cw"
    parser = _add(commands, "encode", _run_encode, about, example)
    _add_input(parser, "the text")
    formats = (*_demo.FORMATS, "auto", "smallest")
    parser.add_argument("--format", choices=formats, default="auto", help=_DEFAULT)
    parser.add_argument("--protocol", type=int, choices=(2, 4), default=4, help=_DEFAULT)
    parser.add_argument(
        "--msgpack-version",
        type=_layout,
        choices=(1, 2, 3, "map"),
        help="MessagePack layout of the binary formats (default: that of the protocol)",
    )
    parser.add_argument("--dictionary", metavar="FILE", help="compress with this dictionary")
    parser.add_argument("--model", help="the model's code, such as C45")
    parser.add_argument("--status", choices=("OK", "ERR", "PART", "PARTIAL", "STREAM"))
    parser.add_argument("--tokens", type=_natural, help="how many tokens the answer cost")
    parser.add_argument(
        "--json",
        action="store_true",
        help="the input is a JSON object: the fields of a response, or a verbose message",
    )
    _add_output(parser)


def _add_decode(commands: _Commands) -> None:
    about = "read a message in any format and print its text"
    example = "compactwire decode answer.cw"
    parser = _add(commands, "decode", _run_decode, about, example)
    _add_reading(parser)
    parser.add_argument("--fallback", action="store_true", help="print what is no message as it is")
    parser.add_argument("--json", action="store_true", help="print all fields, as a JSON object")
    _add_output(parser)


def _add_inspect(commands: _Commands) -> None:
    about = "say what a message is and what it weighs, layer by layer"
    example = "compactwire encode answer.md | compactwire inspect"
    parser = _add(commands, "inspect", _run_inspect, about, example)
    _add_reading(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON object, for programs")
    _add_output(parser)


def _add_train(commands: _Commands) -> None:
    about = "train a dictionary on texts like those to come"
    example = "compactwire train logs/ answers/ --size 32768 -o mine.zdct"
    parser = _add(commands, "train", _run_train, about, example)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file (one sample) or a folder")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="dictionary file")
    parser.add_argument("--size", type=_natural, default=112_640, metavar="BYTES", help=_DEFAULT)
    parser.add_argument("--content-type", default="mixed", help=_DEFAULT)
    parser.add_argument("--model", default="", help="which model wrote the samples (default: any)")
    parser.add_argument(
        "--time", type=_natural, metavar="SECONDS", help="since 1970, to be written (default: now)"
    )


def _add_input(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help=f"{what} (default: stdin)"
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    _add_input(parser, "the message")
    parser.add_argument(
        "--dictionary",
        action="append",
        default=[],
        metavar="FILE",
        help="a dictionary that the message may need (repeatable)",
    )
    parser.add_argument(
        "--max-size",
        type=_natural,
        default=64 << 20,
        metavar="BYTES",
        help="largest message to decompress (default: %(default)s)",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help="default: stdout")
