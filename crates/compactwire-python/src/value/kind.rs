//! What Python objects are in JSON, and their content where no method of a class is asked for it.

use crate::args::utf8_if_whole;
use crate::calls::Run;
use crate::make::{args, digits_of, import_class, name, push};
use compactwire::json;
use compactwire::memory;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};
use std::cell::RefCell;
use std::collections::HashSet;

/// The JSON type of an object.
pub(crate) enum Kind<'o, 'py> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits.
    BigInt(&'o Bound<'py, PyInt>),
    Float(f64),
    String(&'o Bound<'py, PyString>),
    List(&'o Bound<'py, PyList>),
    Tuple(&'o Bound<'py, PyTuple>),
    Dict(&'o Bound<'py, PyDict>),
    /// Not a JSON type.
    Other,
}

/// The kind of an object. No Python code runs.
#[inline(always)]
pub(crate) fn kind<'o, 'py>(object: &'o Bound<'py, PyAny>) -> Kind<'o, 'py> {
    if let Ok(text) = object.cast::<PyString>() {
        Kind::String(text)
    } else if let Ok(value) = object.cast_exact::<PyInt>() {
        int(value)
    } else if let Ok(value) = object.cast_exact::<PyFloat>() {
        Kind::Float(value.value())
    } else if let Ok(value) = object.cast_exact::<PyBool>() {
        Kind::Bool(value.is_true())
    } else if object.is_none() {
        Kind::Null
    } else if let Ok(dict) = object.cast::<PyDict>() {
        Kind::Dict(dict)
    } else if let Ok(list) = object.cast::<PyList>() {
        Kind::List(list)
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        Kind::Tuple(tuple)
    } else if let Ok(value) = object.cast::<PyInt>() {
        int(value)
    } else if let Ok(value) = object.cast::<PyFloat>() {
        // The test for a subclass of float is slow, and therefore comes last.
        Kind::Float(value.value())
    } else {
        Kind::Other
    }
}

#[inline]
fn int<'o, 'py>(value: &'o Bound<'py, PyInt>) -> Kind<'o, 'py> {
    value.extract().map_or(Kind::BigInt(value), Kind::Int)
}

/// Whether an object is an array, an object, or not a JSON type.
pub(super) fn is_container(object: &Bound<'_, PyAny>) -> bool {
    matches!(kind(object), Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_) | Kind::Other)
}

/// The decimal digits of an integer; `None` if it has more digits than JSON may have here.
pub(crate) fn digits(value: &Bound<'_, PyInt>) -> PyResult<Option<String>> {
    digits_of(value, json::Limits::default().max_digits)
}

/// The class `OrderedDict`.
pub(crate) fn ordered_dict(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    import_class(py, &CLASS, name!(py, "collections")?, name!(py, "OrderedDict")?)
}

/// A key and its value.
pub(super) type Member<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The members of a dict, copied.
pub(crate) type Members<'py> = Vec<Member<'py>>;

/// The items of a dict, copied; those of an `OrderedDict` in its own order, or `None` if this order has other keys
/// than the dict.
pub(crate) fn items<'py>(dict: &Bound<'py, PyDict>) -> PyResult<Option<Members<'py>>> {
    if !dict.is_exact_instance_of::<PyDict>() {
        let ordered = ordered_dict(dict.py())?;
        if dict.run_is_instance(ordered)? {
            return ordered_items(ordered, dict);
        }
    }
    let mut items = Vec::new();
    memory::require(items.try_reserve_exact(dict.len()));
    let items = RefCell::new(items);
    dict.locked_for_each(|key, value| push(&mut items.borrow_mut(), (key, value)))?;
    Ok(Some(items.into_inner()))
}

/// A text that two keys have. Only keys of a subclass of str can be unequal and have the same text.
pub(super) fn duplicate_key<'a>(items: &'a [Member<'_>]) -> Option<&'a str> {
    if items.iter().all(|(key, _)| key.is_exact_instance_of::<PyString>()) {
        return None;
    }
    let mut seen = HashSet::new();
    memory::require(seen.try_reserve(items.len()));
    let mut texts = items.iter().filter_map(|(key, _)| utf8_if_whole(key.cast().ok()?).ok()?);
    texts.find(|text| !seen.insert(*text))
}

/// The items of an `OrderedDict`. Methods of `dict` that were called for it have changed only one of its two lists
/// of keys.
fn ordered_items<'py>(
    ordered: &Bound<'py, PyType>,
    dict: &Bound<'py, PyDict>,
) -> PyResult<Option<Members<'py>>> {
    let py = dict.py();
    let mut copied = Vec::new();
    for item in ordered.run_method(name!(py, "items")?, args!(py, dict)?)?.run_iter()? {
        match item {
            Ok(item) => push(&mut copied, item.extract()?)?,
            // An error without a traceback is not that of a key's `__eq__`.
            Err(error)
                if error.is_instance_of::<PyKeyError>(py) && error.traceback(py).is_none() =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
    }
    Ok((copied.len() == dict.len()).then_some(copied))
}
