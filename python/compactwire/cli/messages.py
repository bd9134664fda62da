"""Messages: ``demo``, ``encode``, ``decode``, ``inspect`` and ``train``."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import compactwire as cw

from .. import _demo
from .._files import check_target
from ._shell import (
    DEFAULT,
    OK,
    add_command,
    add_inputs,
    add_max_input,
    add_output,
    complain,
    each_file,
    input_path,
    json_line,
    naming,
    natural,
    one_line,
    read,
    read_text,
    source_name,
    stdout,
    tell,
    token_counter,
    write,
    write_binary,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from ._shell import Commands
    from ._training import Sampling

# zstd wants samples of about so many times the size of the dictionary.
_SAMPLE_SIZES = 100

_NOT_SAVED = 1
# The exit code of `train` if a file was left out.
_FAILED = 1

# The number of digits that Python converts by default.
_MAX_DIGITS = 4300

_OPTIONAL = ("model_name", "returncode", "reasoning_effort", "ultrathink")


def add(commands: Commands) -> None:
    """Add the commands."""
    for add_one in (_add_demo, _add_encode, _add_decode, _add_inspect, _add_train):
        add_one(commands)


def _run_demo(_args: argparse.Namespace) -> int:
    return _demo.run(stdout(), token_counter())


def _run_encode(args: argparse.Namespace) -> int:
    text = read_text(args.file, args.max_input)
    fields = _fields(text, args.file) if args.json else {"result": text}
    given = {"model": args.model, "status": args.status, "tokens": args.tokens}
    fields.update((name, value) for name, value in given.items() if value is not None)
    dictionary = _dictionary(args.dictionary, args.max_input) if args.dictionary else None
    try:
        with naming(args.file):
            wire = cw.encode(
                fields,
                format=args.format,
                protocol=args.protocol,
                msgpack_version=args.msgpack_version,
                dictionary=dictionary,
            )
    except TypeError as error:
        # `encode` expects correct types from a program. Here they come from JSON, which is input.
        name = source_name(args.file)
        raise ValueError(f"{name}: a field has the wrong type: {error}") from error
    return write(wire, args.output)


def _fields(text: str, path: str) -> dict[str, Any]:
    try:
        return _parsed(text)
    except ValueError as error:
        raise ValueError(f"{source_name(path)}: {error}") from error


def _parsed(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(
            text.removeprefix("\ufeff"), object_pairs_hook=_unique, parse_int=_integer
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON: {error}") from error
    except RecursionError:
        raise ValueError("expected the JSON of a response: nested too deeply") from None
    if isinstance(fields, dict):
        if "result" in fields:
            # `decode --json` also prints format and version, which are not fields of a response.
            fields = {name: fields[name] for name in fields if name not in ("format", "version")}
        return fields
    raise ValueError("expected a response as a JSON object")


def _integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(
            f"an integer of {len(text):,} digits in the JSON; at most {_MAX_DIGITS:,} are read"
        )
    return int(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"duplicate member {name!r} in the JSON")
        members[name] = value
    return members


def _first_format(first: bytes) -> None:
    """For `read`: the first bytes are those of a message."""
    # The last character may be cut.
    cw.detect(first.rstrip(bytes(range(0x80, 0x100))) or first)


def _run_decode(args: argparse.Namespace) -> int:
    with naming(args.file):
        wire = read(args.file, args.max_input, None if args.fallback else _first_format)
    dictionaries = [_dictionary(path, args.max_input) for path in args.dictionary]
    with naming(args.file), _hint_at_dictionary():
        response = cw.decode(
            wire, max_size=args.max_size, dictionaries=dictionaries, fallback=args.fallback
        )
    if not args.json:
        return write(response.result, args.output)
    names = (*cw.Response.__match_args__, *_OPTIONAL)
    fields = {name: getattr(response, name) for name in names}
    fields = {name: value for name, value in fields.items() if value is not None}
    fields |= {"format": response.format, "version": response.version}
    return write(json_line(fields), args.output)


@contextlib.contextmanager
def _hint_at_dictionary() -> Iterator[None]:
    """Name the option that passes a dictionary if the message needs one that was not passed."""
    try:
        yield
    except cw.DictionaryNotFound as error:
        missing = str(error).removesuffix(": pass it to the decoder")
        raise cw.CompactWireError(f"{missing}; --dictionary FILE passes it") from None


def _run_inspect(args: argparse.Namespace) -> int:
    with naming(args.file):
        wire = read(args.file, args.max_input, _first_format)
    dictionaries = [_dictionary(path, args.max_input) for path in args.dictionary]
    with naming(args.file), _hint_at_dictionary():
        inspection = cw.inspect(wire, max_size=args.max_size, dictionaries=dictionaries)
    text = json_line(_as_json(inspection)) if args.json else _as_table(inspection)
    return write(text, args.output)


def _as_json(inspection: cw.Inspection) -> dict[str, object]:
    return {
        "format": inspection.format,
        "version": inspection.version,
        "compression": inspection.compression,
        "dictionary_id": inspection.dictionary_id,
        "layers": [
            {"name": name, "size": size, "share": round(size / inspection.verbose_size, 4)}
            for name, size in inspection.layers
        ],
        "verbose_size": inspection.verbose_size,
        "ratio": round(inspection.ratio, 4),
        "status": inspection.response.status,
        "model": inspection.response.model,
        "tokens": inspection.response.tokens,
    }


def _as_table(inspection: cw.Inspection) -> str:
    facts = {
        "format": inspection.format,
        "layout": inspection.version and f"MessagePack {inspection.version}",
        "compression": inspection.compression,
        "dictionary": inspection.dictionary_id,
        "status": inspection.response.status,
        "model": inspection.response.model,
        "tokens": inspection.response.tokens,
    }
    lines = [
        f"{name:<12} {'-' if value in (None, '') else one_line(str(value))}"
        for name, value in facts.items()
    ]
    lines += ["", f"{'layer':<12} {'bytes':>10} {'of verbose':>11}"]
    for name, size in (*inspection.layers, ("verbose JSON", inspection.verbose_size)):
        lines.append(f"{name:<12} {size:>10,} {size / inspection.verbose_size:>11.1%}")
    return "\n".join(lines) + "\n"


def _run_train(args: argparse.Namespace) -> int:
    from ._training import SEED, Sampling, files_of, sampled

    if args.sample == 0:
        raise ValueError("--sample must be 1 or more, not 0")
    if args.always_save and not args.held_out:
        raise ValueError("--always-save needs --held-out")
    if args.output != "-":
        check_target(args.output)
    max_bytes = _SAMPLE_SIZES * args.size if args.sample is None else args.sample
    how = Sampling(args.column, max_bytes, args.max_input, args.held_out)
    failed: list[Path] = []
    files = files_of(args.paths, args.column, failed)
    texts = sampled(files, how, failed)
    if failed and not texts:
        return _FAILED
    if not texts:
        where = "" if args.column is None else f" with a text in {args.column!r}"
        raise ValueError(f"no samples to train on: the paths have no file or row{where}")
    dictionary = cw.Dictionary.train(
        texts,
        size=args.size,
        content_type=args.content_type,
        model=args.model,
        time=args.time,
    )
    left = (file for file in files if file not in failed)
    if args.held_out and not _verified(dictionary, left, how, args):
        return _NOT_SAVED
    write_binary(dictionary.to_bytes(), args.output)
    size, samples = f"{dictionary.size:,} bytes", f"{dictionary.samples:,} samples"
    # The file of a dictionary has no place for these facts.
    left_out = ", without the held-out texts" if args.held_out else ""
    origin = f"a sample with seed {SEED} and max_bytes {max_bytes}{left_out}"
    tell(f"{args.output}: dictionary {dictionary.id}, {size}, {samples} ({origin})")
    if failed:
        tell(f"compactwire: left out are the files that failed: {len(failed)}")
    return _FAILED if failed else OK


def _verified(
    dictionary: cw.Dictionary, files: Iterable[Path], how: Sampling, args: argparse.Namespace
) -> bool:
    """Print the figures of the held-out texts; whether the dictionary is to be saved."""
    from ._training import held_out_sizes

    new, built_in, plain = held_out_sizes(dictionary, files, how)
    for name, size in (("this dictionary", new), ("built-in", built_in), ("plain zstd", plain)):
        tell(f"held out: {name:<15} {size.bytes:>14,} bytes {size.share:>7.1%} of JSON")
    if new.bytes < built_in.bytes or args.always_save:
        return True
    complain(
        ValueError(
            "not saved: the held-out texts are no smaller than with the built-in dictionary;"
            " --always-save saves it"
        )
    )
    return False


def _dictionary(path: str, limit: int) -> cw.Dictionary:
    with naming(path):
        return cw.Dictionary.from_bytes(read(path, limit, _first_dictionary))


def _first_dictionary(first: bytes) -> None:
    """For `read`: the first bytes are those of a dictionary."""
    if not first.startswith(b"ZDCT|"):
        cw.Dictionary.from_bytes(first)


# Arguments ----------------------------------------------------------------------------------------


def _layout(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _add_demo(commands: Commands) -> None:
    about = "show what compactwire saves on samples: tokens, sizes and times"
    add_command(commands, "demo", _run_demo, about, "compactwire demo")


def _add_encode(commands: Commands) -> None:
    about = "encode a text as a message"
    example = "compactwire encode --model C45 --tokens 150 answer.md -o answer.cw"
    run = each_file(_run_encode, ".cw", joinable=False)
    parser = add_command(commands, "encode", run, about, example)
    add_inputs(parser, "a text")
    formats = (*_demo.FORMATS, "auto", "smallest")
    parser.add_argument(
        "--format",
        choices=formats,
        default="auto",
        help=f"the format of the message; auto goes by the size of the text ({DEFAULT})",
    )
    parser.add_argument(
        "--protocol",
        type=int,
        choices=(2, 4),
        default=4,
        help=f"the version of the protocol ({DEFAULT})",
    )
    parser.add_argument(
        "--msgpack-version",
        type=_layout,
        choices=(1, 2, 3, "map"),
        help="MessagePack layout of the binary formats (default: that of the protocol)",
    )
    parser.add_argument("--dictionary", metavar="FILE", help="compress with this dictionary")
    parser.add_argument("--model", help="the code of the model, such as C45")
    parser.add_argument(
        "--status",
        choices=("OK", "ERR", "PART", "PARTIAL", "STREAM"),
        help="the status of the answer: complete, an error, or a part of it",
    )
    parser.add_argument("--tokens", type=natural, help="the token count of the answer")
    parser.add_argument(
        "--json",
        action="store_true",
        help="the input is a JSON object: the fields of a response, or a verbose message",
    )
    add_output(parser)


def _add_decode(commands: Commands) -> None:
    about = "decode a message in any format and print its text"
    example = "compactwire decode answer.cw"
    parser = add_command(commands, "decode", each_file(_run_decode, ".txt"), about, example)
    _add_reading(parser)
    parser.add_argument(
        "--fallback", action="store_true", help="print text that is not a message unchanged"
    )
    parser.add_argument("--json", action="store_true", help="print all fields, as a JSON object")
    add_output(parser)


def _add_inspect(commands: Commands) -> None:
    about = "show the format of a message and the size of each layer"
    example = "compactwire encode answer.md | compactwire inspect"
    parser = add_command(commands, "inspect", each_file(_run_inspect, ".txt"), about, example)
    _add_reading(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON object, for programs")
    add_output(parser)


def _add_train(commands: Commands) -> None:
    about = "train a dictionary on sample texts"
    example = "compactwire train logs/ answers/ --size 32768 -o mine.zdct"
    parser = add_command(commands, "train", _run_train, about, example)
    parser.add_argument(
        "paths",
        nargs="+",
        type=input_path,
        metavar="PATH",
        help="a file or folder; rows of .jsonl, .csv and .parquet are samples, and other files",
    )
    add_max_input(parser)
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="dictionary file")
    parser.add_argument(
        "--size",
        type=natural,
        default=112_640,
        metavar="BYTES",
        help=f"the largest size of the dictionary ({DEFAULT})",
    )
    parser.add_argument(
        "--content-type",
        default="mixed",
        help=f"what the samples are, a word for the dictionary file ({DEFAULT})",
    )
    parser.add_argument(
        "--model", default="", help="the model that wrote the samples (default: any)"
    )
    parser.add_argument(
        "--time",
        type=natural,
        metavar="SECONDS",
        help="training time since 1970 (default: now)",
    )
    parser.add_argument(
        "--sample",
        type=natural,
        metavar="BYTES",
        help="train on a sample of so many bytes of the texts, which may be of any size (default: "
        f"{_SAMPLE_SIZES} times --size)",
    )
    parser.add_argument(
        "--column",
        metavar="NAME",
        help="the column or member of the rows with the texts (default: whole rows)",
    )
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="leave a tenth of the texts out of the sample, and print their size with this "
        "dictionary, the built-in one and none; a dictionary that is not smaller is not saved",
    )
    parser.add_argument(
        "--always-save", action="store_true", help="save the dictionary whatever --held-out finds"
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    add_inputs(parser, "a message")
    parser.add_argument(
        "--dictionary",
        action="append",
        default=[],
        metavar="FILE",
        help="a dictionary that the message may need (repeatable)",
    )
    parser.add_argument(
        "--max-size",
        type=natural,
        default=64 << 20,
        metavar="BYTES",
        help="largest message to decompress (default: %(default)s)",
    )
