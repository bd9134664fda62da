//! The characters of a text in units of one, two or four bytes, as Python keeps them.
//!
//! [`measure`] tells how many there are and which unit is wide enough for all, so that their memory can be
//! allocated once. [`write()`] converts a text to units, and [`read()`] units to a text, sixteen at a time and
//! without a branch for each character: they compute as if each byte were the first of a character, or each
//! character had as many bytes as the longest, and then drop what is not there. Dropping takes one shuffle
//! of bytes by a table, where the processor has it.

mod read;
mod shuffle;
mod write;

pub use read::{ShortUnit, read};
pub use write::write;

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
    let (parts, rest) = text.as_bytes().as_chunks::<128>();
    let (mut count, mut largest) = (0, 0);
    let mut add = |part: &[u8]| {
        // A count in a `u8` takes an eighth of the time of one in a `usize`.
        count += usize::from(part.iter().map(|&byte| u8::from(is_first(byte))).sum::<u8>());
        largest = part.iter().fold(largest, |largest, &byte| largest.max(byte));
    };
    // Compiled with a profile of short texts, a loop of unknown length uses no vectors.
    for part in parts {
        add(part);
    }
    add(rest);
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

    /// The code point.
    fn code(self) -> u32;
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

            #[inline(always)]
            fn code(self) -> u32 {
                self.into()
            }
        }
    };
}
unit!(u8, false);
unit!(u16, false);
unit!(u32, true);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::mem::MaybeUninit;

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

    fn check_read<T: ShortUnit>(units: &[T], expected: &str) {
        let mut text = "before".to_owned();
        assert_eq!(read(units, &mut text), Ok(true));
        assert_eq!(text, expected);
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
            let units = written::<u16>(text);
            check_read(&units, text);
            assert!(units.into_iter().map(u32::from).eq(codes.iter().copied()));
        }
        if bound <= '\u{FF}' {
            let units = written::<u8>(text);
            check_read(&units, text);
            assert!(units.into_iter().map(u32::from).eq(codes));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
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
    fn nothing_is_written_beyond_too_few_units() {
        let repeats = if cfg!(miri) { 4 } else { 20 };
        let text = "Köln 北京 🎉 ".repeat(repeats);
        for count in 0..measure(&text).count {
            let mut units = vec![MaybeUninit::new(u32::MAX); count];
            assert_eq!(write(&text, &mut units), count);
        }
    }

    #[test]
    fn surrogates_are_not_read() {
        let mut text = String::new();
        for surrogate in [0xD800, 0xDBFF, 0xDC00, 0xDFFF] {
            for at in 0..40 {
                let mut units = [u16::from(b'a'); 40];
                units[at] = surrogate;
                assert_eq!(read(&units, &mut text), Ok(false));
                assert_eq!(text, "");
            }
        }
        for character in ['\u{D7FF}', '\u{E000}'] {
            check(&character.to_string().repeat(20));
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
