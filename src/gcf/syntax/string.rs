//! Strings and keys: when they are quoted, how they are escaped, and how they are parsed.
//!
//! Invariant: one rule decides in all positions (values, list elements, cells) whether a string is quoted,
//! so that it is parsed as the same string in each. GCF 3.6 sections 2 and 4.

use super::append::push_short;
use super::number;
use crate::gcf::error::{Code, Read, fault};
use crate::text::output::{Mark, Memory, Output};
use crate::text::quoted::{self, Escape, Problem};
use crate::text::scan::{self, Block, Class, Escaped};
use memchr::memchr;
use std::borrow::Cow;

/// Appends a string as a value, in quotes only if necessary.
pub(crate) fn write_value(text: &str, out: &mut String) {
    if needs_quotes(text) {
        write_quoted(text, out);
    } else {
        push_short(text, out);
    }
}

/// Appends a string as a value to an output, in quotes only if necessary. The result is that of
/// [`write_value`]; the string is copied while it is classified.
#[inline(always)]
pub(crate) fn put_value<M: Memory>(text: &str, out: &mut Output<M>) {
    let bytes = text.as_bytes();
    let is_plain_outside = match (bytes.first(), bytes.last()) {
        (Some(&first), Some(&last)) => {
            last != b' ' && !(FIRST[usize::from(first)] && looks_special(bytes))
        }
        _ => false,
    };
    if !is_plain_outside {
        return quoted::put(text, out);
    }
    let start = out.mark();
    let plain = out.until::<MaybeDelimiter>(text);
    if plain < text.len() {
        put_rest(text, plain, start, out);
    }
}

/// Appends the rest of a string from the offset `plain` on. If the rest has a delimiter, first removes what
/// was appended since `start`, and then appends the whole string in quotes.
#[inline(never)]
fn put_rest<M: Memory>(text: &str, plain: usize, start: Mark, out: &mut Output<M>) {
    if has_delimiter(&text[plain..]) {
        out.cut(start);
        quoted::put(text, out);
    } else {
        out.str(&text[plain..]);
    }
}

/// Appends a key to an output, in quotes unless it is a bare key.
pub(crate) fn put_key<M: Memory>(key: &str, out: &mut Output<M>) {
    if is_bare_key(key) { out.short(key) } else { quoted::put(key, out) }
}

/// Whether a key needs no quotes: `[A-Za-z_][A-Za-z0-9_]*`.
pub(crate) fn is_bare_key(key: &str) -> bool {
    let key = key.as_bytes();
    key.first().is_some_and(|first| !first.is_ascii_digit()) && bare_key_length(key) == key.len()
}

/// Appends a key, in quotes unless it is a bare key.
pub(crate) fn write_key(key: &str, out: &mut String) {
    if is_bare_key(key) { push_short(key, out) } else { write_quoted(key, out) }
}

#[inline(always)]
fn bare_key_length(text: &[u8]) -> usize {
    text.iter().position(|&byte| !BARE[usize::from(byte)]).unwrap_or(text.len())
}

/// The bytes of bare keys.
const BARE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        table[byte as usize] = byte == b'_' || byte.is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

/// Appends a quoted string. `"`, `\` and control characters are escaped.
pub(crate) fn write_quoted(text: &str, out: &mut String) {
    quoted::write(text, Escape::Needed, out);
}

/// Whether a string must be quoted as a value.
pub(crate) fn needs_quotes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return true };
    if last == b' ' || (FIRST[usize::from(first)] && looks_special(bytes)) {
        return true;
    }
    scan::contains::<MaybeDelimiter>(bytes) && has_delimiter(text)
}

/// The first bytes of strings that could be parsed as another scalar or as the syntax of a line.
const FIRST: [bool; 256] = {
    let mut table = [false; 256];
    let special = b" #@.-+~^tf0123456789";
    let mut i = 0;
    while i < special.len() {
        table[special[i] as usize] = true;
        i += 1;
    }
    table
};

fn looks_special(text: &[u8]) -> bool {
    match text {
        [b' ' | b'#' | b'@' | b'.', ..]
        | b"-"
        | b"~"
        | b"^"
        | b"true"
        | b"false"
        | [b'+' | b'-', b'.', b'0'..=b'9', ..]
        | [b'+' | b'-' | b'0', b'0'..=b'9', ..]
        | [b'^', b'{', .., b'}'] => true,
        [b'0'..=b'9', ..] => number::is_number(text),
        _ => false,
    }
}

/// The bytes that make a call of [`has_delimiter`] necessary: those that are escaped, `|`, `,`,
/// `[`, and the first bytes of the delimiters beyond ASCII, which other characters share.
struct MaybeDelimiter;

#[expect(clippy::needless_bitwise_bool, reason = "one branch instead of several")]
impl Class for MaybeDelimiter {
    #[inline]
    fn contains(byte: u8) -> bool {
        Escaped::contains(byte)
            | (byte == b'|')
            | (byte == b',')
            | (byte == b'[')
            | (byte == 0xC2)
            | (byte.wrapping_sub(0xE1) <= 2)
            | (byte == 0xEF)
    }

    #[inline]
    fn mark(word: u64) -> u64 {
        // Bit 0x20 turns a backslash into a bar, so that one comparison finds both.
        let either = word | u64::from_ne_bytes([0x20; 8]);
        let equal = scan::equal(either, b'|')
            | scan::equal(word, b'"')
            | scan::equal(word, b',')
            | scan::equal(word, b'[');
        let mut beyond = word & scan::HIGH;
        if beyond != 0 {
            let lead = |byte| scan::equal(word, byte);
            beyond &= lead(0xC2) | lead(0xE1) | lead(0xE2) | lead(0xE3) | lead(0xEF);
        }
        ((scan::below(word, 0x20) | equal) & scan::HIGH) | beyond
    }

    #[inline]
    fn any(block: [u8; 16]) -> bool {
        let block = Block::new(block);
        // Bit 0x20 turns a backslash into a bar.
        let special = block.with_bits(0x20).equal(b'|')
            | block.equal(b'"')
            | block.equal(b',')
            | block.equal(b'[');
        // Blocks of ASCII need no comparison with the first bytes of longer characters.
        if !(special | block.at_most(0x1F) | block.beyond_ascii()).any() {
            return false;
        }
        let lead = block.minus(0xE1).at_most(2) | block.equal(0xC2) | block.equal(0xEF);
        (special | block.at_most(0x1F) | lead).any()
    }
}

/// Whether a string contains a character that must be quoted wherever it stands, or what may be the head of a
/// list.
fn has_delimiter(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(window) = bytes[at..].first_chunk() {
        if delimiter_begins(window) {
            return true;
        }
        at += 16;
    }
    let mut rest = [b'a'; 2 * 16 + 2];
    let length = bytes.len() - at;
    rest[..length].copy_from_slice(&bytes[at..]);
    rest.first_chunk().is_some_and(delimiter_begins)
        || length > 16 && rest.last_chunk().is_some_and(delimiter_begins)
        || memchr(b'[', bytes).is_some() && looks_like_list(text)
}

/// Whether a delimiter begins at one of the first 16 bytes. Two more belong to the character of the last.
#[inline]
fn delimiter_begins(window: &[u8; 18]) -> bool {
    let mut any = false;
    for i in 0..16 {
        any |= is_delimiter([window[i], window[i + 1], window[i + 2]]);
    }
    any
}

/// Whether UTF-8 begins with a character that must be quoted: one that is escaped, `|`, `,`, a control
/// character beyond ASCII, or a space, line separator or byte order mark of Unicode.
#[expect(clippy::needless_bitwise_bool, reason = "one branch instead of several")]
#[inline(always)]
fn is_delimiter([first, second, third]: [u8; 3]) -> bool {
    let ascii = Escaped::contains(first) | (first == b'|') | (first == b',');
    // U+0080 to U+00A0
    let c2 = (first == 0xC2) & (second <= 0xA0);
    // U+1680, U+3000, U+FEFF
    let e1 = (first == 0xE1) & (second == 0x9A) & (third == 0x80);
    let e3 = (first == 0xE3) & (second == 0x80) & (third == 0x80);
    let ef = (first == 0xEF) & (second == 0xBB) & (third == 0xBF);
    // U+2000 to U+200A, U+2028, U+2029 and U+202F; U+205F
    let space = (third <= 0x8A) | (third == 0xA8) | (third == 0xA9) | (third == 0xAF);
    let e2 = (second == 0x80) & space | (second == 0x81) & (third == 0x9F);
    ascii | c2 | e1 | e3 | ef | ((first == 0xE2) & e2)
}

/// Whether a string contains a possible head of a list, `[…]` and a colon: `ERR[404]: x`.
fn looks_like_list(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut is_open = false;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'[' => is_open = true,
            b']' if std::mem::take(&mut is_open) => {
                let after = bytes[at + 1..].iter().find(|&&byte| byte != b' ');
                if after == Some(&b':') {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// Reads the quoted string that begins at `start`. Returns its content and the offset after it, which is
/// at most `end`.
#[inline]
pub(crate) fn read_quoted(text: &str, start: usize, end: usize) -> Read<(Cow<'_, str>, usize)> {
    match quoted::read(text, start, end) {
        Ok(read) => Ok(read),
        Err(error) => invalid_string(error, start, end),
    }
}

#[cold]
fn invalid_string<T>(
    quoted::Error { problem, at }: quoted::Error,
    start: usize,
    end: usize,
) -> Read<T> {
    match problem {
        Problem::Escape if at + 1 < end => fault(
            Code::InvalidEscape,
            at,
            "invalid escape, expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX",
        ),
        Problem::Unterminated | Problem::Escape => {
            fault(Code::UnterminatedQuote, start, "missing closing quote of a string")
        }
        Problem::Control(control) => {
            let message = format!("unescaped control character U+{control:04X} in a string");
            fault(Code::InvalidEscape, at, message)
        }
        Problem::UnicodeEscape => {
            fault(Code::InvalidEscape, at, "expected four hexadecimal digits after \\u")
        }
        Problem::Surrogate => fault(
            Code::InvalidSurrogate,
            at,
            "lone surrogate escape; expected a pair \\uD8xx\\uDCxx",
        ),
    }
}

/// Parses the bare or quoted key that begins at `start`; returns it and the offset after it, or `None` if
/// there is no key.
#[inline(always)]
pub(crate) fn read_key(
    text: &str,
    start: usize,
    end: usize,
) -> Read<Option<(Cow<'_, str>, usize)>> {
    let bytes = &text.as_bytes()[start..end];
    match bytes.first() {
        Some(b'"') => read_quoted(text, start, end).map(Some),
        Some(b'0'..=b'9') | None => Ok(None),
        Some(_) => match bare_key_length(bytes) {
            0 => Ok(None),
            length => Ok(Some((Cow::Borrowed(&text[start..start + length]), start + length))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn listed_strings_are_quoted_or_bare() {
        for bare in [
            "=a",
            "a=b",
            "a:b",
            "{a}",
            "[0]",
            "a[0]x",
            "[[a]]:",
            "[a]b:",
            "a[b]c]:",
            "[]]:",
            "]:[",
            "a # b",
            "--1",
            "-a",
            "-.a",
            "~a",
            "^a",
            "^{a",
            "^{a}b",
            "1abc",
            "2024-01-01",
            "1.2.3",
            "1.",
            "1e",
            "0x1f",
            "0.5x",
            "null",
            "NaN",
            "True",
            "+٥",
            "0٥",
            "\u{7F}",
            "\u{AD}",
            "\u{180E}",
            "\u{200B}",
            "\u{301}a",
            "a very long text without any remarkable byte in it",
        ] {
            assert!(!needs_quotes(bare), "{bare}");
        }
        for quoted in [
            "",
            "-",
            "~",
            "^",
            "true",
            "false",
            "^{}",
            "^{a}",
            "1",
            "-1.5e3",
            "-1abc",
            "-0x",
            "+1",
            "00",
            ".a",
            "-.5",
            "##x",
            "@",
            " a",
            "a ",
            "a,b",
            "x[1]:y",
            "ERR[404]: x",
            "a[]:",
            "[a] :",
            "[[1]:",
            "[][1]: a",
            "[a] [b]  : c",
            "][1]:",
            "[a]b[c]:",
            "a|b",
            "\\",
            "\"",
            "a\tb",
            "\u{80}",
            "\u{A0}",
            "\u{1680}",
            "\u{2003}",
            "\u{2028}",
            "\u{202F}",
            "\u{205F}",
            "\u{3000}",
            "\u{FEFF}",
            "sixteen bytes and then one,",
            "a comma, sixteen bytes before",
        ] {
            assert!(needs_quotes(quoted), "{quoted}");
        }
    }

    #[test]
    fn quoted_strings_are_as_strict_as_in_json() {
        fn read(text: &str) -> Result<(Cow<'_, str>, usize), Code> {
            read_quoted(text, 0, text.len()).map_err(|fault| fault.code)
        }
        assert_eq!(read(r#""a\u00e9\ud83d\ude00\/" x"#), Ok(("aé😀/".into(), 23)));
        for (text, code) in [
            (r#""a"#, Code::UnterminatedQuote),
            (r#""a\"#, Code::UnterminatedQuote),
            (r#""\x""#, Code::InvalidEscape),
            (r#""\u12""#, Code::InvalidEscape),
            (r#""\u+123""#, Code::InvalidEscape),
            ("\"\t\"", Code::InvalidEscape),
            (r#""\ud800""#, Code::InvalidSurrogate),
            (r#""\ud800\u0041""#, Code::InvalidSurrogate),
            (r#""\udc00""#, Code::InvalidSurrogate),
        ] {
            assert_eq!(read(text), Err(code), "{text}");
        }
    }

    #[test]
    fn delimiters_are_marked_in_words_as_in_bytes() {
        for byte in 0..=255 {
            for at in 0..8 {
                let mut word = *b"abcdefgh";
                word[at] = byte;
                let marked = MaybeDelimiter::mark(u64::from_le_bytes(word)) != 0;
                assert_eq!(marked, MaybeDelimiter::contains(byte), "{byte} {at}");
            }
        }
    }

    #[test]
    fn every_character_is_quoted_or_bare_at_each_place() {
        let quoted = |char| {
            matches!(
                char,
                '"' | '\\' | '|' | ',' | '\0'..='\x1F'
                | '\u{80}'..='\u{A0}'
                | '\u{1680}'
                | '\u{2000}'..='\u{200A}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{202F}'
                | '\u{205F}'
                | '\u{3000}'
                | '\u{FEFF}'
            )
        };
        for char in '\0'..=char::MAX {
            assert_eq!(has_delimiter(char.encode_utf8(&mut [0; 4])), quoted(char), "{char:?}");
        }
        for char in [
            '|', '\u{A0}', '\u{A1}', '\u{1680}', '\u{1681}', '\u{2028}', '\u{3001}', '\u{FEFF}',
            '🎉',
        ] {
            for before in 0..40 {
                for after in [0, 1, 40] {
                    let text = format!("{}{char}{}", "語".repeat(before), "a".repeat(after));
                    assert_eq!(has_delimiter(&text), quoted(char), "{text}");
                    let text = format!("{}{char}{}", "a".repeat(before), "ä".repeat(after));
                    assert_eq!(has_delimiter(&text), quoted(char), "{text}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn delimiters_are_found_at_every_position(length in 1_usize..200, at: usize, byte: u8) {
            let mut bytes = vec![b'a'; length];
            bytes[at % length] = byte;
            prop_assert_eq!(
                scan::contains::<MaybeDelimiter>(&bytes),
                MaybeDelimiter::contains(byte)
            );
        }

        #[test]
        fn outputs_get_the_same_text(text in "[a-zäöü\u{80}-\u{A0}\u{2000}-\u{2030}\u{3000}€😀,|\"\\\\ \\[\\]:#1-]{0,50}") {
            let mut out = Output::new(Vec::new());
            put_value(&text, &mut out);
            let mut expected = String::new();
            write_value(&text, &mut expected);
            put_key(&text, &mut out);
            write_key(&text, &mut expected);
            prop_assert_eq!(out.into_string(), Some(expected));
        }

        #[test]
        fn quoted_strings_round_trip(text: String) {
            let mut quoted = String::new();
            write_quoted(&text, &mut quoted);
            let (read, end) = read_quoted(&quoted, 0, quoted.len()).unwrap();
            prop_assert_eq!(read, text);
            prop_assert_eq!(end, quoted.len());
        }
    }
}
