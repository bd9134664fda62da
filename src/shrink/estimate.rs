//! Estimates how many tokens a language model counts for a text, without a tokenizer.
//!
//! Tokenizers like `o200k_base` cut a text into pieces (a word with the character before it, up to three
//! digits, punctuation, white space) and turn each piece into tokens by itself. The estimate cuts the
//! same pieces. It adds up the mean cost of words of the same class and length, and counts the tokens of
//! punctuation, which differ much between pieces of the same length.
//!
//! Invariant: the estimate depends only on the text, so that the choices are the same on every platform. The
//! independent reference is `data/tokens.py`, which also writes the prices.

use super::merges::{CL100K, Merges, O200K};
use super::prices::{
    ByLength, CAPITALS, CHARACTERS, COMMON_MARKS, MARKED_WORD, SPACED_WORD, UNIT, WORD,
};
use crate::interrupt::Steps;

/// Returns the estimated number of tokens of a text, for a tokenizer like `o200k_base`. The time is linear
/// in the length.
pub fn estimate_tokens(text: &str) -> u64 {
    estimate(text, Encoding::O200k)
}

/// The tokenizer whose tokens are estimated.
#[derive(Clone, Copy)]
pub(super) enum Encoding {
    O200k,
    /// Words have the same prices; punctuation and characters beyond ASCII have others.
    Cl100k,
}

impl Encoding {
    fn merges(self) -> &'static Merges {
        match self {
            Self::O200k => &O200K,
            Self::Cl100k => &CL100K,
        }
    }
}

/// Returns the estimated number of tokens of a text.
pub(super) fn estimate(text: &str, encoding: Encoding) -> u64 {
    let bytes = text.as_bytes();
    let (mut at, mut total) = (0, 0);
    let mut steps = Steps::default();
    while at < bytes.len() {
        let (end, price) = piece(bytes, at, encoding);
        steps.step();
        total += price;
        at = end;
    }
    total.div_ceil(UNIT)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Space,
    /// White space that is neither a space nor a line break.
    Blank,
    LineBreak,
    /// Punctuation and control characters.
    Mark,
    /// A byte of a character beyond ASCII.
    Other,
}

static CLASSES: [Class; 256] = {
    let mut classes = [Class::Mark; 256];
    let mut byte = 0_u8;
    loop {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b' ' => Class::Space,
            b'\t' | 0x0B | 0x0C => Class::Blank,
            b'\r' | b'\n' => Class::LineBreak,
            0x80.. => Class::Other,
            _ => Class::Mark,
        };
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

#[inline]
fn class(bytes: &[u8], at: usize) -> Option<Class> {
    bytes.get(at).map(|&byte| CLASSES[usize::from(byte)])
}

/// The first position from `at` on whose class is not accepted.
#[inline]
fn run(bytes: &[u8], mut at: usize, accepted: impl Fn(Class) -> bool) -> usize {
    while class(bytes, at).is_some_and(&accepted) {
        at += 1;
    }
    at
}

/// The end and the price of the piece that starts at `at`.
#[inline]
fn piece(bytes: &[u8], at: usize, encoding: Encoding) -> (usize, u64) {
    let next = class(bytes, at + 1);
    match CLASSES[usize::from(bytes[at])] {
        Class::Lower | Class::Upper => word(bytes, at, at, &WORD),
        Class::Digit => {
            // Stops after three digits: otherwise each piece of a long number would scan all the digits left.
            let three = &bytes[..bytes.len().min(at + 3)];
            (run(three, at, |class| class == Class::Digit), UNIT)
        }
        Class::Space if is_letter(next) => word(bytes, at, at + 1, &SPACED_WORD),
        Class::Blank | Class::Mark if is_letter(next) => word(bytes, at, at + 1, &MARKED_WORD),
        Class::Space if next == Some(Class::Mark) => marks(bytes, at, encoding),
        Class::Space if next == Some(Class::Other) => characters(bytes, at + 1, encoding),
        Class::Mark => marks(bytes, at, encoding),
        Class::Other => characters(bytes, at, encoding),
        Class::Space | Class::Blank | Class::LineBreak => white_space(bytes, at, encoding),
    }
}

fn is_letter(class: Option<Class>) -> bool {
    matches!(class, Some(Class::Lower | Class::Upper))
}

/// A word: capital letters, then small ones, from `letters` on. A character at `start` before them belongs
/// to the piece.
#[inline]
fn word(bytes: &[u8], start: usize, letters: usize, prices: &ByLength) -> (usize, u64) {
    let capitals = run(bytes, letters, |class| class == Class::Upper);
    let end = run(bytes, capitals, |class| class == Class::Lower);
    let prices = if capitals > letters + 1 { &CAPITALS } else { prices };
    (end, price(prices, end - start))
}

/// Punctuation with the space before it, if there is one, and the line breaks and slashes after it.
#[inline]
fn marks(bytes: &[u8], at: usize, encoding: Encoding) -> (usize, u64) {
    let mut end = run(bytes, at + 1, |class| class == Class::Mark);
    while let Some(b'\r' | b'\n' | b'/') = bytes.get(end) {
        end += 1;
    }
    let common = common_prices(bytes, at, end).map(|prices| u64::from(prices[encoding as usize]));
    (end, common.unwrap_or_else(|| UNIT * encoding.merges().count(&bytes[at..end])))
}

/// A hash table of the prices of common punctuation: an empty slot has the key 0.
static COMMON: [(u64, [u16; 2]); SLOTS] = {
    let mut table = [(0, [0; 2]); SLOTS];
    let mut index = 0;
    while index < COMMON_MARKS.len() {
        let mut slot = slot(COMMON_MARKS[index].0);
        while table[slot].0 != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = COMMON_MARKS[index];
        index += 1;
    }
    table
};

const SLOTS: usize = 512;
const _: () = assert!(COMMON_MARKS.len() <= SLOTS / 2, "few keys share a slot");

#[expect(clippy::cast_possible_truncation, reason = "the highest bits of the product")]
const fn slot(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - SLOTS.trailing_zeros())) as usize
}

/// The prices of the punctuation at `at..end` if it is common, by the encoding.
#[inline]
fn common_prices(bytes: &[u8], at: usize, end: usize) -> Option<[u16; 2]> {
    let length = end - at;
    if length > size_of::<u64>() {
        return None;
    }
    let unused = 8 * (size_of::<u64>() - length);
    let key = match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(chunk) => u64::from_le_bytes(*chunk) << unused >> unused,
        None => bytes[at..end].iter().rev().fold(0, |key, &byte| key << 8 | u64::from(byte)),
    };
    let mut slot = slot(key);
    while COMMON[slot].0 != key {
        if COMMON[slot].0 == 0 {
            return None;
        }
        slot = (slot + 1) % SLOTS;
    }
    // A piece with NUL at its end would have the key of the piece without it.
    (bytes[end - 1] != 0).then_some(COMMON[slot].1)
}

/// White space. It ends after its last line break; without a line break, it ends before its last character,
/// which belongs to the next piece.
fn white_space(bytes: &[u8], at: usize, encoding: Encoding) -> (usize, u64) {
    let end_and_price = |end| (end, white_space_price(&bytes[at..end], encoding));
    let end =
        run(bytes, at, |class| matches!(class, Class::Space | Class::Blank | Class::LineBreak));
    if let Some(last) = bytes[at..end].iter().rposition(|byte| matches!(byte, b'\r' | b'\n')) {
        return end_and_price(at + last + 1);
    }
    let end = if end < bytes.len() && end > at + 1 { end - 1 } else { end };
    end_and_price(end)
}

/// White space of at most so many bytes is one token.
const SHORT: usize = 24;

fn white_space_price(piece: &[u8], encoding: Encoding) -> u64 {
    if piece.len() <= SHORT { UNIT } else { UNIT * encoding.merges().count(piece) }
}

/// Characters beyond ASCII.
fn characters(bytes: &[u8], at: usize, encoding: Encoding) -> (usize, u64) {
    let end = run(bytes, at, |class| class == Class::Other);
    let prices = &CHARACTERS[encoding as usize];
    let price = |byte: &u8| match byte {
        0xC0..=0xC9 => prices[0],
        0xCA..=0xDF => prices[1],
        0xE3..=0xED => prices[2],
        0xE0..=0xEF => prices[3],
        0xF0.. => prices[4],
        // A continuation byte: its character is counted at the first byte.
        _ => 0,
    };
    (end, bytes[at..end].iter().map(|byte| u64::from(price(byte))).sum())
}

#[inline]
fn price(prices: &ByLength, length: usize) -> u64 {
    let longest = prices.len() - 2;
    let beyond = length.saturating_sub(longest) as u64;
    u64::from(prices[length.min(longest)]) + beyond * u64::from(prices[longest + 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let (end, _) = piece(text.as_bytes(), at, Encoding::O200k);
            found.push(&text[at..end]);
            at = end;
        }
        found
    }

    #[test]
    fn text_is_cut_where_tokenizers_cut() {
        for (text, expected) in [
            (r#"{"name": "Ana"}"#, vec![r#"{""#, "name", r#"":"#, r#" ""#, "Ana", r#""}"#]),
            ("HTTPServer isOK", vec!["HTTPServer", " is", "OK"]),
            ("12345|x", vec!["123", "45", "|x"]),
            ("a   b", vec!["a", "  ", " b"]),
            ("a  \n\n  b", vec!["a", "  \n\n", " ", " b"]),
            ("},\n  {", vec!["},\n", " ", " {"]),
            ("a  ", vec!["a", "  "]),
            (" größe", vec![" gr", "öß", "e"]),
            ("a 中文b", vec!["a", " 中文", "b"]),
        ] {
            assert_eq!(pieces(text), expected, "{text}");
        }
    }

    #[test]
    fn empty_text_has_no_tokens_and_each_piece_costs() {
        assert_eq!(estimate_tokens(""), 0);
        assert_eq!(estimate_tokens("a"), 1);
        assert_eq!(estimate_tokens("123456"), 2);
    }
}
