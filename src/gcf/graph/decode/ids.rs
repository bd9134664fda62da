//! Ids of the symbols that were read.

use hashbrown::HashMap;

/// The index of each id.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// How many of the first symbols have their index as id; outside sessions all have.
    straight: usize,
    /// The others.
    others: HashMap<u64, usize>,
}

impl Ids {
    /// Adds the id of the symbol `index`.
    #[inline]
    pub(super) fn add(&mut self, id: u64, index: usize) {
        if index == self.straight && id == index as u64 {
            self.straight += 1;
        } else {
            self.others.insert(id, index);
        }
    }

    /// The id that goes on without a gap; one that no line has, where there was a gap.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        if self.others.is_empty() { self.straight as u64 } else { u64::MAX }
    }

    /// Which symbol has an id.
    #[inline]
    pub(super) fn index(&self, id: u64) -> Option<usize> {
        match usize::try_from(id) {
            Ok(index) if index < self.straight => Some(index),
            _ if self.others.is_empty() => None,
            _ => self.others.get(&id).copied(),
        }
    }
}
