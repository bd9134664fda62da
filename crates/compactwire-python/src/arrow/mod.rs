//! `compactwire.arrow`: functions of columns, over the Arrow PyCapsule interface.
//!
//! Source: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>. This file alone
//! touches capsules.

use crate::args::{self, Input, class_name, one_of, shown, sizes, utf8_if_whole};
use crate::dictionary::{Dictionary, Given};
use crate::errors::{Error, Result, invalid_option};
use crate::interrupt::attached;
use crate::make::{Number, Str, make_str, make_tuple};
use crate::message::{DEFAULT_MAX_SIZE, encode_options};
use crate::named;
use compactwire::arrow::{
    self as core, CadWrite, FFI_ArrowArray, FFI_ArrowArrayStream, FFI_ArrowSchema, Field, OnError,
    Output, RowOptions,
};
use compactwire::cad::{Dialect, MAX_EXPANSION, Options};
use compactwire::compact::{DecodeOptions, EncodeOptions};
use compactwire::excerpt::{one_line, path_step};
use compactwire::gcf::{self, Limits};
use compactwire::json::Escape;
use pyo3::exceptions::{PyNotImplementedError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyInt, PyString, PyTuple};
use std::ffi::CStr;

/// Functions of columns; import `compactwire.arrow` instead.
#[pymodule(name = "arrow", gil_used = false)]
pub(super) mod module {
    #[pymodule_export]
    use super::{
        Column, cad_from_binary, cad_from_compact, cad_to_binary, cad_to_compact, count_tokens,
        decode, detect, encode, gcf_from_json, gcf_loads, gcf_to_json, inspect,
    };
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::make_importable(module)
    }
}

const STREAM: &CStr = c"arrow_array_stream";
const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";

/// A column in Arrow memory: what the functions of this module return.
///
/// Any library that speaks Arrow takes it, as often as wanted: `pyarrow.chunked_array(column)`,
/// `polars.Series(column)`, `pandas.Series.from_arrow(column)`. To look at rows, make such an
/// array of it. It cannot be pickled.
///
/// Source: the Arrow PyCapsule interface.
#[pyclass(frozen, module = "compactwire.arrow")]
pub(super) struct Column(core::Column);

#[pymethods]
impl Column {
    /// Return the type as a capsule `arrow_schema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyCapsule>> {
        Ok(PyCapsule::new_with_value(py, self.0.schema()?, SCHEMA)?)
    }

    /// Return capsules `arrow_schema` and `arrow_array`.
    ///
    /// Parameters
    /// ----------
    /// requested_schema : optional
    ///     Ignored, as the interface allows.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     The texts are too large for one array: use `__arrow_c_stream__`.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        let join = || attached(|| self.0.to_array());
        let array = py.detach(join)??.ok_or_else(|| {
            let chunks = self.0.chunks().len();
            PyValueError::new_err(format!(
                "the texts of the {chunks} chunks are too large for one array: take the column by \
                 __arrow_c_stream__"
            ))
        })?;
        let schema = PyCapsule::new_with_value(py, self.0.schema()?, SCHEMA)?;
        let array = PyCapsule::new_with_value(py, array, ARRAY)?;
        Ok(make_tuple(py, [Ok(schema), Ok(array)].into_iter())?)
    }

    /// Return a capsule `arrow_array_stream`, with an array for each chunk.
    ///
    /// Parameters
    /// ----------
    /// requested_schema : optional
    ///     Ignored, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        PyCapsule::new_with_value(py, self.0.to_stream(), STREAM)
    }

    /// The type as a format string of Arrow: "u" for texts, "+s" for structs.
    #[getter]
    fn r#type<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyString>> {
        Ok(make_str(py, self.0.schema()?.format())?)
    }

    /// The number of chunks.
    #[getter]
    fn num_chunks(&self) -> Number<usize> {
        Number(self.0.chunks().len())
    }

    /// The memory of all buffers, in bytes.
    #[getter]
    fn nbytes(&self) -> Number<usize> {
        Number(self.0.size())
    }

    /// The number of null rows.
    #[getter]
    fn null_count(&self) -> Number<usize> {
        Number(self.0.null_count())
    }

    /// The number of rows that failed and became null under `errors="null"`.
    #[getter]
    fn failed(&self) -> Number<usize> {
        Number(self.0.failed())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Raise `TypeError`: engines send arrays of Arrow libraries.
    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Column cannot be pickled or copied; make an array of it, such as pyarrow.chunked_array(column)",
        ))
    }

    fn __repr__(&self) -> Result<Str<String>> {
        let Self(core) = self;
        let chunks = match core.chunks().len() {
            1 => "1 chunk".to_owned(),
            chunks => format!("{chunks} chunks"),
        };
        let (schema, rows, nulls) = (core.schema()?, core.len(), core.null_count());
        let format = schema.format();
        Ok(Str(format!("<Column {format:?}: {rows} rows in {chunks}, {nulls} null>")))
    }
}

/// The pointer of a capsule with this name.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut T> {
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| {
        let (found, name) = (class_name(&capsule.get_type()), name.to_string_lossy());
        PyTypeError::new_err(format!("expected a capsule {name}, not {found}"))
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
        Ok(found) => PyTypeError::new_err(format!("expected a capsule {name}, not {found}")),
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
    Err(PyTypeError::new_err(message).into())
}

/// Whether objects of this class have the method. `None` in its place says that they do not.
fn has_method(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    Ok(object.get_type().getattr_opt(name)?.is_some_and(|method| !method.is_none()))
}

/// Whether [`if_column`] would read a column from objects of this class.
pub(super) fn is_column(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let has = |name| has_method(object, name);
    let py = object.py();
    Ok(object.is_instance_of::<Column>()
        || has(intern!(py, "__arrow_c_stream__"))?
        || has(intern!(py, "__arrow_c_array__"))?)
}

/// Why an object with the methods of a column gives none.
pub(super) enum Unreadable {
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
pub(super) fn caused(error: Error, cause: Option<Box<PyErr>>) -> Error {
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
pub(super) fn if_column(object: &Bound<'_, PyAny>) -> Result<Option<core::Column>, Unreadable> {
    let py = object.py();
    if let Ok(column) = object.cast::<Column>() {
        return Ok(Some(column.get().0.clone()));
    }
    let method = intern!(py, "__arrow_c_stream__");
    if has_method(object, method)? {
        let object = &readable(object)?;
        let capsule = object.call_method0(method).map_err(|error| refused(object, error))?;
        let stream = pointer::<FFI_ArrowArrayStream>(&capsule, STREAM)?;
        // SAFETY: the name of the capsule says that it holds a stream, which is moved out.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream) };
        return Ok(Some(py.detach(|| attached(|| core::Column::from_stream(stream)))??));
    }
    let method = intern!(py, "__arrow_c_array__");
    if has_method(object, method)? {
        let capsules = object.call_method0(method).map_err(|error| refused(object, error))?;
        let (schema, array) = pair(&capsules)?;
        let schema = pointer::<FFI_ArrowSchema>(&schema, SCHEMA)?;
        let array = pointer::<FFI_ArrowArray>(&array, ARRAY)?;
        // SAFETY: the names of the capsules say what they hold; both are moved out.
        let (array, schema) =
            unsafe { (FFI_ArrowArray::from_raw(array), FFI_ArrowSchema::from_raw(schema)) };
        // SAFETY: the producer promises that they agree.
        let import = || unsafe { core::Column::from_array(array, schema) };
        return Ok(Some(py.detach(|| attached(import))??));
    }
    Ok(None)
}

/// Whether an object is of pandas, whose columns of objects need care.
fn is_of_pandas(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module = object.get_type().module()?;
    Ok(utf8_if_whole(&module)?.is_some_and(|module| module.split('.').next() == Some("pandas")))
}

/// The object as Arrow reads it without changing its values; an error if Arrow would change some.
fn readable<'py>(object: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Unreadable> {
    if !is_of_pandas(object)? {
        return Ok(object.clone());
    }
    let py = object.py();
    let readable = intern!(py, "readable");
    let found = py.import(intern!(py, "compactwire._frames"))?.call_method1(readable, (object,))?;
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
    let refused = intern!(py, "refused");
    py.import(intern!(py, "compactwire._frames"))?.call_method1(refused, (object,))?.extract()
}

fn column(object: &Bound<'_, PyAny>) -> Result<core::Column> {
    if_column(object)?.ok_or_else(|| {
        let found = class_name(&object.get_type());
        let message = match lazy(object) {
            Some(call) => format!("this {found} is not in memory: pass the result of its {call}()"),
            None => format!(
                "expected a column of Arrow (an object with __arrow_c_stream__ or __arrow_c_array__, such \
                 as a pyarrow array or a Polars series), not {found}"
            ),
        };
        PyTypeError::new_err(message).into()
    })
}

/// The method that reads a lazy frame or column into memory.
pub(super) fn lazy(object: &Bound<'_, PyAny>) -> Option<&'static str> {
    let class = object.get_type();
    let has = |name| class.hasattr(name).unwrap_or(false);
    let calls = [("__dask_graph__", "compute"), ("collect_schema", "collect")];
    calls.into_iter().find_map(|(mark, call)| has(mark).then_some(call))
}

/// What to do about labels of the rows that [`if_column`] would not read, for an object in a value. To the
/// functions of columns, rows have no labels.
pub(super) fn lost_index(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = object.py();
    if !has_method(object, intern!(py, "__arrow_c_stream__"))? || !is_of_pandas(object)? {
        return Ok(None);
    }
    py.import(intern!(py, "compactwire._frames"))?
        .call_method1(intern!(py, "lost_index"), (object,))?
        .extract()
}

fn row_options(errors: &str, threads: Option<&Bound<'_, PyAny>>) -> PyResult<RowOptions> {
    let choices = [("raise", OnError::Raise), ("null", OnError::Null), ("report", OnError::Report)];
    let errors = one_of("errors", errors, choices)?;
    let threads = threads.map_or(Ok(0), count)?;
    Ok(RowOptions { errors, threads })
}

/// `threads=`: 1 or more.
fn count(threads: &Bound<'_, PyAny>) -> PyResult<usize> {
    if !threads.is_instance_of::<PyInt>() || threads.is_instance_of::<PyBool>() {
        let found = class_name(&threads.get_type());
        return Err(PyTypeError::new_err(format!("threads must be an int or None, not {found}")));
    }
    match threads.extract::<usize>() {
        Ok(threads) if threads > 0 => Ok(threads),
        Err(error) if !error.is_instance_of::<PyOverflowError>(threads.py()) => Err(error),
        Err(_) if threads.gt(0)? => Ok(usize::MAX),
        _ => {
            let message = format!("threads must be 1 or more, not {}", shown(threads));
            Err(invalid_option("threads", &message))
        }
    }
}

/// Calls a function of the core without the interpreter lock.
fn call(
    object: &Bound<'_, PyAny>,
    work: impl Send + FnOnce(&core::Column) -> std::result::Result<core::Column, core::Error>,
) -> Result<Column> {
    let column = column(object)?;
    Ok(Column(object.py().detach(|| attached(|| work(&column)))??))
}

/// Encode each row of a column as a message.
///
/// Parameters
/// ----------
/// column : Arrow column
///     An object with `__arrow_c_stream__` or `__arrow_c_array__`. Rows are texts, of any Arrow
///     type of texts or UTF-8 bytes, or structs (a table) with the fields of `Response`:
///     "result" and any of "model", "status", "tokens", "model_name", "returncode",
///     "reasoning_effort", "ultrathink". A null field other than "result" is its default.
/// format, protocol, msgpack_version, dictionary
///     As in `compactwire.encode`.
/// output : {"text", "bytes"}
///     Whether messages are those of `encode`, or of `encode_bytes`, which are a fifth smaller.
/// max_expansion : int
///     How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
///     have: rows can share a text.
/// errors : {"raise", "null", "report"}
///     "raise" raises the exception of the first row that fails, as `compactwire.encode` would,
///     with the attribute `row`. "null" makes such rows null; the attribute `failed` of the
///     result counts them. "report" returns structs of "value", "error" (the class of the
///     exception) and "message"; both are null for other rows.
/// threads : int, optional
///     The maximum number of threads, at most 16. By default the environment variable
///     `COMPACTWIRE_THREADS`, then `OMP_NUM_THREADS`, then the number of processors.
///
/// Returns
/// -------
/// Column
///     The messages, utf8 or binary. A null row stays null. Each chunk of the argument becomes
///     one chunk.
///
/// Raises
/// ------
/// EncodeError
///     A row cannot be encoded; `field` names the field, `row` is its index from 0.
/// OutputTooLarge
///     The rows exceed `max_expansion`, whatever `errors` is.
/// TypeError
///     The column has another type, or a struct has another field.
/// CompactWireError
///     The producer of the column failed, or its buffers are invalid.
///
/// Source: Compact Protocol v2 sections 1 to 6, v4 sections 1 to 4.
#[pyfunction]
#[pyo3(text_signature = "(column, /, *, format='auto', protocol=4, msgpack_version=None, \
                         dictionary=None, output='text', max_expansion=268435456, \
                         errors='raise', threads=None)")]
#[pyo3(signature = (
    column, /, *, format = "auto", protocol = None, msgpack_version = None, dictionary = None,
    output = "text", max_expansion = 268_435_456, errors = "raise", threads = None,
))]
#[expect(clippy::too_many_arguments, reason = "the options of the function")]
fn encode<'py>(
    column: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = args::words::format)] format: &str,
    #[pyo3(from_py_with = named::protocol)] protocol: Option<&Bound<'py, PyInt>>,
    msgpack_version: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<&Bound<'py, Dictionary>>,
    #[pyo3(from_py_with = args::words::output)] output: &str,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'py, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let output = one_of("output", output, [("text", Output::Text), ("bytes", Output::Bytes)])?;
    let layout = msgpack_version.map(args::layout).transpose()?;
    let encode = EncodeOptions { layout, ..encode_options(format, protocol, dictionary)? };
    call(column, |column| core::encode(column, output, &encode, max_expansion, options))
}

/// Decode each row of a column of messages.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Messages, as text or as bytes.
/// fields : sequence of str
///     The columns of the result, of "result", "model", "status", "tokens", "model_name",
///     "returncode", "reasoning_effort", "ultrathink", "format", "version".
/// max_size, dictionary, dictionaries, fallback
///     As in `compactwire.decode`; `max_size` applies to each row.
/// max_expansion : int
///     How many bytes more than 64 times the messages, and 1 KiB for each, the texts of all rows
///     may have together.
/// errors, threads
///     As in `encode`; "report" adds the columns "error" and "message" to the result.
///
/// Returns
/// -------
/// Column
///     Structs of `fields`: texts, int64 for "tokens" and "returncode", bool for "ultrathink".
///     `encode` accepts it, unless it has "format" or "version".
///
/// Raises
/// ------
/// DecodeError
///     As `compactwire.decode`, with the attribute `row`.
/// OutputTooLarge
///     A row is larger than `max_size`, or all rows exceed `max_expansion`; the latter ends the
///     call whatever `errors` is.
/// OptionError
///     An unknown field, a field that occurs twice, or none.
///
/// Source: Compact Protocol v2 sections 1 to 5, v4 sections 1, 4 and 8.
#[pyfunction]
#[pyo3(signature = (
    column, /, *, fields = None, max_size = DEFAULT_MAX_SIZE,
    max_expansion = Limits::EXPANSION, dictionary = None, dictionaries = None, fallback = false,
    errors = "raise", threads = None,
))]
#[pyo3(text_signature = "(column, /, *, fields=('result', 'model', 'status', 'tokens'), \
                         max_size=67108864, max_expansion=268435456, dictionary=None, \
                         dictionaries=(), fallback=False, errors='raise', threads=None)")]
#[expect(clippy::too_many_arguments, reason = "the options of the function")]
fn decode<'py>(
    column: &Bound<'py, PyAny>,
    fields: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = named::fallback)] fallback: bool,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'py, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let fields = fields.map_or_else(|| Ok(Field::ALL[..4].to_vec()), self::fields)?;
    let given = Given::new(dictionary, dictionaries)?;
    let decode = DecodeOptions { max_size, dictionaries: &given.named() };
    call(column, |column| core::decode(column, &fields, fallback, &decode, max_expansion, options))
}

/// `fields=`: names of fields.
fn fields(names: &Bound<'_, PyAny>) -> PyResult<Vec<Field>> {
    let mut fields = Vec::new();
    for name in args::names(names)? {
        let field = one_of("fields", &name, Field::ALL.map(|field| (field.name(), field)))?;
        if fields.contains(&field) {
            return Err(invalid_option("fields", &format!("fields has {name:?} twice")));
        }
        fields.push(field);
    }
    if fields.is_empty() {
        return Err(invalid_option("fields", "fields must name at least one field"));
    }
    Ok(fields)
}

/// Detect the format of each row of a column of messages, without decoding it.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Messages, as text or as bytes.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The names of the formats, as the values of `Format`.
///
/// Raises
/// ------
/// EmptyResponse, InvalidPrefix, InvalidFormat
///     As `compactwire.detect`, with the attribute `row`.
///
/// Source: Compact Protocol v2 "Format Detection", v4 section 1.
#[pyfunction]
#[pyo3(signature = (column, /, *, errors = "raise", threads = None))]
fn detect(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    call(column, |column| core::detect(column, options))
}

/// Decode each row of a column of messages and return the size of its layers.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Messages, as text or as bytes.
/// max_size, dictionary, dictionaries
///     As in `compactwire.decode`.
/// errors, threads
///     As in `encode`; "report" adds the columns "error" and "message" to the result.
///
/// Returns
/// -------
/// Column
///     Structs of "format", "version", "compression", "dictionary_id" and, in bytes,
///     "wire_bytes", "binary_bytes" (compressed), "msgpack_bytes", "result_bytes",
///     "verbose_bytes" (as compact JSON); null where a message has no such layer.
///
/// Raises
/// ------
/// DecodeError
///     As `compactwire.inspect`, with the attribute `row`.
///
/// Source: the layers are those of Compact Protocol v2 sections 1 to 5 and v4 section 4.
#[pyfunction]
#[pyo3(signature = (
    column, /, *, max_size = DEFAULT_MAX_SIZE, dictionary = None, dictionaries = None,
    errors = "raise", threads = None,
))]
#[pyo3(text_signature = "(column, /, *, max_size=67108864, dictionary=None, dictionaries=(), \
                         errors='raise', threads=None)")]
fn inspect<'py>(
    column: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'py, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let given = Given::new(dictionary, dictionaries)?;
    let decode = DecodeOptions { max_size, dictionaries: &given.named() };
    call(column, |column| core::inspect(column, &decode, options))
}

/// Estimate the tokens of each row of a column of texts, as `compactwire.estimate_tokens` does.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Texts.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The estimates, int64.
///
/// Raises
/// ------
/// GcfError
///     A row of bytes is not UTF-8.
///
/// Source: ours; for the count of a model's tokenizer, apply the tokenizer to each row.
#[pyfunction]
#[pyo3(signature = (column, /, *, errors = "raise", threads = None))]
fn count_tokens(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    call(column, |column| core::count_tokens(column, options))
}

/// Encode each row of a column of JSON texts as a GCF text of its own.
///
/// Parameters
/// ----------
/// column : Arrow column
///     JSON texts.
/// flatten, constant_columns, max_depth
///     As in `compactwire.gcf.from_json`.
/// max_expansion : int
///     How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
///     have: rows can share a text.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The GCF texts.
///
/// Raises
/// ------
/// GcfError
///     As `compactwire.gcf.from_json`, with the attribute `row`.
/// OutputTooLarge
///     The rows exceed `max_expansion`, whatever `errors` is.
///
/// Source: GCF 3.6 sections 2 to 7.
#[pyfunction]
#[pyo3(signature = (
    column, /, *, flatten = true, constant_columns = false, max_depth = 128,
    max_expansion = 268_435_456, errors = "raise", threads = None,
))]
fn gcf_from_json(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = named::flatten)] flatten: bool,
    #[pyo3(from_py_with = named::constant_columns)] constant_columns: bool,
    #[pyo3(from_py_with = args::depth)] max_depth: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let limits = Limits { max_depth, ..Limits::default() };
    let encode =
        gcf::EncodeOptions { flatten, constant_columns, limits, ..gcf::EncodeOptions::default() };
    call(column, |column| core::gcf_from_json(column, &encode, max_expansion, options))
}

/// Decode each row of a column of GCF texts to JSON.
///
/// Parameters
/// ----------
/// column : Arrow column
///     GCF texts.
/// extensions, max_depth
///     As in `compactwire.gcf.to_json`.
/// max_expansion : int
///     As in `compactwire.gcf.to_json`, for each row. All rows together may become as many bytes
///     more than 64 times the texts and 1 KiB for each.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The JSON texts, compact.
///
/// Raises
/// ------
/// GcfError
///     As `compactwire.gcf.to_json`, with the attribute `row`.
/// OutputTooLarge
///     All rows together exceed `max_expansion`, whatever `errors` is.
///
/// Source: GCF 3.6 sections 2 to 7.
#[pyfunction]
#[pyo3(signature = (
    column, /, *, extensions = false, max_depth = 128, max_expansion = 268_435_456,
    errors = "raise", threads = None,
))]
fn gcf_to_json(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = named::extensions)] extensions: bool,
    #[pyo3(from_py_with = args::depth)] max_depth: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let limits = Limits { max_depth, max_expansion };
    let decode = gcf::DecodeOptions { extensions, limits };
    call(column, |column| core::gcf_to_json(column, decode, Escape::Needed, options))
}

/// Decode a GCF text to a column: a table to structs.
///
/// Parameters
/// ----------
/// text : str, bytes, bytearray or memoryview
///     A text whose value is an array, or an object whose only member is an array.
/// schema : object with `__arrow_c_schema__`, optional
///     The type and metadata, such as a schema of pyarrow for a table. Integers may stand for
///     floats, texts for dates, times, timestamps, decimals and UUIDs, nulls for values of any
///     type but a union. By default bool, int64, float64 (for integers and floats), utf8, struct,
///     list or null, as the values need it.
/// extensions, max_depth, max_expansion
///     As in `compactwire.gcf.loads`.
///
/// Returns
/// -------
/// Column
///     One chunk. A field that a row does not have is null. `gcf_loads(gcf.dumps(table),
///     schema=table.schema)` gives a column that is equal to `table`; keys of maps may be in
///     another order.
///
/// Raises
/// ------
/// GcfError
///     As `compactwire.gcf.loads`.
/// UnsupportedValue
///     A value does not fit its column, or a number is not exactly a value of its type; `path`
///     is its path, such as ``$[3].price``, or that of its column, such as ``$[*].price``.
///
/// Source: GCF 3.6 sections 2 to 7.
#[pyfunction]
#[pyo3(signature = (
    text, /, *, schema = None, extensions = false, max_depth = 128, max_expansion = 268_435_456,
))]
fn gcf_loads(
    text: &Bound<'_, PyAny>,
    schema: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = named::extensions)] extensions: bool,
    #[pyo3(from_py_with = args::depth)] max_depth: usize,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
) -> Result<Column> {
    let options = gcf::DecodeOptions { extensions, limits: Limits { max_depth, max_expansion } };
    let field = schema.map(field).transpose()?;
    let py = text.py();
    let text = Input::new(text, "text")?;
    let text = text.gcf_text()?;
    let loads = || core::gcf_loads(text, field.as_ref(), options);
    Ok(Column(py.detach(|| attached(loads))??))
}

/// The field that an object describes.
fn field(schema: &Bound<'_, PyAny>) -> Result<core::ArrowField> {
    let method = intern!(schema.py(), "__arrow_c_schema__");
    if !has_method(schema, method)? {
        let found = class_name(&schema.get_type());
        let message = format!(
            "schema must be an object with __arrow_c_schema__, such as the schema of a table, not {found}"
        );
        return Err(PyTypeError::new_err(message).into());
    }
    let capsule = schema.call_method0(method)?;
    let schema = pointer::<FFI_ArrowSchema>(&capsule, SCHEMA)?;
    // SAFETY: the name of the capsule says that it holds a schema.
    Ok(core::Column::field_of(unsafe { &*schema }).map_err(Unreadable::from)?)
}

/// Decode each row of a column of compact CAD texts to a document as JSON text.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Compact CAD texts.
/// dialect : {"auto", "0.1", "0.2"}
///     As in `compactwire.cad.from_compact`.
/// max_expansion : int
///     How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
///     have: rows can share a text.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The documents as JSON texts, in canonical form.
///
/// Raises
/// ------
/// CompactParseError
///     As `compactwire.cad.from_compact`, with the attribute `row`.
/// OutputTooLarge
///     The rows exceed `max_expansion`, whatever `errors` is.
///
/// Source: CAD IR "Format Specification".
#[pyfunction]
#[pyo3(signature = (
    column, /, *, dialect = "auto", max_expansion = 268_435_456, errors = "raise", threads = None,
))]
fn cad_from_compact(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = args::words::dialect)] dialect: &str,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let choices = [("auto", Dialect::Auto), ("0.1", Dialect::V0_1), ("0.2", Dialect::V0_2)];
    let dialect = one_of("dialect", dialect, choices)?;
    call(column, |column| core::cad_from_compact(column, dialect, max_expansion, options))
}

/// Encode each row of a column of CAD documents as compact text.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Documents as JSON texts.
/// dialect : {"0.1", "0.2"}
///     As in `compactwire.cad.to_compact`.
/// names, lossy : bool
///     As in `compactwire.cad.to_compact`, for dialect 0.1.
/// unknown : {"error", "keep"}
///     As in `compactwire.cad.to_compact`, for dialect 0.2.
/// max_expansion : int
///     How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
///     have: rows can share a text.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The compact texts.
///
/// Raises
/// ------
/// DocumentError
///     As `compactwire.cad.to_compact`, with the attribute `row`.
/// OutputTooLarge
///     The rows exceed `max_expansion`, whatever `errors` is.
///
/// Source: CAD IR "Rust Implementation".
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "options")]
#[pyo3(signature = (
    column, /, *, dialect = "0.1", names = true, lossy = false, unknown = "error",
    max_expansion = 268_435_456, errors = "raise", threads = None,
))]
fn cad_to_compact(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = args::words::dialect)] dialect: &str,
    #[pyo3(from_py_with = named::names)] names: bool,
    #[pyo3(from_py_with = named::lossy)] lossy: bool,
    #[pyo3(from_py_with = args::words::unknown)] unknown: &str,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    let keep_unknown = one_of("unknown", unknown, [("error", false), ("keep", true)])?;
    let choices = [
        ("0.1", CadWrite::V0_1(Options { names, lossy })),
        ("0.2", CadWrite::V0_2 { keep_unknown }),
    ];
    let write = one_of("dialect", dialect, choices)?;
    if keep_unknown && (lossy || dialect != "0.2") {
        let message = "unknown=\"keep\" needs dialect 0.2 without lossy=True";
        return Err(invalid_option("unknown", message).into());
    }
    call(column, |column| core::cad_to_compact(column, write, max_expansion, options))
}

/// Decode each row of a column of CAD documents in the binary form to JSON text.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Documents in the binary form, as bytes.
/// max_expansion : int
///     As in `compactwire.cad.from_binary`, for each row. All rows together may become as many
///     bytes more than 64 times the documents and 1 KiB for each.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The documents as JSON texts, in canonical form.
///
/// Raises
/// ------
/// BinaryError
///     As `compactwire.cad.from_binary`, with the attribute `row`.
/// OutputTooLarge
///     All rows together exceed `max_expansion`, whatever `errors` is.
///
/// Source: CAD IR "Future Enhancements".
#[pyfunction]
#[pyo3(signature = (
    column, /, *, max_expansion = MAX_EXPANSION, errors = "raise", threads = None,
))]
#[pyo3(text_signature = "(column, /, *, max_expansion=268435456, errors='raise', threads=None)")]
fn cad_from_binary(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    call(column, |column| core::cad_from_binary(column, max_expansion, options))
}

/// Encode each row of a column of CAD documents in the binary form.
///
/// Parameters
/// ----------
/// column : Arrow column
///     Documents as JSON texts.
/// max_expansion : int
///     How many bytes more than 64 times the memory of the rows, and 1 KiB for each, the result may
///     have: rows can share a text.
/// errors, threads
///     As in `encode`.
///
/// Returns
/// -------
/// Column
///     The documents in the binary form, as bytes.
///
/// Raises
/// ------
/// DocumentError
///     As `compactwire.cad.to_binary`, with the attribute `row`.
/// OutputTooLarge
///     The rows exceed `max_expansion`, whatever `errors` is.
///
/// Source: CAD IR "Future Enhancements".
#[pyfunction]
#[pyo3(signature = (
    column, /, *, max_expansion = 268_435_456, errors = "raise", threads = None,
))]
fn cad_to_binary(
    column: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = sizes::max_expansion)] max_expansion: usize,
    #[pyo3(from_py_with = args::words::errors)] errors: &str,
    threads: Option<&Bound<'_, PyAny>>,
) -> Result<Column> {
    let options = row_options(errors, threads)?;
    call(column, |column| core::cad_to_binary(column, max_expansion, options))
}
