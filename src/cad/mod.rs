//! CAD IR: vcad documents as JSON, as compact text, and as bytes.
//!
//! ```text
//! file   = { [ statement ] [ "#" comment ] LF }
//! statement = [ "$" name "=" ] opcode argument...      a node, numbered from 0
//!           | directive argument...                    no node
//! ```
//!
//! | text | means |
//! |---|---|
//! | `C 50 30 5` | a cube |
//! | `Y 5 10` | a cylinder, radius 5, height 10 |
//! | `T 1 25 15 0` | node 1, moved |
//! | `D 0 2` | node 0 without node 2 |
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
//! 0.1 is the specification's, for models to write: the shape and nothing else. 0.2, which a header
//! selects, is the one that files of the public program are in; with its extension x1 it carries every
//! document without loss.
//!
//! # Modules
//! `model` is the document and the one table of operations. `text` reads, checks and writes compact
//! text in both dialects, `json` reads, repairs and writes JSON, and [`binary`] does so for bytes.
//! `hybrid` is JSON with compact text inside, and recognises which of these a file is. `error` serves
//! all of them.
//!
//! # Where we differ
//! The specification contradicts itself in places; what is settled, and why, is a list in
//! `docs/cad.md`: only lines that make a node count, any order of ids is renumbered, columns are told
//! with every error.

pub mod binary;
mod error;
mod hybrid;
mod json;
mod model;
mod text;

pub use binary::{read_binary, write_binary};
pub use error::{BinaryError, DocumentError, Error, ParseError};
pub use hybrid::{
    emit_hybrid, load, load_repaired, read_hybrid, read_hybrid_text, read_json_lossy,
    read_json_text, read_json_text_kept,
};
pub use json::{
    Repair, Shape, Source, double, emit_document, emit_node, emit_without_nodes, names, read_json,
    read_json_kept, repair, write_json,
};
pub use model::{
    Align, Arc, Background, Camera, Document, Effect, Environment, EnvironmentSource, Extra,
    Instance, Joint, Light, Material, Node, Op, OpCode, OpDetails, Part, Post, Root, Scene,
    Sections, Segment, V2, V3,
};
pub use text::{
    Dialect, MAX_LINE, Options, Stream, check, losses, read_bytes, read_text, write_v0_1,
    write_v0_2,
};
