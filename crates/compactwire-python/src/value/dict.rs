//! Dicts with `str` keys, and ints, made by the fastest functions that the interpreter exports.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

#[cfg(not(Py_3_14))]
unsafe extern "C" {
    /// Returns a dict with the capacity for so many entries: not documented, but exported by 3.11 to 3.13.
    fn _PyDict_NewPresized(entries: ffi::Py_ssize_t) -> *mut ffi::PyObject;
}

/// Later versions are not known to export the function: their dicts grow.
#[cfg(Py_3_14)]
unsafe fn _PyDict_NewPresized(_: ffi::Py_ssize_t) -> *mut ffi::PyObject {
    // SAFETY: the caller is attached to the interpreter.
    unsafe { ffi::PyDict_New() }
}

/// The largest capacity: the number of columns that a text declares is not trusted.
const MOST: usize = 1 << 10;

/// An empty dict with the capacity for `entries`.
#[inline]
pub(super) fn with_capacity(py: Python<'_>, entries: usize) -> PyResult<Bound<'_, PyDict>> {
    let entries = ffi::Py_ssize_t::try_from(entries.min(MOST)).unwrap_or(0);
    // SAFETY: the thread is attached to the interpreter. The function returns a new dict or an error.
    unsafe {
        let dict = Bound::from_owned_ptr_or_err(py, _PyDict_NewPresized(entries))?;
        Ok(dict.cast_into_unchecked())
    }
}

/// Sets the value of a key.
#[inline]
pub(super) fn set(
    dict: &Bound<'_, PyDict>,
    key: &Bound<'_, PyString>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    // SAFETY: the thread is attached to the interpreter, and all three are alive. The dict takes
    // references of its own.
    let result = unsafe { ffi::PyDict_SetItem(dict.as_ptr(), key.as_ptr(), value.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(PyErr::fetch(dict.py())) }
}

/// An int.
#[inline]
pub(super) fn int(py: Python<'_>, value: i64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the thread is attached to the interpreter. The function returns an int or an error.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLongLong(value)) }
}
