//! Reads what [`super::shrink`] wrote. The first characters show whether it is GCF or JSON.

use crate::gcf::{self, DecodeOptions, Limits};
use crate::json;
use crate::walk::Columns;

/// Why a text cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpandError<E> {
    /// The text begins as GCF, but is not valid.
    Gcf(gcf::Error),
    /// The text is neither GCF nor JSON.
    Json(json::Error),
    /// The sink returned an error.
    Sink(E),
}

/// Parses a text that is GCF or JSON and emits its value to `sink`.
///
/// # Errors
/// [`ExpandError`].
pub fn expand<S: Columns>(
    text: &str,
    limits: Limits,
    sink: &mut S,
) -> Result<(), ExpandError<S::Error>> {
    // With white space before it, the text is not valid GCF, and the error says so.
    if text.trim_start().starts_with("GCF ") {
        let options = DecodeOptions { extensions: true, limits };
        return gcf::read(text, options, sink).map_err(|error| match error {
            gcf::ReadError::Text(error) => ExpandError::Gcf(error),
            gcf::ReadError::Sink(error) => ExpandError::Sink(error),
        });
    }
    let json_limits = json::Limits { max_depth: limits.max_depth, ..json::Limits::default() };
    match json::read_all(text, json_limits, sink) {
        Ok(()) => Ok(()),
        Err(json::ReadError::Json(error)) => Err(ExpandError::Json(error)),
        Err(json::ReadError::Sink(error)) => Err(ExpandError::Sink(error)),
    }
}
