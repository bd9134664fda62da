//! Streaming deltas: `encode_delta`, `apply_delta`, and `DeltaStream`, which remembers the text of one side.
//! Compact Protocol v2 "Streaming Delta Protocol".
//!
//! Invariant: a call that raises leaves the text of a `DeltaStream` unchanged.

use super::args::{self, sizes, utf8};
use super::errors::{Result, invalid_format};
use super::message::DEFAULT_MAX_SIZE;
use super::{built, detached, locked, locked_long};
use crate::args::named;
use crate::lock::Lock;
use crate::make::{Str, ensure_memory, make_str};

use compactwire::compact::delta::{self, ApplyOptions, Replace};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Encode the shortest delta that turns one text into another.
///
/// Parameters
/// ----------
/// old, new : str
///     The text that the peer has, and the text that it should have.
///
/// Returns
/// -------
/// str
///     `D|F|`, `D|+|` or `D|R|` with text, or `D|Z|` with one of them compressed, whichever is
///     shortest in UTF-8 bytes. A replacement is written only if all known readers interpret it
///     alike. For equal texts the delta is `D|+|`.
///
/// Raises
/// ------
/// EncodeError
///     A text has a lone surrogate.
///
/// Source: Compact Protocol v2 "Streaming Delta Protocol".
#[pyfunction]
#[pyo3(signature = (old, new, /))]
pub(super) fn encode_delta<'py>(
    #[pyo3(from_py_with = named::old)] old: &Bound<'py, PyString>,
    #[pyo3(from_py_with = named::new)] new: &Bound<'py, PyString>,
) -> Result<Bound<'py, PyString>> {
    let py = old.py();
    let (old, new) = (utf8(old, "old")?, utf8(new, "new")?);
    ensure_memory(FACTOR * (old.len() + new.len()))?;
    Ok(make_str(py, &detached(py, new.len(), || delta::encode(old, new))??)?)
}

/// Apply a delta to a text.
///
/// Parameters
/// ----------
/// old : str
///     The current text.
/// delta : str, bytes, bytearray or memoryview
///     `D|F|text` replaces the text, `D|+|text` appends to it, `D|R|position|text` overwrites it
///     from that code point on, `D|Z|` contains a compressed delta.
/// replace : {"overwrite", "truncate"}
///     Whether a `D|R|` replacement keeps the text after it (the specification) or truncates the
///     text there (the clients of protocol 2).
/// max_size : int
///     The largest decompressed size of a delta in bytes, 64 MiB by default.
///
/// Returns
/// -------
/// str
///     The new text.
///
/// Raises
/// ------
/// DecodeError
///     `InvalidFormat` for a malformed delta, a position after the end or a lone surrogate; for
///     `D|Z|` also the errors of Base85, Base64 and decompression.
///
/// Source: Compact Protocol v2 "Streaming Delta Protocol".
#[pyfunction]
#[pyo3(signature = (old, delta, /, *, replace = "overwrite", max_size = 67_108_864))]
pub(super) fn apply_delta<'py>(
    #[pyo3(from_py_with = named::old)] old: &Bound<'py, PyString>,
    delta: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = args::words::replace)] replace: &str,
    #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
) -> Result<Bound<'py, PyString>> {
    let py = old.py();
    let old = args::utf8_or(old, |_| invalid_format(py, "the old text has a lone surrogate"))?;
    let data = args::Input::new(delta, "delta")?;
    let delta = data.text(py)?;
    let options = options(replace, max_size)?;
    ensure_memory(old.len() + delta.len())?;
    let new = detached(py, old.len() + delta.len(), || delta::apply(old, delta, &options))??;
    Ok(make_str(py, &new)?)
}

fn options(replace: &str, max_size: usize) -> PyResult<ApplyOptions> {
    Ok(ApplyOptions { replace: args::replace(replace)?, max_size })
}

/// One end of a text stream that is transferred as deltas. Thread-safe.
///
/// Parameters
/// ----------
/// content : str
///     The text to start with.
/// replace : {"overwrite", "truncate"}
///     As in `apply_delta`.
/// max_size : int
///     The largest size in bytes of a decompressed delta, and of the text that `apply` returns.
///
/// Source: Compact Protocol v2 "Streaming Delta Protocol".
#[pyclass(frozen, module = "compactwire")]
pub(super) struct DeltaStream {
    /// Its text is replaced completely or not at all.
    core: Lock<delta::DeltaStream>,
    options: ApplyOptions,
}

#[pymethods]
impl DeltaStream {
    #[new]
    #[pyo3(signature = (content = None, /, *, replace = "overwrite", max_size = DEFAULT_MAX_SIZE))]
    #[pyo3(text_signature = "(content='', /, *, replace='overwrite', max_size=67108864)")]
    fn new(
        #[pyo3(from_py_with = named::content)] content: Option<&Bound<'_, PyString>>,
        #[pyo3(from_py_with = args::words::replace)] replace: &str,
        #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
    ) -> PyResult<Self> {
        let options = options(replace, max_size)?;
        let content = content.map_or(Ok(""), |content| utf8(content, "content"))?;
        ensure_memory(FACTOR * content.len())?;
        Ok(Self { core: Lock::new(delta::DeltaStream::new(content, options)), options })
    }

    /// Set a new text and return the delta to send to the peer.
    ///
    /// Raises
    /// ------
    /// EncodeError
    ///     The text has a lone surrogate.
    #[pyo3(signature = (content, /))]
    fn push<'py>(
        &self,
        #[pyo3(from_py_with = named::content)] content: &Bound<'py, PyString>,
    ) -> Result<Bound<'py, PyString>> {
        let py = content.py();
        let content = utf8(content, "content")?;
        self.ensure_memory(py, content.len())?;
        let delta = locked_long(py, &self.core, content.len(), |core| {
            core.push_with(content, |delta| built(|py| make_str(py, delta)))
        })?;
        Ok(delta?.into_bound(py))
    }

    /// Apply a delta of the peer and return the new text; an error leaves the text unchanged.
    ///
    /// Raises
    /// ------
    /// DecodeError
    ///     As `apply_delta`; `OutputTooLarge` also if the text would become larger than `max_size`.
    #[pyo3(signature = (delta, /))]
    fn apply<'py>(&self, delta: &Bound<'py, PyAny>) -> Result<Bound<'py, PyString>> {
        let py = delta.py();
        let data = args::Input::new(delta, "delta")?;
        let delta = data.text(py)?;
        self.ensure_memory(py, delta.len())?;
        let content = locked_long(py, &self.core, delta.len(), |core| {
            core.apply_with(delta, |content| built(|py| make_str(py, content)))
        })?;
        Ok(content?.into_bound(py))
    }

    /// The current text.
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.ensure_memory(py, 0)?;
        let content = locked(py, &self.core, |core| core.content().to_owned())?;
        make_str(py, &content)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<Str<String>> {
        let bytes = locked(py, &self.core, |core| core.content().len())?;
        let replace = match self.options.replace {
            Replace::Overwrite => "overwrite",
            Replace::Truncate => "truncate",
        };
        Ok(Str(format!("<DeltaStream, {bytes} bytes, replace={replace:?}>")))
    }
}

/// The largest number of bytes of memory that a call takes per byte of the text and of its input: it holds
/// the old and the new text as code points.
const FACTOR: usize = 8;

impl DeltaStream {
    /// Raises `MemoryError` unless there is memory for a call with an input of this size.
    fn ensure_memory(&self, py: Python<'_>, bytes: usize) -> PyResult<()> {
        let held = locked(py, &self.core, |core| core.content().len())?;
        ensure_memory(FACTOR * (held + bytes))
    }
}
