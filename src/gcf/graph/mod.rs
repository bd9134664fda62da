//! Graph payloads: symbols, the edges between them, and what changed since last time (GCF 3.6
//! sections 9 to 11 and 16).
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
//! A group for each distance, nearest first; within it the best score first. A line is
//! `@id kind name score provenance`, an edge `@target<@source type`, and a status where it has one.
//!
//! ```
//! use compactwire::gcf::graph::{self, Edge, Payload, Symbol};
//!
//! let symbol = |name: &str, kind: &str| Symbol {
//!     qualified_name: name.into(),
//!     kind: kind.into(),
//!     score: 0.5,
//!     provenance: "lsp".into(),
//!     ..Symbol::default()
//! };
//! let payload = Payload {
//!     symbols: vec![symbol("a.f", "function"), symbol("a.T", "type")],
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
//! # What a text does not carry
//! Signatures and components have no place in it, and scores have two decimals. That is the format:
//! it is for readers who pay by the token. GCB and JSON (`wire`) carry them.
//!
//! # Invariants
//! - The same payload always has the same text; what is read and written again is the same text.
//! - A symbol is its kind and its name. Everything else about it may change under the same id.
//! - An edge whose end is not there, a name that a line cannot hold, two symbols that cannot be told
//!   apart: an error that names them, never a line less.
//!
//! # Rooms
//! `types` is what all know, `linked` a payload that does not change any more; `encode` and `decode` are
//! mirror images, each with a quick way for what is usual and the rules for the rest; `names` says what
//! a line can hold; `root` hashes, `delta` compares and applies, `respond` chooses between them; `table`
//! is what two sides of a session have in common; `stream` writes symbol by symbol; `vocabulary` has the
//! words of the specification.
//!
//! # Where we differ
//! Where GCF 3.6 is silent: two symbols may share a name until an edge has to tell them apart; new ids
//! of a session are given in the order of the text; trailers' `counts` are not checked.

mod check;
mod decode;
mod delta;
mod encode;
mod header;
mod index;
mod resolved;
mod respond;
mod root;
mod score;
mod session_table;
mod shared_text;
mod state;
mod stream;
mod types;
pub(crate) mod vocabulary;

pub use decode::{Content, Decoded, Unchanged, decode, decode_in};
pub use delta::{apply, diff, encode_delta, snapshot};
pub use encode::{Dangling, EncodeOptions, encode, encode_in};
pub use resolved::Linked;
pub use respond::{Answer, Outcome, count_tokens, encode_unchanged, respond};
pub use root::{canonical_bytes, pack_root};
pub use session_table::{KnownSymbol, SentState, SentSymbols, SymbolTable, TableLimits};
#[cfg(feature = "wire")]
pub(crate) use shared_text::Whole;
pub use state::StateError;
pub use stream::{StreamEncoder, StreamOptions};
pub use types::{Components, DeltaPayload, Edge, Location, Payload, Symbol, Text};
