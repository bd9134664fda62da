"""GCF; import `compactwire.gcf` instead."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, Protocol, TypeAlias, final, type_check_only

from . import _Record

__all__ = [
    "KeyedDelta",
    "KeyedProducer",
    "KeyedSet",
    "KeyedSnapshots",
    "StreamEncoder",
    "dump",
    "dumps",
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
    flatten: bool = True,
    constant_columns: bool = False,
    max_depth: int = 128,
) -> str:
    """Write a value as GCF text.

    Parameters
    ----------
    obj : dict, list, tuple, str, int, float, bool or None
        The value, as `json.dumps` takes it; keys are str.
    default : callable, optional
        Is given each object of another class and returns one to write in its place, or raises
        `TypeError`; as in `json.dumps`.
    flatten : bool
        Whether objects with the same keys in every row of a table become columns `"a>b"`.
    constant_columns : bool
        Whether a column with one value in all rows moves into the header. `loads` reads it, other
        readers of GCF 3.6 may not.
    max_depth : int
        How deep containers may nest, at most 256.

    Returns
    -------
    str
        The canonical text: the same value always has the same. `loads` gives the value back, with
        the order of keys; only 1.0 comes back as 1, and rows in the order of their table's columns.

    Raises
    ------
    GcfError
        With the path to the value, as `$.orders[3].total`: `not_finite`, `out_of_range` for an int
        beyond 64 bits, `invalid_surrogate`, `unsupported_type`, `limit_exceeded` for a value nested
        too deep or within itself.

    Source: GCF 3.6 sections 2 to 7.
    """

def loads(text: str | bytes | bytearray | memoryview, /, *, max_depth: int = 128) -> Any:
    """Read GCF text.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        A text of the generic profile; bytes are UTF-8.
    max_depth : int
        How deep containers may nest, at most 256.

    Returns
    -------
    dict, list, str, int, float, bool or None
        The value.

    Raises
    ------
    GcfError
        With `code`, `line` and `column`: the text breaks a rule, and which.

    Source: GCF 3.6 sections 2 to 8 and 16.
    """

def dump(
    obj: object,
    file: str | PathLike[str] | _SupportsWrite,
    /,
    *,
    default: Callable[[Any], object] | None = None,
    flatten: bool = True,
    constant_columns: bool = False,
    max_depth: int = 128,
) -> None:
    """Write a value as GCF text to a file.

    Parameters
    ----------
    obj : dict, list, tuple, str, int, float, bool or None
        The value.
    file : path-like, or a file open for writing
        A path is written as UTF-8; a binary file is given bytes, any other object a str.
    default, flatten, constant_columns, max_depth
        As in `dumps`.

    Raises
    ------
    GcfError
        As `dumps`; then nothing is written.
    OSError
        The file cannot be written.

    Source: GCF 3.6 sections 2 to 7.
    """

def load(file: str | PathLike[str] | _SupportsRead, /, *, max_depth: int = 128) -> Any:
    """Read GCF text from a file.

    Parameters
    ----------
    file : path-like, or a file open for reading
        A path, or an object whose `read()` gives str or bytes.
    max_depth : int
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

    Source: GCF 3.6 sections 2 to 8 and 16.
    """

def iter_rows(
    source: str | PathLike[str] | _SupportsReadSize,
    /,
    *path: str,
    max_depth: int = 128,
    max_row_size: int = 67_108_864,
) -> Iterator[Any]:
    """Read the rows of one container of a GCF text, without holding the text.

    Rows are given as they are read, and the rest of the text is read behind them: an error anywhere
    is raised, after the rows before it, and ends the iterator. Of a list of dicts nothing is kept
    but the row that is read; of a dict of dicts its keys are; a list of scalars is one row.

    Parameters
    ----------
    source : path-like, or a file open for reading
        A path, whose file is closed behind the last row or with the iterator, or an object whose
        `read(size)` gives at most so many characters or bytes; `read1(size)` of binary files.
    path : str
        The keys that lead from the root, through dicts, to the list or dict. None: the root. A path
        through a dict of dicts that is written as a table holds the row that it leads through.
    max_depth : int
        As in `loads`.
    max_row_size : int
        How large a row may be with all that belongs to it, in bytes; another line, too.

    Returns
    -------
    iterator
        Of the elements of a list, or of the items of a dict, as tuples of key and value.

    Raises
    ------
    GcfError
        From the iterator: as `loads`; `missing_section` when the path does not lead to a list or
        dict; `limit_exceeded` for a row that is too large.
    OSError
        The file cannot be read.

    Source: GCF 3.6 sections 2 to 8 and 16.
    """

def from_json(
    text: str | bytes | bytearray | memoryview,
    /,
    *,
    flatten: bool = True,
    constant_columns: bool = False,
    max_depth: int = 128,
) -> str:
    """Write the value of a JSON text as GCF text, without making objects of it.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        JSON (RFC 8259); integers are exact, members keep their order.
    flatten, constant_columns, max_depth
        As in `dumps`.

    Returns
    -------
    str
        What `dumps` gives for the value.

    Raises
    ------
    GcfError
        With `line` and `column` for what is no JSON (`invalid_line`, `duplicate_key`,
        `invalid_surrogate`), with `path` for an integer beyond 64 bits (`out_of_range`).

    Source: GCF 3.6 sections 2 to 7.
    """

def to_json(
    text: str | bytes | bytearray | memoryview,
    /,
    *,
    ensure_ascii: bool = False,
    max_depth: int = 128,
) -> str:
    """Write the value of a GCF text as JSON text, without making objects of it.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        A text of the generic profile.
    ensure_ascii : bool
        Whether characters beyond ASCII are escaped.
    max_depth : int
        As in `loads`.

    Returns
    -------
    str
        JSON without white space; integers are exact, members keep their order.

    Raises
    ------
    GcfError
        As `loads`.

    Source: GCF 3.6 sections 2 to 8 and 16.
    """

@final
class KeyedSet(_Record):
    """Rows of scalars that are known by one field, as a value to send and to compare.

    Immutable. Sets are equal when name, key, fields and rows are, in whatever order the rows
    are.

    Parameters
    ----------
    rows : iterable of dict
        Each has every field: str, int, float, bool or None. 1.0 is kept as 1.
    key : str
        The field that is the identity: unique and not None; printable ASCII without spaces.
    fields : sequence of str, optional
        The fields in their order; by default those of the first row. None may contain `>`.
    name : str
        What the rows are called.

    Raises
    ------
    GcfError
        `invalid_keyed_set`, naming row and field; `not_finite`, `out_of_range` for an int
        beyond 64 bits, `invalid_surrogate`, `unsupported_type`.

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
        """What the rows are called."""

    @property
    def key(self) -> str:
        """The field that is the identity."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields, in their order."""

    @property
    def rows(self) -> list[dict[str, _Scalar]]:
        """The rows: new dicts."""

    @property
    def root(self) -> str:
        """The pack root, `sha256:` and 64 digits: the same for the same rows in any order."""

    def encode(self, *, tool: str = "") -> str:
        """Write the whole set.

        Parameters
        ----------
        tool : str
            Stands in the header unless it is empty; printable ASCII without spaces.

        Returns
        -------
        str
            Text that `read_keyed` and `receive_keyed` read; `loads` reads it as an object with
            one list.

        Raises
        ------
        GcfError
            `invalid_header_value` for the tool.

        Source: GCF 3.6 section 10a.1.
        """

    def delta(self, new: KeyedSet, /) -> KeyedDelta | None:
        """Find what makes another set of this one.

        Parameters
        ----------
        new : KeyedSet
            The other set.

        Returns
        -------
        KeyedDelta or None
            None when name, key or fields differ: then there is no delta.

        Source: GCF 3.6 section 10a.2.
        """

    def apply(self, delta: KeyedDelta, /) -> KeyedSet:
        """Make the changes of a delta: all, or none.

        Parameters
        ----------
        delta : KeyedDelta
            A delta to this set.

        Returns
        -------
        KeyedSet
            The new set; this one stays as it is.

        Raises
        ------
        GcfError
            `base_mismatch`: it is for another set; `delta_invalid`: it contradicts this one;
            `root_mismatch`: the result is not what it announces.

        Source: GCF 3.6 section 10a.5.
        """

    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class KeyedDelta(_Record):
    """What makes one keyed set of another: rows added, changed as a whole, removed.

    Immutable. `KeyedSet.delta` and `read_keyed_delta` make it; here it is made of its parts.

    Parameters
    ----------
    key : str
        The field that is the identity.
    base_root, new_root : str
        The pack roots of the two sets.
    fields : sequence of str
        The fields in their order; may be empty when no row is added or changed.
    added, changed : iterable of dict
        Whole rows.
    removed : iterable of str, int, float or bool
        Identities.

    Raises
    ------
    GcfError
        As `KeyedSet`, for the rows.

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
        """The field that is the identity."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields; none when no row is added or changed."""

    @property
    def base_root(self) -> str:
        """The root of the set that it changes."""

    @property
    def new_root(self) -> str:
        """The root of the set that it makes."""

    @property
    def added(self) -> list[dict[str, _Scalar]]:
        """Rows of identities that the base lacks: new dicts."""

    @property
    def changed(self) -> list[dict[str, _Scalar]]:
        """Whole rows that replace those of the base: new dicts."""

    @property
    def removed(self) -> list[_Scalar]:
        """Identities whose rows go: a new list."""

    def encode(self, *, tool: str = "", sizes: tuple[int, int] | None = None) -> str:
        """Write the delta.

        Parameters
        ----------
        tool : str
            Stands in the header unless it is empty.
        sizes : tuple of int, optional
            The sizes of the delta and of the full set, as the sender counts them; the header
            then says what part is saved, in whole per cent.

        Returns
        -------
        str
            Text that `receive_keyed` and `read_keyed_delta` read.

        Raises
        ------
        GcfError
            `invalid_header_value` for the tool or a root.

        Source: GCF 3.6 section 10a.2.
        """

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class KeyedSnapshots:
    """Keeps the keyed sets that were sent last, to answer each peer with the least that it needs.

    Thread-safe.

    Parameters
    ----------
    limit : int
        How many sets are kept; the oldest goes first.

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
        """Write a set for a peer, and keep it.

        Parameters
        ----------
        new : KeyedSet
            The set as it is now.
        peer_root : str, optional
            The root of the set that the peer has. None, or a root that is not known here: the
            whole set.
        tool : str
            Stands in the header unless it is empty.
        count_tokens : callable, optional
            Is given a text and returns its size as an int. By default runs of letters and
            digits and single signs are counted.

        Returns
        -------
        str
            "Unchanged" when the peer has this set; a delta when it is smaller than 60 % of the
            whole set; otherwise the whole set. `receive_keyed` reads it.

        Raises
        ------
        GcfError
            `invalid_header_value` for the tool.

        Source: GCF 3.6 section 10a.4.
        """

@final
class KeyedProducer:
    """Sends each new set as what changed since the last, and sometimes whole.

    For one peer that is given every text in turn. Thread-safe. A set of another name, key or
    fields is sent whole.

    Parameters
    ----------
    base : KeyedSet
        The first set; `full()` is its text.
    tool : str
        Stands in the header of whole sets unless it is empty.
    fixed_n : int, optional
        Of so many texts one is whole; 15 by default, and where it is not positive.
    size_guard : bool
        Instead: send the whole set when the deltas since the last one have as many bytes.

    Raises
    ------
    GcfError
        `invalid_header_value` for the tool.
    ValueError
        Both `fixed_n` and `size_guard` are given.

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
        """The last set, which the peer has."""

    def full(self) -> str:
        """Write the last set as a whole: at the beginning, or when the peer asks for it.

        Returns
        -------
        str
            Text that `receive_keyed` reads.

        Source: GCF 3.6 section 10a.1.
        """

    def push(self, new: KeyedSet, /) -> tuple[str, bool]:
        """Write what to send for a new set.

        Parameters
        ----------
        new : KeyedSet
            The set as it is now.

        Returns
        -------
        tuple of str and bool
            The text, and whether it is the whole set.

        Source: GCF 3.6 section 10a.6.
        """

@final
class StreamEncoder:
    """Writes an object of scalars, lists and growing tables, each row as it comes.

    Nothing is kept but counts and names, and the member keys of an open keyed map. Tables have no
    count in their header; `close()` writes all of them at the end, and so does leaving a `with`
    block, unless by an exception. Threads that share an encoder take turns.

    Parameters
    ----------
    target : file or callable
        A file open for writing (a binary one is given bytes), or a function that takes a str.

    Raises
    ------
    GcfError
        From every method, and then nothing is written: for a value that is no scalar, a row of
        another width, a name, field or member key that is there twice, a field with `>`, a scalar
        or list behind a table, anything after `close()`.

    Source: GCF 3.6 section 8.3.
    """

    def __new__(cls, target: _SupportsWrite | Callable[[str], object], /) -> StreamEncoder: ...
    def kv(self, key: str, value: _Scalar, /) -> None:
        """Write a member that is a scalar; before all tables.

        Parameters
        ----------
        key : str
            Its name.
        value : str, int, float, bool or None
            Its value.

        Source: GCF 3.6 section 8.3.
        """

    def list(self, name: str, values: Iterable[_Scalar], /) -> None:
        """Write a member that is a list of scalars; before all tables.

        Parameters
        ----------
        name : str
            Its name.
        values : iterable of str, int, float, bool or None
            Its elements.

        Source: GCF 3.6 section 8.3.
        """

    def begin_array(self, name: str, fields: Sequence[str], /) -> None:
        """Begin a member that is a list of dicts.

        Parameters
        ----------
        name : str
            Its name.
        fields : sequence of str
            The keys of the dicts, in the order of the cells of `row`.

        Source: GCF 3.6 section 8.3.
        """

    def begin_keyed_map(self, name: str, fields: Sequence[str], /, *, label: str = "key") -> None:
        """Begin a member that is a dict of dicts.

        Parameters
        ----------
        name : str
            Its name.
        fields : sequence of str
            The keys of the inner dicts. A row has the outer key before them.
        label : str
            Stands for the outer key in the header; no data.

        Source: GCF 3.6 section 8.3.
        """

    def row(self, values: Iterable[_Scalar | EllipsisType], /) -> None:
        """Write a row of the open table.

        Parameters
        ----------
        values : iterable of str, int, float, bool, None or ...
            One for each field, in their order; `...` where the row does not have the key.

        Source: GCF 3.6 section 8.3.
        """

    def end(self) -> None:
        """End the open table.

        Source: GCF 3.6 section 8.3.
        """

    def close(self) -> None:
        """End the text, with the counts of its tables. Doing it again changes nothing.

        Source: GCF 3.6 section 8.3.
        """

    def __enter__(self) -> StreamEncoder: ...
    def __exit__(self, kind: object, error: object, trace: object, /) -> None: ...

def read_keyed(text: str | bytes | bytearray | memoryview, /) -> KeyedSet:
    """Read the text of a whole keyed set.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        A full set, as `KeyedSet.encode` writes it.

    Returns
    -------
    KeyedSet
        The set. Its root is that of the header.

    Raises
    ------
    GcfError
        With `line` and `column` where the text breaks a rule; `invalid_keyed_set` where the
        header and the table disagree about the key, or an identity is there twice;
        `root_mismatch`.

    Source: GCF 3.6 sections 10a.1 and 10a.7.
    """

def read_keyed_delta(text: str | bytes | bytearray | memoryview, /) -> KeyedDelta:
    """Read the text of a delta between keyed sets.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        A delta, as `KeyedDelta.encode` writes it.

    Returns
    -------
    KeyedDelta
        The delta; `KeyedSet.apply` makes its changes.

    Raises
    ------
    GcfError
        With `line` and `column` where the text breaks a rule; `malformed_delta`,
        `delta_invalid`.

    Source: GCF 3.6 section 10a.2.
    """

def receive_keyed(text: str | bytes | bytearray | memoryview, /, base: KeyedSet | None) -> KeyedSet:
    """Read whatever was sent of a keyed set: the whole, a delta, or that nothing changed.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        The text.
    base : KeyedSet or None
        The set that is held, which stays as it is.

    Returns
    -------
    KeyedSet
        The set that the sender has.

    Raises
    ------
    GcfError
        `base_mismatch` when the text is about another set than `base`: ask for the full set.
        Otherwise as `read_keyed`, `read_keyed_delta` and `KeyedSet.apply`.

    Source: GCF 3.6 sections 10a.4 and 10a.5.
    """
