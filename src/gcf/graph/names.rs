//! What a line can hold, and how kinds are abbreviated. GCF 3.6 sections 4 and 16.1.

use super::types::{Edge, Payload, Symbol};
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Place};
use crate::text::scan::{self, NotGraphic};
use hashbrown::{DefaultHashBuilder, HashSet, HashTable, hash_table::Entry};
use std::hash::{BuildHasher, Hasher};

/// The abbreviation of a kind in a text; other kinds are written in full.
pub(super) fn abbreviated(kind: &str) -> &str {
    match kind {
        "function" => "fn",
        "interface" => "iface",
        "route_handler" => "route",
        "external" => "ext",
        "package" => "pkg",
        "service" => "svc",
        _ => kind,
    }
}

/// The kind that a text names: the inverse of [`abbreviated`].
pub(super) fn expanded(kind: &str) -> &str {
    match kind {
        "fn" => "function",
        "iface" => "interface",
        "route" => "route_handler",
        "ext" => "external",
        "pkg" => "package",
        "svc" => "service",
        _ => kind,
    }
}

/// What a symbol is, whatever else is known about it.
pub(super) type Identity<'p> = (&'p str, &'p str);

/// The kind as a line names it, and the name: two spellings of a kind are one kind.
pub(super) fn identity(symbol: &Symbol) -> Identity<'_> {
    (abbreviated(&symbol.kind), &symbol.qualified_name)
}

/// An error about a value at `path`.
#[cold]
pub(super) fn unfit(code: Code, path: String, message: impl Into<String>) -> Error {
    Error { code, message: message.into(), place: Place::Value(path) }
}

/// Whether a line can hold this word.
pub(super) fn is_word(word: &str, allow_unicode: bool) -> bool {
    !word.is_empty()
        && (!scan::contains::<NotGraphic>(word.as_bytes())
            || (allow_unicode && !word.chars().any(|c| c.is_whitespace() || c.is_control())))
}

/// Refuses a word that a line cannot hold.
fn check_word(word: &str, allow_unicode: bool, path: impl FnOnce() -> String) -> Result<(), Error> {
    if is_word(word, allow_unicode) {
        return Ok(());
    }
    let message = if word.is_empty() {
        "empty, and every line needs one".to_owned()
    } else if !allow_unicode && is_word(word, true) {
        format!("{} is not ASCII; allow_unicode writes it", excerpt(word))
    } else {
        format!("{} has white space or control characters", excerpt(word))
    };
    Err(unfit(Code::InvalidGraphName, path(), message))
}

/// Refuses a symbol that a line cannot hold; `path` leads to it.
pub(super) fn check_symbol(
    symbol: &Symbol,
    allow_unicode: bool,
    path: impl Fn() -> String,
) -> Result<(), Error> {
    check_identity(symbol, allow_unicode, &path)?;
    check_word(&symbol.provenance, allow_unicode, || path() + ".provenance")?;
    if !symbol.score.is_finite() {
        let message =
            format!("the score of {} is {}", excerpt(&symbol.qualified_name), symbol.score);
        return Err(unfit(Code::NotFinite, path() + ".score", message));
    }
    if symbol.distance < 0 {
        let message = format!("the distance {} is negative", symbol.distance);
        return Err(unfit(Code::OutOfRange, path() + ".distance", message));
    }
    Ok(())
}

/// Refuses a symbol whose kind or name a line cannot hold.
pub(super) fn check_identity(
    symbol: &Symbol,
    allow_unicode: bool,
    path: impl Fn() -> String,
) -> Result<(), Error> {
    check_word(&symbol.qualified_name, allow_unicode, || path() + ".qualified_name")?;
    check_word(&symbol.kind, allow_unicode, || path() + ".kind")
}

/// Refuses an edge that a line cannot hold, but for its ends.
pub(super) fn check_edge(
    edge: &Edge,
    allow_unicode: bool,
    path: impl Fn() -> String,
) -> Result<(), Error> {
    check_word(&edge.edge_type, allow_unicode, || path() + ".edge_type")?;
    if edge.status.is_empty() {
        return Ok(());
    }
    check_word(&edge.status, allow_unicode, || path() + ".status")
}

/// Refuses a count that is negative.
pub(super) fn check_counts(payload: &Payload) -> Result<(), Error> {
    for (name, count) in
        [("tokens_used", payload.tokens_used), ("token_budget", payload.token_budget)]
    {
        if count < 0 {
            let message = format!("the count {count} is negative");
            return Err(unfit(Code::OutOfRange, format!("$.{name}"), message));
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::vocabulary;

    #[test]
    fn every_kind_has_one_abbreviation() {
        let words = "fn type method iface var const resource table class selector field route ext \
                     file pkg svc env_var process";
        for (kind, word) in vocabulary::KINDS[1..].iter().zip(words.split(' ')) {
            assert_eq!((abbreviated(kind), expanded(word)), (word, *kind));
        }
        assert_eq!((abbreviated("widget"), expanded("widget")), ("widget", "widget"));
    }

    #[test]
    fn a_word_has_no_white_space() {
        for word in ["a", "a.b<c>", "#", "@0"] {
            assert!(is_word(word, false), "{word}");
        }
        for word in ["é", "\u{BD7}x"] {
            assert!(!is_word(word, false) && is_word(word, true), "{word}");
        }
        let long = "github.com/acme/service.Symbol";
        for byte in 0..128_u8 {
            for at in 0..long.len() {
                let word = format!("{}{}{}", &long[..at], char::from(byte), &long[at + 1..]);
                assert_eq!(is_word(&word, false), byte.is_ascii_graphic(), "{word:?}");
            }
        }
        for word in ["", "a b", "a\t", "\u{2028}", "\u{7F}", "\u{85}", "\u{A0}"] {
            assert!(!is_word(word, true), "{word:?}");
        }
    }
}
