//! `ToolCall`, `encode_tool_call`, `decode_tool_call`.

use super::args::{self, Input, Size, utf8};
use super::detached;
use super::dictionary::{Dictionary, Given};
use super::errors::Result;
use super::message::DEFAULT_MAX_SIZE;
use super::request::canonical;
use super::response::format_member;
use super::walk;
use compactwire::compact::{self, DecodeOptions, EncodeOptions, Format, Protocol};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a model asks a tool to do.
///
/// Immutable as long as nobody changes its arguments; equal when name, context and the JSON of the
/// arguments are, so that the order of an object's members does not count, and 1 is not 1.0.
///
/// Parameters
/// ----------
/// name : str
///     The tool's name.
/// arguments : object
///     What it is given: any value that `json.dumps` takes, usually a dict.
/// context : str, optional
///     Long text that goes with it.
///
/// Raises
/// ------
/// EncodeError
///     A value that JSON has not; `field` names it, as in "arguments.rows[3].total".
///
/// Source: Compact Protocol v4 section 11.
#[pyclass(frozen, module = "compactwire")]
pub(super) struct ToolCall {
    /// The tool's name.
    #[pyo3(get)]
    name: Py<PyString>,
    /// What it is given.
    #[pyo3(get)]
    arguments: Py<PyAny>,
    /// Long text that goes with it.
    #[pyo3(get)]
    context: Option<Py<PyString>>,
    format: Option<Format>,
}

/// The names of the constructor's arguments, in their order.
const FIELDS: [&str; 3] = ["name", "arguments", "context"];

#[pymethods]
impl ToolCall {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("name", "arguments", "context")
    }

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
        walk::value(&arguments, "arguments")?;
        Ok(Self {
            name: text(name, "name")?,
            arguments: arguments.unbind(),
            context: context.map(|context| text(context, "context")).transpose()?,
            format: None,
        })
    }

    /// How a decoded call travelled; None for one that was not decoded.
    #[getter]
    fn format(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.format.map(|format| format_member(py, format.name())).transpose()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let this = slf.get();
        let (name, arguments) = (this.name.bind(slf.py()).repr()?, slf.getattr("arguments")?);
        let arguments = arguments.repr()?;
        Ok(match &this.context {
            None => format!("ToolCall({name}, {arguments})"),
            Some(text) => {
                format!("ToolCall({name}, {arguments}, context={})", text.bind(slf.py()).repr()?)
            }
        })
    }

    fn __eq__(&self, other: &Self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.key(py)? == other.key(py)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.key(py)?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    /// A call with some fields changed (`copy.replace`).
    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = PyDict::new(slf.py());
        for name in FIELDS {
            fields.set_item(name, slf.getattr(name)?)?;
        }
        if let Some(changes) = changes {
            fields.update(changes.as_mapping())?;
        }
        slf.get_type().call((), Some(&fields))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let restore = slf.py().import("compactwire._core")?.getattr("_restore_tool_call")?;
        let format = slf.get().format.map(Format::name);
        (restore, (Self::fields(slf)?, format)).into_pyobject(slf.py())
    }
}

impl ToolCall {
    /// What makes two calls equal.
    fn key(&self, py: Python<'_>) -> PyResult<(String, String, Option<String>)> {
        let context = self.context.as_ref().map(|text| text.extract(py)).transpose()?;
        let arguments = canonical(Some(self.arguments.bind(py)), "arguments")?;
        Ok((self.name.extract(py)?, arguments, context))
    }

    fn fields<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let fields = FIELDS.map(|name| slf.getattr(name));
        PyTuple::new(slf.py(), fields.into_iter().collect::<PyResult<Vec<_>>>()?)
    }
}

/// Makes a pickled call again.
#[pyfunction(name = "_restore_tool_call")]
pub(super) fn restore_tool_call(
    fields: &Bound<'_, PyTuple>,
    format: Option<&str>,
) -> PyResult<ToolCall> {
    let (name, arguments, context): (Bound<'_, PyAny>, _, Option<Bound<'_, PyAny>>) =
        fields.extract()?;
    let mut call = ToolCall::new(&name, arguments, context.as_ref())?;
    call.format =
        format.and_then(|name| Format::ALL.into_iter().find(|format| format.name() == name));
    Ok(call)
}

/// Write a call of a tool as one text.
///
/// Parameters
/// ----------
/// name : str
///     The tool's name.
/// arguments : object
///     What it is given: any value that `json.dumps` takes.
/// context : str, optional
///     Long text that goes with it.
/// format : str
///     "verbose", "binary", "base85", "zlib", "zstd" or "dictionary" (the DSL has no calls); "auto"
///     goes by the size of the verbose text, which it takes below 50 bytes and where an integer of
///     more than 64 bits fits nothing else; "smallest" takes the shortest text of all.
/// protocol : {4, 2}
///     Whether "zlib" writes gzip or zlib, and what "auto" chooses from.
/// dictionary : Dictionary, optional
///     As in `encode`.
///
/// Returns
/// -------
/// str
///     The call. All but "verbose" are ASCII.
///
/// Raises
/// ------
/// EncodeError
///     A value that JSON or the format has not; `field` names it, as in "arguments.rows[3].total".
/// TypeError
///     A value of a type that JSON has not.
///
/// Source: Compact Protocol v4 section 11.
#[pyfunction]
#[pyo3(signature = (
    name, arguments, context = None, *, format = "auto", protocol = None, dictionary = None,
))]
#[pyo3(text_signature = "(name, arguments, context=None, *, format='auto', protocol=4, \
                         dictionary=None)")]
pub(super) fn encode_tool_call<'py>(
    name: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyAny>,
    context: Option<&Bound<'py, PyAny>>,
    format: &str,
    protocol: Option<&Bound<'py, PyInt>>,
    dictionary: Option<&Bound<'py, Dictionary>>,
) -> Result<Bound<'py, PyString>> {
    let py = name.py();
    let options = EncodeOptions {
        format: args::choice(format)?,
        protocol: protocol.map_or(Ok(Protocol::V4), args::protocol)?,
        layout: None,
        dictionary: dictionary.map(|dictionary| dictionary.get().core()),
    };
    let context = context.map(|context| args::text(context, "context")).transpose()?;
    let context = context.map(|context| utf8(context, "context")).transpose()?;
    let call = compact::ToolCall {
        name: utf8(args::text(name, "name")?, "name")?.into(),
        arguments: walk::value(arguments, "arguments")?,
        context: context.map(Cow::Borrowed),
    };
    let bytes = context.map_or(0, str::len);
    let wire = detached(py, bytes, || compact::encode_tool_call(&call, &options))?;
    Ok(PyString::new(py, &wire))
}

/// Read a call of a tool in any format of either protocol.
///
/// Parameters
/// ----------
/// wire, max_size, dictionary, dictionaries
///     As in `decode`.
///
/// Returns
/// -------
/// ToolCall
///     Its `format` tells how it travelled.
///
/// Raises
/// ------
/// DecodeError
///     As `decode`; what JSON has not (binary, extensions, NaN) is `InvalidMsgpack`.
///
/// Source: Compact Protocol v4 section 11.
#[pyfunction]
#[pyo3(signature = (
    wire, /, *, max_size = DEFAULT_MAX_SIZE, dictionary = None, dictionaries = None,
))]
#[pyo3(text_signature = "(wire, /, *, max_size=67108864, dictionary=None, dictionaries=())")]
pub(super) fn decode_tool_call<'py>(
    wire: &Bound<'py, PyAny>,
    max_size: Size,
    dictionary: Option<Bound<'py, Dictionary>>,
    dictionaries: Option<&Bound<'py, PyAny>>,
) -> Result<ToolCall> {
    let py = wire.py();
    let data = Input::new(wire)?;
    let wire = data.text(py)?;
    let given = Given::new(dictionary, dictionaries)?;
    let options = DecodeOptions { max_size: max_size.0, dictionaries: &given.named() };
    let opened = detached(py, compact::expected_size(wire), || compact::open(wire, &options))?;
    let call = compact::read_tool_call(&opened)?;
    let compact::ToolCall { name, arguments, context } = call;
    Ok(ToolCall {
        name: PyString::new(py, &name).unbind(),
        arguments: walk::object(py, &arguments)?.unbind(),
        context: context.map(|text| PyString::new(py, &text).unbind()),
        format: Some(opened.format()),
    })
}
