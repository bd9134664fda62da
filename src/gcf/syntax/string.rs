//! Text: when it must stand in quotes, what is escaped there, and how it is read.
//!
//! Invariant: one rule in every position, so that what is written is read back wherever it stands.
//! GCF 3.6 sections 2 and 4.

use super::append::push_short;
use super::number;
use crate::gcf::error::{Code, Read, fault};
use crate::text::quoted::{self, Escape, Problem};
use crate::text::scan::{self, Class, Escaped};
use std::borrow::Cow;

/// Appends a text where a value stands: bare where it may be.
pub(crate) fn write_value(text: &str, out: &mut String) {
    if needs_quotes(text) {
        write_quoted(text, out);
    } else {
        push_short(text, out);
    }
}

/// `[A-Za-z_][A-Za-z0-9_]*`
pub(crate) fn is_bare_key(key: &str) -> bool {
    let key = key.as_bytes();
    key.first().is_some_and(|first| !first.is_ascii_digit()) && bare_key_length(key) == key.len()
}

/// Appends a key, in quotes unless it is a bare key.
pub(crate) fn write_key(key: &str, out: &mut String) {
    if is_bare_key(key) { out.push_str(key) } else { write_quoted(key, out) }
}

fn bare_key_length(text: &[u8]) -> usize {
    text.iter().take_while(|&&byte| byte == b'_' || byte.is_ascii_alphanumeric()).count()
}

/// Appends a text in quotes: `"`, `\` and control characters escaped, all others as they are.
pub(crate) fn write_quoted(text: &str, out: &mut String) {
    quoted::write(text, Escape::Needed, out);
}

/// Whether a text must stand in quotes, whatever position it has.
pub(crate) fn needs_quotes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return true };
    if last == b' ' || (FIRST[usize::from(first)] && looks_special(bytes)) {
        return true;
    }
    scan::contains::<MaybeDelimiter>(bytes) && has_delimiter(text)
}

/// The bytes with which a text may be what it is not: another kind of scalar, or a line's syntax.
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

/// Bytes of which [`has_delimiter`] must look at the text: those that are escaped, `|`, `,`, `[`, and
/// bytes beyond ASCII.
struct MaybeDelimiter;

#[expect(clippy::needless_bitwise_bool, reason = "without branches the compiler uses vectors")]
impl Class for MaybeDelimiter {
    #[inline]
    fn contains(byte: u8) -> bool {
        Escaped::contains(byte) | (byte >= 0x80) | (byte == b'|') | (byte == b',') | (byte == b'[')
    }

    #[inline]
    fn mark(word: u64) -> u64 {
        // With the bit 0x20 set, the backslash is a bar.
        let either = word | u64::from_ne_bytes([0x20; 8]);
        let equal = scan::equal(either, b'|')
            | scan::equal(word, b'"')
            | scan::equal(word, b',')
            | scan::equal(word, b'[');
        (word | scan::below(word, 0x20) | equal) & scan::HIGH
    }
}

fn has_delimiter(text: &str) -> bool {
    let marks = |char| {
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
    text.contains(marks) || looks_like_list(text)
}

/// Whether a text could be taken for the name of a list: `ERR[404]: x`.
fn looks_like_list(text: &str) -> bool {
    let Some((_, inside)) = text.split_once('[') else { return false };
    let Some((_, after)) = inside.split_once(']') else { return false };
    after.trim_start_matches(' ').starts_with(':')
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
            "no escape: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX",
        ),
        Problem::Unterminated | Problem::Escape => {
            fault(Code::UnterminatedQuote, start, "the quoted text does not end")
        }
        Problem::Control(control) => {
            let message = format!("a control character must be escaped: U+{control:04X}");
            fault(Code::InvalidEscape, at, message)
        }
        Problem::UnicodeEscape => {
            fault(Code::InvalidEscape, at, "\\u takes four hexadecimal digits")
        }
        Problem::Surrogate => {
            fault(Code::InvalidSurrogate, at, "the escape is half of a surrogate pair")
        }
    }
}

/// Reads the key that begins at `start`, bare or quoted; gives it and where it ends.
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
    fn the_listed_texts_are_quoted_and_the_others_bare() {
        for bare in [
            "=a",
            "a=b",
            "a:b",
            "{a}",
            "[0]",
            "a[0]x",
            "[[a]]:",
            "[a]b:",
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
    fn quoted_text_is_as_strict_as_json() {
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
        fn quoted_text_comes_back(text: String) {
            let mut quoted = String::new();
            write_quoted(&text, &mut quoted);
            let (read, end) = read_quoted(&quoted, 0, quoted.len()).unwrap();
            prop_assert_eq!(read, text);
            prop_assert_eq!(end, quoted.len());
        }
    }
}
