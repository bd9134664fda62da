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
//! # Rooms
//! `ir` is the model and `ops` the one table of operations; `lex` and `text_read` (with `arguments`,
//! `directives`, `scene_lines` and `ids`) read text, `check` (with `suggest`) finds all mistakes of one,
//! `text_write` and `text_sections` write it in the order of `order` unless `refuse` says no, and
//! `extra` is what it carries beyond the model; `source`, `json_read` (with `json_object` and
//! `json_sections`), `json_write` and `json_text` are JSON, which `repair` mends, `binary` is bytes,
//! `hybrid` JSON with text inside; `stream` reads text of any size, `losses` says what a dialect would
//! drop. `names`, `number` and `error` serve all.
//!
//! # Where we differ
//! The specification contradicts itself in places; what is settled, and why, is a list in
//! `docs/cad.md`: only lines that make a node count, any order of ids is renumbered, columns are told
//! with every error.

mod arguments;
pub mod binary;
mod check;
mod directives;
mod error;
mod extra;
mod hybrid;
mod ids;
mod ir;
mod json_object;
mod json_read;
mod json_sections;
mod json_text;
mod json_write;
mod lex;
mod losses;
mod names;
mod number;
mod ops;
mod order;
mod refuse;
mod repair;
mod scene_lines;
mod source;
mod stream;
mod suggest;
mod text_read;
mod text_sections;
mod text_write;

pub use binary::{read_binary, write_binary};
pub use check::check;
pub use error::{BinaryError, DocumentError, Error, ParseError};
pub use hybrid::{
    load, load_repaired, read_hybrid, read_hybrid_text, read_json_lossy, read_json_text,
    read_json_text_kept, tell_hybrid,
};
pub use ir::{
    Align, Arc, Background, Camera, Document, Effect, Environment, Extra, Instance, Joint, Light,
    Material, More, Node, Op, Part, Post, Root, Scene, Sections, Segment, Surroundings, V2, V3,
};
pub use json_read::{read_json, read_json_kept};
pub use json_text::write_json;
pub use json_write::{tell_document, tell_node, tell_rest};
pub use losses::losses;
pub use names::names;
pub use ops::Code;
pub use repair::{Repair, repair};
pub use source::{Shape, Source, double};
pub use stream::{MAX_LINE, Stream};
pub use text_read::{Dialect, read_bytes, read_text};
pub use text_write::{Options, write_first, write_second};
