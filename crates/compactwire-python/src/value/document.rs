//! Python objects as a [`Source`], from which CAD documents are read by the names of their members.

use super::budget::{BYTES, Budget};
use super::kind::digits;
use super::read_fast::LOCKED;
use super::vocabulary::Vocabulary;
use crate::abi;
use crate::args::utf8_if_whole;
use crate::make::{Str, push};
use compactwire::walk::{Shape, Source};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::borrow::Cow;
use std::cell::RefCell;

/// A member of an object, which may be a node, counts as this many values.
const NODE_VALUES: usize = 4;
/// Strings of at least this length are counted.
const MANY_BYTES: usize = 128;

/// The state that all sources of one CAD document share.
pub(crate) struct DocumentReading {
    /// The names of members.
    names: &'static Vocabulary,
    pub(crate) budget: Budget,
}

impl DocumentReading {
    pub(crate) fn new(names: &'static Vocabulary) -> Self {
        Self { names, budget: Budget::default() }
    }

    /// A Python object from which a document is read.
    #[inline]
    pub(crate) fn source<'py>(&self, object: Bound<'py, PyAny>) -> DocumentSource<'_, 'py> {
        DocumentSource { object, reading: self }
    }

    /// The result of a conversion or a lookup; `None` also after an error, which [`Budget::check`] returns: too
    /// little memory, or what the `__eq__` of a key raised.
    #[inline]
    fn found<T>(&self, found: PyResult<Option<T>>) -> Option<T> {
        found.unwrap_or_else(|error| {
            self.budget.fail(error);
            None
        })
    }
}

/// A Python object from which a CAD document is read. It has two words, so that functions return it in
/// registers.
pub(crate) struct DocumentSource<'r, 'py> {
    object: Bound<'py, PyAny>,
    reading: &'r DocumentReading,
}

impl<'a> Source<'a> for DocumentSource<'_, '_> {
    fn shape(&self) -> Shape<'a> {
        // `kind` is not used: testing for floats and dicts first, without a second `match`, saves a
        // tenth of the time. The test for a subclass of float is slow, and therefore comes last.
        let object = &self.object;
        if let Ok(value) = object.cast_exact::<PyFloat>() {
            Shape::Float(value.value())
        } else if object.is_instance_of::<PyDict>() {
            Shape::Object
        } else if let Ok(text) = object.cast::<PyString>() {
            // A string with a lone surrogate is not text.
            let text = self.reading.found(utf8_if_whole(text)).filter(|text| {
                // A short string is included in the estimate for its node.
                text.len() < MANY_BYTES || self.reading.budget.take(text.len() / BYTES)
            });
            text.map_or(Shape::Other, |text| Shape::Text(Cow::Owned(text.to_owned())))
        } else if let Ok(value) = object.cast::<PyBool>() {
            Shape::Bool(value.is_true())
        } else if let Ok(value) = object.cast::<PyInt>() {
            value.extract::<i64>().map_or_else(
                |_| Shape::BigInt(self.reading.found(digits(value)).map(Cow::Owned)),
                Shape::Int,
            )
        } else if object.is_none() {
            Shape::Null
        } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            Shape::Array
        } else if let Ok(value) = object.cast::<PyFloat>() {
            Shape::Float(value.value())
        } else {
            Shape::Other
        }
    }

    fn is_null(&self) -> bool {
        self.object.is_none()
    }

    fn is_object(&self) -> bool {
        self.object.is_instance_of::<PyDict>()
    }

    fn with_text<R>(&self, look: impl FnOnce(&str) -> R) -> Option<R> {
        self.reading.found(utf8_if_whole(self.object.cast().ok()?)).map(look)
    }

    fn size(&self) -> usize {
        if let Ok(dict) = self.object.cast::<PyDict>() {
            // Its members are counted where they are visited, or included in the estimate for its node.
            return dict.len();
        }
        let size = match self.object.cast::<PyList>() {
            Ok(list) => list.len(),
            Err(_) => self.object.cast::<PyTuple>().map_or(0, PyTupleMethods::len),
        };
        if self.reading.budget.take(size) { size } else { 0 }
    }

    fn member(&self, name: &'static str) -> Option<Self> {
        let dict = self.object.cast::<PyDict>().ok()?;
        let found = match self.reading.names.get(name) {
            Some(name) => dict.get_item(name.bind(dict.py())),
            None => dict.get_item(Str(name)),
        };
        self.reading.found(found).map(|object| self.reading.source(object))
    }

    #[inline]
    fn next_member(&self, name: &'static str, place: &mut usize) -> Option<Self> {
        match member_at(&self.object, name, place) {
            Some(object) => Some(self.reading.source(object)),
            None => self.member(name),
        }
    }

    fn element(&self, index: usize) -> Option<Self> {
        let element = match self.object.cast::<PyList>() {
            Ok(list) => list.get_item(index),
            Err(_) => self.object.cast::<PyTuple>().ok()?.get_item(index),
        };
        element.ok().map(|object| self.reading.source(object))
    }

    fn members<E>(
        &self,
        mut visit: impl FnMut(Option<&str>, Self) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let Ok(dict) = self.object.cast::<PyDict>() else { return Ok(()) };
        if !self.reading.budget.take(NODE_VALUES * dict.len()) {
            return Ok(());
        }
        // Copied first, because a lookup by `visit` may run a key's `__eq__`, which may change the
        // dict.
        let items = RefCell::new(Vec::new());
        let copied = dict.locked_for_each(|key, value| push(&mut items.borrow_mut(), (key, value)));
        if let Err(error) = copied {
            self.reading.budget.fail(error);
        }
        for (key, value) in items.into_inner() {
            let text = key.cast().ok().and_then(|key| self.reading.found(utf8_if_whole(key)));
            visit(text, self.reading.source(value))?;
        }
        Ok(())
    }
}

/// The member at a place of a plain dict, if `name` is its key: `place` is then that of the next member. This takes
/// half of the time of a lookup, and dicts usually have their members in the order of the format.
#[inline]
fn member_at<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    place: &mut usize,
) -> Option<Bound<'py, PyAny>> {
    if !LOCKED || !object.is_exact_instance_of::<PyDict>() {
        return None;
    }
    let mut next = place.cast_signed();
    let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the object is a dict, and the thread is attached. A dict that has changed since the last call has
    // perhaps another member at this place, or none. Nothing changes it while the borrowed references are used.
    unsafe {
        if ffi::PyDict_Next(object.as_ptr(), &raw mut next, &raw mut key, &raw mut value) == 0
            || ffi::PyUnicode_CheckExact(key) == 0
        {
            return None;
        }
        let (start, length) = abi::utf8(key);
        if start.is_null() {
            // A lone surrogate, or too little memory; the lookup does not need the text.
            ffi::PyErr_Clear();
            return None;
        }
        let found = std::slice::from_raw_parts(start, length.cast_unsigned());
        if found != name.as_bytes() {
            return None;
        }
        *place = next.cast_unsigned();
        Some(Bound::from_borrowed_ptr(object.py(), value))
    }
}
