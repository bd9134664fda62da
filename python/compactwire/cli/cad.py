"""The command ``compactwire cad``: vcad documents between JSON, compact text and bytes."""

from __future__ import annotations

import argparse
import contextlib
import json
import warnings
from pathlib import PurePath
from typing import TYPE_CHECKING

from compactwire import cad

from ._rows import first_line
from ._shell import (
    add_command,
    add_group,
    add_max_input,
    add_output,
    complain,
    each_file,
    input_path,
    name_failed,
    natural,
    one_line,
    read,
    source_name,
    tell,
    token_counter,
    write,
    write_binary,
    write_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ._shell import Commands

# How the binary form begins.
_BINARY = b"\x89VCB"

# The largest number of errors shown per file.
_MAX_ERRORS = 100

# Suffixes of pictures that `preview` does not write.
_OTHER_PICTURES = {".bmp", ".gif", ".jpeg", ".jpg", ".pdf", ".tif", ".tiff", ".webp"}

# The suffix of the outputs of each command, and whether several can follow each other.
_OUTPUTS = {
    "compact": (".vcadc", False),
    "expand": (".vcad", True),
    "pack": (".vcadb", False),
    "unpack": (".vcad", True),
    "hybrid": (".json", True),
    "preview": (".png", False),
}

_WHAT = {
    "assembly": "the assembly",
    "ids": "node ids",
    "materials": "materials",
    "names": "names as data",
    "ops": "operations that the text cannot represent",
    "part_materials": "materials of parts",
    "root_material": "the material of the root",
    "roots": "which nodes are roots",
    "scene": "the scene",
    "segments": "the number of segments of round solids",
    "unknown": "fields and operations that are not in the model",
    "version": "the version",
    "visibility": "visibility",
}


def add(commands: Commands) -> None:
    """Add the command."""
    about = "convert, check and measure vcad documents"
    group = add_group(commands, "cad", about, "compactwire cad compact part.vcad -o part.vcadc")
    compact = _add_compact(group)
    expand = _one(group, "expand", _expand, "write a document of any format as JSON", "part.vcadc")
    pack = _one(group, "pack", _pack, "write a document as bytes", "part.vcad -o part.vcadb")
    _one(group, "unpack", _expand, "write a binary document as JSON", "part.vcadb")
    hybrid = _one(group, "hybrid", _hybrid, "write JSON with compact text inside", "part.vcad")
    for parser in (compact, expand, pack, hybrid):
        parser.add_argument("--repair", action="store_true", help="repair common errors in JSON")
    _add_preview(group)
    _many(group, "check", _check, "find all errors", "part.vcadc")
    _many(group, "stats", _stats, "measure a document in each form", "part.vcad")


def _add_compact(group: Commands) -> argparse.ArgumentParser:
    compact = _one(group, "compact", _compact, "write a document as compact text", "part.vcad")
    compact.add_argument(
        "--dialect", choices=["0.1", "0.2"], help="0.1 (the default): the shape; 0.2: everything"
    )
    compact.add_argument(
        "--target", choices=["vcad"], help="write text that the public program vcad reads"
    )
    compact.add_argument(
        "--no-names", action="store_true", help="leave out names (dialect 0.1, or with --target)"
    )
    losing = compact.add_mutually_exclusive_group()
    losing.add_argument(
        "--lossy",
        action="store_true",
        help="write the document even if the text cannot represent all of it",
    )
    losing.add_argument(
        "--lose",
        metavar="CODES",
        help="with --target, the losses allowed, such as segments,names",
    )
    compact.add_argument(
        "--unknown",
        choices=["error", "keep"],
        default="error",
        help="keep: also write values outside the model (dialect 0.2)",
    )
    return compact


def _add_preview(group: Commands) -> None:
    preview = _one(
        group,
        "preview",
        _preview,
        "draw a document, as PNG, or as SVG if OUT ends in .svg",
        "part.vcad -o part.png",
    )
    for name, default in (("width", 640), ("height", 480)):
        help_ = "in pixels (default: %(default)s)"
        preview.add_argument(f"--{name}", type=natural, default=default, metavar="N", help=help_)
    preview.add_argument(
        "--azimuth", type=float, default=-55.0, metavar="DEGREES",
        help="where the camera is, around z from the x axis (default: %(default)s)",
    )  # fmt: skip
    preview.add_argument(
        "--elevation", type=float, default=28.0, metavar="DEGREES",
        help="the camera above the xy plane (default: %(default)s)",
    )  # fmt: skip


def _one(
    group: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    about: str,
    example: str,
) -> argparse.ArgumentParser:
    def named(args: argparse.Namespace) -> int:
        try:
            return run(args)
        except (cad.CompactParseError, cad.DocumentError, cad.BinaryError) as error:
            raise ValueError(f"{args.file}: {error}") from None

    suffix, joinable = _OUTPUTS[name]
    each = each_file(named, suffix, joinable=joinable)
    parser = add_command(group, name, each, about, f"compactwire cad {name} {example}")
    _add_files(parser)
    add_max_input(parser)
    parser.set_defaults(repair=False)
    add_output(parser)
    return parser


def _add_files(parser: argparse.ArgumentParser) -> None:
    about = "files of any format, or - for stdin"
    parser.add_argument("files", metavar="IN", nargs="+", type=input_path, help=about)


def _many(
    group: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    about: str,
    example: str,
) -> None:
    parser = add_command(group, name, run, about, f"compactwire cad {name} {example}")
    _add_files(parser)
    add_max_input(parser)


class _CutOff(Exception):  # noqa: N818 - it ends the reading of a beginning, which is no error
    """The first bytes end here."""


def _read(path: str, limit: int) -> bytes:
    """Read a document, unless its first bytes begin none."""
    is_text = first_line(source_name(path))

    def judge(first: bytes) -> None:
        if first.startswith(_BINARY):
            return
        is_text(first)
        text = first.decode(errors="ignore").removeprefix("\ufeff").lstrip()
        if not text.startswith(("{", "[")):
            with contextlib.suppress(_CutOff):
                for _ in cad.iter_compact(_beginning(first)):
                    pass

    return read(path, limit, judge)


def _beginning(first: bytes) -> Iterator[bytes]:
    """The first bytes of a text. What its last line and its end would say is not known yet."""
    yield first
    raise _CutOff


def _given(args: argparse.Namespace) -> Any:
    """Read the document of a command that takes one."""
    return _document(_read(args.file, args.max_input), repair=args.repair)


def _document(data: bytes, *, repair: bool = False) -> Any:
    """Read a document, and report repairs on stderr."""
    with warnings.catch_warnings(record=True) as repairs:
        warnings.simplefilter("always")
        try:
            return cad.loads(data, repair=repair)
        finally:
            # Report repairs also before an error, which is about the repaired document.
            for repair_ in repairs:
                tell(f"compactwire: repaired: {repair_.message}")


def _compact(args: argparse.Namespace) -> int:
    if args.lose is not None and args.target is None:
        raise ValueError("--lose needs --target vcad; without a target, --lossy allows all losses")
    data = _read(args.file, args.max_input)
    if args.unknown == "keep":
        return _keep(args, data)
    lossy: Any = args.lossy or ([] if args.lose is None else args.lose.split(","))
    source: Any
    try:
        source = _document(data, repair=args.repair)
    except cad.DocumentError:
        allowed = args.lossy or "unknown" in lossy
        if not allowed or not _is_plain_json(data):
            raise
        # JSON with unknown content: `losses` needs the source to list it.
        source = data
    text = cad.to_compact(
        source, args.dialect, target=args.target, names=not args.no_names, lossy=lossy or False
    )
    for code in cad.losses(source, args.dialect, target=args.target):
        tell(f"compactwire: not written: {_WHAT[code]} ({code})")
    return write(text + "\n", args.output)


def _keep(args: argparse.Namespace, data: bytes) -> int:
    if args.repair:
        raise ValueError("--unknown keep cannot be used with --repair: choose one of them")
    # JSON is passed on unchanged; other formats are read to a document.
    document: Any = data if _is_plain_json(data) else cad.loads(data)
    text = cad.to_compact(
        document, args.dialect, target=args.target, lossy=args.lossy, unknown="keep"
    )
    return write(text + "\n", args.output)


def _is_plain_json(data: bytes) -> bool:
    """Whether the data is JSON and not a hybrid."""
    try:
        cad.from_hybrid(data)
    except cad.DocumentError as error:
        return error.message == 'missing field "compact"'
    except cad.CompactParseError:
        pass
    return False


def _is_text(data: bytes) -> bool:
    """Whether data with an error is compact text and not a hybrid."""
    try:
        cad.from_hybrid(data)
    except cad.CompactParseError:
        return False
    except cad.DocumentError:
        pass
    return True


def _expand(args: argparse.Namespace) -> int:
    document = _given(args)
    try:
        text = cad.dumps(document)
    except cad.DocumentError:
        # A text may hold values outside the model.
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return write(text + "\n", args.output)


def _pack(args: argparse.Namespace) -> int:
    return write_binary(cad.to_binary(_given(args)), args.output)


def _hybrid(args: argparse.Namespace) -> int:
    hybrid = cad.to_hybrid(_given(args))
    return write(json.dumps(hybrid, ensure_ascii=False, indent=1) + "\n", args.output)


def _preview(args: argparse.Namespace) -> int:
    """Draw a picture; the suffix of the output decides between SVG and PNG."""
    suffix = PurePath(args.output).suffix.lower()
    if suffix in _OTHER_PICTURES:
        raise ValueError(f"{args.output}: cannot write {suffix}; expected .png or .svg")
    document = _given(args)
    try:
        picture = cad.preview(
            document,
            kind="svg" if suffix == ".svg" else "png",
            width=args.width,
            height=args.height,
            azimuth=args.azimuth,
            elevation=args.elevation,
        )
    except ImportError as error:
        raise ValueError(str(error)) from error
    for note in picture.notes:
        tell(f"compactwire: {args.file}: not shown exactly: {note}")
    if not document["nodes"]:
        tell(f"compactwire: {args.file}: the document has no nodes, so the picture is empty")
    write_picture = write_bytes if suffix == ".svg" else write_binary
    return write_picture(picture.data, args.output)


def _check(args: argparse.Namespace) -> int:
    failed = []
    for path in args.files:
        try:
            # All errors of a text are listed, so that any text is read to its end.
            errors = _errors(read(path, args.max_input, first_line(source_name(path))))
        except (OSError, ValueError) as error:
            # Go on with the other files.
            complain(error)
            failed.append(path)
            continue
        if errors:
            failed.append(path)
        for place, message in errors[:_MAX_ERRORS]:
            write(one_line(f"{path}:{place}: {message}") + "\n", "-")
        if len(errors) > _MAX_ERRORS:
            tell(f"compactwire: {path}: more than {_MAX_ERRORS} errors; only the first are shown")
    return name_failed(failed, args.files)


def _errors(data: bytes) -> list[tuple[str, str]]:
    try:
        cad.loads(data)
    except cad.CompactParseError as error:
        # A hybrid reports its first error, with a line of the text inside.
        errors = cad.check(data, limit=_MAX_ERRORS + 1) if _is_text(data) else [error]
        return [(f"{e.line}:{e.column}", e.message + _hint(e)) for e in errors]
    except (cad.DocumentError, cad.BinaryError) as error:
        return [("1:1", str(error))]
    return []


def _hint(error: cad.CompactParseError) -> str:
    return f" (did you mean {error.suggestion}?)" if error.suggestion else ""


def _stats(args: argparse.Namespace) -> int:
    tokens = token_counter()
    lines = []
    failed = []
    for path in args.files:
        measured = _measure(path, args.max_input, tokens)
        lines += measured
        if not measured:
            failed.append(path)
    if tokens is None:
        lines.append("(no tokens: pip install bpe-openai)")
    write("".join(line + "\n" for line in lines), "-")
    return name_failed(failed, args.files)


def _measure(path: str, limit: int, tokens: Callable[[str], int] | None) -> list[str]:
    """Measure a file; if it cannot be read, report the error and return no lines."""
    try:
        document = _document(_read(path, limit))
        forms = _forms(document)
    except (cad.CompactParseError, cad.DocumentError, cad.BinaryError) as error:
        complain(ValueError(f"{path}: {error}"))
        return []
    except (OSError, ValueError) as error:
        complain(error)
        return []
    lines = [one_line(f"{path}: {len(document['nodes'])} nodes")]
    baseline = None
    for name, form in forms:
        data = form if isinstance(form, bytes) else form.encode()
        line = f"  {name:<18}{len(data):>10} bytes"
        if tokens is not None and isinstance(form, str):
            count = tokens(form)
            baseline = baseline or count
            line += f"{count:>10} tokens{1 - count / baseline:>9.1%} fewer"
        lines.append(line)
    return lines


def _forms(document: Any) -> list[tuple[str, str | bytes]]:
    minified = cad.dumps(document)
    value = json.loads(minified)
    forms: list[tuple[str, str | bytes]] = [
        ("JSON, pretty", json.dumps(value, indent=2, ensure_ascii=False)),
        ("JSON, minified", minified),
    ]
    for names in (False, True):
        try:
            text = cad.to_compact(document, "0.1", names=names)
        except cad.DocumentError:
            continue
        forms.append(("0.1 with names" if names else "0.1", text))
    hybrid = json.dumps(cad.to_hybrid(document), separators=(",", ":"), ensure_ascii=False)
    return [
        *forms,
        ("0.2", cad.to_compact(document, "0.2")),
        ("hybrid, minified", hybrid),
        ("binary", cad.to_binary(document)),
    ]
