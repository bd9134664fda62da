//! Writing a text whose rows are not known yet: headers without counts, counts at the end.
//!
//! Invariant: whatever is taken from the encoder so far is the beginning of a text that `read` takes
//! once it is closed; a call that fails adds nothing. GCF 3.6 section 8.3.

use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};
use crate::gcf::keyed::Scalar;
use crate::gcf::syntax::name_index::NameIndex;
use crate::gcf::syntax::string::write_key;
use hashbrown::HashSet;
use std::borrow::Cow;

/// Writes an object whose members are scalars, lists, and tables that grow row by row.
///
/// What is written waits in the encoder until it is taken. Member keys of a keyed table are
/// remembered until it ends; of an array nothing is.
#[derive(Debug)]
pub struct StreamEncoder {
    out: String,
    names: NameIndex<'static>,
    /// The rows of each table.
    counts: Vec<u64>,
    open: Option<Open>,
    closed: bool,
}

/// The table that grows.
#[derive(Debug)]
struct Open {
    /// Cells of a row, the member key too.
    width: usize,
    /// The member keys of a keyed table.
    keys: Option<HashSet<Box<str>>>,
}

impl Default for StreamEncoder {
    fn default() -> Self {
        Self::new()
    }
}

impl StreamEncoder {
    /// A text that begins with its header.
    pub fn new() -> Self {
        Self {
            out: "GCF profile=generic\n".to_owned(),
            names: NameIndex::new(),
            counts: Vec::new(),
            open: None,
            closed: false,
        }
    }

    /// What was written since the last time.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// A member that is a scalar.
    ///
    /// # Errors
    /// `duplicate_key`; `not_finite`; `invalid_line` behind a table, where a reader would take the
    /// line for a row.
    pub fn kv(&mut self, key: &str, value: &Scalar) -> Result<(), Error> {
        self.check_member()?;
        check_finite(value)?;
        self.add_name(key)?;
        write_key(key, &mut self.out);
        self.out.push('=');
        value.write(&mut self.out);
        self.out.push('\n');
        Ok(())
    }

    /// A member that is a list of scalars.
    ///
    /// # Errors
    /// As [`StreamEncoder::kv`].
    pub fn list(&mut self, name: &str, values: &[Scalar]) -> Result<(), Error> {
        self.check_member()?;
        values.iter().try_for_each(check_finite)?;
        self.add_name(name)?;
        if values.is_empty() {
            self.out.push_str("## ");
            write_key(name, &mut self.out);
            self.out.push_str(" [0]\n");
            return Ok(());
        }
        write_key(name, &mut self.out);
        self.out.push('[');
        self.out.push_str(itoa::Buffer::new().format(values.len()));
        self.out.push_str("]: ");
        for (at, value) in values.iter().enumerate() {
            self.out.push_str(if at == 0 { "" } else { "," });
            value.write(&mut self.out);
        }
        self.out.push('\n');
        Ok(())
    }

    /// Begins a member that is an array of objects.
    ///
    /// # Errors
    /// `duplicate_key` for the name; `invalid_field_declaration` without fields or for one with `>`;
    /// `duplicate_field_name`; `invalid_line` while another table is open.
    pub fn begin_array(&mut self, name: &str, fields: &[String]) -> Result<(), Error> {
        self.check_open()?;
        if fields.is_empty() {
            return fail(Code::InvalidFieldDeclaration, "a table has at least one field");
        }
        check_fields(fields)?;
        self.begin(name, "[?]", fields.iter().map(String::as_str), fields.len(), None)
    }

    /// Begins a member that is an object of objects; each row has its member key first. The label
    /// stands for that key in the header; `_` is put before it while a field has that name.
    ///
    /// # Errors
    /// As [`StreamEncoder::begin_array`]; `too_few_fields` without fields.
    pub fn begin_keyed_map(
        &mut self,
        name: &str,
        fields: &[String],
        label: &str,
    ) -> Result<(), Error> {
        self.check_open()?;
        if fields.is_empty() {
            return fail(Code::TooFewFields, "a keyed table has a field besides its key");
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
        self.add_name(name)?;
        self.out.push_str("## ");
        write_key(name, &mut self.out);
        self.out.push(' ');
        self.out.push_str(count);
        for (at, field) in fields.enumerate() {
            self.out.push_str(if at == 0 { "{" } else { "," });
            write_key(field, &mut self.out);
        }
        self.out.push_str("}\n");
        self.counts.push(0);
        self.open = Some(Open { width, keys });
        Ok(())
    }

    /// A row of the open table; `None` is a member that the row has not.
    ///
    /// # Errors
    /// `row_width_mismatch`; `not_finite`; `invalid_key` for a member key that is no text,
    /// `duplicate_member_key`; `invalid_line` when no table is open.
    pub fn row(&mut self, cells: &[Option<Scalar>]) -> Result<(), Error> {
        let (Some(open), Some(count)) = (&mut self.open, self.counts.last_mut()) else {
            return fail(Code::InvalidLine, "no table is open; begin one first");
        };
        if cells.len() != open.width {
            let message = format!("a row has {} cells, {} were given", open.width, cells.len());
            return fail(Code::RowWidthMismatch, message);
        }
        cells.iter().flatten().try_for_each(check_finite)?;
        if let Some(keys) = &mut open.keys {
            let Some(Some(Scalar::String(key))) = cells.first() else {
                return fail(Code::InvalidKey, "the first cell is the member key, a text");
            };
            if !keys.insert(key.clone()) {
                let message = format!("duplicate member key: {} has a row", excerpt(key));
                return fail(Code::DuplicateMemberKey, message);
            }
        }
        for (at, cell) in cells.iter().enumerate() {
            self.out.push_str(if at == 0 { "" } else { "|" });
            match cell {
                Some(value) => value.write(&mut self.out),
                None => self.out.push('~'),
            }
        }
        self.out.push('\n');
        *count += 1;
        Ok(())
    }

    /// Ends the open table.
    ///
    /// # Errors
    /// `invalid_line` when none is open.
    pub fn end(&mut self) -> Result<(), Error> {
        match self.open.take() {
            Some(_) => Ok(()),
            None => fail(Code::InvalidLine, "no table is open"),
        }
    }

    /// Ends the text: the open table, if there is one, and the counts of all. Doing it again changes
    /// nothing.
    pub fn close(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        self.open = None;
        for (at, count) in self.counts.iter().enumerate() {
            self.out.push_str(if at == 0 { "##! summary counts=" } else { "," });
            self.out.push_str(itoa::Buffer::new().format(*count));
        }
        if !self.counts.is_empty() {
            self.out.push('\n');
        }
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.closed {
            return fail(Code::InvalidLine, "the text is closed");
        }
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
        let message = "a reader would take it for a row; write scalars and lists before tables";
        fail(Code::InvalidLine, message)
    }

    fn add_name(&mut self, name: &str) -> Result<(), Error> {
        if self.names.add(Cow::Owned(name.to_owned())) {
            return Ok(());
        }
        fail(Code::DuplicateKey, format!("the text has a member {} already", excerpt(name)))
    }
}

fn fail<T>(code: Code, message: impl Into<String>) -> Result<T, Error> {
    Err(Error::without_place(code, message))
}

fn check_finite(value: &Scalar) -> Result<(), Error> {
    match value {
        Scalar::Float(value) if !value.is_finite() => {
            fail(Code::NotFinite, format!("{value} has no text; only finite numbers have"))
        }
        _ => Ok(()),
    }
}

fn check_fields(fields: &[String]) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for field in fields {
        if field.contains('>') {
            let message = format!("the field {}: a name cannot contain >", excerpt(field));
            return fail(Code::InvalidFieldDeclaration, message);
        }
        if !seen.insert(field) {
            let message = format!("the field {} is there twice", excerpt(field));
            return fail(Code::DuplicateFieldName, message);
        }
    }
    Ok(())
}
