//! `inspect`: the size of a message, layer by layer.

use super::args::{Input, sizes};
use super::detached;
use super::dictionary::Dictionary;
use super::errors::Result;
use super::make::{Number, Str, make_list, make_size, make_str, make_tuple};
use super::message::{DEFAULT_MAX_SIZE, open};
use super::response::{Response, format_member, layout_version};
use crate::args::named;
use compactwire::compact::{self, Choice, Compression, EncodeOptions, Format};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// The format of a message and the size of each of its layers.
#[pyclass(frozen, get_all, module = "compactwire")]
pub(super) struct Inspection {
    /// The format, a member of `Format`.
    format: Py<PyAny>,
    /// The MessagePack layout: 1, 2, 3 or "map"; None for a text format.
    version: Option<Py<PyAny>>,
    /// The compression: "zlib", "gzip" or "zstd"; None without compression.
    compression: Option<Str<&'static str>>,
    /// The id of the dictionary; None without a dictionary.
    dictionary_id: Option<Number<u64>>,
    /// The size of each layer in bytes, from the message inwards, as pairs of name and size.
    layers: Layers,
    /// The size of the same response as a verbose message (compact JSON), in bytes.
    verbose_size: Number<usize>,
    /// The size of the message divided by `verbose_size`.
    ratio: Number<f64>,
    /// The decoded response.
    response: Py<Response>,
}

/// The name and size of each layer.
struct Layers(Vec<(&'static str, usize)>);

impl<'py> IntoPyObject<'py> for &Layers {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let pair = |&(name, size): &(&str, usize)| {
            make_tuple(py, [Ok(make_str(py, name)?.into_any()), make_size(py, size)].into_iter())
        };
        make_list(py, self.0.iter().map(pair))
    }
}

#[pymethods]
impl Inspection {
    fn __repr__(&self, py: Python<'_>) -> PyResult<Str<String>> {
        let layers: Vec<_> =
            self.layers.0.iter().map(|(name, size)| format!("{name} {size}")).collect();
        let format = self.format.bind(py).str()?;
        let (layers, Number(ratio)) = (layers.join(" > "), self.ratio);
        Ok(Str(format!("<Inspection {format}: {layers}; ratio {ratio:.3}>")))
    }
}

/// Decode a message and return the size of each of its layers.
///
/// Parameters
/// ----------
/// wire, max_size, dictionary, dictionaries
///     As in `decode`.
///
/// Returns
/// -------
/// Inspection
///     The format, layout and compression, the size of each layer in bytes, and the ratio to the
///     size of the same response as a verbose message.
///
/// Raises
/// ------
/// DecodeError
///     As `decode`.
///
/// Source: the layers are those of Compact Protocol v2 sections 1 to 5 and v4 section 4.
#[pyfunction]
#[pyo3(signature = (
    wire, /, *, max_size = DEFAULT_MAX_SIZE, dictionary = None, dictionaries = None,
))]
#[pyo3(text_signature = "(wire, /, *, max_size=67108864, dictionary=None, dictionaries=())")]
#[expect(clippy::cast_precision_loss, reason = "a ratio of sizes in memory needs no 53 bits")]
pub(super) fn inspect<'py>(
    wire: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
) -> Result<Inspection> {
    let py = wire.py();
    let data = Input::new(wire, "wire")?;
    let wire = data.wire(py)?;
    let opened = open(py, wire, max_size, dictionary, dictionaries)?;
    let bytes = compact::expected_size(wire);
    let decoded = detached(py, bytes, || opened.read())??;
    let verbose = EncodeOptions { format: Choice::Format(Format::Verbose), ..Default::default() };
    let verbose_size = detached(py, bytes, || compact::encode(&decoded.response, &verbose))??.len();
    let dictionary_id = opened.compression().and_then(Compression::dictionary);
    let compression = opened.compression().map(Compression::name);
    let layers = [
        ("wire", Some(wire.size())),
        (compression.unwrap_or(""), compression.and(opened.binary_len())),
        ("msgpack", opened.message_len()),
        ("result", Some(decoded.response.result.len())),
    ];
    Ok(Inspection {
        format: format_member(py, opened.format().name())?,
        version: decoded.layout.map(|layout| layout_version(py, layout)).transpose()?,
        compression: compression.map(Str),
        dictionary_id: dictionary_id.map(|id| Number(id.into())),
        layers: Layers(layers.into_iter().filter_map(|(name, size)| Some((name, size?))).collect()),
        verbose_size: Number(verbose_size),
        ratio: Number(wire.size() as f64 / verbose_size as f64),
        response: Response::from_core(py, &decoded)?.into_pyobject(py)?.unbind(),
    })
}
