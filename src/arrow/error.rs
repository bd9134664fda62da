//! Errors of column functions.
//!
//! An [`Error`] ends a call. A [`Failure`] is that of one row; [`OnError`] decides whether it becomes an
//! error, a null or a part of the result.

use crate::compact::{DecodeError, EncodeError};
use crate::excerpt::excerpt;
use crate::memory::{self, NO_MEMORY};
use crate::{cad, gcf};
use arrow_schema::{ArrowError, DataType};
use std::collections::TryReserveError;

/// Why there are no columns on this processor, if so.
pub(super) const UNSUPPORTED: Option<&str> = if cfg!(target_endian = "big") {
    Some("columns need a little-endian processor: on others, the crate arrow-buffer loses nulls")
} else {
    None
};

/// What happens to a row that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum OnError {
    /// The call fails with the error of the first row that fails.
    #[default]
    Raise,
    /// The row becomes null.
    Null,
    /// The result has two more columns, the class and the message of the error; both are null for other
    /// rows.
    Report,
}

/// Why a call fails.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Error {
    /// The column has a type that the function does not accept.
    #[error("{0}")]
    Type(String),
    /// The producer of the column failed, or its buffers contradict the Arrow format.
    #[error("{0}")]
    Producer(String),
    /// The producer of the column could not produce its next chunk.
    #[error("the producer of the column failed (code {code}): {reason}")]
    ProducerFailed {
        /// What its function returned: a code of `errno`.
        code: i32,
        /// Why, in its words.
        reason: String,
    },
    /// The column, or a part of it, has a type that cannot be read.
    #[error("{reason}")]
    Unreadable {
        /// The steps from the column to the values of this type in the path of an error, such as `[*].price`.
        steps: String,
        /// Why, and what to do.
        reason: String,
    },
    /// A row failed, under [`OnError::Raise`].
    #[error("{failure} (in row {row})")]
    Row {
        /// The index of the row in the whole column.
        row: usize,
        /// Its error.
        failure: Failure,
    },
    /// A table cannot be written as GCF.
    #[error(transparent)]
    Gcf(#[from] gcf::Error),
    /// A text of the result is larger than a column can hold.
    #[error("a text of the result has {size} bytes; a column can hold texts of at most {limit}")]
    TooLarge {
        /// The size of the text in bytes.
        size: usize,
        /// The maximum.
        limit: usize,
    },
    /// The result is too large for the rows that it is made of.
    #[error(
        "up to row {row}, the result has over max_expansion={limit} bytes more than 64 times the rows and 1 KiB for \
         each; pass fewer rows at a time, or raise max_expansion if you trust the column"
    )]
    Expansion {
        /// The index of the row in the whole column.
        row: usize,
        /// The maximum.
        limit: usize,
    },
    /// There is not enough memory.
    #[error("{NO_MEMORY}")]
    OutOfMemory,
}

/// A type for an error message.
pub(super) fn type_excerpt(data_type: &DataType) -> String {
    // The crate displays the metadata of fields, too, of which a byte may be five.
    memory::require(memory::ensure(data_type.size().saturating_mul(16)));
    excerpt(&data_type.to_string())
}

impl Error {
    /// The column has another type than the function accepts.
    pub(super) fn unexpected(found: &DataType, expected: &str) -> Self {
        let advice = match found {
            DataType::Struct(_) => "; take one column of the table",
            _ => "",
        };
        let found = type_excerpt(found);
        Self::Type(format!("expected a column of {expected}, not of {found}{advice}"))
    }
}

impl From<TryReserveError> for Error {
    fn from(_: TryReserveError) -> Self {
        Self::OutOfMemory
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::MemoryError(_) => Self::OutOfMemory,
            error => Self::Producer(error.to_string()),
        }
    }
}

/// The error of one row: that of the function for one message.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Failure {
    /// A response cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A message cannot be decoded.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A GCF text or a value for one is invalid.
    #[error(transparent)]
    Gcf(#[from] gcf::Error),
    /// A CAD text or document is invalid.
    #[error("{error}{advice}", error = .0, advice = advice(.0))]
    Cad(#[from] cad::Error),
}

impl Failure {
    /// The name of the error's class in the Python package.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Encode(error) if error.path.is_some() => "UnsupportedValue",
            Self::Encode(_) => "EncodeError",
            Self::Decode(error) => decode_class(error),
            Self::Gcf(error) if error.is_unsupported_value() => "UnsupportedValue",
            Self::Gcf(_) => "GcfError",
            Self::Cad(cad::Error::Parse(_)) => "CompactParseError",
            Self::Cad(cad::Error::Document(_)) => "DocumentError",
            Self::Cad(cad::Error::Binary(_)) => "BinaryError",
        }
    }

    /// Whether there was not enough memory. Such an error ends the call, whatever [`OnError`] says.
    pub(super) fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Encode(error) => error.out_of_memory,
            Self::Decode(error) => matches!(error, DecodeError::OutOfMemory { .. }),
            Self::Gcf(error) => error.code == gcf::Code::OutOfMemory,
            Self::Cad(cad::Error::Binary(error)) => error.out_of_memory,
            Self::Cad(_) => false,
        }
    }
}

fn advice(error: &cad::Error) -> &'static str {
    match error {
        cad::Error::Document(error) => error.advice(),
        cad::Error::Parse(_) | cad::Error::Binary(_) => "",
    }
}

fn decode_class(error: &DecodeError) -> &'static str {
    use crate::base85;
    match error {
        DecodeError::EmptyResponse => "EmptyResponse",
        DecodeError::InvalidPrefix(_) => "InvalidPrefix",
        DecodeError::InvalidFormat(_) => "InvalidFormat",
        DecodeError::MissingField(_) => "MissingField",
        DecodeError::InvalidBase64 { .. } => "InvalidBase64",
        DecodeError::Base85(base85::Error::Char { .. }) => "InvalidBase85Char",
        DecodeError::Base85(base85::Error::Length(_)) => "InvalidBase85Length",
        DecodeError::Base85(base85::Error::Value { .. }) => "InvalidBase85Value",
        DecodeError::DecompressionFailed(_) => "DecompressionFailed",
        DecodeError::OutputTooLarge { .. } | DecodeError::TooManyValues { .. } => "OutputTooLarge",
        DecodeError::OutOfMemory { .. } => "MemoryError",
        DecodeError::InvalidMsgpack(_) => "InvalidMsgpack",
        DecodeError::DictionaryNotFound { .. } => "DictionaryNotFound",
    }
}
