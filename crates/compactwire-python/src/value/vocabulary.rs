//! The names of a format as Python strings, so that a reader finds members by keys that exist already.

use crate::make::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The `str` objects of a format's names, which live as long as the process.
pub(crate) struct Vocabulary {
    /// The names by their hash, with linear probing: a lookup takes half of the instructions of one
    /// in a `HashMap`, and a document needs hundreds. At most a quarter of the slots is used.
    slots: Vec<Option<(&'static str, Py<PyString>)>>,
}

impl Vocabulary {
    pub(crate) fn new(py: Python<'_>, names: impl Iterator<Item = &'static str>) -> PyResult<Self> {
        let names: Vec<_> = names.collect();
        let mut slots = Vec::new();
        slots.resize_with((4 * names.len()).next_power_of_two(), || None);
        let mut vocabulary = Self { slots };
        for name in names {
            let slot = vocabulary.slot(name);
            vocabulary.slots[slot] = Some((name, intern(py, name)?.unbind()));
        }
        Ok(vocabulary)
    }

    /// The object of a name; `None` if it is not a name of the format.
    #[inline]
    pub(crate) fn get(&self, name: &str) -> Option<&Py<PyString>> {
        self.slots[self.slot(name)].as_ref().map(|(_, object)| object)
    }

    /// The slot of a name, or the free slot where it would be.
    #[inline]
    fn slot(&self, name: &str) -> usize {
        let last = self.slots.len() - 1;
        let mut slot = hash(name.as_bytes()) & last;
        while let Some((known, _)) = &self.slots[slot]
            // Usually both are the same constant, so comparing addresses is enough.
            && !std::ptr::eq(*known, name)
            && *known != name
        {
            slot = (slot + 1) & last;
        }
        slot
    }
}

/// A fast hash of short names. Only the names of a format are ever inserted, so that a peer cannot
/// cause collisions.
#[inline]
fn hash(name: &[u8]) -> usize {
    let (Some(first), Some(last)) = (name.first(), name.last()) else { return 0 };
    let [first, middle, last] = [*first, name[name.len() / 2], *last].map(usize::from);
    name.len() * 31 + first * 71 + last * 147 + middle * 5
}
