//! Declarations: the count in brackets and the fields in braces, `[3]{id,"a>b",region=eu}`.
//!
//! GCF 3.6 sections 6 and 7, and constant columns, which later writers emit.

use super::scalar::{self, Token, skip_blanks};
use super::string;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use crate::interrupt::Steps;
use memchr::memchr2;
use std::borrow::Cow;
use std::fmt;

/// A declared count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count {
    /// `None` for `?`: the count is deferred to the summary line.
    pub value: Option<u64>,
    /// Whether it is the count of a keyed table, `[2:]`.
    pub keyed: bool,
    /// The offset of the opening bracket.
    pub at: usize,
}

/// How an error names a declared count.
pub(crate) struct Declared(pub(crate) u64);

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // Also stands for a count beyond 64 bits.
            u64::MAX => f.write_str("2^64 - 1 or more"),
            count => count.fmt(f),
        }
    }
}

/// Reads the count whose opening bracket is at `at`; returns it and the offset after `]`.
pub(crate) fn read_count(text: &str, at: usize, end: usize) -> Read<(Count, usize)> {
    let bytes = &text.as_bytes()[at..end];
    if let [b'[', digit @ b'0'..=b'9', b']', ..] = bytes {
        let value = Some(u64::from(digit - b'0'));
        return Ok((Count { value, keyed: false, at }, at + 3));
    }
    let inside = text[at..end].strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((inside, _)) = inside else {
        return fault(Code::InvalidCount, at, "missing ] after the count");
    };
    let (digits, keyed) = match inside.strip_suffix(':') {
        Some(digits) => (digits, true),
        None => (inside, false),
    };
    let value = match digits.as_bytes() {
        b"?" => None,
        b"0" => Some(0),
        [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => {
            // A count beyond 64 bits cannot match; the count check reports it.
            Some(digits.parse().unwrap_or(u64::MAX))
        }
        _ => {
            let message = format!(
                "invalid count {}: expected digits without leading zeros, or ?",
                excerpt(digits)
            );
            return fault(Code::InvalidCount, at, message);
        }
    };
    Ok((Count { value, keyed, at }, at + inside.len() + 2))
}

/// A declared field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field<'t> {
    pub name: Cow<'t, str>,
    /// Whether the name is quoted; only a quoted name can be a path.
    pub quoted: bool,
    /// Whether it is written `@id`: the identity of a keyed set or grouped table.
    pub identity: bool,
    /// The value of a constant column; rows have no cell for it.
    pub constant: Option<Token<'t>>,
    /// Whether it is written `name[]`: a list column.
    pub list: bool,
    /// The offset of the field.
    pub at: usize,
}

/// Reads the fields whose opening brace is at `at`; returns them and the offset after `}`. List columns are
/// valid only with `extensions`.
pub(crate) fn read_fields(
    text: &str,
    at: usize,
    end: usize,
    extensions: bool,
) -> Read<(Vec<Field<'_>>, usize)> {
    let bytes = &text.as_bytes()[..end];
    let mut fields: Vec<Field<'_>> = Vec::new();
    let mut next = skip_blanks(bytes, at + 1);
    if bytes.get(next) == Some(&b'[') {
        return unsupported(next, "a matrix, {[columns]},");
    }
    if bytes.get(next) == Some(&b'}') {
        return fault(
            Code::InvalidFieldDeclaration,
            at,
            "expected at least one field between the braces",
        );
    }
    let mut steps = Steps::default();
    loop {
        steps.step();
        fields.try_reserve(1)?;
        let after = read_field(text, next, end, extensions, &mut fields)?;
        next = skip_blanks(bytes, after);
        match bytes.get(next) {
            Some(b',') => next = skip_blanks(bytes, next + 1),
            Some(b'}') => break,
            _ => {
                let message = "expected , or } after the field";
                return fault(Code::InvalidFieldDeclaration, next, message);
            }
        }
    }
    Ok((fields, next + 1))
}

/// Adds the field at `at` to `fields`, which has space for it; returns the offset after the field.
#[inline(always)]
fn read_field<'t>(
    text: &'t str,
    at: usize,
    end: usize,
    extensions: bool,
    fields: &mut Vec<Field<'t>>,
) -> Read<usize> {
    let bytes = &text.as_bytes()[..end];
    let identity = bytes.get(at) == Some(&b'@');
    let start = at + usize::from(identity);
    if bytes.get(start) == Some(&b'=') {
        return fault(Code::MalformedHeaderField, at, "expected a field name before =");
    }
    let Some((name, after_name)) = string::read_key(text, start, end)? else {
        let message = "expected a field name: an identifier or a quoted string";
        return fault(Code::InvalidFieldDeclaration, at, message);
    };
    let quoted = bytes[start] == b'"';
    let list = bytes[after_name..].starts_with(b"[]");
    if list && !extensions {
        return unsupported(after_name, "a list column, name[],");
    }
    let after_name = after_name + if list { 2 } else { 0 };
    if list && (identity || name.contains('>') || bytes.get(after_name) == Some(&b'=')) {
        let message = "a list column cannot be the identity or constant, or have a > in its name";
        return fault(Code::InvalidFieldDeclaration, at, message);
    }
    let (constant, after) = match bytes.get(after_name) {
        Some(b'=') => {
            let (token, after) = read_constant_column(text, after_name + 1, end)?;
            (Some(token), after)
        }
        _ => (None, after_name),
    };
    fields.push(Field { name, quoted, identity, constant, list, at });
    Ok(after)
}

/// The error for a form that is read only with `extensions`.
#[cold]
fn unsupported<T>(at: usize, form: &str) -> Read<T> {
    let message = format!(
        "{form} is an extension that other readers refuse; loads, load, iter_rows and to_json read \
         it with extensions=True"
    );
    fault(Code::UnsupportedExtension, at, message)
}

/// Reads the value of a constant column; returns it and the offset of the delimiter after it.
fn read_constant_column(text: &str, at: usize, end: usize) -> Read<(Token<'_>, usize)> {
    let bytes = &text.as_bytes()[..end];
    let start = skip_blanks(bytes, at);
    let stop = if bytes.get(start) == Some(&b'"') {
        string::read_quoted(text, start, end)?.1
    } else {
        memchr2(b',', b'}', &bytes[start..]).map_or(end, |found| start + found)
    };
    Ok((read_constant(text, start, stop)?, stop))
}

/// Reads the scalar from `start` to `end`, the value of a constant column or of a group of rows.
pub(crate) fn read_constant(text: &str, start: usize, end: usize) -> Read<Token<'_>> {
    let start = skip_blanks(&text.as_bytes()[..end], start);
    if start == end {
        return fault(Code::InvalidConstValue, start, "missing value after =");
    }
    match scalar::read(text, start, end, b'\n') {
        Ok((Token::Missing | Token::Marker | Token::InlineSchema(_), _)) => {}
        Err(fault) if fault.code == Code::InvalidAttachmentMarker => {}
        read => return read.map(|(token, _)| token),
    }
    fault(Code::InvalidConstValue, start, "a value that several rows share must be a scalar")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_digits_or_a_question_mark() {
        let read = |text: &str| {
            read_count(text, 0, text.len())
                .map(|(count, end)| (count.value, count.keyed, end))
                .map_err(|fault| fault.code)
        };
        assert_eq!(read("[0]"), Ok((Some(0), false, 3)));
        assert_eq!(read("[12:]{"), Ok((Some(12), true, 5)));
        assert_eq!(read("[?]: a"), Ok((None, false, 3)));
        assert_eq!(read("[99999999999999999999]"), Ok((Some(u64::MAX), false, 22)));
        for text in ["[03]", "[-1]", "[ 1 ]", "[]", "[1", "[x]", "[٣]", "[1::]"] {
            assert_eq!(read(text), Err(Code::InvalidCount), "{text}");
        }
    }

    #[test]
    fn fields_may_be_quoted_identified_or_constant() {
        let text = r#"{id , "a,}", @k, r=us-east, "c"="x}" }"#;
        let (fields, end) = read_fields(text, 0, text.len(), false).unwrap();
        let names: Vec<_> = fields.iter().map(|field| &*field.name).collect();
        assert_eq!(names, ["id", "a,}", "k", "r", "c"]);
        assert_eq!(end, text.len());
        assert!(fields[1].quoted && fields[2].identity && !fields[0].identity);
        assert_eq!(fields[4].constant, Some(Token::String("x}".into())));
        for (code, texts) in [
            (Code::InvalidFieldDeclaration, &["{}", "{a b}", "{a", "{a,}", "{1}", "{a[2]}"][..]),
            (Code::InvalidConstValue, &["{a=}", "{a=~}", "{a=^}"]),
            (Code::MalformedHeaderField, &["{=1}"]),
            (Code::UnsupportedExtension, &["{a[]}", "{@\"a\"[],b}", "{ [2]}"]),
            (Code::UnterminatedQuote, &["{\"a}"]),
        ] {
            for text in texts {
                let read = read_fields(text, 0, text.len(), false);
                assert_eq!(read.map_err(|fault| fault.code), Err(code), "{text}");
            }
        }
    }

    #[test]
    fn list_columns_are_read_on_request() {
        let text = r#"{id,tags[] , "x y"[],z}"#;
        let (fields, end) = read_fields(text, 0, text.len(), true).unwrap();
        let lists: Vec<_> = fields.iter().map(|field| field.list).collect();
        assert_eq!((lists, end), (vec![false, true, true, false], text.len()));
        assert_eq!(fields[2].name, "x y");
        for text in ["{a[]=1}", "{@a[]}", "{\"a>b\"[]}", "{\">\"[]}", "{a [],b}", "{[]}", "{a[]b}"]
        {
            let read = read_fields(text, 0, text.len(), true);
            let code = if text == "{[]}" {
                Code::UnsupportedExtension
            } else {
                Code::InvalidFieldDeclaration
            };
            assert_eq!(read.map_err(|fault| fault.code), Err(code), "{text}");
        }
    }
}
