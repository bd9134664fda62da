//! The arguments of graph functions and classes.

use crate::args;
use crate::args::class_name;
use crate::errors::unsupported;
use crate::make::py_error;
use compactwire::gcf::Code;
use compactwire::gcf::graph::{self, Dangling, EncodeOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

/// The string of a field; empty if it was not passed.
pub(super) fn str_of<'a>(value: Option<&'a Bound<'_, PyAny>>, field: &str) -> PyResult<&'a str> {
    let Some(value) = value else { return Ok("") };
    args::enough_for(args::utf8(args::text(value, field)?, field)?)
}

/// A copy of [`str_of`].
pub(super) fn text_of(value: Option<&Bound<'_, PyAny>>, field: &str) -> PyResult<graph::SharedStr> {
    Ok(str_of(value, field)?.into())
}

/// The string of a field that usually holds a word of the vocabulary; such a word is not allocated.
pub(super) fn word_of(value: Option<&Bound<'_, PyAny>>, field: &str) -> PyResult<graph::SharedStr> {
    Ok(graph::SharedStr::interned(str_of(value, field)?))
}

/// The integer of a field; 0 if it was not passed.
pub(super) fn count_of(value: Option<&Bound<'_, PyAny>>, field: &str) -> PyResult<i64> {
    value.map_or(Ok(0), |value| args::int64(value, field))
}

/// The options of all functions that write a payload.
pub(crate) fn options(
    dangling: &str,
    allow_unicode: bool,
    locations: bool,
) -> PyResult<EncodeOptions> {
    let dangling = self::dangling(dangling)?;
    Ok(EncodeOptions { dangling, allow_unicode, locations, ..EncodeOptions::default() })
}

/// `dangling=`: what happens to edges whose ends are missing.
fn dangling(name: &str) -> PyResult<Dangling> {
    args::one_of("dangling", name, [("error", Dangling::Refuse), ("drop", Dangling::Drop)])
}

/// The number of a field; 0 if it was not passed.
pub(super) fn number(value: Option<&Bound<'_, PyAny>>, field: &str) -> PyResult<f64> {
    let Some(value) = value else { return Ok(0.0) };
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        let found = class_name(&value.get_type());
        return Err(py_error::<PyTypeError>(format!("{field} must be a float, not {found}")));
    }
    args::double(value, field)?.ok_or_else(|| {
        let message = "the number is too large for a double";
        unsupported(value.py(), Code::OutOfRange, field, message)
    })
}
