//! The calls that differ between the two kinds of wheels.
//!
//! A wheel for one version of CPython reads and writes the memory of objects. A wheel for the stable ABI
//! (the features `abi3` and `abi3t`) runs on later versions, too, and calls functions instead. Everything
//! else in this crate is the same for both.
//!
//! On Windows, both link the functions that PyO3 declares and no others: it names the DLL of each, so that no
//! import library is needed. A function that is declared here would be an undefined symbol.

use std::ffi::c_int;

#[cfg(not(Py_LIMITED_API))]
pub(crate) use of_one_version::*;
#[cfg(Py_LIMITED_API)]
pub(crate) use stable::*;

#[cfg(not(Py_LIMITED_API))]
mod of_one_version {
    use super::Moment;
    #[cfg(not(Py_3_14))]
    use super::Units;
    use compactwire::text::characters::{self, Measure, Unit};
    use pyo3::ffi::{self, PyObject};
    use pyo3::prelude::*;
    use std::mem::MaybeUninit;

    /// A new `str` of `len` ASCII characters that `fill` writes; they are zero before.
    ///
    /// # Safety
    /// `fill` writes ASCII only, or fails.
    #[inline]
    pub(crate) unsafe fn ascii(
        py: Python<'_>,
        len: ffi::Py_ssize_t,
        fill: impl FnOnce(&mut [u8]) -> PyResult<()>,
    ) -> PyResult<Bound<'_, PyAny>> {
        // SAFETY: PyUnicode_New returns a new object of `len` one-byte characters, or an error; no other
        // code has a reference to it before it is filled. Uninitialised memory must not be read.
        unsafe {
            let object = Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_New(len, 127))?;
            let start = ffi::PyUnicode_DATA(object.as_ptr()).cast::<u8>();
            std::ptr::write_bytes(start, 0, len.cast_unsigned());
            fill(std::slice::from_raw_parts_mut(start, len.cast_unsigned()))?;
            Ok(object)
        }
    }

    /// A new `str` of the `len` ASCII characters at `start`; null and an exception without memory.
    ///
    /// # Safety
    /// The thread is attached to the interpreter, and so many characters can be read.
    #[inline]
    pub(crate) unsafe fn copy_of_ascii(start: *const u8, len: ffi::Py_ssize_t) -> *mut PyObject {
        // SAFETY: as in `ascii`; the copy fills the object.
        unsafe {
            let object = ffi::PyUnicode_New(len, 127);
            if !object.is_null() {
                let to = ffi::PyUnicode_DATA(object).cast::<u8>();
                std::ptr::copy_nonoverlapping(start, to, len.cast_unsigned());
            }
            object
        }
    }

    /// A new `str` of a text, whose length is `len`; null and an exception without memory. The interpreter
    /// would not know at the beginning how large it becomes, and would copy it at the first wider character.
    ///
    /// # Safety
    /// The thread is attached to the interpreter.
    pub(crate) unsafe fn copy_of_text(text: &str, len: ffi::Py_ssize_t) -> *mut PyObject {
        /// # Safety
        /// The object is a new `str` of `count` characters, each of the size of `T`.
        unsafe fn fill<T: Unit>(object: *mut PyObject, text: &str, count: usize) {
            // SAFETY: as above; no other code has a reference to the object before it is filled.
            let units = unsafe {
                let start = ffi::PyUnicode_DATA(object).cast::<MaybeUninit<T>>();
                std::slice::from_raw_parts_mut(start, count)
            };
            let written = characters::write(text, units);
            assert_eq!(written, count, "every character has been written");
        }
        // The interpreter shares the characters up to U+00FF.
        if text.len() < 3 {
            // SAFETY: the text has so many bytes.
            return unsafe { ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), len) };
        }
        let Measure { count, bound } = characters::measure(text);
        // SAFETY: PyUnicode_New returns a new object of `count` characters of this size, which are not more
        // than the bytes of the text, or an error.
        unsafe {
            let object = ffi::PyUnicode_New(count.cast_signed(), bound.into());
            if !object.is_null() {
                match bound {
                    ..='\u{FF}' => fill::<u8>(object, text, count),
                    ..='\u{FFFF}' => fill::<u16>(object, text, count),
                    _ => fill::<u32>(object, text, count),
                }
            }
            object
        }
    }

    /// The UTF-8 of a `str`, which owns it, and its length; null and an exception if there is none.
    ///
    /// # Safety
    /// The object is a `str`.
    #[inline]
    pub(crate) unsafe fn utf8(object: *mut PyObject) -> (*const u8, ffi::Py_ssize_t) {
        let mut length = 0;
        // SAFETY: the data of an ASCII `str` is its UTF-8.
        unsafe {
            // The layout of a `str` of later versions is unknown to PyO3.
            #[cfg(not(Py_3_14))]
            if ffi::PyUnicode_IS_COMPACT_ASCII(object) != 0 {
                let start = ffi::PyUnicode_DATA(object).cast_const().cast();
                return (start, ffi::PyUnicode_GET_LENGTH(object));
            }
            (ffi::PyUnicode_AsUTF8AndSize(object, &raw mut length).cast(), length)
        }
    }

    /// The characters of a `str`; `None` if they need four bytes, or if the `str` owns its UTF-8, as each does
    /// that is ASCII.
    ///
    /// # Safety
    /// The object is a `str` that outlives the result.
    #[inline]
    #[cfg(not(Py_3_14))]
    pub(crate) unsafe fn units<'a>(object: *mut PyObject) -> Option<Units<'a>> {
        use std::slice::from_raw_parts;
        // SAFETY: a compact `str` that is not ASCII has the layout of `PyCompactUnicodeObject`. Its kind is
        // the size of its characters.
        unsafe {
            if ffi::PyUnicode_IS_COMPACT_ASCII(object) != 0
                || ffi::PyUnicode_IS_COMPACT(object) == 0
                || !(*object.cast::<ffi::PyCompactUnicodeObject>()).utf8.is_null()
            {
                return None;
            }
            let count = ffi::PyUnicode_GET_LENGTH(object).cast_unsigned();
            let start = ffi::PyUnicode_DATA(object).cast_const();
            match ffi::PyUnicode_KIND(object) {
                ffi::PyUnicode_1BYTE_KIND => Some(Units::One(from_raw_parts(start.cast(), count))),
                ffi::PyUnicode_2BYTE_KIND => Some(Units::Two(from_raw_parts(start.cast(), count))),
                _ => None,
            }
        }
    }

    /// The fields of a `date` or a `datetime`; `None` for an instance of a subclass, or with a zone other than
    /// `timezone.utc`.
    pub(crate) fn moment(object: &Bound<'_, PyAny>) -> Option<Moment> {
        let object = object.as_ptr();
        // SAFETY: the thread is attached, the table lives as long as the interpreter, and the fields are read
        // from objects of exactly their class.
        unsafe {
            if ffi::PyDateTimeAPI().is_null() {
                ffi::PyDateTime_IMPORT();
            }
            let Some(api) = ffi::PyDateTimeAPI().as_ref() else {
                ffi::PyErr_Clear();
                return None;
            };
            let class = ffi::Py_TYPE(object);
            if class != api.DateTimeType && class != api.DateType {
                return None;
            }
            let year = ffi::PyDateTime_GET_YEAR(object);
            let date = [year, ffi::PyDateTime_GET_MONTH(object), ffi::PyDateTime_GET_DAY(object)];
            if class == api.DateType {
                return Some(Moment { date, clock: None, is_utc: false });
            }
            let zone = ffi::PyDateTime_DATE_GET_TZINFO(object);
            if zone != ffi::Py_None() && zone != api.TimeZone_UTC {
                return None;
            }
            let clock = [
                ffi::PyDateTime_DATE_GET_HOUR(object),
                ffi::PyDateTime_DATE_GET_MINUTE(object),
                ffi::PyDateTime_DATE_GET_SECOND(object),
                ffi::PyDateTime_DATE_GET_MICROSECOND(object),
            ];
            Some(Moment { date, clock: Some(clock), is_utc: zone == api.TimeZone_UTC })
        }
    }

    #[cfg(Py_3_14)]
    pub(crate) use super::no_units as units;

    /// The value of a `float`.
    ///
    /// # Safety
    /// The object is a `float`.
    #[inline]
    pub(crate) unsafe fn float(object: *mut PyObject) -> f64 {
        // SAFETY: as above.
        unsafe { ffi::PyFloat_AS_DOUBLE(object) }
    }

    /// Fills a place of a new list with a reference of the caller.
    ///
    /// # Safety
    /// The list has this place, which is empty; no other code has a reference to the list.
    #[inline]
    pub(crate) unsafe fn fill(list: *mut PyObject, at: ffi::Py_ssize_t, object: *mut PyObject) {
        // SAFETY: as above.
        unsafe { ffi::PyList_SET_ITEM(list, at, object) }
    }

    /// The elements of a list or tuple that does not change.
    pub(crate) struct Elements {
        start: *const *mut PyObject,
        pub(crate) length: usize,
    }

    impl Elements {
        /// # Safety
        /// The object is a list.
        #[inline]
        pub(crate) unsafe fn of_list(object: *mut PyObject) -> Self {
            // SAFETY: as above.
            unsafe {
                let start = (*object.cast::<ffi::PyListObject>()).ob_item.cast_const();
                Self { start, length: ffi::PyList_GET_SIZE(object).cast_unsigned() }
            }
        }

        /// # Safety
        /// The object is a tuple.
        #[inline]
        pub(crate) unsafe fn of_tuple(object: *mut PyObject) -> Self {
            // SAFETY: as above.
            unsafe {
                let start = (&raw const (*object.cast::<ffi::PyTupleObject>()).ob_item).cast();
                Self { start, length: ffi::PyTuple_GET_SIZE(object).cast_unsigned() }
            }
        }

        /// A borrowed reference to an element.
        ///
        /// # Safety
        /// The list or tuple is alive and has not changed.
        #[inline]
        pub(crate) unsafe fn get(&self, index: usize) -> *mut PyObject {
            assert!(index < self.length);
            // SAFETY: the array has so many elements.
            unsafe { *self.start.add(index) }
        }
    }

    /// The bytes of a `bytes` object.
    ///
    /// # Safety
    /// The object is a `bytes` object.
    #[inline]
    pub(crate) unsafe fn bytes(object: *mut PyObject) -> *mut u8 {
        // SAFETY: as above.
        unsafe { ffi::PyBytes_AS_STRING(object).cast_mut().cast() }
    }

    /// Changes the size of a `bytes` object and keeps its content. If there is not enough memory, frees the
    /// object, sets the pointer to null and raises `MemoryError`.
    ///
    /// # Safety
    /// The caller has the only reference, to an object that Python code has never seen.
    #[cfg(not(windows))]
    pub(crate) unsafe fn resize(
        bytes: &mut *mut PyObject,
        size: ffi::Py_ssize_t,
    ) -> std::ffi::c_int {
        use std::ffi::c_int;
        unsafe extern "C" {
            fn _PyBytes_Resize(bytes: *mut *mut PyObject, size: ffi::Py_ssize_t) -> c_int;
        }
        // SAFETY: as above.
        unsafe { _PyBytes_Resize(&raw mut *bytes, size) }
    }

    #[cfg(windows)]
    pub(crate) use super::resize_by_copy as resize;

    /// A new dict with the capacity for `entries`; null and an exception without memory.
    ///
    /// # Safety
    /// The thread is attached to the interpreter.
    #[inline]
    #[cfg(not(any(Py_3_14, windows)))]
    pub(crate) unsafe fn dict(entries: ffi::Py_ssize_t) -> *mut PyObject {
        unsafe extern "C" {
            /// Python 3.11 to 3.13 export this undocumented function.
            fn _PyDict_NewPresized(entries: ffi::Py_ssize_t) -> *mut PyObject;
        }
        // SAFETY: as above.
        unsafe { _PyDict_NewPresized(entries) }
    }

    #[cfg(any(Py_3_14, windows))]
    pub(crate) use super::growing_dict as dict;

    /// Sets the value of a key whose hash is known; -1 and an exception without memory.
    ///
    /// # Safety
    /// The thread is attached to the interpreter; the first object is a dict, and the hash is that of the key.
    #[inline]
    #[cfg(not(any(Py_3_14, windows)))]
    pub(crate) unsafe fn set_known(
        dict: *mut PyObject,
        key: *mut PyObject,
        value: *mut PyObject,
        hash: ffi::Py_hash_t,
    ) -> std::ffi::c_int {
        unsafe extern "C" {
            /// Python 3.11 to 3.13 export this undocumented function.
            fn _PyDict_SetItem_KnownHash(
                dict: *mut PyObject,
                key: *mut PyObject,
                value: *mut PyObject,
                hash: ffi::Py_hash_t,
            ) -> std::ffi::c_int;
        }
        // SAFETY: as above.
        unsafe { _PyDict_SetItem_KnownHash(dict, key, value, hash) }
    }

    #[cfg(any(Py_3_14, windows))]
    pub(crate) use super::set_hashed as set_known;
}

/// The functions of `of_one_version`, where their effect and safety are documented, for the stable ABI.
#[cfg(Py_LIMITED_API)]
mod stable {
    pub(crate) use super::growing_dict as dict;
    pub(crate) use super::no_moment as moment;
    pub(crate) use super::no_units as units;
    pub(crate) use super::resize_by_copy as resize;
    pub(crate) use super::set_hashed as set_known;

    use pyo3::ffi::{self, PyObject};
    use pyo3::prelude::*;

    pub(crate) unsafe fn ascii(
        py: Python<'_>,
        len: ffi::Py_ssize_t,
        fill: impl FnOnce(&mut [u8]) -> PyResult<()>,
    ) -> PyResult<Bound<'_, PyAny>> {
        let mut characters = Vec::new();
        if characters.try_reserve_exact(len.cast_unsigned()).is_err() {
            // SAFETY: the thread is attached.
            unsafe { ffi::PyErr_NoMemory() };
            return Err(PyErr::fetch(py));
        }
        characters.resize(len.cast_unsigned(), 0);
        fill(&mut characters)?;
        // SAFETY: the thread is attached. The function returns a new object or an error.
        unsafe { Bound::from_owned_ptr_or_err(py, copy_of_ascii(characters.as_ptr(), len)) }
    }

    #[inline]
    pub(crate) unsafe fn copy_of_ascii(start: *const u8, len: ffi::Py_ssize_t) -> *mut PyObject {
        // SAFETY: the caller promises that there are so many characters.
        unsafe { ffi::PyUnicode_FromStringAndSize(start.cast(), len) }
    }

    #[inline]
    pub(crate) unsafe fn copy_of_text(text: &str, len: ffi::Py_ssize_t) -> *mut PyObject {
        // SAFETY: the text has so many bytes.
        unsafe { ffi::PyUnicode_FromStringAndSize(text.as_ptr().cast(), len) }
    }

    #[inline]
    pub(crate) unsafe fn utf8(object: *mut PyObject) -> (*const u8, ffi::Py_ssize_t) {
        let mut length = 0;
        // SAFETY: the object is a `str`.
        unsafe { (ffi::PyUnicode_AsUTF8AndSize(object, &raw mut length).cast(), length) }
    }

    #[inline]
    pub(crate) unsafe fn float(object: *mut PyObject) -> f64 {
        // SAFETY: the object is a `float`, for which this runs no code and does not fail.
        unsafe { ffi::PyFloat_AsDouble(object) }
    }

    #[inline]
    pub(crate) unsafe fn fill(list: *mut PyObject, at: ffi::Py_ssize_t, object: *mut PyObject) {
        // SAFETY: the list has this place, so this does not fail.
        unsafe { ffi::PyList_SetItem(list, at, object) };
    }

    pub(crate) struct Elements {
        sequence: *mut PyObject,
        get: unsafe extern "C" fn(*mut PyObject, ffi::Py_ssize_t) -> *mut PyObject,
        pub(crate) length: usize,
    }

    impl Elements {
        #[inline]
        pub(crate) unsafe fn of_list(sequence: *mut PyObject) -> Self {
            // SAFETY: the object is a list.
            let length = unsafe { ffi::PyList_Size(sequence) }.cast_unsigned();
            Self { sequence, get: ffi::PyList_GetItem, length }
        }

        #[inline]
        pub(crate) unsafe fn of_tuple(sequence: *mut PyObject) -> Self {
            // SAFETY: the object is a tuple.
            let length = unsafe { ffi::PyTuple_Size(sequence) }.cast_unsigned();
            Self { sequence, get: ffi::PyTuple_GetItem, length }
        }

        #[inline]
        pub(crate) unsafe fn get(&self, index: usize) -> *mut PyObject {
            assert!(index < self.length);
            // SAFETY: the sequence is alive and has so many elements, so this does not fail.
            unsafe { (self.get)(self.sequence, index.cast_signed()) }
        }
    }

    #[inline]
    pub(crate) unsafe fn bytes(object: *mut PyObject) -> *mut u8 {
        // SAFETY: the object is a `bytes` object.
        unsafe { ffi::PyBytes_AsString(object).cast() }
    }
}

/// The characters of a `str`, in units of one or two bytes.
#[cfg_attr(any(Py_3_14, Py_LIMITED_API), expect(dead_code, reason = "see `no_units`"))]
pub(crate) enum Units<'a> {
    One(&'a [u8]),
    Two(&'a [u16]),
}

impl Units<'_> {
    /// The number of characters.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::One(units) => units.len(),
            Self::Two(units) => units.len(),
        }
    }

    /// Replaces `text` by the characters; returns whether it did: not for a lone surrogate, or without memory.
    pub(crate) fn read(&self, text: &mut String) -> bool {
        let read = match self {
            Self::One(units) => compactwire::text::characters::read(units, text),
            Self::Two(units) => compactwire::text::characters::read(units, text),
        };
        read == Ok(true)
    }
}

/// `units` where the layout of a `str` is not known.
#[cfg(any(Py_3_14, Py_LIMITED_API))]
#[inline]
pub(crate) unsafe fn no_units<'a>(_: *mut pyo3::ffi::PyObject) -> Option<Units<'a>> {
    None
}

/// The fields of a `date` or `datetime`.
pub(crate) struct Moment {
    /// Year, month and day.
    pub(crate) date: [c_int; 3],
    /// Hour, minute, second and microsecond.
    pub(crate) clock: Option<[c_int; 4]>,
    pub(crate) is_utc: bool,
}

/// `moment` where the layout of a `datetime` is not known.
#[cfg(Py_LIMITED_API)]
pub(crate) fn no_moment(_: &pyo3::Bound<'_, pyo3::PyAny>) -> Option<Moment> {
    None
}

/// `resize` where its function is not exported, or cannot be linked.
#[cfg(any(windows, Py_LIMITED_API))]
pub(crate) unsafe fn resize_by_copy(
    bytes: &mut *mut pyo3::ffi::PyObject,
    size: pyo3::ffi::Py_ssize_t,
) -> std::ffi::c_int {
    use pyo3::ffi;
    // SAFETY: the copied bytes are within both objects.
    unsafe {
        let new = ffi::PyBytes_FromStringAndSize(std::ptr::null(), size);
        if !new.is_null() {
            let both = ffi::PyBytes_Size(*bytes).min(size).cast_unsigned();
            self::bytes(new).copy_from_nonoverlapping(self::bytes(*bytes), both);
        }
        ffi::Py_DECREF(*bytes);
        *bytes = new;
        if new.is_null() { -1 } else { 0 }
    }
}

/// `dict` where the function that sets the capacity is not exported, or cannot be linked: the dict grows.
#[cfg(any(Py_3_14, windows, Py_LIMITED_API))]
#[inline]
pub(crate) unsafe fn growing_dict(_: pyo3::ffi::Py_ssize_t) -> *mut pyo3::ffi::PyObject {
    // SAFETY: the caller is attached to the interpreter.
    unsafe { pyo3::ffi::PyDict_New() }
}

/// `set_known` where the function that takes the hash is not exported, or cannot be linked: a `str` keeps its own.
#[cfg(any(Py_3_14, windows, Py_LIMITED_API))]
#[inline]
pub(crate) unsafe fn set_hashed(
    dict: *mut pyo3::ffi::PyObject,
    key: *mut pyo3::ffi::PyObject,
    value: *mut pyo3::ffi::PyObject,
    _: pyo3::ffi::Py_hash_t,
) -> std::ffi::c_int {
    // SAFETY: the caller is attached to the interpreter, and the first object is a dict.
    unsafe { pyo3::ffi::PyDict_SetItem(dict, key, value) }
}
