//! Any bytes inside the transport encoding give a response or an error: MessagePack, compressed
//! streams, dictionary containers.

#![no_main]

use compactwire::base85;
use compactwire::compact::{DecodeOptions, decode};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fuzz_target!(|data: (u8, &[u8])| bounded::run(data.1.len(), || {
    let prefix = ["A", "Z", "S", "D"][usize::from(data.0) % 4];
    let wire = prefix.to_owned() + &base85::encode(data.1);
    let options = DecodeOptions { max_size: 1 << 17, ..DecodeOptions::default() };
    if let Ok(decoded) = decode(&wire, &options) {
        assert!(decoded.response.result.len() <= options.max_size.max(data.1.len()));
    }
}));
