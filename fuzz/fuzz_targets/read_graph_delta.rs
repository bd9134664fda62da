//! Any text as a delta on any graph, and our own delta between any two graphs.

#![no_main]

use compactwire::gcf::Code;
use compactwire::gcf::graph::{self, Content, DeltaPayload, EncodeOptions, Payload};
use compactwire::limits::DEFAULT_MAX_EXPANSION as MAX;
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

const OPTIONS: EncodeOptions = EncodeOptions {
    dangling: graph::Dangling::Refuse,
    allow_unicode: true,
    locations: true,
    max_expansion: MAX,
};

fn snapshot(body: &str) -> Option<Payload> {
    let decoded = graph::decode(&format!("GCF profile=graph\n{body}")).ok()?;
    let Content::Payload(payload) = decoded.content else { return None };
    graph::snapshot(&payload, MAX).ok()
}

fn read(text: &str) -> Option<DeltaPayload> {
    match graph::decode(text).ok()?.content {
        Content::Delta(delta) => Some(delta),
        _ => None,
    }
}

/// The content of a snapshot in a canonical order; edges without their status.
fn contents(payload: &Payload) -> (Vec<String>, Vec<String>) {
    let symbol = |s: &graph::Symbol| {
        format!("{} {} {} {} {}", s.kind, s.qualified_name, s.score, s.provenance, s.distance)
    };
    let edge = |e: &graph::Edge| format!("{} {} {}", e.source, e.target, e.edge_type);
    let mut symbols: Vec<_> = payload.symbols.iter().map(symbol).collect();
    let mut edges: Vec<_> = payload.edges.iter().map(edge).collect();
    symbols.sort();
    edges.sort();
    (symbols, edges)
}

/// Asserts that a delta round-trips, and that applying it is an error or leads to its root.
fn applied(base: &Payload, body: &str) {
    let root = &base.pack_root;
    let text = format!("GCF profile=graph delta=true base_root={root} new_root={root}\n{body}");
    let Some(delta) = read(&text) else { return };
    if let Ok(text) = graph::encode_delta(&delta, OPTIONS) {
        assert_eq!(read(&text).as_ref(), Some(&delta), "{text}");
        assert_eq!(graph::encode_delta(&delta, OPTIONS).unwrap(), text);
    }
    match graph::apply(base, &delta, MAX) {
        Ok(result) => assert_eq!(graph::pack_root(&result, MAX).unwrap(), **root),
        Err(error) => assert!(
            matches!(error.code, Code::DeltaInvalid | Code::RootMismatch | Code::InvalidGraphName),
            "{error:?}"
        ),
    }
}

fn between(base: &Payload, new: &Payload) {
    let Ok(delta) = graph::diff(base, new, MAX) else { return };
    let result = match graph::apply(base, &delta, MAX) {
        Ok(result) => result,
        // An edge whose ends a delta cannot distinguish.
        Err(error) => return assert_eq!(error.code, Code::DeltaInvalid, "{error:?}"),
    };
    assert_eq!(contents(&result), contents(new));
    if let Ok(text) = graph::encode_delta(&delta, OPTIONS) {
        let decoded = read(&text).unwrap();
        assert_eq!(contents(&graph::apply(base, &decoded, MAX).unwrap()), contents(new), "{text}");
    }
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // A base, a new graph and a delta, separated by NUL.
    let mut parts = text.splitn(3, '\0');
    let (Some(base), new, delta) = (parts.next(), parts.next(), parts.next()) else { return };
    let Some(base) = snapshot(base) else { return };
    if let Some(new) = new.and_then(snapshot) {
        between(&base, &new);
        between(&new, &base);
    }
    applied(&base, delta.unwrap_or(text));
}));
