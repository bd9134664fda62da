//! The input of the JSON reader: a tree of values, or the objects of another language.
//!
//! The reader asks for members by name and never visits unknown ones, so the depth and size of
//! unknown members cost nothing.

use crate::value::Value;
use std::borrow::Cow;

/// The type of a value, and its content if it is a scalar.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape<'a> {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer outside the range of [`Shape::Int`]: its decimal digits, `None` if there are more
    /// than the source converts. A source converts at least the 309 digits of the largest double.
    BigInt(Option<Cow<'a, str>>),
    /// A number with a fraction or exponent.
    Float(f64),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    Array,
    /// An object.
    Object,
    /// A value that JSON does not have.
    Other,
}

/// A JSON-like value to read from.
pub trait Source<'a>: Sized {
    /// Returns the type and content. This may copy a string; the next three methods do not.
    fn shape(&self) -> Shape<'a>;
    /// Whether the value is null.
    fn is_null(&self) -> bool;
    /// Whether the value is an object.
    fn is_object(&self) -> bool;
    /// Calls `look` with the string and returns its result; `None` if the value is not a string.
    fn with_text<R>(&self, look: impl FnOnce(&str) -> R) -> Option<R>;
    /// The number of members or elements.
    fn size(&self) -> usize;
    /// Returns a member of an object by its key.
    fn member(&self, name: &'static str) -> Option<Self>;
    /// Returns an element of an array.
    fn element(&self, index: usize) -> Option<Self>;
    /// Visits all members in order. The key is `None` if it is not a string.
    fn members<E>(&self, visit: impl FnMut(Option<&str>, Self) -> Result<(), E>) -> Result<(), E>;
}

impl<'a> Source<'a> for &'a Value<'_> {
    fn shape(&self) -> Shape<'a> {
        match self {
            Value::Null => Shape::Null,
            Value::Bool(value) => Shape::Bool(*value),
            Value::Int(value) => Shape::Int(*value),
            Value::BigInt(digits) => Shape::BigInt(Some(Cow::Borrowed(digits))),
            Value::Float(value) => Shape::Float(*value),
            Value::String(text) => Shape::Text(Cow::Borrowed(text)),
            Value::Array(_) => Shape::Array,
            Value::Object(_) => Shape::Object,
        }
    }

    fn is_null(&self) -> bool {
        **self == Value::Null
    }

    fn is_object(&self) -> bool {
        self.as_object().is_some()
    }

    fn with_text<R>(&self, look: impl FnOnce(&str) -> R) -> Option<R> {
        self.as_str().map(look)
    }

    fn size(&self) -> usize {
        self.as_array().map_or(0, <[_]>::len) + self.as_object().map_or(0, <[_]>::len)
    }

    fn member(&self, name: &'static str) -> Option<Self> {
        self.get(name)
    }

    fn element(&self, index: usize) -> Option<Self> {
        self.as_array()?.get(index)
    }

    fn members<E>(
        &self,
        mut visit: impl FnMut(Option<&str>, Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let members = self.as_object().unwrap_or_default();
        members.iter().try_for_each(|(name, value)| visit(Some(name), value))
    }
}
