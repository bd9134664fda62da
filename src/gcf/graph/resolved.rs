//! Where the ends of edges stand among the symbols.
//!
//! Invariant: a [`Linked`] payload never changes, so that what was found of it stays true.

use super::index::Index;
use super::types::Payload;
use std::ops::Deref;
use std::sync::OnceLock;

/// The symbols at the ends of each edge, by position.
#[derive(Debug)]
pub(crate) struct Links {
    /// Source and target; [`Links::NONE`] where no symbol has the name.
    pub(crate) ends: Vec<[u32; 2]>,
    /// Whether no two symbols have one name, and every end is a symbol.
    pub(crate) sound: bool,
}

impl Links {
    pub(crate) const NONE: u32 = u32::MAX;

    pub(crate) fn new(payload: &Payload) -> Self {
        let index = Index::lenient(&payload.symbols);
        let find = |name: &str| index.position(name).unwrap_or(Self::NONE);
        let ends = payload.edges.iter().map(|edge| [find(&edge.source), find(&edge.target)]);
        let ends: Vec<_> = ends.collect();
        let sound = index.distinct() && ends.iter().flatten().all(|&end| end != Self::NONE);
        Self { ends, sound }
    }

    /// Lets the ends of edges be the very texts of the symbols that they name.
    pub(crate) fn share(&self, Payload { symbols, edges, .. }: &mut Payload) {
        for (edge, &[source, target]) in edges.iter_mut().zip(&self.ends) {
            for (end, at) in [(&mut edge.source, source), (&mut edge.target, target)] {
                if let Some(symbol) = symbols.get(at as usize) {
                    *end = symbol.qualified_name.clone();
                }
            }
        }
    }
}

/// A payload that does not change any more, so that the ends of its edges are looked up once, however
/// often it is written.
#[derive(Debug)]
pub struct Linked {
    payload: Payload,
    links: OnceLock<Links>,
}

impl Linked {
    /// Looks up the names at once, and lets the ends of edges be the very texts of the symbols that
    /// they name, which takes less memory.
    pub fn new(mut payload: Payload) -> Self {
        let links = Links::new(&payload);
        links.share(&mut payload);
        Self { payload, links: links.into() }
    }

    pub(crate) fn links(&self) -> &Links {
        self.links.get_or_init(|| Links::new(&self.payload))
    }
}

/// Looks up the names when it is written first.
impl From<Payload> for Linked {
    fn from(payload: Payload) -> Self {
        Self { payload, links: OnceLock::new() }
    }
}

impl Deref for Linked {
    type Target = Payload;

    fn deref(&self) -> &Payload {
        &self.payload
    }
}

impl PartialEq for Linked {
    fn eq(&self, other: &Self) -> bool {
        self.payload == other.payload
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        std::mem::take(&mut self.payload).release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::types::{Edge, Symbol};

    fn payload(names: &[&str], edges: &[(&str, &str)]) -> Payload {
        let symbol = |name: &&str| Symbol { qualified_name: (*name).into(), ..Symbol::default() };
        Payload {
            symbols: names.iter().map(symbol).collect(),
            edges: edges.iter().map(|(source, target)| Edge::new(source, target, "t")).collect(),
            ..Payload::default()
        }
    }

    #[test]
    fn ends_are_found_and_shared() {
        let plain = payload(&["a", "b"], &[("b", "a"), ("a", "a")]);
        let linked = Linked::new(plain.clone());
        assert_eq!((&linked.links().ends, linked.links().sound), (&vec![[1, 0], [0, 0]], true));
        assert_eq!(*linked, plain);
        assert_eq!(linked.edges[0].source.as_ptr(), linked.symbols[1].qualified_name.as_ptr());
        let later = Linked::from(plain);
        assert_eq!((&later.links().ends, &later), (&linked.links().ends, &linked));
    }

    #[test]
    fn a_name_of_none_or_of_two_is_not_sound() {
        let dangling = Linked::new(payload(&["a"], &[("a", "c")]));
        assert_eq!((&dangling.links().ends, dangling.links().sound), (&vec![[0, u32::MAX]], false));
        assert_eq!(*dangling.edges[0].target, *"c");
        assert!(!Links::new(&payload(&["a", "a"], &[])).sound);
        assert!(Links::new(&Payload::default()).sound);
    }
}
