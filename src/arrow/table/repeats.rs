//! Limits how often a table repeats the same cells.
//!
//! The rows of a list view, a dictionary or an array of views may refer to the same cells, and rows of nulls take
//! no memory at all: a table of a megabyte can have a text of any size. Its text may therefore be only
//! [`FREE_EXPANSION`] times as large as if each cell that lies in memory were written once, and
//! [`Limits::EXPANSION`] bytes more. All sizes are counted before anything is written.

use super::node::Ranges;
use crate::arrow::error::Error;
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
    chunks.iter().try_for_each(|chunk| written.add(&**chunk, None))
}

/// The size of the cells that lie in memory, each once.
fn stored(array: &dyn Array) -> u64 {
    let sum = |arrays: &mut dyn Iterator<Item = &ArrayRef>| {
        arrays.map(|array| stored(&**array)).fold(0, u64::saturating_add)
    };
    let more = match array.data_type() {
        DataType::Null => return 0,
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

/// The size of the cells that are written, each as often as it is.
struct Written {
    size: u64,
    max: u64,
}

impl Written {
    /// Adds an array. `times` is how often each row is written; `None` for once.
    fn add(&mut self, array: &dyn Array, times: Option<&[u64]>) -> Result<(), Error> {
        match array.data_type() {
            DataType::Struct(fields) => {
                let names = fields.iter().map(|field| field.name().len() as u64).sum();
                self.cells(array, times, if fields.is_empty() { CELL_SIZE } else { names })?;
                let mut columns = array.as_struct().columns().iter();
                columns.try_for_each(|column| self.add(&**column, times))
            }
            // Each text is written once at most.
            DataType::Utf8 | DataType::LargeUtf8 if times.is_none() => self.count(stored(array)),
            DataType::Utf8 => self.texts(times, array.as_string::<i32>().iter()),
            DataType::LargeUtf8 => self.texts(times, array.as_string::<i64>().iter()),
            DataType::Utf8View => self.texts(times, array.as_string_view().iter()),
            DataType::Dictionary(..) => self.dictionary(array, times),
            _ => {
                self.cells(array, times, CELL_SIZE)?;
                let Some((ranges, children)) = Ranges::of(array) else { return Ok(()) };
                let often = self.elements(array, &ranges, children[0].len(), times)?;
                let mut children = children.into_iter();
                children.try_for_each(|child| self.add(&**child, often.as_deref()))
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
    fn cells(&mut self, array: &dyn Array, times: Option<&[u64]>, size: u64) -> Result<(), Error> {
        let count = match times {
            None => array.len() as u64,
            Some(times) => polled(times).fold(0_u64, |sum, times| sum.saturating_add(*times)),
        };
        self.count(size.saturating_mul(count))
    }

    fn texts<'a>(
        &mut self,
        times: Option<&[u64]>,
        texts: impl Iterator<Item = Option<&'a str>>,
    ) -> Result<(), Error> {
        polled(texts).enumerate().try_for_each(|(row, text)| {
            let size = text.map_or(0, str::len) as u64 + CELL_SIZE;
            self.count(size.saturating_mul(times.map_or(1, |times| times[row])))
        })
    }

    fn dictionary(&mut self, array: &dyn Array, times: Option<&[u64]>) -> Result<(), Error> {
        let Some((keys, values)) = Keys::new(array) else { return Ok(()) };
        let mut often = zeros(values.len())?;
        for row in polled(0..array.len()) {
            if let Some(index) = keys.get(row) {
                often[index] = times.map_or(1, |times| times[row]).saturating_add(often[index]);
            }
        }
        self.add(&**values, Some(&often))
    }

    /// How often each of `count` elements of lists is written; `None` for at most once.
    fn elements(
        &self,
        array: &dyn Array,
        ranges: &Ranges,
        count: usize,
        times: Option<&[u64]>,
    ) -> Result<Option<Vec<u64>>, Error> {
        if times.is_none() && !ranges.may_overlap() {
            return Ok(None);
        }
        // Of neighbours, how much more often the second one is written.
        let mut often = zeros(count + 1)?;
        let mut total = 0_u64;
        for row in polled(0..array.len()) {
            let (start, length) = ranges.get(row);
            let times = times.map_or(1, |times| times[row]);
            if times == 0 || length == 0 || array.is_null(row) {
                continue;
            }
            total = total.saturating_add(times.saturating_mul(length as u64));
            // Each element counts at least so much, and no number below can overflow.
            Self { size: 0, max: self.max }.count(total.saturating_mul(CELL_SIZE))?;
            often[start] = often[start].wrapping_add(times);
            often[start + length] = often[start + length].wrapping_sub(times);
        }
        let mut sum = 0_u64;
        for more in polled(&mut often) {
            sum = sum.wrapping_add(*more);
            *more = sum;
        }
        Ok(Some(often))
    }
}

fn zeros(count: usize) -> Result<Vec<u64>, Error> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(count)?;
    zeros.resize(count, 0);
    Ok(zeros)
}
