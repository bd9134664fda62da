//! Why a document could not be read or written, and where: section 1, messages of sections 2.1, 3.3,
//! 6 and 8 to 10.
//!
//! Three places for three forms: line and column of a text, path of a document, offset of a binary.

use crate::excerpt::EXCERPT_CHARS;
use std::fmt;

/// Why a compact text is not a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// From 1, in code points.
    pub column: usize,
    /// What is wrong, in the words of the specification.
    pub message: String,
    /// The opcode that was probably meant, where one is not known.
    pub suggestion: Option<&'static str>,
}

/// Why a JSON document is not one of the model, or cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct DocumentError {
    /// Which part: `node 7`, `roots[0].visible`, `document`.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

impl DocumentError {
    /// An error about a part of a document.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// Why bytes are not a binary document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {message}")]
pub struct BinaryError {
    /// From 0.
    pub offset: usize,
    /// What is wrong there.
    pub message: String,
}

/// Why a file of any kind is not a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// In its compact text.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// In its JSON.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// In its bytes.
    #[error(transparent)]
    Binary(#[from] BinaryError),
}

/// A piece of the input as messages show it: the first 40 code points, and `...` for the rest.
pub(super) struct Truncated<'a>(pub &'a str);

impl fmt::Display for Truncated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(EXCERPT_CHARS) {
            None => f.write_str(self.0),
            Some((end, _)) => write!(f, "{}...", &self.0[..end]),
        }
    }
}
