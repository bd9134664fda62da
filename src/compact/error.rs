//! Why a message could not be read, or not be written.
//!
//! Compact Protocol v2 "Error Types" and v4 section 8 in one list. Positions count characters from 0
//! in the payload, behind the prefix; offsets count bytes in what was decompressed.

use crate::excerpt::excerpt;
use crate::{base85, compression, msgpack};

/// Why a text is not a message that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Nothing but white space.
    #[error("the message is empty")]
    EmptyResponse,
    /// The first character begins no format.
    #[error("no message begins with {0:?}: expected '{{', 'RES|' or one of M A Z S D")]
    InvalidPrefix(char),
    /// The format is known, the text is not in it.
    #[error("{0}")]
    InvalidFormat(String),
    /// A verbose message lacks a required member.
    #[error("the message has no {0:?}")]
    MissingField(&'static str),
    /// Not Base64.
    #[error("Base64 breaks at position {position}")]
    InvalidBase64 {
        /// Characters from 0.
        position: usize,
    },
    /// Not Base85: a foreign character, a length or a value.
    #[error(transparent)]
    Base85(#[from] base85::Error),
    /// Not a whole compressed stream.
    #[error("decompression failed: {0}")]
    DecompressionFailed(String),
    /// Decompressed, the message would be larger than the caller allows.
    #[error("decompressed, the message is larger than max_size, {limit} bytes")]
    OutputTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The `MessagePack` value is not a response, or not a tool call.
    #[error("not a MessagePack message: {0}")]
    InvalidMsgpack(#[from] msgpack::Error),
    /// None of the given dictionaries is the one that the message was compressed with.
    #[error("dictionary {} is not among those given", DictionaryKey(*id, name))]
    DictionaryNotFound {
        /// The frame's dictionary id; 0 where it has none.
        id: u32,
        /// The dictionary's name, which old containers have.
        name: Option<String>,
    },
}

/// Why a response cannot be written in a format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct EncodeError {
    /// The field that cannot be carried.
    pub field: &'static str,
    /// Why, and what can be done.
    pub message: String,
}

impl From<compression::Error> for DecodeError {
    fn from(error: compression::Error) -> Self {
        match error {
            compression::Error::Failed(message) => Self::DecompressionFailed(message),
            compression::Error::TooLarge(limit) => Self::OutputTooLarge { limit },
        }
    }
}

struct DictionaryKey<'a>(u32, &'a Option<String>);

impl std::fmt::Display for DictionaryKey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0, self.1) {
            (0, Some(name)) => f.write_str(&excerpt(name)),
            (id, _) => write!(f, "{id}"),
        }
    }
}
