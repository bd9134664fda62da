//! GCB and JSON as a Rust user sees them: the golden bytes, what GCB cannot carry, invalid bytes.

#![cfg(feature = "wire")]
#![expect(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use common::{bytes, files, string};
use compactwire::gcf::graph::Payload;
use compactwire::wire::gcb::{self, Dangling, DecodeOptions, Lossy};
use compactwire::wire::json::{self, Style};
use serde_json::Value;

fn payload(case: &Value) -> Payload {
    json::decode(&case["payload"].to_string()).unwrap()
}

#[test]
fn payloads_of_the_vectors_have_their_bytes() {
    for case in files("wire") {
        let (payload, golden) = (payload(&case), bytes(&case, "gcb_hex"));
        let dangling = if case["mode"] == "compat" { Dangling::Zero } else { Dangling::Refuse };
        let lossy = Lossy { dangling, ..Lossy::default() };
        assert_eq!(gcb::encode(&payload, lossy).unwrap(), golden, "{}", case["name"]);
        let decoded = gcb::decode(&golden, DecodeOptions::default()).unwrap();
        assert_eq!(gcb::encode(&decoded, Lossy::default()).unwrap(), golden);
    }
}

#[test]
fn payload_that_gcb_cannot_represent_is_an_error_with_its_code() {
    for case in files("wire/lossy") {
        let found = gcb::encode(&payload(&case), Lossy::default());
        let code = found.err().map(|error| error.code.name());
        assert_eq!(code, case["expected_error"].as_str(), "{}", case["name"]);
    }
}

#[test]
fn invalid_bytes_are_an_error_with_its_code() {
    for case in files("wire/malformed") {
        let error = gcb::decode(&bytes(&case, "gcb_hex"), DecodeOptions::default()).unwrap_err();
        assert_eq!(error.code.name(), string(&case, "expected_error"));
    }
}

#[test]
fn json_carries_every_payload() {
    for case in files("wire") {
        let payload = payload(&case);
        for compact in [false, true] {
            let text = json::encode(&payload, Style { compact, ..Style::default() }).unwrap();
            assert_eq!(json::decode(&text).unwrap(), payload);
        }
    }
}
