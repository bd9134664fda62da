//! The check of memory while a document or a value is read from Python objects.

use crate::errors::{Error, Result};
use compactwire::memory::Meter;
use std::cell::{Cell, RefCell};

/// Checks memory for a document that is read from Python objects, and for the text that is written from it.
pub(crate) struct Budget {
    meter: RefCell<Meter>,
    /// The values so far.
    values: Cell<usize>,
    /// The last error, such as too little memory.
    failed: Cell<Option<Error>>,
}

/// The bytes of memory for a value: its share of a node, and its text.
const VALUE_SIZE: usize = 96;
/// The number of bytes of a string that count as one value.
pub(super) const BYTES: usize = 12;

impl Default for Budget {
    fn default() -> Self {
        Self {
            meter: RefCell::new(Meter::new(VALUE_SIZE)),
            values: Cell::new(0),
            failed: Cell::new(None),
        }
    }
}

impl Budget {
    /// Whether there is memory for `more` values. If not, the caller treats the container as empty, and
    /// [`Budget::check`] returns the error afterwards.
    #[inline]
    pub(super) fn take(&self, more: usize) -> bool {
        self.values.set(self.values.get() + more);
        match self.meter.borrow_mut().reach(self.values.get()) {
            Ok(()) => true,
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    #[cold]
    pub(super) fn fail(&self, error: impl Into<Error>) {
        self.failed.set(Some(error.into()));
    }

    /// Returns the error, if there was one.
    pub(crate) fn check(self) -> Result<()> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }
}
