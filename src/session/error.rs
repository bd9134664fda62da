//! Errors of a session: in the frames of a request, in a request to encode, and in a saved state.
//!
//! Invariant: an error leaves the session unchanged.

use crate::compact;
use crate::excerpt::excerpt;
use crate::json;
use crate::memory::NO_MEMORY;

/// An error in the frames of a request. The session is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum DecodeError {
    /// A frame does not follow the format.
    #[error("{}{message}", Place(*.frame))]
    InvalidFormat {
        /// The index of the frame; `None` for the whole list.
        frame: Option<usize>,
        /// What was expected and what was found.
        message: String,
    },
    /// An error in a delta of the request, or in the packed text.
    #[error("{}{error}", Place(*.frame))]
    Compact {
        /// The index of the frame; `None` for the packed text.
        frame: Option<usize>,
        /// The error.
        error: compact::DecodeError,
    },
    /// The request refers to contents that this side does not have, or starts the conversation over.
    #[error(
        "unknown {}: {}; the sender must forget these ids and encode the request again",
        Ids(.unknown),
        Cause(*.starts_over)
    )]
    UnknownReference {
        /// The ids that the request refers to and this side does not have.
        unknown: Vec<String>,
        /// The ids of the definitions and the context in the same request. They are rejected as
        /// well, so the sender must also forget them.
        undone: Vec<String>,
        /// The id of the conversation that this side has. The sender passes it to
        /// [`forget`](super::Session::forget) after the other ids, and its next request then replaces this
        /// conversation.
        base: Option<String>,
        /// Whether the request is rejected only because it would replace a conversation of which its sender
        /// knows nothing: it is a first request that was delivered again, or its sender was restarted.
        starts_over: bool,
    },
}

/// A field of a request that cannot be encoded. The session is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct EncodeError {
    /// The field.
    pub field: &'static str,
    /// The reason, and what to do about it.
    pub message: String,
    /// Whether there was not enough memory, for a request that could be encoded with more.
    pub out_of_memory: bool,
}

/// An error in the saved state of a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum StateError {
    /// The bytes are no state of this version, or their fields contradict each other.
    #[error("invalid session state: {0}")]
    Invalid(String),
    /// There is not enough memory for the session, or for its state.
    #[error("{NO_MEMORY}")]
    OutOfMemory,
}

impl EncodeError {
    pub(super) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into(), out_of_memory: false }
    }

    pub(super) fn out_of_memory(field: &'static str) -> Self {
        Self { out_of_memory: true, ..Self::new(field, NO_MEMORY) }
    }
}

impl DecodeError {
    pub(super) fn invalid(frame: usize, message: impl Into<String>) -> Self {
        Self::InvalidFormat { frame: Some(frame), message: message.into() }
    }

    pub(super) fn unknown(unknown: Vec<String>, undone: Vec<String>) -> Self {
        Self::UnknownReference { unknown, undone, base: None, starts_over: false }
    }

    pub(super) fn json(frame: usize, what: &str, error: &json::Error) -> Self {
        Self::invalid(frame, format!("invalid JSON of {what}: {error}"))
    }
}

/// Displays why a request is rejected.
struct Cause(bool);

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0 {
            "the request starts the conversation over (delivered again, or its sender was restarted)"
        } else {
            "lost, or evicted from this session's memory"
        })
    }
}

/// Displays the index of a frame as the beginning of a message.
struct Place(Option<usize>);

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |frame| write!(f, "frame {frame}: "))
    }
}

/// Displays the first few ids, to keep the message short.
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
