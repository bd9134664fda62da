//! Finds the symbols of a payload by name, and rejects duplicates. Edges name the symbols that they connect.
//!
//! Invariant: two symbols may have the same name, but not the same name and kind. A kind and its abbreviation
//! are the same kind.

use super::check::invalid_value;
use super::expansion::NameMemo;
use super::shared_str::SharedStr;
use super::types::Symbol;
use super::vocabulary::abbreviated;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};
use crate::interrupt::polled;
use hashbrown::{DefaultHashBuilder, HashSet, HashTable, hash_table::Entry};
use std::hash::{BuildHasher, Hasher};

/// The identity of a symbol: its abbreviated kind and its name.
pub(super) type Identity<'p> = (&'p str, &'p str);

/// Returns the identity of a symbol. A kind and its abbreviation are the same kind.
pub(super) fn identity(symbol: &Symbol) -> Identity<'_> {
    (abbreviated(&symbol.kind), &symbol.qualified_name)
}

/// Finds the symbols of a payload by name.
pub(super) struct Index<'p> {
    symbols: &'p [Symbol],
    /// Positions of symbols by the hash of their names; for a duplicate name, the first position.
    positions: HashTable<u32>,
    hash: DefaultHashBuilder,
    /// Names that more than one symbol has.
    duplicates: HashSet<&'p str>,
    found: NameMemo<'p, Option<u32>>,
    ambiguous: NameMemo<'p, bool>,
}

impl<'p> Index<'p> {
    /// Indexes the symbols of a payload.
    ///
    /// # Errors
    /// `duplicate_symbol` if two symbols have the same kind and name.
    pub(super) fn new(symbols: &'p [Symbol]) -> Result<Self, Error> {
        let index = Self::lenient(symbols);
        if index.duplicates.is_empty() {
            return Ok(index);
        }
        let mut identities = HashSet::new();
        for (i, symbol) in polled(symbols).enumerate() {
            let is_duplicate = index.duplicates.contains(&*symbol.qualified_name);
            if is_duplicate && !identities.insert(identity(symbol)) {
                let name = excerpt(&symbol.qualified_name);
                let message = format!("duplicate symbol: {} {name}", symbol.kind);
                return Err(invalid_value(
                    Code::DuplicateSymbol,
                    format!("$.symbols[{i}]"),
                    message,
                ));
            }
        }
        Ok(index)
    }

    /// Indexes symbols of which several may have the same kind and name.
    pub(super) fn lenient(symbols: &'p [Symbol]) -> Self {
        let hash = DefaultHashBuilder::default();
        let name = |position: &u32| &*symbols[*position as usize].qualified_name;
        let mut positions = HashTable::with_capacity(symbols.len());
        let mut duplicates = HashSet::new();
        for (i, symbol) in (0_u32..).zip(polled(symbols)) {
            let new = &*symbol.qualified_name;
            let same = |position: &u32| name(position) == new;
            let rehash = |position: &u32| hash_of(&hash, name(position));
            match positions.entry(hash_of(&hash, new), same, rehash) {
                Entry::Occupied(_) => _ = duplicates.insert(new),
                Entry::Vacant(place) => _ = place.insert(i),
            }
        }
        Self {
            symbols,
            positions,
            hash,
            duplicates,
            found: NameMemo::default(),
            ambiguous: NameMemo::default(),
        }
    }

    /// The position of the first symbol with a name.
    pub(super) fn position(&self, name: &'p SharedStr) -> Option<u32> {
        self.found.get(name, |name| self.find(name))
    }

    /// [`Index::position`] of a name that may not live as long as the index.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let same = |position: &u32| *self.symbols[*position as usize].qualified_name == *name;
        self.positions.find(hash_of(&self.hash, name), same).copied()
    }

    /// The name of the symbol at a position.
    pub(super) fn name(&self, position: u32) -> &'p SharedStr {
        &self.symbols[position as usize].qualified_name
    }

    /// Whether all names are unique.
    pub(super) fn has_unique_names(&self) -> bool {
        self.duplicates.is_empty()
    }

    /// The position of the only symbol with a name. `path` is where an edge has the name, for
    /// errors.
    ///
    /// # Errors
    /// `dangling_edge` if no symbol has the name, `duplicate_symbol` if several have it.
    pub(super) fn end(&self, name: &'p SharedStr, path: impl Fn() -> String) -> Result<u32, Error> {
        match self.position(name) {
            None => {
                let message = format!("no symbol is named {}", excerpt(name));
                Err(invalid_value(Code::DanglingEdge, path(), message))
            }
            Some(_) if self.is_ambiguous(name) => {
                let message = format!(
                    "more than one symbol is named {}, so the edge is ambiguous",
                    excerpt(name)
                );
                Err(invalid_value(Code::DuplicateSymbol, path(), message))
            }
            Some(index) => Ok(index),
        }
    }

    /// Whether more than one symbol has a name.
    fn is_ambiguous(&self, name: &'p SharedStr) -> bool {
        !self.duplicates.is_empty()
            && self.ambiguous.get(name, |name| self.duplicates.contains(name))
    }
}

fn hash_of(hash: &DefaultHashBuilder, name: &str) -> u64 {
    let mut hasher = hash.build_hasher();
    hasher.write(name.as_bytes());
    hasher.finish()
}
