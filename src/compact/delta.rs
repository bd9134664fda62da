//! Streaming deltas: v2 "Streaming Delta Protocol".
//!
//! | delta | effect on the content |
//! |---|---|
//! | `D\|F\|text` | replaces all of it by `text` |
//! | `D\|+\|text` | appends `text` |
//! | `D\|R\|pos\|text` | overwrites it with `text` from code point `pos` |
//! | `D\|Z\|payload` | applies the delta that `payload` holds as Base85 of zlib |
//!
//! ```
//! use compactwire::compact::delta::{ApplyOptions, apply, encode};
//!
//! let options = ApplyOptions::default();
//! assert_eq!(apply("Hello, world!", "D|R|7|World", &options).unwrap(), "Hello, World!");
//! assert_eq!(encode("Hello", "Hello, world!").unwrap(), "D|+|, world!");
//! ```
//!
//! # Where we differ
//! The clients of v2 truncate the content after a replacement ([`Replace::Truncate`]), and count
//! positions in bytes, UTF-16 units or code points. [`encode`] writes a replacement only if all these
//! readings give the same content. Read but never written: `ZF`, `Z+` and `ZR` of the clients
//! (compressed text), and `Z` with Base64 of gzip of the server.

use super::decode::base64;
use super::detect;
use super::error::{DecodeError, EncodeError};
use crate::excerpt::excerpt;
use crate::limits::DEFAULT_MAX_SIZE;
use crate::{base85, compression};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The prefix of every gzip stream in Base64. No zlib stream in Base85 begins with it.
const BASE64_GZIP: &str = "H4sI";

/// The size of the smallest zlib stream in bytes.
const ZLIB_MIN_LEN: usize = 8;

/// The largest compression ratio of zlib.
const ZLIB_MAX_RATIO: usize = 1032;

/// What `R` does with the content after the replaced text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Replace {
    /// Keeps it (the specification).
    #[default]
    Overwrite,
    /// Removes it (the clients of v2).
    Truncate,
}

/// Options of [`apply`].
///
/// ```
/// use compactwire::compact::delta::{ApplyOptions, Replace, apply};
///
/// let options = ApplyOptions { replace: Replace::Truncate, ..ApplyOptions::default() };
/// assert_eq!(apply("Hello, world!", "D|R|7|you", &options).unwrap(), "Hello, you");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ApplyOptions {
    /// What `R` does with the content after the replaced text.
    pub replace: Replace,
    /// The largest decompressed size in bytes.
    pub max_size: usize,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self { replace: Replace::default(), max_size: DEFAULT_MAX_SIZE }
    }
}

/// Applies a delta and returns the new content.
///
/// # Errors
/// [`DecodeError`]: the delta is malformed, its position is after the end of the content, or its
/// decompressed text is larger than `options.max_size`.
pub fn apply(content: &str, delta: &str, options: &ApplyOptions) -> Result<String, DecodeError> {
    let edit = Edit::parse(delta, options)?;
    let Range { start, end } = edit.range(content, options.replace)?;
    DecodeError::ensure_memory(content.len() + edit.text.len())?;
    Ok([&content[..start], &edit.text, &content[end..]].concat())
}

/// The shortest delta from `old` to `new`; of equally short ones, the more readable.
///
/// # Errors
/// [`EncodeError`]: there is not enough memory to compress a delta.
pub fn encode(old: &str, new: &str) -> Result<String, EncodeError> {
    if old == new {
        return Ok("D|+|".into());
    }
    let candidates = Candidates::new(old, new);
    let mut shortest = candidates.shortest().to_string();
    for delta in candidates.iter() {
        // Compression is skipped if it cannot shorten the delta: most deltas add little to a long
        // conversation.
        let least = ZLIB_MIN_LEN + delta.len() / ZLIB_MAX_RATIO;
        if "D|Z|".len() + base85::encoded_len(least) < shortest.len() {
            let packed = packed(&delta.to_string())?;
            if packed.len() < shortest.len() {
                shortest = packed;
            }
        }
    }
    Ok(shortest)
}

/// A delta for the list of deltas in a request.
#[cfg(feature = "session")]
pub(crate) struct ListDelta {
    /// The delta. It does not contain `|D|`, which separates the deltas in the list.
    pub(crate) text: String,
    /// Whether it replaces all of the content.
    pub(crate) is_whole: bool,
}

/// A delta from `old` to `new` for the list of deltas in a request.
///
/// With `added`, `new` must be `old` followed by `added`: the delta is an addition and costs time in
/// proportion to `added`. If `old` is empty, the delta is `D|F|`, which applies to any content of
/// the peer. Only a delta that contains `|D|` is compressed: models read requests, and a packed
/// request is compressed as a whole.
#[cfg(feature = "session")]
pub(crate) fn encode_for_list(
    old: &str,
    new: &str,
    added: Option<&str>,
) -> Result<ListDelta, EncodeError> {
    let (delta, is_whole) = match added {
        _ if old.is_empty() => (Plain::full(new).to_string(), true),
        Some(added) => (Plain::addition(added).to_string(), false),
        None => {
            let candidates = Candidates::new(old, new);
            let shortest = candidates.shortest();
            (shortest.to_string(), shortest.op == candidates.full.op)
        }
    };
    let text = if delta.contains("|D|") { packed(&delta)? } else { delta };
    Ok(ListDelta { text, is_whole })
}

/// All uncompressed deltas from `old` to `new`.
struct Candidates<'a> {
    full: Plain<'a>,
    addition: Option<Plain<'a>>,
    replacement: Option<Plain<'a>>,
}

impl<'a> Candidates<'a> {
    fn new(old: &str, new: &'a str) -> Self {
        Self {
            full: Plain::full(new),
            addition: new.strip_prefix(old).map(Plain::addition),
            replacement: replacement(old, new),
        }
    }

    /// The candidates, the most readable first.
    fn iter(&self) -> impl Iterator<Item = &Plain<'a>> {
        [&self.full].into_iter().chain(&self.addition).chain(&self.replacement)
    }

    fn shortest(&self) -> &Plain<'a> {
        self.iter()
            .fold(&self.full, |best, delta| if delta.len() < best.len() { delta } else { best })
    }
}

fn packed(delta: &str) -> Result<String, EncodeError> {
    Ok(base85::encode_prefixed("D|Z|", &compression::zlib(delta.as_bytes())?))
}

/// An uncompressed delta, before it is written.
struct Plain<'a> {
    op: &'static str,
    position: Option<usize>,
    text: &'a str,
}

impl<'a> Plain<'a> {
    fn full(text: &'a str) -> Self {
        Self { op: "F", position: None, text }
    }

    fn addition(text: &'a str) -> Self {
        Self { op: "+", position: None, text }
    }

    /// The length of the delta in bytes.
    fn len(&self) -> usize {
        let position = self.position.map_or(0, |position| position.to_string().len() + 1);
        "D||".len() + self.op.len() + position + self.text.len()
    }
}

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, position, text } = self;
        match position {
            None => write!(f, "D|{op}|{text}"),
            Some(position) => write!(f, "D|{op}|{position}|{text}"),
        }
    }
}

/// A replacement that all readers apply alike: the text before it is ASCII, so that positions in
/// bytes, UTF-16 units and code points are equal, and it covers the rest of the old content.
fn replacement<'a>(old: &str, new: &'a str) -> Option<Plain<'a>> {
    let position = common_ascii(old.as_bytes(), new.as_bytes());
    let (replaced, text) = (&old[position..], &new[position..]);
    let covers = text.len() >= replaced.len()
        && text.chars().count() >= replaced.chars().count()
        && text.encode_utf16().count() >= replaced.encode_utf16().count();
    covers.then_some(Plain { op: "R", position: Some(position), text })
}

/// The length of the common ASCII prefix.
fn common_ascii(a: &[u8], b: &[u8]) -> usize {
    // Arrays of a cache line are compared with vector instructions; the bytes of the rest, one by one.
    const STEP: usize = 64;
    let whole = a.chunks_exact(STEP).zip(b.chunks_exact(STEP));
    let steps = whole.take_while(|(a, b)| a == b && a.is_ascii()).count() * STEP;
    let rest = a[steps..].iter().zip(&b[steps..]);
    steps + rest.take_while(|(a, b)| a == b && a.is_ascii()).count()
}

/// The content of a stream, updated by deltas. Both ends of the stream have one.
#[derive(Debug, Clone, Default)]
pub struct DeltaStream {
    content: String,
    options: ApplyOptions,
}

impl DeltaStream {
    /// A stream that starts with `content`. `options.max_size` also limits the content.
    pub fn new(content: impl Into<String>, options: ApplyOptions) -> Self {
        Self { content: content.into(), options }
    }

    /// The current content.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// Sets the content and returns the delta to send to the other end.
    ///
    /// # Errors
    /// As [`encode`]. The content is then unchanged.
    pub fn push(&mut self, content: &str) -> Result<String, EncodeError> {
        self.push_with(content, |delta| Ok(delta.to_owned()))
    }

    /// Sets the content, and returns what `make` makes of the delta to send to the other end.
    ///
    /// # Errors
    /// As [`DeltaStream::push`], and the error of `make`. The content is then unchanged.
    pub fn push_with<T, E: From<EncodeError>>(
        &mut self,
        content: &str,
        make: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, E> {
        let result = make(&encode(&self.content, content)?)?;
        if content.starts_with(&*self.content) {
            self.content.push_str(&content[self.content.len()..]);
        } else {
            content.clone_into(&mut self.content);
        }
        Ok(result)
    }

    /// Applies a delta of the other end and returns the new content.
    ///
    /// # Errors
    /// As [`apply`], and [`DecodeError::OutputTooLarge`] if the content would exceed `max_size`. The
    /// content is then unchanged.
    pub fn apply(&mut self, delta: &str) -> Result<&str, DecodeError> {
        self.apply_with(delta, |_| Ok::<_, DecodeError>(()))?;
        Ok(&self.content)
    }

    /// Applies a delta of the other end, and returns what `make` makes of the new content.
    ///
    /// # Errors
    /// As [`DeltaStream::apply`], and the error of `make`. The content is then unchanged.
    pub fn apply_with<T, E: From<DecodeError>>(
        &mut self,
        delta: &str,
        make: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, E> {
        let edit = Edit::parse(delta, &self.options)?;
        let range = edit.range(&self.content, self.options.replace)?;
        let limit = self.options.max_size;
        if self.content.len() - range.len() + edit.text.len() > limit {
            return Err(DecodeError::OutputTooLarge { limit }.into());
        }
        // The content may take twice its size while it grows, and the caller makes a copy of it.
        DecodeError::ensure_memory(3 * (self.content.len() + edit.text.len()))?;
        let mut edited = Edited {
            replaced: Some(self.content[range.clone()].to_owned()),
            range: range.start..range.start + edit.text.len(),
            content: &mut self.content,
        };
        edited.content.replace_range(range, &edit.text);
        let result = make(edited.content)?;
        edited.replaced = None;
        Ok(result)
    }
}

/// An edited content. Dropping it takes the edit back, unless the edit is kept: also if the call is stopped.
struct Edited<'a> {
    content: &'a mut String,
    /// The text of the edit.
    range: Range<usize>,
    /// The text that was there before; `None` if the edit is kept.
    replaced: Option<String>,
}

impl Drop for Edited<'_> {
    fn drop(&mut self) {
        if let Some(replaced) = &self.replaced {
            self.content.replace_range(self.range.clone(), replaced);
        }
    }
}

/// A parsed and decompressed delta.
#[derive(Debug)]
pub(crate) struct Edit<'a> {
    at: At,
    text: Cow<'a, str>,
}

/// The place of the text in the content.
#[derive(Debug, Clone, Copy)]
enum At {
    /// All of the content.
    All,
    End,
    /// An index of code points.
    Position(usize),
}

impl<'a> Edit<'a> {
    /// Parses a delta.
    pub(crate) fn parse(delta: &'a str, options: &ApplyOptions) -> Result<Self, DecodeError> {
        let (op, payload) = split(detect::skip_blank(delta))?;
        match op {
            "Z" => {
                let packed = if payload.starts_with(BASE64_GZIP) {
                    base64(payload)?
                } else {
                    base85::decode(payload)?
                };
                let delta = unpack(&packed, options)?;
                let (op, payload) = split(&delta)?;
                Edit::plain(op, payload)?.into_owned()
            }
            "ZF" | "Z+" | "ZR" => {
                let payload = unpack(&base85::decode(payload)?, options)?;
                Edit::plain(&op[1..], &payload)?.into_owned()
            }
            _ => Self::plain(op, payload),
        }
    }

    fn plain(op: &str, payload: &'a str) -> Result<Self, DecodeError> {
        let (at, text) = match op {
            "F" => (At::All, payload),
            "+" => (At::End, payload),
            "R" => {
                let (position, text) = payload.split_once('|').ok_or_else(|| {
                    invalid(format!("expected D|R|position|text, found {}", excerpt(payload)))
                })?;
                (At::Position(parse_position(position)?), text)
            }
            _ => {
                return Err(invalid(format!(
                    "expected the operation F, +, R or Z, found {}",
                    excerpt(op)
                )));
            }
        };
        Ok(Self { at, text: Cow::Borrowed(text) })
    }

    fn into_owned(self) -> Result<Edit<'static>, DecodeError> {
        DecodeError::ensure_memory(self.text.len())?;
        Ok(Edit { at: self.at, text: Cow::Owned(self.text.into_owned()) })
    }

    /// The range of bytes in `content` that the text replaces.
    fn range(&self, content: &str, replace: Replace) -> Result<Range<usize>, DecodeError> {
        let position = match self.at {
            At::All => return Ok(0..content.len()),
            At::End => return Ok(content.len()..content.len()),
            At::Position(position) => position,
        };
        let start = nth_char(content, position)
            .ok_or_else(|| after_end(position, content.chars().count()))?;
        let end = match replace {
            Replace::Truncate => content.len(),
            Replace::Overwrite => {
                let rest = &content[start..];
                nth_char(rest, self.text.chars().count()).map_or(content.len(), |len| start + len)
            }
        };
        Ok(start..end)
    }
}

/// Methods that only sessions need.
#[cfg(feature = "session")]
impl Edit<'_> {
    /// The text of an addition; `None` for any other delta.
    pub(crate) fn addition(&self) -> Option<&str> {
        matches!(self.at, At::End).then_some(&self.text)
    }

    /// Whether the delta replaces all of the content.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.at, At::All)
    }

    /// The length of the text in bytes.
    pub(crate) fn text_len(&self) -> usize {
        self.text.len()
    }

    /// Whether the delta overwrites a part of the content.
    fn is_overwrite(&self) -> bool {
        matches!(self.at, At::Position(_))
    }
}

/// Applies edits one after the other ([`Replace::Overwrite`]) and returns the new content. The time is
/// proportional to the size of the content and of all texts together.
#[cfg(feature = "session")]
pub(crate) fn apply_all(content: &str, edits: &[Edit<'_>]) -> Result<String, DecodeError> {
    if edits.iter().filter(|edit| edit.is_overwrite()).count() > 1 {
        return overwrite_all(content, edits);
    }
    // The content is not copied if the first edit replaces it.
    let replaces = edits.first().is_some_and(Edit::is_whole);
    let kept = if replaces { 0 } else { content.len() };
    let mut new = String::new();
    let size = kept + edits.iter().map(Edit::text_len).sum::<usize>();
    new.try_reserve_exact(size).map_err(|_| DecodeError::OutOfMemory { bytes: size })?;
    new.push_str(&content[..kept]);
    for edit in edits {
        let range = edit.range(&new, Replace::Overwrite)?;
        if range.len() == new.len() {
            new.clear();
            new.push_str(&edit.text);
        } else {
            new.replace_range(range, &edit.text);
        }
    }
    Ok(new)
}

/// [`apply_all`] on an array of code points: an overwrite keeps the position of all code points around
/// it, so that no position has to be searched for.
#[cfg(feature = "session")]
fn overwrite_all(content: &str, edits: &[Edit<'_>]) -> Result<String, DecodeError> {
    let out_of_memory = |bytes| move |_| DecodeError::OutOfMemory { bytes };
    let most =
        content.chars().count() + edits.iter().map(|edit| edit.text.chars().count()).sum::<usize>();
    let mut chars = Vec::new();
    chars.try_reserve_exact(most).map_err(out_of_memory(most * size_of::<char>()))?;
    chars.extend(content.chars());
    for edit in edits {
        let start = match edit.at {
            At::All => {
                chars.clear();
                0
            }
            At::End => chars.len(),
            At::Position(position) if position <= chars.len() => position,
            At::Position(position) => return Err(after_end(position, chars.len())),
        };
        let mut text = edit.text.chars();
        for (old, new) in chars[start..].iter_mut().zip(&mut text) {
            *old = new;
        }
        chars.extend(text);
    }
    let size = chars.iter().map(|char| char.len_utf8()).sum();
    let mut new = String::new();
    new.try_reserve_exact(size).map_err(out_of_memory(size))?;
    new.extend(chars);
    Ok(new)
}

/// Splits `D|op|payload` into the operation and the payload.
fn split(delta: &str) -> Result<(&str, &str), DecodeError> {
    delta.strip_prefix("D|").and_then(|rest| rest.split_once('|')).ok_or_else(|| {
        invalid(format!("expected a delta D|operation|text, found {}", excerpt(delta)))
    })
}

fn unpack(packed: &[u8], options: &ApplyOptions) -> Result<String, DecodeError> {
    let bytes = compression::inflate(packed, options.max_size)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        invalid(format!("the decompressed delta is not UTF-8 from byte {at} on"))
    })
}

fn parse_position(text: &str) -> Result<usize, DecodeError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().ok_or_else(|| {
        invalid(format!("expected a position in code points, found {}", excerpt(text)))
    })
}

/// The byte offset of the code point at `index`; the length of the text if `index` is the number of
/// code points.
fn nth_char(text: &str, index: usize) -> Option<usize> {
    /// The code points of a whole block are counted, which is much faster than one step for each.
    const BLOCK: usize = 1 << 12;
    let (mut start, mut left) = (0, index);
    while text.len() - start > BLOCK {
        let mut end = start + BLOCK;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let count = text[start..end].chars().count();
        if count > left {
            break;
        }
        (start, left) = (end, left - count);
    }
    let rest = &text[start..];
    let offset = rest.char_indices().map(|(offset, _)| offset).chain([rest.len()]).nth(left);
    offset.map(|offset| start + offset)
}

#[cold]
fn after_end(position: usize, len: usize) -> DecodeError {
    invalid(format!("position {position} is after the end of the content, {len} code points"))
}

fn invalid(message: String) -> DecodeError {
    DecodeError::InvalidFormat(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, engine::general_purpose::STANDARD};
    use proptest::prelude::*;

    fn packed(delta: &str) -> String {
        base85::encode_prefixed("", &compression::zlib(delta.as_bytes()).unwrap())
    }

    fn applied(content: &str, delta: &str) -> Result<String, DecodeError> {
        apply(content, delta, &ApplyOptions::default())
    }

    #[test]
    fn replace_overwrites_or_truncates() {
        let truncate = ApplyOptions { replace: Replace::Truncate, ..ApplyOptions::default() };
        assert_eq!(applied("Hello, world!", "D|R|7|World").unwrap(), "Hello, World!");
        assert_eq!(apply("Hello, world!", "D|R|7|World", &truncate).unwrap(), "Hello, World");
        assert_eq!(applied("한국어", "D|R|1|글").unwrap(), "한글어");
        assert_eq!(applied("abc", "D|R|3|d").unwrap(), "abcd");
        assert_eq!(applied("a|b", "D|R|1|!|c").unwrap(), "a!|c");
    }

    #[test]
    fn all_compressed_forms_are_read() {
        for delta in [
            format!("D|Z|{}", packed("D|F|new")),
            format!("D|ZF|{}", packed("new")),
            format!("D|ZR|{}", packed("0|new")),
            format!("D|Z|{}", STANDARD.encode(compression::gzip(b"D|F|new").unwrap())),
        ] {
            assert_eq!(applied("old", &delta).unwrap(), "new", "{delta}");
        }
        assert_eq!(applied("old", &format!("D|Z+|{}", packed("er"))).unwrap(), "older");
    }

    #[test]
    fn errors_name_what_was_expected_and_found() {
        let twice = format!("D|Z|{}", packed(&format!("D|Z|{}", packed("D|F|x"))));
        for (delta, message) in [
            ("", "expected a delta D|operation|text, found \"\""),
            ("D|", "expected a delta D|operation|text, found \"D|\""),
            ("D|Q|x", "expected the operation F, +, R or Z, found \"Q\""),
            (&twice, "expected the operation F, +, R or Z, found \"Z\""),
            ("D|R|1", "expected D|R|position|text, found \"1\""),
            ("D|R|-1|y", "expected a position in code points, found \"-1\""),
            ("D|R||y", "expected a position in code points, found \"\""),
            ("D|R|4|y", "position 4 is after the end of the content, 3 code points"),
            (
                "D|R|99999999999999999999|y",
                "expected a position in code points, found \"99999999999999999999\"",
            ),
        ] {
            let error = applied("abc", delta).unwrap_err();
            assert_eq!(error, DecodeError::InvalidFormat(message.into()), "{delta}");
        }
    }

    #[test]
    fn a_failed_delta_leaves_the_content_of_a_stream_unchanged() {
        let mut stream = DeltaStream::new("ab", ApplyOptions { max_size: 4, ..Default::default() });
        assert_eq!(stream.apply("D|+|cd").unwrap(), "abcd");
        assert_eq!(stream.apply("D|+|e"), Err(DecodeError::OutputTooLarge { limit: 4 }));
        assert_eq!(stream.apply("D|R|9|e").ok(), None);
        assert_eq!(stream.content(), "abcd");
    }

    #[test]
    fn a_delta_of_which_the_caller_can_make_nothing_changes_nothing() {
        let mut stream = DeltaStream::new("old text", ApplyOptions::default());
        let failed = || DecodeError::OutOfMemory { bytes: 1 };
        for delta in ["D|F|new", "D|+|, longer", "D|R|1|öther", "D|R|4|a longer end"] {
            let mut made = String::new();
            let result = stream.apply_with(delta, |content| {
                content.clone_into(&mut made);
                Err::<(), _>(failed())
            });
            assert!(result.is_err());
            assert_eq!(stream.content(), "old text");
            assert_eq!(stream.clone().apply(delta).unwrap(), made);
        }
    }

    #[test]
    fn deltas_are_short() {
        for (old, new, delta) in [
            ("same", "same", "D|+|"),
            ("", "Hello", "D|F|Hello"),
            ("Hello", "Hello, world!", "D|+|, world!"),
            ("Hello, world!", "Hello, World!", "D|R|7|World!"),
            ("abc", "ab", "D|F|ab"),
            ("é then ascii a", "é then ascii b", "D|F|é then ascii b"),
        ] {
            assert_eq!(encode(old, new).unwrap(), delta);
        }
        assert!(encode("", &"so it goes. ".repeat(100)).unwrap().starts_with("D|Z|"));
    }

    /// The contents that different clients produce from an `R`.
    fn readings(old: &str, position: usize, text: &str) -> Vec<Vec<u16>> {
        let utf16: Vec<u16> = old.encode_utf16().collect();
        let text: Vec<u16> = text.encode_utf16().collect();
        let truncated = [&utf16[..position], &text].concat();
        let rest = utf16.get(position + text.len()..).unwrap_or_default();
        let overwritten = [&truncated[..], rest].concat();
        vec![truncated, overwritten]
    }

    proptest! {
        #[test]
        fn applying_an_encoded_delta_returns_the_new_content(
            prefix in "[ab|é한🚀]{0,12}|[ab]{60,200}",
            old in "[ab|é한🚀]{0,12}",
            new in "[ab|é한🚀]{0,12}",
        ) {
            let (old, new) = (prefix.clone() + &old, prefix + &new);
            let delta = encode(&old, &new).unwrap();
            prop_assert_eq!(&applied(&old, &delta).unwrap(), &new);
            let truncate = ApplyOptions { replace: Replace::Truncate, ..ApplyOptions::default() };
            prop_assert_eq!(&apply(&old, &delta, &truncate).unwrap(), &new);
            if let Some(replacement) = delta.strip_prefix("D|R|") {
                let (position, text) = replacement.split_once('|').unwrap();
                let expected: Vec<u16> = new.encode_utf16().collect();
                for reading in readings(&old, position.parse().unwrap(), text) {
                    prop_assert_eq!(&reading, &expected);
                }
            }
            let mut stream = DeltaStream::new(old.clone(), ApplyOptions::default());
            prop_assert_eq!(stream.push(&new).unwrap(), delta);
            prop_assert_eq!(stream.content(), new);
        }

        #[test]
        fn many_edits_give_the_content_that_they_give_one_by_one(
            content in "[ab|é한🚀]{0,12}",
            deltas in prop::collection::vec(
                "D\\|(F\\|[aé한🚀]{0,4}|\\+\\|[aé한🚀]{0,4}|R\\|1?[0-9]\\|[aé한🚀]{0,4})",
                0..8,
            ),
        ) {
            let one_by_one = deltas.iter().try_fold(content.clone(), |text, delta| applied(&text, delta));
            let options = ApplyOptions::default();
            let edits: Vec<_> = deltas.iter().map(|d| Edit::parse(d, &options).unwrap()).collect();
            prop_assert_eq!(&apply_all(&content, &edits), &one_by_one);
            prop_assert_eq!(&overwrite_all(&content, &edits), &one_by_one);
        }

        #[test]
        fn a_code_point_is_found_in_any_block(count in 0_usize..20_000, index in 0_usize..20_000) {
            let text: String = "aé한🚀".chars().cycle().take(count).collect();
            let slow = text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(index);
            prop_assert_eq!(nth_char(&text, index), slow);
        }

        #[test]
        fn arbitrary_deltas_do_not_panic(content: String, delta in "D\\|(F|\\+|R|Z[F+R]?)\\|[0-9a|é]{0,20}") {
            let _ = applied(&content, &delta);
        }
    }
}
