//! `compactwire.Request`: a request with all references resolved.

use super::args::{self, class_name, each, utf8};
use super::errors::Result;
use super::record::{self, Names, Record, returned_by_value};
use crate::built;
use crate::calls::Run;
use crate::interrupt::attached;
use crate::make::{ensure_memory, make_list, make_str, make_tuple, name, py_error, tuple_of};
use crate::value;
use crate::value::read;
use compactwire::json::{self, Escape};
use compactwire::memory::Meter;
use compactwire::session;
use compactwire::value::Value;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use std::sync::Arc;

/// A request with all references resolved: the arguments of the sender's `encode_request`.
///
/// Immutable. Two requests are equal if their JSON is equal: the order of an object's members does
/// not matter, and 1 is not 1.0.
///
/// Parameters
/// ----------
/// tool : dict or list of dict, optional
///     The definition of one tool or of several.
/// system : str, optional
///     The system prompt.
/// args : optional
///     The arguments: any value that `json.dumps` accepts; keys are str.
/// context : str, optional
///     The whole conversation.
///
/// Raises
/// ------
/// UnsupportedValue
///     A value has no JSON form; `path` is its path, such as "args.rows[3].total".
///
/// Source: Compact Protocol v2 "Compact Request Format".
#[pyclass(frozen, extends = Record, module = "compactwire")]
pub(super) struct Request {
    /// JSON objects, as received.
    tools: Vec<Arc<str>>,
    system: Option<Py<PyString>>,
    args: String,
    context: Option<Py<PyString>>,
}

returned_by_value!(Record: Request);

#[pymethods]
impl Request {
    #[classattr]
    const _fields: Names = Names(&["tool", "system", "args", "context"]);
    #[classattr]
    const __match_args__: Names = Self::_fields;

    #[new]
    #[pyo3(signature = (tool = None, system = None, args = None, context = None))]
    fn new(
        tool: Option<&Bound<'_, PyAny>>,
        system: Option<&Bound<'_, PyAny>>,
        args: Option<&Bound<'_, PyAny>>,
        context: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        let text = |value: Option<&Bound<'_, PyAny>>, field| {
            value.map(|value| {
                let text = args::text(value, field)?;
                utf8(text, field)?;
                PyResult::Ok(text.clone().unbind())
            })
        };
        let system = text(system, "system").transpose()?;
        let context = text(context, "context").transpose()?;
        let tools = tool.map_or(Ok(Vec::new()), |tool| tools(tool, read::value))?;
        let tools = tools.into_iter().map(Arc::from).collect();
        Ok(Self { tools, system, args: canonical(args, "args", read::value)?, context })
    }

    /// The definition of the tool; a list if there are several, None if there is none.
    ///
    /// A new object each time, like `tools` and `args`, so that the request cannot be mutated.
    #[getter]
    fn tool<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.tools[..] {
            [] => Ok(py.None().into_bound(py)),
            [tool] => value::parse(py, tool),
            _ => Ok(make_list(py, self.objects(py)?.into_iter().map(Ok))?.into_any()),
        }
    }

    /// The definitions of all tools.
    #[getter]
    fn tools<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        make_tuple(py, self.objects(py)?.into_iter().map(Ok))
    }

    /// The system prompt.
    #[getter]
    fn system(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.system.as_ref().map(|text| text.clone_ref(py))
    }

    /// The arguments.
    #[getter]
    fn args<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        value::parse(py, &self.args)
    }

    /// The whole conversation; None if the request has no context.
    #[getter]
    fn context(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.context.as_ref().map(|text| text.clone_ref(py))
    }

    /// The chat messages that the sender passed; None if the request has no context.
    ///
    /// New objects each time. `InvalidFormat` if the context is not one of chat messages.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyList>>> {
        let Some(context) = &self.context else { return Ok(None) };
        let context = utf8(context.bind(py), "context")?;
        ensure_memory(json::memory_of(context.as_bytes()))?;
        let messages = attached(|| session::chat::messages(context))??;
        let objects = messages.into_iter().map(|message| value::parse(py, message));
        Ok(Some(make_list(py, objects)?))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        record::repr(slf.as_any(), |_, value| Ok(!value.is_none()))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        record::equality(other, |other: &Bound<'_, Self>| {
            let (py, other) = (other.py(), other.get());
            if self.texts(py)? == other.texts(py)? {
                return Ok(true);
            }
            attached(|| Ok(self.key(py)? == other.key(py)?))?
        })
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        attached(|| Ok(record::hash_of(&self.key(py)?)))?
    }
}

impl Request {
    pub(super) fn from_core(request: session::Request) -> Result<Py<Self>> {
        let session::Request { tools, system, args, context } = request;
        built(|py| {
            let text = |text: &str| make_str(py, text).map(Bound::unbind);
            let system = system.as_deref().map(text).transpose()?;
            let context = context.as_deref().map(text).transpose()?;
            Self { tools, system, args, context }.into_pyobject(py)
        })
    }

    fn objects<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.tools.iter().map(|tool| value::parse(py, tool)).collect()
    }

    /// The parts of the request, as they were decoded.
    fn texts<'a>(&'a self, py: Python<'a>) -> PyResult<Texts<'a, &'a str>> {
        let text = |text: &'a Option<Py<PyString>>, field| {
            text.as_ref().map(|text| utf8(text.bind(py), field)).transpose()
        };
        let tools = self.tools.iter().map(|tool| &**tool).collect();
        Ok((tools, &self.args, text(&self.system, "system")?, text(&self.context, "context")?))
    }

    /// The parts that decide whether two requests are equal, as canonical JSON.
    fn key<'a>(&'a self, py: Python<'a>) -> PyResult<Texts<'a, String>> {
        let (tools, args, system, context) = self.texts(py)?;
        let size = |text: &str| json::memory_of(text.as_bytes());
        ensure_memory(tools.iter().copied().chain([args]).map(size).sum())?;
        Ok((tools.into_iter().map(normalized).collect(), normalized(args), system, context))
    }
}

/// Tools, arguments, prompt and context.
type Texts<'a, T> = (Vec<T>, T, Option<&'a str>, Option<&'a str>);

fn normalized(text: &str) -> String {
    // Parsing fails only for an integer with more digits than the default limit allows.
    json::parse(text, json::Limits::default())
        .map_or_else(|_| text.to_owned(), |value| write_canonical(&value))
}

fn write_canonical(value: &Value<'_>) -> String {
    let mut text = String::new();
    json::write(value, Escape::Needed, &mut text);
    text
}

/// The canonical JSON of a Python object, or `null` if there is no object. `read` converts the object; its
/// second argument names the object in errors.
pub(super) fn canonical<'py>(
    object: Option<&Bound<'py, PyAny>>,
    field: &str,
    read: impl Fn(&Bound<'py, PyAny>, &str) -> Result<Value<'static>>,
) -> Result<String> {
    let value = object.map_or(Ok(Value::Null), |object| read(object, field))?;
    Ok(write_canonical(&value))
}

/// `messages=`: dicts, as the text of a context.
pub(super) fn chat<'py>(
    messages: &Bound<'py, PyAny>,
    read: impl Fn(&Bound<'py, PyAny>, &str) -> Result<Value<'static>>,
) -> Result<String> {
    check_messages(messages)?;
    let mut context = String::new();
    // Checked as the context grows, not for each message: a check for a long context takes longer than
    // writing a message.
    let mut meter = Meter::new(1);
    for (at, message) in each(messages, "messages", "dict")?.enumerate() {
        let (message, field) = (message?, format!("messages[{at}]"));
        let value = read(&message, &field)?;
        if !matches!(value, Value::Object(_)) {
            let found = class_name(&message.get_type());
            let message = format!("{field} must be a dict, a chat message, not {found}");
            return Err(py_error::<PyTypeError>(message).into());
        }
        let line = value.text_size().saturating_mul(CHAT_FACTOR);
        ensure_memory(line)?;
        meter.reach(context.len() + line)?;
        session::chat::push_message(&value, &mut context)?;
    }
    Ok(context)
}

/// Checks that the argument is a list, and not one message, whose keys or characters could be iterated, too.
fn check_messages(messages: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_one = messages.is_instance_of::<PyDict>()
        || messages.is_instance_of::<PyString>()
        || messages.is_instance_of::<PyBytes>();
    if is_one || !messages.run_hasattr(name!(messages.py(), "__iter__")?)? {
        let found = class_name(&messages.get_type());
        let message = format!("messages must be a list of dicts, not {found}");
        return Err(py_error::<PyTypeError>(message));
    }
    Ok(())
}

/// The bytes of memory for each byte of a message: its line with escapes, and its share of the context, whose
/// buffer grows.
const CHAT_FACTOR: usize = 18;

/// `tool=`: a dict, or a list or tuple of them, as canonical JSON.
pub(super) fn tools<'py>(
    object: &Bound<'py, PyAny>,
    read: impl Fn(&Bound<'py, PyAny>, &str) -> Result<Value<'static>>,
) -> Result<Vec<String>> {
    let tool = |object: &Bound<'py, PyAny>, field: &str| {
        if object.is_instance_of::<PyDict>() {
            return canonical(Some(object), field, &read);
        }
        let found = class_name(&object.get_type());
        let message = format!("{field} must be a dict or a list of dict, not {found}");
        Err(py_error::<PyTypeError>(message).into())
    };
    let several = match (object.cast::<PyList>(), object.cast::<PyTuple>()) {
        (Ok(list), _) => tuple_of(list)?,
        (_, Ok(tuple)) => tuple.clone(),
        _ => return Ok(vec![tool(object, "tool")?]),
    };
    several.iter().enumerate().map(|(i, object)| tool(&object, &format!("tool[{i}]"))).collect()
}
