"""Converts the context block of a retrieval engine to a payload; a store of edges in SQLite.

Source: wire codecs, "Bridge".
"""

from __future__ import annotations

from collections import namedtuple

from ._core.graph import Components, Edge, Payload, Symbol
from ._texts import check_texts, shown
from .errors import OptionError

# For type checkers only: importing `typing` takes milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike
    from typing import Any, Literal, Protocol, TypeVar

    Result = TypeVar("Result")

    class Store(Protocol):
        """A store that finds the edges of a node."""

        def edges_from(self, node: Any, /) -> Iterable[Any]:
            """Return objects with `target_hash` and `edge_type`."""


def from_context_block(
    block: Any,
    tool: str,
    store: Store | None = None,
    *,
    on_store_error: Literal["raise", "skip"] = "raise",
) -> Payload:
    """Convert a context block to a payload.

    Parameters
    ----------
    block : object
        Has `tokens_used`, `token_budget`, `symbols` and optionally `pack_root` (str, or bytes,
        which are written as hexadecimal digits) and `edges`. Each symbol has `node` (with
        `qualified_name`, `kind`, `signature` and `node_hash`), `score`, `provenance`, `distance`
        and `components`. Each edge has `source`, `target` and `edge_type`.
    tool : str
        The tool that produced the payload.
    store : object, optional
        If the block has no edges, `edges_from(node)` of the store is called for each symbol. The
        edges between symbols of the block are used.
    on_store_error : {"raise", "skip"}
        If the store raises: propagate the error, or leave out the edges of the symbol.

    Returns
    -------
    Payload
        Symbols in the order of the block, with all their fields.

    Raises
    ------
    TypeError
        The block or a symbol lacks an attribute, its `pack_root` is a number, or `store`
        has no `edges_from`.
    OptionError
        `on_store_error` is neither "raise" nor "skip".
    Exception
        What `edges_from` raises, unless `on_store_error` is "skip".

    Source: wire codecs, "Bridge".
    """
    if on_store_error not in ("raise", "skip"):
        message = f"on_store_error must be 'raise' or 'skip', not {shown(on_store_error)}"
        raise OptionError(message, option="on_store_error")
    if not (store is None or hasattr(store, "edges_from")):
        raise TypeError(f"store must have a method edges_from, not be a {type(store).__name__}")
    nodes = []
    try:
        symbols = list(block.symbols)
        given = getattr(block, "edges", None)
        given = () if given is None else given  # An array of numpy has no truth value.
        edges = [Edge(edge.source, edge.target, edge.edge_type) for edge in given]
        if not edges and store is not None:
            nodes = [
                (symbol.node, symbol.node.node_hash, symbol.node.qualified_name)
                for symbol in symbols
            ]
        root = getattr(block, "pack_root", None)
        root = "" if root is None else root
        if hasattr(root, "__index__"):  # `bytes` of a number are as many zeros.
            found = type(root).__name__
            raise TypeError(f"pack_root of the block must be a str or bytes, not {found}")
        fields = {
            "tool": tool,
            "tokens_used": block.tokens_used,
            "token_budget": block.token_budget,
            "pack_root": root if isinstance(root, str) else bytes(root).hex(),
            "symbols": [_symbol(symbol) for symbol in symbols],
        }
    except AttributeError as error:
        raise TypeError(f"not a context block: {error}") from error
    if nodes and store is not None:
        edges = _edges_from_store(nodes, store, skip=on_store_error == "skip")
    return Payload(**fields, edges=edges)


def _symbol(symbol: Any) -> Symbol:
    parts = symbol.components
    return Symbol(
        symbol.node.qualified_name,
        symbol.node.kind,
        symbol.score,
        symbol.provenance,
        symbol.distance,
        symbol.node.signature or "",
        Components(parts.blast_radius, parts.confidence, parts.recency, parts.distance),
    )


def _edges_from_store(nodes: list[tuple[Any, Any, str]], store: Store, *, skip: bool) -> list[Edge]:
    """Return the edges between nodes, each of which has its hash and name beside it."""
    names = {found: name for _, found, name in nodes}
    edges = []
    for node, _, source in nodes:
        try:
            found = list(store.edges_from(node))
        except MemoryError:
            raise
        except Exception:
            if not skip:
                raise
            continue
        edges += [
            Edge(source, names[edge.target_hash], edge.edge_type)
            for edge in found
            if edge.target_hash in names
        ]
    return edges


_TABLES = """
CREATE TABLE IF NOT EXISTS nodes (
    node_hash TEXT PRIMARY KEY, qualified_name TEXT NOT NULL, kind TEXT NOT NULL,
    signature TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS edges (
    source_hash TEXT NOT NULL, target_hash TEXT NOT NULL, edge_type TEXT NOT NULL,
    PRIMARY KEY (source_hash, target_hash, edge_type)) WITHOUT ROWID;
"""

# How long a call waits while another connection holds the file.
_BUSY_S = 5.0

# A symbol of a store, and an outgoing edge of a symbol.
Node = namedtuple("Node", ["node_hash", "qualified_name", "kind", "signature"])
StoredEdge = namedtuple("StoredEdge", ["target_hash", "edge_type"])


def _hash_of(argument: str, node: Any) -> str:
    found = getattr(node, "node_hash", None)
    if not isinstance(found, str):
        raise TypeError(f"{argument} must be a node with node_hash, not {type(node).__name__}")
    check_texts(**{f"{argument}.node_hash": found})
    return found


class SQLiteStore:
    """Symbols and edges in an SQLite database: a store for `from_context_block`.

    The store is a context manager. Only the thread that created it may use it.

    Parameters
    ----------
    path : path-like
        The database file, which is created if it does not exist, or ":memory:".

    Raises
    ------
    sqlite3.Error
        By each call: the file is no database or is damaged, cannot be opened or written, or another
        connection holds it for 5 seconds. The message names the file.

    Source: wire codecs, "Bridge".
    """

    def __init__(self, path: str | PathLike[str] = ":memory:") -> None:
        # Imported here because few programs need it.
        from ._databases import NamedErrors, connect

        self._named_errors = NamedErrors(path)
        self._closed = False
        with self._named_errors:
            self._database = connect(path)
        try:
            self._patiently(lambda: self._database.executescript(_TABLES))
        except BaseException:
            self._database.close()
            raise

    def add_node(self, qualified_name: str, kind: str, signature: str = "") -> Node:
        """Add a symbol, or change its signature.

        Parameters
        ----------
        qualified_name, kind, signature : str
            As in `Symbol`. Name and kind identify the symbol.

        Returns
        -------
        Node
            The symbol with its hash.
        """
        check_texts(qualified_name=qualified_name, kind=kind, signature=signature)
        # The first space is the end of the kind: without that, two symbols could have one hash.
        escaped = kind.replace("%", "%25").replace(" ", "%20")
        node = Node(f"{escaped} {qualified_name}", qualified_name, kind, signature)
        self._run("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?)", *node)
        return node

    def add_edge(self, source: Node, target: Node, edge_type: str) -> None:
        """Add an edge between two symbols, unless it exists.

        Parameters
        ----------
        source, target : Node
            The symbols.
        edge_type : str
            As in `Edge`.
        """
        check_texts(edge_type=edge_type)
        row = (_hash_of("source", source), _hash_of("target", target), edge_type)
        self._run("INSERT OR IGNORE INTO edges VALUES (?, ?, ?)", *row)

    def nodes(self) -> list[Node]:
        """Return all symbols, sorted by name and kind.

        Returns
        -------
        list of Node
            The symbols.
        """
        rows = self._run("SELECT * FROM nodes ORDER BY qualified_name, kind")
        return [Node(*row) for row in rows]

    def edges_from(self, node: Any, /) -> list[StoredEdge]:
        """Return the outgoing edges of a symbol, sorted by target and type.

        Parameters
        ----------
        node : Node
            The symbol, or any object with a `node_hash`.

        Returns
        -------
        list of StoredEdge
            The edges.
        """
        rows = self._run(
            "SELECT target_hash, edge_type FROM edges WHERE source_hash = ?"
            " ORDER BY target_hash, edge_type",
            _hash_of("node", node),
        )
        return [StoredEdge(*row) for row in rows]

    def _run(self, statement: str, *values: str) -> list[tuple[str, ...]]:
        import sqlite3

        rows = self._patiently(lambda: self._database.execute(statement, values).fetchall())
        if not all(isinstance(cell, str) for row in rows for cell in row):
            # SQLite keeps any value in a column of texts.
            with self._named_errors:
                raise sqlite3.DatabaseError("a node or edge has a cell that is no text")
        return rows

    def _patiently(self, attempt: Callable[[], Result]) -> Result:
        """Call `attempt`, and wait while another connection holds the file."""
        from ._databases import retried

        with self._named_errors:
            return retried(attempt, _BUSY_S)

    def close(self) -> None:
        """Commit the changes and close the database."""
        if self._closed:
            return
        self._patiently(self._database.commit)
        with self._named_errors:
            self._database.close()
        self._closed = True

    def __enter__(self) -> SQLiteStore:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
