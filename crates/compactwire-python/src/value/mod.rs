//! Python objects as values of the core, and values as Python objects.
//!
//! # Modules
//!
//! - [`read`]: the checked reader. It owns its references and copies containers and strings first, so
//!   that Python code may run and change the objects while it reads.
//! - [`read_fast`]: the fast walk, for plain objects under the interpreter's global lock. It
//!   borrows references and strings; all `unsafe` reading is in this file.
//! - [`owned`]: the walk of [`read_fast`] with owned references, for the objects that it cannot read.
//! - [`kind`]: what an object is in JSON. [`conversions`]: the calls of `default=`. [`budget`]: the check of memory.
//! - [`document`]: objects as a source of CAD documents.
//! - [`objects`]: the sink that builds Python objects.
//! - [`collector`]: the pause of the garbage collector while objects are built.
//! - [`vocabulary`]: the names of a format as Python strings.
//!
//! The three readers return the same value or the same error for the same object;
//! `tests/package/test_bridge.py` compares them.

pub(super) mod budget;
pub(super) mod collector;
pub(super) mod conversions;
pub(super) mod document;
pub(super) mod kind;
pub(super) mod objects;
pub(super) mod owned;
pub(super) mod read;
pub(super) mod read_fast;
pub(super) mod vocabulary;

use crate::args::{check_callable, one_of};
use crate::errors::{Result, invalid_format};
use crate::interrupt::attached;
use crate::make::ensure_memory;
use compactwire::json::{self, ReadError};
use compactwire::value::Value;
use objects::Objects;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The functions `common` and `common_or` of `compactwire._types`.
static COMMON: PyOnceLock<[Py<PyAny>; 2]> = PyOnceLock::new();

/// More bytes of memory than the import of a module takes.
const IMPORT_SIZE: usize = 4 << 20;

/// Whether `types=` names the common types; an error for another word, and for a `default=` that is no function.
pub(super) fn are_common(types: &str, default: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    default.map(|default| check_callable(default, "default")).transpose()?;
    one_of("types", types, [("common", true), ("json", false)])
}

/// The function that converts objects which are not JSON types: `default=`, after the conversions
/// that `types=` names.
pub(super) fn converter<'py>(
    py: Python<'py>,
    types: &str,
    default: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !are_common(types, default)? {
        return Ok(default.cloned());
    }
    let [common, common_or] = COMMON.get_or_try_init(py, || {
        // PyO3 panics if there is not enough memory for a name.
        ensure_memory(IMPORT_SIZE)?;
        let module = py.import(intern!(py, "compactwire._types"))?;
        let function = |name| module.getattr(name).map(Bound::unbind);
        PyResult::Ok([function("common")?, function("common_or")?])
    })?;
    match default {
        None => Ok(Some(common.bind(py).clone())),
        Some(default) => common_or.bind(py).call1((default,)).map(Some),
    }
}

/// The value of a Python object, for functions with `types=` and `default=`.
pub(super) fn read_with<'py>(
    object: &Bound<'py, PyAny>,
    root: &str,
    default: Option<&Bound<'py, PyAny>>,
) -> Result<Value<'static>> {
    read::value_with(object, root, default, None)
}

/// The Python object of a value.
pub(super) fn object<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    let mut builder = Objects::new(py, 0);
    attached(|| value.emit(&mut builder))??;
    Ok(builder.finish())
}

/// The Python object of JSON text that is known to be valid.
pub(super) fn parse<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut builder = Objects::new(py, text.len());
    match attached(|| json::read(text, json::Limits::default(), &mut builder))? {
        Ok(_) => Ok(builder.finish()),
        Err(ReadError::Sink(error)) => Err(error.into()),
        Err(ReadError::Json(error)) => Err(invalid_format(py, &error.to_string())),
    }
}
