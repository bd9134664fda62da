//! Any bytes read as JSON of a claim give a value or an error, and the canonical text of the value
//! reads back as the same value.

#![no_main]

use compactwire::claims::{canonical_json, parse_json};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let Ok(value) = parse_json(data) else { return };
    let canonical = canonical_json(&value);
    assert!(canonical.is_ascii());
    let again = parse_json(canonical.as_bytes()).expect("canonical JSON is JSON");
    assert_eq!(canonical_json(&again), canonical);
}));
