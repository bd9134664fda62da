//! Every bound on what input from outside may cost, its default, and its reason.
//!
//! A length, count, depth or size that a message claims is checked against what can be there and
//! against one of these before memory is taken for it.

/// Default bound on every decompressed size, in bytes (64 MiB): far above any message a language
/// model writes, far below what hurts a host that decodes on many threads at once.
pub const DEFAULT_MAX_SIZE: usize = 64 << 20;

/// How deep a `MessagePack` value that is skipped may nest. A response is one level deep; the
/// rest is room for fields of later versions.
pub const MAX_SKIPPED_DEPTH: usize = 128;

/// How many keys the map of a response may have: five are ours, the rest is room for later versions.
pub const MAX_MAP_KEYS: u32 = 1024;

/// Largest token count of a response, 2^63 - 1: every peer can hold it in a signed 64-bit integer.
pub const MAX_TOKENS: u64 = i64::MAX as u64;
