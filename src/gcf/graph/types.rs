//! What a graph payload is: the nouns of the specification, owned, cheap to copy.
//!
//! Invariant: none. A payload may hold what a format cannot carry; the format says so.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A text that many may hold; an empty one and a word of the vocabulary take no memory.
#[derive(Clone)]
pub struct Text(Held);

#[derive(Clone)]
enum Held {
    Known(&'static str),
    Shared(Arc<str>),
}

impl Text {
    /// A word that is always there.
    pub const fn known(word: &'static str) -> Self {
        Self(Held::Known(word))
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::known("")
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Held::Known(word) => word,
            Held::Shared(text) => text,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        if text.is_empty() { Self::default() } else { Self(Held::Shared(text.into())) }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

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
