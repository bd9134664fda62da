//! `encode`, `decode`, `detect`, `encode_base85`, `decode_base85`.

use super::args::{self, Data};
use super::detached;
use super::dictionary::{Dictionary, Given};
use super::errors::{base85_error, decode_error, encode_error};
use super::response::{Response, format_member};
use crate::compact::{self, DecodeOptions, EncodeOptions};
use crate::{base85, limits};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Default of `max_size`, in bytes.
pub(super) const DEFAULT_MAX_SIZE: i128 = limits::DEFAULT_MAX_SIZE as i128;

/// Base85 is this much faster than the compressors that `DETACH_FROM` is measured for.
const BASE85_SPEEDUP: usize = 16;

/// Write a response as one text.
#[pyfunction]
#[pyo3(signature = (
    response, /, *, format = "auto", protocol = 4, msgpack_version = None, dictionary = None,
))]
pub(super) fn encode<'py>(
    response: &Bound<'py, PyAny>,
    format: &str,
    protocol: i64,
    msgpack_version: Option<&Bound<'py, PyAny>>,
    dictionary: Option<&Bound<'py, Dictionary>>,
) -> PyResult<Bound<'py, PyString>> {
    let py = response.py();
    let options = EncodeOptions {
        format: args::choice(format)?,
        protocol: args::protocol(protocol)?,
        layout: msgpack_version.map(args::layout).transpose()?,
        dictionary: dictionary.map(|dictionary| dictionary.get().core()),
    };
    let response = Response::from_argument(response)?;
    let response = response.get().borrow(py)?;
    let wire = detached(py, response.result.len(), || compact::encode(&response, &options))
        .map_err(|error| encode_error(py, &error))?;
    Ok(PyString::new(py, &wire))
}

/// Read a response in any format.
#[pyfunction]
#[pyo3(signature = (
    wire, /, *, max_size = DEFAULT_MAX_SIZE, dictionary = None, dictionaries = None,
    fallback = false,
))]
#[pyo3(text_signature = "(wire, /, *, max_size=67108864, dictionary=None, dictionaries=(), \
                         fallback=False)")]
pub(super) fn decode<'py>(
    wire: &Bound<'py, PyAny>,
    max_size: i128,
    dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
    fallback: bool,
) -> PyResult<Response> {
    let py = wire.py();
    let data = Data::new(wire)?;
    let wire = data.text(py)?;
    let given = Given::new(dictionary, dictionaries)?;
    let options = DecodeOptions {
        max_size: args::size(max_size, "max_size")?,
        dictionaries: &given.named(),
        fallback,
    };
    let decoded = detached(py, wire.len(), || compact::open(wire, &options))
        .and_then(|opened| Ok(Response::from_core(py, &opened.read()?)));
    match decoded {
        Err(_) if fallback => Ok(Response::from_core(py, &compact::raw(wire))),
        decoded => decoded.map_err(|error| decode_error(py, &error)),
    }
}

/// Say what a text is, without decoding it.
#[pyfunction]
#[pyo3(signature = (wire, /))]
pub(super) fn detect(wire: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = wire.py();
    let data = Data::new(wire)?;
    let kind = compact::detect(data.text(py)?).map_err(|error| decode_error(py, &error))?;
    format_member(py, kind.name())
}

/// Encode bytes as Base85 in the protocol's alphabet.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub(super) fn encode_base85<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    let py = data.py();
    let data = Data::new(data)?;
    let bytes = data.bytes()?;
    Ok(PyString::new(py, &detached(py, bytes.len() / BASE85_SPEEDUP, || base85::encode(bytes))))
}

/// Decode Base85 in the protocol's alphabet.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(super) fn decode_base85<'py>(text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = text.py();
    let data = Data::new(text)?;
    let text = data.text(py)?;
    let bytes = detached(py, text.len() / BASE85_SPEEDUP, || base85::decode(text))
        .map_err(|error| base85_error(py, &error))?;
    Ok(PyBytes::new(py, &bytes))
}
