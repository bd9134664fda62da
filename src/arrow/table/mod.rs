//! A column as a JSON-like value: a struct is an object, a list an array, so that a table is an array of rows.
//!
//! The value is that of `table.to_pylist()` in Python, with the conversions of `types="common"`:
//!
//! | Arrow | value |
//! |---|---|
//! | bool, integers, texts, dictionary-encoded | boolean, integer, text, the value of its index |
//! | float16, float32, float64 | the same number as a double |
//! | struct, list of any kind, map with text keys | object, array, object |
//! | date, time, timestamp | text: `2026-11-22`, `14:50:00.5`, `2026-11-22T14:50:00.5`, no zeros at the end of the fraction |
//! | timestamp with a zone | as above with `Z` for UTC, with the offset of a fixed offset; a named zone is written in UTC |
//! | decimal | text with all digits of the scale |
//! | the extension types `arrow.uuid` and `arrow.bool8` | text, boolean |
//! | null | null |
//!
//! Binary, durations, intervals, unions and run-end-encoded columns are errors where they are not null.
//!
//! # Modules
//! `node` reads the buffers, `nulls` which rows are null, `moments` dates, times, decimals and UUIDs. `flat` writes tables of scalars as GCF, and `walk`
//! is the fast path of the writer of GCF for the others; neither builds rows. `emit` is the checked path, which
//! reports errors. `repeats` limits how much is written.

mod emit;
mod flat;
mod moments;
mod node;
mod nulls;
mod repeats;
mod walk;

use super::column::Column;
use super::error::Error;
use crate::gcf::{self, Builder, Bump, EncodeOptions};
use crate::interrupt::Steps;
use crate::memory;
use crate::text::output::Output;
use arrow_array::Array;
pub use emit::Target;
use node::{COLUMN_SIZE, Node};
pub use repeats::Allowance;
use walk::{Cell, Rows};

/// A column as a value: an array of its rows.
pub struct Table {
    chunks: Vec<Node>,
    /// The first row of each chunk, and the number of all rows. Only the first row if it cannot be written.
    starts: Vec<usize>,
}

impl Table {
    /// Prepares to read a column. No buffer is copied.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; `limit_exceeded` if its rows refer to the same cells too often.
    pub fn new(column: &Column) -> Result<Self, Error> {
        Self::within(column, &mut Allowance::default())
    }

    /// Prepares to read a column that is one of those of a value, which share an allowance.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn within(column: &Column, allowance: &mut Allowance) -> Result<Self, Error> {
        memory::ensure(column.chunks().len().saturating_mul(COLUMN_SIZE))?;
        let (field, chunks) = (column.field(), column.chunks());
        let nodes = chunks.iter().map(|chunk| Node::new(field, &**chunk));
        let mut nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        if let Some(at) = chunks.iter().position(|chunk| !chunk.is_empty())
            && nodes[at].is_unsupported(0)
        {
            // The error of the first row comes before any work on the others, which may be very many.
            allowance.check(&[chunks[at].slice(0, 1)])?;
            return Ok(Self { chunks: vec![nodes.swap_remove(at)], starts: vec![0, 1] });
        }
        allowance.check(chunks)?;
        let mut starts = vec![0];
        for chunk in chunks {
            starts.push(starts[starts.len() - 1] + chunk.len());
        }
        Ok(Self { chunks: nodes, starts })
    }

    fn rows(&self) -> usize {
        self.starts[self.chunks.len()]
    }

    /// Encodes the column as GCF. The result is that of [`gcf::encode`] for the same value.
    ///
    /// # Errors
    /// As [`gcf::encode`]; `unsupported_type` for a value of a type without a counterpart, `out_of_range`
    /// for an integer or time that cannot be written.
    pub fn write(&self, options: &EncodeOptions) -> Result<String, gcf::Error> {
        if let Some(text) = flat::write(self, options) {
            return Ok(text);
        }
        let written = gcf::write_walk(&mut Rows::new(self), &Cell::Rows, options, Vec::new());
        if let Some(text) = written.ok().and_then(Output::into_string) {
            return Ok(text);
        }
        let bump = Bump::new();
        let mut builder = Builder::new(&bump, options.limits);
        self.emit(&mut builder)?;
        gcf::write(&builder.finish(), options)
    }

    /// Emits the rows as an array.
    ///
    /// # Errors
    /// The errors of the sink.
    pub fn emit<S: Target>(&self, sink: &mut S) -> Result<(), S::Error> {
        let mut steps = Steps::default();
        sink.begin_array()?;
        for (chunk, start) in self.chunks.iter().zip(self.starts.windows(2)) {
            for row in 0..start[1] - start[0] {
                chunk.emit(row, sink, &mut steps)?;
            }
        }
        sink.end_array()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt;
    use arrow_array::{ArrayRef, Int8Array};
    use arrow_schema::{DataType, Field};
    use std::cell::Cell;
    use std::sync::Arc;

    thread_local! {
        static POLLS: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn every_pass_over_the_rows_polls() {
        let rows: ArrayRef = Arc::new(Int8Array::from(vec![1; 400_000]));
        let column = Column::new(Arc::new(Field::new("", DataType::Int8, true)), vec![rows]);
        let table = Table::new(&column).unwrap();
        let count = || {
            POLLS.set(POLLS.get() + 1);
            false
        };
        let text = interrupt::run(count, || table.write(&EncodeOptions::default()));
        assert_eq!(
            text.unwrap().unwrap().len(),
            "GCF profile=generic\n## [400000]: ".len() + 800_000
        );
        // One pass determines how the rows are written, another one writes them.
        assert!(POLLS.get() > 150, "{}", POLLS.get());
    }
}
