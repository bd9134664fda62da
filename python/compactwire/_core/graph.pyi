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
    """The components of a score.

    Parameters
    ----------
    blast_radius, confidence, recency, distance : float
        The components: graph impact, confidence in the edges, recency and proximity.

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
        """The impact on the graph: how much depends on the symbol."""
    @property
    def confidence(self) -> float:
        """The confidence in the edges of the symbol."""
    @property
    def recency(self) -> float:
        """How recent the symbol is."""
    @property
    def distance(self) -> float:
        """How close the symbol is to the target."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Location(_Record):
    """The source location of a symbol; lines and columns count from 1.

    Parameters
    ----------
    file : str
        The file.
    line, column : int
        The start.
    end_line, end_column : int, optional
        The end; both or neither.

    Raises
    ------
    EncodeError
        A number is below 1, or only one of `end_line` and `end_column` is passed.

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
        """The last line; None if unknown."""
    @property
    def end_column(self) -> int | None:
        """The column of the end; None if unknown."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Symbol(_Record):
    """A symbol of a program, with its relevance to the request.

    Immutable; equal if all fields are equal.

    Parameters
    ----------
    qualified_name : str
        The name, including the package.
    kind : str
        The kind: "function", "type", "method", "interface", ... or any other word.
    score : float
        The relevance.
    provenance : str
        How the symbol was found: "lsp_resolved", "ast_inferred", ...
    distance : int
        The number of edges between the symbol and the target: 0 target, 1 related, 2 and more
        extended.
    signature : str
        The signature; may be empty.
    components : Components or dict, optional
        The components of the score.
    location : Location or dict, optional
        The source location.

    Raises
    ------
    EncodeError
        A string has a lone surrogate, or an int exceeds 64 bits.

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
        """The name, including the package."""
    @property
    def kind(self) -> str:
        """The kind of the symbol."""
    @property
    def score(self) -> float:
        """The relevance."""
    @property
    def provenance(self) -> str:
        """How the symbol was found."""
    @property
    def distance(self) -> int:
        """The number of edges between the symbol and the target."""
    @property
    def signature(self) -> str:
        """The signature; may be empty."""
    @property
    def components(self) -> Components:
        """The components of the score."""
    @property
    def location(self) -> Location | None:
        """The source location; None if unknown."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Edge(_Record):
    """A directed edge between two symbols of a payload, given by their names.

    Immutable; equal if all fields are equal.

    Parameters
    ----------
    source, target : str
        The qualified names of the symbols where the edge begins and ends.
    edge_type : str
        The type: "calls", "imports", "implements", ...
    status : str
        "added", "removed" or "unchanged" in a difference; otherwise empty.

    Raises
    ------
    EncodeError
        A string has a lone surrogate.

    Source: wire codecs, "Edge".
    """

    __match_args__: Final = ("source", "target", "edge_type", "status")
    def __new__(cls, source: str, target: str, edge_type: str, status: str = "") -> Edge: ...
    @property
    def source(self) -> str:
        """The name of the symbol where the edge begins."""
    @property
    def target(self) -> str:
        """The name of the symbol where the edge ends."""
    @property
    def edge_type(self) -> str:
        """The type of the edge."""
    @property
    def status(self) -> str:
        """The status in a difference; otherwise empty."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Payload(_Record):
    """The result of a tool: symbols, and the edges between them.

    Immutable; equal if all fields are equal.

    Parameters
    ----------
    tool : str
        The tool that produced the payload.
    tokens_used, token_budget : int
        The number of tokens that the context uses, and the number available.
    pack_root : str
        The identity of the content, as returned by `pack_root`; may be empty.
    symbols : iterable of Symbol or dict
        The symbols.
    edges : iterable of Edge or dict
        The edges.

    Raises
    ------
    EncodeError
        A string has a lone surrogate, or an int exceeds 64 bits.

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
        """The tool that produced the payload."""
    @property
    def tokens_used(self) -> int:
        """The number of tokens that the context uses."""
    @property
    def token_budget(self) -> int:
        """The number of tokens available."""
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
    """The changes from one payload to another.

    Immutable; equal if all fields are equal. `full_tokens` is 0 in a decoded delta, because the
    text does not contain it.

    Parameters
    ----------
    tool : str
        The tool that produced the payload.
    base_root, new_root : str
        The roots of the payloads before and after the delta.
    removed, added : iterable of Symbol or dict
        Removed symbols, identified by kind and name, and added symbols.
    removed_edges, added_edges : iterable of Edge or dict
        Removed and added edges.
    delta_tokens, full_tokens : int
        The number of tokens of the delta and of the whole payload; 0 if unknown.

    Raises
    ------
    EncodeError
        A string has a lone surrogate, or an int exceeds 64 bits.

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
        """The tool that produced the payload."""
    @property
    def base_root(self) -> str:
        """The root of the payload before the delta."""
    @property
    def new_root(self) -> str:
        """The root of the payload after the delta."""
    @property
    def removed(self) -> tuple[Symbol, ...]:
        """The removed symbols."""
    @property
    def added(self) -> tuple[Symbol, ...]:
        """The added symbols."""
    @property
    def removed_edges(self) -> tuple[Edge, ...]:
        """The removed edges."""
    @property
    def added_edges(self) -> tuple[Edge, ...]:
        """The added edges."""
    @property
    def delta_tokens(self) -> int:
        """The number of tokens of the delta; 0 if unknown."""
    @property
    def full_tokens(self) -> int:
        """The number of tokens of the whole payload; 0 if unknown."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Unchanged(_Record):
    """The message that the peer's snapshot is still current.

    Parameters
    ----------
    tool : str
        The tool that produced the payload.
    pack_root : str
        The root of the peer's snapshot.
    symbols : int
        The number of symbols of the snapshot.

    Source: GCF 3.6 section 10.
    """

    def __new__(cls, tool: str = "", pack_root: str = "", symbols: int = 0) -> Unchanged: ...
    @property
    def tool(self) -> str:
        """The tool that produced the payload."""
    @property
    def pack_root(self) -> str:
        """The root of the peer's snapshot."""
    @property
    def symbols(self) -> int:
        """The number of symbols of the snapshot."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class GraphStreamEncoder:
    """Writes a graph symbol by symbol, with the counts at the end.

    Write all symbols first, then the edges. `close` ends the text, and so does leaving a `with`
    block without an exception. A call that raises writes nothing. If `write` itself raises, the
    text is incomplete: every later call raises, and the session counts nothing as delivered.
    Thread-safe.

    Parameters
    ----------
    write : callable
        Called with each piece of the text, a str.
    tool : str
        The tool that produced the payload.
    token_budget, tokens_used : int
        As in `Payload`.
    pack_root : str
        The identity of the content, if it is known in advance.
    session : Session, optional
        The session with the peer. Symbols that the peer has are referred to by id; new symbols get
        their ids immediately and count as delivered when the text ends.
    labeled_counts : bool
        Whether the last line labels the counts.
    dangling, allow_unicode, locations
        As in `encode`.

    Raises
    ------
    GcfError
        `invalid_header_value`, `out_of_range`; `invalid_line` for a call by `write` itself.

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
            As `encode`; `invalid_line` after the first edge, after the end, or if the session was
            reset in the meantime.
        """
    def write_edge(self, edge: Edge, /) -> None:
        """Write an edge between symbols already written.

        Parameters
        ----------
        edge : Edge
            The edge.

        Raises
        ------
        GcfError
            As `encode`; `invalid_line` after the end, or if the session was reset in the meantime.
        """
    def close(self) -> None:
        """Write the locations and the last line; a second call does nothing.

        Raises
        ------
        GcfError
            `invalid_line` if `write` raised before, or the session was reset: the text is
            incomplete.
        """
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
    """Encode a payload as text of the graph profile, which language models can read.

    Parameters
    ----------
    payload : Payload
        The payload. The format does not contain signatures and components, and it rounds scores to
        two decimals. GCB and JSON contain all of them.
    dangling : {"error", "drop"}
        Whether an edge whose source or target is not among the symbols is an error or is dropped.
    allow_unicode : bool
        Whether names may contain non-ASCII characters. Readers accept them, but the grammar does
        not allow writers to use them.
    locations : bool
        Whether locations are written. gcf-python 2.8 and crate gcf 3.1 reject them.

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
    """Decode a text of the graph profile.

    Parameters
    ----------
    text : str, bytes, bytearray or memoryview
        The text; bytes are UTF-8.

    Returns
    -------
    Payload, DeltaPayload or Unchanged
        The content, of the type that the header names.

    Raises
    ------
    GcfError
        The text is invalid; `code`, `line` and `column` say why and where.

    Warns
    -----
    UserWarning
        The text has an unknown group, which was skipped; or not as many symbols or edges as its
        header counts: it may have been cut between two groups.

    Source: GCF 3.6 sections 9, 10 and 16.
    """

def pack_root(payload: Payload, /, *, max_expansion: int = 268435456) -> str:
    """Compute the pack root of a graph: its identity, whatever the order of symbols and edges.

    Parameters
    ----------
    payload : Payload
        The payload. The root depends on kinds, names, scores, provenances, distances and edges
        only.
    max_expansion : int
        The largest size in bytes of the names in all edges, counted once per edge; 256 MiB by
        default.

    Returns
    -------
    str
        "sha256:" and 64 hexadecimal digits.

    Raises
    ------
    GcfError
        `dangling_edge` if the source or target of an edge is not a symbol, `duplicate_symbol` if
        several symbols have its name; `limit_exceeded` if the names in the edges take more than
        `max_expansion`.

    Source: GCF 3.6 section 10 (gcf-pack-root-v1).
    """

def snapshot(payload: Payload, /, *, max_expansion: int = 268435456) -> Payload:
    """Normalize a payload to the form on which deltas are based.

    Parameters
    ----------
    payload : Payload
        The payload.
    max_expansion : int
        As in `pack_root`.

    Returns
    -------
    Payload
        The payload with scores rounded to two decimals, as in a text, and with the `pack_root` of
        the result.

    Raises
    ------
    GcfError
        As `pack_root`.

    Source: GCF 3.6 section 10.
    """

def diff(base: Payload, new: Payload, /, *, max_expansion: int = 268435456) -> DeltaPayload:
    """Compute the delta from one snapshot to another.

    Parameters
    ----------
    base, new : Payload
        Two payloads that `snapshot` returned.
    max_expansion : int
        As in `pack_root`, for each of the two payloads.

    Returns
    -------
    DeltaPayload
        The delta. A symbol whose score, provenance or distance changed is both removed and added.
        Other changes, such as the status of an edge, are not in it.

    Raises
    ------
    GcfError
        As `pack_root`; `duplicate_symbol` if no delta can express the change.

    Source: GCF 3.6 section 10.
    """

def encode_delta(
    delta: DeltaPayload,
    /,
    *,
    allow_unicode: bool = False,
    locations: bool = True,
    max_expansion: int = 268435456,
) -> str:
    """Encode a delta as text.

    Parameters
    ----------
    delta : DeltaPayload
        The delta. `savings` is written if `full_tokens` is not 0.
    allow_unicode, locations : bool
        As in `encode`.
    max_expansion : int
        The largest size in bytes of the names in all removed edges, and of those in all added
        edges, which the text contains once per edge; 256 MiB by default.

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
    base: Payload,
    delta: DeltaPayload | str | bytes | bytearray | memoryview,
    /,
    *,
    max_expansion: int = 268435456,
) -> Payload:
    """Apply a delta to a snapshot and return the new snapshot.

    Parameters
    ----------
    base : Payload
        The snapshot that the delta starts from; it is not changed.
    delta : DeltaPayload, str, bytes, bytearray or memoryview
        The delta, or its text.
    max_expansion : int
        As in `pack_root`, for each of the base, the delta and the result.

    Returns
    -------
    Payload
        The new snapshot, with its root verified.

    Raises
    ------
    GcfError
        `base_mismatch` if the delta is for another base, `delta_invalid` if the delta contradicts
        the base, `root_mismatch` if the result does not have the root in the delta; for a text, as
        `decode`.

    Source: GCF 3.6 section 10.
    """

def encode_unchanged(payload: Payload, /) -> str:
    """Encode the message that the peer's snapshot is still current.

    Parameters
    ----------
    payload : Payload
        The snapshot that the peer has, with its `pack_root`.

    Returns
    -------
    str
        The text: one line.

    Raises
    ------
    GcfError
        `invalid_header_value`: the root is empty, or a header cannot contain a string.

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
    max_expansion: int = 268435456,
) -> tuple[Literal["unchanged", "delta", "full"], str, Payload]:
    """Encode the shortest text that updates a peer.

    It updates what the root covers (see `pack_root`): the status of an edge, or a location, is no
    reason for a delta.

    Parameters
    ----------
    payload : Payload
        The payload to send.
    peer_root : str, optional
        The root of the peer's snapshot, as reported by the peer.
    snapshots : mapping of str to Payload, optional
        Snapshots sent before, by root. The caller keeps them: add the returned snapshot.
    count_tokens : callable, optional
        Returns the number of tokens of a str; by default `gcf.count_tokens`. A delta is sent if it
        has fewer than 0.6 times the tokens of the full text.
    dangling, allow_unicode, locations
        As in `encode`.
    max_expansion : int
        As in `pack_root`.

    Returns
    -------
    tuple of (str, str, Payload)
        The kind of the text ("unchanged", "delta" or "full"), the text to send, and the snapshot
        that the peer will then have.

    Raises
    ------
    GcfError
        As `pack_root` and `encode`.

    Source: GCF 3.6 section 10.
    """

def count_tokens(text: str, /) -> int:
    """Estimate the number of tokens of a text without a tokenizer.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    int
        A run of ASCII letters, digits, "_" and "." counts 1, and so does every other character
        except space, tab and line ends. Punctuation counts more than with a real tokenizer.

    Source: wire codecs, "Benchmark Harness".
    """
