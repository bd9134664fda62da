//! The buffered part of a text that arrives in pieces: whole lines, and their position in the text.

use crate::gcf::error::{Code, Error, Fault, Place};
use crate::text;
use memchr::{memchr_iter, memrchr};

/// A row shorter than this, in bytes, is parsed again whenever a line of it arrives.
const SHORT: usize = 1 << 12;
/// The maximum size of comments and blank lines between two rows, in bytes.
const MAX_COMMENTS: usize = 1 << 20;

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// Collects pieces of a text and drops the lines that have been parsed.
#[derive(Default)]
pub(super) struct LineBuffer {
    /// Whole lines that have not been dropped. If the bytes after them are not UTF-8, also the beginning of the
    /// next line, with U+FFFD for these bytes: it tells that the value before it is complete.
    pub text: String,
    /// The beginning of the next line.
    tail: Vec<u8>,
    /// Whether the text is complete.
    pub finished: bool,
    /// The error to report after the whole lines in `text`: the bytes after them are not UTF-8, or there was not
    /// enough memory.
    pub broken: Option<Error>,
    /// The number of bytes dropped so far.
    pub bytes_before: usize,
    /// The length that `text` must reach before parsing it again can make progress.
    wanted: usize,
    /// The offset in `text` up to which lines have been counted.
    cursor: usize,
    /// The number of lines before `cursor`, dropped ones included.
    lines: usize,
}

impl LineBuffer {
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        // With this memory, no later call in this function has to enlarge `tail`.
        if let Err(error) = self.tail.try_reserve(bytes.len()) {
            self.broken = Some(error.into());
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
        if let Err(error) = self.text.try_reserve(self.tail.len() + REPLACEMENT.len_utf8()) {
            self.broken = Some(error.into());
            return;
        }
        match text::from_utf8(&self.tail) {
            Ok(lines) => self.text.push_str(lines),
            Err(_) => self.break_off(),
        }
        self.tail.clear();
    }

    /// Takes the lines before the first that is not UTF-8, and records the error.
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
        self.text.push_str(line);
        self.text.push(REPLACEMENT);
        self.broken = Some(Error { code: Code::InvalidUtf8, message, place });
    }

    /// The length of the whole lines in `text`, which must be the text of this buffer.
    pub(super) fn whole(&self, text: &str) -> usize {
        match self.broken {
            Some(_) => memrchr(b'\n', text.as_bytes()).map_or(0, |newline| newline + 1),
            None => text.len(),
        }
    }

    /// Whether a line, or the comments between two rows, exceed the limit.
    pub(super) fn is_too_long(&self, max_size: usize) -> bool {
        self.tail.len() > max_size || self.text.len() > max_size.saturating_add(MAX_COMMENTS)
    }

    /// Whether parsing can get further than the last time.
    pub(super) fn can_progress(&self) -> bool {
        self.finished || self.broken.is_some() || self.text.len() >= self.wanted.max(1)
    }

    /// Records that `text` ends within a row. A long row must grow by half before it is parsed again,
    /// so that the total work stays linear in its length.
    pub(super) fn need_more(&mut self) {
        let length = self.text.len();
        self.wanted = if length < SHORT { length + 1 } else { length + length / 2 };
    }

    /// Records that the rest of `text` can be parsed at once.
    pub(super) fn read_on(&mut self) {
        self.wanted = 0;
    }

    /// Drops the text before `at`.
    pub(super) fn drop_until(&mut self, at: usize) {
        let text = std::mem::take(&mut self.text);
        self.move_cursor(at, &text);
        self.text = text;
        self.text.drain(..at);
        self.bytes_before += at;
        self.cursor = 0;
    }

    fn move_cursor(&mut self, at: usize, text: &str) {
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

    /// The line and column of an offset in `text`, which must be the text of this buffer.
    pub(super) fn place(&mut self, at: usize, text: &str) -> Place {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        self.move_cursor(at, text);
        let start = memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |newline| newline + 1);
        Place::Text { line: self.lines + 1, column: text[start..at].chars().count() + 1 }
    }

    /// Adds line and column to an error in `text`, which must be the text of this buffer.
    pub(super) fn locate(&mut self, fault: Fault, text: &str) -> Error {
        let place = self.place(fault.at, text);
        Error { code: fault.code, message: fault.message, place }
    }
}
