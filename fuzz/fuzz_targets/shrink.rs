//! Any text is shrunk and read back. The first byte sets the options.

#![no_main]

use compactwire::gcf::Limits;
use compactwire::json;
use compactwire::shrink::{Format, Options, Shrunk, estimate_tokens, expand, shrink, shrink_with};
use compactwire::value::Builder;
use libfuzzer_sys::fuzz_target;
use std::collections::TryReserveError;

#[path = "support/bounded.rs"]
mod bounded;
#[path = "support/same.rs"]
mod same;

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let Some((&choices, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let chosen = |bit: u8| choices & 1 << bit != 0;
    let defaults = Options::default();
    let options = Options {
        json: !chosen(0),
        gcf: !chosen(1),
        extensions: !chosen(2),
        min_saving: if chosen(3) { defaults.min_saving } else { 0.0 },
        min_tokens: if chosen(4) { defaults.min_tokens } else { 0 },
        max_depth: if chosen(5) { 4 } else { defaults.max_depth },
        ..defaults
    };
    let shrunk = result(text, &options, chosen(6));
    assert!(shrunk.tokens_after <= shrunk.tokens_before);
    assert_eq!(shrunk.tokens_after, estimate_tokens(&shrunk.text));
    assert_eq!(shrunk.format == Format::Text, shrunk.reason.is_some());
    if shrunk.format == Format::Text {
        assert_eq!(shrunk.text, text);
        return;
    }
    let limits = json::Limits { max_depth: options.max_depth, max_digits: usize::MAX };
    let value = json::parse_borrowed(text, limits).expect("only JSON has another form");
    let mut builder = Builder::default();
    expand(&shrunk.text, Limits::default(), &mut builder).expect("the text of a result");
    let found = builder.finish().expect("a value");
    assert!(same::same(&found, &value), "{}", shrunk.text);
    assert_eq!(result(&shrunk.text, &options, chosen(6)).text, shrunk.text);
}));

/// Shrinks by the estimate, or with the estimate in place of a tokenizer.
fn result<'t>(text: &'t str, options: &Options, is_exact: bool) -> Shrunk<'t> {
    let count = |text: &str| Ok::<_, TryReserveError>(estimate_tokens(text));
    let shrunk =
        if is_exact { shrink_with(text, options, count) } else { shrink(text, options) };
    shrunk.expect("enough memory")
}
