//! Strict JSON (RFC 8259): it rejects what would lose data and what different readers read differently.
//!
//! [`read`] emits a text's events to a [`Sink`](crate::walk::Sink), [`parse`] returns a
//! [`Value`](crate::value::Value), and [`Members`] reads an object's members one by one. [`write`] is
//! canonical: the same value always has the same bytes, those of Python's
//! `json.dumps(value, sort_keys=True, separators=(",", ":"))`. [`pointer`] finds a value within another.
//!
//! # Where we are stricter than RFC 8259
//! - A duplicate key in one object is an error. Keys are compared after unescaping.
//! - Integers are exact, however long (up to [`Limits::max_digits`]); a number with a fraction or an
//!   exponent is a double, and one that rounds to infinity is an error.
//! - A lone surrogate in an escape is an error.
//! - Containers nest at most [`Limits::max_depth`] deep. No function recurses with them.

mod members;
pub mod pointer;
mod read;
mod write;
mod writer;

pub use crate::text::quoted::{Escape, write as write_string};
pub use members::Members;
pub use read::{
    Error, Limits, Problem, ReadError, parse, parse_borrowed, parse_prefix, read, read_all, skip,
    validate,
};
pub use write::{write, write_float, write_in_order};
pub use writer::Writer;
