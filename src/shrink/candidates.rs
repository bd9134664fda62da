//! The GCF candidates: one with every column form that saves, and one with groups of rows.
//!
//! Constant columns, list columns and matrices never make a text longer, so all candidates use them. Texts in
//! arrays are an exception if tokens are only estimated.

use super::same::Comparison;
use super::{Options, Shrunk};
use crate::gcf::{self, DecodeOptions, EncodeOptions, Limits, Node, ReadError, Tree};
use crate::memory;
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

/// The options of the candidates.
fn encode_options(options: &Options, texts: &Texts) -> EncodeOptions {
    EncodeOptions {
        constant_columns: true,
        group_values: true,
        list_columns: options.extensions,
        matrices: options.extensions && !texts.in_rows,
        limits: limits(options),
        ..EncodeOptions::default()
    }
}

/// The texts that are elements of arrays.
#[derive(Default)]
struct Texts {
    count: u64,
    /// Whether an array with a text is itself an element of an array.
    in_rows: bool,
}

impl Texts {
    /// `is_element` tells whether the value is an element of an array.
    fn add(&mut self, tree: &Tree<'_>, value: &Node<'_>, is_element: bool) {
        match value {
            Node::Array(array) => {
                for item in tree.elements(*array) {
                    if let Node::String(_) = item {
                        self.count += 1;
                        self.in_rows |= is_element;
                    }
                    self.add(tree, item, true);
                }
            }
            Node::Object(object) if !object.flat => {
                tree.values(*object).iter().for_each(|one| self.add(tree, one, false));
            }
            _ => {}
        }
    }
}

pub(super) fn limits(options: &Options) -> Limits {
    Limits { max_depth: options.max_depth, ..Limits::default() }
}

/// The candidate with the fewest tokens, but at most `most`; [`Found::Nothing`] if `most` is `None`. `other` is
/// the best other form.
pub(super) fn best<E: From<TryReserveError>>(
    tree: &Tree<'_>,
    options: &Options,
    other: &Shrunk<'_>,
    most: Option<u64>,
    count: &mut impl FnMut(&str) -> Result<u64, E>,
) -> Result<Found, E> {
    let mut texts = Texts::default();
    if !options.exact {
        texts.add(tree, &tree.root, false);
    }
    // A word is cut in other places after the comma of GCF than after a quotation mark.
    let most = most.and_then(|most| most.checked_sub(texts.count.div_ceil(2)));
    let Some(most) = most else { return Ok(Found::Nothing) };
    let forms = gcf::write_forms(tree, &encode_options(options, &texts));
    let Some((text, grouped)) = unless_out_of_memory(forms)? else { return Ok(Found::Nothing) };
    let mut candidates = vec![(count(&text)?, text)];
    if let Some(grouped) = grouped {
        candidates.push((count(&grouped)?, grouped));
    }
    candidates.retain(|(tokens, _)| *tokens <= most);
    candidates.sort_by_key(|(tokens, _)| *tokens);
    let read_options = DecodeOptions { extensions: options.extensions, limits: limits(options) };
    let mut found = Found::Nothing;
    for (tokens, text) in candidates {
        if !other.surely_exceeds(tokens, &text, options) {
            continue;
        }
        if reads_as(&text, tree, read_options)? {
            return Ok(Found::Candidate { text, tokens });
        }
        debug_assert!(false, "a candidate must read back as the value: {text}");
        found = Found::Unverified;
    }
    Ok(found)
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
