//! Reads the members of an object one by one, without a tree.

use super::keys::Keys;
use super::read::{Error, Limits, Problem, Reader};
use crate::excerpt::excerpt;
use std::borrow::Cow;

/// A text that is one object. After each key, the caller reads its value by type, or skips it with
/// [`Members::raw`].
pub struct Members<'a> {
    reader: Reader<'a>,
    keys: Keys<'a>,
    first: bool,
}

impl<'a> Members<'a> {
    /// Reads the opening brace. `limits` apply to each value.
    ///
    /// # Errors
    /// [`Error`]: the text does not begin with an object.
    pub fn new(text: &'a str, limits: Limits) -> Result<Self, Error> {
        let mut reader = Reader::new(text, 0, limits);
        reader.expect(b'{', "'{'")?;
        let mut keys = Keys::default();
        keys.begin_object();
        Ok(Self { reader, keys, first: true })
    }

    /// The key of the next member; `None` after the last one.
    ///
    /// # Errors
    /// [`Error`]: invalid JSON, a duplicate key, or something after the object.
    pub fn next_key(&mut self) -> Result<Option<Cow<'a, str>>, Error> {
        self.reader.steps.step();
        let first = std::mem::replace(&mut self.first, false);
        let ends = if first {
            self.reader.eat_after_blank(b'}')
        } else if self.reader.eat_after_blank(b',') {
            false
        } else {
            self.reader.expect(b'}', "',' or '}'")?;
            true
        };
        if ends {
            self.reader.expect_end()?;
            return Ok(None);
        }
        let (start, key) = self.reader.key()?;
        self.reader.declare(&mut self.keys, key.clone(), start)?;
        Ok(Some(key))
    }

    /// Reads the value as a string. It is borrowed from the text if it has no escapes.
    ///
    /// # Errors
    /// [`Error`]: the value is not a valid string.
    pub fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        self.reader.skip_blank();
        if self.reader.peek() == Some(b'"') {
            return self.reader.quoted();
        }
        self.typed("a string", |_| None)
    }

    /// Reads the value as a string or null.
    ///
    /// # Errors
    /// As [`Members::string`].
    pub fn string_or_null(&mut self) -> Result<Option<Cow<'a, str>>, Error> {
        self.reader.skip_blank();
        if self.reader.peek() == Some(b'"') {
            return self.reader.quoted().map(Some);
        }
        self.typed("a string or null", |value| (value == "null").then_some(None))
    }

    /// Reads the value as true, false or null.
    ///
    /// # Errors
    /// [`Error`]: the value is none of these.
    pub fn bool_or_null(&mut self) -> Result<Option<bool>, Error> {
        self.typed("true, false or null", |value| match value {
            "null" => Some(None),
            "false" => Some(Some(false)),
            "true" => Some(Some(true)),
            _ => None,
        })
    }

    /// Reads the value as an integer of 64 bits without fraction or exponent.
    ///
    /// # Errors
    /// [`Error`]: the value is not such an integer.
    pub fn integer(&mut self) -> Result<i64, Error> {
        self.typed("an integer of 64 bits", |value| value.parse().ok())
    }

    /// Reads the value as an integer from 0 to 2^63 - 1.
    ///
    /// # Errors
    /// [`Error`]: the value is not such an integer.
    pub fn count(&mut self) -> Result<u64, Error> {
        self.typed("a count", |value| value.parse::<i64>().ok()?.try_into().ok())
    }

    fn typed<T>(
        &mut self,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Error> {
        let value = self.raw()?;
        parse(value).ok_or_else(|| {
            let problem = Problem::Syntax { expected, found: excerpt(value) };
            self.reader.problem(self.reader.at - value.len(), problem)
        })
    }

    /// Returns the text of the value. Only its grammar and depth are checked: it may have duplicate keys,
    /// lone surrogates, and numbers of any size.
    ///
    /// # Errors
    /// [`Error`]: the value is not JSON, or is nested too deep.
    pub fn raw(&mut self) -> Result<&'a str, Error> {
        self.reader.skip_blank();
        self.reader.raw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: Limits = Limits { max_depth: 24, max_digits: 5 };

    /// The keys and values of an object, values as their text.
    fn read(text: &str) -> Result<Vec<(String, &str)>, Error> {
        let mut members = Members::new(text, LIMITS)?;
        let mut found = Vec::new();
        while let Some(key) = members.next_key()? {
            found.push((key.into_owned(), members.raw()?));
        }
        Ok(found)
    }

    #[test]
    fn members_are_read_in_order() {
        assert_eq!(read(" { } \n"), Ok(vec![]));
        let found = read(" {\"b\" : [1, {}] , \"\\u0061\":-0}").unwrap();
        assert_eq!(found, [("b".into(), "[1, {}]"), ("a".into(), "-0")]);
    }

    #[test]
    fn string_is_borrowed_unless_it_has_escapes() {
        let mut members = before_value(r#"{"a":"x","b":"\n","c":1}"#);
        assert!(matches!(members.string(), Ok(Cow::Borrowed("x"))));
        members.next_key().unwrap();
        assert_eq!(members.string().as_deref(), Ok("\n"));
        members.next_key().unwrap();
        let error = members.string().unwrap_err().to_string();
        assert_eq!(error, r#"expected a string, found "1", at byte 22"#);
    }

    /// The members of an object with one member, before its value.
    fn before_value(text: &str) -> Members<'_> {
        let mut members = Members::new(text, LIMITS).unwrap();
        members.next_key().unwrap();
        members
    }

    #[test]
    fn value_of_another_type_is_an_error() {
        for (value, integer, count) in [
            ("-0", Some(0), Some(0)),
            ("9223372036854775807", Some(i64::MAX), Some(i64::MAX as u64)),
            ("-9223372036854775808", Some(i64::MIN), None),
            ("9223372036854775808", None, None),
            ("1.0", None, None),
            ("1e1", None, None),
            ("\"1\"", None, None),
            ("null", None, None),
            ("[1]", None, None),
        ] {
            let text = format!("{{\"x\": {value} }}");
            assert_eq!(before_value(&text).integer().ok(), integer, "{value}");
            assert_eq!(before_value(&text).count().ok(), count, "{value}");
        }
        for (value, string, bool) in [
            ("null", Some(None), Some(None)),
            ("\"\"", Some(Some("".into())), None),
            ("false", None, Some(Some(false))),
            ("true", None, Some(Some(true))),
            ("0", None, None),
        ] {
            let text = format!("{{\"x\": {value} }}");
            assert_eq!(before_value(&text).string_or_null().ok(), string, "{value}");
            assert_eq!(before_value(&text).bool_or_null().ok(), bool, "{value}");
        }
    }

    #[test]
    fn raw_value_is_checked_by_its_grammar_alone() {
        for value in [r#"{"a":1,"a":2}"#, r#""\ud800""#, r#"{"\udc00":0}"#, "1e999", "1234567"] {
            let text = format!("{{\"x\":{value}}}");
            assert_eq!(read(&text), Ok(vec![("x".into(), value)]));
        }
        for value in ["", "01", "1.", "-", "tru", "[1,]", "{1:2}", "\"\\x\"", "\"\n\"", "\"", "[}"]
        {
            assert!(read(&format!("{{\"x\":{value}}}")).is_err(), "{value}");
        }
        let nested = |levels| format!("{{\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(&nested(24)).is_ok());
        let error = read(&nested(25)).unwrap_err().to_string();
        assert_eq!(error, "nested more than 24 levels deep, at byte 29");
    }

    #[test]
    fn invalid_object_is_an_error() {
        for text in ["", "[]", "{", "{,}", r#"{"a"}"#, r#"{"a":1,}"#, r#"{"a":1 "b":2}"#, "{} x"] {
            assert!(read(text).is_err(), "{text}");
        }
        let double = read(r#"{"a":1,"\u0061":2}"#).unwrap_err();
        assert_eq!(double.to_string(), r#"duplicate member "a", at byte 7"#);
    }

    proptest! {
        #[test]
        fn texts_are_skipped_as_by_serde_json(text in "[\\[\\]{}:,\"\\\\ud80-9eE.+\\- truefalsn]{0,24}") {
            let theirs = serde_json::from_str::<serde::de::IgnoredAny>(&text);
            let object = format!("{{\"x\":{text}}}");
            let mut members = before_value(&object);
            let skipped = members.raw().is_ok() && members.next_key() == Ok(None);
            prop_assert_eq!(skipped, theirs.is_ok(), "{}: {:?}", text, theirs);
        }
    }
}
