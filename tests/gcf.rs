//! GCF values as a Rust user sees them: values, JSON, row streams, keyed sets and their deltas.

#![cfg(feature = "gcf")]

mod common;

use common::{files, string};
use compactwire::gcf::keyed::{Delta, KeyedSet, Scalar, receive};
use compactwire::gcf::rows::StreamEncoder;
use compactwire::gcf::{Code, EncodeOptions, Limits, Place, decode, encode, from_json, to_json};
use compactwire::json::Escape;

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
    stream.close();
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
        let delta = Delta::between(&base, &new).unwrap().write(tool, None).unwrap();
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
