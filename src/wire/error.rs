//! Why a payload could not be written, or bytes not be read: one [`Code`], a place, a sentence.

use crate::text::codes::codes;
use std::fmt;

codes! {
    /// The bytes end within a field, or before what they count.
    Truncated = "gcb_truncated",
    /// The bytes do not begin with `GCB1`.
    BadMagic = "gcb_bad_magic",
    /// Another version than 1.
    BadVersion = "gcb_bad_version",
    /// A number that is too long, too large or not in its shortest form.
    BadVarint = "gcb_bad_varint",
    /// A count that is negative, or above 2^63 - 1.
    CountRange = "gcb_count_range",
    /// An edge to a symbol that is not there.
    EdgeIndex = "gcb_edge_index",
    /// A kind that has no id, or an id that is no kind.
    UnknownKind = "gcb_unknown_kind",
    /// The same for a provenance.
    UnknownProvenance = "gcb_unknown_provenance",
    /// The same for the type of an edge.
    UnknownEdgeType = "gcb_unknown_edge_type",
    /// The same for the status of an edge.
    UnknownStatus = "gcb_unknown_status",
    /// The layout has no place for a root.
    PackRoot = "gcb_pack_root",
    /// The layout has no place for a location.
    Location = "gcb_location",
    /// A distance beyond one byte.
    DistanceRange = "gcb_distance_range",
    /// A number that binary32 does not give back.
    Precision = "gcb_precision",
    /// NaN, an infinity, or a number beyond binary32.
    NotFinite = "gcb_not_finite",
    /// An edge names two symbols.
    DuplicateSymbol = "gcb_duplicate_symbol",
    /// An edge names no symbol.
    DanglingEdge = "gcb_dangling_edge",
    /// Bytes behind the last edge.
    TrailingData = "gcb_trailing_data",
    /// A text is not UTF-8.
    InvalidUtf8 = "invalid_utf8",
    /// NaN or an infinity, which JSON has not.
    JsonNotFinite = "not_finite",
    /// The text is no JSON.
    InvalidJson = "invalid_json",
    /// A member of the wrong type.
    InvalidMember = "invalid_member",
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In what is read: an offset in bytes from 0.
    Offset(usize),
    /// In a payload: `$.symbols[3].kind`.
    Path(String),
}

/// Why a payload could not be written, or bytes not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What kind of error.
    pub code: Code,
    /// What is wrong and what to do.
    pub message: String,
    /// Where.
    pub place: Place,
}

impl Error {
    #[cold]
    pub(super) fn at(code: Code, offset: usize, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), place: Place::Offset(offset) }
    }

    #[cold]
    pub(super) fn of(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), place: Place::Path(path.into()) }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, message, place } = self;
        match place {
            Place::Offset(offset) => write!(f, "{code}: {message} (at byte {offset})"),
            Place::Path(path) => write!(f, "{code}: {message} (at {path})"),
        }
    }
}
