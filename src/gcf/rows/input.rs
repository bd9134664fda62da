//! The part of a text that is at hand: whole lines, and where in the text they are.

use crate::gcf::decode::utf8;
use crate::gcf::error::{Error, Fault, Place};
use memchr::{memchr_iter, memrchr};

/// Text that comes in pieces and goes line by line.
#[derive(Default)]
pub(super) struct Input {
    /// Whole lines.
    pub text: String,
    /// The beginning of the next line.
    tail: Vec<u8>,
    /// Nothing follows.
    pub finished: bool,
    /// What went already, in bytes.
    pub bytes_before: usize,
    /// How many bytes there must be before it is worth while to read again.
    wanted: usize,
    /// A place in the text, and how many lines of the whole are before it.
    cursor: usize,
    lines: usize,
}

impl Input {
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(newline) = memrchr(b'\n', bytes) else {
            self.tail.extend_from_slice(bytes);
            return Ok(());
        };
        let (lines, tail) = bytes.split_at(newline + 1);
        self.tail.extend_from_slice(lines);
        self.take_tail()?;
        self.tail.extend_from_slice(tail);
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.finished = true;
        self.take_tail()
    }

    fn take_tail(&mut self) -> Result<(), Error> {
        match utf8(&self.tail) {
            Ok(lines) => self.text.push_str(lines),
            Err(mut error) => {
                if let Place::Text { line, .. } = &mut error.place {
                    let known = &self.text.as_bytes()[self.cursor..];
                    *line += self.lines + memchr_iter(b'\n', known).count();
                }
                return Err(error);
            }
        }
        self.tail.clear();
        Ok(())
    }

    /// How much is kept, in bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len() + self.tail.len()
    }

    /// Whether reading would come further than the last time.
    pub(super) fn is_worth_it(&self) -> bool {
        self.finished || self.text.len() >= self.wanted.max(1)
    }

    /// What is left is not enough. Half as much again is asked for, so that a long row is not read
    /// again for each piece of it.
    pub(super) fn was_too_little(&mut self) {
        self.wanted = self.text.len() + self.text.len() / 2 + 1;
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
