//! Writes documents as JSON text, and parses JSON text. Sections 2.1 and 4.3.

use super::extra_values::emit_document;
use crate::cad::error::DocumentError;
use crate::cad::model::ir::Document;
use crate::cad::model::number;
use crate::json::{Escape, write_string};
use crate::walk::Sink;

/// Writes a document as JSON text: without spaces, ids ascending, numbers as in section 4.3.
pub fn write_json(document: &Document<'_>) -> String {
    let mut text = Text { out: String::new(), comma: false };
    let Ok(()) = emit_document(document, &mut text);
    text.out
}

/// A sink that writes JSON text.
struct Text {
    out: String,
    /// Whether the next value or key needs a comma before it.
    comma: bool,
}

impl Text {
    fn raw(&mut self, text: &str) {
        if self.comma {
            self.out.push(',');
        }
        self.out.push_str(text);
        self.comma = true;
    }
}

impl Sink for Text {
    type Error = std::convert::Infallible;

    fn null(&mut self) -> Result<(), Self::Error> {
        self.raw("null");
        Ok(())
    }

    fn bool(&mut self, value: bool) -> Result<(), Self::Error> {
        self.raw(if value { "true" } else { "false" });
        Ok(())
    }

    fn int(&mut self, value: i64) -> Result<(), Self::Error> {
        self.raw(&value.to_string());
        Ok(())
    }

    fn big_int(&mut self, digits: &str) -> Result<(), Self::Error> {
        self.raw(digits);
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Self::Error> {
        // JSON readers parse `-0` as the integer 0, which loses the sign.
        if value == 0.0 && value.is_sign_negative() {
            self.raw("-0.0");
            return Ok(());
        }
        self.raw("");
        number::write(&mut self.out, value);
        Ok(())
    }

    fn string(&mut self, text: &str) -> Result<(), Self::Error> {
        self.raw("");
        write_string(text, Escape::Needed, &mut self.out);
        Ok(())
    }

    fn begin_array(&mut self) -> Result<(), Self::Error> {
        self.raw("[");
        self.comma = false;
        Ok(())
    }

    fn end_array(&mut self) -> Result<(), Self::Error> {
        self.out.push(']');
        self.comma = true;
        Ok(())
    }

    fn begin_object(&mut self) -> Result<(), Self::Error> {
        self.raw("{");
        self.comma = false;
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<(), Self::Error> {
        self.string(key)?;
        self.out.push(':');
        self.comma = false;
        Ok(())
    }

    fn end_object(&mut self) -> Result<(), Self::Error> {
        self.out.push('}');
        self.comma = true;
        Ok(())
    }
}

/// Parses JSON text, with errors about the document. A byte order mark and Unicode white space are
/// allowed before the text: section 8.
pub(crate) fn parse(text: &str) -> Result<crate::value::Value<'static>, DocumentError> {
    use crate::json::{Limits, Problem, parse};
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    parse(text, Limits::default()).map_err(|error| {
        let message = match &error.problem {
            // The problem quotes the key and truncates a long one.
            Problem::Duplicate(key) => format!("duplicate key {key}"),
            _ => format!("invalid JSON: {error}"),
        };
        DocumentError::new("document", message)
    })
}
