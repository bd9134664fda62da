//! Limits that a caller sets for encoding and decoding.

use crate::limits::DEFAULT_MAX_EXPANSION;

/// Limits for a value to encode or a text to decode.
///
/// ```
/// use compactwire::gcf::{Limits, decode};
///
/// let limits = Limits { max_expansion: 0, ..Limits::default() };
/// let (constant, rows) = ("x".repeat(999), "1\n".repeat(99));
/// let text = format!("GCF profile=generic\n## [99]{{a,b={constant}}}\n{rows}");
/// assert!(decode(&text, Limits::default()).is_ok());
/// assert!(decode(&text, limits).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum nesting depth of containers; the root is at depth 1. At most [`Limits::DEEPEST`].
    pub max_depth: usize,
    /// The maximum *expansion* of a text to decode: the size in bytes of content that is in the value
    /// but not in the text. In every row, a constant column counts 16 bytes plus the length of its text, a
    /// column name counts its length, and each object that path columns form counts 144 bytes plus the
    /// length of its name. Each byte of the text allows 16 bytes more.
    pub max_expansion: usize,
}

impl Limits {
    /// The greatest `max_depth` for which recursion cannot overflow the native stack.
    pub const DEEPEST: usize = 256;
    /// The default of `max_expansion`, 256 MiB: 16 million repeated numbers.
    pub const EXPANSION: usize = DEFAULT_MAX_EXPANSION;

    /// The error message for a container that is nested deeper than the `max_depth` that a caller can set.
    pub(crate) fn too_deep(max_depth: usize) -> String {
        format!("nested more than {max_depth} levels deep{}", Self::depth_advice(max_depth))
    }

    /// How a caller who can set `max_depth` allows deeper values, as the end of an error message. Empty if
    /// nothing allows them.
    pub fn depth_advice(max_depth: usize) -> String {
        let deepest = Self::DEEPEST;
        if max_depth < deepest {
            format!("; max_depth allows up to {deepest}")
        } else {
            String::new()
        }
    }
}

/// How many more bytes of expansion each byte of the text allows.
pub(crate) const FREE_EXPANSION: u64 = 16;

/// Whether a reader with the default [`Limits::max_expansion`] accepts a text of `size` bytes with this
/// expansion.
pub(crate) fn is_readable(expansion: u64, size: usize) -> bool {
    expansion <= Limits::EXPANSION as u64 + FREE_EXPANSION * size as u64
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 128, max_expansion: Self::EXPANSION }
    }
}
