//! Errors of decoding and encoding.
//!
//! [`DecodeError`] joins the lists of Compact Protocol v2 "Error Types" and v4 section 8. Positions
//! count characters of the payload after the prefix, from 0; offsets count bytes of the decompressed
//! message.

use crate::excerpt::excerpt;
use crate::memory::{self, NO_MEMORY};
use crate::{base85, compression, msgpack};

/// An error in a message, or a limit that it exceeds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum DecodeError {
    /// The text is empty or only white space.
    #[error("the message is empty")]
    EmptyResponse,
    /// No format begins with this character.
    #[error("expected a message that begins with '{{', 'RES|' or one of M A Z S D, found {0:?}")]
    InvalidPrefix(char),
    /// The text does not follow the format of its prefix.
    #[error("{0}")]
    InvalidFormat(String),
    /// A verbose message has no such member.
    #[error("missing member {0:?}")]
    MissingField(&'static str),
    /// The payload is not Base64.
    #[error("invalid Base64 at position {position}")]
    InvalidBase64 {
        /// The index of the character in the payload.
        position: usize,
    },
    /// The payload is not Base85: an invalid character, length or group.
    #[error(transparent)]
    Base85(#[from] base85::Error),
    /// The compressed data is invalid or truncated.
    #[error("decompression failed: {0}")]
    DecompressionFailed(String),
    /// The decompressed message is larger than the caller allows.
    #[error("the decompressed message is larger than max_size, {limit} bytes")]
    OutputTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A tool call has more values than the caller allows.
    #[error(
        "the arguments have more than {values} values, the maximum for a compressed call of this length \
         with a max_size of {limit} bytes"
    )]
    TooManyValues {
        /// The maximum number of values.
        values: usize,
        /// The `max_size` in bytes from which the maximum follows.
        limit: usize,
    },
    /// There is not enough memory for the result.
    #[error("cannot allocate {bytes} bytes")]
    OutOfMemory {
        /// The size of the failed allocation.
        bytes: usize,
    },
    /// The `MessagePack` value is neither a response nor a tool call.
    #[error("invalid MessagePack message: {0}")]
    InvalidMsgpack(#[from] msgpack::Error),
    /// The caller did not pass the dictionary that the message was compressed with.
    #[error("unknown dictionary {}: pass it to the decoder", DictionaryKey(*id, name))]
    DictionaryNotFound {
        /// The dictionary id of the frame; 0 if the frame has none.
        id: u32,
        /// The name of the dictionary, if an old container holds the frame.
        name: Option<String>,
    },
}

/// A field that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", path.as_deref().unwrap_or(field))]
pub struct EncodeError {
    /// The field.
    pub field: &'static str,
    /// The path of the value in the field that the format cannot represent.
    pub path: Option<String>,
    /// The reason, and what to do about it.
    pub message: String,
    /// Whether there was not enough memory, for a value that could be written with more.
    pub out_of_memory: bool,
}

impl EncodeError {
    pub(super) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, path: None, message: message.into(), out_of_memory: false }
    }

    pub(super) fn out_of_memory(field: &'static str) -> Self {
        Self { out_of_memory: true, ..Self::new(field, NO_MEMORY) }
    }

    /// Checks that there is memory for `bytes` more.
    pub(super) fn ensure_memory(field: &'static str, bytes: usize) -> Result<(), Self> {
        memory::ensure(bytes).map_err(|_| Self::out_of_memory(field))
    }
}

impl From<compression::Error> for DecodeError {
    fn from(error: compression::Error) -> Self {
        match error {
            compression::Error::Failed(message) => Self::DecompressionFailed(message),
            compression::Error::TooLarge(limit) => Self::OutputTooLarge { limit },
            compression::Error::OutOfMemory(bytes) => Self::OutOfMemory { bytes },
        }
    }
}

impl DecodeError {
    /// Checks that there is memory for `bytes` more.
    pub(super) fn ensure_memory(bytes: usize) -> Result<(), Self> {
        memory::ensure(bytes).map_err(|_| Self::OutOfMemory { bytes })
    }
}

impl From<compression::Error> for EncodeError {
    fn from(error: compression::Error) -> Self {
        match error {
            compression::Error::OutOfMemory(_) => Self::out_of_memory("result"),
            error => Self::new("result", error.to_string()),
        }
    }
}

/// Displays the id of a dictionary, or its name if it has no id.
struct DictionaryKey<'a>(u32, &'a Option<String>);

impl std::fmt::Display for DictionaryKey<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0, self.1) {
            (0, Some(name)) => f.write_str(&excerpt(name)),
            (id, _) => write!(f, "{id}"),
        }
    }
}
