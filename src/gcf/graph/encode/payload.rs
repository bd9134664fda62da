//! Writes a payload: validates every field, sorts symbols and edges, then writes the lines.
//!
//! Invariant: of several errors, the first in this order is returned: counts, each symbol by itself,
//! duplicate symbols, edges, the header, locations; within each of these, the first in payload order.

use super::lines::{
    located, write_edge, write_edges_label, write_group, write_header, write_locations, write_node,
};
use super::{Dangling, EncodeOptions};
use crate::gcf::error::{Code, Error};
use crate::gcf::graph::check::{Check, check_counts};
use crate::gcf::graph::index::Index;
use crate::gcf::graph::resolved::ResolvedEdges;
use crate::gcf::graph::score;
use crate::gcf::graph::session_table::IdPlan;
use crate::gcf::graph::types::{Edge, Payload};
use crate::interrupt::{Steps, polled};

/// Validates the symbols and returns their positions in the order of the text: by distance, then by
/// descending score, then by position.
pub(super) fn sorted_symbols(payload: &Payload, options: EncodeOptions) -> Result<Vec<u32>, Error> {
    check_counts(payload)?;
    let symbols = &payload.symbols;
    let count = u32::try_from(symbols.len()).map_err(|_| {
        let message = format!("expected at most 2^32 - 1 symbols, found {}", symbols.len());
        Error::without_place(Code::LimitExceeded, message)
    })?;
    let allow_unicode = options.allow_unicode;
    let mut keys = Vec::with_capacity(symbols.len());
    for (position, symbol) in (0..count).zip(polled(symbols)) {
        let path = || format!("$.symbols[{position}]");
        Check { allow_unicode, path }.symbol(symbol)?;
        keys.push((symbol.distance, score::descending(symbol.score), position));
    }
    keys.sort_unstable();
    Ok(keys.into_iter().map(|(_, _, position)| position).collect())
}

/// An edge to be written, with the ids of its source and target.
struct EdgeLine<'p> {
    source: u64,
    target: u64,
    edge: &'p Edge,
}

/// Validates the edges and returns those to be written, in the order of the text: by source id, then by
/// target id, then by type.
fn sorted_edges<'p>(
    payload: &'p Payload,
    resolved: &ResolvedEdges,
    options: EncodeOptions,
    ids: &[u64],
) -> Result<Vec<EdgeLine<'p>>, Error> {
    // Needed only to report or drop the edges whose ends are missing or ambiguous.
    let index = if resolved.complete { None } else { Some(Index::new(&payload.symbols)?) };
    let allow_unicode = options.allow_unicode;
    let mut lines = Vec::with_capacity(payload.edges.len());
    let edges = payload.edges.iter().zip(&resolved.ends);
    for (i, (edge, &[source, target])) in polled(edges).enumerate() {
        Check { allow_unicode, path: || format!("$.edges[{i}]") }.edge(edge)?;
        if let Some(index) = &index {
            let is_dangling = source == ResolvedEdges::MISSING || target == ResolvedEdges::MISSING;
            if options.dangling == Dangling::Drop && is_dangling {
                continue;
            }
            index.end(&edge.target, || format!("$.edges[{i}].target"))?;
            index.end(&edge.source, || format!("$.edges[{i}].source"))?;
        }
        let (source, target) = (ids[source as usize], ids[target as usize]);
        lines.push(EdgeLine { source, target, edge });
    }
    // Stable, so that edges that differ only in their status keep the order of the payload.
    let mut steps = Steps::default();
    lines.sort_by(|a, b| {
        steps.step();
        let ids = (a.source, a.target).cmp(&(b.source, b.target));
        ids.then_with(|| a.edge.edge_type.cmp(&b.edge.edge_type))
    });
    Ok(lines)
}

/// Writes the text of a payload whose symbols were validated and sorted by [`sorted_symbols`].
pub(super) fn write_payload(
    payload: &Payload,
    resolved: &ResolvedEdges,
    options: EncodeOptions,
    order: &[u32],
    plan: &IdPlan,
    session: bool,
) -> Result<String, Error> {
    let IdPlan { ids, known } = plan;
    let edges = sorted_edges(payload, resolved, options, ids)?;
    let mut out = String::with_capacity(1024 + 80 * order.len() + 24 * edges.len());
    write_header(payload, edges.len(), session, &mut out)?;
    let mut distance = None;
    for &position in polled(order) {
        let position = position as usize;
        let symbol = &payload.symbols[position];
        if distance != Some(symbol.distance) {
            distance = Some(symbol.distance);
            write_group(symbol.distance, &mut out);
        }
        let known = known.get(position).is_some_and(|&known| known);
        write_node(ids[position], symbol, known, &mut out);
    }
    if !edges.is_empty() {
        write_edges_label(edges.len(), &mut out);
    }
    for EdgeLine { source, target, edge } in polled(edges) {
        write_edge(target, source, edge, &mut out);
    }
    if options.locations {
        write_locations(located(payload, |position| ids[position]), &mut out)?;
    }
    Ok(out)
}
