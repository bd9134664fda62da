"""A corpus: named inputs, built from values or read from a folder."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from compactwire import gcf

from .._csv import read_table
from .._files import naming_file
from .._texts import check_path, check_positive, check_type, one_line
from ..errors import CompactWireError
from .extra import need
from .folders import below, kind_of
from .int96 import MICROSECONDS, has_int96, with_exact_times

_TEXT = {
    ".md",
    ".txt",
    ".rst",
    ".log",
    ".py",
    ".rs",
    ".ts",
    ".js",
    ".html",
    ".xml",
    ".yaml",
    ".yml",
}
_JSON = {".json", ".vcad"}
_LINES = {".jsonl", ".ndjson"}
_CSV = {".csv", ".tsv"}
_TABLES = {".parquet"}

FileKind = Literal["text", "json", "lines", "csv", "table"]


class Corpus(Mapping[str, Any]):
    """Inputs by name; `compare` measures each one separately.

    Parameters
    ----------
    inputs : Mapping
        The inputs by their names in the table: responses, texts, JSON-like values, graph payloads,
        CAD documents.

    Examples
    --------
    >>> corpus = Corpus({"orders": [{"id": 1}, {"id": 2}], "answer": "The answer is 42."})
    >>> corpus
    Corpus(2 inputs: orders, answer)
    """

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        if not isinstance(inputs, Mapping):
            raise TypeError(f"inputs must be a mapping, not {type(inputs).__name__}")
        for name in inputs:
            check_type("each name of inputs", name, str)
        self._inputs = dict(inputs)

    def __getitem__(self, name: str) -> Any:
        """Return the input of this name."""
        return self._inputs[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._inputs)

    def __len__(self) -> int:
        """Return the number of inputs."""
        return len(self._inputs)

    def __repr__(self) -> str:
        names = ", ".join(list(self._inputs)[:3])
        more = ", ..." if len(self) > 3 else ""
        return f"Corpus({len(self)} input{'s' * (len(self) != 1)}: {names}{more})"


def read_corpus(
    folder: str | PathLike[str], /, *, texts: bool = False, limit: int | None = None
) -> Corpus:
    """Read a folder: each file is an input, named by its path within the folder.

    Parameters
    ----------
    folder : str or path-like
        A folder, read with all folders in it. ``.json`` and ``.vcad`` are read as values,
        ``.jsonl`` as a list of values, ``.csv``, ``.tsv`` (with cells as strings) and ``.parquet``
        as a list of rows; ``.md``, ``.txt`` and other text files as texts. Other files, hidden
        files and links are skipped.
    texts : bool
        Whether to read every file as a text, including JSON files; ``.parquet`` is skipped.
    limit : int, optional
        The maximum number of inputs, spread evenly over the sorted paths.

    Returns
    -------
    Corpus
        The inputs, in the order of their paths.

    Raises
    ------
    NotADirectoryError
        The folder does not exist.
    OSError
        A folder in it, or a file, cannot be read.
    CompactWireError
        The folder has no file to read, or the content of a file does not match its suffix; the
        message names the file.
    """
    check_path(folder, "folder")
    root = Path(os.fsdecode(folder))
    if kind_of(root) != "folder":
        raise NotADirectoryError(f"no folder {str(root)!r}")
    paths = [path for path in below(root) if kind_of_file(path) is not None]
    if texts:
        paths = [path for path in paths if path.suffix.lower() not in _TABLES]
    if not paths:
        raise CompactWireError(f"no JSON or text files in {str(root)!r}")
    if limit is not None:
        check_positive("limit", limit)
        count = min(limit, len(paths))
        paths = [paths[place * len(paths) // count] for place in range(count)]
    return Corpus({path.relative_to(root).as_posix(): read_input(path, texts) for path in paths})


def kind_of_file(path: Path) -> FileKind | None:
    """Return what the content of a file is by its suffix; None if the suffix is unknown."""
    suffix = path.suffix.lower()
    kinds: dict[FileKind, set[str]] = {
        "text": _TEXT, "json": _JSON, "lines": _LINES, "csv": _CSV, "table": _TABLES
    }  # fmt: skip
    return next((kind for kind, suffixes in kinds.items() if suffix in suffixes), None)


def csv_kind(path: Path) -> str:
    """The kind of a file of the kind "csv", as `delimiter_of` takes it."""
    return path.suffix.lower().removeprefix(".")


def passed_over(root: Path) -> list[str]:
    """The suffixes of the files of a folder that are of an unknown kind; none of a file.

    A folder that cannot be listed is left out.
    """
    found = below(root, report=lambda _: None)
    return sorted({path.suffix for path in found if kind_of_file(path) is None})


def read_input(path: Path, texts: bool = False) -> Any:
    """Read a file as one input.

    Raises
    ------
    CompactWireError
        The content does not match the suffix; the message names the file.
    """
    table = _table(path) if path.suffix.lower() in _TABLES else None
    try:
        if table is not None:
            return gcf.loads(gcf.dumps(table))
        with naming_file(str(path)):
            text = path.read_bytes().decode("utf-8-sig")
        if texts:
            return text
        if path.suffix.lower() in _JSON:
            return _value(text, 1)
        if path.suffix.lower() in _LINES:
            lines = enumerate(text.split("\n"), 1)
            return [_value(line, number) for number, line in lines if line.strip()]
        if path.suffix.lower() in _CSV:
            return read_table(text, csv_kind(path))
    except ValueError as error:
        raise CompactWireError(f"{one_line(str(path))}: {error}") from error
    except RecursionError:
        raise CompactWireError(f"{one_line(str(path))}: nested too deep") from None
    return text


def _table(path: Path) -> Any:
    parquet = need("pyarrow.parquet", "pyarrow")
    with naming_parquet(path), open_parquet(path) as file:
        table = parquet.read_table(file)
        if not has_int96(parquet.read_metadata(file).schema):
            return table
        return with_exact_times(
            table, parquet.read_table(file, **MICROSECONDS), f"{one_line(str(path))}: "
        )


def check_is_file(path: Path) -> None:
    """Refuse a pipe or device, whose rows cannot be read: before it is opened, which may wait."""
    if kind_of(path) == "other":
        raise CompactWireError(
            f"{one_line(str(path))}: a pipe or device, expected a file; write its content to a file"
        )


def open_parquet(path: Path) -> Any:
    """Open a file of Parquet once for several readers: another one may take its place meanwhile."""
    check_is_file(path)
    return need("pyarrow", "pyarrow").OSFile(os.fspath(path))


@contextlib.contextmanager
def naming_parquet(path: Path) -> Iterator[None]:
    """Name the file in the errors of pyarrow about a damaged one."""
    pa = need("pyarrow", "pyarrow")
    try:
        with naming_file(str(path)):
            yield
    except MemoryError:  # That of pyarrow is an `ArrowException`, too.
        raise
    except (pa.ArrowException, OSError, EOFError) as error:
        # The errors of the operating system have a number, and those of pyarrow have none.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = one_line(str(error).partition("\n")[0])
        raise CompactWireError(f"{one_line(str(path))}: invalid Parquet: {said}") from error


def parse(text: str) -> Any:
    """Parse JSON, whose objects must not have a key twice."""
    return json.loads(text, object_pairs_hook=_members)


def _value(text: str, line: int) -> Any:
    """Parse JSON that begins on this line of a file."""
    try:
        return parse(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno + line - 1} column {error.colno}"
        raise ValueError(f"{error.msg}: {place}") from None
    except DuplicateKeyError:
        # The parser does not report the place. A second pass is needed only after an error.
        start, key = _repeated(text)
        line += text.count("\n", 0, start)
        raise ValueError(f"duplicate key {json.dumps(key)} in an object: line {line}") from None


class DuplicateKeyError(Exception):
    """An object of the JSON has a key twice; one of its values would be lost."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise DuplicateKeyError
    return members


# A string of JSON and the colon after it, which makes it a key; or the start or end of an object.
_TOKEN = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")[ \t\r\n]*(:?)|[{}]')


def _repeated(text: str) -> tuple[int, str]:
    """Return place and name of the first duplicate key. The syntax of the text is valid."""
    objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        if token[0] == "{":
            objects.append(set())
        elif token[0] == "}":
            objects.pop()
        elif token[2]:
            key = json.loads(token[1])
            if key in objects[-1]:
                return token.start(), key
            objects[-1].add(key)
    return 0, ""
