//! Any text read as a graph gives its content or an error with its place, alone and in a session,
//! and a payload round-trips in every codec.

#![no_main]

use compactwire::gcf::graph::{
    self, Content, EncodeOptions, Payload, ResolvedPayload, SentSymbols, SymbolTable,
};
use compactwire::gcf::{self, Code, Place};
use compactwire::limits::DEFAULT_MAX_EXPANSION as MAX;
use compactwire::wire::{gcb, json};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

#[path = "support/bounded.rs"]
mod bounded;

const OPTIONS: EncodeOptions = EncodeOptions {
    dangling: graph::Dangling::Refuse,
    allow_unicode: true,
    locations: true,
    max_expansion: MAX,
};

/// Asserts that the payload round-trips; decoding yields the order of the text.
fn assert_round_trips(payload: &Payload) {
    let text = match graph::encode(payload, OPTIONS) {
        Ok(text) => text,
        Err(error) => {
            let known = [Code::DuplicateSymbol, Code::InvalidGraphName, Code::InvalidHeaderValue];
            assert!(known.contains(&error.code), "{error:?}");
            return;
        }
    };
    let Content::Payload(again) = graph::decode(&text).unwrap().content else { panic!("{text}") };
    let linked = ResolvedPayload::new(again.clone());
    assert_eq!(linked.encode(OPTIONS).unwrap(), text);
    assert_eq!(graph::encode(&again, OPTIONS).unwrap(), text);
    let roots = (graph::pack_root(payload, MAX), graph::pack_root(&again, MAX));
    assert_eq!(roots.0.unwrap(), roots.1.unwrap());
    let (mut sent, mut received) = (SentSymbols::default(), SymbolTable::default());
    for _ in 0..2 {
        let text = graph::encode_in(&linked, OPTIONS, &mut sent, Duration::ZERO).unwrap();
        let decoded = graph::decode_in(&text, &mut received).unwrap().content;
        assert_eq!(decoded, Content::Payload(again.clone()), "{text}");
    }
}

/// Reads a text. `last` is the last payload that was checked: most payloads are read from several of the texts, and
/// the check of an equal one would be the same.
fn check(text: &str, table: &mut SymbolTable, last: &mut Option<Payload>) {
    let before = table.state();
    match graph::decode_in(text, table) {
        Err(error) => {
            assert!(matches!(error.place, Place::Text { line: 1.., column: 1.. }), "{error:?}");
            assert!(error.message.len() < 1000);
            assert_eq!(table.state(), before);
        }
        Ok(decoded) => {
            if let Content::Payload(payload) = decoded.content
                && last.as_ref() != Some(&payload)
            {
                assert_round_trips(&payload);
                assert_other_codecs_round_trip(&payload);
                *last = Some(payload);
            }
        }
    }
}

fn assert_other_codecs_round_trip(payload: &Payload) {
    let document = json::encode(payload, json::Style::default()).unwrap();
    assert_eq!(json::decode(&document).unwrap(), *payload);
    if let Ok(bytes) = gcb::encode(payload, gcb::Lossy::default()) {
        let again = gcb::decode(&bytes, gcb::DecodeOptions::default()).unwrap();
        assert_eq!(again.symbols, payload.symbols);
    }
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let Ok(text) = gcf::utf8(data) else { return };
    let (mut table, mut last) = (SymbolTable::default(), None);
    check(text, &mut table, &mut last);
    // With valid headers, so that few inputs fail there; NUL separates the texts of a session.
    check(&format!("GCF profile=graph\n{text}"), &mut table, &mut last);
    for body in text.split('\0') {
        check(&format!("GCF profile=graph session=true\n{body}"), &mut table, &mut last);
    }
}));
