//! The GCF candidates: the same value written with one more option each.

use super::Options;
use super::same::same;
use crate::gcf::{self, Builder, Bump, DecodeOptions, EncodeOptions, Limits};
use crate::memory;
use crate::value::Value;
use std::collections::TryReserveError;

/// The best candidate.
pub(super) enum Found {
    /// It reads back as the value.
    Candidate { text: String, tokens: u64 },
    /// A candidate would save enough, but none reads back as the value.
    Unverified,
    /// No candidate saves enough.
    Nothing,
}

/// The options of each candidate. Of candidates with equally many tokens, the earlier one is taken.
fn choices(options: &Options) -> Vec<EncodeOptions> {
    let limits = limits(options);
    let plain = EncodeOptions { limits, ..EncodeOptions::default() };
    let constants = EncodeOptions { constant_columns: true, ..plain };
    let mut choices = vec![plain, constants, EncodeOptions { group_values: true, ..constants }];
    if options.extensions {
        // Neither extension ever makes a text longer, so one candidate has both.
        let extended = |choice| EncodeOptions { list_columns: true, matrices: true, ..choice };
        choices.extend([extended(choices[1]), extended(choices[2])]);
    }
    choices
}

fn limits(options: &Options) -> Limits {
    Limits { max_depth: options.max_depth, ..Limits::default() }
}

/// The candidate with the fewest tokens, but at most `most`; [`Found::Nothing`] if `most` is `None`.
pub(super) fn best<E: From<TryReserveError>>(
    value: &Value<'_>,
    options: &Options,
    most: Option<u64>,
    count: &mut impl FnMut(&str) -> Result<u64, E>,
) -> Result<Found, E> {
    let Some(most) = most else { return Ok(Found::Nothing) };
    let bump = Bump::new();
    let mut candidates: Vec<(u64, String)> = Vec::new();
    let mut builder = Builder::new(&bump, limits(options));
    if unless_out_of_memory(value.emit(&mut builder))?.is_none() {
        return Ok(Found::Nothing);
    }
    let tree = builder.finish();
    for choice in choices(options) {
        let Some(text) = unless_out_of_memory(gcf::write(&tree, &choice))? else { continue };
        if candidates.iter().any(|(_, other)| *other == text) {
            continue;
        }
        let tokens = count(&text)?;
        candidates.push((tokens, text));
    }
    candidates.retain(|(tokens, _)| *tokens <= most);
    candidates.sort_by_key(|(tokens, _)| *tokens);
    let read_options = DecodeOptions { extensions: options.extensions, limits: limits(options) };
    let mut found = Found::Nothing;
    for (tokens, text) in candidates {
        let read = gcf::decode(&text, read_options);
        if unless_out_of_memory(read)?.is_some_and(|read| same(&read, value)) {
            return Ok(Found::Candidate { text, tokens });
        }
        debug_assert!(false, "a candidate must read back as the value: {text}");
        found = Found::Unverified;
    }
    Ok(found)
}

/// The result; `None` for an error that only excludes a candidate. Without memory, no candidate can be
/// judged.
fn unless_out_of_memory<T>(result: Result<T, gcf::Error>) -> Result<Option<T>, TryReserveError> {
    match result {
        Err(error) if error.code == gcf::Code::OutOfMemory => Err(memory::exhausted()),
        result => Ok(result.ok()),
    }
}
