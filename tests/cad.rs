//! CAD documents as a Rust user sees them: compact text in both dialects, JSON, hybrids and bytes.

#![cfg(feature = "cad")]
#![expect(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use common::{bytes, cases, string};
use compactwire::cad::{self, Dialect, Document, Loss, Losses, Options};
use compactwire::value::Builder;
use serde_json::Value;

fn document(case: &Value) -> Document<'static> {
    cad::read_json_text(&case["document"].to_string()).unwrap()
}

fn dialect(case: &Value) -> Dialect {
    match string(case, "dialect") {
        "0.1" => Dialect::V0_1,
        "0.2" => Dialect::V0_2,
        _ => Dialect::Auto,
    }
}

#[test]
fn texts_of_the_vectors_are_read_or_refused_with_their_place() {
    for name in ["0.1-valid", "0.1-invalid", "0.2-valid", "0.2-invalid"] {
        for case in cases(&format!("cad/read-{name}.json")) {
            let text = string(&case, "compact");
            let found = cad::read_text(text, dialect(&case));
            let mut emitted = Builder::default();
            let Ok(complete) = cad::emit_text(text.as_bytes(), dialect(&case), &mut emitted);
            if complete {
                let mut whole = Builder::default();
                let Ok(()) = cad::emit_document(found.as_ref().unwrap(), &mut whole);
                assert_eq!(emitted.finish(), whole.finish());
            }
            match &case["error"] {
                Value::Null => {
                    let (found, expected) = (found.unwrap(), document(&case));
                    assert_eq!(cad::write_json(&found), cad::write_json(&expected));
                }
                error => {
                    let found = found.unwrap_err();
                    let place = [found.line, found.column].map(|number| number as u64);
                    let expected = ["line", "column"].map(|name| error[name].as_u64().unwrap());
                    assert_eq!(place, expected, "{found}");
                }
            }
        }
    }
}

#[test]
fn documents_of_the_vectors_are_written_or_refused() {
    for case in cases("cad/write.json") {
        let Ok(document) = cad::read_json_text(&case["document"].to_string()) else {
            assert!(case["error"].is_object() || case["lossy"] == true);
            continue;
        };
        let [names, lossy] = ["names", "lossy"].map(|name| case[name].as_bool().unwrap());
        let written = match string(&case, "dialect") {
            "0.1" => cad::write_v0_1(&document, Options { names, lossy }),
            _ => cad::write_v0_2(&document),
        };
        assert_eq!(written.as_deref().ok(), case["compact"].as_str());
    }
}

#[test]
fn documents_of_the_vectors_are_written_for_vcad_or_refused() {
    for case in cases("cad/target.json") {
        let json = case["document"].to_string();
        let mut allowed = Losses::default();
        match &case["lossy"] {
            Value::Bool(true) => allowed = Losses::ALL,
            Value::Array(codes) => {
                assert!(codes.iter().all(|code| allowed.insert_code(code.as_str().unwrap())));
            }
            _ => {}
        }
        let names = case["names"].as_bool().unwrap();
        let written = cad::read_json_lossy(&json, allowed.contains(Loss::Unknown))
            .and_then(|(document, _)| cad::write_for_vcad(document, names, allowed));
        match written {
            Ok(text) => assert_eq!(text, string(&case, "compact")),
            Err(error) => {
                assert_eq!(error.path, string(&case["error"], "path"));
                assert_eq!(error.message, string(&case["error"], "message"));
            }
        }
        let (document, dropped) = cad::read_json_lossy(&json, true).unwrap();
        let losses = cad::losses_for_vcad(document, dropped).map(Losses::codes).ok();
        let expected: Option<Vec<_>> = case["losses"]
            .as_array()
            .map(|codes| codes.iter().map(|code| code.as_str().unwrap()).collect());
        assert_eq!(losses, expected, "{}", case["name"]);
    }
}

#[test]
fn bytes_of_the_vectors_are_read_and_written() {
    for case in cases("cad/binary.json") {
        let data = bytes(&case, "hex");
        if case["document"].is_null() {
            assert!(cad::read_binary(&data).is_err());
            continue;
        }
        assert_eq!(cad::write_binary(&document(&case)).unwrap(), data);
        let read = cad::read_binary(&data).unwrap();
        assert_eq!(cad::write_json(&read), cad::write_json(&document(&case)));
    }
}

#[test]
fn hybrids_of_the_vectors_are_read() {
    for case in cases("cad/hybrid.json") {
        let found = cad::read_hybrid_text(&case["hybrid"].to_string());
        assert_eq!(found.is_err(), case["error"].is_object());
        if let Ok(found) = found {
            assert_eq!(cad::write_json(&found), cad::write_json(&document(&case)));
        }
    }
}

#[test]
fn a_file_is_recognised_by_its_content() {
    let text = "C 50 30 5\nY 5 10\nT 1 25 15 0\nD 0 2";
    let document = cad::read_text(text, Dialect::Auto).unwrap();
    let json = cad::write_json(&document);
    let (second, data) =
        (cad::write_v0_2(&document).unwrap(), cad::write_binary(&document).unwrap());
    for content in [text.as_bytes(), json.as_bytes(), second.as_bytes(), &data] {
        assert_eq!(cad::write_json(&cad::load(content).unwrap()), json);
    }
    assert_eq!(cad::write_v0_1(&document, Options { names: true, lossy: false }).unwrap(), text);
}

#[test]
fn all_errors_of_a_text_come_at_once() {
    let errors = cad::check(b"C 1 2\ncube 1 2 3\nS 1", Dialect::Auto, 100);
    assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(errors[1].suggestion, Some("C"));
}
