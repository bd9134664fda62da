//! Any bytes read as a binary CAD document, with and without the magic, give a document or an
//! error, and the document round-trips.

#![no_main]

use compactwire::cad::{self, Dialect};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fn read(data: &[u8]) {
    let _ = cad::load(data);
    let Ok(document) = cad::read_binary(data) else { return };
    let json = cad::write_json(&document);
    let bytes = cad::write_binary(&document).unwrap();
    let again = cad::read_binary(&bytes).unwrap();
    assert_eq!(cad::write_json(&again), json);
    assert_eq!(cad::write_binary(&again).unwrap(), bytes);
    let text = cad::write_v0_2(&document).unwrap();
    assert_eq!(cad::write_json(&cad::read_text(&text, Dialect::Auto).unwrap()), json);
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    read(data);
    let mut whole = cad::binary::MAGIC.to_vec();
    whole.push(1);
    whole.extend(data);
    read(&whole);
}));
