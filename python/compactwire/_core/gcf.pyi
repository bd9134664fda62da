"""GCF; import `compactwire.gcf` instead."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, Literal, Protocol, TypeAlias, final, type_check_only

from . import _Record

__all__ = [
    "KeyedDelta",
    "KeyedProducer",
    "KeyedSet",
    "KeyedSnapshots",
    "StreamEncoder",
    "dump",
    "dumps",
    "dumps_bytes",
    "dumps_grouped",
    "from_json",
    "iter_rows",
    "load",
    "loads",
    "read_keyed",
    "read_keyed_delta",
    "receive_keyed",
    "to_json",
]

_Scalar: TypeAlias = str | int | float | bool | None

@type_check_only
class _SupportsRead(Protocol):
    def read(self) -> str | bytes: ...

@type_check_only
class _SupportsReadSize(Protocol):
    def read(self, size: int, /) -> str | bytes: ...

@type_check_only
class _SupportsWrite(Protocol):
    def write(self, data: Any, /) -> object: ...

def dumps(
    obj: object,
    /,
    *,
    default: Callable[[Any], object] | None = None,
    types: Literal["json", "common"] = "json",
    flatten: bool = True,
    constant_columns: bool = False,
    group_values: bool = False,
    list_columns: bool = False,
    matrices: bool = False,
    max_depth: int = 128,
) -> str:
    """Encode a value as GCF text.

    Parameters
    ----------
    obj : dict, list, tuple, str, int, float, bool or None
        The value, as for `json.dumps`; keys are str.
    default : callable, optional
        Called with each object of another class; returns an object to write in its place, or raises
        `TypeError`, as in `json.dumps`.
    types : {"json", "common"}
        Which objects the value may contain: "json" only those listed for `obj`; "common" also
        dates, UUIDs, enums, dataclasses, numpy values and others, as `compactwire.shrink` writes
        them.
    flatten : bool
        Whether nested objects with the same keys in every row of a table are written as columns
        `"a>b"`.
    constant_columns : bool
        Whether a column with the same value in all rows is written in the header. `loads` reads
        this, but other readers of GCF 3.6 may not.
    group_values : bool
        Whether the rows of the root are written in groups with the same value of one column. This
        is done only if all values are scalars, the rows keep their order, and the text becomes
        shorter. A text with groups also has constant columns, as with `constant_columns`; other
        readers of GCF 3.6 may not read it.
    list_columns : bool
        Whether a column of lists of scalars is written as cells, `a,b`, and not below the rows.
        This is an extension: only readers with `extensions=True` read it.
    matrices : bool
        Whether an array of two or more arrays of scalars of the same length is written as rows.
        This is an extension, too.
    max_depth : int
        The maximum nesting of containers, at most 256.

    Returns
    -------
    str
        The canonical text, which is the same for the same value. `loads` returns the value with its
        order of keys, except that 1.0 becomes 1, and that the keys of rows follow the columns of
        their table.

    Raises
    ------
    UnsupportedValue
        The value cannot be written; `path` is its path, such as `$.orders[3].total`. `not_finite`,
        `out_of_range` for an int that exceeds 64 bits, `invalid_surrogate`, `unsupported_type`,
        `duplicate_key` for keys with the same text, `limit_exceeded` for a value that is nested too
        deeply or contains itself.
    RuntimeError
        `default` has changed the value: an object that it has converted is not there any more.

    Source: GCF 3.6 sections 2 to 7.
    """

def dumps_bytes(
    obj: object,
    /,
    *,
    default: Callable[[Any], object] | None = None,
    types: Literal["json", "common"] = "json",
    flatten: bool = True,
    constant_columns: bool = False,
    group_values: bool = False,
    list_columns: bool = False,
    matrices: bool = False,
    max_depth: int = 128,
) -> bytes:
    """Encode a value as GCF text, in UTF-8.

    The `bytes` object is created without a `str`, which takes less time and half the memory.

    Parameters
    ----------
    obj, default, types, flatten, constant_columns, group_values, list_columns, matrices,
    max_depth
        As in `dumps`.

    Returns
    -------
    bytes
        The text that `dumps` returns.

    Raises
    ------
    UnsupportedValue
        As `dumps`.

    Examples
    --------
    >>> from compactwire import gcf
    >>> gcf.dumps_bytes({"id": 1}).splitlines()
    [b'GCF profile=generic', b'id=1']

    Source: GCF 3.6 sections 2 to 7.
    """

def dumps_grouped(
    rows: object,
    key: str,
    group: str,
    *,
    reorder: bool = False,
    default: Callable[[Any], object] | None = None,
    types: Literal["json", "common"] = "json",
) -> str:
    """Encode rows as GCF text, in groups with the same value of one column.

    The text is byte for byte that of `encode_generic_grouped` of the package gcf-python 2.8.
    `loads` reads it, but other readers of GCF 3.6 may not. It can be longer than the text of
    `dumps`, which with `group_values=True` groups only where that makes the text shorter.

    Parameters
    ----------
    rows : list of dict
        At least one row; all values are scalars.
    key : str
        The name of the field that identifies a row: every row has it, never None, and no two rows
        have the same.
    group : str
        The name of the field whose values are written once per group; every row has it.
    reorder : bool
        Whether the rows may be reordered, so that those of a group follow each other. `loads` then
        returns the rows in the new order.
    default, types
        As in `dumps`.

    Returns
    -------
    str
        The text.

    Raises
    ------
    GcfError
        As `dumps`; `invalid_grouping` if the rows cannot be grouped so that `loads` returns them,
        or have few fields in common; `path` names row and field.

    Examples
    --------
    >>> from compactwire import gcf
    >>> rows = [{"id": 1, "state": "open"}, {"id": 2, "state": "open"}, {"id": 3, "state": "done"}]
    >>> print(gcf.dumps_grouped(rows, "id", "state"), end="")
    GCF profile=generic
    ## [3]{@id,state} group=state
    state=open [2]
    1
    2
    state=done [1]
    3

    Source: the published writers gcf-python 2.8 and gcf 3.1; not in GCF 3.6.
    """

def loads(
    text: str | bytes | bytearray | memoryview,
    /,
    *,
    extensions: bool = False,
    max_depth: int = 128,
    max_expansion: int = 268435456,
) -> Any:
    """Decode GCF text.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        A text of the generic profile; bytes are UTF-8.
    extensions : bool
        Whether the forms that only this package writes are read: list columns and
        matrices. Without it they raise `unsupported_extension`, because other readers
        of GCF do not accept them.
    max_depth : int
        The maximum nesting of containers, at most 256.
    max_expansion : int
        The maximum size in bytes of content that is in the value but not in the text. For every
        row of a table, a column with a constant in the header counts 16 bytes and the length of its
        text, a column name its length, and a dict that is made of columns `"a>b"` 144 bytes and the
        length of its name. An allowance of 16 bytes for each byte of the text is not counted.

    Returns
    -------
    dict, list, str, int, float, bool or None
        The value.

    Raises
    ------
    GcfError
        The text is invalid; `code`, `line` and `column` say why and where. `limit_exceeded` for a
        text beyond `max_depth` or `max_expansion`.

    Source: GCF 3.6 sections 2 to 8 and 16.
    """

def dump(
    obj: object,
    file: str | PathLike[str] | _SupportsWrite,
    /,
    *,
    default: Callable[[Any], object] | None = None,
    types: Literal["json", "common"] = "json",
    flatten: bool = True,
    constant_columns: bool = False,
    group_values: bool = False,
    list_columns: bool = False,
    matrices: bool = False,
    max_depth: int = 128,
) -> None:
    """Encode a value as GCF text and write it to a file.

    Parameters
    ----------
    obj : dict, list, tuple, str, int, float, bool or None
        The value.
    file : path-like, or a file open for writing
        A file at a path is written as UTF-8; an existing one is replaced once the new one is
        complete. The `write` method of a binary file gets bytes, that of any other object a str.
    default, types, flatten, constant_columns, group_values, list_columns, matrices,
    max_depth
        As in `dumps`.

    Raises
    ------
    UnsupportedValue
        As `dumps`; nothing is written.
    OSError
        The file cannot be written.

    Source: GCF 3.6 sections 2 to 7.
    """

def load(
    file: str | PathLike[str] | _SupportsRead,
    /,
    *,
    extensions: bool = False,
    max_depth: int = 128,
    max_expansion: int = 268435456,
) -> Any:
    """Read a file and decode it as GCF text.

    Parameters
    ----------
    file : path-like, or a file open for reading
        A path, or an object whose `read()` returns str or bytes.
    extensions, max_depth, max_expansion
        As in `loads`.

    Returns
    -------
    dict, list, str, int, float, bool or None
        The value.

    Raises
    ------
    GcfError
        As `loads`.
    OSError
        The file cannot be read.
    ValueError
        The argument is not a path, but GCF text: use `loads`.

    Source: GCF 3.6 sections 2 to 8 and 16.
    """

def iter_rows(
    source: str | PathLike[str] | _SupportsReadSize,
    /,
    *path: str,
    extensions: bool = False,
    max_depth: int = 128,
    max_row_size: int = 67_108_864,
    max_expansion: int = 268435456,
) -> Iterator[Any]:
    """Iterate over the rows of one container of a GCF text, without holding the text in memory.

    The iterator returns each row as soon as the next line shows that it is complete, and reads the
    rest of the text after the last row. An error anywhere is raised after the rows before it and
    ends the iterator. For a list of dicts, only the current row is kept in memory; for a dict of
    dicts also its keys. A list of scalars counts as one row.

    Parameters
    ----------
    source : path-like, or a file open for reading
        A path, whose file is closed after the last row or with the iterator, or an object whose
        `read(size)` returns at most `size` characters or bytes; for buffered binary files,
        `read1(size)` is called instead.
    path : str
        The keys that lead from the root, through dicts, to the list or dict; without keys, the
        root. If a path leads through a dict of dicts that is written as a table, one whole row of
        that table is held in memory.
    extensions : bool
        As in `loads`.
    max_depth : int
        As in `loads`.
    max_row_size : int
        The maximum size in bytes of a row with all its nested content, and of any other line.
    max_expansion : int
        The maximum size in bytes of content that is in one row but not in its text, counted as in
        `loads`, but without an allowance for the text. Constants are shared by all rows.

    Returns
    -------
    iterator
        An iterator over the elements of a list, or over the items of a dict as tuples of key and
        value.

    Raises
    ------
    GcfError
        Raised by the iterator: as `loads`; `missing_section` if the path does not lead to a list or
        dict; `limit_exceeded` for a row that is too large. An iterator that has raised an error
        raises it again.
    OSError
        The file cannot be read.
    ValueError
        The argument is not a path, but GCF text: use `io.StringIO`.

    Source: GCF 3.6 sections 2 to 8 and 16.
    """

def from_json(
    text: str | bytes | bytearray | memoryview,
    /,
    *,
    flatten: bool = True,
    constant_columns: bool = False,
    group_values: bool = False,
    list_columns: bool = False,
    matrices: bool = False,
    max_depth: int = 128,
) -> str:
    """Convert JSON text to GCF text, without creating Python objects.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        JSON as in RFC 8259; integers stay exact, members keep their order.
    flatten, constant_columns, group_values, list_columns, matrices,
    max_depth
        As in `dumps`.

    Returns
    -------
    str
        The text that `dumps` returns for the value.

    Raises
    ------
    GcfError
        With `line` and `column` for invalid JSON (`invalid_json`, `duplicate_key`,
        `invalid_surrogate`), with `path` for an integer that exceeds 64 bits (`out_of_range`).

    Source: GCF 3.6 sections 2 to 7.
    """

def to_json(
    text: str | bytes | bytearray | memoryview,
    /,
    *,
    ensure_ascii: bool = False,
    extensions: bool = False,
    max_depth: int = 128,
    max_expansion: int = 268435456,
) -> str:
    """Convert GCF text to JSON text, without creating Python objects.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        A text of the generic profile.
    ensure_ascii : bool
        Whether non-ASCII characters are escaped.
    extensions, max_depth, max_expansion
        As in `loads`.

    Returns
    -------
    str
        JSON without white space; integers stay exact, members keep their order.

    Raises
    ------
    GcfError
        As `loads`.

    Source: GCF 3.6 sections 2 to 8 and 16.
    """

@final
class KeyedSet(_Record):
    """An immutable set of rows of scalars, identified by a key field.

    Two sets are equal if name, key, fields and rows are equal; the order of rows does not matter.

    Parameters
    ----------
    rows : iterable of dict
        Rows with a value for every field: str, int, float, bool or None. 1.0 is stored as 1.
    key : str
        The key field, whose values are the identities of the rows: unique and not None. Its name is
        printable ASCII without spaces.
    fields : sequence of str, optional
        The fields in order; by default those of the first row. A field must not contain `>`.
    name : str
        The name of the set.

    Raises
    ------
    GcfError
        `invalid_keyed_set` with row and field; `not_finite`, `out_of_range` for an int that exceeds
        64 bits, `invalid_surrogate`, `unsupported_type`.

    Source: GCF 3.6 section 10a.
    """

    def __new__(
        cls,
        rows: Iterable[Mapping[str, _Scalar]],
        *,
        key: str,
        fields: Sequence[str] | None = None,
        name: str = "rows",
    ) -> KeyedSet: ...
    @property
    def name(self) -> str:
        """The name of the set."""

    @property
    def key(self) -> str:
        """The key field."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields, in order."""

    @property
    def rows(self) -> list[dict[str, _Scalar]]:
        """The rows, as new dicts."""

    @property
    def root(self) -> str:
        """The pack root, `sha256:` and 64 hexadecimal digits, independent of the order of rows."""

    def encode(self, *, tool: str = "") -> str:
        """Encode the full set.

        Parameters
        ----------
        tool : str
            The tool for the header, printable ASCII without spaces; empty for none.

        Returns
        -------
        str
            Text for `read_keyed` and `receive_keyed`; `loads` decodes it as an object with one
            list.

        Raises
        ------
        GcfError
            `invalid_header_value` for an invalid tool.

        Source: GCF 3.6 section 10a.1.
        """

    def delta(self, new: KeyedSet, /) -> KeyedDelta | None:
        """Compute the delta from this set to another one.

        Parameters
        ----------
        new : KeyedSet
            The other set.

        Returns
        -------
        KeyedDelta or None
            The delta, or None if name, key or fields differ.

        Source: GCF 3.6 section 10a.2.
        """

    def apply(self, delta: KeyedDelta, /) -> KeyedSet:
        """Apply all changes of a delta and return the new set.

        Parameters
        ----------
        delta : KeyedDelta
            A delta with this set as its base.

        Returns
        -------
        KeyedSet
            The new set; this set does not change.

        Raises
        ------
        GcfError
            `base_mismatch` if the delta is for another set, `delta_invalid` if it contradicts this
            set, `root_mismatch` if the result does not have the root in the delta.

        Source: GCF 3.6 section 10a.5.
        """

    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class KeyedDelta(_Record):
    """The changes from one keyed set to another: rows added, replaced and removed.

    Immutable. `KeyedSet.delta` and `read_keyed_delta` return deltas; the constructor creates one
    from its parts.

    Parameters
    ----------
    key : str
        The key field.
    base_root, new_root : str
        The pack roots of the two sets.
    fields : sequence of str
        The fields in order; may be empty if no row is added or changed.
    added, changed : iterable of dict
        Whole rows.
    removed : iterable of str, int, float or bool
        Identities.

    Raises
    ------
    GcfError
        As for the rows of `KeyedSet`.

    Source: GCF 3.6 section 10a.2.
    """

    def __new__(
        cls,
        *,
        key: str,
        base_root: str,
        new_root: str,
        fields: Sequence[str] = (),
        added: Iterable[Mapping[str, _Scalar]] = (),
        changed: Iterable[Mapping[str, _Scalar]] = (),
        removed: Iterable[_Scalar] = (),
    ) -> KeyedDelta: ...
    @property
    def key(self) -> str:
        """The key field."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields; empty if no row is added or changed."""

    @property
    def base_root(self) -> str:
        """The root of the base set."""

    @property
    def new_root(self) -> str:
        """The root of the resulting set."""

    @property
    def added(self) -> list[dict[str, _Scalar]]:
        """The added rows, as new dicts."""

    @property
    def changed(self) -> list[dict[str, _Scalar]]:
        """The rows that replace rows of the base, as new dicts."""

    @property
    def removed(self) -> list[_Scalar]:
        """The identities of the removed rows, as a new list."""

    def encode(self, *, tool: str = "", sizes: tuple[int, int] | None = None) -> str:
        """Encode the delta.

        Parameters
        ----------
        tool : str
            The tool for the header; empty for none.
        sizes : tuple of int, optional
            The sizes of the delta and of the full set, in any unit. If passed, the header contains
            the saved part in whole per cent.

        Returns
        -------
        str
            Text for `receive_keyed` and `read_keyed_delta`.

        Raises
        ------
        GcfError
            `invalid_header_value` for an invalid tool or root.

        Source: GCF 3.6 section 10a.2.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class KeyedSnapshots:
    """Keeps the keyed sets sent last, to send each peer the shortest text that updates it.

    Thread-safe.

    Parameters
    ----------
    limit : int
        The number of sets to keep; the oldest is evicted first.

    Source: GCF 3.6 section 10a.4.
    """

    def __new__(cls, *, limit: int = 16) -> KeyedSnapshots: ...
    def respond(
        self,
        new: KeyedSet,
        /,
        peer_root: str | None,
        *,
        tool: str = "",
        count_tokens: Callable[[str], int] | None = None,
    ) -> str:
        """Encode a set for a peer, and keep the set.

        Parameters
        ----------
        new : KeyedSet
            The current set.
        peer_root : str, optional
            The root of the set that the peer has. If it is None or unknown, the full set is
            encoded.
        tool : str
            The tool for the header; empty for none.
        count_tokens : callable, optional
            Returns the number of tokens of a str as an int. By default, runs of letters and digits
            and other single characters are counted.

        Returns
        -------
        str
            Text for `receive_keyed`: "unchanged" if the peer has this set; a delta if it is smaller
            than 60 % of the full set; otherwise the full set. Sets of equal rows have one root: if
            one of those that are kept has another name, key or fields, the full set. A set that is
            no longer kept is taken for `new`, or for the kept set, that has the same root.

        Raises
        ------
        GcfError
            `invalid_header_value` for an invalid tool.

        Source: GCF 3.6 section 10a.4.
        """

@final
class KeyedProducer:
    """Encodes each new set as a delta to the last one, and from time to time in full.

    For one peer that receives every text in order. A set with another name, key or fields is
    encoded in full. Thread-safe.

    Parameters
    ----------
    base : KeyedSet
        The first set; `full()` returns its text.
    tool : str
        The tool for the header of full sets; empty for none.
    fixed_n : int, optional
        The interval of full sets: one in `fixed_n` texts is a full set. 15 by default, and if the
        number is not positive.
    size_guard : bool
        Whether to send a full set as soon as the deltas since the last one, with the new delta,
        have as many bytes as the full set, instead of at a fixed interval.

    Raises
    ------
    GcfError
        `invalid_header_value` for an invalid tool.
    ValueError
        Both `fixed_n` and `size_guard` are passed.

    Source: GCF 3.6 section 10a.6.
    """

    def __new__(
        cls,
        base: KeyedSet,
        /,
        *,
        tool: str = "",
        fixed_n: int | None = None,
        size_guard: bool = False,
    ) -> KeyedProducer: ...
    @property
    def last(self) -> KeyedSet:
        """The last set, which the peer now has."""

    def full(self) -> str:
        """Encode the last set in full: at the beginning, or if the peer asks for it.

        Returns
        -------
        str
            Text for `receive_keyed`.

        Source: GCF 3.6 section 10a.1.
        """

    def push(self, new: KeyedSet, /) -> tuple[str, bool]:
        """Encode a new set for the peer.

        Parameters
        ----------
        new : KeyedSet
            The current set.

        Returns
        -------
        tuple of str and bool
            The text, and whether it is the full set.

        Source: GCF 3.6 section 10a.6.
        """

@final
class StreamEncoder:
    """Writes an object of scalars, lists and tables, row by row.

    Only counts and names, and the member keys of an open keyed map, are kept in memory. The headers
    of tables contain no counts; `close()` writes all counts at the end, and so does leaving a
    `with` block without an exception. Thread-safe.

    Parameters
    ----------
    target : file or callable
        A file open for writing (a binary file gets bytes), or a function that accepts a str.

    Raises
    ------
    GcfError
        Raised by every method, without writing anything: for a value that is not a scalar, a row of
        the wrong width, a duplicate name, field or member key, a field with `>`, a scalar or list
        after a table, a call by the target itself, and any call after `close()`. After an
        exception of the target, or a `MemoryError` while a part is made, every call raises,
        `close()` too: the text is incomplete.

    Source: GCF 3.6 section 8.3.
    """

    def __new__(cls, target: _SupportsWrite | Callable[[str], object], /) -> StreamEncoder: ...
    def kv(self, key: str, value: _Scalar, /) -> None:
        """Write a member that is a scalar; only before the first table.

        Parameters
        ----------
        key : str
            The key of the member.
        value : str, int, float, bool or None
            The value.

        Source: GCF 3.6 section 8.3.
        """

    def list(self, name: str, values: Iterable[_Scalar], /) -> None:
        """Write a member that is a list of scalars; only before the first table.

        Parameters
        ----------
        name : str
            The key of the member.
        values : iterable of str, int, float, bool or None
            The elements.

        Source: GCF 3.6 section 8.3.
        """

    def begin_array(self, name: str, fields: Sequence[str], /) -> None:
        """Begin a member that is a list of dicts.

        Parameters
        ----------
        name : str
            The key of the member.
        fields : sequence of str
            The keys of the dicts, in the order of the values of `row`.

        Source: GCF 3.6 section 8.3.
        """

    def begin_keyed_map(self, name: str, fields: Sequence[str], /, *, label: str = "key") -> None:
        """Begin a member that is a dict of dicts.

        Parameters
        ----------
        name : str
            The key of the member.
        fields : sequence of str
            The keys of the inner dicts. A row starts with the outer key.
        label : str
            The name of the outer key in the header; it is not data.

        Source: GCF 3.6 section 8.3.
        """

    def row(self, values: Iterable[_Scalar | EllipsisType], /) -> None:
        """Write a row of the open table.

        Parameters
        ----------
        values : iterable of str, int, float, bool, None or ...
            One value for each field, in order; `...` if the row does not have the key.

        Source: GCF 3.6 section 8.3.
        """

    def end(self) -> None:
        """End the open table.

        Source: GCF 3.6 section 8.3.
        """

    def close(self) -> None:
        """End the text with the counts of its tables. A second call does nothing.

        Source: GCF 3.6 section 8.3.
        """

    def __enter__(self) -> StreamEncoder: ...
    def __exit__(self, kind: object, error: object, trace: object, /) -> None: ...

def read_keyed(text: str | bytes | bytearray | memoryview, /) -> KeyedSet:
    """Decode the text of a full keyed set.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        The text of a full set, as returned by `KeyedSet.encode`.

    Returns
    -------
    KeyedSet
        The set. Its root is checked against the header.

    Raises
    ------
    GcfError
        With `line` and `column` if the text is invalid; `invalid_keyed_set` if header and table
        disagree about the key, or an identity is a duplicate; `root_mismatch`.

    Source: GCF 3.6 sections 10a.1 and 10a.7.
    """

def read_keyed_delta(text: str | bytes | bytearray | memoryview, /) -> KeyedDelta:
    """Decode the text of a delta between keyed sets.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        The text of a delta, as returned by `KeyedDelta.encode`.

    Returns
    -------
    KeyedDelta
        The delta, for `KeyedSet.apply`.

    Raises
    ------
    GcfError
        With `line` and `column` if the text is invalid; `malformed_delta`, `delta_invalid`.

    Source: GCF 3.6 section 10a.2.
    """

def receive_keyed(text: str | bytes | bytearray | memoryview, /, base: KeyedSet | None) -> KeyedSet:
    """Decode a full keyed set, a delta, or the message that nothing changed.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        The text.
    base : KeyedSet or None
        The current set of the receiver; it does not change.

    Returns
    -------
    KeyedSet
        The new set, equal to the sender's.

    Raises
    ------
    GcfError
        `base_mismatch` if the text is not based on `base`: ask for the full set. Otherwise as
        `read_keyed`, `read_keyed_delta` and `KeyedSet.apply`.

    Source: GCF 3.6 sections 10a.4 and 10a.5.
    """
