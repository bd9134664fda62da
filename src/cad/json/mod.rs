//! Documents as JSON: reading, writing, and repairing nearly valid ones.
//!
//! `object` reads typed members of a [`Source`](crate::walk::Source) with a path for errors. `read`
//! and `read_sections` build a document, `emit` emits its events, `json_text` parses and writes JSON
//! text, and `repair` repairs JSON values. `extra_values` sets and takes values outside the model,
//! and `names` lists the names of the JSON form.

pub(crate) mod emit;
pub(crate) mod extra_values;
pub(crate) mod json_text;
pub(crate) mod names;
pub(crate) mod object;
pub(crate) mod read;
pub(crate) mod read_sections;
pub(crate) mod repair;

pub use emit::{emit_node, emit_without_nodes};
pub use extra_values::emit_document;
pub use json_text::write_json;
pub use names::names;
pub use read::{read_json, read_json_kept};
pub use repair::{Repair, repair};
