//! The tree that the GCF encoder writes, as a target of the checked reader.

use crate::errors::{Error, Result};
use crate::value::read::{ENDLESS_DEFAULT, Invalid, ORDER, Target, class_message, key_message};
use compactwire::excerpt::excerpt;
use compactwire::gcf::{Builder, Code, Place, out_of_range_message};
use compactwire::walk::Sink;

/// Builds a tree, which copies all strings.
pub(super) struct TreeTarget<'b, 'a>(pub(super) &'b mut Builder<'a>);

impl Sink for TreeTarget<'_, '_> {
    type Error = Error;

    fn null(&mut self) -> Result<()> {
        Ok(self.0.null()?)
    }

    fn bool(&mut self, value: bool) -> Result<()> {
        Ok(self.0.bool(value)?)
    }

    fn int(&mut self, value: i64) -> Result<()> {
        Ok(self.0.int(value)?)
    }

    fn big_int(&mut self, digits: &str) -> Result<()> {
        Err(self.0.error(Code::OutOfRange, out_of_range_message(digits)).into())
    }

    fn float(&mut self, value: f64) -> Result<()> {
        Ok(self.0.float(value)?)
    }

    fn string(&mut self, text: &str) -> Result<()> {
        Ok(self.0.push_copy(text)?)
    }

    fn begin_array(&mut self) -> Result<()> {
        Ok(self.0.begin(false)?)
    }

    fn end_array(&mut self) -> Result<()> {
        Ok(self.0.end()?)
    }

    fn begin_object(&mut self) -> Result<()> {
        Ok(self.0.begin(true)?)
    }

    fn key(&mut self, key: &str) -> Result<()> {
        Ok(self.0.push_key(key)?)
    }

    fn end_object(&mut self) -> Result<()> {
        Ok(self.0.end()?)
    }
}

impl Target for TreeTarget<'_, '_> {
    fn invalid(&self, invalid: Invalid<'_, '_>) -> Error {
        let tree = &self.0;
        let error = match invalid {
            Invalid::Surrogate(message) => tree.error(Code::InvalidSurrogate, message),
            Invalid::KeySurrogate(message) => {
                tree.container_error(Code::InvalidSurrogate, format!("in a key, {message}"))
            }
            Invalid::Key(class) => tree.container_error(Code::UnsupportedType, key_message(&class)),
            Invalid::DuplicateKey(text) => {
                tree.error(Code::DuplicateKey, format!("duplicate member {}", excerpt(text)))
            }
            Invalid::Order => tree.error(Code::UnsupportedType, ORDER.to_owned()),
            Invalid::Digits => {
                tree.error(Code::OutOfRange, out_of_range_message("with thousands of digits"))
            }
            Invalid::Class(object, options) => {
                tree.error(Code::UnsupportedType, class_message(object, options))
            }
            Invalid::Default => tree.error(Code::LimitExceeded, ENDLESS_DEFAULT.to_owned()),
            Invalid::Cell(code, message) => tree.error(code, message),
            Invalid::Column(code, steps, message) => {
                let mut error = tree.error(code, message);
                if let Place::Value(path) = &mut error.place {
                    path.push_str(steps);
                }
                error
            }
        };
        error.into()
    }
}
