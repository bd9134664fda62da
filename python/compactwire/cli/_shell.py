"""Functions that the commands share: input, output, and the declaration of a command."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import io
import json
import os
import re
import sys
from collections import Counter
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

from .._files import naming_file, write_file
from .._texts import one_line as one_line
from ..errors import CompactWireError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_T = TypeVar("_T")

DEFAULT = "default: %(default)s"

OK = 0
_FAILED = 1

# How many bytes of an input are judged before the rest is read: no magic number is longer.
FIRST = 64
# The first bytes of files that are mistaken for texts.
_NO_TEXTS = {
    b"PAR1": "a Parquet file, whose rows only `analyze` and `train` read",
    b"\x1f\x8b": "compressed with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
}
# The number of files with rows that failed, that are named.
_MAX_NAMES = 5


class TooLargeError(OSError):
    """An input is larger than the limit of ``--max-input``."""


def without_keys(text: str) -> str:
    """Replace what may be a secret key, passed in place of its file: messages may be logged."""
    return re.sub("[0-9a-fA-F]{64}", "(64 hexadecimal digits)", text)


def tell(text: str) -> None:
    """Write a line to standard error, if it is open."""
    # If `sys.stderr` is None, print would write to standard output.
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError):
        print(one_line(text), file=sys.stderr)


def tell_with_errors(files: list[str]) -> None:
    """Name the first of the files that have rows that failed."""
    if files:
        more = len(files) - _MAX_NAMES
        names = ", ".join(files[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
        tell(f"compactwire: files with rows that failed: {names}")


def complain(error: BaseException) -> None:
    """Write an error as one line to standard error."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        # Without the number of the error, which no user knows.
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        text = place + error.strerror
    if isinstance(error, MemoryError):
        text = f"not enough memory{': ' if text else ''}{text}"
    tell(f"compactwire: error: {text}")


def drop_stdout() -> None:
    """Discard buffered output that cannot be written.

    Otherwise Python would try again at exit and change the exit code. What a program that calls the
    command writes afterwards is not discarded.
    """
    if sys.stdout is None:
        return
    number = sys.stdout.fileno()
    kept, devnull = os.dup(number), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, number)
        sys.stdout.flush()
    finally:
        os.dup2(kept, number)
        os.close(devnull)
        os.close(kept)


def read(path: str, limit: int, judge: Callable[[bytes], object] | None = None) -> bytes:
    """Read a file, or standard input for "-", of at most `limit` bytes.

    `judge` gets the first bytes of a long input before the rest is read, which may have no end. It
    raises an error if they cannot be the start of what is expected.
    """
    if path != "-":
        if Path(path).is_dir():
            raise IsADirectoryError(f"{path}: a folder, expected a file")
        with Path(path).open("rb") as file:
            return _read(file, path, limit, judge)
    # Python sets `sys.stdin` to None if the descriptor is closed.
    if sys.stdin is None:
        raise OSError("standard input is closed")
    if sys.stdin.isatty():
        tell("compactwire: reading from the terminal; end the input with Ctrl-D (Windows: Ctrl-Z)")
    stdin = cast("io.BufferedReader", sys.stdin.buffer)
    return _read(stdin, "standard input", limit, judge)


def _read(
    file: io.BufferedReader, name: str, limit: int, judge: Callable[[bytes], object] | None
) -> bytes:
    # A device or pipe has no size and may have no end; `read(limit)` would allocate the limit.
    data = io.BytesIO()
    while chunk := _next_part(file, name):
        if data.tell() + len(chunk) > limit:
            raise TooLargeError(f"{name}: larger than {limit:,} bytes, the limit of --max-input")
        data.write(chunk)
        if judge is not None and data.tell() >= FIRST:
            judge(data.getvalue())
            judge = None
    return data.getvalue()


def _next_part(file: io.BufferedReader, name: str) -> bytes:
    """What can be read next; nothing at the end."""
    with naming_file(name):
        part = file.read1(1 << 16)
        raw = getattr(file, "raw", None)
        if part or not isinstance(raw, io.FileIO) or _waits(raw):
            return part
        # The buffer takes a pause for the end.
        rest: bytes = _when_ready(raw, lambda: raw.read(1 << 16), to_read=True)
        return rest


def _when_ready(file: io.RawIOBase, act: Callable[[], _T | None], *, to_read: bool) -> _T:
    """What a read or write returns, which is None as long as the descriptor is not ready.

    The process that started this one, such as Node.js, may have set that the descriptor does not
    wait.
    """
    while (done := act()) is None:
        import select

        select.select([file] * to_read, [file] * (not to_read), [])
    return done


def first_text(name: str) -> Callable[[bytes], object]:
    """For `read`: the first bytes are text in UTF-8."""

    def judge(first: bytes) -> None:
        try:
            codecs.getincrementaldecoder("utf-8")().decode(first)
        except UnicodeDecodeError as error:
            raise _no_utf8(name, error) from None

    return judge


def read_text(path: str, limit: int) -> str:
    name = source_name(path)
    return utf8(read(path, limit, first_text(name)), name)


def source_name(path: str) -> str:
    """The name of the input, for messages."""
    return "standard input" if path == "-" else path


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Name the file, or standard input, in errors about its content."""
    try:
        yield
    except CompactWireError as error:
        raise ValueError(f"{source_name(path)}: {error}") from None


def utf8(data: bytes, name: str) -> str:
    """Decode the content of the file of this name."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _no_utf8(name, error) from None


def _no_utf8(name: str, error: UnicodeDecodeError) -> ValueError:
    if error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ValueError(f"{name}: UTF-16, expected UTF-8; save it as UTF-8")
    for magic, found in _NO_TEXTS.items():
        if error.object.startswith(magic):
            return ValueError(f"{name}: {found}, expected text in UTF-8")
    return ValueError(f"{name}: not UTF-8 from byte {error.start} on")


def write(text: str, path: str) -> int:
    if path == "-" and stdout().isatty() and not text.endswith("\n"):
        text += "\n"
    return write_bytes(text.encode(), path)


def write_bytes(data: bytes, path: str) -> int:
    if path == "-":
        stdout().buffer.write(data)
        stdout().buffer.flush()
    else:
        write_file(data, path)
    return OK


def write_binary(data: bytes, path: str) -> int:
    """Write binary data, but not to a terminal, which would interpret control characters."""
    if path == "-" and stdout().isatty():
        raise ValueError("the output is binary: name a file for it with -o, or pipe it")
    return write_bytes(data, path)


class _Waiting(io.RawIOBase):
    """A file that waits until something can be written."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        written: int = _when_ready(self._raw, lambda: self._raw.write(data), to_read=False)
        return written

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()


@contextlib.contextmanager
def whole_writes() -> Iterator[None]:
    """Write all of what is written to standard output, or raise an error.

    With ``python -u``, it has no buffer: if the disk is full or the reader goes away, the system
    writes a part, which is no error there. With a buffer, it raises an error if the descriptor does
    not wait.
    """
    usual = sys.stdout
    buffer = getattr(usual, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    if not isinstance(raw, io.FileIO) or (buffer is not raw and _waits(raw)):
        yield
        return
    usual.flush()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Waiting(raw)),
        encoding=usual.encoding,
        errors=usual.errors,
        line_buffering=bool(usual.line_buffering),
    )
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stdout = usual


def _waits(raw: io.FileIO) -> bool:
    return sys.platform == "win32" or raw.closed or os.get_blocking(raw.fileno())


def stdout() -> TextIO:
    if sys.stdout is None:
        raise OSError("standard output is closed")
    return sys.stdout


def json_line(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # The name of a file that is not UTF-8: JSON can escape it.
        text = json.dumps(value)
    return text + "\n"


def token_counter() -> Callable[[str], int] | None:
    """Return a counter of o200k_base tokens, or None if the tokenizer is not installed."""
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
    parser = _add_parser(commands, name, about, example)
    parser.set_defaults(run=run)
    return parser


def add_group(commands: Commands, name: str, about: str, example: str) -> Commands:
    """Add a command that has commands of its own, and return the object to add them to."""
    parser = _add_parser(commands, name, about, example)
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=True)


def _add_parser(commands: Commands, name: str, about: str, example: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def natural(text: str) -> int:
    """Parse an integer from 0 to 2^63 - 1, the range of most numeric options."""
    return _integer(text, least=0)


def positive(text: str) -> int:
    """Parse an integer from 1 to 2^63 - 1."""
    return _integer(text, least=1)


def _integer(text: str, *, least: int) -> int:
    # Check the length first: Python raises an error of its own for thousands of digits.
    if text.isascii() and text.isdecimal() and len(text) <= 19 and least <= int(text) < 1 << 63:
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a number from {least} to 2^63 - 1, not {text!r}")


def input_path(text: str) -> str:
    """Parse the path of an input; `Path` would take an empty one for the working folder."""
    if not text:
        raise argparse.ArgumentTypeError(
            "expected a path, not an empty text; is a variable without a value?"
        )
    return text


def add_inputs(parser: argparse.ArgumentParser, what: str) -> None:
    about = f"{what} (default: stdin)"
    parser.add_argument(
        "files", nargs="*", default=["-"], type=input_path, metavar="FILE", help=about
    )
    add_max_input(parser)


def each_file(
    run: Callable[[argparse.Namespace], int], suffix: str, *, joinable: bool = True
) -> Callable[[argparse.Namespace], int]:
    """A command for several files, of one that reads `args.file` and writes to `args.output`.

    The outputs of several files are files in the folder `args.output`, named after the inputs with
    this suffix; or standard output, one after the other, if they are `joinable`.
    """

    def run_each(args: argparse.Namespace) -> int:
        separators = tuple(filter(None, (os.sep, os.altsep)))
        in_folder = args.output.endswith(separators) or (args.output != "-" and len(args.files) > 1)
        outputs = _Outputs(args.output, args.files, suffix) if in_folder else None
        if outputs is None and len(args.files) > 1 and not joinable:
            raise ValueError("several inputs need -o with a folder for their outputs")

        def run_one(path: str) -> None:
            output = args.output if outputs is None else outputs.of(path)
            run(argparse.Namespace(**{**vars(args), "file": path, "output": output}))

        return report_each(args.files, run_one)

    return run_each


def report_each(files: list[str], run: Callable[[str], object]) -> int:
    """Run a function for each file; report errors, and name at the end the files that failed."""
    failed = []
    for path in files:
        try:
            run(path)
        except BrokenPipeError:
            raise
        except (OSError, ValueError, MemoryError) as error:
            complain(error)
            failed.append(path)
    return name_failed(failed, files)


def name_failed(failed: list[str], files: list[str]) -> int:
    """Name the files that failed, at the end of several; return the exit code."""
    if failed and len(files) > 1:
        names = ", ".join(map(source_name, failed))
        tell(f"compactwire: {len(failed)} of {len(files)} inputs failed: {names}")
    return _FAILED if failed else OK


def _make_folder(output: str, inputs: int) -> None:
    try:
        Path(output).mkdir(exist_ok=True)
    except FileExistsError:
        message = f"several inputs need -o with a folder for their outputs, not the file {output}"
        if inputs == 1:
            message = f"{output}: a file; without the slash at its end, it is the output"
        raise ValueError(message) from None


class _Outputs:
    """The outputs of several inputs in a folder: none is that of another input, or an input itself.

    What the inputs are is found once, because there may be thousands, and some may be missing.
    """

    def __init__(self, folder: str, inputs: list[str], suffix: str) -> None:
        _make_folder(folder, len(inputs))
        self._folder, self._suffix = Path(folder), suffix
        self._count = Counter(self._name(path) for path in inputs)
        self._inputs = {_identity(Path(path)) for path in inputs if path != "-"} - {None}

    def _name(self, path: str) -> str:
        """The name of the output; nothing for a folder without a name, such as ``.`` or ``/``."""
        name = PurePath("stdin" if path == "-" else path).name
        return "" if name in ("", "..") else str(PurePath(name).with_suffix(self._suffix))

    def of(self, path: str) -> str:
        """The output of an input; an error if it must not be written."""
        name = self._name(path)
        if not name:
            raise IsADirectoryError(f"{path}: a folder, expected a file")
        target = self._folder / name
        if self._count[name] > 1:
            message = f"another input would be written to {target}, too"
            raise ValueError(f"{source_name(path)}: {message}")
        if _identity(target) in self._inputs:
            raise ValueError(f"{source_name(path)}: its output {target} is one of the inputs")
        return str(target)


def _identity(path: Path) -> tuple[int, int] | None:
    """Two paths of one file have the same; None for a file that does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def add_max_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-input",
        type=natural,
        default=1 << 30,
        metavar="BYTES",
        help="largest file or standard input to read (default: %(default)s)",
    )


def add_max_expansion(parser: argparse.ArgumentParser, default: int) -> None:
    parser.add_argument(
        "--max-expansion",
        metavar="BYTES",
        type=int,
        default=default,
        help="the largest size of what is in a value of GCF but not in its text, such as "
        "constants of many rows (default: %(default)s)",
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    about = "a file, or a folder for the outputs of several inputs (default: stdout)"
    parser.add_argument("-o", "--output", default="-", metavar="OUT", help=about)
