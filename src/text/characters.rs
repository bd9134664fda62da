//! The characters of a text in units of one, two or four bytes, as Python keeps them.
//!
//! [`measure`] tells how many there are and which unit is wide enough for all, so that their memory can be
//! allocated once. [`write`] decodes UTF-8 sixteen bytes at a time and without a branch for each character:
//! it computes a character for every byte as if each were the first of one, and then drops those of the
//! bytes that are not. Dropping takes one shuffle of bytes by a table, where the processor has it.

use super::block;
use std::mem::MaybeUninit;

/// The characters of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// How many there are.
    pub count: usize,
    /// A bound of their code points, which tells the unit: U+007F or U+00FF (one byte), U+FFFF (two), or
    /// U+10FFFF (four).
    pub bound: char,
}

/// Counts the characters of a text and finds the unit for them.
#[must_use]
pub fn measure(text: &str) -> Measure {
    let mut count = 0;
    let mut largest = 0;
    for part in text.as_bytes().chunks(128) {
        // A count in a `u8` takes an eighth of the time of one in a `usize`.
        count += usize::from(part.iter().map(|&byte| u8::from(is_first(byte))).sum::<u8>());
        largest = part.iter().fold(largest, |largest, &byte| largest.max(byte));
    }
    let bound = match largest {
        ..0x80 => '\u{7F}',
        0x80..0xC4 => '\u{FF}',
        0xC4..0xF0 => '\u{FFFF}',
        _ => char::MAX,
    };
    Measure { count, bound }
}

/// Whether a byte of UTF-8 is the first of a character.
#[inline]
fn is_first(byte: u8) -> bool {
    !(0x80..0xC0).contains(&byte)
}

/// An unsigned integer that holds a character.
pub trait Unit: Copy {
    /// Whether it holds characters beyond U+FFFF.
    const HOLDS_ALL: bool;

    /// The lowest bits of a code point.
    fn of(code: u32) -> Self;
}

macro_rules! unit {
    ($unit:ty, $holds_all:expr) => {
        impl Unit for $unit {
            const HOLDS_ALL: bool = $holds_all;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "the lowest bits")]
            fn of(code: u32) -> Self {
                code as Self
            }
        }
    };
}
unit!(u8, false);
unit!(u16, false);
unit!(u32, true);

/// Writes the characters of a text and returns how many were written: all, if there are as many units as
/// [`measure`] counts. A character that needs a wider unit is written as another.
pub fn write<T: Unit>(text: &str, units: &mut [MaybeUninit<T>]) -> usize {
    let (mut at, written) = write_blocks(text, units);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    let rest = units[written..].iter_mut().zip(text[at..].chars());
    written + rest.map(|(unit, character)| unit.write(T::of(character.into()))).count()
}

/// [`write`] for as many blocks as there are; returns the offset after the last, which may be within a
/// character that was written, and the number of characters.
#[inline]
fn write_blocks<T: Unit>(text: &str, units: &mut [MaybeUninit<T>]) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if text.len() >= WINDOW
        && is_x86_feature_detected!("ssse3")
        && is_x86_feature_detected!("popcnt")
    {
        // SAFETY: the processor has both.
        return unsafe { ssse3::write_blocks(text, units) };
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    return blocks(text, units, neon::keep);
    #[cfg(not(all(target_arch = "aarch64", target_endian = "little")))]
    blocks(text, units, keep)
}

/// The bytes of a block, and two more, which may belong to the character of its last byte.
const WINDOW: usize = 18;

/// See [`write_blocks`]. `keep` moves the codes whose bits are set to the front.
#[inline(always)]
fn blocks<T: Unit>(
    text: &str,
    units: &mut [MaybeUninit<T>],
    keep: impl Fn([u16; 8], u8) -> [u16; 8],
) -> (usize, usize) {
    let bytes = text.as_bytes();
    let (mut at, mut written) = (0, 0);
    while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<WINDOW>())
        && let Some(target) = units.get_mut(written..).and_then(|rest| rest.first_chunk_mut::<16>())
    {
        let block = window.first_chunk().unwrap_or(&[0; 16]);
        let beyond_ascii = block::at_least(block, 0x80);
        if beyond_ascii == 0 {
            put(target, block.map(u16::from));
            (at, written) = (at + 16, written + 16);
            continue;
        }
        let codes = codes(window);
        let long = if T::HOLDS_ALL { block::at_least(block, 0xF0) } else { 0 };
        // The code of a character of four bytes has more bits: it ends the block.
        let end = (long | 1 << 16).trailing_zeros();
        let firsts = (!beyond_ascii | block::at_least(block, 0xC0)) & ((1 << end) - 1);
        let [low, high, ..] = firsts.to_le_bytes();
        put(target, keep(codes[0], low));
        put(&mut target[low.count_ones() as usize..], keep(codes[1], high));
        at += end as usize;
        written += firsts.count_ones() as usize;
        if long != 0 {
            let code = text[at..].chars().next().map_or(0, u32::from);
            put(&mut units[written..], [code]);
            (at, written) = (at + 4, written + 1);
        }
    }
    (at, written)
}

/// The code of a character of at most three bytes for each of the first 16 bytes, as if it began there.
#[inline(always)]
fn codes(window: &[u8; WINDOW]) -> [[u16; 8]; 2] {
    let mut codes = [[0; 8]; 2];
    for (i, code) in codes.as_flattened_mut().iter_mut().enumerate() {
        let first = u16::from(window[i]);
        let [second, third] = [window[i + 1], window[i + 2]].map(|byte| u16::from(byte & 0x3F));
        let two_bytes = (first & 0x1F) << 6 | second;
        let three_bytes = first << 12 | second << 6 | third;
        // Selected without branches, the 16 codes are computed at once.
        let several = if first < 0xE0 { two_bytes } else { three_bytes };
        *code = if first < 0x80 { first } else { several };
    }
    codes
}

/// Writes codes to the first units.
#[inline(always)]
fn put<T: Unit, const N: usize>(units: &mut [MaybeUninit<T>], codes: [impl Into<u32>; N]) {
    for (unit, code) in units.iter_mut().zip(codes) {
        unit.write(T::of(code.into()));
    }
}

/// Moves the codes whose bits are set to the front, where the processor has no such shuffle.
#[cfg(any(test, not(all(target_arch = "aarch64", target_endian = "little"))))]
fn keep(codes: [u16; 8], bits: u8) -> [u16; 8] {
    let mut kept = [0; 8];
    let set = codes.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
    kept.iter_mut().zip(set).for_each(|(place, (_, code))| *place = *code);
    kept
}

/// For each set of bits: which bytes of eight codes a shuffle puts where. A byte of 0x80 leaves zero.
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
static SHUFFLES: [[u8; 16]; 256] = {
    let mut shuffles = [[0x80; 16]; 256];
    let mut bits = 0;
    while bits < 256 {
        let (mut from, mut to) = (0, 0);
        while from < 8 {
            if bits >> from & 1 == 1 {
                shuffles[bits][2 * to] = 2 * from;
                shuffles[bits][2 * to + 1] = 2 * from + 1;
                to += 1;
            }
            from += 1;
        }
        bits += 1;
    }
    shuffles
};

/// SSSE3 and POPCNT, which x86-64 processors since 2008 have.
#[cfg(target_arch = "x86_64")]
mod ssse3 {
    use super::{MaybeUninit, SHUFFLES, Unit, blocks};
    use std::arch::x86_64::{_mm_loadu_si128, _mm_shuffle_epi8, _mm_storeu_si128};

    #[target_feature(enable = "ssse3,popcnt")]
    pub(super) fn write_blocks<T: Unit>(
        text: &str,
        units: &mut [MaybeUninit<T>],
    ) -> (usize, usize) {
        blocks(text, units, |codes, bits| keep(codes, bits))
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    pub(super) fn keep(mut codes: [u16; 8], bits: u8) -> [u16; 8] {
        let shuffle = &SHUFFLES[usize::from(bits)];
        // SAFETY: both arrays have 16 bytes; the loads and the store need no alignment.
        unsafe {
            let loaded = _mm_loadu_si128(codes.as_ptr().cast());
            let kept = _mm_shuffle_epi8(loaded, _mm_loadu_si128(shuffle.as_ptr().cast()));
            _mm_storeu_si128(codes.as_mut_ptr().cast(), kept);
        }
        codes
    }
}

/// NEON, which every 64-bit ARM processor has.
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon {
    use super::SHUFFLES;
    use std::arch::aarch64::{vld1q_u8, vqtbl1q_u8, vst1q_u8};

    #[inline]
    pub(super) fn keep(mut codes: [u16; 8], bits: u8) -> [u16; 8] {
        let shuffle = &SHUFFLES[usize::from(bits)];
        // SAFETY: the target has NEON; both arrays have 16 bytes.
        unsafe {
            let loaded = vld1q_u8(codes.as_ptr().cast());
            let kept = vqtbl1q_u8(loaded, vld1q_u8(shuffle.as_ptr()));
            vst1q_u8(codes.as_mut_ptr().cast(), kept);
        }
        codes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The characters of a text as the units `T`, by [`write`], in memory of exactly that size.
    fn written<T: Unit>(text: &str) -> Vec<T> {
        let count = measure(text).count;
        let mut units = Vec::with_capacity(count);
        let place = &mut units.spare_capacity_mut()[..count];
        assert_eq!(write(text, place), count);
        // SAFETY: so many units were written.
        unsafe { units.set_len(count) };
        units
    }

    fn check(text: &str) {
        let codes: Vec<u32> = text.chars().map(u32::from).collect();
        let Measure { count, bound } = measure(text);
        assert_eq!(count, codes.len());
        let largest = codes.iter().copied().max().unwrap_or(0);
        let bounds = [0x7F, 0xFF, 0xFFFF, 0x10_FFFF];
        assert_eq!(Some(u32::from(bound)), bounds.into_iter().find(|&bound| largest <= bound));
        assert_eq!(written::<u32>(text), codes);
        if bound <= '\u{FFFF}' {
            assert!(written::<u16>(text).into_iter().map(u32::from).eq(codes.iter().copied()));
        }
        if bound <= '\u{FF}' {
            assert!(written::<u8>(text).into_iter().map(u32::from).eq(codes));
        }
    }

    #[test]
    fn each_character_is_written_at_each_place_of_a_block() {
        for character in [
            'a',
            '\u{7F}',
            '\u{80}',
            'ü',
            'ÿ',
            'Ā',
            '\u{7FF}',
            '\u{800}',
            '語',
            '\u{FFFF}',
            '\u{10000}',
            '🎉',
            char::MAX,
        ] {
            for before in 0..40 {
                check(&format!("{}{character}{}", "x".repeat(before), "y".repeat(40 - before)));
                check(&format!("{}{character}{}", "ü".repeat(before), "語".repeat(20)));
                check(&format!("{}{character}", "語".repeat(before)));
            }
        }
    }

    #[test]
    fn a_shuffle_keeps_what_a_loop_keeps() {
        let codes = [1, 0x203, 0x405, 0x607, 0x809, 0xA0B, 0xC0D, 0xE0F];
        for bits in 0..=u8::MAX {
            let expected = keep(codes, bits);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("ssse3") {
                // SAFETY: the processor has SSSE3.
                assert_eq!(unsafe { ssse3::keep(codes, bits) }, expected);
            }
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            assert_eq!(neon::keep(codes, bits), expected);
            assert_eq!(
                expected.iter().filter(|&&code| code > 0).count(),
                bits.count_ones() as usize
            );
        }
    }

    #[test]
    fn nothing_is_written_beyond_too_few_units() {
        let text = "Köln 北京 🎉 ".repeat(20);
        for count in 0..measure(&text).count {
            let mut units = vec![MaybeUninit::new(u32::MAX); count];
            assert_eq!(write(&text, &mut units), count);
        }
    }

    proptest! {
        #[test]
        fn texts_of_any_characters_are_written(
            text in prop_oneof!["[a-zäöü ]{0,80}", "[а-я ]{0,80}", "[a-z北京語 ]{0,80}", "[a-zä語🎉]{0,80}", "\\PC{0,80}"],
        ) {
            check(&text);
        }
    }
}
