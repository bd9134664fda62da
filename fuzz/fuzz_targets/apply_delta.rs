//! Any delta applied to any content gives a text or an error, and our own delta always leads to the
//! new text.

#![no_main]

use compactwire::compact::delta::{ApplyOptions, DeltaStream, Replace, apply, encode};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fuzz_target!(|data: &str| bounded::run(data.len(), || {
    // NUL separates the content from the delta, or from the new content.
    let (old, new) = data.split_once('\0').unwrap_or((data, ""));
    for replace in [Replace::Overwrite, Replace::Truncate] {
        let options = ApplyOptions { replace, max_size: 1 << 17 };
        let _ = apply(old, new, &options);
        let delta = encode(old, new).unwrap();
        assert_eq!(apply(old, &delta, &options).as_deref(), Ok(new), "{delta:?}");
        let mut stream = DeltaStream::new(old, options);
        assert_eq!(stream.push(new).unwrap(), delta);
        assert_eq!(stream.content(), new);
    }
}));
