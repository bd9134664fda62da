//! Strict JSON (RFC 8259): the reader rejects text that loses data or that other readers interpret
//! differently.
//!
//! [`read`] emits a text's events to a [`Sink`](crate::walk::Sink), [`parse`] returns a
//! [`Value`](crate::value::Value), and [`Members`] reads an object's members one by one. [`write()`] is
//! canonical: the same value always has the same bytes, those of Python's
//! `json.dumps(value, sort_keys=True, separators=(",", ":"))`. [`mod@pointer`] is JSON Pointer.
//!
//! # Where we are stricter than RFC 8259
//! - A duplicate key in one object is an error. Keys are compared after unescaping.
//! - Integers are exact, however long (up to [`Limits::max_digits`]); a number with a fraction or an
//!   exponent is a double, and one that rounds to infinity is an error.
//! - A lone surrogate in an escape is an error.
//! - Containers nest at most [`Limits::max_depth`] deep. No function recurses with them.

mod keys;
mod members;
pub mod pointer;
mod read;
mod write;
mod writer;

use crate::text::scan::count;

pub use crate::text::quoted::{Escape, write as write_string};
pub use members::Members;
pub use read::{
    Error, Limits, Problem, ReadError, parse, parse_borrowed, parse_prefix, read, read_all, skip,
    validate,
};
pub use write::{write, write_float, write_in_order};
pub use writer::Writer;

/// An upper bound on the memory for the [`Value`] of a text and the result made from it, in bytes. The number
/// of values is estimated from the commas and brackets of the text.
///
/// [`Value`]: crate::value::Value
pub fn memory_of(text: &[u8]) -> usize {
    let values = count(text, |byte| matches!(byte, b',' | b'[' | b'{'));
    values.saturating_mul(VALUE_SIZE).saturating_add(text.len().saturating_mul(TEXT_FACTOR))
}

/// The bytes of memory for a value: an object of one member, its key, and the node or record made from it.
const VALUE_SIZE: usize = 256;
/// The bytes of memory for each byte of a string: a copy, and a text in which it is written with escapes.
const TEXT_FACTOR: usize = 8;
