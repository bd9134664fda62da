//! GCF 3.6: the text that language models read best at the fewest tokens.
//!
//! The same value has one text, and what is read is what was written, or it is an error with a code, a
//! line and a column.
//!
//! # Modules
//! `syntax` holds what both profiles share: lines, headers, strings, numbers, scalars and column
//! declarations. `generic` reads and writes whole values, [`rows`] the same text row by row, and
//! [`keyed`] row sets with a primary key and their deltas. [`graph`] is the graph profile. `error` serves
//! all of them.

mod error;
mod generic;
pub mod graph;
pub mod keyed;
mod limits;
pub mod rows;
mod syntax;

pub use bumpalo::Bump;
pub use error::{Code, Error, Place};
pub use generic::{
    Builder, EncodeOptions, KeyId, Node, ReadError, ShapeId, Tree, decode, encode, from_json,
    out_of_range_message, read, to_json, utf8, write,
};
pub use limits::Limits;
