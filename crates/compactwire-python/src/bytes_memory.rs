//! The memory of a `bytes` object that grows while the core writes into it.

use compactwire::text::output::Memory;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ptr::NonNull;

#[cfg(not(windows))]
unsafe extern "C" {
    fn _PyBytes_Resize(bytes: *mut *mut ffi::PyObject, size: ffi::Py_ssize_t) -> std::ffi::c_int;
}

/// Changes the size of a `bytes` object and keeps its content. If there is not enough memory, frees the
/// object, sets the pointer to null and raises `MemoryError`.
///
/// # Safety
/// The caller has the only reference, to an object that Python code has never seen.
#[cfg(windows)]
unsafe fn _PyBytes_Resize(
    bytes: *mut *mut ffi::PyObject,
    size: ffi::Py_ssize_t,
) -> std::ffi::c_int {
    // SAFETY: the copied bytes are within both objects.
    unsafe {
        let old = *bytes;
        let new = ffi::PyBytes_FromStringAndSize(std::ptr::null(), size);
        if !new.is_null() {
            let both = ffi::PyBytes_Size(old).min(size).cast_unsigned();
            let to = ffi::PyBytes_AS_STRING(new).cast_mut();
            to.copy_from_nonoverlapping(ffi::PyBytes_AS_STRING(old), both);
        }
        ffi::Py_DECREF(old);
        *bytes = new;
        if new.is_null() { -1 } else { 0 }
    }
}

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
            } else if _PyBytes_Resize(&raw mut self.object, size) != 0 {
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
        NonNull::new(unsafe { ffi::PyBytes_AS_STRING(self.object) }.cast_mut().cast())
    }
}

impl Drop for BytesMemory<'_> {
    fn drop(&mut self) {
        // SAFETY: the object is null, or this is the only reference.
        unsafe { ffi::Py_XDECREF(self.object) };
    }
}
