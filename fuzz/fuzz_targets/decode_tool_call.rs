//! Any text decodes to a tool call or an error, and a decoded call round-trips.
#![no_main]

use compactwire::compact::{
    Choice, DecodeOptions, EncodeOptions, Format, encode_tool_call, open, read_tool_call,
};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fuzz_target!(|wire: &str| bounded::run(wire.len(), || {
    let options = DecodeOptions { max_size: 1 << 17, dictionaries: &[] };
    let Ok(opened) = open(wire, &options) else { return };
    let Ok(call) = read_tool_call(&opened) else { return };
    let verbose = EncodeOptions { format: Choice::Format(Format::Verbose), ..Default::default() };
    let text = encode_tool_call(&call, &verbose).unwrap();
    let again = open(&text, &DecodeOptions::default()).unwrap();
    assert_eq!(read_tool_call(&again).unwrap(), call);
}));
