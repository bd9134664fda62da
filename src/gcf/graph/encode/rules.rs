//! The writer by the rules: everything is checked and put into order first, then written.
//!
//! Invariant: what is checked first is told first: counts, each symbol by itself, two of one name, edges,
//! the header, locations; within these, the first in the order of the payload.

use super::lines::{
    located, write_edge, write_edges_label, write_group, write_header, write_locations, write_node,
};
use super::{Dangling, EncodeOptions};
use crate::gcf::error::{Code, Error};
use crate::gcf::graph::names::{Index, check_counts, check_edge, check_symbol};
use crate::gcf::graph::score;
use crate::gcf::graph::session_table::Planned;
use crate::gcf::graph::types::{Edge, Payload, Text};

/// The positions of the symbols, each found fit, in the order of the text.
pub(super) fn order(payload: &Payload, options: EncodeOptions) -> Result<Vec<u32>, Error> {
    check_counts(payload)?;
    let symbols = &payload.symbols;
    for (i, symbol) in symbols.iter().enumerate() {
        check_symbol(symbol, options.allow_unicode, || format!("$.symbols[{i}]"))?;
    }
    let mut order: Vec<u32> = (0..count(symbols.len(), "symbols")?).collect();
    order.sort_by_key(|&position| {
        let symbol = &symbols[position as usize];
        (symbol.distance, score::descending(symbol.score))
    });
    Ok(order)
}

fn count(length: usize, what: &str) -> Result<u32, Error> {
    let message = || format!("more than 2^32 {what}");
    u32::try_from(length).map_err(|_| Error::without_place(Code::LimitExceeded, message()))
}

/// An edge that is written: the ids of its ends, and itself.
struct Ends<'p> {
    source: u64,
    target: u64,
    edge: &'p Edge,
}

/// The edges that are written, each found fit, in the order of the text.
fn ends<'p>(
    payload: &'p Payload,
    options: EncodeOptions,
    ids: &[u64],
) -> Result<Vec<Ends<'p>>, Error> {
    let index = Index::new(&payload.symbols)?;
    let mut ends = Vec::with_capacity(payload.edges.len());
    for (i, edge) in payload.edges.iter().enumerate() {
        check_edge(edge, options.allow_unicode, || format!("$.edges[{i}]"))?;
        let is_missing = |end: &Text| index.position(end).is_none();
        let Edge { source, target, .. } = edge;
        if options.dangling == Dangling::Drop && (is_missing(source) || is_missing(target)) {
            continue;
        }
        let target = ids[index.end(target, || format!("$.edges[{i}].target"))? as usize];
        let source = ids[index.end(source, || format!("$.edges[{i}].source"))? as usize];
        ends.push(Ends { source, target, edge });
    }
    ends.sort_by_key(|ends| (ends.source, ends.target, &ends.edge.edge_type));
    Ok(ends)
}

/// The text of symbols whose order was found.
pub(super) fn write(
    payload: &Payload,
    options: EncodeOptions,
    order: &[u32],
    planned: &Planned,
    session: bool,
) -> Result<String, Error> {
    let Planned { ids, known } = planned;
    let ends = ends(payload, options, ids)?;
    let mut out = String::with_capacity(1024 + 80 * order.len() + 24 * ends.len());
    write_header(payload, ends.len(), session, &mut out)?;
    let mut distance = None;
    for &position in order {
        let position = position as usize;
        let symbol = &payload.symbols[position];
        if distance != Some(symbol.distance) {
            distance = Some(symbol.distance);
            write_group(symbol.distance, &mut out);
        }
        let known = known.get(position).is_some_and(|&known| known);
        write_node(ids[position], symbol, known, &mut out);
    }
    if !ends.is_empty() {
        write_edges_label(ends.len(), &mut out);
    }
    for Ends { source, target, edge } in ends {
        write_edge(target, source, edge, &mut out);
    }
    if options.locations {
        write_locations(located(payload, |position| ids[position]), &mut out)?;
    }
    Ok(out)
}
