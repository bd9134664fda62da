//! Two interfaces to a JSON-like value: a parser emits events to a [`Sink`], a reader asks a [`Source`].
//!
//! A parser emits what it reads to a [`Sink`]. [`crate::value::Builder`] is a sink that builds a tree,
//! [`crate::json::Writer`] one that writes JSON; the binding has one that builds Python objects. A parser
//! knows none of them.
//!
//! A [`Source`] is a tree of values, or of the objects of another language. A reader asks it for members
//! by name and never visits the others, so the depth and size of unknown members cost nothing.
//!
//! Invariant, kept by the emitter: the events describe one well-formed value. Containers are closed in
//! the reverse order in which they were opened, each member of an object is a [`Sink::key`] followed by
//! a value, and no object has a key twice.

use std::borrow::Cow;
use std::convert::Infallible;

/// Receives the events of one value.
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
    pub fn emit<S: Sink>(self, sink: &mut S) -> Result<(), S::Error> {
        match self {
            Self::Null => sink.null(),
            Self::Bool(value) => sink.bool(value),
            Self::Int(value) => sink.int(value),
            Self::Float(value) => sink.float(value),
            Self::String(text) => sink.string(text),
        }
    }
}

/// A sink that can prepare a key or a scalar once and receive it many times, as for the rows of a table.
pub trait Columns: Sink {
    /// A prepared key or scalar.
    type Prepared;

    /// Prepares a key.
    fn name(&mut self, key: &str) -> Result<Self::Prepared, Self::Error>;
    /// [`Sink::key`] with a prepared key.
    fn known_key(&mut self, name: &Self::Prepared) -> Result<(), Self::Error>;
    /// Prepares a scalar.
    fn constant(&mut self, scalar: Scalar<'_>) -> Result<Self::Prepared, Self::Error>;
    /// Receives a prepared scalar.
    fn known_scalar(&mut self, constant: &Self::Prepared) -> Result<(), Self::Error>;
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
    /// Returns an element of an array.
    fn element(&self, index: usize) -> Option<Self>;
    /// Visits all members in order. The key is `None` if it is not a string.
    fn members<E>(&self, visit: impl FnMut(Option<&str>, Self) -> Result<(), E>) -> Result<(), E>;
}
