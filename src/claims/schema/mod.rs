//! Parses the five kinds of files and validates them against their schemas. Compression Claims section 5.2.
//!
//! `kinds` has the schemas, `rule` the rules that they are made of. Invariant: they accept what the JSON
//! Schemas of the package accept (`compactwire/schemas`), but that an integer must be written without
//! point and exponent: `30.0` is a number but not an integer.

mod kinds;
mod rule;

pub(super) use kinds::FORBIDDEN_NAMES;

use super::canonical::canon_lf;
use super::files::{Content, ReadProblem};
use super::options::Options;
use crate::json;
use crate::text;
use crate::value::{Value, drop_iteratively};
use rule::Rule;

/// The schema of a file: a rule, and one that spans several members.
pub(super) struct Schema(&'static Rule, fn(&Value<'_>) -> Result<(), Violation>);

pub(super) static BUNDLE: Schema = Schema(&kinds::BUNDLE, |_| Ok(()));
pub(super) static CLAIM: Schema = Schema(&kinds::CLAIM, kinds::component_tokens);
pub(super) static RECEIPT: Schema = Schema(&kinds::RECEIPT, |_| Ok(()));
pub(super) static TRUST_POLICY: Schema = Schema(&kinds::TRUST_POLICY, |_| Ok(()));
pub(super) static MERKLE_ATTESTATION: Schema = Schema(&kinds::MERKLE_ATTESTATION, |_| Ok(()));

/// A violation: a message, and a JSON Pointer to the place if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) message: String,
    pub(super) pointer: String,
}

impl Violation {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), pointer: String::new() }
    }

    pub(super) fn at(message: impl Into<String>, pointer: impl Into<String>) -> Self {
        Self { message: message.into(), pointer: pointer.into() }
    }
}

/// Reads a file of at most `limit` bytes.
pub(super) fn read(file: Content, limit: u64) -> Result<Vec<u8>, Violation> {
    file.read(limit).map_err(|problem| match problem {
        ReadProblem::Unreadable => Violation::new("the file cannot be read"),
        ReadProblem::TooLarge => Violation::new(format!("the file is larger than {limit} bytes")),
    })
}

/// A parsed file, not validated yet.
pub(super) struct Document<'a> {
    pub(super) value: Value<'a>,
    /// The file's size in bytes.
    pub(super) size: usize,
}

impl Drop for Document<'_> {
    fn drop(&mut self) {
        drop_iteratively(std::mem::replace(&mut self.value, Value::Null));
    }
}

impl<'a> Document<'a> {
    pub(super) fn into_value(mut self) -> Value<'a> {
        std::mem::replace(&mut self.value, Value::Null)
    }

    pub(super) fn check(&self, schema: &Schema) -> Result<(), Violation> {
        schema.check(&self.value)
    }
}

/// Parses the bytes of a file.
pub(super) fn parse<'a>(bytes: &'a [u8], options: &Options) -> Result<Document<'a>, Violation> {
    parse_with(bytes, options, json::parse_borrowed)
}

/// Like [`parse`], for a value that outlives the bytes.
pub(super) fn parse_owned(bytes: &[u8], options: &Options) -> Result<Document<'static>, Violation> {
    parse_with(bytes, options, json::parse)
}

fn parse_with<'a, 'v>(
    bytes: &'a [u8],
    options: &Options,
    parse: impl FnOnce(&'a str, json::Limits) -> Result<Value<'v>, json::Error>,
) -> Result<Document<'v>, Violation> {
    let text = text::from_utf8(bytes).map_err(|error| {
        Violation::new(format!("not UTF-8 from byte {} on", error.valid_up_to()))
    })?;
    let value =
        parse(text, options.limits.json()).map_err(|error| Violation::new(error.to_string()))?;
    let document = Document { value, size: bytes.len() };
    if options.require_canonical && canon_lf(&document.value) != text {
        return Err(Violation::new("the file is not in canonical form"));
    }
    Ok(document)
}

impl Schema {
    /// Validates a value.
    pub(super) fn check(&self, value: &Value<'_>) -> Result<(), Violation> {
        self.0.check(value)?;
        (self.1)(value)
    }
}

#[cfg(test)]
mod tests;
