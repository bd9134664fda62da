//! Estimates how many tokens a language model counts for a text, without a tokenizer.
//!
//! Tokenizers like `o200k_base` cut a text into pieces (a word with the character before it, up to three
//! digits, punctuation, white space) and turn each piece into tokens by itself. The estimate cuts the
//! same pieces. It adds up the mean cost of words of the same class and length, and counts the tokens of
//! punctuation and of `null`, `true` and `false`, which JSON repeats.
//!
//! A mean says nothing about a text that repeats one word. To compare two forms of the same data, there is
//! [`Estimate::surely_exceeds`], in which the words of both cancel out.
//!
//! Invariant: the estimate depends only on the text, so that the choices are the same on every platform. The
//! independent reference is `data/tokens.py`, which also writes the prices.

use super::merges::{CL100K, Merges, O200K};
use super::prices::{
    ByLength, CAPITALS, CHARACTERS, COMMON_MARKS, DELIMITED_WORD, LITERALS, MARKED_CAPITALS,
    MARKED_WORD, SPACED_WORD, UNIT, WORD,
};
use crate::interrupt::Steps;

/// Returns the estimated number of tokens of a text, for a tokenizer like `o200k_base`. The time is linear
/// in the length.
pub fn estimate_tokens(text: &str) -> u64 {
    Sums::<false>::of(text).tokens()
}

/// What is known of the tokens of a text without a tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Estimate {
    /// The estimated number for `o200k_base`.
    pub tokens: u64,
    bounds: Bounds,
    /// How often the text has an escape of JSON that another form may write as the character.
    escapes: usize,
    /// What more the text may cost if the other form has more escapes, because then words and characters of
    /// the two are not the same.
    unlike: u64,
}

/// Prices for each encoding, by which forms of the same data are compared: their words are the same, so that
/// each is priced as one token, whatever it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    /// The text costs at least this.
    least: [u64; 2],
    /// The text costs at most this, but for rare words that tokenizers cut in many tokens after a certain
    /// mark, although they are one token alone.
    most: [u64; 2],
}

impl Estimate {
    pub(super) fn of(text: &str) -> Self {
        let sums = Sums::<true>::of(text);
        let with = |words: u64| sums.others.map(|others| others + words);
        let most_words = sums.most_words + UNIT * repeated_keys(text);
        Self {
            tokens: sums.tokens(),
            bounds: Bounds { least: with(sums.least_words), most: with(most_words) },
            escapes: escapes(text),
            unlike: sums.unlike,
        }
    }

    /// Whether these are more tokens than those of another form of the same data, by both encodings.
    pub(super) fn surely_exceeds(&self, other: &Self) -> bool {
        let unlike = if self.escapes > other.escapes { other.unlike } else { 0 };
        let most = other.bounds.most.map(|most| most + unlike);
        self.bounds.least.iter().zip(&most).all(|(least, most)| least > most)
    }
}

fn escapes(text: &str) -> usize {
    let next = |(at, _)| text.as_bytes().get(at + 1);
    text.match_indices('\\').map(next).filter(|next| matches!(next, Some(b'u' | b'/'))).count()
}

/// The bytes of the names of columns in GCF whose paths repeat a key more often than the rows of JSON do.
fn repeated_keys(text: &str) -> u64 {
    if !text.starts_with("GCF ") || !text.contains('>') {
        return 0;
    }
    let of_line = |line: &str| {
        let (before, columns) = line.split_once("]{")?;
        let rows: usize = before.rsplit_once('[')?.1.trim_end_matches(':').parse().ok()?;
        (columns.matches('>').count() > rows).then_some(columns.len() as u64)
    };
    text.lines().filter_map(of_line).sum()
}

/// The tokenizers whose tokens are estimated. Words have the same prices, punctuation and characters beyond
/// ASCII have others.
#[derive(Clone, Copy)]
enum Encoding {
    O200k,
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

/// The prices of the pieces of a text. Those for `cl100k_base` are 0 unless they are asked for.
#[derive(Default)]
struct Sums<const CL100K: bool> {
    words: u64,
    /// As in [`Bounds`].
    least_words: u64,
    most_words: u64,
    /// As in [`Estimate`].
    unlike: u64,
    /// By the encoding.
    others: [u64; 2],
}

impl<const CL100K: bool> Sums<CL100K> {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut sums = Self::default();
        let mut steps = Steps::default();
        let mut at = 0;
        while at < bytes.len() {
            at = sums.add_piece(bytes, at);
            steps.step();
        }
        sums
    }

    fn tokens(&self) -> u64 {
        (self.words + self.others[Encoding::O200k as usize]).div_ceil(UNIT)
    }

    /// Adds the piece that starts at `at`, and returns its end.
    #[inline]
    fn add_piece(&mut self, bytes: &[u8], at: usize) -> usize {
        let next = class(bytes, at + 1);
        match CLASSES[usize::from(bytes[at])] {
            Class::Lower | Class::Upper => self.add_word(bytes, at, at, &WORD, &CAPITALS),
            Class::Digit => {
                self.add_other(|_| UNIT);
                // Stops after three digits: otherwise each piece of a long number would scan all the digits left.
                run(&bytes[..bytes.len().min(at + 3)], at, |class| class == Class::Digit)
            }
            Class::Space if is_letter(next) => {
                if is_indentation(bytes, at) {
                    self.most_words += UNIT;
                }
                self.add_word(bytes, at, at + 1, &SPACED_WORD, &CAPITALS)
            }
            Class::Blank | Class::Mark if is_letter(next) => self.add_marked_word(bytes, at),
            Class::Space if next == Some(Class::Mark) => self.add_marks(bytes, at),
            Class::Space if next == Some(Class::Other) => {
                if is_indentation(bytes, at) {
                    self.most_words += 2 * UNIT;
                }
                self.add_characters(bytes, at + 1)
            }
            Class::Mark => self.add_marks(bytes, at),
            Class::Other => self.add_characters(bytes, at),
            Class::Space | Class::Blank | Class::LineBreak => {
                let end = end_of_white_space(bytes, at);
                self.add_other(|encoding| white_space_price(&bytes[at..end], encoding));
                end
            }
        }
    }

    #[inline]
    fn add_other(&mut self, price: impl Fn(Encoding) -> u64) {
        self.others[0] += price(Encoding::O200k);
        if CL100K {
            self.others[1] += price(Encoding::Cl100k);
        }
    }

    /// A word. A character at `start` before its letters belongs to the piece.
    #[inline]
    fn add_word(
        &mut self,
        bytes: &[u8],
        start: usize,
        letters: usize,
        prices: &ByLength,
        capital_prices: &ByLength,
    ) -> usize {
        let (end, is_capitals) = end_of_word(bytes, letters);
        let prices = if is_capitals { capital_prices } else { prices };
        self.words += price(prices, end - start);
        self.least_words += UNIT;
        self.most_words += UNIT;
        end
    }

    /// A word with the punctuation before it.
    #[inline]
    fn add_marked_word(&mut self, bytes: &[u8], at: usize) -> usize {
        let (end, _) = end_of_word(bytes, at + 1);
        if let Some((_, marks)) = LITERALS.iter().find(|(word, _)| *word == &bytes[at + 1..end]) {
            self.add_other(|encoding| {
                if marks[encoding as usize].contains(&bytes[at]) { UNIT } else { 2 * UNIT }
            });
            return end;
        }
        let (prices, least, most) = match bytes[at] {
            // GCF has it between words. In a string, it stands in every form.
            b'|' => (&DELIMITED_WORD, 1, 1),
            // Some words that are one token alone are several after it.
            b',' | b'=' | b'>' => (&DELIMITED_WORD, 1, 2),
            // In every form, it stands after the same word.
            _ if at > 0 && is_of_word(CLASSES[usize::from(bytes[at - 1])]) => {
                self.unlike += UNIT;
                (&MARKED_WORD, 0, 0)
            }
            // The word begins with it. In another form, it may be a part of the punctuation before.
            // `cl100k_base` cuts words such as `'s`.
            b'\'' => (&MARKED_WORD, 0, 2),
            _ => (&MARKED_WORD, 0, 1),
        };
        self.least_words += least * UNIT;
        self.most_words += most * UNIT;
        self.add_word(bytes, at, at + 1, prices, &MARKED_CAPITALS)
    }

    /// Punctuation with the space before it, if there is one, and the line breaks and slashes after it.
    #[inline]
    fn add_marks(&mut self, bytes: &[u8], at: usize) -> usize {
        let mut end = run(bytes, at + 1, |class| class == Class::Mark);
        while let Some(b'\r' | b'\n' | b'/') = bytes.get(end) {
            end += 1;
        }
        match common_prices(bytes, at, end) {
            Some(prices) => self.add_other(|encoding| u64::from(prices[encoding as usize])),
            None => self.add_other(|encoding| UNIT * encoding.merges().count(&bytes[at..end])),
        }
        end
    }

    /// Characters beyond ASCII.
    fn add_characters(&mut self, bytes: &[u8], at: usize) -> usize {
        let end = run(bytes, at, |class| class == Class::Other);
        self.add_other(|encoding| {
            let prices = &CHARACTERS[encoding as usize];
            bytes[at..end].iter().map(|&byte| u64::from(character_price(prices, byte))).sum()
        });
        // A byte is at most one token.
        self.unlike += UNIT * (end - at) as u64;
        end
    }
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

fn is_letter(class: Option<Class>) -> bool {
    matches!(class, Some(Class::Lower | Class::Upper))
}

/// Whether words are made of the class, so that punctuation after it has words on both sides in every form.
fn is_of_word(class: Class) -> bool {
    matches!(class, Class::Lower | Class::Upper | Class::Digit | Class::Other)
}

/// Whether a space at `at` is the last one of an indentation, which JSON does not have before words.
fn is_indentation(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().find(|byte| **byte != b' ') == Some(&b'\n')
}

/// The end of the word whose letters start at `letters`: capital letters, then small ones. Whether it begins
/// with several capital letters.
#[inline]
fn end_of_word(bytes: &[u8], letters: usize) -> (usize, bool) {
    let capitals = run(bytes, letters, |class| class == Class::Upper);
    (run(bytes, capitals, |class| class == Class::Lower), capitals > letters + 1)
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

/// White space ends after its last line break; without a line break, it ends before its last character,
/// which belongs to the next piece.
fn end_of_white_space(bytes: &[u8], at: usize) -> usize {
    let end =
        run(bytes, at, |class| matches!(class, Class::Space | Class::Blank | Class::LineBreak));
    if let Some(last) = bytes[at..end].iter().rposition(|byte| matches!(byte, b'\r' | b'\n')) {
        return at + last + 1;
    }
    if end < bytes.len() && end > at + 1 { end - 1 } else { end }
}

/// White space of at most this many bytes is one token in both encodings.
const SHORT: usize = 24;

fn white_space_price(piece: &[u8], encoding: Encoding) -> u64 {
    if piece.len() <= SHORT { UNIT } else { UNIT * encoding.merges().count(piece) }
}

/// The price of a character beyond ASCII at its first byte; other bytes cost nothing.
fn character_price(prices: &[u16; 5], byte: u8) -> u16 {
    match byte {
        0xC0..=0xC9 => prices[0],
        0xCA..=0xDF => prices[1],
        0xE3..=0xED => prices[2],
        0xE0..=0xEF => prices[3],
        0xF0.. => prices[4],
        _ => 0,
    }
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
            let end = Sums::<false>::default().add_piece(text.as_bytes(), at);
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

    #[test]
    fn literals_of_json_cost_what_they_cost() {
        for text in [",null", ":true", "=false", "|null", ".true"] {
            assert_eq!(estimate_tokens(text), 1, "{text}");
        }
        assert_eq!(estimate_tokens("|true"), 2);
        let bounds = Estimate::of("/false").bounds;
        assert_eq!((bounds.least, bounds.most), ([2 * UNIT, UNIT], [2 * UNIT, UNIT]));
    }

    #[test]
    fn words_cancel_out_in_a_comparison() {
        let exceeds = |text: &str, other| Estimate::of(text).surely_exceeds(&Estimate::of(other));
        // One of punctuation, and one more for the mark before the word.
        assert!(!exceeds(r#"","USD"#, ",USD"));
        assert!(!exceeds(r#"":"incomprehensibilities"#, "=incomprehensibilities"));
        assert!(!exceeds(r#""],["~name"#, "\n~name"));
        assert!(exceeds(r#""],["name"#, "name"));
        assert!(exceeds(r#""],["one_name"#, "one_name"));
        // `,Virginia` is four tokens of `cl100k_base`.
        assert!(!exceeds(r#""],["Virginia"#, ",Virginia"));
        // A space after a line break may cost a token, too.
        assert!(!exceeds(r#""],["name"#, "\n name"));
        assert!(!exceeds(r#"","名前"#, "\n 名前"));
    }

    #[test]
    fn escapes_do_not_cancel_out() {
        let exceeds = |text: &str, other| Estimate::of(text).surely_exceeds(&Estimate::of(other));
        assert!(!exceeds(r"\ucc45", "책"));
        assert!(!exceeds(r"Wrld\/Wrld", "Wrld/Wrld"));
        assert!(exceeds("책책", "책"));
    }

    #[test]
    fn a_key_in_more_paths_than_there_are_rows_may_cost_as_much_as_its_bytes() {
        assert_eq!(repeated_keys("GCF profile=generic\n## [1]{\"a>b\",\"a>c\"}\n"), 12);
        assert_eq!(repeated_keys("GCF profile=generic\n## [2:]{\"a>b\",\"a>c\"}\n"), 0);
        assert_eq!(repeated_keys("[1]{>>"), 0);
    }
}
