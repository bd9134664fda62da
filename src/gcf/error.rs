//! Errors: a [`Code`], a message and a [`Place`].
//!
//! Codes are those of the specification where it defines one (section 14), otherwise our own. An error
//! in a text has a line and a column; an error in a value has the path to the part at fault.

use crate::excerpt::path_excerpt;
use crate::memory::NO_MEMORY;
use crate::text::codes::codes;
use std::collections::TryReserveError;
use std::fmt;

codes! {
    /// The first word of the text is not `GCF`.
    MissingHeader = "missing_header",
    /// The first pair of the header is not `profile=`.
    MissingProfile = "missing_profile",
    /// The profile is neither `generic` nor `graph`.
    UnknownProfile = "unknown_profile",
    /// A word of the header or summary is not `name=value`, or a constant column has no name.
    MalformedHeaderField = "malformed_header_field",
    /// A duplicate name in the header or summary.
    DuplicateHeaderField = "duplicate_header_field",
    /// The bytes are not UTF-8.
    InvalidUtf8 = "invalid_utf8",
    /// A quoted string has no closing quote.
    UnterminatedQuote = "unterminated_quote",
    /// An unknown escape after a backslash, or an unescaped control character.
    InvalidEscape = "invalid_escape",
    /// Unexpected characters after a complete value, declaration or text.
    TrailingCharacters = "trailing_characters",
    /// A lone surrogate.
    InvalidSurrogate = "invalid_surrogate",
    /// `~` outside a table cell.
    InvalidMissing = "invalid_missing",
    /// `^` where no value can be attached.
    InvalidAttachmentMarker = "invalid_attachment_marker",
    /// A duplicate member of an object.
    DuplicateKey = "duplicate_key",
    /// A duplicate field in a declaration.
    DuplicateFieldName = "duplicate_field_name",
    /// The number of cells in a row is not the number of declared columns.
    RowWidthMismatch = "row_width_mismatch",
    /// The number of elements is not the declared count.
    CountMismatch = "count_mismatch",
    /// The brackets do not contain a valid count.
    InvalidCount = "invalid_count",
    /// A tab in the indentation.
    TabIndentation = "tab_indentation",
    /// An indentation that is odd, or deeper than the container allows.
    InvalidIndent = "invalid_indent",
    /// The id of a row or element is not its index.
    InvalidItemId = "invalid_item_id",
    /// An attachment that no cell of the row refers to.
    OrphanAttachment = "orphan_attachment",
    /// A line of inline values that no cell of a row refers to.
    OrphanInlineAttachment = "orphan_inline_attachment",
    /// A `^` cell whose attachment is missing.
    MissingAttachment = "missing_attachment",
    /// Two attachments with the same name.
    DuplicateAttachment = "duplicate_attachment",
    /// The number of values of an inline object differs from the number of keys in its schema.
    InlineWidthMismatch = "inline_width_mismatch",
    /// A number outside the range of 64-bit integers and doubles.
    OutOfRange = "out_of_range",
    /// A line of a graph that is not a node.
    InvalidNodeLine = "invalid_node_line",
    /// An id of a symbol that is malformed or already in use.
    InvalidSymbolId = "invalid_symbol_id",
    /// A score without exactly two decimals.
    InvalidScore = "invalid_score",
    /// A line of a graph that is not an edge.
    InvalidEdgeSyntax = "invalid_edge_syntax",
    /// An edge to an undeclared id.
    UnknownEdgeReference = "unknown_edge_reference",
    /// A section or line that is invalid in a delta.
    MalformedDelta = "malformed_delta",
    /// The pack root of the result differs from the announced one.
    RootMismatch = "root_mismatch",
    /// A duplicate member key in a keyed table.
    DuplicateMemberKey = "duplicate_member_key",
    /// A keyed table with fewer than two fields.
    TooFewFields = "too_few_fields",
    /// A keyed table without rows.
    ZeroCount = "zero_count",
    /// A delta that cannot be applied to its base.
    DeltaInvalid = "delta_invalid",
    /// A line that matches no construct of the grammar.
    InvalidLine = "invalid_line",
    /// A text that is not JSON, where JSON is expected.
    InvalidJson = "invalid_json",
    /// The key of a row is not a string.
    InvalidKey = "invalid_key",
    /// The braces do not contain a valid field declaration.
    InvalidFieldDeclaration = "invalid_field_declaration",
    /// A constant column or group whose value is missing or not a scalar.
    InvalidConstValue = "invalid_const_value",
    /// A table that has constant columns only.
    NoBareColumn = "no_bare_column",
    /// A grouped table whose declaration, group line or row is invalid.
    InvalidGroupHeader = "invalid_group_header",
    /// Two groups of a table with the same value.
    DuplicateGroup = "duplicate_group",
    /// Rows that cannot be grouped without loss or in their order.
    InvalidGrouping = "invalid_grouping",
    /// A list column or matrix, which is decoded only on request.
    UnsupportedExtension = "unsupported_extension",
    /// NaN or an infinity.
    NotFinite = "not_finite",
    /// A value of a type that the format cannot represent.
    UnsupportedType = "unsupported_type",
    /// A header value that is not printable ASCII without spaces.
    InvalidHeaderValue = "invalid_header_value",
    /// A depth or size above its limit.
    LimitExceeded = "limit_exceeded",
    /// There is not enough memory.
    OutOfMemory = "out_of_memory",
    /// A name that a graph cannot represent.
    InvalidGraphName = "invalid_graph_name",
    /// Two symbols with the same identity.
    DuplicateSymbol = "duplicate_symbol",
    /// An edge to a symbol that is not in the payload.
    DanglingEdge = "dangling_edge",
    /// A line of a graph that is not a location.
    InvalidLocLine = "invalid_loc_line",
    /// A location of an undeclared symbol.
    UnknownLocReference = "unknown_loc_reference",
    /// The path given for the rows does not lead to a container.
    MissingSection = "missing_section",
    /// A text of the other profile, or of another kind of message.
    WrongProfile = "wrong_profile",
    /// A delta for another base than the given one.
    BaseMismatch = "base_mismatch",
    /// Rows that do not form a keyed set.
    InvalidKeyedSet = "invalid_keyed_set",
    /// A reference to a symbol that the session does not hold.
    UnknownSessionReference = "unknown_session_reference",
    /// A declaration that contradicts the session.
    SessionConflict = "session_conflict",
}

/// The place of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Place {
    /// The error has no place.
    None,
    /// A position in a text.
    Text {
        /// From 1.
        line: usize,
        /// From 1, in code points.
        column: usize,
    },
    /// A path in a value: `$.orders[3].total`.
    Value(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Text { line, column } => write!(f, " (line {line}, column {column})"),
            Self::Value(path) => write!(f, " (at {})", path_excerpt(path)),
        }
    }
}

impl Error {
    /// Whether a part of a value cannot be written in any way. The place is then its path.
    pub fn is_unsupported_value(&self) -> bool {
        let code = matches!(
            self.code,
            Code::UnsupportedType
                | Code::NotFinite
                | Code::OutOfRange
                | Code::InvalidSurrogate
                | Code::DuplicateKey
                | Code::LimitExceeded
        );
        code && matches!(self.place, Place::Value(_))
    }

    /// Makes an error that has no place.
    pub fn without_place(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), place: Place::None }
    }
}

impl From<TryReserveError> for Error {
    #[cold]
    fn from(_: TryReserveError) -> Self {
        Self::without_place(Code::OutOfMemory, NO_MEMORY)
    }
}

/// An error in a text, located by offset; [`Fault::locate`] computes line and column.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub code: Code,
    pub message: String,
    /// The offset in bytes.
    pub at: usize,
}

impl From<TryReserveError> for Box<Fault> {
    #[cold]
    fn from(_: TryReserveError) -> Self {
        Fault::new(Code::OutOfMemory, 0, NO_MEMORY)
    }
}

/// The result of parsing. The error is boxed to keep the result small, since errors are rare.
pub(crate) type Read<T> = Result<T, Box<Fault>>;

#[cold]
pub(crate) fn fault<T>(code: Code, at: usize, message: impl Into<String>) -> Read<T> {
    Err(Fault::new(code, at, message))
}

impl Fault {
    #[cold]
    #[expect(clippy::unnecessary_box_returns, reason = "a Result holds the box")]
    pub(crate) fn new(code: Code, at: usize, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { code, message: message.into(), at })
    }

    /// The error with its line and column in `text`.
    pub(crate) fn locate(self, text: &str) -> Error {
        let mut at = self.at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &text[..at];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let column = before[start..].chars().count() + 1;
        Error { code: self.code, message: self.message, place: Place::Text { line, column } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_code_points_and_lines_end_at_line_feeds_only() {
        let text = "GCF\nä\u{2028}b\n";
        let fault = Fault { code: Code::InvalidLine, message: "x".into(), at: 9 };
        let error = fault.locate(text);
        assert_eq!(error.place, Place::Text { line: 2, column: 3 });
        assert_eq!(error.to_string(), "invalid_line: x (line 2, column 3)");
    }

    #[test]
    fn names_of_codes_are_unique() {
        let names: std::collections::HashSet<_> = Code::ALL.iter().map(|c| c.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
