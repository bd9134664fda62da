//! Names that edges share: counts what it costs to write them once per edge, and looks each up once.
//!
//! A text refers to a symbol by a number of a few digits, so that the names of all edges together can be
//! longer than the text by any factor.

use super::shared_str::SharedStr;
use super::types::{Edge, names_size};
use crate::gcf::error::{Code, Error};
use hashbrown::HashMap;
use std::cell::RefCell;
use std::marker::PhantomData;

/// Names of at least this length are looked up by address first. For shorter names that is no faster than
/// a lookup by content.
const LONG: usize = 64;

/// The message about edges whose names take more than `max_expansion` bytes; `None` if they do not.
pub(crate) fn too_large(edges: &[Edge], max_expansion: usize) -> Option<String> {
    let size = names_size(edges);
    (size > max_expansion).then(|| {
        let count = edges.len();
        format!(
            "the names of both ends of {count} edges take {size} bytes, more than max_expansion, \
             {max_expansion}"
        )
    })
}

/// Returns `limit_exceeded` if the names of the edges take more than `max_expansion` bytes.
pub(super) fn check_expansion(edges: &[Edge], max_expansion: usize) -> Result<(), Error> {
    match too_large(edges, max_expansion) {
        Some(message) => Err(Error::without_place(Code::LimitExceeded, message)),
        None => Ok(()),
    }
}

/// Stores the result of looking up a long name by its address, so that a name that many edges share in memory
/// is compared once. Without it, n edges between symbols with names of n bytes take quadratic time.
#[derive(Debug)]
pub(crate) struct NameMemo<'p, T> {
    found: RefCell<HashMap<(usize, usize), T>>,
    /// The names live as long as the memo, so that no other name gets the address of one.
    names: PhantomData<&'p SharedStr>,
}

impl<T> Default for NameMemo<'_, T> {
    fn default() -> Self {
        Self { found: RefCell::default(), names: PhantomData }
    }
}

impl<'p, T: Clone> NameMemo<'p, T> {
    /// Returns the result of `look_up` for a name; calls it only once for a long name at the same address.
    #[inline]
    pub(crate) fn get(&self, name: &'p SharedStr, look_up: impl FnOnce(&'p str) -> T) -> T {
        if name.len() < LONG {
            return look_up(name);
        }
        let address = (name.as_ptr().addr(), name.len());
        self.found.borrow_mut().entry(address).or_insert_with(|| look_up(name)).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_shared_name_is_looked_up_once() {
        let memo = NameMemo::default();
        let (long, short) = (SharedStr::from(&*"n".repeat(LONG)), SharedStr::from("n"));
        let (shared, copy) = (long.clone(), SharedStr::from(&*long));
        let count = std::cell::Cell::new(0);
        for name in [&long, &shared, &copy, &short, &short] {
            assert_eq!(
                memo.get(name, |name| (count.set(count.get() + 1), name.len()).1),
                name.len()
            );
        }
        assert_eq!(count.get(), 4);
    }

    #[test]
    fn the_message_names_count_limit_and_option() {
        let edges = vec![Edge::new("ab", "c", "calls"); 5];
        assert_eq!(too_large(&edges, 15), None);
        let message =
            "the names of both ends of 5 edges take 15 bytes, more than max_expansion, 14";
        assert_eq!(too_large(&edges, 14).as_deref(), Some(message));
    }
}
