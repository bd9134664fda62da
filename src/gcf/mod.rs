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
pub mod rows;
mod syntax;

pub use bumpalo::Bump;
pub use error::{Code, Error, Place};
pub use generic::{
    Builder, EncodeOptions, KeyId, Node, ReadError, ShapeId, Tree, decode, encode, from_json, read,
    to_json, too_large, utf8, write,
};

/// What a value or text may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep containers may nest; the root is 1. At most [`Limits::DEEPEST`].
    pub max_depth: usize,
}

impl Limits {
    /// The depth that the native stack is sure to bear.
    pub const DEEPEST: usize = 256;
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 128 }
    }
}
