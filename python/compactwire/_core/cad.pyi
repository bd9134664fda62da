"""vcad documents as compact text and bytes; import `compactwire.cad` instead."""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, BinaryIO, Literal, Protocol, final, type_check_only

from ..errors import CompactParseError

__all__ = [
    "CompactIterator",
    "canonical",
    "check",
    "dumps",
    "from_binary",
    "from_compact",
    "from_hybrid",
    "iter_compact",
    "load",
    "loads",
    "losses",
    "to_binary",
    "to_compact",
    "to_hybrid",
]

@type_check_only
class _SupportsRead(Protocol):
    def read(self) -> str | bytes: ...

_Bytes = bytes | bytearray | memoryview
_Text = str | _Bytes
_Document = dict[str, Any] | _Text
_Dialect = Literal["0.1", "0.2"]
_Target = Literal["vcad"]
_Loss = Literal[
    "assembly",
    "ids",
    "materials",
    "names",
    "ops",
    "part_materials",
    "roots",
    "scene",
    "segments",
    "unknown",
    "version",
    "visibility",
]
_AnyDialect = Literal["auto", "0.1", "0.2"]

@final
class CompactIterator:
    """An iterator over the items of a compact text, returned by `iter_compact`.

    As with a generator, calling `next` while another thread, or the source itself, is in `next`
    raises `ValueError`.

    Source: CAD IR "Future Enhancements".
    """

    def __iter__(self) -> CompactIterator: ...
    def __next__(self) -> tuple[Literal["node", "extra", "end"], dict[str, Any]]: ...

def canonical(doc: _Document, /, *, lossy: bool = False) -> dict[str, Any]:
    """Check a document against the model and return its canonical form.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.
    lossy : bool
        Whether to drop unknown fields and to replace unknown operations by "Empty".

    Returns
    -------
    dict
        The canonical form, which is equal for documents with the same meaning: absent and null
        members are treated alike, and defaults are explicit. Units are those of `from_compact`.

    Raises
    ------
    DocumentError
        The document does not conform to the model; `path` says where.

    Source: an extension of this package.
    """

def check(
    src: _Text, /, *, dialect: _AnyDialect = "auto", limit: int = 100
) -> list[CompactParseError]:
    """Find all errors in a compact text.

    Parameters
    ----------
    src : str, bytes, bytearray or memoryview
        The text.
    dialect : {"auto", "0.1", "0.2"}
        The dialect, as in `from_compact`.
    limit : int
        The maximum number of errors to return.

    Returns
    -------
    list of CompactParseError
        The errors in the order of lines; those that only the end of the text shows, such as a wrong
        number of `IDS`, come last. Empty for a valid text. The first is the one that `from_compact`
        raises. An invalid line still counts as a node, so that one error does not cause others.
        `suggestion` is the opcode that was probably meant. The pointers of `XF` lines are checked
        only if there is no other error.

    Source: CAD IR "Error Handling".
    """

def dumps(doc: _Document, /) -> str:
    """Encode a document as canonical JSON.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.

    Returns
    -------
    str
        JSON without white space, with node ids in ascending order and each number in its shortest
        form (-0.0 is kept, because JSON readers treat -0 as an integer).

    Raises
    ------
    DocumentError
        The document does not conform to the model; `path` says where.

    Source: an extension of this package, for hashes and comparisons.
    """

def from_binary(data: _Bytes, /, *, max_expansion: int = 268435456) -> dict[str, Any]:
    """Decode the binary form.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        The output of `to_binary`, or any other valid encoding.
    max_expansion : int
        The maximum size in bytes of all strings, each counted as often as it is used, because
        `data` contains each string once; 256 MiB by default.

    Returns
    -------
    dict
        The document in canonical form, with the units of `from_compact`.

    Raises
    ------
    BinaryError
        The bytes are not a valid document; `offset` says where.

    Source: CAD IR "Future Enhancements".
    """

def from_compact(src: _Text, /, dialect: _AnyDialect = "auto") -> dict[str, Any]:
    """Decode compact text.

    Parameters
    ----------
    src : str, bytes, bytearray or memoryview
        The text; bytes are UTF-8, a byte order mark at the start is skipped.
    dialect : {"auto", "0.1", "0.2"}
        The dialect. "auto" detects 0.2 by the header `# vcad 0.2`, and is 0.1 otherwise.

    Returns
    -------
    dict
        The document in canonical form: lengths in mm, angles in degrees (`twist_angle` in radians);
        whole numbers are int, other numbers float.

    Raises
    ------
    CompactParseError
        The first error, with line and column from 1. `check` returns all errors.

    Source: CAD IR "Format Specification".
    """

def from_hybrid(obj: _Document, /) -> dict[str, Any]:
    """Decode a hybrid: JSON whose nodes are compact text.

    Parameters
    ----------
    obj : dict, str or bytes
        The hybrid, parsed or as JSON text.

    Returns
    -------
    dict
        The document in canonical form, with the units of `from_compact`.

    Raises
    ------
    CompactParseError
        The first error in the compact text; `line` counts the lines of that text.
    DocumentError
        An error in the rest of the document; `path` says where.

    Source: CAD IR "For File Storage".
    """

def iter_compact(
    source: str | PathLike[str] | _Bytes | BinaryIO | Iterable[_Text],
    /,
    dialect: _AnyDialect = "auto",
    max_line: int = 1048576,
) -> CompactIterator:
    """Iterate over the nodes of a compact text of any size.

    Parameters
    ----------
    source : str, path-like, bytes, bytearray, memoryview, binary file or iterable of bytes or str
        A path, the text as bytes, a file (read to its end), or chunks, which may be split anywhere,
        even within a character.
    dialect : {"auto", "0.1", "0.2"}
        The dialect, as in `from_compact`.
    max_line : int
        The maximum length of a line in bytes; 1 MiB by default.

    Returns
    -------
    CompactIterator
        An iterator over `("node", {"id", "name", "op"})` for each node as soon as it is complete,
        and finally `("end", rest)` with the document without its nodes. Lines `XF pointer json` are
        returned after all nodes and before the end as `("extra", {"pointer", "value"})`: set the
        value at the pointer in the assembled document. The pointer is not checked, because the
        nodes are no longer in memory.

    Raises
    ------
    CompactParseError
        Raised by the iterator, as by `from_compact`, after the nodes before the error.
    OSError
        The file cannot be read.
    ValueError
        The argument is not a path, but compact text: use `io.StringIO`.

    Notes
    -----
    The iterator holds in memory one line, one sketch, the names, everything but nodes, and one or
    two bytes per node.

    Source: CAD IR "Future Enhancements".
    """

def load(
    file: str | PathLike[str] | _SupportsRead,
    /,
    *,
    repair: bool = False,
    unknown: Literal["error", "keep"] = "error",
    max_expansion: int = 268435456,
) -> dict[str, Any]:
    """Read a file and decode it as a document of any kind.

    Parameters
    ----------
    file : path-like, or a file open for reading
        A path, or an object whose `read()` returns str or bytes.
    repair, unknown, max_expansion
        As in `loads`.

    Returns
    -------
    dict
        The document in canonical form, with the units of `from_compact`.

    Raises
    ------
    CompactParseError, DocumentError, BinaryError
        As `loads`.
    OSError
        The file cannot be read.
    ValueError
        The argument is not a path, but the content of a document: use `loads`.

    Warns
    -----
    UserWarning
        As `loads`.

    Source: CAD IR "For File Storage"; the repairs are an extension of this package.
    """

def loads(
    src: _Text,
    /,
    *,
    repair: bool = False,
    unknown: Literal["error", "keep"] = "error",
    max_expansion: int = 268435456,
) -> dict[str, Any]:
    """Decode a document of any kind, detected by its first bytes: binary, JSON, hybrid or compact.

    Parameters
    ----------
    src : str, bytes, bytearray or memoryview
        The content of the file.
    repair : bool
        Whether to repair common errors in JSON: ids or references that are quoted numbers, ids that
        differ from their keys or are names, an operation in place of a reference, and snake case in
        assemblies.
    unknown : {"error", "keep"}
        Whether JSON content that the model does not define is an error, or is kept unchanged, so
        that `to_compact(..., "0.2", unknown="keep")` can write it. Text keeps its `XF` lines.
    max_expansion : int
        The maximum size in bytes of the strings of a binary document, each counted as often as it
        is used; 256 MiB by default.

    Returns
    -------
    dict
        The document in canonical form, with the units of `from_compact`.

    Raises
    ------
    CompactParseError, DocumentError, BinaryError
        The content is invalid; the exception depends on the kind.

    Warns
    -----
    UserWarning
        With `repair`, one warning for each repair, with its path, also before an error. By default,
        Python shows the same warning once per line of code; `warnings.simplefilter("always")` shows
        all.

    Source: CAD IR "For File Storage"; the repairs are an extension of this package.
    """

def losses(
    doc: _Document, /, dialect: _Dialect | None = None, *, target: _Target | None = None
) -> list[str]:
    """List the kinds of content that a dialect or a target cannot represent.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.
    dialect : {"0.1", "0.2"}, optional
        The dialect; by default 0.1, or 0.2 with a target.
    target : {"vcad"}, optional
        The program for which the text is written, as in `to_compact`.

    Returns
    -------
    list of str
        A sorted subset of "assembly", "ids", "materials", "names", "ops", "part_materials",
        "root_material", "roots", "scene", "segments", "unknown", "version", "visibility". Only
        dialect 0.1 loses "root_material", only a target "segments". With a target, "ids" means that
        nodes get new ids, which is never an error.

    Raises
    ------
    DocumentError
        The document has a type, reference or cycle that no text can represent; with a target, also
        such an identifier.

    Source: an extension of this package.
    """

def to_binary(doc: _Document, /) -> bytes:
    """Encode a document in the binary form.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.

    Returns
    -------
    bytes
        The binary form, lossless and about two thirds of the size of dialect 0.2.

    Raises
    ------
    DocumentError
        The document does not conform to the model; `path` says where.

    Source: CAD IR "Future Enhancements".
    """

def to_compact(
    doc: _Document,
    /,
    dialect: _Dialect | None = None,
    *,
    target: _Target | None = None,
    names: bool = True,
    lossy: bool | Sequence[_Loss] = False,
    unknown: Literal["error", "keep"] = "error",
) -> str:
    """Encode a document as compact text.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.
    dialect : {"0.1", "0.2"}, optional
        0.1 contains only the shape; 0.2 contains everything. By default 0.1, or 0.2 with a target.
    target : {"vcad"}, optional
        Write text that the public program vcad reads as the same document: dialect 0.2 without
        extension. Content that vcad cannot read, or would misread, raises an error.
    names : bool
        Whether 0.1 contains the names of nodes as comments. In 0.2 names are data and always
        written; with a target, False leaves out the names of nodes.
    lossy : bool or list of str
        Whether to drop content that the dialect, the target or the model cannot represent, instead
        of raising; `losses` lists it. With a target, a list of the codes of `losses` allows these
        losses only: `lossy=["segments"]`.
    unknown : {"error", "keep"}
        Whether fields, operations and values that the model does not define are an error, or are
        kept as lines `XF pointer json`, which dialect 0.2 reads back.

    Returns
    -------
    str
        Lines joined by LF, without a final LF.

    Raises
    ------
    DocumentError
        The document does not conform to the model, or the dialect or the target cannot represent
        it; `path` says where.
    ValueError
        `unknown="keep"` in dialect 0.1 or with a target, which have no `XF` lines, or together with
        `lossy`; a target in dialect 0.1; an unknown value of an option.

    Source: CAD IR "Rust Implementation".
    """

def to_hybrid(doc: _Document, /) -> dict[str, Any]:
    """Convert a document to a hybrid: JSON whose nodes are compact text.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.

    Returns
    -------
    dict
        The hybrid: the nodes as text in "compact", everything else unchanged. `from_hybrid`
        restores the document exactly.

    Raises
    ------
    DocumentError
        The document does not conform to the model; `path` says where.

    Source: CAD IR "For File Storage".
    """
