//! Quoted strings as in JSON: `"`, `\` and control characters are escaped.
//!
//! JSON and GCF share these rules. [`read`] returns an [`Error`] with a position, from which each format
//! makes its own code and message.
//!
//! Invariant: [`read`] returns the string that [`write()`] wrote.

use super::hex;
#[cfg(feature = "gcf")]
use super::output::{Memory, Output};
use super::scan::{self, Class, Escaped, EscapedOrNonAscii};
use crate::interrupt::Steps;
use crate::memory;
use std::borrow::Cow;

/// Which characters a writer escapes besides `"`, `\` and those below U+0020.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// None: the text is UTF-8.
    Needed,
    /// U+007F and everything beyond ASCII, as `\u` escapes: the text is ASCII.
    NonAscii,
}

/// Why a quoted string could not be read, and the offset in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub problem: Problem,
    /// The offset of the escape or control character; the end of the text for [`Problem::Unterminated`].
    pub at: usize,
}

/// What is wrong with a quoted string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "exhaustive"), non_exhaustive)]
pub enum Problem {
    /// The closing quote is missing.
    Unterminated,
    /// A control character that is not escaped.
    Control(u8),
    /// A `\` without a known letter after it, or at the end of the text.
    Escape,
    /// `\u` without four hexadecimal digits.
    UnicodeEscape,
    /// A lone surrogate.
    Surrogate,
}

/// Reads the quoted string whose opening quote is at `start`. Returns its content and the offset after the
/// closing quote, which must be before `end`.
///
/// # Errors
/// [`Error`]: the string does not end, or has an invalid escape or a control character.
#[inline]
pub fn read(text: &str, start: usize, end: usize) -> Result<(Cow<'_, str>, usize), Error> {
    let bytes = &text.as_bytes()[..end];
    let close = start + 1 + scan::first_near::<Escaped>(&bytes[start + 1..]);
    if bytes.get(close) == Some(&b'"') {
        return Ok((Cow::Borrowed(&text[start + 1..close]), close + 1));
    }
    read_escaped(text, bytes, start + 1, close)
}

/// Slow path of [`read`]: nothing between `start` and `at` is escaped.
fn read_escaped<'a>(
    text: &'a str,
    bytes: &[u8],
    mut start: usize,
    mut at: usize,
) -> Result<(Cow<'a, str>, usize), Error> {
    let mut content = String::new();
    let mut steps = Steps::default();
    loop {
        steps.step();
        memory::require(content.try_reserve(at - start + size_of::<char>()));
        content.push_str(&text[start..at]);
        match bytes.get(at) {
            None => return Err(Error { problem: Problem::Unterminated, at }),
            Some(b'"') => return Ok((Cow::Owned(content), at + 1)),
            Some(b'\\') => {
                let (char, next) = read_escape(bytes, at)?;
                content.push(char);
                start = next;
            }
            Some(&control) => return Err(Error { problem: Problem::Control(control), at }),
        }
        at = start + scan::first_near::<Escaped>(&bytes[start..]);
    }
}

/// The character of the escape at `at`, and the offset after it.
fn read_escape(bytes: &[u8], at: usize) -> Result<(char, usize), Error> {
    let char = match bytes.get(at + 1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return read_unicode(bytes, at),
        _ => return Err(Error { problem: Problem::Escape, at }),
    };
    Ok((char, at + 2))
}

/// Reads one `\u` escape, or the two of a surrogate pair.
fn read_unicode(bytes: &[u8], at: usize) -> Result<(char, usize), Error> {
    let first = unit(bytes, at)?;
    let mut units = [first, 0];
    let mut count = 1;
    if (0xD800..0xDC00).contains(&first) && bytes.get(at + 6..at + 8) == Some(b"\\u") {
        units[1] = unit(bytes, at + 6)?;
        count = 2;
    }
    match char::decode_utf16(units[..count].iter().copied()).next() {
        Some(Ok(char)) => Ok((char, at + 6 * count)),
        _ => Err(Error { problem: Problem::Surrogate, at }),
    }
}

/// The UTF-16 code unit of the `\u` escape at `at`.
fn unit(bytes: &[u8], at: usize) -> Result<u16, Error> {
    match bytes.get(at + 2..at + 6).and_then(hex::decode::<2>) {
        Some(unit) => Ok(u16::from_be_bytes(unit)),
        None => Err(Error { problem: Problem::UnicodeEscape, at }),
    }
}

/// The offset after the quoted string whose opening quote is at `start`. Accepts lone surrogates.
///
/// # Errors
/// As [`read`], except for [`Problem::Surrogate`].
pub fn skip(text: &str, start: usize, end: usize) -> Result<usize, Error> {
    let bytes = &text.as_bytes()[..end];
    let mut at = start + 1;
    let mut steps = Steps::default();
    loop {
        steps.step();
        at += scan::first_near::<Escaped>(&bytes[at..]);
        at = match bytes.get(at) {
            None => return Err(Error { problem: Problem::Unterminated, at }),
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => match read_escape(bytes, at) {
                Ok((_, next)) => next,
                Err(Error { problem: Problem::Surrogate, .. }) => at + 6,
                Err(error) => return Err(error),
            },
            Some(&control) => return Err(Error { problem: Problem::Control(control), at }),
        };
    }
}

/// Appends a string in quotes.
pub fn write(text: &str, escape: Escape, out: &mut String) {
    memory::require(out.try_reserve(text.len() + 2));
    out.push('"');
    write_content(text, escape, out);
    out.push('"');
}

/// Appends the content of a quoted string, without the quotes.
pub fn write_content(text: &str, escape: Escape, out: &mut String) {
    match escape {
        Escape::Needed => write_escaped::<Escaped>(text, out),
        Escape::NonAscii => write_escaped::<EscapedOrNonAscii>(text, out),
    }
}

/// The maximum size of a character's escape, in bytes: a surrogate pair is two escapes of six bytes.
const ESCAPE_SIZE: usize = 12;

/// Appends a string with the characters of a class escaped.
fn write_escaped<C: Class>(text: &str, out: &mut String) {
    let mut plain = scan::first::<C>(text.as_bytes());
    let mut rest = text;
    let mut steps = Steps::default();
    loop {
        steps.step();
        memory::require(out.try_reserve(plain + ESCAPE_SIZE));
        out.push_str(&rest[..plain]);
        rest = &rest[plain..];
        let Some(char) = rest.chars().next() else { return };
        match short_escape(char) {
            Some(letter) => out.extend(['\\', char::from(letter)]),
            None => write_unicode(char, out),
        }
        rest = &rest[char.len_utf8()..];
        plain = scan::first_near::<C>(rest.as_bytes());
    }
}

/// Appends a string in quotes to an output, with the escapes of [`Escape::Needed`].
#[cfg(feature = "gcf")]
pub fn put<M: Memory>(text: &str, out: &mut Output<M>) {
    out.byte(b'"');
    let mut rest = text;
    let mut steps = Steps::default();
    loop {
        steps.step();
        rest = &rest[out.until::<Escaped>(rest)..];
        let Some(char) = rest.chars().next() else { break };
        if let Some(letter) = short_escape(char) {
            out.bytes([b'\\', letter]);
        } else {
            let mut escape = String::new();
            write_unicode(char, &mut escape);
            out.str(&escape);
        }
        rest = &rest[char.len_utf8()..];
    }
    out.byte(b'"');
}

/// The letter after the `\` of an escape of two characters.
fn short_escape(char: char) -> Option<u8> {
    Some(match char {
        '"' => b'"',
        '\\' => b'\\',
        '\u{8}' => b'b',
        '\t' => b't',
        '\n' => b'n',
        '\u{c}' => b'f',
        '\r' => b'r',
        _ => return None,
    })
}

/// Appends a character as one `\u` escape or a surrogate pair.
fn write_unicode(char: char, out: &mut String) {
    for unit in char.encode_utf16(&mut [0; 2]) {
        out.push_str("\\u");
        hex::write(&unit.to_be_bytes(), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &str, escape: Escape) -> String {
        let mut out = String::new();
        write(text, escape, &mut out);
        out
    }

    #[test]
    fn special_characters_are_escaped() {
        let text = "\"\\\u{0}\u{8}\t\n\u{c}\r\u{1f}\u{7f}/é😀";
        let needed = "\"\\\"\\\\\\u0000\\b\\t\\n\\f\\r\\u001f\u{7f}/é😀\"";
        assert_eq!(written(text, Escape::Needed), needed);
        let ascii = r#""\"\\\u0000\b\t\n\f\r\u001f\u007f/\u00e9\ud83d\ude00""#;
        assert_eq!(written(text, Escape::NonAscii), ascii);
    }

    #[test]
    fn strings_are_read_to_their_closing_quote() {
        assert_eq!(read(r#"x"abc" y"#, 1, 8), Ok((Cow::Borrowed("abc"), 6)));
        assert_eq!(read(r#""""#, 0, 2), Ok((Cow::Borrowed(""), 2)));
        let (content, end) = read(r#""a\u00E9\ud83d\ude00\/" x"#, 0, 25).unwrap();
        assert_eq!((&*content, end), ("aé😀/", 23));
    }

    #[test]
    fn errors_have_a_position() {
        for (text, problem, at) in [
            (r#""a"#, Problem::Unterminated, 2),
            (r#""\n"#, Problem::Unterminated, 3),
            ("\"a\n\"", Problem::Control(b'\n'), 2),
            (r#""\x""#, Problem::Escape, 1),
            (r#""a\"#, Problem::Escape, 2),
            (r#""\u12""#, Problem::UnicodeEscape, 1),
            (r#""\u+123""#, Problem::UnicodeEscape, 1),
            (r#""\ud800""#, Problem::Surrogate, 1),
            (r#""\udc00""#, Problem::Surrogate, 1),
            (r#""\ud800\u0041""#, Problem::Surrogate, 1),
            (r#""\ud800\u00""#, Problem::UnicodeEscape, 7),
        ] {
            assert_eq!(read(text, 0, text.len()), Err(Error { problem, at }), "{text}");
            let skipped = skip(text, 0, text.len());
            match problem {
                Problem::Surrogate => assert_eq!(skipped, Ok(text.len()), "{text}"),
                _ => assert_eq!(skipped, Err(Error { problem, at }), "{text}"),
            }
        }
        // The text ends before the closing quote.
        assert_eq!(read("\"ab\"", 0, 3), Err(Error { problem: Problem::Unterminated, at: 3 }));
    }

    proptest! {
        #[test]
        fn written_string_is_read_back(text: String) {
            for escape in [Escape::Needed, Escape::NonAscii] {
                let quoted = written(&text, escape);
                prop_assert!(escape == Escape::Needed || quoted.is_ascii());
                let (content, end) = read(&quoted, 0, quoted.len()).unwrap();
                prop_assert_eq!((&*content, end), (&*text, quoted.len()));
                prop_assert_eq!(skip(&quoted, 0, quoted.len()), Ok(end));
            }
        }
    }
}
