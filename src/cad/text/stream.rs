//! Reading text of any size in little memory, and finding all of its mistakes: sections 10 and 11.

use super::read::{BOM, Dialect, Reader};
use crate::cad::error::ParseError;
use crate::cad::model::ir::{Extra, Node, Sections};

/// Longest line that a stream takes, in bytes, unless the caller says otherwise.
pub const MAX_LINE: usize = 1 << 20;

/// Reads a text from chunks, which may end anywhere.
///
/// It holds one line, one sketch, the names seen, what is no node, and a byte or two per node.
#[derive(Debug)]
pub struct Stream {
    reader: Reader,
    buffer: Vec<u8>,
    /// What of the buffer is read.
    start: usize,
    /// How far the buffer was searched for a line's end.
    searched: usize,
    max_line: usize,
    ended: bool,
}

impl Stream {
    /// Before the first chunk.
    pub fn new(dialect: Dialect, max_line: usize) -> Self {
        let reader = Reader::new(dialect, true);
        Self { reader, buffer: Vec::new(), start: 0, searched: 0, max_line, ended: false }
    }

    /// Takes the next chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(chunk);
    }

    /// Says that the last chunk was the last.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether no chunk will follow.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The next node that is complete; `None` asks for another chunk, or is the end.
    pub fn node(&mut self) -> Result<Option<Node<'static>>, ParseError> {
        while let Some((start, end)) = self.line()? {
            let line = &self.buffer[start..end];
            let line = match self.reader.number {
                0 => line.strip_prefix(BOM).unwrap_or(line),
                _ => line,
            };
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

    /// The next line in the buffer.
    fn line(&mut self) -> Result<Option<(usize, usize)>, ParseError> {
        let start = self.start;
        let found = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        let end = found.map_or(self.buffer.len(), |found| self.searched + found);
        if end - start > self.max_line {
            return Err(ParseError {
                line: self.reader.number + 1,
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

    /// The id of a node that was given.
    pub fn id(&self, node: usize) -> u64 {
        self.reader.ids.get(node).unwrap_or(node as u64)
    }

    /// The next value that is not of the model, once all nodes are given: the document that is put
    /// together has it at its pointer, and nobody looked whether that is there.
    pub fn extra(&mut self) -> Result<Option<Extra>, ParseError> {
        self.reader.check_end()?;
        Ok(self.reader.extra.pop_front().map(|(_, extra)| extra))
    }

    /// What is no node, at the end.
    pub fn finish(self) -> Result<(Sections, impl Fn(usize) -> u64), ParseError> {
        let mut reader = self.reader;
        reader.check_end()?;
        let ids = std::mem::take(&mut reader.ids);
        let sections = reader.finish_sections(true)?;
        Ok((sections, move |node| ids.get(node).unwrap_or(node as u64)))
    }
}
