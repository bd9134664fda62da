//! Reads columns from the objects of any library that implements the Arrow PyCapsule interface: pyarrow,
//! Polars, pandas and others.
//!
//! Invariant: a value is read as it is. pandas would convert some columns of Python objects for Arrow; they
//! are written as the other functions of this package write them, or are an error that names the column.

use super::{ARRAY, Column, SCHEMA, STREAM};
use crate::args::{class_name, utf8_if_whole};
use crate::calls::{Run, detach, import};
use crate::errors::{Error, Result};
use crate::interrupt::attached;
use crate::make::{Str, args, name, py_error};
use compactwire::arrow::{self as core, FFI_ArrowArray, FFI_ArrowArrayStream, FFI_ArrowSchema};
use compactwire::excerpt::{one_line, path_step};
use compactwire::gcf;
use pyo3::exceptions::{PyNotImplementedError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString, PyTuple};
use std::ffi::CStr;

/// The pointer of a capsule with this name.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut T> {
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| {
        let (found, name) = (class_name(&capsule.get_type()), name.to_string_lossy());
        py_error::<PyTypeError>(format!("expected a capsule {name}, not {found}"))
    })?;
    if !capsule.is_valid_checked(Some(name)) {
        return Err(wrong_capsule(capsule, name));
    }
    Ok(capsule.pointer_checked(Some(name))?.as_ptr().cast())
}

/// The error for a capsule of another name.
#[cold]
fn wrong_capsule(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> PyErr {
    let name = name.to_string_lossy();
    match capsule.repr() {
        Ok(found) => py_error::<PyTypeError>(format!("expected a capsule {name}, not {found}")),
        Err(error) => error,
    }
}

/// The two capsules that `__arrow_c_array__` returns.
fn pair<'py>(capsules: &Bound<'py, PyAny>) -> Result<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let found = match capsules.cast::<PyTuple>() {
        Ok(tuple) if tuple.len() == 2 => return Ok((tuple.get_item(0)?, tuple.get_item(1)?)),
        Ok(tuple) => format!("a tuple of {}", tuple.len()),
        Err(_) => class_name(&capsules.get_type()),
    };
    let message = format!(
        "expected a tuple of two capsules, arrow_schema and arrow_array, from __arrow_c_array__, not {found}"
    );
    Err(py_error::<PyTypeError>(message).into())
}

/// Whether objects of this class have the method. `None` in its place says that they do not.
fn has_method(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    Ok(object.get_type().run_getattr_opt(name)?.is_some_and(|method| !method.is_none()))
}

/// Whether [`if_column`] would read a column from objects of this class.
pub(crate) fn is_column(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let has = |name| has_method(object, name);
    let py = object.py();
    Ok(object.is_instance_of::<Column>()
        || has(name!(py, "__arrow_c_stream__")?)?
        || has(name!(py, "__arrow_c_array__")?)?)
}

/// Why an object with the methods of a column gives none.
pub(crate) enum Unreadable {
    /// Arrow has no type for its values, or would change them.
    Values {
        /// The error code.
        code: gcf::Code,
        /// The steps from the object to the values in the path of the error, such as `[*].when`.
        steps: String,
        /// What is wrong, and what to do.
        message: String,
        /// The error of the object itself, if it raised one. On macOS it is too large for a result.
        cause: Option<Box<PyErr>>,
    },
    /// Another error.
    Other(Error),
}

impl From<Unreadable> for Error {
    /// The error about an object that is not part of a value.
    #[cold]
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Values { code, steps, message, cause } => {
                let place = gcf::Place::Value(format!("${steps}"));
                caused(gcf::Error { code, message, place }.into(), cause)
            }
            Unreadable::Other(error) => error,
        }
    }
}

/// An error with another one as its cause.
pub(crate) fn caused(error: Error, cause: Option<Box<PyErr>>) -> Error {
    let error = PyErr::from(error);
    if let Some(cause) = cause {
        Python::attach(|py| error.set_cause(py, Some(*cause)));
    }
    error.into()
}

impl From<Error> for Unreadable {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<PyErr> for Unreadable {
    fn from(error: PyErr) -> Self {
        Self::Other(error.into())
    }
}

impl From<core::Error> for Unreadable {
    fn from(error: core::Error) -> Self {
        let message = error.to_string();
        match error {
            core::Error::Unreadable { steps, .. } => {
                Self::Values { code: gcf::Code::UnsupportedType, steps, message, cause: None }
            }
            error => Self::Other(error.into()),
        }
    }
}

/// Reads the column that an object holds; `None` if it holds none.
pub(crate) fn if_column(object: &Bound<'_, PyAny>) -> Result<Option<core::Column>, Unreadable> {
    let py = object.py();
    if let Ok(column) = object.cast::<Column>() {
        return Ok(Some(column.get().0.clone()));
    }
    let method = name!(py, "__arrow_c_stream__")?;
    if has_method(object, method)? {
        let object = &readable(object)?;
        let capsule = object
            .run_method(method, PyTuple::empty(object.py()))
            .map_err(|error| refused(object, error))?;
        let stream = pointer::<FFI_ArrowArrayStream>(&capsule, STREAM)?;
        // SAFETY: the name of the capsule says that it holds a stream, which is moved out.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream) };
        return Ok(Some(detach(py, || attached(|| core::Column::from_stream(stream)))??));
    }
    let method = name!(py, "__arrow_c_array__")?;
    if has_method(object, method)? {
        let object = &readable(object)?;
        let capsules = object
            .run_method(method, PyTuple::empty(object.py()))
            .map_err(|error| refused(object, error))?;
        let (schema, array) = pair(&capsules)?;
        let schema = pointer::<FFI_ArrowSchema>(&schema, SCHEMA)?;
        let array = pointer::<FFI_ArrowArray>(&array, ARRAY)?;
        // SAFETY: the names of the capsules say what they hold; both are moved out.
        let (array, schema) =
            unsafe { (FFI_ArrowArray::from_raw(array), FFI_ArrowSchema::from_raw(schema)) };
        // SAFETY: the producer promises that they agree.
        let import = || unsafe { core::Column::from_array(array, schema) };
        return Ok(Some(detach(py, || attached(import))??));
    }
    Ok(None)
}

/// The libraries whose names may contain U+0000, where Arrow ends them, and Narwhals, whose data is that of
/// another library.
const NAMED: &[&str] = &["_duckdb", "duckdb", "narwhals", "pandas", "polars", "pyarrow"];

/// Whether an object is of pandas, whose columns of objects need care.
fn is_of_pandas(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    is_of(object, &["pandas"])
}

/// Whether the class of an object, or one that it is derived from, is of one of these libraries.
fn is_of(object: &Bound<'_, PyAny>, libraries: &[&str]) -> PyResult<bool> {
    let name = name!(object.py(), "__mro__")?;
    for class in object.get_type().run_getattr(name)?.cast::<PyTuple>()? {
        let module = class.run_getattr(name!(class.py(), "__module__")?)?;
        let Ok(module) = module.cast::<PyString>() else { continue };
        let library = utf8_if_whole(module)?.and_then(|module| module.split('.').next());
        if library.is_some_and(|library| libraries.contains(&library)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The object as Arrow reads it without changing its values; an error if Arrow would change some.
fn readable<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Unreadable> {
    if !is_of(object, NAMED)? {
        return Ok(object.clone());
    }
    let py = object.py();
    let readable = name!(py, "readable")?;
    let found =
        import(py, name!(py, "compactwire._frames")?)?.run_method(readable, args!(py, object)?)?;
    let (object, problem): (_, Option<(String, Option<String>, String)>) = found.extract()?;
    let Some((code, column, message)) = problem else { return Ok(object) };
    let is_duplicate = code == gcf::Code::DuplicateKey.name();
    let code = if is_duplicate { gcf::Code::DuplicateKey } else { gcf::Code::UnsupportedType };
    Err(Unreadable::Values { code, steps: steps(column.as_deref()), message, cause: None })
}

/// The path from a table to a column in all rows, or from a column to its rows.
fn steps(column: Option<&str>) -> String {
    format!("[*]{}", column.map(path_step).unwrap_or_default())
}

/// The characters of a producer's error that ours repeats: it may contain a value.
const MAX_REASON: usize = 200;

/// The error of an object that finds no Arrow type for its own values. Other errors stay as they are.
#[cold]
fn refused(object: &Bound<'_, PyAny>, error: PyErr) -> Unreadable {
    let py = object.py();
    let about_values = error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyOverflowError>(py)
        || error.is_instance_of::<PyNotImplementedError>(py);
    if !about_values {
        return error.into();
    }
    let class = class_name(&object.get_type());
    let reason: String = error.value(py).to_string().chars().take(MAX_REASON).collect();
    let message = format!(
        "this {class} cannot be read as Arrow: {}; give the values of each column one type, or pass Python \
         values, such as those of its to_dict('records'), with default= for objects of other types",
        one_line(&reason)
    );
    match refused_column(object) {
        Ok(column) => {
            let (code, steps) = (gcf::Code::UnsupportedType, steps(column.as_deref()));
            Unreadable::Values { code, steps, message, cause: Some(Box::new(error)) }
        }
        Err(error) => error.into(),
    }
}

/// The name of the column of a frame that finds no Arrow type, if it is known.
fn refused_column(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if !is_of_pandas(object)? {
        return Ok(None);
    }
    let py = object.py();
    let refused = name!(py, "refused")?;
    import(py, name!(py, "compactwire._frames")?)?
        .run_method(refused, args!(py, object)?)?
        .extract()
}

pub(crate) fn column(object: &Bound<'_, PyAny>) -> Result<core::Column> {
    if_column(object)?.ok_or_else(|| {
        let found = class_name(&object.get_type());
        let message = match lazy(object) {
            Some(call) => format!("this {found} is not in memory: pass the result of its {call}()"),
            None => format!(
                "expected a column of Arrow (an object with __arrow_c_stream__ or __arrow_c_array__, such \
                 as a pyarrow array or a Polars series), not {found}"
            ),
        };
        py_error::<PyTypeError>(message).into()
    })
}

/// The method that reads a lazy frame or column into memory.
pub(crate) fn lazy(object: &Bound<'_, PyAny>) -> Option<&'static str> {
    let class = object.get_type();
    let has = |name| class.run_hasattr(Str(name)).unwrap_or(false);
    let calls = [("__dask_graph__", "compute"), ("collect_schema", "collect")];
    calls.into_iter().find_map(|(mark, call)| has(mark).then_some(call))
}

/// What to do about labels of the rows that [`if_column`] would not read, for an object in a value. To the
/// functions of columns, rows have no labels.
pub(crate) fn lost_index(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = object.py();
    if !has_method(object, name!(py, "__arrow_c_stream__")?)? || !is_of_pandas(object)? {
        return Ok(None);
    }
    import(py, name!(py, "compactwire._frames")?)?
        .run_method(name!(py, "lost_index")?, args!(py, object)?)?
        .extract()
}

/// The field that an object describes.
pub(crate) fn field(schema: &Bound<'_, PyAny>) -> Result<core::ArrowField> {
    let method = name!(schema.py(), "__arrow_c_schema__")?;
    if !has_method(schema, method)? {
        let found = class_name(&schema.get_type());
        let message = format!(
            "schema must be an object with __arrow_c_schema__, such as the schema of a table, not {found}"
        );
        return Err(py_error::<PyTypeError>(message).into());
    }
    let capsule = readable(schema)?.run_method0(method)?;
    let schema = pointer::<FFI_ArrowSchema>(&capsule, SCHEMA)?;
    // SAFETY: the name of the capsule says that it holds a schema.
    Ok(core::Column::field_of(unsafe { &*schema }).map_err(Unreadable::from)?)
}
