//! Why a value could not be written, or a text not be read: one [`Code`], a place, a sentence.
//!
//! Codes are those of the specification where it names them (section 14), else our own. An error of
//! a text knows line and column, an error of a value the path to it.

use std::fmt;

macro_rules! codes {
    ($($(#[$docs:meta])* $variant:ident = $name:literal,)*) => {
        /// What kind of error it is; [`Code::name`] is stable and for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$docs])* $variant,)* }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name that the specification, or this library, gives it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

codes! {
    /// The first word is not `GCF`.
    MissingHeader = "missing_header",
    /// The header does not begin with a profile.
    MissingProfile = "missing_profile",
    /// A profile that is neither `generic` nor `graph`.
    UnknownProfile = "unknown_profile",
    /// A word of the header or trailer is no `name=value`, or a declared name is missing.
    MalformedHeaderField = "malformed_header_field",
    /// A name stands twice in the header or trailer.
    DuplicateHeaderField = "duplicate_header_field",
    /// The bytes are not UTF-8.
    InvalidUtf8 = "invalid_utf8",
    /// A quoted text does not end.
    UnterminatedQuote = "unterminated_quote",
    /// A backslash is followed by no escape, or a control character stands unescaped.
    InvalidEscape = "invalid_escape",
    /// Something follows where nothing may.
    TrailingCharacters = "trailing_characters",
    /// Half of a pair of surrogates.
    InvalidSurrogate = "invalid_surrogate",
    /// `~` where nothing can be absent.
    InvalidMissing = "invalid_missing",
    /// `^` where nothing can be attached.
    InvalidAttachmentMarker = "invalid_attachment_marker",
    /// A member name that the object has already.
    DuplicateKey = "duplicate_key",
    /// A field name that the declaration has already.
    DuplicateFieldName = "duplicate_field_name",
    /// A row has more or fewer cells than columns are declared.
    RowWidthMismatch = "row_width_mismatch",
    /// More or fewer items than were counted.
    CountMismatch = "count_mismatch",
    /// No count stands in the brackets.
    InvalidCount = "invalid_count",
    /// A tab in the indentation.
    TabIndentation = "tab_indentation",
    /// An indentation that nothing has there.
    InvalidIndent = "invalid_indent",
    /// An item's id is not its index.
    InvalidItemId = "invalid_item_id",
    /// An attachment without a cell that asks for it.
    OrphanAttachment = "orphan_attachment",
    /// A line of cells that no marker asks for.
    OrphanInlineAttachment = "orphan_inline_attachment",
    /// A marker without its attachment.
    MissingAttachment = "missing_attachment",
    /// Two attachments for one name.
    DuplicateAttachment = "duplicate_attachment",
    /// An inline object has more or fewer values than its schema.
    InlineWidthMismatch = "inline_width_mismatch",
    /// A number beyond 64-bit integers and doubles.
    OutOfRange = "out_of_range",
    /// A line that is no node.
    InvalidNodeLine = "invalid_node_line",
    /// No id of a symbol, or one that is taken.
    InvalidSymbolId = "invalid_symbol_id",
    /// A score that does not have two decimals.
    InvalidScore = "invalid_score",
    /// A line that is no edge.
    InvalidEdgeSyntax = "invalid_edge_syntax",
    /// An edge to an id that no line declares.
    UnknownEdgeReference = "unknown_edge_reference",
    /// A section or line that a delta does not have.
    MalformedDelta = "malformed_delta",
    /// The result is not what its root says.
    RootMismatch = "root_mismatch",
    /// A key that the keyed table has already.
    DuplicateMemberKey = "duplicate_member_key",
    /// A keyed table with fewer than two fields.
    TooFewFields = "too_few_fields",
    /// A keyed table without rows.
    ZeroCount = "zero_count",
    /// A change that the base does not allow.
    DeltaInvalid = "delta_invalid",
    /// A line that begins nothing.
    InvalidLine = "invalid_line",
    /// What stands for a key is none.
    InvalidKey = "invalid_key",
    /// What stands between the braces declares no fields.
    InvalidFieldDeclaration = "invalid_field_declaration",
    /// A constant column without a constant.
    InvalidConstValue = "invalid_const_value",
    /// A table of nothing but constant columns.
    NoBareColumn = "no_bare_column",
    /// An extension that is not read.
    UnsupportedExtension = "unsupported_extension",
    /// NaN or an infinity.
    NotFinite = "not_finite",
    /// A value that the format has no form for.
    UnsupportedType = "unsupported_type",
    /// A value that a header cannot hold.
    InvalidHeaderValue = "invalid_header_value",
    /// Deeper or larger than allowed.
    LimitExceeded = "limit_exceeded",
    /// A name that a graph cannot hold.
    InvalidGraphName = "invalid_graph_name",
    /// Two symbols that cannot be told apart.
    DuplicateSymbol = "duplicate_symbol",
    /// An edge to what is not among the symbols.
    DanglingEdge = "dangling_edge",
    /// A line that is no location.
    InvalidLocLine = "invalid_loc_line",
    /// A location of what is not declared.
    UnknownLocReference = "unknown_loc_reference",
    /// No container is where rows are asked for.
    MissingSection = "missing_section",
    /// A text of the other profile.
    WrongProfile = "wrong_profile",
    /// The delta is for another base.
    BaseMismatch = "base_mismatch",
    /// Rows that are no keyed set.
    InvalidKeyedSet = "invalid_keyed_set",
    /// A reference to what the session does not hold.
    UnknownSessionReference = "unknown_session_reference",
    /// A declaration that contradicts the session.
    SessionConflict = "session_conflict",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// None in particular.
    None,
    /// In a text.
    Text {
        /// From 1.
        line: usize,
        /// In code points from 1.
        column: usize,
    },
    /// In a value: `$.orders[3].total`.
    Value(String),
}

/// Why a value could not be written, or a text not be read.
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
    /// An error that has no place.
    pub fn without_place(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), place: Place::None }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, message, place } = self;
        match place {
            Place::None => write!(f, "{code}: {message}"),
            Place::Text { line, column } => {
                write!(f, "{code}: {message} (line {line}, column {column})")
            }
            Place::Value(path) => write!(f, "{code}: {message} (at {path})"),
        }
    }
}

/// An error in a text, while its place is still an offset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub code: Code,
    pub message: String,
    /// In bytes.
    pub at: usize,
}

/// What reading a piece of text gives. The error is boxed: it is rare, and results are everywhere.
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

    /// With line and column in `text`.
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
    fn columns_count_characters_and_lines_end_at_line_feeds_only() {
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
