//! The indices of a dictionary-encoded array: for each row, which of the values it has.
//!
//! Invariant: an index is that of an existing value, or the row counts as null.

use super::integers::Integers;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;

/// For each row, the index of its value.
pub(super) struct Keys {
    nulls: Option<NullBuffer>,
    indices: Integers,
    rows: usize,
    /// The number of values. An index without a value is that of a null row; see `import::content::validate`.
    values: usize,
}

impl Keys {
    /// The indices of a dictionary-encoded array, and its values; `None` for an array of another type.
    pub(super) fn new(array: &dyn Array) -> Option<(Self, &ArrayRef)> {
        let array = array.as_any_dictionary_opt()?;
        let (keys, values) = (array.keys(), array.values());
        let (nulls, indices) = (keys.nulls().cloned(), Integers::new(keys)?);
        Some((Self { nulls, indices, rows: keys.len(), values: values.len() }, values))
    }

    /// The index of the value of a row; `None` if the row is null.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<usize> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        let index = self.indices.get(row).ok()?;
        usize::try_from(index).ok().filter(|&index| index < self.values)
    }

    /// The number of values.
    pub(super) fn values(&self) -> usize {
        self.values
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}
