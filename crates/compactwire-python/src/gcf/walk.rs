//! Python objects as a tree for the encoder.
//!
//! Nearly every value is made of plain dicts, lists and scalars. Such a value is walked with borrowed
//! references, and its texts are borrowed by the tree: that is sound because from the first object
//! to the last character written this thread stays attached to the interpreter and no Python code
//! runs, so that nothing is changed or freed. The walk gives up at the first object that would need
//! code of its own (`default=`, an `OrderedDict`), and without the interpreter's global lock it
//! is never tried. Then the value is walked again with owned references, containers and texts are
//! copied before anything else happens, and code may run and change what it likes.

use super::super::args::lone_surrogate;
use crate::errors::{Error, Result};
use compactwire::gcf::{self, Builder, Code, KeyId, Limits, Node, ShapeId, out_of_range_message};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

/// Whether the interpreter has a global lock: without one, objects have more than a count and a
/// class.
pub(super) const LOCKED: bool = size_of::<ffi::PyObject>() == 2 * size_of::<usize>();

/// What becomes of a quick walk.
pub(super) enum Quick {
    Done,
    /// Something needs code of its own.
    GaveUp,
}

/// Tells `object` to `builder` if it is made of plain objects.
///
/// The builder borrows the texts of the value.
///
/// # Safety
/// The interpreter is [`LOCKED`]. While anything made by `builder` lives, the thread stays attached, no Python code runs, and no
/// reference that existed before is given up.
pub(super) unsafe fn quick(object: &Bound<'_, PyAny>, builder: &mut Builder<'_>) -> Result<Quick> {
    let mut walk = QuickWalk { builder, keys: Vec::new() };
    // SAFETY: the caller promises what `value` asks for.
    match unsafe { walk.value(object.as_ptr()) } {
        Ok(()) => Ok(Quick::Done),
        Err(Stop::GiveUp) => Ok(Quick::GaveUp),
        Err(Stop::Error(error)) => Err(error),
    }
}

struct QuickWalk<'b, 'a> {
    builder: &'b mut Builder<'a>,
    /// The object of each key, by its id.
    keys: Vec<*mut ffi::PyObject>,
}

enum Stop {
    GiveUp,
    Error(Error),
}

impl From<gcf::Error> for Stop {
    fn from(error: gcf::Error) -> Self {
        Self::Error(error.into())
    }
}

impl<'a> QuickWalk<'_, 'a> {
    // SAFETY, for all of them: `object` is a live object, by the promise made to `quick`. Borrowed
    // references from dicts, lists and tuples stay alive because nothing changes.

    unsafe fn value(&mut self, object: *mut ffi::PyObject) -> Result<(), Stop> {
        // SAFETY: as above.
        unsafe {
            let class = ffi::Py_TYPE(object);
            if class == &raw mut ffi::PyUnicode_Type {
                let text = Self::text(object)?;
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
                return Err(Stop::GiveUp);
            }
        }
        Ok(())
    }

    unsafe fn int(object: *mut ffi::PyObject) -> Result<i64, Stop> {
        let mut overflow = 0;
        // SAFETY: the object is an int, for which this runs no code and does not fail.
        let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(object, &raw mut overflow) };
        if overflow == 0 { Ok(value) } else { Err(Stop::GiveUp) }
    }

    fn float(&mut self, value: f64) -> Result<(), Stop> {
        Ok(self.builder.push_float(value)?)
    }

    /// The text of a str, whose errors the careful walk reports.
    unsafe fn text(object: *mut ffi::PyObject) -> Result<&'a str, Stop> {
        // SAFETY: the str outlives 'a by the caller's promise, and keeps its UTF-8 as long; ASCII is
        // its own.
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
                return Err(Stop::GiveUp);
            }
            let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length.cast_unsigned());
            Ok(std::str::from_utf8_unchecked(bytes))
        }
    }

    unsafe fn key(&mut self, key: *mut ffi::PyObject) -> Result<KeyId, Stop> {
        // SAFETY: as for `value`.
        unsafe {
            if ffi::Py_TYPE(key) != &raw mut ffi::PyUnicode_Type {
                return Err(Stop::GiveUp);
            }
            let text = Self::text(key)?;
            let id = self.builder.key_of(text);
            if self.keys.len() <= id as usize {
                self.keys.resize(id as usize + 1, std::ptr::null_mut());
            }
            self.keys[id as usize] = key;
            Ok(id)
        }
    }

    unsafe fn dict(&mut self, dict: *mut ffi::PyObject) -> Result<(), Stop> {
        self.begin(true)?;
        // Mostly the keys are those of the object before, as of the rows of a table.
        let mut expected = self.builder.expected();
        let mut found = 0;
        let (mut position, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: a dict that does not change.
        unsafe {
            while ffi::PyDict_Next(dict, &raw mut position, &raw mut key, &raw mut value) != 0 {
                let guess = expected.and_then(|shape| self.builder.expected_key(shape, found));
                let id = match guess {
                    // Two live objects have not the same address.
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
        self.begin(false)?;
        // SAFETY: a list that does not change.
        unsafe {
            for index in 0..ffi::PyList_GET_SIZE(list) {
                self.value(ffi::PyList_GET_ITEM(list, index))?;
            }
        }
        self.end()
    }

    unsafe fn tuple(&mut self, tuple: *mut ffi::PyObject) -> Result<(), Stop> {
        self.begin(false)?;
        // SAFETY: a tuple never changes.
        unsafe {
            for index in 0..ffi::PyTuple_GET_SIZE(tuple) {
                self.value(ffi::PyTuple_GET_ITEM(tuple, index))?;
            }
        }
        self.end()
    }

    fn begin(&mut self, is_object: bool) -> Result<(), Stop> {
        Ok(self.builder.begin(is_object)?)
    }

    fn end(&mut self) -> Result<(), Stop> {
        Ok(self.builder.end()?)
    }
}

/// Tells any object to `builder`; `default` is asked about those that have no form.
pub(super) fn careful(
    object: &Bound<'_, PyAny>,
    builder: &mut Builder<'_>,
    default: Option<&Bound<'_, PyAny>>,
    limits: Limits,
) -> Result<()> {
    CarefulWalk { builder, default, limits }.value(object)
}

struct CarefulWalk<'b, 'a, 'd, 'py> {
    builder: &'b mut Builder<'a>,
    default: Option<&'d Bound<'py, PyAny>>,
    limits: Limits,
}

impl<'py> CarefulWalk<'_, '_, '_, 'py> {
    fn value(&mut self, object: &Bound<'py, PyAny>) -> Result<()> {
        if self.plain(object)? {
            return Ok(());
        }
        let Some(default) = self.default else { return Err(self.unsupported(object)) };
        let mut object = default.call1((object,))?;
        for _ in 0..self.limits.max_depth {
            if self.plain(&object)? {
                return Ok(());
            }
            object = default.call1((&object,))?;
        }
        let message = "default= goes on giving objects that have no form".to_owned();
        Err(self.fail(Code::LimitExceeded, message))
    }

    /// Tells an object that has a form; whether it has.
    fn plain(&mut self, object: &Bound<'py, PyAny>) -> Result<bool> {
        if let Ok(text) = object.cast::<PyString>() {
            match text.to_str() {
                Ok(text) => self.builder.push_copy(text),
                Err(_) => {
                    return Err(self.fail(Code::InvalidSurrogate, lone_surrogate(text)));
                }
            }
        } else if object.is_none() {
            self.builder.push(Node::Null);
        } else if let Ok(value) = object.cast::<PyBool>() {
            self.builder.push(Node::Bool(value.is_true()));
        } else if let Ok(value) = object.cast::<PyInt>() {
            let value = self.int(value)?;
            self.builder.push(Node::Int(value));
        } else if let Ok(value) = object.cast::<PyFloat>() {
            self.builder.push_float(value.value())?;
        } else if let Ok(dict) = object.cast::<PyDict>() {
            self.dict(dict)?;
        } else if let Ok(list) = object.cast::<PyList>() {
            self.elements(&list.to_tuple())?;
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            self.elements(tuple)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn int(&self, value: &Bound<'py, PyInt>) -> Result<i64> {
        let mut overflow = 0;
        // SAFETY: the object is an int, for which this does not fail.
        let number =
            unsafe { ffi::PyLong_AsLongLongAndOverflow(value.as_ptr(), &raw mut overflow) };
        if overflow == 0 {
            return Ok(number);
        }
        let py = value.py();
        // Of the class, because a subclass may have its own. Python limits the digits.
        let digits = py.get_type::<PyInt>().call_method1("__repr__", (value,));
        let digits = digits.and_then(|digits| digits.extract::<String>());
        let digits = digits.unwrap_or_else(|_| "with thousands of digits".to_owned());
        Err(self.fail(Code::OutOfRange, out_of_range_message(&digits)))
    }

    fn dict(&mut self, dict: &Bound<'py, PyDict>) -> Result<()> {
        self.begin(true)?;
        for (key, value) in items(dict)? {
            let Ok(name) = key.cast::<PyString>() else {
                let found = key.get_type().name()?;
                let message = format!("keys must be str, not {found}");
                return Err(self.builder.container_error(Code::UnsupportedType, message).into());
            };
            let Ok(text) = name.to_str() else {
                let message = format!("in a key, {}", lone_surrogate(name));
                return Err(self.builder.container_error(Code::InvalidSurrogate, message).into());
            };
            self.builder.push_key_copy(text);
            self.value(&value)?;
        }
        self.end()
    }

    fn elements(&mut self, elements: &Bound<'py, PyTuple>) -> Result<()> {
        self.begin(false)?;
        for element in elements.iter() {
            self.value(&element)?;
        }
        self.end()
    }

    fn begin(&mut self, is_object: bool) -> Result<()> {
        Ok(self.builder.begin(is_object)?)
    }

    fn end(&mut self) -> Result<()> {
        Ok(self.builder.end()?)
    }

    #[cold]
    fn unsupported(&self, object: &Bound<'py, PyAny>) -> Error {
        let class = object.get_type();
        let class = class.name().map_or_else(|_| "this".into(), |name| name.to_string());
        let message = format!("{class} has no form; convert it with default=");
        self.fail(Code::UnsupportedType, message)
    }

    #[cold]
    fn fail(&self, code: Code, message: String) -> Error {
        self.builder.error(code, message).into()
    }
}

/// The items of a dict, copied; those of an `OrderedDict` in its own order.
fn items<'py>(dict: &Bound<'py, PyDict>) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    static ORDERED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let exact = dict.is_exact_instance_of::<PyDict>();
    let ordered = ORDERED.import(dict.py(), "collections", "OrderedDict")?;
    let list = if !exact && dict.is_instance(ordered)? {
        let items = ordered.call_method1("items", (dict,))?;
        items.try_iter()?.collect::<PyResult<Vec<_>>>()?
    } else {
        dict.items().iter().collect()
    };
    list.into_iter().map(|item| item.extract()).collect()
}
