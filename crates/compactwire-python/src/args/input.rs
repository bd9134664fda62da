//! Text or bytes to read, from any object that holds them.

use super::object::wrong_type;
use super::text::{surrogate_in_gcf, utf8_or, utf8_with_surrogates};
use crate::abi;
use crate::calls::Run;
use crate::errors::{self, Error, invalid_format};
use crate::make::{Str, ensure_memory, py_error};
use compactwire::compact::{self, Wire};
use compactwire::{cad, gcf, text};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use std::borrow::Cow;
use std::fmt::Display;

/// Text or bytes to read: borrowed from a `str` or `bytes`, copied from a buffer that can change.
pub(crate) enum Input<'py> {
    Str(Bound<'py, PyString>),
    /// The UTF-8 of a `str` that does not own it yet.
    Text(String),
    Bytes(Bound<'py, PyBytes>),
    Copy(Vec<u8>),
}

/// The UTF-8 of a long text, made faster than by the interpreter, which would also keep it in the `str`. `None` if
/// that is not possible.
fn converted(text: &Bound<'_, PyString>) -> Option<String> {
    // Most names are no longer. A name is often converted again, so that it pays to keep its UTF-8.
    const SHORT: usize = 64;
    // SAFETY: the object is a `str` that outlives its characters.
    let units = unsafe { abi::units(text.as_ptr()) }.filter(|it| it.count() > SHORT)?;
    let mut utf8 = String::new();
    units.read(&mut utf8).then_some(utf8)
}

impl<'py> Input<'py> {
    /// Takes `str`, `bytes`, `bytearray`, `memoryview` and any other buffer of bytes; `TypeError` names the
    /// argument.
    pub(crate) fn new(object: &Bound<'py, PyAny>, name: impl Display + Copy) -> PyResult<Self> {
        Self::of(object, name)?
            .ok_or_else(|| wrong_type(object, name, "str, bytes, bytearray or memoryview"))
    }

    /// As [`Self::new`], but `None` for an object of another type.
    pub(crate) fn of(object: &Bound<'py, PyAny>, name: impl Display) -> PyResult<Option<Self>> {
        let py = object.py();
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Some(converted(text).map_or_else(|| Self::Str(text.clone()), Self::Text)));
        } else if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Some(Self::Bytes(bytes.clone())));
        } else if let Ok(bytes) = object.cast::<PyByteArray>() {
            ensure_memory(bytes.len())?;
            return Ok(Some(Self::Copy(bytes.to_vec())));
        }
        let buffer = if object.is_instance_of::<PyMemoryView>() {
            view_of_bytes(object, name)?
        } else {
            match PyBuffer::get(object) {
                Ok(buffer) => buffer,
                Err(error) if is_about_the_type(&error, py) => return Ok(None),
                Err(error) => return Err(error),
            }
        };
        ensure_memory(buffer.len_bytes())?;
        Ok(Some(Self::Copy(buffer.to_vec(py)?)))
    }

    /// Takes text or bytes; `None` for other objects, which the caller handles differently.
    pub(crate) fn if_text(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Self>> {
        let is_text = object.is_instance_of::<PyString>() || Self::is_bytes(object);
        is_text.then(|| Self::new(object, name)).transpose()
    }

    /// Whether an object holds bytes.
    pub(crate) fn is_bytes(object: &Bound<'py, PyAny>) -> bool {
        object.is_instance_of::<PyBytes>()
            || object.is_instance_of::<PyByteArray>()
            || object.is_instance_of::<PyMemoryView>()
    }

    /// The text of a message; `InvalidFormat` if it is not UTF-8.
    pub(crate) fn text(&self, py: Python<'py>) -> PyResult<&str> {
        self.decode(
            |message| invalid_format(py, message),
            |bytes| {
                text::from_utf8(bytes).map_err(|error| {
                    let at = error.valid_up_to();
                    let reader = match compact::detect(compact::Wire::Bytes(bytes)) {
                        Ok(_) => "; for a message as bytes, use decode or decode_tool_call",
                        Err(_) => "",
                    };
                    let message = format!("the message is not UTF-8 from byte {at} on{reader}");
                    invalid_format(py, &message)
                })
            },
        )
    }

    /// A message: a text, or bytes; `InvalidFormat` for a text with a lone surrogate.
    pub(crate) fn wire(&self, py: Python<'py>) -> PyResult<Wire<'_>> {
        match self {
            Self::Str(_) | Self::Text(_) => self.text(py).map(Wire::Text),
            Self::Bytes(bytes) => Ok(Wire::Bytes(bytes.as_bytes())),
            Self::Copy(bytes) => Ok(Wire::Bytes(bytes)),
        }
    }

    /// The text of a GCF document; `GcfError` if it is not UTF-8.
    pub(crate) fn gcf_text(&self) -> errors::Result<&str> {
        self.decode(surrogate_in_gcf, |bytes| Ok(gcf::utf8(bytes)?))
    }

    /// The text of a CAD document in JSON; `DocumentError` if it is not UTF-8.
    pub(crate) fn json_text(&self) -> errors::Result<&str> {
        let invalid = |place: &str| {
            let message = format!("invalid JSON: not UTF-8 {place}");
            Error::from(cad::DocumentError::new("document", message))
        };
        self.decode(
            |_| invalid("(a lone surrogate)"),
            |bytes| {
                text::from_utf8(bytes)
                    .map_err(|error| invalid(&format!("from byte {} on", error.valid_up_to())))
            },
        )
    }

    /// The text. `surrogate` creates the error for a `str` with a lone surrogate, `utf8` the one
    /// for bytes that are not UTF-8.
    fn decode<'a, E: From<PyErr>>(
        &'a self,
        surrogate: impl FnOnce(&str) -> E,
        utf8: impl FnOnce(&'a [u8]) -> Result<&'a str, E>,
    ) -> Result<&'a str, E> {
        match self {
            Self::Str(text) => utf8_or(text, surrogate),
            Self::Text(text) => Ok(text),
            Self::Bytes(bytes) => utf8(bytes.as_bytes()),
            Self::Copy(bytes) => utf8(bytes),
        }
    }

    /// The bytes; a `str` is a `TypeError` that names the argument and says to encode it first.
    pub(crate) fn bytes(&self, name: &str) -> PyResult<&[u8]> {
        match self {
            Self::Str(_) | Self::Text(_) => {
                let message = format!("{name} must be bytes, not str (encode it first)");
                Err(py_error::<PyTypeError>(message))
            }
            Self::Bytes(bytes) => Ok(bytes.as_bytes()),
            Self::Copy(bytes) => Ok(bytes),
        }
    }

    /// Bytes that need not be UTF-8, for readers that report the line of an invalid character.
    pub(crate) fn bytes_or_utf8(&self) -> PyResult<Cow<'_, [u8]>> {
        match self {
            Self::Str(text) => utf8_with_surrogates(text),
            Self::Text(text) => Ok(text.as_bytes().into()),
            Self::Bytes(bytes) => Ok(bytes.as_bytes().into()),
            Self::Copy(bytes) => Ok(bytes.into()),
        }
    }
}

/// Whether an object has no buffer, or one that is not of bytes. Other errors are those of its own method.
#[cold]
fn is_about_the_type(error: &PyErr, py: Python<'_>) -> bool {
    error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyBufferError>(py)
}

/// The buffer of a memoryview, which must be of bytes.
pub(crate) fn view_of_bytes(view: &Bound<'_, PyAny>, name: impl Display) -> PyResult<PyBuffer<u8>> {
    PyBuffer::get(view).map_err(|error| not_of_bytes(view, name, error))
}

/// The error for a memoryview that is not of bytes: unlike PyO3's, it describes the items. A released
/// view cannot be asked for them, and keeps its own error.
#[cold]
fn not_of_bytes(view: &Bound<'_, PyAny>, name: impl Display, error: PyErr) -> PyErr {
    let fact = |name| view.run_getattr(Str(name)).and_then(|fact| fact.str());
    match (fact("format"), fact("ndim")) {
        (Ok(format), Ok(dimensions)) => py_error::<PyTypeError>(format!(
            "{name} must be a memoryview of bytes, not of items of format {format} in {dimensions} \
             dimensions; pass bytes(view)"
        )),
        _ => error,
    }
}
