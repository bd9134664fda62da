//! A text that many may hold: 16 bytes, and no memory of its own where it is part of a larger one.
//!
//! A graph is mostly names that stand in its text already. They are parts of one copy of it, with one
//! count of holders for all: reading 500 symbols and as many edges takes one allocation for 3,000
//! texts, and giving them back one subtraction. With a counted text each (`Arc<str>`) the same reading
//! took three times as long.
//!
//! Invariant: `start` and `length` are UTF-8 that nobody changes, either static (`offset` 0) or inside
//! a [`Block`] that begins `offset` bytes before, and of whose holders the text is one.

use super::vocabulary;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::borrow::Borrow;
use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::ManuallyDrop;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering as Memory, fence};

/// A text that many may hold; an empty one and a word of the vocabulary take no memory.
pub struct Text {
    start: NonNull<u8>,
    /// [`LONG`] where the block alone knows.
    length: u32,
    /// From the begin of the block; 0 for a static text.
    offset: u32,
}

/// What stands before the bytes of all texts that are not static.
struct Block {
    holders: AtomicUsize,
    /// How many bytes follow.
    size: usize,
}

/// The length of a text that is its whole block, of 4 GiB or more.
const LONG: u32 = u32::MAX;
const HEAD: usize = size_of::<Block>();
#[expect(clippy::cast_possible_truncation, reason = "16")]
const HEAD_OFFSET: u32 = HEAD as u32;

// SAFETY: what is shared is read only, but for the count, which is atomic.
unsafe impl Send for Text {}
// SAFETY: as above.
unsafe impl Sync for Text {}

impl Block {
    fn layout(size: usize) -> Layout {
        let layout = Layout::from_size_align(HEAD.saturating_add(size), align_of::<Self>());
        // Nothing that is in memory is so large that there is none.
        layout.unwrap_or(Layout::new::<Self>())
    }

    /// A block with a copy of a text; gives where the copy begins.
    fn copy(text: &str, holders: usize) -> NonNull<u8> {
        let layout = Self::layout(text.len());
        assert!(layout.size() > text.len());
        // SAFETY: the layout is not empty. Head and text fit in: its size is that of both, which the
        // assertion holds, as a sum beyond memory gave the head's alone.
        unsafe {
            let Some(block) = NonNull::new(alloc(layout)) else { handle_alloc_error(layout) };
            let head = Self { holders: AtomicUsize::new(holders), size: text.len() };
            block.cast::<Self>().write(head);
            let start = block.add(HEAD);
            start.copy_from_nonoverlapping(NonNull::from(text.as_bytes()).cast(), text.len());
            start
        }
    }

    /// Takes holders away; the last frees the block.
    ///
    /// # Safety
    /// The block lives, and so many of its holders are the caller's and are never used again.
    unsafe fn release(block: NonNull<Self>, holders: usize) {
        // SAFETY: it lives until the last holder is taken away, which this may be.
        unsafe {
            if block.as_ref().holders.fetch_sub(holders, Memory::Release) == holders {
                fence(Memory::Acquire);
                dealloc(block.as_ptr().cast(), Self::layout(block.as_ref().size));
            }
        }
    }
}

impl Text {
    /// A word that is always there.
    pub(crate) const fn from_static(word: &'static str) -> Self {
        assert!(word.len() < LONG as usize, "a word is short");
        // SAFETY: a reference is not null.
        let start = unsafe { NonNull::new_unchecked(word.as_ptr().cast_mut()) };
        #[expect(clippy::cast_possible_truncation, reason = "it is shorter")]
        Self { start, length: word.len() as u32, offset: 0 }
    }

    /// A text that is mostly a word of the vocabulary.
    pub fn interned(word: &str) -> Self {
        vocabulary::word(word).map_or_else(|| word.into(), Self::from_static)
    }

    /// The same text in memory of its own, where this one may keep more.
    pub(crate) fn unshared(&self) -> Self {
        if self.offset == 0 { self.uncounted() } else { (&**self).into() }
    }

    fn block(&self) -> Option<NonNull<Block>> {
        // SAFETY: not static, so that its block begins so far before.
        (self.offset > 0).then(|| unsafe { self.start.sub(self.offset as usize).cast() })
    }

    /// The same text; its holder is counted by the caller.
    fn uncounted(&self) -> Self {
        Self { start: self.start, length: self.length, offset: self.offset }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::from_static("")
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        let length = match self.block() {
            // SAFETY: a holder's block lives.
            Some(block) if self.length == LONG => unsafe { block.as_ref().size },
            _ => self.length as usize,
        };
        // SAFETY: the invariant.
        unsafe {
            let bytes = std::slice::from_raw_parts(self.start.as_ptr(), length);
            std::str::from_utf8_unchecked(bytes)
        }
    }
}

impl Clone for Text {
    fn clone(&self) -> Self {
        if let Some(block) = self.block() {
            // SAFETY: a holder's block lives.
            let before = unsafe { block.as_ref() }.holders.fetch_add(1, Memory::Relaxed);
            if before > isize::MAX as usize {
                // More clones than memory holds were forgotten; the count must not begin again.
                std::process::abort();
            }
        }
        self.uncounted()
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        if let Some(block) = self.block() {
            // SAFETY: the holder that this is.
            unsafe { Block::release(block, 1) }
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        let length = u32::try_from(text.len()).unwrap_or(LONG);
        Self { start: Block::copy(text, 1), length, offset: HEAD_OFFSET }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// A copy of a text, of which parts are handed out: not one by one are their holders counted, but
/// taken from a stock that the block has from the start.
pub(crate) struct SharedSource<'t> {
    text: &'t str,
    /// Of the copy; `None` where each part is copied: of 4 GiB or more, and where that is asked for.
    start: Option<NonNull<u8>>,
    handed_out: Cell<usize>,
}

/// How many holders a block has as long as its [`SharedSource`] lives.
const STOCK: usize = isize::MAX as usize / 2;

impl<'t> SharedSource<'t> {
    /// Parts keep the whole in memory, unless they are not `shared`.
    pub(crate) fn new(text: &'t str, shared: bool) -> Self {
        let small = u32::try_from(HEAD.saturating_add(text.len())).is_ok_and(|end| end < LONG);
        let start = (shared && small && !text.is_empty()).then(|| Block::copy(text, STOCK));
        Self { text, start, handed_out: Cell::new(0) }
    }

    pub(crate) fn bytes(&self) -> &'t [u8] {
        self.text.as_bytes()
    }

    pub(crate) fn str(&self, part: Range<usize>) -> &'t str {
        &self.text[part]
    }

    /// A part of the text, from one place to another.
    #[inline]
    pub(crate) fn part(&self, from: usize, to: usize) -> Text {
        let part = &self.text[from..to];
        match self.start {
            Some(start) if !part.is_empty() && self.take() => {
                #[expect(clippy::cast_possible_truncation, reason = "all of it is below 2^32")]
                // SAFETY: the same place of the copy; one holder of the stock.
                let part = unsafe {
                    Text {
                        start: start.add(from),
                        length: part.len() as u32,
                        offset: (HEAD + from) as u32,
                    }
                };
                part
            }
            _ => part.into(),
        }
    }

    /// The clone of a text: of its own parts, from the stock.
    #[inline]
    pub(crate) fn again(&self, text: &Text) -> Text {
        // SAFETY: the head stands before the copy.
        let block = self.start.map(|start| unsafe { start.sub(HEAD).cast() });
        if block.is_some() && text.block() == block && self.take() {
            return text.uncounted();
        }
        text.clone()
    }

    /// Takes a holder from the stock, if one is left.
    fn take(&self) -> bool {
        let handed_out = self.handed_out.get();
        self.handed_out.set(handed_out + usize::from(handed_out < STOCK - 1));
        handed_out < STOCK - 1
    }
}

impl Drop for SharedSource<'_> {
    fn drop(&mut self) {
        if let Some(start) = self.start {
            // SAFETY: the head stands before the copy; what was not handed out is ours.
            unsafe { Block::release(start.sub(HEAD).cast(), STOCK - self.handed_out.get()) }
        }
    }
}

/// Gives texts back, those of one block together.
#[derive(Default)]
pub(crate) struct Release {
    /// Whose holders were collected, and how many.
    of: Option<NonNull<Block>>,
    holders: usize,
}

impl Release {
    #[inline]
    pub(crate) fn text(&mut self, text: Text) {
        let text = ManuallyDrop::new(text);
        let Some(block) = text.block() else { return };
        if self.of != Some(block) {
            self.flush();
            self.of = Some(block);
        }
        self.holders += 1;
    }

    fn flush(&mut self) {
        if let Some(block) = self.of.take() {
            // SAFETY: of texts that were given to us and are not dropped.
            unsafe { Block::release(block, std::mem::take(&mut self.holders)) }
        }
    }
}

impl Drop for Release {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        (self.start == other.start && self.length == other.length) || **self == **other
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holders(text: &Text) -> usize {
        // SAFETY: a holder's block lives.
        text.block().map_or(0, |block| unsafe { block.as_ref() }.holders.load(Memory::Relaxed))
    }

    #[test]
    fn parts_outlive_the_whole_and_are_counted_once_each() {
        let source = "one é three".to_owned();
        let whole = SharedSource::new(&source, true);
        let parts = [whole.part(0, 3), whole.part(4, 6), whole.part(7, 12), whole.part(3, 3)];
        let again = whole.again(&parts[1]);
        assert_eq!(holders(&again), STOCK);
        drop(whole);
        drop(source);
        assert_eq!(
            [&*parts[0], &*parts[1], &*parts[2], &*parts[3], &*again],
            ["one", "é", "three", "", "é"]
        );
        assert_eq!((holders(&again), holders(&parts[3])), (4, 0));
        let clone = again.clone();
        assert_eq!(holders(&again), 5);
        let mut release = Release::default();
        let own = Text::from("own");
        for text in parts.into_iter().chain([again, own.clone(), clone]) {
            release.text(text);
        }
        assert_eq!(holders(&own), 1);
    }

    #[test]
    fn a_text_is_small_and_an_empty_one_takes_no_memory() {
        assert_eq!((size_of::<Text>(), size_of::<Option<Text>>()), (16, 16));
        assert_eq!(
            (holders(&Text::default()), holders(&"".into()), holders(&"a".into())),
            (0, 0, 1)
        );
        assert!(
            Text::from_static("calls") == Text::from("calls") && Text::from("a") != Text::from("b")
        );
        assert!(Text::from("a") < Text::from("b"));
    }

    #[test]
    #[should_panic(expected = "byte index 5 is not a char boundary")]
    fn half_a_character_is_no_part() {
        SharedSource::new("one é", true).part(0, 5);
    }

    #[test]
    fn texts_are_held_by_many_threads() {
        let text = Text::from("shared");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let text = text.clone();
                scope.spawn(move || (0..1000).for_each(|_| assert_eq!(&*text.clone(), "shared")));
            }
        });
        assert_eq!(holders(&text), 1);
    }
}
