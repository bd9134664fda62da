//! The writer: checked and put into order first, then written in one pass. GCF 3.6 sections 9 and 16.1.

use super::super::error::{Code, Error};
use super::super::text::write_quoted;
use super::header::{write_count, write_field};
use super::names::{Index, check_counts, check_edge, check_symbol, is_word, short};
use super::page::{Block, Page, Words};
use super::score;
use super::table::{Planned, SentSymbols};
use super::types::{Edge, Location, Payload, Symbol};
use std::time::Duration;

/// What happens to an edge whose end is not among the symbols.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dangling {
    /// `dangling_edge`.
    #[default]
    Refuse,
    /// It is left out.
    Drop,
}

/// How a payload is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeOptions {
    /// What happens to an edge whose end is not among the symbols.
    pub dangling: Dangling,
    /// Whether names may be other than ASCII. Readers take them; the grammar forbids to write them.
    pub allow_unicode: bool,
    /// Whether locations are written. Readers of GCF before 3.6 refuse them.
    pub locations: bool,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self { dangling: Dangling::default(), allow_unicode: false, locations: true }
    }
}

/// Writes a payload.
///
/// # Errors
/// `invalid_graph_name`, `not_finite`, `out_of_range`, `duplicate_symbol`, `dangling_edge`,
/// `invalid_header_value`, `invalid_loc_line`, with the path to the symbol or edge.
pub fn encode(payload: &Payload, options: EncodeOptions) -> Result<String, Error> {
    let mut writer = Writer::new(payload, options);
    let order = writer.checked_order()?;
    let ids = ranks(&order).into_iter().map(u64::from).collect();
    writer.write(&order, &Planned { ids, known: Vec::new() }, false)
}

/// Writes a payload to a peer with which a session is held: what it has is named by its id alone.
///
/// `now` is the time since any fixed moment, by a clock that does not go back. Beyond a limit of the
/// session the payload is written in full, without `session=true`, and the session starts over.
///
/// # Errors
/// As [`encode`]; then the session is as it was.
pub fn encode_in(
    payload: &Payload,
    options: EncodeOptions,
    sent: &mut SentSymbols,
    now: Duration,
) -> Result<String, Error> {
    let mut writer = Writer::new(payload, options);
    let order = writer.checked_order()?;
    let Some(planned) = sent.plan(&payload.symbols, &order, now) else {
        let text = encode(payload, options)?;
        sent.start_over();
        return Ok(text);
    };
    let text = writer.write(&order, &planned, true)?;
    sent.commit(&payload.symbols, &planned, now);
    Ok(text)
}

/// A number that is the smaller, the higher a finite score is; both zeros have one.
fn descending(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 0 { !bits & (u64::MAX >> 1) } else { bits }
}

/// Where each symbol stands in an order.
fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (rank, &index) in (0..).zip(order) {
        ranks[index as usize] = rank;
    }
    ranks
}

/// An edge that is written: the ranks of source and target by their ids, and which it is; as one
/// number, because that is compared without a branch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ends(u128);

impl Ends {
    fn new(source: u32, target: u32, edge: u32) -> Self {
        Self(u128::from(source) << 64 | u128::from(target) << 32 | u128::from(edge))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the three parts")]
    fn parts(self) -> (usize, usize, usize) {
        ((self.0 >> 64) as u32 as usize, (self.0 >> 32) as u32 as usize, self.0 as u32 as usize)
    }

    fn same(self, other: Self) -> bool {
        self.0 >> 32 == other.0 >> 32
    }
}

struct Writer<'p> {
    payload: &'p Payload,
    options: EncodeOptions,
    kinds: Words<'p>,
    provenances: Words<'p>,
    types: Words<'p>,
}

impl<'p> Writer<'p> {
    fn new(payload: &'p Payload, options: EncodeOptions) -> Self {
        let (kinds, provenances, types) = (Words::kinds(), Words::new("\n"), Words::new(""));
        Self { payload, options, kinds, provenances, types }
    }

    /// The symbols, each found fit, in the order of the text.
    fn checked_order(&mut self) -> Result<Vec<u32>, Error> {
        check_counts(self.payload)?;
        let symbols = &self.payload.symbols;
        let Ok(count) = u32::try_from(symbols.len()) else {
            let message = "more than 2^32 symbols";
            return Err(Error::nowhere(Code::LimitExceeded, message));
        };
        let unicode = self.options.allow_unicode;
        let mut keys = Vec::with_capacity(symbols.len());
        let mut far = false;
        for (i, symbol) in (0..count).zip(symbols) {
            let fit = self.kinds.fit(&symbol.kind, unicode)
                && self.provenances.fit(&symbol.provenance, unicode)
                && is_word(&symbol.qualified_name, unicode)
                && symbol.score.is_finite()
                && symbol.distance >= 0;
            if !fit {
                check_symbol(symbol, unicode, || format!("$.symbols[{i}]"))?;
            }
            let distance = symbol.distance.unsigned_abs();
            far |= distance > u64::from(u32::MAX);
            // One number, as the ends of an edge.
            let key = u128::from(distance) << 96 | u128::from(descending(symbol.score)) << 32;
            keys.push(key | u128::from(i));
        }
        if far {
            let key = |&i: &u32| {
                let symbol = &symbols[i as usize];
                (symbol.distance, descending(symbol.score))
            };
            let mut order: Vec<u32> = (0..count).collect();
            order.sort_by_key(key);
            return Ok(order);
        }
        keys.sort_unstable();
        #[expect(clippy::cast_possible_truncation, reason = "the index is the lowest part")]
        Ok(keys.into_iter().map(|key| key as u32).collect())
    }

    /// The edges that are written, in the order of the text.
    fn ends(&mut self, ranks: &[u32]) -> Result<Vec<Ends>, Error> {
        let index = Index::new(&self.payload.symbols)?;
        let edges = &self.payload.edges;
        let Ok(count) = u32::try_from(edges.len()) else {
            return Err(Error::nowhere(Code::LimitExceeded, "more than 2^32 edges"));
        };
        let unicode = self.options.allow_unicode;
        let mut ends = Vec::with_capacity(edges.len());
        for (i, edge) in (0..count).zip(edges) {
            if !(self.types.fit(&edge.edge_type, unicode) && edge.status.is_empty()) {
                check_edge(edge, unicode, || format!("$.edges[{i}]"))?;
            }
            let target = index.end(&edge.target, || format!("$.edges[{i}].target"));
            let source = index.end(&edge.source, || format!("$.edges[{i}].source"));
            match (target, source) {
                (Ok(target), Ok(source)) => {
                    ends.push(Ends::new(ranks[source as usize], ranks[target as usize], i));
                }
                (Err(error), _) | (_, Err(error)) => {
                    let dangling = error.code == Code::DanglingEdge;
                    if !dangling || self.options.dangling == Dangling::Refuse {
                        return Err(error);
                    }
                }
            }
        }
        ends.sort_unstable();
        for same in ends.chunk_by_mut(|a, b| a.same(*b)) {
            same.sort_by_key(|ends| &edges[ends.parts().2].edge_type);
        }
        Ok(ends)
    }

    fn write(mut self, order: &[u32], planned: &Planned, session: bool) -> Result<String, Error> {
        let payload = self.payload;
        let id = |index: &u32| planned.ids[*index as usize];
        let mut by_id = order.to_vec();
        by_id.sort_by_key(id);
        let ranks = ranks(&by_id);
        let ends = self.ends(&ranks)?;
        let names = payload.symbols.iter().map(|symbol| symbol.qualified_name.len() + 40);
        let mut page = Page::new(1024 + names.sum::<usize>() + 32 * ends.len());
        page.lines(|out| write_header(payload, ends.len(), session, out))?;
        let ids: Vec<_> = by_id.iter().map(|index| Block::id(id(index))).collect();
        let mut distance = None;
        for &index in order {
            let symbol = &payload.symbols[index as usize];
            if distance != Some(symbol.distance) {
                distance = Some(symbol.distance);
                page.lines(|out| {
                    write_group(symbol.distance, out);
                    Ok(())
                })?;
            }
            let known = planned.known.get(index as usize).is_some_and(|&known| known);
            self.node(&ids[ranks[index as usize] as usize], symbol, known, &mut page);
        }
        self.edges(&ends, &ids, &mut page)?;
        if self.options.locations {
            let located = payload.symbols.iter().zip(&planned.ids);
            let located = located.filter_map(|(s, &id)| s.location.as_deref().map(|at| (id, at)));
            page.lines(|out| write_locations(located.collect(), out))?;
        }
        Ok(page.finish())
    }

    /// The line of a symbol: a reference where the peer knows it.
    #[inline]
    fn node(&self, id: &Block, symbol: &Symbol, known: bool, page: &mut Page) {
        let Symbol { qualified_name, kind, provenance, .. } = symbol;
        page.line(qualified_name.len() + kind.len() + provenance.len());
        page.put(id);
        if known {
            page.text(KNOWN);
            return;
        }
        self.kinds.put(kind, page);
        page.text(qualified_name);
        page.text(" ");
        page.score(symbol.score);
        self.provenances.put(provenance, page);
    }

    /// The section of edges; nothing where there is none.
    fn edges(&self, ends: &[Ends], ids: &[Block], page: &mut Page) -> Result<(), Error> {
        if ends.is_empty() {
            return Ok(());
        }
        page.lines(|out| {
            out.push_str("## edges [");
            write_id(ends.len() as u64, out);
            out.push_str("]\n");
            Ok(())
        })?;
        for ends in ends {
            let (source, target, edge) = ends.parts();
            let Edge { edge_type, status, .. } = &self.payload.edges[edge];
            page.line(edge_type.len() + status.len());
            page.put(&ids[target]);
            page.text("<");
            page.put(&ids[source]);
            self.types.put(edge_type, page);
            if !status.is_empty() && **status != *"unchanged" {
                page.text(" ");
                page.text(status);
            }
            page.text("\n");
        }
        Ok(())
    }
}

fn write_header(
    payload: &Payload,
    edges: usize,
    session: bool,
    out: &mut String,
) -> Result<(), Error> {
    out.push_str("GCF profile=graph");
    write_field("tool", &payload.tool, out)?;
    write_count("budget", payload.token_budget, out);
    write_count("tokens", payload.tokens_used, out);
    out.push_str(" symbols=");
    write_id(payload.symbols.len() as u64, out);
    if edges > 0 {
        out.push_str(" edges=");
        write_id(edges as u64, out);
    }
    if session {
        out.push_str(" session=true");
    }
    write_field("pack_root", &payload.pack_root, out)?;
    out.push('\n');
    Ok(())
}

/// Behind the id of a symbol that the peer knows.
const KNOWN: &str = "  # previously transmitted\n";

pub(super) fn write_id(id: u64, out: &mut String) {
    out.push_str(itoa::Buffer::new().format(id));
}

/// Appends the name of the group of a distance.
pub(super) fn write_label(distance: i64, out: &mut String) {
    match distance {
        0 => out.push_str("targets"),
        1 => out.push_str("related"),
        2 => out.push_str("extended"),
        _ => {
            out.push_str("distance_");
            out.push_str(itoa::Buffer::new().format(distance));
        }
    }
}

/// Appends the line that begins the group of a distance.
pub(super) fn write_group(distance: i64, out: &mut String) {
    out.push_str("## ");
    write_label(distance, out);
    out.push('\n');
}

/// Appends the line of a symbol: a reference where the peer knows it.
pub(super) fn write_node(id: u64, symbol: &Symbol, known: bool, out: &mut String) {
    if known {
        out.push('@');
        write_id(id, out);
        out.push_str(KNOWN);
    } else {
        write_declaration(id, symbol, out);
        out.push('\n');
    }
}

/// Appends `@id kind name score provenance`.
pub(super) fn write_declaration(id: u64, symbol: &Symbol, out: &mut String) {
    out.push('@');
    write_id(id, out);
    out.push(' ');
    out.push_str(short(&symbol.kind));
    out.push(' ');
    out.push_str(&symbol.qualified_name);
    out.push(' ');
    score::write(symbol.score, out);
    out.push(' ');
    out.push_str(&symbol.provenance);
}

/// Appends the line of an edge.
pub(super) fn write_edge(target: u64, source: u64, edge: &Edge, out: &mut String) {
    out.push('@');
    write_id(target, out);
    out.push_str("<@");
    write_id(source, out);
    out.push(' ');
    out.push_str(&edge.edge_type);
    if !edge.status.is_empty() && *edge.status != *"unchanged" {
        out.push(' ');
        out.push_str(&edge.status);
    }
    out.push('\n');
}

/// Appends the section of locations, by id; nothing where there is none.
pub(super) fn write_locations(
    mut located: Vec<(u64, &Location)>,
    out: &mut String,
) -> Result<(), Error> {
    if located.is_empty() {
        return Ok(());
    }
    located.sort_by_key(|&(id, _)| id);
    out.push_str("## loc [");
    write_id(located.len() as u64, out);
    out.push_str("]\n");
    for (id, location) in located {
        let Location { file, line, column, end } = location;
        out.push('@');
        write_id(id, out);
        out.push(' ');
        let bare = file.bytes().all(|byte| byte.is_ascii_graphic());
        if bare && !file.is_empty() && !file.starts_with('"') {
            out.push_str(file);
        } else {
            write_quoted(file, out);
        }
        let (end_line, end_column) = end.unzip();
        for number in [Some(*line), Some(*column), end_line, end_column].into_iter().flatten() {
            if number == 0 {
                let message = "lines and columns count from 1, so none is 0";
                return Err(Error::nowhere(Code::InvalidLocLine, message));
            }
            out.push(' ');
            write_id(number, out);
        }
        out.push('\n');
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &str, score: f64, distance: i64) -> Symbol {
        Symbol {
            qualified_name: name.into(),
            kind: "function".into(),
            score,
            provenance: "lsp".into(),
            distance,
            ..Symbol::default()
        }
    }

    fn encoded(payload: &Payload) -> Result<String, Code> {
        encode(payload, EncodeOptions::default()).map_err(|error| error.code)
    }

    #[test]
    fn groups_go_outwards_and_scores_down() {
        let payload = Payload {
            tool: "t".into(),
            symbols: vec![
                symbol("far", 0.9, 7),
                symbol("low", 0.101, 0),
                symbol("high", 0.104, 0),
                symbol("tie", 0.104, 0),
            ],
            edges: vec![Edge::new("high", "far", "b"), Edge::new("high", "far", "a")],
            ..Payload::default()
        };
        let text = "GCF profile=graph tool=t symbols=4 edges=2\n## targets\n@0 fn high 0.10 lsp\n\
                    @1 fn tie 0.10 lsp\n@2 fn low 0.10 lsp\n## distance_7\n@3 fn far 0.90 lsp\n\
                    ## edges [2]\n@3<@0 a\n@3<@0 b\n";
        assert_eq!(encoded(&payload).as_deref(), Ok(text));
    }

    #[test]
    fn scores_are_ordered_as_numbers_are() {
        let down = [f64::MAX, 1.0, 0.5, 5e-324, 0.0, -5e-324, -0.5, -1.0, f64::MIN];
        assert!(down.is_sorted_by(|a, b| descending(*a) < descending(*b)));
        assert_eq!(descending(0.0), descending(-0.0));
    }

    #[test]
    fn what_a_line_cannot_hold_is_refused() {
        let with = |change: fn(&mut Payload)| {
            let mut payload = Payload {
                symbols: vec![symbol("a", 0.5, 0), symbol("b", 0.5, 0)],
                edges: vec![Edge::new("a", "b", "calls")],
                ..Payload::default()
            };
            change(&mut payload);
            encoded(&payload).unwrap_err()
        };
        assert_eq!(with(|p| p.symbols[0].kind = "a b".into()), Code::InvalidGraphName);
        assert_eq!(with(|p| p.symbols[0].provenance = "".into()), Code::InvalidGraphName);
        assert_eq!(with(|p| p.edges[0].edge_type = "é".into()), Code::InvalidGraphName);
        assert_eq!(with(|p| p.edges[0].status = "a\n".into()), Code::InvalidGraphName);
        assert_eq!(with(|p| p.symbols[1].score = f64::NAN), Code::NotFinite);
        assert_eq!(with(|p| p.symbols[1].distance = -1), Code::OutOfRange);
        assert_eq!(with(|p| p.tokens_used = -1), Code::OutOfRange);
        assert_eq!(with(|p| p.symbols[1].qualified_name = "a".into()), Code::DuplicateSymbol);
        assert_eq!(with(|p| p.edges[0].target = "c".into()), Code::DanglingEdge);
        assert_eq!(with(|p| p.tool = "my tool".into()), Code::InvalidHeaderValue);
        let twins = |p: &mut Payload| {
            p.symbols[1].qualified_name = "a".into();
            p.symbols[1].kind = "type".into();
            p.edges[0].target = "a".into();
        };
        assert_eq!(with(twins), Code::DuplicateSymbol);
    }

    #[test]
    fn dangling_edges_are_dropped_where_that_is_asked_for() {
        let payload = Payload {
            symbols: vec![symbol("a", 0.5, 0)],
            edges: vec![Edge::new("a", "c", "calls")],
            ..Payload::default()
        };
        let options = EncodeOptions { dangling: Dangling::Drop, ..EncodeOptions::default() };
        let text = encode(&payload, options).unwrap();
        assert_eq!(text, "GCF profile=graph symbols=1\n## targets\n@0 fn a 0.50 lsp\n");
    }
}
