//! GCF values as a Rust user sees them: values, JSON, row streams, keyed sets and their deltas.

#![cfg(feature = "gcf")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed helper fails its test")]

mod common;

use common::{files, path, string};
use compactwire::gcf::keyed::{Delta, KeyedSet, Scalar, receive};
use compactwire::gcf::rows::{Event, RowReader, Status, StreamEncoder};
use compactwire::gcf::{
    Code, DecodeOptions, EncodeOptions, Error, Grouping, Limits, Place, ReadError, decode, encode,
    encode_grouped, from_json, to_json,
};
use compactwire::json::{self, Escape};
use compactwire::value::{Builder, Value};
use std::fs;

const ROWS: &str = "GCF profile=generic\n## rows [2]{id,name}\n1|one\n2|two\n";

#[test]
fn a_table_is_written_as_rows_and_read_back() {
    let json = r#"{"rows":[{"id":1,"name":"one"},{"id":2,"name":"two"}]}"#;
    let text = from_json(json, &EncodeOptions::default()).unwrap();
    assert_eq!(text, ROWS);
    assert_eq!(to_json(&text, Limits::default(), Escape::Needed).unwrap(), json);
    let value = decode(&text, Limits::default()).unwrap();
    assert_eq!(encode(&value, &EncodeOptions::default()).unwrap(), text);
}

#[test]
fn an_error_has_a_code_and_a_place() {
    let error = decode("GCF profile=generic\n## rows [3]{id}\n1\n", Limits::default()).unwrap_err();
    assert_eq!(error.code, Code::CountMismatch);
    assert!(matches!(error.place, Place::Text { .. }), "{error}");
}

#[test]
fn rows_are_written_as_they_come() {
    let mut stream = StreamEncoder::new();
    let fields = ["id".to_owned(), "name".to_owned()];
    stream.begin_array("rows", &fields).unwrap();
    for (id, name) in [(1, "one"), (2, "two")] {
        stream.row(&[Some(Scalar::Int(id)), Some(Scalar::String(name.into()))]).unwrap();
    }
    stream.close().unwrap();
    let read = |text: &str| to_json(text, Limits::default(), Escape::Needed).unwrap();
    assert_eq!(read(&stream.take()), read(ROWS));
}

#[test]
fn keyed_sets_of_the_vectors_have_their_roots_and_deltas() {
    for case in files("gcf/generic-delta") {
        let tool = string(&case, "tool");
        let base = KeyedSet::read(string(&case, "base_full")).unwrap();
        let new = KeyedSet::read(string(&case, "new_full")).unwrap();
        assert_eq!(
            (base.root(), new.root()),
            (string(&case, "base_root"), string(&case, "new_root"))
        );
        assert_eq!(base.write(tool).unwrap(), string(&case, "base_full"));
        let delta = Delta::between(&base, &new).unwrap().unwrap().write(tool, None).unwrap();
        assert_eq!(delta, string(&case, "expected"));
        assert_eq!(receive(Some(&base), &delta).unwrap().root(), new.root());
    }
}

#[test]
fn a_delta_for_another_base_is_refused() {
    for case in files("gcf/generic-delta") {
        let new = KeyedSet::read(string(&case, "new_full")).unwrap();
        let error = receive(Some(&new), string(&case, "expected")).unwrap_err();
        assert_eq!(error.code, Code::BaseMismatch);
    }
}

/// The value of a JSON text, with its members in their order.
fn parse(text: &str) -> Value<'static> {
    let mut builder = Builder::default();
    json::read(text, json::Limits::default(), &mut builder).unwrap();
    builder.finish().unwrap()
}

/// The string of a member.
fn str_of<'v>(case: &'v Value<'_>, name: &str) -> &'v str {
    case.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn is_set(options: &Value<'_>, name: &str) -> bool {
    options.get(name) == Some(&Value::Bool(true))
}

/// The JSON text of a value, in which equal numbers are written alike.
fn json_of(value: &Value<'_>) -> String {
    let text = encode(value, &EncodeOptions::default()).unwrap();
    to_json(&text, Limits::default(), Escape::Needed).unwrap()
}

/// Reads all rows of a text, in pieces of `size` bytes.
fn read_rows(text: &str, options: DecodeOptions, size: usize) -> Result<usize, Error> {
    let mut rows = RowReader::new(Vec::new(), options, 1 << 20);
    let mut builder = Builder::default();
    let mut found = 0;
    let mut each = |builder: &mut Builder<'static>, event: Event| {
        found += usize::from(event == Event::Row);
        *builder = Builder::default();
        Ok(())
    };
    let mut pieces = text.as_bytes().chunks(size);
    loop {
        match rows.read(&mut builder, &mut each) {
            Ok(Status::Finished) => return Ok(found),
            Ok(Status::Paused) => {}
            Ok(Status::NeedMore) => match pieces.next() {
                Some(piece) => rows.feed(piece),
                None => rows.finish(),
            },
            Err(ReadError::Text(error)) => return Err(error),
            Err(ReadError::Sink(never)) => match never {},
        }
    }
}

#[test]
fn published_forms_are_read_and_written_as_the_vectors_say() {
    let mut found = 0;
    for entry in fs::read_dir(path("gcf/published")).unwrap() {
        let cases = parse(&fs::read_to_string(entry.unwrap().path()).unwrap());
        for case in cases.as_array().unwrap() {
            check_published(case);
            found += 1;
        }
    }
    assert!(found > 150, "{found}");
}

fn check_published(case: &Value<'_>) {
    let name = str_of(case, "name");
    let (text, expected) = (str_of(case, "input"), str_of(case, "expected"));
    let option = |name| case.get("options").is_some_and(|options| is_set(options, name));
    let reading = DecodeOptions { extensions: option("extensions"), ..DecodeOptions::default() };
    let refused = |error: &Error| {
        assert_eq!(error.code.name(), str_of(case, "expectedError"), "{name}: {error}");
    };
    match str_of(case, "operation") {
        "decode" => {
            let expected = case.get("expected").unwrap();
            let found = decode(text, reading).unwrap();
            assert_eq!(json_of(&found), json_of(expected), "{name}");
            if let Some(rows) = expected.as_array() {
                assert_eq!(read_rows(text, reading, 3).unwrap(), rows.len(), "{name}");
            }
        }
        "error" => {
            let error = decode(text, reading).unwrap_err();
            refused(&error);
            assert_eq!(read_rows(text, reading, 1).unwrap_err(), error, "{name}");
        }
        "encode" => {
            let options = EncodeOptions {
                constant_columns: option("constant_columns"),
                group_values: option("group_values"),
                list_columns: option("list_columns"),
                matrices: option("matrices"),
                ..EncodeOptions::default()
            };
            let value = case.get("input").unwrap();
            assert_eq!(encode(value, &options).unwrap(), expected, "{name}");
            let reading = DecodeOptions { extensions: true, ..DecodeOptions::default() };
            assert_eq!(json_of(&decode(expected, reading).unwrap()), json_of(value), "{name}");
        }
        "encode-grouped" | "encode-grouped-error" => {
            let (key, group) = (str_of(case, "key"), str_of(case, "group"));
            let grouping = Grouping { key, group, reorder: is_set(case, "reorder") };
            match encode_grouped(case.get("input").unwrap(), grouping, Limits::default()) {
                Ok(text) => assert_eq!(text, expected, "{name}"),
                Err(error) => {
                    refused(&error);
                    assert!(matches!(error.place, Place::Value(_)), "{error}");
                }
            }
        }
        "keyed-delta-error" => refused(&Delta::read(text).unwrap_err()),
        other => panic!("unknown operation {other}"),
    }
}
