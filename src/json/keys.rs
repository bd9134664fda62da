//! The keys of the open objects, for finding duplicates.
//!
//! Objects of one array mostly have the same keys in the same order. So each level keeps the keys of the
//! object that closed last: a key that stands where it stood there is known to be new, and the reader
//! compares it with the text instead of reading it.
//!
//! Invariant: the keys of a level are distinct, and the first [`Level::confirmed`] of them are those that the
//! open object has so far.

use crate::memory;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::borrow::Cow;
use std::hash::BuildHasher;

/// Up to this many keys are compared one by one; more have an index.
const FEW: usize = 16;

#[derive(Default)]
pub(super) struct Keys<'a> {
    /// One for each level that an object has been on.
    levels: Vec<Level<'a>>,
    /// The number of open objects.
    open: usize,
}

#[derive(Default)]
struct Level<'a> {
    keys: Vec<Cow<'a, str>>,
    confirmed: usize,
    index: Option<Index>,
}

/// The positions of keys by their hashes.
#[derive(Default)]
struct Index {
    positions: HashTable<usize>,
    hash: DefaultHashBuilder,
}

impl<'a> Keys<'a> {
    pub(super) fn begin_object(&mut self) {
        if self.open == self.levels.len() {
            self.levels.push(Level::default());
        }
        let level = &mut self.levels[self.open];
        level.confirmed = 0;
        level.index = None;
        self.open += 1;
    }

    pub(super) fn end_object(&mut self) {
        self.open -= 1;
    }

    fn innermost(&mut self) -> Option<&mut Level<'a>> {
        self.levels[..self.open].last_mut()
    }

    /// The key that is likely to be next in the innermost object, if it has no escapes.
    #[inline]
    pub(super) fn expected(&self) -> Option<&'a str> {
        let level = self.levels[..self.open].last()?;
        match level.keys.get(level.confirmed)? {
            Cow::Borrowed(key) => Some(key),
            Cow::Owned(_) => None,
        }
    }

    /// Adds the key that [`Self::expected`] returned to the innermost object.
    #[inline]
    pub(super) fn confirm(&mut self) {
        if let Some(level) = self.innermost() {
            level.confirmed += 1;
        }
    }

    /// Adds a key to the innermost object. Returns it if it is a duplicate.
    pub(super) fn insert(&mut self, key: Cow<'a, str>) -> Option<Cow<'a, str>> {
        let level = self.innermost()?;
        if level.keys.get(level.confirmed) == Some(&key) {
            level.confirmed += 1;
            return None;
        }
        level.keys.truncate(level.confirmed);
        if level.contains(&key) {
            return Some(key);
        }
        level.push(key);
        None
    }
}

impl<'a> Level<'a> {
    /// Whether the open object has the key. Precondition: every key of the level is confirmed.
    fn contains(&mut self, key: &str) -> bool {
        if self.keys.len() <= FEW {
            return self.keys.iter().any(|known| known == key);
        }
        let Self { keys, index, .. } = self;
        index.get_or_insert_with(|| Index::of(keys)).contains(keys, key)
    }

    fn push(&mut self, key: Cow<'a, str>) {
        memory::push(&mut self.keys, key);
        self.confirmed += 1;
        if let Some(index) = &mut self.index {
            index.push(&self.keys);
        }
    }
}

impl Index {
    fn of(keys: &[Cow<'_, str>]) -> Self {
        let mut index = Self::default();
        for length in 1..=keys.len() {
            index.push(&keys[..length]);
        }
        index
    }

    fn contains(&self, keys: &[Cow<'_, str>], key: &str) -> bool {
        let hash = self.hash.hash_one(key);
        self.positions.find(hash, |&position| keys[position] == key).is_some()
    }

    /// Adds the last key, which is new.
    fn push(&mut self, keys: &[Cow<'_, str>]) {
        let Self { positions, hash } = self;
        let hash_at = |position: usize| hash.hash_one(&*keys[position]);
        let reserved = positions.try_reserve(1, |&position| hash_at(position));
        memory::require(reserved.map_err(|_| memory::exhausted()));
        let last = keys.len() - 1;
        positions.insert_unique(hash_at(last), last, |&position| hash_at(position));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// Reads the keys of one object as the reader does. Returns the first duplicate.
    fn first_duplicate<'a>(keys: &mut Keys<'a>, object: &[Cow<'a, str>]) -> Option<Cow<'a, str>> {
        keys.begin_object();
        let mut duplicate = None;
        for key in object {
            if keys.expected() == Some(&**key) {
                keys.confirm();
            } else {
                duplicate = keys.insert(key.clone());
            }
            if duplicate.is_some() {
                break;
            }
        }
        keys.end_object();
        duplicate
    }

    proptest! {
        #[test]
        fn duplicates_are_those_of_a_set(
            objects in prop::collection::vec(prop::collection::vec((0..40_u8, any::<bool>()), 0..40), 1..6),
        ) {
            let names: Vec<_> = (0..40).map(|number| format!("key {number}")).collect();
            let mut keys = Keys::default();
            for object in objects {
                let object: Vec<Cow<'_, str>> = object
                    .iter()
                    .map(|&(number, escaped)| {
                        let name = &names[usize::from(number)];
                        if escaped { Cow::Owned(name.clone()) } else { Cow::Borrowed(&**name) }
                    })
                    .collect();
                let mut seen = HashSet::new();
                let expected = object.iter().find(|&key| !seen.insert(key)).cloned();
                prop_assert_eq!(first_duplicate(&mut keys, &object), expected);
            }
        }

        #[test]
        fn an_object_that_leaves_the_pattern_is_checked_as_a_whole(
            size in 1..60_usize, left in 0..60_usize, of in 0..60_usize,
        ) {
            let names: Vec<_> = (0..=size).map(|number| format!("key {number}")).collect();
            let first: Vec<_> = names[..size].iter().map(|name| Cow::Borrowed(&**name)).collect();
            let mut second = first.clone();
            let (left, of) = (left % size, of % size);
            second[left] = first[of].clone();
            let mut keys = Keys::default();
            prop_assert_eq!(first_duplicate(&mut keys, &first), None);
            let expected = (left != of).then(|| first[of].clone());
            prop_assert_eq!(first_duplicate(&mut keys, &second), expected);
            let mut longer = first.clone();
            longer.push(Cow::Borrowed(&*names[size]));
            prop_assert_eq!(first_duplicate(&mut keys, &longer), None);
            prop_assert_eq!(first_duplicate(&mut keys, &first), None);
        }
    }
}
