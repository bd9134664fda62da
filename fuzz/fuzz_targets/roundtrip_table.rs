//! A GCF text read as a table: both writers of tables agree, and the text they write has the same rows.

#![no_main]

use compactwire::arrow::{Table, gcf_loads};
use compactwire::gcf::{self, Builder, Bump, DecodeOptions, EncodeOptions, Limits};
use libfuzzer_sys::fuzz_target;

#[path = "support/bounded.rs"]
mod bounded;

/// A small expansion: the default alone exceeds the bound of memory.
const OPTIONS: DecodeOptions =
    DecodeOptions { extensions: true, limits: Limits { max_depth: 128, max_expansion: 1 << 13 } };

fuzz_target!(|data: &[u8]| bounded::run(data.len(), || {
    let Ok(text) = gcf::utf8(data) else { return };
    let Ok(column) = gcf_loads(text, None, OPTIONS) else { return };
    let table = Table::new(&column).expect("enough memory");

    let bump = Bump::new();
    let mut builder = Builder::new(&bump, OPTIONS.limits);
    table.emit(&mut builder).expect("every type that is read can be written");
    let value = builder.finish();
    let options = EncodeOptions { limits: OPTIONS.limits, ..EncodeOptions::default() };
    let (checked, fast) = (gcf::write(&value, &options), table.write(&options));
    assert_eq!(fast, checked);

    let Ok(written) = fast else { return };
    bounded::add_input(written.len());
    let again = gcf_loads(&written, Some(column.field()), OPTIONS).expect("its own text");
    assert_eq!(again.chunks(), column.chunks(), "{written}");
}));
