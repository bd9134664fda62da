//! Finds the first byte of a string that needs attention; all bytes before it can be skipped.
//!
//! A [`Class`] says which bytes stop a scan. Blocks of 64 and 16 bytes are tested with vector instructions,
//! the rest in words of eight bytes.
//!
//! Invariant: the byte at the position that [`first`] returns is of the class, and none before it is.

use std::ops::BitOr;

/// A set of bytes that contains no letter: a scan fills up a short word with letters.
pub trait Class {
    /// Whether the byte is of the class.
    fn contains(byte: u8) -> bool;

    /// Marks the bytes of a little-endian word that are of the class, in their highest bits. The result is 0
    /// if no byte is of the class. Otherwise the lowest mark is correct, and marks above it may be wrong.
    fn mark(word: u64) -> u64;

    /// Whether any byte of a block is of the class.
    fn any(block: [u8; 16]) -> bool;

    /// The position of the first byte of a block that is of the class.
    #[inline]
    fn first(block: [u8; 16]) -> Option<usize> {
        let marks =
            block.as_chunks::<8>().0.iter().map(|word| Self::mark(u64::from_le_bytes(*word)));
        let (start, marks) = (0..).step_by(8).zip(marks).find(|(_, marks)| *marks != 0)?;
        Some(start + marks.trailing_zeros() as usize / 8)
    }
}

/// The number of bytes that `counts` accepts. Adding them up as `u8` takes an eighth of the time of adding
/// `usize`.
pub fn count(text: &[u8], counts: impl Fn(u8) -> bool) -> usize {
    let count = |part: &[u8]| part.iter().map(|&byte| u8::from(counts(byte))).sum::<u8>();
    text.chunks(usize::from(u8::MAX)).map(|part| usize::from(count(part))).sum()
}

/// 16 bytes in a vector register. A comparison returns a block that has the highest bit set in bytes that
/// match.
#[derive(Clone, Copy)]
pub struct Block(vector::Block);

impl Block {
    /// The block of these bytes.
    #[inline]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(vector::new(bytes))
    }

    /// Which bytes are equal to `byte`.
    #[inline]
    #[must_use]
    pub fn equal(self, byte: u8) -> Self {
        Self(vector::equal(self.0, byte))
    }

    /// Which bytes are at most `bound`.
    #[inline]
    #[must_use]
    pub fn at_most(self, bound: u8) -> Self {
        Self(vector::at_most(self.0, bound))
    }

    /// Which bytes are not ASCII.
    #[inline]
    #[must_use]
    pub fn beyond_ascii(self) -> Self {
        self
    }

    /// The bytes with these bits set.
    #[inline]
    #[must_use]
    pub fn with_bits(self, bits: u8) -> Self {
        Self(vector::or(self.0, vector::new([bits; 16])))
    }

    /// The difference of each byte and `byte`, modulo 256.
    #[inline]
    #[must_use]
    pub fn minus(self, byte: u8) -> Self {
        Self(vector::minus(self.0, byte))
    }

    /// Whether the highest bit of any byte is set.
    #[inline]
    pub fn any(self) -> bool {
        vector::any(self.0)
    }

    /// The position of the first byte whose highest bit is set.
    #[inline]
    pub fn first(self) -> Option<usize> {
        vector::first(self.0)
    }
}

impl BitOr for Block {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(vector::or(self.0, other.0))
    }
}

/// SSE2, which every x86-64 processor has.
#[cfg(target_arch = "x86_64")]
mod vector {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_sub_epi8,
    };

    pub(super) type Block = __m128i;

    #[inline]
    pub(super) fn new(bytes: [u8; 16]) -> Block {
        // SAFETY: both types have 16 bytes, of any value.
        unsafe { std::mem::transmute(bytes) }
    }

    #[inline]
    pub(super) fn equal(block: Block, byte: u8) -> Block {
        // SAFETY: the target has SSE2.
        unsafe { _mm_cmpeq_epi8(block, _mm_set1_epi8(byte.cast_signed())) }
    }

    #[inline]
    pub(super) fn at_most(block: Block, bound: u8) -> Block {
        // SAFETY: the target has SSE2.
        unsafe { _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(bound.cast_signed())), block) }
    }

    #[inline]
    pub(super) fn minus(block: Block, byte: u8) -> Block {
        // SAFETY: the target has SSE2.
        unsafe { _mm_sub_epi8(block, _mm_set1_epi8(byte.cast_signed())) }
    }

    #[inline]
    pub(super) fn or(left: Block, right: Block) -> Block {
        // SAFETY: the target has SSE2.
        unsafe { _mm_or_si128(left, right) }
    }

    #[inline]
    pub(super) fn any(block: Block) -> bool {
        // SAFETY: the target has SSE2.
        unsafe { _mm_movemask_epi8(block) != 0 }
    }

    #[inline]
    pub(super) fn first(block: Block) -> Option<usize> {
        // SAFETY: the target has SSE2.
        let bits = unsafe { _mm_movemask_epi8(block) };
        (bits != 0).then_some(bits.trailing_zeros() as usize)
    }
}

/// Loops that a compiler turns into vector instructions, such as NEON.
#[cfg(any(not(target_arch = "x86_64"), test))]
mod loops {
    pub(super) type Block = [u8; 16];

    #[inline]
    pub(super) fn new(bytes: [u8; 16]) -> Block {
        bytes
    }

    #[inline]
    pub(super) fn equal(block: Block, byte: u8) -> Block {
        block.map(|other| if other == byte { 0xFF } else { 0 })
    }

    #[inline]
    pub(super) fn at_most(block: Block, bound: u8) -> Block {
        block.map(|byte| if byte <= bound { 0xFF } else { 0 })
    }

    #[inline]
    pub(super) fn minus(block: Block, byte: u8) -> Block {
        block.map(|other| other.wrapping_sub(byte))
    }

    #[inline]
    pub(super) fn or(left: Block, right: Block) -> Block {
        (u128::from_ne_bytes(left) | u128::from_ne_bytes(right)).to_ne_bytes()
    }

    #[inline]
    pub(super) fn any(block: Block) -> bool {
        u128::from_ne_bytes(block) & u128::from_ne_bytes([0x80; 16]) != 0
    }

    #[inline]
    pub(super) fn first(block: Block) -> Option<usize> {
        let bits = u128::from_le_bytes(block) & u128::from_ne_bytes([0x80; 16]);
        (bits != 0).then_some(bits.trailing_zeros() as usize / 8)
    }
}

#[cfg(not(target_arch = "x86_64"))]
use loops as vector;

/// The bytes that a quoted string escapes: control characters below U+0020, `"` and `\`.
pub struct Escaped;

/// [`Escaped`], U+007F and bytes beyond ASCII.
pub struct EscapedOrNonAscii;

/// Everything but visible ASCII characters: spaces, control characters, bytes beyond ASCII.
pub struct NotGraphic;

/// The lowest bit of each byte of a word.
const ONES: u64 = u64::MAX / 255;

/// A letter in each byte of a word: what fills a word whose text is shorter.
const LETTERS: u64 = ONES * b'a' as u64;

/// The highest bit of each byte of a word.
pub const HIGH: u64 = ONES << 7;

/// Marks the bytes below `bound`, which is at most 0x80. As in [`Class::mark`], marks above the lowest may be
/// wrong; the other bits of the result have no meaning.
#[inline]
pub fn below(word: u64, bound: u8) -> u64 {
    word.wrapping_sub(u64::from(bound) * ONES) & !word
}

/// Marks the bytes equal to `byte`, like [`below`].
#[inline]
pub fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (u64::from(byte) * ONES), 1)
}

#[expect(clippy::needless_bitwise_bool, reason = "one branch instead of several")]
impl Class for Escaped {
    #[inline]
    fn contains(byte: u8) -> bool {
        (byte < 0x20) | (byte == b'"') | (byte == b'\\')
    }

    #[inline]
    fn mark(word: u64) -> u64 {
        (below(word, 0x20) | equal(word, b'"') | equal(word, b'\\')) & HIGH
    }

    #[inline]
    fn any(block: [u8; 16]) -> bool {
        escaped(block).any()
    }

    #[inline]
    fn first(block: [u8; 16]) -> Option<usize> {
        escaped(block).first()
    }
}

/// Which bytes of a block are [`Escaped`].
#[inline]
fn escaped(block: [u8; 16]) -> Block {
    let block = Block::new(block);
    block.at_most(0x1F) | block.equal(b'"') | block.equal(b'\\')
}

#[expect(clippy::needless_bitwise_bool, reason = "one branch instead of several")]
impl Class for EscapedOrNonAscii {
    #[inline]
    fn contains(byte: u8) -> bool {
        Escaped::contains(byte) | (byte >= 0x7F)
    }

    #[inline]
    fn mark(word: u64) -> u64 {
        Escaped::mark(word) | ((word | equal(word, 0x7F)) & HIGH)
    }

    #[inline]
    fn any(block: [u8; 16]) -> bool {
        let bytes = Block::new(block);
        (escaped(block) | bytes.equal(0x7F) | bytes.beyond_ascii()).any()
    }
}

impl Class for NotGraphic {
    #[inline]
    fn contains(byte: u8) -> bool {
        !(0x21..0x7F).contains(&byte)
    }

    #[inline]
    fn mark(word: u64) -> u64 {
        (below(word, 0x21) | equal(word, 0x7F) | word) & HIGH
    }

    #[inline]
    fn any(block: [u8; 16]) -> bool {
        let block = Block::new(block);
        (block.at_most(0x20) | block.equal(0x7F) | block.beyond_ascii()).any()
    }
}

/// How many bytes [`first_near`] tests in blocks of 16.
const NEAR: usize = 32;

/// Like [`first`], but faster if the byte is among the first `NEAR`. A string with one escape often has
/// many.
#[inline]
pub fn first_near<C: Class>(bytes: &[u8]) -> usize {
    let mut at = 0;
    for block in bytes[..bytes.len().min(NEAR)].as_chunks::<16>().0 {
        if let Some(found) = C::first(*block) {
            return at + found;
        }
        at += 16;
    }
    at + first::<C>(&bytes[at..])
}

/// The position of the first byte of the class; the length if there is none.
#[inline]
pub fn first<C: Class>(bytes: &[u8]) -> usize {
    let mut at = 0;
    if bytes.len() >= 64 {
        let blocks = bytes.as_chunks::<64>().0;
        at = 64 * blocks.iter().take_while(|block| !any_of_64::<C>(block)).count();
    }
    for block in bytes[at..].as_chunks::<16>().0 {
        if C::any(*block) {
            break;
        }
        at += 16;
    }
    for word in bytes[at..].as_chunks::<8>().0 {
        let marks = C::mark(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    if let Some(word) = bytes.last_chunk::<8>() {
        // The last word overlaps bytes already tested. Without a mark, there are 64 trailing zeros, and the
        // sum is the length.
        let marks = C::mark(u64::from_le_bytes(*word));
        return bytes.len() - 8 + marks.trailing_zeros() as usize / 8;
    }
    #[expect(clippy::cast_possible_truncation, reason = "there are less than 8 bytes")]
    let word = short(bytes) as u64 | (LETTERS << (8 * bytes.len()));
    bytes.len().min(C::mark(word).trailing_zeros() as usize / 8)
}

/// At most 16 bytes as a little-endian number; 0 for more bytes.
#[inline]
pub fn short(bytes: &[u8]) -> u128 {
    let length = bytes.len();
    if length > 16 {
        return 0;
    }
    // The two parts overlap; both have the same bytes there.
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        let last = u128::from(u64::from_le_bytes(*last)) << (8 * (length - 8));
        return u128::from(u64::from_le_bytes(*first)) | last;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let last = u64::from(u32::from_le_bytes(*last)) << (8 * (length - 4));
        return u128::from(u64::from(u32::from_le_bytes(*first)) | last);
    }
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte))
}

/// Whether any byte is of the class.
#[inline]
pub fn contains<C: Class>(bytes: &[u8]) -> bool {
    let (blocks, rest) = bytes.as_chunks::<64>();
    if blocks.iter().any(any_of_64::<C>) {
        return true;
    }
    if let Some(last) = bytes.last_chunk::<8>() {
        // The last word overlaps the one before.
        let words = rest.as_chunks::<8>().0.iter().chain([last]);
        return words.fold(0, |marks, word| marks | C::mark(u64::from_le_bytes(*word))) != 0;
    }
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            let mut word = [0; 8];
            word[..4].copy_from_slice(first);
            word[4..].copy_from_slice(last);
            C::mark(u64::from_le_bytes(word)) != 0
        }
        _ => bytes.iter().any(|&byte| C::contains(byte)),
    }
}

/// Whether any byte is of the class.
#[inline]
fn any_of_64<C: Class>(block: &[u8; 64]) -> bool {
    block.as_chunks::<16>().0.iter().fold(false, |any, block| any | C::any(*block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<C: Class>(bytes: &[u8]) {
        for block in bytes.as_chunks::<16>().0 {
            let any = block.iter().any(|&byte| C::contains(byte));
            assert_eq!(C::any(*block), any, "{block:?}");
            let first = block.iter().position(|&byte| C::contains(byte));
            assert_eq!(C::first(*block), first, "{block:?}");
        }
        let found = bytes.iter().position(|&byte| C::contains(byte));
        assert_eq!(first::<C>(bytes), found.unwrap_or(bytes.len()), "{bytes:?}");
        assert_eq!(first_near::<C>(bytes), first::<C>(bytes), "{bytes:?}");
        assert_eq!(contains::<C>(bytes), found.is_some(), "{bytes:?}");
    }

    proptest! {
        #[test]
        fn first_byte_of_the_class_is_found(
            bytes in proptest::collection::vec(prop_oneof![12 => 0x23..=0x5B_u8, 1 => any::<u8>()], 0..200),
        ) {
            check::<Escaped>(&bytes);
            check::<EscapedOrNonAscii>(&bytes);
            check::<NotGraphic>(&bytes);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn every_byte_is_found_at_every_position() {
        for byte in 0..=255 {
            for length in 1..40 {
                for at in 0..length {
                    let mut bytes = [b'a'; 40];
                    bytes[at] = byte;
                    check::<Escaped>(&bytes[..length]);
                    check::<EscapedOrNonAscii>(&bytes[..length]);
                    check::<NotGraphic>(&bytes[..length]);
                }
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn loops_compare_as_vectors_do() {
        for byte in 0..=255 {
            for other in [0, 1, 0x1F, 0x20, 0x7F, 0x80, 0xE1, 0xFF] {
                let bytes = |block: vector::Block| -> [u8; 16] {
                    // SAFETY: both types have 16 bytes, of any value.
                    unsafe { std::mem::transmute(block) }
                };
                let (block, vector) = ([byte; 16], vector::new([byte; 16]));
                assert_eq!(bytes(vector::equal(vector, other)), loops::equal(block, other));
                assert_eq!(bytes(vector::at_most(vector, other)), loops::at_most(block, other));
                assert_eq!(bytes(vector::minus(vector, other)), loops::minus(block, other));
                let or = loops::or(block, loops::new([other; 16]));
                assert_eq!(bytes(vector::or(vector, vector::new([other; 16]))), or);
                assert_eq!(vector::any(vector), loops::any(block));
                for at in 0..16 {
                    let mut one = [0; 16];
                    one[at] = byte;
                    assert_eq!(vector::first(vector::new(one)), loops::first(one));
                }
            }
        }
    }
}
