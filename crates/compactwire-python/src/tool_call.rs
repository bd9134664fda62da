//! Tool calls: `ToolCall`, `encode_tool_call`, `encode_tool_call_bytes` and `decode_tool_call`. Compact
//! Protocol v4 section 11.

use super::args::{self, Input, sizes, utf8, words_if_any};
use super::detached;
use super::dictionary::Dictionary;
use super::errors::{Result, classes, invalid_format};
use super::message::{DEFAULT_MAX_SIZE, encode_options, open};
use super::record::{self, Names, Record, hash_of, reduced, returned_by_value};
use super::request::canonical;
use super::response::{format_member, restored_format};
use crate::args::named;
use crate::calls::{Run, import};
use crate::make::{Str, args, make_bytes, make_str, make_tuple, name};
use crate::value;
use crate::value::read;
use compactwire::compact::{self, EncodeOptions, Format};
use pyo3::IntoPyObjectExt;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString, PyTuple};
use std::borrow::Cow;

/// A call of a tool by a model.
///
/// Immutable unless its arguments are mutated. Two calls are equal if name, context and the JSON of
/// the arguments are equal: the order of an object's members does not matter, and 1 is not 1.0. A
/// call whose arguments were mutated so that they have no JSON is equal to itself only, and has no
/// hash.
///
/// Parameters
/// ----------
/// name : str
///     The tool's name.
/// arguments : object
///     The arguments: any value that `json.dumps` accepts, usually a dict; keys are str.
/// context : str, optional
///     Additional long text.
///
/// Raises
/// ------
/// UnsupportedValue
///     A value has no JSON form; `path` is its path, such as "arguments.rows[3].total".
///
/// Source: Compact Protocol v4 section 11.
#[pyclass(frozen, extends = Record, module = "compactwire")]
pub(super) struct ToolCall {
    /// The tool's name.
    #[pyo3(get)]
    name: Py<PyString>,
    /// The arguments.
    #[pyo3(get)]
    arguments: Py<PyAny>,
    /// Additional long text.
    #[pyo3(get)]
    context: Option<Py<PyString>>,
    format: Option<Format>,
}

/// The parameters of the constructor, in order.
const FIELDS: [&str; 3] = ["name", "arguments", "context"];

returned_by_value!(Record: ToolCall);

#[pymethods]
impl ToolCall {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // The caller may mutate the arguments, so that they refer to the call itself.
        visit.call(&self.arguments)
    }

    #[classattr]
    const _fields: Names = Names(&FIELDS);
    #[classattr]
    const __match_args__: Names = Self::_fields;

    #[new]
    #[pyo3(signature = (name, arguments, context = None))]
    fn new(
        name: &Bound<'_, PyAny>,
        arguments: Bound<'_, PyAny>,
        context: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let text = |value, field| {
            let text = args::text(value, field)?;
            utf8(text, field)?;
            PyResult::Ok(text.clone().unbind())
        };
        read::value(&arguments, "arguments")?;
        Ok(Self {
            name: text(name, "name")?,
            arguments: arguments.unbind(),
            context: context.map(|context| text(context, "context")).transpose()?,
            format: None,
        })
    }

    /// The format of a decoded call; None if it was not decoded.
    #[getter]
    fn format(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.format.map(|format| format_member(py, format.name())).transpose()
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        let (py, this) = (slf.py(), slf.get());
        let mut parts =
            vec![this.name.bind(py).repr()?, slf.run_getattr(name!(py, "arguments")?)?.repr()?];
        if let Some(text) = &this.context {
            parts.push(record::named(name!(py, "context")?, text.bind(py))?);
        }
        record::called(slf, parts)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let equal = record::equality(other, |other: &Bound<'_, Self>| {
            Ok(self.key(py)? == other.get().key(py)?)
        });
        match equal {
            // Python then compares by identity.
            Err(error) if error.is_instance(py, classes::UnsupportedValue::class(py)?) => {
                Ok(py.NotImplemented())
            }
            equal => equal,
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(hash_of(&self.key(py)?))
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = memo.py();
        let arguments = import(py, name!(py, "copy")?)?
            .run_method(name!(py, "deepcopy")?, args!(py, &self.arguments, memo)?)?;
        Ok(Self {
            name: self.name.clone_ref(py),
            arguments: arguments.unbind(),
            context: self.context.as_ref().map(|context| context.clone_ref(py)),
            format: self.format,
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let restore = import(py, name!(py, "compactwire._core")?)?
            .run_getattr(name!(py, "_restore_tool_call")?)?;
        let format = slf.get().format.map(|format| Str(format.name())).into_bound_py_any(py)?;
        reduced(restore, [Self::fields(slf)?.into_any(), format])
    }
}

impl ToolCall {
    /// The parts that decide whether two calls are equal.
    fn key<'a>(&'a self, py: Python<'a>) -> PyResult<(&'a str, String, Option<&'a str>)> {
        let context = self.context.as_ref().map(|text| utf8(text.bind(py), "context"));
        let arguments = canonical(Some(self.arguments.bind(py)), "arguments", read::value)?;
        Ok((utf8(self.name.bind(py), "name")?, arguments, context.transpose()?))
    }

    fn fields<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let fields = FIELDS.map(|name| slf.run_getattr(Str(name)));
        make_tuple(slf.py(), fields.into_iter())
    }
}

/// Restores a pickled call.
#[pyfunction(name = "_restore_tool_call")]
pub(super) fn restore_tool_call(
    fields: &Bound<'_, PyTuple>,
    #[pyo3(from_py_with = words_if_any::format)] format: Option<&str>,
) -> PyResult<ToolCall> {
    let py = fields.py();
    let (size, expected) = (fields.len(), FIELDS.len());
    if size != expected {
        let message = format!("the pickle of a ToolCall has {size} fields, not {expected}");
        return Err(invalid_format(py, &message));
    }
    let context = fields.get_item(2)?;
    let context = (!context.is_none()).then_some(&context);
    let mut call = ToolCall::new(&fields.get_item(0)?, fields.get_item(1)?, context)?;
    call.format = format.map(|name| restored_format(py, name)).transpose()?;
    Ok(call)
}

/// Encode a tool call as a message.
///
/// Parameters
/// ----------
/// name : str
///     The tool's name.
/// arguments : object
///     The arguments: any value that `json.dumps` accepts; keys are str. A str is a value too: pass
///     `json.loads` of the JSON text that the API of OpenAI has for them.
/// context : str, optional
///     Additional long text.
/// format : str
///     "verbose", "binary", "base85", "zlib", "zstd" or "dictionary" (the DSL has no calls); "auto"
///     chooses by the size of the verbose message, and returns that message if it is shorter than
///     50 bytes or an integer needs more than 64 bits; "smallest" tries all formats and returns the
///     shortest message.
/// protocol : {4, 2}
///     The protocol version: it decides whether "zlib" writes gzip or zlib, and which formats
///     "auto" chooses from.
/// dictionary : Dictionary, optional
///     As in `encode`.
/// types : {"json", "common"}
///     Which objects the arguments may contain: "json" only those that `decode_tool_call` returns;
///     "common" also dates, UUIDs, enums, dataclasses and others, which are written as `shrink`
///     writes them.
/// default : callable, optional
///     Converts other objects, as in `json.dumps`.
///
/// Returns
/// -------
/// str
///     The message. It is ASCII in all formats but "verbose".
///
/// Raises
/// ------
/// UnsupportedValue
///     A value has no JSON form; `path` is its path, such as "arguments.rows[3].total".
/// EncodeError
///     The format cannot represent the call.
///
/// Source: Compact Protocol v4 section 11.
#[pyfunction]
#[pyo3(signature = (
    name, arguments, context = None, *, format = "auto", protocol = None, dictionary = None,
    types = "json", default = None,
))]
#[pyo3(text_signature = "(name, arguments, context=None, *, format='auto', protocol=4, \
                         dictionary=None, types='json', default=None)")]
#[expect(clippy::too_many_arguments, reason = "the parts of a call and the options")]
pub(super) fn encode_tool_call<'py>(
    name: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyAny>,
    context: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = args::words::format)] format: &str,
    #[pyo3(from_py_with = named::protocol)] protocol: Option<&Bound<'py, PyInt>>,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<&Bound<'py, Dictionary>>,
    #[pyo3(from_py_with = args::words::types)] types: &str,
    default: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyString>> {
    let call = Call { name, arguments, context, options: (format, protocol, dictionary) };
    let wire = call.encode((types, default), compact::encode_tool_call)?;
    Ok(make_str(name.py(), &wire)?)
}

/// Encode a tool call as bytes, for transports that carry bytes: a fifth less than the text.
///
/// Parameters
/// ----------
/// name, arguments, context, format, protocol, dictionary, types, default
///     As in `encode_tool_call`.
///
/// Returns
/// -------
/// bytes
///     The bytes that `encode_tool_call` writes in Base85 or Base64. For "verbose", the text in
///     UTF-8. `decode_tool_call` reads them.
///
/// Raises
/// ------
/// UnsupportedValue, EncodeError
///     As `encode_tool_call`.
///
/// Source: an extension of this package, as `encode_bytes`.
#[pyfunction]
#[pyo3(signature = (
    name, arguments, context = None, *, format = "auto", protocol = None, dictionary = None,
    types = "json", default = None,
))]
#[pyo3(text_signature = "(name, arguments, context=None, *, format='auto', protocol=4, \
                         dictionary=None, types='json', default=None)")]
#[expect(clippy::too_many_arguments, reason = "the parts of a call and the options")]
pub(super) fn encode_tool_call_bytes<'py>(
    name: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyAny>,
    context: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = args::words::format)] format: &str,
    #[pyo3(from_py_with = named::protocol)] protocol: Option<&Bound<'py, PyInt>>,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<&Bound<'py, Dictionary>>,
    #[pyo3(from_py_with = args::words::types)] types: &str,
    default: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyBytes>> {
    let call = Call { name, arguments, context, options: (format, protocol, dictionary) };
    let wire = call.encode((types, default), compact::encode_tool_call_bytes)?;
    Ok(make_bytes(name.py(), &wire)?)
}

/// The arguments of `encode_tool_call` and `encode_tool_call_bytes`.
struct Call<'a, 'py> {
    name: &'a Bound<'py, PyAny>,
    arguments: &'a Bound<'py, PyAny>,
    context: Option<&'a Bound<'py, PyAny>>,
    /// Format, protocol and dictionary.
    options: (&'a str, Option<&'a Bound<'py, PyInt>>, Option<&'a Bound<'py, Dictionary>>),
}

impl<'py> Call<'_, 'py> {
    fn encode<T: Send>(
        &self,
        (types, default): (&str, Option<&Bound<'py, PyAny>>),
        encode: impl FnOnce(
            &compact::ToolCall<'_>,
            &EncodeOptions<'_>,
        ) -> Result<T, compact::EncodeError>
        + Send,
    ) -> Result<T> {
        let py = self.name.py();
        let (format, protocol, dictionary) = self.options;
        let options = encode_options(format, protocol, dictionary)?;
        let default = value::converter(py, types, default)?;
        let context = self.context.map(|context| args::text(context, "context")).transpose()?;
        let context = context.map(|context| utf8(context, "context")).transpose()?;
        let call = compact::ToolCall {
            name: utf8(args::text(self.name, "name")?, "name")?.into(),
            arguments: value::read_with(self.arguments, "arguments", default.as_ref())?,
            context: context.map(Cow::Borrowed),
        };
        let bytes = context.map_or(0, str::len);
        Ok(detached(py, bytes, || encode(&call, &options))??)
    }
}

/// Decode a tool call in any format of either protocol.
///
/// Parameters
/// ----------
/// wire, max_size, dictionary, dictionaries
///     As in `decode`. A compressed call may have one value for every two compressed bytes, and one
///     more for every 128 bytes of `max_size`.
///
/// Returns
/// -------
/// ToolCall
///     The call. `format` is that of the message.
///
/// Raises
/// ------
/// DecodeError
///     As `decode`. MessagePack values without a JSON form (binary, extensions, NaN) raise
///     `InvalidMsgpack`.
///
/// Source: Compact Protocol v4 section 11.
#[pyfunction]
#[pyo3(signature = (
    wire, /, *, max_size = DEFAULT_MAX_SIZE, dictionary = None, dictionaries = None,
))]
#[pyo3(text_signature = "(wire, /, *, max_size=67108864, dictionary=None, dictionaries=())")]
pub(super) fn decode_tool_call<'py>(
    wire: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = sizes::max_size)] max_size: usize,
    #[pyo3(from_py_with = named::dictionary)] dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
) -> Result<ToolCall> {
    let py = wire.py();
    let data = Input::new(wire, "wire")?;
    let wire = data.wire(py)?;
    let opened = open(py, wire, max_size, dictionary, dictionaries)?;
    let bytes = compact::expected_size(wire);
    let call = detached(py, bytes, || compact::read_tool_call(&opened))??;
    let compact::ToolCall { name, arguments, context } = call;
    Ok(ToolCall {
        name: make_str(py, &name)?.unbind(),
        arguments: value::object(py, &arguments)?.unbind(),
        context: context.map(|text| make_str(py, &text).map(Bound::unbind)).transpose()?,
        format: Some(opened.format()),
    })
}
