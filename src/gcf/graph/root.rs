//! The hash of a graph, independent of the order of its symbols and edges (`gcf-pack-root-v1`).

use super::check::{Check, invalid_value, is_word};
use super::expansion::check_expansion;
use super::index::{Index, identity};
use super::types::{Edge, Payload, Symbol};
use super::vocabulary::abbreviated;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};
use crate::gcf::syntax::number::write_float;
use crate::interrupt::{Steps, polled};
use crate::text::hex;
use sha2::{Digest, Sha256};

/// Returns the hash of a payload: `sha256:` and 64 hexadecimal digits. It covers the kinds, names,
/// scores, provenances and distances of the symbols, and the edges without their status.
///
/// The names of the edges may take `max_expansion` bytes; the hash reads them once per edge, but needs no
/// memory for them.
///
/// # Errors
/// `dangling_edge` if no symbol has the name of an edge's source or target, `duplicate_symbol` if several
/// have it; `invalid_graph_name`, `not_finite`, `out_of_range` as in [`encode`](super::encode);
/// `limit_exceeded` beyond `max_expansion`.
pub fn pack_root(payload: &Payload, max_expansion: usize) -> Result<String, Error> {
    let mut hash = Sha256::new();
    canonical_parts(payload, max_expansion, |part| hash.update(part))?;
    let mut root = PREFIX.to_owned();
    hex::write(&hash.finalize(), &mut root);
    Ok(root)
}

const PREFIX: &str = "sha256:";

/// Whether a string has the form of a [`pack_root`].
pub(super) fn is_root(text: &str) -> bool {
    text.strip_prefix(PREFIX)
        .is_some_and(|digits| hex::decode_lower::<32>(digits.as_bytes()).is_some())
}

/// Returns the text that [`pack_root`] hashes: one record per line, sorted.
///
/// # Errors
/// As [`pack_root`].
pub fn canonical_bytes(payload: &Payload, max_expansion: usize) -> Result<String, Error> {
    let mut text = String::new();
    canonical_parts(payload, max_expansion, |part| text.push_str(part))?;
    Ok(text)
}

/// Emits the canonical text in parts.
fn canonical_parts(
    payload: &Payload,
    max_expansion: usize,
    mut emit: impl FnMut(&str),
) -> Result<(), Error> {
    check_expansion(&payload.edges, max_expansion)?;
    let mut symbols = Vec::with_capacity(payload.symbols.len());
    for (i, symbol) in polled(&payload.symbols).enumerate() {
        symbols.push(symbol_record(symbol, i)?);
    }
    let mut steps = Steps::default();
    symbols.sort_unstable_by(|a, b| {
        steps.step();
        a.cmp(b)
    });
    let edges = sorted_edges(payload)?;
    for record in polled(&symbols) {
        emit(record);
    }
    for ([source, target], edge) in polled(edges) {
        emit("E");
        for end in [source, target] {
            let (kind, name) = identity(&payload.symbols[end as usize]);
            for part in ["\t", kind, "\t", name] {
                emit(part);
            }
        }
        for part in ["\t", &edge.edge_type, "\n"] {
            emit(part);
        }
    }
    Ok(())
}

fn symbol_record(symbol: &Symbol, i: usize) -> Result<String, Error> {
    let path = || format!("$.symbols[{i}]");
    Check { allow_unicode: true, path }.identity(symbol)?;
    if !symbol.provenance.is_empty() && !is_word(&symbol.provenance, true) {
        let message =
            format!("{} contains white space or control characters", excerpt(&symbol.provenance));
        return Err(invalid_value(Code::InvalidGraphName, path() + ".provenance", message));
    }
    if !symbol.score.is_finite() {
        let message = format!("the score is {}, not a finite number", symbol.score);
        return Err(invalid_value(Code::NotFinite, path() + ".score", message));
    }
    let mut score = String::new();
    write_float(symbol.score, &mut score);
    Ok(format!(
        "S\t{}\t{}\t{score}\t{}\t{}\n",
        abbreviated(&symbol.kind),
        symbol.qualified_name,
        symbol.provenance,
        symbol.distance
    ))
}

/// The edges with the positions of their sources and targets, in the order of their records.
///
/// A record consists of words, and the tabs between them sort before all characters of a word. Records
/// therefore sort by their fields: by the rank of the source, the rank of the target, and the type.
fn sorted_edges(payload: &Payload) -> Result<Vec<([u32; 2], &Edge)>, Error> {
    let mut edges = Vec::with_capacity(payload.edges.len());
    if payload.edges.is_empty() {
        return Ok(edges);
    }
    let index = Index::lenient(&payload.symbols);
    for (i, edge) in polled(&payload.edges).enumerate() {
        let source = index.end(&edge.source, || format!("$.edges[{i}].source"))?;
        let target = index.end(&edge.target, || format!("$.edges[{i}].target"))?;
        if !is_word(&edge.edge_type, true) {
            let message = format!(
                "{} is empty or contains white space or control characters",
                excerpt(&edge.edge_type)
            );
            return Err(invalid_value(
                Code::InvalidGraphName,
                format!("$.edges[{i}].edge_type"),
                message,
            ));
        }
        edges.push(([source, target], edge));
    }
    let ranks = ranks(&payload.symbols);
    let mut steps = Steps::default();
    edges.sort_unstable_by(|(a, edge), (b, other)| {
        steps.step();
        let ranks = |ends: &[u32; 2]| ends.map(|end| ranks[end as usize]);
        ranks(a).cmp(&ranks(b)).then_with(|| edge.edge_type.cmp(&other.edge_type))
    });
    Ok(edges)
}

/// The rank of each symbol among all, by kind and name.
fn ranks(symbols: &[Symbol]) -> Vec<u32> {
    let mut order: Vec<_> = (0_u32..).zip(symbols).collect();
    order.sort_unstable_by_key(|&(_, symbol)| identity(symbol));
    let mut ranks = vec![0; symbols.len()];
    for (rank, (position, _)) in (0..).zip(order) {
        ranks[position as usize] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_graph_has_the_hash_of_the_empty_string() {
        let root = pack_root(&Payload::default(), 0).unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(root, format!("sha256:{empty}"));
        assert!(is_root(&root) && !is_root(empty) && !is_root(&root.to_uppercase()));
    }
}
