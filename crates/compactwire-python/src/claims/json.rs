//! Canonical JSON, Merkle roots and token estimates.

use super::arguments::{collect, path, text};
use crate::args::{Input, each, natural};
use crate::calls::detach;
use crate::errors::{Result, invalid_path};
use crate::interrupt::attached;
use crate::make::{Number, Str, ensure_memory, make_bytes};
use crate::value;
use crate::value::read;
use compactwire::claims::{self, estimate_tokens as estimate};
use compactwire::json;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// The bytes of memory for each hash of the two lowest levels of a Merkle tree.
const MERKLE_FACTOR: usize = 128;

/// Compute the Merkle root over receipt hashes.
///
/// Parameters
/// ----------
/// hashes : iterable of str
///     Hashes of 64 lower-case hexadecimal digits, in the order of the chain.
///
/// Returns
/// -------
/// str
///     The root: 64 lower-case hexadecimal digits.
///
/// Raises
/// ------
/// EncodeError
///     An element is not a hash, or there are no hashes.
/// TypeError
///     An element is not a str.
///
/// Source: Compression Claims section 3.6.
#[pyfunction]
#[pyo3(signature = (hashes, /))]
pub(super) fn merkle_root(hashes: &Bound<'_, PyAny>) -> PyResult<Str<String>> {
    let py = hashes.py();
    let of = "str, each 64 lower-case hexadecimal digits";
    let hashes = each(hashes, "hashes", of)?.zip(0..);
    let taken = collect(hashes.map(|(hash, at)| text(&hash?, &format!("hashes[{at}]"))))?;
    ensure_memory(MERKLE_FACTOR * taken.len())?;
    claims::merkle_root(&taken).map(Str).ok_or_else(|| {
        let message = "expected at least one hash of 64 lower-case hexadecimal digits";
        invalid_path(py, "hashes", message)
    })
}

/// Write a value to a file as canonical JSON with a final line feed.
///
/// Parameters
/// ----------
/// path : str or path-like
///     The file. An existing regular file is replaced atomically; links are not followed.
/// value : dict
///     A claim, a trust policy or a Merkle attestation. It is not verified.
///
/// Raises
/// ------
/// UnsupportedValue
///     The value has no JSON form that `parse_json` accepts.
/// OSError
///     The file cannot be written, or the path exists and is not a regular file.
///
/// Source: Compression Claims section 3.1.
#[pyfunction]
#[pyo3(signature = (path, value, /))]
pub(super) fn write_json(path: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
    let (py, file) = (value.py(), self::path(path, "path")?);
    let value = read::value(value, "value")?;
    let written = detach(py, || attached(|| claims::write_json(&file, &value)))?;
    Ok(written?)
}

/// Encode a value as canonical JSON, without a final line feed.
///
/// Parameters
/// ----------
/// value : object
///     A value that `json.dumps` accepts, with `str` keys.
///
/// Returns
/// -------
/// bytes
///     The same bytes as those of `json.dumps(value, sort_keys=True, separators=(",", ":"))`.
///
/// Raises
/// ------
/// UnsupportedValue
///     The value has no JSON form.
///
/// Source: Compression Claims section 3.1.
#[pyfunction]
#[pyo3(signature = (value, /))]
pub(super) fn canonical_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let content = read::value(value, "value")?;
    let text = attached(|| claims::canonical_json(&content))?;
    make_bytes(value.py(), text.as_bytes())
}

/// Parse JSON as strictly as the verification does.
///
/// Parameters
/// ----------
/// data : bytes or str
///     A JSON document without duplicate members, lone surrogates, NaN, numbers beyond the range of
///     doubles, or a byte order mark. Nesting is limited to 128 levels, integers to 4300 digits.
///
/// Returns
/// -------
/// object
///     The value of the document.
///
/// Raises
/// ------
/// EncodeError
///     The document is invalid; the message says where.
///
/// Source: Compression Claims section 3.1.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub(super) fn parse_json<'py>(data: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = data.py();
    let value = if data.is_instance_of::<PyString>() {
        let text = text(data, "data")?;
        ensure_memory(json::memory_of(text.as_bytes()))?;
        attached(|| claims::parse_json(text.as_bytes()))?
    } else {
        let data = Input::new(data, "data")?;
        let bytes = data.bytes("data")?;
        ensure_memory(json::memory_of(bytes))?;
        attached(|| claims::parse_json(bytes))?
    };
    Ok(value::object(py, &value?)?)
}

/// Estimate the number of tokens of a text: a quarter of its bytes, rounded half to even.
///
/// `compactwire.estimate_tokens` is another estimate, which reads the text.
///
/// Parameters
/// ----------
/// size : int
///     The size of the text in UTF-8 bytes, from 0 to 2^63 - 1.
///
/// Raises
/// ------
/// EncodeError, TypeError
///     The size is out of this range, or not an int.
///
/// Source: Compression Claims section 7.1.
#[pyfunction]
#[pyo3(signature = (size, /))]
pub(super) fn estimate_tokens(size: &Bound<'_, PyAny>) -> PyResult<Number<u64>> {
    natural(size, "size").map(estimate).map(Number)
}
