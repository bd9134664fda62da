//! Rewrites a JSON text in the form that costs a language model the fewest tokens.
//!
//! The candidates are the text without white space, and GCF with some of its options. A candidate is
//! taken if it saves enough and reads back as the same value; otherwise the text stays as it is.
//!
//! Invariant: the result has at most as many tokens as the text, by the counter that the caller passes or by
//! the estimate, and depends only on the text, the options and the counter.
//!
//! No specification has this: it is ours. JSON is that of RFC 8259, GCF that of GCF 3.6 sections 2 to 7.
//!
//! `minify` makes the JSON candidate, `candidates` those in GCF, and `same` compares the value with what a
//! candidate reads back as. `estimate` counts tokens without a tokenizer by `prices`, and `merges` counts those
//! of punctuation. `expand` is the way back.

mod candidates;
mod estimate;
mod expand;
mod merges;
mod minify;
#[rustfmt::skip]
mod prices;
mod same;

pub use estimate::estimate_tokens;
pub use expand::{ExpandError, expand};

use crate::gcf::{Builder, Bump, Limits, Tree};
use crate::json::{self, Escape};
use crate::memory;
use crate::value::Value;
use estimate::Estimate;
use minify::minify;
use std::borrow::Cow;
use std::collections::TryReserveError;

/// The options of [`shrink`] and [`shrink_with`].
///
/// ```
/// use compactwire::shrink::{Format, Options, shrink};
///
/// // For a reader that knows only JSON.
/// let options = Options { gcf: false, ..Options::default() };
/// let shrunk = shrink("[1,   2,   3]", &options).unwrap();
/// assert_eq!((&*shrunk.text, shrunk.format), ("[1,2,3]", Format::Json));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Whether JSON without white space is a candidate.
    pub json: bool,
    /// Whether GCF is a candidate.
    pub gcf: bool,
    /// Whether GCF may have list columns and matrices, which are extensions that only this library reads.
    pub extensions: bool,
    /// GCF is taken only if it saves at least this fraction of the tokens of the best other form.
    pub min_saving: f64,
    /// GCF is taken only if it saves at least this many tokens.
    pub min_tokens: u64,
    /// Longer texts, in bytes, stay as they are.
    pub max_size: usize,
    /// Texts that are nested deeper stay as they are. At most [`Limits::DEEPEST`].
    pub max_depth: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            json: true,
            gcf: true,
            extensions: true,
            // Models know JSON better than GCF: less is not worth another format.
            min_saving: 0.10,
            min_tokens: 16,
            // About a million tokens, which is more than most models accept.
            max_size: 4 << 20,
            max_depth: 128,
        }
    }
}

/// The form of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Format {
    /// The text that was passed.
    Text,
    /// JSON without white space between tokens.
    Json,
    /// The generic profile of GCF.
    Gcf,
}

/// Why a text stayed as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Reason {
    /// It is longer than `max_size`.
    Size,
    /// It is not a valid JSON array or object. Duplicate keys and lone surrogates are invalid as well.
    NotJson,
    /// It is nested deeper than `max_depth`.
    Depth,
    /// A number would lose digits, and the JSON candidate saves nothing; or [`expand`] refuses the number.
    Number,
    /// A candidate did not read back as the same value: a defect of this library.
    Verify,
    /// No candidate saves enough.
    NoGain,
}

/// The result of [`shrink`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shrunk<'a> {
    /// The text to send.
    pub text: Cow<'a, str>,
    /// Its form.
    pub format: Format,
    /// The tokens of the text that was passed.
    pub tokens_before: u64,
    /// The tokens of the result, at most `tokens_before`.
    pub tokens_after: u64,
    /// Why the text stayed as it was; `None` if it did not.
    pub reason: Option<Reason>,
}

/// What is known of the tokens of a text.
#[derive(Clone, Copy)]
enum Tokens {
    Estimated(Estimate),
    Counted(u64),
}

impl Tokens {
    fn count(self) -> u64 {
        match self {
            Self::Estimated(estimate) => estimate.tokens,
            Self::Counted(count) => count,
        }
    }

    /// Whether these are more tokens than those of another form of the same data. The estimated numbers cannot
    /// tell: they are sums of the mean costs of words.
    fn surely_exceed(self, other: Self) -> bool {
        match (self, other) {
            (Self::Estimated(this), Self::Estimated(other)) => this.surely_exceeds(&other),
            _ => self.count() > other.count(),
        }
    }
}

/// Shrinks a text that may be JSON, by the estimate of its tokens: a form is taken only if it has fewer
/// tokens for tokenizers like `o200k_base` and `cl100k_base`, whatever the words of the text cost. Rare words,
/// which cost much more after a comma than alone, can still make it larger.
///
/// # Errors
/// If there is not enough memory.
pub fn shrink<'a>(text: &'a str, options: &Options) -> Result<Shrunk<'a>, TryReserveError> {
    choose(text, options, estimated)
}

/// Shrinks a text that may be JSON. `count` counts the tokens of a text.
///
/// # Errors
/// The errors of `count`, and that there is not enough memory.
pub fn shrink_with<'a, E: From<TryReserveError>>(
    text: &'a str,
    options: &Options,
    mut count: impl FnMut(&str) -> Result<u64, E>,
) -> Result<Shrunk<'a>, E> {
    choose(text, options, |text| count(text).map(Tokens::Counted))
}

/// Shrinks a value. The text before is its compact JSON, so the result is never [`Format::Text`].
///
/// # Errors
/// As [`shrink`].
pub fn shrink_value(
    value: &Value<'_>,
    options: &Options,
) -> Result<Shrunk<'static>, TryReserveError> {
    choose_for_value(value, options, estimated)
}

/// Shrinks a value as [`shrink_value`]. `count` counts the tokens of a text.
///
/// # Errors
/// As [`shrink_with`].
pub fn shrink_value_with<E: From<TryReserveError>>(
    value: &Value<'_>,
    options: &Options,
    mut count: impl FnMut(&str) -> Result<u64, E>,
) -> Result<Shrunk<'static>, E> {
    choose_for_value(value, options, |text| count(text).map(Tokens::Counted))
}

#[expect(clippy::unnecessary_wraps, reason = "counting may fail")]
fn estimated(text: &str) -> Result<Tokens, TryReserveError> {
    Ok(Tokens::Estimated(Estimate::of(text)))
}

fn choose_for_value<E: From<TryReserveError>>(
    value: &Value<'_>,
    options: &Options,
    measure: impl FnMut(&str) -> Result<Tokens, E>,
) -> Result<Shrunk<'static>, E> {
    memory::ensure(value.text_size().saturating_mul(TEXT_FACTOR))?;
    let mut text = String::new();
    json::write_in_order(value, Escape::Needed, &mut text);
    let shrunk = choose(&text, options, measure)?;
    let format = if shrunk.format == Format::Text { Format::Json } else { shrunk.format };
    Ok(Shrunk { text: Cow::Owned(shrunk.text.into_owned()), format, ..shrunk })
}

/// The bytes of memory per byte of a value's text: for a buffer that grows, with escapes of six bytes.
const TEXT_FACTOR: usize = 18;

/// How often [`json::memory_of`] counts: for the value, and the tree made from it.
const FACTOR: usize = 2;

fn choose<'a, E: From<TryReserveError>>(
    text: &'a str,
    options: &Options,
    mut measure: impl FnMut(&str) -> Result<Tokens, E>,
) -> Result<Shrunk<'a>, E> {
    let mut least = measure(text)?;
    let mut best = Shrunk {
        text: Cow::Borrowed(text),
        format: Format::Text,
        tokens_before: least.count(),
        tokens_after: least.count(),
        reason: None,
    };
    memory::ensure(json::memory_of(text.as_bytes()).saturating_mul(FACTOR))?;
    let bump = Bump::new();
    let tree = match parse(text, &bump, options)? {
        Parsed::Tree(tree) => Some(tree),
        Parsed::BeyondGcf => None,
        Parsed::Unchanged(reason) => return Ok(Shrunk { reason: Some(reason), ..best }),
    };
    let minified = minify(text);
    if options.json
        && let Cow::Owned(_) = minified.text
    {
        let tokens = measure(&minified.text)?;
        if tokens.count() < least.count() && least.surely_exceed(tokens) {
            best.text = minified.text;
            best.format = Format::Json;
            least = tokens;
        }
    }
    let mut reason = Reason::NoGain;
    if options.gcf && !minified.exact {
        reason = Reason::Number;
    } else if options.gcf
        && let Some(tree) = tree
    {
        match candidates::best(&tree, options, least, &mut measure)? {
            candidates::Found::Candidate { text, tokens } => {
                best.text = Cow::Owned(text);
                best.format = Format::Gcf;
                least = tokens;
            }
            candidates::Found::Unverified => reason = Reason::Verify,
            candidates::Found::Nothing => {}
        }
    }
    if best.format == Format::Text {
        best.reason = Some(reason);
    }
    best.tokens_after = least.count();
    Ok(best)
}

/// A text that is to be shrunk.
enum Parsed<'a> {
    Tree(Tree<'a>),
    /// JSON with a value that GCF does not have.
    BeyondGcf,
    /// The text stays as it is.
    Unchanged(Reason),
}

fn parse<'a>(
    text: &'a str,
    bump: &'a Bump,
    options: &Options,
) -> Result<Parsed<'a>, TryReserveError> {
    if text.len() > options.max_size {
        return Ok(Parsed::Unchanged(Reason::Size));
    }
    if !text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with(['[', '{']) {
        return Ok(Parsed::Unchanged(Reason::NotJson));
    }
    let max_depth = options.max_depth.min(Limits::DEEPEST);
    let limits = json::Limits { max_depth, ..json::Limits::default() };
    let mut builder = Builder::over(text, bump, candidates::limits(options));
    Ok(match json::read_all(text, limits, &mut builder) {
        Ok(()) => Parsed::Tree(builder.finish()),
        Err(json::ReadError::Json(error)) => Parsed::Unchanged(reason_of(&error)),
        Err(json::ReadError::Sink(error)) => {
            candidates::unless_out_of_memory(Err::<(), _>(error))?;
            // The rest of the text was not read.
            let read = json::validate(text, limits);
            read.map_or_else(|error| Parsed::Unchanged(reason_of(&error)), |()| Parsed::BeyondGcf)
        }
    })
}

fn reason_of(error: &json::Error) -> Reason {
    match error.problem {
        json::Problem::Depth(_) => Reason::Depth,
        json::Problem::Overflow | json::Problem::Digits(_) => Reason::Number,
        _ => Reason::NotJson,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    fn shrunk(text: &str) -> Shrunk<'_> {
        let found = shrink(text, &Options::default()).unwrap();
        assert!(found.tokens_after <= found.tokens_before);
        assert_eq!(found.reason.is_some(), found.format == Format::Text);
        found
    }

    fn rows(count: usize) -> String {
        let row = |i| format!(r#"{{"id": {i}, "state": "open", "kind": "task"}}"#);
        format!("[{}]", (0..count).map(row).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn rows_become_a_table_with_constants() {
        let text = rows(20);
        let found = shrunk(&text);
        assert_eq!(found.format, Format::Gcf);
        assert!(found.text.contains("state=open"), "{}", found.text);
        assert!(found.tokens_after * 3 < found.tokens_before);
    }

    #[test]
    fn lists_and_matrices_of_short_texts_need_a_tokenizer() {
        let row = |i| format!(r#"["part {i}","","shelf"]"#);
        let rows = (0..20).map(row).collect::<Vec<_>>().join(",");
        let words = |text: &str| Ok::<_, TryReserveError>(text.split(['"', '|']).count() as u64);
        let text = format!(r#"{{"ids":[1],"rows":[{rows}]}}"#);
        assert_eq!(shrunk(&text).format, Format::Text);
        let found = shrink_with(&text, &Options::default(), words).unwrap();
        assert!(found.text.contains("{[3]}"), "{}", found.text);
        let list = format!(r#"{{"names":[{}]}}"#, vec![r#""Ann Smith","open","""#; 20].join(","));
        assert_eq!(shrunk(&list).format, Format::Text);
        let numbers = (0..20).map(|i| format!("[{i},{i}]")).collect::<Vec<_>>().join(",");
        let text = format!(r#"{{"points":[{numbers}],"rows":{}}}"#, self::rows(20));
        assert!(shrunk(&text).text.contains("{[2]}"));
    }

    #[test]
    fn small_gains_of_gcf_are_not_taken() {
        let found = shrunk(r#"{"id": 1, "state": "open"}"#);
        assert_eq!(found.format, Format::Json);
        assert_eq!(found.text, r#"{"id":1,"state":"open"}"#);
    }

    #[test]
    fn texts_stay_as_they_are_for_a_reason() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let long = format!("[{}1]", " ".repeat(4 << 20));
        let digits = format!("[ {} ]", "1".repeat(4301));
        let not_json =
            ["hello", "1", "", "[1,]", "[1]\n[2]", r#"{"a":1,"a":1}"#, r#"["\ud800"]"#, "[NaN]"];
        let others = [
            ("[1e999]", Reason::Number),
            (&digits, Reason::Number),
            ("[1]", Reason::NoGain),
            (&deep, Reason::Depth),
            (&long, Reason::Size),
        ];
        let not_json = not_json.map(|text| (text, Reason::NotJson));
        for (text, reason) in not_json.into_iter().chain(others) {
            let found = shrunk(text);
            assert_eq!(found.reason, Some(reason), "{}", &text[..text.len().min(40)]);
            assert_eq!(found.text, text);
        }
    }

    #[test]
    fn numbers_that_gcf_would_change_stay_json() {
        let text = rows(20).replacen('0', "0.10000000000000000555", 1);
        let found = shrunk(&text);
        assert_eq!(found.format, Format::Json);
        assert!(found.text.contains("0.10000000000000000555"));
        let compact = found.text.into_owned();
        assert_eq!(shrunk(&compact).reason, Some(Reason::Number));
    }

    #[test]
    fn shrinking_is_stable() {
        for text in [rows(20), r#"{ "a": [1, 2] }"#.to_owned()] {
            let once = shrunk(&text).text.into_owned();
            assert_eq!(shrunk(&once).text, once);
        }
    }

    #[test]
    fn errors_of_the_counter_are_returned() {
        let message = |found: Result<Shrunk<'_>, Box<dyn Error>>| found.unwrap_err().to_string();
        assert_eq!(message(shrink_with("[1]", &Options::default(), |_| Err("no".into()))), "no");
    }
}
