//! Lines: where each begins and ends, and its indentation.
//!
//! Lines end at U+000A only. Blank lines and comments are skipped; the indentation of every other line
//! is checked. GCF 3.6 section 3.

use crate::gcf::error::{Code, Read, fault};
use crate::interrupt::Steps;
use crate::memory::Meter;
use crate::text::block;
use memchr::memchr;

/// A line that is neither blank nor a comment. Its content is `text[start..end]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// The offset of the first character after the indentation.
    pub start: usize,
    /// The offset after the last character, before the line terminator.
    pub end: usize,
    /// The number of spaces before the content.
    pub indent: usize,
    /// The offset of the next line.
    next: usize,
}

impl Line {
    /// A line whose content begins at `start` and that ends with a line feed only, before `next`.
    pub(crate) fn new(start: usize, indent: usize, next: usize) -> Self {
        Self { start, end: next - 1, indent, next }
    }
}

/// The lines of a text after the header, with one line of lookahead.
#[derive(Debug, Clone)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    /// The offset after the lookahead line.
    next: usize,
    lookahead: Option<Line>,
    /// The offset after the last line that was consumed.
    consumed: usize,
    saw_end: bool,
    steps: Steps,
    meter: Meter,
}

/// The bytes of memory that readers may take for each byte of the text, without what a sink builds.
const FACTOR: usize = 16;

impl<'t> Lines<'t> {
    /// Starts before the first line, the header.
    pub(crate) fn new(text: &'t str) -> Self {
        let (steps, meter) = (Steps::default(), Meter::new(FACTOR));
        Self { text, next: 0, lookahead: None, consumed: 0, saw_end: false, steps, meter }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// Consumes and returns the first line.
    pub(crate) fn first(&mut self) -> &'t str {
        let (end, next) = self.bounds(0);
        self.next = next;
        &self.text[..end]
    }

    /// The lookahead line; `None` at the end of the text.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Line> {
        self.lookahead
    }

    /// Consumes the lookahead line and finds the next.
    #[inline]
    pub(crate) fn advance(&mut self) -> Read<()> {
        self.steps.step();
        self.consumed = self.next;
        self.lookahead = self.find(self.next)?;
        match self.lookahead {
            Some(line) => self.next = line.next,
            None => self.saw_end = true,
        }
        Ok(self.meter.reach(self.next)?)
    }

    /// Continues at the line that begins at `next`; the caller has read the lines before it.
    pub(crate) fn resume(&mut self, next: usize) -> Read<()> {
        self.next = next;
        self.advance()
    }

    /// Makes an earlier result of [`Lines::peek`] the lookahead line again.
    pub(crate) fn jump(&mut self, line: Option<Line>) {
        self.next = line.map_or(self.text.len(), |line| line.next);
        self.lookahead = line;
    }

    /// Counts the line that begins at `start` as a step; the caller reads it without [`Lines::advance`].
    /// Returns the offset up to which memory has been checked.
    #[inline]
    pub(crate) fn step(&mut self, start: usize) -> Read<usize> {
        self.steps.step();
        self.meter.reach(start)?;
        let mut end = self.meter.next().min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        Ok(end)
    }

    /// Whether the lookahead has ever reached the end of the text. If it has not, more text after the
    /// end would not change what was parsed so far.
    pub(crate) fn saw_end(&self) -> bool {
        self.saw_end
    }

    /// The offset after the last line that was consumed.
    pub(crate) fn consumed(&self) -> usize {
        self.consumed
    }

    /// The offset of the lookahead line, indentation included, or the end of the text.
    pub(crate) fn position(&self) -> usize {
        self.lookahead.map_or(self.text.len(), |line| line.start - line.indent)
    }

    /// The content of a line, without indentation.
    #[inline]
    pub(crate) fn str(&self, line: Line) -> &'t str {
        &self.text[line.start..line.end]
    }

    /// Returns the end of the line that begins at `start`, and the offset of the next line.
    #[inline(always)]
    fn bounds(&self, start: usize) -> (usize, usize) {
        let bytes = &self.text.as_bytes()[start..];
        match line_feed(bytes) {
            None => (self.text.len(), self.text.len()),
            Some(length) if length > 0 && bytes[length - 1] == b'\r' => {
                (start + length - 1, start + length + 1)
            }
            Some(length) => (start + length, start + length + 1),
        }
    }

    /// Finds the first line from `from` on that is neither blank nor a comment.
    #[inline(always)]
    fn find(&self, mut from: usize) -> Read<Option<Line>> {
        let bytes = self.text.as_bytes();
        let mut steps = Steps::default();
        while from < bytes.len() {
            let indent = match bytes[from] {
                b' ' => block::leading(&bytes[from..], b' '),
                _ => 0,
            };
            let start = from + indent;
            let (end, next) = self.bounds(start);
            match bytes.get(start..end).unwrap_or_default() {
                [] | [b'#', b' ', ..] => {}
                [b'\t', blank @ ..] => {
                    let text = start + 1 + blank.iter().take_while(|&&b| is_blank(b)).count();
                    if text < end && !bytes[text..end].starts_with(b"# ") {
                        let message = "tab in the indentation; indent by two spaces per level";
                        return fault(Code::TabIndentation, start, message);
                    }
                }
                _ if indent % 2 == 1 => {
                    let message = "odd number of spaces; indent by two spaces per level";
                    return fault(Code::InvalidIndent, start, message);
                }
                _ => return Ok(Some(Line { start, end, indent, next })),
            }
            steps.step();
            from = next;
        }
        Ok(None)
    }
}

/// The offset of the first line feed. Most lines are short: a call of `memchr` would take longer.
#[inline(always)]
fn line_feed(bytes: &[u8]) -> Option<usize> {
    match bytes.first_chunk().map(|block| block::find2(block, b'\n', b'\n').found) {
        Some(found @ 1..) => Some(found.trailing_zeros() as usize),
        _ => memchr(b'\n', bytes),
    }
}

/// Whether a byte is a space or a tab.
pub(crate) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<(usize, &str)>, Code> {
        let mut lines = Lines::new(text);
        lines.first();
        let mut found = Vec::new();
        loop {
            lines.advance().map_err(|fault| fault.code)?;
            let Some(line) = lines.peek() else { return Ok(found) };
            found.push((line.indent, lines.str(line)));
        }
    }

    #[test]
    fn blank_lines_and_comments_are_skipped() {
        let text = "GCF\n\n  \n \t \na=1\r\n   # odd\n\t# tab\n#x\n##\n  b\u{2028}\r\r\n#\n";
        let expected = vec![(0, "a=1"), (0, "#x"), (0, "##"), (2, "b\u{2028}\r"), (0, "#")];
        assert_eq!(read(text), Ok(expected));
        assert_eq!(read("GCF\na\r"), Ok(vec![(0, "a\r")]));
        assert_eq!(read("GCF"), Ok(vec![]));
    }

    #[test]
    fn indentation_is_two_spaces() {
        assert_eq!(read("GCF\n a"), Err(Code::InvalidIndent));
        assert_eq!(read("GCF\n\ta"), Err(Code::TabIndentation));
        assert_eq!(read("GCF\n  \ta"), Err(Code::TabIndentation));
    }
}
