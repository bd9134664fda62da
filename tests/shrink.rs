//! Shrinking as a Rust user sees it: texts and values, options, and reading the result back.

#![cfg(feature = "shrink")]
#![expect(clippy::unwrap_used, reason = "a failed helper fails its test")]

use compactwire::gcf::Limits;
use compactwire::json::{self, Escape};
use compactwire::shrink::{
    ExpandError, Format, Options, Reason, Shrunk, estimate_tokens, expand, shrink, shrink_value,
    shrink_value_with, shrink_with,
};
use compactwire::value::{Builder, Value};
use std::collections::TryReserveError;

fn rows() -> String {
    let row = |n: i32| format!("{{\"id\": {n}, \"name\": \"user {n}\", \"active\": true}}");
    format!("[{}]", (0..50).map(row).collect::<Vec<_>>().join(", "))
}

fn shrunk<'a>(text: &'a str, options: &Options) -> Shrunk<'a> {
    shrink(text, options).unwrap()
}

fn expanded(text: &str) -> Value<'static> {
    let mut builder = Builder::default();
    expand(text, Limits::default(), &mut builder).unwrap();
    builder.finish().unwrap()
}

fn compact(value: &Value<'_>) -> String {
    let mut text = String::new();
    json::write_in_order(value, Escape::Needed, &mut text);
    text
}

#[test]
fn rows_become_gcf_and_read_back_as_the_same_value() {
    let text = rows();
    let found = shrunk(&text, &Options::default());
    assert_eq!((found.format, found.reason), (Format::Gcf, None));
    assert_eq!(found.tokens_before, estimate_tokens(&text));
    assert_eq!(found.tokens_after, estimate_tokens(&found.text));
    assert!(found.tokens_after < found.tokens_before);
    assert_eq!(compact(&expanded(&found.text)), compact(&expanded(&text)));
}

#[test]
fn without_gcf_the_result_is_json() {
    let text = rows();
    let found = shrunk(&text, &Options { gcf: false, ..Options::default() });
    assert_eq!(found.format, Format::Json);
    assert_eq!(found.text, compact(&expanded(&text)));
}

#[test]
fn other_text_stays_as_it_is_for_a_reason() {
    let found = shrunk("not JSON", &Options::default());
    assert_eq!((&*found.text, found.reason), ("not JSON", Some(Reason::NotJson)));
    let found = shrunk("[1, 2]", &Options { max_size: 3, ..Options::default() });
    assert_eq!((&*found.text, found.reason), ("[1, 2]", Some(Reason::Size)));
}

#[test]
fn a_value_is_never_the_format_text() {
    let value = expanded("[1]");
    let found = shrink_value(&value, &Options::default()).unwrap();
    assert_eq!((found.format, &*found.text), (Format::Json, "[1]"));
}

#[test]
fn a_tokenizer_may_count_the_tokens() {
    let text = rows();
    let value = expanded(&text);
    let bytes = |text: &str| Ok::<_, TryReserveError>(text.len() as u64);
    let found = shrink_with(&text, &Options::default(), bytes).unwrap();
    assert_eq!(
        (found.tokens_before, found.tokens_after),
        (text.len() as u64, found.text.len() as u64)
    );
    let of_value = shrink_value_with(&value, &Options::default(), bytes).unwrap();
    assert_eq!((of_value.text, of_value.tokens_before), (found.text, compact(&value).len() as u64));
}

#[test]
fn an_invalid_text_is_an_error() {
    let mut builder = Builder::default();
    let error = expand("GCF profile=generic\n## [2]{a}\n1\n", Limits::default(), &mut builder);
    assert!(matches!(error, Err(ExpandError::Gcf(_))), "{error:?}");
    let error = expand("[1", Limits::default(), &mut Builder::default());
    assert!(matches!(error, Err(ExpandError::Json(_))), "{error:?}");
}
