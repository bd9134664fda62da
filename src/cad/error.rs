//! The errors of reading and writing a document.
//!
//! Each form has its own kind of position: line and column in text, a path in JSON, a byte offset
//! in the binary form.

use crate::excerpt::{EXCERPT_CHARS, one_line, path_excerpt};
use crate::memory::NO_MEMORY;
use std::collections::TryReserveError;
use std::fmt;

/// An error in compact text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column, counted from 1 in code points.
    pub column: usize,
    /// What is wrong, in the words of the specification where it defines a message.
    pub message: String,
    /// The opcode that was probably meant, if the error is an unknown opcode.
    pub suggestion: Option<&'static str>,
}

/// The error of a JSON document that does not match the model, or of a document that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", path_excerpt(path))]
pub struct DocumentError {
    /// The part of the document: `node 7`, `roots[0].visible`, `document`.
    pub path: String,
    /// What is wrong with that part.
    pub message: String,
    /// Whether the error is about content outside the model. The readers that can keep such content,
    /// [`read_json_kept`](crate::cad::read_json_kept) and [`load_with`](crate::cad::load_with), accept it.
    pub outside_model: bool,
    /// Whether a member is there twice, which no reader accepts.
    duplicate: bool,
}

impl DocumentError {
    /// Creates an error about one part of a document.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        let (path, message) = (path.into(), message.into());
        Self { path, message, outside_model: false, duplicate: false }
    }

    /// Creates an error about a member that is there twice, or would be if its key were a plain text.
    pub(super) fn duplicate(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { duplicate: true, ..Self::new(path, message) }
    }

    /// How a user of the Python package keeps content outside of the model, which is only on request: the end
    /// of the message of the exception. Empty for other errors.
    pub fn advice(&self) -> &'static str {
        if self.outside_model {
            " (unknown=\"keep\" keeps it, in load, loads, and to_compact with dialect 0.2)"
        } else {
            ""
        }
    }

    /// Marks the error as one about content outside the model, unless no reader accepts the content.
    pub(super) fn outside_model(self) -> Self {
        Self { outside_model: !self.duplicate, ..self }
    }
}

/// An error in a binary document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {message}")]
pub struct BinaryError {
    /// The byte offset, counted from 0.
    pub offset: usize,
    /// What is wrong at that offset.
    pub message: String,
    /// Whether there was not enough memory for the document, which may be valid.
    pub out_of_memory: bool,
}

impl From<TryReserveError> for BinaryError {
    #[cold]
    fn from(_: TryReserveError) -> Self {
        Self { offset: 0, message: NO_MEMORY.to_owned(), out_of_memory: true }
    }
}

/// An error in a file of any format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Error {
    /// The file's compact text is invalid.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The file's JSON is invalid.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The file's binary form is invalid.
    #[error(transparent)]
    Binary(#[from] BinaryError),
}

/// An excerpt of the input for messages: the first 40 code points, then `...` if there are more.
/// What a terminal would interpret is escaped.
pub(super) struct Truncated<'a>(pub &'a str);

impl fmt::Display for Truncated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.char_indices().nth(EXCERPT_CHARS).map(|(end, _)| end);
        for part in self.0[..end.unwrap_or(self.0.len())].split_inclusive(PLAIN) {
            let escaped = part.trim_end_matches(PLAIN);
            f.write_str(&one_line(escaped))?;
            f.write_str(&part[escaped.len()..])?;
        }
        f.write_str(if end.is_some() { "..." } else { "" })
    }
}

/// Invisible characters that the messages of the format have as they are, and no terminal interprets.
const PLAIN: [char; 3] = ['\0', '\u{200b}', '\u{feff}'];
