//! Any bytes read as compact CAD text give a document or an error, in every dialect, whole and in
//! chunks, and the document round-trips.

#![no_main]

use compactwire::cad::{self, Dialect, Document, Losses, MAX_LINE, ParseError, Stream};
use compactwire::value::Builder;
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fn stream(data: &[u8], dialect: Dialect) -> Result<(Vec<u64>, cad::Sections), ParseError> {
    let mut stream = Stream::new(dialect, MAX_LINE);
    let mut ids = Vec::new();
    for chunk in data.chunks(7) {
        stream.push(chunk);
        while let Some(node) = stream.node()? {
            ids.push(node.id);
        }
    }
    stream.end();
    while let Some(node) = stream.node()? {
        ids.push(node.id);
    }
    while stream.extra()?.is_some() {}
    Ok((ids, stream.finish()?.0))
}

/// Asserts that a document that is emitted while the text is read is the one that is read whole.
fn assert_emitted(data: &[u8], dialect: Dialect, document: Option<&Document<'_>>) {
    let mut emitted = Builder::default();
    let Ok(complete) = cad::emit_text(data, dialect, &mut emitted);
    if complete {
        let mut whole = Builder::default();
        let document = document.expect("a text with an error is left to `read_bytes`");
        let Ok(()) = cad::emit_document(document, &mut whole);
        assert_eq!(emitted.finish(), whole.finish());
    }
}

fn assert_round_trips(document: &Document<'_>) {
    let json = cad::write_json(document);
    let text = cad::write_v0_2(document).unwrap();
    let again = cad::read_text(&text, Dialect::Auto).unwrap();
    assert_eq!(cad::write_json(&again), json);
    if !document.extra.is_empty() {
        // Only text can carry values outside the model.
        assert_eq!(again.extra, document.extra);
        assert!(cad::write_binary(document).is_err());
        return;
    }
    let bytes = cad::write_binary(document).unwrap();
    assert_eq!(cad::write_json(&cad::read_binary(&bytes).unwrap()), json);
    assert_eq!(cad::write_binary(&again).unwrap(), bytes);
}

/// Asserts that text for vcad is a document with as many nodes, and that its losses are those reported.
fn assert_written_for_vcad(document: &Document<'_>) {
    let losses = cad::losses_for_vcad(document.clone(), false);
    let text = cad::write_for_vcad(document.clone(), true, Losses::ALL);
    assert!(losses.is_ok() || text.is_err());
    let (Ok(losses), Ok(text)) = (losses, text) else { return };
    let again = cad::read_text(&text, Dialect::Auto).unwrap();
    assert_eq!(again.nodes.len(), document.nodes.len(), "{text}");
    assert_eq!(cad::write_for_vcad(document.clone(), true, losses).as_ref(), Ok(&text));
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    for dialect in [Dialect::Auto, Dialect::V0_1, Dialect::V0_2] {
        let errors = cad::check(data, dialect, 100);
        let streamed = stream(data, dialect);
        match cad::read_bytes(data, dialect) {
            Err(error) => {
                assert_emitted(data, dialect, None);
                assert_eq!(errors.first(), Some(&error));
                // A stream does not resolve pointers.
                if !error.message.starts_with("pointer ") {
                    assert_eq!(streamed.err(), Some(error));
                }
            }
            Ok(document) => {
                assert_emitted(data, dialect, Some(&document));
                assert!(errors.is_empty());
                let (ids, sections) = streamed.unwrap();
                assert_eq!(ids, document.nodes.iter().map(|node| node.id).collect::<Vec<_>>());
                assert_eq!(sections, document.sections);
                assert_round_trips(&document);
                assert_written_for_vcad(&document);
            }
        }
    }
}));
