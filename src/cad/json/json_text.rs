//! Writes documents as canonical JSON text, and parses JSON text.

use super::extra_values::emit_document;
use crate::cad::error::DocumentError;
use crate::cad::model::ir::Document;
use crate::cad::model::number;
use crate::json::{Escape, Writer};

/// Writes a document as JSON text: without spaces, ids ascending, numbers in the layout of ECMAScript.
pub fn write_json(document: &Document<'_>) -> String {
    let mut writer = Writer::new(Escape::Needed, write_float);
    let Ok(()) = emit_document(document, &mut writer);
    writer.finish()
}

fn write_float(value: f64, out: &mut String) {
    // JSON readers parse `-0` as the integer 0, which loses the sign.
    if value == 0.0 && value.is_sign_negative() {
        out.push_str("-0.0");
    } else {
        number::write(out, value);
    }
}

/// Parses the JSON text of a document. A byte order mark and Unicode white space are allowed before the
/// text.
pub(crate) fn parse(text: &str) -> Result<crate::value::Value<'static>, DocumentError> {
    use crate::json::{Limits, Problem, parse};
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    parse(text, Limits::default()).map_err(|error| {
        let message = match &error.problem {
            // `key` is already in quotes, and truncated if it is long.
            Problem::Duplicate(key) => format!("duplicate key {key}"),
            _ => format!("invalid JSON: {error}"),
        };
        DocumentError::new("document", message)
    })
}
