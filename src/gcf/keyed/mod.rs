//! Keyed sets: rows of scalars with one field as identity, and the messages that transfer them.
//!
//! A set is sent in full, as a delta to a set that the peer has, or as "unchanged". The pack root, a
//! hash of the rows in any order, identifies a set. GCF 3.6 section 10a.
//!
//! | message | text |
//! |---|---|
//! | full | `GCF profile=generic pack_root=… key=id`, `## rows [1]{@id,total}`, `7|9.5` |
//! | delta | `… delta=true base_root=… new_root=… key=id`, then `## added`, `## changed`, `## removed` |
//! | unchanged | `… unchanged=true pack_root=… count=1` |
//!
//! Invariant of [`KeyedSet`]: every row has every field, identities are unique and not null, doubles are
//! finite and not integers below 2^53, and `root` is the pack root of the rows.
//!
//! Difference from the specification: a set with another name than its base is sent in full, because a
//! delta does not contain the name.

mod delta;
mod read;
mod respond;

pub use crate::gcf::syntax::size::count_tokens;
pub use delta::{Delta, DeltaParts};
pub use read::{receive, receive_by};
pub use respond::{Anchor, Producer, Response, Snapshots, respond, unchanged};

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};
use crate::gcf::limits::{FREE_EXPANSION, Limits};
use crate::gcf::syntax::header;
use crate::gcf::syntax::number::{write_float, write_int};
use crate::gcf::syntax::string::{write_key, write_quoted, write_value};
use crate::interrupt::{Steps, polled};
use crate::memory;
use crate::text::decimal::integer;
use crate::text::hex;
use hashbrown::HashMap;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A finite double.
    Float(f64),
    /// A string.
    String(Box<str>),
}

impl Scalar {
    /// Appends the scalar as a cell.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::String(text) => write_value(text, out),
            other => other.write_canonical(out),
        }
    }

    /// Appends the canonical text of a pack root's records: strings are always quoted, so that different
    /// values have different texts.
    fn write_canonical(&self, out: &mut String) {
        match self {
            Self::Null => out.push('-'),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Int(value) => write_int(*value, out),
            Self::Float(value) => write_float(*value, out),
            Self::String(text) => write_quoted(text, out),
        }
    }

    fn canonical_text(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    /// Converts a double that is an integer below 2^53 to an integer; `None` if it is not finite.
    fn normalized(self) -> Option<Self> {
        let Self::Float(value) = self else { return Some(self) };
        value.is_finite().then(|| integer(value).map_or(self, Self::Int))
    }
}

/// The values of a row, in the order of the fields.
pub type Row = Vec<Scalar>;

/// Rows of scalars, each identified by one field.
#[derive(Debug, Clone)]
pub struct KeyedSet {
    name: String,
    fields: Vec<String>,
    /// The index of the identity field.
    key: usize,
    rows: Vec<Row>,
    /// The index of the row of each identity, by the canonical text of the identity.
    index: HashMap<String, usize>,
    root: String,
}

/// Two sets are equal if they have the same name, fields and rows, in any order of the rows.
impl PartialEq for KeyedSet {
    fn eq(&self, other: &Self) -> bool {
        self.is_like(other) && self.root == other.root
    }
}

impl Eq for KeyedSet {}

impl KeyedSet {
    /// Whether the sets have the same name, key and fields.
    fn is_like(&self, other: &Self) -> bool {
        self.name == other.name && self.same_fields(other)
    }

    /// Makes a set of rows. `key` is the name of the identity field.
    ///
    /// # Errors
    /// `invalid_keyed_set`, with row and field, for a null or duplicate identity, a row of the wrong width,
    /// a key that is not a field or not valid in a header, a duplicate field or one with `>` in its name;
    /// `not_finite`; `limit_exceeded` for long field names in many rows.
    pub fn new(
        name: String,
        key: &str,
        fields: Vec<String>,
        rows: Vec<Row>,
    ) -> Result<Self, Error> {
        let mut set = Self::without_root(name, key, fields, rows)?;
        set.root = pack_root(&set.fields, &set.rows)?;
        Ok(set)
    }

    /// Checks the rows like [`KeyedSet::new`] but does not compute the pack root.
    fn without_root(
        name: String,
        key: &str,
        fields: Vec<String>,
        rows: Vec<Row>,
    ) -> Result<Self, Error> {
        memory::ensure(size_of_rows(&rows).saturating_mul(FACTOR))?;
        let key = check_fields(key, &fields)?;
        let mut set = Self { name, fields, key, rows, index: HashMap::new(), root: String::new() };
        set.index.try_reserve(set.rows.len()).map_err(|_| memory::exhausted())?;
        for at in polled(0..set.rows.len()) {
            let row = std::mem::take(&mut set.rows[at]);
            let row = set.check_row(row, at)?;
            let identity = row[set.key].canonical_text();
            if let Some(first) = set.index.insert(identity, at) {
                let key = set.key;
                let shown = excerpt(&row[key].canonical_text());
                let message = format!("duplicate identity {shown}, as in row {first}");
                return Err(set.invalid(at, key, &message));
            }
            set.rows[at] = row;
        }
        Ok(set)
    }

    fn check_row(&self, row: Row, at: usize) -> Result<Row, Error> {
        if row.len() != self.fields.len() {
            let message =
                format!("row {at}: expected {} values, found {}", self.fields.len(), row.len());
            return Err(Error::without_place(Code::InvalidKeyedSet, message));
        }
        let normal = row.into_iter().enumerate().map(|(field, value)| {
            value.normalized().ok_or_else(|| {
                let name = excerpt(&self.fields[field]);
                let message = format!("row {at}, field {name}: expected a finite number");
                Error::without_place(Code::NotFinite, message)
            })
        });
        let row = normal.collect::<Result<Row, Error>>()?;
        if row[self.key] == Scalar::Null {
            return Err(self.invalid(at, self.key, "the identity must not be null"));
        }
        Ok(row)
    }

    #[cold]
    fn invalid(&self, row: usize, field: usize, message: &str) -> Error {
        let field = excerpt(&self.fields[field]);
        Error::without_place(Code::InvalidKeyedSet, format!("row {row}, field {field}: {message}"))
    }

    /// The name of the set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the identity field.
    pub fn key(&self) -> &str {
        &self.fields[self.key]
    }

    /// The names of the fields.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// The rows, their values in the order of the fields.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The pack root: `sha256:` and 64 hexadecimal digits, independent of the order of the rows.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The approximate memory use of the set, in bytes.
    pub fn size(&self) -> usize {
        size_of_rows(&self.rows)
    }

    /// Whether both sets have the same key and the same fields in the same order.
    pub fn same_fields(&self, other: &Self) -> bool {
        self.key == other.key && self.fields == other.fields
    }

    fn find(&self, identity: &Scalar) -> Option<usize> {
        self.index.get(&identity.canonical_text()).copied()
    }

    /// Writes the set in full. An empty `tool` is omitted from the header.
    ///
    /// # Errors
    /// `invalid_header_value` if `tool` is not printable ASCII without spaces.
    pub fn write(&self, tool: &str) -> Result<String, Error> {
        memory::ensure(self.size().saturating_mul(FACTOR))?;
        let mut out = begin_header(tool)?;
        let _ = writeln!(out, " pack_root={} key={}", self.root, self.key());
        write_section(&self.name, &self.fields, self.key, &self.rows, &mut out);
        Ok(out)
    }
}

/// The bytes of memory that an operation takes for each byte of its rows: for their text, in which a
/// character takes up to six bytes and which is copied when it grows, or for the index and the records of
/// the pack root.
const FACTOR: usize = 8;

/// The approximate memory use of rows, in bytes.
fn size_of_rows(rows: &[Row]) -> usize {
    rows.iter().map(|row| size_of_row(row)).sum()
}

fn size_of_row(row: &[Scalar]) -> usize {
    let text = |value: &Scalar| match value {
        Scalar::String(text) => text.len(),
        _ => 0,
    };
    size_of::<Row>() + size_of_val(row) + row.iter().map(text).sum::<usize>()
}

/// Checks the fields of a set; returns the index of the identity field.
fn check_fields(key: &str, fields: &[String]) -> Result<usize, Error> {
    let invalid = |message: String| Err(Error::without_place(Code::InvalidKeyedSet, message));
    if key.is_empty() || !header::is_value(key) {
        return invalid(format!(
            "the key {} is invalid in a header; use printable ASCII without spaces",
            excerpt(key)
        ));
    }
    let mut seen = hashbrown::HashSet::new();
    for field in fields {
        if field.contains('>') {
            return invalid(format!("the field name {} cannot contain >", excerpt(field)));
        }
        if !seen.insert(field) {
            return invalid(format!("duplicate field {}", excerpt(field)));
        }
    }
    match fields.iter().position(|field| field == key) {
        Some(at) => Ok(at),
        None => invalid(format!("the key {} is not among the fields", excerpt(key))),
    }
}

/// Starts a header: the profile, and the tool if it is not empty.
fn begin_header(tool: &str) -> Result<String, Error> {
    let mut out = "GCF profile=generic".to_owned();
    header::write_field("tool", tool, &mut out)?;
    Ok(out)
}

/// Appends `## name [2]{@id,total}` and the rows.
fn write_section(name: &str, fields: &[String], key: usize, rows: &[Row], out: &mut String) {
    out.push_str("## ");
    write_key(name, out);
    let _ = write!(out, " [{}]{{", rows.len());
    for (at, field) in fields.iter().enumerate() {
        out.push_str(if at == 0 { "" } else { "," });
        out.push_str(if at == key { "@" } else { "" });
        write_key(field, out);
    }
    out.push_str("}\n");
    for row in polled(rows) {
        for (at, value) in row.iter().enumerate() {
            out.push_str(if at == 0 { "" } else { "|" });
            value.write(out);
        }
        out.push('\n');
    }
}

/// Computes the pack root: the hash of one record per row, sorted. GCF 3.6 section 10a.3.
///
/// The records of all rows have the same field names in the same places, so only the values decide their
/// order, and only the values are kept in memory.
fn pack_root(fields: &[String], rows: &[Row]) -> Result<String, Error> {
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by_key(|&field| fields[field].as_bytes());
    let mut text = String::new();
    let mut records = Vec::with_capacity(rows.len());
    for row in polled(rows) {
        let start = text.len();
        for &field in &order {
            row[field].write_canonical(&mut text);
            text.push('\t');
        }
        // In the record, a line feed follows the last value. It decides the order of two values of which one
        // begins with the other.
        text.pop();
        text.push('\n');
        records.push(start..text.len());
    }
    check_names(fields, rows.len() as u64, text.len() as u64)?;
    let mut steps = Steps::default();
    records.sort_by_key(|record| {
        steps.step();
        &text.as_bytes()[record.clone()]
    });
    let mut hash = Sha256::new();
    for record in polled(records) {
        hash.update(b"R");
        // Values contain no tabs and line feeds, because these are escaped.
        for (&field, value) in order.iter().zip(text[record].trim_end_matches('\n').split('\t')) {
            hash.update(b"\t");
            hash.update(&fields[field]);
            hash.update(b"\t");
            hash.update(value);
        }
        hash.update(b"\n");
    }
    let mut root = "sha256:".to_owned();
    hex::write(&hash.finalize(), &mut root);
    Ok(root)
}

/// Checks that the field names, which the pack root repeats in every row, do not make it expensive:
/// `values` is the size of all values.
fn check_names(fields: &[String], rows: u64, values: u64) -> Result<(), Error> {
    let names: u64 = fields.iter().map(|field| field.len() as u64).sum();
    let size = names.saturating_mul(rows);
    if size <= Limits::EXPANSION as u64 + FREE_EXPANSION * values {
        return Ok(());
    }
    let message = format!(
        "the pack root repeats the field names in {rows} rows, {size} bytes, more than {}; use shorter \
         names",
        Limits::EXPANSION
    );
    Err(Error::without_place(Code::LimitExceeded, message))
}

#[cfg(test)]
mod tests;
