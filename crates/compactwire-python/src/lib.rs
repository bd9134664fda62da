//! The Python module `compactwire._core`: each function converts arguments, makes one call to the
//! core, and converts the result or error.
//!
//! This crate mirrors the core, one file per subject. `args` converts arguments, `errors` converts
//! errors, `record` has the base classes of value objects. Objects are frozen. Mutable state, such
//! as the content of a `DeltaStream`, is behind a lock, under which no Python code runs; the module
//! is therefore declared safe without the interpreter's lock.
//!
//! PyO3 derives the signatures that Python shows. A `text_signature` is written only where a default
//! is not a literal in Rust: mostly `None`, for an argument whose conversion names it in errors.

#![expect(clippy::doc_markdown, reason = "these are Python's docstrings")]
#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes what it converts by value")]
#![expect(non_upper_case_globals, reason = "class attributes have the names that Python reads")]

mod args;
mod bytes_memory;
mod cad;
mod claims;
mod delta;
mod dictionary;
mod errors;
mod gcf;
mod graph;
mod inspect;
mod interrupt;
mod message;
mod record;
mod request;
mod response;
mod session;
mod shrink;
mod tool_call;
mod value;
mod wire;

use compactwire::memory;
use compactwire::walk::Text;
use interrupt::{DETACH_FROM, detached, undone_detached};
use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyString};
use std::sync::{Mutex, PoisonError};

/// The compiled core of compactwire; import `compactwire` instead.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::cad::cad;
    #[pymodule_export]
    use super::claims::claims;
    #[pymodule_export]
    use super::delta::{DeltaStream, apply_delta, encode_delta};
    #[pymodule_export]
    use super::dictionary::Dictionary;
    #[pymodule_export]
    use super::gcf::module as gcf;
    #[pymodule_export]
    use super::graph::module as graph;
    #[pymodule_export]
    use super::inspect::{Inspection, inspect};
    #[pymodule_export]
    use super::message::{decode, decode_base85, detect, encode, encode_base85, encode_bytes};
    #[pymodule_export]
    use super::record::{Frozen, Record};
    #[pymodule_export]
    use super::request::Request;
    #[pymodule_export]
    use super::response::{Response, restore_response};
    #[pymodule_export]
    use super::session::{Session, SessionStats, restore_session, restore_session_stats};
    #[pymodule_export]
    use super::shrink::{Shrunk, estimate_tokens_of, expand_text, shrink_object};
    #[pymodule_export]
    use super::tool_call::{
        ToolCall, decode_tool_call, encode_tool_call, encode_tool_call_bytes, restore_tool_call,
    };
    #[pymodule_export]
    use super::wire::module as wire;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Registers a submodule, so that `import compactwire._core.name` finds it although it is not a
/// file.
fn make_importable(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let name = format!("compactwire._core.{}", module.name()?);
    module.setattr("__name__", &name)?;
    module.py().import("sys")?.getattr("modules")?.set_item(name, module)
}

/// Runs `work` under a lock for a short time. `work` must not run Python code, and must leave the content
/// valid even if it panics: a poisoned lock is used like any other.
fn locked<L, T>(py: Python<'_>, lock: &Mutex<L>, work: impl FnOnce(&mut L) -> T) -> T {
    work(&mut lock.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
}

/// Like [`locked`], without the interpreter lock if there are many bytes to process. Ctrl-C stops it:
/// until the last poll, `work` must change nothing.
fn locked_long<L: Send, T: Send>(
    py: Python<'_>,
    lock: &Mutex<L>,
    bytes: usize,
    mut work: impl Send + FnMut(&mut L) -> T,
) -> PyResult<T> {
    if bytes < DETACH_FROM {
        return Ok(locked(py, lock, work));
    }
    undone_detached(py, || work(&mut lock.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Creates a `str` of `len` ASCII characters that `fill` writes in place.
fn ascii_str(
    py: Python<'_>,
    len: usize,
    fill: impl FnOnce(&mut [u8]) -> PyResult<()>,
) -> PyResult<Bound<'_, PyString>> {
    let size = ffi::Py_ssize_t::try_from(len).map_err(|_| PyMemoryError::new_err(()))?;
    // SAFETY: PyUnicode_New returns a new object of `len` one-byte characters, or an error; no
    // other code has a reference to it before it is filled. Its memory is zeroed first, because
    // uninitialised memory must not be read. With a `String` in between, `encode_base85` of 1 MiB
    // takes two to three times as long: to measure it, return `PyString::new(py,
    // &base85::encode(bytes))` there and run the benches.
    unsafe {
        let text = Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(size, 127))?;
        let start = ffi::PyUnicode_DATA(text.as_ptr()).cast::<u8>();
        std::ptr::write_bytes(start, 0, len);
        fill(std::slice::from_raw_parts_mut(start, len))?;
        Ok(text.cast_into_unchecked())
    }
}

/// Raises `MemoryError` unless there is memory for a call that takes about `bytes`. Most allocations of
/// the core would abort the process if they failed.
fn ensure_memory(bytes: usize) -> PyResult<()> {
    memory::ensure(bytes).map_err(|_| {
        let message = format!("not enough memory for a call that takes about {bytes} bytes");
        PyMemoryError::new_err(message)
    })
}

/// Creates a bytes object; `PyBytes::new` panics if there is not enough memory.
fn make_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |target| {
        target.copy_from_slice(bytes);
        Ok(())
    })
}

/// Creates a str, faster than the interpreter if it is ASCII; `PyString::new` panics if there is not
/// enough memory.
fn make_str<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    if text.len() < 2 {
        #[expect(clippy::disallowed_methods, reason = "the interpreter shares these strings")]
        return Ok(PyString::new(py, text));
    }
    let size = ffi::Py_ssize_t::try_from(text.len()).map_err(|_| PyMemoryError::new_err(()))?;
    if !text.is_ascii() {
        // SAFETY: the function copies `size` bytes of UTF-8 from the pointer into a new object.
        return unsafe {
            let object = ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), size);
            Ok(Bound::from_owned_ptr_or_err(py, object)?.cast_into_unchecked())
        };
    }
    make_ascii(py, text)
}

/// [`make_str`] for a text that may be known to be ASCII.
#[inline]
fn make_text<'py>(py: Python<'py>, text: Text<'_>) -> PyResult<Bound<'py, PyString>> {
    if text.is_ascii && text.text.len() > 1 {
        make_ascii(py, text.text)
    } else {
        make_str(py, text.text)
    }
}

/// Creates a str from ASCII.
#[inline]
fn make_ascii<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    let size = ffi::Py_ssize_t::try_from(text.len()).map_err(|_| PyMemoryError::new_err(()))?;
    // SAFETY: PyUnicode_New returns a new object of `size` one-byte characters, or an error; no
    // other code has a reference to it before it is completely filled.
    unsafe {
        let object = Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(size, 127))?;
        let start = ffi::PyUnicode_DATA(object.as_ptr()).cast::<u8>();
        std::ptr::copy_nonoverlapping(text.as_ptr(), start, text.len());
        Ok(object.cast_into_unchecked())
    }
}
