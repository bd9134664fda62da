//! How far a text is written in quotes as it is: what the reader and the writer skip in one step.
//!
//! Invariant: the byte at the place that is found is special, and none before it is.

/// Beyond `"`, `\` and what is below 0x20: which bytes stop.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// No other.
    AtSpecial,
    /// Those from 0x7F on.
    AtNonAscii,
}

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// How many bytes at the beginning are nothing special.
#[inline]
pub(super) fn plain_bytes(bytes: &[u8], stop: Stop) -> usize {
    let blocks = if stop == Stop::AtNonAscii {
        plain_blocks(bytes, |byte| !matches!(byte, ..0x20 | b'"' | b'\\' | 0x7F..))
    } else {
        plain_blocks(bytes, |byte| !matches!(byte, ..0x20 | b'"' | b'\\'))
    };
    let mut at = blocks;
    let (words, _) = bytes[at..].as_chunks::<8>();
    for word in words {
        let found = special(u64::from_le_bytes(*word), stop);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    // Zeros, which are special, stand in for what is missing of a word.
    let mut word = [0; 8];
    let rest = &bytes[at..];
    word[..rest.len()].copy_from_slice(rest);
    at + special(u64::from_le_bytes(word), stop).trailing_zeros() as usize / 8
}

/// Whole blocks without a branch in them, so that all of their bytes are looked at in one step.
#[inline]
fn plain_blocks(bytes: &[u8], plain: impl Fn(u8) -> bool) -> usize {
    const BLOCK: usize = 16;
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let plain = |block: &&[u8; BLOCK]| block.iter().fold(true, |all, byte| all & plain(*byte));
    blocks.iter().take_while(plain).count() * BLOCK
}

/// The highest bits of special bytes; above the lowest of them there may be others.
#[inline]
fn special(word: u64, stop: Stop) -> u64 {
    let below = |word: u64, bound: u64| word.wrapping_sub(bound * ONES) & !word;
    let is = |byte: u8| below(word ^ (u64::from(byte) * ONES), 1);
    let found = below(word, 0x20) | is(b'"') | is(b'\\');
    let beyond = if stop == Stop::AtNonAscii { word | is(0x7F) } else { 0 };
    (found | beyond) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_special_byte_is_found(
            bytes in proptest::collection::vec(prop_oneof![8 => 0x20..=0x7E_u8, 1 => any::<u8>()], 0..60),
        ) {
            let special = |byte: &u8| matches!(byte, ..0x20 | b'"' | b'\\');
            let found = bytes.iter().position(special).unwrap_or(bytes.len());
            prop_assert_eq!(plain_bytes(&bytes, Stop::AtSpecial), found);
            let special = |byte: &u8| special(byte) || *byte >= 0x7F;
            let found = bytes.iter().position(special).unwrap_or(bytes.len());
            prop_assert_eq!(plain_bytes(&bytes, Stop::AtNonAscii), found);
        }
    }

    #[test]
    fn every_byte_is_judged_at_every_place() {
        for byte in 0..=255 {
            for at in 0..40 {
                let mut bytes = [b'a'; 40];
                bytes[at] = byte;
                let special = matches!(byte, ..0x20 | b'"' | b'\\');
                let found = plain_bytes(&bytes, Stop::AtSpecial);
                assert_eq!(found, if special { at } else { 40 }, "{byte:x} at {at}");
                let found = plain_bytes(&bytes, Stop::AtNonAscii);
                assert_eq!(
                    found,
                    if special || byte >= 0x7F { at } else { 40 },
                    "{byte:x} at {at}"
                );
            }
        }
    }
}
