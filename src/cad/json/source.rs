//! What a JSON document is read from: a tree of values, or the objects of another language.
//!
//! The model asks for members by name and never walks into what it does not know, so that depth and
//! size of what is unknown cost nothing.

use crate::cad::model::number;
use crate::value::Value;
use std::borrow::Cow;

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape<'a> {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond [`Shape::Int`]: as an id, where it can be one, and as [`double`] has it.
    Big(Option<u64>, Option<f64>),
    /// Another number.
    Float(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// Elements.
    Array,
    /// Members.
    Object,
    /// Nothing that JSON knows.
    Other,
}

/// A value to read from.
pub trait Source<'a>: Sized {
    /// What it is. Of a text this may be a copy; the next three are without.
    fn shape(&self) -> Shape<'a>;
    /// Whether it is nothing.
    fn is_null(&self) -> bool;
    /// Whether it has members.
    fn is_object(&self) -> bool;
    /// What `look` makes of it, if it is a text.
    fn with_text<R>(&self, look: impl FnOnce(&str) -> R) -> Option<R>;
    /// How many members or elements it has.
    fn size(&self) -> usize;
    /// The member of this name.
    fn member(&self, name: &'static str) -> Option<Self>;
    /// An element.
    fn element(&self, index: usize) -> Option<Self>;
    /// All members in their order, with their names; `None` for a name that is no text.
    fn members<E>(&self, visit: impl FnMut(Option<&str>, Self) -> Result<(), E>) -> Result<(), E>;
}

/// The double that an integer in decimal is: exactly, or because it is the text of that double, which
/// ends in zeros above 2^53 (section 4.3). `None` where it would become another number; infinity where
/// it is beyond all.
#[must_use]
pub fn double(digits: &str) -> Option<f64> {
    let x: f64 = digits.parse().unwrap_or(f64::INFINITY);
    let mut text = String::new();
    number::write(&mut text, x);
    (x.is_infinite() || text == digits || format!("{x:.0}") == digits).then_some(x)
}

impl<'a> Source<'a> for &'a Value<'_> {
    fn shape(&self) -> Shape<'a> {
        match self {
            Value::Null => Shape::Null,
            Value::Bool(value) => Shape::Bool(*value),
            Value::Int(value) => Shape::Int(*value),
            Value::BigInt(digits) => Shape::Big(digits.parse().ok(), double(digits)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_a_double_exactly_or_not_at_all() {
        for (digits, x) in [
            ("9007199254740993", None),
            ("9007199254740994", Some(9_007_199_254_740_994.0)),
            ("-18446744073709551616", Some(-18_446_744_073_709_551_616.0)),
            // What the text of 2^69 is.
            ("590295810358705700000", Some(590_295_810_358_705_651_712.0)),
            ("590295810358705700001", None),
        ] {
            assert_eq!(double(digits), x, "{digits}");
        }
        assert_eq!(double(&"9".repeat(400)), Some(f64::INFINITY));
    }
}
