//! Graph payloads as GCB and as JSON: the functions that `wire.GcbCodec` and `wire.JsonCodec` call. Wire
//! codecs, "Built-In Codecs" and "Binary Wire Layout".

use super::args::{self, Input, each, sizes, utf8_if_whole};
use super::errors::{Result, invalid_option};
use super::graph::{GRAPH_FACTOR, Payload};
use crate::args::named;
use crate::make::{ensure_memory, make_bytes, make_str};
use compactwire::excerpt::excerpt;
use compactwire::json::memory_of;
use compactwire::wire::{gcb, json};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// GCB and JSON; import `compactwire.wire` instead.
#[pymodule(name = "wire", gil_used = false)]
pub(super) mod module {
    #[pymodule_export]
    use super::{decode_gcb, decode_json, encode_gcb, encode_json};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::make_importable(module)
    }
}

/// `lossy=`: the names of the losses that are allowed.
fn lossy(names: Option<&Bound<'_, PyAny>>) -> PyResult<gcb::Lossy> {
    let mut lossy = gcb::Lossy::default();
    let Some(names) = names else { return Ok(lossy) };
    for name in each(names, "lossy", "str")? {
        let name = name?;
        match args::word(&name, "each name in lossy")? {
            "ids" => lossy.ids = true,
            "pack_root" => lossy.pack_root = true,
            "location" => lossy.location = true,
            "distance" => lossy.distance = true,
            "precision" => lossy.precision = true,
            "duplicates" => lossy.duplicates = true,
            "dangling" => lossy.dangling = gcb::Dangling::Drop,
            "dangling_zero" => lossy.dangling = gcb::Dangling::Zero,
            other => {
                let message = format!(
                    "lossy may contain ids, pack_root, location, distance, precision, duplicates, dangling \
                     or dangling_zero, not {}",
                    excerpt(other)
                );
                return Err(invalid_option("lossy", &message));
            }
        }
    }
    Ok(lossy)
}

/// Encode a payload as GCB.
///
/// Parameters
/// ----------
/// payload : Payload
///     The payload.
/// lossy : set of str, optional
///     The losses that are allowed instead of an error: "ids" (words without an id become empty),
///     "pack_root", "location", "distance" (only the lowest byte is kept), "precision" (numbers are
///     rounded to binary32), "duplicates" (an edge refers to the last symbol of its name),
///     "dangling" (edges to missing symbols are dropped) or "dangling_zero" (edges to missing
///     symbols refer to the first symbol).
///
/// Returns
/// -------
/// bytes
///     GCB version 1.
///
/// Raises
/// ------
/// WireError
///     GCB cannot represent the payload; `path` is the path of the value.
///
/// Source: wire codecs, "Binary Wire Layout".
#[pyfunction]
#[pyo3(signature = (payload, /, *, lossy = None))]
pub(super) fn encode_gcb<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = named::payload)] payload: &Payload,
    lossy: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyBytes>> {
    let lossy = self::lossy(lossy)?;
    let core = payload.core.clone();
    ensure_memory(GRAPH_FACTOR * core.size())?;
    let bytes = super::detached(py, core.size(), || gcb::encode(&core, lossy))?;
    Ok(make_bytes(py, &bytes?)?)
}

/// Decode GCB.
///
/// Parameters
/// ----------
/// data : bytes, bytearray or memoryview
///     GCB version 1. A str raises `TypeError`.
/// lossy : set of str, optional
///     "ids" decodes an unknown id as "unknown_N"; "duplicates" allows edges to symbols whose name
///     is not unique.
/// raw_float32 : bool
///     Whether numbers are the exact values of the binary32 (0.7799999713897705) rather than the
///     shortest decimals that round to it (0.78).
///
/// Returns
/// -------
/// Payload
///     The payload.
///
/// Raises
/// ------
/// WireError
///     The bytes are invalid; `offset` is the position of the error.
///
/// Source: wire codecs, "Binary Wire Layout".
#[pyfunction]
#[pyo3(signature = (data, /, *, lossy = None, raw_float32 = false))]
pub(super) fn decode_gcb(
    data: &Bound<'_, PyAny>,
    lossy: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = named::raw_float32)] raw_float32: bool,
) -> Result<Payload> {
    let py = data.py();
    let lossy = self::lossy(lossy)?;
    let options =
        gcb::DecodeOptions { raw_float32, unknown_ids: lossy.ids, duplicates: lossy.duplicates };
    let data = Input::new(data, "data")?;
    let bytes = data.bytes("data")?;
    let read = super::detached(py, bytes.len(), || gcb::decode(bytes, options))?;
    Ok(read.map(Into::into)?)
}

/// Encode a payload as JSON.
///
/// Parameters
/// ----------
/// payload : Payload
///     The payload; JSON contains all of it.
/// compact : bool
///     Whether to omit white space; otherwise each member is on its own line.
/// html_escape : bool
///     Whether "<", ">", "&", U+2028 and U+2029 are escaped.
/// max_expansion : int
///     The largest size in bytes of the names of all edges, which the text contains once per edge;
///     256 MiB by default.
///
/// Returns
/// -------
/// str
///     The text.
///
/// Raises
/// ------
/// WireError
///     `not_finite`: a number is NaN or infinite; `path` is its path. `too_large`: the names of the
///     edges take more than `max_expansion`.
///
/// Source: wire codecs, "Built-In Codecs".
#[pyfunction]
#[pyo3(signature = (
    payload, /, *, compact = false, html_escape = false, max_expansion = 268_435_456
))]
pub(super) fn encode_json<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = named::payload)] payload: &Payload,
    #[pyo3(from_py_with = named::compact)] compact: bool,
    #[pyo3(from_py_with = named::html_escape)] html_escape: bool,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Bound<'py, PyString>> {
    let core = payload.core.clone();
    let style = json::Style { compact, html_escape, max_expansion };
    // An estimate: JSON also contains the names of all fields, and of both ends of each edge.
    let bytes = 4 * core.size();
    let text = super::detached(py, bytes, || json::encode(&core, style))?;
    Ok(make_str(py, &text?)?)
}

/// Decode a payload from JSON.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     JSON as in RFC 8259; bytes are UTF-8. Missing members default to empty or 0, unknown members
///     are ignored; an object without any member of a payload is an error.
///
/// Returns
/// -------
/// Payload
///     The payload.
///
/// Raises
/// ------
/// WireError
///     `invalid_json` or `invalid_utf8` with `offset`, or `invalid_member` with `path`.
///
/// Source: wire codecs, "Built-In Codecs".
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(super) fn decode_json(text: &Bound<'_, PyAny>) -> Result<Payload> {
    let py = text.py();
    let data = Input::new(text, "text")?;
    let decode = |text: &str| {
        ensure_memory(memory_of(text.as_bytes()))?;
        super::detached(py, text.len(), || json::decode(text))
    };
    let whole = match &data {
        Input::Str(text) => utf8_if_whole(text)?,
        Input::Text(text) => Some(text.as_str()),
        Input::Bytes(_) | Input::Copy(_) => None,
    };
    let read = if let Some(text) = whole {
        decode(text)?
    } else {
        let bytes = data.bytes_or_utf8()?;
        ensure_memory(memory_of(&bytes))?;
        super::detached(py, bytes.len(), || json::decode_utf8(&bytes))?
    };
    Ok(read.map(Into::into)?)
}
