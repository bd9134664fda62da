//! Lines: where each begins and ends, and how deep it stands.
//!
//! Lines end at U+000A only. Blank lines and comments are never seen; indentation is checked for
//! every other line. GCF 3.6 section 3.

use crate::gcf::error::{Code, Read, fault};
use memchr::memchr;

/// A line that counts. Its text is `text[start..end]` of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// Where the first character stands that is no indentation.
    pub start: usize,
    /// Behind the last character, without the line's end.
    pub end: usize,
    /// In spaces.
    pub indent: usize,
    /// Where the next line begins.
    next: usize,
}

/// The lines of a text behind its first, one ahead.
#[derive(Debug, Clone)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    /// Where the line behind the one ahead begins.
    next: usize,
    ahead: Option<Line>,
    /// Where the line behind the last one that counts begins.
    behind: usize,
    saw_end: bool,
}

impl<'t> Lines<'t> {
    /// Stands before the first line, the header.
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, next: 0, ahead: None, behind: 0, saw_end: false }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// The first line, as it is.
    pub(crate) fn first(&mut self) -> &'t str {
        let (end, next) = self.bounds(0);
        self.next = next;
        &self.text[..end]
    }

    /// The line ahead.
    pub(crate) fn peek(&self) -> Option<Line> {
        self.ahead
    }

    /// Goes to the next line that counts.
    pub(crate) fn advance(&mut self) -> Read<()> {
        self.behind = self.next;
        self.ahead = self.find(self.next)?;
        match self.ahead {
            Some(line) => self.next = line.next,
            None => self.saw_end = true,
        }
        Ok(())
    }

    /// Goes on with the line that begins at `next`, which no line before does.
    pub(crate) fn resume(&mut self, next: usize) -> Read<()> {
        self.next = next;
        self.advance()
    }

    /// Goes to a line seen before.
    pub(crate) fn jump(&mut self, line: Option<Line>) {
        self.next = line.map_or(self.text.len(), |line| line.next);
        self.ahead = line;
    }

    /// Whether there was no line ahead at any time: only then would what was read be otherwise if the
    /// text went on.
    pub(crate) fn saw_end(&self) -> bool {
        self.saw_end
    }

    /// Where the last line ends that counts and is not ahead.
    pub(crate) fn consumed(&self) -> usize {
        self.behind
    }

    /// Where the line ahead begins with its indentation, or the text ends.
    pub(crate) fn position(&self) -> usize {
        self.ahead.map_or(self.text.len(), |line| line.start - line.indent)
    }

    /// The text of a line.
    pub(crate) fn str(&self, line: Line) -> &'t str {
        &self.text[line.start..line.end]
    }

    /// Where the line that begins at `start` ends, and where the next begins.
    fn bounds(&self, start: usize) -> (usize, usize) {
        let bytes = &self.text.as_bytes()[start..];
        match memchr(b'\n', bytes) {
            None => (self.text.len(), self.text.len()),
            Some(length) if length > 0 && bytes[length - 1] == b'\r' => {
                (start + length - 1, start + length + 1)
            }
            Some(length) => (start + length, start + length + 1),
        }
    }

    fn find(&self, mut from: usize) -> Read<Option<Line>> {
        let bytes = self.text.as_bytes();
        while from < bytes.len() {
            let (end, next) = self.bounds(from);
            let indent = bytes[from..end].iter().take_while(|&&byte| byte == b' ').count();
            let start = from + indent;
            match bytes.get(start..end).unwrap_or_default() {
                [] | [b'#', b' ', ..] => {}
                [b'\t', blank @ ..] => {
                    let text = start + 1 + blank.iter().take_while(|&&b| is_blank(b)).count();
                    if text < end && !bytes[text..end].starts_with(b"# ") {
                        return fault(
                            Code::TabIndentation,
                            start,
                            "a tab; indent by two spaces for each level",
                        );
                    }
                }
                _ if indent % 2 == 1 => {
                    let message = "an odd number of spaces; indent by two for each level";
                    return fault(Code::InvalidIndent, start, message);
                }
                _ => return Ok(Some(Line { start, end, indent, next })),
            }
            from = next;
        }
        Ok(None)
    }
}

/// A space or a tab.
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
    fn blank_lines_and_comments_are_dropped() {
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
