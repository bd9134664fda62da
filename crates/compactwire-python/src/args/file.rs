//! Files and paths.

use super::input::Input;
use super::object::{lacks_method, wrong_type};
use super::text::{surrogate_at, utf8_if_whole};
use crate::calls::{Run, import};
use crate::errors::{invalid_option, os_error};
use crate::make::{PathString, args, make_bytes, make_list, make_size, name, push, py_error};
use compactwire::excerpt::excerpt;
use pyo3::exceptions::{PyOSError, PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use std::io;
use std::path::{Path, PathBuf};

/// A file at a path, read by Python's `FileIO`: Ctrl-C ends its wait for the other end of a FIFO, but would
/// not end that of `std::fs`.
pub(crate) struct PathFile(Py<PyAny>);

impl PathFile {
    pub(crate) fn open(py: Python<'_>, path: &Path) -> PyResult<Self> {
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(py_error::<PyOSError>("file name contained an unexpected NUL byte"));
        }
        let io = import(py, name!(py, "io")?)?;
        let path = args!(py, PathString(path.to_owned()))?;
        Ok(Self(io.run_method(name!(py, "FileIO")?, path)?.unbind()))
    }

    /// Reads at most `size` bytes; none at the end of the file.
    pub(crate) fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let size = args!(py, make_size(py, size)?)?;
        Ok(self.0.bind(py).run_method(name!(py, "read")?, size)?.cast_into()?)
    }

    /// Reads a whole file. It may be endless: signals are handled after every [`PIECE`].
    pub(crate) fn read_all<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyBytes>> {
        let file = Self::open(py, path)?;
        let mut pieces = Vec::new();
        loop {
            let piece = file.read(py, PIECE).map_err(|error| named_error(py, error, path))?;
            if piece.as_bytes().is_empty() {
                return joined(py, pieces);
            }
            push(&mut pieces, piece)?;
            py.check_signals()?;
        }
    }
}

/// How many bytes of a whole file are read at once: with a fast disk in a few milliseconds, after which signals
/// are handled.
const PIECE: usize = 8 << 20;

/// Names the file in the error of a read, which does not. It occurs for some files of `/proc`, and for a folder
/// on Windows.
fn named_error(py: Python<'_>, error: PyErr, path: &Path) -> PyErr {
    match name!(py, "errno").and_then(|errno| error.value(py).run_getattr(errno)?.extract()) {
        Ok(code) => os_error(&io::Error::from_raw_os_error(code), path.to_owned()),
        Err(_) => error,
    }
}

fn joined<'py>(
    py: Python<'py>,
    mut pieces: Vec<Bound<'py, PyBytes>>,
) -> PyResult<Bound<'py, PyBytes>> {
    if pieces.len() == 1
        && let Some(whole) = pieces.pop()
    {
        return Ok(whole);
    }
    let pieces = make_list(py, pieces.into_iter().map(Ok))?;
    Ok(make_bytes(py, b"")?.run_method(name!(py, "join")?, args!(py, pieces)?)?.cast_into()?)
}

impl Drop for PathFile {
    fn drop(&mut self) {
        // Otherwise Python warns of a file that was not closed. An error of `close` is ignored, because
        // nothing was written.
        Python::attach(|py| {
            // `close` must not run with an exception set, and must not replace it.
            let raised = PyErr::take(py);
            let _closed = name!(py, "close").and_then(|close| self.0.bind(py).run_method0(close));
            if let Some(raised) = raised {
                raised.restore(py);
            }
        });
    }
}

/// The content of a file: what the `read` of an open file returned, or the bytes of a file at a path.
///
/// If the argument is not a file, but is content that `parses`, the error names `reader`, the function for
/// content.
pub(crate) fn read_file<'py>(
    file: &Bound<'py, PyAny>,
    reader: &str,
    parses: impl FnOnce(&[u8]) -> bool,
) -> PyResult<Bound<'py, PyAny>> {
    if file.run_hasattr(name!(file.py(), "read")?)? {
        return file.run_method(name!(file.py(), "read")?, PyTuple::empty(file.py()));
    }
    if Input::is_bytes(file) {
        let message =
            format!("file must be a path or an open file, not bytes; use `{reader}` for content");
        return Err(py_error::<PyTypeError>(message));
    }
    let advice = format!("use `{reader}` for content");
    let content = PathFile::read_all(file.py(), &path_of(file, "file")?)
        .map_err(|error| content_error(file, "file", &advice, parses, error))?;
    Ok(content.into_any())
}

/// Opens the file at a path. If the argument is not a path, but content that `parses`, the error says so.
pub(crate) fn open_path(
    path: &Bound<'_, PyAny>,
    name: &str,
    parses: impl FnOnce(&[u8]) -> bool,
) -> PyResult<PathFile> {
    let advice = "use `io.StringIO` to read content";
    PathFile::open(path.py(), &path_of(path, name)?)
        .map_err(|error| content_error(path, name, advice, parses, error))
}

/// The error for a file that cannot be opened: another one if the argument is content whose first lines
/// `parses` accepts.
fn content_error(
    file: &Bound<'_, PyAny>,
    name: &str,
    advice: &str,
    parses: impl FnOnce(&[u8]) -> bool,
    error: PyErr,
) -> PyErr {
    let text = file.cast::<PyString>().ok();
    let text = text.and_then(|text| utf8_if_whole(text).ok().flatten());
    let text = text.filter(|_| error.is_instance_of::<PyOSError>(file.py()));
    match text.filter(|text| !text.is_empty() && parses(beginning(text.as_bytes()))) {
        Some(text) => {
            let text = excerpt(text);
            let message = format!("{text} is content, not the path of a file; {advice}");
            invalid_option(name, &message)
        }
        None => error,
    }
}

/// The first lines of a text, which are enough to see that it is no path, and quickly read.
fn beginning(text: &[u8]) -> &[u8] {
    const MOST: usize = 4096;
    let Some(head) = text.get(..MOST) else { return text };
    let whole = head.iter().rposition(|byte| *byte == b'\n');
    whole.map_or(head, |end| &head[..end])
}

/// Converts the argument `name`, which may also be an open file, to a path; `OptionError` for a lone
/// surrogate, which no path has.
pub(crate) fn path_of(value: &Bound<'_, PyAny>, name: &str) -> PyResult<PathBuf> {
    path_or(value, name, "a path (str or os.PathLike) or an open file")
}

/// A path, for `#[pyo3(from_py_with = path)]`; `OptionError` for a lone surrogate.
pub(crate) fn path(value: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    path_or(value, "path", "a path (str or os.PathLike)")
}

fn path_or(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<PathBuf> {
    value.extract().map_err(|error| {
        surrogate_in(value, name, &error).unwrap_or_else(|| {
            // Without memory, a path has another error.
            let is_type = error.is_instance_of::<PyTypeError>(value.py());
            let is_wrong = is_type && lacks_method(value, "__fspath__");
            if is_wrong { wrong_type(value, name, expected) } else { error }
        })
    })
}

/// The `OptionError` for the argument `name` if Python could not encode it.
fn surrogate_in(value: &Bound<'_, PyAny>, name: &str, error: &PyErr) -> Option<PyErr> {
    let found = error.is_instance_of::<PyUnicodeEncodeError>(value.py());
    found.then(|| invalid_option(name, &format!("{name}: {}", surrogate_at(error, value.py()))))
}
