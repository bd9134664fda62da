//! The type of an argument, and the items of an iterable.

use super::text::{class_name, surrogate_in_gcf, utf8_if_whole, utf8_or};
use crate::calls::{Run, next};
use crate::make::{Str, ensure_memory, import_class, name, push, py_error};
use compactwire::excerpt::excerpt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyIterator, PyList, PyMapping, PyMemoryView, PyString,
    PyTuple, PyType,
};
use std::convert::Infallible;
use std::fmt::Display;
use std::iter;

/// The items of an iterable; `TypeError` names the argument and what its items are. So it is for a str and for
/// bytes: their characters and numbers are never meant.
///
/// Signal handlers run at the first item, and again after every [`ITEMS_PER_CHECK`]: an iterator that is not
/// Python code, which can be endless, does not run them.
pub(crate) fn each<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
    items: &str,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + use<'py>> {
    let py = value.py();
    let expected = || format!("an iterable of {items}");
    if value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyByteArray>()
        || value.is_instance_of::<PyMemoryView>()
    {
        return Err(wrong_type(value, name, &expected()));
    }
    let items = iterator(value, name, expected)?;
    let items = (0_u64..).zip(iter::from_fn(move || next(&items).transpose()));
    Ok(items.map(move |(at, item)| {
        if at.is_multiple_of(ITEMS_PER_CHECK) { py.check_signals().and(item) } else { item }
    }))
}

/// The iterator of an iterable; `TypeError` names the argument and what was expected.
pub(crate) fn iterator<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
    expected: impl FnOnce() -> String,
) -> PyResult<Bound<'py, PyIterator>> {
    value.run_iter().map_err(|error| {
        if lacks_method(value, "__iter__") && lacks_method(value, "__getitem__") {
            wrong_type(value, name, &expected())
        } else {
            error
        }
    })
}

/// Whether an object's class has no such method: then the object is of a wrong type. Otherwise an error may be
/// one that the method raised.
#[cold]
pub(crate) fn lacks_method(value: &Bound<'_, PyAny>, name: &str) -> bool {
    matches!(value.get_type().run_hasattr(Str(name)), Ok(false))
}

/// Whether an object is a list, a tuple or another `collections.abc.Sequence`. PyO3 takes every exception in the
/// check, such as one for too little memory, for "no".
pub(crate) fn is_sequence(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return Ok(true);
    }
    let py = value.py();
    let class = import_class(py, &CLASS, name!(py, "collections.abc")?, name!(py, "Sequence")?)?;
    value.run_is_instance(class)
}

/// An object as a mapping if it is a dict or another `collections.abc.Mapping`, checked as in [`is_sequence`].
pub(crate) fn as_mapping<'a, 'py>(
    value: &'a Bound<'py, PyAny>,
) -> PyResult<Option<&'a Bound<'py, PyMapping>>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = value.py();
    let is_mapping = value.is_instance_of::<PyDict>() || {
        let class = import_class(py, &CLASS, name!(py, "collections.abc")?, name!(py, "Mapping")?)?;
        value.run_is_instance(class)?
    };
    // SAFETY: PyO3 checks the same.
    Ok(is_mapping.then(|| unsafe { value.cast_unchecked::<PyMapping>() }))
}

/// More than the values of most rows, because a check costs as much as the conversion of a value.
const ITEMS_PER_CHECK: u64 = 32;

/// The names of fields, for `#[pyo3(from_py_with = names)]`; `GcfError` for a lone surrogate.
///
/// Not PyO3's conversion to `Vec`, which trusts the length that a sequence states and reserves memory for it.
pub(crate) fn names(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(name) = value.cast::<PyString>() {
        // A sequence of characters, which are not meant.
        let name = utf8_if_whole(name)?.map_or_else(|| "…".to_owned(), excerpt);
        return Err(py_error::<PyTypeError>(format!(
            "fields must be a list of names, not str: pass [{name}]"
        )));
    }
    if !is_sequence(value)? {
        return Err(wrong_type(value, "fields", "a sequence of str"));
    }
    let mut names = Vec::new();
    for name in each(value, "fields", "str")? {
        let name = name?;
        let at = names.len();
        let name = text(&name, format_args!("fields[{at}]"))?;
        let utf8 = utf8_or(name, |message| surrogate_in_gcf(&format!("field {at}: {message}")))?;
        ensure_memory(utf8.len())?;
        push(&mut names, utf8.to_owned())?;
    }
    Ok(names)
}

/// Text of a field; `TypeError` names the field.
pub(crate) fn text<'a, 'py>(
    value: &'a Bound<'py, PyAny>,
    field: impl Display,
) -> PyResult<&'a Bound<'py, PyString>> {
    value.cast::<PyString>().map_err(|_| wrong_type(value, field, "a str"))
}

/// Checks that an argument is a function; `TypeError` names the argument.
pub(crate) fn check_callable(value: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    if value.is_callable() { Ok(()) } else { Err(wrong_type(value, name, "a function")) }
}

/// A truth value of a field; `TypeError` names the field.
pub(crate) fn boolean(value: &Bound<'_, PyAny>, field: &str) -> PyResult<bool> {
    let on = value.cast::<PyBool>().map_err(|_| wrong_type(value, field, "a bool"))?;
    Ok(on.is_true())
}

#[cold]
pub(crate) fn wrong_type(value: &Bound<'_, PyAny>, field: impl Display, expected: &str) -> PyErr {
    let found = class_name(&value.get_type());
    py_error::<PyTypeError>(format!("{field} must be {expected}, not {found}"))
}

/// An argument: `Some` if it was passed, even as Python's `None`; `None` by default.
pub(crate) struct Passed<'py>(pub(crate) Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for Passed<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Some(value.to_owned())))
    }
}

/// An argument that Python passes to a special method, and that the method ignores.
pub(crate) struct Unused;

impl FromPyObject<'_, '_> for Unused {
    type Error = Infallible;

    fn extract(_value: Borrowed<'_, '_, PyAny>) -> Result<Self, Infallible> {
        Ok(Self)
    }
}
