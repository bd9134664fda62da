//! Encodes payloads as text: `payload` validates, sorts and writes a payload, `lines` writes each kind of
//! line. GCF 3.6 sections 9 and 16.1.

mod lines;
mod payload;

use super::resolved::{ResolvedEdges, ResolvedPayload};
use super::session_table::{IdPlan, SentSymbols};
use super::types::Payload;
use crate::gcf::error::Error;
use crate::limits::DEFAULT_MAX_EXPANSION;
pub(super) use lines::{
    write_declaration, write_edge, write_group, write_id, write_label, write_locations, write_node,
};
use payload::{sorted_symbols, write_payload};
use std::time::Duration;

/// How the encoder treats a dangling edge: one whose source or target is not among the symbols.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dangling {
    /// The error `dangling_edge`.
    #[default]
    Refuse,
    /// The edge is left out.
    Drop,
}

/// Options of the encoder.
///
/// ```
/// use compactwire::gcf::graph::{Dangling, Edge, EncodeOptions, Payload, Symbol, encode};
///
/// let payload = Payload {
///     symbols: vec![Symbol::new("a.f", "function", 0.5, "lsp")],
///     edges: vec![Edge::new("a.f", "elsewhere", "calls")],
///     ..Payload::default()
/// };
/// assert!(encode(&payload, EncodeOptions::default()).is_err());
/// let options = EncodeOptions { dangling: Dangling::Drop, ..EncodeOptions::default() };
/// assert!(!encode(&payload, options).unwrap().contains("calls"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeOptions {
    /// How dangling edges are treated.
    pub dangling: Dangling,
    /// Whether names may contain non-ASCII characters. Decoders accept them, but the grammar forbids
    /// encoders to write them.
    pub allow_unicode: bool,
    /// Whether locations are written. gcf-python 2.8 and crate gcf 3.1 reject them.
    pub locations: bool,
    /// The maximum total size in bytes of the names of edges, which [`pack_root`](super::pack_root) reads and
    /// a delta writes once per edge.
    pub max_expansion: usize,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            dangling: Dangling::default(),
            allow_unicode: false,
            locations: true,
            max_expansion: DEFAULT_MAX_EXPANSION,
        }
    }
}

/// Encodes a payload as text.
///
/// # Errors
/// `invalid_graph_name`, `not_finite`, `out_of_range`, `duplicate_symbol`, `dangling_edge`,
/// `invalid_header_value`, `invalid_loc_line`, `limit_exceeded` (2^32 symbols), with the path to the
/// symbol or edge.
pub fn encode(payload: &Payload, options: EncodeOptions) -> Result<String, Error> {
    let order = sorted_symbols(payload, options)?;
    write_without_session(payload, &ResolvedEdges::new(payload), options, &order)
}

impl ResolvedPayload {
    /// [`encode`], reusing the resolved edges.
    ///
    /// # Errors
    /// As [`encode`].
    pub fn encode(&self, options: EncodeOptions) -> Result<String, Error> {
        let order = sorted_symbols(self, options)?;
        write_without_session(self, self.resolved(), options, &order)
    }
}

/// Writes a payload without a session: ids count from 0 in the order of the text.
fn write_without_session(
    payload: &Payload,
    resolved: &ResolvedEdges,
    options: EncodeOptions,
    order: &[u32],
) -> Result<String, Error> {
    let mut ids = vec![0; order.len()];
    for (id, &position) in (0..).zip(order) {
        ids[position as usize] = id;
    }
    let plan = IdPlan { ids, known: Vec::new() };
    write_payload(payload, resolved, options, order, &plan, false)
}

/// Encodes a payload within a session: a symbol that the peer has is written as a reference to its id.
///
/// `now` is the time since an arbitrary fixed moment, by a monotonic clock. If a limit of the session is
/// exceeded, the payload is encoded in full, without `session=true`, and the session starts over.
///
/// # Errors
/// As [`encode`]; the session is unchanged then.
pub fn encode_in(
    payload: &ResolvedPayload,
    options: EncodeOptions,
    sent: &mut SentSymbols,
    now: Duration,
) -> Result<String, Error> {
    encode_in_with(payload, options, sent, now, Ok)
}

/// Encodes a payload in a session, and returns what `make` makes of the text.
///
/// # Errors
/// As [`encode_in`], and the error of `make`. The session is then unchanged.
pub fn encode_in_with<T, E: From<Error>>(
    payload: &ResolvedPayload,
    options: EncodeOptions,
    sent: &mut SentSymbols,
    now: Duration,
    make: impl FnOnce(String) -> Result<T, E>,
) -> Result<T, E> {
    let order = sorted_symbols(payload, options)?;
    let Some(plan) = sent.plan(&payload.symbols, &order, now) else {
        let text = write_without_session(payload, payload.resolved(), options, &order)?;
        let result = make(text)?;
        sent.start_over();
        return Ok(result);
    };
    let text = write_payload(payload, payload.resolved(), options, &order, &plan, true)?;
    let result = make(text)?;
    sent.commit(&payload.symbols, &plan, now);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcf::error::Code;
    use crate::gcf::graph::decode::{Content, decode, decode_in};
    use crate::gcf::graph::session_table::SymbolTable;
    use crate::gcf::graph::types::{Edge, Location, Symbol};
    use proptest::prelude::*;

    fn symbol(name: &str, score: f64, distance: i64) -> Symbol {
        Symbol { distance, ..Symbol::new(name, "function", score, "lsp") }
    }

    fn encoded(payload: &Payload) -> Result<String, Code> {
        encode(payload, EncodeOptions::default()).map_err(|error| error.code)
    }

    #[test]
    fn symbols_are_sorted_by_distance_then_by_descending_score() {
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
    fn an_invalid_field_is_an_error() {
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
    fn dangling_edges_are_dropped_with_the_option_drop() {
        let payload = Payload {
            symbols: vec![symbol("a", 0.5, 0)],
            edges: vec![Edge::new("a", "c", "calls")],
            ..Payload::default()
        };
        let options = EncodeOptions { dangling: Dangling::Drop, ..EncodeOptions::default() };
        let text = encode(&payload, options).unwrap();
        assert_eq!(text, "GCF profile=graph symbols=1\n## targets\n@0 fn a 0.50 lsp\n");
        let twins =
            vec![symbol("a", 0.5, 0), Symbol { kind: "type".into(), ..symbol("a", 0.5, 0) }];
        for edge in [Edge::new("a", "c", "calls"), Edge::new("c", "a", "calls")] {
            let payload =
                Payload { symbols: twins.clone(), edges: vec![edge], ..Payload::default() };
            assert!(!encode(&payload, options).unwrap().contains("edges"));
        }
    }

    #[test]
    fn unusual_scores_distances_locations_and_statuses_are_written() {
        let mut payload = Payload {
            symbols: vec![symbol("a", 0.5, 0), symbol("b", 12.345, 64), symbol("c", -0.004, 1)],
            edges: vec![Edge::new("a", "b", "calls"), Edge::new("b", "c", "calls")],
            ..Payload::default()
        };
        payload.symbols[0].location =
            Some(Location { file: "a b.rs".into(), line: 3, column: 1, end: None }.into());
        payload.edges[1].status = "added".into();
        let text = "GCF profile=graph symbols=3 edges=2\n## targets\n@0 fn a 0.50 lsp\n## related\n\
                    @1 fn c -0.00 lsp\n## distance_64\n@2 fn b 12.35 lsp\n## edges [2]\n\
                    @2<@0 calls\n@1<@2 calls added\n## loc [1]\n@0 \"a b.rs\" 3 1\n";
        assert_eq!(encoded(&payload).as_deref(), Ok(text));
    }

    #[test]
    fn the_name_of_a_referenced_symbol_is_checked_too() {
        let symbols = vec![symbol("é", 0.5, 0)];
        let payload = ResolvedPayload::new(Payload { symbols, ..Payload::default() });
        let mut sent = SentSymbols::default();
        let mut write = |allow_unicode| {
            let options = EncodeOptions { allow_unicode, ..EncodeOptions::default() };
            encode_in(&payload, options, &mut sent, Duration::ZERO).map_err(|error| error.code)
        };
        write(true).unwrap();
        assert!(write(true).unwrap().ends_with("@0  # previously transmitted\n"));
        assert_eq!(write(false), Err(Code::InvalidGraphName));
    }

    /// Payloads of which most are valid and common; the others are invalid or unusual.
    fn payloads() -> impl Strategy<Value = Payload> {
        prop::bool::weighted(0.4).prop_flat_map(|wild| payloads_with(u32::from(wild)))
    }

    fn payloads_with(wild: u32) -> impl Strategy<Value = Payload> {
        let name = prop_oneof![
            60 => "[ab]{1,3}(/[a-z]{1,80})?",
            wild => Just(String::new()),
            wild => "[a ~\u{7F}é]{1,40}",
        ];
        let score = prop_oneof![
            40 => (0..1000_u32).prop_map(|thousandths| f64::from(thousandths) / 1000.0),
            5 => 0.0..0.000_000_001,
            5 => (0..20_u32).prop_map(|i| f64::from_bits(0.5_f64.to_bits() + u64::from(i))),
            wild => -1.0..100.0,
            wild => Just(f64::NAN),
        ];
        let word =
            prop_oneof![40 => "function|type|method|[a-z]{1,20}", wild => "[a b]?|[a-z]{25}"];
        let distance = prop_oneof![40 => 0..4_i64, wild => -1..100_i64];
        let symbol =
            (name, word, score, distance, "lsp|ast", prop::option::weighted(0.1, 1..3_u64));
        let symbols = prop::collection::vec(symbol, 0..24).prop_map(|symbols| {
            let symbol = |(name, kind, score, distance, provenance, line)| Symbol {
                qualified_name: String::into(name),
                kind: String::into(kind),
                score,
                distance,
                provenance: String::into(provenance),
                location: Option::map(line, |line| {
                    Location { file: "f".into(), line, column: 1, end: None }.into()
                }),
                ..Symbol::default()
            };
            symbols.into_iter().map(symbol).collect::<Vec<_>>()
        });
        let ends = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
        let status = prop_oneof![60 => Just(""), wild => Just("added"), wild => Just("a b")];
        let edge_type = prop_oneof![60 => "calls|[a-c]", wild => "x[ é]?y{20}"];
        let edges = prop::collection::vec((ends, edge_type, status), 0..24);
        let missing = prop_oneof![20 => Just(None), wild => Just(Some("missing"))];
        let tool = prop_oneof![40 => Just("tool"), wild => Just("a tool"), wild => Just("")];
        let tokens = prop_oneof![40 => 0..100_i64, wild => Just(-1)];
        (symbols, edges, missing, tool, tokens).prop_map(
            |(symbols, edges, missing, tool, tokens)| {
                let tool = tool.into();
                let mut payload =
                    Payload { tool, tokens_used: tokens, symbols, ..Payload::default() };
                for ((source, target), edge_type, status) in edges {
                    if !payload.symbols.is_empty() {
                        let name =
                            |at: prop::sample::Index| &*at.get(&payload.symbols).qualified_name;
                        let target = missing.unwrap_or_else(|| name(target));
                        let edge = Edge::new(name(source), target, &edge_type);
                        payload.edges.push(Edge { status: status.into(), ..edge });
                    }
                }
                payload
            },
        )
    }

    /// Makes the names distinct, in symbols and in edges.
    fn with_distinct_names(mut payload: Payload) -> Payload {
        for (i, symbol) in payload.symbols.iter_mut().enumerate() {
            let name = format!("{}{i}", symbol.qualified_name);
            for edge in &mut payload.edges {
                for end in [&mut edge.source, &mut edge.target] {
                    if **end == *symbol.qualified_name {
                        *end = name.as_str().into();
                    }
                }
            }
            symbol.qualified_name = name.into();
        }
        payload
    }

    fn decoded(text: &str) -> Payload {
        match decode(text).map(|decoded| decoded.content) {
            Ok(Content::Payload(payload)) => payload,
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn an_encoded_payload_decodes_and_encodes_to_the_same_text(
            payload in payloads(),
            allow_unicode: bool,
            locations: bool,
            drop: bool,
            distinct in prop::bool::weighted(0.9),
        ) {
            let payload = if distinct { with_distinct_names(payload) } else { payload };
            let dangling = if drop { Dangling::Drop } else { Dangling::Refuse };
            let options =
                EncodeOptions { dangling, allow_unicode, locations, ..EncodeOptions::default() };
            let result = encode(&payload, options);
            prop_assert_eq!(&ResolvedPayload::new(payload.clone()).encode(options), &result);
            prop_assert_eq!(&ResolvedPayload::from(payload.clone()).encode(options), &result);
            if let Ok(text) = result {
                let read = decoded(&text);
                prop_assert_eq!(read.symbols.len(), payload.symbols.len());
                prop_assert_eq!(encode(&read, options), Ok(text));
            }
        }

        #[test]
        fn a_session_text_decodes_to_the_same_graph_as_a_text_without_session(
            payloads in prop::collection::vec((payloads(), any::<bool>()), 1..4),
        ) {
            let (mut sent, mut received) = (SentSymbols::default(), SymbolTable::default());
            for (payload, allow_unicode) in &payloads {
                let options = EncodeOptions { allow_unicode: *allow_unicode, ..EncodeOptions::default() };
                let before = sent.state();
                let resolved = ResolvedPayload::from(payload.clone());
                let in_session = encode_in(&resolved, options, &mut sent, Duration::ZERO);
                match (encode(payload, options), in_session) {
                    (Ok(text), Ok(in_session)) => {
                        prop_assert!(in_session.contains(" session=true"));
                        let read = decode_in(&in_session, &mut received).unwrap().content;
                        let Content::Payload(read) = read else { panic!("{read:?}") };
                        // A reference has the score and provenance of the symbol's last declaration.
                        let symbol = |symbol: &Symbol| {
                            let Symbol { qualified_name, kind, distance, location, .. } = symbol;
                            (qualified_name.clone(), kind.clone(), *distance, location.clone())
                        };
                        let graph = |payload: &Payload| {
                            let mut edges = payload.edges.clone();
                            edges.sort_by_key(|edge| format!("{edge:?}"));
                            (payload.symbols.iter().map(symbol).collect::<Vec<_>>(), edges)
                        };
                        prop_assert_eq!(graph(&read), graph(&decoded(&text)));
                    }
                    (full, in_session) => {
                        prop_assert_eq!(full, in_session);
                        prop_assert_eq!(sent.state(), before);
                    }
                }
            }
        }
    }
}
