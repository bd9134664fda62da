//! Reading the messages of keyed sets. Counts, pack roots and identities are all verified.

use super::delta::DeltaParts;
use super::{Delta, KeyedSet, Row, Scalar};
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Fault, Read, fault};
use crate::gcf::syntax::declaration::{Count, Declared, Field, read_count, read_fields};
use crate::gcf::syntax::header::{self, Header, Profile};
use crate::gcf::syntax::line::{Line, Lines};
use crate::gcf::syntax::row_id::{is_index, split_row_id};
use crate::gcf::syntax::scalar::{self, Token, skip_blanks};
use crate::gcf::syntax::string::read_key;

/// Reads any message: a full set, a delta to `base`, or "unchanged" from `base`. Returns the peer's set.
///
/// # Errors
/// Those of [`KeyedSet::read`], [`Delta::read`] and [`KeyedSet::apply`]; `base_mismatch` if a base is
/// needed and there is none.
pub fn receive(base: Option<&KeyedSet>, text: &str) -> Result<KeyedSet, Error> {
    receive_by(text, |_, _| base)
}

/// Like [`receive`], but `find` looks the base up: by its pack root and by the pair `shape` of the header,
/// if there is one.
///
/// # Errors
/// As [`receive`].
pub fn receive_by<'b>(
    text: &str,
    find: impl FnOnce(&str, Option<&str>) -> Option<&'b KeyedSet>,
) -> Result<KeyedSet, Error> {
    let located = |fault: Box<Fault>| fault.locate(text);
    let header = read_generic_header(&mut Lines::new(text)).map_err(located)?;
    let base = |root: &str| {
        find(root, header.get("shape")).ok_or_else(|| {
            let message = format!("no base with root {}; request the full set", excerpt(root));
            Error::without_place(Code::BaseMismatch, message)
        })
    };
    if header.get("delta") == Some("true") {
        let delta = Delta::read(text)?;
        return base(delta.base_root())?.apply(&delta);
    }
    if header.get("unchanged") == Some("true") {
        let root = header.get("pack_root").unwrap_or_default();
        return unchanged(root, base(root)?, text);
    }
    KeyedSet::read(text)
}

fn unchanged(root: &str, base: &KeyedSet, text: &str) -> Result<KeyedSet, Error> {
    let located = |fault: Box<Fault>| fault.locate(text);
    let mut lines = Lines::new(text);
    lines.first();
    lines.advance().map_err(located)?;
    if let Some(line) = lines.peek() {
        let message = "unexpected line after the header of an unchanged message";
        return Err(Fault::new(Code::TrailingCharacters, line.start, message).locate(text));
    }
    if root != base.root() {
        let message = format!(
            "the unchanged set has root {}, the base has root {}; request the full set",
            excerpt(root),
            base.root()
        );
        return Err(Error::without_place(Code::BaseMismatch, message));
    }
    Ok(base.clone())
}

impl KeyedSet {
    /// Reads a full set.
    ///
    /// # Errors
    /// An invalid text, with line and column; `wrong_profile` for a graph, a delta or an unchanged message;
    /// `invalid_keyed_set` if `key` is not the field marked `@`, an identity is null or duplicate, or the
    /// header lacks `key` or `pack_root`; `root_mismatch` if the rows do not have the pack root of the
    /// header.
    pub fn read(text: &str) -> Result<Self, Error> {
        let (header, section) = parse_full(text).map_err(|fault| fault.locate(text))?;
        let set = Self::new(section.name, header.key, section.fields, section.rows)?;
        if set.root() != header.root {
            let message =
                format!("the rows have root {}, the header {}", set.root(), excerpt(header.root));
            return Err(Error::without_place(Code::RootMismatch, message));
        }
        Ok(set)
    }
}

impl Delta {
    /// Reads a delta.
    ///
    /// # Errors
    /// An invalid text, with line and column; `malformed_delta` for an unknown or duplicate section, a line
    /// that does not begin a section, or a header that lacks a root or the key.
    pub fn read(text: &str) -> Result<Self, Error> {
        parse_delta(text).map_err(|fault| fault.locate(text))?
    }
}

fn read_generic_header<'t>(lines: &mut Lines<'t>) -> Read<Header<'t>> {
    let header = Header::read(lines)?;
    match header.profile {
        Profile::Generic => Ok(header),
        Profile::Graph => fault(Code::WrongProfile, 0, "expected a keyed set, found a graph"),
    }
}

struct FullHeader<'t> {
    key: &'t str,
    root: &'t str,
}

fn parse_full(text: &str) -> Read<(FullHeader<'_>, Section)> {
    let mut lines = Lines::new(text);
    let header = read_generic_header(&mut lines)?;
    for kind in ["delta", "unchanged"] {
        if header.get(kind) == Some("true") {
            let message = format!("{kind}=true: expected a full set; use receive with its base");
            return fault(Code::WrongProfile, 0, message);
        }
    }
    let (Some(key), Some(root)) = (header.get("key"), header.get("pack_root")) else {
        return fault(
            Code::InvalidKeyedSet,
            0,
            "expected key and pack_root in the header of a keyed set",
        );
    };
    lines.advance()?;
    let section = match lines.peek() {
        Some(line) => Section::read(&mut lines, line, key, Code::InvalidKeyedSet)?,
        None => {
            return fault(
                Code::InvalidKeyedSet,
                text.len(),
                "expected the table of the keyed set, found the end of the text",
            );
        }
    };
    read_summary(&mut lines, &section)?;
    Ok((FullHeader { key, root }, section))
}

/// Reads the summary line, `##! summary counts=3`, after rows with a deferred count.
fn read_summary(lines: &mut Lines<'_>, section: &Section) -> Read<()> {
    let Some(line) = lines.peek() else { return Ok(()) };
    let mut words = header::words(lines.str(line)).peekable();
    if !section.deferred
        || words.next().is_none_or(|(_, word)| word != "##!")
        || words.next_if(|(_, word)| *word == "summary").is_none()
    {
        return fault(Code::CountMismatch, line.start, "unexpected line after the rows");
    }
    for (at, (name, value)) in header::pairs(words, line.start)? {
        if name == "counts" && value != section.rows.len().to_string() {
            let message = format!(
                "the summary declares {} rows, found {}",
                excerpt(value),
                section.rows.len()
            );
            return fault(Code::CountMismatch, at, message);
        }
    }
    lines.advance()?;
    match lines.peek() {
        None => Ok(()),
        Some(line) => {
            fault(Code::TrailingCharacters, line.start, "unexpected line after the summary")
        }
    }
}

fn parse_delta(text: &str) -> Read<Result<Delta, Error>> {
    let mut lines = Lines::new(text);
    let header = read_generic_header(&mut lines)?;
    if header.get("delta") != Some("true") {
        return fault(Code::WrongProfile, 0, "expected delta=true in the header of a delta");
    }
    let pair = |name| match header.get(name) {
        Some(value) if !value.is_empty() => Ok(value),
        _ => fault(Code::MalformedDelta, 0, format!("missing pair {name} in the header")),
    };
    let (base_root, new_root, key) = (pair("base_root")?, pair("new_root")?, pair("key")?);
    let mut parts = DeltaParts::default();
    let mut fields: Vec<String> = Vec::new();
    let mut seen = [false; 3];
    let mut counted = false;
    lines.advance()?;
    while let Some(line) = lines.peek() {
        if counted && !lines.str(line).starts_with("## ") {
            return fault(Code::CountMismatch, line.start, "unexpected line after the rows");
        }
        let section = Section::read(&mut lines, line, key, Code::MalformedDelta)?;
        counted = !section.deferred;
        let Some(kind) = ["added", "changed", "removed"].iter().position(|k| *k == section.name)
        else {
            let message = format!("unknown section {} of a delta", excerpt(&section.name));
            return fault(Code::MalformedDelta, line.start, message);
        };
        if std::mem::replace(&mut seen[kind], true) || section.keyed {
            let message = "each section of a delta must be a table, and occur once";
            return fault(Code::MalformedDelta, line.start, message);
        }
        if kind == 2 {
            if section.fields.len() != 1 {
                let message = "## removed must declare the identity field only";
                return fault(Code::MalformedDelta, line.start, message);
            }
            parts.removed = section.rows.into_iter().flatten().collect();
            continue;
        }
        if !fields.is_empty() && fields != section.fields {
            let message = "## added and ## changed must declare the same fields";
            return fault(Code::MalformedDelta, line.start, message);
        }
        fields = section.fields;
        *(if kind == 0 { &mut parts.added } else { &mut parts.changed }) = section.rows;
    }
    let made = Delta::new(key, fields, base_root.to_owned(), new_root.to_owned(), parts);
    // Rows that do not form a set make the delta invalid.
    Ok(made.map_err(|error| match error.code {
        Code::InvalidKeyedSet => Error { code: Code::DeltaInvalid, ..error },
        _ => error,
    }))
}

/// A table whose fields include the identity.
struct Section {
    name: String,
    fields: Vec<String>,
    rows: Vec<Row>,
    keyed: bool,
    deferred: bool,
}

impl Section {
    /// Reads the head in `line` and its rows; `otherwise` is the error code if the line is not a head.
    fn read(lines: &mut Lines<'_>, line: Line, key: &str, otherwise: Code) -> Read<Self> {
        let text = lines.text();
        let bytes = &text.as_bytes()[..line.end];
        let expected_head = || {
            let shown = excerpt(&text[line.start..line.end]);
            fault(
                otherwise,
                line.start,
                format!("expected ## name [count]{{@key,…}}, found {shown}"),
            )
        };
        if line.indent > 0 || !text[line.start..line.end].starts_with("## ") {
            return expected_head();
        }
        let start = skip_blanks(bytes, line.start + 3);
        let Some((name, after)) = read_key(text, start, line.end)? else { return expected_head() };
        let at = skip_blanks(bytes, after);
        if bytes.get(at) != Some(&b'[') {
            return expected_head();
        }
        let (count, after) = read_count(text, at, line.end)?;
        if bytes.get(after) != Some(&b'{') {
            return expected_head();
        }
        // gcf-python writes the identity of removed rows without the quotes that it may need.
        let only = text[after..line.end].strip_prefix("{@").and_then(|rest| rest.strip_suffix('}'));
        let fields = if name == "removed" && only == Some(key) {
            vec![key.to_owned()]
        } else {
            Self::read_fields(text, after, line, count, key)?
        };
        lines.advance()?;
        let rows = read_rows(lines, count, fields.len())?;
        let (keyed, deferred) = (count.keyed, count.value.is_none());
        Ok(Self { name: name.into_owned(), fields, rows, keyed, deferred })
    }

    /// Reads the fields whose opening brace is at `at`, to the end of the line.
    fn read_fields(
        text: &str,
        at: usize,
        line: Line,
        count: Count,
        key: &str,
    ) -> Read<Vec<String>> {
        let (declared, after) = read_fields(text, at, line.end, false)?;
        if skip_blanks(&text.as_bytes()[..line.end], after) < line.end {
            return fault(
                Code::TrailingCharacters,
                after,
                "unexpected characters after the field declaration",
            );
        }
        field_names(declared, count, key)
    }
}

/// Checks the declared fields, whose identity must be `key`; returns their names.
fn field_names(declared: Vec<Field<'_>>, count: Count, key: &str) -> Read<Vec<String>> {
    let mut names = Vec::with_capacity(declared.len());
    for (index, field) in declared.into_iter().enumerate() {
        if field.constant.is_some() {
            let message = "a keyed set cannot have constant columns";
            return fault(Code::InvalidKeyedSet, field.at, message);
        }
        if field.identity != (field.name == key) {
            let message =
                format!("exactly the field named by key={} must be marked @", excerpt(key));
            return fault(Code::InvalidKeyedSet, field.at, message);
        }
        if count.keyed && field.identity != (index == 0) {
            let message = "the first field of a keyed table must be the identity";
            return fault(Code::InvalidKeyedSet, field.at, message);
        }
        names.push(field.name.into_owned());
    }
    let different = names.iter().collect::<hashbrown::HashSet<_>>().len();
    if different < names.len() {
        return fault(Code::DuplicateFieldName, count.at, "duplicate field");
    }
    if count.keyed && names.len() < 2 {
        let message = "a keyed table needs at least two fields";
        return fault(Code::TooFewFields, count.at, message);
    }
    if count.keyed && count.value == Some(0) {
        return fault(Code::ZeroCount, count.at, "a keyed table cannot have a zero count");
    }
    Ok(names)
}

fn read_rows(lines: &mut Lines<'_>, count: Count, width: usize) -> Read<Vec<Row>> {
    let mut rows = Vec::new();
    while let Some(line) = lines.peek() {
        let found = rows.len() as u64;
        let text = lines.str(line);
        if count.value.is_some_and(|count| found >= count)
            || text.starts_with("## ")
            || text.starts_with("##!")
        {
            break;
        }
        if line.indent > 0 {
            return fault(
                Code::InvalidIndent,
                line.start,
                "a row must be indented like the head of its table",
            );
        }
        rows.push(read_row(lines.text(), line, found, width, count.keyed)?);
        lines.advance()?;
    }
    match count.value {
        Some(declared) if declared != rows.len() as u64 => {
            let message = format!("expected {} rows, found {}", Declared(declared), rows.len());
            fault(Code::CountMismatch, count.at, message)
        }
        _ => Ok(rows),
    }
}

fn read_row(text: &str, line: Line, index: u64, width: usize, keyed: bool) -> Read<Row> {
    let mut at = line.start;
    if let Some((id, after)) = split_row_id(&text[line.start..line.end]) {
        if !is_index(id, index) {
            return fault(Code::InvalidItemId, line.start, "the id of a row must be its index");
        }
        at += after;
    }
    let mut row = Row::new();
    loop {
        let (value, stop) = if keyed && row.is_empty() {
            read_label(text, at, line.end)?
        } else {
            let (token, stop) = scalar::read(text, at, line.end, b'|')?;
            (to_scalar(token, at)?, stop)
        };
        row.push(value);
        if stop == line.end {
            break;
        }
        at = stop + 1;
    }
    if row.len() == width {
        return Ok(row);
    }
    let message = format!("expected {width} cells, found {}", row.len());
    fault(Code::RowWidthMismatch, line.start, message)
}

/// Reads cell 0 of a keyed table: a string, even if it looks like another scalar.
fn read_label(text: &str, start: usize, end: usize) -> Read<(Scalar, usize)> {
    let from = skip_blanks(&text.as_bytes()[..end], start);
    if text[from..end].starts_with('"') {
        let (token, stop) = scalar::read(text, from, end, b'|')?;
        return Ok((to_scalar(token, from)?, stop));
    }
    let stop = text[from..end].find('|').map_or(end, |length| from + length);
    match text[from..stop].trim_end_matches([' ', '\t']) {
        "-" | "~" | "^" => fault(Code::InvalidKey, from, "the key of a row must be a string"),
        key => Ok((Scalar::String(key.into()), stop)),
    }
}

fn to_scalar(token: Token<'_>, at: usize) -> Read<Scalar> {
    Ok(match token {
        Token::Null => Scalar::Null,
        Token::Bool(value) => Scalar::Bool(value),
        Token::Int(value) => Scalar::Int(value),
        Token::Float(value) => Scalar::Float(value),
        Token::String(text) => Scalar::String(text.into()),
        Token::Missing => {
            return fault(
                Code::InvalidMissing,
                at,
                "a row of a keyed set must have every field, found ~",
            );
        }
        Token::Marker | Token::InlineSchema(_) | Token::List { .. } => {
            let message = "a row of a keyed set can hold only scalars";
            return fault(Code::InvalidAttachmentMarker, at, message);
        }
    })
}
