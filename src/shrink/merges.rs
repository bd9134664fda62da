//! Counts the tokens of punctuation and white space as a tokenizer does.
//!
//! A tokenizer begins with single characters and merges neighbouring tokens in a fixed order of pairs. The
//! mean cost of punctuation would be no estimate: `------` is one token, `>'}>'}` is four.
//!
//! The independent reference is `merged` in `data/tokens.py`.

use super::prices::{CL100K_BASE, O200K_BASE};

/// Longer pieces are counted in parts of so many bytes, so that the time is linear.
const PART: usize = 256;

/// The token of the first merge. The tokens before it are those of single characters.
const FIRST: u16 = 128;

/// No token. It is larger than every token, so that the least token is that of the next merge.
const NONE: u16 = u16::MAX;

/// The order in which a tokenizer merges tokens.
pub(super) struct Merges {
    /// Row n makes the token `FIRST + n` of two tokens.
    rows: &'static [(u16, u16)],
    /// A hash table of the rows: an empty slot is `NONE`.
    slots: [u16; 1 << SLOT_BITS],
}

pub(super) static O200K: Merges = Merges::new(&O200K_BASE);
pub(super) static CL100K: Merges = Merges::new(&CL100K_BASE);

const SLOT_BITS: u32 = 14;

impl Merges {
    #[expect(clippy::large_stack_arrays, reason = "only the compiler runs it")]
    const fn new(rows: &'static [(u16, u16)]) -> Self {
        assert!(rows.len() < (1 << SLOT_BITS) / 2, "few keys share a slot");
        let mut slots = [NONE; 1 << SLOT_BITS];
        let mut row = 0;
        while row < rows.len() {
            let mut slot = slot(rows[row].0, rows[row].1);
            while slots[slot] != NONE {
                slot = (slot + 1) % slots.len();
            }
            slots[slot] = row_of(row);
            row += 1;
        }
        Self { rows, slots }
    }

    /// The number of tokens of a piece of ASCII without letters and digits.
    pub(super) fn count(&self, piece: &[u8]) -> u64 {
        piece.chunks(PART).map(|part| Part::new(part, self).count()).sum()
    }

    /// The token of two tokens, or `NONE`.
    #[inline]
    fn merge(&self, left: u16, right: u16) -> u16 {
        let mut slot = slot(left, right);
        loop {
            match self.slots[slot] {
                NONE => return NONE,
                row if self.rows[usize::from(row)] == (left, right) => return FIRST + row,
                _ => slot = (slot + 1) % self.slots.len(),
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "there are fewer rows than slots")]
const fn row_of(index: usize) -> u16 {
    index as u16
}

const fn slot(left: u16, right: u16) -> usize {
    let pair = (left as u32) << 16 | right as u32;
    (pair.wrapping_mul(0x9E37_79B1) >> (u32::BITS - SLOT_BITS)) as usize
}

/// The tokens of a part of a piece.
struct Part<'a> {
    merges: &'a Merges,
    tokens: [u16; PART],
    /// The token that each token makes with the one after it, or `NONE`.
    made: [u16; PART],
    length: usize,
}

impl<'a> Part<'a> {
    fn new(part: &[u8], merges: &'a Merges) -> Self {
        let mut tokens = [0; PART];
        for (token, &byte) in tokens.iter_mut().zip(part) {
            *token = u16::from(byte);
        }
        let mut made = [NONE; PART];
        for (token, pair) in made.iter_mut().zip(tokens[..part.len()].windows(2)) {
            *token = merges.merge(pair[0], pair[1]);
        }
        Self { merges, tokens, made, length: part.len() }
    }

    fn count(mut self) -> u64 {
        while let Some(&token) = self.made[..self.length].iter().min()
            && token != NONE
        {
            self.merge_all(token);
        }
        self.length as u64
    }

    /// Makes `token` of each pair that makes it. A pair with the new token comes later in the order, so no
    /// other merge comes between them.
    fn merge_all(&mut self, token: u16) {
        let (mut from, mut to) = (0, 0);
        while from < self.length {
            let is_pair = self.made[from] == token;
            self.tokens[to] = if is_pair { token } else { self.tokens[from] };
            from += if is_pair { 2 } else { 1 };
            self.made[to] = self.made[from - 1];
            to += 1;
        }
        self.length = to;
        for (made, pair) in self.made.iter_mut().zip(self.tokens[..to].windows(2)) {
            if pair.contains(&token) {
                *made = self.merges.merge(pair[0], pair[1]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_is_merged_as_the_tokenizer_does() {
        // Counted by `o200k_base`.
        for (piece, tokens) in [
            ("\"", 1),
            ("------", 1),
            ("\",\"", 1),
            ("},{\"", 1),
            ("|~|~", 4),
            (">'}>'}", 4),
            ("\x00\x00\x00", 2),
            (" ================================================================", 2),
        ] {
            assert_eq!(O200K.count(piece.as_bytes()), tokens, "{piece}");
        }
        assert_eq!(O200K.count("-".repeat(1000).as_bytes()), 16);
        assert_eq!(O200K.count(br#"":"""#), 2);
        assert_eq!(CL100K.count(br#"":"""#), 1);
    }
}
