//! The fast reader: plain objects as a tree for the GCF encoder, with borrowed references.
//!
//! Nearly every value consists of plain dicts, lists and scalars. The tree borrows their strings. That
//! is sound because from the first object to the last character written this thread stays attached to
//! the interpreter and no Python code runs, so that nothing is changed or freed. The reader stops at
//! the first object that only [`super::read`] can read: one that needs `default=`, an `OrderedDict`
//! or another subclass, and anything that is an error. Without the interpreter's global lock it is
//! never used.

use crate::errors::{Error, Result};
use compactwire::gcf::{self, Builder, KeyId, Node, ShapeId};
use pyo3::ffi;
use pyo3::prelude::*;

/// Whether the interpreter has a global lock. Without one, the head of an object is larger than a
/// reference count and a class.
pub(crate) const LOCKED: bool = size_of::<ffi::PyObject>() == 2 * size_of::<usize>();

/// Adds `object` to `builder`, which borrows its strings. Returns whether it was read to the end; if
/// not, the builder is incomplete, and the checked reader must start again.
///
/// # Safety
/// The interpreter is [`LOCKED`]. While the builder or its tree is alive, the thread stays attached,
/// no Python code runs, and no reference that existed before is dropped.
pub(crate) unsafe fn read(object: &Bound<'_, PyAny>, builder: &mut Builder<'_>) -> Result<bool> {
    let mut reader = Reader { builder, keys: Vec::new() };
    // SAFETY: the caller promises what `value` requires.
    match unsafe { reader.value(object.as_ptr()) } {
        Ok(()) => Ok(true),
        Err(Stop::NotPlain) => Ok(false),
        Err(Stop::Error(error)) => Err(error),
    }
}

struct Reader<'b, 'a> {
    builder: &'b mut Builder<'a>,
    /// The object that last had each key, by the id of the key.
    keys: Vec<*mut ffi::PyObject>,
}

enum Stop {
    /// The checked reader reads this object, or reports its error.
    NotPlain,
    /// An error of the builder, which the checked reader would report alike.
    Error(Error),
}

impl From<gcf::Error> for Stop {
    fn from(error: gcf::Error) -> Self {
        Self::Error(error.into())
    }
}

impl<'a> Reader<'_, 'a> {
    // SAFETY, for all of them: `object` is alive, by the promise made to `read`. References borrowed
    // from dicts, lists and tuples stay alive because nothing changes.

    unsafe fn value(&mut self, object: *mut ffi::PyObject) -> Result<(), Stop> {
        // SAFETY: as above.
        unsafe {
            let class = ffi::Py_TYPE(object);
            if class == &raw mut ffi::PyUnicode_Type {
                let text = Self::text(object)?;
                self.builder.count(text);
                self.builder.push(Node::String(text));
            } else if class == &raw mut ffi::PyLong_Type {
                let value = Self::int(object)?;
                self.builder.push(Node::Int(value));
            } else if class == &raw mut ffi::PyFloat_Type {
                self.float(ffi::PyFloat_AS_DOUBLE(object))?;
            } else if object == ffi::Py_None() {
                self.builder.push(Node::Null);
            } else if object == ffi::Py_True() {
                self.builder.push(Node::Bool(true));
            } else if object == ffi::Py_False() {
                self.builder.push(Node::Bool(false));
            } else if class == &raw mut ffi::PyDict_Type {
                return self.dict(object);
            } else if class == &raw mut ffi::PyList_Type {
                return self.list(object);
            } else if class == &raw mut ffi::PyTuple_Type {
                return self.tuple(object);
            } else {
                return Err(Stop::NotPlain);
            }
        }
        Ok(())
    }

    unsafe fn int(object: *mut ffi::PyObject) -> Result<i64, Stop> {
        let mut overflow = 0;
        // SAFETY: the object is an int, for which this runs no code and does not fail.
        let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(object, &raw mut overflow) };
        if overflow == 0 { Ok(value) } else { Err(Stop::NotPlain) }
    }

    fn float(&mut self, value: f64) -> Result<(), Stop> {
        Ok(self.builder.push_float(value)?)
    }

    /// The text of a str; the checked reader reports a lone surrogate.
    unsafe fn text(object: *mut ffi::PyObject) -> Result<&'a str, Stop> {
        // SAFETY: the str outlives 'a by the caller's promise, and caches its UTF-8 as long; the data
        // of an ASCII str is its UTF-8.
        unsafe {
            let mut length = 0;
            let start = if ffi::PyUnicode_IS_COMPACT_ASCII(object) != 0 {
                length = ffi::PyUnicode_GET_LENGTH(object);
                ffi::PyUnicode_DATA(object).cast()
            } else {
                ffi::PyUnicode_AsUTF8AndSize(object, &raw mut length)
            };
            if start.is_null() {
                ffi::PyErr_Clear();
                return Err(Stop::NotPlain);
            }
            let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length.cast_unsigned());
            Ok(std::str::from_utf8_unchecked(bytes))
        }
    }

    unsafe fn key(&mut self, key: *mut ffi::PyObject) -> Result<KeyId, Stop> {
        // SAFETY: as for `value`.
        unsafe {
            if ffi::Py_TYPE(key) != &raw mut ffi::PyUnicode_Type {
                return Err(Stop::NotPlain);
            }
            let text = Self::text(key)?;
            self.builder.count(text);
            let id = self.builder.key_of(text);
            if self.keys.len() <= id as usize {
                self.keys.resize(id as usize + 1, std::ptr::null_mut());
            }
            self.keys[id as usize] = key;
            Ok(id)
        }
    }

    unsafe fn dict(&mut self, dict: *mut ffi::PyObject) -> Result<(), Stop> {
        // SAFETY: as above, a dict.
        self.begin(true, unsafe { ffi::PyDict_Size(dict) })?;
        // Most objects have the keys of the object before, as the rows of a table do.
        let mut expected = self.builder.expected();
        let mut found = 0;
        let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a dict that does not change.
        unsafe {
            while ffi::PyDict_Next(dict, &raw mut position, &raw mut key, &raw mut value) != 0 {
                let guess = expected.and_then(|shape| self.builder.expected_key(shape, found));
                let id = match guess {
                    // Two live objects have different addresses.
                    Some(id) if self.keys.get(id as usize) == Some(&key) => id,
                    _ => {
                        let id = self.key(key)?;
                        expected = expected.filter(|_| guess == Some(id));
                        id
                    }
                };
                found += 1;
                self.builder.push_key(id);
                self.value(value)?;
            }
        }
        let all = |&shape: &ShapeId| self.builder.expected_key(shape, found).is_none();
        let shape = expected.filter(all);
        Ok(self.builder.end_as(shape)?)
    }

    unsafe fn list(&mut self, list: *mut ffi::PyObject) -> Result<(), Stop> {
        // SAFETY: a list that does not change.
        unsafe {
            self.elements(ffi::PyList_GET_SIZE(list), |index| ffi::PyList_GET_ITEM(list, index))
        }
    }

    unsafe fn tuple(&mut self, tuple: *mut ffi::PyObject) -> Result<(), Stop> {
        // SAFETY: a tuple never changes.
        unsafe {
            self.elements(ffi::PyTuple_GET_SIZE(tuple), |index| ffi::PyTuple_GET_ITEM(tuple, index))
        }
    }

    /// The elements that `element` returns by index must be borrowed, valid objects.
    #[inline]
    unsafe fn elements(
        &mut self,
        count: ffi::Py_ssize_t,
        element: impl Fn(ffi::Py_ssize_t) -> *mut ffi::PyObject,
    ) -> Result<(), Stop> {
        self.begin(false, count)?;
        for index in 0..count {
            // SAFETY: the caller's condition.
            unsafe { self.value(element(index)) }?;
        }
        self.end()
    }

    fn begin(&mut self, is_object: bool, count: ffi::Py_ssize_t) -> Result<(), Stop> {
        self.builder.expect_container(is_object, count.cast_unsigned())?;
        Ok(self.builder.begin(is_object)?)
    }

    fn end(&mut self) -> Result<(), Stop> {
        Ok(self.builder.end()?)
    }
}
