//! A set of names that finds a name in constant time and rejects duplicates.

use crate::memory;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::collections::TryReserveError;

/// Up to this many names are compared one by one, which is faster than hashing.
const LINEAR: usize = 12;

/// Names in the order in which they were added.
#[derive(Debug)]
pub(crate) struct NameIndex<'t> {
    /// The first [`LINEAR`] names.
    first: Vec<Cow<'t, str>>,
    /// All later names with their positions; most objects have none, and no hash table.
    rest: Option<HashMap<Cow<'t, str>, usize>>,
}

impl<'t> NameIndex<'t> {
    pub(crate) fn new() -> Self {
        Self { first: Vec::new(), rest: None }
    }

    fn len(&self) -> usize {
        self.first.len() + self.rest.as_ref().map_or(0, HashMap::len)
    }

    /// The first few names, to show in an error message.
    pub(crate) fn first(&self) -> impl Iterator<Item = &str> {
        self.first.iter().map(|name| &**name)
    }

    /// The position of a name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let found = self.first.iter().position(|known| known == name);
        found.or_else(|| self.rest.as_ref()?.get(name).copied())
    }

    /// Adds a name; returns `false` if it is a duplicate.
    pub(crate) fn add(&mut self, name: Cow<'t, str>) -> Result<bool, TryReserveError> {
        if self.find(&name).is_some() {
            return Ok(false);
        }
        if self.first.len() < LINEAR {
            self.first.push(name);
        } else {
            let index = self.len();
            let rest = self.rest.get_or_insert_default();
            rest.try_reserve(1).map_err(|_| memory::exhausted())?;
            rest.insert(name, index);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::NameIndex;

    #[test]
    fn a_hundred_names_are_found_and_duplicates_rejected() {
        let mut names = NameIndex::new();
        for i in 0..100 {
            assert_eq!(names.add(i.to_string().into()), Ok(true));
        }
        assert_eq!([names.add("7".into()), names.add("77".into())], [Ok(false), Ok(false)]);
        assert_eq!((names.find("7"), names.find("77"), names.find("x")), (Some(7), Some(77), None));
    }
}
