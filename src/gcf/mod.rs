//! GCF 3.6, a text format for language models that represents values in few tokens.
//!
//! A value has exactly one text, and decoding the text returns an equal value. An invalid text is an error
//! with a code, a line and a column.
//!
//! # Modules
//! `syntax` holds what both profiles share: lines, headers, strings, numbers, scalars and column
//! declarations. `generic` reads and writes values, [`rows`] the same texts row by row, and [`keyed`] sets
//! of rows with a primary key and their deltas. [`graph`] is the graph profile. `error` and `limits` are
//! used by all of them.

mod error;
mod generic;
pub mod graph;
pub mod keyed;
mod limits;
pub mod rows;
mod syntax;

pub use bumpalo::Bump;
pub use error::{Code, Error, Place};
#[cfg(feature = "arrow")]
pub(crate) use generic::write_rows;
pub use generic::{
    Builder, DecodeOptions, EncodeOptions, Grouping, Node, ReadError, Tree, decode,
    decode_borrowed, encode, encode_grouped, from_json, out_of_range_message, read, to_json, utf8,
    write, write_grouped, write_walk,
};
#[cfg(feature = "shrink")]
pub(crate) use generic::{KeyId, write_forms};
#[cfg(feature = "arrow")]
pub(crate) use limits::FREE_EXPANSION;
pub use limits::Limits;
#[cfg(feature = "arrow")]
pub(crate) use syntax::{number::put_float, string::put_value};
