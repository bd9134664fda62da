//! The part of a text that is at hand: whole lines, and where in the text they are.

use crate::gcf::error::{Code, Error, Fault, Place};
use memchr::{memchr_iter, memrchr};

/// Rows of so many bytes are read again for each line of them: another may be all that is missing.
const SHORT: usize = 1 << 12;
/// How much may stand between two rows that is no row, in bytes.
const MAX_COMMENTS: usize = 1 << 20;

/// Text that comes in pieces and goes line by line.
#[derive(Default)]
pub(super) struct LineBuffer {
    /// Whole lines.
    pub text: String,
    /// The beginning of the next line.
    tail: Vec<u8>,
    /// Nothing follows.
    pub finished: bool,
    /// What is wrong with what followed.
    pub broken: Option<Error>,
    /// What went already, in bytes.
    pub bytes_before: usize,
    /// How many bytes there must be before it is worth while to read again.
    wanted: usize,
    /// A place in the text, and how many lines of the whole are before it.
    cursor: usize,
    lines: usize,
}

impl LineBuffer {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        let Some(newline) = memrchr(b'\n', bytes) else {
            self.tail.extend_from_slice(bytes);
            return;
        };
        let (lines, tail) = bytes.split_at(newline + 1);
        self.tail.extend_from_slice(lines);
        self.take_tail();
        self.tail.extend_from_slice(tail);
    }

    pub(super) fn finish(&mut self) {
        self.take_tail();
        self.finished = self.broken.is_none();
    }

    fn take_tail(&mut self) {
        match simdutf8::basic::from_utf8(&self.tail) {
            Ok(lines) => self.text.push_str(lines),
            Err(_) => self.break_off(),
        }
        self.tail.clear();
    }

    /// Takes the lines before the first that is not UTF-8.
    #[cold]
    fn break_off(&mut self) {
        let Err(error) = std::str::from_utf8(&self.tail) else { return };
        let valid = &self.tail[..error.valid_up_to()];
        let lines = memrchr(b'\n', valid).map_or(0, |newline| newline + 1);
        let line = str::from_utf8(&valid[lines..]).unwrap_or_default();
        let offset = self.bytes_before + self.text.len() + valid.len();
        let message = format!("not UTF-8 from byte {offset} on");
        self.text.push_str(str::from_utf8(&valid[..lines]).unwrap_or_default());
        let before = self.lines + memchr_iter(b'\n', &self.text.as_bytes()[self.cursor..]).count();
        let place = Place::Text { line: before + 1, column: line.chars().count() + 1 };
        self.broken = Some(Error { code: Code::InvalidUtf8, message, place });
    }

    /// Whether a line, or what stands between two, is longer than any should be.
    pub(super) fn is_too_long(&self, max_size: usize) -> bool {
        self.tail.len() > max_size || self.text.len() > max_size.saturating_add(MAX_COMMENTS)
    }

    /// Whether reading would come further than the last time.
    pub(super) fn is_worth_it(&self) -> bool {
        self.finished || self.broken.is_some() || self.text.len() >= self.wanted.max(1)
    }

    /// What is left is not enough. Of a long row half as much again is asked for, so that it is not
    /// read again for each piece of it.
    pub(super) fn was_too_little(&mut self) {
        let length = self.text.len();
        self.wanted = if length < SHORT { length + 1 } else { length + length / 2 };
    }

    /// Lets go of what is before `at`.
    pub(super) fn consume(&mut self, at: usize) {
        let text = std::mem::take(&mut self.text);
        self.go_to(at, &text);
        self.text = text;
        self.text.drain(..at);
        self.bytes_before += at;
        self.cursor = 0;
    }

    fn go_to(&mut self, at: usize, text: &str) {
        let count = |range: std::ops::Range<usize>| {
            memchr_iter(b'\n', text.as_bytes().get(range).unwrap_or_default()).count()
        };
        if at < self.cursor {
            self.lines -= count(at..self.cursor);
        } else {
            self.lines += count(self.cursor..at);
        }
        self.cursor = at;
    }

    /// Where an offset of `text` is, which is ours.
    pub(super) fn place(&mut self, at: usize, text: &str) -> Place {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        self.go_to(at, text);
        let start = memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |newline| newline + 1);
        Place::Text { line: self.lines + 1, column: text[start..at].chars().count() + 1 }
    }

    /// What is wrong in `text`, which is ours, with its place.
    pub(super) fn locate(&mut self, fault: Fault, text: &str) -> Error {
        let place = self.place(fault.at, text);
        Error { code: fault.code, message: fault.message, place }
    }
}
