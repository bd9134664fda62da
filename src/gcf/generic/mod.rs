//! The generic profile of GCF 3.6: one JSON-like value as one text.
//!
//! Encoding: `one_pass` writes common values directly. For other values, `tree` holds the value, `table`
//! plans the columns of each table, and `encode` writes the text.
//!
//! Decoding: `decode` reads headers, objects and lists, and `array` the heads and bodies of arrays and keyed
//! tables. `columns` holds the columns of a table; `row` reads its rows and their attachments. `ordinary` is
//! a fast path for common rows.
//!
//! `groups` reads and writes grouped tables, which published writers emit beyond GCF 3.6.

pub(crate) mod array;
pub(crate) mod columns;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod groups;
pub(crate) mod one_pass;
pub(crate) mod ordinary;
pub(crate) mod row;
pub(crate) mod table;
pub(crate) mod tree;

pub use decode::{DecodeOptions, ReadError, decode, decode_borrowed, read, to_json, utf8};
#[cfg(feature = "shrink")]
pub(crate) use encode::write_forms;
pub use encode::{EncodeOptions, encode, from_json, write, write_walk};
pub use groups::write::{Grouping, encode_grouped, write_grouped};
#[cfg(feature = "arrow")]
pub(crate) use one_pass::write_rows;
#[cfg(feature = "shrink")]
pub(crate) use tree::KeyId;
pub use tree::{Builder, Node, Tree, out_of_range_message};
