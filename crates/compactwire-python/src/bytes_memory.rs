//! The memory of a `bytes` object that grows while the core writes into it.

use crate::abi;
use compactwire::text::output::Memory;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ptr::NonNull;

/// A `bytes` object that nothing else refers to.
pub(crate) struct BytesMemory<'py> {
    py: Python<'py>,
    /// Null before the first byte, and after an allocation that failed.
    object: *mut ffi::PyObject,
}

impl<'py> BytesMemory<'py> {
    pub(crate) fn new(py: Python<'py>) -> Self {
        Self { py, object: std::ptr::null_mut() }
    }

    fn resize(&mut self, size: usize) -> Option<()> {
        let size = ffi::Py_ssize_t::try_from(size).ok()?;
        // SAFETY: the thread is attached, and nothing else refers to the object.
        unsafe {
            if self.object.is_null() {
                self.object = ffi::PyBytes_FromStringAndSize(std::ptr::null(), size);
            } else if abi::resize(&mut self.object, size) != 0 {
                self.object = std::ptr::null_mut();
            }
            if self.object.is_null() {
                ffi::PyErr_Clear();
                return None;
            }
        }
        Some(())
    }

    /// The object, truncated to the bytes that were written; `None` if there is not enough memory.
    pub(crate) fn finish(mut self, size: usize) -> Option<Bound<'py, PyBytes>> {
        self.resize(size)?;
        let object = std::mem::replace(&mut self.object, std::ptr::null_mut());
        // SAFETY: the only reference to a `bytes` object goes to the caller.
        unsafe { Some(Bound::from_owned_ptr(self.py, object).cast_into_unchecked()) }
    }
}

// SAFETY: the object has at least `capacity` bytes, and a resized one the content of the old.
unsafe impl Memory for BytesMemory<'_> {
    fn grow(&mut self, _: usize, capacity: usize) -> Option<NonNull<u8>> {
        self.resize(capacity)?;
        // SAFETY: the object is a `bytes` object.
        NonNull::new(unsafe { abi::bytes(self.object) })
    }
}

impl Drop for BytesMemory<'_> {
    fn drop(&mut self) {
        // SAFETY: the object is null, or this is the only reference.
        unsafe { ffi::Py_XDECREF(self.object) };
    }
}
