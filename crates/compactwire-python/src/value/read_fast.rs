//! The fast walk: plain objects, with borrowed references.
//!
//! Nearly every value consists of plain dicts, lists and scalars. The walk borrows them and their strings.
//! That is sound because this thread stays attached to the interpreter during the whole walk and no
//! Python code runs, so that nothing is changed or freed. The walk stops at the first
//! object that only [`super::owned`] or [`super::read`] can read: one that needs `default=`, an `OrderedDict`
//! whose order is not that of its dict, and anything that is an error. Without the interpreter's global lock it
//! is never used.

use super::kind::ordered_dict;
use crate::abi::{self, Elements, Units};
use compactwire::walk::{Found, Look, Stop, Type, Walk};
use pyo3::ffi;
use pyo3::prelude::*;
use std::marker::PhantomData;

/// Whether the interpreter has a global lock. Without one, the head of an object is larger than a
/// reference count and a class.
pub(crate) const LOCKED: bool = size_of::<ffi::PyObject>() == 2 * size_of::<usize>();

/// A walk over plain objects.
pub(crate) struct BorrowedWalk<'py> {
    /// The class `OrderedDict`; null if it is not known.
    ordered: *mut ffi::PyTypeObject,
    /// The last text that was converted to UTF-8 here.
    text: String,
    _attached: PhantomData<Python<'py>>,
}

/// An object that this walk cannot read; [`super::owned`] may be able to.
pub(crate) struct NotPlain;

/// A borrowed reference that a [`BorrowedWalk`] has found.
#[derive(Clone)]
pub(crate) struct Borrowed(*mut ffi::PyObject);

/// A position in a dict.
pub(crate) struct BorrowedDict {
    dict: *mut ffi::PyObject,
    next: ffi::Py_ssize_t,
}

impl<'py> BorrowedWalk<'py> {
    /// A walk that begins at `object`.
    ///
    /// # Safety
    /// The interpreter is [`LOCKED`]. While the walk is used, the thread stays attached, no Python code
    /// runs, and no reference that existed before is dropped.
    pub(crate) unsafe fn new(object: &Bound<'py, PyAny>) -> (Self, Borrowed) {
        let ordered = ordered_dict(object.py()).map_or(std::ptr::null_mut(), Bound::as_type_ptr);
        let text = String::new();
        (Self { ordered, text, _attached: PhantomData }, Borrowed(object.as_ptr()))
    }
}

impl BorrowedWalk<'_> {
    /// The text of a str; [`Stop::Unusual`] if it has a lone surrogate.
    #[inline(always)]
    fn text(&mut self, object: *mut ffi::PyObject) -> Result<&str, Stop<NotPlain>> {
        // SAFETY: the str outlives the use of its characters.
        match unsafe { abi::units(object) } {
            Some(units) => self.converted(&units),
            None => text_of(object),
        }
    }

    #[inline(never)]
    fn converted(&mut self, units: &Units<'_>) -> Result<&str, Stop<NotPlain>> {
        if units.read(&mut self.text) { Ok(&self.text) } else { Err(Stop::Unusual) }
    }
}

// SAFETY, for all blocks below: each object is alive, by the promise made to `new`. References borrowed
// from dicts, lists and tuples stay alive because nothing changes.

/// The text of a str; [`Stop::Unusual`] if it has a lone surrogate.
#[inline]
fn text_of<'v>(object: *mut ffi::PyObject) -> Result<&'v str, Stop<NotPlain>> {
    // SAFETY: the str outlives its users by the promise made to `new`, and owns its UTF-8 as long.
    unsafe {
        let (start, length) = abi::utf8(object);
        if start.is_null() {
            ffi::PyErr_Clear();
            return Err(Stop::Unusual);
        }
        let bytes = std::slice::from_raw_parts(start, length.cast_unsigned());
        Ok(std::str::from_utf8_unchecked(bytes))
    }
}

/// The content of an int; [`Stop::Unusual`] if it exceeds 64 bits.
#[inline]
fn int_of<'v, A, O>(object: *mut ffi::PyObject) -> Result<Found<'v, A, O>, Stop<NotPlain>> {
    let mut overflow = 0;
    // SAFETY: the object is an int, for which this runs no code and does not fail.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(object, &raw mut overflow) };
    if overflow == 0 { Ok(Found::Int(value)) } else { Err(Stop::Unusual) }
}

/// Whether an `OrderedDict` has the same order as its dict, as nearly all have: not after `move_to_end`.
#[cold]
fn is_in_order_of_dict(object: *mut ffi::PyObject) -> bool {
    let key_at = |next: &mut ffi::Py_ssize_t| {
        let mut key = std::ptr::null_mut();
        // SAFETY: the object is a dict that does not change.
        unsafe { ffi::PyDict_Next(object, next, &raw mut key, std::ptr::null_mut()) };
        key
    };
    // SAFETY: the class is the one of CPython, in C, if it cannot be changed. Its iterator finds each key in the
    // dict; that runs no Python code if all keys are of exactly the class str, and neither does a new object
    // while the collector is off.
    unsafe {
        if ffi::PyType_GetFlags(ffi::Py_TYPE(object)) & ffi::Py_TPFLAGS_HEAPTYPE != 0 {
            return false;
        }
        let mut next = 0;
        while let key = key_at(&mut next)
            && !key.is_null()
        {
            if ffi::Py_TYPE(key) != &raw mut ffi::PyUnicode_Type {
                return false;
            }
        }
        let collects = ffi::PyGC_Disable() == 1;
        let keys = ffi::PyObject_GetIter(object);
        if collects {
            ffi::PyGC_Enable();
        }
        let (mut next, mut same) = (0, !keys.is_null());
        while same {
            let key = ffi::PyIter_Next(keys);
            same = key == key_at(&mut next);
            if key.is_null() {
                break;
            }
            ffi::Py_DECREF(key);
        }
        // The two may have different keys, after methods of dict that were called for an `OrderedDict`.
        same &= ffi::PyErr_Occurred().is_null();
        ffi::PyErr_Clear();
        ffi::Py_XDECREF(keys);
        same
    }
}

/// The content of an instance of a subclass. Its methods are not called.
#[cold]
fn subclass_of<'v>(
    object: *mut ffi::PyObject,
    ordered: *mut ffi::PyTypeObject,
) -> Result<Found<'v, Elements, BorrowedDict>, Stop<NotPlain>> {
    // SAFETY: each function is called for an instance of its class.
    unsafe {
        if ffi::PyDict_Check(object) != 0 {
            let class = ffi::Py_TYPE(object);
            let is_ordered = ordered.is_null() || ffi::PyType_IsSubtype(class, ordered) != 0;
            if is_ordered && !(class == ordered && is_in_order_of_dict(object)) {
                return Err(Stop::Failed(NotPlain));
            }
            return Ok(Found::Object(BorrowedDict { dict: object, next: 0 }));
        }
        if ffi::PyUnicode_Check(object) != 0 {
            Ok(Found::Text(text_of(object)?))
        } else if ffi::PyLong_Check(object) != 0 {
            int_of(object)
        } else if ffi::PyFloat_Check(object) != 0 {
            Ok(Found::Float(abi::float(object)))
        } else if ffi::PyList_Check(object) != 0 {
            Ok(Found::Array(Elements::of_list(object)))
        } else if ffi::PyTuple_Check(object) != 0 {
            Ok(Found::Array(Elements::of_tuple(object)))
        } else {
            Ok(Found::Foreign)
        }
    }
}

impl Walk for BorrowedWalk<'_> {
    type Value = Borrowed;
    type Key = Borrowed;
    type Array = Elements;
    type Object = BorrowedDict;
    type Error = NotPlain;

    #[inline(always)]
    fn look<'v>(&'v mut self, value: &'v Borrowed) -> Look<'v, Self> {
        let object = value.0;
        // SAFETY: each function is called for an object of its class.
        unsafe {
            let class = ffi::Py_TYPE(object);
            if class == &raw mut ffi::PyUnicode_Type {
                Ok(Found::Text(self.text(object)?))
            } else if class == &raw mut ffi::PyLong_Type {
                int_of(object)
            } else if class == &raw mut ffi::PyFloat_Type {
                Ok(Found::Float(abi::float(object)))
            } else if object == ffi::Py_None() {
                Ok(Found::Null)
            } else if object == ffi::Py_True() {
                Ok(Found::Bool(true))
            } else if object == ffi::Py_False() {
                Ok(Found::Bool(false))
            } else if class == &raw mut ffi::PyDict_Type {
                Ok(Found::Object(BorrowedDict { dict: object, next: 0 }))
            } else if class == &raw mut ffi::PyList_Type {
                Ok(Found::Array(Elements::of_list(object)))
            } else if class == &raw mut ffi::PyTuple_Type {
                Ok(Found::Array(Elements::of_tuple(object)))
            } else {
                subclass_of(object, self.ordered)
            }
        }
    }

    #[inline]
    fn type_of(&self, value: &Borrowed) -> Type {
        let object = value.0;
        // SAFETY: the object is alive.
        unsafe {
            let class = ffi::Py_TYPE(object);
            if class == &raw mut ffi::PyDict_Type {
                Type::Object
            } else if class == &raw mut ffi::PyUnicode_Type
                || class == &raw mut ffi::PyLong_Type
                || class == &raw mut ffi::PyFloat_Type
                || class == &raw mut ffi::PyBool_Type
            {
                Type::Scalar
            } else if object == ffi::Py_None() {
                Type::Null
            } else if ffi::PyList_Check(object) != 0 || ffi::PyTuple_Check(object) != 0 {
                Type::Array
            } else if ffi::PyUnicode_Check(object) != 0
                || ffi::PyLong_Check(object) != 0
                || ffi::PyFloat_Check(object) != 0
            {
                Type::Scalar
            } else if ffi::PyDict_Check(object) != 0 {
                Type::Object
            } else {
                Type::Foreign
            }
        }
    }

    fn convert(&mut self, _: &Borrowed) -> Result<Borrowed, Stop<NotPlain>> {
        Err(Stop::Failed(NotPlain))
    }

    fn expect_foreign(&self) -> Result<(), Stop<NotPlain>> {
        Err(Stop::Failed(NotPlain))
    }

    #[inline]
    fn length(&self, array: &Elements) -> usize {
        array.length
    }

    #[inline]
    fn element(&self, array: &Elements, index: usize) -> Borrowed {
        // SAFETY: by the promise made to `new`.
        unsafe { Borrowed(array.get(index)) }
    }

    fn size(&self, object: &BorrowedDict) -> usize {
        // SAFETY: the object is a dict.
        unsafe { ffi::PyDict_Size(object.dict).cast_unsigned() }
    }

    #[inline]
    fn next(&self, object: &mut BorrowedDict) -> Option<(Borrowed, Borrowed)> {
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the object is a dict that does not change.
        let found = unsafe {
            ffi::PyDict_Next(object.dict, &raw mut object.next, &raw mut key, &raw mut value)
        };
        (found != 0).then_some((Borrowed(key), Borrowed(value)))
    }

    fn first_member(&self, object: &BorrowedDict) -> Option<Borrowed> {
        self.next(&mut BorrowedDict { next: 0, ..*object }).map(|(_, value)| value)
    }

    fn all_members(&self, object: &BorrowedDict, mut test: impl FnMut(Type) -> bool) -> bool {
        let mut members = BorrowedDict { next: 0, ..*object };
        while let Some((_, value)) = self.next(&mut members) {
            if !test(self.type_of(&value)) {
                return false;
            }
        }
        true
    }

    #[inline]
    fn is_same(&self, left: &Borrowed, right: &Borrowed) -> bool {
        // Two live objects have different addresses.
        left.0 == right.0
    }

    /// [`Stop::Unusual`] for a key of another class than str: keys of a subclass may have the same text.
    #[inline]
    fn key<'k>(&self, key: &'k Borrowed) -> Result<&'k str, Stop<NotPlain>> {
        // SAFETY: the key is alive.
        if unsafe { ffi::Py_TYPE(key.0) } == &raw mut ffi::PyUnicode_Type {
            text_of(key.0)
        } else {
            Err(Stop::Unusual)
        }
    }
}
