//! Any text as a graph: what it holds or an error with a place, alone and in a session; what is read
//! is written and read again, in every codec.

#![no_main]

use compactwire::gcf::graph::{
    self, Content, EncodeOptions, Linked, Payload, SentSymbols, SymbolTable,
};
use compactwire::gcf::{self, Code, Place};
use compactwire::wire::{gcb, json};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

const OPTIONS: EncodeOptions =
    EncodeOptions { dangling: graph::Dangling::Refuse, allow_unicode: true, locations: true };

/// In the order of the text, which is that of a decoded one.
fn written_again(payload: &Payload) {
    let text = match graph::encode(payload, OPTIONS) {
        Ok(text) => text,
        Err(error) => {
            let known = [Code::DuplicateSymbol, Code::InvalidGraphName, Code::InvalidHeaderValue];
            assert!(known.contains(&error.code), "{error:?}");
            return;
        }
    };
    let Content::Payload(again) = graph::decode(&text).unwrap().content else { panic!("{text}") };
    let linked = Linked::new(again.clone());
    assert_eq!(linked.encode(OPTIONS).unwrap(), text);
    assert_eq!(graph::encode(&again, OPTIONS).unwrap(), text);
    let roots = (graph::pack_root(payload), graph::pack_root(&again));
    assert_eq!(roots.0.unwrap(), roots.1.unwrap());
    let (mut sent, mut received) = (SentSymbols::default(), SymbolTable::default());
    for _ in 0..2 {
        let told = graph::encode_in(&linked, OPTIONS, &mut sent, Duration::ZERO).unwrap();
        let heard = graph::decode_in(&told, &mut received).unwrap().content;
        assert_eq!(heard, Content::Payload(again.clone()), "{told}");
    }
}

fn check(text: &str, table: &mut SymbolTable) {
    let before = table.state();
    match graph::decode_in(text, table) {
        Err(error) => {
            assert!(matches!(error.place, Place::Text { line: 1.., column: 1.. }), "{error:?}");
            assert!(error.message.len() < 1000);
            assert_eq!(table.state(), before);
        }
        Ok(decoded) => {
            if let Content::Payload(payload) = decoded.content {
                written_again(&payload);
                let document = json::encode(&payload, json::Style::default()).unwrap();
                assert_eq!(json::decode(&document).unwrap(), payload);
                if let Ok(bytes) = gcb::encode(&payload, gcb::Lossy::default()) {
                    let again = gcb::decode(&bytes, gcb::DecodeOptions::default()).unwrap();
                    assert_eq!(again.symbols, payload.symbols);
                }
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = gcf::utf8(data) else { return };
    let mut table = SymbolTable::default();
    check(text, &mut table);
    // Headers of their own, so that few inputs end there; texts of a session are divided by NUL.
    check(&format!("GCF profile=graph\n{text}"), &mut table);
    for body in text.split('\0') {
        check(&format!("GCF profile=graph session=true\n{body}"), &mut table);
    }
});
