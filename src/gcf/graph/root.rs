//! The hash of a graph, independent of the order of its symbols and edges (`gcf-pack-root-v1`).

use super::check::{check_identity, invalid_value, is_word};
use super::index::Index;
use super::types::{Edge, Payload, Symbol};
use super::vocabulary::abbreviated;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error};
use crate::gcf::syntax::number::write_float;
use crate::text::hex;
use sha2::{Digest, Sha256};

/// Returns the hash of a payload: `sha256:` and 64 hexadecimal digits. It covers the kinds, names,
/// scores, provenances and distances of the symbols, and the edges without their status.
///
/// # Errors
/// `dangling_edge` if no symbol has the name of an edge's source or target, `duplicate_symbol` if several
/// have it; `invalid_graph_name`, `not_finite`, `out_of_range` as in [`encode`](super::encode).
pub fn pack_root(payload: &Payload) -> Result<String, Error> {
    let mut root = PREFIX.to_owned();
    hex::write(&Sha256::digest(canonical_bytes(payload)?), &mut root);
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
pub fn canonical_bytes(payload: &Payload) -> Result<String, Error> {
    let mut symbols = Vec::with_capacity(payload.symbols.len());
    for (i, symbol) in payload.symbols.iter().enumerate() {
        symbols.push(symbol_record(symbol, i)?);
    }
    let mut edges = Vec::with_capacity(payload.edges.len());
    if !payload.edges.is_empty() {
        let index = Index::lenient(&payload.symbols);
        for (i, edge) in payload.edges.iter().enumerate() {
            edges.push(edge_record(edge, i, &index)?);
        }
    }
    symbols.sort_unstable();
    edges.sort_unstable();
    symbols.append(&mut edges);
    Ok(symbols.concat())
}

fn symbol_record(symbol: &Symbol, i: usize) -> Result<String, Error> {
    let path = || format!("$.symbols[{i}]");
    check_identity(symbol, true, path)?;
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

fn edge_record(edge: &Edge, i: usize, index: &Index<'_>) -> Result<String, Error> {
    let source = index.symbol(&edge.source, || format!("$.edges[{i}].source"))?;
    let target = index.symbol(&edge.target, || format!("$.edges[{i}].target"))?;
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
    Ok(format!(
        "E\t{}\t{}\t{}\t{}\t{}\n",
        abbreviated(&source.kind),
        edge.source,
        abbreviated(&target.kind),
        edge.target,
        edge.edge_type
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_graph_has_the_hash_of_the_empty_string() {
        let root = pack_root(&Payload::default()).unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(root, format!("sha256:{empty}"));
        assert!(is_root(&root) && !is_root(empty) && !is_root(&root.to_uppercase()));
    }
}
