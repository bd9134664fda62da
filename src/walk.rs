//! How a JSON-like value is told: event by event, to whoever wants it.
//!
//! A parser tells what it reads to a [`Sink`]; a tree (`value::Builder`) is one, the
//! objects of another language are another, and none needs the other's.
//!
//! Invariant, kept by who tells: events are those of one well-formed value. Containers are closed in
//! the order in which they were opened, each member of an object is a [`Sink::key`] and a value, and
//! no object has a key twice.

/// Is told a value.
pub trait Sink {
    /// Why it does not go on.
    type Error;

    /// Nothing.
    fn null(&mut self) -> Result<(), Self::Error>;
    /// A truth value.
    fn bool(&mut self, value: bool) -> Result<(), Self::Error>;
    /// An integer of 64 bits.
    fn int(&mut self, value: i64) -> Result<(), Self::Error>;
    /// An integer beyond 64 bits: decimal digits without leading zeros, perhaps after a `-`.
    fn big_int(&mut self, digits: &str) -> Result<(), Self::Error>;
    /// A finite number.
    fn float(&mut self, value: f64) -> Result<(), Self::Error>;
    /// A text.
    fn text(&mut self, text: &str) -> Result<(), Self::Error>;
    /// An array begins: its elements follow.
    fn begin_array(&mut self) -> Result<(), Self::Error>;
    /// The innermost container, an array, ends.
    fn end_array(&mut self) -> Result<(), Self::Error>;
    /// An object begins: its members follow.
    fn begin_object(&mut self) -> Result<(), Self::Error>;
    /// The name of the next member; its value follows.
    fn key(&mut self, key: &str) -> Result<(), Self::Error>;
    /// The innermost container, an object, ends.
    fn end_object(&mut self) -> Result<(), Self::Error>;
}

/// A sink that is told the same keys again and again, as those of a table's rows, and can be told
/// each text once.
pub trait Columns: Sink {
    /// A key that the sink knows.
    type Name;

    /// Makes a key known.
    fn name(&mut self, key: &str) -> Result<Self::Name, Self::Error>;
    /// [`Sink::key`] with a key that is known.
    fn known_key(&mut self, name: &Self::Name) -> Result<(), Self::Error>;
}
