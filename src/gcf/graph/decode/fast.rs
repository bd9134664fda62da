//! Lines as our own writer writes them, which are nearly all: one look at each byte, 64 at a time.
//!
//! Invariant: a line is read exactly as `line` reads it, or left to it: with more than one space
//! between fields or any at the ends, CR LF, other white space, a field too few, an id out of order, an
//! error of any kind.

use super::Reader;
use super::section::Section;
use crate::gcf::error::Read;
use crate::gcf::graph::score;
use crate::gcf::graph::shared_str::SharedStr;
use crate::gcf::graph::types::{Edge, Symbol};
use crate::gcf::graph::vocabulary;
use crate::gcf::graph::vocabulary::expanded;
use std::ops::Range;

impl Reader<'_, '_> {
    /// Reads lines of the section as long as they are of that kind.
    pub(crate) fn fast_lines(&mut self) -> Read<()> {
        let start = self.lines.position();
        let mut at = start;
        let mut blanks = Blanks::new(self.text.as_bytes(), at);
        match self.section {
            Section::Group(distance) if self.table.is_none() => {
                while let Some(next) = self.fast_node(at, distance, &mut blanks) {
                    at = next;
                }
            }
            Section::Edges => {
                while let Some(next) = self.fast_edge(at, &mut blanks) {
                    at = next;
                }
            }
            _ => {}
        }
        if at == start { Ok(()) } else { self.lines.resume(at) }
    }

    /// `@id kind name score provenance`; gives where the next line begins.
    #[inline]
    fn fast_node(&mut self, at: usize, distance: i64, blanks: &mut Blanks<'_>) -> Option<usize> {
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
        let symbol = Symbol {
            qualified_name: self.text[name_at..score_at - 1].into(),
            kind: self
                .kinds
                .get(self.text, kind_at..name_at - 1, |kind| vocabulary::kind(expanded(kind))),
            score,
            provenance: self.words.get(self.text, provenance_at..next - 1, vocabulary::provenance),
            distance,
            ..Symbol::default()
        };
        self.push(id, symbol);
        self.seen += 1;
        Some(next)
    }

    /// `@target<@source type`, and perhaps a status; gives where the next line begins.
    #[inline]
    fn fast_edge(&mut self, at: usize, blanks: &mut Blanks<'_>) -> Option<usize> {
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
        let behind = blanks.any_field(type_at)?;
        let (status_at, next) = match bytes[behind - 1] {
            b'\n' => (None, behind),
            b' ' => (Some(behind), blanks.field(behind, b'\n')?),
            _ => return None,
        };
        let (target, source) = (self.ids.index(target)?, self.ids.index(source)?);
        let edge = Edge {
            target: self.symbols[target].qualified_name.clone(),
            source: self.symbols[source].qualified_name.clone(),
            edge_type: self.words.get(self.text, type_at..behind - 1, vocabulary::edge_type),
            status: match status_at {
                Some(at) => self.words.get(self.text, at..next - 1, vocabulary::status),
                None => SharedStr::default(),
            },
        };
        self.edges.push(edge);
        self.seen += 1;
        Some(next)
    }
}

/// A number of at most 18 digits, and where it ends.
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

/// Words that were read of late, so that equal ones are looked up once.
#[derive(Debug, Default)]
pub(crate) struct Words([(u128, SharedStr); 32]);

impl Words {
    /// The text of a word: the one that is known, or a part of the whole.
    #[inline]
    fn get(
        &mut self,
        text: &str,
        word: Range<usize>,
        known: impl Fn(&str) -> Option<&'static str>,
    ) -> SharedStr {
        let make = |word: &str| known(word).map_or_else(|| word.into(), SharedStr::from_static);
        let Some(key) = key(text.as_bytes(), &word) else { return make(&text[word]) };
        #[expect(clippy::cast_possible_truncation, reason = "mixed before")]
        let mixed = ((key >> 64) as u64 ^ key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (cached_key, cached) = &mut self.0[(mixed >> 59) as usize];
        if *cached_key != key {
            (*cached_key, *cached) = (key, make(&text[word]));
        }
        cached.clone()
    }
}

/// The bytes of a word of up to 16, none of which is 0, as a number.
#[inline]
fn key(bytes: &[u8], word: &Range<usize>) -> Option<u128> {
    let unused = 16_usize.checked_sub(word.len())?;
    let bytes = bytes.get(word.start..)?.first_chunk()?;
    Some(u128::from_le_bytes(*bytes) << (8 * unused))
}

/// Where bytes up to U+0020 stand, from a place on.
struct Blanks<'t> {
    bytes: &'t [u8],
    base: usize,
    /// A bit for each of the 64 bytes from `base` on.
    found: u64,
}

impl<'t> Blanks<'t> {
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

    /// Behind a field that is not empty, and what ends it.
    #[inline]
    fn any_field(&mut self, from: usize) -> Option<usize> {
        self.next().filter(|&end| end > from).map(|end| end + 1)
    }

    #[inline]
    fn field(&mut self, from: usize, end: u8) -> Option<usize> {
        self.any_field(from).filter(|next| self.bytes[next - 1] == end)
    }
}

#[inline]
fn find(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    if let Some(block) = rest.first_chunk() {
        return blanks(block);
    }
    let mut block = [u8::MAX; 64];
    block[..rest.len()].copy_from_slice(rest);
    blanks(&block)
}

/// A bit for each byte up to U+0020.
#[cfg(target_arch = "x86_64")]
#[inline]
fn blanks(block: &[u8; 64]) -> u64 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
    };
    let half = |bytes: &[u8]| bytes.first_chunk().map_or(0, |half| i64::from_le_bytes(*half));
    let mut found = 0;
    for (i, bytes) in block.chunks_exact(16).enumerate() {
        // SAFETY: every x86-64 has SSE2, which is all that these need.
        let bits = unsafe {
            let bytes = _mm_set_epi64x(half(&bytes[8..]), half(bytes));
            let below = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x20)), bytes);
            _mm_movemask_epi8(below)
        };
        found |= u64::from(bits.cast_unsigned()) << (16 * i);
    }
    found
}

/// A bit for each byte up to U+0020.
#[cfg(not(target_arch = "x86_64"))]
fn blanks(block: &[u8; 64]) -> u64 {
    let bits = block.iter().enumerate().map(|(i, &byte)| u64::from(byte <= b' ') << i);
    bits.fold(0, |found, bit| found | bit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::decode::decode;
    use proptest::prelude::*;

    /// A text of lines that are mostly right, with something put where it may not belong.
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
        fn a_line_means_the_same_whoever_reads_it(text in texts()) {
            // Of lines that end in CR LF none is read here.
            prop_assert_eq!(decode(&text), decode(&text.replace('\n', "\r\n")));
        }
    }

    proptest! {
        #[test]
        fn blanks_are_found_wherever_they_stand(bytes: Vec<u8>, dense in "[ -\\$\\n\u{0}é]{0,200}") {
            for bytes in [&bytes[..], dense.as_bytes()] {
                for from in [0, bytes.len() / 2] {
                    let mut blanks = Blanks::new(bytes, from);
                    let found: Vec<_> = std::iter::from_fn(|| blanks.next()).collect();
                    let expected = (from..bytes.len()).filter(|&at| bytes[at] <= b' ');
                    prop_assert_eq!(found, expected.collect::<Vec<_>>());
                }
            }
        }
    }
}
