//! Splits a line into tokens.
//!
//! ```text
//! line  = { space } [ token { space { space } token } { space } ] [ "#" comment ]
//! token = word                                      0.1, and 0.2 without quotes
//!       | '"' { char | "\" char } '"'               0.2: a string
//!       | key "=" '"' { char | "\" char } '"'       0.2: an attribute
//! ```
//!
//! Tokens are byte ranges and borrow nothing, so one list is reused for all lines.

use super::directive_table::{Directive, EXTRA};
use crate::memory;
use std::borrow::Cow;

/// A byte range of a line, and its form.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Token {
    pub start: usize,
    pub end: usize,
    pub form: Form,
}

/// The syntax of a token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Form {
    #[default]
    Word,
    /// A string in quotes.
    Quoted,
    /// A key, `=` and a value in quotes; `quote` is the offset of the opening quote.
    Attribute { quote: usize },
}

/// An error in a line, at a byte offset.
#[derive(Debug)]
pub(crate) struct LineError {
    pub at: usize,
    pub message: Cow<'static, str>,
    pub suggestion: Option<&'static str>,
}

impl LineError {
    #[cold]
    pub(crate) fn new(at: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self { at, message: message.into(), suggestion: None }
    }
}

/// A line and its tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'l, 't> {
    pub text: &'l str,
    pub tokens: &'t [Token],
}

impl<'l> Line<'l, '_> {
    /// The token as written in the line.
    #[inline]
    pub(crate) fn raw(&self, token: Token) -> &'l str {
        &self.text[token.start..token.end]
    }

    /// The unescaped content of a string, or the word.
    pub(crate) fn content(&self, token: Token) -> Cow<'l, str> {
        let raw = self.raw(token);
        match token.form {
            Form::Quoted => unescape(&raw[1..raw.len() - 1]),
            Form::Word | Form::Attribute { .. } => Cow::Borrowed(raw),
        }
    }

    /// Whether the token is this word, without quotes.
    pub(crate) fn is(&self, token: Token, word: &str) -> bool {
        token.form == Form::Word && self.raw(token) == word
    }

    /// Returns the key and value of an attribute, and whether the value is quoted. Every bare
    /// `key=value` is an attribute.
    pub(crate) fn attribute(&self, token: Token) -> Option<(&'l str, Cow<'l, str>, bool)> {
        let raw = self.raw(token);
        match token.form {
            Form::Quoted => None,
            Form::Attribute { quote } => {
                Some((&raw[..quote - 1], unescape(&raw[quote + 1..raw.len() - 1]), true))
            }
            Form::Word => {
                let (key, value) = raw.split_once('=')?;
                is_key(key).then_some((key, Cow::Borrowed(value), false))
            }
        }
    }
}

fn is_key(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|c| c.is_ascii_lowercase())
}

/// Resolves the escapes `\"` `\\` `\n` `\r` `\t`; keeps any other backslash.
fn unescape(text: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\\', text.as_bytes()) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut chars = text[first..].chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some(c @ ('"' | '\\')) => out.push(c),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            other => {
                out.push('\\');
                out.extend(other);
            }
        }
    }
    Cow::Owned(out)
}

/// The class of a byte in a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Byte {
    Word,
    Space,
    Hash,
    Quote,
    /// Part of a character outside ASCII, which may be white space.
    NonAscii,
}

static BYTES: [Byte; 256] = {
    let mut bytes = [Byte::Word; 256];
    let mut i = 9;
    while i <= 13 {
        bytes[i] = Byte::Space;
        i += 1;
    }
    bytes[b' ' as usize] = Byte::Space;
    bytes[b'#' as usize] = Byte::Hash;
    bytes[b'"' as usize] = Byte::Quote;
    i = 128;
    while i < 256 {
        bytes[i] = Byte::NonAscii;
        i += 1;
    }
    bytes
};

/// Returns the length of the white space character at `at`, or 0.
#[inline]
fn space(line: &str, at: usize) -> usize {
    match line.as_bytes().get(at).map(|&byte| BYTES[usize::from(byte)]) {
        Some(Byte::Space) => 1,
        Some(Byte::NonAscii) => non_ascii_space(line, at),
        _ => 0,
    }
}

#[cold]
fn non_ascii_space(line: &str, at: usize) -> usize {
    // If `at` is inside a character, `get` returns `None`: the byte belongs to a word.
    let first = line.get(at..).and_then(|rest| rest.chars().next());
    first.filter(|c| c.is_whitespace()).map_or(0, char::len_utf8)
}

/// Splits a line of dialect 0.1. A `#` anywhere begins the comment.
pub(crate) fn split_v0_1(line: &str, tokens: &mut Vec<Token>) {
    tokens.clear();
    let mut at = 0;
    while let Some(start) = token_start(line, at) {
        if line.as_bytes()[start] == b'#' {
            return;
        }
        at = word_end(line, start, |byte| byte == Byte::Hash);
        memory::push(tokens, Token { start, end: at, form: Form::Word });
    }
}

/// Returns the first offset from `at` on that is not white space.
#[inline]
fn token_start(line: &str, mut at: usize) -> Option<usize> {
    loop {
        match space(line, at) {
            0 => return (at < line.len()).then_some(at),
            length => at += length,
        }
    }
}

/// Returns the end of the word that begins at `start`. White space, or a byte for which `stops` is
/// true, ends it.
#[inline]
fn word_end(line: &str, start: usize, stops: impl Fn(Byte) -> bool) -> usize {
    let bytes = line.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        let byte = BYTES[usize::from(bytes[at])];
        match byte {
            Byte::Word => {}
            Byte::Space => break,
            Byte::NonAscii if non_ascii_space(line, at) > 0 => break,
            _ if stops(byte) => break,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Splits a line of dialect 0.2, with strings and attributes. On directive lines a `#` inside or
/// before a word does not begin a comment.
pub(crate) fn split_v0_2(line: &str, tokens: &mut Vec<Token>) -> Result<(), LineError> {
    tokens.clear();
    let bytes = line.as_bytes();
    let (mut at, mut directive) = (0, false);
    while let Some(start) = token_start(line, at) {
        let token = match bytes[start] {
            b'#' if !directive || start + 1 == bytes.len() || space(line, start + 1) > 0 => break,
            b'"' => Token { start, end: string_end(line, start)?, form: Form::Quoted },
            _ => word(line, start, directive)?,
        };
        if token.form != Form::Word && !is_token_end(line, token.end) {
            return Err(LineError::new(token.end, "expected a space after a string"));
        }
        at = token.end;
        memory::push(tokens, token);
        if tokens.len() == 1 && token.form == Form::Word {
            let word = &line[token.start..token.end];
            if word == EXTRA {
                return pointer_and_json(line, at, tokens);
            }
            directive = Directive::from_opcode(word).is_some();
        }
    }
    Ok(())
}

/// Splits the arguments of `XF`: a word or string, then the rest of the line, which has no
/// comments.
fn pointer_and_json(line: &str, at: usize, tokens: &mut Vec<Token>) -> Result<(), LineError> {
    let Some(start) = token_start(line, at) else { return Ok(()) };
    let token = match line.as_bytes()[start] {
        b'"' => Token { start, end: string_end(line, start)?, form: Form::Quoted },
        _ => word(line, start, true)?,
    };
    tokens.push(token);
    if token.form != Form::Word && token.end < line.len() && space(line, token.end) == 0 {
        return Err(LineError::new(token.end, "expected a space after a string"));
    }
    if let Some(start) = token_start(line, token.end) {
        memory::push(tokens, Token { start, end: line.trim_end().len(), form: Form::Word });
    }
    Ok(())
}

/// Reads a word, or an attribute whose value is in quotes.
fn word(line: &str, start: usize, directive: bool) -> Result<Token, LineError> {
    let end = word_end(line, start, |byte| match byte {
        Byte::Hash => !directive,
        Byte::Quote => true,
        _ => false,
    });
    if line.as_bytes().get(end) != Some(&b'"') {
        return Ok(Token { start, end, form: Form::Word });
    }
    let key = line[start..end].strip_suffix('=');
    if !key.is_some_and(is_key) {
        return Err(LineError::new(end, "unexpected quote inside a word"));
    }
    let form = Form::Attribute { quote: end - start };
    Ok(Token { start, end: string_end(line, end)?, form })
}

/// Returns the end of the string that begins at `start`, after its closing quote.
fn string_end(line: &str, start: usize) -> Result<usize, LineError> {
    let bytes = line.as_bytes();
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
        at += found;
        if bytes[at] == b'"' {
            return Ok(at + 1);
        }
        at += 2;
    }
    Err(LineError::new(start, "unterminated string"))
}

fn is_token_end(line: &str, at: usize) -> bool {
    at == line.len() || line.as_bytes()[at] == b'#' || space(line, at) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        split_v0_2(line, &mut tokens).unwrap();
        let line = Line { text: line, tokens: &tokens };
        tokens.iter().map(|&token| line.content(token).into_owned()).collect()
    }

    #[test]
    fn hash_begins_a_comment_depending_on_the_line() {
        assert_eq!(words("C 1#2 3"), ["C", "1"]);
        assert_eq!(words("ROOT 0 #ff0000 # hidden"), ["ROOT", "0", "#ff0000"]);
        assert_eq!(words("ROOT 0 a#b #"), ["ROOT", "0", "a#b"]);
        assert_eq!(words("# ROOT"), Vec::<String>::new());
        assert_eq!(words("C 1 1 1 \"a#b\"#c"), ["C", "1", "1", "1", "a#b"]);
    }

    #[test]
    fn only_unicode_white_space_separates_tokens() {
        let mut tokens = Vec::new();
        for c in
            "\t\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}\u{200a}\u{2028}\u{202f}\u{3000}".chars()
        {
            split_v0_1(&format!("S{c}1"), &mut tokens);
            assert_eq!(tokens.len(), 2, "{c:?}");
        }
        for c in "\u{200b}\u{feff}\u{1c}\0".chars() {
            split_v0_1(&format!("S{c}1"), &mut tokens);
            assert_eq!(tokens.len(), 1, "{c:?}");
        }
    }

    #[test]
    fn unknown_escapes_are_kept() {
        assert_eq!(words(r#"S 1 "a\q\\\"\t""#)[2], "a\\q\\\"\t");
        assert_eq!(words(r#"S 1 "\é""#)[2], "\\é");
        assert!(split_v0_2(r#"S 1 "\"#, &mut Vec::new()).is_err());
    }
}
