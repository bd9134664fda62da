"""Functions of columns; import `compactwire.arrow` instead."""

from collections.abc import Iterable, Sequence
from typing import Literal, NoReturn, Protocol, TypeAlias, final

from . import Dictionary
from .cad import _Loss, _Target

__all__ = [
    "Column",
    "cad_from_binary",
    "cad_from_compact",
    "cad_to_binary",
    "cad_to_compact",
    "count_tokens",
    "decode",
    "detect",
    "encode",
    "gcf_from_json",
    "gcf_loads",
    "gcf_to_json",
    "inspect",
]

_Errors: TypeAlias = Literal["raise", "null", "report"]

class _Schema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

class _Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class _Array(Protocol):
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...

_Column: TypeAlias = _Stream | _Array

@final
class Column:
    """A column in Arrow memory: what the functions of this module return.

    Any library that speaks Arrow takes it, as often as wanted: `pyarrow.chunked_array(column)`,
    `polars.Series(column)`, `pandas.Series.from_arrow(column)`. To look at rows, make such an
    array of it. It cannot be pickled.

    Source: the Arrow PyCapsule interface.
    """

    @property
    def type(self) -> str:
        """The type as a format string of Arrow: "u" for texts, "+s" for structs."""
    @property
    def num_chunks(self) -> int:
        """The number of chunks."""
    @property
    def nbytes(self) -> int:
        """The memory of all buffers, in bytes."""
    @property
    def null_count(self) -> int:
        """The number of null rows."""
    @property
    def failed(self) -> int:
        """The number of rows that failed and became null under `errors="null"`."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> NoReturn: ...

def encode(
    column: _Column,
    /,
    *,
    format: Literal[
        "auto", "smallest", "verbose", "dsl", "binary", "base85", "zlib", "zstd", "dictionary"
    ] = "auto",
    protocol: Literal[2, 4] = 4,
    msgpack_version: Literal[1, 2, 3, "map"] | None = None,
    dictionary: Dictionary | None = None,
    output: Literal["text", "bytes"] = "text",
    max_expansion: int = 268_435_456,
    errors: _Errors = "raise",
    threads: int | None = None,
) -> Column:
    """Encode each row of a column as a message.

    Parameters
    ----------
    column : Arrow column
        An object with `__arrow_c_stream__` or `__arrow_c_array__`. Rows are texts, of any Arrow
        type of texts or UTF-8 bytes, or structs (a table) with the fields of `Response`:
        "result" and any of "model", "status", "tokens", "model_name", "returncode",
        "reasoning_effort", "ultrathink". A null field other than "result" is its default.
    format, protocol, msgpack_version, dictionary
        As in `compactwire.encode`.
    output : {"text", "bytes"}
        Whether messages are those of `encode`, or of `encode_bytes`, which are a fifth smaller.
    max_expansion : int
        How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
        have: rows can share a text.
    errors : {"raise", "null", "report"}
        "raise" raises the exception of the first row that fails, as `compactwire.encode` would,
        with the attribute `row`. "null" makes such rows null; the attribute `failed` of the
        result counts them. "report" returns structs of "value", "error" (the class of the
        exception) and "message"; both are null for other rows.
    threads : int, optional
        The maximum number of threads, at most 16. By default the environment variable
        `COMPACTWIRE_THREADS`, then `OMP_NUM_THREADS`, then the number of processors.

    Returns
    -------
    Column
        The messages, utf8 or binary. A null row stays null. Each chunk of the argument becomes
        one chunk.

    Raises
    ------
    EncodeError
        A row cannot be encoded; `field` names the field, `row` is its index from 0.
    OutputTooLarge
        The rows exceed `max_expansion`, whatever `errors` is.
    TypeError
        The column has another type, or a struct has another field.
    CompactWireError
        The producer of the column failed, or its buffers are invalid.

    Source: Compact Protocol v2 sections 1 to 6, v4 sections 1 to 4.
    """

def decode(
    column: _Column,
    /,
    *,
    fields: Sequence[str] = ("result", "model", "status", "tokens"),
    max_size: int = 67_108_864,
    max_expansion: int = 268435456,
    dictionary: Dictionary | None = None,
    dictionaries: Iterable[Dictionary] = (),
    fallback: bool = False,
    errors: _Errors = "raise",
    threads: int | None = None,
) -> Column:
    """Decode each row of a column of messages.

    Parameters
    ----------
    column : Arrow column
        Messages, as text or as bytes.
    fields : sequence of str
        The columns of the result, of "result", "model", "status", "tokens", "model_name",
        "returncode", "reasoning_effort", "ultrathink", "format", "version".
    max_size, dictionary, dictionaries, fallback
        As in `compactwire.decode`; `max_size` applies to each row.
    max_expansion : int
        How many bytes more than 64 times the messages, and 1 KiB for each, the texts of all rows
        may have together.
    errors, threads
        As in `encode`; "report" adds the columns "error" and "message" to the result.

    Returns
    -------
    Column
        Structs of `fields`: texts, int64 for "tokens" and "returncode", bool for "ultrathink".
        `encode` accepts it, unless it has "format" or "version".

    Raises
    ------
    DecodeError
        As `compactwire.decode`, with the attribute `row`.
    OutputTooLarge
        A row is larger than `max_size`, or all rows exceed `max_expansion`; the latter ends the
        call whatever `errors` is.
    OptionError
        An unknown field, a field that occurs twice, or none.

    Source: Compact Protocol v2 sections 1 to 5, v4 sections 1, 4 and 8.
    """

def detect(column: _Column, /, *, errors: _Errors = "raise", threads: int | None = None) -> Column:
    """Detect the format of each row of a column of messages, without decoding it.

    Parameters
    ----------
    column : Arrow column
        Messages, as text or as bytes.
    errors, threads
        As in `encode`.

    Returns
    -------
    Column
        The names of the formats, as the values of `Format`.

    Raises
    ------
    EmptyResponse, InvalidPrefix, InvalidFormat
        As `compactwire.detect`, with the attribute `row`.

    Source: Compact Protocol v2 "Format Detection", v4 section 1.
    """

def inspect(
    column: _Column,
    /,
    *,
    max_size: int = 67_108_864,
    dictionary: Dictionary | None = None,
    dictionaries: Iterable[Dictionary] = (),
    errors: _Errors = "raise",
    threads: int | None = None,
) -> Column:
    """Decode each row of a column of messages and return the size of its layers.

    Parameters
    ----------
    column : Arrow column
        Messages, as text or as bytes.
    max_size, dictionary, dictionaries
        As in `compactwire.decode`.
    errors, threads
        As in `encode`; "report" adds the columns "error" and "message" to the result.

    Returns
    -------
    Column
        Structs of "format", "version", "compression", "dictionary_id" and, in bytes,
        "wire_bytes", "binary_bytes" (compressed), "msgpack_bytes", "result_bytes",
        "verbose_bytes" (as compact JSON); null where a message has no such layer.

    Raises
    ------
    DecodeError
        As `compactwire.inspect`, with the attribute `row`.

    Source: the layers are those of Compact Protocol v2 sections 1 to 5 and v4 section 4.
    """

def count_tokens(
    column: _Column, /, *, errors: _Errors = "raise", threads: int | None = None
) -> Column:
    """Estimate the tokens of each row of a column of texts, as `compactwire.estimate_tokens` does.

    Parameters
    ----------
    column : Arrow column
        Texts.
    errors, threads
        As in `encode`.

    Returns
    -------
    Column
        The estimates, int64.

    Raises
    ------
    GcfError
        A row of bytes is not UTF-8.

    Source: ours; for the count of a model's tokenizer, apply the tokenizer to each row.
    """

def gcf_from_json(
    column: _Column,
    /,
    *,
    flatten: bool = True,
    constant_columns: bool = False,
    group_values: bool = False,
    list_columns: bool = False,
    matrices: bool = False,
    max_depth: int = 128,
    max_expansion: int = 268_435_456,
    errors: _Errors = "raise",
    threads: int | None = None,
) -> Column:
    """Encode each row of a column of JSON texts as a GCF text of its own.

    Parameters
    ----------
    column : Arrow column
        JSON texts.
    flatten, constant_columns, group_values, list_columns, matrices, max_depth
        As in `compactwire.gcf.from_json`.
    max_expansion : int
        How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
        have: rows can share a text.
    errors, threads
        As in `encode`.

    Returns
    -------
    Column
        The GCF texts.

    Raises
    ------
    GcfError
        As `compactwire.gcf.from_json`, with the attribute `row`.
    OutputTooLarge
        The rows exceed `max_expansion`, whatever `errors` is.

    Source: GCF 3.6 sections 2 to 7.
    """

def gcf_to_json(
    column: _Column,
    /,
    *,
    ensure_ascii: bool = False,
    extensions: bool = False,
    max_depth: int = 128,
    max_expansion: int = 268_435_456,
    errors: _Errors = "raise",
    threads: int | None = None,
) -> Column:
    """Decode each row of a column of GCF texts to JSON.

    Parameters
    ----------
    column : Arrow column
        GCF texts.
    ensure_ascii, extensions, max_depth
        As in `compactwire.gcf.to_json`.
    max_expansion : int
        As in `compactwire.gcf.to_json`, for each row. All rows together may become as many bytes
        more than 64 times the texts and 1 KiB for each.
    errors, threads
        As in `encode`.

    Returns
    -------
    Column
        The JSON texts, compact.

    Raises
    ------
    GcfError
        As `compactwire.gcf.to_json`, with the attribute `row`.
    OutputTooLarge
        All rows together exceed `max_expansion`, whatever `errors` is.

    Source: GCF 3.6 sections 2 to 7.
    """

def gcf_loads(
    text: str | bytes | bytearray | memoryview,
    /,
    *,
    schema: _Schema | None = None,
    extensions: bool = False,
    max_depth: int = 128,
    max_expansion: int = 268_435_456,
) -> Column:
    """Decode a GCF text to a column: a table to structs.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        A text whose value is an array, or an object whose only member is an array.
    schema : object with `__arrow_c_schema__`, optional
        The type and metadata, such as a schema of pyarrow for a table. Integers may stand for
        floats, texts for dates, times, timestamps, decimals and UUIDs, nulls for values of any
        type but a union. By default bool, int64, float64 (for integers and floats), utf8, struct,
        list or null, as the values need it.
    extensions, max_depth, max_expansion
        As in `compactwire.gcf.loads`.

    Returns
    -------
    Column
        One chunk. A field that a row does not have is null. `gcf_loads(gcf.dumps(table),
        schema=table.schema)` gives a column that is equal to `table`; keys of maps may be in
        another order.

    Raises
    ------
    GcfError
        As `compactwire.gcf.loads`.
    UnsupportedValue
        A value does not fit its column, or a number is not exactly a value of its type; `path`
        is its path, such as ``$[3].price``, or that of its column, such as ``$[*].price``.

    Source: GCF 3.6 sections 2 to 7.
    """

def cad_from_compact(
    column: _Column,
    /,
    *,
    dialect: Literal["auto", "0.1", "0.2"] = "auto",
    max_expansion: int = 268_435_456,
    errors: _Errors = "raise",
    threads: int | None = None,
) -> Column:
    """Decode each row of a column of compact CAD texts to a document as JSON text.

    Parameters
    ----------
    column : Arrow column
        Compact CAD texts.
    dialect : {"auto", "0.1", "0.2"}
        As in `compactwire.cad.from_compact`.
    max_expansion : int
        How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
        have: rows can share a text.
    errors, threads
        As in `encode`.

    Returns
    -------
    Column
        The documents as JSON texts, in canonical form.

    Raises
    ------
    CompactParseError
        As `compactwire.cad.from_compact`, with the attribute `row`.
    OutputTooLarge
        The rows exceed `max_expansion`, whatever `errors` is.

    Source: CAD IR "Format Specification".
    """

def cad_to_compact(
    column: _Column,
    /,
    *,
    dialect: Literal["0.1", "0.2"] | None = None,
    target: _Target | None = None,
    names: bool = True,
    lossy: bool | Sequence[_Loss] = False,
    unknown: Literal["error", "keep"] = "error",
    max_expansion: int = 268_435_456,
    errors: _Errors = "raise",
    threads: int | None = None,
) -> Column:
    """Encode each row of a column of CAD documents as compact text.

    Parameters
    ----------
    column : Arrow column
        Documents as JSON texts.
    dialect, target, names, lossy, unknown
        As in `compactwire.cad.to_compact`.
    max_expansion : int
        How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
        have: rows can share a text.
    errors, threads
        As in `encode`.

    Returns
    -------
    Column
        The compact texts.

    Raises
    ------
    DocumentError
        As `compactwire.cad.to_compact`, with the attribute `row`.
    OutputTooLarge
        The rows exceed `max_expansion`, whatever `errors` is.

    Source: CAD IR "Rust Implementation".
    """

def cad_from_binary(
    column: _Column,
    /,
    *,
    max_expansion: int = 268435456,
    errors: _Errors = "raise",
    threads: int | None = None,
) -> Column:
    """Decode each row of a column of CAD documents in the binary form to JSON text.

    Parameters
    ----------
    column : Arrow column
        Documents in the binary form, as bytes.
    max_expansion : int
        As in `compactwire.cad.from_binary`, for each row. All rows together may become as many
        bytes more than 64 times the documents and 1 KiB for each.
    errors, threads
        As in `encode`.

    Returns
    -------
    Column
        The documents as JSON texts, in canonical form.

    Raises
    ------
    BinaryError
        As `compactwire.cad.from_binary`, with the attribute `row`.
    OutputTooLarge
        All rows together exceed `max_expansion`, whatever `errors` is.

    Source: CAD IR "Future Enhancements".
    """

def cad_to_binary(
    column: _Column,
    /,
    *,
    max_expansion: int = 268_435_456,
    errors: _Errors = "raise",
    threads: int | None = None,
) -> Column:
    """Encode each row of a column of CAD documents in the binary form.

    Parameters
    ----------
    column : Arrow column
        Documents as JSON texts.
    max_expansion : int
        How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
        have: rows can share a text.
    errors, threads
        As in `encode`.

    Returns
    -------
    Column
        The documents in the binary form, as bytes.

    Raises
    ------
    DocumentError
        As `compactwire.cad.to_binary`, with the attribute `row`.
    OutputTooLarge
        The rows exceed `max_expansion`, whatever `errors` is.

    Source: CAD IR "Future Enhancements".
    """
