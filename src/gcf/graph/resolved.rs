//! Edges resolved to symbols: the positions of the source and target of every edge.

use super::index::Index;
use super::shared_str::{DropBatch, SharedStr};
use super::types::{Edge, Payload, Symbol};
use crate::interrupt::polled;
use std::collections::TryReserveError;
use std::ops::Deref;
use std::sync::OnceLock;

/// The edges of a payload, resolved to positions of symbols.
#[derive(Debug)]
pub(crate) struct ResolvedEdges {
    /// Source and target of each edge; [`ResolvedEdges::MISSING`] if no symbol has the name. If
    /// several symbols have it, the position of the first.
    pub(crate) ends: Vec<[u32; 2]>,
    /// Whether all names are unique and every source and target is a symbol.
    pub(crate) complete: bool,
}

impl ResolvedEdges {
    pub(crate) const MISSING: u32 = u32::MAX;

    pub(crate) fn new(payload: &Payload) -> Self {
        let index = Index::lenient(&payload.symbols);
        let find = |name| index.position(name).unwrap_or(Self::MISSING);
        let ends = polled(&payload.edges).map(|edge| [find(&edge.source), find(&edge.target)]);
        Self::of(ends.collect(), &index)
    }

    fn of(ends: Vec<[u32; 2]>, index: &Index<'_>) -> Self {
        let resolved = ends.iter().flatten().all(|&end| end != Self::MISSING);
        Self { ends, complete: index.has_unique_names() && resolved }
    }

    /// Replaces source and target of each edge by the string of the symbol, so that both share memory.
    fn share_names(&self, Payload { symbols, edges, .. }: &mut Payload) {
        for (edge, &[source, target]) in polled(edges).zip(&self.ends) {
            for (end, position) in [(&mut edge.source, source), (&mut edge.target, target)] {
                if let Some(symbol) = symbols.get(position as usize) {
                    *end = symbol.qualified_name.clone();
                }
            }
        }
    }
}

impl Payload {
    /// Makes the edges share the name strings of the symbols, which takes less memory.
    pub fn share_names(&mut self) {
        ResolvedEdges::new(self).share_names(self);
    }
}

/// Takes the edges of a payload, and resolves each at once: the names of symbols are not copied.
pub struct EdgeLinker<'p> {
    index: Index<'p>,
    edges: Vec<Edge>,
    ends: Vec<[u32; 2]>,
}

impl<'p> EdgeLinker<'p> {
    fn new(symbols: &'p [Symbol]) -> Self {
        Self { index: Index::lenient(symbols), edges: Vec::new(), ends: Vec::new() }
    }

    /// Adds an edge between the symbols with these names.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn push(
        &mut self,
        source: &str,
        target: &str,
        edge_type: SharedStr,
        status: SharedStr,
    ) -> Result<(), TryReserveError> {
        self.edges.try_reserve(1)?;
        self.ends.try_reserve(1)?;
        let [(source, from), (target, to)] = [source, target].map(|name| self.end(name));
        self.edges.push(Edge { source, target, edge_type, status });
        self.ends.push([from, to]);
        Ok(())
    }

    fn end(&self, name: &str) -> (SharedStr, u32) {
        match self.index.find(name) {
            Some(position) => (self.index.name(position).clone(), position),
            None => (name.into(), ResolvedEdges::MISSING),
        }
    }

    fn finish(self) -> (Vec<Edge>, ResolvedEdges) {
        let resolved = ResolvedEdges::of(self.ends, &self.index);
        (self.edges, resolved)
    }
}

/// An immutable payload whose edges are resolved once, however often it is encoded.
#[derive(Debug)]
pub struct ResolvedPayload {
    payload: Payload,
    resolved: OnceLock<ResolvedEdges>,
}

impl ResolvedPayload {
    /// Resolves the edges and makes them share the name strings of the symbols, which takes less memory.
    pub fn new(mut payload: Payload) -> Self {
        let resolved = ResolvedEdges::new(&payload);
        resolved.share_names(&mut payload);
        Self { payload, resolved: resolved.into() }
    }

    /// [`ResolvedPayload::new`] of the payload with the edges that `add` adds, instead of its own.
    ///
    /// # Errors
    /// The error of `add`.
    pub fn with_edges<E>(
        mut payload: Payload,
        add: impl FnOnce(&mut EdgeLinker<'_>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut linker = EdgeLinker::new(&payload.symbols);
        add(&mut linker)?;
        let (edges, resolved) = linker.finish();
        payload.edges = edges;
        Ok(Self { payload, resolved: resolved.into() })
    }

    pub(crate) fn resolved(&self) -> &ResolvedEdges {
        self.resolved.get_or_init(|| ResolvedEdges::new(&self.payload))
    }

    /// A key for each edge: the positions of its source and target, or their names if no symbol has them, and
    /// its type and status. Equal edges between equal symbols have equal keys. These are much cheaper to
    /// compare and to hash than names that many edges share.
    pub fn edge_keys(&self) -> impl Iterator<Item = ([Result<u32, &str>; 2], &str, &str)> {
        self.edges.iter().zip(&self.resolved().ends).map(|(edge, &[source, target])| {
            let end = |position, name| match position {
                ResolvedEdges::MISSING => Err(name),
                position => Ok(position),
            };
            let ends = [end(source, &*edge.source), end(target, &*edge.target)];
            (ends, &*edge.edge_type, &*edge.status)
        })
    }
}

/// Resolves the edges when the payload is first encoded.
impl From<Payload> for ResolvedPayload {
    fn from(payload: Payload) -> Self {
        Self { payload, resolved: OnceLock::new() }
    }
}

impl Deref for ResolvedPayload {
    type Target = Payload;

    fn deref(&self) -> &Payload {
        &self.payload
    }
}

impl PartialEq for ResolvedPayload {
    fn eq(&self, other: &Self) -> bool {
        let Payload { tool, tokens_used, token_budget, pack_root, symbols, edges } = &self.payload;
        (tool, tokens_used, token_budget, pack_root)
            == (&other.tool, &other.tokens_used, &other.token_budget, &other.pack_root)
            && edges.len() == other.edges.len()
            && *symbols == other.symbols
            && self.edge_keys().eq(other.edge_keys())
    }
}

/// Drops all strings together: one change of the reference count if they share a buffer.
impl Drop for ResolvedPayload {
    fn drop(&mut self) {
        let Payload { symbols, edges, .. } = std::mem::take(&mut self.payload);
        let mut batch = DropBatch::default();
        for Edge { source, target, edge_type, status } in edges {
            for string in [source, target, edge_type, status] {
                batch.add(string);
            }
        }
        for Symbol { qualified_name, kind, provenance, signature, .. } in symbols {
            for string in [qualified_name, kind, provenance, signature] {
                batch.add(string);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(names: &[&str], edges: &[(&str, &str)]) -> Payload {
        let symbol = |name: &&str| Symbol { qualified_name: (*name).into(), ..Symbol::default() };
        Payload {
            symbols: names.iter().map(symbol).collect(),
            edges: edges.iter().map(|(source, target)| Edge::new(source, target, "t")).collect(),
            ..Payload::default()
        }
    }

    #[test]
    fn edges_are_resolved_and_share_the_names_of_symbols() {
        let plain = payload(&["a", "b"], &[("b", "a"), ("a", "a")]);
        let payload = ResolvedPayload::new(plain.clone());
        let resolved = payload.resolved();
        assert_eq!((&resolved.ends, resolved.complete), (&vec![[1, 0], [0, 0]], true));
        assert_eq!(*payload, plain);
        assert_eq!(payload.edges[0].source.as_ptr(), payload.symbols[1].qualified_name.as_ptr());
        let lazy = ResolvedPayload::from(plain);
        assert_eq!((&lazy.resolved().ends, &lazy), (&resolved.ends, &payload));
    }

    #[test]
    fn edges_that_come_one_by_one_are_resolved_alike() {
        for ends in [&[("b", "a"), ("a", "a")][..], &[("a", "c")], &[]] {
            let whole = payload(&["a", "b", "a"], ends);
            let symbols = Payload { edges: Vec::new(), ..whole.clone() };
            let linked = ResolvedPayload::with_edges(symbols, |edges| {
                ends.iter().try_for_each(|(source, target)| {
                    edges.push(source, target, "t".into(), SharedStr::default())
                })
            });
            let (linked, whole) = (linked.unwrap(), ResolvedPayload::new(whole));
            assert_eq!(linked, whole);
            assert_eq!(linked.resolved().ends, whole.resolved().ends);
            assert_eq!(linked.resolved().complete, whole.resolved().complete);
            for edge in linked.edges.iter().filter(|edge| *edge.source == *"a") {
                assert_eq!(edge.source.as_ptr(), linked.symbols[0].qualified_name.as_ptr());
            }
        }
    }

    #[test]
    fn a_missing_or_duplicate_name_makes_the_edges_incomplete() {
        let dangling = ResolvedPayload::new(payload(&["a"], &[("a", "c")]));
        let resolved = dangling.resolved();
        assert_eq!((&resolved.ends, resolved.complete), (&vec![[0, u32::MAX]], false));
        assert_eq!(*dangling.edges[0].target, *"c");
        assert!(!ResolvedEdges::new(&payload(&["a", "a"], &[])).complete);
        assert!(ResolvedEdges::new(&Payload::default()).complete);
    }
}
