//! Core errors as Python exceptions: one `match` per core error, without a wildcard arm.
//!
//! A function that Python calls returns [`Result`], so that `?` converts both core errors and
//! `PyErr`. The exception classes are defined in `compactwire/errors.py`. An exception has the
//! core's message, and the core's fields as attributes.

use crate::calls::Run;
use crate::make::{
    Number, PathString, Str, args, make_dict, make_str, make_tuple, memory_error, name, py_error,
    py_error_of,
};
use compactwire::claims::{Failure, ProduceError, one_line};
use compactwire::compact::{DecodeError, EncodeError};
use compactwire::excerpt::{excerpt, path_excerpt};
use compactwire::gcf;
use compactwire::memory::NO_MEMORY;
use compactwire::{arrow, base85, cad, session, wire};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyFileExistsError, PyKeyboardInterrupt, PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::{CastError, CastIntoError};
use pythonize::PythonizeError;
use std::collections::TryReserveError;
use std::path::PathBuf;

/// An exception to raise: a pointer, so that results fit into registers.
///
/// Rust allows `From<core error>` for a type of this crate only, and `PyErr` is not one.
pub(super) struct Error(Box<PyErr>);

/// The result of a function that raises core errors.
pub(super) type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        *error.0
    }
}

/// Converts the errors of PyO3 itself, and of pythonize.
macro_rules! from_python {
    ($($error:ty),* $(,)?) => { $(
        impl From<$error> for Error {
            #[cold]
            fn from(error: $error) -> Self {
                Self(Box::new(error.into()))
            }
        }
    )* };
}

impl From<TryReserveError> for Error {
    #[cold]
    fn from(_: TryReserveError) -> Self {
        memory_error(NO_MEMORY).into()
    }
}

from_python!(PyErr, CastError<'_, '_>, CastIntoError<'_>, PythonizeError);

/// Converts the errors of the core. `Python::attach` is cheap here: the thread is already attached,
/// so that it only reads a thread-local counter.
macro_rules! from_core {
    ($($error:ty => $exception:ident),* $(,)?) => { $(
        impl From<$error> for Error {
            #[cold]
            fn from(error: $error) -> Self {
                Python::attach(|py| $exception(py, &error)).into()
            }
        }
    )* };
}

from_core! {
    arrow::Error => arrow_error,
    DecodeError => decode_error,
    EncodeError => encode_error,
    base85::Error => base85_error,
    cad::BinaryError => binary_error,
    cad::DocumentError => document_error,
    cad::Error => cad_error,
    cad::ParseError => parse_error,
    gcf::Error => gcf_error,
    session::DecodeError => session_decode_error,
    session::EncodeError => session_encode_error,
    session::StateError => session_state_error,
    wire::Error => wire_error,
}

impl From<ProduceError> for Error {
    #[cold]
    fn from(error: ProduceError) -> Self {
        Python::attach(|py| produce_error(py, error)).into()
    }
}

/// A reader's error, or the exception raised in a sink of Python objects.
impl From<gcf::ReadError<Error>> for Error {
    fn from(error: gcf::ReadError<Error>) -> Self {
        match error {
            gcf::ReadError::Text(error) => error.into(),
            gcf::ReadError::Sink(error) => error,
        }
    }
}

pub(super) mod classes {
    use crate::make::{import_class, name};
    use pyo3::prelude::*;
    use pyo3::sync::PyOnceLock;
    use pyo3::types::PyType;

    macro_rules! import {
        ($($name:ident),* $(,)?) => { $(
            pub(crate) struct $name;

            impl $name {
                /// The class, from `compactwire.errors`. `import_exception!` of PyO3 panics if there is not
                /// enough memory when the class is first needed.
                pub(crate) fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
                    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
                    let name = name!(py, stringify!($name))?;
                    import_class(py, &CLASS, name!(py, "compactwire.errors")?, name)
                }
            }
        )* };
    }
    import! {
        BinaryError, ClaimRejected, CompactParseError, CompactWireError, DecompressionFailed, DictionaryNotFound, DocumentError, EmptyResponse, EncodeError, GcfError, InvalidBase64, InvalidBase85Char, InvalidBase85Length, InvalidBase85Value, InvalidFormat, InvalidMsgpack, InvalidPrefix, MissingField, OptionError, OutputTooLarge, UnknownReference, UnsupportedValue, WireError,
    }
}

/// A value that becomes an attribute of an exception. PyO3 converts a text or a number by a constructor that
/// panics if there is not enough memory.
trait Fact {
    fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>>;
}

macro_rules! facts {
    ($($class:ty: |$value:ident| $object:expr),+ $(,)?) => { $(
        impl Fact for $class {
            fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
                let $value = self;
                $object.into_bound_py_any(py)
            }
        }
    )+ };
}

facts! {
    &str: |text| Str(text),
    &String: |text| Str(text),
    char: |letter| Str(String::from(letter)),
    usize: |number| Number(number),
    u64: |number| Number(number),
    u8: |number| Number(u64::from(number)),
    u32: |number| Number(u64::from(number)),
    Py<PyAny>: |object| object,
}

impl<T: Fact> Fact for Option<T> {
    fn object(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        self.map_or_else(|| Ok(py.None().into_bound(py)), |fact| fact.object(py))
    }
}

/// An exception with a message, and with attributes; the `MemoryError` if there is not enough memory for it.
macro_rules! exception {
    ($py:expr, $class:ident, $message:expr $(, $name:ident = $value:expr)*) => {{
        let made = || {
            let facts = make_dict($py)?;
            $(facts.set_item(name!($py, stringify!($name))?, Fact::object($value, $py)?)?;)*
            classes::$class::class($py)?.run_with(args!($py, Str(&$message))?, &facts)
        };
        made().map_or_else(|error| error, PyErr::from_value)
    }};
}

/// A [`DecodeError`] as its exception.
#[cold]
fn decode_error(py: Python<'_>, error: &DecodeError) -> PyErr {
    decode_error_with(py, error, &error.to_string())
}

/// A [`DecodeError`] as its exception, with a more detailed message.
fn decode_error_with(py: Python<'_>, error: &DecodeError, text: &str) -> PyErr {
    match error {
        DecodeError::EmptyResponse => exception!(py, EmptyResponse, text),
        DecodeError::InvalidPrefix(char) => exception!(py, InvalidPrefix, text, char = *char),
        DecodeError::InvalidFormat(_) => exception!(py, InvalidFormat, text),
        DecodeError::MissingField(field) => exception!(py, MissingField, text, field = *field),
        DecodeError::InvalidBase64 { position } => {
            exception!(py, InvalidBase64, text, position = *position)
        }
        DecodeError::Base85(error) => base85_error_with(py, error, text),
        DecodeError::DecompressionFailed(_) => exception!(py, DecompressionFailed, text),
        DecodeError::OutputTooLarge { limit } | DecodeError::TooManyValues { limit, .. } => {
            exception!(py, OutputTooLarge, text, limit = *limit)
        }
        DecodeError::OutOfMemory { .. } => memory_error(text),
        DecodeError::InvalidMsgpack(error) => {
            exception!(py, InvalidMsgpack, text, offset = error.offset)
        }
        DecodeError::DictionaryNotFound { id: 0, name: Some(name) } => {
            exception!(py, DictionaryNotFound, text, id = name)
        }
        DecodeError::DictionaryNotFound { id, name: _ } => {
            exception!(py, DictionaryNotFound, text, id = *id)
        }
    }
}

/// A Base85 error as its exception.
#[cold]
fn base85_error(py: Python<'_>, error: &base85::Error) -> PyErr {
    base85_error_with(py, error, &error.to_string())
}

fn base85_error_with(py: Python<'_>, error: &base85::Error, text: &str) -> PyErr {
    match error {
        base85::Error::Char { char, position } => {
            exception!(py, InvalidBase85Char, text, char = *char, position = *position)
        }
        base85::Error::Length(length) => {
            exception!(py, InvalidBase85Length, text, length = *length)
        }
        base85::Error::Value { position } => {
            exception!(py, InvalidBase85Value, text, position = *position)
        }
    }
}

/// An [`EncodeError`] as its exception.
#[cold]
fn encode_error(py: Python<'_>, error: &EncodeError) -> PyErr {
    if error.out_of_memory {
        return memory_error(NO_MEMORY);
    }
    if let Some(path) = &error.path {
        return unsupported(py, gcf::Code::OutOfRange, path, &error.message);
    }
    exception!(py, EncodeError, error.to_string(), field = error.field)
}

/// An [`arrow::Error`] as its exception.
#[cold]
fn arrow_error(py: Python<'_>, error: &arrow::Error) -> PyErr {
    match error {
        arrow::Error::Type(message) => py_error::<PyTypeError>(message.clone()),
        arrow::Error::Producer(message) => exception!(py, CompactWireError, message),
        arrow::Error::ProducerFailed { code, reason } => {
            producer_error(py, *code, reason, &error.to_string())
        }
        arrow::Error::Unreadable { .. } => exception!(py, CompactWireError, error.to_string()),
        arrow::Error::TooLarge { limit, .. } => {
            exception!(py, OutputTooLarge, error.to_string(), limit = *limit)
        }
        arrow::Error::Expansion { row, limit } => {
            let error = exception!(py, OutputTooLarge, error.to_string(), limit = *limit);
            let set = name!(py, "row").and_then(|name| error.value(py).setattr(name, Number(*row)));
            set.err().unwrap_or(error)
        }
        arrow::Error::Row { row, failure } => row_error(py, *row, failure).into(),
        arrow::Error::Gcf(error) => gcf_error(py, error),
        arrow::Error::OutOfMemory => memory_error(NO_MEMORY),
    }
}

/// The code of `errno` for too little memory, on every system.
const ENOMEM: i32 = 12;

/// The exception for a producer that failed. Arrow has a number and a text for it, and no exception; some are
/// known all the same, which a caller must not take for an error about the column.
#[cold]
fn producer_error(py: Python<'_>, code: i32, reason: &str, message: &str) -> PyErr {
    // pyarrow ends its text with the traceback of an exception of Python.
    let last = reason.contains("Python exception: ").then(|| reason.trim_end().lines().next_back());
    let class = last.flatten().and_then(|line| line.split(':').next());
    match class {
        Some("KeyboardInterrupt") => py_error::<PyKeyboardInterrupt>(message),
        Some("MemoryError") => memory_error(message),
        _ if code == ENOMEM => memory_error(message),
        _ => exception!(py, CompactWireError, message),
    }
}

/// The error of a row of a column: the exception of the function for one message, with its row.
#[cold]
fn row_error(py: Python<'_>, row: usize, failure: &arrow::Failure) -> Error {
    let error = match failure {
        arrow::Failure::Encode(error) => encode_error(py, error),
        arrow::Failure::Decode(error) => decode_error(py, error),
        arrow::Failure::Gcf(error) => gcf_error(py, error),
        arrow::Failure::Cad(error) => cad_error(py, error),
    };
    let value = error.value(py);
    let noted = || {
        value.setattr(name!(py, "row")?, Number(row))?;
        value.run_method(name!(py, "add_note")?, args!(py, Str(format!("in row {row}")))?)
    };
    noted().err().unwrap_or(error).into()
}

/// A session's [`session::DecodeError`] as its exception.
#[cold]
fn session_decode_error(py: Python<'_>, error: &session::DecodeError) -> PyErr {
    let text = error.to_string();
    match error {
        session::DecodeError::InvalidFormat { .. } => exception!(py, InvalidFormat, text),
        session::DecodeError::Compact { frame: _, error } => decode_error_with(py, error, &text),
        session::DecodeError::UnknownReference { unknown, undone, base, .. } => {
            let all: Vec<_> = unknown.iter().chain(undone).chain(base).collect();
            let all = match make_tuple(py, all.iter().map(|id| make_str(py, id))) {
                Ok(all) => all,
                Err(error) => return error,
            };
            exception!(
                py,
                UnknownReference,
                text,
                id = unknown.first(),
                ids = all.into_any().unbind()
            )
        }
    }
}

/// A session's [`session::EncodeError`] as its exception.
#[cold]
fn session_encode_error(py: Python<'_>, error: &session::EncodeError) -> PyErr {
    if error.out_of_memory {
        return memory_error(NO_MEMORY);
    }
    exception!(py, EncodeError, error.to_string(), field = error.field)
}

/// A [`session::StateError`] as its exception.
#[cold]
fn session_state_error(py: Python<'_>, error: &session::StateError) -> PyErr {
    match error {
        session::StateError::Invalid(_) => invalid_format(py, &error.to_string()),
        session::StateError::OutOfMemory => memory_error(NO_MEMORY),
    }
}

/// An `EncodeError` about a Python value.
#[cold]
pub(super) fn invalid_field(py: Python<'_>, field: &str, message: &str) -> PyErr {
    // The name may be a key chosen by the caller, with any characters.
    let plain = field.len() <= 40 && field.bytes().all(|c| c == b'_' || c.is_ascii_alphanumeric());
    let name = if plain { field.to_owned() } else { excerpt(field) };
    exception!(py, EncodeError, format!("{name}: {message}"), field = field)
}

/// A `TypeError` or `EncodeError` with advice at the end of its message. Other errors are returned as they are.
#[cold]
pub(super) fn advised(py: Python<'_>, error: PyErr, advice: &str) -> PyErr {
    let class = error.get_type(py);
    let text = format!("{}; {advice}", error.value(py));
    if class.is(py.get_type::<PyTypeError>()) {
        py_error::<PyTypeError>(text)
    } else if classes::EncodeError::class(py).is_ok_and(|known| class.is(known))
        && let Ok(field) = name!(py, "field").and_then(|field| error.value(py).run_getattr(field))
    {
        exception!(py, EncodeError, text, field = field.unbind())
    } else {
        error
    }
}

/// An `EncodeError` about the part of a Python value at `path`.
#[cold]
pub(super) fn invalid_path(py: Python<'_>, path: &str, message: &str) -> PyErr {
    exception!(py, EncodeError, format!("{path}: {message}"), field = path)
}

/// An `UnsupportedValue` about the part of a Python value at `path`.
#[cold]
pub(super) fn unsupported(py: Python<'_>, code: gcf::Code, path: &str, message: &str) -> PyErr {
    unsupported_with(py, code, path, &format!("{}: {message}", path_excerpt(path)))
}

fn unsupported_with(py: Python<'_>, code: gcf::Code, path: &str, text: &str) -> PyErr {
    let nowhere = None::<usize>;
    exception!(
        py,
        UnsupportedValue,
        text,
        code = code.name(),
        path = path,
        field = path,
        line = nowhere,
        column = nowhere
    )
}

/// An `OptionError` about an argument.
#[cold]
pub(super) fn invalid_option(option: &str, message: &str) -> PyErr {
    Python::attach(|py| exception!(py, OptionError, message, option = option))
}

/// An `InvalidFormat` about a Python value.
#[cold]
pub(super) fn invalid_format(py: Python<'_>, message: &str) -> PyErr {
    exception!(py, InvalidFormat, message)
}

/// The exception of an error in compact CAD text.
#[cold]
fn parse_error(py: Python<'_>, error: &cad::ParseError) -> PyErr {
    let text = error.to_string();
    let cad::ParseError { line, column, message, suggestion } = error;
    exception!(
        py,
        CompactParseError,
        text,
        line = *line,
        column = *column,
        message = message,
        suggestion = *suggestion
    )
}

/// The exception of an error in a CAD document.
#[cold]
fn document_error(py: Python<'_>, error: &cad::DocumentError) -> PyErr {
    let text = format!("{error}{}", error.advice());
    exception!(py, DocumentError, text, path = &error.path, message = &error.message)
}

/// The exception of an error in a binary CAD document.
#[cold]
fn binary_error(py: Python<'_>, error: &cad::BinaryError) -> PyErr {
    if error.out_of_memory {
        return memory_error(NO_MEMORY);
    }
    let text = error.to_string();
    exception!(py, BinaryError, text, offset = error.offset, message = &error.message)
}

/// The exception of any error in a CAD file.
#[cold]
fn cad_error(py: Python<'_>, error: &cad::Error) -> PyErr {
    match error {
        cad::Error::Parse(error) => parse_error(py, error),
        cad::Error::Document(error) => document_error(py, error),
        cad::Error::Binary(error) => binary_error(py, error),
    }
}

/// A GCF error as its exception.
#[cold]
fn gcf_error(py: Python<'_>, error: &gcf::Error) -> PyErr {
    if error.code == gcf::Code::OutOfMemory {
        return memory_error(&*error.message);
    }
    let text = error.to_string();
    if let gcf::Place::Value(path) = &error.place
        && error.is_unsupported_value()
    {
        return unsupported_with(py, error.code, path, &text);
    }
    let code = error.code.name();
    let (line, column, path) = match &error.place {
        gcf::Place::None => (None, None, None),
        gcf::Place::Text { line, column } => (Some(*line), Some(*column), None),
        gcf::Place::Value(path) => (None, None, Some(path)),
    };
    exception!(py, GcfError, text, code = code, line = line, column = column, path = path)
}

/// A `ClaimRejected` by a check, or by a producer, for which `check` is `None`.
#[cold]
pub(super) fn claim_rejected(py: Python<'_>, failure: &Failure, check: Option<&str>) -> PyErr {
    let Failure { code, message, path } = failure;
    let text = match path {
        // The message may be shown in a terminal, and has the path as one line; the attribute has
        // the exact path.
        Some(path) => format!("{}: {message} ({})", code.name(), one_line(path)),
        None => format!("{}: {message}", code.name()),
    };
    exception!(
        py,
        ClaimRejected,
        text,
        code = code.name(),
        phase = code.phase(),
        check = check,
        path = path.as_deref(),
        exit_code = code.exit_code()
    )
}

/// The `errno` of `FileExistsError`, on all systems that Python runs on.
const EEXIST: i64 = 17;

/// A [`ProduceError`] as its exception.
#[cold]
fn produce_error(py: Python<'_>, error: ProduceError) -> PyErr {
    match error {
        ProduceError::Argument { field, .. } => {
            exception!(py, EncodeError, error.to_string(), field = field)
        }
        ProduceError::Refused(failure) => claim_rejected(py, &failure, None),
        ProduceError::Randomness => py_error::<PyOSError>(error.to_string()),
        ProduceError::Occupied { path, message } => py_error_of::<PyFileExistsError>(args!(
            py,
            Number(EEXIST),
            Str(message),
            PathString(path)
        )),
        ProduceError::Io { path, error } => os_error(&error, path),
    }
}

/// The `OSError` that Python's own functions raise: with the file's name.
pub(super) fn os_error(error: &std::io::Error, path: PathBuf) -> PyErr {
    match error.raw_os_error() {
        None => py_error::<PyOSError>(error.to_string()),
        Some(code) => {
            let message = error.to_string();
            // Rust adds the number to the text, Python puts it first.
            let message = message.split(" (os error").next().unwrap_or_default().to_owned();
            Python::attach(|py| {
                let path = PathString(path);
                py_error_of::<PyOSError>(args!(py, Number(i64::from(code)), Str(message), path))
            })
        }
    }
}

/// An error of GCB or JSON as its exception.
#[cold]
fn wire_error(py: Python<'_>, error: &wire::Error) -> PyErr {
    if error.code == wire::Code::OutOfMemory {
        return memory_error(&*error.message);
    }
    let code = error.code.name();
    let (offset, path) = match &error.place {
        wire::Place::Offset(offset) => (Some(*offset), None),
        wire::Place::Path(path) => (None, Some(path)),
    };
    let (text, nowhere) = (error.to_string(), None::<usize>);
    exception!(
        py,
        WireError,
        text,
        code = code,
        line = nowhere,
        column = nowhere,
        path = path,
        offset = offset
    )
}
