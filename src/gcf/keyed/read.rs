//! Reading what is sent of keyed sets. Nothing is believed: counts, roots and identities are checked.

use super::delta::DeltaParts;
use super::{Delta, KeyedSet, Row, Scalar};
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Fault, Read, fault};
use crate::gcf::syntax::declaration::{Count, Field, read_count, read_fields};
use crate::gcf::syntax::header::{self, Header, Profile};
use crate::gcf::syntax::line::{Line, Lines};
use crate::gcf::syntax::row_id::{is_index, split_row_id};
use crate::gcf::syntax::scalar::{self, Token, skip_blanks};
use crate::gcf::syntax::string::read_key;

/// The set that a peer means: `text` is a full set, or a delta or "unchanged" to `base`.
///
/// # Errors
/// Those of [`KeyedSet::read`], [`Delta::read`] and [`KeyedSet::apply`]; `base_mismatch` also where
/// there is no base.
pub fn receive(base: Option<&KeyedSet>, text: &str) -> Result<KeyedSet, Error> {
    receive_by(text, |_, _| base)
}

/// [`receive`], where `find` gives the set that is held of a root, and of what the header has as its
/// `shape`.
///
/// # Errors
/// As [`receive`].
pub fn receive_by<'b>(
    text: &str,
    find: impl FnOnce(&str, Option<&str>) -> Option<&'b KeyedSet>,
) -> Result<KeyedSet, Error> {
    let located = |fault: Box<Fault>| fault.locate(text);
    let header = generic(&mut Lines::new(text)).map_err(located)?;
    let base = |root: &str| {
        find(root, header.get("shape")).ok_or_else(|| {
            let message = format!("no set is held to apply this to, {}", excerpt(root));
            Error::without_place(Code::BaseMismatch, format!("{message}; ask for the full set"))
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
        let message = "nothing follows where nothing changed";
        return Err(Fault::new(Code::TrailingCharacters, line.start, message).locate(text));
    }
    if root != base.root() {
        let message = format!(
            "unchanged is {}, the set is {}; ask for the full set",
            excerpt(root),
            base.root()
        );
        return Err(Error::without_place(Code::BaseMismatch, message));
    }
    Ok(base.clone())
}

impl KeyedSet {
    /// The set of a full text.
    ///
    /// # Errors
    /// With line and column what is wrong with the text; `wrong_profile` for a graph or a delta;
    /// `invalid_keyed_set` where key and `@` disagree, an identity is null or there twice, or the header
    /// lacks `key` or `pack_root`; `root_mismatch` when the rows are not those of `pack_root`.
    pub fn read(text: &str) -> Result<Self, Error> {
        let (header, section) = full(text).map_err(|fault| fault.locate(text))?;
        let set = Self::new(section.name, header.key, section.fields, section.rows)?;
        if set.root() != header.root {
            let message =
                format!("the rows are {}, the header says {}", set.root(), excerpt(header.root));
            return Err(Error::without_place(Code::RootMismatch, message));
        }
        Ok(set)
    }
}

impl Delta {
    /// The delta of a text.
    ///
    /// # Errors
    /// With line and column what is wrong with the text; `malformed_delta` for a section that is unknown
    /// or there twice, a line that is no section, or a header that lacks a root or the key.
    pub fn read(text: &str) -> Result<Self, Error> {
        delta(text).map_err(|fault| fault.locate(text))?
    }
}

fn generic<'t>(lines: &mut Lines<'t>) -> Read<Header<'t>> {
    let header = Header::read(lines)?;
    match header.profile {
        Profile::Generic => Ok(header),
        Profile::Graph => fault(Code::WrongProfile, 0, "a graph, not a keyed set"),
    }
}

struct FullHeader<'t> {
    key: &'t str,
    root: &'t str,
}

fn full(text: &str) -> Read<(FullHeader<'_>, Section)> {
    let mut lines = Lines::new(text);
    let header = generic(&mut lines)?;
    for kind in ["delta", "unchanged"] {
        if header.get(kind) == Some("true") {
            let message = format!("{kind}=true: this is about a set that is held already");
            return fault(Code::WrongProfile, 0, message);
        }
    }
    let (Some(key), Some(root)) = (header.get("key"), header.get("pack_root")) else {
        return fault(Code::InvalidKeyedSet, 0, "the header of a keyed set has key and pack_root");
    };
    lines.advance()?;
    let section = match lines.peek() {
        Some(line) => Section::read(&mut lines, line, key, Code::InvalidKeyedSet)?,
        None => return fault(Code::InvalidKeyedSet, text.len(), "a keyed set has one table"),
    };
    trailer(&mut lines, &section)?;
    Ok((FullHeader { key, root }, section))
}

/// `##! summary counts=3` behind rows that were not counted.
fn trailer(lines: &mut Lines<'_>, section: &Section) -> Read<()> {
    let Some(line) = lines.peek() else { return Ok(()) };
    let mut words = header::words(lines.str(line)).peekable();
    if !section.deferred
        || words.next().is_none_or(|(_, word)| word != "##!")
        || words.next_if(|(_, word)| *word == "summary").is_none()
    {
        return fault(Code::CountMismatch, line.start, "a line behind the rows");
    }
    for (at, (name, value)) in header::pairs(words, line.start)? {
        if name == "counts" && value != section.rows.len().to_string() {
            return fault(Code::CountMismatch, at, "the summary counts other rows");
        }
    }
    lines.advance()?;
    match lines.peek() {
        None => Ok(()),
        Some(line) => fault(Code::TrailingCharacters, line.start, "the summary is the last line"),
    }
}

fn delta(text: &str) -> Read<Result<Delta, Error>> {
    let mut lines = Lines::new(text);
    let header = generic(&mut lines)?;
    if header.get("delta") != Some("true") {
        return fault(Code::WrongProfile, 0, "no delta: the header lacks delta=true");
    }
    let pair = |name| match header.get(name) {
        Some(value) if !value.is_empty() => Ok(value),
        _ => fault(Code::MalformedDelta, 0, format!("the header lacks {name}")),
    };
    let (base_root, new_root, key) = (pair("base_root")?, pair("new_root")?, pair("key")?);
    let mut parts = DeltaParts::default();
    let mut fields: Vec<String> = Vec::new();
    let mut seen = [false; 3];
    lines.advance()?;
    while let Some(line) = lines.peek() {
        let section = Section::read(&mut lines, line, key, Code::MalformedDelta)?;
        let Some(kind) = ["added", "changed", "removed"].iter().position(|k| *k == section.name)
        else {
            let message = format!("a delta has no section {}", excerpt(&section.name));
            return fault(Code::MalformedDelta, line.start, message);
        };
        if std::mem::replace(&mut seen[kind], true) || section.keyed {
            let message = "a delta has each section once, as a table of rows";
            return fault(Code::MalformedDelta, line.start, message);
        }
        if kind == 2 {
            if section.fields.len() != 1 {
                let message = "## removed declares the identity alone";
                return fault(Code::MalformedDelta, line.start, message);
            }
            parts.removed = section.rows.into_iter().flatten().collect();
            continue;
        }
        if !fields.is_empty() && fields != section.fields {
            let message = "## added and ## changed declare the same fields";
            return fault(Code::MalformedDelta, line.start, message);
        }
        fields = section.fields;
        *(if kind == 0 { &mut parts.added } else { &mut parts.changed }) = section.rows;
    }
    let made = Delta::new(key, fields, base_root.to_owned(), new_root.to_owned(), parts);
    // What is no set of rows here is a fault of the delta.
    Ok(made.map_err(|error| match error.code {
        Code::InvalidKeyedSet => Error { code: Code::DeltaInvalid, ..error },
        _ => error,
    }))
}

/// A table with an identity.
struct Section {
    name: String,
    fields: Vec<String>,
    rows: Vec<Row>,
    keyed: bool,
    deferred: bool,
}

impl Section {
    /// Reads the header in `line` and its rows; `otherwise` is what to call a line that is no header.
    fn read(lines: &mut Lines<'_>, line: Line, key: &str, otherwise: Code) -> Read<Self> {
        let text = lines.text();
        let bytes = &text.as_bytes()[..line.end];
        let no_section = || {
            let shown = excerpt(&text[line.start..line.end]);
            fault(otherwise, line.start, format!("not ## name [count]{{@key,…}}: {shown}"))
        };
        if line.indent > 0 || !text[line.start..line.end].starts_with("## ") {
            return no_section();
        }
        let start = skip_blanks(bytes, line.start + 3);
        let Some((name, behind)) = read_key(text, start, line.end)? else { return no_section() };
        let at = skip_blanks(bytes, behind);
        if bytes.get(at) != Some(&b'[') {
            return no_section();
        }
        let (count, behind) = read_count(text, at, line.end)?;
        if bytes.get(behind) != Some(&b'{') {
            return no_section();
        }
        let (declared, behind) = read_fields(text, behind, line.end)?;
        if skip_blanks(bytes, behind) < line.end {
            return fault(Code::TrailingCharacters, behind, "text behind the declaration");
        }
        let fields = names(declared, count, key)?;
        lines.advance()?;
        let rows = rows(lines, count, fields.len())?;
        let (keyed, deferred) = (count.keyed, count.value.is_none());
        Ok(Self { name: name.into_owned(), fields, rows, keyed, deferred })
    }
}

/// The names of declared fields; the identity is the one that `key` says.
fn names(declared: Vec<Field<'_>>, count: Count, key: &str) -> Read<Vec<String>> {
    let mut names = Vec::with_capacity(declared.len());
    for (index, field) in declared.into_iter().enumerate() {
        if field.constant.is_some() {
            let message = "a keyed set has no constant columns";
            return fault(Code::InvalidKeyedSet, field.at, message);
        }
        if field.identity != (field.name == key) {
            let message = format!("@ marks the field that key={} names, alone", excerpt(key));
            return fault(Code::InvalidKeyedSet, field.at, message);
        }
        if count.keyed && field.identity != (index == 0) {
            let message = "the label of a keyed table is the identity";
            return fault(Code::InvalidKeyedSet, field.at, message);
        }
        names.push(field.name.into_owned());
    }
    let different = names.iter().collect::<hashbrown::HashSet<_>>().len();
    if different < names.len() {
        return fault(Code::DuplicateFieldName, count.at, "a field is declared twice");
    }
    if count.keyed && names.len() < 2 {
        let message = "a keyed table declares at least two fields";
        return fault(Code::TooFewFields, count.at, message);
    }
    if count.keyed && count.value == Some(0) {
        return fault(Code::ZeroCount, count.at, "a keyed table with a zero count");
    }
    Ok(names)
}

fn rows(lines: &mut Lines<'_>, count: Count, width: usize) -> Read<Vec<Row>> {
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
            return fault(Code::InvalidIndent, line.start, "a row stands where its table does");
        }
        rows.push(row(lines.text(), line, found, width, count.keyed)?);
        lines.advance()?;
    }
    match count.value {
        Some(declared) if declared != rows.len() as u64 => {
            let message = format!("{declared} rows are declared, {} follow", rows.len());
            fault(Code::CountMismatch, count.at, message)
        }
        _ => Ok(rows),
    }
}

fn row(text: &str, line: Line, index: u64, width: usize, keyed: bool) -> Read<Row> {
    let mut at = line.start;
    if let Some((id, behind)) = split_row_id(&text[line.start..line.end]) {
        if !is_index(id, index) {
            return fault(Code::InvalidItemId, line.start, "the id of a row is its index");
        }
        at += behind;
    }
    let mut row = Row::new();
    loop {
        let (value, stop) = if keyed && row.is_empty() {
            label(text, at, line.end)?
        } else {
            let (token, stop) = scalar::read(text, at, line.end, b'|')?;
            (value(token, at)?, stop)
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
    let message = format!("{width} fields are declared, the row has {} cells", row.len());
    fault(Code::RowWidthMismatch, line.start, message)
}

/// Cell 0 of a keyed table: a text, whatever it looks like.
fn label(text: &str, start: usize, end: usize) -> Read<(Scalar, usize)> {
    let from = skip_blanks(&text.as_bytes()[..end], start);
    if text[from..end].starts_with('"') {
        let (token, stop) = scalar::read(text, from, end, b'|')?;
        return Ok((value(token, from)?, stop));
    }
    let stop = text[from..end].find('|').map_or(end, |length| from + length);
    match text[from..stop].trim_end_matches([' ', '\t']) {
        "-" | "~" | "^" => fault(Code::InvalidKey, from, "the key of a row is a text"),
        key => Ok((Scalar::String(key.into()), stop)),
    }
}

fn value(token: Token<'_>, at: usize) -> Read<Scalar> {
    Ok(match token {
        Token::Null => Scalar::Null,
        Token::Bool(value) => Scalar::Bool(value),
        Token::Int(value) => Scalar::Int(value),
        Token::Float(value) => Scalar::Float(value),
        Token::String(text) => Scalar::String(text.into()),
        Token::Missing => {
            return fault(Code::InvalidMissing, at, "a row of a keyed set has every field");
        }
        Token::Marker | Token::InlineSchema(_) => {
            let message = "a row of a keyed set has scalars only";
            return fault(Code::InvalidAttachmentMarker, at, message);
        }
    })
}
