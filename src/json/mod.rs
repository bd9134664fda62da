//! JSON as RFC 8259 has it, without the freedoms that lose data or let two readers disagree.
//!
//! [`read`] tells a text to a [`Sink`], [`parse`] makes a [`Value`] of it; [`write`] is canonical:
//! the same value always has the same bytes, those of Python's
//! `json.dumps(value, sort_keys=True, separators=(",", ":"))`.
//!
//! # Where this is stricter than RFC 8259 asks
//! - A member name that comes twice in one object is an error, compared after unescaping.
//! - Integers are exact, however long (up to [`Limits::max_digits`]); a number with a fraction or an
//!   exponent is a double, and one that rounds to infinity is an error.
//! - Escaped surrogates come in pairs: a lone one is an error.
//! - Containers nest at most [`Limits::max_depth`] deep, and no call nests with them.

mod read;
mod write;
mod writer;

pub use crate::text::quoted::{Escape, write as write_string};
pub use read::{
    Error, Limits, Problem, ReadError, parse, parse_borrowed, parse_prefix, read, skip, validate,
};
pub use write::{write, write_float, write_in_order};
pub use writer::Writer;
