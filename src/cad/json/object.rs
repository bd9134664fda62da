//! Reads typed members of a JSON object. Every error has the path of its value.

use crate::cad::error::{DocumentError, Truncated};
use crate::cad::model::{self, kinds};
use crate::json::pointer;
use crate::walk::{Shape, Source};
use std::borrow::Cow;
use std::fmt;

pub(crate) type Result<T> = std::result::Result<T, DocumentError>;

/// The path of a value in a document, formatted only for errors.
#[derive(Clone, Copy)]
pub(crate) enum Path<'p> {
    Top(&'static str),
    Node(u64),
    /// The operation of a node; errors show the path of the node.
    Op(u64),
    Key(&'static str, &'p str),
    Item(&'static str, usize),
    Field(&'p Path<'p>, &'static str),
    Index(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub(crate) fn field(&'p self, name: &'static str) -> Path<'p> {
        Path::Field(self, name)
    }

    #[cold]
    pub(crate) fn error(&self, message: impl Into<String>) -> DocumentError {
        DocumentError::new(self.to_string(), message)
    }

    /// Returns the path as an RFC 6901 pointer.
    pub(crate) fn pointer(&self) -> String {
        match *self {
            Path::Top("document") => String::new(),
            Path::Top(name) => format!("/{name}"),
            Path::Node(id) => format!("/nodes/{id}"),
            Path::Op(id) => format!("/nodes/{id}/op"),
            Path::Key("material", key) => format!("/materials/{}", pointer::escape(key)),
            Path::Key(list, key) => format!("/{list}/{}", pointer::escape(key)),
            Path::Item(list, index) => format!("/{list}/{index}"),
            Path::Field(parent, name) => format!("{}/{name}", parent.pointer()),
            Path::Index(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }

    #[cold]
    pub(crate) fn duplicate(&self, message: impl Into<String>) -> DocumentError {
        DocumentError::duplicate(self.to_string(), message)
    }

    #[cold]
    pub(crate) fn expected(&self, what: &str) -> DocumentError {
        self.error(format!("expected {what}"))
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Path::Top(name) => f.write_str(name),
            Path::Node(id) | Path::Op(id) => write!(f, "node {id}"),
            Path::Key(list, key) => write!(f, "{list} \"{}\"", Truncated(key)),
            Path::Item(list, index) => write!(f, "{list}[{index}]"),
            Path::Field(parent, name) => write!(f, "{parent}.{name}"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// The largest number of fields that an object of the model has.
pub(crate) const MOST_FIELDS: usize = 12;

/// An object whose members are read by key. Members that were not read are unknown fields.
pub(crate) struct Object<'p, S> {
    pub(crate) source: S,
    pub(crate) path: &'p Path<'p>,
    /// The keys of the fields read so far; the first `field_count` are used.
    pub(crate) fields: [&'static str; MOST_FIELDS],
    pub(crate) field_count: usize,
    /// The number of members found, including null ones.
    pub(crate) found: usize,
    /// Where the source looks for the next member.
    place: usize,
}

impl<'a, 'p, S: Source<'a>> Object<'p, S> {
    pub(crate) fn new(source: S, path: &'p Path<'p>) -> Result<Self> {
        if !source.is_object() {
            return Err(path.expected("an object"));
        }
        Ok(Self { source, path, fields: [""; MOST_FIELDS], field_count: 0, found: 0, place: 0 })
    }

    /// Returns a member, unless it is absent or null.
    pub(crate) fn get(&mut self, name: &'static str) -> Option<S> {
        debug_assert!(self.field_count < MOST_FIELDS, "{name} would be an unknown field");
        if let Some(slot) = self.fields.get_mut(self.field_count) {
            *slot = name;
            self.field_count += 1;
        }
        let member = self.source.next_member(name, &mut self.place)?;
        self.found += 1;
        Some(member).filter(|member| !member.is_null())
    }

    /// Returns a required member.
    pub(crate) fn need(&mut self, name: &'static str) -> Result<S> {
        let path = self.path;
        self.get(name).ok_or_else(|| path.error(format!("missing field \"{name}\"")))
    }

    pub(crate) fn number(&mut self, name: &'static str) -> Result<f64> {
        number(&self.need(name)?, &self.path.field(name))
    }

    pub(crate) fn numbers<const N: usize>(&mut self, names: [&'static str; N]) -> Result<[f64; N]> {
        let mut numbers = [0.0; N];
        for (slot, name) in numbers.iter_mut().zip(names) {
            *slot = self.number(name)?;
        }
        Ok(numbers)
    }

    pub(crate) fn optional_number(&mut self, name: &'static str) -> Result<Option<f64>> {
        self.get(name).map(|source| number(&source, &self.path.field(name))).transpose()
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<Cow<'a, str>> {
        text(&self.need(name)?, &self.path.field(name))
    }

    pub(crate) fn string(&mut self, name: &'static str) -> Result<String> {
        self.text(name).map(Cow::into_owned)
    }

    pub(crate) fn optional_string(&mut self, name: &'static str) -> Result<Option<String>> {
        self.optional_text(name).map(|text| text.map(Cow::into_owned))
    }

    pub(crate) fn optional_text(&mut self, name: &'static str) -> Result<Option<Cow<'a, str>>> {
        self.get(name).map(|source| text(&source, &self.path.field(name))).transpose()
    }

    pub(crate) fn optional_bool(&mut self, name: &'static str) -> Result<Option<bool>> {
        self.get(name).map(|source| boolean(&source, &self.path.field(name))).transpose()
    }

    pub(crate) fn optional_word(
        &mut self,
        name: &'static str,
        words: &'static [&'static str],
        what: &str,
    ) -> Result<Option<&'static str>> {
        let Some(source) = self.get(name) else { return Ok(None) };
        let path = self.path.field(name);
        let known = source.with_text(|text| kinds::known(words, text)).flatten();
        known.map(Some).ok_or_else(|| path.expected(what))
    }

    /// Returns the index of the member `type` in a list of kinds.
    pub(crate) fn kind<T>(
        &mut self,
        kinds: &[T],
        name: impl Fn(&T) -> &'static str,
    ) -> Result<usize> {
        let found = self.text("type")?;
        let place = kinds.iter().position(|kind| name(kind) == found);
        place.ok_or_else(|| self.path.error(format!("unknown type \"{}\"", Truncated(&found))))
    }
}

/// 2^53, up to which a double represents every integer exactly.
const EXACT: u64 = 1 << 53;

/// The error for an integer that a double cannot represent exactly.
#[cold]
fn inexact(path: &Path<'_>) -> DocumentError {
    path.expected("a number that a double holds exactly")
}

/// Converts a decimal integer to a double. The double must equal the integer, or be written with
/// these digits (above 2^53 its shortest text may end in zeros); otherwise the result is `None`.
/// Integers beyond the range of doubles become infinity.
fn double(digits: &str) -> Option<f64> {
    let x: f64 = digits.parse().unwrap_or(f64::INFINITY);
    let mut text = String::new();
    model::number::write(&mut text, x);
    (x.is_infinite() || text == digits || format!("{x:.0}") == digits).then_some(x)
}

pub(crate) fn number<'a, S: Source<'a>>(source: &S, path: &Path<'_>) -> Result<f64> {
    let x = match source.shape() {
        Shape::Float(x) => x,
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
        Shape::Int(n) if n.unsigned_abs() <= EXACT => n as f64,
        Shape::Int(n) => double(&n.to_string()).ok_or_else(|| inexact(path))?,
        // The source gives no digits for an integer this long, which is beyond the range of doubles.
        Shape::BigInt(None) => f64::INFINITY,
        Shape::BigInt(Some(digits)) => double(&digits).ok_or_else(|| inexact(path))?,
        _ => return Err(path.expected("a number")),
    };
    if x.is_finite() { Ok(x) } else { Err(path.expected("a finite number")) }
}

pub(crate) fn count<'a, S: Source<'a>>(source: &S, path: &Path<'_>) -> Result<u32> {
    match source.shape() {
        Shape::Int(n) => u32::try_from(n).ok(),
        _ => None,
    }
    .ok_or_else(|| path.expected("an unsigned 32-bit integer"))
}

pub(crate) fn node_id<'a, S: Source<'a>>(source: &S, path: &Path<'_>) -> Result<u64> {
    match source.shape() {
        Shape::Int(n) => u64::try_from(n).ok(),
        Shape::BigInt(digits) => digits.and_then(|digits| digits.parse().ok()),
        _ => None,
    }
    .ok_or_else(|| path.expected("a node id"))
}

pub(crate) fn text<'a, S: Source<'a>>(source: &S, path: &Path<'_>) -> Result<Cow<'a, str>> {
    match source.shape() {
        Shape::Text(text) => Ok(text),
        _ => Err(path.expected("a string")),
    }
}

pub(crate) fn boolean<'a, S: Source<'a>>(source: &S, path: &Path<'_>) -> Result<bool> {
    match source.shape() {
        Shape::Bool(value) => Ok(value),
        _ => Err(path.expected("true or false")),
    }
}

/// Reads an array of exactly `N` numbers.
pub(crate) fn numbers<'a, S: Source<'a>, const N: usize>(
    source: &S,
    path: &Path<'_>,
) -> Result<[f64; N]> {
    let mut numbers = [0.0; N];
    let expected = || path.expected(&format!("an array of {N} numbers"));
    if source.shape() != Shape::Array || source.size() != N {
        return Err(expected());
    }
    for (i, slot) in numbers.iter_mut().enumerate() {
        let element = source.element(i).ok_or_else(expected)?;
        *slot = match element.shape() {
            Shape::Int(_) | Shape::Float(_) | Shape::BigInt(_) => {
                number(&element, &Path::Index(path, i))?
            }
            _ => return Err(expected()),
        };
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_convert_to_doubles_only_exactly() {
        for (digits, x) in [
            ("9007199254740993", None),
            ("9007199254740994", Some(9_007_199_254_740_994.0)),
            ("-18446744073709551616", Some(-18_446_744_073_709_551_616.0)),
            // The text of 2^69.
            ("590295810358705700000", Some(590_295_810_358_705_651_712.0)),
            ("590295810358705700001", None),
        ] {
            assert_eq!(double(digits), x, "{digits}");
        }
        assert_eq!(double(&"9".repeat(400)), Some(f64::INFINITY));
    }
}
