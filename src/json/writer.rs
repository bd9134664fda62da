//! A sink that writes JSON as it receives events, without building a tree.

use crate::text::quoted::{self, Escape};
use crate::walk::{Columns, Scalar, Sink};
use std::convert::Infallible;

/// Initial capacity in bytes: enough for a short message.
const USUAL_SIZE: usize = 128;

/// Writes JSON without white space. Members keep the order in which they arrive.
pub struct Writer<F> {
    out: String,
    escape: Escape,
    write_float: F,
}

impl<F: Fn(f64, &mut String)> Writer<F> {
    /// An empty writer. `write_float` appends a double, as [`write_float`](super::write_float) does.
    pub fn new(escape: Escape, write_float: F) -> Self {
        Self { out: String::with_capacity(USUAL_SIZE), escape, write_float }
    }

    /// The text written so far; complete once the value's last event has arrived.
    pub fn finish(self) -> String {
        self.out
    }

    /// Writes the comma that a value or key needs after another one.
    fn next(&mut self) {
        if !matches!(self.out.as_bytes().last(), None | Some(b'[' | b'{' | b':')) {
            self.out.push(',');
        }
    }

    fn word(&mut self, word: &str) {
        self.next();
        self.out.push_str(word);
    }
}

impl<F: Fn(f64, &mut String)> Sink for Writer<F> {
    type Error = Infallible;

    fn null(&mut self) -> Result<(), Infallible> {
        self.word("null");
        Ok(())
    }

    fn bool(&mut self, value: bool) -> Result<(), Infallible> {
        self.word(if value { "true" } else { "false" });
        Ok(())
    }

    fn int(&mut self, value: i64) -> Result<(), Infallible> {
        self.word(itoa::Buffer::new().format(value));
        Ok(())
    }

    fn big_int(&mut self, digits: &str) -> Result<(), Infallible> {
        self.word(digits);
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Infallible> {
        self.next();
        (self.write_float)(value, &mut self.out);
        Ok(())
    }

    fn string(&mut self, text: &str) -> Result<(), Infallible> {
        self.next();
        quoted::write(text, self.escape, &mut self.out);
        Ok(())
    }

    fn begin_array(&mut self) -> Result<(), Infallible> {
        self.word("[");
        Ok(())
    }

    fn end_array(&mut self) -> Result<(), Infallible> {
        self.out.push(']');
        Ok(())
    }

    fn begin_object(&mut self) -> Result<(), Infallible> {
        self.word("{");
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<(), Infallible> {
        self.string(key)?;
        self.out.push(':');
        Ok(())
    }

    fn end_object(&mut self) -> Result<(), Infallible> {
        self.out.push('}');
        Ok(())
    }
}

/// A prepared key is the quoted string with its colon, a prepared scalar its JSON.
impl<F: Fn(f64, &mut String) + Copy> Columns for Writer<F> {
    type Prepared = String;
    type Mark = usize;

    fn mark(&self) -> usize {
        self.out.len()
    }

    fn reset(&mut self, mark: usize) {
        self.out.truncate(mark);
    }

    fn name(&mut self, key: &str) -> Result<String, Infallible> {
        let mut name = String::new();
        quoted::write(key, self.escape, &mut name);
        name.push(':');
        Ok(name)
    }

    fn known_key(&mut self, name: &String) -> Result<(), Infallible> {
        self.word(name);
        Ok(())
    }

    fn constant(&mut self, scalar: Scalar<'_>) -> Result<String, Infallible> {
        let mut json = Self::new(self.escape, self.write_float);
        scalar.emit(&mut json)?;
        Ok(json.finish())
    }

    fn known_scalar(&mut self, constant: &String) -> Result<(), Infallible> {
        self.word(constant);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn writer_reproduces_the_text_that_was_read() {
        let text = r#"{"b":[],"a":[null,true,-1,1.5,"x,\"[",{}],"":{"c":[[1],{"d":18446744073709551616}]}}"#;
        let mut writer = Writer::new(Escape::Needed, json::write_float);
        json::read(text, json::Limits::default(), &mut writer).unwrap();
        assert_eq!(writer.finish(), text);
    }
}
