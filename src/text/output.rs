//! A text buffer for many short pieces, in memory that can fail to grow.
//!
//! A piece of up to 32 bytes is copied in two blocks of fixed size and classified while it is copied, so that
//! most cells of a table cost one comparison of length, one of capacity and one of content. The comparison of
//! capacity is with `PIECE`, whatever the length.
//!
//! Invariant: the bytes before `len` are initialized and UTF-8.

use super::digits;
use super::scan::{self, Class};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Memory of an [`Output`], which can grow.
///
/// # Safety
/// [`Memory::grow`] returns the start of at least `capacity` writable bytes, of which the first `used` have
/// the content that was written before. They stay valid, and are not accessed, until the next call or until
/// the memory is dropped.
pub unsafe trait Memory {
    /// Provides at least `capacity` bytes with the same content; `None` if there is not enough memory.
    fn grow(&mut self, used: usize, capacity: usize) -> Option<NonNull<u8>>;
}

// SAFETY: the vector has reserved `capacity` bytes, and nothing else uses it.
unsafe impl Memory for Vec<u8> {
    fn grow(&mut self, used: usize, capacity: usize) -> Option<NonNull<u8>> {
        // SAFETY: the writer has initialized the first `used` bytes, which are within the capacity.
        unsafe { self.set_len(used) };
        self.try_reserve_exact(capacity - used).ok()?;
        NonNull::new(self.as_mut_ptr())
    }
}

/// A position in a text, to which it can be truncated.
#[derive(Clone, Copy)]
pub struct Mark(usize);

/// A text that grows.
///
/// If the memory cannot grow, nothing more is appended, and [`Output::finish`] returns `None`.
pub struct Output<M> {
    memory: M,
    start: NonNull<u8>,
    len: usize,
    capacity: usize,
    failed: bool,
}

/// Below this capacity, the memory grows to four times its size; from it on, to twice its size.
const SMALL: usize = 1 << 16;

/// From this capacity on, the memory grows by an eighth of its size.
const LARGE: usize = 1 << 20;

/// The space that is reserved for a short piece.
const PIECE: usize = 64;

impl<M: Memory> Output<M> {
    /// An empty text.
    pub fn new(memory: M) -> Self {
        let mut output =
            Self { memory, start: NonNull::dangling(), len: 0, capacity: 0, failed: false };
        output.reserve(1024);
        output
    }

    /// The length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a text begins with its header")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the memory was too small for a part of the text.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// The memory and the length of the text in it, if there was enough memory.
    pub fn finish(self) -> Option<(M, usize)> {
        (!self.failed).then_some((self.memory, self.len))
    }

    /// The current end of the text.
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark(self.len)
    }

    /// Removes everything after a mark.
    #[inline]
    pub fn cut(&mut self, mark: Mark) {
        self.len = self.len.min(mark.0);
    }

    /// Reserves `more` bytes. Returns whether there is memory.
    #[inline]
    fn reserve(&mut self, more: usize) -> bool {
        self.capacity - self.len >= more || self.grow(more)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> bool {
        let needed = self.len.checked_add(more).and_then(|sum| sum.checked_add(PIECE));
        // A large block usually grows in place, so small steps are cheap and leave less memory unused.
        let step = match self.capacity {
            ..SMALL => 3 * self.capacity,
            SMALL..LARGE => self.capacity,
            LARGE.. => self.capacity / 8,
        };
        let capacity = needed.map(|needed| needed.max(self.capacity.saturating_add(step)));
        let grown = match capacity {
            Some(capacity) if !self.failed => {
                self.memory.grow(self.len, capacity).zip(capacity.into())
            }
            _ => None,
        };
        // If growing failed, the old memory may be freed as well, so nothing is written from here on.
        self.failed = grown.is_none();
        (self.start, self.capacity) = grown.unwrap_or((NonNull::dangling(), 0));
        if self.failed {
            self.len = 0;
        }
        !self.failed
    }

    /// Appends an ASCII character.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.bytes([byte]);
    }

    /// Appends a few ASCII characters.
    #[inline]
    pub fn bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        const { assert!(N <= PIECE) };
        if self.reserve(PIECE) {
            // SAFETY: there is space for PIECE bytes after `len`.
            unsafe { self.start.as_ptr().add(self.len).cast::<[u8; N]>().write_unaligned(bytes) };
            self.len += N;
        }
    }

    /// Replaces the last character. Both the old and the new one must be ASCII.
    #[inline]
    pub fn replace_last(&mut self, byte: u8) {
        if self.len > 0 {
            // SAFETY: the byte before `len` is initialized.
            unsafe { self.start.as_ptr().add(self.len - 1).write(byte) };
        }
    }

    /// Appends a text.
    #[inline]
    pub fn str(&mut self, text: &str) {
        if self.reserve(text.len()) {
            // SAFETY: there is space for the text after `len`, and it is UTF-8.
            unsafe {
                let end = self.start.as_ptr().add(self.len);
                text.as_ptr().copy_to_nonoverlapping(end, text.len());
            }
            self.len += text.len();
        }
    }

    /// Appends a short text.
    #[inline]
    pub fn short(&mut self, text: &str) {
        if text.len() <= 32 && self.reserve(PIECE) {
            // SAFETY: there is space for PIECE bytes after `len`.
            unsafe { copy_short(text.as_bytes(), self.start.as_ptr().add(self.len)) };
            self.len += text.len();
        } else {
            self.str(text);
        }
    }

    /// Appends `count` spaces.
    #[inline]
    pub fn spaces(&mut self, count: usize) {
        if count > 0 && self.reserve(count.max(PIECE)) {
            // SAFETY: there is space for at least PIECE bytes, and for `count`.
            unsafe {
                let end = self.start.as_ptr().add(self.len);
                if count <= PIECE {
                    end.cast::<[u8; PIECE]>().write_unaligned([b' '; PIECE]);
                } else {
                    end.write_bytes(b' ', count);
                }
            }
            self.len += count;
        }
    }

    /// Appends `@`, an index and a space.
    #[inline]
    pub(crate) fn row_id(&mut self, index: usize) {
        let mut buffer = itoa::Buffer::new();
        self.byte(b'@');
        self.short(buffer.format(index));
        self.byte(b' ');
    }

    /// Moves the text after `end`, which has at most 32 bytes, to `to`, which is before `end`.
    pub(crate) fn move_end(&mut self, end: Mark, to: Mark) {
        let moved = self.len.saturating_sub(end.0);
        if moved <= 32 && to.0 <= end.0 && end.0 <= self.len && self.reserve(PIECE) {
            // SAFETY: the copies are within the text and the space after it. Marks are between characters.
            unsafe {
                let (to, end) = (self.start.as_ptr().add(to.0), self.start.as_ptr().add(end.0));
                let mut copy = [MaybeUninit::<u8>::uninit(); 32];
                end.copy_to_nonoverlapping(copy.as_mut_ptr().cast(), moved);
                to.copy_to(to.add(moved), end.offset_from_unsigned(to));
                copy.as_ptr().cast::<u8>().copy_to_nonoverlapping(to, moved);
            }
        }
    }

    /// Appends a text up to the first byte of the class; returns the length of that part.
    #[inline]
    pub fn until<C: Class>(&mut self, text: &str) -> usize {
        let bytes = text.as_bytes();
        if bytes.len() > 32 {
            return self.until_in_blocks::<C>(text);
        }
        if !self.reserve(PIECE) {
            return bytes.len();
        }
        // SAFETY: there is space for PIECE bytes after `len`.
        let [low, high] = unsafe { copy_short(bytes, self.start.as_ptr().add(self.len)) };
        let any = if bytes.len() > 16 { C::any(low) | C::any(high) } else { C::any(low) };
        let taken = if any { first_char::<C>(text, 0) } else { bytes.len() };
        self.len += taken;
        taken
    }

    fn until_in_blocks<C: Class>(&mut self, text: &str) -> usize {
        let bytes = text.as_bytes();
        if !self.reserve(bytes.len()) {
            return bytes.len();
        }
        // SAFETY: there is space for the whole text after `len`; each block and the rest are within it.
        // Only whole characters of the text are added.
        unsafe {
            let end = self.start.as_ptr().add(self.len);
            let mut copied = 0;
            // The last block overlaps the one before.
            let last = bytes.len() - 16;
            while let Some(block) = bytes[copied.min(last)..].first_chunk::<16>() {
                if C::any(*block) {
                    break;
                }
                end.add(copied.min(last)).cast::<[u8; 16]>().write_unaligned(*block);
                copied += 16;
                if copied >= bytes.len() {
                    self.len += bytes.len();
                    return bytes.len();
                }
            }
            let taken = first_char::<C>(text, copied);
            let rest = taken.saturating_sub(copied);
            bytes.as_ptr().add(taken - rest).copy_to_nonoverlapping(end.add(taken - rest), rest);
            self.len += taken;
            taken
        }
    }

    /// Appends an integer.
    #[inline]
    pub fn int(&mut self, value: i64) {
        let magnitude = value.unsigned_abs();
        if magnitude < digits::LIMIT.into() && self.reserve(PIECE) {
            #[expect(clippy::cast_possible_truncation, reason = "below the limit")]
            let (word, length) = digits::ascii(magnitude as u32);
            let sign = usize::from(value < 0);
            // SAFETY: there is space for PIECE bytes after `len`. Without a sign, a digit replaces the `-`.
            unsafe {
                let end = self.start.as_ptr().add(self.len);
                end.write(b'-');
                end.add(sign).cast::<[u8; 8]>().write_unaligned(word.to_le_bytes());
            }
            self.len += sign + length;
        } else {
            self.short(itoa::Buffer::new().format(value));
        }
    }

    /// Appends a boolean.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        if self.reserve(PIECE) {
            let word = if value { *b"true    " } else { *b"false   " };
            // SAFETY: there is space for PIECE bytes after `len`.
            unsafe { self.start.as_ptr().add(self.len).cast::<[u8; 8]>().write_unaligned(word) };
            self.len += 5 - usize::from(value);
        }
    }

    /// Appends a part of another text. Its marks are in order.
    #[cfg(feature = "arrow")]
    #[inline]
    pub(crate) fn part<F: Memory>(&mut self, from: &Output<F>, start: Mark, end: Mark) {
        let (Mark(start), Mark(end)) = (start, end);
        if start > end || end > from.len {
            return;
        }
        let length = end - start;
        // SAFETY: the part is within the text, and so are 32 bytes within the capacity if there are as many.
        // There is space for as many bytes as are copied. A text lies between two marks.
        unsafe {
            let part = from.start.as_ptr().add(start);
            if length <= 32 && from.capacity - start >= 32 {
                if self.reserve(PIECE) {
                    let end = self.start.as_ptr().add(self.len);
                    part.cast::<MaybeUninit<u8>>().copy_to_nonoverlapping(end.cast(), 32);
                    self.len += length;
                }
            } else if self.reserve(length) {
                part.copy_to_nonoverlapping(self.start.as_ptr().add(self.len), length);
                self.len += length;
            }
        }
    }
}

impl Output<Vec<u8>> {
    /// The text, if there was enough memory for it.
    pub fn into_string(self) -> Option<String> {
        let (mut memory, len) = self.finish()?;
        // SAFETY: the output has initialized `len` bytes, which are UTF-8.
        unsafe {
            memory.set_len(len);
            Some(String::from_utf8_unchecked(memory))
        }
    }
}

/// The position of the first character that has a byte of the class, of those from `from` on.
#[cold]
fn first_char<C: Class>(text: &str, from: usize) -> usize {
    let mut at = from + scan::first_near::<C>(&text.as_bytes()[from..]);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Copies at most 32 bytes. Returns two blocks to classify them by: they contain no other bytes, but some of
/// these more than once. Only the first block matters for up to 16 bytes; for none, it contains letters,
/// which no class has.
///
/// # Safety
/// There is space for 32 bytes at `to`.
#[inline]
unsafe fn copy_short(bytes: &[u8], to: *mut u8) -> [[u8; 16]; 2] {
    let len = bytes.len();
    // SAFETY: each arm writes its first and last bytes, within the length.
    unsafe {
        if let (Some(low), Some(high)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
            to.cast::<[u8; 16]>().write_unaligned(*low);
            to.add(len - 16).cast::<[u8; 16]>().write_unaligned(*high);
            [*low, *high]
        } else if let (Some(low), Some(high)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>())
        {
            let (low, high) = (u64::from_ne_bytes(*low), u64::from_ne_bytes(*high));
            to.cast::<u64>().write_unaligned(low);
            to.add(len - 8).cast::<u64>().write_unaligned(high);
            [pair(low, high), [0; 16]]
        } else if let (Some(low), Some(high)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>())
        {
            let (low, high) = (u32::from_ne_bytes(*low), u32::from_ne_bytes(*high));
            to.cast::<u32>().write_unaligned(low);
            to.add(len - 4).cast::<u32>().write_unaligned(high);
            let both = u64::from(low) | (u64::from(high) << 32);
            [pair(both, both), [0; 16]]
        } else if let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) {
            let middle = bytes[len / 2];
            to.write(first);
            to.add(len / 2).write(middle);
            to.add(len - 1).write(last);
            let three = (u64::from(first) * 0x0101_0101_0101_0000)
                | (u64::from(middle) << 8)
                | u64::from(last);
            [pair(three, three), [0; 16]]
        } else {
            [[b'a'; 16]; 2]
        }
    }
}

#[inline]
fn pair(low: u64, high: u64) -> [u8; 16] {
    (u128::from(low) | (u128::from(high) << 64)).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::scan::Escaped;
    use proptest::prelude::*;

    fn text(output: Output<Vec<u8>>) -> String {
        String::from_utf8(output.into_string().unwrap().into_bytes()).unwrap()
    }

    #[test]
    fn pieces_are_appended_in_order() {
        let mut out = Output::new(Vec::new());
        let mut expected = String::new();
        for length in (0..70).chain([500, 5000]) {
            let piece: String = ('!'..).take(length).filter(|char| *char != '\u{7f}').collect();
            out.byte(b'<');
            out.str(&piece);
            out.short(&piece);
            out.spaces(length);
            out.bytes(*b"|x");
            expected.extend(["<", &piece, &piece, &" ".repeat(length), "|x"]);
        }
        assert_eq!(text(out), expected);
    }

    #[test]
    fn text_is_cut_and_moved_to_a_mark() {
        let mut out = Output::new(Vec::new());
        out.str("ä");
        let mark = out.mark();
        out.str("bc");
        let end = out.mark();
        out.row_id(1);
        out.move_end(end, mark);
        let end = out.mark();
        out.str("rest");
        out.cut(end);
        assert_eq!(text(out), "ä@1 bc");
    }

    struct Limited(Vec<u8>);

    // SAFETY: as for the vector.
    unsafe impl Memory for Limited {
        fn grow(&mut self, used: usize, capacity: usize) -> Option<NonNull<u8>> {
            if capacity > 5000 { None } else { self.0.grow(used, capacity) }
        }
    }

    #[test]
    fn without_memory_nothing_more_is_written() {
        let mut out = Output::new(Limited(Vec::new()));
        for _ in 0..1000 {
            let mark = out.mark();
            out.str("some text");
            out.int(-12);
            out.spaces(100);
            out.until::<Escaped>(&"x".repeat(100));
            let end = out.mark();
            out.row_id(7);
            out.move_end(end, mark);
        }
        assert!(out.failed() && out.len() == 0 && out.finish().is_none());
    }

    proptest! {
        #[test]
        fn text_is_appended_up_to_the_first_byte_of_the_class(piece in "[a-zäö€😀]{0,70}", at: usize) {
            let mut marked = piece.clone();
            let mut at = at % (piece.len() + 1);
            while !piece.is_char_boundary(at) { at -= 1; }
            marked.insert(at, '\n');
            for (piece, length) in [(&piece, piece.len()), (&marked, at)] {
                let mut out = Output::new(Vec::new());
                out.byte(b'>');
                prop_assert_eq!(out.until::<Escaped>(piece), length);
                prop_assert_eq!(text(out), format!(">{}", &piece[..length]));
            }
        }
    }
}
