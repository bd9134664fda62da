//! The rules of the five schemas: what JSON Schema says that they use, as data, and its check.
//!
//! Invariant: a check recurses as deep as the rules, never as deep as the document.

use super::Violation;
use crate::excerpt::excerpt;
use crate::interrupt::polled;
use crate::json::pointer;
use crate::value::Value;
use std::borrow::Cow;

/// The largest integer of a schema, 2^53 - 1.
const MOST: i64 = (1 << 53) - 1;

/// What a value must be.
pub(super) enum Rule {
    /// A boolean.
    Bool,
    /// An integer from 0 to 2^53 - 1, written without point and exponent.
    Count,
    /// A number above 0, and at most 1.
    Ratio,
    /// A number from 0 to 1.
    Rate,
    /// A string.
    Text,
    /// A string of this many characters at least and at most.
    Sized(usize, usize),
    /// A string of a form.
    Form(&'static Form),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// Null, or what the rule says.
    Nullable(&'static Rule),
    /// An array.
    Array(&'static Array),
    /// An object.
    Object(&'static Object),
}

/// A form of strings.
pub(super) struct Form {
    /// What a message says is expected.
    pub(super) expected: &'static str,
    /// Whether a string has the form.
    pub(super) matches: fn(&str) -> bool,
}

/// The rules of an array.
pub(super) struct Array {
    /// The least and the greatest number of elements.
    pub(super) size: (usize, usize),
    /// The rule of every element.
    pub(super) each: Rule,
    /// A string that must be among the elements.
    pub(super) with: Option<&'static str>,
}

impl Array {
    /// An array of any size.
    pub(super) const fn of(each: Rule) -> Self {
        Self { size: (0, usize::MAX), each, with: None }
    }
}

/// The rules of an object.
pub(super) struct Object {
    pub(super) required: &'static [Member],
    pub(super) optional: &'static [Member],
    /// Whether an object may have a member with another name.
    pub(super) allows: fn(&str) -> bool,
}

/// The name of a member, and the rule of its value.
pub(super) type Member = (&'static str, Rule);

type Checked = Result<(), Violation>;

impl Rule {
    /// Checks a value. The error has the place within it.
    pub(super) fn check(&self, value: &Value<'_>) -> Checked {
        let (expected, fits) = match (self, value) {
            (Self::Nullable(_), Value::Null) => return Ok(()),
            (Self::Nullable(rule), value) => return rule.check(value),
            (Self::Array(array), Value::Array(elements)) => return array.check(elements),
            (Self::Object(object), Value::Object(members)) => return object.check(members),
            (Self::Bool, value) => ("true or false", matches!(value, Value::Bool(_))),
            (Self::Count, value) => (
                "an integer from 0 to 9007199254740991, without point and exponent",
                matches!(value, Value::Int(0..=MOST)),
            ),
            (Self::Ratio, value) => ("a number above 0 and up to 1", is_part(value, false)),
            (Self::Rate, value) => ("a number from 0 to 1", is_part(value, true)),
            (Self::Text, value) => ("a string", value.as_str().is_some()),
            (Self::Form(form), value) => (form.expected, value.as_str().is_some_and(form.matches)),
            (Self::Array(_), _) => ("an array", false),
            (Self::Object(_), _) => ("an object", false),
            (&Self::Sized(least, most), value) => {
                if value.as_str().is_some_and(|text| has_length(text, least, most)) {
                    return Ok(());
                }
                let expected = format!("a string of {least} to {most} characters");
                return Err(expected_instead(&expected, value));
            }
            (Self::OneOf(known), value) => {
                if value.as_str().is_some_and(|text| known.contains(&text)) {
                    return Ok(());
                }
                return Err(expected_instead(&known.join(" or "), value));
            }
        };
        if fits { Ok(()) } else { Err(expected_instead(expected, value)) }
    }
}

impl Array {
    fn check(&self, elements: &[Value<'_>]) -> Checked {
        let (least, most) = self.size;
        if elements.len() < least {
            return Err(Violation::new("the array is empty"));
        }
        if elements.len() > most {
            let count = elements.len();
            return Err(Violation::new(format!("the array has {count} elements, at most {most}")));
        }
        for (index, element) in polled(elements).enumerate() {
            let place = |violation| below(violation, &index.to_string());
            self.each.check(element).map_err(place)?;
        }
        match self.with {
            Some(text) if !elements.iter().any(|element| element.as_str() == Some(text)) => {
                Err(Violation::new(format!("{text} is not in the array")))
            }
            _ => Ok(()),
        }
    }
}

impl Object {
    fn check(&self, members: &[(Cow<'_, str>, Value<'_>)]) -> Checked {
        let mut missing = self.required.len();
        for (name, value) in polled(members) {
            let is_named = |member: &&Member| member.0 == name;
            let required = self.required.iter().find(is_named);
            missing -= usize::from(required.is_some());
            if let Some((_, rule)) = required.or_else(|| self.optional.iter().find(is_named)) {
                rule.check(value).map_err(|violation| below(violation, name))?;
            } else if !(self.allows)(name) {
                return Err(Violation::new(format!("unknown member {}", excerpt(name))));
            }
        }
        let is_missing = |member: &&Member| members.iter().all(|(name, _)| name != member.0);
        match self.required.iter().find(is_missing).filter(|_| missing > 0) {
            Some((name, _)) => Err(Violation::new(format!("the member {name:?} is missing"))),
            None => Ok(()),
        }
    }
}

/// The violation of a member or element, at its place.
fn below(mut violation: Violation, step: &str) -> Violation {
    violation.pointer = format!("/{}{}", pointer::escape(step), violation.pointer);
    violation
}

/// Shows little of the value.
fn expected_instead(expected: &str, value: &Value<'_>) -> Violation {
    let found = value.as_str().map_or_else(|| value.kind().to_owned(), excerpt);
    Violation::new(format!("expected {expected}, found {found}"))
}

/// Whether a value is a number up to 1, and from 0 on or above 0.
fn is_part(value: &Value<'_>, zero: bool) -> bool {
    match value {
        Value::Int(value) => *value == 1 || zero && *value == 0,
        Value::Float(value) => *value <= 1.0 && (*value > 0.0 || zero && *value == 0.0),
        _ => false,
    }
}

/// Whether a text has this many characters, which take up to four bytes each.
pub(super) fn has_length(text: &str, least: usize, most: usize) -> bool {
    let could = text.len() >= least && text.len() / 4 <= most;
    could && (least..=most).contains(&text.chars().count())
}
