//! GCF 3.6: the text that language models read best at the fewest tokens.
//!
//! The same value has one text, and what is read is what was written, or it is an error with a code, a
//! line and a column.
//!
//! # Rooms
//! `error`, `header`, `line`, `text`, `scalar` and `number` serve both profiles. Of the generic one,
//! `tree` holds a value flat, `columns`, `table` and `row` decide and write its tables, `encode` and
//! `decode` go both ways, `block` and `declare` read the heads of tables; [`stream`] writes rows as they
//! come, [`rows`] reads them so, [`keyed`] are sets with deltas. [`graph`] is the graph profile.

mod block;
mod columns;
mod declare;
mod decode;
mod encode;
mod error;
pub mod graph;
mod header;
pub mod keyed;
mod line;
mod number;
mod row;
pub mod rows;
mod scalar;
pub mod stream;
mod table;
mod text;
mod tree;

pub use decode::{ReadError, decode, read, to_json, utf8};
pub use encode::{EncodeOptions, encode, from_json};
pub use error::{Code, Error, Place};
#[cfg(feature = "python")]
pub(crate) use {
    bumpalo::Bump,
    encode::write,
    tree::{Builder, KeyId, Node, ShapeId, too_large},
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
