//! The streaming encoder: tables are written row by row, and their counts follow in the summary line.
//!
//! Invariant: the output so far is always the beginning of a valid text, and a call that fails adds
//! nothing to it. GCF 3.6 section 8.3.

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};
use crate::gcf::keyed::Scalar;
use crate::gcf::limits::{FREE_EXPANSION, Limits};
use crate::gcf::syntax::append::push_short;
use crate::gcf::syntax::header::GENERIC;
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::string::write_key;
use crate::memory;
use hashbrown::HashSet;
use std::borrow::Cow;

/// Writes an object whose members are scalars, lists and tables; rows are added one by one.
///
/// The output is buffered until [`StreamEncoder::take`] is called. The encoder keeps the member keys of
/// an open keyed table to reject duplicates; it keeps nothing of other rows.
#[derive(Debug)]
pub struct StreamEncoder {
    out: String,
    names: NameIndex<'static>,
    /// The number of rows of each table so far.
    counts: Vec<u64>,
    open: Option<Open>,
    state: State,
    /// The number of bytes of the text so far.
    length: u64,
    /// The expansion of the text: the names of the fields, for every row. See
    /// [`Limits::max_expansion`].
    expansion: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Writing,
    Closed,
    /// A part of the text could not be delivered.
    Failed,
}

/// The open table.
#[derive(Debug)]
struct Open {
    /// The number of cells of a row, the member key included.
    width: usize,
    /// The sum of the lengths of the field names.
    names_size: u64,
    /// The member keys so far, if it is a keyed table.
    keys: Option<HashSet<Box<str>>>,
}

impl Default for StreamEncoder {
    fn default() -> Self {
        Self::new()
    }
}

impl StreamEncoder {
    /// Starts a text; its header is already in the buffer.
    pub fn new() -> Self {
        Self {
            out: GENERIC.to_owned(),
            names: NameIndex::new(),
            counts: Vec::new(),
            open: None,
            state: State::Writing,
            length: 0,
            expansion: 0,
        }
    }

    /// Returns the output since the last call.
    pub fn take(&mut self) -> String {
        self.length += self.out.len() as u64;
        std::mem::take(&mut self.out)
    }

    /// Records that output which was taken could not be delivered. All later calls fail, so that the
    /// incomplete text does not get a summary.
    pub fn fail(&mut self) {
        self.state = State::Failed;
    }

    /// Writes a member that is a scalar.
    ///
    /// # Errors
    /// `duplicate_key`; `not_finite`; `invalid_line` after a table, where a reader would parse the
    /// line as a row.
    pub fn kv(&mut self, key: &str, value: &Scalar) -> Result<(), Error> {
        self.check_member()?;
        check_finite(value)?;
        self.add_name(key)?;
        write_key(key, &mut self.out);
        push_short("=", &mut self.out);
        value.write(&mut self.out);
        push_short("\n", &mut self.out);
        Ok(())
    }

    /// Writes a member that is a list of scalars.
    ///
    /// # Errors
    /// As [`StreamEncoder::kv`].
    pub fn list(&mut self, name: &str, values: &[Scalar]) -> Result<(), Error> {
        self.check_member()?;
        values.iter().try_for_each(check_finite)?;
        self.add_name(name)?;
        if values.is_empty() {
            push_short("## ", &mut self.out);
            write_key(name, &mut self.out);
            push_short(" [0]\n", &mut self.out);
            return Ok(());
        }
        write_key(name, &mut self.out);
        push_short("[", &mut self.out);
        push_short(itoa::Buffer::new().format(values.len()), &mut self.out);
        push_short("]: ", &mut self.out);
        for (at, value) in values.iter().enumerate() {
            push_short(if at == 0 { "" } else { "," }, &mut self.out);
            value.write(&mut self.out);
        }
        push_short("\n", &mut self.out);
        Ok(())
    }

    /// Begins a table: a member that is an array of objects.
    ///
    /// # Errors
    /// `duplicate_key` for the name; `invalid_field_declaration` if there are no fields or a name
    /// contains `>`; `duplicate_field_name`; `invalid_line` while another table is open.
    pub fn begin_array(&mut self, name: &str, fields: &[String]) -> Result<(), Error> {
        self.check_open()?;
        if fields.is_empty() {
            return fail(Code::InvalidFieldDeclaration, "a table needs at least one field");
        }
        check_fields(fields)?;
        self.begin(name, "[?]", fields.iter().map(String::as_str), fields.len(), None)
    }

    /// Begins a keyed table: a member that is an object of objects. The first cell of each row is the
    /// member key. `label` names that column in the header; `_` is prepended until no field has the
    /// same name.
    ///
    /// # Errors
    /// As [`StreamEncoder::begin_array`]; `too_few_fields` if there are no fields.
    pub fn begin_keyed_map(
        &mut self,
        name: &str,
        fields: &[String],
        label: &str,
    ) -> Result<(), Error> {
        self.check_open()?;
        if fields.is_empty() {
            return fail(
                Code::TooFewFields,
                "a keyed table needs at least one field in addition to its key",
            );
        }
        check_fields(fields)?;
        let mut label = label.to_owned();
        while fields.contains(&label) {
            label.insert(0, '_');
        }
        let all = std::iter::once(label.as_str()).chain(fields.iter().map(String::as_str));
        self.begin(name, "[?:]", all, fields.len() + 1, Some(HashSet::new()))
    }

    fn begin<'f>(
        &mut self,
        name: &str,
        count: &str,
        fields: impl Iterator<Item = &'f str>,
        width: usize,
        keys: Option<HashSet<Box<str>>>,
    ) -> Result<(), Error> {
        self.counts.try_reserve(1)?;
        self.add_name(name)?;
        push_short("## ", &mut self.out);
        write_key(name, &mut self.out);
        push_short(" ", &mut self.out);
        push_short(count, &mut self.out);
        let mut names_size = 0;
        for (at, field) in fields.enumerate() {
            names_size += field.len() as u64;
            push_short(if at == 0 { "{" } else { "," }, &mut self.out);
            write_key(field, &mut self.out);
        }
        push_short("}\n", &mut self.out);
        self.counts.push(0);
        self.open = Some(Open { width, names_size, keys });
        Ok(())
    }

    /// The number of cells that a row of the open table has.
    ///
    /// # Errors
    /// `invalid_line` if no table is open.
    pub fn row_width(&self) -> Result<usize, Error> {
        self.check_state()?;
        self.open.as_ref().map(|open| open.width).ok_or_else(no_table)
    }

    /// Writes a row of the open table; `None` is a field that the row does not have.
    ///
    /// # Errors
    /// `row_width_mismatch`; `not_finite`; `invalid_key` for a member key that is not a string;
    /// `duplicate_member_key`; `limit_exceeded` for long field names in many rows; `invalid_line` if no table
    /// is open.
    pub fn row(&mut self, cells: &[Option<Scalar>]) -> Result<(), Error> {
        self.check_state()?;
        let (Some(open), Some(count)) = (&mut self.open, self.counts.last_mut()) else {
            return Err(no_table());
        };
        if cells.len() != open.width {
            return Err(wrong_width(open.width, &cells.len().to_string()));
        }
        cells.iter().flatten().try_for_each(check_finite)?;
        let expansion = self.expansion + open.names_size;
        let length = self.length + self.out.len() as u64 + cells.len() as u64;
        if expansion > Limits::EXPANSION as u64 + FREE_EXPANSION * length {
            let message = format!(
                "the field names of the rows would take {expansion} bytes in JSON, more than \
                 max_expansion={} of a reader; use shorter names",
                Limits::EXPANSION
            );
            return fail(Code::LimitExceeded, message);
        }
        if let Some(keys) = &mut open.keys {
            let Some(Some(Scalar::String(key))) = cells.first() else {
                return fail(
                    Code::InvalidKey,
                    "the first cell is the member key and must be a string",
                );
            };
            keys.try_reserve(1).map_err(|_| memory::exhausted())?;
            memory::ensure(key.len())?;
            if !keys.insert(key.clone()) {
                let message = format!("duplicate member key: {}", excerpt(key));
                return fail(Code::DuplicateMemberKey, message);
            }
        }
        for (at, cell) in cells.iter().enumerate() {
            push_short(if at == 0 { "" } else { "|" }, &mut self.out);
            match cell {
                Some(value) => value.write(&mut self.out),
                None => push_short("~", &mut self.out),
            }
        }
        push_short("\n", &mut self.out);
        self.expansion = expansion;
        *count += 1;
        Ok(())
    }

    /// Ends the open table.
    ///
    /// # Errors
    /// `invalid_line` if no table is open.
    pub fn end(&mut self) -> Result<(), Error> {
        self.check_state()?;
        match self.open.take() {
            Some(_) => Ok(()),
            None => fail(Code::InvalidLine, "no table is open"),
        }
    }

    /// Ends the open table, if any, and the text, and writes the summary line. A second call has no
    /// effect.
    ///
    /// # Errors
    /// `invalid_line` after [`StreamEncoder::fail`].
    pub fn close(&mut self) -> Result<(), Error> {
        if self.state == State::Closed {
            return Ok(());
        }
        self.check_state()?;
        self.state = State::Closed;
        self.open = None;
        for (at, count) in self.counts.iter().enumerate() {
            push_short(if at == 0 { "##! summary counts=" } else { "," }, &mut self.out);
            push_short(itoa::Buffer::new().format(*count), &mut self.out);
        }
        if !self.counts.is_empty() {
            push_short("\n", &mut self.out);
        }
        Ok(())
    }

    fn check_state(&self) -> Result<(), Error> {
        match self.state {
            State::Writing => Ok(()),
            State::Closed => fail(Code::InvalidLine, "the text is closed"),
            State::Failed => fail(
                Code::InvalidLine,
                "an earlier part of the text could not be written; start a new text",
            ),
        }
    }

    fn check_open(&self) -> Result<(), Error> {
        self.check_state()?;
        if self.open.is_some() {
            return fail(Code::InvalidLine, "a table is open; end it first");
        }
        Ok(())
    }

    fn check_member(&self) -> Result<(), Error> {
        self.check_open()?;
        if self.counts.is_empty() {
            return Ok(());
        }
        let message = "scalars and lists must be written before the first table";
        fail(Code::InvalidLine, message)
    }

    fn add_name(&mut self, name: &str) -> Result<(), Error> {
        if self.names.add(Cow::Owned(name.to_owned()))? {
            return Ok(());
        }
        fail(Code::DuplicateKey, format!("duplicate member {}", excerpt(name)))
    }
}

/// The error for a row of more than `width` cells, which a caller need not count to their end.
pub fn too_wide(width: usize) -> Error {
    wrong_width(width, "more")
}

fn wrong_width(width: usize, found: &str) -> Error {
    let message = format!("expected a row of {width} cells, found {found}");
    Error::without_place(Code::RowWidthMismatch, message)
}

fn no_table() -> Error {
    let message = "no table is open; call begin_array or begin_keyed_map first";
    Error::without_place(Code::InvalidLine, message)
}

fn fail<T>(code: Code, message: impl Into<String>) -> Result<T, Error> {
    Err(Error::without_place(code, message))
}

fn check_finite(value: &Scalar) -> Result<(), Error> {
    match value {
        Scalar::Float(value) if !value.is_finite() => {
            fail(Code::NotFinite, format!("expected a finite number, found {value}"))
        }
        _ => Ok(()),
    }
}

fn check_fields(fields: &[String]) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for field in fields {
        if field.contains('>') {
            let message = format!("the field name {} cannot contain >", excerpt(field));
            return fail(Code::InvalidFieldDeclaration, message);
        }
        seen.try_reserve(1).map_err(|_| memory::exhausted())?;
        if !seen.insert(field) {
            let message = format!("duplicate field {}", excerpt(field));
            return fail(Code::DuplicateFieldName, message);
        }
    }
    Ok(())
}
