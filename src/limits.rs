//! Every bound on what input from outside may cost, its default, and its reason.
//!
//! A length, count, depth or size that a message claims is checked against what can be there and
//! against one of these before memory is taken for it.

/// Default bound on every decompressed size, in bytes (64 MiB): far above any message a language
/// model writes. Who builds a text of wider characters from it, as Python does, takes up to four
/// bytes for each character on top.
pub const DEFAULT_MAX_SIZE: usize = 64 << 20;

/// How deep a value that is skipped may nest. A response is one level deep; the rest is room for
/// fields of later versions.
pub const MAX_SKIPPED_DEPTH: usize = 128;

/// Longest first line of a dictionary file, in bytes.
pub const MAX_DICTIONARY_HEADER: usize = 4096;

/// How many keys a response may have: a few are ours, the rest is room for later versions.
pub const MAX_MAP_KEYS: u32 = 1024;

/// Largest token count of a response, 2^63 - 1: every peer can hold it in a signed 64-bit integer.
pub const MAX_TOKENS: u64 = i64::MAX as u64;
