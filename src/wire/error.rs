//! Errors of the wire codecs: a [`Code`], a message and a [`Place`].

use crate::text::codes::codes;
use std::fmt;

codes! {
    /// The bytes end within a field, or before the counted symbols and edges.
    Truncated = "gcb_truncated",
    /// The bytes do not begin with `GCB1`.
    BadMagic = "gcb_bad_magic",
    /// The version is not 1.
    BadVersion = "gcb_bad_version",
    /// A number that is too long, too large or not in its shortest form.
    BadVarint = "gcb_bad_varint",
    /// A count that is negative, or above 2^63 - 1.
    CountRange = "gcb_count_range",
    /// An edge to a missing symbol.
    EdgeIndex = "gcb_edge_index",
    /// A kind without an id, or an unknown id of a kind.
    UnknownKind = "gcb_unknown_kind",
    /// A provenance without an id, or an unknown id.
    UnknownProvenance = "gcb_unknown_provenance",
    /// An edge type without an id, or an unknown id.
    UnknownEdgeType = "gcb_unknown_edge_type",
    /// An edge status without an id, or an unknown id.
    UnknownStatus = "gcb_unknown_status",
    /// The payload has a root, which the layout cannot carry.
    PackRoot = "gcb_pack_root",
    /// A symbol has a location, which the layout cannot carry.
    Location = "gcb_location",
    /// A distance beyond one byte.
    DistanceRange = "gcb_distance_range",
    /// A number that binary32 cannot represent.
    Precision = "gcb_precision",
    /// NaN, an infinity, or a number beyond binary32.
    NotFinite = "gcb_not_finite",
    /// An end of an edge has the name of two symbols.
    DuplicateSymbol = "gcb_duplicate_symbol",
    /// An end of an edge is not a symbol.
    DanglingEdge = "gcb_dangling_edge",
    /// Bytes after the last edge.
    TrailingData = "gcb_trailing_data",
    /// A string or the text is not UTF-8.
    InvalidUtf8 = "invalid_utf8",
    /// NaN or an infinity, which JSON cannot represent.
    JsonNotFinite = "not_finite",
    /// The text is not valid JSON.
    InvalidJson = "invalid_json",
    /// A member of the wrong type.
    InvalidMember = "invalid_member",
    /// The names of the edges take more than `max_expansion` bytes.
    TooLarge = "too_large",
    /// There is not enough memory.
    OutOfMemory = "out_of_memory",
}

/// The place of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Place {
    /// An offset in the input, in bytes from 0.
    Offset(usize),
    /// A path in a payload, as `$.symbols[3].kind`.
    Path(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(offset) => write!(f, " (at byte {offset})"),
            Self::Path(path) => write!(f, " (at {path})"),
        }
    }
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
