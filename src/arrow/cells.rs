//! Builds the cells of a result: some rows of one or more columns.
//!
//! Invariant: every column has a cell for each row that has ended, and no column of texts has more than
//! [`MAX_TEXT`] bytes, which the offsets of Arrow's type utf8 can address.

use super::error::Error;
use super::huge_pages;
use crate::memory;
use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Int64Builder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

/// The maximum number of bytes of a text in the result, and of all texts of a column before the rows are
/// continued in another chunk.
pub(super) const MAX_TEXT: usize = if cfg!(test) { 1 << 10 } else { 1 << 30 };

/// The maximum number of bytes of all texts of a column. A column that is not full has room for one more.
const MAX_COLUMN: usize = 2 * MAX_TEXT - 1;

/// How many bytes of texts are appended at most between two checks of memory. Twice half of it is not checked.
const STRIDE: usize = 64 << 10;

/// The type of a column of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Bytes,
    Int,
    Bool,
}

impl Kind {
    fn data_type(self) -> DataType {
        match self {
            Self::Text => DataType::Utf8,
            Self::Bytes => DataType::Binary,
            Self::Int => DataType::Int64,
            Self::Bool => DataType::Boolean,
        }
    }
}

/// The type of a result: a plain column, or a struct of columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Plain(Kind),
    Struct(Vec<(&'static str, Kind)>),
}

impl Shape {
    fn kinds(&self) -> Vec<Kind> {
        match self {
            Self::Plain(kind) => vec![*kind],
            Self::Struct(fields) => fields.iter().map(|(_, kind)| *kind).collect(),
        }
    }

    fn fields(&self) -> Fields {
        let fields = match self {
            Self::Plain(_) => &[][..],
            Self::Struct(fields) => fields,
        };
        fields.iter().map(|(name, kind)| Field::new(*name, kind.data_type(), true)).collect()
    }

    /// The Arrow field of the result, which has no name.
    pub(super) fn field(&self) -> FieldRef {
        let data_type = match self {
            Self::Plain(kind) => kind.data_type(),
            Self::Struct(_) => DataType::Struct(self.fields()),
        };
        Arc::new(Field::new("", data_type, true))
    }
}

enum Cell {
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Int(Int64Builder),
    Bool(BooleanBuilder),
}

impl Cell {
    /// The bytes of all texts, from the start of their buffer on.
    fn values(&self) -> &[u8] {
        match self {
            Self::Text(column) => column.values_slice(),
            Self::Bytes(column) => column.values_slice(),
            Self::Int(_) | Self::Bool(_) => &[],
        }
    }

    /// Whether the column has had a null, and so the bits for it.
    fn has_bits(&self) -> bool {
        let bits = match self {
            Self::Text(column) => column.validity_slice(),
            Self::Bytes(column) => column.validity_slice(),
            Self::Int(column) => column.validity_slice(),
            Self::Bool(column) => column.validity_slice(),
        };
        bits.is_some()
    }
}

/// The cells of some rows.
pub(super) struct Cells {
    shape: Shape,
    columns: Vec<Cell>,
    /// Whether each row is valid; a row of a struct can be null as a whole.
    valid: Vec<bool>,
    /// The bytes of the bits of one column that say which rows are null. They are made at its first null.
    bits: usize,
    /// The bytes of all texts.
    bytes: usize,
    /// Up to so many bytes, there is memory for the texts.
    checked: usize,
    /// What the function has done for the row so far.
    work: Work,
}

/// The work for a row, besides the bytes of its cells.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    /// The bytes of the row in the column.
    pub(super) read: usize,
    /// The bytes that were made of them and are not kept, such as those of a message that was decompressed.
    pub(super) made: usize,
}

impl Cells {
    /// Makes room for `rows` rows.
    pub(super) fn new(shape: &Shape, rows: usize) -> Result<Self, Error> {
        Self::with_capacity(shape, rows, |_| 0)
    }

    /// Empty cells with room for `rows` rows like these, or only for their offsets if there is not so much
    /// memory. A column that has too little room is copied as it grows.
    pub(super) fn like(&self, rows: usize) -> Result<Self, Error> {
        let part = |at: usize| self.columns[at].values().len();
        let expected = |at| part(at).saturating_mul(rows) / self.rows().max(1);
        Self::with_capacity(&self.shape, rows, |at| (expected(at) / 8 * 9).min(MAX_COLUMN))
            .or_else(|_| Self::new(&self.shape, rows))
    }

    /// Makes room for the rows of `parts`.
    pub(super) fn for_parts(shape: &Shape, parts: &[ArrayRef]) -> Result<Self, Error> {
        let rows = parts.iter().map(Array::len).sum();
        Self::with_capacity(shape, rows, |at| column_size(shape, parts, at))
    }

    fn with_capacity(
        shape: &Shape,
        rows: usize,
        bytes: impl Fn(usize) -> usize,
    ) -> Result<Self, Error> {
        let mut valid = Vec::new();
        valid.try_reserve_exact(rows)?;
        let mut cells = Vec::new();
        for (at, kind) in shape.kinds().into_iter().enumerate() {
            let bytes = bytes(at);
            memory::ensure(bytes.saturating_add(rows.saturating_mul(8)))?;
            let cell = match kind {
                Kind::Text => Cell::Text(StringBuilder::with_capacity(rows, bytes)),
                Kind::Bytes => Cell::Bytes(BinaryBuilder::with_capacity(rows, bytes)),
                Kind::Int => Cell::Int(Int64Builder::with_capacity(rows)),
                Kind::Bool => Cell::Bool(BooleanBuilder::with_capacity(rows)),
            };
            huge_pages::request(cell.values().as_ptr(), bytes);
            cells.push(cell);
        }
        Ok(Self {
            shape: shape.clone(),
            columns: cells,
            valid,
            bits: rows / 8,
            bytes: 0,
            checked: STRIDE / 2,
            work: Work::default(),
        })
    }

    /// The number of rows that have ended.
    pub(super) fn rows(&self) -> usize {
        self.valid.len()
    }

    /// The number of columns.
    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The bytes of all texts.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts the bytes of the row in the column.
    pub(super) fn read(&mut self, bytes: usize) {
        self.work.read = self.work.read.saturating_add(bytes);
    }

    /// Counts bytes that were made of the row and are no cell.
    pub(super) fn made(&mut self, bytes: usize) {
        self.work.made = self.work.made.saturating_add(bytes);
    }

    /// The work since the last call.
    pub(super) fn take_work(&mut self) -> Work {
        mem::take(&mut self.work)
    }

    /// Whether the next row belongs into other cells.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MAX_TEXT
    }

    /// Checks that there is memory for the texts: a column that is full is copied to one of twice its size.
    fn expect_more(&mut self) -> Result<(), Error> {
        if self.bytes >= self.checked {
            self.checked = self.bytes.saturating_add(self.bytes.min(STRIDE));
            memory::ensure(self.checked.saturating_mul(2))?;
        }
        Ok(())
    }

    /// Begins the next cell of the column `at`: a text of `size` bytes.
    fn text_cell(&mut self, at: usize, size: usize) -> Result<&mut Cell, Error> {
        if size > MAX_TEXT {
            return Err(Error::TooLarge { size, limit: MAX_TEXT });
        }
        self.bytes += size;
        self.expect_more()?;
        Ok(&mut self.columns[at])
    }

    /// Appends a text to the column `at`.
    pub(super) fn text(&mut self, at: usize, text: &str) -> Result<(), Error> {
        if let Cell::Text(column) = self.text_cell(at, text.len())? {
            column.append_value(text);
        }
        Ok(())
    }

    /// Appends bytes to the column `at`.
    pub(super) fn binary(&mut self, at: usize, bytes: &[u8]) -> Result<(), Error> {
        if let Cell::Bytes(column) = self.text_cell(at, bytes.len())? {
            column.append_value(bytes);
        }
        Ok(())
    }

    /// Appends a number or null to the column `at`.
    pub(super) fn int(&mut self, at: usize, value: Option<i64>) {
        match (value, &mut self.columns[at]) {
            (Some(value), Cell::Int(column)) => column.append_value(value),
            _ => self.null(at),
        }
    }

    /// Appends a boolean or null to the column `at`.
    pub(super) fn bool(&mut self, at: usize, value: Option<bool>) {
        match (value, &mut self.columns[at]) {
            (Some(value), Cell::Bool(column)) => column.append_value(value),
            _ => self.null(at),
        }
    }

    /// Appends null to the column `at`.
    pub(super) fn null(&mut self, at: usize) {
        if !self.columns[at].has_bits() {
            memory::require(memory::ensure(self.bits));
        }
        match &mut self.columns[at] {
            Cell::Text(column) => column.append_null(),
            Cell::Bytes(column) => column.append_null(),
            Cell::Int(column) => column.append_null(),
            Cell::Bool(column) => column.append_null(),
        }
    }

    /// Appends a text or null to the column `at`.
    pub(super) fn text_or_null(&mut self, at: usize, text: Option<&str>) -> Result<(), Error> {
        if let Some(text) = text {
            self.text(at, text)
        } else {
            self.null(at);
            Ok(())
        }
    }

    /// Ends a row whose cells have been appended.
    pub(super) fn end_row(&mut self) {
        self.valid.push(true);
    }

    /// Appends a row that is null as a whole.
    pub(super) fn null_row(&mut self) {
        for at in 0..self.columns.len() {
            self.null(at);
        }
        self.valid.push(false);
    }

    /// Cells of the same shape for the rows that follow, with room for `rows` rows.
    pub(super) fn next(&self, rows: usize) -> Result<Self, Error> {
        Self::new(&self.shape, rows)
    }

    /// How many of the rows from `start` on, which are of the same shape, are appended until the cells are full.
    pub(super) fn until_full(&self, rows: &ArrayRef, start: usize) -> usize {
        let columns = columns(&self.shape, rows);
        let is_full = |count: usize| {
            let sizes = columns.iter().map(|column| text_size(column, start..start + count));
            self.bytes + sizes.sum::<usize>() >= MAX_TEXT
        };
        let rest = rows.len() - start;
        if !is_full(rest) {
            return rest;
        }
        let (mut taken, mut most) = (0, rest);
        while taken < most {
            let middle = taken.midpoint(most);
            if is_full(middle) { most = middle } else { taken = middle + 1 }
        }
        taken
    }

    /// Appends rows of the same shape.
    pub(super) fn append(&mut self, rows: &ArrayRef) -> Result<(), Error> {
        let parts = columns(&self.shape, rows).iter();
        self.bytes += parts.map(|part| text_size(part, 0..rows.len())).sum::<usize>();
        self.expect_more()?;
        for (column, part) in self.columns.iter_mut().zip(columns(&self.shape, rows)) {
            if part.null_count() > 0 && !column.has_bits() {
                memory::ensure(self.bits)?;
            }
            match column {
                Cell::Text(column) => column.append_array(part.as_string())?,
                Cell::Bytes(column) => column.append_array(part.as_binary())?,
                Cell::Int(column) => column.append_array(part.as_primitive()),
                Cell::Bool(column) => column.append_array(part.as_boolean()),
            }
        }
        self.valid.extend((0..rows.len()).map(|row| rows.is_valid(row)));
        Ok(())
    }

    /// The rows as one Arrow array.
    pub(super) fn finish(self) -> Result<ArrayRef, Error> {
        let fields = self.shape.fields();
        let finish = |column| -> ArrayRef {
            match column {
                Cell::Text(mut column) => Arc::new(column.finish()),
                Cell::Bytes(mut column) => Arc::new(column.finish()),
                Cell::Int(mut column) => Arc::new(column.finish()),
                Cell::Bool(mut column) => Arc::new(column.finish()),
            }
        };
        let mut columns: Vec<_> = self.columns.into_iter().map(finish).collect();
        if matches!(self.shape, Shape::Plain(_)) {
            return Ok(columns.swap_remove(0));
        }
        let nulls = if self.valid.contains(&false) {
            memory::ensure(self.bits)?;
            Some(NullBuffer::from(self.valid))
        } else {
            None
        };
        Ok(Arc::new(StructArray::try_new(fields, columns, nulls)?))
    }
}

/// The columns of rows of this shape.
fn columns<'a>(shape: &Shape, rows: &'a ArrayRef) -> &'a [ArrayRef] {
    match shape {
        Shape::Plain(_) => std::slice::from_ref(rows),
        Shape::Struct(_) => rows.as_struct().columns(),
    }
}

/// The bytes of the texts in some rows of a column.
fn text_size(column: &ArrayRef, rows: Range<usize>) -> usize {
    let offsets = match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value_offsets(),
        DataType::Binary => column.as_binary::<i32>().value_offsets(),
        _ => return 0,
    };
    // The offsets of an array are in order.
    usize::try_from(offsets[rows.end] - offsets[rows.start]).unwrap_or(0)
}

/// Whether `parts` fit into one array.
pub(super) fn fit(shape: &Shape, parts: &[ArrayRef]) -> bool {
    (0..shape.kinds().len()).all(|at| column_size(shape, parts, at) <= MAX_COLUMN)
}

/// The bytes of the texts in a column of all parts.
fn column_size(shape: &Shape, parts: &[ArrayRef], at: usize) -> usize {
    parts.iter().map(|part| text_size(&columns(shape, part)[at], 0..part.len())).sum()
}
