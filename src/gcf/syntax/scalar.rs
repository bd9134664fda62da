//! Scalars: one grammar for values, list elements and cells, and how a line is split into tokens.
//!
//! A quote opens a quoted string only as the first non-blank character of a token. GCF 3.6 sections 2
//! and 4.

use super::line::is_blank;
use super::number::{self, Number, Scanned};
use super::string;
use crate::gcf::error::{Code, Read, fault};
use crate::text::block;
use crate::walk::Scalar;
use memchr::memchr2;
use std::borrow::Cow;

/// A parsed token.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'t> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(Cow<'t, str>),
    /// `~`, a field that the row does not have; valid in a cell only.
    Missing,
    /// `^`, a value that is attached below the row; valid in a cell only.
    Marker,
    /// `^{a,b}`, which also declares the keys of an inline object; valid in a cell only.
    InlineSchema(Vec<Cow<'t, str>>),
    /// The elements of a list, from `start` to `end`; in the cell of a list column only.
    List {
        start: usize,
        end: usize,
    },
}

impl Token<'_> {
    /// The token as a scalar; `None` if it is valid in a cell only.
    pub(crate) fn scalar(&self) -> Option<Scalar<'_>> {
        match self {
            Self::Null => Some(Scalar::Null),
            Self::Bool(value) => Some(Scalar::Bool(*value)),
            Self::Int(value) => Some(Scalar::Int(*value)),
            Self::Float(value) => Some(Scalar::Float(*value)),
            Self::String(text) => Some(Scalar::String(text)),
            Self::Missing | Self::Marker | Self::InlineSchema(_) | Self::List { .. } => None,
        }
    }
}

/// Parses the token from `start` up to `delimiter` or `end`; returns it and the offset of that
/// delimiter or `end`.
pub(crate) fn read(
    text: &str,
    start: usize,
    end: usize,
    delimiter: u8,
) -> Read<(Token<'_>, usize)> {
    read_up_to(text, start, end, [delimiter; 2])
}

/// The token from `start` up to `delimiter` or `end`, and the offset of that delimiter or `end`, if its first
/// letter alone shows that [`read`] would return it as a string.
#[inline(always)]
pub(crate) fn bare_word(
    text: &str,
    start: usize,
    end: usize,
    delimiter: u8,
) -> Option<(&str, usize)> {
    let bytes = text.as_bytes().get(start..end)?;
    let first = bytes.first()?;
    if !first.is_ascii_alphabetic() || matches!(first, b't' | b'f') {
        return None;
    }
    let length = match delimiter {
        b'\n' => bytes.len(),
        _ => find([delimiter; 2], bytes).unwrap_or(bytes.len()),
    };
    (!is_blank(bytes[length - 1])).then(|| (&text[start..start + length], start + length))
}

/// The scalar of the token from `start` to `end`, if it is a number, boolean or null that [`read`] would return as
/// one, without blanks.
#[inline]
pub(crate) fn simple(text: &[u8], start: usize, end: usize) -> Option<Scalar<'static>> {
    match &text[start..end] {
        b"-" => Some(Scalar::Null),
        b"true" => Some(Scalar::Bool(true)),
        b"false" => Some(Scalar::Bool(false)),
        // `scan` reads a short number at once only where bytes follow it.
        [b'-' | b'0'..=b'9', ..] => match number::scan(text, start) {
            Scanned::Number(Number::Int(value), stop) if stop == end => Some(Scalar::Int(value)),
            Scanned::Number(Number::Float(value), stop) if stop == end => {
                Some(Scalar::Float(value))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Parses an element in the cell of a list column, up to `,`, `|` or `end`.
pub(crate) fn read_element(text: &str, start: usize, end: usize) -> Read<(Token<'_>, usize)> {
    read_up_to(text, start, end, *b",|")
}

#[inline]
fn read_up_to(
    text: &str,
    start: usize,
    end: usize,
    delimiters: [u8; 2],
) -> Read<(Token<'_>, usize)> {
    let bytes = &text.as_bytes()[..end];
    let mut from = start;
    while from < end && is_blank(bytes[from]) {
        from += 1;
    }
    match bytes.get(from) {
        Some(b'"') => {
            let (quoted, after) = string::read_quoted(text, from, end)?;
            let stop = skip_blanks(bytes, after);
            if stop < end && !delimiters.contains(&bytes[stop]) {
                let message = "unexpected characters after the closing quote";
                return fault(Code::TrailingCharacters, after, message);
            }
            return Ok((Token::String(quoted), stop));
        }
        // In a list a comma ends a token, so that `^{a,b}` is two tokens there.
        Some(b'^') if delimiters == [b'|'; 2] && bytes[from..].starts_with(b"^{") => {
            if let Some(found) = inline_schema(text, from, end) {
                return Ok(found);
            }
        }
        _ => {}
    }
    // A line contains no line feed, so the token ends with the line.
    let stop = match delimiters {
        [b'\n', _] => end,
        _ => find(delimiters, &bytes[from..]).map_or(end, |found| from + found),
    };
    let mut to = stop;
    while to > from && is_blank(bytes[to - 1]) {
        to -= 1;
    }
    Ok((bare(&text[from..to], from)?, stop))
}

/// Finds a delimiter. Tokens are short, so the first bytes are compared before `memchr2` is called.
#[inline]
fn find([first, second]: [u8; 2], bytes: &[u8]) -> Option<usize> {
    let Some(block) = bytes.first_chunk() else {
        return bytes.iter().position(|&byte| byte == first || byte == second);
    };
    match block::find2(block, first, second).found {
        0 => memchr2(first, second, &bytes[16..]).map(|found| 16 + found),
        found => Some(found.trailing_zeros() as usize),
    }
}

/// Parses an unquoted token without surrounding blanks.
pub(crate) fn bare(token: &str, at: usize) -> Read<Token<'_>> {
    let bytes = token.as_bytes();
    Ok(match bytes {
        b"-" => Token::Null,
        [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..] => {
            let number = match number::scan(bytes, 0) {
                Scanned::Number(number, end) => Some(number).filter(|_| end == bytes.len()),
                Scanned::Text => None,
                Scanned::Unknown => number::parse(token, at)?,
            };
            match number {
                Some(Number::Int(value)) => Token::Int(value),
                Some(Number::Float(value)) => Token::Float(value),
                None => Token::String(Cow::Borrowed(token)),
            }
        }
        b"true" => Token::Bool(true),
        b"false" => Token::Bool(false),
        b"~" => Token::Missing,
        b"^" => Token::Marker,
        [b'^', b'{', .., b'}'] => {
            let message = "^{...} is valid only in a table cell, with field names in the braces";
            return fault(Code::InvalidAttachmentMarker, at, message);
        }
        _ => Token::String(Cow::Borrowed(token)),
    })
}

/// Parses an inline schema in a cell, `^{a,"b|c"}`; `None` if the token is not one.
fn inline_schema(text: &str, start: usize, end: usize) -> Option<(Token<'_>, usize)> {
    let bytes = &text.as_bytes()[..end];
    let mut names = Vec::new();
    let mut at = start + 2;
    loop {
        at = skip_blanks(bytes, at);
        let (name, after) = string::read_key(text, at, end).ok()??;
        names.push(name);
        at = skip_blanks(bytes, after);
        match bytes.get(at) {
            Some(b',') => at += 1,
            Some(b'}') => break,
            _ => return None,
        }
    }
    let stop = skip_blanks(bytes, at + 1);
    (stop == end || bytes[stop] == b'|').then_some((Token::InlineSchema(names), stop))
}

/// The offset of the first byte from `at` on that is not blank.
pub(crate) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && is_blank(bytes[at]) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Token<'_>, Code> {
        read(text, 0, text.len(), b'|').map(|(token, _)| token).map_err(|fault| fault.code)
    }

    #[test]
    fn tokens_are_parsed_by_the_first_matching_rule() {
        for (text, token) in [
            ("-", Ok(Token::Null)),
            (" true\t", Ok(Token::Bool(true))),
            ("~", Ok(Token::Missing)),
            ("^", Ok(Token::Marker)),
            ("^{a, \"b|}\"}", Ok(Token::InlineSchema(vec!["a".into(), "b|}".into()]))),
            ("^{}", Err(Code::InvalidAttachmentMarker)),
            ("^{a b}", Err(Code::InvalidAttachmentMarker)),
            ("-0", Ok(Token::Int(0))),
            ("9223372036854775807", Ok(Token::Int(i64::MAX))),
            ("9223372036854775808", Err(Code::OutOfRange)),
            ("1e20", Ok(Token::Float(1e20))),
            ("\"true\"", Ok(Token::String("true".into()))),
            ("\"a\"b", Err(Code::TrailingCharacters)),
            ("\"a", Err(Code::UnterminatedQuote)),
        ] {
            assert_eq!(one(text), token, "{text}");
        }
        for text in ["01", "1.", ".5", "+1", "NaN", "null", "1.٥", "^{a", "", "a\"b\"", "-a", "--1"]
        {
            assert_eq!(one(text), Ok(Token::String(text.into())), "{text}");
        }
    }

    #[test]
    fn bare_words_are_those_tokens_that_begin_with_most_letters() {
        for text in ["a", "a b", "Köln", "a\"b", "a\r", "x^{a}", "z "] {
            for end in ["", "|", "|b", "|1|"] {
                let text = format!("{text}{end}");
                let read = read(&text, 0, text.len(), b'|').unwrap();
                if let Some((word, stop)) = bare_word(&text, 0, text.len(), b'|') {
                    assert_eq!(read, (Token::String(word.into()), stop), "{text}");
                } else {
                    assert!(text.starts_with("z "), "{text}");
                }
            }
        }
        for text in ["", "true", "false", "1", "-", "~", "^", "\"a\"", " a", "é"] {
            assert_eq!(bare_word(text, 0, text.len(), b'|'), None, "{text}");
        }
    }

    #[test]
    fn simple_scalars_are_read_as_their_tokens() {
        for text in ["-", "true", "false", "0", "-0", "-7", "12345678901234567", "1.5", "-0.25"] {
            for after in ["", "\n", "|", "\nb=1234567"] {
                let whole = format!("{text}{after}");
                let scalar = simple(whole.as_bytes(), 0, text.len());
                assert_eq!(scalar, one(text).unwrap().scalar(), "{text}");
                assert!(scalar.is_some(), "{text}");
            }
        }
        for text in
            ["", "~", "^", "-a", "--1", "01", "1.", "1 ", " 1", "tru", "falsey", "\"1\"", "1|"]
        {
            assert_eq!(simple(format!("{text}\n").as_bytes(), 0, text.len()), None, "{text}");
        }
        assert_eq!(simple(b"9223372036854775808", 0, 19), None);
    }

    #[test]
    fn a_quote_inside_a_bare_token_is_an_ordinary_character() {
        let text = " \"a|b\" |c\"d|e\"";
        let (first, stop) = read(text, 0, text.len(), b'|').unwrap();
        assert_eq!((first, stop), (Token::String("a|b".into()), 7));
        let (second, stop) = read(text, 8, text.len(), b'|').unwrap();
        assert_eq!((second, stop), (Token::String("c\"d".into()), 11));
    }
}
