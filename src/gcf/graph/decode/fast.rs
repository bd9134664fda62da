//! The fast path of the decoder: lines of symbols and edges exactly as `encode` writes them. It finds the
//! separators of 64 bytes at a time and looks up repeated words in a cache.
//!
//! Invariant: the fast path parses a line with the same result as `lines`, or leaves it to `lines`.
//! It leaves lines with repeated, leading or trailing spaces, CR LF, other white space, a missing
//! field, an id out of order, or an error, and lines for which there is not enough memory.
//!
//! Without it, decoding a payload and reading every object takes 1.5 times as long with 50 symbols and 1.7
//! times with 500. To measure it again, let `fast_lines` return at once and run `python -m benches.graph`.

use super::Reader;
use super::section::Section;
use crate::gcf::error::Read;
use crate::gcf::graph::score;
use crate::gcf::graph::shared_str::{SharedBuffer, SharedStr};
use crate::gcf::graph::types::{Edge, Symbol};
use crate::gcf::graph::vocabulary;
use crate::gcf::graph::vocabulary::expanded;
use crate::interrupt::Steps;
use crate::text::block::at_most;
use std::ops::Range;

impl Reader<'_, '_> {
    /// Parses lines of the section up to the first line that the fast path does not accept.
    pub(super) fn fast_lines(&mut self) -> Read<()> {
        let start = self.lines.position();
        let mut at = start;
        let mut blanks = BlankPositions::new(self.text.as_bytes(), at);
        let mut steps = Steps::default();
        match self.section {
            Section::Group(distance) if self.table.is_none() => {
                while let Some(next) = self.fast_node(at, distance, &mut blanks) {
                    at = next;
                    steps.step();
                }
            }
            Section::Edges => {
                while let Some(next) = self.fast_edge(at, &mut blanks) {
                    at = next;
                    steps.step();
                }
            }
            _ => {}
        }
        if at == start { Ok(()) } else { self.lines.resume(at) }
    }

    /// Parses `@id kind name score provenance`; returns the start of the next line.
    #[inline]
    fn fast_node(
        &mut self,
        at: usize,
        distance: i64,
        blanks: &mut BlankPositions<'_>,
    ) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if bytes.get(at) != Some(&b'@') {
            return None;
        }
        let (id_end, id) = number(bytes, at + 1)?;
        let kind_at = blanks.field(at + 1, b' ')?;
        let name_at = blanks.field(kind_at, b' ')?;
        let score_at = blanks.field(name_at, b' ')?;
        let provenance_at = blanks.field(score_at, b' ')?;
        let next = blanks.field(provenance_at, b'\n')?;
        if id_end + 1 != kind_at || id != self.ids.next() {
            return None;
        }
        let score = match bytes[score_at..provenance_at - 1] {
            [whole @ b'0'..=b'9', b'.', tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
                let digit = |byte| f64::from(byte - b'0');
                (100.0 * digit(whole) + 10.0 * digit(tens) + digit(ones)) / 100.0
            }
            _ => score::read(&self.text[score_at..provenance_at - 1], score_at).ok()?,
        };
        self.symbols.try_reserve(1).ok()?;
        if !self.ids.try_reserve() {
            return None;
        }
        self.ids.add(id, self.symbols.len());
        // The symbol is built in place. As an argument of `Reader::push`, it would be copied once more.
        self.symbols.push(Symbol {
            qualified_name: self.buffer.slice(name_at..score_at - 1),
            kind: self
                .kind_cache
                .get(&self.buffer, kind_at..name_at - 1, |kind| vocabulary::kind(expanded(kind))),
            score,
            provenance: self.word_cache.get(
                &self.buffer,
                provenance_at..next - 1,
                vocabulary::provenance,
            ),
            distance,
            ..Symbol::default()
        });
        self.item_count += 1;
        Some(next)
    }

    /// Parses `@target<@source type`, optionally followed by a status; returns the start of the next line.
    #[inline]
    fn fast_edge(&mut self, at: usize, blanks: &mut BlankPositions<'_>) -> Option<usize> {
        let bytes = self.text.as_bytes();
        if bytes.get(at) != Some(&b'@') {
            return None;
        }
        let (arrow, target) = number(bytes, at + 1)?;
        if bytes.get(arrow..arrow + 2) != Some(b"<@") {
            return None;
        }
        let (end, source) = number(bytes, arrow + 2)?;
        let type_at = blanks.field(at + 1, b' ')?;
        if end + 1 != type_at {
            return None;
        }
        let after_type = blanks.any_field(type_at)?;
        let (status_at, next) = match bytes[after_type - 1] {
            b'\n' => (None, after_type),
            b' ' => (Some(after_type), blanks.field(after_type, b'\n')?),
            _ => return None,
        };
        let (target, source) = (self.ids.index(target)?, self.ids.index(source)?);
        let edge = Edge {
            target: self.buffer.clone_str(&self.symbols[target].qualified_name),
            source: self.buffer.clone_str(&self.symbols[source].qualified_name),
            edge_type: self.word_cache.get(
                &self.buffer,
                type_at..after_type - 1,
                vocabulary::edge_type,
            ),
            status: match status_at {
                Some(at) => self.word_cache.get(&self.buffer, at..next - 1, vocabulary::status),
                None => SharedStr::default(),
            },
        };
        self.edges.try_reserve(1).ok()?;
        self.edges.push(edge);
        self.item_count += 1;
        Some(next)
    }
}

/// Parses a number of at most 18 digits; returns its end and its value.
#[inline]
fn number(bytes: &[u8], at: usize) -> Option<(usize, u64)> {
    let mut value = 0;
    for (i, byte) in bytes[at..].iter().enumerate().take(19) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (i > 0).then_some((at + i, value));
        }
        value = 10 * value + u64::from(digit);
    }
    None
}

/// A cache of recent words, by a hash of their bytes.
#[derive(Debug, Default)]
pub(crate) struct WordCache([(u128, SharedStr); 32]);

impl WordCache {
    /// The string of a word: a static one if the word is `known`, otherwise a slice of the buffer.
    #[inline]
    fn get(
        &mut self,
        buffer: &SharedBuffer<'_>,
        word: Range<usize>,
        known: impl Fn(&str) -> Option<&'static str>,
    ) -> SharedStr {
        let text = buffer.text();
        let make = |word: Range<usize>| match known(&text[word.clone()]) {
            Some(word) => SharedStr::from_static(word),
            None => buffer.slice(word),
        };
        let Some(key) = key(text.as_bytes(), &word) else { return make(word) };
        #[expect(clippy::cast_possible_truncation, reason = "the halves are combined")]
        let mixed = ((key >> 64) as u64 ^ key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (cached_key, cached) = &mut self.0[(mixed >> 59) as usize];
        if *cached_key != key {
            (*cached_key, *cached) = (key, make(word));
        }
        buffer.clone_str(cached)
    }
}

/// A word of up to 16 bytes as a number, which is unique because no byte of a word is 0. `None` for a longer
/// word, and for one that begins in the last 15 bytes of the text.
#[inline]
fn key(bytes: &[u8], word: &Range<usize>) -> Option<u128> {
    let unused = 16_usize.checked_sub(word.len())?;
    let bytes = bytes.get(word.start..)?.first_chunk()?;
    Some(u128::from_le_bytes(*bytes) << (8 * unused))
}

/// Iterates over the positions of the bytes up to U+0020.
struct BlankPositions<'t> {
    bytes: &'t [u8],
    base: usize,
    /// A bit for each of the 64 bytes from `base` on; set for the positions not yet returned.
    found: u64,
}

impl<'t> BlankPositions<'t> {
    fn new(bytes: &'t [u8], base: usize) -> Self {
        Self { bytes, base, found: find(bytes, base) }
    }

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            self.base += 64;
            if self.base >= self.bytes.len() {
                return None;
            }
            self.found = find(self.bytes, self.base);
        }
        let at = self.base + self.found.trailing_zeros() as usize;
        self.found &= self.found - 1;
        Some(at)
    }

    /// The position after a field, which must not be empty, and its separator.
    #[inline]
    fn any_field(&mut self, from: usize) -> Option<usize> {
        self.next().filter(|&end| end > from).map(|end| end + 1)
    }

    /// The position after a field that ends with the separator `end`.
    #[inline]
    fn field(&mut self, from: usize, end: u8) -> Option<usize> {
        self.any_field(from).filter(|next| self.bytes[next - 1] == end)
    }
}

/// The bits of the 64 bytes from `at` on; missing bytes count as not blank.
#[inline]
fn find(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    if let Some(block) = rest.first_chunk() {
        return at_most(block, b' ');
    }
    let mut block = [u8::MAX; 64];
    block[..rest.len()].copy_from_slice(rest);
    at_most(&block, b' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::decode::decode;
    use proptest::prelude::*;

    /// A text of mostly valid lines, with up to two strings inserted at random positions.
    fn texts() -> impl Strategy<Value = String> {
        let line = (0..4_usize, 0..4_usize, 0..5_usize, 0..4_usize);
        let odd =
            prop::sample::select(vec![" ", "", "\t", "@", "\n", "é", "0", "<", "#", "\0", "-"]);
        let lines = prop::collection::vec(line, 0..24);
        (lines, prop::collection::vec((any::<prop::sample::Index>(), odd), 0..3)).prop_map(
            |(lines, odds)| {
                let mut parts = vec!["GCF profile=graph\n".to_owned()];
                for (id, (form, a, b, c)) in lines.into_iter().enumerate() {
                    let kind = ["fn", "widget", "type", "a_kind_of_many_letters"][a];
                    let score = ["0.50", "-1.25", "12.00", "0.5", "9.99"][b];
                    let provenance = ["lsp_resolved", "x", "ast_inferred", "é"][c];
                    let name = "github.com/acme/service.".repeat(a) + &id.to_string();
                    parts.push(match form {
                        0 | 1 => format!("@{id} {kind} {name} {score} {provenance}\n"),
                        2 => format!(
                            "@{a}<@{b} {} {}\n",
                            ["calls", "t"][c % 2],
                            ["added", ""][c / 2]
                        ),
                        _ => ["## related\n", "## edges\n", "## targets\n", "# note\n"][a].into(),
                    });
                }
                let mut text = parts.concat();
                for (at, odd) in odds {
                    let at = at.index(text.len());
                    if text.is_char_boundary(at) {
                        text.insert_str(at, odd);
                    }
                }
                text
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_fast_path_decodes_as_the_slow_path(text in texts()) {
            // The fast path leaves lines that end with CR LF to the slow path.
            prop_assert_eq!(decode(&text), decode(&text.replace('\n', "\r\n")));
        }
    }

    proptest! {
        #[test]
        fn blanks_are_found_at_every_position(bytes: Vec<u8>, dense in "[ -\\$\\n\u{0}é]{0,200}") {
            for bytes in [&bytes[..], dense.as_bytes()] {
                for from in [0, bytes.len() / 2] {
                    let mut blanks = BlankPositions::new(bytes, from);
                    let found: Vec<_> = std::iter::from_fn(|| blanks.next()).collect();
                    let expected = (from..bytes.len()).filter(|&at| bytes[at] <= b' ');
                    prop_assert_eq!(found, expected.collect::<Vec<_>>());
                }
            }
        }
    }
}
