//! Python objects as values of the core, and values as Python objects.
//!
//! # Modules
//!
//! - [`read`]: the checked reader. It owns its references and copies containers and strings first, so
//!   that Python code may run and change the objects while it reads.
//! - [`read_fast`]: the fast walk, for plain objects under the interpreter's global lock. It
//!   borrows references and strings; all `unsafe` reading is in this file.
//! - [`owned`]: the walk of [`read_fast`] with owned references, for the objects that it cannot read.
//! - [`kind`]: what an object is in JSON. [`conversions`]: the calls of `default=`. [`budget`]: the check of memory.
//! - [`moments`]: dates and times as text.
//! - [`document`]: objects as a source of CAD documents.
//! - [`objects`]: the sink that builds Python objects.
//! - [`texts`]: short texts of documents, of which equal ones are one object.
//! - [`collector`]: the pause of the garbage collector while objects are built.
//! - [`vocabulary`]: the names of a format as Python strings.
//!
//! The three readers return the same value or the same error for the same object;
//! `tests/package/test_bridge.py` compares them.

pub(super) mod budget;
pub(super) mod collector;
pub(super) mod conversions;
pub(super) mod document;
pub(super) mod kind;
mod moments;
pub(super) mod objects;
pub(super) mod owned;
pub(super) mod read;
pub(super) mod read_fast;
mod texts;
pub(super) mod vocabulary;

use crate::errors::{Result, invalid_format};
use crate::interrupt::attached;
use compactwire::json::{self, ReadError};
use compactwire::value::Value;
pub(super) use conversions::{are_common, converter};
use objects::Objects;
use pyo3::prelude::*;

/// The value of a Python object, for functions with `types=` and `default=`.
pub(super) fn read_with<'py>(
    object: &Bound<'py, PyAny>,
    root: &str,
    default: Option<&Bound<'py, PyAny>>,
) -> Result<Value<'static>> {
    read::value_with(object, root, default, None)
}

/// The Python object of a value.
pub(super) fn object<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    let mut builder = Objects::new(py, 0);
    attached(|| value.emit(&mut builder))??;
    Ok(builder.finish())
}

/// The Python object of JSON text that is known to be valid.
pub(super) fn parse<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut builder = Objects::new(py, text.len());
    match attached(|| json::read(text, json::Limits::default(), &mut builder))? {
        Ok(_) => Ok(builder.finish()),
        Err(ReadError::Sink(error)) => Err(error.into()),
        Err(ReadError::Json(error)) => Err(invalid_format(py, &error.to_string())),
    }
}
