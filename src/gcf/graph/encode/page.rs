//! What a page is put together of: short parts are copied as whole blocks, of which the next part
//! overwrites the surplus.
//!
//! Invariant: what a [`Line`] has put stands before its end, nothing else; what finds no room is not
//! put, and then there is no end.

use crate::gcf::graph::names::{is_word, short};

/// Where a page is written on.
pub(super) struct Line<'b> {
    page: &'b mut [u8],
    at: usize,
}

// Each part gives the line back, so that its place stays in a register.
impl<'b> Line<'b> {
    /// How much room blocks need behind the end of all.
    pub(super) const SURPLUS: usize = WORD;

    pub(super) fn new(page: &'b mut [u8]) -> Self {
        Self { page, at: 0 }
    }

    /// Puts a block, of which only the first bytes count.
    #[inline]
    pub(super) fn block<const N: usize>(self, block: &[u8; N], length: usize) -> Self {
        if let Some(to) = self.page.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut) {
            *to = *block;
        }
        Self { at: self.at + length, ..self }
    }

    #[inline]
    pub(super) fn id(self, Id(id): Id) -> Self {
        self.block(&id.to_le_bytes(), (id >> 56) as usize)
    }

    #[inline]
    pub(super) fn word(self, word: &Word) -> Self {
        self.block(&word.block, word.length)
    }

    #[inline]
    pub(super) fn text(self, text: &str) -> Self {
        let end = self.at + text.len();
        if let Some(to) = self.page.get_mut(self.at..end) {
            match text.len() {
                16..=32 => copy_ends::<16>(text.as_bytes(), to),
                33..=64 => copy_ends::<32>(text.as_bytes(), to),
                _ => to.copy_from_slice(text.as_bytes()),
            }
        }
        Self { at: end, ..self }
    }

    /// Where the text ends; `None` if it found no room.
    pub(super) fn end(self) -> Option<usize> {
        (self.at + Self::SURPLUS <= self.page.len()).then_some(self.at)
    }
}

/// Copies the first and the last bytes, which together are all: without a loop or a call.
#[inline]
fn copy_ends<const N: usize>(from: &[u8], to: &mut [u8]) {
    if let (Some(first), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut()) {
        *to = *first;
    }
    if let (Some(last), Some(to)) = (from.last_chunk::<N>(), to.last_chunk_mut()) {
        *to = *last;
    }
}

/// `@` and an id of up to six digits; the last byte is the length.
#[derive(Clone, Copy)]
pub(super) struct Id(u64);

impl Id {
    const END: u64 = 1_000_000;

    /// How long one is at most.
    pub(super) const LENGTH: usize = 7;

    pub(super) fn new(id: u64) -> Option<Self> {
        match SHORT_IDS.get(usize::try_from(id).ok()?) {
            Some(id) => Some(*id),
            None if id < Self::END => Some(Self::of(id)),
            None => None,
        }
    }

    const fn of(id: u64) -> Self {
        let (mut bytes, mut length, mut rest) = (0, 1, id);
        loop {
            bytes = bytes << 8 | (b'0' as u64 + rest % 10);
            length += 1;
            rest /= 10;
            if rest == 0 {
                return Self(bytes << 8 | b'@' as u64 | length << 56);
            }
        }
    }
}

static SHORT_IDS: [Id; 1000] = {
    let mut ids = [Id(0); 1000];
    let mut id = 0;
    while id < ids.len() {
        ids[id] = Id::of(id as u64);
        id += 1;
    }
    ids
};

const WORD: usize = 24;

/// A word with what stands around it.
pub(super) struct Word {
    block: [u8; WORD],
    length: usize,
}

/// How many places of words are remembered.
const SEEN: usize = 64;

/// The words that one field of a payload has, of which there are few, each found fit for a line.
pub(super) struct Words<'p> {
    blocks: Vec<Word>,
    texts: Vec<&'p str>,
    /// Where in memory a word was seen, and which it is: mostly it is the very text.
    seen: [(*const u8, usize, u16); SEEN],
    as_written: fn(&str) -> &str,
    behind: &'static str,
}

impl<'p> Words<'p> {
    const MOST: usize = 64;

    /// Words of lines, each with a space before and `behind` after it.
    pub(super) fn new(behind: &'static str) -> Self {
        Self {
            blocks: Vec::new(),
            texts: Vec::new(),
            seen: [(std::ptr::null(), 0, 0); SEEN],
            as_written: |word| word,
            behind,
        }
    }

    /// Kinds, which are abbreviated.
    pub(super) fn kinds() -> Self {
        Self { as_written: short, ..Self::new(" ") }
    }

    /// Which word it is; `None` where it is not fit for a line, or long, or there are too many.
    #[inline]
    pub(super) fn place(&mut self, word: &'p str) -> Option<u16> {
        let spread = (word.as_ptr() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let at = (spread >> 32) as usize % SEEN;
        let (start, length, place) = self.seen[at];
        if start == word.as_ptr() && length == word.len() {
            return Some(place);
        }
        let place = self.find(word)?;
        self.seen[at] = (word.as_ptr(), word.len(), place);
        Some(place)
    }

    #[inline(never)]
    fn find(&mut self, word: &'p str) -> Option<u16> {
        let found = self.texts.iter().position(|text| *text == word);
        let place = found.unwrap_or(self.texts.len());
        if found.is_none() {
            let text = format!(" {}{}", (self.as_written)(word), self.behind);
            if !is_word(word, false) || place == Self::MOST {
                return None;
            }
            let mut block = [0; WORD];
            block.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
            self.blocks.push(Word { block, length: text.len() });
            self.texts.push(word);
        }
        u16::try_from(place).ok()
    }

    #[inline]
    pub(super) fn word(&self, place: u16) -> &Word {
        &self.blocks[usize::from(place)]
    }

    pub(super) fn text(&self, place: u16) -> &'p str {
        self.texts[usize::from(place)]
    }

    /// How long the longest is, with what stands around it.
    pub(super) fn longest(&self) -> usize {
        self.blocks.iter().map(|word| word.length).max().unwrap_or(0)
    }
}

/// What a page is made of.
pub(super) struct Scan {
    /// How many bytes are none of the 94 characters of ASCII that print: spaces, line ends, and all
    /// that a fit word does not have.
    pub(super) blanks: usize,
    pub(super) is_ascii: bool,
}

/// Looks at each byte of a page.
pub(super) fn scan(page: &[u8]) -> Scan {
    let (blocks, rest) = page.as_chunks();
    let is_blank = |byte: &&u8| !byte.is_ascii_graphic();
    let mut found =
        Scan { blanks: rest.iter().filter(is_blank).count(), is_ascii: rest.is_ascii() };
    // So many that a byte can count them.
    for blocks in blocks.chunks(255) {
        let (blanks, is_ascii) = scan_blocks(blocks);
        found = Scan { blanks: found.blanks + blanks, is_ascii: found.is_ascii && is_ascii };
    }
    found
}

/// [`scan`] of at most 255 blocks.
#[cfg(target_arch = "x86_64")]
fn scan_blocks(blocks: &[[u8; 16]]) -> (usize, bool) {
    use std::arch::x86_64::{
        _mm_add_epi8, _mm_cmpgt_epi8, _mm_cvtsi128_si64, _mm_loadu_si128, _mm_movemask_epi8,
        _mm_or_si128, _mm_sad_epu8, _mm_set1_epi8, _mm_setzero_si128, _mm_sub_epi8,
        _mm_unpackhi_epi64,
    };
    // SAFETY: every x86-64 has SSE2, which is all that these need; 16 bytes are loaded of 16.
    unsafe {
        let mut graphic = _mm_setzero_si128();
        let mut all = _mm_setzero_si128();
        for block in blocks {
            let bytes = _mm_loadu_si128(block.as_ptr().cast());
            // Moved so that `!` is the least of the signed numbers; `~` is 93 above it.
            let moved = _mm_add_epi8(bytes, _mm_set1_epi8(0x5F));
            // True is -1.
            graphic = _mm_sub_epi8(graphic, _mm_cmpgt_epi8(_mm_set1_epi8(-128 + 94), moved));
            all = _mm_or_si128(all, bytes);
        }
        let sums = _mm_sad_epu8(graphic, _mm_setzero_si128());
        let graphic = _mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 4080")]
        (16 * blocks.len() - graphic as usize, _mm_movemask_epi8(all) == 0)
    }
}

/// [`scan`] of at most 255 blocks.
#[cfg(not(target_arch = "x86_64"))]
fn scan_blocks(blocks: &[[u8; 16]]) -> (usize, bool) {
    let bytes = blocks.as_flattened();
    (bytes.iter().filter(|byte| !byte.is_ascii_graphic()).count(), bytes.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(size: usize, write: impl FnOnce(Line<'_>) -> Line<'_>) -> Option<String> {
        let mut page = vec![0; size];
        let end = write(Line::new(&mut page)).end()?;
        Some(String::from_utf8(page[..end].to_vec()).unwrap())
    }

    #[test]
    fn ids_have_their_digits() {
        for id in [0, 9, 10, 999, 1000, 12_345, 999_999] {
            let text = written(40, |line| line.id(Id::new(id).unwrap()));
            assert_eq!(text, Some(format!("@{id}")));
        }
        assert!(Id::new(1_000_000).is_none() && Id::new(u64::MAX).is_none());
    }

    #[test]
    fn texts_of_any_length_are_put_where_there_is_room() {
        for length in 0..200 {
            let text: String = ('a'..='z').cycle().take(length).collect();
            let put = |size| written(size, |line| line.text("<").text(&text).block(b">..", 1));
            assert_eq!(put(length + 2 + Line::SURPLUS), Some(format!("<{text}>")));
            assert_eq!(put(length + 1 + Line::SURPLUS), None);
            assert_eq!(put(length / 2), None);
        }
    }

    #[test]
    fn a_word_is_found_wherever_it_stands() {
        let own = ["function".to_owned(), "function".to_owned()];
        let mut kinds = Words::kinds();
        let places = ["function", &own[0], "type", &own[1], "type"].map(|kind| kinds.place(kind));
        assert_eq!(places, [Some(0), Some(0), Some(1), Some(0), Some(1)]);
        assert_eq!(written(40, |line| line.word(kinds.word(0))).as_deref(), Some(" fn "));
        assert_eq!(kinds.longest(), 6);
        let long = "w".repeat(23);
        assert_eq!(["", "a b", "é", &long].map(|word| kinds.place(word)), [None; 4]);
        assert_eq!(kinds.place(&long[1..]), Some(2));
        let many: Vec<String> = (3..=Words::MOST).map(|i| format!("w{i}")).collect();
        let places: Vec<_> = many.iter().map(|word| kinds.place(word)).collect();
        assert_eq!((places[60], places.last()), (Some(63), Some(&None)));
    }

    #[test]
    fn blanks_are_told_from_what_prints() {
        for byte in 0..=u8::MAX {
            for length in [1, 16, 17, 5000] {
                let mut page = vec![b'!'; length];
                page[length / 2] = byte;
                let found = scan(&page);
                assert_eq!(found.blanks, usize::from(!byte.is_ascii_graphic()), "{byte}");
                assert_eq!(found.is_ascii, byte.is_ascii(), "{byte}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_blank_is_counted(page in proptest::collection::vec(0..0x90_u8, 0..10_000)) {
            let found = scan(&page);
            let blanks = page.iter().filter(|byte| !byte.is_ascii_graphic()).count();
            prop_assert_eq!((found.blanks, found.is_ascii), (blanks, page.is_ascii()));
        }
    }
}
