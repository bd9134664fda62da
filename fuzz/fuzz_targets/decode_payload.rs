//! Any bytes inside the transport encoding, or without it, give a response or an error: MessagePack,
//! compressed streams, dictionary containers.

#![no_main]

use compactwire::base85;
use compactwire::compact::{DecodeOptions, Wire, decode, detect};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fuzz_target!(|data: (u8, &[u8])| bounded::run(data.1.len(), || {
    let prefix = ["A", "Z", "S", "D"][usize::from(data.0) % 4];
    let wire = prefix.to_owned() + &base85::encode(data.1);
    let options = DecodeOptions { max_size: 1 << 17, ..DecodeOptions::default() };
    let text = decode(&wire, &options);
    if let Ok(decoded) = &text {
        assert!(decoded.response.result.len() <= options.max_size.max(data.1.len()));
    }
    // Without Base85 the bytes are the same message, unless they are detected as another format.
    let bytes = decode(Wire::Bytes(data.1), &options);
    if let (Ok(text), Ok(bytes)) = (&text, &bytes)
        && detect(Wire::Bytes(data.1)) == detect(&wire)
    {
        assert_eq!(text, bytes);
    }
}));
