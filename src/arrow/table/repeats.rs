//! Limits how often a table repeats the same cells.
//!
//! The rows of a list view, a dictionary or an array of views may refer to the same cells, and those of nulls and of
//! runs take no memory at all: a table of a megabyte can have a text of any size. Its text may therefore be only
//! [`FREE_EXPANSION`] times as large as if each cell that lies in memory were written once, and an [`Allowance`]
//! more. All sizes are counted before anything is written.
//!
//! The chunks of a column are often slices of one array, which all have its dictionary and the elements of all lists.
//! These lie in memory once, and a chunk takes time in proportion to its own rows.

use super::node::Ranges;
use super::nulls::RunEnds;
use crate::arrow::error::Error;
use crate::arrow::import::takes_no_memory;
use crate::arrow::keys::Keys;
use crate::arrow::shared::Shared;
use crate::arrow::texts::content;
use crate::gcf::{self, Code, FREE_EXPANSION, Limits};
use crate::interrupt::polled;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use std::ops::Range;
use std::sync::Arc;

/// The bytes that a cell counts, besides its text.
const CELL_SIZE: u64 = 16;

/// To look at so many cells takes no longer than to take a part of an array.
const PER_PART: usize = 16;

/// The bytes of repeated cells that all tables of a value may write together.
pub struct Allowance(u64);

impl Default for Allowance {
    fn default() -> Self {
        Self(Limits::EXPANSION as u64)
    }
}

impl Allowance {
    /// Checks that the chunks of a column may be written.
    ///
    /// # Errors
    /// `limit_exceeded`; [`Error::OutOfMemory`].
    pub(super) fn check(&mut self, chunks: &[ArrayRef]) -> Result<(), Error> {
        let mut stored = Stored::default();
        polled(chunks).for_each(|chunk| stored.add(&**chunk, Owner::Rows));
        let free = stored.size.saturating_mul(FREE_EXPANSION);
        let mut written = Written { size: 0, max: free.saturating_add(self.0) };
        polled(chunks).try_for_each(|chunk| written.add(&**chunk, Times::Each(1)))?;
        self.0 -= written.size.saturating_sub(free);
        Ok(())
    }
}

/// Whose cells those of an array are.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    /// Those of the rows of one chunk.
    Rows,
    /// Perhaps those of other chunks too, such as a dictionary.
    Chunks,
}

/// The size of the cells that lie in memory, each once.
#[derive(Default)]
struct Stored {
    size: u64,
    shared: Shared,
}

impl Stored {
    fn add(&mut self, array: &dyn Array, owner: Owner) {
        match array.data_type() {
            DataType::Null | DataType::FixedSizeBinary(0) => {}
            DataType::RunEndEncoded(..) => {
                if let Some((_, values)) = RunEnds::of(array) {
                    self.add(&**values, Owner::Chunks);
                }
            }
            DataType::Dictionary(..) => {
                self.add(&**array.as_any_dictionary().values(), Owner::Chunks);
            }
            DataType::Struct(_) => {
                for column in array.as_struct().columns() {
                    self.add(&**column, owner);
                }
            }
            DataType::Utf8 | DataType::LargeUtf8 => {
                let text = all_text(array);
                if owner == Owner::Rows || self.shared.is_new(text) {
                    self.cells(array, text.len());
                }
            }
            DataType::Utf8View => {
                let array = array.as_string_view();
                if owner == Owner::Rows || self.shared.is_new(array.views()) {
                    self.cells(array, 0);
                }
                for buffer in polled(array.data_buffers().iter()) {
                    if self.shared.is_new(buffer) {
                        self.size = self.size.saturating_add(buffer.len() as u64);
                    }
                }
            }
            _ => match Ranges::of(array) {
                Some((ranges, children)) => self.lists(array, &ranges, &children, owner),
                None => {
                    if owner == Owner::Rows || self.is_new(array) {
                        self.cells(array, 0);
                    }
                }
            },
        }
    }

    fn lists(&mut self, array: &dyn Array, ranges: &Ranges, children: &[&ArrayRef], owner: Owner) {
        let is_new = match ranges {
            Ranges::Fixed(_) => false,
            _ => owner == Owner::Rows || self.is_new(array),
        };
        if is_new {
            self.cells(array, 0);
        }
        match ranges.all(array.len()) {
            Some(all) => {
                for child in children {
                    self.add(&*part(child, all.clone()), owner);
                }
            }
            None => {
                for child in children {
                    self.add(&***child, Owner::Chunks);
                }
            }
        }
    }

    /// Whether the cells of an array were not counted before, those of its children aside.
    fn is_new(&mut self, array: &dyn Array) -> bool {
        array.to_data().buffers().first().is_some_and(|buffer| self.shared.is_new(buffer))
    }

    fn cells(&mut self, array: &dyn Array, texts: usize) {
        let size = CELL_SIZE.saturating_mul(array.len() as u64);
        self.size = self.size.saturating_add(size).saturating_add(texts as u64);
    }
}

/// The texts of all rows of an array of texts that are not views.
fn all_text(array: &dyn Array) -> &[u8] {
    match array.data_type() {
        DataType::Utf8 => content(array.as_string::<i32>()),
        _ => content(array.as_string::<i64>()),
    }
}

/// Some rows of an array.
fn part(array: &ArrayRef, rows: Range<usize>) -> ArrayRef {
    if rows == (0..array.len()) { Arc::clone(array) } else { array.slice(rows.start, rows.len()) }
}

/// How often the rows of an array are written.
#[derive(Clone, Copy)]
enum Times<'a> {
    /// Each so often.
    Each(u64),
    /// Each row so often as the number in its place says.
    Rows(&'a [u64]),
    /// All together so often: of an array that [takes no memory](takes_no_memory), whose rows have the same size.
    Sum(u64),
}

impl Times<'_> {
    /// How often a row is written.
    fn of(self, row: usize) -> u64 {
        match self {
            Self::Rows(times) => times[row],
            Self::Each(times) | Self::Sum(times) => times,
        }
    }
}

/// The size of the cells that are written, each as often as it is.
struct Written {
    size: u64,
    max: u64,
}

impl Written {
    /// Adds an array.
    fn add(&mut self, array: &dyn Array, times: Times<'_>) -> Result<(), Error> {
        match array.data_type() {
            DataType::Struct(fields) => {
                let names = fields.iter().map(|field| field.name().len() as u64).sum();
                self.cells(array, times, if fields.is_empty() { CELL_SIZE } else { names })?;
                let mut columns = array.as_struct().columns().iter();
                columns.try_for_each(|column| self.add(&**column, times))
            }
            DataType::Utf8 | DataType::LargeUtf8 => match (times, array.as_string_opt::<i32>()) {
                (Times::Each(_), _) => {
                    self.cells(array, times, CELL_SIZE)?;
                    self.count(times.of(0).saturating_mul(all_text(array).len() as u64))
                }
                (_, Some(array)) => self.texts(times, array.iter()),
                (_, None) => self.texts(times, array.as_string::<i64>().iter()),
            },
            DataType::Utf8View => self.texts(times, array.as_string_view().iter()),
            DataType::Dictionary(..) => self.dictionary(array, times),
            _ => {
                self.cells(array, times, CELL_SIZE)?;
                let Some((ranges, children)) = Ranges::of(array) else { return Ok(()) };
                self.elements(array, &ranges, &children, times)
            }
        }
    }

    /// Adds to the size.
    fn count(&mut self, size: u64) -> Result<(), Error> {
        self.size = self.size.saturating_add(size);
        if self.size <= self.max {
            return Ok(());
        }
        Err(gcf::Error::without_place(
            Code::LimitExceeded,
            "the text would be far larger than the table, whose rows share cells or long names, or take no memory; \
             cast list views to lists and dictionaries to their values, or write fewer rows at a time",
        )
        .into())
    }

    /// Adds cells that all have the same size.
    fn cells(&mut self, array: &dyn Array, times: Times<'_>, size: u64) -> Result<(), Error> {
        let count = match times {
            Times::Each(times) => times.saturating_mul(array.len() as u64),
            Times::Rows(times) => polled(times).fold(0, |sum: u64, more| sum.saturating_add(*more)),
            Times::Sum(times) => times,
        };
        self.count(size.saturating_mul(count))
    }

    fn texts<'a>(
        &mut self,
        times: Times<'_>,
        texts: impl Iterator<Item = Option<&'a str>>,
    ) -> Result<(), Error> {
        polled(texts).enumerate().try_for_each(|(row, text)| {
            let size = text.map_or(0, str::len) as u64 + CELL_SIZE;
            self.count(size.saturating_mul(times.of(row)))
        })
    }

    fn dictionary(&mut self, array: &dyn Array, times: Times<'_>) -> Result<(), Error> {
        let Some((keys, values)) = Keys::new(array) else { return Ok(()) };
        if takes_no_memory(values.data_type()) {
            let rows = polled(0..array.len()).filter(|&row| keys.get(row).is_some());
            let sum = rows.fold(0, |sum: u64, row| sum.saturating_add(times.of(row)));
            return self.add(&**values, Times::Sum(sum));
        }
        if values.len() > array.len().saturating_mul(PER_PART) {
            return polled(0..array.len()).try_for_each(|row| match keys.get(row) {
                Some(index) => self.parts(&[values], index..index + 1, Times::Each(times.of(row))),
                None => Ok(()),
            });
        }
        let mut often = zeros(values.len())?;
        for row in polled(0..array.len()) {
            if let Some(index) = keys.get(row) {
                often[index] = times.of(row).saturating_add(often[index]);
            }
        }
        self.add(&**values, Times::Rows(&often))
    }

    /// Adds the elements of lists, each as often as it is written.
    fn elements(
        &mut self,
        array: &dyn Array,
        ranges: &Ranges,
        children: &[&ArrayRef],
        times: Times<'_>,
    ) -> Result<(), Error> {
        if let (Times::Sum(times), Ranges::Fixed(size)) = (times, ranges) {
            let times = Times::Sum(times.saturating_mul(*size as u64));
            return self.parts(children, 0..children[0].len(), times);
        }
        if let (Times::Each(_), Some(all)) = (times, ranges.all(array.len())) {
            return self.parts(children, all, times);
        }
        let written = || {
            polled(0..array.len()).filter_map(|row| {
                let ((start, length), times) = (ranges.get(row), times.of(row));
                let is_written = times > 0 && length > 0 && array.is_valid(row);
                is_written.then(|| (start..start + length, times))
            })
        };
        let (mut first, mut end, mut cells, mut total) = (usize::MAX, 0_usize, 0_usize, 0_u64);
        for (range, times) in written() {
            (first, end) = (first.min(range.start), end.max(range.end));
            cells = cells.saturating_add(range.len());
            total = total.saturating_add(times.saturating_mul(range.len() as u64));
        }
        // Each element counts at least so much, and no number below can overflow.
        Self { ..*self }.count(total.saturating_mul(CELL_SIZE))?;
        if children.iter().all(|child| takes_no_memory(child.data_type())) {
            return self.parts(children, 0..children[0].len(), Times::Sum(total));
        }
        if total == 0 {
            return Ok(());
        }
        let span = first..end;
        if span.len() > cells.saturating_add(array.len().saturating_mul(PER_PART)) {
            let mut rows = written();
            return rows.try_for_each(|(row, times)| self.parts(children, row, Times::Each(times)));
        }
        // For each cell, how much more often it is written than the one before it.
        let mut often = zeros(span.len() + 1)?;
        for (range, times) in written() {
            let (start, end) = (range.start - span.start, range.end - span.start);
            often[start] = often[start].wrapping_add(times);
            often[end] = often[end].wrapping_sub(times);
        }
        let mut sum = 0_u64;
        for more in polled(&mut often) {
            sum = sum.wrapping_add(*more);
            *more = sum;
        }
        self.parts(children, span, Times::Rows(&often))
    }

    /// Adds some rows of the children of an array.
    fn parts(
        &mut self,
        children: &[&ArrayRef],
        rows: Range<usize>,
        times: Times<'_>,
    ) -> Result<(), Error> {
        children.iter().try_for_each(|child| self.add(&*part(child, rows.clone()), times))
    }
}

fn zeros(count: usize) -> Result<Vec<u64>, Error> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(count)?;
    zeros.resize(count, 0);
    Ok(zeros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::counted;
    use arrow_array::{
        DictionaryArray, Int32Array, ListArray, ListViewArray, StringArray, StringViewArray,
        StructArray,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    const COUNT: i32 = 40_000;

    fn texts() -> ArrayRef {
        Arc::new(StringArray::from_iter_values((0..COUNT).map(|n| n.to_string())))
    }

    fn dictionary(values: ArrayRef) -> ArrayRef {
        Arc::new(DictionaryArray::new(Int32Array::from_iter_values(0..COUNT), values))
    }

    /// Arrays of [`COUNT`] rows, whose slices all have the same memory.
    fn layouts() -> Vec<ArrayRef> {
        let field =
            |array: &ArrayRef| Arc::new(Field::new("item", array.data_type().clone(), true));
        let texts = texts();
        let structs: ArrayRef =
            Arc::new(StructArray::from(vec![(field(&texts), Arc::clone(&texts))]));
        let known = dictionary(Arc::clone(&texts));
        let one_each = || OffsetBuffer::from_lengths(vec![1; COUNT as usize]);
        let lists = ListArray::new(field(&known), one_each(), Arc::clone(&known), None);
        // One row has an element at the beginning, the next one at the end.
        let ends = |row| if row % 2 == 0 { row } else { COUNT - row };
        let views = ListViewArray::new(
            field(&known),
            (0..COUNT).map(ends).collect(),
            vec![1; COUNT as usize].into(),
            Arc::clone(&known),
            None,
        );
        let (lists, views): (ArrayRef, ArrayRef) = (Arc::new(lists), Arc::new(views));
        let nested = [structs, Arc::clone(&lists), Arc::clone(&views)].map(dictionary);
        [known, lists, views].into_iter().chain(nested).collect()
    }

    /// So many chunks, of two rows each.
    fn pairs(array: &ArrayRef, count: usize) -> Vec<ArrayRef> {
        (0..count).map(|pair| array.slice(2 * pair, 2)).collect()
    }

    #[test]
    fn a_chunk_takes_time_in_proportion_to_its_rows() {
        for array in layouts() {
            let chunks = pairs(&array, 400);
            let (checked, polls) = counted(|| Allowance::default().check(&chunks));
            checked.unwrap();
            // The memory that the chunks share would be thousands.
            assert!(polls < 10, "{}: {polls}", array.data_type());
        }
    }

    #[test]
    fn chunks_have_the_cells_of_their_rows() {
        let written = |chunks: &[ArrayRef]| {
            let mut written = Written { size: 0, max: u64::MAX };
            chunks.iter().try_for_each(|chunk| written.add(&**chunk, Times::Each(1))).unwrap();
            written.size
        };
        for array in layouts() {
            let few = array.slice(0, 1_000);
            assert_eq!(written(&[Arc::clone(&few)]), written(&pairs(&few, 500)));
        }
    }

    #[test]
    fn the_tables_of_a_value_share_an_allowance() {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a".repeat(1 << 20)]));
        let rows = Int32Array::from(vec![0; 200]);
        // 200 MiB, of which 16 are free.
        let table: [ArrayRef; 1] = [Arc::new(DictionaryArray::new(rows, text))];
        let mut allowance = Allowance::default();
        allowance.check(&table).unwrap();
        allowance.check(&table).unwrap_err();
        Allowance::default().check(&table).unwrap();
    }

    #[test]
    fn what_chunks_share_lies_in_memory_once() {
        let stored = |chunks: &[ArrayRef]| {
            let mut stored = Stored::default();
            for chunk in chunks {
                stored.add(&**chunk, Owner::Rows);
            }
            stored.size
        };
        let text: ArrayRef = Arc::new(StringViewArray::from(vec!["a".repeat(1_000); 1_000]));
        for array in layouts().into_iter().chain([text]) {
            let count = array.len().min(2_000) / 2;
            let (one, all) = (stored(&[Arc::clone(&array)]), stored(&pairs(&array, count)));
            assert!(all <= one, "{}: {one}, {all}", array.data_type());
        }
    }
}
