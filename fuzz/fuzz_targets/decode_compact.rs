//! Any text decodes to a response or an error, and a decoded response round-trips.

#![no_main]

use compactwire::compact::{Choice, DecodeOptions, EncodeOptions, Format, decode, encode};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fuzz_target!(|wire: &str| bounded::run(wire.len(), || {
    let options = DecodeOptions { max_size: 1 << 17, ..DecodeOptions::default() };
    let Ok(decoded) = decode(wire, &options) else { return };
    // Base85 carries every response, but none of the fields that only a verbose message has.
    let options = EncodeOptions { format: Choice::Format(Format::Base85), ..Default::default() };
    let again = encode(&decoded.response, &options)
        .ok()
        .and_then(|wire| decode(&wire, &DecodeOptions::default()).ok())
        .map(|decoded| decoded.response);
    let same = again.is_some_and(|again| {
        let first = &decoded.response;
        (again.result, again.model, again.status, again.tokens)
            == (first.result.clone(), first.model.clone(), first.status, first.tokens)
    });
    assert!(same, "{wire:?}");
}));
