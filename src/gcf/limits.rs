//! Limits that a caller sets for encoding and decoding.

/// Limits for a value to encode or a text to decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum nesting depth of containers; the root is at depth 1. At most [`Limits::DEEPEST`].
    pub max_depth: usize,
}

impl Limits {
    /// The greatest `max_depth` for which recursion cannot overflow the native stack.
    pub const DEEPEST: usize = 256;
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 128 }
    }
}
