//! The event interface of a JSON-like value: a parser emits events, a sink receives them.
//!
//! A parser emits what it reads to a [`Sink`]. [`crate::value::Builder`] is a sink that builds a tree,
//! [`crate::json::Writer`] one that writes JSON; the binding has one that builds Python objects. A parser
//! knows none of them.
//!
//! Invariant, kept by the emitter: the events describe one well-formed value. Containers are closed in
//! the reverse order in which they were opened, each member of an object is a [`Sink::key`] followed by
//! a value, and no object has a key twice.

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

/// A sink that can prepare a key once and receive it many times, as for the rows of a table.
pub trait Columns: Sink {
    /// A prepared key.
    type Name;

    /// Prepares a key.
    fn name(&mut self, key: &str) -> Result<Self::Name, Self::Error>;
    /// [`Sink::key`] with a prepared key.
    fn known_key(&mut self, name: &Self::Name) -> Result<(), Self::Error>;
}
