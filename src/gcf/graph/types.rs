//! The data model of graphs: payloads, symbols, edges and deltas.
//!
//! The types accept any value. What a format cannot represent is an error of its encoder.

use super::shared_str::SharedStr;

/// The result of a tool: symbols, and the edges between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Payload {
    /// The tool that produced the payload.
    pub tool: SharedStr,
    /// The number of tokens that the context takes.
    pub tokens_used: i64,
    /// The number of tokens that the context may take.
    pub token_budget: i64,
    /// The hash of the content, as [`pack_root`](super::pack_root) computes it; empty if unknown.
    pub pack_root: SharedStr,
    /// The symbols.
    pub symbols: Vec<Symbol>,
    /// The edges.
    pub edges: Vec<Edge>,
}

impl Payload {
    /// The approximate size in bytes of the payload as text or GCB.
    pub fn size(&self) -> usize {
        size_of_symbols(&self.symbols) + EDGE_SIZE * self.edges.len()
    }
}

/// The approximate size in bytes of an edge whose names are written as ids.
const EDGE_SIZE: usize = 64;

fn size_of_symbols(symbols: &[Symbol]) -> usize {
    let texts = |symbol: &Symbol| symbol.qualified_name.len() + symbol.signature.len() + 64;
    symbols.iter().map(texts).sum()
}

/// The number of bytes in the sources and targets of edges.
pub(crate) fn names_size(edges: &[Edge]) -> usize {
    let size = |edge: &Edge| edge.source.len().saturating_add(edge.target.len());
    edges.iter().map(size).fold(0, usize::saturating_add)
}

impl DeltaPayload {
    /// The approximate size in bytes of the delta as text, which has the names of all edges.
    pub fn size(&self) -> usize {
        let edges = |edges: &[Edge]| names_size(edges).saturating_add(EDGE_SIZE * edges.len());
        let symbols = size_of_symbols(&self.removed) + size_of_symbols(&self.added);
        edges(&self.removed_edges).saturating_add(edges(&self.added_edges)).saturating_add(symbols)
    }
}

/// A symbol of a program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Symbol {
    /// The name, including the package.
    pub qualified_name: SharedStr,
    /// `function`, `type`, `method`, …
    pub kind: SharedStr,
    /// The relevance.
    pub score: f64,
    /// The source of the information: `lsp_resolved`, `ast_inferred`, …
    pub provenance: SharedStr,
    /// The number of edges between the symbol and the target of the query.
    pub distance: i64,
    /// The signature; may be empty.
    pub signature: SharedStr,
    /// The components of the score.
    pub components: Components,
    /// The place of the declaration.
    pub location: Option<Box<Location>>,
}

impl Symbol {
    /// Creates a symbol at distance 0, without signature, components and location.
    pub fn new(
        qualified_name: impl Into<SharedStr>,
        kind: impl Into<SharedStr>,
        score: f64,
        provenance: impl Into<SharedStr>,
    ) -> Self {
        Self {
            qualified_name: qualified_name.into(),
            kind: kind.into(),
            score,
            provenance: provenance.into(),
            ..Self::default()
        }
    }
}

/// The components of a score.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Components {
    /// How much code depends on the symbol.
    pub blast_radius: f64,
    /// How reliable the symbol's edges are.
    pub confidence: f64,
    /// How recently the symbol changed.
    pub recency: f64,
    /// How close the symbol is to the target of the query.
    pub distance: f64,
}

impl Components {
    /// The names of the components, in the order of the specification.
    pub const NAMES: [&str; 4] = ["blast_radius", "confidence", "recency", "distance"];

    /// The values, in the order of [`Components::NAMES`].
    pub fn values(self) -> [f64; 4] {
        [self.blast_radius, self.confidence, self.recency, self.distance]
    }
}

impl From<[f64; 4]> for Components {
    fn from([blast_radius, confidence, recency, distance]: [f64; 4]) -> Self {
        Self { blast_radius, confidence, recency, distance }
    }
}

/// The place where a symbol is declared; all numbers count from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file.
    pub file: SharedStr,
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
    /// The line and column of the end.
    pub end: Option<(u64, u64)>,
}

/// A directed edge between two symbols, which it refers to by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The qualified name of the source symbol.
    pub source: SharedStr,
    /// The qualified name of the target symbol.
    pub target: SharedStr,
    /// `calls`, `imports`, …
    pub edge_type: SharedStr,
    /// `added`, `removed` or `unchanged` in a difference, otherwise empty.
    pub status: SharedStr,
}

impl Edge {
    /// Creates an edge without a status.
    pub fn new(source: &str, target: &str, edge_type: &str) -> Self {
        Self {
            source: source.into(),
            target: target.into(),
            edge_type: edge_type.into(),
            status: SharedStr::default(),
        }
    }
}

/// The difference between two payloads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeltaPayload {
    /// The tool that produced the delta.
    pub tool: SharedStr,
    /// The `pack_root` of the payload that the peer has.
    pub base_root: SharedStr,
    /// The `pack_root` of the payload after the delta is applied.
    pub new_root: SharedStr,
    /// Removed symbols; only their kind and name matter.
    pub removed: Vec<Symbol>,
    /// Added symbols.
    pub added: Vec<Symbol>,
    /// Removed edges.
    pub removed_edges: Vec<Edge>,
    /// Added edges.
    pub added_edges: Vec<Edge>,
    /// The number of tokens of this delta; 0 if unknown.
    pub delta_tokens: i64,
    /// The number of tokens of the full payload; 0 if unknown.
    pub full_tokens: i64,
}
