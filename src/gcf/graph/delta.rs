//! What changed: written, compared, applied. GCF 3.6 section 10.
//!
//! Invariant: a delta is applied whole, to exactly the base that it names, and leads to exactly the
//! result that it names; else the base is as it was.

use super::check::{check_edge, check_identity, check_symbol, invalid_value, is_word};
use super::encode::{EncodeOptions, write_declaration, write_locations};
use super::header::{write_count, write_field};
use super::index::{Index, identity};
use super::root::{is_root, pack_root};
use super::score;
use super::shared_str::SharedStr;
use super::types::{DeltaPayload, Edge, Payload, Symbol};
use super::vocabulary::abbreviated;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Error, Place};
use hashbrown::{HashMap, HashSet};

/// Writes a delta.
///
/// # Errors
/// As `encode`, with the path to the symbol or edge.
pub fn encode_delta(delta: &DeltaPayload, options: EncodeOptions) -> Result<String, Error> {
    check(delta, options)?;
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
    for (id, item) in (0..).zip(items) {
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

/// `100 * (1 - delta / full)`, rounded half to even.
fn savings(delta: i64, full: i64) -> i128 {
    let (saved, full) = (100 * (i128::from(full) - i128::from(delta)), i128::from(full));
    let (whole, rest) = (saved.div_euclid(full), 2 * saved.rem_euclid(full));
    whole + i128::from(rest > full || (rest == full && whole % 2 != 0))
}

fn check(delta: &DeltaPayload, options: EncodeOptions) -> Result<(), Error> {
    for (name, root) in [("base_root", &delta.base_root), ("new_root", &delta.new_root)] {
        if root.is_empty() {
            let message = "empty, and a delta leads from one root to another";
            return Err(invalid_value(Code::InvalidHeaderValue, format!("$.{name}"), message));
        }
    }
    for (name, count) in [("delta_tokens", delta.delta_tokens), ("full_tokens", delta.full_tokens)]
    {
        if count < 0 {
            let message = format!("the count {count} is negative");
            return Err(invalid_value(Code::OutOfRange, format!("$.{name}"), message));
        }
    }
    let unicode = options.allow_unicode;
    for (i, symbol) in delta.removed.iter().enumerate() {
        let path = || format!("$.removed[{i}]");
        check_identity(symbol, unicode, path)?;
        check_first(&symbol.kind, path)?;
    }
    for (i, symbol) in delta.added.iter().enumerate() {
        check_symbol(symbol, unicode, || format!("$.added[{i}]"))?;
    }
    for (name, edges) in
        [("removed_edges", &delta.removed_edges), ("added_edges", &delta.added_edges)]
    {
        for (i, edge) in edges.iter().enumerate() {
            let path = || format!("$.{name}[{i}]");
            check_edge(edge, unicode, path)?;
            check_first(&edge.source, path)?;
            for end in [&edge.source, &edge.target] {
                if !is_word(end, unicode) {
                    let message = format!("{} is no name that a line can hold", excerpt(end));
                    return Err(invalid_value(Code::InvalidGraphName, path(), message));
                }
            }
        }
    }
    Ok(())
}

/// The first word of a line of names may not make a comment or a section of it.
fn check_first(word: &str, path: impl Fn() -> String) -> Result<(), Error> {
    if matches!(word, "#" | "##") {
        let message = format!("a line of a delta cannot begin with {word}");
        return Err(invalid_value(Code::InvalidGraphName, path(), message));
    }
    Ok(())
}

/// A payload as both sides of deltas hold it: scores have the two decimals that a text shows, and
/// `pack_root` is computed after that.
///
/// # Errors
/// As `pack_root`.
pub fn snapshot(payload: &Payload) -> Result<Payload, Error> {
    let mut snapshot = payload.clone();
    for symbol in &mut snapshot.symbols {
        if symbol.score.is_finite() {
            symbol.score = score::quantised(symbol.score);
        }
    }
    snapshot.pack_root = pack_root(&snapshot)?.into();
    Ok(snapshot)
}

/// What changes snapshot `base` into snapshot `new`.
///
/// A symbol whose score, provenance or distance changed goes and comes. Edges are compared by source,
/// target and type.
///
/// # Errors
/// As `pack_root`; `duplicate_symbol` where an edge that changes cannot tell two symbols apart, or a
/// symbol or edge is there twice, so that no delta can say the change.
pub fn diff(base: &Payload, new: &Payload) -> Result<DeltaPayload, Error> {
    for payload in [base, new] {
        Index::new(&payload.symbols)?;
        edge_keys(&payload.edges)?;
    }
    let carried = |symbol: &Symbol| (symbol.score.to_bits(), symbol.distance);
    let same = |a: &Symbol, b: &Symbol| carried(a) == carried(b) && a.provenance == b.provenance;
    let changed = |from: &[Symbol], to: &[Symbol]| -> Vec<Symbol> {
        let there: HashMap<_, _> = to.iter().map(|symbol| (identity(symbol), symbol)).collect();
        let gone = |symbol: &&Symbol| {
            there.get(&identity(symbol)).is_none_or(|other| !same(symbol, other))
        };
        from.iter().filter(gone).cloned().collect()
    };
    let without = |from: &[Edge], to: &[Edge]| -> Vec<Edge> {
        let there: HashSet<_> = to.iter().map(key).collect();
        from.iter().filter(|edge| !there.contains(&key(edge))).map(bare).collect()
    };
    Ok(DeltaPayload {
        tool: new.tool.clone(),
        base_root: pack_root(base)?.into(),
        new_root: pack_root(new)?.into(),
        removed: changed(&base.symbols, &new.symbols),
        added: changed(&new.symbols, &base.symbols),
        removed_edges: without(&base.edges, &new.edges),
        added_edges: without(&new.edges, &base.edges),
        delta_tokens: 0,
        full_tokens: 0,
    })
}

/// What an edge is, whatever its status.
type EdgeKey<'p> = (&'p str, &'p str, &'p str);

fn key(edge: &Edge) -> EdgeKey<'_> {
    (&edge.source, &edge.target, &edge.edge_type)
}

fn bare(edge: &Edge) -> Edge {
    Edge { status: SharedStr::default(), ..edge.clone() }
}

/// The edges of a payload, each once.
fn edge_keys(edges: &[Edge]) -> Result<HashMap<EdgeKey<'_>, usize>, Error> {
    let mut keys = HashMap::with_capacity(edges.len());
    for (i, edge) in edges.iter().enumerate() {
        if keys.insert(key(edge), i).is_some() {
            let message = format!(
                "the edge {} -> {} is there twice, which no delta can say",
                excerpt(&edge.source),
                excerpt(&edge.target)
            );
            return Err(invalid_value(Code::DuplicateSymbol, format!("$.edges[{i}]"), message));
        }
    }
    Ok(keys)
}

/// What `base` becomes by a delta: tool and root are the delta's, counts those of the base.
///
/// # Errors
/// `base_mismatch` for another base, `delta_invalid` for a change that the base does not allow,
/// `root_mismatch` for a result that is not what the delta says.
pub fn apply(base: &Payload, delta: &DeltaPayload) -> Result<Payload, Error> {
    let found = pack_root(base)?;
    if !is_root(&delta.base_root) || found != *delta.base_root {
        let message =
            format!("the delta is for {}, the base is {found}", excerpt(&delta.base_root));
        return Err(Error::without_place(Code::BaseMismatch, message));
    }
    let result = Payload {
        tool: if delta.tool.is_empty() { base.tool.clone() } else { delta.tool.clone() },
        tokens_used: base.tokens_used,
        token_budget: base.token_budget,
        pack_root: delta.new_root.clone(),
        symbols: changed_symbols(&base.symbols, delta)?,
        edges: changed_edges(&base.edges, delta)?,
    };
    let root = pack_root(&result).map_err(|error| match error.code {
        Code::DanglingEdge | Code::DuplicateSymbol => Error { code: Code::DeltaInvalid, ..error },
        _ => error,
    })?;
    if root != *delta.new_root {
        let message = format!("the result is {root}, not {}", excerpt(&delta.new_root));
        return Err(Error::without_place(Code::RootMismatch, message));
    }
    Ok(result)
}

#[cold]
fn invalid<T>(path: String, what: &str, why: &str) -> Result<T, Error> {
    let message = format!("{}: {why}", excerpt(what));
    Err(Error { code: Code::DeltaInvalid, message, place: Place::Value(path) })
}

fn changed_symbols(base: &[Symbol], delta: &DeltaPayload) -> Result<Vec<Symbol>, Error> {
    let mut there: HashSet<_> = base.iter().map(identity).collect();
    let mut removed = HashSet::with_capacity(delta.removed.len());
    for (i, symbol) in delta.removed.iter().enumerate() {
        if !there.remove(&identity(symbol)) {
            let path = format!("$.removed[{i}]");
            return invalid(path, &symbol.qualified_name, "the base has no such symbol to remove");
        }
        removed.insert(identity(symbol));
    }
    for (i, symbol) in delta.added.iter().enumerate() {
        if !there.insert(identity(symbol)) {
            let path = format!("$.added[{i}]");
            return invalid(path, &symbol.qualified_name, "the symbol already exists");
        }
    }
    let kept = base.iter().filter(|symbol| !removed.contains(&identity(symbol)));
    Ok(kept.chain(&delta.added).cloned().collect())
}

fn changed_edges(base: &[Edge], delta: &DeltaPayload) -> Result<Vec<Edge>, Error> {
    let mut there: HashSet<_> = base.iter().map(key).collect();
    let mut removed = HashSet::with_capacity(delta.removed_edges.len());
    for (i, edge) in delta.removed_edges.iter().enumerate() {
        if !there.remove(&key(edge)) {
            let path = format!("$.removed_edges[{i}]");
            return invalid(path, &edge.source, "the base has no such edge to remove");
        }
        removed.insert(key(edge));
    }
    for (i, edge) in delta.added_edges.iter().enumerate() {
        if !there.insert(key(edge)) {
            let path = format!("$.added_edges[{i}]");
            return invalid(path, &edge.source, "the edge already exists");
        }
    }
    let kept = base.iter().filter(|edge| !removed.contains(&key(edge)));
    Ok(kept.chain(&delta.added_edges).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::graph::{Content, decode};

    fn symbol(name: &str, score: f64) -> Symbol {
        Symbol {
            qualified_name: name.into(),
            kind: "function".into(),
            score,
            provenance: "lsp".into(),
            ..Symbol::default()
        }
    }

    fn payload(names: &[(&str, f64)], edges: &[(&str, &str)]) -> Payload {
        let payload = Payload {
            tool: "t".into(),
            symbols: names.iter().map(|(name, score)| symbol(name, *score)).collect(),
            edges: edges.iter().map(|(from, to)| Edge::new(from, to, "calls")).collect(),
            ..Payload::default()
        };
        snapshot(&payload).unwrap()
    }

    fn sorted(mut payload: Payload) -> Payload {
        payload.symbols.sort_by(|a, b| a.qualified_name.cmp(&b.qualified_name));
        payload.edges.sort_by(|a, b| key(a).cmp(&key(b)));
        payload
    }

    #[test]
    fn what_is_compared_written_read_and_applied_is_the_new_snapshot() {
        let base = payload(&[("a", 0.851_2), ("b", 0.5), ("c", 0.4)], &[("a", "b"), ("b", "c")]);
        let new = payload(&[("d", 0.1), ("b", 0.5), ("a", 0.9)], &[("a", "b"), ("d", "a")]);
        let text = encode_delta(&diff(&base, &new).unwrap(), EncodeOptions::default()).unwrap();
        let body = "## removed\nfn a\nfn c\n## added\n@0 fn d 0.10 lsp 0\n@1 fn a 0.90 lsp 0\n\
                    ## edges_removed\nb -> c calls\n## edges_added\nd -> a calls\n";
        assert!(text.ends_with(body), "{text}");
        let Content::Delta(delta) = decode(&text).unwrap().content else { panic!() };
        assert_eq!(sorted(apply(&base, &delta).unwrap()), sorted(new));
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let base = payload(&[("a", 0.5), ("b", 0.5)], &[("a", "b")]);
        let delta = DeltaPayload {
            base_root: base.pack_root.clone(),
            new_root: base.pack_root.clone(),
            ..DeltaPayload::default()
        };
        let code = |delta: DeltaPayload| apply(&base, &delta).unwrap_err().code;
        assert_eq!(apply(&base, &delta).unwrap(), base);
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

    #[test]
    fn savings_are_rounded_half_to_even() {
        for (delta, full, percent) in [
            (30, 200, 85),
            (35, 300, 88),
            (79, 200, 60),
            (77, 200, 62),
            (300, 200, -50),
            (0, 7, 100),
        ] {
            assert_eq!(savings(delta, full), percent, "{delta}/{full}");
        }
    }
}
