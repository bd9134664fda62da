//! Converts arguments from Python to the values that the core accepts: texts and bytes, files and paths,
//! numbers, and the words of options.
//!
//! Invariant: an argument of a wrong type is a `TypeError`, and a value that the core does not accept is one
//! of the package's errors. Both name the argument.

use super::errors::{
    self, Error, invalid_field, invalid_format, invalid_option, os_error, unsupported,
};
use crate::abi;
use crate::make::{ensure_memory, make_bytes, make_list, make_size, push};
use crate::value::kind::digits;
use compactwire::compact::delta::Replace;
use compactwire::compact::{self, Choice, Format, Layout, Protocol, Wire};
use compactwire::excerpt::{EXCERPT_CHARS, excerpt};
use compactwire::gcf::Limits;
use compactwire::{cad, gcf, text};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{
    PyOSError, PyOverflowError, PyTypeError, PyUnicodeEncodeError, PyValueError,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyInt, PyIterator, PyMemoryView, PySequence, PyString, PyType,
};
use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// Text or bytes to read: borrowed from a `str` or `bytes`, copied from a buffer that can change.
pub(super) enum Input<'py> {
    Str(Bound<'py, PyString>),
    /// The UTF-8 of a `str` that does not own it yet.
    Text(String),
    Bytes(Bound<'py, PyBytes>),
    Copy(Vec<u8>),
}

/// The UTF-8 of a text that is longer than most names, made faster than by the interpreter, which would also keep
/// it in the `str`. `None` if that is not possible.
fn converted(text: &Bound<'_, PyString>) -> Option<String> {
    const SHORT: usize = 64;
    // SAFETY: the object is a `str` that outlives its characters.
    let units = unsafe { abi::units(text.as_ptr()) }.filter(|it| it.count() > SHORT)?;
    let mut utf8 = String::new();
    units.read(&mut utf8).then_some(utf8)
}

impl<'py> Input<'py> {
    /// Takes `str`, `bytes`, `bytearray`, `memoryview` and any other buffer of bytes; `TypeError` names the
    /// argument.
    pub(super) fn new(object: &Bound<'py, PyAny>, name: impl Display) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            Ok(converted(text).map_or_else(|| Self::Str(text.clone()), Self::Text))
        } else if let Ok(bytes) = object.cast::<PyBytes>() {
            Ok(Self::Bytes(bytes.clone()))
        } else if let Ok(bytes) = object.cast::<PyByteArray>() {
            ensure_memory(bytes.len())?;
            Ok(Self::Copy(bytes.to_vec()))
        } else if object.is_instance_of::<PyMemoryView>() {
            let view =
                PyBuffer::<u8>::get(object).map_err(|error| not_of_bytes(object, name, error))?;
            ensure_memory(view.len_bytes())?;
            Ok(Self::Copy(view.to_vec(object.py())?))
        } else if let Ok(buffer) = PyBuffer::<u8>::get(object) {
            ensure_memory(buffer.len_bytes())?;
            Ok(Self::Copy(buffer.to_vec(object.py())?))
        } else {
            Err(wrong_type(object, name, "str, bytes, bytearray or memoryview"))
        }
    }

    /// Takes text or bytes; `None` for other objects, which the caller handles differently.
    pub(super) fn if_text(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Self>> {
        let is_text = object.is_instance_of::<PyString>() || Self::is_bytes(object);
        is_text.then(|| Self::new(object, name)).transpose()
    }

    /// Whether an object holds bytes.
    pub(super) fn is_bytes(object: &Bound<'py, PyAny>) -> bool {
        object.is_instance_of::<PyBytes>()
            || object.is_instance_of::<PyByteArray>()
            || object.is_instance_of::<PyMemoryView>()
    }

    /// The text of a message; `InvalidFormat` if it is not UTF-8.
    pub(super) fn text(&self, py: Python<'py>) -> PyResult<&str> {
        self.decode(
            |message| invalid_format(py, message),
            |bytes| {
                text::from_utf8(bytes).map_err(|error| {
                    let at = error.valid_up_to();
                    let reader = match compact::detect(compact::Wire::Bytes(bytes)) {
                        Ok(_) => "; for a message as bytes, use decode or decode_tool_call",
                        Err(_) => "",
                    };
                    let message = format!("the message is not UTF-8 from byte {at} on{reader}");
                    invalid_format(py, &message)
                })
            },
        )
    }

    /// A message: a text, or bytes; `InvalidFormat` for a text with a lone surrogate.
    pub(super) fn wire(&self, py: Python<'py>) -> PyResult<Wire<'_>> {
        match self {
            Self::Str(_) | Self::Text(_) => self.text(py).map(Wire::Text),
            Self::Bytes(bytes) => Ok(Wire::Bytes(bytes.as_bytes())),
            Self::Copy(bytes) => Ok(Wire::Bytes(bytes)),
        }
    }

    /// The text of a GCF document; `GcfError` if it is not UTF-8.
    pub(super) fn gcf_text(&self) -> errors::Result<&str> {
        self.decode(surrogate_in_gcf, |bytes| Ok(gcf::utf8(bytes)?))
    }

    /// The text of a CAD document in JSON; `DocumentError` if it is not UTF-8.
    pub(super) fn json_text(&self) -> errors::Result<&str> {
        let invalid = |place: &str| {
            let message = format!("invalid JSON: not UTF-8 {place}");
            Error::from(cad::DocumentError::new("document", message))
        };
        self.decode(
            |_| invalid("(a lone surrogate)"),
            |bytes| {
                text::from_utf8(bytes)
                    .map_err(|error| invalid(&format!("from byte {} on", error.valid_up_to())))
            },
        )
    }

    /// The text. `surrogate` creates the error for a `str` with a lone surrogate, `utf8` the one
    /// for bytes that are not UTF-8.
    fn decode<'a, E: From<PyErr>>(
        &'a self,
        surrogate: impl FnOnce(&str) -> E,
        utf8: impl FnOnce(&'a [u8]) -> Result<&'a str, E>,
    ) -> Result<&'a str, E> {
        match self {
            Self::Str(text) => utf8_or(text, surrogate),
            Self::Text(text) => Ok(text),
            Self::Bytes(bytes) => utf8(bytes.as_bytes()),
            Self::Copy(bytes) => utf8(bytes),
        }
    }

    /// The bytes; a `str` is a `TypeError` that names the argument and says to encode it first.
    pub(super) fn bytes(&self, name: &str) -> PyResult<&[u8]> {
        match self {
            Self::Str(_) | Self::Text(_) => {
                let message = format!("{name} must be bytes, not str (encode it first)");
                Err(PyTypeError::new_err(message))
            }
            Self::Bytes(bytes) => Ok(bytes.as_bytes()),
            Self::Copy(bytes) => Ok(bytes),
        }
    }

    /// Bytes that need not be UTF-8, for readers that report the line of an invalid character.
    pub(super) fn bytes_or_utf8(&self) -> PyResult<Cow<'_, [u8]>> {
        match self {
            Self::Str(text) => utf8_with_surrogates(text),
            Self::Text(text) => Ok(text.as_bytes().into()),
            Self::Bytes(bytes) => Ok(bytes.as_bytes().into()),
            Self::Copy(bytes) => Ok(bytes.into()),
        }
    }
}

/// The error for a memoryview that is not of bytes: unlike PyO3's, it describes the items. A released
/// view cannot be asked for them, and keeps its own error.
#[cold]
fn not_of_bytes(view: &Bound<'_, PyAny>, name: impl Display, error: PyErr) -> PyErr {
    let fact = |name| view.getattr(name).and_then(|fact| fact.str());
    match (fact("format"), fact("ndim")) {
        (Ok(format), Ok(dimensions)) => PyTypeError::new_err(format!(
            "{name} must be a memoryview of bytes, not of items of format {format} in {dimensions} \
             dimensions; pass bytes(view)"
        )),
        _ => error,
    }
}

/// A file at a path, read by Python's `FileIO`: Ctrl-C ends its wait for the other end of a FIFO, but would
/// not end that of `std::fs`.
pub(super) struct PathFile(Py<PyAny>);

impl PathFile {
    pub(super) fn open(py: Python<'_>, path: &Path) -> PyResult<Self> {
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(PyOSError::new_err("file name contained an unexpected NUL byte"));
        }
        Ok(Self(
            py.import(intern!(py, "io"))?
                .call_method1(intern!(py, "FileIO"), (path.as_os_str(),))?
                .unbind(),
        ))
    }

    /// Reads at most `size` bytes; none at the end of the file.
    pub(super) fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        Ok(self
            .0
            .bind(py)
            .call_method1(intern!(py, "read"), (make_size(py, size)?,))?
            .cast_into()?)
    }

    /// Reads a whole file. It may be endless: signals are handled after every [`PIECE`].
    pub(super) fn read_all<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyBytes>> {
        let file = Self::open(py, path)?;
        let mut pieces = Vec::new();
        loop {
            let piece = file.read(py, PIECE).map_err(|error| named_error(py, error, path))?;
            if piece.as_bytes().is_empty() {
                return joined(py, pieces);
            }
            push(&mut pieces, piece)?;
            py.check_signals()?;
        }
    }
}

/// How many bytes of a whole file are read at once.
const PIECE: usize = 8 << 20;

/// Names the file in the error of a read, which does not. It occurs for some files of `/proc`, and for a folder
/// on Windows.
fn named_error(py: Python<'_>, error: PyErr, path: &Path) -> PyErr {
    match error.value(py).getattr(intern!(py, "errno")).and_then(|code| code.extract()) {
        Ok(code) => os_error(&io::Error::from_raw_os_error(code), path.to_owned()),
        Err(_) => error,
    }
}

fn joined<'py>(
    py: Python<'py>,
    mut pieces: Vec<Bound<'py, PyBytes>>,
) -> PyResult<Bound<'py, PyBytes>> {
    if pieces.len() == 1
        && let Some(whole) = pieces.pop()
    {
        return Ok(whole);
    }
    let pieces = make_list(py, pieces.into_iter().map(Ok))?;
    Ok(make_bytes(py, b"")?.call_method1(intern!(py, "join"), (pieces,))?.cast_into()?)
}

impl Drop for PathFile {
    fn drop(&mut self) {
        // Otherwise Python warns of a file that was not closed. An error of `close` is ignored, because
        // nothing was written.
        Python::attach(|py| {
            // `close` must not run with an exception set, and must not replace it.
            let raised = PyErr::take(py);
            let _closed = self.0.bind(py).call_method0(intern!(py, "close"));
            if let Some(raised) = raised {
                raised.restore(py);
            }
        });
    }
}

/// The content of a string, with replacement characters for lone surrogates.
pub(super) fn lossy<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    if let Some(content) = utf8_if_whole(text)? {
        return Ok(content.into());
    }
    ensure_memory(text.len()?.saturating_mul(SURROGATES_FACTOR))?;
    Ok(text.to_string_lossy())
}

/// The bytes for each character of a string with lone surrogates: two copies of four bytes.
const SURROGATES_FACTOR: usize = 8;

/// The content of a file: what the `read` of an open file returned, or the bytes of a file at a path.
///
/// If the argument is not a file, but is content that `parses`, the error names `reader`, the function for
/// content.
pub(super) fn read_file<'py>(
    file: &Bound<'py, PyAny>,
    reader: &str,
    parses: impl FnOnce(&[u8]) -> bool,
) -> PyResult<Bound<'py, PyAny>> {
    if file.hasattr(intern!(file.py(), "read"))? {
        return file.call_method0(intern!(file.py(), "read"));
    }
    if Input::is_bytes(file) {
        let message =
            format!("file must be a path or an open file, not bytes; use `{reader}` for content");
        return Err(PyTypeError::new_err(message));
    }
    let content = PathFile::read_all(file.py(), &path_of(file, "file")?).map_err(|error| {
        let text = file.cast::<PyString>().ok();
        let text = text.and_then(|text| utf8_if_whole(text).ok().flatten());
        let text = text.filter(|_| error.is_instance_of::<PyOSError>(file.py()));
        match text.filter(|text| !text.is_empty() && parses(text.as_bytes())) {
            Some(text) => {
                let text = excerpt(text);
                let message = format!(
                    "{text} is content, not the path of a file; use `{reader}` for content"
                );
                invalid_option("file", &message)
            }
            None => error,
        }
    })?;
    Ok(content.into_any())
}

/// Converts the argument `name` to a path; `OptionError` for a lone surrogate, which no path has.
pub(super) fn path_of(object: &Bound<'_, PyAny>, name: &str) -> PyResult<PathBuf> {
    object.extract().map_err(|error| {
        if let Some(error) = surrogate_in(object, name, &error) {
            return error;
        }
        wrong_type(object, name, "a path (str or os.PathLike) or an open file")
    })
}

/// A path, for `#[pyo3(from_py_with = path)]`; `OptionError` for a lone surrogate.
pub(super) fn path(value: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    value.extract().map_err(|error| {
        surrogate_in(value, "path", &error).unwrap_or_else(|| {
            if lacks_method(value, "__fspath__") {
                wrong_type(value, "path", "a path (str or os.PathLike)")
            } else {
                error
            }
        })
    })
}

/// The `OptionError` for the argument `name` if Python could not encode it.
fn surrogate_in(value: &Bound<'_, PyAny>, name: &str, error: &PyErr) -> Option<PyErr> {
    let found = error.is_instance_of::<PyUnicodeEncodeError>(value.py());
    found.then(|| invalid_option(name, &format!("{name}: {}", surrogate_at(error, value.py()))))
}

/// The UTF-8 of a part of the argument `name`; `OptionError` for a lone surrogate.
pub(super) fn option_text<'a>(text: &'a Bound<'_, PyString>, name: &str) -> PyResult<&'a str> {
    utf8_or(text, |message| invalid_option(name, &format!("{name}: {message}")))
}

/// The UTF-8 of a `str`, in which lone surrogates are encoded like other characters.
pub(super) fn utf8_with_surrogates<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, [u8]>> {
    if let Some(text) = utf8_if_whole(text)? {
        return Ok(text.as_bytes().into());
    }
    ensure_memory(text.len()?.saturating_mul(SURROGATES_FACTOR))?;
    let py = text.py();
    let codec = (intern!(py, "utf-8"), intern!(py, "surrogatepass"));
    let bytes = text.call_method1(intern!(py, "encode"), codec)?;
    Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec().into())
}

/// The items of an iterable; `TypeError` names the argument and what its items are.
///
/// Signal handlers run at the first item, and again after every [`ITEMS_PER_CHECK`]: an iterator that is not
/// Python code, which can be endless, does not run them.
pub(super) fn each<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
    items: &str,
) -> PyResult<impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + use<'py>> {
    let py = value.py();
    let items = (0_u64..).zip(iterator(value, name, || format!("an iterable of {items}"))?);
    Ok(items.map(move |(at, item)| {
        if at.is_multiple_of(ITEMS_PER_CHECK) { py.check_signals().and(item) } else { item }
    }))
}

/// The iterator of an iterable; `TypeError` names the argument and what was expected.
pub(super) fn iterator<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
    expected: impl FnOnce() -> String,
) -> PyResult<Bound<'py, PyIterator>> {
    value.try_iter().map_err(|error| {
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
pub(super) fn lacks_method(value: &Bound<'_, PyAny>, name: &str) -> bool {
    matches!(value.get_type().hasattr(name), Ok(false))
}

/// More than the values of most rows, because a check costs as much as the conversion of a value.
const ITEMS_PER_CHECK: u64 = 32;

/// The names of fields, for `#[pyo3(from_py_with = names)]`; `GcfError` for a lone surrogate.
///
/// Not PyO3's conversion to `Vec`, which trusts the length that a sequence states and reserves memory for it.
pub(super) fn names(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(name) = value.cast::<PyString>() {
        // A sequence of characters, which are not meant.
        let name = utf8_if_whole(name)?.map_or_else(|| "…".to_owned(), excerpt);
        return Err(PyTypeError::new_err(format!(
            "fields must be a list of names, not str: pass [{name}]"
        )));
    }
    if value.cast::<PySequence>().is_err() {
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

/// The UTF-8 of a field of a value to be written; `UnsupportedValue` for a lone surrogate.
pub(super) fn utf8<'a>(text: &'a Bound<'_, PyString>, field: &str) -> PyResult<&'a str> {
    utf8_or(text, |message| unsupported(text.py(), gcf::Code::InvalidSurrogate, field, message))
}

/// The UTF-8 of a `str`. `surrogate` creates the error for a lone surrogate from a description with its
/// position. Every other error, such as too little memory, is returned as it is.
#[inline]
pub(super) fn utf8_or<'a, E: From<PyErr>>(
    text: &'a Bound<'_, PyString>,
    surrogate: impl FnOnce(&str) -> E,
) -> Result<&'a str, E> {
    #[expect(clippy::disallowed_methods, reason = "this function distinguishes its errors")]
    text.to_str().map_err(|error| {
        if error.is_instance_of::<PyUnicodeEncodeError>(text.py()) {
            surrogate(&surrogate_at(&error, text.py()))
        } else {
            error.into()
        }
    })
}

/// The text itself, if there is memory for a copy of it.
pub(super) fn enough_for(text: &str) -> PyResult<&str> {
    ensure_memory(text.len())?;
    Ok(text)
}

/// The UTF-8 of a `str`; `None` if it has a lone surrogate.
#[inline]
pub(super) fn utf8_if_whole<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Option<&'a str>> {
    match utf8_or(text, |_| None) {
        Ok(utf8) => Ok(Some(utf8)),
        Err(None) => Ok(None),
        Err(Some(error)) => Err(error),
    }
}

/// The name of a class, for messages. PyO3's `Display` would run the handlers of pending signals, and drop
/// the exceptions that they raise.
pub(super) fn class_name(class: &Bound<'_, PyType>) -> String {
    let name = class.name().ok();
    let name = name.as_ref().and_then(|name| utf8_if_whole(name).ok().flatten());
    name.unwrap_or("this").to_owned()
}

/// The `GcfError` for a text with a lone surrogate.
#[cold]
fn surrogate_in_gcf(message: &str) -> Error {
    gcf::Error::without_place(gcf::Code::InvalidSurrogate, message).into()
}

/// A description of the lone surrogate with its position, from Python's `UnicodeEncodeError`.
pub(super) fn surrogate_at(error: &PyErr, py: Python<'_>) -> String {
    let start =
        error.value(py).getattr(intern!(py, "start")).and_then(|start| start.extract::<usize>());
    start.map_or_else(
        |_| NOT_UTF8.into(),
        |start| format!("lone surrogate at position {start} cannot be encoded as UTF-8"),
    )
}

const NOT_UTF8: &str = "the text cannot be encoded as UTF-8";

/// `min_saving=`, for `#[pyo3(from_py_with = args::min_saving)]`. A number beyond the range of doubles becomes infinity,
/// so that the caller's range check rejects it with an error that names the option and its range.
pub(super) fn min_saving(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    Ok(double(value, "min_saving")?.unwrap_or(f64::INFINITY))
}

/// A number as a double; `TypeError` names the field; `None` for an int or a fraction beyond their range. The signaling NaN of `Decimal`,
/// which Python does not convert, is a NaN.
pub(super) fn double(value: &Bound<'_, PyAny>, field: &str) -> PyResult<Option<f64>> {
    let py = value.py();
    match value.extract::<f64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => Ok(None),
        Err(error) if error.is_instance_of::<PyValueError>(py) => {
            if is_signaling_nan(value)? {
                Ok(Some(f64::NAN))
            } else {
                Err(error)
            }
        }
        Err(_) if lacks_method(value, "__float__") && lacks_method(value, "__index__") => {
            Err(wrong_type(value, field, "a float"))
        }
        number => number.map(Some),
    }
}

fn is_signaling_nan(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let decimal = CLASS.import(value.py(), "decimal", "Decimal")?;
    Ok(value.is_instance(decimal)?
        && value.call_method0(intern!(value.py(), "is_snan"))?.is_truthy()?)
}

/// The name of a choice. A text with a lone surrogate becomes a name that no choice has, so that the caller
/// rejects it with an error that lists the choices.
pub(super) fn word<'a>(value: &'a Bound<'_, PyAny>, option: impl Display) -> PyResult<&'a str> {
    Ok(utf8_if_whole(text(value, option)?)?.unwrap_or("\u{fffd}"))
}

/// Functions for `#[pyo3(from_py_with = args::words::types)]` and the like: each is [`word`] with the name of
/// its option, which PyO3 tells only in a note on the exception.
macro_rules! words {
    ($($option:ident)*) => {
        pub(super) mod words {
            use pyo3::prelude::*;
            $(pub(crate) fn $option<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
                super::word(value, stringify!($option))
            })*
        }
    };
}

words! { dangling dialect errors format output reason replace types unknown }

/// As [`words`], for options that may be `None`.
macro_rules! words_if_any {
    ($($option:ident)*) => {
        pub(super) mod words_if_any {
            use pyo3::prelude::*;
            $(pub(crate) fn $option<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Option<&'a str>> {
                if value.is_none() {
                    return Ok(None);
                }
                super::word(value, stringify!($option)).map(Some)
            })*
        }
    };
}

words_if_any! { dialect format target }

/// A conversion for each argument of free text, with the argument's name, for
/// `#[pyo3(from_py_with = args::written::tool)]`: PyO3 does not pass the name to a conversion, and the
/// `UnsupportedValue` for a lone surrogate contains it.
pub(super) mod written {
    use super::{enough_for, text as text_of, utf8};
    use pyo3::prelude::*;

    macro_rules! arguments {
        ($($name:ident),*) => { $(
            pub(crate) fn $name<'a, T: From<&'a str>>(value: &'a Bound<'_, PyAny>) -> PyResult<T> {
                Ok(enough_for(utf8(text_of(value, stringify!($name))?, stringify!($name))?)?.into())
            }
        )* };
    }

    /// As above, for arguments that may be `None`.
    macro_rules! optional_arguments {
        ($($name:ident),*) => { $(
            pub(crate) fn $name<'a, T: From<&'a str>>(
                value: &'a Bound<'_, PyAny>,
            ) -> PyResult<Option<T>> {
                if value.is_none() {
                    return Ok(None);
                }
                Ok(Some(enough_for(utf8(text_of(value, stringify!($name))?, stringify!($name))?)?.into()))
            }
        )* };
    }

    arguments!(base_root, check, code, content_type, group, id, key, label, message, model);
    arguments!(name, new_root, phase, status, text, tool);
    optional_arguments!(path, peer_root);

    /// `name=` of a dictionary.
    pub(crate) mod optional {
        use super::{enough_for, text_of, utf8};
        use pyo3::prelude::*;
        optional_arguments!(name);
    }
}

/// A 64-bit integer but not a `bool`; `UnsupportedValue` on `field` if it is out of range.
pub(super) fn int64(value: &Bound<'_, PyAny>, field: &str) -> PyResult<i64> {
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(value, field, "an int"));
    }
    value.extract::<i64>().map_err(|error| {
        if !error.is_instance_of::<PyOverflowError>(value.py())
            && !error.is_instance_of::<PyTypeError>(value.py())
        {
            // Raised by the object itself.
            error
        } else if error.is_instance_of::<PyOverflowError>(value.py()) {
            let message = "the number is not within -2^63 to 2^63 - 1";
            unsupported(value.py(), gcf::Code::OutOfRange, field, message)
        } else {
            wrong_type(value, field, "an int")
        }
    })
}

/// An integer from 0 to 2^63 - 1 but not a `bool`; `EncodeError` on `field` if it is out of range.
pub(super) fn natural(value: &Bound<'_, PyAny>, field: &str) -> PyResult<u64> {
    u64::try_from(int64(value, field)?)
        .map_err(|_| invalid_field(value.py(), field, "the number must not be negative"))
}

/// The result of the function that counts tokens and was passed as `option`.
pub(super) fn token_count(value: &Bound<'_, PyAny>, option: &str) -> PyResult<u64> {
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        let found = class_name(&value.get_type());
        let message = format!("{option} must return an int, not {found}");
        return Err(PyTypeError::new_err(message));
    }
    value.extract().map_err(|_| {
        let message = format!("it must return an int from 0 to 2^64 - 1, not {}", shown(value));
        invalid_field(value.py(), option, &message)
    })
}

/// Text of a field; `TypeError` names the field.
pub(super) fn text<'a, 'py>(
    value: &'a Bound<'py, PyAny>,
    field: impl Display,
) -> PyResult<&'a Bound<'py, PyString>> {
    value.cast::<PyString>().map_err(|_| wrong_type(value, field, "a str"))
}

/// Checks that an argument is a function; `TypeError` names the argument.
pub(super) fn check_callable(value: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    if value.is_callable() { Ok(()) } else { Err(wrong_type(value, name, "a function")) }
}

/// A truth value of a field; `TypeError` names the field.
pub(super) fn boolean(value: &Bound<'_, PyAny>, field: &str) -> PyResult<bool> {
    let on = value.cast::<PyBool>().map_err(|_| wrong_type(value, field, "a bool"))?;
    Ok(on.is_true())
}

/// An integer but not a `bool`; one beyond 64 bits counts as the nearest.
pub(super) fn clamped(value: &Bound<'_, PyAny>, option: &str) -> PyResult<i64> {
    match integer(value) {
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Ok(if value.lt(0)? { i64::MIN } else { i64::MAX })
        }
        result => result.map_err(|error| not_int(value, option, error)),
    }
}

/// A 64-bit integer; True and False are a mistake where a number is wanted.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    if value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("expected an int, not bool"));
    }
    value.extract()
}

/// `max_depth=`: 1 to 256.
pub(super) fn depth(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let depth = usize::try_from(clamped(value, "max_depth")?).ok();
    depth.filter(|depth| (1..=Limits::DEEPEST).contains(depth)).ok_or_else(|| {
        let deepest = Limits::DEEPEST;
        let message = format!("max_depth must be 1 to {deepest}, not {}", shown(value));
        invalid_option("max_depth", &message)
    })
}

/// The error for a value that is not an int and names the option; for an int, the `error` that it raised.
#[cold]
fn not_int(value: &Bound<'_, PyAny>, option: &str, error: PyErr) -> PyErr {
    let is_bool = value.is_instance_of::<PyBool>();
    if is_bool || matches!(value.hasattr(intern!(value.py(), "__index__")), Ok(false)) {
        return wrong_type(value, option, "an int");
    }
    error
}

#[cold]
pub(super) fn wrong_type(value: &Bound<'_, PyAny>, field: impl Display, expected: &str) -> PyErr {
    let found = class_name(&value.get_type());
    PyTypeError::new_err(format!("{field} must be {expected}, not {found}"))
}

/// An argument: `Some` if it was passed, even as Python's `None`; `None` by default.
pub(super) struct Passed<'py>(pub(super) Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for Passed<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Some(value.to_owned())))
    }
}

/// An argument that Python passes to a special method, and that the method ignores.
pub(super) struct Unused;

impl FromPyObject<'_, '_> for Unused {
    type Error = Infallible;

    fn extract(_value: Borrowed<'_, '_, PyAny>) -> Result<Self, Infallible> {
        Ok(Self)
    }
}

/// Functions for `#[pyo3(from_py_with = sizes::max_size)]` and the like: each has the name of its option, which
/// PyO3 tells only in a note on the exception. Sizes beyond the address space count as unlimited.
macro_rules! sizes {
    ($($option:ident)*) => {
        pub(super) mod sizes {
            use pyo3::prelude::*;
            $(pub(crate) fn $option(value: &Bound<'_, PyAny>) -> PyResult<usize> {
                super::size(value, stringify!($option))
            })*
        }
    };
}

sizes! { limit max_expansion max_line max_row_size max_size min_tokens size }

/// An int for a message. PyO3's `Display` would run a subclass's `__str__`, and report an int with more digits than
/// Python prints on standard error.
pub(super) fn shown(value: &Bound<'_, PyAny>) -> String {
    match value.cast::<PyInt>().map(digits) {
        Ok(Ok(Some(digits))) if digits.len() <= EXCERPT_CHARS => digits,
        Ok(_) => "an int of many digits".to_owned(),
        Err(_) => class_name(&value.get_type()),
    }
}

fn size(value: &Bound<'_, PyAny>, option: &str) -> PyResult<usize> {
    let negative =
        || invalid_option(option, &format!("{option} must be 0 or more, not {}", shown(value)));
    match integer(value) {
        Ok(size) if size < 0 => Err(negative()),
        Ok(size) => Ok(usize::try_from(size).unwrap_or(usize::MAX)),
        Err(error) if !error.is_instance_of::<PyOverflowError>(value.py()) => {
            Err(not_int(value, option, error))
        }
        Err(_) if value.lt(0)? => Err(negative()),
        Err(_) => Ok(usize::MAX),
    }
}

/// `protocol=`: 2 or 4.
pub(super) fn protocol(value: &Bound<'_, PyInt>) -> PyResult<Protocol> {
    match value.extract::<i64>() {
        Ok(2) => Ok(Protocol::V2),
        Ok(4) => Ok(Protocol::V4),
        _ => {
            let message = format!("protocol must be 2 or 4, not {}", shown(value));
            Err(invalid_option("protocol", &message))
        }
    }
}

/// `format=`: one of the seven formats, `auto` or `smallest`.
pub(super) fn choice(name: &str) -> PyResult<Choice> {
    match name {
        "auto" => return Ok(Choice::Auto),
        "smallest" => return Ok(Choice::Smallest),
        _ => {}
    }
    let format = Format::ALL.into_iter().find(|format| format.name() == name);
    format.map(Choice::Format).ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        let message =
            format!("format must be one of {names}, auto, smallest, not {}", excerpt(name));
        invalid_option("format", &message)
    })
}

/// `msgpack_version=`: 1, 2, 3 or `"map"`.
pub(super) fn layout(value: &Bound<'_, PyAny>) -> PyResult<Layout> {
    if value.is_instance_of::<PyBool>() {
        // `True` equals 1, but is an error here.
    } else if let Ok(number) = value.cast::<PyInt>() {
        match number.extract::<i64>() {
            Ok(1) => return Ok(Layout::V1),
            Ok(2) => return Ok(Layout::V2),
            Ok(3) => return Ok(Layout::V3),
            _ => {}
        }
    } else if value.eq("map")? {
        return Ok(Layout::Map);
    }
    let found = match (value.cast::<PyString>(), value.extract::<i64>()) {
        (Ok(text), _) => excerpt(&text.to_string_lossy()),
        (Err(_), Ok(number)) if !value.is_instance_of::<PyBool>() => number.to_string(),
        _ => class_name(&value.get_type()),
    };
    let message = format!("msgpack_version must be 1, 2, 3 or 'map', not {found}");
    Err(invalid_option("msgpack_version", &message))
}

/// `replace=`: `overwrite` or `truncate`.
pub(super) fn replace(name: &str) -> PyResult<Replace> {
    one_of("replace", name, [("overwrite", Replace::Overwrite), ("truncate", Replace::Truncate)])
}

/// The choice that has this name; `OptionError` on `option` if none has.
pub(super) fn one_of<T, const N: usize>(
    option: &str,
    name: &str,
    choices: [(&str, T); N],
) -> PyResult<T> {
    let names = choices.each_ref().map(|(choice, _)| format!("'{choice}'"));
    let chosen = choices.into_iter().find(|(choice, _)| *choice == name);
    chosen.map(|(_, choice)| choice).ok_or_else(|| {
        let names = alternatives(&names);
        invalid_option(option, &format!("{option} must be {names}, not {}", excerpt(name)))
    })
}

/// `a, b or c`.
fn alternatives(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    }
}
