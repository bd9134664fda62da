//! The generic profile of GCF 3.6: one JSON-like value as one text.
//!
//! `tree` holds a value in a flat form; `encode` writes it, with `table` deciding which arrays become
//! tables. `decode` reads a text, with `block` reading the heads of tables, `columns` what a header
//! declares, and `row` the rows.

pub(crate) mod array;
pub(crate) mod columns;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod row;
pub(crate) mod table;
pub(crate) mod tree;

pub use decode::{ReadError, decode, read, to_json, utf8};
pub use encode::{EncodeOptions, encode, from_json, write};
pub use tree::{Builder, KeyId, Node, ShapeId, Tree, too_large};
