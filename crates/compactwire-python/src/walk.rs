//! Python objects as JSON-like values, and back.
//!
//! What is taken is what `json.dumps` takes: dict (with `str` keys), list, tuple, str, int, float,
//! bool, None and their subclasses. No Python code runs meanwhile, and containers are copied before
//! they are walked, so that another thread may change them.

use super::args::lone_surrogate;
use super::errors::{invalid_format, invalid_path};
use compactwire::json::{self, ReadError};
use compactwire::value::Value;
use compactwire::walk::Sink;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// The value of a Python object. `root` is how errors call it: `args` in `args.rows[3].total`.
///
/// `TypeError` for what is no such object, `EncodeError` (with the path as its field) for a number
/// or text that JSON has not, and for nesting beyond [`json::Limits::max_depth`], as of a cycle.
pub(super) fn value(object: &Bound<'_, PyAny>, root: &str) -> PyResult<Value<'static>> {
    let mut path = Path { root, steps: Vec::new() };
    path.value(object)
}

/// Where in a value the walk is.
struct Path<'r> {
    root: &'r str,
    steps: Vec<Step>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl Path<'_> {
    fn value(&mut self, object: &Bound<'_, PyAny>) -> PyResult<Value<'static>> {
        if let Ok(text) = object.cast::<PyString>() {
            Ok(Value::String(self.text(text)?.into()))
        } else if object.is_none() {
            Ok(Value::Null)
        } else if let Ok(value) = object.cast::<PyBool>() {
            Ok(Value::Bool(value.is_true()))
        } else if let Ok(value) = object.cast::<PyInt>() {
            self.int(value)
        } else if let Ok(value) = object.cast::<PyFloat>() {
            let value = value.value();
            if value.is_finite() {
                Ok(Value::Float(value))
            } else {
                Err(self.unfit(object.py(), &format!("{value} is no number of JSON")))
            }
        } else if let Ok(dict) = object.cast::<PyDict>() {
            self.object(dict)
        } else if let Ok(list) = object.cast::<PyList>() {
            self.array(&list.to_tuple())
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            self.array(tuple)
        } else {
            let found = object.get_type().name()?;
            let message = format!("{self}: {found} is no value of JSON");
            Err(PyTypeError::new_err(message))
        }
    }

    fn int(&self, value: &Bound<'_, PyInt>) -> PyResult<Value<'static>> {
        let py = value.py();
        if let Ok(value) = value.extract::<i64>() {
            return Ok(Value::Int(value));
        }
        // Of the class, because a subclass may have its own. Python limits the digits.
        let digits = py.get_type::<PyInt>().call_method1("__repr__", (value,)).map_err(|_| {
            let limit = json::Limits::default().max_digits;
            self.unfit(py, &format!("the integer has more than {limit} digits"))
        })?;
        Ok(Value::BigInt(digits.cast::<PyString>()?.to_str()?.to_owned().into()))
    }

    fn text(&self, text: &Bound<'_, PyString>) -> PyResult<String> {
        let text = text.to_str().map_err(|_| self.unfit(text.py(), &lone_surrogate(text)))?;
        Ok(text.to_owned())
    }

    fn object(&mut self, dict: &Bound<'_, PyDict>) -> PyResult<Value<'static>> {
        self.enter(dict)?;
        let items = dict.items();
        let mut members = Vec::with_capacity(items.len());
        for item in items.iter() {
            let (key, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let Ok(key) = key.cast::<PyString>() else {
                let found = key.get_type().name()?;
                let message = format!("{self}: keys must be str, not {found}");
                return Err(PyTypeError::new_err(message));
            };
            let key = self.text(key)?;
            self.steps.push(Step::Key(key));
            let value = self.value(&value)?;
            let Some(Step::Key(key)) = self.steps.pop() else { continue };
            members.push((key.into(), value));
        }
        Ok(Value::Object(members))
    }

    fn array(&mut self, elements: &Bound<'_, PyTuple>) -> PyResult<Value<'static>> {
        self.enter(elements)?;
        let mut values = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            self.steps.push(Step::Index(index));
            values.push(self.value(&element)?);
            self.steps.pop();
        }
        Ok(Value::Array(values))
    }

    fn enter(&self, container: &Bound<'_, PyAny>) -> PyResult<()> {
        let limit = json::Limits::default().max_depth;
        if self.steps.len() < limit {
            return Ok(());
        }
        let message = format!("nested more than {limit} levels deep, or within itself");
        Err(invalid_path(container.py(), self.root, &message))
    }

    #[cold]
    fn unfit(&self, py: Python<'_>, message: &str) -> PyErr {
        invalid_path(py, &self.to_string(), message)
    }
}

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.root)?;
        for step in &self.steps {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if is_name(key) => write!(f, ".{key}")?,
                Step::Key(key) => write!(f, "[{}]", compactwire::excerpt::excerpt(key))?,
            }
        }
        Ok(())
    }
}

fn is_name(key: &str) -> bool {
    (1..=40).contains(&key.len()) && key.bytes().all(|c| c == b'_' || c.is_ascii_alphanumeric())
}

/// The Python object of a value.
pub(super) fn object<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    let mut objects = Objects::new(py);
    value.emit(&mut objects)?;
    Ok(objects.finish())
}

/// The Python object of a JSON text that has been read before.
pub(super) fn parse<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut objects = Objects::new(py);
    match json::read(text, json::Limits::default(), &mut objects) {
        Ok(_) => Ok(objects.finish()),
        Err(ReadError::Sink(error)) => Err(error),
        Err(ReadError::Json(error)) => Err(invalid_format(py, &error.to_string())),
    }
}

/// Makes Python objects of the value that it is told.
pub(super) struct Objects<'py> {
    py: Python<'py>,
    open: Vec<Open<'py>>,
    done: Option<Bound<'py, PyAny>>,
}

enum Open<'py> {
    List(Bound<'py, PyList>),
    Dict(Bound<'py, PyDict>, Option<Bound<'py, PyString>>),
}

impl<'py> Objects<'py> {
    /// Nothing yet.
    pub(super) fn new(py: Python<'py>) -> Self {
        Self { py, open: Vec::new(), done: None }
    }

    /// The object, once the value has been told whole; `None` before.
    pub(super) fn finish(self) -> Bound<'py, PyAny> {
        let py = self.py;
        self.done.unwrap_or_else(|| py.None().into_bound(py))
    }

    fn put(&mut self, object: Bound<'py, PyAny>) -> PyResult<()> {
        match self.open.last_mut() {
            None => self.done = Some(object),
            Some(Open::List(list)) => list.append(object)?,
            Some(Open::Dict(dict, key)) => dict.set_item(key.take(), object)?,
        }
        Ok(())
    }

    fn close(&mut self) -> PyResult<()> {
        match self.open.pop() {
            None => Ok(()),
            Some(Open::List(list)) => self.put(list.into_any()),
            Some(Open::Dict(dict, _)) => self.put(dict.into_any()),
        }
    }
}

impl Sink for Objects<'_> {
    type Error = PyErr;

    fn null(&mut self) -> PyResult<()> {
        self.put(self.py.None().into_bound(self.py))
    }

    fn bool(&mut self, value: bool) -> PyResult<()> {
        self.put(PyBool::new(self.py, value).to_owned().into_any())
    }

    fn int(&mut self, value: i64) -> PyResult<()> {
        self.put(value.into_pyobject(self.py)?.into_any())
    }

    fn big_int(&mut self, digits: &str) -> PyResult<()> {
        self.put(self.py.get_type::<PyInt>().call1((digits,))?)
    }

    fn float(&mut self, value: f64) -> PyResult<()> {
        self.put(PyFloat::new(self.py, value).into_any())
    }

    fn string(&mut self, text: &str) -> PyResult<()> {
        self.put(PyString::new(self.py, text).into_any())
    }

    fn begin_array(&mut self) -> PyResult<()> {
        self.open.push(Open::List(PyList::empty(self.py)));
        Ok(())
    }

    fn end_array(&mut self) -> PyResult<()> {
        self.close()
    }

    fn begin_object(&mut self) -> PyResult<()> {
        self.open.push(Open::Dict(PyDict::new(self.py), None));
        Ok(())
    }

    fn key(&mut self, name: &str) -> PyResult<()> {
        if let Some(Open::Dict(_, key)) = self.open.last_mut() {
            // Not interned: some Pythons keep interned strings for ever, and a peer chose this one.
            *key = Some(PyString::new(self.py, name));
        }
        Ok(())
    }

    fn end_object(&mut self) -> PyResult<()> {
        self.close()
    }
}
