//! The GCF candidates: the same value written with one more option each.

use super::same::same;
use crate::gcf::{self, Builder, Bump, EncodeOptions, Limits};
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
fn choices(max_depth: usize) -> [EncodeOptions; 3] {
    let limits = Limits { max_depth, ..Limits::default() };
    let plain = EncodeOptions { limits, ..EncodeOptions::default() };
    let constants = EncodeOptions { constant_columns: true, ..plain };
    [plain, constants, EncodeOptions { group_values: true, ..constants }]
}

/// The candidate with the fewest tokens, but at most `most`; [`Found::Nothing`] if `most` is `None`.
pub(super) fn best<E: From<TryReserveError>>(
    value: &Value<'_>,
    max_depth: usize,
    most: Option<u64>,
    count: &mut impl FnMut(&str) -> Result<u64, E>,
) -> Result<Found, E> {
    let Some(most) = most else { return Ok(Found::Nothing) };
    let bump = Bump::new();
    let mut candidates: Vec<(u64, String)> = Vec::new();
    let choices = choices(max_depth);
    let mut builder = Builder::new(&bump, choices[0].limits);
    if unless_out_of_memory(value.emit(&mut builder))?.is_none() {
        return Ok(Found::Nothing);
    }
    let tree = builder.finish();
    for options in &choices {
        let Some(text) = unless_out_of_memory(gcf::write(&tree, options))? else { continue };
        if candidates.iter().any(|(_, other)| *other == text) {
            continue;
        }
        let tokens = count(&text)?;
        candidates.push((tokens, text));
    }
    candidates.retain(|(tokens, _)| *tokens <= most);
    candidates.sort_by_key(|(tokens, _)| *tokens);
    let mut found = Found::Nothing;
    for (tokens, text) in candidates {
        let read = gcf::decode(&text, Limits { max_depth, ..Limits::default() });
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
