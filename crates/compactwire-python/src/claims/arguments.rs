//! Arguments of the producers; errors name the argument and the path in it.

use crate::args::{as_mapping, class_name, enough_for, surrogate_at, utf8};
use crate::calls::{Run, import};
use crate::errors::invalid_path;
use crate::make::{Str, args, name, push, py_error};
use compactwire::excerpt::excerpt;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::collections::HashSet;
use std::path::PathBuf;

/// A path: `str` or path-like, but not `bytes`, which are valid paths on Unix only.
pub(super) fn path(value: &Bound<'_, PyAny>, field: &str) -> PyResult<PathBuf> {
    let py = value.py();
    let expected = "a str or path-like";
    let given =
        if value.is_instance_of::<PyString>() || !value.run_hasattr(name!(py, "__fspath__")?)? {
            value.clone()
        } else {
            import(py, name!(py, "os")?)?.run_method(name!(py, "fspath")?, args!(py, value)?)?
        };
    if given.is_instance_of::<PyBytes>() {
        let message = format!("{field} must be {expected}, not bytes (os.fsdecode it first)");
        return Err(py_error::<PyTypeError>(message));
    }
    let Ok(text) = given.cast::<PyString>() else { return Err(wrong(&given, field, expected)) };
    if text.contains(Str("\0"))? {
        return Err(invalid_path(py, field, "a path must not contain NUL"));
    }
    // A name of a file that is not UTF-8 has surrogates, too, of which the path has the bytes.
    text.extract().map_err(|error: PyErr| {
        let unencodable = error.is_instance_of::<PyUnicodeEncodeError>(py);
        if unencodable { invalid_path(py, field, &surrogate_at(&error, py)) } else { error }
    })
}

/// A string without lone surrogates.
pub(super) fn text(value: &Bound<'_, PyAny>, field: &str) -> PyResult<String> {
    let text = value.cast::<PyString>().map_err(|_| wrong(value, field, "a str"))?;
    Ok(enough_for(utf8(text, field)?)?.to_owned())
}

/// A string, or `None` if it was not passed.
pub(super) fn optional_text(
    value: Option<&Bound<'_, PyAny>>,
    field: &str,
) -> PyResult<Option<String>> {
    value.map(|value| text(value, field)).transpose()
}

/// The results of an iterator, in memory that is requested as they come.
pub(super) fn collect<T, E: From<PyErr>>(
    results: impl Iterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let mut collected = Vec::new();
    for result in results {
        push(&mut collected, result?)?;
    }
    Ok(collected)
}

/// The items of a mapping by their names, copied, so that it may change while they are converted. A mapping
/// can have two keys of one text.
pub(super) fn entries<'py>(
    value: &Bound<'py, PyAny>,
    field: &str,
    of: &str,
) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let mapping = as_mapping(value)?.ok_or_else(|| wrong(value, field, of))?;
    let mut seen = HashSet::new();
    let pair = |entry: Bound<'py, PyAny>| {
        let (name, value): (Bound<'_, PyAny>, _) = entry
            .extract()
            .map_err(|_| wrong(&entry, &format!("an entry of {field}"), "a pair"))?;
        let name = text(&name, &format!("a key of {field}"))?;
        if seen.insert(name.clone()) {
            return Ok((name, value));
        }
        let message = format!("duplicate member {}", excerpt(&name));
        Err(invalid_path(entry.py(), field, &message))
    };
    mapping.items()?.iter().map(pair).collect()
}

/// A `TypeError` with the expected and the actual type of an argument.
#[cold]
pub(super) fn wrong(value: &Bound<'_, PyAny>, field: &str, expected: &str) -> PyErr {
    let found = class_name(&value.get_type());
    let found = compactwire::claims::one_line(&found);
    py_error::<PyTypeError>(format!("{field} must be {expected}, not {found}"))
}
