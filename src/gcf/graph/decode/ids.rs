//! Maps ids to the symbols read so far.

use hashbrown::HashMap;

/// The index of the symbol of each id.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// The number of leading symbols whose id is their index; without a session usually all.
    sequential: usize,
    /// The indices of the other symbols.
    others: HashMap<u64, usize>,
}

impl Ids {
    /// Adds the id of the symbol `index`.
    #[inline]
    pub(super) fn add(&mut self, id: u64, index: usize) {
        if index == self.sequential && id == index as u64 {
            self.sequential += 1;
        } else {
            self.others.insert(id, index);
        }
    }

    /// Reserves memory for one more id; returns whether there is enough memory.
    #[inline]
    pub(super) fn try_reserve(&mut self) -> bool {
        self.others.try_reserve(1).is_ok()
    }

    /// The id that continues the sequence from 0, or `u64::MAX` if the ids so far do not form such
    /// a sequence.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        if self.others.is_empty() { self.sequential as u64 } else { u64::MAX }
    }

    /// The index of the symbol with an id.
    #[inline]
    pub(super) fn index(&self, id: u64) -> Option<usize> {
        match usize::try_from(id) {
            Ok(index) if index < self.sequential => Some(index),
            _ if self.others.is_empty() => None,
            _ => self.others.get(&id).copied(),
        }
    }
}
