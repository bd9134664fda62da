//! Reads text of any size node by node, in little memory. CAD IR "Future Enhancements".

use super::read::{BOM, Dialect, Reader};
use crate::cad::error::ParseError;
use crate::cad::model::ir::{Extra, Node, Sections};
use crate::memory;

/// The default limit of a stream for the length of a line, in bytes.
pub const MAX_LINE: usize = 1 << 20;

/// The bytes of memory for each word of a line: its token, and an attribute or argument made from it.
const WORD_SIZE: usize = 160;
/// The bytes of memory for each byte of a line: copies of strings.
const TEXT_FACTOR: usize = 8;
/// Shorter lines take little.
const LONG: usize = 512;

/// Reads a text from chunks, which may be split anywhere.
///
/// It keeps in memory one line, one sketch, the names, everything but the nodes, and up to two
/// bytes per node.
#[derive(Debug)]
pub struct Stream {
    reader: Reader,
    buffer: Vec<u8>,
    /// The offset of the first byte of the buffer that is not read yet.
    start: usize,
    /// The offset up to which the buffer was searched for a line end.
    searched: usize,
    max_line: usize,
    ended: bool,
}

impl Stream {
    /// Creates a stream before its first chunk.
    pub fn new(dialect: Dialect, max_line: usize) -> Self {
        let reader = Reader::new(dialect, true);
        Self { reader, buffer: Vec::new(), start: 0, searched: 0, max_line, ended: false }
    }

    /// Adds the next chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        memory::require(self.buffer.try_reserve(chunk.len()));
        self.buffer.extend_from_slice(chunk);
    }

    /// Marks the end of the text: no chunk follows.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether [`Self::end`] was called.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the next complete node. `None` means that another chunk is needed or the text has ended.
    ///
    /// # Errors
    /// [`ParseError`] at the first line that is invalid.
    pub fn node(&mut self) -> Result<Option<Node<'static>>, ParseError> {
        while let Some((start, end)) = self.line()? {
            let line = &self.buffer[start..end];
            let line = match self.reader.line_number {
                0 => line.strip_prefix(BOM).unwrap_or(line),
                _ => line,
            };
            // Also ends the call if memory ran short at the line before.
            memory::require(memory::ensure(memory_of(line)));
            let line = std::str::from_utf8(line).map_err(|error| {
                let valid = std::str::from_utf8(&line[..error.valid_up_to()]);
                self.reader.not_utf8(valid.unwrap_or_default())
            })?;
            if let Some(node) = self.reader.line(line)? {
                return Ok(Some(node.into_owned()));
            }
        }
        Ok(None)
    }

    /// Returns the range of the next line in the buffer.
    fn line(&mut self) -> Result<Option<(usize, usize)>, ParseError> {
        let start = self.start;
        let found = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        let end = found.map_or(self.buffer.len(), |found| self.searched + found);
        if end - start > self.max_line {
            return Err(ParseError {
                line: self.reader.line_number + 1,
                column: 1,
                message: format!("line is longer than {} bytes", self.max_line),
                suggestion: None,
            });
        }
        if found.is_none() && (!self.ended || start == end) {
            self.searched = end;
            return Ok(None);
        }
        self.start = self.buffer.len().min(end + 1);
        self.searched = self.start;
        Ok(Some((start, end)))
    }

    /// Returns the id of a node by its index.
    pub fn id(&self, node: usize) -> u64 {
        self.reader.ids.id(node)
    }

    /// Returns the next value outside the model, after all nodes. The caller sets it at its
    /// pointer, which is not checked against the document.
    ///
    /// # Errors
    /// [`ParseError`] if a sketch has no `END`, or `IDS` does not list all nodes.
    pub fn extra(&mut self) -> Result<Option<Extra>, ParseError> {
        self.reader.check_end()?;
        Ok(self.reader.extra.pop_front().map(|(_, extra)| extra))
    }

    /// Returns everything but the nodes, and the mapping from indexes to ids, at the end of the
    /// text.
    ///
    /// # Errors
    /// [`ParseError`] if a sketch has no `END`, or `IDS` does not list all nodes.
    pub fn finish(self) -> Result<(Sections, impl Fn(usize) -> u64), ParseError> {
        let mut reader = self.reader;
        reader.check_end()?;
        let ids = std::mem::take(&mut reader.ids);
        let sections = reader.finish_sections(true)?;
        Ok((sections, move |node| ids.id(node)))
    }
}

/// An upper bound on the memory to read a line, apart from what stays afterwards, if it is large.
fn memory_of(line: &[u8]) -> usize {
    if line.len() < LONG {
        return 0;
    }
    let words = line.iter().filter(|byte| byte.is_ascii_whitespace()).count() + 1;
    words.saturating_mul(WORD_SIZE).saturating_add(line.len().saturating_mul(TEXT_FACTOR))
}
