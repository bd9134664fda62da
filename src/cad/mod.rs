//! CAD IR: vcad documents as JSON, as compact text, and as bytes.
//!
//! ```text
//! file   = { [ statement ] [ "#" comment ] LF }
//! statement = [ "$" name "=" ] opcode argument...      one node, numbered from 0
//!           | directive argument...                    anything but a node
//! ```
//!
//! | line | meaning |
//! |---|---|
//! | `C 50 30 5` | a cube |
//! | `Y 5 10` | a cylinder, radius 5, height 10 |
//! | `T 1 25 15 0` | node 1, translated |
//! | `D 0 2` | node 0 minus node 2 |
//!
//! ```
//! use compactwire::cad::{self, Dialect};
//!
//! let document = cad::read_text("C 50 30 5\nY 5 10\nT 1 25 15 0\nD 0 2", Dialect::Auto).unwrap();
//! assert_eq!(document.nodes.len(), 4);
//! let error = cad::read_text("C 50 30 5\nD 0 2", Dialect::Auto).unwrap_err();
//! assert_eq!(error.to_string(), "line 2, column 5: node 2 referenced but only 1 nodes defined");
//! ```
//!
//! # Dialects
//! Dialect 0.1 is the one of the specification, for language models to write. It holds only the
//! geometry. Dialect 0.2 is the one that the public program vcad reads and writes. A header line
//! selects it. With its extension x1 it holds every document without loss.
//!
//! # Modules
//! Each module imports only those before it in this list; a test of the architecture checks that.
//!
//! - `error`: the error types.
//! - `model`: the document types and the tables of operations and kinds.
//! - `json`: reads, repairs and writes JSON documents.
//! - `text`: reads, checks and writes compact text in both dialects.
//! - [`binary`]: reads and writes the binary form.
//! - `hybrid`: reads and writes JSON with compact text inside, and detects the format of a file.
//!
//! # Where we differ
//! The specification contradicts itself in places; `docs/cad.md` lists each decision with its
//! reason. Among them: only lines that define a node are numbered, ids in any order are renumbered,
//! and every error has a column.

pub mod binary;
mod error;
mod hybrid;
mod json;
mod model;
mod text;

pub use binary::{MAX_EXPANSION, read_binary, read_binary_within, write_binary};
pub use error::{BinaryError, DocumentError, Error, ParseError};
pub use hybrid::{
    LoadOptions, emit_hybrid, load, load_with, read_hybrid, read_hybrid_text, read_json_lossy,
    read_json_text, read_json_text_kept,
};
pub use json::{
    Repair, emit_document, emit_node, emit_without_nodes, names, read_json, read_json_kept, repair,
    write_json,
};
pub use model::{
    Align, Arc, Background, Camera, Document, Effect, Environment, EnvironmentSource, Extra,
    Instance, Joint, Light, Material, Node, Op, OpCode, OpDetails, Part, Post, Root, Scene,
    Sections, Segment, V2, V3,
};
pub use text::{
    Dialect, Loss, Losses, MAX_LINE, Options, Stream, check, emit_text, losses, losses_for_vcad,
    read_bytes, read_text, write_for_vcad, write_v0_1, write_v0_1_from, write_v0_2,
    write_v0_2_from,
};
