"""GCF; import :mod:`compactwire.gcf` instead."""

from collections.abc import Callable
from os import PathLike
from typing import Any, Protocol, type_check_only

__all__ = ["dump", "dumps", "from_json", "load", "loads", "to_json"]

@type_check_only
class _SupportsRead(Protocol):
    def read(self) -> str | bytes: ...

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

def loads(text: str | bytes | bytearray, /, *, max_depth: int = 128) -> Any:
    """Read GCF text.

    Parameters
    ----------
    text : str, bytes or bytearray
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

def from_json(
    text: str | bytes | bytearray,
    /,
    *,
    flatten: bool = True,
    constant_columns: bool = False,
    max_depth: int = 128,
) -> str:
    """Write the value of a JSON text as GCF text, without making objects of it.

    Parameters
    ----------
    text : str, bytes or bytearray
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
    text: str | bytes | bytearray,
    /,
    *,
    ensure_ascii: bool = False,
    max_depth: int = 128,
) -> str:
    """Write the value of a GCF text as JSON text, without making objects of it.

    Parameters
    ----------
    text : str, bytes or bytearray
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
