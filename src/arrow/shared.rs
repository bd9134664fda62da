//! What the chunks of a column share counts once.
//!
//! The chunks are often slices of one array, or the batches of a file: all have the same dictionary, and the same buffers
//! of views. A limit that is a multiple of what lies in memory must not grow with each of them.

use crate::memory;
use std::collections::HashSet;

/// The places in memory that were counted: addresses and sizes.
#[derive(Default)]
pub(super) struct Shared(HashSet<(usize, usize)>);

impl Shared {
    /// Whether this memory was not counted before. From now on, it is.
    pub(super) fn is_new<T>(&mut self, place: &[T]) -> bool {
        memory::require(self.0.try_reserve(1));
        self.0.insert((place.as_ptr().addr(), size_of_val(place)))
    }
}
