//! Documents as JSON: reading, writing, and repairing what is nearly valid.
//!
//! `source` is the interface to any tree of JSON-like values, `object` reads typed members with a path
//! for errors, `read` and `read_sections` build the document, `write` emits its events, and
//! `write_text` and `repair` work on JSON text.

pub(crate) mod extra;
pub(crate) mod object;
pub(crate) mod read;
pub(crate) mod read_sections;
pub(crate) mod repair;
pub(crate) mod source;
pub(crate) mod write;
pub(crate) mod write_text;

pub use extra::tell_document;
pub use read::{read_json, read_json_kept};
pub use repair::{Repair, repair};
pub use source::{Shape, Source, double};
pub use write::{tell_node, tell_rest};
pub use write_text::write_json;
