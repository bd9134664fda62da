//! What a graph payload is: the nouns of the specification, owned, cheap to copy.
//!
//! Invariant: none. A payload may hold what a format cannot carry; the format says so.

use super::resolved::Links;
use super::shared_text::Release;
pub use super::shared_text::Text;

/// What a tool answers with: symbols, and the edges between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Payload {
    /// Who answers.
    pub tool: Text,
    /// How many tokens the context took.
    pub tokens_used: i64,
    /// How many it might take.
    pub token_budget: i64,
    /// The identity of the content, as `pack_root` makes it; empty for none.
    pub pack_root: Text,
    /// The symbols.
    pub symbols: Vec<Symbol>,
    /// The edges.
    pub edges: Vec<Edge>,
}

impl Payload {
    /// Lets the ends of edges be the very texts of the symbols that they name: it takes less memory,
    /// and who resolves them finds them by where they stand.
    pub fn share(&mut self) {
        Links::new(self).share(self);
    }

    /// About how many bytes it is as text or GCB.
    pub fn size(&self) -> usize {
        let texts = |symbol: &Symbol| symbol.qualified_name.len() + symbol.signature.len() + 64;
        self.symbols.iter().map(texts).sum::<usize>() + 64 * self.edges.len()
    }

    /// Drops it: texts that share a block are counted off together, not each by itself.
    pub(super) fn release(self) {
        let mut release = Release::default();
        for Edge { source, target, edge_type, status } in self.edges {
            for text in [source, target, edge_type, status] {
                release.text(text);
            }
        }
        for symbol in self.symbols {
            let Symbol { qualified_name, kind, provenance, signature, .. } = symbol;
            for text in [qualified_name, kind, provenance, signature] {
                release.text(text);
            }
        }
    }
}

/// A symbol of a program, and why it is here.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Symbol {
    /// Its name, with its package.
    pub qualified_name: Text,
    /// `function`, `type`, `method`, …
    pub kind: Text,
    /// How relevant it is.
    pub score: f64,
    /// How it is known: `lsp_resolved`, `ast_inferred`, …
    pub provenance: Text,
    /// How many edges it is away from what was asked for.
    pub distance: i64,
    /// Its signature; may be empty.
    pub signature: Text,
    /// What the score is made of.
    pub components: Components,
    /// Where it is declared.
    pub location: Option<Box<Location>>,
}

/// What a score is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Components {
    /// How much hangs on the symbol.
    pub blast_radius: f64,
    /// How sure its edges are.
    pub confidence: f64,
    /// How new it is.
    pub recency: f64,
    /// How near it is.
    pub distance: f64,
}

impl Components {
    /// The names, in the order of the specification.
    pub const NAMES: [&str; 4] = ["blast_radius", "confidence", "recency", "distance"];

    /// The values, in the same order.
    pub fn values(self) -> [f64; 4] {
        [self.blast_radius, self.confidence, self.recency, self.distance]
    }
}

impl From<[f64; 4]> for Components {
    fn from([blast_radius, confidence, recency, distance]: [f64; 4]) -> Self {
        Self { blast_radius, confidence, recency, distance }
    }
}

/// Where a symbol is declared; all numbers count from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file.
    pub file: Text,
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
    /// Line and column of the end.
    pub end: Option<(u64, u64)>,
}

/// A directed edge; its ends are named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The qualified name of where it begins.
    pub source: Text,
    /// The qualified name of where it ends.
    pub target: Text,
    /// `calls`, `imports`, …
    pub edge_type: Text,
    /// `added`, `removed`, `unchanged` in a difference; else empty.
    pub status: Text,
}

impl Edge {
    /// An edge without status.
    pub fn new(source: &str, target: &str, edge_type: &str) -> Self {
        Self {
            source: source.into(),
            target: target.into(),
            edge_type: edge_type.into(),
            status: Text::default(),
        }
    }
}

/// What changes one payload into another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeltaPayload {
    /// Who answers.
    pub tool: Text,
    /// The `pack_root` of what the peer has.
    pub base_root: Text,
    /// The `pack_root` of what it will have.
    pub new_root: Text,
    /// Symbols that go: kind and name count.
    pub removed: Vec<Symbol>,
    /// Symbols that come.
    pub added: Vec<Symbol>,
    /// Edges that go.
    pub removed_edges: Vec<Edge>,
    /// Edges that come.
    pub added_edges: Vec<Edge>,
    /// Tokens of this delta; 0 for unknown.
    pub delta_tokens: i64,
    /// Tokens of the whole payload; 0 for unknown.
    pub full_tokens: i64,
}
