//! Deltas between payloads: encodes, computes and applies them. GCF 3.6 section 10.
//!
//! Invariant: a delta is applied completely or not at all, only to the base with its `base_root`, and
//! only if the result has its `new_root`.

use super::check::{Check, check_count, invalid_value, is_word};
use super::encode::{EncodeOptions, write_declaration, write_locations};
use super::expansion::check_expansion;
use super::index::{Index, identity};
use super::root::{is_root, pack_root};
use super::score;
use super::shared_str::SharedStr;
use super::types::{DeltaPayload, Edge, Payload, Symbol};
use super::vocabulary::abbreviated;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Place};
use crate::gcf::syntax::header::{write_count, write_field};
use crate::gcf::syntax::size::savings;
use crate::interrupt::polled;
use crate::memory;
use hashbrown::{HashMap, HashSet};
use std::hash::Hash;

/// Encodes a delta as text.
///
/// # Errors
/// As `encode`, with the path to the symbol or edge; `limit_exceeded` beyond `options.max_expansion`.
pub fn encode_delta(delta: &DeltaPayload, options: EncodeOptions) -> Result<String, Error> {
    for edges in [&delta.removed_edges, &delta.added_edges] {
        check_expansion(edges, options.max_expansion)?;
    }
    check(delta, options)?;
    // Each edge has both names, and a text that grows is copied.
    memory::ensure(delta.size().saturating_mul(2))?;
    let lines = delta.removed.len() + delta.added.len();
    let edges = delta.removed_edges.len() + delta.added_edges.len();
    let mut out = String::with_capacity(300 + 64 * (lines + edges));
    out.push_str("GCF profile=graph");
    write_field("tool", &delta.tool, &mut out)?;
    out.push_str(" delta=true");
    write_field("base_root", &delta.base_root, &mut out)?;
    write_field("new_root", &delta.new_root, &mut out)?;
    write_count("tokens", delta.delta_tokens, &mut out);
    if delta.full_tokens > 0 {
        let percent = savings(delta.delta_tokens, delta.full_tokens).to_string();
        write_field("savings", &(percent + "%"), &mut out)?;
    }
    out.push('\n');
    write_section("removed", &delta.removed, &mut out, |_, symbol, out| {
        write_words(&[abbreviated(&symbol.kind), &symbol.qualified_name], out);
    });
    write_section("added", &delta.added, &mut out, |id, symbol, out| {
        write_declaration(id, symbol, out);
        out.push(' ');
        out.push_str(itoa::Buffer::new().format(symbol.distance));
        out.push('\n');
    });
    for (name, edges) in
        [("edges_removed", &delta.removed_edges), ("edges_added", &delta.added_edges)]
    {
        write_section(name, edges, &mut out, |_, edge, out| {
            write_words(&[&edge.source, "->", &edge.target, &edge.edge_type], out);
        });
    }
    if options.locations {
        let located = (0..).zip(&delta.added);
        let located = located.filter_map(|(id, s)| s.location.as_deref().map(|at| (id, at)));
        write_locations(located.collect(), &mut out)?;
    }
    Ok(out)
}

fn write_section<T>(
    name: &str,
    items: &[T],
    out: &mut String,
    write: impl Fn(u64, &T, &mut String),
) {
    if items.is_empty() {
        return;
    }
    out.push_str("## ");
    out.push_str(name);
    out.push('\n');
    for (id, item) in (0..).zip(polled(items)) {
        write(id, item, out);
    }
}

fn write_words(words: &[&str], out: &mut String) {
    for (i, word) in words.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        out.push_str(word);
    }
    out.push('\n');
}

fn check(delta: &DeltaPayload, options: EncodeOptions) -> Result<(), Error> {
    for (name, root) in [("base_root", &delta.base_root), ("new_root", &delta.new_root)] {
        if root.is_empty() {
            let message = "the root must not be empty in a delta";
            return Err(invalid_value(Code::InvalidHeaderValue, format!("$.{name}"), message));
        }
    }
    check_count("delta_tokens", delta.delta_tokens)?;
    check_count("full_tokens", delta.full_tokens)?;
    let allow_unicode = options.allow_unicode;
    for (i, symbol) in polled(&delta.removed).enumerate() {
        let path = || format!("$.removed[{i}]");
        Check { allow_unicode, path }.identity(symbol)?;
        check_first(&symbol.kind, path)?;
    }
    for (i, symbol) in polled(&delta.added).enumerate() {
        Check { allow_unicode, path: || format!("$.added[{i}]") }.symbol(symbol)?;
    }
    for (name, edges) in
        [("removed_edges", &delta.removed_edges), ("added_edges", &delta.added_edges)]
    {
        for (i, edge) in polled(edges).enumerate() {
            let path = || format!("$.{name}[{i}]");
            Check { allow_unicode, path }.edge(edge)?;
            check_first(&edge.source, path)?;
            for end in [&edge.source, &edge.target] {
                if !is_word(end, allow_unicode) {
                    let message = format!(
                        "{} is empty, not ASCII, or contains white space or control characters",
                        excerpt(end)
                    );
                    return Err(invalid_value(Code::InvalidGraphName, path(), message));
                }
            }
        }
    }
    Ok(())
}

/// Returns an error for a first field that would make the line a comment or the start of a section.
fn check_first(word: &str, path: impl Fn() -> String) -> Result<(), Error> {
    if matches!(word, "#" | "##") {
        let message = format!("a line of a delta cannot start with {word}");
        return Err(invalid_value(Code::InvalidGraphName, path(), message));
    }
    Ok(())
}

/// Returns the payload as both sides of a delta store it: scores are rounded to the two decimals of the
/// text, and `pack_root` is computed from the result.
///
/// # Errors
/// As [`pack_root`].
pub fn snapshot(payload: &Payload, max_expansion: usize) -> Result<Payload, Error> {
    let mut snapshot = payload.clone();
    for symbol in polled(&mut snapshot.symbols) {
        if symbol.score.is_finite() {
            symbol.score = score::quantised(symbol.score);
        }
    }
    snapshot.pack_root = pack_root(&snapshot, max_expansion)?.into();
    Ok(snapshot)
}

/// Returns the delta from the snapshot `base` to the snapshot `new`.
///
/// A symbol whose score, provenance or distance changed is removed and added. Edges are compared by
/// source, target and type.
///
/// # Errors
/// As [`pack_root`]; `duplicate_symbol` for an ambiguous edge and for a duplicate symbol or edge, whose
/// change a delta cannot represent.
pub fn diff(base: &Payload, new: &Payload, max_expansion: usize) -> Result<DeltaPayload, Error> {
    for payload in [base, new] {
        check_expansion(&payload.edges, max_expansion)?;
        Index::new(&payload.symbols)?;
        check_distinct(&payload.edges)?;
    }
    let carried = |symbol: &Symbol| (symbol.score.to_bits(), symbol.distance);
    let same = |a: &Symbol, b: &Symbol| carried(a) == carried(b) && a.provenance == b.provenance;
    let changed = |from: &[Symbol], to: &[Symbol]| -> Vec<Symbol> {
        let others: HashMap<_, _> = polled(to).map(|symbol| (identity(symbol), symbol)).collect();
        let is_changed = |symbol: &&Symbol| {
            others.get(&identity(symbol)).is_none_or(|other| !same(symbol, other))
        };
        polled(from).filter(is_changed).cloned().collect()
    };
    let without = |from: &[Edge], to: &[Edge]| -> Vec<Edge> {
        let others: HashSet<_> = polled(to).map(key).collect();
        polled(from).filter(|edge| !others.contains(&key(edge))).map(without_status).collect()
    };
    Ok(DeltaPayload {
        tool: new.tool.clone(),
        base_root: pack_root(base, max_expansion)?.into(),
        new_root: pack_root(new, max_expansion)?.into(),
        removed: changed(&base.symbols, &new.symbols),
        added: changed(&new.symbols, &base.symbols),
        removed_edges: without(&base.edges, &new.edges),
        added_edges: without(&new.edges, &base.edges),
        delta_tokens: 0,
        full_tokens: 0,
    })
}

/// The identity of an edge: source, target and type.
type EdgeKey<'p> = (&'p str, &'p str, &'p str);

fn key(edge: &Edge) -> EdgeKey<'_> {
    (&edge.source, &edge.target, &edge.edge_type)
}

fn without_status(edge: &Edge) -> Edge {
    Edge { status: SharedStr::default(), ..edge.clone() }
}

/// Returns an error if an edge is a duplicate.
fn check_distinct(edges: &[Edge]) -> Result<(), Error> {
    let mut keys = HashSet::with_capacity(edges.len());
    for (i, edge) in polled(edges).enumerate() {
        if !keys.insert(key(edge)) {
            let message = format!(
                "duplicate edge {} -> {}, which a delta cannot represent",
                excerpt(&edge.source),
                excerpt(&edge.target)
            );
            return Err(invalid_value(Code::DuplicateSymbol, format!("$.edges[{i}]"), message));
        }
    }
    Ok(())
}

/// Applies a delta: the result has the tool and root of the delta, and the token counts of the base. If the
/// delta has no tool, the result has that of the base.
///
/// # Errors
/// `base_mismatch` if the base is not the one of the delta, `delta_invalid` if a removed item is missing
/// or an added item exists, `root_mismatch` if the result does not have the root of the delta,
/// `limit_exceeded` if the names of the edges of base, delta or result take more than `max_expansion` bytes.
pub fn apply(base: &Payload, delta: &DeltaPayload, max_expansion: usize) -> Result<Payload, Error> {
    for edges in [&delta.removed_edges, &delta.added_edges] {
        check_expansion(edges, max_expansion)?;
    }
    let found = pack_root(base, max_expansion)?;
    if !is_root(&delta.base_root) || found != *delta.base_root {
        let message =
            format!("the delta applies to {}, but the base is {found}", excerpt(&delta.base_root));
        return Err(Error::without_place(Code::BaseMismatch, message));
    }
    let symbols = Change {
        kind: "symbol",
        members: ["removed", "added"],
        removed: &delta.removed,
        added: &delta.added,
    };
    let edges = Change {
        kind: "edge",
        members: ["removed_edges", "added_edges"],
        removed: &delta.removed_edges,
        added: &delta.added_edges,
    };
    let result = Payload {
        tool: if delta.tool.is_empty() { base.tool.clone() } else { delta.tool.clone() },
        tokens_used: base.tokens_used,
        token_budget: base.token_budget,
        pack_root: delta.new_root.clone(),
        symbols: symbols.apply(&base.symbols, identity, |symbol| &symbol.qualified_name)?,
        edges: edges.apply(&base.edges, key, |edge| &edge.source)?,
    };
    let root = pack_root(&result, max_expansion).map_err(|error| match error.code {
        Code::DanglingEdge | Code::DuplicateSymbol => Error { code: Code::DeltaInvalid, ..error },
        _ => error,
    })?;
    if root != *delta.new_root {
        let message = format!("the result has the root {root}, not {}", excerpt(&delta.new_root));
        return Err(Error::without_place(Code::RootMismatch, message));
    }
    Ok(result)
}

#[cold]
fn invalid<T>(path: String, what: &str, why: &str) -> Result<T, Error> {
    let message = format!("{}: {why}", excerpt(what));
    Err(Error { code: Code::DeltaInvalid, message, place: Place::Value(path) })
}

/// The changes of a delta to the symbols, or to the edges, of a payload. A *part* is a symbol or an edge.
struct Change<'d, T> {
    /// The name of a part in errors: `symbol`.
    kind: &'static str,
    /// The members of the delta in paths: `removed`, `added`.
    members: [&'static str; 2],
    removed: &'d [T],
    added: &'d [T],
}

impl<'d, T: Clone> Change<'d, T> {
    /// Returns the parts after the changes. `key` identifies a part, `name` shows it in errors.
    fn apply<K: Eq + Hash>(
        &self,
        base: &'d [T],
        key: impl Fn(&'d T) -> K,
        name: impl Fn(&T) -> &str,
    ) -> Result<Vec<T>, Error> {
        let Self { kind, members, removed, added } = self;
        let invalid = |member, i, part, why| {
            invalid(format!("$.{member}[{i}]"), name(part), &format!("the {kind} to {why}"))
        };
        let mut present: HashSet<_> = polled(base).map(&key).collect();
        let mut gone = HashSet::with_capacity(removed.len());
        for (i, part) in polled(*removed).enumerate() {
            if !present.remove(&key(part)) {
                return invalid(members[0], i, part, "remove is not in the base");
            }
            gone.insert(key(part));
        }
        for (i, part) in polled(*added).enumerate() {
            if !present.insert(key(part)) {
                return invalid(members[1], i, part, "add exists already");
            }
        }
        let kept = polled(base).filter(|part| !gone.contains(&key(part)));
        Ok(kept.chain(*added).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{Content, decode};
    use crate::limits::DEFAULT_MAX_EXPANSION as MAX;

    fn symbol(name: &str, score: f64) -> Symbol {
        Symbol::new(name, "function", score, "lsp")
    }

    fn payload(names: &[(&str, f64)], edges: &[(&str, &str)]) -> Payload {
        let payload = Payload {
            tool: "t".into(),
            symbols: names.iter().map(|(name, score)| symbol(name, *score)).collect(),
            edges: edges.iter().map(|(from, to)| Edge::new(from, to, "calls")).collect(),
            ..Payload::default()
        };
        snapshot(&payload, MAX).unwrap()
    }

    fn sorted(mut payload: Payload) -> Payload {
        payload.symbols.sort_by(|a, b| a.qualified_name.cmp(&b.qualified_name));
        payload.edges.sort_by(|a, b| key(a).cmp(&key(b)));
        payload
    }

    #[test]
    fn a_delta_that_is_encoded_decoded_and_applied_leads_to_the_new_snapshot() {
        let base = payload(&[("a", 0.851_2), ("b", 0.5), ("c", 0.4)], &[("a", "b"), ("b", "c")]);
        let new = payload(&[("d", 0.1), ("b", 0.5), ("a", 0.9)], &[("a", "b"), ("d", "a")]);
        let text =
            encode_delta(&diff(&base, &new, MAX).unwrap(), EncodeOptions::default()).unwrap();
        let body = "## removed\nfn a\nfn c\n## added\n@0 fn d 0.10 lsp 0\n@1 fn a 0.90 lsp 0\n\
                    ## edges_removed\nb -> c calls\n## edges_added\nd -> a calls\n";
        assert!(text.ends_with(body), "{text}");
        let Content::Delta(delta) = decode(&text).unwrap().content else { panic!() };
        assert_eq!(sorted(apply(&base, &delta, MAX).unwrap()), sorted(new));
    }

    #[test]
    fn an_invalid_delta_is_an_error() {
        let base = payload(&[("a", 0.5), ("b", 0.5)], &[("a", "b")]);
        let delta = DeltaPayload {
            base_root: base.pack_root.clone(),
            new_root: base.pack_root.clone(),
            ..DeltaPayload::default()
        };
        let code = |delta: DeltaPayload| apply(&base, &delta, MAX).unwrap_err().code;
        assert_eq!(apply(&base, &delta, MAX).unwrap(), base);
        assert_eq!(
            code(DeltaPayload { base_root: "aaa111".into(), ..delta.clone() }),
            Code::BaseMismatch
        );
        for change in [
            DeltaPayload { removed: vec![symbol("c", 0.0)], ..delta.clone() },
            DeltaPayload { removed: vec![symbol("a", 0.0), symbol("a", 0.0)], ..delta.clone() },
            DeltaPayload { removed: vec![symbol("a", 0.0)], ..delta.clone() },
            DeltaPayload { added: vec![symbol("a", 0.5)], ..delta.clone() },
            DeltaPayload { added_edges: vec![Edge::new("a", "b", "calls")], ..delta.clone() },
            DeltaPayload { added_edges: vec![Edge::new("a", "z", "calls")], ..delta.clone() },
            DeltaPayload { removed_edges: vec![Edge::new("b", "a", "calls")], ..delta.clone() },
        ] {
            assert_eq!(code(change), Code::DeltaInvalid);
        }
        let other = DeltaPayload { added: vec![symbol("c", 0.5)], ..delta };
        assert_eq!(code(other), Code::RootMismatch);
    }
}
