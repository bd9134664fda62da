//! The GCF candidates: one with every column form that saves, and one with groups of rows.
//!
//! Constant columns, list columns and matrices never make a text longer, so all candidates use them.

use super::same::Comparison;
use super::{Options, Tokens};
use crate::gcf::{self, DecodeOptions, EncodeOptions, Limits, ReadError, Tree};
use crate::memory;
use std::collections::TryReserveError;

/// The best candidate.
pub(super) enum Found {
    /// It reads back as the value.
    Candidate { text: String, tokens: Tokens },
    /// A candidate would save enough, but none reads back as the value.
    Unverified,
    /// No candidate saves enough.
    Nothing,
}

/// The options of the candidates.
fn encode_options(options: &Options) -> EncodeOptions {
    EncodeOptions {
        constant_columns: true,
        group_values: true,
        list_columns: options.extensions,
        matrices: options.extensions,
        limits: limits(options),
        ..EncodeOptions::default()
    }
}

pub(super) fn limits(options: &Options) -> Limits {
    Limits { max_depth: options.max_depth, ..Limits::default() }
}

/// The candidate with the fewest tokens, if it saves enough. `other` are those of the best other form.
pub(super) fn best<E: From<TryReserveError>>(
    tree: &Tree<'_>,
    options: &Options,
    other: Tokens,
    measure: &mut impl FnMut(&str) -> Result<Tokens, E>,
) -> Result<Found, E> {
    let Some(most) = enough(other.count(), options) else { return Ok(Found::Nothing) };
    let forms = gcf::write_forms(tree, &encode_options(options));
    let Some((text, grouped)) = unless_out_of_memory(forms)? else { return Ok(Found::Nothing) };
    let mut candidates = vec![(measure(&text)?, text)];
    if let Some(grouped) = grouped {
        candidates.push((measure(&grouped)?, grouped));
    }
    candidates.retain(|(tokens, _)| tokens.count() <= most && other.surely_exceed(*tokens));
    candidates.sort_by_key(|(tokens, _)| tokens.count());
    let read_options = DecodeOptions { extensions: options.extensions, limits: limits(options) };
    let mut found = Found::Nothing;
    for (tokens, text) in candidates {
        if reads_as(&text, tree, read_options)? {
            return Ok(Found::Candidate { text, tokens });
        }
        debug_assert!(false, "a candidate must read back as the value: {text}");
        found = Found::Unverified;
    }
    Ok(found)
}

/// The largest number of tokens with which GCF saves enough. `tokens` is that of the best other form.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a fraction of a number of tokens"
)]
fn enough(tokens: u64, options: &Options) -> Option<u64> {
    let part = (tokens as f64 * options.min_saving).ceil() as u64;
    tokens.checked_sub(part.max(options.min_tokens).max(1))
}

/// Whether a text reads back as the value of the tree.
fn reads_as(text: &str, tree: &Tree<'_>, options: DecodeOptions) -> Result<bool, TryReserveError> {
    let mut comparison = Comparison::new(tree);
    let read = gcf::read(text, options, &mut comparison).map_err(|error| match error {
        ReadError::Text(error) => error,
        ReadError::Sink(never) => match never {},
    });
    Ok(unless_out_of_memory(read)?.is_some() && comparison.is_same())
}

/// Returns the result; `None` for an error that only excludes a candidate. Too little memory is an error of
/// the whole call.
pub(super) fn unless_out_of_memory<T>(
    result: Result<T, gcf::Error>,
) -> Result<Option<T>, TryReserveError> {
    match result {
        Err(error) if error.code == gcf::Code::OutOfMemory => Err(memory::exhausted()),
        result => Ok(result.ok()),
    }
}
