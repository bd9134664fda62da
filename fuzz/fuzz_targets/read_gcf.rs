//! Any text read as GCF gives a value or an error with its place, and the value round-trips.

#![no_main]

use compactwire::gcf::{self, Code, DecodeOptions, EncodeOptions, Limits, Place};
use compactwire::json::Escape;
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;
#[path = "support/same.rs"]
mod same;

/// A small expansion: the default alone exceeds the bound of memory.
const LIMITS: Limits = Limits { max_depth: 128, max_expansion: 1 << 17 };
const EXTENSIONS: DecodeOptions = DecodeOptions { extensions: true, limits: LIMITS };

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let Ok(text) = gcf::utf8(data) else { return };
    // With a valid header, so that few inputs fail there.
    let body = format!("GCF profile=generic\n{text}");
    for text in [text, &body] {
        let value = match gcf::decode(text, EXTENSIONS) {
            Ok(value) => value,
            Err(error) => {
                assert!(gcf::decode(text, LIMITS).is_err());
                assert!(matches!(error.place, Place::Text { line: 1.., column: 1.. }), "{error:?}");
                assert!(error.message.len() < 1000);
                continue;
            }
        };
        // Without extensions a text is refused, or has the same value.
        match gcf::decode(text, LIMITS) {
            Ok(plain) => assert_eq!(plain, value),
            Err(error) => assert_eq!(error.code, Code::UnsupportedExtension, "{error}"),
        }
        let options = EncodeOptions::default();
        let canonical = gcf::encode(&value, &options).unwrap();
        let json = gcf::to_json(text, EXTENSIONS, Escape::Needed).unwrap();
        bounded::add_input(canonical.len() + json.len());
        assert_eq!(gcf::from_json(&json, &options).unwrap(), canonical);
        let again = gcf::decode(&canonical, Limits::default()).unwrap();
        assert!(same::same(&again, &value), "{canonical}");
        let lists =
            gcf::encode(&value, &EncodeOptions { list_columns: true, matrices: true, ..options })
                .unwrap();
        assert!(lists.len() <= canonical.len(), "{lists}");
        bounded::add_input(lists.len());
        let again = gcf::decode(&lists, EXTENSIONS).unwrap();
        assert!(same::same(&again, &value), "{lists}");
        // Grouped, the text is not longer, and holds the same value.
        let grouped =
            gcf::encode(&value, &EncodeOptions { group_values: true, ..options }).unwrap();
        assert!(grouped.len() <= canonical.len(), "{grouped}");
        let again = gcf::decode(&grouped, Limits::default()).unwrap();
        assert!(same::same(&again, &value), "{grouped}");
    }
}));
