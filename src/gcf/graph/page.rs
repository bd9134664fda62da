//! A page that lines are put on: room is made for a line at a time, so that its parts are copied
//! without asking, and short parts as whole blocks of which the next overwrites the surplus.
//!
//! Invariant: what stands before `at` is what was put, nothing else; it is UTF-8.

use super::super::error::Error;
use super::names::{is_word, short};
use super::score;

/// A text that is being written.
pub(super) struct Page {
    bytes: Vec<u8>,
    at: usize,
}

impl Page {
    /// A page with room for so many bytes.
    pub(super) fn new(size: usize) -> Self {
        Self { bytes: vec![0; size], at: 0 }
    }

    /// Makes room for a line: texts of `size` bytes, and all that is short.
    #[inline]
    pub(super) fn line(&mut self, size: usize) {
        let needed = self.at + size + SHORT;
        if needed > self.bytes.len() {
            self.bytes.resize(needed + needed / 2, 0);
        }
    }

    #[inline]
    pub(super) fn text(&mut self, text: &str) {
        self.bytes[self.at..self.at + text.len()].copy_from_slice(text.as_bytes());
        self.at += text.len();
    }

    #[inline]
    pub(super) fn put(&mut self, block: &Block) {
        self.bytes[self.at..self.at + BLOCK].copy_from_slice(&block.bytes);
        self.at += block.length;
    }

    /// A score; most are `0.50` and their like.
    #[inline]
    pub(super) fn score(&mut self, score: f64) {
        if let Some(digits) = score::digits(score) {
            self.bytes[self.at..self.at + 4].copy_from_slice(&digits);
            self.at += 4;
        } else {
            let mut text = String::new();
            score::write(score, &mut text);
            self.text(&text);
        }
    }

    /// Lines that are written as a text.
    pub(super) fn lines(
        &mut self,
        write: impl FnOnce(&mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut lines = String::new();
        write(&mut lines)?;
        self.line(lines.len());
        self.text(&lines);
        Ok(())
    }

    pub(super) fn finish(mut self) -> String {
        self.bytes.truncate(self.at);
        // Whole texts and ASCII were put, so that it is one.
        String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

const BLOCK: usize = 24;

/// What a line takes beside its texts: the longest score, ids, blocks, separators.
const SHORT: usize = 320 + 4 * BLOCK + 16;

/// Up to 24 bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Block {
    bytes: [u8; BLOCK],
    length: usize,
}

impl Block {
    fn new(parts: &[&str]) -> Option<Self> {
        let mut block = Self::default();
        for part in parts {
            let end = block.length + part.len();
            block.bytes.get_mut(block.length..end)?.copy_from_slice(part.as_bytes());
            block.length = end;
        }
        Some(block)
    }

    /// `@` and an id.
    #[inline]
    pub(super) fn id(id: u64) -> Self {
        if id >= 10_000_000 {
            return Self::new(&["@", itoa::Buffer::new().format(id)]).unwrap_or_default();
        }
        // As one number: bytes that were written one by one would be waited for.
        let (mut word, mut length, mut rest) = (0, 1, id);
        loop {
            word = word << 8 | (u64::from(b'0') + rest % 10);
            length += 1;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let mut bytes = [0; BLOCK];
        bytes[..8].copy_from_slice(&(word << 8 | u64::from(b'@')).to_le_bytes());
        Self { bytes, length }
    }
}

/// Words of lines that were found fit, with what stands around them: most lines have one of a few.
pub(super) struct Words<'p> {
    seen: [(&'p str, Block); 32],
    as_written: fn(&str) -> &str,
    behind: &'static str,
}

impl<'p> Words<'p> {
    /// Of kinds, which are abbreviated.
    pub(super) fn kinds() -> Self {
        Self { as_written: short, ..Self::new(" ") }
    }

    /// Of other words, each with a space before and `behind` after it.
    pub(super) fn new(behind: &'static str) -> Self {
        Self { seen: [("", Block::default()); 32], as_written: |word| word, behind }
    }

    #[inline]
    fn place(word: &str) -> usize {
        let (Some(&first), Some(&last)) = (word.as_bytes().first(), word.as_bytes().last()) else {
            return 0;
        };
        (word.len() + usize::from(first) + 5 * usize::from(last)) % 32
    }

    #[inline]
    fn is(seen: &str, word: &str) -> bool {
        seen.len() == word.len() && (seen.as_ptr() == word.as_ptr() || seen == word)
    }

    /// Whether a line can hold the word.
    #[inline]
    pub(super) fn fit(&mut self, word: &'p str, allow_unicode: bool) -> bool {
        let seen = &mut self.seen[Self::place(word)];
        if Self::is(seen.0, word) && !word.is_empty() {
            return true;
        }
        let fit = is_word(word, allow_unicode);
        if let (true, Some(block)) = (fit, Block::new(&[" ", (self.as_written)(word), self.behind]))
        {
            *seen = (word, block);
        }
        fit
    }

    /// Puts a word that was found fit.
    #[inline]
    pub(super) fn put(&self, word: &str, page: &mut Page) {
        let (seen, block) = &self.seen[Self::place(word)];
        if Self::is(seen, word) {
            page.put(block);
        } else {
            page.text(" ");
            page.text((self.as_written)(word));
            page.text(self.behind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_digits() {
        for id in [0, 9, 10, 12_345, 9_999_999, 10_000_000, u64::MAX] {
            let mut page = Page::new(0);
            page.line(0);
            page.put(&Block::id(id));
            assert_eq!(page.finish(), format!("@{id}"));
        }
    }

    #[test]
    fn a_page_grows_and_words_of_any_length_are_written() {
        let long = "w".repeat(100);
        let mut words = Words::kinds();
        let mut page = Page::new(0);
        for word in ["function", &long, "fn", "function"] {
            assert!(words.fit(word, false));
            page.line(word.len());
            words.put(word, &mut page);
            page.score(-1e300);
        }
        assert!(!words.fit("", false) && !words.fit("é", false) && words.fit("é", true));
        let score = format!("{:.2}", -1e300);
        assert_eq!(page.finish(), format!(" fn {score} {long} {score} fn {score} fn {score}"));
    }
}
