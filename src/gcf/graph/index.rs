//! The symbols of a payload by name.

use super::check::unfit;
use super::types::Symbol;
use super::vocabulary::abbreviated;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};
use hashbrown::{DefaultHashBuilder, HashSet, HashTable, hash_table::Entry};
use std::hash::{BuildHasher, Hasher};

/// What a symbol is, whatever else is known about it.
pub(super) type Identity<'p> = (&'p str, &'p str);

/// The kind as a line names it, and the name: two spellings of a kind are one kind.
pub(super) fn identity(symbol: &Symbol) -> Identity<'_> {
    (abbreviated(&symbol.kind), &symbol.qualified_name)
}

/// The symbols of a payload by name.
pub(super) struct Index<'p> {
    symbols: &'p [Symbol],
    /// Positions, found by the hash of the name that stands there.
    positions: HashTable<u32>,
    hash: DefaultHashBuilder,
    shared: HashSet<&'p str>,
}

impl<'p> Index<'p> {
    /// # Errors
    /// `duplicate_symbol` where two have kind and name in common.
    pub(super) fn new(symbols: &'p [Symbol]) -> Result<Self, Error> {
        let index = Self::lenient(symbols);
        if index.shared.is_empty() {
            return Ok(index);
        }
        let mut identities = HashSet::new();
        for (i, symbol) in symbols.iter().enumerate() {
            let shared = index.shared.contains(&*symbol.qualified_name);
            if shared && !identities.insert(identity(symbol)) {
                let name = excerpt(&symbol.qualified_name);
                let message = format!("{} {name} is there twice", symbol.kind);
                return Err(unfit(Code::DuplicateSymbol, format!("$.symbols[{i}]"), message));
            }
        }
        Ok(index)
    }

    /// Symbols that have kind and name in common are two all the same.
    pub(super) fn lenient(symbols: &'p [Symbol]) -> Self {
        let hash = DefaultHashBuilder::default();
        let name = |position: &u32| &*symbols[*position as usize].qualified_name;
        let mut positions = HashTable::with_capacity(symbols.len());
        let mut shared = HashSet::new();
        for (i, symbol) in (0_u32..).zip(symbols) {
            let new = &*symbol.qualified_name;
            let same = |position: &u32| name(position) == new;
            let rehash = |position: &u32| hash_of(&hash, name(position));
            match positions.entry(hash_of(&hash, new), same, rehash) {
                Entry::Occupied(_) => _ = shared.insert(new),
                Entry::Vacant(place) => _ = place.insert(i),
            }
        }
        Self { symbols, positions, hash, shared }
    }

    /// The first symbol of a name.
    pub(super) fn position(&self, name: &str) -> Option<u32> {
        let same = |position: &u32| *self.symbols[*position as usize].qualified_name == *name;
        self.positions.find(hash_of(&self.hash, name), same).copied()
    }

    /// Whether no two symbols have one name.
    pub(super) fn distinct(&self) -> bool {
        self.shared.is_empty()
    }

    /// The only symbol of a name.
    ///
    /// # Errors
    /// `dangling_edge`, `duplicate_symbol`, with the path to the end of the edge that names it.
    pub(super) fn end(&self, name: &str, path: impl Fn() -> String) -> Result<u32, Error> {
        match self.position(name) {
            None => {
                let message = format!("{} is not among the symbols", excerpt(name));
                Err(unfit(Code::DanglingEdge, path(), message))
            }
            Some(_) if !self.shared.is_empty() && self.shared.contains(name) => {
                let message = format!(
                    "more than one symbol is called {}, and an edge names no kind",
                    excerpt(name)
                );
                Err(unfit(Code::DuplicateSymbol, path(), message))
            }
            Some(index) => Ok(index),
        }
    }

    /// [`Index::end`], as the symbol.
    pub(super) fn symbol(
        &self,
        name: &str,
        path: impl Fn() -> String,
    ) -> Result<&'p Symbol, Error> {
        self.end(name, path).map(|index| &self.symbols[index as usize])
    }
}

fn hash_of(hash: &DefaultHashBuilder, name: &str) -> u64 {
    let mut hasher = hash.build_hasher();
    hasher.write(name.as_bytes());
    hasher.finish()
}
