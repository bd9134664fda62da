"""From a retrieval engine's context block to a payload, and a store of edges that it may ask.

Source: wire codecs, "Bridge".
"""

from __future__ import annotations

from collections import namedtuple

from ._core.graph import Components, Edge, Payload, Symbol

# As type checkers have it; `typing` costs milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike
    from typing import Any, Literal, Protocol

    class Store(Protocol):
        """What knows the edges of a node."""

        def edges_from(self, node: Any, /) -> Iterable[Any]:
            """Give objects with `target_hash` and `edge_type`."""


def from_context_block(
    block: Any,
    tool: str,
    store: Store | None = None,
    *,
    on_store_error: Literal["raise", "skip"] = "raise",
) -> Payload:
    """Make a payload of a context block.

    Parameters
    ----------
    block : object
        With `tokens_used`, `token_budget`, `symbols` and, where it has them, `pack_root` (str, or
        bytes to be written as hexadecimal digits) and `edges`. Each symbol has `node` (with
        `qualified_name`, `kind`, `signature` and `node_hash`), `score`, `provenance`, `distance`
        and `components`; each edge `source`, `target` and `edge_type`.
    tool : str
        Who answers.
    store : object, optional
        Is asked for `edges_from(node)` of each symbol when the block has no edges; those between
        symbols of the block are taken.
    on_store_error : {"raise", "skip"}
        What happens when the store raises: the error is passed on, or the symbol's edges are
        left out.

    Returns
    -------
    Payload
        Symbols in the order of the block, with all their fields.

    Source: wire codecs, "Bridge".
    """
    if on_store_error not in ("raise", "skip"):
        raise ValueError(f"on_store_error must be 'raise' or 'skip', not {on_store_error!r}")
    given = getattr(block, "edges", None)
    if given:
        edges = [Edge(edge.source, edge.target, edge.edge_type) for edge in given]
    elif store is not None:
        edges = _discovered(block.symbols, store, skip=on_store_error == "skip")
    else:
        edges = []
    root = getattr(block, "pack_root", None) or ""
    return Payload(
        tool=tool,
        tokens_used=block.tokens_used,
        token_budget=block.token_budget,
        pack_root=root if isinstance(root, str) else bytes(root).hex(),
        symbols=[_symbol(symbol) for symbol in block.symbols],
        edges=edges,
    )


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


def _discovered(symbols: Iterable[Any], store: Store, *, skip: bool) -> list[Edge]:
    names = {symbol.node.node_hash: symbol.node.qualified_name for symbol in symbols}
    edges = []
    for symbol in symbols:
        try:
            found = list(store.edges_from(symbol.node))
        except Exception:
            if not skip:
                raise
            continue
        source = symbol.node.qualified_name
        edges += [
            Edge(source, names[edge.target_hash], edge.edge_type)
            for edge in found
            if edge.target_hash in names
        ]
    return edges


# A symbol of a store, and an edge that leaves one.
Node = namedtuple("Node", ["node_hash", "qualified_name", "kind", "signature"])
StoredEdge = namedtuple("StoredEdge", ["target_hash", "edge_type"])


class SQLiteStore:
    """Symbols and edges in an SQLite database: a store for `from_context_block`.

    A context manager; used from the thread that made it.

    Parameters
    ----------
    path : path-like
        The database file, which is made if it is not there; ":memory:" for none.

    Source: wire codecs, "Bridge".
    """

    def __init__(self, path: str | PathLike[str] = ":memory:") -> None:
        # Not with the package: few need it.
        import sqlite3

        self._database = sqlite3.connect(path)
        self._database.executescript(
            """
            CREATE TABLE IF NOT EXISTS nodes (
                node_hash TEXT PRIMARY KEY, qualified_name TEXT NOT NULL, kind TEXT NOT NULL,
                signature TEXT NOT NULL);
            CREATE TABLE IF NOT EXISTS edges (
                source_hash TEXT NOT NULL, target_hash TEXT NOT NULL, edge_type TEXT NOT NULL,
                PRIMARY KEY (source_hash, target_hash, edge_type)) WITHOUT ROWID;
            """
        )

    def add_node(self, qualified_name: str, kind: str, signature: str = "") -> Node:
        """Add a symbol, or change its signature.

        Parameters
        ----------
        qualified_name, kind, signature : str
            As in `Symbol`; name and kind are what the symbol is.

        Returns
        -------
        Node
            The symbol with its identity.
        """
        node = Node(f"{kind} {qualified_name}", qualified_name, kind, signature)
        self._database.execute("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?)", node)
        return node

    def add_edge(self, source: Node, target: Node, edge_type: str) -> None:
        """Add an edge between two symbols; again, nothing.

        Parameters
        ----------
        source, target : Node
            The symbols.
        edge_type : str
            As in `Edge`.
        """
        row = (source.node_hash, target.node_hash, edge_type)
        self._database.execute("INSERT OR IGNORE INTO edges VALUES (?, ?, ?)", row)

    def nodes(self) -> list[Node]:
        """Give every symbol, by name and kind.

        Returns
        -------
        list of Node
            The symbols.
        """
        rows = self._database.execute("SELECT * FROM nodes ORDER BY qualified_name, kind")
        return [Node(*row) for row in rows]

    def edges_from(self, node: Any, /) -> list[StoredEdge]:
        """Give the edges that leave a symbol, by target and type.

        Parameters
        ----------
        node : Node
            The symbol; any object with a `node_hash` will do.

        Returns
        -------
        list of StoredEdge
            The edges.
        """
        rows = self._database.execute(
            "SELECT target_hash, edge_type FROM edges WHERE source_hash = ?"
            " ORDER BY target_hash, edge_type",
            (node.node_hash,),
        )
        return [StoredEdge(*row) for row in rows]

    def close(self) -> None:
        """Keep what was added, and close the database."""
        self._database.commit()
        self._database.close()

    def __enter__(self) -> SQLiteStore:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
