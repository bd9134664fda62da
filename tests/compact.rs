//! Compact Protocol as a Rust user sees it: the vectors of responses and deltas, and the examples.

#![cfg(feature = "compact")]
#![expect(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use common::{cases, string};
use compactwire::compact::delta::{self, ApplyOptions, DeltaStream};
use compactwire::compact::{
    Choice, DecodeOptions, Description, Dictionary, EncodeOptions, Format, Layout, NamedDictionary,
    Protocol, Response, ToolCall, decode, detect, encode, encode_tool_call, open, read_tool_call,
};
use compactwire::value::Value;
use serde_json::Value as Json;

fn response(members: &Json) -> Response<'_> {
    Response {
        model: string(members, "model").into(),
        status: compactwire::compact::Status::from_code(string(members, "status")).unwrap(),
        tokens: members["tokens"].as_u64().unwrap(),
        model_name: members["model_name"].as_str().map(Into::into),
        returncode: members["returncode"].as_i64(),
        reasoning_effort: members["reasoning_effort"].as_str().map(Into::into),
        ultrathink: members["ultrathink"].as_bool(),
        ..Response::new(string(members, "result"))
    }
}

fn options(format: &str, members: &Json) -> EncodeOptions<'static> {
    let format = Format::ALL.into_iter().find(|one| one.name() == format).unwrap();
    let protocol = if members["protocol"] == 2 { Protocol::V2 } else { Protocol::V4 };
    let layout = match members["msgpack_version"].as_u64() {
        Some(1) => Some(Layout::V1),
        Some(2) => Some(Layout::V2),
        Some(3) => Some(Layout::V3),
        _ => members["msgpack_version"].as_str().map(|_| Layout::Map),
    };
    EncodeOptions { format: Choice::Format(format), protocol, layout, dictionary: None }
}

#[test]
fn responses_of_the_vectors_are_decoded_and_encoded() {
    for case in cases("compact/responses.json") {
        let (wire, expected) = (string(&case, "wire"), response(&case["response"]));
        let decoded = decode(wire, &DecodeOptions::default()).unwrap();
        assert_eq!(decoded.response, expected, "{wire}");
        assert_eq!(decoded.format.map(Format::name), case["format"].as_str(), "{wire}");
        if let Some(given) = case.get("encode") {
            let written = encode(&expected, &options(string(&case, "format"), given)).unwrap();
            assert_eq!(written, wire);
        }
    }
}

#[test]
fn invalid_responses_of_the_vectors_are_errors() {
    for case in cases("compact/bad_responses.json") {
        let wire = string(&case, "wire");
        assert!(decode(wire, &DecodeOptions::default()).is_err(), "{wire}");
    }
}

#[test]
fn deltas_of_the_vectors_are_applied() {
    for case in cases("compact/deltas.json") {
        let [content, text, result] = ["content", "delta", "result"].map(|key| string(&case, key));
        assert_eq!(delta::apply(content, text, &ApplyOptions::default()).unwrap(), result);
    }
    for case in cases("compact/bad_deltas.json") {
        let [content, text] = ["content", "delta"].map(|key| string(&case, key));
        assert!(delta::apply(content, text, &ApplyOptions::default()).is_err(), "{text}");
    }
}

#[test]
fn a_response_round_trips_in_every_format() {
    let response =
        Response { model: "C45".into(), tokens: 150, ..Response::new("so it goes. ".repeat(40)) };
    for format in Format::ALL {
        let options = EncodeOptions { format: Choice::Format(format), ..EncodeOptions::default() };
        let wire = encode(&response, &options).unwrap();
        assert_eq!(detect(&wire).unwrap().name(), format.name());
        let decoded = decode(&wire, &DecodeOptions::default()).unwrap();
        assert_eq!((decoded.response, decoded.format), (response.clone(), Some(format)));
    }
}

#[test]
fn a_dictionary_of_the_caller_is_found_by_its_id() {
    let texts: Vec<String> = (0..300).map(|n| format!("item {n} of {} is ready", n * 7)).collect();
    let samples: Vec<Vec<u8>> = texts
        .iter()
        .map(|text| compactwire::compact::sample(&Response::new(&**text)).unwrap())
        .collect();
    let dictionary = Dictionary::train(&samples, 4096, Description::default()).unwrap();
    let response = Response::new("item 301 of 2107 is ready");
    let options = EncodeOptions {
        format: Choice::Format(Format::Dictionary),
        dictionary: Some(&dictionary),
        ..EncodeOptions::default()
    };
    let wire = encode(&response, &options).unwrap();
    assert!(decode(&wire, &DecodeOptions::default()).is_err());
    let named = [NamedDictionary { name: "items", dictionary: &dictionary }];
    let known = DecodeOptions { dictionaries: &named, ..DecodeOptions::default() };
    assert_eq!(decode(&wire, &known).unwrap().response, response);
}

#[test]
fn a_tool_call_round_trips() {
    let arguments = Value::Object(vec![("query".into(), Value::String("hello".into()))]);
    let call = ToolCall { name: "search".into(), arguments, context: Some("User: Hi".into()) };
    let wire = encode_tool_call(&call, &EncodeOptions::default()).unwrap();
    let opened = open(&wire, &DecodeOptions::default()).unwrap();
    assert_eq!(read_tool_call(&opened).unwrap(), call);
}

#[test]
fn two_delta_streams_hold_the_same_text() {
    let mut sender = DeltaStream::new("", ApplyOptions::default());
    let mut receiver = DeltaStream::new("", ApplyOptions::default());
    for text in ["The", "The answer", "The answer is 42.", "42."] {
        let delta = sender.push(text).unwrap();
        assert_eq!(receiver.apply(&delta).unwrap(), text);
    }
}
