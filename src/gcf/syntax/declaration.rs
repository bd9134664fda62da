//! Declarations: what stands in read_count and braces before a body, `[3]{id,"a>b",region=eu}`.
//!
//! GCF 3.6 sections 6 and 7, and the constant columns of newer drafts.

use super::scalar::{self, Token, skip_blanks};
use super::string;
use crate::excerpt::excerpt;
use crate::gcf::error::{Code, Read, fault};
use hashbrown::HashMap;
use memchr::memchr2;
use std::borrow::Cow;

/// A count, and where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count {
    /// `None` for `?`: counted at the end.
    pub value: Option<u64>,
    pub keyed: bool,
    pub at: usize,
}

/// Reads the read_count that begin at `at`; gives the count and what is behind them.
pub(crate) fn read_count(text: &str, at: usize, end: usize) -> Read<(Count, usize)> {
    let inside = text[at..end].strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((inside, _)) = inside else {
        return fault(Code::InvalidCount, at, "the bracket does not close");
    };
    let (digits, keyed) = match inside.strip_suffix(':') {
        Some(digits) => (digits, true),
        None => (inside, false),
    };
    let value = match digits.as_bytes() {
        b"?" => None,
        b"0" => Some(0),
        [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit) => {
            // A count that no memory has is wrong all the same, but not here.
            Some(digits.parse().unwrap_or(u64::MAX))
        }
        _ => {
            let message = format!("{} is no count; it is digits, or ?", excerpt(digits));
            return fault(Code::InvalidCount, at, message);
        }
    };
    Ok((Count { value, keyed, at }, at + inside.len() + 2))
}

/// A declared field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field<'t> {
    pub name: Cow<'t, str>,
    /// It stood in quotes, so that it may be a path.
    pub quoted: bool,
    /// `@id`: the identity of a keyed set.
    pub identity: bool,
    /// The value of all rows, which leave it out.
    pub constant: Option<Token<'t>>,
    pub at: usize,
}

/// Reads the braces that begin at `at`; gives the fields and what is behind.
pub(crate) fn read_fields(text: &str, at: usize, end: usize) -> Read<(Vec<Field<'_>>, usize)> {
    let bytes = &text.as_bytes()[..end];
    let mut fields: Vec<Field<'_>> = Vec::new();
    let mut next = skip_blanks(bytes, at + 1);
    if bytes.get(next) == Some(&b'}') {
        return fault(Code::InvalidFieldDeclaration, at, "no field is declared");
    }
    loop {
        let (field, behind) = field(text, next, end)?;
        fields.push(field);
        next = skip_blanks(bytes, behind);
        match bytes.get(next) {
            Some(b',') => next = skip_blanks(bytes, next + 1),
            Some(b'}') => break,
            _ => {
                let message = "a field name is an identifier or quoted, and followed by , or }";
                return fault(Code::InvalidFieldDeclaration, next, message);
            }
        }
    }
    Ok((fields, next + 1))
}

fn field(text: &str, at: usize, end: usize) -> Read<(Field<'_>, usize)> {
    let bytes = &text.as_bytes()[..end];
    let identity = bytes.get(at) == Some(&b'@');
    let start = at + usize::from(identity);
    if bytes.get(start) == Some(&b'=') {
        return fault(Code::MalformedHeaderField, at, "a constant column needs a name");
    }
    let Some((name, behind)) = string::read_key(text, start, end)? else {
        let message = "a field name is an identifier, or in quotes";
        return fault(Code::InvalidFieldDeclaration, at, message);
    };
    let quoted = bytes[start] == b'"';
    let (constant, behind) = match bytes.get(behind) {
        Some(b'=') => {
            let (token, behind) = constant(text, behind + 1, end)?;
            (Some(token), behind)
        }
        _ => (None, behind),
    };
    Ok((Field { name, quoted, identity, constant, at }, behind))
}

fn constant(text: &str, at: usize, end: usize) -> Read<(Token<'_>, usize)> {
    let bytes = &text.as_bytes()[..end];
    let start = skip_blanks(bytes, at);
    let stop = if bytes.get(start) == Some(&b'"') {
        string::read_quoted(text, start, end)?.1
    } else {
        memchr2(b',', b'}', &bytes[start..]).map_or(end, |found| start + found)
    };
    let empty = start == stop;
    match scalar::read(text, start, stop, b'\n')?.0 {
        Token::Missing | Token::Marker | Token::InlineSchema(_) => {
            fault(Code::InvalidConstValue, at, "a constant is a scalar")
        }
        _ if empty => fault(Code::InvalidConstValue, at, "a constant column needs a value"),
        token => Ok((token, stop)),
    }
}

/// The fields of an index below which names are compared one by one.
const FEW: usize = 12;

/// Finds names among those that were added; refuses one that is there.
#[derive(Debug)]
pub(crate) struct Names<'t> {
    few: Vec<Cow<'t, str>>,
    many: HashMap<Cow<'t, str>, usize>,
}

impl<'t> Names<'t> {
    pub(crate) fn new() -> Self {
        Self { few: Vec::new(), many: HashMap::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.few.len() + self.many.len()
    }

    /// The first few.
    pub(crate) fn first(&self) -> impl Iterator<Item = &str> {
        self.few.iter().map(|name| &**name)
    }

    /// Which of the names this is.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        match self.few.iter().position(|few| few == name) {
            None if !self.many.is_empty() => self.many.get(name).copied(),
            found => found,
        }
    }

    /// Adds a name; `false` when it is there.
    pub(crate) fn add(&mut self, name: Cow<'t, str>) -> bool {
        if self.find(&name).is_some() {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(name);
        } else {
            let index = self.len();
            self.many.insert(name, index);
        }
        true
    }
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
        let (fields, end) = read_fields(text, 0, text.len()).unwrap();
        let names: Vec<_> = fields.iter().map(|field| &*field.name).collect();
        assert_eq!(names, ["id", "a,}", "k", "r", "c"]);
        assert_eq!(end, text.len());
        assert!(fields[1].quoted && fields[2].identity && !fields[0].identity);
        assert_eq!(fields[4].constant, Some(Token::String("x}".into())));
        for (text, code) in [
            ("{}", Code::InvalidFieldDeclaration),
            ("{a b}", Code::InvalidFieldDeclaration),
            ("{a", Code::InvalidFieldDeclaration),
            ("{a,}", Code::InvalidFieldDeclaration),
            ("{1}", Code::InvalidFieldDeclaration),
            ("{a=}", Code::InvalidConstValue),
            ("{a=~}", Code::InvalidConstValue),
            ("{a=^}", Code::InvalidConstValue),
            ("{=1}", Code::MalformedHeaderField),
            ("{\"a}", Code::UnterminatedQuote),
        ] {
            assert_eq!(
                read_fields(text, 0, text.len()).map_err(|fault| fault.code),
                Err(code),
                "{text}"
            );
        }
    }

    #[test]
    fn names_are_found_however_many() {
        let mut names = Names::new();
        for i in 0..100 {
            assert!(names.add(i.to_string().into()));
        }
        assert!(!names.add("7".into()) && !names.add("77".into()));
        assert_eq!((names.find("7"), names.find("77"), names.find("x")), (Some(7), Some(77), None));
    }
}
