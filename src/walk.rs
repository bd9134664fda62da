//! Three interfaces to a JSON-like value: a parser emits events to a [`Sink`], a reader asks a [`Source`],
//! and a writer takes a [`Walk`].
//!
//! A [`Sink`] receives what a parser reads. [`crate::value::Builder`] is a sink that builds a tree,
//! [`crate::json::Writer`] one that writes JSON; the binding has one that builds Python objects. A parser
//! works with any of them.
//!
//! A [`Source`] is a tree of values, or of the objects of another language. A reader asks it for members
//! by name and never visits the others, so the depth and size of unknown members cost nothing.
//!
//! A [`Walk`] visits a tree from front to back and hands out references to its containers, so that a
//! writer needs no copy of the tree. The writer decides what to visit next.
//!
//! Invariant, kept by the emitter of events: they describe one well-formed value. Containers are closed in
//! the reverse order in which they were opened, each member of an object is a [`Sink::key`] followed by a
//! value, and no object has a key twice.

use crate::text::scan;
use std::borrow::Cow;
use std::convert::Infallible;

/// Receives the events of one value.
#[expect(clippy::missing_errors_doc, reason = "every error is the reason why the sink stops")]
pub trait Sink {
    /// Why the sink stops.
    type Error;

    /// Null.
    fn null(&mut self) -> Result<(), Self::Error>;
    /// A boolean.
    fn bool(&mut self, value: bool) -> Result<(), Self::Error>;
    /// An integer of 64 bits.
    fn int(&mut self, value: i64) -> Result<(), Self::Error>;
    /// An integer beyond 64 bits: decimal digits without leading zeros, after a `-` if it is negative.
    fn big_int(&mut self, digits: &str) -> Result<(), Self::Error>;
    /// A finite double.
    fn float(&mut self, value: f64) -> Result<(), Self::Error>;
    /// A string.
    fn string(&mut self, text: &str) -> Result<(), Self::Error>;
    /// The start of an array: its elements follow.
    fn begin_array(&mut self) -> Result<(), Self::Error>;
    /// The end of the innermost container, an array.
    fn end_array(&mut self) -> Result<(), Self::Error>;
    /// The start of an object: its members follow.
    fn begin_object(&mut self) -> Result<(), Self::Error>;
    /// The key of the next member: its value follows.
    fn key(&mut self, key: &str) -> Result<(), Self::Error>;
    /// The end of the innermost container, an object.
    fn end_object(&mut self) -> Result<(), Self::Error>;
}

/// A scalar that a format without integers beyond 64 bits can have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// A finite double.
    Float(f64),
    /// A string.
    String(&'a str),
}

impl Scalar<'_> {
    /// Emits the scalar.
    ///
    /// # Errors
    /// The sink's error, if it stops.
    #[inline]
    pub fn emit<S: Sink + ?Sized>(self, sink: &mut S) -> Result<(), S::Error> {
        match self {
            Self::Null => sink.null(),
            Self::Bool(value) => sink.bool(value),
            Self::Int(value) => sink.int(value),
            Self::Float(value) => sink.float(value),
            Self::String(text) => sink.string(text),
        }
    }
}

/// A string, with properties that a parser knows when it has found the end.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// The string.
    pub text: &'a str,
    /// Whether it is known to be ASCII.
    pub is_ascii: bool,
    /// The bytes of a string of at most 16 bytes as a little-endian number; 0 for a longer string.
    pub word: u128,
}

impl<'a> Text<'a> {
    /// Determines the properties of a string.
    #[inline]
    pub fn new(text: &'a str) -> Self {
        Self::with(text, text.is_ascii())
    }

    /// A string of which the caller knows whether it is ASCII.
    #[inline]
    pub(crate) fn with(text: &'a str, is_ascii: bool) -> Self {
        Self { text, is_ascii, word: scan::short(text.as_bytes()) }
    }
}

/// A sink that can prepare a key or a scalar once and receive it many times, as for the rows of a table.
#[expect(clippy::missing_errors_doc, reason = "every error is the reason why the sink stops")]
pub trait Columns: Sink {
    /// A prepared key or scalar.
    type Prepared;
    /// The number and size of the open containers.
    type Mark: Copy;

    /// Prepares a key.
    fn name(&mut self, key: &str) -> Result<Self::Prepared, Self::Error>;
    /// [`Sink::key`] with a prepared key.
    fn known_key(&mut self, name: &Self::Prepared) -> Result<(), Self::Error>;
    /// Prepares a scalar.
    fn constant(&mut self, scalar: Scalar<'_>) -> Result<Self::Prepared, Self::Error>;
    /// Receives a prepared scalar.
    fn known_scalar(&mut self, constant: &Self::Prepared) -> Result<(), Self::Error>;

    /// The start of an object that is likely to have `members` members, such as a row.
    #[inline]
    fn begin_row(&mut self, members: usize) -> Result<(), Self::Error> {
        let _ = members;
        self.begin_object()
    }

    /// Receives a member with a prepared key.
    #[inline]
    fn known_member(
        &mut self,
        name: &Self::Prepared,
        value: Scalar<'_>,
    ) -> Result<(), Self::Error> {
        self.known_key(name)?;
        value.emit(self)
    }

    /// Receives a member with a prepared key whose value is an integer.
    #[inline]
    fn known_int(&mut self, name: &Self::Prepared, value: i64) -> Result<(), Self::Error> {
        self.known_member(name, Scalar::Int(value))
    }

    /// Receives a member with a prepared key whose value is a finite double.
    #[inline]
    fn known_float(&mut self, name: &Self::Prepared, value: f64) -> Result<(), Self::Error> {
        self.known_member(name, Scalar::Float(value))
    }

    /// Receives a member with a prepared key whose value is a string.
    #[inline]
    fn known_text(&mut self, name: &Self::Prepared, value: Text<'_>) -> Result<(), Self::Error> {
        self.known_key(name)?;
        self.string(value.text)
    }

    /// Receives a prepared key whose value comes later, after other members of the object. Returns the place
    /// of the member. A sink that needs values in order ignores the key and returns `None`.
    #[inline]
    fn reserve(&mut self, name: &Self::Prepared) -> Result<Option<usize>, Self::Error> {
        let _ = name;
        Ok(None)
    }

    /// [`Sink::key`] for a member of the innermost object that [`Self::reserve`] has placed: its value
    /// follows.
    #[inline]
    fn reserved_key(&mut self, name: &Self::Prepared, place: usize) -> Result<(), Self::Error> {
        let _ = place;
        self.known_key(name)
    }

    /// The current position of the sink.
    fn mark(&self) -> Self::Mark;
    /// Discards all events since the sink was at `mark`. Precondition: the containers that were open at
    /// `mark` are still open.
    fn reset(&mut self, mark: Self::Mark);

    /// Whether the sink finds out itself that an object gets a key twice. The emitter then asks
    /// [`Self::has_repeated`] after each member, and otherwise compares the keys itself.
    fn finds_repeated_keys(&self) -> bool {
        false
    }

    /// Whether the innermost object had the key of its last complete member before. Asked only after a member
    /// that was received by [`Sink::key`], if the sink [`finds_repeated_keys`](Self::finds_repeated_keys).
    fn has_repeated(&self) -> bool {
        false
    }

    /// Whether the innermost object had the key that was received last before. Asked as `has_repeated`, but while
    /// the member may be incomplete.
    fn has_key(&self) -> bool {
        false
    }
}

/// A sink that ignores all events, for a parser that only checks.
#[derive(Debug, Default)]
pub struct Discard;

impl Sink for Discard {
    type Error = Infallible;

    fn null(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn bool(&mut self, _: bool) -> Result<(), Infallible> {
        Ok(())
    }

    fn int(&mut self, _: i64) -> Result<(), Infallible> {
        Ok(())
    }

    fn big_int(&mut self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn float(&mut self, _: f64) -> Result<(), Infallible> {
        Ok(())
    }

    fn string(&mut self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn begin_array(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn end_array(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn begin_object(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn key(&mut self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn end_object(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Columns for Discard {
    type Prepared = ();
    type Mark = ();

    fn reserve(&mut self, (): &()) -> Result<Option<usize>, Infallible> {
        Ok(Some(0))
    }

    fn mark(&self) {}

    fn reset(&mut self, (): ()) {}

    fn name(&mut self, _: &str) -> Result<(), Infallible> {
        Ok(())
    }

    fn known_key(&mut self, (): &()) -> Result<(), Infallible> {
        Ok(())
    }

    fn constant(&mut self, _: Scalar<'_>) -> Result<(), Infallible> {
        Ok(())
    }

    fn known_scalar(&mut self, (): &()) -> Result<(), Infallible> {
        Ok(())
    }
}

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
    /// As [`member`](Self::member), for an object whose members are probably read in their order. `place` is 0 before
    /// the first of them; a source that finds the next member faster keeps it there.
    #[inline]
    fn next_member(&self, name: &'static str, place: &mut usize) -> Option<Self> {
        let _ = place;
        self.member(name)
    }
    /// Returns an element of an array.
    fn element(&self, index: usize) -> Option<Self>;
    /// Visits all members in order. The key is `None` if it is not a string.
    ///
    /// # Errors
    /// The first error of `visit`.
    fn members<E>(&self, visit: impl FnMut(Option<&str>, Self) -> Result<(), E>) -> Result<(), E>;
}

/// A value as [`Walk::look`] finds it.
#[derive(Debug)]
pub enum Found<'v, A, O> {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// A double.
    Float(f64),
    /// A string.
    Text(&'v str),
    /// An array.
    Array(A),
    /// An object, before its first member.
    Object(O),
    /// An object of another language that [`Walk::convert`] replaces.
    Foreign,
}

/// The type of a value, without the content that [`Found`] has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Null.
    Null,
    /// A boolean, number or string.
    Scalar,
    /// An array.
    Array,
    /// An object.
    Object,
    /// See [`Found::Foreign`].
    Foreign,
}

/// Why a walk stops.
#[derive(Debug)]
pub enum Stop<E> {
    /// This walk or its writer does not support the value. The caller takes the slow path, which supports
    /// every valid value and reports errors in others.
    Unusual,
    /// The walk's error.
    Failed(E),
}

/// What [`Walk::look`] returns.
pub type Look<'v, W> =
    Result<Found<'v, <W as Walk>::Array, <W as Walk>::Object>, Stop<<W as Walk>::Error>>;

/// A JSON-like value that is visited from front to back.
///
/// While a container is open, its content stays as it was when [`Walk::look`] found it.
pub trait Walk {
    /// A reference to a value.
    type Value: Clone;
    /// A reference to the key of a member.
    type Key: Clone;
    /// A reference to an array.
    type Array;
    /// A position in an object.
    type Object;
    /// Why the walk fails.
    type Error;

    /// Whether foreign values must be converted in the order in which they are in the value.
    const CONVERTS_IN_ORDER: bool = false;

    /// Returns the type and content of a value. A string is valid Unicode.
    ///
    /// # Errors
    /// [`Stop::Unusual`] if the value has none of these types, or a string is not valid Unicode.
    fn look<'v>(&'v mut self, value: &'v Self::Value) -> Look<'v, Self>
    where
        Self: Sized;
    /// Returns the type of a value.
    fn type_of(&self, value: &Self::Value) -> Type;
    /// Returns the replacement of a foreign value. It is not foreign itself.
    ///
    /// # Errors
    /// [`Stop::Unusual`] if there is none, [`Stop::Failed`] if the conversion fails.
    fn convert(&mut self, value: &Self::Value) -> Result<Self::Value, Stop<Self::Error>>;
    /// Called when a foreign value is found that will be visited later. A walk that converts none stops here,
    /// before more is written that would be discarded.
    ///
    /// # Errors
    /// Those of [`Walk::convert`] for every foreign value.
    fn expect_foreign(&self) -> Result<(), Stop<Self::Error>> {
        Ok(())
    }
    /// The number of elements.
    fn length(&self, array: &Self::Array) -> usize;
    /// Returns an element; `index` is less than the length.
    fn element(&self, array: &Self::Array, index: usize) -> Self::Value;
    /// The number of members.
    fn size(&self, object: &Self::Object) -> usize;
    /// Returns the next member.
    fn next(&self, object: &mut Self::Object) -> Option<(Self::Key, Self::Value)>;
    /// Returns the first member's value, if the position is before it.
    fn first_member(&self, object: &Self::Object) -> Option<Self::Value>;
    /// Whether `test` accepts the types of all members.
    fn all_members(&self, object: &Self::Object, test: impl FnMut(Type) -> bool) -> bool;
    /// Whether two keys are the same object, which is a fast test for equality. Equal keys may be different
    /// objects.
    fn is_same(&self, left: &Self::Key, right: &Self::Key) -> bool;
    /// The text of a key.
    ///
    /// # Errors
    /// [`Stop::Unusual`] if it has none.
    fn key<'k>(&self, key: &'k Self::Key) -> Result<&'k str, Stop<Self::Error>>;
    /// Whether the keys of an object are distinct. The default is for objects that cannot have duplicate
    /// keys.
    fn has_distinct_keys(&self, _: &Self::Object) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_a_word_of_its_bytes() {
        let text = "abcdefghijklmnopq";
        for length in 0..=text.len() {
            let mut bytes = [0; 16];
            if length <= 16 {
                bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
            }
            assert_eq!(Text::new(&text[..length]).word, u128::from_le_bytes(bytes), "{length}");
        }
    }
}
