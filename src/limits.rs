//! Limits on the memory and depth that an input may require, with the reason for each.
//!
//! A length, count, depth or size in a message is compared with the input that is left and with one of
//! these bounds before memory is allocated for it.

/// Default limit on every decompressed size, in bytes (64 MiB): far above any message that a language
/// model writes. A Python `str` built from that much text can take up to four bytes per character on top.
pub const DEFAULT_MAX_SIZE: usize = 64 << 20;

/// Default limit on content that an input states once and its value repeats, in bytes (256 MiB): constants
/// and column names in each row of GCF, node names in the edges of a graph, strings of a binary CAD document.
pub const DEFAULT_MAX_EXPANSION: usize = 256 << 20;

/// Maximum depth of an unknown `MessagePack` value that is skipped. A response is one level deep; the margin
/// is for fields of later versions.
pub const MAX_SKIPPED_DEPTH: usize = 128;

/// Maximum length of the first line of a dictionary file, in bytes.
pub const MAX_DICTIONARY_HEADER: usize = 4096;

/// Maximum number of keys in a response. This version has a few; the margin is for later versions.
pub const MAX_MAP_KEYS: u32 = 1024;

/// Maximum token count of a response, 2^63 - 1: every peer can hold it in a signed 64-bit integer.
pub const MAX_TOKENS: u64 = i64::MAX as u64;

/// Whether a delta is sent instead of the full text: only if its size is less than 60 % of the full size.
/// Both sizes have the same unit, bytes or tokens.
pub fn is_worth_a_delta(delta_size: u64, full_size: u64) -> bool {
    u128::from(delta_size) * 10 < u128::from(full_size) * 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delta_must_be_smaller_than_sixty_percent() {
        assert!(is_worth_a_delta(59, 100));
        assert!(!is_worth_a_delta(60, 100));
        assert!(!is_worth_a_delta(0, 0));
        assert!(!is_worth_a_delta(u64::MAX, u64::MAX));
    }
}
