//! The string type of graphs: immutable, 16 bytes, and often a slice of a buffer that many strings share.
//!
//! Nearly all strings of a payload are names that occur in its text. The decoder therefore copies the text
//! once, into a [`SharedBuffer`], and every name is a slice of that copy. One reference count serves all
//! slices: decoding 500 symbols and 500 edges takes one allocation for 3,000 strings, and dropping the
//! payload takes one subtraction from the count ([`DropBatch`]). With an `Arc<str>` for each string,
//! decoding took 1.4 to 1.6 times as long, GCB 1.3 to 1.4 times and unpickling 1.4 to 1.5 times
//! (to measure an alternative, run `python -m benches.graph`).
//!
//! A slice keeps the whole buffer in memory. Strings that outlive their payload, such as the names in the
//! tables of a session, are copied with [`SharedStr::detached`].
//!
//! # Why the unsafe code is sound
//! Invariant: the bytes from `start` on are valid UTF-8 that never changes. They are either static
//! (`offset` is 0), or in an allocation that begins with a [`Header`], `offset` bytes before `start`. In the
//! second case the string owns one reference of the header's count.
//!
//! - The fields are private to this module, so that all strings are made here, from a `str` or a slice of
//!   one; slicing checks the character boundaries.
//! - The allocation is freed when its count reaches 0. Each string and each [`SharedBuffer`] gives back
//!   exactly the references that it owns, so that the bytes outlive all of them.
//! - After the allocation is filled, only the count changes. It is atomic, so that threads may share
//!   strings.

use super::vocabulary;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::borrow::Borrow;
use std::cell::Cell;
use std::cmp;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::ManuallyDrop;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// An immutable string that is cheap to clone. The empty string and words of the vocabulary take no
/// memory.
pub struct SharedStr {
    start: NonNull<u8>,
    /// The length in bytes, or [`LONG`].
    length: u32,
    /// The distance from the header to `start`; 0 if the string is static.
    offset: u32,
}

/// The start of every allocation; the bytes of the strings follow.
struct Header {
    references: AtomicUsize,
    /// The number of bytes that follow.
    size: usize,
}

/// The `length` of a string of 4 GiB or more. It fills its allocation, whose header has the length.
const LONG: u32 = u32::MAX;
const HEADER_SIZE: usize = size_of::<Header>();
#[expect(clippy::cast_possible_truncation, reason = "the size is 16")]
const HEADER_OFFSET: u32 = HEADER_SIZE as u32;

// SAFETY: the shared bytes are never written, and the reference count is atomic.
unsafe impl Send for SharedStr {}
// SAFETY: as for `Send`.
unsafe impl Sync for SharedStr {}

impl Header {
    /// The layout of an allocation for `size` bytes. If these exceed the address space, the layout
    /// of the header alone, which the caller must reject.
    fn layout(size: usize) -> Layout {
        let layout = Layout::from_size_align(HEADER_SIZE.saturating_add(size), align_of::<Self>());
        layout.unwrap_or(Layout::new::<Self>())
    }

    /// Allocates a copy of a string; returns the start of its bytes. The caller owns the references.
    fn copy(string: &str, references: usize) -> NonNull<u8> {
        let copy = Self::try_copy(string, references);
        copy.unwrap_or_else(|| handle_alloc_error(Self::layout(string.len())))
    }

    /// [`Header::copy`]; `None` if there is not enough memory.
    fn try_copy(string: &str, references: usize) -> Option<NonNull<u8>> {
        let layout = Self::layout(string.len());
        assert!(layout.size() - HEADER_SIZE == string.len(), "the string is too long");
        // SAFETY: the layout is not empty, as it includes the header. Header and string fit into the
        // allocation, as the assertion checks, and the allocation has the alignment of the header.
        unsafe {
            let allocation = NonNull::new(alloc(layout))?;
            let header = Self { references: AtomicUsize::new(references), size: string.len() };
            allocation.cast::<Self>().write(header);
            let start = allocation.add(HEADER_SIZE);
            start.copy_from_nonoverlapping(NonNull::from(string.as_bytes()).cast(), string.len());
            Some(start)
        }
    }

    /// Subtracts references from the count; frees the allocation if none are left.
    ///
    /// # Safety
    /// The caller owns the references and does not use them again.
    unsafe fn release(header: NonNull<Self>, references: usize) {
        // SAFETY: the allocation lives while the caller's references are counted. If they are the last,
        // nothing else refers to it; the fence orders all other uses before the deallocation, whose
        // layout is that of the allocation.
        unsafe {
            if header.as_ref().references.fetch_sub(references, Ordering::Release) == references {
                fence(Ordering::Acquire);
                dealloc(header.as_ptr().cast(), Self::layout(header.as_ref().size));
            }
        }
    }
}

impl SharedStr {
    /// Wraps a static string.
    pub(crate) const fn from_static(string: &'static str) -> Self {
        assert!(string.len() < LONG as usize, "the static string is too long");
        // SAFETY: the pointer of a reference is not null.
        let start = unsafe { NonNull::new_unchecked(string.as_ptr().cast_mut()) };
        #[expect(clippy::cast_possible_truncation, reason = "the assertion bounds the length")]
        Self { start, length: string.len() as u32, offset: 0 }
    }

    /// Copies a string, unless it is a word of the vocabulary.
    pub fn interned(string: &str) -> Self {
        vocabulary::word(string).map_or_else(|| string.into(), Self::from_static)
    }

    /// Returns an equal string that does not keep a shared buffer in memory.
    pub(crate) fn detached(&self) -> Self {
        if self.offset == 0 { self.uncounted_clone() } else { (&**self).into() }
    }

    fn header(&self) -> Option<NonNull<Header>> {
        // SAFETY: the invariant; the header is in the same allocation as `start`.
        (self.offset > 0).then(|| unsafe { self.start.sub(self.offset as usize).cast() })
    }

    /// Returns a clone for which the caller must have counted a reference, unless the string is static.
    fn uncounted_clone(&self) -> Self {
        Self { start: self.start, length: self.length, offset: self.offset }
    }
}

impl Default for SharedStr {
    fn default() -> Self {
        Self::from_static("")
    }
}

impl Deref for SharedStr {
    type Target = str;

    fn deref(&self) -> &str {
        let length = match self.header() {
            // SAFETY: the string owns a reference, so that the allocation lives.
            Some(header) if self.length == LONG => unsafe { header.as_ref().size },
            _ => self.length as usize,
        };
        // SAFETY: the invariant; the bytes live at least as long as `self`.
        unsafe {
            let bytes = std::slice::from_raw_parts(self.start.as_ptr(), length);
            std::str::from_utf8_unchecked(bytes)
        }
    }
}

impl Clone for SharedStr {
    fn clone(&self) -> Self {
        if let Some(header) = self.header() {
            // SAFETY: the string owns a reference, so that the allocation lives.
            let before = unsafe { header.as_ref() }.references.fetch_add(1, Ordering::Relaxed);
            if before > isize::MAX as usize {
                // Only leaked clones (`mem::forget`) can raise the count this far. Its overflow
                // would free memory in use.
                std::process::abort();
            }
        }
        self.uncounted_clone()
    }
}

impl Drop for SharedStr {
    fn drop(&mut self) {
        if let Some(header) = self.header() {
            // SAFETY: the string owns one reference and is not used again.
            unsafe { Header::release(header, 1) }
        }
    }
}

impl From<&str> for SharedStr {
    fn from(string: &str) -> Self {
        if string.is_empty() {
            return Self::default();
        }
        let length = u32::try_from(string.len()).unwrap_or(LONG);
        Self { start: Header::copy(string, 1), length, offset: HEADER_OFFSET }
    }
}

impl From<String> for SharedStr {
    fn from(string: String) -> Self {
        string.as_str().into()
    }
}

/// A text and one shared copy of it, whose slices are strings.
///
/// The copy starts with [`RESERVED`] references, which the buffer owns. A new slice takes over one of them,
/// which changes a local counter instead of the atomic count.
pub(crate) struct SharedBuffer<'t> {
    text: &'t str,
    /// The start of the shared copy; `None` if each slice gets a copy of its own.
    start: Option<NonNull<u8>>,
    /// The number of references that slices have taken over.
    taken: Cell<usize>,
}

/// The number of references of a new [`SharedBuffer`].
const RESERVED: usize = isize::MAX as usize / 2;

impl<'t> SharedBuffer<'t> {
    /// Copies a text whose slices are to share the copy; `None` if there is not enough memory. Of a text of
    /// 4 GiB or more, each slice is copied.
    pub(crate) fn try_new(text: &'t str) -> Option<Self> {
        let small =
            u32::try_from(HEADER_SIZE.saturating_add(text.len())).is_ok_and(|end| end < LONG);
        let shared = small && !text.is_empty();
        let start = if shared { Some(Header::try_copy(text, RESERVED)?) } else { None };
        Some(Self { text, start, taken: Cell::new(0) })
    }

    /// A text of which each slice is copied.
    pub(crate) fn unshared(text: &'t str) -> Self {
        Self { text, start: None, taken: Cell::new(0) }
    }

    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// The slice of the text between two byte offsets.
    #[inline]
    pub(crate) fn slice(&self, Range { start: from, end: to }: Range<usize>) -> SharedStr {
        let slice = &self.text[from..to];
        match self.start {
            Some(start) if !slice.is_empty() && self.take_reference() => {
                #[expect(clippy::cast_possible_truncation, reason = "`try_new` bounds all offsets")]
                // SAFETY: the copy has the bytes of `text`, so that `from` is within it and the slice is
                // UTF-8. The slice owns the reference that was taken.
                let string = unsafe {
                    SharedStr {
                        start: start.add(from),
                        length: slice.len() as u32,
                        offset: (HEADER_SIZE + from) as u32,
                    }
                };
                string
            }
            _ => slice.into(),
        }
    }

    /// Clones a string. Cloning a slice of this buffer takes no atomic operation.
    #[inline]
    pub(crate) fn clone_str(&self, string: &SharedStr) -> SharedStr {
        let header = self.header();
        if header.is_some() && string.header() == header && self.take_reference() {
            return string.uncounted_clone();
        }
        string.clone()
    }

    fn header(&self) -> Option<NonNull<Header>> {
        // SAFETY: the header precedes the copy in the same allocation.
        self.start.map(|start| unsafe { start.sub(HEADER_SIZE).cast() })
    }

    /// Takes a reference for a slice. Returns false if only the buffer's own is left.
    fn take_reference(&self) -> bool {
        let taken = self.taken.get();
        let available = taken < RESERVED - 1;
        self.taken.set(taken + usize::from(available));
        available
    }
}

impl Drop for SharedBuffer<'_> {
    fn drop(&mut self) {
        if let Some(header) = self.header() {
            // SAFETY: the buffer owns the reserved references that no slice has taken over.
            unsafe { Header::release(header, RESERVED - self.taken.get()) }
        }
    }
}

/// Drops strings; changes the count once for consecutive strings of the same allocation.
#[derive(Default)]
pub(crate) struct DropBatch {
    /// The allocation of the last strings.
    header: Option<NonNull<Header>>,
    /// The number of references to it that the batch owns.
    references: usize,
}

impl DropBatch {
    #[inline]
    pub(crate) fn add(&mut self, string: SharedStr) {
        let string = ManuallyDrop::new(string);
        let Some(header) = string.header() else { return };
        if self.header != Some(header) {
            self.flush();
            self.header = Some(header);
        }
        self.references += 1;
    }

    fn flush(&mut self) {
        if let Some(header) = self.header.take() {
            // SAFETY: the references are those of strings that `add` took without dropping them.
            unsafe { Header::release(header, std::mem::take(&mut self.references)) }
        }
    }
}

impl Drop for DropBatch {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Borrow<str> for SharedStr {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for SharedStr {
    fn eq(&self, other: &Self) -> bool {
        (self.start == other.start && self.length == other.length) || **self == **other
    }
}

impl Eq for SharedStr {}

impl PartialOrd for SharedStr {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SharedStr {
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        if self.start == other.start && self.length == other.length {
            return cmp::Ordering::Equal;
        }
        (**self).cmp(&**other)
    }
}

impl Hash for SharedStr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for SharedStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for SharedStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference count of the string's allocation; 0 for a static string.
    fn references(string: &SharedStr) -> usize {
        // SAFETY: the string owns a reference, so that the allocation lives.
        string
            .header()
            .map_or(0, |header| unsafe { header.as_ref() }.references.load(Ordering::Relaxed))
    }

    #[test]
    fn slices_outlive_the_buffer_and_own_one_reference_each() {
        let text = "one é three".to_owned();
        let buffer = SharedBuffer::try_new(&text).unwrap();
        let slices =
            [buffer.slice(0..3), buffer.slice(4..6), buffer.slice(7..12), buffer.slice(3..3)];
        let clone = buffer.clone_str(&slices[1]);
        assert_eq!(references(&clone), RESERVED);
        drop(buffer);
        drop(text);
        assert_eq!(
            [&*slices[0], &*slices[1], &*slices[2], &*slices[3], &*clone],
            ["one", "é", "three", "", "é"]
        );
        assert_eq!((references(&clone), references(&slices[3])), (4, 0));
        let counted_clone = clone.clone();
        assert_eq!(references(&clone), 5);
        let mut batch = DropBatch::default();
        let other = SharedStr::from("other");
        for string in slices.into_iter().chain([clone, other.clone()]) {
            batch.add(string);
        }
        drop(batch);
        assert_eq!((references(&counted_clone), references(&other)), (1, 1));
        assert_eq!(&*counted_clone, "é");
    }

    #[test]
    fn slices_of_an_unshared_buffer_are_copies() {
        let buffer = SharedBuffer::unshared("one two");
        let (one, two) = (buffer.slice(0..3), buffer.slice(4..7));
        assert_eq!((references(&one), references(&two)), (1, 1));
        assert_eq!((&*one, &*buffer.clone_str(&two)), ("one", "two"));
    }

    #[test]
    fn a_detached_string_does_not_keep_the_buffer() {
        let slice = SharedBuffer::try_new("one two").unwrap().slice(4..7);
        let detached = slice.detached();
        assert_eq!((references(&slice), references(&detached)), (1, 1));
        assert_eq!(slice, detached);
        assert_ne!(slice.as_ptr(), detached.as_ptr());
    }

    #[test]
    fn a_string_has_16_bytes() {
        assert_eq!((size_of::<SharedStr>(), size_of::<Option<SharedStr>>()), (16, 16));
    }

    #[test]
    fn a_clone_shares_the_memory_of_the_original() {
        let name = SharedStr::from("pkg.Auth");
        assert_eq!(name.clone().as_ptr(), name.as_ptr());
        assert_eq!(references(&name), 1);
    }

    #[test]
    fn empty_strings_and_words_of_the_vocabulary_are_static() {
        for string in ["", "calls", "lsp_resolved"] {
            let interned = SharedStr::interned(string);
            assert_eq!((&*interned, references(&interned)), (string, 0));
        }
        assert_eq!(references(&SharedStr::from("")), 0);
        assert_eq!(references(&SharedStr::interned("pkg.Auth")), 1);
    }

    #[test]
    fn strings_compare_by_content() {
        assert_eq!(SharedStr::interned("calls"), SharedStr::from("calls"));
        assert_ne!(SharedStr::from("a"), SharedStr::from("b"));
        assert!(SharedStr::from("a") < SharedStr::from("b"));
    }

    #[test]
    #[should_panic(expected = "byte index 5 is not a char boundary")]
    fn a_slice_within_a_character_panics() {
        SharedBuffer::try_new("one é").unwrap().slice(0..5);
    }

    #[test]
    fn threads_can_clone_and_drop_the_same_string() {
        let string = SharedStr::from("shared");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let string = string.clone();
                scope.spawn(move || (0..1000).for_each(|_| assert_eq!(&*string.clone(), "shared")));
            }
        });
        assert_eq!(references(&string), 1);
    }
}
