//! Canonical JSON and the small computations behind claims.

use super::super::args::{Input, natural};
use super::super::errors::Result;
use super::super::walk;
use super::arguments::{iterate, path, text};
use compactwire::claims::{self, estimate_tokens as estimate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// Compute the Merkle root over receipt hashes.
///
/// Parameters
/// ----------
/// hashes : iterable of str
///     Each 64 lower-case hexadecimal digits, in the order of the chain.
///
/// Returns
/// -------
/// str
///     The root: 64 lower-case hexadecimal digits.
///
/// Raises
/// ------
/// TypeError, ValueError
///     One is no hash, or there is none.
///
/// Source: Compression Claims section 3.6.
#[pyfunction]
#[pyo3(signature = (hashes, /))]
pub(super) fn merkle_root(hashes: &Bound<'_, PyAny>) -> PyResult<String> {
    let of = "str, each 64 lower-case hexadecimal digits";
    let hashes = iterate(hashes, "hashes", of)?.zip(0..);
    let hashes = hashes.map(|(hash, at)| text(&hash?, &format!("hashes[{at}]")));
    let hashes = hashes.collect::<PyResult<Vec<_>>>()?;
    claims::merkle_root(&hashes).ok_or_else(|| {
        PyValueError::new_err("expected at least one hash of 64 lower-case hexadecimal digits")
    })
}

/// Write a value as a file of canonical JSON, with the line feed at its end.
///
/// Parameters
/// ----------
/// path : str or path-like
///     The file. A regular file that is there is replaced as a whole; a link is not followed.
/// value : dict
///     A claim, a trust policy, a Merkle attestation. Whether it would verify is not asked.
///
/// Raises
/// ------
/// EncodeError, TypeError
///     `parse_json` could not read it back.
/// OSError
///     It cannot be written, or something else than a regular file is in the way.
///
/// Source: Compression Claims section 3.1.
#[pyfunction]
#[pyo3(signature = (path, value, /))]
pub(super) fn write_json(path: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
    let (py, file) = (value.py(), self::path(path, "path")?);
    let value = walk::value(value, "value")?;
    Ok(py.detach(|| claims::write_json(&file, &value))?)
}

/// Write a value as canonical JSON, without a line feed.
///
/// Parameters
/// ----------
/// value : object
///     What `json.dumps` takes, with `str` keys.
///
/// Returns
/// -------
/// bytes
///     Those of `json.dumps(value, sort_keys=True, separators=(",", ":"))`.
///
/// Raises
/// ------
/// EncodeError, TypeError
///     It has no JSON.
///
/// Source: Compression Claims section 3.1.
#[pyfunction]
#[pyo3(signature = (value, /))]
pub(super) fn canonical_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let text = claims::canonical_json(&walk::value(value, "value")?);
    Ok(PyBytes::new(value.py(), text.as_bytes()))
}

/// Read JSON as strictly as the verification does.
///
/// Parameters
/// ----------
/// data : bytes or str
///     One JSON document without duplicate members, lone surrogates, NaN, numbers beyond a double,
///     a byte order mark; nested at most 128 deep, integers of at most 4300 digits.
///
/// Returns
/// -------
/// object
///     Its value.
///
/// Raises
/// ------
/// EncodeError
///     It is not like that; the message says where.
///
/// Source: Compression Claims section 3.1.
#[pyfunction]
#[pyo3(signature = (data, /))]
pub(super) fn parse_json<'py>(data: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = data.py();
    let value = if data.is_instance_of::<PyString>() {
        claims::parse_json(text(data, "data")?.as_bytes())
    } else {
        claims::parse_json(Input::new(data)?.bytes()?)
    };
    Ok(walk::object(py, &value?)?)
}

/// Say how many tokens a text of so many UTF-8 bytes is taken for: a quarter, half to even.
///
/// Parameters
/// ----------
/// size : int
///     In bytes, from 0 to 2^63 - 1.
///
/// Raises
/// ------
/// EncodeError, TypeError
///     It is out of this range, or no int.
///
/// Source: Compression Claims section 7.1.
#[pyfunction]
#[pyo3(signature = (size, /))]
pub(super) fn estimate_tokens(size: &Bound<'_, PyAny>) -> PyResult<u64> {
    natural(size, "size").map(estimate)
}
