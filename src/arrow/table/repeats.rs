//! Limits how often a table repeats the same cells.
//!
//! The rows of a list view, a dictionary or an array of views may refer to the same cells, and those of nulls and of
//! runs take no memory at all: a table of a megabyte can have a text of any size. Its text may therefore be only
//! [`FREE_EXPANSION`] times as large as if each cell that lies in memory were written once, and
//! [`Limits::EXPANSION`] bytes more. All sizes are counted before anything is written.

use super::node::Ranges;
use super::nulls::RunEnds;
use crate::arrow::error::Error;
use crate::arrow::import::takes_no_memory;
use crate::arrow::keys::Keys;
use crate::gcf::{self, Code, FREE_EXPANSION, Limits};
use crate::interrupt::polled;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// The bytes that a cell counts, besides its text.
const CELL_SIZE: u64 = 16;

/// Checks that the chunks of a column may be written.
///
/// # Errors
/// `limit_exceeded`; [`Error::OutOfMemory`].
pub(super) fn check(chunks: &[ArrayRef]) -> Result<(), Error> {
    let stored = chunks.iter().map(|chunk| stored(&**chunk)).fold(0, u64::saturating_add);
    let max = stored.saturating_mul(FREE_EXPANSION).saturating_add(Limits::EXPANSION as u64);
    let mut written = Written { size: 0, max };
    chunks.iter().try_for_each(|chunk| written.add(&**chunk, Times::Once))
}

/// The size of the cells that lie in memory, each once.
fn stored(array: &dyn Array) -> u64 {
    let sum = |arrays: &mut dyn Iterator<Item = &ArrayRef>| {
        arrays.map(|array| stored(&**array)).fold(0, u64::saturating_add)
    };
    let more = match array.data_type() {
        DataType::Null | DataType::FixedSizeBinary(0) => return 0,
        DataType::RunEndEncoded(..) => {
            return RunEnds::of(array).map_or(0, |(_, values)| stored(&**values));
        }
        DataType::Struct(_) => return sum(&mut array.as_struct().columns().iter()),
        DataType::Utf8 => array.as_string::<i32>().value_data().len() as u64,
        DataType::LargeUtf8 => array.as_string::<i64>().value_data().len() as u64,
        DataType::Utf8View => {
            array.as_string_view().data_buffers().iter().map(|buffer| buffer.len() as u64).sum()
        }
        DataType::Dictionary(..) => stored(&**array.as_any_dictionary().values()),
        _ => match Ranges::of(array) {
            Some((Ranges::Fixed(_), children)) => return sum(&mut children.into_iter()),
            Some((_, children)) => sum(&mut children.into_iter()),
            None => 0,
        },
    };
    CELL_SIZE.saturating_mul(array.len() as u64).saturating_add(more)
}

/// How often the rows of an array are written.
#[derive(Clone, Copy)]
enum Times<'a> {
    /// Each at most once.
    Once,
    /// Each so often.
    Rows(&'a [u64]),
    /// All together so often: of an array that [takes no memory](takes_no_memory), whose rows have the same size.
    Sum(u64),
}

impl Times<'_> {
    /// How often a row is written.
    fn of(self, row: usize) -> u64 {
        match self {
            Self::Once => 1,
            Self::Rows(times) => times[row],
            Self::Sum(times) => times,
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
            // Each text is written once at most.
            DataType::Utf8 | DataType::LargeUtf8 if matches!(times, Times::Once) => {
                self.count(stored(array))
            }
            DataType::Utf8 => self.texts(times, array.as_string::<i32>().iter()),
            DataType::LargeUtf8 => self.texts(times, array.as_string::<i64>().iter()),
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
            Times::Once => array.len() as u64,
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
        let max = self.max;
        let mut add = |times| children.iter().try_for_each(|child| self.add(&***child, times));
        if let (Times::Sum(times), Ranges::Fixed(size)) = (times, ranges) {
            return add(Times::Sum(times.saturating_mul(*size as u64)));
        }
        if matches!(times, Times::Once) && !ranges.may_overlap() {
            return add(Times::Once);
        }
        let is_counted = children.iter().any(|child| !takes_no_memory(child.data_type()));
        // For each cell, how much more often it is written than the one before it.
        let mut often = zeros(if is_counted { children[0].len() + 1 } else { 0 })?;
        let mut total = 0_u64;
        for row in polled(0..array.len()) {
            let (start, length) = ranges.get(row);
            let times = times.of(row);
            if times == 0 || length == 0 || array.is_null(row) {
                continue;
            }
            total = total.saturating_add(times.saturating_mul(length as u64));
            // Each element counts at least so much, and no number below can overflow.
            Self { size: 0, max }.count(total.saturating_mul(CELL_SIZE))?;
            if is_counted {
                often[start] = often[start].wrapping_add(times);
                often[start + length] = often[start + length].wrapping_sub(times);
            }
        }
        if !is_counted {
            return add(Times::Sum(total));
        }
        let mut sum = 0_u64;
        for more in polled(&mut often) {
            sum = sum.wrapping_add(*more);
            *more = sum;
        }
        add(Times::Rows(&often))
    }
}

fn zeros(count: usize) -> Result<Vec<u64>, Error> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(count)?;
    zeros.resize(count, 0);
    Ok(zeros)
}
