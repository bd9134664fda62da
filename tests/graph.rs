//! Graph texts as a Rust user sees them: payloads, sessions, deltas.

#![cfg(all(feature = "gcf", feature = "wire"))]

mod common;

use common::{files, string};
use compactwire::gcf::graph::{
    self, Content, DeltaPayload, Edge, EncodeOptions, Payload, SentSymbols, Symbol, SymbolTable,
};
use compactwire::limits::DEFAULT_MAX_EXPANSION as MAX;
use serde_json::Value;
use std::time::Duration;

/// A payload of the vectors, whose members are named as in the conformance suite.
fn payload(members: &Value) -> Payload {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().into();
    let number = |value: &Value, name: &str| value[name].as_i64().unwrap_or_default();
    let list = |name: &str| members[name].as_array().cloned().unwrap_or_default();
    let symbols = list("symbols").into_iter().map(|symbol| Symbol {
        qualified_name: text(&symbol, "qualifiedName"),
        kind: text(&symbol, "kind"),
        score: symbol["score"].as_f64().unwrap_or_default(),
        provenance: text(&symbol, "provenance"),
        distance: number(&symbol, "distance"),
        ..Symbol::default()
    });
    let edges = list("edges").into_iter().map(|edge| Edge {
        status: text(&edge, "status"),
        ..Edge::new(string(&edge, "source"), string(&edge, "target"), string(&edge, "edgeType"))
    });
    Payload {
        tool: text(members, "tool"),
        tokens_used: number(members, "tokensUsed"),
        token_budget: number(members, "tokenBudget"),
        pack_root: text(members, "packRoot"),
        symbols: symbols.collect(),
        edges: edges.collect(),
    }
}

#[test]
fn sessions_of_the_vectors_declare_each_symbol_once() {
    for case in files("graph/session") {
        let (mut sent, mut received) = (SentSymbols::default(), SymbolTable::default());
        for call in case["calls"].as_array().unwrap() {
            let given = payload(&call["input"]);
            let resolved = graph::ResolvedPayload::new(given.clone());
            let options = EncodeOptions::default();
            let text = graph::encode_in(&resolved, options, &mut sent, Duration::ZERO).unwrap();
            assert_eq!(text, string(call, "expected"));
            let decoded = graph::decode_in(&text, &mut received).unwrap().content;
            let Content::Payload(decoded) = decoded else { panic!("not a payload: {text}") };
            assert_eq!(decoded.symbols.len(), given.symbols.len());
            assert_eq!(decoded.edges.len(), given.edges.len());
        }
    }
}

#[test]
fn deltas_of_the_vectors_lead_to_the_new_snapshot() {
    for case in files("graph/delta") {
        let (base, new) = (payload(&case["base"]), payload(&case["new"]));
        assert_eq!(graph::pack_root(&base, MAX).unwrap(), string(&case, "base_root"));
        let delta = DeltaPayload {
            tool: string(&case, "tool").into(),
            delta_tokens: case["delta_tokens"].as_i64().unwrap(),
            full_tokens: case["full_tokens"].as_i64().unwrap(),
            ..graph::diff(&base, &new, MAX).unwrap()
        };
        let text = graph::encode_delta(&delta, EncodeOptions::default()).unwrap();
        assert_eq!(text, string(&case, "expected"));
        let Content::Delta(read) = graph::decode(&text).unwrap().content else {
            panic!("not a delta: {text}")
        };
        let applied = graph::apply(&base, &read, MAX).unwrap();
        assert_eq!(&*applied.pack_root, string(&case, "new_root"));
    }
}

#[test]
fn a_payload_round_trips_as_text() {
    for case in files("graph/session") {
        for call in case["calls"].as_array().unwrap() {
            let text = graph::encode(&payload(&call["input"]), EncodeOptions::default()).unwrap();
            let Content::Payload(read) = graph::decode(&text).unwrap().content else {
                panic!("not a payload: {text}")
            };
            assert_eq!(graph::encode(&read, EncodeOptions::default()).unwrap(), text);
        }
    }
}
