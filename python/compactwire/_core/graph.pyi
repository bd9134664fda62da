"""Graph payloads; import `compactwire.gcf` instead."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, final

from . import Session, _Record

__all__ = [
    "Components",
    "DeltaPayload",
    "Edge",
    "GraphStreamEncoder",
    "Location",
    "Payload",
    "Symbol",
    "Unchanged",
    "apply_delta",
    "count_tokens",
    "decode",
    "diff",
    "encode",
    "encode_delta",
    "encode_unchanged",
    "pack_root",
    "respond",
    "snapshot",
]

@final
class Components(_Record):
    """What a score is made of.

    Parameters
    ----------
    blast_radius, confidence, recency, distance : float
        Shares of the score.

    Source: wire codecs, "Symbol".
    """

    __match_args__: Final = ("blast_radius", "confidence", "recency", "distance")
    def __new__(
        cls,
        blast_radius: float = 0.0,
        confidence: float = 0.0,
        recency: float = 0.0,
        distance: float = 0.0,
    ) -> Components: ...
    @property
    def blast_radius(self) -> float:
        """How much hangs on the symbol."""
    @property
    def confidence(self) -> float:
        """How sure its edges are."""
    @property
    def recency(self) -> float:
        """How new it is."""
    @property
    def distance(self) -> float:
        """How near it is."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Location(_Record):
    """Where a symbol is declared; lines and columns count from 1.

    Parameters
    ----------
    file : str
        The file.
    line, column : int
        Where it begins.
    end_line, end_column : int, optional
        Where it ends; both or neither.

    Raises
    ------
    ValueError
        A number below 1, or half an end.

    Source: GCF 3.6 section 6b.
    """

    __match_args__: Final = ("file", "line", "column")
    def __new__(
        cls,
        file: str,
        line: int,
        column: int,
        end_line: int | None = None,
        end_column: int | None = None,
    ) -> Location: ...
    @property
    def file(self) -> str:
        """The file."""
    @property
    def line(self) -> int:
        """The line, from 1."""
    @property
    def column(self) -> int:
        """The column, from 1."""
    @property
    def end_line(self) -> int | None:
        """The last line; None where it is not known."""
    @property
    def end_column(self) -> int | None:
        """The column of the end; None where it is not known."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Symbol(_Record):
    """A symbol of a program, and why it is in a payload.

    Immutable; equal when all fields are.

    Parameters
    ----------
    qualified_name : str
        Its name, with its package.
    kind : str
        function, type, method, interface, ... or any other word.
    score : float
        How relevant it is.
    provenance : str
        How it is known: lsp_resolved, ast_inferred, ...
    distance : int
        How many edges it is away from what was asked for: 0 target, 1 related, 2 and more extended.
    signature : str
        Its signature; may be empty.
    components : Components or dict, optional
        What the score is made of.
    location : Location or dict, optional
        Where it is declared.

    Raises
    ------
    EncodeError
        Text with a lone surrogate, an int beyond 64 bits.

    Source: wire codecs, "Symbol".
    """

    __match_args__: Final = ("qualified_name", "kind", "score", "provenance", "distance")
    def __new__(
        cls,
        qualified_name: str,
        kind: str,
        score: float = 0.0,
        provenance: str = "",
        distance: int = 0,
        signature: str = "",
        components: Components | Mapping[str, Any] | None = None,
        *,
        location: Location | Mapping[str, Any] | None = None,
    ) -> Symbol: ...
    @property
    def qualified_name(self) -> str:
        """The name, with its package."""
    @property
    def kind(self) -> str:
        """What kind of symbol."""
    @property
    def score(self) -> float:
        """How relevant it is."""
    @property
    def provenance(self) -> str:
        """How it is known."""
    @property
    def distance(self) -> int:
        """How many edges it is away."""
    @property
    def signature(self) -> str:
        """Its signature."""
    @property
    def components(self) -> Components:
        """What the score is made of."""
    @property
    def location(self) -> Location | None:
        """Where it is declared, if that is known."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Edge(_Record):
    """A directed edge between two symbols of a payload, by their names.

    Immutable; equal when all fields are.

    Parameters
    ----------
    source, target : str
        The qualified names of its ends.
    edge_type : str
        calls, imports, implements, ...
    status : str
        added, removed, unchanged in a difference; else empty.

    Raises
    ------
    EncodeError
        Text with a lone surrogate.

    Source: wire codecs, "Edge".
    """

    __match_args__: Final = ("source", "target", "edge_type", "status")
    def __new__(cls, source: str, target: str, edge_type: str, status: str = "") -> Edge: ...
    @property
    def source(self) -> str:
        """The name of where it begins."""
    @property
    def target(self) -> str:
        """The name of where it ends."""
    @property
    def edge_type(self) -> str:
        """What kind of edge."""
    @property
    def status(self) -> str:
        """What a difference says of it."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Payload(_Record):
    """What a tool answers with: symbols, and the edges between them.

    Immutable; equal when all fields are.

    Parameters
    ----------
    tool : str
        Who answers.
    tokens_used, token_budget : int
        How many tokens the context took, and might take.
    pack_root : str
        The identity of the content, as `pack_root` makes it; may be empty.
    symbols : iterable of Symbol or dict
        The symbols.
    edges : iterable of Edge or dict
        The edges.

    Raises
    ------
    EncodeError
        Text with a lone surrogate, an int beyond 64 bits.

    Source: wire codecs, "Payload".
    """

    def __new__(
        cls,
        tool: str = "",
        tokens_used: int = 0,
        token_budget: int = 0,
        pack_root: str = "",
        symbols: Iterable[Symbol | Mapping[str, Any]] = (),
        edges: Iterable[Edge | Mapping[str, Any]] = (),
    ) -> Payload: ...
    @property
    def tool(self) -> str:
        """Who answers."""
    @property
    def tokens_used(self) -> int:
        """How many tokens the context took."""
    @property
    def token_budget(self) -> int:
        """How many it might take."""
    @property
    def pack_root(self) -> str:
        """The identity of the content; may be empty."""
    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols."""
    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class DeltaPayload(_Record):
    """What changes one payload into another.

    Immutable; equal when all fields are. A delta that was read knows no `full_tokens`.

    Parameters
    ----------
    tool : str
        Who answers.
    base_root, new_root : str
        The roots of what the peer has and will have.
    removed, added : iterable of Symbol or dict
        Symbols that go, of which kind and name count, and symbols that come.
    removed_edges, added_edges : iterable of Edge or dict
        Edges that go and come.
    delta_tokens, full_tokens : int
        Tokens of the delta and of the whole payload; 0 for unknown.

    Raises
    ------
    EncodeError
        Text with a lone surrogate, an int beyond 64 bits.

    Source: wire codecs, "DeltaPayload".
    """

    def __new__(
        cls,
        tool: str = "",
        base_root: str = "",
        new_root: str = "",
        removed: Iterable[Symbol | Mapping[str, Any]] = (),
        added: Iterable[Symbol | Mapping[str, Any]] = (),
        removed_edges: Iterable[Edge | Mapping[str, Any]] = (),
        added_edges: Iterable[Edge | Mapping[str, Any]] = (),
        delta_tokens: int = 0,
        full_tokens: int = 0,
    ) -> DeltaPayload: ...
    @property
    def tool(self) -> str:
        """Who answers."""
    @property
    def base_root(self) -> str:
        """The root of what the peer has."""
    @property
    def new_root(self) -> str:
        """The root of what it will have."""
    @property
    def removed(self) -> tuple[Symbol, ...]:
        """Symbols that go."""
    @property
    def added(self) -> tuple[Symbol, ...]:
        """Symbols that come."""
    @property
    def removed_edges(self) -> tuple[Edge, ...]:
        """Edges that go."""
    @property
    def added_edges(self) -> tuple[Edge, ...]:
        """Edges that come."""
    @property
    def delta_tokens(self) -> int:
        """Tokens of the delta; 0 for unknown."""
    @property
    def full_tokens(self) -> int:
        """Tokens of the whole payload; 0 for unknown."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Unchanged(_Record):
    """What the peer has is still right.

    Parameters
    ----------
    tool : str
        Who answers.
    pack_root : str
        The root of what the peer has.
    symbols : int
        How many symbols that has.

    Source: GCF 3.6 section 10.
    """

    def __new__(cls, tool: str = "", pack_root: str = "", symbols: int = 0) -> Unchanged: ...
    @property
    def tool(self) -> str:
        """Who answers."""
    @property
    def pack_root(self) -> str:
        """The root of what the peer has."""
    @property
    def symbols(self) -> int:
        """How many symbols that has."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class GraphStreamEncoder:
    """Writes a graph symbol by symbol; its counts stand at the end.

    Symbols come first, then edges; `close` ends the text, and so does a `with` block that does not
    fail. A call that raises has written nothing.

    Parameters
    ----------
    write : callable
        Is given each piece of the text, a str.
    tool : str
        Who answers.
    token_budget, tokens_used : int
        As in `Payload`.
    pack_root : str
        The identity of the content, where it is known before.
    session : Session, optional
        The session with the peer: symbols that it has are named by their ids, new ones take
        theirs at once and count as delivered when the text ends.
    labeled_counts : bool
        Whether the counts of the last line have labels.
    dangling, allow_unicode, locations
        As in `encode`.

    Raises
    ------
    GcfError
        `invalid_header_value`, `out_of_range`.

    Source: GCF 3.6 sections 8 and 11.
    """

    def __new__(
        cls,
        write: Callable[[str], object],
        /,
        tool: str = "",
        *,
        token_budget: int = 0,
        tokens_used: int = 0,
        pack_root: str = "",
        session: Session | None = None,
        labeled_counts: bool = False,
        dangling: Literal["error", "drop"] = "error",
        allow_unicode: bool = False,
        locations: bool = True,
    ) -> GraphStreamEncoder: ...
    def write_symbol(self, symbol: Symbol, /) -> None:
        """Write a symbol.

        Parameters
        ----------
        symbol : Symbol
            The symbol.

        Raises
        ------
        GcfError
            As `encode`; `invalid_line` behind the first edge or the end, and when the session was
            reset meanwhile.
        """
    def write_edge(self, edge: Edge, /) -> None:
        """Write an edge between symbols that were written.

        Parameters
        ----------
        edge : Edge
            The edge.

        Raises
        ------
        GcfError
            As `encode`; `invalid_line` behind the end.
        """
    def close(self) -> None:
        """Write the locations and the last line; again, nothing."""
    def __enter__(self) -> GraphStreamEncoder: ...
    def __exit__(self, kind: object, value: object, traceback: object, /) -> None: ...

def encode(
    payload: Payload,
    /,
    *,
    dangling: Literal["error", "drop"] = "error",
    allow_unicode: bool = False,
    locations: bool = True,
) -> str:
    """Write a payload as text of the graph profile, for a language model to read.

    Parameters
    ----------
    payload : Payload
        The payload. Signatures and components have no place in this text, and scores have two
        decimals: that is the format, not an error. GCB and JSON carry them.
    dangling : {"error", "drop"}
        What happens to an edge whose end is not among the symbols.
    allow_unicode : bool
        Whether names may be other than ASCII. Readers take them; the grammar forbids to write them.
    locations : bool
        Whether locations are written. Readers of GCF before 3.6 refuse them.

    Returns
    -------
    str
        The canonical text.

    Raises
    ------
    GcfError
        With the path to the symbol or edge: `invalid_graph_name`, `not_finite`, `out_of_range`,
        `duplicate_symbol`, `dangling_edge`, `invalid_header_value`.

    Source: GCF 3.6 sections 9 and 16.1.
    """

def decode(text: str | bytes | bytearray | memoryview, /) -> Payload | DeltaPayload | Unchanged:
    """Read a text of the graph profile.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        The text; bytes are UTF-8.

    Returns
    -------
    Payload, DeltaPayload or Unchanged
        What the text says that it is.

    Raises
    ------
    GcfError
        With `code`, `line` and `column`: the text breaks a rule, and which.

    Warns
    -----
    UserWarning
        A group of a later version was skipped.

    Source: GCF 3.6 sections 9, 10 and 16.
    """

def pack_root(payload: Payload, /) -> str:
    """The identity of a graph, whatever the order of its symbols and edges.

    Parameters
    ----------
    payload : Payload
        Kinds, names, scores, provenances, distances and edges count; nothing else does.

    Returns
    -------
    str
        "sha256:" and 64 hexadecimal digits.

    Raises
    ------
    GcfError
        `dangling_edge` and `duplicate_symbol` for an edge whose end is no symbol, or more than one.

    Source: GCF 3.6 section 10 (gcf-pack-root-v1).
    """

def snapshot(payload: Payload, /) -> Payload:
    """A payload as both sides of deltas hold it.

    Parameters
    ----------
    payload : Payload
        The payload.

    Returns
    -------
    Payload
        Scores have the two decimals that a text shows, and `pack_root` is computed after that.

    Raises
    ------
    GcfError
        As `pack_root`.

    Source: GCF 3.6 section 10.
    """

def diff(base: Payload, new: Payload, /) -> DeltaPayload:
    """What changes one snapshot into another.

    Parameters
    ----------
    base, new : Payload
        Two payloads, as `snapshot` makes them.

    Returns
    -------
    DeltaPayload
        A symbol whose score, provenance or distance changed goes and comes.

    Raises
    ------
    GcfError
        As `pack_root`; `duplicate_symbol` where no delta can say the change.

    Source: GCF 3.6 section 10.
    """

def encode_delta(
    delta: DeltaPayload, /, *, allow_unicode: bool = False, locations: bool = True
) -> str:
    """Write a delta as text.

    Parameters
    ----------
    delta : DeltaPayload
        The delta. `savings` is written where `full_tokens` is known.
    allow_unicode, locations : bool
        As in `encode`.

    Returns
    -------
    str
        The canonical text.

    Raises
    ------
    GcfError
        As `encode`, and for an empty root.

    Source: GCF 3.6 sections 10 and 16.1.
    """

def apply_delta(
    base: Payload, delta: DeltaPayload | str | bytes | bytearray | memoryview, /
) -> Payload:
    """What a snapshot becomes by a delta; the snapshot itself does not change.

    Parameters
    ----------
    base : Payload
        What the delta is for.
    delta : DeltaPayload, str, bytes, bytearray or memoryview
        The delta, or its text.

    Returns
    -------
    Payload
        The new snapshot, whose root was verified.

    Raises
    ------
    GcfError
        `base_mismatch` for another base, `delta_invalid` for a change that the base does not allow,
        `root_mismatch` for a result that is not what the delta says; for a text, as `decode`.

    Source: GCF 3.6 section 10.
    """

def encode_unchanged(payload: Payload, /) -> str:
    """Say that what the peer has is still right.

    Parameters
    ----------
    payload : Payload
        What the peer has, with its `pack_root`.

    Returns
    -------
    str
        The text, one line.

    Raises
    ------
    GcfError
        `invalid_header_value`: no root, or a text that a header cannot hold.

    Source: GCF 3.6 section 10.
    """

def respond(
    payload: Payload,
    /,
    peer_root: str | None = None,
    *,
    snapshots: Mapping[str, Payload] | None = None,
    count_tokens: Callable[[str], int] | None = None,
    dangling: Literal["error", "drop"] = "error",
    allow_unicode: bool = False,
    locations: bool = True,
) -> tuple[Literal["unchanged", "delta", "full"], str, Payload]:
    """Answer a peer with the least that it needs.

    Parameters
    ----------
    payload : Payload
        What the peer shall have.
    peer_root : str, optional
        The root of what it has, as it says.
    snapshots : mapping of str to Payload, optional
        Snapshots that were sent before, by their roots. The caller keeps them: add the one that is
        returned.
    count_tokens : callable, optional
        How many tokens a text has; by default the heuristic of `gcf.count_tokens`. A delta is sent
        when it has fewer than 0.6 of the full text's.
    dangling, allow_unicode, locations
        As in `encode`.

    Returns
    -------
    tuple of (str, str, Payload)
        "unchanged", "delta" or "full", for what the text says; the text to send; the snapshot that
        the peer then has.

    Raises
    ------
    GcfError
        As `pack_root` and `encode`.

    Source: GCF 3.6 section 10.
    """

def count_tokens(text: str, /) -> int:
    """How many tokens a text has, by a heuristic that needs no tokenizer.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    int
        Runs of ASCII letters, digits, "_" and "." count 1, and so does every other character but
        space, tab and line ends. Punctuation weighs more than with a real tokenizer.

    Source: wire codecs, "Benchmark Harness".
    """
