"""Rows from data frames, Arrow columns and files, in batches of bounded memory.

`batches` reads a source of any size. Each row is a text, or a value as JSON text, or the reason why
it could not be read.
"""

from __future__ import annotations

import contextlib
import glob
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO, get_args

from compactwire import gcf

from .._csv import START, delimiter_of, read_records
from .._files import naming_file
from .._frames import is_of_pandas, readable
from .._texts import check_path, check_positive, check_texts, one_line, shown
from ..errors import CompactWireError, OptionError
from .candidates import compact
from .corpus import (
    Corpus,
    DuplicateKeyError,
    check_is_file,
    csv_kind,
    kind_of_file,
    naming_parquet,
    open_parquet,
    parse,
    read_corpus,
    read_input,
)
from .extra import need
from .folders import Report, below, kind_of, matching
from .int96 import MICROSECONDS, has_int96, with_exact_times
from .producers import raise_of_producer

if TYPE_CHECKING:
    import pyarrow as pa

RowKind = Literal["auto", "text", "json"]

ROWS = 8192
MAX_ROW = 64 << 20
_LONGEST_PATH = 4096
_BATCH_BYTES = 8 << 20
_READ_BYTES = 16 << 20
# More rows, or a larger row, than this cannot exist; libraries take no larger int.
_NO_LIMIT = sys.maxsize // 2
# The metadata of a batch: whether its rows are texts or JSON.
_KIND = b"compactwire.rows"
_TOO_LARGE = "RowTooLarge"
_WRONG_CELLS = "WrongNumberOfCells"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


@dataclass(frozen=True)
class Rows:
    """Rows of one kind: texts, None for a null or unreadable row; and the classes of the errors."""

    kind: Literal["text", "json"]
    texts: list[str | None]
    errors: list[str | None]


@dataclass(frozen=True)
class Reading:
    """How to read a source."""

    column: str | None = None
    kind: RowKind = "auto"
    rows: int = ROWS
    max_row: int = MAX_ROW

    def __post_init__(self) -> None:
        if self.kind not in get_args(RowKind):
            known = ", ".join(get_args(RowKind))
            message = f"unknown kind {shown(self.kind)}; expected one of {known}"
            raise OptionError(message, option="kind")
        for name in ("rows", "max_row"):
            check_positive(name, getattr(self, name))
            object.__setattr__(self, name, min(getattr(self, name), _NO_LIMIT))
        if self.column is not None:
            check_texts(column=self.column)

    def kind_or(self, usual: Literal["text", "json"]) -> Literal["text", "json"]:
        """The kind of the rows: the given one, or the usual one of the source."""
        return usual if self.kind == "auto" else self.kind


def batches(
    source: Any,
    /,
    *,
    column: str | None = None,
    kind: RowKind = "auto",
    rows: int = ROWS,
    max_row: int = MAX_ROW,
) -> Iterator[pa.RecordBatch]:
    """Read a source of any size in batches that `measure` and `sample` accept.

    Parameters
    ----------
    source : str, path-like, DataFrame, Arrow table or column, or iterable of these
        A `str` is a path: of a file, of a folder (with all folders in it; hidden files, links and
        other files are skipped) or a pattern such as ``logs/**/*.jsonl``. A row is a line of
        ``.jsonl`` and ``.ndjson`` and a row of ``.csv``, ``.tsv`` (an object of strings) and
        ``.parquet``; any other file (``.json``, ``.md``, ``.txt``, ...) is one row. Objects with
        ``__arrow_c_stream__`` are read where they are.
    column : str, optional
        The column of a table, or the member of each line, whose texts are the rows. By default a
        row is the whole value.
    kind : {"auto", "text", "json"}
        Whether rows are texts, or JSON values. By default, texts are those of text files, of
        columns of texts and of `column`.
    rows : int
        The maximum number of rows of a batch, 1 or more. A batch of more than 8 MiB has fewer.
    max_row : int
        The largest row of a file, in bytes, 1 or more. A larger one is skipped and counted as an
        error; in ``.csv`` and ``.tsv``, a larger record is an error of the file, because a quote is
        perhaps open. Rows of ``.parquet`` have no such limit.

    Yields
    ------
    pyarrow.RecordBatch
        ``text`` (null where the source has a null, or the row cannot be read) and ``error`` (null,
        or the class of the error: "RowTooLarge", "WrongNumberOfCells", "UnicodeDecodeError", ...).

    Raises
    ------
    TypeError
        The source is of another type.
    CompactWireError
        A file is damaged, is not UTF-8 as a whole or has an unknown suffix (with `kind` "text",
        such a file is a text); no file matches; the column does not exist.
    OSError
        A file cannot be read.
    ImportError
        The extra ``analysis`` is not installed.

    Examples
    --------
    >>> [batch.num_rows for batch in batches(__import__("pyarrow").array(["a", "b"]))]
    [2]
    """
    reading = Reading(column, kind, rows, max_row)
    return (to_batch(found) for found in rows_of(source, reading))


def rows_of(source: Any, reading: Reading) -> Iterator[Rows]:
    """Read a source, as `batches`."""
    if isinstance(source, str | PathLike):
        for path in files(source, reading):
            for found, _ in read_file(path, reading):
                yield found
        return
    _check_in_memory(source)
    own = _kind_of_batch(source)
    columns = to_arrow(source)
    if columns is not None:
        yield from _of_arrow(columns, own, reading)
    elif isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        for item in source:
            yield from rows_of(item, reading)
    else:
        raise TypeError(
            "source must be a path, a DataFrame, a table or column of Arrow, or an iterable of"
            f" these, not {type(source).__name__}"
        )


def to_batch(rows: Rows) -> pa.RecordBatch:
    """Return rows as a batch that `rows_of` reads back."""
    pa = need("pyarrow", "pyarrow")
    schema = pa.schema(
        [("text", pa.large_string()), ("error", pa.string())], {_KIND: rows.kind.encode()}
    )
    return pa.record_batch([rows.texts, rows.errors], schema=schema)


def _kind_of_batch(source: Any) -> Literal["text", "json"] | None:
    """Return the kind of the rows if this is a batch or table of `batches`, before it is read."""
    # A frame of pandas and a relation of DuckDB have a column of this name as the attribute. Once
    # they are read, readers of arro3 and streams of nanoarrow raise an error for their schema.
    metadata: Any = None
    try:
        metadata = getattr(getattr(source, "schema", None), "metadata", None)
    except MemoryError:
        raise
    except Exception:
        pass
    kinds: dict[Any, Literal["text", "json"]] = {b"text": "text", b"json": "json"}
    return kinds.get(metadata.get(_KIND)) if isinstance(metadata, dict) else None


# One input that fits in memory -------------------------------------------------------------------


def opened(value: Any) -> Any:
    """Return the input that a path, data frame, column or batches hold; any other value as it is.

    Raises
    ------
    CompactWireError
        A file does not match its suffix; a row cannot be read, or there is none; or the value is a
        `str` that names a file or folder or a pattern of files, or a list with such a name, which
        the caller may have meant.
    """
    if isinstance(value, PathLike):
        return _of_path(Path(value))
    if isinstance(value, str):
        _check_no_path(value, folders=True)
    _check_in_memory(value)
    if _is_arrow(value):
        return _in_memory([value])
    if isinstance(value, Iterator):
        value = list(value)
    if isinstance(value, list | tuple) and value:
        if all(isinstance(item, PathLike) for item in value):
            found = [one for item in value for one in files(Path(item), Reading())]
            return Corpus({one.as_posix(): read_input(one) for one in found})
        if any(map(_is_arrow, value)):
            _check_all_arrow(value)
            return _in_memory(value)
        for item in value:
            _check_no_path(item)
    return value


def _check_all_arrow(items: Sequence[Any]) -> None:
    for place, item in enumerate(items):
        if not _is_arrow(item):
            raise TypeError(
                f"item {place}: expected a column, frame or batch like the others, not"
                f" {type(item).__name__}; compare them in one call each"
            )


def _of_path(path: Path) -> Corpus:
    if kind_of(path) == "folder":
        return read_corpus(path)
    found = files(path, Reading())
    if found == [path]:
        return Corpus({path.name: read_input(path)})
    return Corpus({one.as_posix(): read_input(one) for one in found})


def _check_no_path(text: object, *, folders: bool = False) -> None:
    if not isinstance(text, str) or len(text) > _LONGEST_PATH or not text.isprintable():
        return
    found = ""
    with contextlib.suppress(OSError, ValueError):
        if Path(text).is_file():
            found = "the name of a file"
        elif folders and text and Path(text).is_dir():
            found = "the name of a folder"
        elif _matches_files(text):
            found = "a pattern of files"
    if found:
        raise OptionError(
            f"{text!r} is {found}: pass pathlib.Path({text!r}) for its content, or"
            f" compactwire.Response({text!r}) for the text itself",
            option="value",
        )


def _matches_files(text: str) -> bool:
    """Whether a text looks like a pattern of files, and one of them exists."""
    looks = glob.has_magic(text) and (os.sep in text or kind_of_file(Path(text)) is not None)
    # Not `matching`, which would search all folders for `**`.
    return looks and any(Path(one).is_file() for one in glob.iglob(text))  # noqa: PTH207


def _in_memory(sources: Sequence[Any]) -> list[Any]:
    """Return the texts of columns, or the rows of tables, one source after the other."""
    found: dict[Literal["text", "json"], list[Any]] = {}
    for place, source in enumerate(sources):
        name = f"item {place}: " if len(sources) > 1 else ""
        kind, items = _items(source, name)
        found.setdefault(kind, []).extend(items)
    if len(found) > 1:
        raise CompactWireError(
            "some items have texts, others values of JSON; compare them in one call each"
        )
    ((kind, items),) = found.items()
    if kind == "text" and not items:
        raise CompactWireError("there is no text to compare: all rows are null, or there is none")
    return items


def _items(source: Any, name: str) -> tuple[Literal["text", "json"], list[Any]]:
    _check_in_memory(source)
    own = _kind_of_batch(source)
    columns: Any = to_arrow(source)
    if own is None and not is_text(columns.type):
        return "json", gcf.loads(gcf.dumps(columns))
    read: Callable[[str], Any] = parse if own == "json" else str
    cells = [
        cell
        for rows in _of_arrow(columns, own, Reading())
        for cell in zip(rows.texts, rows.errors, strict=True)
    ]
    items = []
    for row, (text, error) in enumerate(cells):
        try:
            items += [] if text is None else [read(text)]
        except (ValueError, RecursionError, DuplicateKeyError) as failure:
            error = type(failure).__name__
        if error is not None:
            message = f"{name}row {row} cannot be read: {error}; `measure` counts such rows"
            raise CompactWireError(message)
    return own or "text", items


# Arrow --------------------------------------------------------------------------------------------


def _check_in_memory(source: Any) -> None:
    """Refuse a lazy frame or column: some of them are iterables of the names of their columns."""
    if hasattr(source, "__arrow_c_stream__"):
        return
    for mark, call in (("__dask_graph__", "compute"), ("collect_schema", "collect")):
        if hasattr(source, mark):
            raise TypeError(
                f"the rows of a lazy {type(source).__name__} are not in memory: pass the result of"
                f" its {call}(), or measure each partition and merge the summaries"
            )


def _is_arrow(source: Any) -> bool:
    methods = ("__arrow_c_stream__", "__arrow_c_array__", "to_frame")
    return any(hasattr(source, method) for method in methods)


def to_arrow(source: Any) -> pa.ChunkedArray | None:
    """Return an Arrow column or table as one column; None for anything else.

    Raises
    ------
    CompactWireError
        The values of a column have no common Arrow type, or reading them fails, as a query may.
    """
    if not _is_arrow(source):
        return None
    pa = need("pyarrow", "pyarrow")
    source, problem = readable(_as_series(source))
    if problem is not None:
        raise problem.error()
    try:
        if hasattr(source, "__arrow_c_stream__"):
            return pa.chunked_array(source)
        if hasattr(source, "__arrow_c_array__"):
            return pa.chunked_array([pa.array(source)])
        column = pa.chunked_array(source.to_frame())  # A Series of pandas before 3.
        chunks = [chunk.field(0) for chunk in column.chunks]
        return pa.chunked_array(chunks, column.type[0].type)
    except (ValueError, TypeError, NotImplementedError, OverflowError) as error:
        raise_of_producer(source, error)
        raise CompactWireError(
            f"this {type(source).__name__} cannot be read as Arrow: {one_line(str(error)[:200])};"
            " give the values of each column one type"
        ) from error
    except OSError as error:
        # Also that of a producer for pyarrow; those of the operating system have a number.
        if error.errno is not None:
            raise
        raise_of_producer(source, error)
        reason = one_line(str(error)[:200])
        raise CompactWireError(f"reading this {type(source).__name__} failed: {reason}") from error


def _as_series(source: Any) -> Any:
    """An index of pandas as a Series of its values; any other source as it is."""
    if not is_of_pandas(source) or not hasattr(type(source), "to_series"):
        return source
    if source.nlevels > 1:
        raise CompactWireError(
            "a MultiIndex is not one column: pass index.to_frame(index=False), whose columns are"
            " its levels"
        )
    return need("pandas", "pandas").Series(source, dtype=source.dtype)


def is_text(column: pa.DataType) -> bool:
    """Whether a column of this type has texts, perhaps as bytes, or nulls only.

    So has that of an extension, such as of JSON in Parquet; but the bytes of one, as of UUIDs, are
    no texts.
    """
    pa = need("pyarrow", "pyarrow")
    types = pa.types
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    if isinstance(column, pa.BaseExtensionType):
        return any(test(column.storage_type) for test in texts)
    if types.is_dictionary(column):
        column = column.value_type
    binary = (types.is_binary, types.is_large_binary, types.is_binary_view)
    tests = (types.is_null, *texts, *binary, types.is_fixed_size_binary)
    return any(test(column) for test in tests)


def _of_arrow(
    columns: pa.ChunkedArray, own: Literal["text", "json"] | None, reading: Reading
) -> Iterator[Rows]:
    types = need("pyarrow", "pyarrow").types
    name = "text" if own else reading.column
    if name is not None:
        if not types.is_struct(columns.type):
            message = f"column {name!r} is of a table; the source is a column of {columns.type}"
            raise OptionError(message, option="column")
        for one in ("text", "error") if own else (name,):
            _check_column(one, [field.name for field in columns.type])
    for chunk in columns.chunks:
        for start in range(0, len(chunk), reading.rows):
            part = chunk.slice(start, reading.rows)
            errors: list[str | None] = [None] * len(part)
            if own:
                errors = _field(part, "error").to_pylist()
            column = part if name is None else _field(part, name)
            yield from _of_array(column, errors, own, reading, part.is_valid())


def _check_column(name: str, names: list[str], place: str = "") -> None:
    if names.count(name) != 1:
        known = ", ".join(map(repr, names))
        message = f"{place}expected one column {name!r}; the columns are {known}"
        raise OptionError(message, option="column")


def _field(part: pa.StructArray, name: str) -> pa.Array:
    """Return a column of a table; of texts, it is null where the row is."""
    # Its place, because a name such as ".text" would be the path to another column.
    place = part.type.get_field_index(name)
    if not is_text(part.type[place].type):
        # Not `struct_field`, which ignores the nulls of the rows for runs, and with which pyarrow
        # ends the process for a union.
        return part.field(place)
    return need("pyarrow.compute", "pyarrow").struct_field(part, [place])


def _of_array(
    part: pa.Array,
    errors: list[str | None],
    own: Literal["text", "json"] | None,
    reading: Reading,
    valid: pa.BooleanArray,
) -> Iterator[Rows]:
    """Read rows. Where `valid` says that a row of a table is null, `part` may have a value."""
    if not is_text(part.type):
        found = zip(_values(part), valid.to_pylist(), strict=True)
        values = (value if is_valid else (None, None) for value, is_valid in found)
        yield from _bounded(values, reading.kind_or("json"))
        return
    if isinstance(part, need("pyarrow", "pyarrow").ExtensionArray):
        part = part.storage
    # Not a list of all of them: many rows can share one long text.
    texts = (scalar.as_py() for scalar in part)
    read = (_decoded(one) if isinstance(one, bytes) else (one, None) for one in texts)
    rows = ((text, error or before) for (text, error), before in zip(read, errors, strict=True))
    yield from _bounded(rows, reading.kind_or(own or "text"))


def _values(part: pa.Array) -> Iterator[tuple[str | None, str | None]]:
    """Read rows as JSON, and the errors of those that JSON cannot represent."""
    # Without the copies, a slice would have the elements of all lists and the values of whole
    # dictionaries, which are checked each time. A few types cannot be copied, nor can lists of
    # which the elements are an empty slice of another array.
    pa = need("pyarrow", "pyarrow")
    with contextlib.suppress(pa.ArrowNotImplementedError, pa.ArrowIndexError):
        part = _with_own_dictionary(pa.concat_arrays([part]))
    try:
        # Not `is_valid`, which in older versions does not see the nulls of dictionaries and runs.
        texts = [None if one is None else compact(one) for one in _loaded(part)]
    except (CompactWireError, ValueError, RecursionError) as error:
        if len(part) == 1:
            yield None, type(error).__name__
            return
    else:
        yield from ((text, None) for text in texts)
        return
    for place in range(len(part)):
        yield from _values(part.slice(place, 1))


def _loaded(part: pa.Array) -> list[Any]:
    """Return the values of rows as those of JSON, each as if it were the only row."""
    pa = need("pyarrow", "pyarrow")
    if pa.types.is_struct(part.type) and not part.null_count:
        loaded: list[Any] = gcf.loads(gcf.dumps(part))
        return loaded
    # As rows of one table, maps would have their keys in the order of all rows, and structs in
    # another order where there is a null. So each row is alone in a list.
    rows = pa.FixedSizeListArray.from_arrays(part, 1)
    return [value for (value,) in gcf.loads(gcf.dumps(rows))]


def _with_own_dictionary(part: pa.Array) -> pa.Array:
    """Leave out values of dictionaries that no row has, at the top and in structs.

    Where there are more values than rows, a part would take time in proportion to all values.
    """
    pa = need("pyarrow", "pyarrow")
    if pa.types.is_dictionary(part.type):
        if len(part.dictionary) <= len(part):
            return part
        compute = need("pyarrow.compute", "pyarrow")
        used = part.indices.unique().drop_null()
        indices = compute.index_in(part.indices, value_set=used)
        # Unlike `take`, this works for every type.
        values = [part.dictionary.slice(index, 1) for index in used.to_pylist()]
        values = pa.concat_arrays(values or [part.dictionary.slice(0, 0)])
        return pa.DictionaryArray.from_arrays(indices, values)
    if not pa.types.is_struct(part.type) or not part.type.num_fields:
        return part
    # Not `flatten`, which gives each column the nulls of the rows: pyarrow ends the process where a
    # column has a type without nulls of its own, such as a union.
    columns = [_with_own_dictionary(part.field(at)) for at in range(part.type.num_fields)]
    pairs = zip(part.type, columns, strict=True)
    fields = [field.with_type(column.type) for field, column in pairs]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=part.is_null())


def _bounded(
    rows: Iterable[tuple[str | None, str | None]], kind: Literal["text", "json"]
) -> Iterator[Rows]:
    """Gather texts and errors, cut where they pass the size of a batch."""
    texts: list[str | None] = []
    errors: list[str | None] = []
    size = 0
    for text, error in rows:
        length = len(text or "")
        if size + length > _BATCH_BYTES and texts:
            yield Rows(kind, texts, errors)
            texts, errors, size = [], [], 0
        texts.append(text)
        errors.append(error)
        size += length
    if texts:
        yield Rows(kind, texts, errors)


# Files --------------------------------------------------------------------------------------------


def files(
    source: str | PathLike[str],
    reading: Reading,
    report: Report | None = None,
) -> list[Path]:
    """Return the files of a path or pattern, in the order of their names.

    `report` is for folders.
    """
    check_path(source, "source")
    path = Path(os.fsdecode(source))
    kind = kind_of(path)
    if kind == "folder":
        found = [file for file in below(path, report) if kind_of_file(file) is not None]
        if not found:
            raise CompactWireError(f"no file to read in {one_line(str(path))!r}")
        return found
    if kind is not None:
        check_kind(path, reading)
        return [path]
    if not glob.has_magic(str(path)):
        raise FileNotFoundError(
            f"no file or folder {one_line(str(path))!r}; to measure a text, put it into a column"
        )
    found = matching(path, report)
    if not found:
        raise CompactWireError(f"no file matches {one_line(str(path))!r}")
    for one in found:
        check_kind(one, reading)
    return found


def check_kind(path: Path, reading: Reading) -> None:
    """Refuse a file of which the suffix does not tell how it is read."""
    if kind_of_file(path) is None and reading.kind == "auto":
        raise CompactWireError(
            f"{one_line(str(path))}: cannot read a file with the suffix {path.suffix!r}; expected"
            " .jsonl, .ndjson, .csv, .tsv, .parquet, .json or a text file;"
            " with kind='text', it is one text"
        )


def read_file(path: Path, reading: Reading) -> Iterator[tuple[Rows, float]]:
    """Read a file; with each batch comes the part of the file that is read, from 0 to 1.

    Raises
    ------
    CompactWireError
        The content is not what the suffix says; the message names the file.
    """
    kind = kind_of_file(path)
    read = {"table": _of_parquet, "lines": _of_lines, "csv": _of_csv}.get(kind or "", _as_one_row)
    with naming_file(str(path)):
        yield from read(path, reading)


def _as_one_row(path: Path, reading: Reading) -> Iterator[tuple[Rows, float]]:
    kind = reading.kind_or("json" if kind_of_file(path) == "json" else "text")
    text, error = _whole(path, reading.max_row)
    if reading.column is not None and text is not None:
        text, error = _member(text, reading.column)
        kind = reading.kind_or("text")
    yield Rows(kind, [text], [error]), 1.0


def _whole(path: Path, limit: int) -> tuple[str | None, str | None]:
    data = bytearray()
    with path.open("rb") as file:
        # `read` allocates as many bytes as it is asked for.
        while part := file.read(min(limit + 1 - len(data), _READ_BYTES)):
            data += part
    return (None, _TOO_LARGE) if len(data) > limit else _decoded(data.removeprefix(b"\xef\xbb\xbf"))


def _decoded(data: bytes | bytearray) -> tuple[str | None, str | None]:
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        return None, type(error).__name__


def _member(line: str, name: str) -> tuple[str | None, str | None]:
    """Return a member of a JSON object, which must be a text; None if it is absent or null."""
    try:
        value = parse(line)
        if not isinstance(value, dict) or not isinstance(value.get(name), str | None):
            return None, TypeError.__name__
        text: str | None = value.get(name)
        if text is not None:
            text.encode()  # Not possible for a lone surrogate.
    except (ValueError, RecursionError, DuplicateKeyError) as error:
        return None, type(error).__name__
    return text, None


def _of_lines(path: Path, reading: Reading) -> Iterator[tuple[Rows, float]]:
    rows_kind = reading.kind_or("json" if reading.column is None else "text")
    yield from _gathered(_read_lines(path, reading), rows_kind, reading.rows)


def _read_lines(path: Path, reading: Reading) -> Iterator[tuple[str | None, str | None, float]]:
    read, whole = 0, max(1, path.stat().st_size)
    for line, length in _lines(path, reading.max_row):
        read += length
        if line is not None and not line.strip():
            continue
        text, error = (None, _TOO_LARGE) if line is None else _decoded(line)
        if reading.column is not None and text is not None:
            text, error = _member(text, reading.column)
        yield text, error, read / whole


def _gathered(
    found: Iterable[tuple[str | None, str | None, float]],
    kind: Literal["text", "json"],
    limit: int,
) -> Iterator[tuple[Rows, float]]:
    """Gather texts and errors, each with the part of the file that is read, in batches."""
    texts: list[str | None] = []
    errors: list[str | None] = []
    size = 0
    for text, error, part in found:
        texts.append(text)
        errors.append(error)
        size += len(text or "")
        if len(texts) == limit or size > _BATCH_BYTES:
            yield Rows(kind, texts, errors), min(1.0, part)
            texts, errors, size = [], [], 0
    yield Rows(kind, texts, errors), 1.0


def _of_csv(path: Path, reading: Reading) -> Iterator[tuple[Rows, float]]:
    rows_kind = reading.kind_or("json" if reading.column is None else "text")
    check_is_file(path)
    with path.open("rb") as data:
        _skip_mark(data, path)
        with io.TextIOWrapper(data, "utf-8", newline="") as file:
            records = _read_csv(file, data, path, reading)
            try:
                yield from _gathered(records, rows_kind, reading.rows)
            except OptionError:
                raise
            except UnicodeDecodeError as error:
                # The error counts from the part of the file that was decoded last.
                at = data.tell() - len(error.object) + error.start
                message = f"{one_line(str(path))}: not UTF-8 from byte {at} on"
                raise CompactWireError(message) from error
            except ValueError as error:
                raise CompactWireError(f"{one_line(str(path))}: {error}") from error


def _read_csv(
    file: TextIO, data: BinaryIO, path: Path, reading: Reading
) -> Iterator[tuple[str | None, str | None, float]]:
    start, whole = file.tell(), max(1, path.stat().st_size)
    delimiter = delimiter_of(file.read(START), csv_kind(path))
    file.seek(start)
    records = read_records(file, delimiter, reading.max_row)
    _, header = next(records, (0, []))
    if reading.column is not None and header:
        _check_column(reading.column, header, f"{one_line(str(path))}: ")
    for _, cells in records:
        text, error = None, None
        if len(cells) != len(header):
            error = _WRONG_CELLS
        elif reading.column is None:
            text = compact(dict(zip(header, cells, strict=True)))
        else:
            text = cells[header.index(reading.column)]
        yield text, error, data.tell() / whole


def _lines(path: Path, limit: int) -> Iterator[tuple[bytes | None, int]]:
    """Lines without their end, None for one that is too long; and how many bytes each had."""
    check_is_file(path)
    with path.open("rb") as file:
        _skip_mark(file, path)
        while line := file.readline(limit + 1):
            length = len(line)
            if length <= limit or line.endswith(b"\n"):
                yield line.rstrip(b"\r\n"), length
                continue
            while rest := file.readline(1 << 20):
                length += len(rest)
                if rest.endswith(b"\n"):
                    break
            yield None, length


def _skip_mark(file: BinaryIO, path: Path) -> None:
    mark = file.read(4)
    if mark.startswith(_WIDE_MARKS):
        raise CompactWireError(
            f"{one_line(str(path))}: the text is UTF-16 or UTF-32; convert it to UTF-8"
        )
    file.seek(3 if mark.startswith(b"\xef\xbb\xbf") else 0)


def _of_parquet(path: Path, reading: Reading) -> Iterator[tuple[Rows, float]]:
    parquet = need("pyarrow.parquet", "pyarrow")
    column, done, place = reading.column, 0, f"{one_line(str(path))}: "
    with naming_parquet(path), contextlib.ExitStack() as stack:
        source = stack.enter_context(open_parquet(path))
        open_file = partial(parquet.ParquetFile, source, pre_buffer=False)
        file = stack.enter_context(open_file())
        whole = max(1, file.metadata.num_rows)
        if column is not None:
            _check_column(column, file.schema_arrow.names, place)
        columns = None if column is None else [column]
        batches = file.iter_batches(reading.rows, columns=columns)
        if has_int96(file.schema):
            other = stack.enter_context(open_file(**MICROSECONDS))
            others = other.iter_batches(reading.rows, columns=columns)
            both = zip(batches, others, strict=True)
            batches = (with_exact_times(*pair, place) for pair in both)
        for batch in batches:
            done += batch.num_rows
            for rows in _of_arrow(to_arrow(batch), None, reading):
                yield rows, done / whole
