//! Keyed sets: rows of scalars that know each other by one field, and what one set says of another.
//!
//! A set is sent whole, or as what changed since a set that the peer has, or as "nothing changed".
//! Which set that is says its pack root, a hash of its rows in any order. GCF 3.6 section 10a.
//!
//! | message | text |
//! |---|---|
//! | full | `GCF profile=generic pack_root=… key=id`, `## rows [1]{@id,total}`, `7|9.5` |
//! | delta | `… delta=true base_root=… new_root=… key=id`, then `## added`, `## changed`, `## removed` |
//! | unchanged | `… unchanged=true pack_root=… count=1` |
//!
//! Invariant of [`KeyedSet`]: every row has every field, identities are unique and not null, doubles
//! are finite and integral ones below 2^53 are integers, `root` is that of the rows.
//!
//! Where we differ: a set of another name is sent whole, because a delta names no set.

mod delta;
mod read;
mod respond;

pub use delta::{Delta, DeltaParts};
pub use read::{receive, receive_by};
pub use respond::{Anchor, Producer, Response, Snapshots, respond, token_estimate, unchanged};

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};
use crate::gcf::syntax::number::{EXACT, write_float, write_int};
use crate::gcf::syntax::string::{write_key, write_quoted, write_value};
use crate::text::hex;
use hashbrown::HashMap;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// A string.
    String(Box<str>),
}

impl Scalar {
    /// As a cell.
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::String(text) => write_value(text, out),
            other => other.write_canonical(out),
        }
    }

    /// As the records of a root have it: text always in quotes, so that no two values look alike.
    fn write_canonical(&self, out: &mut String) {
        match self {
            Self::Null => out.push('-'),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Int(value) => write_int(*value, out),
            Self::Float(value) => write_float(*value, out),
            Self::String(text) => write_quoted(text, out),
        }
    }

    fn canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    /// The one of several equal values that is kept: an integer where a double is one.
    fn normal(self) -> Option<Self> {
        let Self::Float(value) = self else { return Some(self) };
        if !value.is_finite() {
            return None;
        }
        if value.abs() >= EXACT || value.fract() != 0.0 {
            return Some(self);
        }
        #[expect(clippy::cast_possible_truncation, reason = "below 2^53")]
        Some(Self::Int(value as i64))
    }
}

/// The values of a row, in the order of the fields.
pub type Row = Vec<Scalar>;

/// Rows of scalars, each known by one field.
#[derive(Debug, Clone)]
pub struct KeyedSet {
    name: String,
    fields: Vec<String>,
    /// The field that is the identity.
    key: usize,
    rows: Vec<Row>,
    /// The row of each identity, as its canonical text.
    index: HashMap<String, usize>,
    root: String,
}

/// Two sets are equal when they have the same rows, in whatever order.
impl PartialEq for KeyedSet {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.same_fields(other) && self.root == other.root
    }
}

impl Eq for KeyedSet {}

impl KeyedSet {
    /// A set of rows.
    ///
    /// # Errors
    /// `invalid_keyed_set`, with row and field, for an identity that is null or there twice, a row of
    /// another width, a key that is no field or that a header cannot hold, a field that is there twice
    /// or contains `>`; `not_finite`.
    pub fn new(
        name: String,
        key: &str,
        fields: Vec<String>,
        rows: Vec<Row>,
    ) -> Result<Self, Error> {
        let mut set = Self::rootless(name, key, fields, rows)?;
        set.root = root(&set.fields, &set.rows);
        Ok(set)
    }

    /// A set of checked rows that nobody asks for its root.
    fn rootless(
        name: String,
        key: &str,
        fields: Vec<String>,
        rows: Vec<Row>,
    ) -> Result<Self, Error> {
        let key = check_fields(key, &fields)?;
        let mut set = Self { name, fields, key, rows, index: HashMap::new(), root: String::new() };
        for at in 0..set.rows.len() {
            let row = std::mem::take(&mut set.rows[at]);
            let row = set.checked(row, at)?;
            let identity = row[set.key].canonical();
            if let Some(first) = set.index.insert(identity, at) {
                let key = set.key;
                let shown = excerpt(&row[key].canonical());
                let message = format!("the identity {shown} is also that of row {first}");
                return Err(set.invalid(at, key, &message));
            }
            set.rows[at] = row;
        }
        Ok(set)
    }

    fn checked(&self, row: Row, at: usize) -> Result<Row, Error> {
        if row.len() != self.fields.len() {
            let message = format!(
                "row {at} has {} values, {} fields are declared",
                row.len(),
                self.fields.len()
            );
            return Err(Error::without_place(Code::InvalidKeyedSet, message));
        }
        let normal = row.into_iter().enumerate().map(|(field, value)| {
            value.normal().ok_or_else(|| {
                let name = excerpt(&self.fields[field]);
                let message = format!("row {at}, field {name}: only finite numbers have a text");
                Error::without_place(Code::NotFinite, message)
            })
        });
        let row = normal.collect::<Result<Row, Error>>()?;
        if row[self.key] == Scalar::Null {
            return Err(self.invalid(at, self.key, "the identity is null"));
        }
        Ok(row)
    }

    #[cold]
    fn invalid(&self, row: usize, field: usize, message: &str) -> Error {
        let field = excerpt(&self.fields[field]);
        Error::without_place(Code::InvalidKeyedSet, format!("row {row}, field {field}: {message}"))
    }

    /// What the rows are called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The field by which rows are known.
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

    /// The pack root: `sha256:` and 64 digits, the same for the same rows in any order.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// About how much memory the set takes, in bytes.
    pub fn size(&self) -> usize {
        let scalar = |value: &Scalar| match value {
            Scalar::String(text) => text.len(),
            _ => 0,
        };
        let of_row = self.fields.len() * size_of::<Scalar>() + size_of::<Row>();
        let texts: usize = self.rows.iter().flatten().map(scalar).sum();
        self.rows.len() * of_row + texts
    }

    /// Whether keys and fields, with their order, are those of another set.
    pub fn same_fields(&self, other: &Self) -> bool {
        self.key == other.key && self.fields == other.fields
    }

    fn find(&self, identity: &Scalar) -> Option<usize> {
        self.index.get(&identity.canonical()).copied()
    }

    /// The whole set as text; an empty tool is left out.
    ///
    /// # Errors
    /// `invalid_header_value` for a tool that is not printable ASCII without spaces.
    pub fn write(&self, tool: &str) -> Result<String, Error> {
        let mut out = begin(tool)?;
        let _ = writeln!(out, " pack_root={} key={}", self.root, self.key());
        write_section(&self.name, &self.fields, self.key, &self.rows, &mut out);
        Ok(out)
    }
}

/// The identity among fields that can be those of a set.
fn check_fields(key: &str, fields: &[String]) -> Result<usize, Error> {
    let invalid = |message: String| Err(Error::without_place(Code::InvalidKeyedSet, message));
    if !fits_header(key) {
        return invalid(format!(
            "the key {} cannot stand in a header; use printable ASCII without spaces",
            excerpt(key)
        ));
    }
    let mut seen = hashbrown::HashSet::new();
    for field in fields {
        if field.contains('>') {
            return invalid(format!("the field {}: a name cannot contain >", excerpt(field)));
        }
        if !seen.insert(field) {
            return invalid(format!("the field {} is there twice", excerpt(field)));
        }
    }
    match fields.iter().position(|field| field == key) {
        Some(at) => Ok(at),
        None => invalid(format!("the key {} is not among the fields", excerpt(key))),
    }
}

/// Printable ASCII without spaces, and something.
fn fits_header(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A header up to the tool.
fn begin(tool: &str) -> Result<String, Error> {
    let mut out = "GCF profile=generic".to_owned();
    push_pair("tool", tool, &mut out)?;
    Ok(out)
}

/// Appends a pair of a header; an empty value is left out.
fn push_pair(name: &str, value: &str, out: &mut String) -> Result<(), Error> {
    if value.is_empty() {
        return Ok(());
    }
    if !fits_header(value) {
        let message = format!(
            "{name}={} cannot stand in a header; use printable ASCII without spaces",
            excerpt(value)
        );
        return Err(Error::without_place(Code::InvalidHeaderValue, message));
    }
    let _ = write!(out, " {name}={value}");
    Ok(())
}

/// `## name [2]{@id,total}` and its rows.
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
    for row in rows {
        for (at, value) in row.iter().enumerate() {
            out.push_str(if at == 0 { "" } else { "|" });
            value.write(out);
        }
        out.push('\n');
    }
}

/// The pack root of rows: the hash of a record for each, sorted. Specification section 10a.3.
fn root(fields: &[String], rows: &[Row]) -> String {
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by_key(|&field| fields[field].as_bytes());
    let mut text = String::new();
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        let start = text.len();
        text.push('R');
        for &field in &order {
            text.push('\t');
            text.push_str(&fields[field]);
            text.push('\t');
            row[field].write_canonical(&mut text);
        }
        text.push('\n');
        records.push(start..text.len());
    }
    records.sort_by_key(|record| &text.as_bytes()[record.clone()]);
    let mut hash = Sha256::new();
    for record in records {
        hash.update(&text.as_bytes()[record]);
    }
    let mut root = "sha256:".to_owned();
    hex::write(&hash.finalize(), &mut root);
    root
}

#[cfg(test)]
mod tests;
