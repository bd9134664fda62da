//! The strict reader: a state machine over bytes with an explicit stack, so that nesting takes no stack of
//! the thread.
//!
//! Invariant: the first error ends the reading, with its offset in bytes.

use super::keys::Keys;
use crate::excerpt::excerpt;
use crate::interrupt::Steps;
use crate::text::quoted;
use crate::value::{Builder, Value};
use crate::walk::{Discard, Sink};
use std::borrow::Cow;

/// Limits on a text.
///
/// ```
/// use compactwire::json::{self, Limits};
///
/// let limits = Limits { max_depth: 2, ..Limits::default() };
/// assert!(json::parse("[[1]]", limits).is_ok());
/// assert!(json::parse("[[[1]]]", limits).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum depth of containers; the outermost has depth 1.
    pub max_depth: usize,
    /// Maximum number of digits of an integer; the default is Python's.
    pub max_digits: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_depth: 128, max_digits: 4300 }
    }
}

/// Why a text is not valid JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}, at byte {offset}")]
pub struct Error {
    /// The problem.
    pub problem: Problem,
    /// The offset in bytes, from 0.
    pub offset: usize,
}

/// The kinds of problems in a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Problem {
    /// An unexpected token.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// What was expected.
        expected: &'static str,
        /// An excerpt of what was found.
        found: String,
    },
    /// An escape that JSON does not define.
    #[error("invalid escape {0}")]
    Escape(String),
    /// A lone surrogate.
    #[error("the escape is a lone surrogate")]
    Surrogate,
    /// A control character in a string.
    #[error("unescaped control character U+{0:04X}")]
    Control(u8),
    /// A duplicate key in an object.
    #[error("duplicate member {0}")]
    Duplicate(String),
    /// Containers that nest too deep.
    #[error("nested more than {0} levels deep")]
    Depth(usize),
    /// An integer that is too long.
    #[error("integer of more than {0} digits")]
    Digits(usize),
    /// A number beyond the largest double.
    #[error("number too large for a double")]
    Overflow,
}

/// Why reading stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError<E> {
    /// The text is not valid JSON.
    Json(Error),
    /// The sink returned an error.
    Sink(E),
}

impl<E> From<Error> for ReadError<E> {
    fn from(error: Error) -> Self {
        Self::Json(error)
    }
}

/// Parses a text that is one JSON value.
///
/// # Errors
/// [`Error`]: the text is not valid JSON, or has something after the value.
pub fn parse(text: &str, limits: Limits) -> Result<Value<'static>, Error> {
    let (value, end) = parse_prefix(text, limits)?;
    Reader::new(text, end, limits).expect_end()?;
    Ok(value)
}

/// Like [`parse`], but strings without escapes are borrowed from `text`.
///
/// # Errors
/// As [`parse`].
pub fn parse_borrowed(text: &str, limits: Limits) -> Result<Value<'_>, Error> {
    let (value, end) = build(text, limits, Builder::over(text))?;
    Reader::new(text, end, limits).expect_end()?;
    Ok(value)
}

/// Checks that `text` is one JSON value.
///
/// # Errors
/// As [`parse`].
pub fn validate(text: &str, limits: Limits) -> Result<(), Error> {
    Reader::new(text, skip(text, limits)?, limits).expect_end()
}

/// Parses a text that is one JSON value and emits its value to `sink`.
///
/// # Errors
/// [`ReadError`]: the text is not valid JSON, or has something after the value, or the sink failed. The
/// sink has received the events before the error.
pub fn read_all<S: Sink>(
    text: &str,
    limits: Limits,
    sink: &mut S,
) -> Result<(), ReadError<S::Error>> {
    let end = read(text, limits, sink)?;
    Ok(Reader::new(text, end, limits).expect_end()?)
}

/// Parses the value at the start of `text`. Returns it and the offset of the first byte after it.
///
/// # Errors
/// [`Error`]: the text does not begin with a valid JSON value.
pub fn parse_prefix(text: &str, limits: Limits) -> Result<(Value<'static>, usize), Error> {
    build(text, limits, Builder::default())
}

fn build<'a>(
    text: &str,
    limits: Limits,
    mut builder: Builder<'a>,
) -> Result<(Value<'a>, usize), Error> {
    let end = match read(text, limits, &mut builder) {
        Ok(end) => end,
        Err(ReadError::Json(error)) => return Err(error),
        Err(ReadError::Sink(never)) => match never {},
    };
    // The reader has emitted a complete value.
    Ok((builder.finish().unwrap_or(Value::Null), end))
}

/// Returns the offset of the first byte after the value at the start of `text`.
///
/// # Errors
/// [`Error`]: the text does not begin with a valid JSON value.
pub fn skip(text: &str, limits: Limits) -> Result<usize, Error> {
    match read(text, limits, &mut Discard) {
        Ok(end) => Ok(end),
        Err(ReadError::Json(error)) => Err(error),
        Err(ReadError::Sink(never)) => match never {},
    }
}

/// Emits the value at the start of `text` to `sink`. Returns the offset of the first byte after it.
///
/// # Errors
/// [`ReadError`]: the text does not begin with a valid JSON value, or the sink failed. The sink has received
/// the events before the error.
pub fn read<S: Sink>(
    text: &str,
    limits: Limits,
    sink: &mut S,
) -> Result<usize, ReadError<S::Error>> {
    let mut reader = Reader::new(text, 0, limits);
    reader.value(sink)?;
    Ok(reader.at)
}

/// An open container.
#[derive(Clone, Copy)]
enum Open {
    Array,
    Object,
}

pub(super) struct Reader<'a> {
    text: &'a str,
    pub(super) at: usize,
    limits: Limits,
    /// Duplicate keys, lone surrogates and numbers of any size are accepted. Strings, numbers and keys are
    /// not emitted.
    grammar_only: bool,
    pub(super) steps: Steps,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, at: usize, limits: Limits) -> Self {
        Self { text, at, limits, grammar_only: false, steps: Steps::default() }
    }

    /// Reads a value and emits its events.
    fn value<S: Sink>(&mut self, sink: &mut S) -> Result<(), ReadError<S::Error>> {
        let mut open: Vec<Open> = Vec::new();
        let mut keys = Keys::default();
        loop {
            if !self.begin_value(&mut open, &mut keys, sink)?
                && !self.end_value(&mut open, &mut keys, sink)?
            {
                return Ok(());
            }
        }
    }

    /// Reads a scalar, an empty container, or the beginning of a container, which it adds to `open`. Returns
    /// whether a value within that container is next.
    #[inline]
    fn begin_value<S: Sink>(
        &mut self,
        open: &mut Vec<Open>,
        keys: &mut Keys<'a>,
        sink: &mut S,
    ) -> Result<bool, ReadError<S::Error>> {
        self.steps.step();
        self.skip_blank();
        let start = self.at;
        match self.peek() {
            Some(b'[' | b'{') if open.len() == self.limits.max_depth => {
                Err(self.problem(start, Problem::Depth(self.limits.max_depth)).into())
            }
            Some(b'[') => {
                self.at += 1;
                sink.begin_array().map_err(ReadError::Sink)?;
                if self.eat_after_blank(b']') {
                    sink.end_array().map_err(ReadError::Sink)?;
                    return Ok(false);
                }
                open.push(Open::Array);
                Ok(true)
            }
            Some(b'{') => {
                self.at += 1;
                sink.begin_object().map_err(ReadError::Sink)?;
                if self.eat_after_blank(b'}') {
                    sink.end_object().map_err(ReadError::Sink)?;
                    return Ok(false);
                }
                open.push(Open::Object);
                keys.begin_object();
                self.name(keys, sink)?;
                Ok(true)
            }
            _ => {
                self.scalar(sink)?;
                Ok(false)
            }
        }
    }

    /// Reads what follows a value: the ends of its containers, up to the comma before the next value. Returns
    /// whether there is a next value.
    #[inline]
    fn end_value<S: Sink>(
        &mut self,
        open: &mut Vec<Open>,
        keys: &mut Keys<'a>,
        sink: &mut S,
    ) -> Result<bool, ReadError<S::Error>> {
        loop {
            match open.last() {
                None => return Ok(false),
                Some(Open::Array) => {
                    if self.eat_after_blank(b',') {
                        return Ok(true);
                    }
                    self.expect(b']', "',' or ']'")?;
                    sink.end_array().map_err(ReadError::Sink)?;
                }
                Some(Open::Object) => {
                    if self.eat_after_blank(b',') {
                        self.name(keys, sink)?;
                        return Ok(true);
                    }
                    self.expect(b'}', "',' or '}'")?;
                    keys.end_object();
                    sink.end_object().map_err(ReadError::Sink)?;
                }
            }
            open.pop();
        }
    }

    /// Skips a value, of which only the grammar and the depth are checked. Returns its text.
    pub(super) fn raw(&mut self) -> Result<&'a str, Error> {
        let start = self.at;
        self.grammar_only = true;
        let read = self.value(&mut Discard);
        self.grammar_only = false;
        match read {
            Ok(()) => Ok(&self.text[start..self.at]),
            Err(ReadError::Json(error)) => Err(error),
            Err(ReadError::Sink(never)) => match never {},
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    pub(super) fn skip_blank(&mut self) {
        if let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
            self.at += self.text.as_bytes()[self.at..].iter().take_while(is_blank).count();
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    pub(super) fn eat_after_blank(&mut self, byte: u8) -> bool {
        self.skip_blank();
        self.eat(byte)
    }

    pub(super) fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Error> {
        if self.eat_after_blank(byte) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    #[cold]
    pub(super) fn problem(&self, offset: usize, problem: Problem) -> Error {
        debug_assert!(offset <= self.text.len());
        Error { problem, offset }
    }

    #[cold]
    pub(super) fn unexpected(&self, expected: &'static str) -> Error {
        let found = match self.text.get(self.at..) {
            None | Some("") => "the end of the text".into(),
            Some(rest) => excerpt(rest),
        };
        Error { problem: Problem::Syntax { expected, found }, offset: self.at }
    }

    /// Expects that only blanks follow.
    pub(super) fn expect_end(&mut self) -> Result<(), Error> {
        self.skip_blank();
        if self.at < self.text.len() { Err(self.unexpected("the end of the text")) } else { Ok(()) }
    }

    /// Reads a member's key. Returns its offset too.
    pub(super) fn key(&mut self) -> Result<(usize, Cow<'a, str>), Error> {
        self.expect_key()?;
        Ok((self.at, self.quoted()?))
    }

    fn expect_key(&mut self) -> Result<(), Error> {
        self.skip_blank();
        if self.peek() == Some(b'"') {
            Ok(())
        } else {
            Err(self.unexpected("a quoted member name"))
        }
    }

    /// Adds a key that was read at `start` to those of its object, and reads the colon after it.
    pub(super) fn declare(
        &mut self,
        keys: &mut Keys<'a>,
        key: Cow<'a, str>,
        start: usize,
    ) -> Result<(), Error> {
        if let Some(key) = keys.insert(key) {
            return Err(self.problem(start, Problem::Duplicate(excerpt(&key))));
        }
        self.expect(b':', "':'")
    }

    /// Reads a member's key and the colon after it.
    fn name<S: Sink>(
        &mut self,
        keys: &mut Keys<'a>,
        sink: &mut S,
    ) -> Result<(), ReadError<S::Error>> {
        if self.grammar_only {
            self.expect_key()?;
            self.skip_string()?;
            self.expect(b':', "':'")?;
            return Ok(());
        }
        self.skip_blank();
        if let Some(key) = self.expected_key(keys) {
            sink.key(key).map_err(ReadError::Sink)?;
            return Ok(self.expect(b':', "':'")?);
        }
        let (start, key) = self.key()?;
        sink.key(&key).map_err(ReadError::Sink)?;
        Ok(self.declare(keys, key, start)?)
    }

    /// Reads the key that `keys` expects, if it is next and without escapes, and adds it to its object.
    #[inline]
    fn expected_key(&mut self, keys: &mut Keys<'a>) -> Option<&'a str> {
        let key = keys.expected()?;
        let rest = self.text.as_bytes()[self.at..].strip_prefix(b"\"")?;
        if rest.get(key.len()) != Some(&b'"') || !rest.starts_with(key.as_bytes()) {
            return None;
        }
        self.at += key.len() + 2;
        keys.confirm();
        Some(key)
    }

    fn scalar<S: Sink>(&mut self, sink: &mut S) -> Result<(), ReadError<S::Error>> {
        let result = match self.peek() {
            Some(b'"') if self.grammar_only => return Ok(self.skip_string()?),
            Some(b'"') => sink.string(&self.quoted()?),
            Some(b'-' | b'0'..=b'9') => return self.number(sink),
            _ if self.word("null") => sink.null(),
            _ if self.word("true") => sink.bool(true),
            _ if self.word("false") => sink.bool(false),
            _ => return Err(self.unexpected("a JSON value").into()),
        };
        result.map_err(ReadError::Sink)
    }

    fn word(&mut self, word: &str) -> bool {
        let there = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += if there { word.len() } else { 0 };
        there
    }

    /// Reads at least one digit. Returns how many there are, and their number modulo 2^64.
    #[inline]
    fn digits(&mut self) -> Result<(usize, u64), Error> {
        let start = self.at;
        let mut number = 0_u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == start {
            Err(self.unexpected("a digit"))
        } else {
            Ok((self.at - start, number))
        }
    }

    fn number<S: Sink>(&mut self, sink: &mut S) -> Result<(), ReadError<S::Error>> {
        let start = self.at;
        let negative = self.eat(b'-');
        let (digits, number) = if self.eat(b'0') { (1, 0) } else { self.digits()? };
        let mut whole = true;
        if self.eat(b'.') {
            whole = false;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            whole = false;
            self.at += 1;
            if !self.eat(b'+') {
                self.eat(b'-');
            }
            self.digits()?;
        }
        let token = &self.text[start..self.at];
        let result = if self.grammar_only {
            return Ok(());
        } else if !whole {
            match token.parse::<f64>() {
                Ok(value) if value.is_finite() => sink.float(value),
                _ => return Err(self.problem(start, Problem::Overflow).into()),
            }
        } else if digits > self.limits.max_digits {
            return Err(self.problem(start, Problem::Digits(self.limits.max_digits)).into());
        } else if let Some(value) = integer(negative, digits, number) {
            sink.int(value)
        } else {
            sink.big_int(token)
        };
        result.map_err(ReadError::Sink)
    }

    /// Reads a quoted string, whose opening quote is next.
    pub(super) fn quoted(&mut self) -> Result<Cow<'a, str>, Error> {
        match quoted::read(self.text, self.at, self.text.len()) {
            Ok((content, end)) => {
                self.at = end;
                Ok(content)
            }
            Err(error) => Err(self.invalid_string(error)),
        }
    }

    /// Skips a quoted string, of which only the grammar is checked.
    fn skip_string(&mut self) -> Result<(), Error> {
        match quoted::skip(self.text, self.at, self.text.len()) {
            Ok(end) => {
                self.at = end;
                Ok(())
            }
            Err(error) => Err(self.invalid_string(error)),
        }
    }

    #[cold]
    fn invalid_string(&mut self, quoted::Error { problem, at }: quoted::Error) -> Error {
        match problem {
            quoted::Problem::Unterminated => {
                self.at = at;
                self.unexpected("the closing quote of a string")
            }
            quoted::Problem::Control(control) => self.problem(at, Problem::Control(control)),
            quoted::Problem::Surrogate => self.problem(at, Problem::Surrogate),
            quoted::Problem::Escape | quoted::Problem::UnicodeEscape => {
                let shown: String = self.text[at..].chars().take(6).collect();
                self.problem(at, Problem::Escape(excerpt(&shown)))
            }
        }
    }
}

/// The integer of 64 bits with this sign and so many digits, which are `number` modulo 2^64; `None` if there is
/// none.
#[inline]
fn integer(negative: bool, digits: usize, number: u64) -> Option<i64> {
    // A number of 19 digits is below 2^64.
    if digits > 19 {
        None
    } else if negative {
        0_i64.checked_sub_unsigned(number)
    } else {
        number.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Escape, write};
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<Value<'static>, Error> {
        parse(text, Limits::default())
    }

    #[test]
    fn all_types_of_values_are_read() {
        let text = r#" { "a" : [ 1 , -0, -0.0, 1e2, 18446744073709551616, "\u00e9\ud83d\ude00\/" ],
            "b":{}, "c":[], "d":null,"e":true,"f":false,"":"" } "#;
        let mut out = String::new();
        write(&parsed(text).unwrap(), Escape::Needed, &mut out);
        let expected = r#"{"":"","a":[1,0,-0.0,100.0,18446744073709551616,"é😀/"],"#;
        assert_eq!(out, expected.to_owned() + r#""b":{},"c":[],"d":null,"e":true,"f":false}"#);
    }

    #[test]
    fn prefix_ends_after_its_value() {
        for (text, end) in [("{}|D|", 2), ("1|2", 1), (r#""|"|"#, 3), ("null", 4), (" [1] x", 4)] {
            assert_eq!(parse_prefix(text, Limits::default()).unwrap().1, end);
        }
    }

    #[test]
    fn errors_name_the_problem_and_its_offset() {
        for (text, message) in [
            ("", "expected a JSON value, found the end of the text, at byte 0"),
            ("[1,]", "expected a JSON value, found \"]\", at byte 3"),
            ("[1 2]", "expected ',' or ']', found \"2]\", at byte 3"),
            ("{\"a\" 1}", "expected ':', found \"1}\", at byte 5"),
            ("{a:1}", "expected a quoted member name, found \"a:1}\", at byte 1"),
            ("{\"a\":1,}", "expected a quoted member name, found \"}\", at byte 7"),
            ("{\"a\":1,\"\\u0061\":2}", "duplicate member \"a\", at byte 7"),
            ("1 2", "expected the end of the text, found \"2\", at byte 2"),
            ("01", "expected the end of the text, found \"1\", at byte 1"),
            ("1.", "expected a digit, found the end of the text, at byte 2"),
            ("-", "expected a digit, found the end of the text, at byte 1"),
            ("1e", "expected a digit, found the end of the text, at byte 2"),
            ("1e400", "number too large for a double, at byte 0"),
            ("NaN", "expected a JSON value, found \"NaN\", at byte 0"),
            ("\"a", "expected the closing quote of a string, found the end of the text, at byte 2"),
            ("\"\n\"", "unescaped control character U+000A, at byte 1"),
            ("\"\\x\"", "invalid escape \"\\\\x\\\"\", at byte 1"),
            ("\"\\u12g4\"", "invalid escape \"\\\\u12g4\", at byte 1"),
            ("\"\\ud800\"", "the escape is a lone surrogate, at byte 1"),
            ("\"\\udc00\"", "the escape is a lone surrogate, at byte 1"),
            ("\"\\ud800\\u0041\"", "the escape is a lone surrogate, at byte 1"),
            ("\u{feff}1", "expected a JSON value, found \"\\u{feff}1\", at byte 0"),
        ] {
            assert_eq!(parsed(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    #[test]
    fn integers_of_64_bits_are_those_of_the_standard_library() {
        let ends = [0, 9, i64::MAX - 1, i64::MAX].map(i128::from);
        let beyond =
            [1 << 63, (1 << 63) + 1, (1 << 64) - 1, 1 << 64, (1 << 64) + 1, 10_i128.pow(19)];
        for number in ends.into_iter().chain(beyond).flat_map(|number| [number, -number]) {
            let expected = number.to_string().parse();
            let value = parsed(&number.to_string()).unwrap();
            assert_eq!(
                value,
                expected.map_or(Value::BigInt(number.to_string().into()), Value::Int)
            );
        }
    }

    #[test]
    fn limits_are_enforced() {
        let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parsed(&nested(128)).is_ok());
        assert_eq!(parsed(&nested(129)).unwrap_err().problem, Problem::Depth(128));
        assert_eq!(parsed(&"[".repeat(1_000_000)).unwrap_err().offset, 128);
        assert!(parsed(&"9".repeat(4300)).is_ok());
        assert_eq!(parsed(&"9".repeat(4301)).unwrap_err().problem, Problem::Digits(4300));
        let two = Limits { max_digits: 2, ..Limits::default() };
        assert_eq!(parse("-12", two).unwrap(), Value::Int(-12));
        assert_eq!(parse("-123", two).unwrap_err().problem, Problem::Digits(2));
        let members: Vec<_> = (0..100).map(|i| format!("\"{i}\":0")).collect();
        assert!(parsed(&format!("{{{}}}", members.join(","))).is_ok());
        let error = parsed(&format!("{{{},\"50\":1}}", members.join(","))).unwrap_err();
        assert_eq!(error.problem, Problem::Duplicate("\"50\"".into()));
    }

    proptest! {
        #[test]
        fn texts_are_accepted_as_by_serde_json(text in "[\\[\\]{}:,\"\\\\ua0-9eE.+\\- truefalsn]{0,24}") {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            match parsed(&text) {
                Ok(_) => prop_assert!(theirs.is_ok(), "{}", text),
                Err(Error { problem: Problem::Duplicate(_), .. }) => {}
                Err(error) => prop_assert!(theirs.is_err(), "{}: {}", text, error),
            }
        }
    }
}
