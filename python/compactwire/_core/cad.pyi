"""vcad documents as compact text and bytes; import `compactwire.cad` instead."""

from collections.abc import Iterable
from os import PathLike
from typing import Any, BinaryIO, Literal, final

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
    "losses",
    "to_binary",
    "to_compact",
    "to_hybrid",
]

_Bytes = bytes | bytearray | memoryview
_Text = str | _Bytes
_Document = dict[str, Any] | _Text
_Dialect = Literal["0.1", "0.2"]
_AnyDialect = Literal["auto", "0.1", "0.2"]

@final
class CompactIterator:
    """The items of a compact text, one after the other; `iter_compact` makes it.

    As with a generator, asking for the next item while another thread, or the source itself, waits
    for one is a `ValueError`.

    Source: design section 10.
    """

    def __iter__(self) -> CompactIterator: ...
    def __next__(self) -> tuple[Literal["node", "extra", "end"], dict[str, Any]]: ...

def canonical(doc: _Document, /, *, lossy: bool = False) -> dict[str, Any]:
    """Check a document against the model and give its canonical form.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.
    lossy : bool
        Drop unknown fields, and make unknown operations "Empty".

    Returns
    -------
    dict
        Equal for documents that mean the same: absent and null are one, defaults are spelled out.

    Raises
    ------
    DocumentError
        The document is not in the model; `path` says where.

    Source: design section 2.
    """

def check(
    src: _Text, /, *, dialect: _AnyDialect = "auto", limit: int = 100
) -> list[CompactParseError]:
    """Find all mistakes of a compact text.

    Parameters
    ----------
    src : str, bytes, bytearray or memoryview
        The text.
    dialect : {"auto", "0.1", "0.2"}
        The grammar, as in `from_compact`.
    limit : int
        At most so many mistakes.

    Returns
    -------
    list of CompactParseError
        In the order of lines, empty for a good text. The first is what `from_compact` raises. A
        wrong line counts as a node all the same, so that one mistake is not reported as many.
        `suggestion` names the opcode that was probably meant. Where pointers of lines `XF` lead is
        looked at once there is no other mistake.

    Source: CAD IR "Error Handling"; design section 3.3.
    """

def dumps(doc: _Document, /) -> str:
    """Write a document as canonical JSON.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.

    Returns
    -------
    str
        Without white space, node ids ascending, each number in its shortest form (-0.0 as such,
        because readers of JSON take -0 for an integer).

    Raises
    ------
    DocumentError
        The document is not in the model.

    Source: design sections 2 and 4.3.
    """

def from_binary(data: _Bytes, /) -> dict[str, Any]:
    """Read the binary form.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        The bytes of `to_binary`, or any other valid encoding.

    Returns
    -------
    dict
        The document in canonical form.

    Raises
    ------
    BinaryError
        The bytes are not a document of the model; `offset` says where.

    Source: CAD IR "Future Enhancements"; design section 9.
    """

def from_compact(src: _Text, /, dialect: _AnyDialect = "auto") -> dict[str, Any]:
    """Read compact text.

    Parameters
    ----------
    src : str, bytes, bytearray or memoryview
        The text; bytes are UTF-8, a byte order mark at the start is skipped.
    dialect : {"auto", "0.1", "0.2"}
        The grammar. "auto" goes by the header `# vcad 0.2`, and takes 0.1 without one.

    Returns
    -------
    dict
        The document in canonical form: lengths in mm, angles in degrees (`twist_angle` in radians);
        whole numbers are int, others float.

    Raises
    ------
    CompactParseError
        The first mistake, with line and column from 1. `check` finds all of them.

    Source: CAD IR "Format Specification"; design sections 3 and 6.
    """

def from_hybrid(obj: _Document, /) -> dict[str, Any]:
    """Read a hybrid: JSON whose nodes are compact text.

    Parameters
    ----------
    obj : dict, str or bytes
        The hybrid, parsed or as JSON text.

    Returns
    -------
    dict
        The document in canonical form.

    Raises
    ------
    CompactParseError
        A mistake in the text, by its own lines.
    DocumentError
        A mistake in the rest.

    Source: CAD IR "For File Storage"; design section 8.
    """

def iter_compact(
    source: str | PathLike[str] | _Bytes | BinaryIO | Iterable[_Text],
    /,
    dialect: _AnyDialect = "auto",
    max_line: int = 1048576,
) -> CompactIterator:
    """Read compact text of any size, node by node.

    Parameters
    ----------
    source : str, path-like, bytes, bytearray, memoryview, binary file or iterable of bytes or str
        A path, the text as bytes, a file (read to its end), or chunks, which may end anywhere, even
        in a character.
    dialect : {"auto", "0.1", "0.2"}
        The grammar, as in `from_compact`.
    max_line : int
        The longest line in bytes; 1 MiB by default.

    Returns
    -------
    CompactIterator
        Of `("node", {"id", "name", "op"})` for each node as soon as it is complete, and of
        `("end", rest)` with the document without its nodes. Lines `XF pointer json` come after all
        nodes and before the end as `("extra", {"pointer", "value"})`: what is put together has the
        value there. Whether the pointer leads anywhere is not looked at: the nodes are gone.

    Raises
    ------
    CompactParseError
        While iterating, as `from_compact` raises it; the nodes before have been given.

    Notes
    -----
    In memory are one line, one sketch, names, what is no node, and a byte or two for each node.

    Source: CAD IR "Future Enhancements"; design section 10.
    """

def load(src: _Text, /, *, repair: bool = False) -> dict[str, Any]:
    """Read a document of any kind, as its first bytes tell: binary, JSON, hybrid or compact text.

    Parameters
    ----------
    src : str, bytes, bytearray or memoryview
        The content of the file; its name does not matter.
    repair : bool
        Mend JSON that is nearly a document: numbers in quotes as ids or references; ids that are
        not their keys, or names; an operation in place of a reference; snake case in assemblies.

    Returns
    -------
    dict
        The document in canonical form.

    Raises
    ------
    CompactParseError, DocumentError, BinaryError
        As its kind has it.

    Warns
    -----
    UserWarning
        With `repair`, one for each thing that was mended, with its place; also before an error.
        Python shows the same text once for each line of code, unless
        `warnings.simplefilter("always")` asks for all.

    Source: design sections 8 and 12.
    """

def losses(doc: _Document, /, dialect: _Dialect) -> list[str]:
    """Say what a trip through a dialect would change.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.
    dialect : {"0.1", "0.2"}
        Where the trip would go.

    Returns
    -------
    list of str
        Sorted, out of "assembly", "ids", "materials", "names", "ops", "part_materials",
        "root_material", "roots", "scene", "unknown", "version", "visibility".

    Raises
    ------
    DocumentError
        A type, reference or cycle that no dialect can carry.

    Source: design section 4.2.
    """

def to_binary(doc: _Document, /) -> bytes:
    """Write a document as bytes.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.

    Returns
    -------
    bytes
        The binary form: about two thirds of the text in dialect 0.2, and as lossless.

    Raises
    ------
    DocumentError
        The document is not in the model.

    Source: CAD IR "Future Enhancements"; design section 9.
    """

def to_compact(
    doc: _Document,
    /,
    dialect: _Dialect = "0.1",
    *,
    names: bool = True,
    lossy: bool = False,
    unknown: Literal["error", "keep"] = "error",
) -> str:
    """Write a document as compact text.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.
    dialect : {"0.1", "0.2"}
        0.1 carries the shape and nothing else; 0.2 carries everything.
    names : bool
        In 0.1: names of nodes as comments. In 0.2 names are data and always written.
    lossy : bool
        Write also what the dialect, or the model, does not carry; `losses` says what that is.
    unknown : {"error", "keep"}
        What is done about fields and operations that the model does not have, and about whatever
        does not fit it: an error, or lines `XF pointer json`, which dialect 0.2 reads back.

    Returns
    -------
    str
        Lines joined by LF, without a final one.

    Raises
    ------
    DocumentError
        The document is not in the model, or holds what would change in the dialect; `path` says
        where.
    ValueError
        `unknown="keep"` in dialect 0.1, which has no such lines, or with `lossy`.

    Source: CAD IR "Rust Implementation"; design sections 4, 7 and 12.
    """

def to_hybrid(doc: _Document, /) -> dict[str, Any]:
    """Make a hybrid: JSON whose nodes are compact text.

    Parameters
    ----------
    doc : dict, str or bytes
        The document, parsed or as JSON text.

    Returns
    -------
    dict
        The nodes as a text in "compact", everything else as it was. `from_hybrid` gives the
        document back exactly.

    Raises
    ------
    DocumentError
        The document is not in the model.

    Source: CAD IR "For File Storage"; design section 8.
    """
