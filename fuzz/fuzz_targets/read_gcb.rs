//! Any bytes read as GCB, with and without the magic, give a payload or an error, and the payload
//! encodes to the same bytes.

#![no_main]

use compactwire::wire::gcb::{self, DecodeOptions, Lossy};
use compactwire::wire::{Place, json};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fn read(bytes: &[u8]) {
    for raw_float32 in [false, true] {
        for unknown_ids in [false, true] {
            let options = DecodeOptions { raw_float32, unknown_ids, duplicates: false };
            let payload = match gcb::decode(bytes, options) {
                Ok(payload) => payload,
                Err(error) => {
                    assert!(
                        matches!(error.place, Place::Offset(at) if at <= bytes.len()),
                        "{error:?}"
                    );
                    continue;
                }
            };
            // An unknown id is written as 0, and a raw number is not always the shortest.
            if !raw_float32 && !unknown_ids {
                assert_eq!(gcb::encode(&payload, Lossy::default()).unwrap(), bytes);
            }
            let document = json::encode(&payload, json::Style::default()).unwrap();
            assert_eq!(json::decode(&document).unwrap(), payload);
        }
    }
}

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    read(data);
    read(&[b"GCB1\x01", data].concat());
}));
