//! Any response round-trips in every format and dialect.

#![no_main]

use compactwire::base85;
use compactwire::compact::{
    Choice, DecodeOptions, EncodeOptions, Format, Protocol, Response, Status, Wire, decode, encode,
    encode_bytes,
};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

fuzz_target!(|fields: (&str, &str, u8, u64)| bounded::run(fields.0.len() + fields.1.len(), || {
    let (result, model, status, tokens) = fields;
    let status = [Status::Ok, Status::Err, Status::Part, Status::Stream][usize::from(status) % 4];
    let tokens = tokens >> 1;
    let response = Response { model: model.into(), status, tokens, ..Response::new(result) };
    for protocol in [Protocol::V2, Protocol::V4] {
        for format in Format::ALL {
            let format = Choice::Format(format);
            let options = EncodeOptions { format, protocol, ..EncodeOptions::default() };
            let Ok(wire) = encode(&response, &options) else {
                assert_eq!(format, Choice::Format(Format::Dsl));
                assert!(model.contains(['|', '\n']));
                continue;
            };
            let bytes = encode_bytes(&response, &options).unwrap();
            let read = decode(Wire::Bytes(&bytes), &DecodeOptions::default()).unwrap();
            let mut again = decode(&wire, &DecodeOptions::default()).unwrap().response;
            assert_eq!(read.response, again);
            // In a verbose message the model is a name. A string that is not a code is read as `model_name`.
            if again.model_name.take().is_some() {
                again.model = model.into();
            }
            assert_eq!(again, response);
        }
    }
    assert_eq!(base85::decode(&base85::encode(result.as_bytes())).unwrap(), result.as_bytes());
}));
