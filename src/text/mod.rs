//! The parts that several formats share: numbers, quoted strings, hexadecimal digits.
//!
//! # Modules
//! - `codes`: the error codes of a system, and its error.
//! - `block`: finding bytes sixteen at a time.
//! - [`characters`]: the characters of a text in units of one, two or four bytes.
//! - [`decimal`]: a finite double as sign, shortest digits and decimal point.
//! - `digits`: the digits of a small integer, all at once.
//! - [`hex`]: bytes as hexadecimal digits.
//! - [`leb128`]: unsigned integers in as few bytes as they need.
//! - [`output`]: text that grows in memory which the caller provides.
//! - [`quoted`]: quoted strings with escapes.
//! - [`scan`]: finding the first byte of a class, such as those that a quoted string escapes.

use std::str::Utf8Error;

#[cfg(feature = "gcf")]
pub(crate) mod block;
#[cfg(feature = "gcf")]
pub mod characters;
#[cfg(feature = "gcf")]
pub(crate) mod codes;
pub mod decimal;
#[cfg(feature = "gcf")]
pub(crate) mod digits;
pub mod hex;
pub mod leb128;
#[cfg(feature = "gcf")]
pub mod output;
pub mod quoted;
pub mod scan;

/// [`std::str::from_utf8`], in a fifth of the time for long texts beyond ASCII.
///
/// # Errors
/// The same: bytes that are not UTF-8, with the place.
pub fn from_utf8(bytes: &[u8]) -> Result<&str, Utf8Error> {
    simdutf8::basic::from_utf8(bytes).or_else(|_| std::str::from_utf8(bytes))
}

/// The slice of `source` that `part` is; `None` if it lies elsewhere in memory.
pub(crate) fn slice_of<'a>(source: &'a str, part: &str) -> Option<&'a str> {
    // If the part's address lies within the source, so does the whole part.
    let start = part.as_ptr().addr().checked_sub(source.as_ptr().addr())?;
    source.get(start..start.checked_add(part.len())?)
}
