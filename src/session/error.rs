//! What can go wrong in a session.

use crate::compact;
use crate::excerpt::excerpt;
use crate::json;

/// Why frames are not a request. The session is what it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// A frame is not what the format asks for.
    #[error("{}{message}", Place(*.frame))]
    InvalidFormat {
        /// Which frame, from 0; `None` for the list of them.
        frame: Option<usize>,
        /// What was expected and what was found.
        message: String,
    },
    /// A delta of the request, or the compressed text of its frames.
    #[error("{}{error}", Place(*.frame))]
    Compact {
        /// Which frame, from 0; `None` for the text that holds them all.
        frame: Option<usize>,
        /// What is wrong with it.
        error: compact::DecodeError,
    },
    /// The request refers to what this side does not have.
    #[error(
        "unknown {}: was it lost or evicted? The sender must send it again (forget)",
        Ids(.unknown)
    )]
    UnknownReference {
        /// What is referred to and not there.
        unknown: Vec<String>,
        /// What was defined by the same frames, or would be the context, and is now refused as
        /// well: the sender takes it for known and must forget it, too.
        undone: Vec<String>,
    },
}

/// Why a request cannot be written. The session is what it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct EncodeError {
    /// The field that cannot be carried.
    pub field: &'static str,
    /// Why, and what can be done.
    pub message: String,
}

/// Why bytes are not the state of a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the state of a session: {0}")]
pub struct StateError(pub(super) String);

impl DecodeError {
    pub(super) fn invalid(frame: usize, message: impl Into<String>) -> Self {
        Self::InvalidFormat { frame: Some(frame), message: message.into() }
    }

    pub(super) fn json(frame: usize, what: &str, error: &json::Error) -> Self {
        Self::invalid(frame, format!("{what}: {error} of the JSON"))
    }
}

struct Place(Option<usize>);

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |frame| write!(f, "frame {frame}: "))
    }
}

/// The first few ids: a message is a line, not a list.
struct Ids<'a>(&'a [String]);

impl std::fmt::Display for Ids<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 3;
        for (i, id) in self.0.iter().take(SHOWN).enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            f.write_str(&excerpt(id))?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
