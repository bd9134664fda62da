//! Graph payloads: symbols, the edges between them, and deltas between payloads (GCF 3.6 sections 9 to
//! 11 and 16).
//!
//! ```text
//! GCF profile=graph tool=context_for_task budget=5000 tokens=1847 symbols=2 edges=1
//! ## targets
//! @0 fn pkg.Auth 0.78 lsp_resolved
//! ## related
//! @1 iface pkg.Server 0.54 lsp_resolved
//! ## edges [1]
//! @0<@1 calls
//! ```
//!
//! Symbols are grouped by distance, nearest first, and sorted by score within a group, highest first. The
//! line of a symbol is `@id kind name score provenance`; the line of an edge is `@target<@source type`,
//! followed by the status if the edge has one.
//!
//! ```
//! use compactwire::gcf::graph::{self, Edge, Payload, Symbol};
//!
//! let payload = Payload {
//!     symbols: vec![
//!         Symbol::new("a.f", "function", 0.5, "lsp"),
//!         Symbol::new("a.T", "type", 0.5, "lsp"),
//!     ],
//!     edges: vec![Edge::new("a.f", "a.T", "references")],
//!     ..Payload::default()
//! };
//! let text = graph::encode(&payload, Default::default()).unwrap();
//! let lines: Vec<_> = text.lines().collect();
//! assert_eq!(lines[0], "GCF profile=graph symbols=2 edges=1");
//! assert_eq!(lines[2..4], ["@0 fn a.f 0.50 lsp", "@1 type a.T 0.50 lsp"]);
//! assert_eq!(lines[4..], ["## edges [1]", "@1<@0 references"]);
//! assert_eq!(graph::decode(&text).unwrap().content, graph::Content::Payload(payload));
//! ```
//!
//! # What the text leaves out
//! The text has no field for signatures and components, and scores have two decimals: the format is
//! made for language models, where every token costs. GCB and JSON (`wire`) carry signatures,
//! components and scores with more digits.
//!
//! # Invariants
//! - Equal payloads have the same text. Decoding a text and encoding the result returns the same text.
//! - A symbol is identified by its kind and name. All its other fields may change under the same id.
//! - A missing source or target of an edge, a name that cannot be written on a line, and two symbols with
//!   the same kind and name are errors that name the symbol or edge; no line is left out silently.
//!
//! # Modules
//! - `types` is the data model, on the strings of `shared_str`; `resolved` is a payload with resolved
//!   edges; `index` finds symbols by name; `vocabulary` has the predefined words.
//! - `encode` and `decode` write and parse the text. `decode` has a fast path for lines as `encode` writes
//!   them. `check` validates fields, `score` formats and parses scores.
//! - `root` hashes a payload, `delta` compares payloads and applies deltas, `respond` chooses between an
//!   unchanged, a delta and a full response.
//! - `expansion` counts and shares the names that many edges repeat.
//! - `session_table` has the symbol ids that both sides of a session know; `stream` encodes symbol by
//!   symbol; `state` serializes payloads for pickle.
//!
//! # Where we differ
//! Where GCF 3.6 is silent: two symbols may share a name as long as no edge refers to it; new ids of a
//! session are assigned in the order of the text; the `counts` of a trailer are not checked.

mod check;
mod decode;
mod delta;
mod encode;
mod expansion;
mod index;
mod resolved;
mod respond;
mod root;
mod score;
mod session_table;
mod shared_str;
mod state;
mod stream;
mod types;
pub(crate) mod vocabulary;

pub use decode::{Content, Decoded, Unchanged, decode, decode_in, decode_in_with};
pub use delta::{apply, diff, encode_delta, snapshot};
pub use encode::{Dangling, EncodeOptions, encode, encode_in, encode_in_with};
#[cfg(feature = "wire")]
pub(crate) use expansion::{NameMemo, too_large};
pub use resolved::{EdgeLinker, ResolvedPayload};
pub use respond::{Response, ResponseKind, count_tokens, encode_unchanged, respond};
pub use root::{canonical_bytes, pack_root};
pub use session_table::{KnownSymbol, SentState, SentSymbols, SymbolTable, TableLimits};
#[cfg(feature = "wire")]
pub(crate) use shared_str::SharedBuffer;
pub use shared_str::SharedStr;
pub use state::StateError;
pub use stream::{StreamEncoder, StreamOptions};
#[cfg(feature = "wire")]
pub(crate) use types::names_size;
pub use types::{Components, DeltaPayload, Edge, Location, Payload, Symbol};
