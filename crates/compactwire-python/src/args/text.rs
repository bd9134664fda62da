//! The UTF-8 of a `str`, and names for messages.
//!
//! Invariant: a lone surrogate is an error with its position, or is what the function says.

use crate::calls::Run;
use crate::errors::{Error, invalid_option, unsupported};
use crate::make::{args, ensure_memory, name};
use compactwire::gcf;
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyType};
use std::borrow::Cow;

/// The content of a string, with replacement characters for lone surrogates.
pub(crate) fn lossy<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    if let Some(content) = utf8_if_whole(text)? {
        return Ok(content.into());
    }
    Ok(String::from_utf8_lossy(&utf8_with_surrogates(text)?).into_owned().into())
}

/// The bytes for each character of a string with lone surrogates: two copies of four bytes.
const SURROGATES_FACTOR: usize = 8;

/// The UTF-8 of a part of the argument `name`; `OptionError` for a lone surrogate.
pub(crate) fn option_text<'a>(text: &'a Bound<'_, PyString>, name: &str) -> PyResult<&'a str> {
    utf8_or(text, |message| invalid_option(name, &format!("{name}: {message}")))
}

/// The UTF-8 of a `str`, in which lone surrogates are encoded like other characters.
pub(crate) fn utf8_with_surrogates<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, [u8]>> {
    if let Some(text) = utf8_if_whole(text)? {
        return Ok(text.as_bytes().into());
    }
    ensure_memory(text.len()?.saturating_mul(SURROGATES_FACTOR))?;
    let py = text.py();
    let codec = args!(py, name!(py, "utf-8")?, name!(py, "surrogatepass")?)?;
    let bytes = text.run_method(name!(py, "encode")?, codec)?;
    Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec().into())
}

/// The UTF-8 of a field of a value to be written; `UnsupportedValue` for a lone surrogate.
pub(crate) fn utf8<'a>(text: &'a Bound<'_, PyString>, field: &str) -> PyResult<&'a str> {
    utf8_or(text, |message| unsupported(text.py(), gcf::Code::InvalidSurrogate, field, message))
}

/// The UTF-8 of a `str`. `surrogate` creates the error for a lone surrogate from a description with its
/// position. Every other error, such as too little memory, is returned as it is.
#[inline]
pub(crate) fn utf8_or<'a, E: From<PyErr>>(
    text: &'a Bound<'_, PyString>,
    surrogate: impl FnOnce(&str) -> E,
) -> Result<&'a str, E> {
    #[expect(clippy::disallowed_methods, reason = "this function distinguishes its errors")]
    text.to_str().map_err(|error| {
        if error.is_instance_of::<PyUnicodeEncodeError>(text.py()) {
            surrogate(&surrogate_at(&error, text.py()))
        } else {
            error.into()
        }
    })
}

/// The text itself, if there is memory for a copy of it.
pub(crate) fn enough_for(text: &str) -> PyResult<&str> {
    ensure_memory(text.len())?;
    Ok(text)
}

/// The UTF-8 of a `str`; `None` if it has a lone surrogate.
#[inline]
pub(crate) fn utf8_if_whole<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Option<&'a str>> {
    match utf8_or(text, |_| None) {
        Ok(utf8) => Ok(Some(utf8)),
        Err(None) => Ok(None),
        Err(Some(error)) => Err(error),
    }
}

/// The name of a class, for messages. PyO3's `Display` would run the handlers of pending signals, and drop
/// the exceptions that they raise.
pub(crate) fn class_name(class: &Bound<'_, PyType>) -> String {
    let name = class.name().ok();
    let name = name.as_ref().and_then(|name| utf8_if_whole(name).ok().flatten());
    name.unwrap_or("this").to_owned()
}

/// A description of the lone surrogate with its position, from Python's `UnicodeEncodeError`.
pub(crate) fn surrogate_at(error: &PyErr, py: Python<'_>) -> String {
    let start =
        name!(py, "start").and_then(|start| error.value(py).run_getattr(start)?.extract::<usize>());
    start.map_or_else(
        |_| NOT_UTF8.into(),
        |start| format!("lone surrogate at position {start} cannot be encoded as UTF-8"),
    )
}

const NOT_UTF8: &str = "the text cannot be encoded as UTF-8";

/// The `GcfError` for a text with a lone surrogate.
#[cold]
pub(super) fn surrogate_in_gcf(message: &str) -> Error {
    gcf::Error::without_place(gcf::Code::InvalidSurrogate, message).into()
}
