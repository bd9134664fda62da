//! `compactwire.Response`: what a message contains. Compact Protocol v2 part 1, v4 sections 3 and 4.
//!
//! It has the fields of the core's type, but owns Python strings, so that a decoded text is copied once.

use super::args::{
    Passed, as_mapping, boolean, class_name, int64, lossy, natural, text, utf8, words_if_any,
};
use super::errors::{advised, invalid_field, invalid_format};
use super::record::{self, Names, Record, hash_of, reduced, returned_by_value};
use super::shrink::Shrunk;
use crate::calls::{Run, import};
use crate::make::{
    Number, Str, args, keys_of, make_dict, make_str, make_tuple, name, once, py_error,
};
use compactwire::compact::{self, Format, Layout, Members, Status};
use compactwire::excerpt::excerpt;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::borrow::Cow;
use std::fmt::Display;

/// The response of a language model or of a tool.
///
/// Immutable. Two responses are equal if all fields but `format` and `version` are equal; a
/// `model_name` that equals `model` counts as None.
///
/// Parameters
/// ----------
/// result : str or Shrunk
///     The text of the response.
/// model : str
///     The code of the model (v2: G3 C4 X5 OL AD SE, v4: C4 C45 CS CH G3 G4 G5 O4), or any other
///     string.
/// status : {"OK", "ERR", "PART", "STREAM"}
///     The status; "PARTIAL" is an alias of "PART". The default is "ERR" if `returncode` is not 0.
/// tokens : int
///     The number of tokens used, 0 to 2^63 - 1.
/// model_name, returncode, reasoning_effort, ultrathink : optional
///     Members that only the verbose format has.
///
/// Raises
/// ------
/// EncodeError
///     The status is unknown, a number is out of range, or a string has a lone surrogate.
///
/// Source: Compact Protocol v2 part 1, v4 sections 3 and 4.
#[pyclass(frozen, extends = Record, module = "compactwire")]
pub(super) struct Response {
    /// The text of the response.
    #[pyo3(get)]
    result: Py<PyString>,
    /// The code of the model, or any other string.
    #[pyo3(get)]
    model: Py<PyString>,
    status: Status,
    /// The number of tokens used.
    #[pyo3(get)]
    tokens: Number<u64>,
    verbose: Option<Box<Verbose>>,
    format: Option<Origin>,
    layout: Option<Layout>,
}

/// Fields that only the verbose format has.
#[derive(Default)]
struct Verbose {
    model_name: Option<Py<PyString>>,
    returncode: Option<i64>,
    reasoning_effort: Option<Py<PyString>>,
    ultrathink: Option<bool>,
}

/// The message from which a response was decoded.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Decoded(Format),
    Raw,
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Self::Decoded(format) => format.name(),
            Self::Raw => "raw",
        }
    }
}

/// The names of the constructor's arguments, in their order.
const FIELDS: [&str; 8] = [
    "result",
    "model",
    "status",
    "tokens",
    "model_name",
    "returncode",
    "reasoning_effort",
    "ultrathink",
];

/// The end of error messages about a value that is not a response.
const FOR_VALUES: &str = "for any other value, use shrink or gcf.dumps";

/// The error message for a mapping without a required field.
const MISSING: &str = "missing in the mapping, which needs \"result\" as a response, or \"response\" as a \
                       verbose message";

/// The members of a verbose message.
const MEMBERS: [&str; 7] =
    ["model", "returncode", "response", "reasoning_effort", "ultrathink", "status", "tokens"];

returned_by_value!(Record: Response);

#[pymethods]
impl Response {
    #[classattr]
    const _fields: Names = Names(&FIELDS);
    #[classattr]
    const __match_args__: Names = Names(&["result", "model", "status", "tokens"]);

    #[new]
    #[pyo3(signature = (
        result, model = Passed(None), status = Passed(None), tokens = Passed(None), *,
        model_name = None, returncode = None, reasoning_effort = None, ultrathink = None,
    ))]
    #[pyo3(text_signature = "(result, model='', status='OK', tokens=0, *, model_name=None, \
                             returncode=None, reasoning_effort=None, ultrathink=None)")]
    #[expect(clippy::too_many_arguments, reason = "the fields of a response")]
    fn new(
        result: &Bound<'_, PyAny>,
        model: Passed<'_>,
        status: Passed<'_>,
        tokens: Passed<'_>,
        model_name: Option<&Bound<'_, PyAny>>,
        returncode: Option<&Bound<'_, PyAny>>,
        reasoning_effort: Option<&Bound<'_, PyAny>>,
        ultrathink: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = result.py();
        let optional = |value: Option<&Bound<'_, PyAny>>, field| {
            value.map(|value| checked_text(value, field)).transpose()
        };
        let returncode = returncode.map(|code| int64(code, "returncode")).transpose()?;
        let status = match &status.0 {
            None if returncode.is_some_and(|code| code != 0) => Status::Err,
            None => Status::Ok,
            Some(code) => {
                let code = utf8(text(code, "status")?, "status")?;
                Status::from_code(code).ok_or_else(|| {
                    let found = excerpt(code);
                    invalid_field(
                        py,
                        "status",
                        &format!("expected OK, ERR, PART or STREAM, found {found}"),
                    )
                })?
            }
        };
        let verbose = Verbose {
            model_name: optional(model_name, "model_name")?,
            returncode: returncode.filter(|&code| code != status.returncode()),
            reasoning_effort: optional(reasoning_effort, "reasoning_effort")?,
            ultrathink: ultrathink.map(|on| boolean(on, "ultrathink")).transpose()?,
        };
        Ok(Self {
            result: match result.cast::<Shrunk>() {
                Ok(shrunk) => checked_text(shrunk.str()?.as_any(), "result")?,
                Err(_) => checked_text(result, "result")?,
            },
            model: optional(model.0.as_ref(), "model")?
                .map_or_else(|| name!(py, "").map(|none| none.clone().unbind()), Ok)?,
            status,
            tokens: tokens.0.map_or(Ok(0), |tokens| natural(&tokens, "tokens")).map(Number)?,
            verbose: verbose.boxed(),
            format: None,
            layout: None,
        })
    }

    /// The status: "OK", "ERR", "PART" or "STREAM".
    #[getter]
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let code = match self.status {
            Status::Ok => name!(py, "OK"),
            Status::Err => name!(py, "ERR"),
            Status::Part => name!(py, "PART"),
            Status::Stream => name!(py, "STREAM"),
        };
        code.cloned()
    }

    /// The model's name in a verbose message; None if it is the code.
    #[getter]
    fn model_name(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.verbose.as_ref()?.model_name.as_ref().map(|name| name.clone_ref(py))
    }

    /// The return code of a verbose message; None if the status implies it.
    #[getter]
    fn returncode(&self) -> Option<Number<i64>> {
        self.verbose.as_ref()?.returncode.map(Number)
    }

    /// The requested reasoning effort: "low", "medium", "high".
    #[getter]
    fn reasoning_effort(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.verbose.as_ref()?.reasoning_effort.as_ref().map(|effort| effort.clone_ref(py))
    }

    /// Whether extended thinking was enabled.
    #[getter]
    fn ultrathink(&self) -> Option<bool> {
        self.verbose.as_ref()?.ultrathink
    }

    /// The format of a decoded response; None if it was not decoded.
    #[getter]
    fn format(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.format.map(|origin| format_member(py, origin.name())).transpose()
    }

    /// The MessagePack layout of a decoded response: 1, 2, 3 or "map"; None for text formats.
    #[getter]
    fn version(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.layout.map(|layout| layout_version(py, layout)).transpose()
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
        let this = slf.get();
        let set = [
            true,
            !this.model.bind(slf.py()).is_empty()?,
            this.status != Status::Ok,
            this.tokens.0 != 0,
        ];
        let mut parts = Vec::new();
        for (i, name) in FIELDS.into_iter().enumerate() {
            let name = make_str(slf.py(), name)?;
            let value = slf.run_getattr(&name)?;
            match set.get(i) {
                Some(true) if i == 0 => parts.push(value.repr()?),
                Some(true) => parts.push(record::named(&name, &value)?),
                None if !value.is_none() => parts.push(record::named(&name, &value)?),
                Some(false) | None => {}
            }
        }
        record::called(slf, parts)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        record::equality(other, |other: &Bound<'_, Self>| {
            let py = other.py();
            Ok(self.borrow(py)? == other.get().borrow(py)?)
        })
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(hash_of(&self.borrow(py)?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let this = slf.get();
        let restore = import(py, name!(py, "compactwire._core")?)?
            .run_getattr(name!(py, "_restore_response")?)?;
        let fields = FIELDS.iter().map(|name| slf.run_getattr(make_str(py, name)?));
        let fields = make_tuple(py, fields)?.into_any();
        let origin = this.format.map(|origin| Str(origin.name())).into_bound_py_any(py)?;
        reduced(restore, [fields, origin, this.version(py)?.into_bound_py_any(py)?])
    }
}

/// Restores a pickled response.
#[pyfunction(name = "_restore_response")]
pub(super) fn restore_response(
    fields: &Bound<'_, PyTuple>,
    #[pyo3(from_py_with = words_if_any::format)] format: Option<&str>,
    version: Option<&Bound<'_, PyAny>>,
) -> PyResult<Response> {
    let py = fields.py();
    let (size, expected) = (fields.len(), FIELDS.len());
    if size != expected {
        let message = format!("the pickle of a Response has {size} fields, not {expected}");
        return Err(invalid_format(py, &message));
    }
    let named = make_dict(py)?;
    for (name, value) in FIELDS.into_iter().zip(fields) {
        named.set_item(Str(name), value)?;
    }
    let response = py.get_type::<Response>().run_with(PyTuple::empty(py), &named)?;
    let mut response = response.cast::<Response>()?.get().clone_ref(py);
    response.format = match format {
        None => None,
        Some("raw") => Some(Origin::Raw),
        Some(name) => Some(Origin::Decoded(restored_format(py, name)?)),
    };
    response.layout = version.map(super::args::layout).transpose()?;
    Ok(response)
}

/// The format of a pickled object.
pub(super) fn restored_format(py: Python<'_>, name: &str) -> PyResult<Format> {
    let format = Format::ALL.into_iter().find(|format| format.name() == name);
    format.ok_or_else(|| invalid_field(py, "format", "unknown format"))
}

impl Response {
    /// The Python object of a response that the core decoded.
    pub(super) fn from_core(py: Python<'_>, decoded: &compact::Decoded<'_>) -> PyResult<Self> {
        let response = &decoded.response;
        let text = |text: &Cow<'_, str>| make_str(py, text).map(Bound::unbind);
        let verbose = Verbose {
            model_name: response.model_name.as_ref().map(text).transpose()?,
            returncode: response.returncode,
            reasoning_effort: response.reasoning_effort.as_ref().map(text).transpose()?,
            ultrathink: response.ultrathink,
        };
        Ok(Self {
            result: text(&response.result)?,
            model: text(&response.model)?,
            status: response.status,
            tokens: Number(response.tokens),
            verbose: verbose.boxed(),
            format: Some(decoded.format.map_or(Origin::Raw, Origin::Decoded)),
            layout: decoded.layout,
        })
    }

    /// The response that is passed to `encode`: a `Response`, a str or `Shrunk` with its result, or a mapping
    /// with the fields of a response or the members of a verbose message.
    pub(super) fn from_argument<'py>(
        object: &Bound<'py, PyAny>,
        name: impl Display,
    ) -> PyResult<Bound<'py, Self>> {
        if let Ok(response) = object.cast::<Self>() {
            return Ok(response.clone());
        }
        let py = object.py();
        if object.is_instance_of::<PyString>() || object.is_instance_of::<Shrunk>() {
            return Ok(py.get_type::<Self>().run(args!(py, object)?)?.cast_into()?);
        }
        let Some(mapping) = as_mapping(object)? else {
            let found = class_name(&object.get_type());
            let message =
                format!("{name} must be a Response, str or mapping, not {found}; {FOR_VALUES}");
            return Err(py_error::<PyTypeError>(message));
        };
        let fields = make_dict(py)?;
        fields.update(mapping)?;
        Self::from_fields(&fields).map_err(|error| advised(py, error, FOR_VALUES))
    }

    fn from_fields<'py>(fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, Self>> {
        let py = fields.py();
        let verbose = fields.contains(Str("response"))?;
        let known = if verbose { &MEMBERS[..] } else { &FIELDS[..] };
        for key in keys_of(fields)? {
            // An integer of thousands of digits has no text.
            let key = match key.str() {
                Err(error) if error.is_instance_of::<PyValueError>(py) => key.get_type().name()?,
                text => text?,
            };
            let key = lossy(&key)?;
            if !known.contains(&&*key) {
                let known = known.join(", ");
                let message = format!("unknown field; the fields are {known}");
                return Err(invalid_field(py, &key, &message));
            }
        }
        if verbose {
            return Self::from_members(fields)?.into_pyobject(py);
        }
        if !fields.contains(Str("result"))? {
            return Err(invalid_field(py, "result", MISSING));
        }
        Ok(py.get_type::<Self>().run_with(PyTuple::empty(py), fields)?.cast_into()?)
    }

    fn from_members(members: &Bound<'_, PyDict>) -> PyResult<Self> {
        let py = members.py();
        let get = |name: &'static str| -> PyResult<_> {
            Ok(members.get_item(Str(name))?.filter(|value| !value.is_none()))
        };
        let required = |name| get(name)?.ok_or_else(|| invalid_field(py, name, MISSING));
        let owned = |value: Bound<'_, PyAny>, name| -> PyResult<Cow<'static, str>> {
            Ok(utf8(text(&value, name)?, name)?.to_owned().into())
        };
        let optional = |name| get(name)?.map(|value| owned(value, name)).transpose();
        let members = Members {
            model: owned(required("model")?, "model")?,
            returncode: int64(&required("returncode")?, "returncode")?,
            response: owned(required("response")?, "response")?,
            reasoning_effort: optional("reasoning_effort")?,
            ultrathink: get("ultrathink")?.map(|on| boolean(&on, "ultrathink")).transpose()?,
            status: optional("status")?,
            tokens: get("tokens")?.map_or(Ok(0), |tokens| natural(&tokens, "tokens"))?,
        };
        // Only the status can still be invalid.
        let response = members.try_into().map_err(|error: compact::DecodeError| {
            invalid_field(py, "status", &error.to_string())
        })?;
        let decoded = compact::Decoded { response, format: None, layout: None };
        Ok(Self { format: None, ..Self::from_core(py, &decoded)? })
    }

    /// The core's response, borrowed from the Python strings.
    pub(super) fn borrow<'a>(&'a self, py: Python<'a>) -> PyResult<compact::Response<'a>> {
        let text = |text: &'a Py<PyString>| text.to_str(py).map(Cow::Borrowed);
        let optional = |value: Option<&'a Py<PyString>>| value.map(text).transpose();
        let verbose = self.verbose.as_deref();
        Ok(compact::Response {
            result: text(&self.result)?,
            model: text(&self.model)?,
            status: self.status,
            tokens: self.tokens.0,
            model_name: optional(verbose.and_then(|v| v.model_name.as_ref()))?,
            returncode: verbose.and_then(|v| v.returncode),
            reasoning_effort: optional(verbose.and_then(|v| v.reasoning_effort.as_ref()))?,
            ultrathink: verbose.and_then(|v| v.ultrathink),
        })
    }

    fn clone_ref(&self, py: Python<'_>) -> Self {
        let verbose = self.verbose.as_deref().map(|verbose| {
            Box::new(Verbose {
                model_name: verbose.model_name.as_ref().map(|name| name.clone_ref(py)),
                returncode: verbose.returncode,
                reasoning_effort: verbose.reasoning_effort.as_ref().map(|text| text.clone_ref(py)),
                ultrathink: verbose.ultrathink,
            })
        });
        Self {
            result: self.result.clone_ref(py),
            model: self.model.clone_ref(py),
            status: self.status,
            tokens: self.tokens,
            verbose,
            format: self.format,
            layout: self.layout,
        }
    }
}

/// A string without lone surrogates, which every format can write.
fn checked_text(value: &Bound<'_, PyAny>, field: &str) -> PyResult<Py<PyString>> {
    let text = text(value, field)?;
    let content = utf8(text, field)?;
    // A subclass of `str` may hold references, even cycles: keep its characters only.
    if text.is_exact_instance_of::<PyString>() {
        return Ok(text.clone().unbind());
    }
    Ok(make_str(value.py(), content)?.unbind())
}

impl Verbose {
    /// Boxed, because most responses have none of these fields.
    fn boxed(self) -> Option<Box<Self>> {
        let Self { model_name, returncode, reasoning_effort, ultrathink } = &self;
        let empty = model_name.is_none()
            && returncode.is_none()
            && reasoning_effort.is_none()
            && ultrathink.is_none();
        (!empty).then(|| Box::new(self))
    }
}

/// The member of `compactwire.Format` with this name.
pub(super) fn format_member(py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
    static FORMAT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let members = once(py, &FORMAT, || {
        let class =
            import(py, name!(py, "compactwire._format")?)?.run_getattr(name!(py, "Format")?)?;
        class.run_getattr(name!(py, "_value2member_map_")?).map(Bound::unbind)
    })?;
    Ok(members.bind(py).get_item(Str(name))?.unbind())
}

/// A layout in the form of `version` and `msgpack_version`.
pub(super) fn layout_version(py: Python<'_>, layout: Layout) -> PyResult<Py<PyAny>> {
    match layout {
        Layout::V1 => Number(1_i64).into_py_any(py),
        Layout::V2 => Number(2_i64).into_py_any(py),
        Layout::V3 => Number(3_i64).into_py_any(py),
        Layout::Map => name!(py, "map")?.into_py_any(py),
    }
}
