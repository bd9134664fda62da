//! Streaming deltas: v2 "Streaming Delta Protocol".
//!
//! | delta | the content afterwards |
//! |---|---|
//! | `D\|F\|text` | `text` |
//! | `D\|+\|text` | what was there, then `text` |
//! | `D\|R\|pos\|text` | `text` written over what was there, from code point `pos` on |
//! | `D\|Z\|payload` | as the delta in `payload` says: Base85 of zlib |
//!
//! ```
//! use compactwire::compact::delta::{ApplyOptions, apply, encode};
//!
//! let options = ApplyOptions::default();
//! assert_eq!(apply("Hello, world!", "D|R|7|World", &options).unwrap(), "Hello, World!");
//! assert_eq!(encode("Hello", "Hello, world!"), "D|+|, world!");
//! ```
//!
//! # Where we differ
//! The clients of v2 cut the content off behind a replacement ([`Replace::Truncate`]), and count
//! positions in three ways. [`encode`] writes a replacement only where all of them agree. Also read,
//! never written: the clients' `ZF`, `Z+` and `ZR` (compressed text) and the server's `Z` with
//! Base64 of gzip.

use super::decode::base64;
use super::detect;
use super::error::DecodeError;
use crate::excerpt::excerpt;
use crate::limits::DEFAULT_MAX_SIZE;
use crate::{base85, compression};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// How Base64 of gzip begins: no zlib stream in Base85 does.
const BASE64_GZIP: &str = "H4sI";

/// The least that zlib makes of anything, in bytes, and how many bytes it makes of one at most.
const ZLIB_LEAST: (usize, usize) = (8, 1032);

/// What `R` does with the content behind its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Replace {
    /// It stays (the specification).
    #[default]
    Overwrite,
    /// It is cut off (the clients of v2).
    Truncate,
}

/// How to apply a delta.
#[derive(Debug, Clone, Copy)]
pub struct ApplyOptions {
    /// What `R` does with the content behind its text.
    pub replace: Replace,
    /// The largest decompressed size in bytes.
    pub max_size: usize,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self { replace: Replace::default(), max_size: DEFAULT_MAX_SIZE }
    }
}

/// The content after a delta.
///
/// # Errors
/// [`DecodeError`]: the delta is malformed, its position lies behind the end of the content, or it
/// is larger than `options.max_size` when decompressed.
pub fn apply(content: &str, delta: &str, options: &ApplyOptions) -> Result<String, DecodeError> {
    let edit = Edit::parse(delta, options)?;
    let Range { start, end } = edit.range(content, options.replace)?;
    Ok([&content[..start], &edit.text, &content[end..]].concat())
}

/// The shortest delta from `old` to `new`; of equally short ones the more readable.
pub fn encode(old: &str, new: &str) -> String {
    if old == new {
        return "D|+|".into();
    }
    shortest(&candidates(old, new))
}

/// A delta from `old` to `new` that stays whole among others: `|D|`, which divides the deltas of a
/// request, does not occur in it. What is known to be `added` is written as an addition without
/// looking at other ways, so that it costs what is new; on top of nothing the whole text is written,
/// whatever the peer has. Nothing else is compressed: a request is for models to read, or compressed
/// as a whole.
#[cfg(feature = "session")]
pub(crate) fn encode_for_list(old: &str, new: &str, added: Option<&str>) -> String {
    let plain = match added {
        _ if old.is_empty() => vec![Plain { op: "F", position: None, text: new }],
        Some(added) => vec![Plain::addition(added)],
        None => candidates(old, new),
    };
    let delta = shortest_plain(&plain);
    if delta.contains("|D|") { packed(&delta) } else { delta }
}

/// Every way without compression.
fn candidates<'a>(old: &str, new: &'a str) -> Vec<Plain<'a>> {
    let mut plain = vec![Plain { op: "F", position: None, text: new }];
    plain.extend(new.strip_prefix(old).map(Plain::addition));
    plain.extend(replacement(old, new));
    plain
}

fn shortest_plain(plain: &[Plain<'_>]) -> String {
    plain.iter().min_by_key(|delta| delta.len()).map(Plain::to_string).unwrap_or_default()
}

fn shortest(plain: &[Plain<'_>]) -> String {
    let mut shortest = shortest_plain(plain);
    for delta in plain {
        // What cannot become shorter is not tried: a long conversation grows by little at a time.
        let least = ZLIB_LEAST.0 + delta.len() / ZLIB_LEAST.1;
        if "D|Z|".len() + base85::encoded_len(least) < shortest.len() {
            let packed = packed(&delta.to_string());
            if packed.len() < shortest.len() {
                shortest = packed;
            }
        }
    }
    shortest
}

fn packed(delta: &str) -> String {
    base85::encode_prefixed("D|Z|", &compression::zlib(delta.as_bytes()))
}

/// A delta that is not written yet.
struct Plain<'a> {
    op: &'static str,
    position: Option<usize>,
    text: &'a str,
}

impl<'a> Plain<'a> {
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

/// A replacement that every reader understands alike: positions in bytes, UTF-16 units and code
/// points are the same before it, and nothing of the old content is left behind it.
fn replacement<'a>(old: &str, new: &'a str) -> Option<Plain<'a>> {
    let position = common_ascii(old.as_bytes(), new.as_bytes());
    let (replaced, text) = (&old[position..], &new[position..]);
    let covers = text.len() >= replaced.len()
        && text.chars().count() >= replaced.chars().count()
        && text.encode_utf16().count() >= replaced.encode_utf16().count();
    covers.then_some(Plain { op: "R", position: Some(position), text })
}

/// The length of the ASCII text that both begin with.
fn common_ascii(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 64;
    let whole = a.chunks_exact(STEP).zip(b.chunks_exact(STEP));
    let steps = whole.take_while(|(a, b)| a == b && a.is_ascii()).count() * STEP;
    let rest = a[steps..].iter().zip(&b[steps..]);
    steps + rest.take_while(|(a, b)| a == b && a.is_ascii()).count()
}

/// A content that grows by deltas; both ends of a stream have one.
#[derive(Debug, Clone, Default)]
pub struct DeltaStream {
    content: String,
    options: ApplyOptions,
}

impl DeltaStream {
    /// A stream that starts with `content`. Its options bound the content as well.
    pub fn new(content: impl Into<String>, options: ApplyOptions) -> Self {
        Self { content: content.into(), options }
    }

    /// The content so far.
    pub fn content(&self) -> &str {
        &self.content
    }

    /// Takes over `content` and returns the delta that tells the other end.
    pub fn push(&mut self, content: &str) -> String {
        let delta = encode(&self.content, content);
        if content.starts_with(&*self.content) {
            self.content.push_str(&content[self.content.len()..]);
        } else {
            content.clone_into(&mut self.content);
        }
        delta
    }

    /// Applies a delta of the other end; the content afterwards.
    ///
    /// # Errors
    /// As [`apply`], and [`DecodeError::OutputTooLarge`] when the content grows above `max_size`;
    /// the content stays what it was.
    pub fn apply(&mut self, delta: &str) -> Result<&str, DecodeError> {
        let edit = Edit::parse(delta, &self.options)?;
        let range = edit.range(&self.content, self.options.replace)?;
        let limit = self.options.max_size;
        if self.content.len() - range.len() + edit.text.len() > limit {
            return Err(DecodeError::OutputTooLarge { limit });
        }
        self.content.replace_range(range, &edit.text);
        Ok(&self.content)
    }
}

/// What a delta does, without compression.
#[derive(Debug)]
pub(crate) struct Edit<'a> {
    at: At,
    text: Cow<'a, str>,
}

/// Where the text goes.
#[derive(Debug, Clone, Copy)]
enum At {
    All,
    End,
    Position(usize),
}

impl<'a> Edit<'a> {
    /// Reads a delta.
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
                Ok(Edit::plain(op, payload)?.into_owned())
            }
            "ZF" | "Z+" | "ZR" => {
                let payload = unpack(&base85::decode(payload)?, options)?;
                Ok(Edit::plain(&op[1..], &payload)?.into_owned())
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

    fn into_owned(self) -> Edit<'static> {
        Edit { at: self.at, text: Cow::Owned(self.text.into_owned()) }
    }

    /// Which bytes of `content` the text takes the place of.
    fn range(&self, content: &str, replace: Replace) -> Result<Range<usize>, DecodeError> {
        let position = match self.at {
            At::All => return Ok(0..content.len()),
            At::End => return Ok(content.len()..content.len()),
            At::Position(position) => position,
        };
        let start = nth_char(content, position).ok_or_else(|| {
            let len = content.chars().count();
            invalid(format!("position {position} lies behind the end of {len} code points"))
        })?;
        let end = match replace {
            Replace::Truncate => content.len(),
            Replace::Overwrite => {
                let behind = &content[start..];
                nth_char(behind, self.text.chars().count()).map_or(content.len(), |len| start + len)
            }
        };
        Ok(start..end)
    }
}

/// What a session does with the deltas of a request.
#[cfg(feature = "session")]
impl Edit<'_> {
    /// The text that is added at the end, if that is all.
    pub(crate) fn addition(&self) -> Option<&str> {
        matches!(self.at, At::End).then_some(&self.text)
    }

    /// Whether nothing of the old content stays.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.at, At::All)
    }

    /// The bytes of its text.
    pub(crate) fn text_len(&self) -> usize {
        self.text.len()
    }

    /// Applies the edit in place; on an error the content is what it was.
    pub(crate) fn apply(&self, content: &mut String, replace: Replace) -> Result<(), DecodeError> {
        let range = self.range(content, replace)?;
        content.replace_range(range, &self.text);
        Ok(())
    }
}

/// `D|op|payload`: the operation and the payload.
fn split(delta: &str) -> Result<(&str, &str), DecodeError> {
    delta.strip_prefix("D|").and_then(|rest| rest.split_once('|')).ok_or_else(|| {
        invalid(format!("expected a delta D|operation|text, found {}", excerpt(delta)))
    })
}

fn unpack(packed: &[u8], options: &ApplyOptions) -> Result<String, DecodeError> {
    let bytes = compression::inflate(packed, options.max_size)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        invalid(format!("the compressed delta is not UTF-8 from byte {at} on"))
    })
}

fn parse_position(text: &str) -> Result<usize, DecodeError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().ok_or_else(|| {
        invalid(format!("expected a position in code points, found {}", excerpt(text)))
    })
}

/// The byte offset of the code point at `index`, which may be the one behind the last.
fn nth_char(text: &str, index: usize) -> Option<usize> {
    text.char_indices().map(|(offset, _)| offset).chain([text.len()]).nth(index)
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
        base85::encode_prefixed("", &compression::zlib(delta.as_bytes()))
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
            format!("D|Z|{}", STANDARD.encode(compression::gzip(b"D|F|new"))),
        ] {
            assert_eq!(applied("old", &delta).unwrap(), "new", "{delta}");
        }
        assert_eq!(applied("old", &format!("D|Z+|{}", packed("er"))).unwrap(), "older");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let twice = format!("D|Z|{}", packed(&format!("D|Z|{}", packed("D|F|x"))));
        for (delta, message) in [
            ("", "expected a delta D|operation|text, found \"\""),
            ("D|", "expected a delta D|operation|text, found \"D|\""),
            ("D|Q|x", "expected the operation F, +, R or Z, found \"Q\""),
            (&twice, "expected the operation F, +, R or Z, found \"Z\""),
            ("D|R|1", "expected D|R|position|text, found \"1\""),
            ("D|R|-1|y", "expected a position in code points, found \"-1\""),
            ("D|R||y", "expected a position in code points, found \"\""),
            ("D|R|4|y", "position 4 lies behind the end of 3 code points"),
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
    fn a_stream_is_bounded_and_keeps_its_content_on_failure() {
        let mut stream = DeltaStream::new("ab", ApplyOptions { max_size: 4, ..Default::default() });
        assert_eq!(stream.apply("D|+|cd").unwrap(), "abcd");
        assert_eq!(stream.apply("D|+|e"), Err(DecodeError::OutputTooLarge { limit: 4 }));
        assert_eq!(stream.apply("D|R|9|e").ok(), None);
        assert_eq!(stream.content(), "abcd");
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
            assert_eq!(encode(old, new), delta);
        }
        assert!(encode("", &"so it goes. ".repeat(100)).starts_with("D|Z|"));
    }

    /// Every way in which some client reads an `R`.
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
        fn a_delta_leads_to_the_new_content(
            prefix in "[ab|é한🚀]{0,12}|[ab]{60,200}",
            old in "[ab|é한🚀]{0,12}",
            new in "[ab|é한🚀]{0,12}",
        ) {
            let (old, new) = (prefix.clone() + &old, prefix + &new);
            let delta = encode(&old, &new);
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
            prop_assert_eq!(stream.push(&new), delta);
            prop_assert_eq!(stream.content(), new);
        }

        #[test]
        fn any_text_is_a_delta_or_an_error(content: String, delta in "D\\|(F|\\+|R|Z[F+R]?)\\|[0-9a|é]{0,20}") {
            let _ = applied(&content, &delta);
        }
    }
}
